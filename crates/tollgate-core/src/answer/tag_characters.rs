//! Makes tag characters of an answer visible: a second, invisible alphabet that can smuggle whole texts past a reader.

use crate::answer::{Answer, Claim};
use crate::board::Met;

/// Makes the tag characters in all texts of an answer visible.
///
/// Quotes lose them, so that a quote of clean code is still found. A replacement with them must never be applied.
pub(super) fn reveal(mut answer: Answer) -> Answer {
    answer.claims.iter_mut().for_each(reveal_claim);
    reveal_field(&mut answer.summary);
    for (_, met) in &mut answer.criteria {
        match met {
            Met::Yes { evidence } | Met::No { evidence } => reveal_text(evidence),
            Met::Unclear { evidence } => reveal_field(evidence),
        }
    }
    answer.prior.iter_mut().for_each(|prior| reveal_text(&mut prior.evidence));
    answer.losses.iter_mut().chain(&mut answer.problems).for_each(reveal_text);
    answer
}

fn reveal_claim(claim: &mut Claim) {
    reveal_text(&mut claim.title);
    for field in [&mut claim.file, &mut claim.reason, &mut claim.suggestion] {
        reveal_field(field);
    }
    for quote in claim.evidence.iter_mut().chain(&mut claim.quotes) {
        quote.retain(|character| !is_tag_character(character));
    }
    claim.replacement = claim.replacement.take().filter(|text| !text.contains(is_tag_character));
}

fn reveal_field(field: &mut Option<String>) {
    field.iter_mut().for_each(reveal_text);
}

fn reveal_text(text: &mut String) {
    if !text.contains(is_tag_character) {
        return;
    }
    let shown = |character: char| match character {
        tag if is_tag_character(tag) => format!("\\u{{{:x}}}", u32::from(tag)),
        plain => plain.to_string(),
    };
    *text = text.chars().map(shown).collect();
}

/// Tag characters, and the variation selectors beyond the first sixteen.
fn is_tag_character(character: char) -> bool {
    matches!(character, '\u{e0000}'..='\u{e0fff}')
}
