//! Replies of the bot to commands.
//!
//! ```text
//! Dismissed: **Input is run as code** in src/a.js (3). It stays dismissed while its code is unchanged.
//!
//! <!-- tollgate:reply comment=123 -->
//! ```
//!
//! The marker of a reply names the comment with the command, which makes replies idempotent. Text of people and reviewers
//! is escaped: a reply must not make the bot notify others.

use std::fmt::Write as _;

use crate::comment::Label;
use crate::finding::{Finding, Severity};
use crate::finding_key::FindingKey;
use crate::fingerprint::Fingerprint;
use crate::markdown::escape::{code_span, literal, literal_at_start, shown, shown_path, visible_lines};
use crate::markdown::prose;
use crate::pull::marker::Marker;
use crate::sha::Sha;

/// The most characters of a title, a path, quoted text and an explanation.
const MAX_TITLE: usize = 200;
const MAX_PATH: usize = 200;
const MAX_WORDS: usize = 300;
const MAX_TEXT: usize = 8000;
/// The most findings that are named.
const MAX_LISTED: usize = 30;

/// The comment that a reply is for.
#[derive(Debug, Clone, Copy)]
pub struct ReplyTarget<'a> {
    /// The comment with the command.
    pub comment: u64,
    /// The name behind `@`.
    pub mention: &'a str,
}

/// The commands and their effects.
const COMMANDS: [(&str, &str); 9] = [
    ("review", "review the commits since the last review"),
    ("full review", "review the whole change again"),
    ("pause", "stop reviewing pushes until `resume`"),
    ("resume", "review every push again"),
    ("dismiss <id> <reason>", "dismiss a finding here, or `--everywhere` in the repository; omit the id in its thread"),
    ("confirm <id>", "confirm a dismissal that an agent proposed"),
    ("reject <id>", "reject a dismissal that an agent proposed"),
    ("explain <id>", "explain a finding; omit the id in its thread"),
    ("help", "show this list"),
];

impl ReplyTarget<'_> {
    fn answer(&self, text: &str) -> String {
        Marker::Reply { comment: self.comment }.below(text)
    }

    fn say(&self, command: &str) -> String {
        code_span(&format!("@{} {command}", self.mention))
    }
}

/// Lists the commands.
#[must_use]
pub fn help(to: &ReplyTarget<'_>) -> String {
    to.answer(&format!("{}{}", table(to, |_| true), ACCESS_NOTE))
}

/// Lists the commands that work on a closed pull request.
#[must_use]
pub fn help_when_closed(to: &ReplyTarget<'_>) -> String {
    to.answer(&format!("{CLOSED}\n\n{}{}", table(to, works_when_closed), ACCESS_NOTE))
}

const CLOSED: &str = "This pull request is closed, so it is not reviewed.";

fn works_when_closed(command: &str) -> bool {
    !matches!(command, "review" | "full review" | "pause" | "resume")
}

const ACCESS_NOTE: &str = "\nAll commands except `explain` and `help` need write access to this repository.";

fn table(to: &ReplyTarget<'_>, is_listed: impl Fn(&str) -> bool) -> String {
    let mut text = String::from("| command, at the beginning of a line | effect |\n|---|---|\n");
    for (command, what) in COMMANDS.into_iter().filter(|(command, _)| is_listed(command)) {
        // Writing to a string cannot fail, here and below.
        let _ = writeln!(text, "| {} | {what} |", to.say(command));
    }
    text
}

/// Explains a finding; `rule` is the explanation of its rule.
#[must_use]
pub fn explain(to: &ReplyTarget<'_>, finding: &Finding, rule: Option<&str>) -> String {
    let label = Label::of(finding.severity).map_or("Praise", Label::heading);
    let mut parts = vec![format!("**{label}: {}**", title(finding)), format!("At {}.", place(finding))];
    let said = |text: Option<&str>| text.map(|text| prose::render(&cut(text))).filter(|text| !text.trim().is_empty());
    parts.extend(said(finding.reason.as_deref()));
    if !finding.evidence.trim().is_empty() {
        parts.push(prose::code_block(&visible_lines(&cut(finding.evidence.trim_matches('\n'))), ""));
    }
    // The reason of a rule's finding is that of its rule.
    let is_known = |rule: &&str| finding.reason.as_deref().is_some_and(|reason| reason.contains(rule.trim()));
    parts.extend(said(rule.filter(|rule| !is_known(rule))));
    if let Some(suggestion) = said(finding.suggestion.as_deref()) {
        parts.push(format!("Suggested fix:\n\n{suggestion}"));
    }
    let rule = finding.origin.rule.as_deref().map(|rule| shown(rule, 100)).filter(|rule| !rule.is_empty());
    let by = rule.map_or_else(String::new, |rule| format!("Found by the rule {}. ", code_span(&rule)));
    let dismiss = to.say(&format!("dismiss {} <reason>", FindingKey::of(finding).short()));
    // Praise asks for nothing, so there is nothing to dismiss.
    let dismiss = match finding.severity {
        Severity::Praise => String::new(),
        _ => format!("If this is wrong, write {dismiss}."),
    };
    let footer = format!("{by}{dismiss}");
    if !footer.trim().is_empty() {
        parts.push(format!("<sub>{}</sub>", footer.trim_end()));
    }
    to.answer(&parts.join("\n\n"))
}

/// Confirms a dismissal on the pull request.
#[must_use]
pub fn dismissed(to: &ReplyTarget<'_>, finding: &Finding, reason: &str) -> String {
    dismissed_in(to, "Dismissed", finding, reason)
}

/// Confirms a dismissal in the repository.
#[must_use]
pub fn dismissed_everywhere(to: &ReplyTarget<'_>, finding: &Finding, reason: &str) -> String {
    dismissed_in(to, "Dismissed in the whole repository", finding, reason)
}

fn dismissed_in(to: &ReplyTarget<'_>, done: &str, finding: &Finding, reason: &str) -> String {
    let reason = words(reason).map_or_else(String::new, |reason| format!(" Reason: {reason}"));
    let what = format!("**{}** at {}", title(finding), place(finding));
    to.answer(&format!("{done}: {what}. It stays dismissed while its code is unchanged.{reason}"))
}

/// Records a dismissal that a bot proposes.
#[must_use]
pub fn proposed(to: &ReplyTarget<'_>, finding: &Finding, reason: &str) -> String {
    let reason = words(reason).map_or_else(String::new, |reason| format!(" Reason: {reason}"));
    let what = format!("**{}** at {}", title(finding), place(finding));
    let key = FindingKey::of(finding).short();
    let (confirm, reject) = (to.say(&format!("confirm {key}")), to.say(&format!("reject {key}")));
    to.answer(&format!(
        "Proposed to dismiss: {what}.{reason}\n\nThe finding counts until a person with write access writes {confirm}; \
         {reject} ends the proposal."
    ))
}

/// Confirms that a proposed dismissal was rejected.
#[must_use]
pub fn rejected(to: &ReplyTarget<'_>, finding: &Finding) -> String {
    to.answer(&format!("Rejected: **{}** at {} is not dismissed.", title(finding), place(finding)))
}

/// Reports that no agent proposed to dismiss a finding.
#[must_use]
pub fn no_proposal(to: &ReplyTarget<'_>, finding: &Finding) -> String {
    let dismiss = to.say(&format!("dismiss {} <reason>", FindingKey::of(finding).short()));
    to.answer(&format!(
        "No dismissal of **{}** at {} is proposed. Write {dismiss} to dismiss it.",
        title(finding),
        place(finding)
    ))
}

/// Asks for the reason of a dismissal.
#[must_use]
pub fn needs_reason(to: &ReplyTarget<'_>, finding: &Finding) -> String {
    let dismiss = to.say(&format!("dismiss {} <reason>", FindingKey::of(finding).short()));
    let why = if finding.severity == Severity::Critical { "A critical finding" } else { "A finding" };
    to.answer(&format!("{why} needs a reason to be dismissed: {dismiss}"))
}

/// Says that resolving a thread did not dismiss its blocker.
#[must_use]
pub fn resolved_without_reason(to: &ReplyTarget<'_>, finding: &Finding) -> String {
    let dismiss = to.say("dismiss <reason>");
    let why = match finding.severity {
        Severity::Critical => "a critical finding is not dismissed by resolving its thread",
        _ => "a blocking finding is not dismissed without a reason",
    };
    to.answer(&format!("The finding still counts: {why}. If it is wrong, write {dismiss} in this thread."))
}

/// Reports a number that named different findings in the reviews of the pull request.
#[must_use]
pub fn ambiguous_number(to: &ReplyTarget<'_>, asked: &str, findings: &[Finding]) -> String {
    let asked = words(asked).unwrap_or_default();
    let text = format!(
        "{asked} named different findings in the reviews of this pull request, so nothing was done. Name the finding by \
         its id, or reply in its thread."
    );
    with_findings(to, text, findings)
}

/// Reports an unknown or ambiguous finding; `findings` are the known ones.
#[must_use]
pub fn no_such_finding(to: &ReplyTarget<'_>, asked: Option<&str>, findings: &[Finding]) -> String {
    let is_several =
        asked.and_then(Fingerprint::parse).is_some_and(|asked| FindingKey::alike(findings, asked).len() > 1);
    let text = match asked.and_then(words) {
        Some(asked) if is_several => format!("{asked} matches several findings. Name one by its id."),
        Some(asked) => format!("No finding matches {asked}."),
        None => "Name a finding by its id, or reply in its thread.".to_owned(),
    };
    with_findings(to, text, findings)
}

fn with_findings(to: &ReplyTarget<'_>, mut text: String, findings: &[Finding]) -> String {
    if findings.is_empty() {
        text.push_str(" The last review has no findings.");
        return to.answer(&text);
    }
    text.push_str(" Findings:\n\n");
    for (finding, key) in findings.iter().zip(FindingKey::all(findings)).take(MAX_LISTED) {
        let id = code_span(&key.short());
        let _ = writeln!(text, "- {id}: {} at {}", title(finding), place(finding));
    }
    if findings.len() > MAX_LISTED {
        let _ = writeln!(text, "- and {} more", findings.len() - MAX_LISTED);
    }
    to.answer(&text)
}

/// Reports that the pull request is closed.
#[must_use]
pub fn closed(to: &ReplyTarget<'_>) -> String {
    to.answer(&format!("{CLOSED} Reopen it to have it reviewed."))
}

/// Reports that there is no review yet.
#[must_use]
pub fn no_review(to: &ReplyTarget<'_>) -> String {
    to.answer(&format!("This pull request has no review yet. Write {} to request one.", to.say("review")))
}

/// Reports that a closed pull request was never reviewed.
#[must_use]
pub fn no_review_when_closed(to: &ReplyTarget<'_>) -> String {
    to.answer("This pull request has no review, and it is closed. Reopen it to have it reviewed.")
}

/// Confirms that reviews are paused.
#[must_use]
pub fn paused(to: &ReplyTarget<'_>) -> String {
    let (resume, review) = (to.say("resume"), to.say("review"));
    to.answer(&format!("Paused: pushes are not reviewed until you write {resume}. Write {review} for a single review."))
}

/// Confirms that reviews are resumed.
#[must_use]
pub fn resumed(to: &ReplyTarget<'_>) -> String {
    to.answer("Resumed: every push is reviewed again, starting with the current head.")
}

/// Confirms that a review is queued.
#[must_use]
pub fn review_queued(to: &ReplyTarget<'_>, head: Option<&Sha>, is_full: bool) -> String {
    let head = head.map_or_else(String::new, |head| format!(" of {}", head.short()));
    let what = if is_full { "A full review" } else { "A review" };
    to.answer(&format!("{what}{head} is queued. The check shows its result."))
}

/// Says in the thread of a finding that it is resolved.
#[must_use]
pub fn resolved(key: FindingKey, head: &Sha) -> String {
    Marker::Resolved { key, head: head.clone() }.below(&format!("Resolved in {}", head.short()))
}

/// Says in the thread of a resolved finding that it is back.
#[must_use]
pub fn reopened(key: FindingKey, head: &Sha) -> String {
    Marker::Reopened { key, head: head.clone() }.below(&format!("Open again in {}", head.short()))
}

/// Reports missing write access.
#[must_use]
pub fn no_permission(to: &ReplyTarget<'_>) -> String {
    to.answer(&format!(
        "This command needs write access to this repository. {} and {} work without it.",
        to.say("explain <id>"),
        to.say("help")
    ))
}

/// Reports an unknown command.
#[must_use]
pub fn unknown(to: &ReplyTarget<'_>, said: &str) -> String {
    to.answer(&format!("{}\n\n{}", unknown_words(to, said, |_| true), table(to, |_| true)))
}

/// Reports an unknown command on a closed pull request.
#[must_use]
pub fn unknown_when_closed(to: &ReplyTarget<'_>, said: &str) -> String {
    let text = unknown_words(to, said, works_when_closed);
    to.answer(&format!("{text} {CLOSED}\n\n{}", table(to, works_when_closed)))
}

fn unknown_words(to: &ReplyTarget<'_>, said: &str, works: impl Fn(&str) -> bool) -> String {
    match words(said) {
        None => "No command given.".to_owned(),
        Some(words) => match nearest(said).filter(|command| works(command)) {
            Some(command) => format!("Unknown command {words}. Did you mean {}?", to.say(command)),
            None => format!("Unknown command {words}."),
        },
    }
}

/// Reports a failed command.
#[must_use]
pub fn failed(to: &ReplyTarget<'_>, reason: &str) -> String {
    let reason = shown(reason, MAX_WORDS);
    let reason = if reason.is_empty() { String::new() } else { format!("\n\n{}", literal_at_start(&reason)) };
    to.answer(&format!("The command failed.{reason}"))
}

/// The most similar command (fuzzy match).
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

/// Quoted text as a code span; `None` when it is blank.
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
