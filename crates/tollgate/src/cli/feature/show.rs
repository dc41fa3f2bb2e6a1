//! `tollgate feature show`: the status, reviews and files of one feature.

use std::fmt::Write as _;

use serde_json::json;
use tollgate_core::board::machine::Work;
use tollgate_core::board::{Compliance, Document, Iteration, Met, Remark};
use tollgate_core::finding::Severity;
use tollgate_core::visible::visible;
use tollgate_engine::board::{Refused, iso};
use tollgate_engine::failure::Failure;
use tollgate_engine::store::board::{FeatureRow, TransitionRow};
use tollgate_server::view::iteration_json;

use super::BoardContext;
use crate::cli::rules::DataFormat;
use crate::cli::{Exit, output};

/// The most findings that are listed per review.
const MAX_FINDINGS: usize = 20;

pub(super) fn run(scene: &BoardContext<'_>, row: &FeatureRow, with_history: bool) -> Result<Exit, Failure> {
    let (board, project) = (&scene.board, scene.project.id);
    let rows = board.iterations(project, &row.id).map_err(Refused::into_failure)?;
    let iterations: Vec<Iteration> = rows.into_iter().map(|row| row.iteration).collect();
    let history = if with_history { board.history(project, &row.id).map_err(Refused::into_failure)? } else { vec![] };
    let text = match scene.format {
        DataFormat::Json => {
            let mut value = scene.json(row)?;
            value["iterations"] = iterations.iter().map(iteration_json).collect();
            if with_history {
                value["history"] = history.iter().map(step_json).collect();
            }
            format!("{value:#}\n")
        }
        DataFormat::Text => {
            let mut text = head(scene, row);
            for iteration in &iterations {
                text.push('\n');
                review(&mut text, iteration);
            }
            if !history.is_empty() {
                text.push_str("\nHistory\n");
                history.iter().for_each(|step| happened(&mut text, step));
            }
            files(&mut text, scene, row);
            text
        }
    };
    output::print(&text)?;
    Ok(Exit::Success)
}

fn head(scene: &BoardContext<'_>, row: &FeatureRow) -> String {
    let document = Document::parse(&row.document).ok();
    let (title, project) = (visible(row.facts.display_title()), visible(&scene.project.name));
    let mut text = format!("{title}\n{} of {project}\n\n", row.id);
    let mut line = |name: &str, value: &str| {
        let _ = writeln!(text, "{name:<10}  {}", visible(value).replace('\n', "\n            "));
    };
    let state = row.state.in_words();
    line("status", state.strip_prefix("it is ").unwrap_or(&state));
    if let Some(why) = &row.broken {
        line("broken", &format!("its file cannot be read: {why}"));
    }
    if let Some(problem) = &row.problem {
        line("problem", problem);
    }
    if row.state.work == Work::Queued && !row.facts.dependencies.is_empty() {
        line("waits for", &row.facts.dependencies.join(", "));
    } else if !row.facts.dependencies.is_empty() {
        line("depends on", &row.facts.dependencies.join(", "));
    }
    line("priority", &row.facts.priority.to_string());
    if let Some(model) = document.as_ref().and_then(Document::model) {
        line("model", &model);
    }
    if let Some(branch) = &row.branch {
        let target = row.target.as_ref().map(|target| format!(", for {target}")).unwrap_or_default();
        line("branch", &format!("{branch}{target}"));
    }
    if let Some(worktree) = row.worktree.as_ref().filter(|worktree| worktree.is_dir()) {
        line("work tree", &worktree.display().to_string());
    }
    if row.cost_usd > 0.0 || row.n_tokens > 0 {
        line("cost", &format!("${:.2}, {} tokens", row.cost_usd, row.n_tokens));
    }
    if let Some(document) = document {
        let description = document.description();
        if !description.trim().is_empty() {
            let _ = writeln!(text, "\n{}", indent(&visible(description.trim())));
        }
    }
    text
}

fn review(text: &mut String, iteration: &Iteration) {
    let commit = iteration.commit.as_deref().map(|commit| commit.get(..7).unwrap_or(commit));
    let commit = commit.map(|commit| format!(", commit {commit}")).unwrap_or_default();
    let by = if iteration.is_reviewed() { format!(" by {}", visible(&iteration.model)) } else { String::new() };
    let outdated = if iteration.outdated { ", outdated" } else { "" };
    let _ = writeln!(
        text,
        "Iteration {}: {}{outdated}, {}{by}{commit}",
        iteration.number,
        iteration.outcome_in_words(),
        visible(&iteration.reviewed_at),
    );
    let said = |text: &mut String, value: &str| {
        if !value.trim().is_empty() {
            let _ = writeln!(text, "{}", indent(&visible(value.trim())));
        }
    };
    said(text, &iteration.summary);
    if let Some(reason) = iteration.reason.as_deref().filter(|reason| *reason != iteration.summary) {
        said(text, reason);
    }
    findings(text, &iteration.findings);
    criteria(text, &iteration.compliance);
    iteration.notes.iter().for_each(|note| said(text, note));
    if let Some(person) = &iteration.overridden {
        said(text, &format!("overridden by {}: {}", person.who, person.reason));
    }
}

fn findings(text: &mut String, findings: &[Remark]) {
    let order = [Severity::Critical, Severity::High, Severity::Medium, Severity::Low, Severity::Nit];
    let count = |severity: Severity| findings.iter().filter(|finding| finding.severity == severity).count();
    let counted: Vec<String> =
        order.iter().filter(|severity| count(**severity) > 0).map(|one| format!("{} {one}", count(*one))).collect();
    if counted.is_empty() {
        return;
    }
    let _ = writeln!(text, "  Findings: {}", counted.join(", "));
    for finding in findings.iter().take(MAX_FINDINGS) {
        let line = finding.line.map(|line| format!(":{line}")).unwrap_or_default();
        let place = match &finding.file {
            Some(file) => format!("{file}{line}  "),
            None if finding.identity.is_some() => "whole change  ".to_owned(),
            None => String::new(),
        };
        let shown = format!("{:<8}  {place}{}", finding.severity.to_string(), finding.title);
        let _ = writeln!(text, "    {}", visible(&shown));
    }
    if findings.len() > MAX_FINDINGS {
        let _ = writeln!(text, "    and {} more", findings.len() - MAX_FINDINGS);
    }
}

fn criteria(text: &mut String, compliance: &Compliance) {
    if compliance.criteria.is_empty() {
        return;
    }
    text.push_str("  Criteria:\n");
    for (criterion, met) in &compliance.criteria {
        let answer = match met {
            Met::Yes { .. } => "met",
            Met::No { .. } => "not met",
            Met::Unclear { .. } => "unclear",
        };
        let _ = writeln!(text, "    {answer:<7}  {}  {}", criterion.id, visible(&criterion.text));
    }
}

fn happened(text: &mut String, step: &TransitionRow) {
    let note = step.note.as_ref().map(|note| format!(": {note}")).unwrap_or_default();
    let (at, event, status) = (iso(step.at_ms), &step.event, &step.to.status);
    let line = format!("{at}  {event:<16}  {:<16}  {}{note}", status.to_string(), step.who);
    let _ = writeln!(text, "  {}", visible(&line).replace('\n', " "));
}

fn step_json(step: &TransitionRow) -> serde_json::Value {
    json!({
        "at": iso(step.at_ms), "event": step.event, "from": step.from.as_ref().map(|state| state.status.to_string()),
        "to": step.to.status.to_string(), "by": step.who, "note": step.note,
    })
}

/// Lists the existing files of a feature.
fn files(text: &mut String, scene: &BoardContext<'_>, row: &FeatureRow) {
    let dir = &scene.board.settings().pipeline.dir;
    let folder = scene.project.path.join(dir).join("features").join(row.id.as_str());
    let mut names = vec!["feature.json".to_owned()];
    for number in 1..=row.state.iteration.min(50) {
        names.push(format!("agent-output-iteration-{number}.md"));
        names.push(format!("code-review-iteration-{number}.md"));
    }
    let there: Vec<String> = names.into_iter().filter(|name| folder.join(name).is_file()).collect();
    if !there.is_empty() {
        let _ = writeln!(text, "\nFiles in {}", visible(&folder.display().to_string()));
        there.iter().for_each(|name| text.push_str(&format!("  {name}\n")));
    }
}

fn indent(text: &str) -> String {
    text.lines().map(|line| format!("  {line}")).collect::<Vec<_>>().join("\n")
}
