//! What the bot answers to those who speak to it.
//!
//! ```text
//! Dismissed: **Input is run as code** in src/a.js (3). It stays so while its code does.
//!
//! <!-- tollgate:reply comment=123 -->
//! ```
//!
//! Each answer carries the number of the comment it is for, so that there is never a second one. Words of people and
//! reviewers are shown as they are and mean nothing: an answer must not be a way to make the bot notify others.

use std::fmt::Write as _;

use crate::comment::Label;
use crate::finding::{Finding, Severity};
use crate::fingerprint::Fingerprint;
use crate::pull::key::Key;
use crate::pull::mark::Mark;
use crate::report::escape::{literal, literal_at_start, shown, shown_path};
use crate::report::markdown::escape::{code_span, visible_lines};
use crate::report::prose;
use crate::sha::Sha;

/// The most characters of a title, a path, words of people, and of an explanation.
const MAX_TITLE: usize = 200;
const MAX_PATH: usize = 200;
const MAX_WORDS: usize = 300;
const MAX_TEXT: usize = 8000;
/// The most findings that are named.
const MAX_LISTED: usize = 30;

/// Whom an answer is for.
#[derive(Debug, Clone, Copy)]
pub struct To<'a> {
    /// The comment that is answered.
    pub comment: u64,
    /// The name that people put behind `@`.
    pub mention: &'a str,
}

/// What can be said, and what it does.
const COMMANDS: [(&str, &str); 7] = [
    ("review", "review what is new since the last review"),
    ("full review", "review all of the change again"),
    ("pause", "leave pushes alone until `resume`"),
    ("resume", "review every push again"),
    ("dismiss <id> <reason>", "say that a finding is not wanted; in its thread without the id"),
    ("explain <id>", "read more about a finding; in its thread without the id"),
    ("help", "see this list"),
];

impl To<'_> {
    fn answer(&self, text: &str) -> String {
        Mark::Reply { comment: self.comment }.below(text)
    }

    fn say(&self, command: &str) -> String {
        code_span(&format!("@{} {command}", self.mention))
    }
}

/// Lists the commands.
#[must_use]
pub fn help(to: &To<'_>) -> String {
    to.answer(&format!("{}{}", table(to), WHO))
}

const WHO: &str = "\nWhat changes something takes the right to write to this repository.";

fn table(to: &To<'_>) -> String {
    let mut text = String::from("| write, at the beginning of a line | to |\n|---|---|\n");
    for (command, what) in COMMANDS {
        // Writing to a string cannot fail, here and below.
        let _ = writeln!(text, "| {} | {what} |", to.say(command));
    }
    text
}

/// Says more about a finding; `rule` is the explanation of the rule that found it.
#[must_use]
pub fn explain(to: &To<'_>, finding: &Finding, rule: Option<&str>) -> String {
    let label = Label::of(finding.severity).map_or("Praise", Label::heading);
    let mut parts = vec![format!("**{label}: {}**", title(finding)), format!("At {}.", place(finding))];
    let said = |text: Option<&str>| text.map(|text| prose::render(&cut(text))).filter(|text| !text.trim().is_empty());
    parts.extend(said(finding.reason.as_deref()));
    if !finding.evidence.trim().is_empty() {
        parts.push(prose::code_block(&visible_lines(&cut(finding.evidence.trim_matches('\n'))), ""));
    }
    parts.extend(said(rule));
    if let Some(suggestion) = said(finding.suggestion.as_deref()) {
        parts.push(format!("What to do:\n\n{suggestion}"));
    }
    let rule = finding.origin.rule.as_deref().map(|rule| shown(rule, 100)).filter(|rule| !rule.is_empty());
    let by = rule.map_or_else(String::new, |rule| format!("Found by the rule {}. ", code_span(&rule)));
    let dismiss = to.say(&format!("dismiss {} <reason>", Key::of(finding)));
    parts.push(format!("<sub>{by}If this is wrong, write {dismiss}.</sub>"));
    to.answer(&parts.join("\n\n"))
}

/// A finding was dismissed.
#[must_use]
pub fn dismissed(to: &To<'_>, finding: &Finding, reason: &str) -> String {
    let reason = words(reason).map_or_else(String::new, |reason| format!(" Reason: {reason}"));
    let what = format!("**{}** at {}", title(finding), place(finding));
    to.answer(&format!("Dismissed: {what}. It stays so while its code does.{reason}"))
}

/// A finding that must not be dismissed without a reason.
#[must_use]
pub fn needs_reason(to: &To<'_>, finding: &Finding) -> String {
    let dismiss = to.say(&format!("dismiss {} <reason>", Key::of(finding)));
    let why = if finding.severity == Severity::Critical { "A critical finding" } else { "A finding" };
    to.answer(&format!("{why} is dismissed only with a reason: {dismiss}"))
}

/// There is no such finding, or there are several; `findings` are those that there are.
#[must_use]
pub fn no_such_finding(to: &To<'_>, asked: Option<&str>, findings: &[Finding]) -> String {
    let is_several = asked.and_then(Fingerprint::parse).is_some_and(|asked| Key::alike(findings, asked).len() > 1);
    let mut text = match asked.and_then(words) {
        Some(asked) if is_several => format!("{asked} is not one finding but several. Name one by its own id."),
        Some(asked) => format!("There is no finding {asked} here."),
        None => "Which finding is meant? Name it by its id, or write in its thread.".to_owned(),
    };
    if findings.is_empty() {
        text.push_str(" The last review found nothing.");
        return to.answer(&text);
    }
    text.push_str(" There are:\n\n");
    for (finding, key) in findings.iter().zip(Key::all(findings)).take(MAX_LISTED) {
        let key = code_span(&key.to_string());
        let _ = writeln!(text, "- {} or {key}: {} at {}", finding.id, title(finding), place(finding));
    }
    if findings.len() > MAX_LISTED {
        let _ = writeln!(text, "- and {} more", findings.len() - MAX_LISTED);
    }
    to.answer(&text)
}

/// There is no review to speak of.
#[must_use]
pub fn no_review(to: &To<'_>) -> String {
    to.answer(&format!("There is no review of this pull request yet. Write {} to have one.", to.say("review")))
}

/// Reviews are paused now.
#[must_use]
pub fn paused(to: &To<'_>) -> String {
    let (resume, review) = (to.say("resume"), to.say("review"));
    to.answer(&format!(
        "Paused: pushes are not reviewed, and the check says so. Write {resume} to go on, or {review} for a single \
         review."
    ))
}

/// Reviews are no longer paused.
#[must_use]
pub fn resumed(to: &To<'_>) -> String {
    to.answer("Resumed: every push is reviewed again, beginning with what is here now.")
}

/// A review was asked for and begins.
#[must_use]
pub fn begun(to: &To<'_>, head: Option<&Sha>, is_full: bool) -> String {
    let head = head.map_or_else(String::new, |head| format!(" of {}", head.short()));
    let what = if is_full { "A full review" } else { "A review" };
    to.answer(&format!("{what}{head} begins. Its check tells how it ends."))
}

/// Somebody may not do this.
#[must_use]
pub fn no_permission(to: &To<'_>) -> String {
    to.answer(&format!(
        "Only those who may write to this repository can do that. Everybody can write {} and {}.",
        to.say("explain <id>"),
        to.say("help")
    ))
}

/// The words mean nothing.
#[must_use]
pub fn unknown(to: &To<'_>, said: &str) -> String {
    let text = match words(said) {
        None => "What shall I do?".to_owned(),
        Some(words) => match nearest(said) {
            Some(command) => format!("I do not understand {words}. Did you mean {}?", to.say(command)),
            None => format!("I do not understand {words}."),
        },
    };
    to.answer(&format!("{text}\n\n{}", table(to)))
}

/// What was asked could not be done.
#[must_use]
pub fn failed(to: &To<'_>, reason: &str) -> String {
    let reason = shown(reason, MAX_WORDS);
    let reason = if reason.is_empty() { String::new() } else { format!("\n\n{}", literal_at_start(&reason)) };
    to.answer(&format!("That did not work.{reason}"))
}

/// The command that words are most like, if they are like one.
fn nearest(said: &str) -> Option<&'static str> {
    let said = said.to_lowercase();
    let first = said.split_whitespace().next()?;
    let named = COMMANDS.iter().map(|(command, _)| *command);
    let scored = named.filter_map(|command| {
        let name = command.split(" <").next()?;
        let whole = strsim::osa_distance(&shown(&said, 40), name);
        let word = strsim::osa_distance(&shown(first, 40), name.split(' ').next()?);
        Some((whole.min(word), command))
    });
    scored.filter(|(distance, _)| *distance <= 2).min_by_key(|(distance, _)| *distance).map(|(_, command)| command)
}

/// Words of people, as code; `None` when there are none.
fn words(text: &str) -> Option<String> {
    Some(shown(text, MAX_WORDS)).filter(|text| !text.is_empty()).map(|text| code_span(&text))
}

fn title(finding: &Finding) -> String {
    literal(&shown(finding.summary.as_str(), MAX_TITLE))
}

fn place(finding: &Finding) -> String {
    let path = shown_path(finding.location.file.as_str(), MAX_PATH);
    literal(&format!("{path} ({})", finding.location.lines))
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(MAX_TEXT) {
        Some((end, _)) => format!("{} …", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests;
