//! The embedded reviewer: rules over code, text and the change itself.
//!
//! Text and change rules are linear scans and run here. Code rules parse
//! untrusted code, so they run in child processes with limits: a file that
//! stalls or crashes its child is *not reviewed*, and the other files are.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;

use tollgate_core::analysis::{self, Category};
use tollgate_core::change::{Change, Content};
use tollgate_core::coverage::{Coverage, CoveredHunk, HunkStatus};
use tollgate_core::diff::{FileDiff, Hunk};
use tollgate_core::finding::{Finding, LineRange, Side};
use tollgate_core::language::Language;
use tollgate_core::path::{FilePath, RepoPath};
use tollgate_core::policy::REVIEW_RULES;
use tollgate_rules::catalog;
use tollgate_rules::change::ChangeContext;
use tollgate_rules::hit::{Hit, RuleMetadata};
use tollgate_rules::script;
use tollgate_rules::select::{Selector, grammar_name};
use tollgate_rules::user::{RuleSource, UserRuleInfo};
use tollgate_rules::{change as change_rules, code, text as text_rules};

use crate::config::{Limits, Settings};
use crate::failure::Failure;

mod child;
pub mod colour;
mod job;
mod outline;
mod parent;
mod pool;
mod user;

pub use user::FOLDER as RULES_FOLDER;

pub use child::child_main;
pub use outline::{Outlined, enclose, functions, parse_errors};
pub use parent::SCAN_ARGUMENT;

/// The most hits that are kept per file.
const MAX_HITS: usize = 2_000;

/// Why a binary file is skipped.
const BINARY: &str = "binary";

/// Why a generated file is skipped.
const GENERATED: &str = "generated";

/// A request to the embedded reviewer.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    /// The change under review.
    pub change: &'a Change,
    /// The settings of the review.
    pub settings: &'a Settings,
    /// The user's own rules.
    pub user_rules: &'a UserRules<'a>,
    /// The program to start for scanning, with [`SCAN_ARGUMENT`].
    pub executable: &'a Path,
    /// The author's declarations about the change.
    pub declared: ChangeContext<'a>,
    /// The part of the change to look at; `None` for all of it.
    pub part: Option<Part<'a>>,
    /// Receives how many of how many files were scanned.
    pub progress: &'a dyn Fn(usize, usize),
}

/// The source of the user's own rules.
#[derive(Debug, Clone)]
pub enum UserRules<'a> {
    /// In [`RULES_FOLDER`] below the top of a working tree, if there is one.
    Below(Option<&'a Path>),
    /// Texts by path; files that are no rules are left out.
    Texts(Vec<(String, Vec<u8>)>),
}

/// A part of a change. Rules about the change as a whole still see all of it.
#[derive(Clone, Copy)]
pub struct Part<'a> {
    /// True when one of these lines belongs to it.
    pub touches: &'a dyn Fn(&FilePath, LineRange, Side) -> bool,
    /// Why the rest is not reviewed, for people.
    pub otherwise: &'a str,
}

/// A cache of scan results.
pub trait Remembered {
    /// The cache key of a request, made of its parts; `None` without a cache.
    fn key(&self, parts: &[&[u8]]) -> Option<Vec<u8>>;
    /// The cached hits for a key.
    fn recall(&mut self, key: &[u8]) -> Option<Vec<Hit>>;
    /// Adds hits to the cache.
    fn remember(&mut self, key: Vec<u8>, hits: &[Hit]);
}

/// The answer of the embedded reviewer.
#[derive(Debug, Default)]
pub struct Answer {
    /// Its findings, in the order of the change.
    pub findings: Vec<Finding>,
    /// The hunks it reviewed.
    pub coverage: Coverage,
    /// Notes for people.
    pub notes: Vec<String>,
    /// The names of the user's rules.
    pub user_rules: Vec<String>,
}

/// Reads the full text of a file after the change.
pub type ReadContent<'a> = dyn FnMut(&FileDiff, u64) -> Result<Content, Failure> + 'a;

/// Reviews a change.
pub fn review(
    request: &Request<'_>,
    read: &mut ReadContent<'_>,
    remembered: &mut dyn Remembered,
) -> Result<Answer, Failure> {
    let Request { change, settings, .. } = *request;
    let mut skipped: Vec<Option<String>> =
        change.files.iter().map(|file| why_skipped(change, file, settings)).collect();
    let mut pool = pool::Pool::new(request.executable, settings.limits);
    let sources = match request.user_rules {
        UserRules::Below(root) => root.map_or(Ok(Vec::new()), user::read_sources)?,
        UserRules::Texts(texts) => user::of_texts(texts)?,
    };
    let user_rules = pool.use_rules(sources)?;

    let mut found: Vec<(usize, Hit)> = Vec::new();
    let enabled = |id: &str| settings.rules.enabled(id);
    let in_part = |file: &FileDiff| request.part.is_none_or(|part| part.touches_file(file));
    for (index, file) in change.files.iter().enumerate().filter(|(_, file)| in_part(file)) {
        let hits = match skipped[index].as_deref() {
            Some(BINARY) => scan_binary(file, read, settings.limits.file_bytes, &enabled)?,
            // A secret is one in a bundle and in a lock file, too.
            Some(GENERATED) => text_rules::scan_unread(file, &enabled),
            Some(_) => continue,
            None => text_rules::scan(file, &enabled),
        };
        found.extend(hits.into_iter().map(|hit| (index, hit)));
    }

    let mut selector = Selector::new(enabled);
    let grammars = grammars(change, &skipped, read, settings.limits.file_bytes)?;
    let mut planned = plan(change, &skipped, &grammars, &mut selector, &user_rules);
    planned.retain(|planned| in_part(&change.files[planned.index]));
    let mut jobs = job::Jobs::new(&change.files, &planned, &mut selector, read, settings.limits.file_bytes);
    let scanned = pool.run(&mut jobs, remembered, request.progress)?;
    let mut not_reviewed: HashMap<usize, String> = HashMap::new();
    for (index, result) in scanned {
        match result {
            Ok(hits) => found.extend(hits.into_iter().map(|hit| (index, hit))),
            Err(reason) => drop(not_reviewed.insert(index, reason)),
        }
    }
    let mut answer =
        Answer { user_rules: user_rules.iter().map(|rule| rule.id.clone()).collect(), ..Answer::default() };
    if let Some(part) = request.part {
        found.retain(|(index, hit)| part.touches_hit(&change.files[*index], hit));
    }
    found.sort_by(|(a, left), (b, right)| (a, left.line_start, &left.rule).cmp(&(b, right.line_start, &right.rule)));
    answer.findings = findings(change, found, settings, &user_rules, &mut not_reviewed);
    answer.findings.extend(of_the_change(request, &enabled));
    // A model reads every language; without one, nobody has read a program that no rule knows.
    if settings.reviewers.is_empty() {
        unread(change, &grammars, settings, &mut not_reviewed, &mut answer.notes);
    }
    answer.coverage = coverage(change, &mut skipped, &not_reviewed, request.part);
    Ok(answer)
}

impl Part<'_> {
    fn touches_file(&self, file: &FileDiff) -> bool {
        file.hunks.is_empty() || file.hunks.iter().any(|hunk| self.touches_hunk(file, hunk))
    }

    fn touches_hunk(&self, file: &FileDiff, hunk: &Hunk) -> bool {
        let side = |path: Option<&RepoPath>, start: u32, len: u32, side| {
            let lines = LineRange::new(start, start.saturating_add(len).saturating_sub(1)).filter(|_| len > 0);
            let path = path.map(FilePath::of_repo_path);
            lines.zip(path).is_some_and(|(lines, path)| (self.touches)(&path, lines, side))
        };
        side(file.new_path.as_ref(), hunk.new_start, hunk.new_len, Side::Right)
            || side(file.old_path.as_ref(), hunk.old_start, hunk.old_len, Side::Left)
    }

    fn touches_hit(&self, file: &FileDiff, hit: &Hit) -> bool {
        let (path, side) =
            if hit.left { (file.old_path.as_ref(), Side::Left) } else { (file.new_path.as_ref(), Side::Right) };
        let path = FilePath::of_repo_path(path.unwrap_or(file.path()));
        // A hit without lines is about the file.
        LineRange::new(hit.line_start, hit.line_end).is_none_or(|lines| (self.touches)(&path, lines, side))
    }
}

/// True when a rule could need the paths of the repository, which costs a git process to list.
///
/// Rules ask about fixes (is there a test?), manifests (is there a lock file?) and imports (is it a library?).
pub(crate) fn asks_for_paths(change: &Change, declared: ChangeContext<'_>) -> bool {
    let takes_away = |path: &[u8]| [&b".rs"[..], b".py", b".go"].iter().any(|end| path.ends_with(end));
    declared.paths.is_empty()
        && (declared.fix
            || change.files.iter().any(|file| {
                let path = file.path().as_bytes();
                (file.n_removed > 0 && takes_away(path)) || analysis::category(path) == Category::Config
            }))
}

/// Compiles the user's own rules; fails with the name of the first invalid one.
pub fn check_user_rules(root: Option<&Path>, executable: &Path, limits: Limits) -> Result<Vec<UserRuleInfo>, Failure> {
    let sources = root.map_or(Ok(Vec::new()), user::read_sources)?;
    pool::Pool::new(executable, limits).use_rules(sources)
}

/// Checks that a child can be started and answers.
pub fn self_test(executable: &Path, limits: Limits) -> Result<(), Failure> {
    let yaml = "id: self-test\nlanguage: Rust\nrule: { kind: macro_invocation }\n".to_owned();
    let source = RuleSource { path: "self-test".to_owned(), yaml };
    pool::Pool::new(executable, limits).use_rules(vec![source]).map(drop)
}

/// Why a file is not reviewed, if it is skipped.
pub(crate) fn why_skipped(change: &Change, file: &FileDiff, settings: &Settings) -> Option<String> {
    let path = file.path();
    if !settings.paths.wants(&path.to_string()) {
        Some("left out by `paths`".to_owned())
    } else if file.is_submodule() {
        Some("submodule".to_owned())
    } else if file.binary {
        Some(BINARY.to_owned())
    } else if change.is_generated(file) {
        Some(GENERATED.to_owned())
    } else {
        None
    }
}

/// Finds private keys in a binary file by its content, and runs the rules about its name and size.
fn scan_binary(
    file: &FileDiff,
    read: &mut ReadContent<'_>,
    max_bytes: u64,
    enabled: &dyn Fn(&str) -> bool,
) -> Result<Vec<Hit>, Failure> {
    let mut hits = text_rules::scan(file, enabled);
    if file.new_path.is_some()
        && let Content::Whole(content) = read(file, max_bytes)?
    {
        hits.extend(text_rules::scan_binary(file, &content, enabled));
    }
    Ok(hits)
}

fn files_to_scan<'a>(change: &'a Change, skipped: &'a [Option<String>]) -> impl Iterator<Item = (usize, &'a FileDiff)> {
    change.files.iter().enumerate().filter(|(index, _)| skipped[*index].is_none())
}

/// The language of a file, as far as rules know it.
#[derive(Debug, Clone)]
enum Known {
    /// The name of a grammar with rules.
    Grammar(&'static str),
    /// A program in a language without rules: its name.
    NoRules(String),
    /// Text, data or markup, which text and change rules cover.
    Text,
}

/// The language of each file: by its name, or by the interpreter in its first line.
fn grammars(
    change: &Change,
    skipped: &[Option<String>],
    read: &mut ReadContent<'_>,
    max_bytes: u64,
) -> Result<Vec<Known>, Failure> {
    let mut known = Vec::with_capacity(change.files.len());
    for (index, file) in change.files.iter().enumerate() {
        let path = file.path();
        let language = Language::of_path(path.as_bytes());
        known.push(match (code::grammar_of(&path.to_string()), language) {
            (Some(grammar), _) => Known::Grammar(grammar_name(grammar)),
            (None, Some(language)) if language.is_program() => Known::NoRules(language.name().to_owned()),
            (None, None) if skipped[index].is_none() && file.n_added > 0 => by_first_line(file, read, max_bytes)?,
            (None, _) => Known::Text,
        });
    }
    Ok(known)
}

/// The language of a file without a known name.
fn by_first_line(file: &FileDiff, read: &mut ReadContent<'_>, max_bytes: u64) -> Result<Known, Failure> {
    let shown = file.hunks.first().filter(|hunk| hunk.new_start == 1);
    let mut line =
        shown.and_then(|hunk| file.lines(hunk).find(|line| line.new == Some(1)).map(|line| line.text.to_vec()));
    if line.is_none()
        && let Content::Whole(text) = read(file, max_bytes)?
    {
        line = Some(text.split(|byte| *byte == b'\n').next().unwrap_or_default().to_vec());
    }
    let line = line.unwrap_or_default();
    Ok(match (script::grammar_of_shebang(&line), script::interpreter(&line)) {
        (Some(grammar), _) => Known::Grammar(grammar_name(grammar)),
        (None, Some(interpreter)) => Known::NoRules(interpreter),
        (None, None) => Known::Text,
    })
}

/// The files on which a code rule can match.
fn plan(
    change: &Change,
    skipped: &[Option<String>],
    grammars: &[Known],
    selector: &mut Selector,
    user_rules: &[UserRuleInfo],
) -> Vec<job::Planned> {
    let user_grammars: BTreeSet<&str> = user_rules.iter().map(|rule| rule.language.as_str()).collect();
    let mut jobs = Vec::new();
    for (index, file) in files_to_scan(change, skipped).filter(|(_, file)| file.n_added > 0) {
        let in_test = analysis::category(file.path().as_bytes()) == Category::Test;
        let script = script::host_of(&file.path().to_string());
        let (grammar, rules) = match grammars[index] {
            Known::Grammar(grammar) => (grammar, selector.select_as(file, grammar, in_test)),
            Known::NoRules(_) | Known::Text => ("", Vec::new()),
        };
        let for_user = user_grammars.contains(grammar);
        if !rules.is_empty() || for_user || script.is_some() {
            jobs.push(job::Planned { index, grammar, script, in_test, rules, for_user });
        }
    }
    jobs
}

/// Converts hits to findings; hits with unknown rule names are dropped.
fn findings(
    change: &Change,
    found: Vec<(usize, Hit)>,
    settings: &Settings,
    user_rules: &[UserRuleInfo],
    not_reviewed: &mut HashMap<usize, String>,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut n_in_file: HashMap<usize, usize> = HashMap::new();
    for (index, hit) in found {
        let Some(file) = change.files.get(index) else {
            continue;
        };
        let n_before = n_in_file.entry(index).or_default();
        *n_before += 1;
        if *n_before > MAX_HITS {
            // Dropped hits make the file *not reviewed*, so that the gate does not open on it.
            not_reviewed.insert(index, format!("it has more than {MAX_HITS} findings, and only those are shown"));
            continue;
        }
        let before = file.old_path.as_ref().filter(|_| hit.left);
        let path = FilePath::of_repo_path(before.unwrap_or(file.path()));
        findings.extend(finding(hit, path, settings, user_rules));
    }
    findings
}

fn finding(hit: Hit, file: FilePath, settings: &Settings, user_rules: &[UserRuleInfo]) -> Option<Finding> {
    let id = hit.rule.clone();
    if !settings.rules.enabled(&id) {
        return None;
    }
    let user = user_rules.iter().find(|rule| rule.id == id);
    let mut said = match (user, catalog::find(&id)) {
        (Some(rule), _) => rule.metadata(),
        (None, Some(rule)) => RuleMetadata::from(rule),
        (None, None) => return None,
    };
    if let Some(severity) = settings.rules.severity(&id) {
        said.severity = severity;
    }
    Some(hit.into_finding(file, said))
}

fn of_the_change(request: &Request<'_>, enabled: &dyn Fn(&str) -> bool) -> Vec<Finding> {
    let Change { files, known, .. } = request.change;
    let all: Vec<FileDiff>;
    let files = if known.is_empty() {
        files
    } else {
        all = files.iter().chain(known).cloned().collect();
        &all
    };
    let hits = change_rules::scan(files, request.declared, enabled);
    let wanted = hits.into_iter().filter(|(file, _)| request.settings.paths.wants(file.as_str()));
    wanted.filter_map(|(file, hit)| finding(hit, file, request.settings, &[])).collect()
}

/// Marks the files that no rule has read: programs in a language without rules, and all files when no rule is enabled.
fn unread(
    change: &Change,
    grammars: &[Known],
    settings: &Settings,
    not_reviewed: &mut HashMap<usize, String>,
    notes: &mut Vec<String>,
) {
    let is_enabled = |rule: &catalog::Rule| settings.rules.enabled(rule.id) && !REVIEW_RULES.contains(&rule.id);
    let none_enabled = !catalog::all().iter().any(is_enabled);
    if none_enabled {
        notes.push("`rules.disable` switches every rule off, so nothing was reviewed".to_owned());
    }
    for (index, (file, known)) in change.files.iter().zip(grammars).enumerate() {
        let reason = match known {
            _ if none_enabled => Some("every rule is disabled".to_owned()),
            Known::NoRules(language) if file.n_added > 0 => {
                Some(format!("no rules for {language}, and no model was asked"))
            }
            Known::NoRules(_) | Known::Grammar(_) | Known::Text => None,
        };
        if let Some(reason) = reason {
            not_reviewed.entry(index).or_insert(reason);
        }
    }
}

/// The coverage: one entry per hunk, or per file without hunks, and the unreadable files.
fn coverage(
    change: &Change,
    skipped: &mut [Option<String>],
    not_reviewed: &HashMap<usize, String>,
    part: Option<Part<'_>>,
) -> Coverage {
    let mut hunks = Vec::new();
    for (index, file) in change.files.iter().enumerate() {
        let status = match (skipped[index].take(), not_reviewed.get(&index)) {
            (Some(rule), _) => HunkStatus::Skipped(rule),
            (None, Some(reason)) => HunkStatus::NotReviewed(reason.clone()),
            (None, None) => HunkStatus::Reviewed,
        };
        let path = FilePath::of_repo_path(file.path());
        if file.hunks.is_empty() {
            hunks.push(CoveredHunk { file: path, lines: None, status });
        } else {
            let left_out = |hunk: &Hunk| part.filter(|part| !part.touches_hunk(file, hunk)).map(|part| part.otherwise);
            let covered = |hunk| {
                let status = match (&status, left_out(hunk)) {
                    (HunkStatus::Reviewed, Some(why)) => HunkStatus::Skipped(why.to_owned()),
                    (status, _) => status.clone(),
                };
                CoveredHunk { file: path.clone(), lines: lines_of(hunk), status }
            };
            hunks.extend(file.hunks.iter().map(covered));
        }
    }
    hunks.extend(change.left_out.iter().cloned());
    Coverage { hunks }
}

/// The lines of a hunk after the change, or before it when there are none after.
fn lines_of(hunk: &Hunk) -> Option<LineRange> {
    let span = |start: u32, len: u32| LineRange::new(start, start.saturating_add(len.checked_sub(1)?));
    span(hunk.new_start, hunk.new_len).or_else(|| span(hunk.old_start, hunk.old_len))
}
