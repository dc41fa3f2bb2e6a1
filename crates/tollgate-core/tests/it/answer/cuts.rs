//! Every sample, truncated at every token boundary.

use serde_json::Value;
use tollgate_core::answer::{self, Answer, Claim, Decision, Form};

use super::{samples, shown};

/// The offsets at which a text is truncated: after every bracket, comma and line.
fn cuts(text: &str) -> impl Iterator<Item = usize> {
    text.match_indices(['{', '}', '[', ']', ',', '\n']).map(|(at, mark)| at + mark.len())
}

/// The complete samples with content, and their parsed answers.
fn whole() -> Vec<(String, String, Answer)> {
    let read = samples().into_iter().filter_map(|(name, text)| {
        let answer = answer::read(&text).ok()?;
        (!answer.truncated).then_some((name, text, answer))
    });
    read.collect()
}

fn claims(text: &str) -> Vec<Claim> {
    answer::read(text).map(|answer| answer.claims).unwrap_or_default()
}

fn is_json(answer: &Answer) -> bool {
    matches!(answer.form, Form::Json | Form::Structured)
}

/// The ends of all finding objects in a text, by counting brackets; strings are in plain double quotes.
fn finding_ends(text: &str) -> Vec<usize> {
    let (mut open, mut ends, mut quoted, mut escaped) = (Vec::new(), Vec::new(), false, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b'{' if !quoted => open.push(at),
            b'}' if !quoted => {
                let Some(start) = open.pop() else { continue };
                let object: Option<Value> = serde_json::from_str(&text[start..=at]).ok();
                let names = ["title", "message", "issue", "description", "body", "summary"];
                let says = |object: &Value| names.iter().any(|name| object.get(name).is_some());
                let places = ["severity", "priority", "path", "file"];
                let placed = |object: &Value| places.iter().any(|name| object.get(name).is_some());
                let holds = ["findings", "issues", "comments"];
                let is_list = |object: &Value| holds.iter().any(|name| object.get(name).is_some());
                let is_finding = object.is_some_and(|object| !is_list(&object) && says(&object) && placed(&object));
                if is_finding {
                    ends.push(at + 1);
                }
            }
            _ => {}
        }
    }
    ends
}

#[test]
fn truncated_json_keeps_exactly_the_complete_findings() {
    let (mut n_samples, mut n_cuts) = (0, 0);
    for (name, text, answer) in whole().into_iter().filter(|(_, _, answer)| is_json(answer)) {
        let ends = finding_ends(&text);
        if ends.len() != answer.claims.len() || ends.is_empty() {
            continue;
        }
        n_samples += 1;
        for cut in cuts(&text) {
            n_cuts += 1;
            let n_whole = ends.iter().filter(|end| **end <= cut).count();
            assert_eq!(claims(&text[..cut]), answer.claims[..n_whole], "{name} cut at {cut}: {}", &text[..cut]);
        }
    }
    assert!(n_samples >= 25 && n_cuts >= 1_000, "{n_cuts} cuts of {n_samples} samples");
}

#[test]
fn truncated_json_never_has_other_findings_than_the_whole() {
    for (name, text, answer) in whole().into_iter().filter(|(_, _, answer)| is_json(answer)) {
        let mut n_before = 0;
        for cut in cuts(&text) {
            let found = claims(&text[..cut]);
            assert!(
                answer.claims.starts_with(&found),
                "{name} cut at {cut}: {:?}",
                found.iter().map(shown).collect::<Vec<_>>()
            );
            assert!(found.len() >= n_before, "{name} cut at {cut} loses a finding");
            n_before = found.len();
        }
    }
}

/// The offset of each claim, by its title; `None` when a title does not occur verbatim.
fn beginnings(text: &str, claims: &[Claim]) -> Option<Vec<usize>> {
    let mut from = 0;
    let mut starts = Vec::new();
    for claim in claims {
        let at = from + text[from..].find(&claim.title)?;
        starts.push(text[..at].rfind('\n').map_or(0, |feed| feed + 1));
        from = at + claim.title.len();
    }
    Some(starts)
}

#[test]
fn truncated_text_keeps_exactly_the_findings_before_the_last_one() {
    let (mut n_samples, mut n_cuts) = (0, 0);
    for (name, text, answer) in
        whole().into_iter().filter(|(_, _, answer)| !is_json(answer) && !answer.claims.is_empty())
    {
        let Some(starts) = beginnings(&text, &answer.claims).filter(|_| !text.trim_start().starts_with('{')) else {
            continue;
        };
        n_samples += 1;
        for cut in cuts(&text) {
            n_cuts += 1;
            let found = claims(&text[..cut]);
            let n_begun = starts.iter().filter(|start| **start < cut).count();
            // A truncated line may still be parsed as part of the finding before it.
            let at_line_end = text[..cut].ends_with('\n');
            let n_whole = starts.iter().skip(1).filter(|start| **start <= cut).count();
            let n_whole = if at_line_end { n_whole } else { n_whole.saturating_sub(1) };
            assert!(
                found.len() <= n_begun,
                "{name} cut at {cut} has too many: {:?}",
                found.iter().map(shown).collect::<Vec<_>>()
            );
            assert_eq!(found.get(..n_whole), Some(&answer.claims[..n_whole]), "{name} cut at {cut}");
        }
    }
    assert!(n_samples >= 25 && n_cuts >= 400, "{n_cuts} cuts of {n_samples} samples");
}

#[test]
fn truncation_never_turns_an_answer_into_an_approval() {
    let mut n_cuts = 0;
    for (name, text) in samples() {
        let all = answer::read(&text);
        let says_approved = match &all {
            Ok(answer) => {
                let both =
                    |problem: &String| problem.contains("both approved") || problem.contains("approval does not count");
                answer.decision == Some(Decision::Approved) || answer.problems.iter().any(both)
            }
            Err(none) => none.to_string().contains("approval does not count"),
        };
        for cut in cuts(&text) {
            n_cuts += 1;
            let Ok(found) = answer::read(&text[..cut]) else { continue };
            if found.decision != Some(Decision::Approved) {
                continue;
            }
            assert!(says_approved && !found.truncated, "{name} cut at {cut}: {}", &text[..cut]);
            // JSON approves only when it is complete.
            if is_json(&found) {
                let is_whole = serde_json::from_str::<Value>(&text[..cut]).is_ok();
                assert!(is_whole || !text[cut..].contains('}'), "{name} cut at {cut}: {}", &text[..cut]);
            }
        }
    }
    assert!(n_cuts >= 2_000, "{n_cuts} cuts");
}
