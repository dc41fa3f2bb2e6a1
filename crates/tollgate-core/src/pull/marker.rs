//! Hidden markers in comments, by which published comments are found again.
//!
//! ```text
//! <!-- tollgate:summary head=0123456789012345678901234567890123456789 -->
//! <!-- tollgate:review head=0123456789012345678901234567890123456789 -->
//! <!-- tollgate:finding fp-0123456789abcdef-01234567 -->
//! <!-- tollgate:resolved fp-0123456789abcdef-01234567 head=0123456789012345678901234567890123456789 -->
//! <!-- tollgate:reopened fp-0123456789abcdef-01234567 head=0123456789012345678901234567890123456789 -->
//! <!-- tollgate:reply comment=123 -->
//! <!-- tollgate:note head=0123456789012345678901234567890123456789 what=skipped -->
//! ```
//!
//! A marker is a line of its own outside code, quotes and lists. Any user can write one, so callers must ignore markers
//! in comments of other authors.

use std::fmt;

use pulldown_cmark::{Event, Parser, Tag, TagEnd};

use crate::comment::MAX_CHARS;
use crate::finding_key::FindingKey;
use crate::markdown;
use crate::sha::Sha;

/// The beginning of every marker.
const OPEN: &str = "<!-- tollgate:";

/// The marker of a published comment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Marker {
    /// The summary of a pull request.
    Summary {
        /// The reviewed commit.
        head: Sha,
    },
    /// A review with comments at lines.
    Review {
        /// The reviewed commit.
        head: Sha,
    },
    /// A comment about one finding.
    Finding {
        /// The finding.
        key: FindingKey,
    },
    /// The reply in the thread of a finding that says it is resolved.
    Resolved {
        /// The finding.
        key: FindingKey,
        /// The commit in which it is resolved.
        head: Sha,
    },
    /// The reply in the thread of a resolved finding that says it is back.
    Reopened {
        /// The finding.
        key: FindingKey,
        /// The commit in which it is back.
        head: Sha,
    },
    /// A reply to a bot command.
    Reply {
        /// The comment with the command.
        comment: u64,
    },
    /// A notice that a commit is not reviewed.
    Note {
        /// The reviewed commit.
        head: Sha,
        /// The kind of notice.
        what: String,
    },
}

impl Marker {
    /// Parses a line.
    #[must_use]
    pub fn parse(line: &str) -> Option<Self> {
        let inside = line.trim().strip_prefix(OPEN)?.strip_suffix(" -->")?;
        let mut words = inside.split(' ');
        let (kind, first, second, rest) = (words.next()?, words.next()?, words.next(), words.next());
        let head = |word: &str| Sha::parse(word.strip_prefix("head=")?).ok();
        let mark = match (kind, second) {
            ("summary", None) => Self::Summary { head: head(first)? },
            ("review", None) => Self::Review { head: head(first)? },
            ("finding", None) => Self::Finding { key: FindingKey::parse(first)? },
            ("resolved", Some(at)) => Self::Resolved { key: FindingKey::parse(first)?, head: head(at)? },
            ("reopened", Some(at)) => Self::Reopened { key: FindingKey::parse(first)?, head: head(at)? },
            ("reply", None) => Self::Reply { comment: first.strip_prefix("comment=")?.parse().ok()? },
            ("note", Some(what)) => {
                let what = what.strip_prefix("what=").filter(|what| is_word(what))?;
                Self::Note { head: head(first)?, what: what.to_owned() }
            }
            _ => return None,
        };
        rest.is_none().then_some(mark)
    }

    /// The markers in a text, in order.
    #[must_use]
    pub fn all_in(body: &str) -> Vec<Self> {
        if !body.contains(OPEN) {
            return Vec::new();
        }
        // A bound on the work: forges accept less than this.
        let body = body.char_indices().nth(2 * MAX_CHARS).map_or(body, |(end, _)| &body[..end]);
        let body = markdown::flatten(body);
        let (mut marks, mut n_inside, mut in_comment) = (Vec::new(), 0_usize, false);
        for event in Parser::new(&body) {
            match event {
                Event::Start(Tag::BlockQuote(_) | Tag::List(_)) => n_inside += 1,
                Event::End(TagEnd::BlockQuote(_) | TagEnd::List(_)) => n_inside = n_inside.saturating_sub(1),
                Event::End(TagEnd::HtmlBlock) => in_comment = false,
                Event::Html(line) if n_inside == 0 => {
                    let mark = Self::parse(&line).filter(|_| !in_comment);
                    in_comment = match line.rfind("<!--") {
                        Some(open) => !line[open..].contains("-->"),
                        None => in_comment && !line.contains("-->"),
                    };
                    marks.extend(mark);
                }
                _ => {}
            }
        }
        marks
    }

    /// The finding whose comment this is.
    #[must_use]
    pub fn finding(&self) -> Option<FindingKey> {
        match self {
            Self::Finding { key } => Some(*key),
            Self::Summary { .. }
            | Self::Review { .. }
            | Self::Resolved { .. }
            | Self::Reopened { .. }
            | Self::Reply { .. }
            | Self::Note { .. } => None,
        }
    }

    /// A text with the marker below it, within the size limit of the forge. The text is truncated, the marker never.
    #[must_use]
    pub fn below(&self, text: &str) -> String {
        let mark = self.to_string();
        let room = MAX_CHARS - mark.len() - 2;
        match text.trim_end() {
            "" => mark,
            text => format!("{}\n\n{mark}", cut(text, room)),
        }
    }
}

impl fmt::Display for Marker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(OPEN)?;
        match self {
            Self::Summary { head } => write!(f, "summary head={head}")?,
            Self::Review { head } => write!(f, "review head={head}")?,
            Self::Finding { key } => write!(f, "finding {key}")?,
            Self::Resolved { key, head } => write!(f, "resolved {key} head={head}")?,
            Self::Reopened { key, head } => write!(f, "reopened {key} head={head}")?,
            Self::Reply { comment } => write!(f, "reply comment={comment}")?,
            Self::Note { head, what } => write!(f, "note head={head} what={what}")?,
        }
        f.write_str(" -->")
    }
}

fn is_word(text: &str) -> bool {
    (1..=40).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-')
}

/// The note on a truncated text.
const CUT: &str = "\n\n… (truncated)";

/// Truncates a text between lines, with a note.
///
/// Open fences and `<details>` are closed, so that following text does not become part of them.
pub(crate) fn cut(text: &str, max_chars: usize) -> String {
    if text.chars().nth(max_chars).is_none() {
        return text.to_owned();
    }
    // Room for the closing fence and tags.
    let room = max_chars.saturating_sub(CUT.chars().count() + 400);
    let end = text.char_indices().nth(room).map_or(text.len(), |(end, _)| end);
    let head = &text[..end];
    let head = head.rfind('\n').map_or(head, |feed| &head[..feed]);
    let mut fence: Option<&str> = None;
    let mut n_details = 0_usize;
    for line in head.lines() {
        let line = line.trim_start_matches(' ');
        let ticks = &line[..line.bytes().take_while(|byte| *byte == b'`').count()];
        match fence {
            Some(open) if line.trim_end() == ticks && ticks.len() >= open.len() => fence = None,
            None if ticks.len() >= 3 => fence = Some(ticks),
            None if line.starts_with("<details>") => n_details += 1,
            None if line.starts_with("</details>") => n_details = n_details.saturating_sub(1),
            Some(_) | None => {}
        }
    }
    let fence = fence.map_or_else(String::new, |fence| format!("\n{}", &fence[..fence.len().min(200)]));
    format!("{head}{fence}{}{CUT}", "\n\n</details>".repeat(n_details.min(8)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "0123456789012345678901234567890123456789";

    fn marks() -> [Marker; 7] {
        let head = Sha::parse(HEAD).unwrap();
        [
            Marker::Summary { head: head.clone() },
            Marker::Review { head: head.clone() },
            Marker::Finding { key: FindingKey::parse("fp-0123456789abcdef-01234567.2").unwrap() },
            Marker::Resolved { key: FindingKey::parse("fp-0123456789abcdef-01234567").unwrap(), head: head.clone() },
            Marker::Reopened { key: FindingKey::parse("fp-0123456789abcdef-01234567.2").unwrap(), head: head.clone() },
            Marker::Reply { comment: 123 },
            Marker::Note { head, what: "skipped".to_owned() },
        ]
    }

    fn one(mark: &Marker) -> &[Marker] {
        std::slice::from_ref(mark)
    }

    #[test]
    fn markers_round_trip_as_text() {
        for mark in &marks() {
            assert_eq!(Marker::all_in(&mark.below("Some text.")), one(mark));
            assert_eq!(Marker::all_in(&mark.below("")), one(mark));
            assert_eq!(Marker::all_in(&mark.below("a\r\n").replace('\n', "\r\n")), one(mark));
        }
        let all = marks().map(|mark| mark.to_string()).join("\n");
        assert_eq!(Marker::all_in(&all), marks());
    }

    #[test]
    fn malformed_markers_are_ignored() {
        for line in [
            "<!-- tollgate:summary -->",
            "<!-- tollgate:summary head=0123 -->",
            "<!-- tollgate:finding fp-0123 -->",
            "<!-- tollgate:reply comment=-1 -->",
            "<!-- tollgate:reply comment=99999999999999999999 -->",
            "<!-- tollgate:reply comment=1 comment=2 -->",
            "<!-- tollgate:reply  comment=1 -->",
            "<!-- tollgate:reply comment=1 --> x",
            "<!-- tollgate:reply comment=1",
            "<!-- tollgate: {} -->",
            "<!-- tollgate:other head=1 -->",
            &format!("<!-- tollgate:note head={HEAD} what=-->x -->"),
            &format!("<!-- tollgate:note head={HEAD} what=A -->"),
            &format!("<!-- tollgate:note head={HEAD} -->"),
        ] {
            assert_eq!(Marker::all_in(line), [], "{line}");
        }
    }

    #[test]
    fn markers_in_code_quotes_or_sentences_are_ignored() {
        let mark = "<!-- tollgate:reply comment=1 -->";
        for body in [
            format!("`{mark}`"),
            format!("```\n{mark}\n```"),
            format!("```\n{mark}"),
            format!("    {mark}"),
            format!("> {mark}"),
            format!("- {mark}"),
            format!("see {mark}"),
            format!("\\{mark}"),
            format!("<!-- a\n{mark}"),
            format!("<!--\na\n{mark}"),
            format!("&lt;{}", &mark[1..]),
        ] {
            assert_eq!(Marker::all_in(&body), [], "{body}");
        }
    }

    #[test]
    fn truncation_keeps_the_marker_and_closes_fences_and_details() {
        let mark = &marks()[0];
        let long = format!("<details>\n<summary>a</summary>\n\n````rust\n{}", "let a = 1; // ✓\n".repeat(10_000));
        let body = mark.below(&long);
        assert!(body.chars().count() <= MAX_CHARS);
        assert_eq!(Marker::all_in(&body), one(mark));
        assert!(body.contains("\n````\n\n</details>\n\n… (truncated)\n\n<!--"), "{}", &body[body.len() - 200..]);
        assert!(Marker::all_in(&mark.below(&"a".repeat(200_000))) == one(mark));
        assert_eq!(cut("abc", 3), "abc");
    }
}
