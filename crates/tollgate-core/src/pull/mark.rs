//! Marks in what we write, by which we know it again. Nobody sees them.
//!
//! ```text
//! <!-- tollgate:summary head=0123456789012345678901234567890123456789 -->
//! <!-- tollgate:review head=0123456789012345678901234567890123456789 -->
//! <!-- tollgate:finding fp-0123456789abcdef-01234567 -->
//! <!-- tollgate:reply comment=123 -->
//! <!-- tollgate:note head=0123456789012345678901234567890123456789 what=skipped -->
//! ```
//!
//! A mark is a line of its own outside code, quotes and lists. Anybody can write one, so marks count only in what we
//! wrote ourselves, which those must check who read them.

use std::fmt;

use pulldown_cmark::{Event, Parser, Tag, TagEnd};

use crate::comment::MAX_CHARS;
use crate::markdown;
use crate::pull::key::Key;
use crate::sha::Sha;

/// How every mark begins.
const OPEN: &str = "<!-- tollgate:";

/// Something that we wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mark {
    /// The summary of a pull request.
    Summary {
        /// The commit it speaks of.
        head: Sha,
    },
    /// A review with comments at lines.
    Review {
        /// The commit it speaks of.
        head: Sha,
    },
    /// A comment about one finding.
    Finding {
        /// The finding.
        key: Key,
    },
    /// An answer to somebody.
    Reply {
        /// The comment that is answered.
        comment: u64,
    },
    /// A comment that says why there is no review.
    Note {
        /// The commit it speaks of.
        head: Sha,
        /// What it says, in a word.
        what: String,
    },
}

impl Mark {
    /// Reads one mark: the whole of a line.
    #[must_use]
    pub fn parse(line: &str) -> Option<Self> {
        let inside = line.trim().strip_prefix(OPEN)?.strip_suffix(" -->")?;
        let mut words = inside.split(' ');
        let (kind, first, second, rest) = (words.next()?, words.next()?, words.next(), words.next());
        let head = |word: &str| Sha::parse(word.strip_prefix("head=")?).ok();
        let mark = match (kind, second) {
            ("summary", None) => Self::Summary { head: head(first)? },
            ("review", None) => Self::Review { head: head(first)? },
            ("finding", None) => Self::Finding { key: Key::parse(first)? },
            ("reply", None) => Self::Reply { comment: first.strip_prefix("comment=")?.parse().ok()? },
            ("note", Some(what)) => {
                let what = what.strip_prefix("what=").filter(|what| is_word(what))?;
                Self::Note { head: head(first)?, what: what.to_owned() }
            }
            _ => return None,
        };
        rest.is_none().then_some(mark)
    }

    /// The marks in a text, in order.
    #[must_use]
    pub fn all_in(body: &str) -> Vec<Self> {
        if !body.contains(OPEN) {
            return Vec::new();
        }
        // No more than a host takes; a mark is never longer than what is added to its end.
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

    /// A text with the mark below it, within what a host takes. The text may have to be cut, the mark never is.
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

impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(OPEN)?;
        match self {
            Self::Summary { head } => write!(f, "summary head={head}")?,
            Self::Review { head } => write!(f, "review head={head}")?,
            Self::Finding { key } => write!(f, "finding {key}")?,
            Self::Reply { comment } => write!(f, "reply comment={comment}")?,
            Self::Note { head, what } => write!(f, "note head={head} what={what}")?,
        }
        f.write_str(" -->")
    }
}

fn is_word(text: &str) -> bool {
    (1..=40).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-')
}

/// What is said where something had to be left out.
const CUT: &str = "\n\n… (the rest does not fit here)";

/// A text within so many characters, cut between lines where it must be, with a note.
///
/// A fence that the cut leaves open is closed, and so are folded parts: what follows must not become part of them.
pub(crate) fn cut(text: &str, max_chars: usize) -> String {
    if text.chars().nth(max_chars).is_none() {
        return text.to_owned();
    }
    // Room for what closes what is open.
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

    fn marks() -> [Mark; 5] {
        let head = Sha::parse(HEAD).unwrap();
        [
            Mark::Summary { head: head.clone() },
            Mark::Review { head: head.clone() },
            Mark::Finding { key: Key::parse("fp-0123456789abcdef-01234567.2").unwrap() },
            Mark::Reply { comment: 123 },
            Mark::Note { head, what: "skipped".to_owned() },
        ]
    }

    fn one(mark: &Mark) -> &[Mark] {
        std::slice::from_ref(mark)
    }

    #[test]
    fn marks_are_read_as_they_are_written() {
        for mark in &marks() {
            assert_eq!(Mark::all_in(&mark.below("Some text.")), one(mark));
            assert_eq!(Mark::all_in(&mark.below("")), one(mark));
            assert_eq!(Mark::all_in(&mark.below("a\r\n").replace('\n', "\r\n")), one(mark));
        }
        let all = marks().map(|mark| mark.to_string()).join("\n");
        assert_eq!(Mark::all_in(&all), marks());
    }

    #[test]
    fn what_is_not_a_mark_of_ours_is_none() {
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
            assert_eq!(Mark::all_in(line), [], "{line}");
        }
    }

    #[test]
    fn a_mark_in_code_in_a_quote_or_in_a_sentence_is_none() {
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
            assert_eq!(Mark::all_in(&body), [], "{body}");
        }
    }

    #[test]
    fn a_text_is_cut_before_its_mark_and_closes_what_it_leaves_open() {
        let mark = &marks()[0];
        let long = format!("<details>\n<summary>a</summary>\n\n````rust\n{}", "let a = 1; // ✓\n".repeat(10_000));
        let body = mark.below(&long);
        assert!(body.chars().count() <= MAX_CHARS);
        assert_eq!(Mark::all_in(&body), one(mark));
        assert!(
            body.contains("\n````\n\n</details>\n\n… (the rest does not fit here)\n\n<!--"),
            "{}",
            &body[body.len() - 200..]
        );
        assert!(Mark::all_in(&mark.below(&"a".repeat(200_000))) == one(mark));
        assert_eq!(cut("abc", 3), "abc");
    }
}
