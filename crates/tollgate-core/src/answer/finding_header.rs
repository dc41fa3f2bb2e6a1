//! Parses the first line of a finding in the formats that reviewers use.
//!
//! ```text
//! - **[CODE]** - High: No check of the length
//! ### F001: [High/Error] Unhandled rejection
//! [CRITICAL] src/a.rs (12, 15): No check
//! ![P1 Badge](https://…) No check
//! _⚠️ Potential issue_ | _🟠 Major_
//! ```

use crate::answer::draft::{Draft, one_line};
use crate::answer::markdown_lines::marker;
use crate::answer::{location, vocabulary};

/// The format of the first line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// An item of a list of issues.
    Item,
    /// A heading.
    Heading,
    /// A location and a title, or a badge.
    Remark,
}

/// The context of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct HeaderContext {
    /// Inside a list of issues, where fewer signals are needed.
    pub(super) issues: bool,
    /// Below a heading that names a severity.
    pub(super) graded: bool,
    /// Inside a section of praise or explanation, where only explicit findings count.
    pub(super) quiet: bool,
}

/// Parses the first line of a finding.
pub(super) fn read(line: &str, around: HeaderContext) -> Option<(Draft, Shape)> {
    if let Some(draft) = badge(line).or_else(|| labels(line)) {
        return Some((draft, Shape::Remark));
    }
    let (is_item, text) = marker(line).map_or((false, line), |text| (true, text));
    let tags = tags(without_badge(text));
    let mut draft = Draft { severity: tags.severity, category: tags.category, ..Draft::default() };
    if let Some((place, title)) = leading_place(tags.rest, around.issues || around.graded || tags.in_brackets) {
        let known = place.lines.is_some() && (is_item || tags.rest.contains("):"));
        if known || tags.in_brackets || around.graded || around.issues {
            draft = Draft { file: place.file, lines: place.lines, title: Some(one_line(title)), ..draft };
            return Some((draft, Shape::Remark));
        }
    }
    let plain_severity = draft.severity.as_deref().is_some_and(is_plain_severity);
    let is_head = if tags.in_brackets {
        !around.quiet || draft.severity.is_some()
    } else {
        (draft.severity.is_some() || draft.category.is_some())
            && (around.issues || (plain_severity && is_item && !around.quiet))
    };
    if !is_head {
        return None;
    }
    set_title(&mut draft, tags.rest);
    Some((draft, Shape::Item))
}

/// Parses a heading that is a finding: `F001: [High/Error] …`, `[High] …`, `1. Critical: …`.
pub(super) fn of_heading(text: &str) -> Option<Draft> {
    let numbered = text.strip_prefix('F').and_then(|rest| rest.split_once(':'));
    let numbered = numbered.filter(|(digits, _)| digits.len() >= 2 && digits.bytes().all(|byte| byte.is_ascii_digit()));
    let (is_numbered, rest) = numbered.map_or((false, text), |(_, rest)| (true, rest.trim()));
    let rest = marker(rest).unwrap_or(rest);
    if let Some((kind, title)) = rest.strip_prefix('[').and_then(|rest| rest.split_once(']')).filter(|_| is_numbered) {
        let (severity, category) =
            kind.split_once('/').map_or((kind, None), |(severity, category)| (severity, Some(category)));
        let category = category.map(|category| category.trim().to_owned());
        let title = Some(one_line(title));
        return Some(Draft { severity: Some(severity.trim().to_owned()), category, title, ..Draft::default() });
    }
    let rest = rest.strip_prefix("Issue ").and_then(|issue| issue.split_once(": ")).map_or(rest, |(_, title)| title);
    let tags = tags(rest);
    let tagged = tags.in_brackets || tags.severity.is_some();
    if !(is_numbered || tagged) || vocabulary::plain(tags.rest).is_empty() {
        return None;
    }
    // `Critical issues` and `High severity (2)` are sections.
    if !tags.in_brackets && !is_numbered && vocabulary::severity(rest).is_some() {
        return None;
    }
    let mut draft = Draft { severity: tags.severity, category: tags.category, ..Draft::default() };
    match leading_place(tags.rest, false) {
        Some((place, title)) => {
            draft = Draft { file: place.file, lines: place.lines, title: Some(one_line(title)), ..draft }
        }
        None => set_title(&mut draft, tags.rest),
    }
    Some(draft)
}

/// Sets the title, and the location at its end: `No check (src/a.rs:12)`.
pub(super) fn set_title(draft: &mut Draft, text: &str) {
    let text = one_line(text);
    let text = text.trim_end_matches([' ', ':']);
    if let Some((title, inside)) = text.strip_suffix(')').and_then(|text| text.rsplit_once('(')) {
        let place = location::parse(inside);
        if place.file.as_deref().is_some_and(location::is_path) {
            draft.set_place(inside);
            draft.title = Some(one_line(title.trim_end_matches(['-', '–', '—', ' '])));
            return;
        }
        if let Some(severity) = vocabulary::severity(inside).filter(|_| draft.severity.is_none()) {
            draft.severity = Some(severity.as_str().to_owned());
            draft.title = Some(one_line(title));
            return;
        }
    }
    // `No check - src/a.rs:12`
    for joint in [" - ", " – ", " — "] {
        if let Some((title, end)) = text.rsplit_once(joint) {
            let place = location::parse(end);
            if place.file.as_deref().is_some_and(location::is_path)
                && !place.file.as_deref().is_some_and(|file| file.contains(' '))
            {
                draft.set_place(end);
                draft.title = Some(one_line(title));
                return;
            }
        }
    }
    // `… in `src/a.rs:12``: the title keeps it.
    if let Some(code) = text.strip_suffix('`').and_then(|text| text.rsplit_once('`')).map(|(_, code)| code) {
        let place = location::parse(code);
        if place.lines.is_some() && place.file.as_deref().is_some_and(location::is_path) {
            draft.set_place(code);
        }
    }
    draft.title = Some(text.to_owned());
}

struct Tags<'a> {
    severity: Option<String>,
    category: Option<String>,
    in_brackets: bool,
    rest: &'a str,
}

/// Splits tags off the beginning of a text: `**[CODE]** - High: `, `[High/Error] `, `🔴 **Critical** | Security - `.
fn tags(text: &str) -> Tags<'_> {
    let mut tags = Tags { severity: None, category: None, in_brackets: false, rest: text };
    let mut n_bold = 0;
    for _ in 0..6 {
        let mut n_now = n_bold;
        let start = skip_joints(tags.rest, &mut n_now);
        let Some((word, rest, in_brackets)) = group(start) else { break };
        let slot = match in_brackets {
            true if n_now > n_bold => Slot::Marked,
            true => Slot::Bracket,
            false => Slot::Plain,
        };
        let Some((severity, category)) = classify(word, slot) else { break };
        // A second severity belongs to the title.
        if (severity.is_some() && tags.severity.is_some()) || (category.is_some() && tags.category.is_some()) {
            break;
        }
        tags.severity = tags.severity.or(severity);
        tags.category = tags.category.or(category);
        tags.in_brackets |= in_brackets;
        (tags.rest, n_bold) = (rest, n_now);
    }
    if tags.severity.is_none() && tags.category.is_none() {
        return Tags { rest: text, ..tags };
    }
    tags.rest = skip_joints(tags.rest, &mut n_bold);
    // `**[CODE]** - banana: title`: the word is in the position of the severity.
    if tags.in_brackets
        && tags.severity.is_none()
        && let Some((word, rest)) = tags.rest.split_once(": ")
        && !word.is_empty()
        && word.bytes().all(|byte| byte.is_ascii_alphabetic())
    {
        tags.severity = Some(word.to_owned());
        tags.rest = rest.trim_start();
    }
    // `**[CODE] title**`: the emphasis goes around both.
    if n_bold % 2 == 1 {
        tags.rest = tags.rest.strip_suffix("**").unwrap_or(tags.rest);
    }
    tags
}

/// The position of a tag, which determines how strictly it is matched.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Slot {
    /// `**[…]**`, where every word is a tag.
    Marked,
    Bracket,
    Plain,
}

/// Skips separators between tags, counting emphasis marks.
fn skip_joints<'a>(text: &'a str, n_bold: &mut usize) -> &'a str {
    let mut text = text;
    loop {
        let joint = |part: char| {
            part.is_whitespace() || matches!(part, '-' | '–' | '—' | ':' | '|' | '·' | '/') || is_emoji(part)
        };
        let rest = text.trim_start_matches(joint);
        match rest.strip_prefix("**") {
            Some(inner)
                if *n_bold % 2 == 1
                    || inner.starts_with(['[', '(', '`'])
                    || is_emoji(inner.chars().next().unwrap_or(' '))
                    || bold_tag(inner) =>
            {
                *n_bold += 1;
                text = inner;
            }
            _ => return rest,
        }
    }
}

/// True when bold text that begins here is a tag or begins with one.
fn bold_tag(inner: &str) -> bool {
    inner.split_once("**").is_some_and(|(word, _)| {
        let word = word.split_once(':').map_or(word, |(word, _)| word);
        word.len() < 40 && classify(word, Slot::Plain).is_some()
    })
}

fn is_emoji(part: char) -> bool {
    matches!(u32::from(part), 0x2190..=0x2bff | 0x1f000..=0x1faff | 0xfe0f | 0x200d | 0x20e3)
}

/// Splits off one tag; returns the rest and whether the tag was in brackets.
fn group(text: &str) -> Option<(&str, &str, bool)> {
    if let Some(inner) = text.strip_prefix('[') {
        let (word, rest) = inner.split_once(']')?;
        return (!rest.starts_with('(') && word.len() <= 60).then_some((word, rest, true));
    }
    if let Some(inner) = text.strip_prefix('(') {
        let (word, rest) = inner.split_once(')')?;
        return (word.len() <= 40).then_some((word, rest, false));
    }
    if let Some(inner) = text.strip_prefix('`') {
        let (word, rest) = inner.split_once('`')?;
        return (word.len() <= 40).then_some((word, rest, false));
    }
    // `High: title`, `Security - title`, `Critical** title`
    let end = [": ", " - ", " – ", " — ", "**", " (", ":**", " | "].iter().filter_map(|end| text.find(end)).min()?;
    let word = &text[..end];
    (!word.is_empty() && word.len() <= 40).then(|| (word, &text[end..], false))
}

/// The severity and category that a tag names; `None` for other text. In `**[…]**` an unknown word is a category.
fn classify(words: &str, slot: Slot) -> Option<(Option<String>, Option<String>)> {
    let words = words.trim_matches(['*', '_', ' ']);
    let words = words.strip_prefix("Severity:").or_else(|| words.strip_prefix("severity:")).unwrap_or(words);
    if vocabulary::plain(words).is_empty() || vocabulary::decision(words).is_some() || vocabulary::is_placeholder(words)
    {
        return None;
    }
    let (mut severity, mut category) = (None, None);
    let parts: Vec<&str> = words.split(['/', '|', ',', ':']).map(str::trim).filter(|part| !part.is_empty()).collect();
    // `Error` can be either; the other part decides.
    let is_graded = |part: &&str| vocabulary::severity(part).is_some() && vocabulary::category(part).is_none();
    let graded = parts.iter().any(is_graded);
    for part in parts {
        let is_severity = vocabulary::severity(part).is_some() && !(graded && vocabulary::category(part).is_some());
        if severity.is_none() && is_severity && !part.eq_ignore_ascii_case("style") {
            severity = Some(part.to_owned());
        } else if category.is_none() && (is_category(part, slot) || (slot == Slot::Marked && part.len() <= 30)) {
            category = Some(part.to_owned());
        } else {
            return None;
        }
    }
    // In the position of a category, ambiguous words are categories.
    if slot == Slot::Marked
        && category.is_none()
        && severity.as_deref().is_some_and(|word| vocabulary::category(word).is_some())
    {
        category = severity.take();
    }
    (severity.is_some() || category.is_some()).then_some((severity, category))
}

fn is_category(words: &str, slot: Slot) -> bool {
    match slot {
        Slot::Marked | Slot::Bracket => words.split(' ').count() <= 3 && vocabulary::category(words).is_some(),
        Slot::Plain => vocabulary::exact_category(words).is_some(),
    }
}

/// Severities that rarely begin an ordinary sentence.
fn is_plain_severity(word: &str) -> bool {
    let plain =
        ["critical", "high", "medium", "low", "major", "minor", "blocker", "nit", "nitpick", "p0", "p1", "p2", "p3"];
    let words = vocabulary::plain(word);
    plain.contains(&words.as_str()) || words.ends_with(" severity") || words.ends_with(" priority")
}

/// Splits a location off the beginning of a text: `src/a.rs (12, 15): title`, `` `src/a.rs:12` - title ``.
pub(super) fn leading_place(text: &str, without_lines: bool) -> Option<(location::ClaimedLocation, &str)> {
    let text = text.trim();
    let head = text.char_indices().nth(300).map_or(text, |(end, _)| &text[..end]);
    for joint in [": ", " - ", " – ", " — ", ":** ", "** ", ":"] {
        for (at, _) in head.match_indices(joint).take(4) {
            let place = location::parse(&head[..at]);
            let is_file =
                place.file.as_deref().is_some_and(|file| location::is_path(file) || vocabulary::is_placeholder(file));
            let title = text[at + joint.len()..].trim();
            if is_file && !title.is_empty() && (place.lines.is_some() || (without_lines && joint != ":")) {
                return Some((place, title));
            }
        }
    }
    None
}

/// Strips a leading emoji name such as `:new:`.
fn without_badge(text: &str) -> &str {
    let Some((name, rest)) = text.strip_prefix(':').and_then(|rest| rest.split_once(':')) else { return text };
    let is_name =
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_lowercase() || matches!(byte, b'_' | b'+' | b'-'));
    if is_name { rest.trim_start() } else { text }
}

/// Parses an image badge: `![P2 Badge](…) title`, `![high](…high-priority.svg)`.
pub(super) fn badge(line: &str) -> Option<Draft> {
    let at = line.find("![").filter(|at| *at < 40)?;
    let (alt, rest) = line[at + 2..].split_once("](")?;
    let (_, rest) = rest.split_once(')')?;
    let words = vocabulary::plain(alt);
    let severity = vocabulary::severity(&words).or_else(|| words.split(' ').find_map(vocabulary::severity))?;
    let category =
        words.split(' ').find_map(|word| vocabulary::category(word).filter(|_| vocabulary::severity(word).is_none()));
    let title = rest.replace("</sub>", "");
    let title = title.trim_matches(['*', ' ']);
    // A second badge is not a title.
    let title = if title.starts_with("![") { "" } else { title };
    Some(Draft {
        severity: Some(severity.as_str().to_owned()),
        category: category.map(|category| category.as_str().to_owned()),
        title: (!title.is_empty()).then(|| one_line(title)),
        ..Draft::default()
    })
}

/// Parses labels in italics: `_⚠️ Potential issue_ | _🟠 Major_ | _⚡ Quick win_`.
fn labels(line: &str) -> Option<Draft> {
    let inner = line.strip_prefix('_')?.strip_suffix('_')?;
    let parts: Vec<&str> = inner.split("_ | _").collect();
    if parts.iter().any(|part| part.contains('_') || part.len() > 60) {
        return None;
    }
    let severity = parts.iter().find(|part| vocabulary::severity(part).is_some());
    let category =
        parts.iter().find(|part| vocabulary::severity(part).is_none() && vocabulary::category(part).is_some());
    if severity.is_none() && category.is_none() {
        return None;
    }
    let owned = |part: Option<&&str>| part.map(|part| vocabulary::plain(part));
    Some(Draft { severity: owned(severity), category: owned(category), ..Draft::default() })
}
