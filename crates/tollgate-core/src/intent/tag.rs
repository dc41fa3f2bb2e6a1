//! Parses tags in brackets: `[WIP] fix: retry [strict-review]`.
//!
//! A tag is the innermost pair of brackets, anywhere in a title, in any case.
//! Other uses of brackets are recognized: links `[text](url)`, boxes `[ ]` and
//! `[x]`, and references to tickets `[ABC-123]` and `[#45]`. Nothing inside
//! `` `code` `` is a tag.

use crate::intent::code_spans;

/// The known tags.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Keyword {
    /// Work in progress: asks for early feedback.
    Wip,
    /// Work in progress: asks for early feedback.
    Draft,
    /// In the title: no review at all.
    NoReview,
    /// The strict profile.
    StrictReview,
    /// The balanced profile.
    BalancedReview,
    /// The minimal profile.
    MinimalReview,
    /// Puts the review's focus on security.
    SecurityReview,
    /// Turns style findings off.
    StyleOk,
}

impl Keyword {
    /// All keywords, in the order of listings.
    pub const ALL: [Self; 8] = [
        Self::Wip,
        Self::Draft,
        Self::NoReview,
        Self::StrictReview,
        Self::BalancedReview,
        Self::MinimalReview,
        Self::SecurityReview,
        Self::StyleOk,
    ];

    /// The tag in lower case, without brackets.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Wip => "wip",
            Self::Draft => "draft",
            Self::NoReview => "no-review",
            Self::StrictReview => "strict-review",
            Self::BalancedReview => "balanced-review",
            Self::MinimalReview => "minimal-review",
            Self::SecurityReview => "security-review",
            Self::StyleOk => "style-ok",
        }
    }

    /// The tag in its usual spelling, without brackets.
    #[must_use]
    pub fn shown(self) -> &'static str {
        if self == Self::Wip { "WIP" } else { self.as_str() }
    }

    /// Parses a tag in any case.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|keyword| keyword.as_str().eq_ignore_ascii_case(text))
    }

    /// The most similar keyword, for tags with a typo.
    #[must_use]
    pub fn nearest(text: &str) -> Option<Self> {
        // The longest keyword has fifteen letters; longer tags by more than two match none.
        let n_chars = text.chars().take(18).count();
        let near = |keyword: Self| {
            let possible = keyword.as_str().len().abs_diff(n_chars) <= MAX_DISTANCE;
            let distance = possible.then(|| strsim::osa_distance(keyword.as_str(), text))?;
            (distance <= MAX_DISTANCE).then_some((distance, keyword))
        };
        Self::ALL.into_iter().filter_map(near).min_by_key(|(distance, _)| *distance).map(|(_, keyword)| keyword)
    }
}

/// The largest edit distance that counts as a typo.
const MAX_DISTANCE: usize = 2;

/// The content of a pair of brackets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bracket<'a> {
    /// A known tag.
    Known(Keyword),
    /// Any other tag, as written.
    Unknown(&'a str),
    /// A ticket or another pull request.
    Reference(&'a str),
}

/// Calls `take` for each tag and reference, skipping links and boxes, until it returns false.
pub(crate) fn scan<'a>(text: &'a str, take: &mut dyn FnMut(Bracket<'a>) -> bool) {
    if memchr::memchr(b'[', text.as_bytes()).is_none() {
        return;
    }
    let code = code_spans::ranges(text);
    let mut at = 0;
    while let Some(pair) = next_pair(text, at, &code) {
        at = pair.end;
        let bracket = classify(pair.inside).filter(|_| !is_link(&text[at..]));
        if bracket.is_some_and(|bracket| !take(bracket)) {
            return;
        }
    }
}

/// An innermost pair of brackets.
struct Pair<'a> {
    inside: &'a str,
    /// The offset after the closing bracket.
    end: usize,
}

fn next_pair<'a>(text: &'a str, from: usize, code: &[std::ops::Range<usize>]) -> Option<Pair<'a>> {
    let bytes = text.as_bytes();
    let mut open = None;
    for at in memchr::memchr2_iter(b'[', b']', &bytes[from..]).map(|at| at + from) {
        if !code.is_empty() && code_spans::overlaps(code, &(at..at + 1)) {
            continue;
        }
        match (bytes[at], open) {
            (b'[', _) => open = Some(at),
            (_, Some(open)) => return Some(Pair { inside: &text[open + 1..at], end: at + 1 }),
            (_, None) => {}
        }
    }
    None
}

/// Classifies the content of brackets; `None` for an empty pair or a box.
fn classify(inside: &str) -> Option<Bracket<'_>> {
    // Invisible characters are not trimmed: what does not look like a tag, or hides in one, is not a tag.
    let tag = inside.trim();
    if tag.is_empty() || tag.eq_ignore_ascii_case("x") {
        return None;
    }
    Some(match Keyword::parse(tag) {
        Some(keyword) => Bracket::Known(keyword),
        None if is_reference(tag) => Bracket::Reference(tag),
        None => Bracket::Unknown(tag),
    })
}

/// True for `ABC-123`, `#45`, `!45`, `owner/repository#45`.
fn is_reference(tag: &str) -> bool {
    let Some(split) = tag.rfind(['-', '#', '!']) else { return false };
    let (before, number) = (&tag[..split], &tag[split + 1..]);
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    let is_key = |key: &str| {
        key.starts_with(|c: char| c.is_ascii_uppercase())
            && key.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
    };
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'/');
    is_number && if tag.as_bytes()[split] == b'-' { is_key(before) } else { before.bytes().all(is_name) }
}

/// True when a link target follows the brackets.
///
/// `[text][ref]` is no link: a title cannot define the reference, so these are two tags side by side.
fn is_link(rest: &str) -> bool {
    rest.strip_prefix('(').is_some_and(closes)
}

/// True when the text after `(` is a link target: no spaces except before a quoted title, then `)`.
fn closes(target: &str) -> bool {
    let mut quoted = false;
    let mut characters = target.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            ')' => return true,
            // The next bracket ends the search, so that many links are parsed in linear time.
            '[' => return false,
            character if character.is_whitespace() && !quoted => {
                quoted = matches!(characters.peek(), Some('"' | '\''));
                if !quoted && !matches!(characters.peek(), Some(')' | ' ')) {
                    return false;
                }
            }
            _ => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(title: &str, expected: &str) {
        let mut said = Vec::new();
        scan(title, &mut |bracket| {
            said.push(match bracket {
                Bracket::Known(keyword) => keyword.as_str().to_owned(),
                Bracket::Unknown(tag) => format!("unknown {tag}"),
                Bracket::Reference(reference) => format!("reference {reference}"),
            });
            true
        });
        assert_eq!(said.join(", "), expected, "{title:?}");
    }

    #[test]
    fn every_keyword_is_recognized_in_any_case_and_position() {
        for keyword in Keyword::ALL {
            check(&format!("fix [{}] it", keyword.as_str().to_uppercase()), keyword.as_str());
        }
        check("[WIP] fix [Style-OK]", "wip, style-ok");
        check("fix[wip]", "wip");
    }

    #[test]
    fn space_inside_brackets_does_not_matter_not_even_unicode_space() {
        check("[ wip ] [\u{a0}draft\u{3000}]", "wip, draft");
    }

    #[test]
    fn the_innermost_pair_is_the_tag() {
        check("[[wip]] [a [draft] b]", "wip, draft");
        check("]wip[ [wip", "");
    }

    #[test]
    fn links_are_no_tags() {
        check("[wip](https://example.com) [no-review](<u> \"a title\") [a]()", "");
        check("[wip](later today) [draft](", "wip, draft");
    }

    // Issue 17: a reference link has no meaning in a title.
    #[test]
    fn tags_side_by_side_are_no_link() {
        check("[Network][Decoder] Stop reading", "unknown Network, unknown Decoder");
        check("[Network] [Decoder][wip] Stop", "unknown Network, unknown Decoder, wip");
        check("see [no-review][ref] and [text][]", "no-review, unknown ref, unknown text");
        check("[a][b](https://example.com)", "unknown a");
        check("[WIP][strict-review] fix", "wip, strict-review");
        check("[WIP][ABC-1] [#4][draft]", "wip, reference ABC-1, reference #4, draft");
        check("[wip][draft][style-ok]", "wip, draft, style-ok");
    }

    #[test]
    fn empty_brackets_and_boxes_are_ignored() {
        check("[] [ ] [x] [X] [\u{2003}]", "");
    }

    #[test]
    fn tickets_are_references() {
        check("[ABC-123] [#45] [GH-7] [o/r#8]", "reference ABC-123, reference #45, reference GH-7, reference o/r#8");
        check("[utf-8] [ABC-] [-1] [#]", "unknown utf-8, unknown ABC-, unknown -1, unknown #");
    }

    #[test]
    fn tags_inside_code_are_no_tags() {
        check("drop `[wip]` and ``[`draft]`` [style-ok]", "style-ok");
        check("a ` [wip]", "wip");
        check("[`wip`]", "unknown `wip`");
    }

    #[test]
    fn a_typo_suggests_the_nearest_keyword() {
        let near = |text| Keyword::nearest(text).map_or("", Keyword::as_str);
        assert_eq!(near("strict-reveiw"), "strict-review", "a transposition is one edit");
        assert_eq!(near("stirct-reveiw"), "strict-review", "two transpositions are two");
        assert_eq!(near("no review"), "no-review");
        assert_eq!(near("wpi"), "wip");
        assert_eq!(near("drat"), "draft");
        assert_eq!(near("balanced-revie"), "balanced-review");
        assert_eq!(near("foobar"), "");
        assert_eq!(near("strictly-reviewed"), "");
        assert_eq!(near(&"wip".repeat(1000)), "");
    }
}
