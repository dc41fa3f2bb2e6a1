//! `tollgate parse-answer`: parses the answer of a model or an agent.

use std::path::{Path, PathBuf};

use tollgate_core::answer::{self, Answer, Claim, Decision, Form, PriorAnswer};
use tollgate_core::visible::visible;
use tollgate_engine::failure::Failure;

use super::rules::DataFormat;
use super::{CliContext, Exit, failure, output};

/// Parse the answer of a model or an agent: its decision and its findings
///
/// Accepts the answer schema, JSON anywhere in a text (also truncated), a list of issues below `[APPROVED]` or
/// `[REJECTED]`, the Markdown of a review, and comments on a pull request; with them answers about findings of the last
/// review (`P1: fixed – src/a.rs:12 …`). Does not verify findings against a change.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    tollgate parse-answer answer.txt\n  \
    my-agent review | tollgate parse-answer --format json\n  \
    pbpaste | tollgate parse-answer -\n\n\
    Exit codes: 0 the answer was parsed, approved or rejected; 2 it cannot be parsed or is not a review.")]
pub(crate) struct Args {
    /// The answer; `-` is standard input
    #[arg(default_value = "-")]
    input: PathBuf,
    /// The output format; `tollgate schema parse-answer` describes the JSON
    #[arg(long, value_enum, default_value_t = DataFormat::Text)]
    format: DataFormat,
}

pub(crate) fn run(context: &CliContext, args: &Args) -> Result<Exit, Failure> {
    let is_stdin = args.input == Path::new("-");
    let name = if is_stdin { "standard input".to_owned() } else { args.input.display().to_string() };
    let bytes = output::read_input(&context.resolve(&args.input), answer::MAX_BYTES as u64)?;
    // An invalid byte must not cost the findings around it.
    let text = String::from_utf8_lossy(&bytes);
    let answer = answer::read(&text).map_err(|none| failure::no_answer(&name, &none))?;
    output::print(&match args.format {
        DataFormat::Text => visible(&in_words(&answer)).into_owned(),
        DataFormat::Json => answer::json::write(&answer),
    })?;
    Ok(Exit::Success)
}

fn in_words(answer: &Answer) -> String {
    let decision = match answer.settled_decision() {
        Some(Decision::Approved) => "approved",
        Some(Decision::Rejected) => "rejected",
        None => "no decision",
    };
    let form = match answer.form {
        Form::Structured => "in the answer schema",
        Form::Json => "as JSON",
        Form::Text => "as a list of issues",
        Form::Markdown => "as the Markdown of a review",
        Form::Comment => "as a comment",
    };
    let cut = if answer.truncated { ", cut off" } else { "" };
    let mut text = format!("{decision}, {form}{cut}\n");
    if let Some(summary) = &answer.summary {
        text.push_str(&format!("\n{}\n", indented(summary, "  ")));
    }
    for PriorAnswer { id, state, evidence } in &answer.prior {
        let evidence = if evidence.is_empty() { String::new() } else { format!(" – {evidence}") };
        text.push_str(&format!("\n{id}: {}{evidence}\n", state.as_str()));
    }
    for claim in &answer.claims {
        text.push_str(&format!("\n{}\n", claim_in_words(claim)));
    }
    let n_findings = answer.claims.len();
    let findings = if n_findings == 1 { "finding" } else { "findings" };
    text.push_str(&format!("\n{n_findings} {findings}\n"));
    for problem in answer.problems.iter().cloned().chain(answer.contradiction()) {
        text.push_str(&format!("note: {problem}\n"));
    }
    text
}

fn claim_in_words(claim: &Claim) -> String {
    let lines = claim.lines.map(|lines| format!(":{lines}")).unwrap_or_default();
    let file = claim.file.as_deref().unwrap_or("(no file)");
    let mut text = format!("[{}/{}] {file}{lines}: {}", claim.severity, claim.category, claim.title);
    let parts = [
        ("", &claim.reason),
        ("evidence", &claim.evidence),
        ("suggestion", &claim.suggestion),
        ("replacement", &claim.replacement),
    ];
    for (name, part) in parts {
        let Some(part) = part else { continue };
        if !name.is_empty() {
            text.push_str(&format!("\n  {name}:"));
        }
        text.push('\n');
        text.push_str(&indented(part, if name.is_empty() { "  " } else { "    " }));
    }
    text
}

fn indented(text: &str, indent: &str) -> String {
    let line = |line: &str| if line.is_empty() { String::new() } else { format!("{indent}{line}") };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}
