//! The text of a review: how much it found, and what has no comment of its own.

use crate::comment::Label;
use crate::pull::link;
use crate::pull::place::Places;
use crate::pull::surface::{Input, Keyed, Parts, check};
use crate::report::escape::{literal, literal_at_start, shown};
use crate::report::markdown::escape::code_span;
use crate::report::summary::draft::{Draft, Item, Rank};
use crate::report::summary::words::{counts, in_words, plural, sentences};

/// The most bytes that are written; the rest is for the mark.
const MAX_LEN: usize = 60_000;

/// Writes the text.
pub(super) fn body(input: &Input<'_>, parts: &Parts<'_>, places: &Places<'_>) -> String {
    let mut draft = Draft::default();
    let found = in_words(&counts(parts.severities.iter().copied())).unwrap_or_else(|| "no findings".to_owned());
    let new = if input.new.is_some() { ", not counting what earlier reviews found" } else { "" };
    draft.push(format!("{found} at {}{new}.\n", input.head.short()));
    if !parts.nowhere.is_empty() {
        draft.push("\nNot on lines of the diff:\n\n");
        list(&mut draft, input, &parts.nowhere, places);
    }
    if !parts.more.is_empty() {
        let n_more = plural(parts.more.len() as u64, "more finding");
        draft.push(format!("\n<details>\n<summary>{n_more}</summary>\n\n"));
        list(&mut draft, input, &parts.more, places);
        draft.push("\n</details>\n");
    }
    if !parts.nowhere.is_empty() || !parts.more.is_empty() {
        let dismiss = code_span(&format!("@{} dismiss", input.mention));
        draft.push(format!("\n<sub>if one of these is wrong, write {dismiss}, its id and why</sub>\n"));
    }
    draft.finish(MAX_LEN)
}

fn list(draft: &mut Draft, input: &Input<'_>, findings: &[Keyed<'_>], places: &Places<'_>) {
    for keyed in findings {
        draft.item(item(input, *keyed));
    }
    draft.more(if check::shows(input.review, findings.iter().map(|keyed| keyed.finding), places) {
        |n_folded, _| format!("- and {n_folded} more, which are in the check\n")
    } else {
        |n_folded, _| format!("- and {n_folded} more, of which the check has those that it can show\n")
    });
}

/// ``- **Major** [src/a.rs (12)](…): title (`fp-…`)``, and below it what is said about it.
fn item(input: &Input<'_>, Keyed { finding, key }: Keyed<'_>) -> Item {
    let location = &finding.location;
    let label = Label::of(finding.severity).map_or("Praise", Label::heading);
    let url = (input.url_of)(&location.file, Some(location.lines), location.side);
    let place = link::to_place(location, &url);
    let title = literal(&shown(finding.summary.as_str(), 200));
    let words = finding.reason.as_deref().map(|reason| {
        let said = |n_sentences, max_chars| shown(&sentences(reason, n_sentences), max_chars);
        (said(3, 600), said(1, 160))
    });
    let words = words.filter(|(long, _)| !long.is_empty());
    let below = |text: String| format!("  {}", literal_at_start(&text));
    Item {
        rank: if finding.severity.blocks() { Rank::Blocker } else { Rank::Finding },
        n_findings: 1,
        line: format!("- **{label}** {place}: {title} ({})", code_span(&key.to_string())),
        words: words.map(|(long, short)| (below(long), below(short))),
        end: "\n",
    }
}
