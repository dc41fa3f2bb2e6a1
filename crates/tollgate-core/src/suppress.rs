//! Suppression of findings: ignore comments, configuration entries and dismissals.
//!
//! All three are visible in the review. An ignore comment is on the finding's line or the one above it,
//!
//! ```text
//! eval(template) // tollgate:ignore js-eval the template is ours
//! ```
//!
//! with a rule id or a finding's fingerprint `fp-…`. A configuration entry is a [`Suppression`]. A [`Dismissal`] names one
//! finding and always has a [`reason`]. A Critical finding is suppressed by a comment or by configuration only when a reason is given.
//! Suppressed findings are counted and listed with the reason.

mod dismissal;

use std::collections::BTreeMap;

use globset::{GlobMatcher, GlobSet};

use crate::diff::{FileDiff, LineKind};
use crate::finding::{Category, Finding, Severity, Side, Summary};
use crate::fingerprint::Fingerprint;
use crate::path::FilePath;
use crate::review::{Suppressor, Withheld, WithheldFinding};

pub use dismissal::{Dismissal, Occurrence, dismiss, reason};

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

/// Applies ignore comments and configuration entries. `is_rule` is true for ids of existing rules.
#[must_use]
pub fn apply(
    findings: Vec<Finding>,
    ignores: &[Ignore],
    configured: &[Suppression],
    is_rule: &dyn Fn(&str) -> bool,
) -> Suppressed {
    let mut suppressed = Suppressed::default();
    let mut used = vec![false; ignores.len()];
    // A line has at most one comment, so a finding checks only those around its own lines.
    let by_line: BTreeMap<(&FilePath, u32), usize> =
        ignores.iter().enumerate().map(|(index, ignore)| ((&ignore.file, ignore.line_number), index)).collect();
    for finding in findings {
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
            (None, None) => {
                suppressed.kept.push(finding);
                continue;
            }
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
    use crate::finding::{FindingId, LineRange, Location, Origin, Summary};

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
        let suppressed = apply(vec![finding(severity, 2, "js-eval")], &ignores(&files[0]), &[], &is_rule);
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
        let suppressed = apply(findings, &ignores(&files[0]), &[], &|_| true);
        let kept: Vec<&str> = suppressed.kept.iter().map(|finding| finding.summary.as_str()).collect();
        assert_eq!((kept, suppressed.withheld.len()), (vec!["suppresses High: eval of input"], 1));
    }

    #[test]
    fn a_critical_finding_needs_a_reason() {
        check(
            Severity::Critical,
            &["", "// tollgate:ignore js-eval it is ours"],
            "tollgate:ignore at line 2: it is ours",
        );
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
            let suppressed = apply(vec![finding(Severity::High, 1, "js-eval")], &[], &[entry], &|_| true);
            assert_eq!(suppressed.kept.len(), n_kept);
        }
    }
}
