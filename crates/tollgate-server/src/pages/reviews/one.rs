//! One stored review: `/reviews/12`.

use askama::Template;
use axum::extract::State;
use serde::Deserialize;
use serde_json::Value;
use tollgate_core::coverage::{Coverage, CoveredHunk, HunkStatus};
use tollgate_core::finding::{Finding, LineRange, Severity};
use tollgate_core::fingerprint::Fingerprint;
use tollgate_core::report::head_state::GATE_RESULT;
use tollgate_core::review::{Review, WithheldFinding};
use tollgate_core::verify;
use tollgate_core::visible::grouped;
use tollgate_engine::board::iso;
use tollgate_engine::history::{self, Since, StoredReview};

use super::{Chip, FeatureLink, in_words, origin_in_words};
use crate::app::Shared;
use crate::extract::{OfReview, Query};
use crate::pages::finding::{FindingView, Mark, Offers, Place};
use crate::pages::layout::{self, Chrome, Section, Visitor};
use crate::pages::{Page, words};
use crate::problem::Problem;
use crate::routes::reviews;

/// The number of findings shown by default, so that a page stays quick.
const SHOWN: usize = 100;
/// So many are shown at most; an export has them all.
const MAX_SHOWN: usize = 2_000;
/// So many places are named in a list of hunks.
const MAX_HUNKS: usize = 200;

#[derive(Template)]
#[template(path = "review.html")]
pub(crate) struct ReviewPage {
    chrome: Chrome,
    run: i64,
    title: String,
    result: Chip,
    /// Why it is so, in a sentence.
    reason: String,
    is_outdated: bool,
    /// The newest review of the same line of work, when that is another one.
    last: Option<i64>,
    facts: Vec<Fact>,
    feature: Option<FeatureLink>,
    counts: Vec<Chip>,
    groups: Vec<Group>,
    n_shown: usize,
    n_findings: usize,
    /// Where more of the findings are shown.
    more: Option<String>,
    since: Option<SinceView>,
    coverage: CoverageView,
    withheld: Vec<(FindingView, String)>,
    n_withheld: usize,
    asked: Vec<Asked>,
    notes: Vec<String>,
    has_review: bool,
}

/// Something to know about a review.
struct Fact {
    name: &'static str,
    value: String,
    /// The whole commit, where a part of it is shown.
    whole: Option<String>,
}

/// Findings that belong together.
struct Group {
    id: &'static str,
    title: &'static str,
    findings: Vec<FindingView>,
}

/// What became of the findings of the review before.
struct SinceView {
    run: i64,
    n_new: usize,
    n_still_open: usize,
    n_resolved: usize,
    n_dismissed: usize,
    resolved: Vec<FindingView>,
}

struct CoverageView {
    is_known: bool,
    n_reviewed: usize,
    n_skipped: usize,
    /// `1 unchanged since the review of abc1234, 2 skipped by a rule`
    skipped_in_words: Option<String>,
    n_missed: usize,
    skipped: Vec<Hunk>,
    missed: Vec<Hunk>,
}

/// A part of the change that was not reviewed, with the reason.
struct Hunk {
    place: String,
    reason: String,
}

/// A model or agent that was asked.
struct Asked {
    name: String,
    model: String,
    calls: String,
    tokens: String,
    cost: String,
    time: String,
    problem: Option<String>,
}

/// How much is shown.
#[derive(Debug, Deserialize)]
pub(crate) struct HowMuch {
    show: Option<usize>,
}

/// One stored review.
pub(crate) async fn show(
    State(app): State<Shared>,
    visitor: Visitor,
    OfReview(run): OfReview,
    Query(HowMuch { show }): Query<HowMuch>,
) -> Result<Page<ReviewPage>, Problem> {
    let chrome = visitor.chrome(&app, Section::Reviews, format!("Review {run}"), None).await?;
    let recalled = app.call(move |board| reviews::recall(board, run)).await?;
    Ok(Page(ReviewPage::new(chrome, &recalled, show.unwrap_or(SHOWN).min(MAX_SHOWN))))
}

impl ReviewPage {
    fn new(chrome: Chrome, recalled: &StoredReview, n_wanted: usize) -> Self {
        let (run, listed) = (&recalled.run, &recalled.listed);
        let review = run.review.as_deref();
        let (at_gate, withheld) = review.map(split).unwrap_or_default();
        let findings: Vec<&Finding> = review.iter().flat_map(|review| &review.findings).chain(at_gate).collect();
        let title = listed.title.as_deref().filter(|title| !title.trim().is_empty());
        let n_shown = findings.len().min(n_wanted);
        let more = (n_shown < findings.len() && n_wanted < MAX_SHOWN)
            .then(|| format!("/reviews/{}?show={}", run.id, (n_wanted * 4).min(MAX_SHOWN)));
        Self {
            chrome,
            run: run.id,
            title: title.unwrap_or(&listed.subject.name).to_owned(),
            result: super::result(listed),
            reason: reason(recalled),
            is_outdated: recalled.is_outdated,
            last: recalled.last,
            facts: facts(recalled),
            feature: listed.feature.as_ref().map(FeatureLink::of),
            counts: super::counts(listed),
            groups: groups(&findings, recalled.since.as_ref(), n_shown),
            n_shown,
            n_findings: findings.len(),
            more,
            since: recalled.since.as_ref().map(SinceView::of),
            coverage: CoverageView::of(review),
            n_withheld: withheld.len(),
            withheld: withheld.into_iter().take(SHOWN).map(not_counted).collect(),
            asked: review.map(asked).unwrap_or_default(),
            notes: review.and_then(|review| review.notes.as_deref()).map(lines).unwrap_or_default(),
            has_review: review.is_some(),
        }
    }
}

/// Why the review ended as it did: the explanation of the one state that every surface shows.
fn reason(recalled: &StoredReview) -> String {
    match &recalled.listed.state {
        Some(state) => words::sentence(state.explanation()),
        None => {
            let why = recalled.run.problem.as_deref().unwrap_or("it was stopped");
            format!("There is no review, and nothing was approved: {}.", why.trim_end_matches('.'))
        }
    }
}

fn facts(recalled: &StoredReview) -> Vec<Fact> {
    let (run, listed) = (&recalled.run, &recalled.listed);
    let plain = |name, value: String| Fact { name, value, whole: None };
    let commit = |name, sha: &str| {
        // One that is all zeros names nothing.
        let is_known = sha.bytes().any(|byte| byte != b'0');
        let value = if is_known { sha.chars().take(12).collect() } else { String::new() };
        Fact { name, value, whole: Some(sha.to_owned()) }
    };
    let mut facts = vec![
        plain("Repository", listed.subject.repository.clone()),
        plain("Reviewed", in_words(listed)),
        plain("From", origin_in_words(listed.origin).to_owned()),
        plain("Compared", run.compared.clone()),
        commit("Commit", &run.head),
        commit("Against", &run.base),
        plain("Ended", words::moment(&iso(run.finished_ms)) + " UTC"),
        plain("Took", words::duration(listed.took_ms)),
        plain("Lines added", grouped(run.n_added)),
        plain("Reviewers", history::reviewers(listed).join(", ")),
    ];
    facts.extend(listed.cost_usd.map(|cost| plain("Cost", words::cost(cost))));
    facts.extend(listed.n_tokens.map(|n| plain("Tokens", grouped(n))));
    facts.push(plain("Made by", format!("tollgate {}", run.version)));
    facts.retain(|fact| !fact.value.trim().is_empty());
    facts
}

/// The first so many findings, blockers first.
fn groups(findings: &[&Finding], since: Option<&Since>, n_shown: usize) -> Vec<Group> {
    let mut groups = [
        Group { id: "blocking", title: "Must be fixed", findings: vec![] },
        Group { id: "remarks", title: "Remarks", findings: vec![] },
        Group { id: "strengths", title: "Strengths", findings: vec![] },
    ];
    for (index, finding) in findings.iter().enumerate().take(n_shown) {
        let is_new = since.is_some_and(|since| since.delta.new.contains(&index));
        let mark = if is_new { Mark::New } else { Mark::None };
        let place = match finding.severity {
            Severity::Critical | Severity::High => 0,
            Severity::Medium | Severity::Low | Severity::Nit => 1,
            Severity::Praise => 2,
        };
        groups[place].findings.push(shown(finding, mark, finding.id.to_string()));
    }
    groups.into_iter().filter(|group| !group.findings.is_empty()).collect()
}

fn shown(finding: &Finding, mark: Mark, anchor: String) -> FindingView {
    let some = |text: &str| (!text.trim().is_empty()).then(|| text.to_owned());
    let by = [finding.origin.reviewer.as_deref(), finding.origin.rule.as_deref()];
    let by: Vec<&str> = by.into_iter().flatten().collect();
    // A finding about the whole change has no place in it.
    let location = Some(&finding.location).filter(|_| !verify::is_about_whole_change(finding));
    FindingView {
        anchor,
        id: finding.id.to_string(),
        fingerprint: Fingerprint::of(finding).to_string(),
        severity: finding.severity,
        category: finding.category.as_str(),
        title: finding.summary.as_str().to_owned(),
        description: finding.reason.clone().unwrap_or_default(),
        evidence: some(&finding.evidence),
        suggestion: finding.suggestion.as_deref().and_then(some),
        reviewer: some(&by.join(" · ")),
        file: location.map(|location| location.file.as_str().to_owned()),
        line: location.map(|location| location.lines.start()),
        place: location.map(|location| Place { text: at(location.file.as_str(), location.lines), href: None }),
        mark,
        offers: Offers::default(),
    }
}

/// `src/a.rs:3`, or `src/a.rs:3-5`.
fn at(file: &str, lines: LineRange) -> String {
    let (start, end) = (lines.start(), lines.end());
    if start == end { format!("{file}:{start}") } else { format!("{file}:{start}-{end}") }
}

impl SinceView {
    fn of(since: &Since) -> Self {
        let prior: &[Finding] = since.prior.review.as_ref().map_or(&[], |review| &review.findings);
        let resolved = since.delta.resolved.iter().filter_map(|&index| prior.get(index));
        Self {
            run: since.prior.id,
            n_new: since.delta.new.len(),
            n_still_open: since.delta.still_open.len(),
            n_resolved: since.delta.resolved.len(),
            n_dismissed: since.dismissed.len(),
            resolved: resolved
                .take(SHOWN)
                .map(|finding| shown(finding, Mark::Resolved, format!("resolved-{}", finding.id)))
                .collect(),
        }
    }
}

impl CoverageView {
    fn of(review: Option<&Review>) -> Self {
        let coverage = review.and_then(|review| review.coverage.as_ref());
        let count = coverage.map(|coverage| coverage.count()).unwrap_or_default();
        let hunks = || coverage.into_iter().flat_map(|coverage| &coverage.hunks);
        let skipped = hunks().filter_map(|covered| match &covered.status {
            HunkStatus::Skipped(reason) => Some(Hunk::new(covered, reason)),
            HunkStatus::Reviewed | HunkStatus::NotReviewed(_) => None,
        });
        // One reason for many files, such as a failed call, is said once.
        let groups = coverage.into_iter().flat_map(Coverage::not_reviewed);
        let missed = groups.map(|group| Hunk { place: group.in_words(), reason: group.why.to_owned() });
        Self {
            is_known: coverage.is_some(),
            n_reviewed: count.reviewed,
            n_skipped: count.skipped,
            skipped_in_words: coverage.and_then(Coverage::skipped_in_words),
            n_missed: count.not_reviewed,
            skipped: skipped.take(MAX_HUNKS).collect(),
            missed: missed.take(MAX_HUNKS).collect(),
        }
    }

    fn n_all(&self) -> usize {
        self.n_reviewed + self.n_skipped + self.n_missed
    }
}

impl Hunk {
    fn new(covered: &CoveredHunk, reason: &str) -> Self {
        let place = match covered.lines {
            Some(lines) => at(covered.file.as_str(), lines),
            None => covered.file.as_str().to_owned(),
        };
        Self { place, reason: reason.to_owned() }
    }
}

/// The withheld findings that count at the gate of the board, and the others.
fn split(review: &Review) -> (Vec<&Finding>, Vec<&WithheldFinding>) {
    let is_at_gate = review.extra.contains_key(GATE_RESULT);
    let (counted, others): (Vec<_>, Vec<_>) =
        review.withheld.iter().partition(|held| is_at_gate && held.counts_at_gate());
    (counted.into_iter().map(|held| &held.finding).collect(), others)
}

fn not_counted(held: &WithheldFinding) -> (FindingView, String) {
    (shown(&held.finding, Mark::None, format!("withheld-{}", held.finding.id)), held.why.to_string())
}

/// The models and agents that were asked, and their cost. The stored JSON is read as untrusted.
fn asked(review: &Review) -> Vec<Asked> {
    let entries = review.extra.get("x_reviewers").and_then(Value::as_array).into_iter().flatten();
    let number = |value: &Value| value.as_u64().map_or_else(|| "–".to_owned(), grouped);
    let entry = |entry: &Value| {
        let (input, output) = (&entry["tokens"]["input"], &entry["tokens"]["output"]);
        Some(Asked {
            name: entry["name"].as_str()?.to_owned(),
            model: entry["model"].as_str().unwrap_or("–").to_owned(),
            calls: number(&entry["calls"]),
            tokens: format!("{} read, {} written", number(input), number(output)),
            cost: entry["cost_usd"].as_f64().map_or_else(|| "not known".to_owned(), words::cost),
            time: entry["seconds"].as_f64().map_or_else(|| "–".to_owned(), |s| words::duration((s * 1e3) as u64)),
            problem: entry["problem"].as_str().map(str::to_owned),
        })
    };
    entries.filter_map(entry).collect()
}

fn lines(text: &str) -> Vec<String> {
    text.lines().filter(|line| !line.trim().is_empty()).take(100).map(str::to_owned).collect()
}
