//! The body of a review: counts, and the findings without an inline comment.

use crate::comment::Label;
use crate::markdown::escape::{code_span, literal, literal_at_start, shown};
use crate::pull::anchor::AnchorIndex;
use crate::pull::link;
use crate::pull::surface::{Keyed, Parts, SurfaceInput, check};
use crate::report::summary::draft::{Draft, Item, Rank};
use crate::report::summary::phrases::{counts, in_words, plural, sentences};

/// The most bytes; the rest is for the marker.
const MAX_LEN: usize = 60_000;

/// Writes the body.
pub(super) fn body(input: &SurfaceInput<'_>, parts: &Parts<'_>, places: &AnchorIndex<'_>) -> String {
    let mut draft = Draft::default();
    let found = in_words(&counts(parts.severities.iter().copied())).unwrap_or_else(|| "no findings".to_owned());
    let new = if input.new.is_some() { ", not counting earlier reviews" } else { "" };
    draft.push(format!("{found} at {}{new}.\n", input.head.short()));
    if !parts.nowhere.is_empty() {
        draft.push("\nOutside the diff:\n\n");
        list(&mut draft, input, &parts.nowhere, places);
    }
    if !parts.more.is_empty() {
        let n_more = plural(parts.more.len() as u64, "more finding");
        draft.push(format!("\n<details>\n<summary>{n_more}</summary>\n\n"));
        list(&mut draft, input, &parts.more, places);
        draft.push("\n</details>\n");
    }
    let is_listing = !parts.nowhere.is_empty() || !parts.more.is_empty();
    if let Some(mention) = input.mention.filter(|_| is_listing) {
        let dismiss = code_span(&format!("@{mention} dismiss"));
        draft.push(format!("\n<sub>false positive? write {dismiss} with the id and a reason</sub>\n"));
    }
    draft.finish(MAX_LEN)
}

fn list(draft: &mut Draft, input: &SurfaceInput<'_>, findings: &[Keyed<'_>], places: &AnchorIndex<'_>) {
    for keyed in findings {
        draft.item(item(input, *keyed));
    }
    draft.more(if check::shows(input.review, findings.iter().map(|keyed| keyed.finding), places) {
        |n_folded, _| format!("- and {n_folded} more, see the check\n")
    } else {
        |n_folded, _| format!("- and {n_folded} more, partly in the check\n")
    });
}

/// ``- **Major** [src/a.rs (12)](…): title (`f-…`)``, and below it the reason.
fn item(input: &SurfaceInput<'_>, Keyed { finding, key }: Keyed<'_>) -> Item {
    let location = &finding.location;
    let label = Label::of(finding.severity).map_or("Praise", Label::heading);
    let url = (input.url_of)(&location.file, Some(location.lines), location.side);
    let place = link::to_location(location, &url);
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
        line: format!("- **{label}** {place}: {title} ({})", code_span(&key.short())),
        words: words.map(|(long, short)| (below(long), below(short))),
        end: "\n",
    }
}
