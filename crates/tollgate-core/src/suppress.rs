//! Suppression of findings: ignore comments, configuration entries and dismissals.
//!
//! All three are visible in the review. An ignore comment is on the finding's line or the one above it,
//!
//! ```text
//! eval(template) // tollgate:ignore js-eval the template is ours
//! ```
//!
//! with a rule id or a finding's fingerprint `fp-…`. A configuration entry is a [`Suppression`]. A [`Dismissal`] names one
//! finding, always has a [`reason`], and applies while the evidence is unchanged, on the change it was made on or in the
//! whole repository. A Critical finding is suppressed by a comment or by configuration only when a reason is given.
//! Suppressed findings are counted and listed with the reason.

use std::collections::{BTreeMap, HashMap};

use globset::{GlobMatcher, GlobSet};

use crate::diff::{FileDiff, LineKind};
use crate::finding::{Category, Finding, Location, Severity, Side, Summary};
use crate::fingerprint::{self, Fingerprint};
use crate::path::FilePath;
use crate::pull::finding_key::FindingKey;
use crate::review::{Suppressor, Withheld, WithheldFinding};
use crate::visible::is_hidden;

/// The marker of an ignore comment.
pub const MARK: &str = "tollgate:ignore";
/// The rule that reports ignore comments which a change adds.
pub const RULE: &str = "suppression-added";
/// The most rules that one comment may name; further ones are dropped.
const MAX_NAMES: usize = 16;

/// An ignore comment in the code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ignore {
    /// The file.
    pub file: FilePath,
    /// The line of the comment, after the change.
    pub line_number: u32,
    /// The suppressed rules; `*` is every rule.
    pub rules: Vec<String>,
    /// The reason.
    pub reason: Option<String>,
    /// True when the change adds the comment.
    pub added: bool,
}

/// A configuration entry that suppresses findings. All fields that are set must match.
#[derive(Debug, Clone, Default)]
pub struct Suppression {
    /// The display name: `suppress #2 in .tollgate.toml`.
    pub name: String,
    /// The files.
    pub paths: Option<GlobSet>,
    /// The rules.
    pub rule: Option<GlobMatcher>,
    /// The category.
    pub category: Option<Category>,
    /// A substring of the summary or the evidence.
    pub text: Option<String>,
    /// The reason.
    pub reason: Option<String>,
}

/// A dismissed finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dismissal {
    /// The fingerprint of the finding.
    pub fingerprint: Fingerprint,
    /// The file of the finding.
    pub file: FilePath,
    /// The title of the finding.
    title: Summary,
    /// The normalized title, compared because fingerprints can collide.
    words: String,
    /// The quoted code; when it changes, the dismissal no longer applies.
    pub evidence: String,
    /// The reason.
    pub reason: String,
    /// The display name: `.tollgate/dismissals.toml`.
    pub name: String,
    /// The person who made it; `None` in the file of a team.
    pub who: Option<String>,
    /// When it was made, as `2026-01-09T14:22:00.000Z`.
    pub at: Option<String>,
    /// True when it holds for the whole repository.
    pub everywhere: bool,
    /// The dismissed findings of the prior review, at their current lines; empty when they are unknown.
    occurrences: Vec<Occurrence>,
}

/// A dismissed finding of the prior review.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Occurrence {
    /// Its current location.
    pub location: Location,
    /// Its category.
    pub category: Category,
    /// Its severity.
    pub severity: Severity,
}

impl Occurrence {
    /// True when a finding quotes the same code on its lines.
    fn is_at(&self, finding: &Finding) -> bool {
        let (here, there) = (&self.location, &finding.location);
        here.file == there.file && here.side == there.side && here.lines.overlaps(there.lines)
    }

    /// True when a finding on its lines is the same in other words. One that begins to block is not.
    fn is_reworded_as(&self, finding: &Finding) -> bool {
        let is_blocked_now = finding.severity.blocks() && !self.severity.blocks();
        self.is_at(finding) && self.category == finding.category && !is_blocked_now
    }
}

/// The reason of a dismissal, trimmed. Blanks, punctuation and invisible characters are no reason.
pub fn reason(text: &str) -> Result<&str, String> {
    let text = text.trim();
    if text.chars().any(|character| character.is_alphanumeric() && !is_hidden(character)) {
        Ok(text)
    } else {
        Err("a dismissal needs a reason in words".to_owned())
    }
}

impl Dismissal {
    /// Validates the fields of a dismissal; the error is a human-readable message.
    pub fn parse(file: &str, title: &str, evidence: String, reason: String, name: &str) -> Result<Self, String> {
        let path = FilePath::parse(file).map_err(|error| format!("`{file}` is not a path: {error}"))?;
        let summary = Summary::parse(title).map_err(|error| format!("`{title}` is not a title: {error}"))?;
        let reason = self::reason(&reason)?.to_owned();
        let words = fingerprint::normalise(summary.as_str());
        let fingerprint = Fingerprint::new(&path, &summary);
        let (name, who, at, everywhere) = (name.to_owned(), None, None, true);
        let occurrences = Vec::new();
        Ok(Self {
            fingerprint,
            file: path,
            title: summary,
            words,
            evidence,
            reason,
            name,
            who,
            at,
            everywhere,
            occurrences,
        })
    }

    /// The dismissal with its author, its time and its scope.
    #[must_use]
    pub fn made(self, who: Option<&str>, at: String, everywhere: bool) -> Self {
        let scope = if everywhere { " for the whole repository" } else { "" };
        let name = format!("a dismissal by {}{scope}", who.unwrap_or("an unnamed person"));
        Self { name, who: who.map(str::to_owned), at: Some(at), everywhere, ..self }
    }

    /// The kind of its suppressions.
    #[must_use]
    pub fn suppressor(&self) -> Suppressor {
        Suppressor::Dismissal { who: self.who.clone(), at: self.at.clone(), everywhere: self.everywhere }
    }

    /// The dismissal of a finding; the error is a human-readable message.
    pub fn of_finding(finding: &Finding, reason: &str) -> Result<Self, String> {
        let (file, title) = (finding.location.file.as_str(), finding.summary.as_str());
        Self::parse(file, title, finding.evidence.clone(), reason.to_owned(), "")
    }

    /// The title of the finding.
    #[must_use]
    pub fn title(&self) -> &Summary {
        &self.title
    }

    /// The dismissal for a renamed file.
    #[must_use]
    pub fn moved_to(&self, file: &FilePath) -> Self {
        Self { fingerprint: Fingerprint::new(file, &self.title), file: file.clone(), ..self.clone() }
    }

    /// The dismissal of these findings of the prior review: it covers them, in any words, and no later copy of their code.
    #[must_use]
    pub fn of(self, occurrences: Vec<Occurrence>) -> Self {
        Self { occurrences, ..self }
    }

    /// True when it was made of this finding, in its file and in the words of now or of its first report.
    #[must_use]
    pub fn is_of(&self, finding: &Finding) -> bool {
        let prints = [Fingerprint::of(finding), FindingKey::of(finding).fingerprint()];
        prints.contains(&self.fingerprint) && self.covers(finding)
    }

    /// True when a finding has the same title and evidence, in any file.
    #[must_use]
    pub fn covers(&self, finding: &Finding) -> bool {
        self.names(finding) && self.quotes(finding)
    }

    /// True when a finding has the same title, or is a dismissed one in other words, regardless of its evidence.
    fn names(&self, finding: &Finding) -> bool {
        self.words == fingerprint::normalise(finding.summary.as_str())
            || FindingKey::of(finding).fingerprint() == self.fingerprint
            || self.occurrences.iter().any(|occurrence| occurrence.is_reworded_as(finding))
    }

    /// True when the dismissed code is quoted where it was dismissed, as far as that is known.
    fn holds(&self, finding: &Finding) -> bool {
        let is_here = || self.occurrences.is_empty() || self.occurrences.iter().any(|known| known.is_at(finding));
        self.quotes(finding) && is_here()
    }

    fn quotes(&self, finding: &Finding) -> bool {
        self.evidence.split_whitespace().eq(finding.evidence.split_whitespace())
    }
}

/// The result of suppression.
#[derive(Debug, Default)]
pub struct Suppressed {
    /// The findings that still count.
    pub kept: Vec<Finding>,
    /// The suppressed findings.
    pub withheld: Vec<WithheldFinding>,
    /// Human-readable notes on suppressions without effect.
    pub notes: Vec<String>,
}

/// Parses the ignore comments of a file, as far as the diff shows them.
#[must_use]
pub fn ignores(file: &FileDiff) -> Vec<Ignore> {
    let mut ignores = Vec::new();
    let mark = memchr::memmem::Finder::new(MARK);
    let marked = file.hunks.iter().filter(|hunk| mark.find(file.body(hunk)).is_some());
    for line in marked.flat_map(|hunk| file.lines(hunk)) {
        let Some(line_number) = line.new else {
            continue;
        };
        if mark.find(line.text).is_none() {
            continue;
        }
        if let Some((rules, reason)) = read(&String::from_utf8_lossy(line.text)) {
            let added = line.kind == LineKind::Added;
            let file = FilePath::of_repo_path(file.path());
            ignores.push(Ignore { file, line_number, rules, reason, added });
        }
    }
    ignores
}

/// The rules that the ignore comment on a line names, if there is one.
#[must_use]
pub fn names_in(line: &str) -> Option<Vec<String>> {
    read(line).map(|(rules, _)| rules)
}

/// Parses the rules and the reason after the marker.
fn read(line: &str) -> Option<(Vec<String>, Option<String>)> {
    let (before, rest) = line.split_once(MARK)?;
    let glued = before.ends_with(|character: char| character.is_alphanumeric() || character == '-');
    if glued || !rest.starts_with(char::is_whitespace) {
        return None;
    }
    let mut rest = rest.trim_start();
    let mut rules = Vec::new();
    while rules.len() < MAX_NAMES {
        let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || "-_./*@".contains(c))).unwrap_or(rest.len());
        let name = rest[..end].trim_end_matches("*/").trim_end_matches("--");
        if name.is_empty() {
            break;
        }
        rules.push(name.to_owned());
        rest = rest[end..].trim_start();
        match rest.strip_prefix(',') {
            Some(more) => rest = more.trim_start(),
            None => break,
        }
    }
    let reason = rest.trim_start_matches([':', '-', '–', '—']).trim();
    let closers = ["*/", "-->", "#}", "%>", "--}}", "*)", "-}"];
    let reason = closers.iter().fold(reason, |reason, closer| reason.trim_end_matches(closer)).trim();
    (!rules.is_empty()).then(|| (rules, (!reason.is_empty()).then(|| reason.to_owned())))
}

impl Ignore {
    fn covers(&self, finding: &Finding) -> bool {
        let lines = finding.location.lines;
        let near = lines.contains(self.line_number) || self.line_number.checked_add(1) == Some(lines.start());
        let rule = finding.origin.rule.as_deref();
        let is_print = |name: &str| name.starts_with("fp-") && Fingerprint::of(finding).to_string() == name;
        let names =
            |name: &String| Some(name.as_str()) == rule || is_print(name) || (name == "*" && self.reason.is_some());
        near && finding.location.side == Side::Right
            && self.file == finding.location.file
            // A comment does not hide that it is there.
            && rule != Some(RULE)
            && self.rules.iter().any(names)
    }

    /// True when the comment names no rule but `*`.
    fn is_wildcard(&self) -> bool {
        self.rules.iter().all(|name| name == "*")
    }
}

impl Suppression {
    fn covers(&self, finding: &Finding) -> bool {
        let file = finding.location.file.as_str();
        let says = |text: &String| finding.summary.as_str().contains(text) || finding.evidence.contains(text);
        self.paths.as_ref().is_none_or(|paths| paths.is_match(file))
            && self.category.is_none_or(|category| category == finding.category)
            && self.text.as_ref().is_none_or(says)
            && match (&self.rule, &finding.origin.rule) {
                (None, _) => true,
                (Some(wanted), Some(rule)) => wanted.is_match(rule),
                (Some(_), None) => false,
            }
    }
}

/// Applies all suppressions. `is_rule` is true for ids of existing rules.
#[must_use]
pub fn apply(
    findings: Vec<Finding>,
    ignores: &[Ignore],
    configured: &[Suppression],
    dismissals: &[Dismissal],
    is_rule: &dyn Fn(&str) -> bool,
) -> Suppressed {
    let mut dismissed: HashMap<&FilePath, Vec<&Dismissal>> = HashMap::new();
    for dismissal in dismissals {
        dismissed.entry(&dismissal.file).or_default().push(dismissal);
    }
    let mut suppressed = Suppressed::default();
    let mut used = vec![false; ignores.len()];
    // A line has at most one comment, so a finding checks only those around its own lines.
    let by_line: BTreeMap<(&FilePath, u32), usize> =
        ignores.iter().enumerate().map(|(index, ignore)| ((&ignore.file, ignore.line_number), index)).collect();
    for mut finding in findings {
        let (file, lines) = (&finding.location.file, finding.location.lines);
        let around = by_line.range((file, lines.start().saturating_sub(1))..=(file, lines.end()));
        let comment = around.map(|(_, index)| *index).find(|index| ignores[*index].covers(&finding));
        let entry = configured.iter().find(|entry| entry.covers(&finding));
        let (by, reason, kind) = match (comment, entry) {
            (Some(index), _) => {
                used[index] = true;
                let ignore = &ignores[index];
                (format!("{MARK} at line {}", ignore.line_number), ignore.reason.clone(), Suppressor::Comment)
            }
            (None, Some(entry)) => (entry.name.clone(), entry.reason.clone(), Suppressor::Configuration),
            (None, None) => match dismissal_of(&finding, &dismissed, &mut suppressed.notes) {
                Some(dismissal) => {
                    // In other words this time; by its key the next review knows that it was dismissed.
                    FindingKey::new(dismissal.fingerprint, &dismissal.evidence).keep(&mut finding);
                    (dismissal.name.clone(), Some(dismissal.reason.clone()), dismissal.suppressor())
                }
                None => {
                    suppressed.kept.push(finding);
                    continue;
                }
            },
        };
        let has_reason = reason.as_deref().is_some_and(|text| self::reason(text).is_ok());
        let is_wildcard = comment.is_some_and(|index| ignores[index].is_wildcard());
        if finding.severity == Severity::Critical && (!has_reason || is_wildcard) {
            let place = format!("{}:{}", finding.location.file, finding.location.lines.start());
            let why = if has_reason { "by `*`; name its rule" } else { "without a reason" };
            suppressed.notes.push(format!("{place}: a Critical finding is not suppressed {why} ({by})"));
            suppressed.kept.push(finding);
        } else {
            suppressed.withheld.push(WithheldFinding { finding, why: Withheld::Suppressed { by, reason, kind } });
        }
    }
    suppressed.notes.extend(doubtful(ignores, &used, is_rule));
    name_hidden(&mut suppressed);
    suppressed
}

/// Lets the findings about added comments say what the comments hide.
fn name_hidden(suppressed: &mut Suppressed) {
    let Suppressed { kept, withheld, .. } = suppressed;
    for finding in kept.iter_mut().filter(|finding| finding.origin.rule.as_deref() == Some(RULE)) {
        let by_this = format!("{MARK} at line {}", finding.location.lines.start());
        let is_hidden = |held: &&WithheldFinding| {
            let Withheld::Suppressed { by, .. } = &held.why else {
                return false;
            };
            *by == by_this && held.finding.location.file == finding.location.file
        };
        let hidden: Vec<&Finding> = withheld.iter().filter(is_hidden).map(|held| &held.finding).collect();
        let Some(worst) = hidden.iter().max_by_key(|hidden| hidden.severity) else {
            continue;
        };
        let more = if hidden.len() == 1 { String::new() } else { format!(" and {} more", hidden.len() - 1) };
        finding.summary =
            Summary::shorten(&format!("suppresses {}: {}{more}", worst.severity, worst.summary.as_str())).0;
    }
}

/// The dismissal of a finding; an outdated one is noted.
fn dismissal_of<'a>(
    finding: &Finding,
    dismissed: &HashMap<&FilePath, Vec<&'a Dismissal>>,
    notes: &mut Vec<String>,
) -> Option<&'a Dismissal> {
    if dismissed.is_empty() {
        return None;
    }
    let of_it = dismissed.get(&finding.location.file)?.iter().filter(|dismissal| dismissal.names(finding));
    let of_it: Vec<&Dismissal> = of_it.copied().collect();
    let holding = of_it.iter().find(|dismissal| dismissal.holds(finding)).copied();
    if let (None, Some(outdated)) = (holding, of_it.iter().find(|dismissal| !dismissal.quotes(finding))) {
        let place = format!("{}:{}", finding.location.file, finding.location.lines.start());
        let (print, name) = (outdated.fingerprint, &outdated.name);
        notes.push(format!("{place}: the dismissal of {print} ({name}) no longer applies because the code changed"));
    }
    holding
}

/// Notes on ignore comments of the change that have no effect.
fn doubtful(ignores: &[Ignore], used: &[bool], is_rule: &dyn Fn(&str) -> bool) -> Vec<String> {
    let mut notes = Vec::new();
    for (ignore, &used) in ignores.iter().zip(used).filter(|(ignore, _)| ignore.added) {
        let place = format!("{}:{}", ignore.file, ignore.line_number);
        let unknown: Vec<&String> =
            ignore.rules.iter().filter(|name| *name != "*" && !name.starts_with("fp-") && !is_rule(name)).collect();
        if let Some(name) = unknown.first() {
            notes.push(format!("{place}: `{MARK}` names the unknown rule `{name}`"));
        } else if ignore.rules.iter().any(|name| name == "*") && ignore.reason.is_none() {
            notes.push(format!("{place}: `{MARK} *` has no effect without a reason"));
        } else if !used {
            notes.push(format!("{place}: `{MARK}` suppresses nothing"));
        }
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::{FindingId, LineRange, Origin, Summary};

    fn finding(severity: Severity, line_number: u32, rule: &str) -> Finding {
        Finding {
            id: FindingId::at(0),
            severity,
            category: Category::Security,
            location: Location {
                file: FilePath::parse("a.js").unwrap(),
                lines: LineRange::line(line_number),
                side: Side::Right,
            },
            summary: Summary::parse("eval of input").unwrap(),
            reason: Some("why".to_owned()),
            evidence: "eval(x)".to_owned(),
            suggestion: None,
            fix: None,
            origin: Origin { rule: Some(rule.to_owned()), ..Origin::default() },
            extra: serde_json::Map::new(),
        }
    }

    /// Builds a file with the lines `added` and a `js-eval` finding on line 2.
    #[track_caller]
    fn check(severity: Severity, added: &[&str], expected: &str) {
        let body: String = added.iter().map(|line| format!("+{line}\n")).collect();
        let n_lines = added.len();
        let text = format!(
            "diff --git a/a.js b/a.js\nnew file mode 100644\n--- /dev/null\n+++ b/a.js\n@@ -0,0 +1,{n_lines} @@\n{body}"
        );
        let (files, _) = crate::diff::parse(text.into_bytes());
        let is_rule = |name: &str| name == "js-eval" || name == "js-other";
        let suppressed = apply(vec![finding(severity, 2, "js-eval")], &ignores(&files[0]), &[], &[], &is_rule);
        let withheld = suppressed.withheld.iter().map(|withheld| match &withheld.why {
            Withheld::Suppressed { by, reason, .. } => format!("{by}: {}", reason.as_deref().unwrap_or("no reason")),
            other => format!("{other:?}"),
        });
        let said: Vec<String> = withheld.chain(suppressed.notes).collect();
        assert_eq!(said.join("; "), expected);
    }

    #[test]
    fn a_comment_on_the_line_or_above_it_suppresses_in_any_language() {
        let ignored = "tollgate:ignore at line 2: ours";
        check(Severity::High, &["", "eval(x) // tollgate:ignore js-eval ours"], ignored);
        check(Severity::High, &["", "eval(x) /* tollgate:ignore js-eval: ours */"], ignored);
        check(Severity::High, &["", "<!-- tollgate:ignore js-eval — ours -->"], ignored);
        check(Severity::High, &["", "-- tollgate:ignore js-other, js-eval ours"], ignored);
        check(Severity::High, &["# tollgate:ignore js-eval", "eval(x)"], "tollgate:ignore at line 1: no reason");
        check(Severity::High, &["", "eval(x) /* tollgate:ignore js-eval*/"], "tollgate:ignore at line 2: no reason");
    }

    #[test]
    fn a_fingerprint_names_one_finding() {
        let print = Fingerprint::of(&finding(Severity::High, 2, "js-eval"));
        let comment = format!("// tollgate:ignore {print} ours");
        check(Severity::High, &["", &comment], "tollgate:ignore at line 2: ours");
        let other = "// tollgate:ignore fp-0000000000000000 ours";
        check(Severity::High, &["", other], "a.js:2: `tollgate:ignore` suppresses nothing");
    }

    #[test]
    fn a_wildcard_needs_a_reason() {
        check(Severity::High, &["", "// tollgate:ignore * generated"], "tollgate:ignore at line 2: generated");
        check(
            Severity::High,
            &["", "// tollgate:ignore *"],
            "a.js:2: `tollgate:ignore *` has no effect without a reason",
        );
    }

    #[test]
    fn a_wildcard_does_not_suppress_a_critical_finding() {
        check(
            Severity::Critical,
            &["", "// tollgate:ignore * generated"],
            "a.js:2: a Critical finding is not suppressed by `*`; name its rule (tollgate:ignore at line 2)",
        );
    }

    #[test]
    fn a_comment_does_not_hide_that_it_is_there_and_the_finding_about_it_names_what_it_hides() {
        let text = "diff --git a/a.js b/a.js\nnew file mode 100644\n--- /dev/null\n+++ b/a.js\n@@ -0,0 +1,2 @@\n\
                    +// tollgate:ignore * ours\n+eval(x)\n";
        let (files, _) = crate::diff::parse(text.as_bytes().to_vec());
        let findings = vec![finding(Severity::High, 2, "js-eval"), finding(Severity::Medium, 1, RULE)];
        let suppressed = apply(findings, &ignores(&files[0]), &[], &[], &|_| true);
        let kept: Vec<&str> = suppressed.kept.iter().map(|finding| finding.summary.as_str()).collect();
        assert_eq!((kept, suppressed.withheld.len()), (vec!["suppresses High: eval of input"], 1));
    }

    #[test]
    fn a_critical_finding_needs_a_reason() {
        check(Severity::Critical, &["", "// tollgate:ignore js-eval ours"], "tollgate:ignore at line 2: ours");
        check(
            Severity::Critical,
            &["", "// tollgate:ignore js-eval"],
            "a.js:2: a Critical finding is not suppressed without a reason (tollgate:ignore at line 2)",
        );
    }

    #[test]
    fn comments_without_effect_are_noted() {
        check(
            Severity::High,
            &["", "", "// tollgate:ignore js-eval x"],
            "a.js:3: `tollgate:ignore` suppresses nothing",
        );
        check(
            Severity::High,
            &["", "// tollgate:ignore js-evil x"],
            "a.js:2: `tollgate:ignore` names the unknown rule `js-evil`",
        );
        check(Severity::High, &["", "mytollgate:ignore js-eval"], "");
        check(Severity::High, &["", "tollgate:ignored js-eval"], "");
    }

    #[test]
    fn all_fields_of_a_configuration_entry_must_match() {
        let glob = |text: &str| globset::Glob::new(text).unwrap().compile_matcher();
        let entry = Suppression {
            name: "suppress #1".to_owned(),
            rule: Some(glob("js-*")),
            category: Some(Category::Security),
            text: Some("eval(".to_owned()),
            ..Suppression::default()
        };
        let wrong_category = Suppression { category: Some(Category::Doc), ..entry.clone() };
        let wrong_text = Suppression { text: Some("exec".to_owned()), ..entry.clone() };
        let wrong_rule = Suppression { rule: Some(glob("py-*")), ..entry.clone() };
        for (entry, n_kept) in [(entry, 0), (wrong_category, 1), (wrong_text, 1), (wrong_rule, 1)] {
            let suppressed = apply(vec![finding(Severity::High, 1, "js-eval")], &[], &[entry], &[], &|_| true);
            assert_eq!(suppressed.kept.len(), n_kept);
        }
    }

    #[track_caller]
    fn check_dismissal(title: &str, evidence: &str, n_kept: usize, notes: &[&str]) {
        let dismissal =
            Dismissal::parse("a.js", title, evidence.to_owned(), "ours".to_owned(), "your own dismissal").unwrap();
        let critical = finding(Severity::Critical, 2, "js-eval");
        let suppressed = apply(vec![critical], &[], &[], &[dismissal], &|_| true);
        assert_eq!(suppressed.kept.len(), n_kept);
        assert_eq!(suppressed.notes, notes);
    }

    #[test]
    fn a_dismissed_finding_stays_dismissed_while_its_evidence_is_unchanged() {
        let title = finding(Severity::High, 2, "js-eval").summary;
        check_dismissal(title.as_str(), "  eval(x)\n", 0, &[]);
        let print = Fingerprint::of(&finding(Severity::High, 2, "js-eval"));
        let note =
            format!("a.js:2: the dismissal of {print} (your own dismissal) no longer applies because the code changed");
        check_dismissal(title.as_str(), "eval(y)", 1, &[&note]);
        check_dismissal("another title", "eval(x)", 1, &[]);
    }

    #[test]
    fn a_dismissal_covers_its_occurrence_in_any_words_and_no_later_copy() {
        let dismissed = finding(Severity::High, 2, "js-eval");
        let Finding { location, category, severity, .. } = dismissed.clone();
        let dismissal =
            Dismissal::parse("a.js", "eval of input", "eval(x)".to_owned(), "ours".to_owned(), "x").unwrap();
        let dismissal = dismissal.of(vec![Occurrence { location, category, severity }]);
        let reworded = Finding { summary: Summary::parse("Input is run as code").unwrap(), ..dismissed.clone() };
        let kept =
            |finding: Finding| apply(vec![finding], &[], &[], std::slice::from_ref(&dismissal), &|_| true).kept.len();
        assert_eq!(kept(dismissed.clone()), 0);
        assert_eq!(kept(reworded.clone()), 0);
        assert_eq!(kept(finding(Severity::High, 80, "js-eval")), 1);
        assert_eq!(kept(Finding { category: Category::Perf, ..reworded.clone() }), 1);
        assert_eq!(kept(Finding { evidence: "eval(y)".to_owned(), ..dismissed }), 1);
        let mild = Occurrence { severity: Severity::Low, ..dismissal.occurrences[0].clone() };
        let suppressed = apply(vec![reworded], &[], &[], &[dismissal.of(vec![mild])], &|_| true);
        assert_eq!(suppressed.kept.len(), 1);
    }

    #[test]
    fn a_dismissal_is_of_its_finding_in_the_words_of_now_and_of_its_first_report() {
        let first = finding(Severity::High, 2, "js-eval");
        let mut again = Finding { summary: Summary::parse("Input is run as code").unwrap(), ..first.clone() };
        FindingKey::of(&first).keep(&mut again);
        let made = |finding: &Finding| Dismissal::of_finding(finding, "ours").unwrap();
        assert!(made(&first).is_of(&first) && made(&first).is_of(&again) && made(&again).is_of(&again));
        assert!(!made(&again).is_of(&first));
        assert!(!made(&first).is_of(&Finding { evidence: "eval(y)".to_owned(), ..again }));
        let file = FilePath::parse("b.js").unwrap();
        let elsewhere = Finding { location: Location { file, ..first.location.clone() }, ..first.clone() };
        assert!(!made(&first).is_of(&elsewhere));
    }

    #[test]
    fn a_dismissal_needs_a_reason_and_a_finding() {
        let parse = |file, title, reason: &str| Dismissal::parse(file, title, String::new(), reason.to_owned(), "x");
        for no_reason in ["", " \n", "...", "-", "!?", "\u{200b}\u{2060}", "\u{3164}\u{ffa0}", "👍"] {
            let refused = parse("a.js", "t", no_reason).unwrap_err();
            assert_eq!(refused, "a dismissal needs a reason in words", "{no_reason:?}");
        }
        for reason in ["ours", " #12 ", "これは固定値", "не используется"] {
            assert_eq!(parse("a.js", "t", reason).unwrap().reason, reason.trim());
        }
        assert!(parse("../a.js", "t", "ours").unwrap_err().contains("is not a path"));
        assert!(parse("a.js", "", "ours").unwrap_err().contains("is not a title"));
    }
}
