//! An index of the change for the change rules.
//!
//! Lines are flattened per file and grouped into blocks: runs of removed and
//! added lines without a context line between them. Added lines and names are
//! indexed, so that a rule can check whether removed code was only moved,
//! reformatted or renamed. Building the index is linear in the diff; each lookup
//! takes bounded time.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::ops::Range;

use regex::Regex;
use tollgate_core::diff::{FileDiff, LineKind, Status};
use tollgate_core::path::{FilePath, RepoPath};

use crate::change::ChangeContext;
use crate::change::path::{self, Language};
use crate::hit::Hit;

/// Longer lines are truncated; they are minified code.
const MAX_LINE_BYTES: usize = 1_000;
/// Maximum number of lines indexed for a name, which bounds the comparisons of a lookup.
const MAX_PLACES: usize = 8;
/// Maximum number of names of a line that are compared.
const MAX_NAMES: usize = 16;
/// Distance in which the counterpart of a changed line is searched.
const NEAR_LINES: usize = 60;
/// Maximum number of lines quoted in a hit.
const MAX_EVIDENCE_LINES: usize = 8;
/// Maximum number of hits of one rule in a change.
const MAX_HITS: usize = 25;

/// Compiles a constant pattern with ASCII-only classes, which keeps it small.
pub(crate) fn compile(pattern: &str) -> Regex {
    let ascii = pattern.replace(r"\w", "[A-Za-z0-9_]").replace(r"\d", "[0-9]").replace(r"\s", r"[ \t]");
    Regex::new(&ascii.replace(r"\b", r"(?-u:\b)")).expect("each constant pattern is compiled by an example")
}

/// A constant pattern, compiled when a text first contains one of its literals.
///
/// Compiling costs more than reading a small change, so most patterns must never be compiled. Every text that the
/// pattern matches contains one of the literals.
pub(crate) struct Pattern {
    pub(crate) literals: &'static [&'static str],
    pub(crate) regex: std::sync::LazyLock<Regex>,
}

impl Pattern {
    fn may_match(&self, text: &str) -> bool {
        self.literals.is_empty() || self.literals.iter().any(|literal| text.contains(literal))
    }

    pub(crate) fn is_match(&self, text: &str) -> bool {
        self.may_match(text) && self.regex.is_match(text)
    }

    pub(crate) fn captures<'t>(&self, text: &'t str) -> Option<regex::Captures<'t>> {
        if self.may_match(text) { self.regex.captures(text) } else { None }
    }

    /// Removes the first match from the text.
    pub(crate) fn cut<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if self.may_match(text) { self.regex.replace(text, "") } else { Cow::Borrowed(text) }
    }
}

/// Declares constant patterns, each with literals of which every match contains one.
macro_rules! patterns {
    ($($name:ident $([$($literal:literal),+])? = $pattern:expr;)+) => {
        $(static $name: $crate::change::view::Pattern = $crate::change::view::Pattern {
            literals: &[$($($literal),+)?],
            regex: std::sync::LazyLock::new(|| $crate::change::view::compile($pattern)),
        };)+
    };
}
pub(crate) use patterns;

/// A line of the change.
#[derive(Debug)]
pub(crate) struct Line<'a> {
    pub(crate) kind: LineKind,
    pub(crate) old: Option<u32>,
    pub(crate) new: Option<u32>,
    /// The text without line end, truncated when very long.
    pub(crate) text: Cow<'a, str>,
}

impl Line<'_> {
    pub(crate) fn is_added(&self) -> bool {
        self.kind == LineKind::Added
    }

    pub(crate) fn is_removed(&self) -> bool {
        self.kind == LineKind::Removed
    }

    pub(crate) fn is_blank(&self) -> bool {
        self.text.trim().is_empty()
    }

    /// The indentation in columns; a tab counts as four.
    pub(crate) fn indent(&self) -> usize {
        let blanks = self.text.chars().take_while(|c| matches!(c, ' ' | '\t'));
        blanks.map(|c| if c == '\t' { 4 } else { 1 }).sum()
    }

    /// True for a line with only a comment.
    pub(crate) fn is_comment(&self) -> bool {
        let text = self.text.trim_start();
        let hash = text.starts_with('#') && !text.starts_with("#[") && !text.starts_with("#include");
        hash || ["//", "/*", "*/", "* ", "<!--", "\"\"\""].iter().any(|mark| text.starts_with(mark)) || text == "*"
    }
}

/// A file of the change.
#[derive(Debug)]
pub(crate) struct File<'a> {
    pub(crate) diff: &'a FileDiff,
    /// The path after the change; for a deleted file, the path before it.
    pub(crate) path: String,
    pub(crate) language: Language,
    pub(crate) is_test: bool,
    pub(crate) lines: Vec<Line<'a>>,
    /// The line range of each hunk.
    pub(crate) hunks: Vec<Range<usize>>,
    /// Runs of changed lines.
    pub(crate) blocks: Vec<Range<usize>>,
}

impl<'a> File<'a> {
    fn of(diff: &'a FileDiff) -> Self {
        let path = diff.path().to_string();
        let (mut lines, mut hunks, mut blocks) = (Vec::new(), Vec::new(), Vec::new());
        for hunk in &diff.hunks {
            let first = lines.len();
            let mut block = first;
            for line in diff.lines(hunk) {
                let text = cut(line.text);
                if line.kind == LineKind::Context {
                    if block < lines.len() {
                        blocks.push(block..lines.len());
                    }
                    block = lines.len() + 1;
                }
                lines.push(Line { kind: line.kind, old: line.old, new: line.new, text });
            }
            if block < lines.len() {
                blocks.push(block..lines.len());
            }
            hunks.push(first..lines.len());
        }
        let (language, is_test) = (Language::of(&path), path::is_test(&path));
        Self { diff, path, language, is_test, lines, hunks, blocks }
    }

    /// True when the file exists before and after the change.
    pub(crate) fn stays(&self) -> bool {
        matches!(self.diff.status, Status::Modified | Status::Renamed)
    }

    pub(crate) fn is_source(&self) -> bool {
        path::is_source(&self.path)
    }

    pub(crate) fn added(&self) -> impl Iterator<Item = (usize, &Line<'a>)> {
        self.lines.iter().enumerate().filter(|(_, line)| line.is_added())
    }

    pub(crate) fn removed(&self) -> impl Iterator<Item = (usize, &Line<'a>)> {
        self.lines.iter().enumerate().filter(|(_, line)| line.is_removed())
    }

    pub(crate) fn added_in(&self, range: &Range<usize>) -> impl Iterator<Item = &Line<'a>> {
        self.lines[range.clone()].iter().filter(|line| line.is_added())
    }

    pub(crate) fn removed_in(&self, range: &Range<usize>) -> impl Iterator<Item = &Line<'a>> {
        self.lines[range.clone()].iter().filter(|line| line.is_removed())
    }

    /// The hunk of a line.
    pub(crate) fn hunk_of(&self, index: usize) -> Range<usize> {
        let after = self.hunks.partition_point(|hunk| hunk.end <= index);
        self.hunks.get(after).cloned().unwrap_or(index..index + 1)
    }

    /// The lines around a line, within its hunk, where its counterpart would be.
    pub(crate) fn near(&self, index: usize) -> Range<usize> {
        let hunk = self.hunk_of(index);
        hunk.start.max(index.saturating_sub(NEAR_LINES))..hunk.end.min(index + NEAR_LINES)
    }

    /// The block of a changed line.
    pub(crate) fn block_of(&self, index: usize) -> Range<usize> {
        let after = self.blocks.partition_point(|block| block.end <= index);
        self.blocks.get(after).cloned().unwrap_or(index..index + 1)
    }

    /// The next line from `index` on, within the hunk, that is not removed and not blank.
    pub(crate) fn next_kept(&self, index: usize) -> Option<&Line<'a>> {
        let end = self.hunk_of(index.min(self.lines.len().saturating_sub(1))).end;
        self.lines.get(index..end)?.iter().take(40).find(|line| !line.is_removed() && !line.is_blank())
    }

    /// The section heading of a hunk: usually the enclosing function.
    pub(crate) fn section(&self, index: usize) -> Cow<'_, str> {
        let at = self.hunks.partition_point(|hunk| hunk.end <= index);
        self.diff.hunks.get(at).map_or(Cow::Borrowed(""), |hunk| String::from_utf8_lossy(self.diff.section(hunk)))
    }
}

/// The whole change.
pub(crate) struct View<'a> {
    pub(crate) files: Vec<File<'a>>,
    pub(crate) declared: ChangeContext<'a>,
    added: HashSet<u64>,
    removed: HashSet<u64>,
    /// The number of removed lines with each name.
    removed_names: HashMap<u64, u32>,
    kept_names: HashSet<u64>,
    by_path: HashMap<String, usize>,
    paths: HashSet<&'a str>,
    is_application: bool,
    /// The first added lines with each name.
    lines_by_name: HashMap<u64, Vec<(u32, u32)>>,
}

impl<'a> View<'a> {
    pub(crate) fn new(diffs: &'a [FileDiff], declared: ChangeContext<'a>) -> Self {
        let files: Vec<File<'a>> = diffs.iter().map(File::of).collect();
        let (mut added, mut removed) = (HashSet::new(), HashSet::new());
        let (mut removed_names, mut kept_names): (HashMap<u64, u32>, HashSet<u64>) = Default::default();
        let mut lines_by_name: HashMap<u64, Vec<(u32, u32)>> = HashMap::new();
        for (file_index, file) in files.iter().enumerate() {
            for (line_index, line) in file.lines.iter().enumerate() {
                match line.kind {
                    LineKind::Added => {
                        added.insert(squash(&line.text));
                        for name in names(&line.text).take(MAX_NAMES) {
                            let lines_by_name = lines_by_name.entry(hash(name)).or_default();
                            if let (true, Ok(file), Ok(line)) =
                                (lines_by_name.len() < MAX_PLACES, u32::try_from(file_index), u32::try_from(line_index))
                            {
                                lines_by_name.push((file, line));
                            }
                        }
                    }
                    LineKind::Removed => {
                        removed.insert(squash(&line.text));
                        for name in names(&line.text).take(MAX_NAMES) {
                            *removed_names.entry(hash(name)).or_default() += 1;
                        }
                    }
                    LineKind::Context => kept_names.extend(names(&line.text).map(hash)),
                }
            }
        }
        let by_path = files.iter().enumerate().map(|(index, file)| (file.path.clone(), index)).collect();
        let paths = declared.paths.iter().map(String::as_str).collect();
        let at_root = ["Dockerfile", "Procfile", "docker-compose.yml", "compose.yaml"];
        let shown = |path: &str| {
            path.split('/').any(|step| step.trim_start_matches('_').starts_with("example") || step == "testdata")
        };
        let runs = |path: &String| {
            let starts = matches!(path::name(path), "manage.py" | "main.go") && !shown(path);
            starts || path.starts_with("cmd/") || at_root.contains(&path.as_str())
        };
        let is_application = declared.paths.iter().any(runs);
        Self {
            files,
            declared,
            added,
            removed,
            removed_names,
            kept_names,
            by_path,
            paths,
            is_application,
            lines_by_name,
        }
    }

    /// True when the change adds this line somewhere, ignoring whitespace and quotes.
    pub(crate) fn adds(&self, text: &str) -> bool {
        self.added.contains(&squash(text))
    }

    /// True when the change removes this line somewhere, ignoring whitespace and quotes.
    pub(crate) fn removes(&self, text: &str) -> bool {
        self.removed.contains(&squash(text))
    }

    /// True when the change adds this line, or a fuzzy match with nearly the same names.
    pub(crate) fn adds_similar(&self, text: &str) -> bool {
        if self.adds(text) {
            return true;
        }
        let wanted: HashSet<u64> = names(text).take(MAX_NAMES).map(hash).collect();
        if wanted.len() < 2 {
            return false;
        }
        let candidates = wanted.iter().filter_map(|name| self.lines_by_name.get(name)).flatten();
        candidates.into_iter().any(|&(file, line)| {
            let text = &self.files[file as usize].lines[line as usize].text;
            let other: HashSet<u64> = names(text).take(MAX_NAMES).map(hash).collect();
            let n_shared = wanted.intersection(&other).count();
            n_shared * 10 >= wanted.union(&other).count() * 6
        })
    }

    /// True when an added line contains the name.
    pub(crate) fn adds_name(&self, name: &str) -> bool {
        self.lines_by_name.contains_key(&hash(name))
    }

    /// True when several removed lines contain the name and no other line does.
    pub(crate) fn loses_name(&self, name: &str) -> bool {
        let name = hash(name);
        self.removed_names.get(&name).is_some_and(|&n_lines| n_lines > 2)
            && !self.kept_names.contains(&name)
            && !self.lines_by_name.contains_key(&name)
    }

    /// The changed file with this path.
    pub(crate) fn file(&self, path: &str) -> Option<&File<'a>> {
        self.by_path.get(path).and_then(|&index| self.files.get(index))
    }

    /// True when the repository looks like an application, not like a library.
    pub(crate) fn is_application(&self) -> bool {
        self.is_application
    }

    /// True when the repository contains this path before the change.
    pub(crate) fn has_path(&self, path: &str) -> bool {
        self.paths.contains(path)
    }
}

/// Collects the hits of the rules, in order.
#[derive(Debug, Default)]
pub(crate) struct Reporter {
    hits: Vec<(FilePath, Hit)>,
    rule: &'static str,
    in_tests: bool,
    n_hits: usize,
}

impl Reporter {
    /// Sets the rule of the following hits.
    pub(crate) fn begin(&mut self, rule: &'static str, in_tests: bool) {
        (self.rule, self.in_tests, self.n_hits) = (rule, in_tests, 0);
    }

    /// Reports lines of a file, with the rule's message or a more precise one.
    pub(crate) fn report(&mut self, file: &File<'_>, range: Range<usize>, message: Option<String>) {
        let lines = file.lines.get(range).unwrap_or_default();
        let left = lines.first().is_some_and(Line::is_removed);
        let number = |line: &Line<'_>| if left { line.old } else { line.new };
        let shown = || lines.iter().take(MAX_EVIDENCE_LINES).filter(|line| number(line).is_some());
        let (Some(first), Some(last)) = (shown().find_map(number), shown().filter_map(number).next_back()) else {
            return;
        };
        let evidence = shown().map(|line| line.text.trim_end()).collect::<Vec<_>>().join("\n");
        self.push(file, left, (first.max(1), last.max(first)), evidence, message);
    }

    /// Reports a whole file, for defects without a line.
    pub(crate) fn report_file(&mut self, file: &File<'_>, evidence: String, message: Option<String>) {
        self.push(file, file.diff.new_path.is_none(), (1, 1), evidence, message);
    }

    fn push(&mut self, file: &File<'_>, left: bool, lines: (u32, u32), evidence: String, message: Option<String>) {
        if self.n_hits >= MAX_HITS || (file.is_test && !self.in_tests) {
            return;
        }
        self.n_hits += 1;
        let side: Option<&RepoPath> = if left { file.diff.old_path.as_ref() } else { file.diff.new_path.as_ref() };
        let path = FilePath::of_repo_path(side.unwrap_or(file.diff.path()));
        let evidence = if evidence.trim().is_empty() { "(empty line)".to_owned() } else { evidence };
        let (rule, (line_start, line_end)) = (self.rule.to_owned(), lines);
        self.hits.push((path, Hit { rule, line_start, line_end, left, evidence, fix: None, message }));
    }

    pub(crate) fn into_hits(self) -> Vec<(FilePath, Hit)> {
        self.hits
    }
}

/// The names on a line: identifiers of at least two characters.
pub(crate) fn names(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_alphanumeric() || c == '_'))
        .filter(|word| word.len() >= 2 && !word.starts_with(|c: char| c.is_ascii_digit()))
}

/// Normalizes formatting: whitespace, kind of quotes, a final comma or semicolon.
pub(crate) fn squeeze(text: &str) -> String {
    let folded: String = text
        .chars()
        .filter(|c| !c.is_whitespace() && *c != '\u{feff}')
        .map(|c| if matches!(c, '\'' | '`') { '"' } else { c })
        .collect();
    folded.trim_end_matches([',', ';']).to_owned()
}

fn squash(text: &str) -> u64 {
    hash(&squeeze(text))
}

fn hash(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

fn cut(text: &[u8]) -> Cow<'_, str> {
    let text = text.strip_suffix(b"\r").unwrap_or(text);
    String::from_utf8_lossy(&text[..text.len().min(MAX_LINE_BYTES)])
}
