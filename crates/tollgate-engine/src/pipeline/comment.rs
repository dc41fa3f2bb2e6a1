//! The summary comment of a review: its text for `--format summary` and for pull requests.

use serde_json::{Value, json};
use tollgate_core::analysis::{self, Analysis, AnalyzedFile, Category};
use tollgate_core::diff::Status;
use tollgate_core::gate::Gate;
use tollgate_core::path::RepoPath;
use tollgate_core::policy::Effect;
use tollgate_core::report::summary::{self, Comment};
use tollgate_core::review::Review;
use tollgate_rules::hit::REVIEWER;

use super::{Reviewed, ReviewerRun, SinceLast};

/// The text of the summary; `None` when there is nothing to report. An incomplete review has its coverage at least.
pub fn summary_text(reviewed: &Reviewed, bot: &str, since: Option<&SinceLast>) -> Option<String> {
    let analysis = reviewed.change.analyze();
    let (keywords, details) = (reviewed.intent.brief(), details(reviewed));
    let since = since.filter(|since| since.had_findings());
    let checked = checked(reviewed, &analysis, since);
    let comment = Comment {
        analysis: Some(&analysis),
        what: purpose(reviewed, since),
        checked: &checked,
        keywords: keywords.as_deref(),
        early_feedback: reviewed.policy.early_feedback,
        commented: Some(reviewed.policy.cap),
        details: &details,
        since: since.map(SinceLast::for_report),
        ..bare_comment(&reviewed.review, reviewed.gate, bot)
    };
    write(&comment)
}

/// What the change is for, or what happened since the last review.
fn purpose<'a>(reviewed: &'a Reviewed, since: Option<&SinceLast>) -> Option<&'a str> {
    match since {
        Some(_) => reviewed.purpose.since_last.as_deref(),
        None => reviewed.purpose.whole.as_deref(),
    }
}

/// The text of the summary of a stored review, with the figures that it remembers.
pub fn stored_summary_text(review: &Review, gate: Gate, bot: &str) -> Option<String> {
    let remembered = RememberedSummary::of(review);
    let since = SinceLast::stored(review).filter(SinceLast::had_findings);
    let since = since.as_ref().map(SinceLast::for_report);
    write(&Comment { since, ..remembered.comment(review, gate, bot) })
}

/// The field of a stored review with the parts of its summary that the review alone does not tell.
const REMEMBERED: &str = "x_summary";
/// The most files that are remembered by name.
const MAX_FILES: usize = 5000;

/// The parts of a summary that a review alone does not tell: what the change is for, figures of the change, keywords, reviewers and their cost.
///
/// ```json
/// {"what": "Parse the input.", "checked": ["Tests changed with the code"], "keywords": "type feat", "cap": 10,
///  "early_feedback": false, "details": ["Reviewers: rules"], "files": [["src/a.js", 12, 3]]}
/// ```
#[derive(Debug, Default)]
pub(crate) struct RememberedSummary {
    analysis: Option<Analysis>,
    what: Option<String>,
    checked: Vec<String>,
    keywords: Option<String>,
    early_feedback: bool,
    cap: Option<usize>,
    details: Vec<String>,
}

/// The review with these parts, to be stored.
pub(crate) fn with_remembered_summary(reviewed: &Reviewed, since: Option<&SinceLast>) -> Review {
    let mut review = reviewed.review.clone();
    let analysis = reviewed.change.analyze();
    let since = since.filter(|since| since.had_findings());
    let file = |file: &AnalyzedFile| json!([file.path.to_string(), file.n_added, file.n_removed]);
    let is_small = analysis.files.len() <= MAX_FILES;
    let remembered = json!({
        "what": purpose(reviewed, since),
        "checked": checked(reviewed, &analysis, since),
        "keywords": reviewed.intent.brief(),
        "cap": reviewed.policy.cap,
        "early_feedback": reviewed.policy.early_feedback,
        "details": details(reviewed),
        "files": is_small.then(|| analysis.files.iter().map(file).collect::<Vec<_>>()),
    });
    review.extra.insert(REMEMBERED.to_owned(), remembered);
    review
}

impl RememberedSummary {
    /// Reads these parts from a stored review; what is missing is left out.
    pub(crate) fn of(review: &Review) -> Self {
        let Some(value) = review.extra.get(REMEMBERED) else { return Self::default() };
        let lines = |name: &str| -> Vec<String> {
            let lines = value[name].as_array().into_iter().flatten();
            lines.filter_map(|line| line.as_str().map(str::to_owned)).collect()
        };
        let files = value["files"].as_array().map(|files| files.iter().filter_map(analyzed).collect());
        Self {
            analysis: files.map(|files| Analysis { files, risks: Vec::new(), refused: Vec::new() }),
            what: value["what"].as_str().map(str::to_owned),
            checked: lines("checked"),
            keywords: value["keywords"].as_str().map(str::to_owned),
            early_feedback: value["early_feedback"].as_bool().unwrap_or_default(),
            cap: value["cap"].as_u64().and_then(|cap| usize::try_from(cap).ok()),
            details: lines("details"),
        }
    }

    /// The comment of the review with these parts.
    pub(crate) fn comment<'a>(&'a self, review: &'a Review, gate: Gate, bot: &'a str) -> Comment<'a> {
        Comment {
            analysis: self.analysis.as_ref(),
            what: self.what.as_deref(),
            checked: &self.checked,
            keywords: self.keywords.as_deref(),
            early_feedback: self.early_feedback,
            commented: self.cap,
            details: &self.details,
            ..bare_comment(review, gate, bot)
        }
    }
}

/// A remembered file, as far as a summary needs it.
fn analyzed(value: &Value) -> Option<AnalyzedFile> {
    let path = value[0].as_str()?;
    let number = |value: &Value| value.as_u64().and_then(|number| u32::try_from(number).ok()).unwrap_or_default();
    Some(AnalyzedFile {
        path: RepoPath::from_bytes(path.as_bytes()),
        old_path: None,
        status: Status::Modified,
        category: analysis::category(path.as_bytes()),
        language: None,
        n_added: number(&value[1]),
        n_removed: number(&value[2]),
        binary: false,
        generated: false,
    })
}

/// A comment with the content of a review alone.
fn bare_comment<'a>(review: &'a Review, gate: Gate, bot: &'a str) -> Comment<'a> {
    Comment {
        bot,
        review,
        gate,
        analysis: None,
        what: None,
        checked: &[],
        keywords: None,
        early_feedback: false,
        commented: None,
        details: &[],
        since: None,
    }
}

/// Writes a comment; `None` when there is nothing to report.
fn write(comment: &Comment<'_>) -> Option<String> {
    // A review without findings may be an incomplete one, which must not pass in silence.
    let coverage = || (!comment.review.is_complete()).then(|| summary::write_details(comment));
    summary::write(comment).or_else(coverage)
}

/// Facts about the change that the program checked, for Strengths.
fn checked(reviewed: &Reviewed, analysis: &Analysis, since: Option<&SinceLast>) -> Vec<String> {
    let mut facts = Vec::new();
    let has = |category| analysis.files.iter().any(|file| file.category == category);
    if has(Category::Source) && has(Category::Test) {
        facts.push("Tests changed with the code".to_owned());
    }
    if reviewed.intent.is_breaking() {
        facts.push("The breaking change is declared".to_owned());
    }
    if since.is_some_and(|since| since.still_open.is_empty() && !since.resolved.is_empty()) {
        facts.push("All findings of the last review are resolved".to_owned());
    }
    facts
}

/// The lines of Review Details beside the figures.
fn details(reviewed: &Reviewed) -> Vec<String> {
    let mut lines = reviewed.intent.details();
    lines.extend(reviewed.policy.changes.iter().cloned());
    lines.extend(tests_of_fix(reviewed));
    // Remarks on the intent are among the notes as well.
    for note in reviewed.review.notes.iter().flat_map(|notes| notes.lines()) {
        if !lines.iter().any(|line| line == note) {
            lines.push(note.to_owned());
        }
    }
    let review = &reviewed.review;
    let all = review.findings.iter().chain(review.withheld.iter().map(|withheld| &withheld.finding));
    let asked = reviewed.runs.iter().map(|run| run.name.as_str());
    let mut reviewers: Vec<&str> =
        all.filter_map(|finding| finding.origin.reviewer.as_deref()).chain(asked).chain([REVIEWER]).collect();
    reviewers.sort_unstable();
    reviewers.dedup();
    lines.push(format!("Reviewers: {}", reviewers.join(", ")));
    lines.extend(reviewed.runs.iter().map(ReviewerRun::in_words));
    lines
}

/// Whether a fix changes tests.
fn tests_of_fix(reviewed: &Reviewed) -> Option<String> {
    if reviewed.policy.effect != Some(Effect::TestsExpected) {
        return None;
    }
    let has_tests = reviewed.change.analyze().files.iter().any(|file| file.category == Category::Test);
    let said = if has_tests { "tests changed with the fix" } else { "the fix changes no test" };
    Some(format!("Tests: {said}"))
}
