//! HTML report: a self-contained page.
//!
//! No script, no external requests, light and dark, readable on a phone and on paper. The verdict and unreviewed hunks
//! come first, then the findings in the diff, under their lines.
//!
//! ```html
//! <section class="verdict bad"><h2>Needs changes</h2> … </section>
//! <div class="line add hit"><span class="no"></span><span class="no">12</span> … </div>
//! <article class="finding high" id="F001"> … </article>
//! ```
//!
//! All text of the change is escaped, and invisible characters are made visible.

mod diff;
mod prose;

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use crate::coverage::HunkStatus;
use crate::diff::{FileDiff, Status};
use crate::finding::{Finding, FindingId, Severity, Side};
use crate::fingerprint::Fingerprint;
use crate::gate::Gate;
use crate::html::escape;
use crate::path::{FilePath, RepoPath};
use crate::report::head_state::HeadState;
use crate::report::html::diff::{Budget, FileView, grouped, lines_in_words};
use crate::report::html::prose::{address, code, inline, prose};
use crate::review::{Review, WithheldFinding};
use crate::verdict::Colour;
use crate::visible;

const STYLE: &str = include_str!("html/style.css");

/// The most lines of the change on one page; browsers get slow beyond.
const MAX_LINES: usize = 20_000;

/// Writes a review as a page. Without the change, findings show their evidence instead.
#[must_use]
pub fn write(review: &Review, files: &[FileDiff], gate: Option<Gate>) -> String {
    let state = HeadState::stored(review, gate);
    let title = review.title.as_deref().filter(|title| !title.trim().is_empty()).unwrap_or("Code review");
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"referrer\" content=\"no-referrer\">\n<title>{title} · {verdict}</title>\n\
         <style>\n{STYLE}</style>\n</head>\n<body>\n<a class=\"skip\" href=\"#findings\">Skip to the findings</a>\n",
        title = escape(title),
        verdict = state.label(),
    );
    page.push_str(&header(review, title));
    page.push_str("<main>\n");
    page.push_str(&verdict(review, &state));
    page.push_str(&not_reviewed(review));
    page.push_str(&notes(review));
    page.push_str(&index(review));
    page.push_str(&change(review, files));
    page.push_str(&withheld(review));
    page.push_str(&skipped(review));
    page.push_str("</main>\n");
    page.push_str(&footer(review));
    page.push_str("</body>\n</html>\n");
    page
}

fn header(review: &Review, title: &str) -> String {
    let compared = review.compared.as_deref().map(|compared| format!("{} · ", escape(compared))).unwrap_or_default();
    let shas = if review.reviewed.is_null() {
        "no commit named".to_owned()
    } else {
        format!("<code>{}</code> against <code>{}</code>", review.reviewed.short(), review.base.short())
    };
    format!(
        "<header class=\"top\">\n<p class=\"product\">tollgate review</p>\n<h1>{}</h1>\n\
         <p class=\"compared\">{compared}{shas}</p>\n</header>\n",
        escape(title)
    )
}

/// The sign and the CSS class of a state.
fn look_of(state: &HeadState) -> (&'static str, &'static str) {
    match (state.colour(), state.gate()) {
        (Colour::Red, _) | (_, Gate::Closed) => ("✖", "bad"),
        (_, Gate::Partial | Gate::Skipped) => ("◐", "bad"),
        (Colour::Yellow | Colour::Blue, Gate::Open) => ("●", ""),
        (Colour::Green, Gate::Open) => ("✔", "good"),
    }
}

fn verdict(review: &Review, state: &HeadState) -> String {
    let (sign, class) = look_of(state);
    let (words, sentence) = (state.label(), escape(state.explanation()));
    let mut chips = String::new();
    for severity in Severity::ALL {
        let n_findings = review.findings.iter().filter(|finding| finding.severity == severity).count();
        if n_findings > 0 {
            let class = class_of(severity);
            chips.push_str(&format!("<li class=\"{class}\"><b>{}</b> {severity}</li>\n", grouped(n_findings)));
        }
    }
    let chips = if chips.is_empty() { chips } else { format!("<ul class=\"counts\">\n{chips}</ul>\n") };
    format!(
        "<section class=\"verdict {class}\" aria-labelledby=\"verdict\">\n\
         <h2 id=\"verdict\"><span class=\"sign\" aria-hidden=\"true\">{sign}</span> {words}</h2>\n<p>{sentence}</p>\n\
         {chips}{}{}{}</section>\n",
        incomplete(review),
        coverage(review),
        asked(review)
    )
}

/// Why the review is not complete.
fn incomplete(review: &Review) -> String {
    let reasons = review.incomplete_because();
    let items: String = reasons.iter().map(|reason| format!("<li>{}</li>\n", escape(reason))).collect();
    if items.is_empty() { items } else { format!("<ul class=\"doubts\">\n{items}</ul>\n") }
}

/// The models and agents that reviewed, with tokens and cost.
fn asked(review: &Review) -> String {
    let entries = review.extra.get("x_reviewers").and_then(Value::as_array).into_iter().flatten();
    let words = entries.filter_map(|entry| {
        let tokens = |name: &str| visible::grouped(entry["tokens"][name].as_u64().unwrap_or(0));
        let model = entry["model"].as_str().map(|model| format!(" ({})", escape(model))).unwrap_or_default();
        let cost = entry["cost_usd"].as_f64().map(|cost| format!(", ${cost:.2}")).unwrap_or_default();
        let (input, output) = (tokens("input"), tokens("output"));
        Some(format!("{}{model}, {input} tokens read, {output} written{cost}", escape(entry["name"].as_str()?)))
    });
    let words: Vec<String> = words.collect();
    if words.is_empty() { String::new() } else { format!("<p class=\"asked\">Reviewers: {}</p>\n", words.join("; ")) }
}

fn coverage(review: &Review) -> String {
    let Some(coverage) = &review.coverage else { return String::new() };
    let count = coverage.count();
    let bar = |class: &str, part: usize| {
        if part == 0 { String::new() } else { format!("<span class=\"{class}\" style=\"flex:{part}\"></span>") }
    };
    let mut words = vec![format!("{} of {} hunks reviewed", grouped(count.reviewed), grouped(coverage.hunks.len()))];
    if count.skipped > 0 {
        words.push(format!("{} skipped by rule", grouped(count.skipped)));
    }
    if count.not_reviewed > 0 {
        words.push(format!("<strong>{} not reviewed</strong>", grouped(count.not_reviewed)));
    }
    format!(
        "<div class=\"coverage\"><div class=\"bar\" aria-hidden=\"true\">{}{}{}</div>{}</div>\n",
        bar("seen", count.reviewed),
        bar("skipped", count.skipped),
        bar("missed", count.not_reviewed),
        words.join(", ")
    )
}

fn not_reviewed(review: &Review) -> String {
    let items = covered_items(review, |status| match status {
        HunkStatus::NotReviewed(reason) => Some(reason),
        HunkStatus::Reviewed | HunkStatus::Skipped(_) => None,
    });
    if items.is_empty() {
        return String::new();
    }
    format!(
        "<section class=\"missed-list\" aria-labelledby=\"missed\">\n<h2 id=\"missed\">Not reviewed</h2>\n\
         <p>These parts of the change were not reviewed.</p>\n<ul>\n{items}</ul>\n</section>\n"
    )
}

/// One item for each reason, with all its places.
fn covered_items(review: &Review, reason: impl Fn(&HunkStatus) -> Option<&String>) -> String {
    let mut groups: Vec<(&str, Vec<String>)> = Vec::new();
    let mut known: HashMap<&str, usize> = HashMap::new();
    for covered in review.coverage.iter().flat_map(|coverage| &coverage.hunks) {
        let Some(reason) = reason(&covered.status) else { continue };
        let index = *known.entry(reason).or_insert(groups.len());
        if index == groups.len() {
            groups.push((reason, Vec::new()));
        }
        let lines = covered.lines.map_or_else(String::new, |lines| format!(":{lines}"));
        groups[index].1.push(format!("<code>{}{lines}</code>", code(covered.file.as_str())));
    }
    groups.iter().map(|(reason, places)| format!("<li>{}: {}</li>\n", places.join(", "), escape(reason))).collect()
}

fn skipped(review: &Review) -> String {
    let items = covered_items(review, |status| match status {
        HunkStatus::Skipped(reason) => Some(reason),
        HunkStatus::Reviewed | HunkStatus::NotReviewed(_) => None,
    });
    if items.is_empty() {
        return String::new();
    }
    let hunks = review.coverage.iter().flat_map(|coverage| &coverage.hunks);
    let n_skipped = hunks.filter(|covered| matches!(covered.status, HunkStatus::Skipped(_))).count();
    format!(
        "<h2>Skipped by rule</h2>\n<details class=\"folded\">\n<summary>{} skipped</summary>\n\
         <ul class=\"plain\">\n{items}</ul>\n</details>\n",
        if n_skipped == 1 { "1 part".to_owned() } else { format!("{} parts", grouped(n_skipped)) }
    )
}

fn notes(review: &Review) -> String {
    match review.notes.as_deref().filter(|notes| !notes.trim().is_empty()) {
        Some(notes) => format!("<section>\n<h2>Reviewer notes</h2>\n{}</section>\n", prose(notes)),
        None => String::new(),
    }
}

/// A list of all findings, the worst first.
fn index(review: &Review) -> String {
    if review.findings.is_empty() {
        return String::new();
    }
    let mut findings: Vec<&Finding> = review.findings.iter().collect();
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    let items: String = findings
        .iter()
        .map(|finding| {
            format!(
                "<li class=\"{}\"><span class=\"badge\">{}</span><a href=\"#{}\">{}</a>\
                 <span class=\"where\">{}:{}</span></li>\n",
                class_of(finding.severity),
                finding.severity,
                finding.id,
                inline(finding.summary.as_str()),
                code(finding.location.file.as_str()),
                finding.location.lines,
            )
        })
        .collect();
    format!(
        "<nav aria-labelledby=\"index\">\n<h2 id=\"index\">Findings</h2>\n<ol class=\"index\">\n{items}</ol>\n</nav>\n"
    )
}

/// The findings in their diff, then the rest of the change.
fn change(review: &Review, files: &[FileDiff]) -> String {
    let mut by_path: HashMap<&FilePath, Vec<&Finding>> = HashMap::new();
    for finding in &review.findings {
        by_path.entry(&finding.location.file).or_default().push(finding);
    }
    let mut views: Vec<FileView<'_>> = files.iter().map(|file| FileView::new(file, &mut by_path)).collect();
    // The worst file first; the sort is stable.
    views.sort_by_key(|view| std::cmp::Reverse(view.worst()));
    let shown: HashSet<FindingId> = views.iter().flat_map(FileView::findings).map(|finding| finding.id).collect();
    let left: Vec<&Finding> = review.findings.iter().filter(|finding| !shown.contains(&finding.id)).collect();
    let mut budget = Budget { left: MAX_LINES, n_cut: 0 };
    let mut html =
        String::from("<section id=\"findings\" aria-labelledby=\"by-file\">\n<h2 id=\"by-file\">By file</h2>\n");
    for view in views.iter().filter(|view| view.has_findings()) {
        let elsewhere: String = view.elsewhere.iter().map(|finding| card(finding, Some(view.file), true)).collect();
        let hunks = view.hunks(&mut budget, &|finding, file| card(finding, Some(file), false));
        html.push_str(&format!(
            "<article class=\"file\">\n<h3>{}</h3>\n{elsewhere}{hunks}</article>\n",
            file_head(view.file)
        ));
    }
    html.push_str(&loose(&left));
    if review.findings.is_empty() {
        html.push_str("<p class=\"clean\">No findings.</p>\n");
    }
    html.push_str("</section>\n");
    html + &rest_of_change(&views, &mut budget)
}

/// Findings in files outside the diff.
fn loose(findings: &[&Finding]) -> String {
    let mut files: Vec<&FilePath> = findings.iter().map(|finding| &finding.location.file).collect();
    let mut seen = HashSet::new();
    files.retain(|file| seen.insert(*file));
    let mut html = String::new();
    for file in files {
        let here = findings.iter().filter(|finding| finding.location.file == *file);
        let cards: String = here.map(|finding| card(finding, None, true)).collect();
        let name = code(file.as_str());
        html.push_str(&format!("<article class=\"file\">\n<h3><code>{name}</code></h3>\n{cards}</article>\n"));
    }
    html
}

fn rest_of_change(views: &[FileView<'_>], budget: &mut Budget) -> String {
    let mut html = String::new();
    for view in views.iter().filter(|view| !view.has_findings()) {
        let head = file_head(view.file);
        let hunks = view.hunks(budget, &|finding, file| card(finding, Some(file), false));
        let hunks = if hunks.is_empty() { "<p class=\"cut\">no lines to show</p>\n".to_owned() } else { hunks };
        html.push_str(&format!("<details class=\"file\">\n<summary>{head}</summary>\n{hunks}</details>\n"));
    }
    if html.is_empty() && budget.n_cut == 0 {
        return String::new();
    }
    let cut = match budget.n_cut {
        0 => String::new(),
        n_cut => format!("<p class=\"cut\">{} of the change are not shown on this page.</p>\n", lines_in_words(n_cut)),
    };
    format!("<section class=\"files-rest\">\n<h2>Files without findings</h2>\n{cut}{html}</section>\n")
}

fn file_head(file: &FileDiff) -> String {
    let path = code(FilePath::of_repo_path(file.path()).as_str());
    let from = |old: &Option<RepoPath>| old.as_ref().map(|old| code(FilePath::of_repo_path(old).as_str()));
    let what = match (file.status, file.binary) {
        (_, true) => "binary".to_owned(),
        (Status::Added, _) => "new file".to_owned(),
        (Status::Deleted, _) => "deleted".to_owned(),
        (Status::Renamed, _) => format!("renamed from {}", from(&file.old_path).unwrap_or_default()),
        (Status::Copied, _) => format!("copied from {}", from(&file.old_path).unwrap_or_default()),
        (Status::Modified, _) => String::new(),
    };
    let what = if what.is_empty() { what } else { format!("<span class=\"stat\">{what}</span>") };
    format!("<code>{path}</code> <span class=\"stat\">+{} −{}</span>{what}", file.n_added, file.n_removed)
}

/// One finding; `alone` when its lines are not shown above.
fn card(finding: &Finding, file: Option<&FileDiff>, alone: bool) -> String {
    let class = class_of(finding.severity);
    let location = &finding.location;
    let before = if location.side == Side::Left { " before the change" } else { "" };
    let range = if location.lines.start() == location.lines.end() { "line" } else { "lines" };
    let mut html = format!(
        "<article class=\"finding {class}\" id=\"{id}\" aria-labelledby=\"{id}-title\">\n\
         <h4 id=\"{id}-title\"><span class=\"badge\">{}</span> {}</h4>\n\
         <p class=\"meta\"><a href=\"#{id}\">{id}</a> · {} · {range} {}{before}</p>\n",
        finding.severity,
        inline(finding.summary.as_str()),
        finding.category,
        location.lines,
        id = finding.id,
    );
    if let Some(reason) = &finding.reason {
        html.push_str(&prose(reason));
    }
    if alone {
        html.push_str(&format!("<pre><code>{}</code></pre>\n", code(&finding.evidence.replace("\r\n", "\n"))));
    }
    html.push_str(&fix(finding, file));
    html.push_str(&origin(finding));
    html.push_str("</article>\n");
    html
}

fn fix(finding: &Finding, file: Option<&FileDiff>) -> String {
    let side = finding.location.side;
    let known = finding.fix.as_ref().and_then(|fix| Some((fix, diff::lines_after(file?, side, fix.lines)?)));
    if let Some((fix, old)) = known {
        let new: Vec<&str> =
            if fix.replacement.is_empty() { Vec::new() } else { fix.replacement.split('\n').collect() };
        return format!(
            "<p class=\"label\">Suggested fix</p>\n<div class=\"fix\">\n{}</div>\n",
            diff::small(&old, &new)
        );
    }
    let suggestion = finding.suggestion.as_deref().or(finding.fix.as_ref().map(|fix| fix.replacement.as_str()));
    match suggestion.filter(|suggestion| !suggestion.trim().is_empty()) {
        Some(suggestion) => format!(
            "<p class=\"label\">Suggested fix</p>\n<pre><code>{}</code></pre>\n",
            code(&suggestion.replace("\r\n", "\n"))
        ),
        None if finding.fix.is_some() => "<p class=\"label\">Suggested fix: remove these lines</p>\n".to_owned(),
        None => String::new(),
    }
}

fn origin(finding: &Finding) -> String {
    let origin = &finding.origin;
    let mut parts = Vec::new();
    if let Some(rule) = origin.rule.as_deref().filter(|rule| !rule.is_empty()) {
        let shown = format!("<code>{}</code>", code(rule));
        parts.push(match origin.rule_url.as_deref().and_then(address) {
            Some(url) => format!("<a href=\"{url}\" rel=\"noreferrer noopener\">{shown}</a>"),
            None => shown,
        });
    }
    let reviewers: Vec<&str> = finding.reviewers().into_iter().filter(|name| !name.is_empty()).collect();
    if !reviewers.is_empty() {
        parts.push(format!("found by {}", escape(&reviewers.join(", "))));
    }
    parts.push(Fingerprint::of(finding).to_string());
    format!("<p class=\"meta\">{}</p>\n", parts.join(" · "))
}

fn withheld(review: &Review) -> String {
    if review.withheld.is_empty() {
        return String::new();
    }
    let items: String = review.withheld.iter().map(withheld_item).collect();
    let words = match review.withheld.len() {
        1 => "1 finding was withheld".to_owned(),
        n_withheld => format!("{} findings were withheld", grouped(n_withheld)),
    };
    format!(
        "<section>\n<h2>Not counted</h2>\n<details class=\"folded\">\n\
         <summary>{words} and why</summary>\n{items}</details>\n</section>\n"
    )
}

fn withheld_item(withheld: &WithheldFinding) -> String {
    let finding = &withheld.finding;
    let why = escape(&withheld.why.to_string());
    format!(
        "<article class=\"withheld {}\">\n<p><span class=\"badge\">{}</span> {}</p>\n\
         <p class=\"meta\"><code>{}:{}</code> · {why}</p>\n</article>\n",
        class_of(finding.severity),
        finding.severity,
        inline(finding.summary.as_str()),
        code(finding.location.file.as_str()),
        finding.location.lines,
    )
}

fn footer(review: &Review) -> String {
    let outdated = if review.re_review_required { " · outdated: a new review is required" } else { "" };
    format!(
        "<footer>\nReviewed <code>{}</code>, base <code>{}</code>{outdated}. \
         Generated by tollgate.\n</footer>\n",
        review.reviewed, review.base
    )
}

fn class_of(severity: Severity) -> &'static str {
    match severity {
        Severity::Critical => "critical",
        Severity::High => "high",
        Severity::Medium => "medium",
        Severity::Low => "low",
        Severity::Nit => "nit",
        Severity::Praise => "praise",
    }
}
