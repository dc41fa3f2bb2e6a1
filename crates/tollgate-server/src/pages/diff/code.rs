//! One line of code as markup: colours, changed words, and what would not be seen.
//!
//! ```text
//! let a = b;\u{202e}   ->   <span class="k">let</span> a = <ins>b</ins>;<span class="odd">\u{202e}</span>
//! ```
//!
//! Bytes that are no text are shown as `\xff`. A tab stays a tab.

use std::ops::Range;

use tollgate_core::visible::is_hidden;
use tollgate_engine::reviewer::embedded::colour::{Class, Span};

use crate::pages::markup::{Builder, Markup};

/// What changed words of a line are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tag {
    /// They are new.
    Ins,
    /// They are gone.
    Del,
}

/// A line with its syntax colours.
#[derive(Debug, Clone)]
pub(super) struct Piece<'a> {
    pub(super) bytes: &'a [u8],
    /// What its words are, in order and apart.
    pub(super) spans: &'a [Span],
    /// Its changed words, in order and apart.
    pub(super) changed: &'a [Range<usize>],
    pub(super) tag: Tag,
}

/// A line as it is shown.
pub(super) struct Code {
    pub(super) markup: Markup,
    /// How many characters it has, when they are not all shown.
    pub(super) n_chars: Option<usize>,
}

/// How a character is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Style {
    is_changed: bool,
    look: Look,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Look {
    Plain,
    Of(Class),
    /// What would not be seen.
    Odd,
}

/// Shows a line, at most so many characters of it.
pub(super) fn render(piece: &Piece<'_>, max_chars: usize) -> Code {
    let mut pen = Pen { builder: Builder::default(), tag: piece.tag, style: None, run: String::new() };
    let (mut spans, mut changed) = (piece.spans.iter().peekable(), piece.changed.iter().peekable());
    let (mut at, mut n_chars) = (0, 0);
    for chunk in piece.bytes.utf8_chunks() {
        let good = chunk.valid().chars().map(|character| (Some(character), character.len_utf8(), 0));
        let bad = chunk.invalid().iter().map(|byte| (None, 1, *byte));
        for (character, length, byte) in good.chain(bad) {
            n_chars += 1;
            if n_chars > max_chars {
                continue;
            }
            while spans.next_if(|span| span.1 as usize <= at).is_some() {}
            while changed.next_if(|range| range.end <= at).is_some() {}
            let class = spans.peek().filter(|span| span.0 as usize <= at).map_or(Look::Plain, |span| Look::Of(span.2));
            let is_changed = changed.peek().is_some_and(|range| range.start <= at);
            match character {
                Some(character) if !is_hidden(character) => pen.put(Style { is_changed, look: class }, character),
                Some(hidden) => pen.put(Style { is_changed, look: Look::Odd }, hidden),
                None => pen.put_byte(Style { is_changed, look: Look::Odd }, byte),
            }
            at += length;
        }
    }
    Code { markup: pen.finish(), n_chars: (n_chars > max_chars).then_some(n_chars) }
}

/// Writes characters, and a tag where the style changes.
struct Pen {
    builder: Builder,
    tag: Tag,
    style: Option<Style>,
    run: String,
}

impl Pen {
    fn put(&mut self, style: Style, character: char) {
        self.turn(style);
        self.run.push(character);
    }

    fn put_byte(&mut self, style: Style, byte: u8) {
        self.turn(style);
        self.run.push_str(&format!("\\x{byte:02x}"));
    }

    fn turn(&mut self, style: Style) {
        if self.style == Some(style) {
            return;
        }
        let was_changed = self.style.is_some_and(|before| before.is_changed);
        self.close_look();
        if was_changed && !style.is_changed {
            self.close_tag();
        }
        if style.is_changed && !was_changed {
            self.builder.tag(match self.tag {
                Tag::Ins => "<ins>",
                Tag::Del => "<del>",
            });
        }
        self.builder.tag(match style.look {
            Look::Plain => "",
            Look::Odd => "<span class=\"odd\">",
            Look::Of(Class::Keyword) => "<span class=\"k\">",
            Look::Of(Class::String) => "<span class=\"s\">",
            Look::Of(Class::Escape) => "<span class=\"e\">",
            Look::Of(Class::Comment) => "<span class=\"c\">",
            Look::Of(Class::Constant) => "<span class=\"n\">",
            Look::Of(Class::Type) => "<span class=\"t\">",
            Look::Of(Class::Function) => "<span class=\"f\">",
            Look::Of(Class::Property) => "<span class=\"p\">",
        });
        self.style = Some(style);
    }

    fn close_look(&mut self) {
        self.builder.text(&self.run);
        self.run.clear();
        if self.style.is_some_and(|style| style.look != Look::Plain) {
            self.builder.tag("</span>");
        }
    }

    fn close_tag(&mut self) {
        self.builder.tag(match self.tag {
            Tag::Ins => "</ins>",
            Tag::Del => "</del>",
        });
    }

    fn finish(mut self) -> Markup {
        self.close_look();
        if self.style.is_some_and(|style| style.is_changed) {
            self.close_tag();
        }
        self.builder.finish()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shown(bytes: &[u8], spans: &[Span], changed: &[Range<usize>]) -> String {
        render(&Piece { bytes, spans, changed, tag: Tag::Ins }, 100).markup.0
    }

    #[track_caller]
    fn check(bytes: &[u8], expected: &str) {
        assert_eq!(shown(bytes, &[], &[]), expected);
    }

    #[test]
    fn code_stays_code() {
        check(b"", "");
        check(b"\tif a < b && c {", "\tif a &lt; b &amp;&amp; c {");
        check("größe \u{1f980}".as_bytes(), "größe \u{1f980}");
        check("שלום".as_bytes(), "שלום");
    }

    #[test]
    fn invisible_characters_are_made_visible() {
        check("a\u{202e}b".as_bytes(), "a<span class=\"odd\">\\u{202e}</span>b");
        check(b"a\xff\xfe\r", "a<span class=\"odd\">\\xff\\xfe\\r</span>");
        check(b"\x1b[2J\0", "<span class=\"odd\">\\u{1b}</span>[2J<span class=\"odd\">\\u{0}</span>");
    }

    #[test]
    fn colours_and_changed_words_lie_over_one_another() {
        let spans = [Span(0, 3, Class::Keyword), Span(8, 11, Class::String)];
        let changed = std::slice::from_ref(&(4..11));
        assert_eq!(
            shown(b"let a = \"x\";", &spans, changed),
            "<span class=\"k\">let</span> <ins>a = <span class=\"s\">&quot;x&quot;</span></ins>;"
        );
    }

    #[test]
    fn of_a_long_line_the_beginning_is_shown_and_the_length() {
        let long = "é".repeat(101);
        let piece = Piece { bytes: long.as_bytes(), spans: &[], changed: &[], tag: Tag::Del };
        let code = render(&piece, 100);
        assert_eq!((code.markup.0.chars().count(), code.n_chars), (100, Some(101)));
        assert_eq!(render(&piece, 101).n_chars, None);
    }

    proptest! {
        #[test]
        fn tags_are_closed_whatever_lies_over_what(
            bytes in prop::collection::vec(any::<u8>(), 0..60),
            cuts in prop::collection::btree_set(0_u32..60, 0..8),
            marks in prop::collection::btree_set(0_usize..60, 0..8),
        ) {
            let cuts: Vec<u32> = cuts.into_iter().collect();
            let spans: Vec<Span> = cuts.chunks_exact(2).map(|two| Span(two[0], two[1], Class::Type)).collect();
            let marks: Vec<usize> = marks.into_iter().collect();
            let changed: Vec<Range<usize>> = marks.chunks_exact(2).map(|two| two[0]..two[1]).collect();
            let html = shown(&bytes, &spans, &changed);
            let mut open = Vec::new();
            for tag in html.split('<').skip(1).filter_map(|rest| rest.split('>').next()) {
                match tag.strip_prefix('/') {
                    Some(name) => prop_assert_eq!(open.pop(), Some(name.to_owned())),
                    None => open.push(tag.split(' ').next().unwrap_or_default().to_owned()),
                }
            }
            prop_assert!(open.is_empty(), "{}", html);
        }
    }
}
