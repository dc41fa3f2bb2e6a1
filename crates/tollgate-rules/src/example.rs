//! Tests a rule on the examples in its own file.
//!
//! A bad example must be reported and a good one must not. A comment line with
//! nothing before its `^` marks the line above it: the finding must be there.
//!
//! `{{}}` is removed from an example before it is scanned. It keeps secret
//! scanners from reporting the fake secrets in this repository. A line that
//! ends in `{{x100}}` is repeated a hundred times.
//!
//! ```js
//! items.forEach(async (item) => save(item));
//! //    ^ High/Error
//! ```
//!
//! Above a diff, `Subject:` gives the change's title and `Tree:` the paths of the
//! repository.

use tollgate_core::diff::{self, FileDiff};

use crate::catalog::{Example, Rule, RuleKind};
use crate::change::ChangeContext;
use crate::code::{ScanInput, Scanner, grammar_of};
use crate::hit::Hit;
use crate::lines::LineSet;
use crate::{change, text};

/// Tests a rule on its examples and returns the failures, one line each.
#[must_use]
pub fn test(rule: &Rule) -> Vec<String> {
    let (mut problems, mut scanner) = (Vec::new(), Scanner::default());
    let label = format!("{}/{}", rule.severity, rule.category);
    for (number, example) in rule.bad.iter().enumerate() {
        for (language, hits, marks) in run(rule, example, &mut scanner) {
            let lines: Vec<u32> = hits.iter().map(|hit| hit.line_start).collect();
            let place = format!("{}: bad example {} as {language}", rule.id, number + 1);
            if hits.is_empty() {
                problems.push(format!("{place}: nothing was reported"));
            }
            for (mark, expected) in marks {
                if !expected.is_empty() && expected != label {
                    problems.push(format!("{place}: a mark expects {expected}, the rule is {label}"));
                }
                if !hits.iter().any(|hit| (hit.line_start..=hit.line_end).contains(&mark)) {
                    problems.push(format!("{place}: line {mark} is marked, but reported were {lines:?}"));
                }
            }
        }
    }
    for (number, example) in rule.good.iter().enumerate() {
        for (language, hits, _) in run(rule, example, &mut scanner) {
            for hit in hits {
                let place = format!("{}: good example {} as {language}", rule.id, number + 1);
                problems.push(format!("{place}: line {} was reported: {}", hit.line_start, hit.evidence));
            }
        }
    }
    problems
}

/// The language of an example, its hits, and its marks.
type ExampleRun = (String, Vec<Hit>, Vec<(u32, String)>);

/// Runs one rule over one example, once for each of its languages.
fn run(rule: &Rule, example: &Example, scanner: &mut Scanner) -> Vec<ExampleRun> {
    match *example {
        Example::Code { path, code } => {
            let (code, marks) = without_marks(&joined(code));
            if rule.kind() != RuleKind::Code {
                let files = new_file(path.unwrap_or("src/app.js"), &code);
                return vec![("text".to_owned(), scan_diff(rule, &files, ChangeContext::default()), marks)];
            }
            let own = path.and_then(grammar_of).map(|grammar| crate::select::grammar_name(grammar));
            let languages = rule.languages.iter().filter(|language| own.is_none_or(|own| own == **language));
            languages
                .map(|language| ((*language).to_owned(), scan_code(rule, language, &code, scanner), marks.clone()))
                .collect()
        }
        Example::Diff(text) => {
            let (files, refused) = diff::parse(joined(text).into_bytes());
            assert!(
                refused.is_empty() && !files.is_empty(),
                "{}: a diff in an example is broken: {refused:?}",
                rule.id
            );
            let tree: Vec<String> = head(text, "Tree: ").split_whitespace().map(str::to_owned).collect();
            let declared = ChangeContext::titled(head(text, "Subject: ")).in_repository(&tree);
            vec![("diff".to_owned(), scan_diff(rule, &files, declared), Vec::new())]
        }
    }
}

fn scan_code(rule: &Rule, language: &str, code: &str, scanner: &mut Scanner) -> Vec<Hit> {
    let index = crate::catalog::all().iter().position(|other| other.id == rule.id);
    let (Some(index), Ok(grammar)) = (index, language.parse()) else {
        return Vec::new();
    };
    let added = LineSet::all();
    let rules = &[index];
    let input = ScanInput { path: "example", grammar, text: code, first_line: 1, added: &added, rules, exact: true };
    scanner.scan(&input)
}

/// The value of a header line above an example's diff.
fn head<'a>(text: &'a str, name: &str) -> &'a str {
    let lines = text.lines().take_while(|line| !line.starts_with("diff "));
    lines.filter_map(|line| line.strip_prefix(name)).next().unwrap_or_default()
}

fn scan_diff(rule: &Rule, files: &[FileDiff], declared: ChangeContext<'_>) -> Vec<Hit> {
    let enabled = |id: &str| id == rule.id;
    match rule.kind() {
        RuleKind::Text => files.iter().flat_map(|file| text::scan(file, &enabled)).collect(),
        _ => change::scan(files, declared, &enabled).into_iter().map(|(_, hit)| hit).collect(),
    }
}

/// The code of an example for display, without its marks.
#[must_use]
pub fn without_markup(code: &str) -> String {
    without_marks(&code.replace(SPLIT, "")).0
}

/// Splits fake secrets, so that secret scanners do not report them.
const SPLIT: &str = "{{}}";

/// Joins split secrets and expands repeated lines.
fn joined(text: &str) -> String {
    let text = text.replace(SPLIT, "");
    let repeated = |line: &str| {
        let (content, times) = line.trim_end().strip_suffix("}}")?.rsplit_once("{{x")?;
        Some(format!("{content}\n").repeat(times.parse().ok()?))
    };
    text.split_inclusive('\n').map(|line| repeated(line).unwrap_or_else(|| line.to_owned())).collect()
}

/// Separates the marks from an example; a mark has the number of the line above it and its text.
fn without_marks(code: &str) -> (String, Vec<(u32, String)>) {
    let (mut kept, mut marks, mut number) = (String::new(), Vec::new(), 0);
    for line in code.split_inclusive('\n') {
        let comment = line.trim_start().trim_start_matches(['/', '#', '-', '*', ' ', '~']);
        if line.trim_start().starts_with(['/', '#', '-']) && comment.starts_with('^') {
            marks.push((number, comment.trim_start_matches('^').trim().to_owned()));
        } else {
            kept.push_str(line);
            number += 1;
        }
    }
    (kept, marks)
}

/// A change that adds one file with this content.
fn new_file(path: &str, code: &str) -> Vec<FileDiff> {
    let n_lines = code.lines().count();
    let body: String = code.lines().map(|line| format!("+{line}\n")).collect();
    let text = format!(
        "diff --git a/{path} b/{path}\nnew file mode 100644\n--- /dev/null\n+++ b/{path}\n@@ -0,0 +1,{n_lines} @@\n{body}"
    );
    diff::parse(text.into_bytes()).0
}
