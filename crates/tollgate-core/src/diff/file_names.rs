//! Parses file names in diff headers.
//!
//! ```text
//! diff --git "a/\303\244.txt" "b/\303\244.txt"
//! --- a/two words.txt<TAB>
//! +++ b/two words.txt<TAB>2026-01-01 10:00:00 +0000
//! ```
//!
//! A name with control characters, quotes or (usually) non-ASCII bytes is quoted with C escapes. The two names of a
//! `diff --git` line have no unambiguous separator, so other header lines must resolve them.

use std::borrow::Cow;

/// Longer `diff --git` lines are not split by search: no file system has such names.
const MAX_SPLIT_SEARCH: usize = 16 * 1024;

/// A name after `---` or `+++`, with its prefix; `None` is `/dev/null`.
pub(super) type Side<'a> = Option<Cow<'a, [u8]>>;

/// The names before and after the change.
pub(super) type Pair<'a> = (Cow<'a, [u8]>, Cow<'a, [u8]>);

/// Parses the text after `--- ` or `+++ `.
pub(super) fn side(text: &[u8]) -> Side<'_> {
    if text.first() == Some(&b'"')
        && let Some((name, _)) = unquote(text)
    {
        return Some(Cow::Owned(name));
    }
    let (name, time) = match memchr::memchr(b'\t', text) {
        Some(tab) => (&text[..tab], &text[tab + 1..]),
        None => (text, &[][..]),
    };
    // GNU diff marks a missing file with the Unix epoch, in any time zone.
    let never = time.starts_with(b"1970-01-01 0") || time.starts_with(b"1969-12-31 ");
    (name != b"/dev/null" && !never).then_some(Cow::Borrowed(name))
}

/// Parses a name without prefix, as after `rename from ` or `diff --cc `.
pub(super) fn bare(text: &[u8]) -> Cow<'_, [u8]> {
    match unquote(text) {
        Some((name, len)) if len == text.len() => Cow::Owned(name),
        _ => Cow::Borrowed(text),
    }
}

/// Splits the two names of a `diff --git` line, prefixes included.
///
/// `old` and `new` are the names of the `---` and `+++` lines, if present.
pub(super) fn split<'a>(names: &'a [u8], old: Option<&[u8]>, new: Option<&[u8]>) -> Option<Pair<'a>> {
    if names.first() == Some(&b'"') {
        let (first, len) = unquote(names)?;
        let second = names.get(len..)?.strip_prefix(b" ")?;
        return Some((Cow::Owned(first), bare(second)));
    }
    if names.last() == Some(&b'"')
        && let Some(at) = memchr::memmem::find(names, b" \"")
        && let Some((second, len)) = unquote(&names[at + 1..])
        && at + 1 + len == names.len()
    {
        return Some((Cow::Borrowed(&names[..at]), Cow::Owned(second)));
    }
    let at = split_at(names, old, new)?;
    Some((Cow::Borrowed(&names[..at]), Cow::Borrowed(&names[at + 1..])))
}

/// The index of the space between two unquoted names.
fn split_at(names: &[u8], old: Option<&[u8]>, new: Option<&[u8]>) -> Option<usize> {
    let space_at = |at: usize| (names.get(at) == Some(&b' ')).then_some(at);
    let by_old = old.filter(|old| names.starts_with(old)).and_then(|old| space_at(old.len()));
    let by_new = || {
        let new = new.filter(|new| names.ends_with(new))?;
        space_at(names.len().checked_sub(new.len() + 1)?)
    };
    if let Some(at) = by_old.or_else(by_new) {
        return Some(at);
    }
    let same = |at: &usize| {
        let (old, new) = (&names[..*at], &names[at + 1..]);
        let (old_prefix, new_prefix) = prefixes(old, new);
        !new[new_prefix..].is_empty() && old[old_prefix..] == new[new_prefix..]
    };
    // Both prefixes usually have the same length; then the middle is the only split into two equal names.
    if let Some(at) = space_at(names.len() / 2).filter(same) {
        return Some(at);
    }
    if names.len() > MAX_SPLIT_SEARCH {
        return None;
    }
    // The last resort is for `git diff --no-index` between two names that have nothing in common.
    let lettered = |at: &usize| known_prefix(&names[..*at]) && known_prefix(&names[at + 1..]);
    let spaces = || memchr::memchr_iter(b' ', names);
    spaces().find(same).or_else(|| spaces().find(lettered)).or_else(|| spaces().next())
}

/// The lengths of the prefixes (usually `a/` and `b/`) of the two names of one file.
pub(super) fn prefixes(old: &[u8], new: &[u8]) -> (usize, usize) {
    if old == new {
        return (0, 0);
    }
    if known_prefix(old) && known_prefix(new) && old[0] != new[0] {
        return (2, 2);
    }
    let n_common = old.iter().rev().zip(new.iter().rev()).take_while(|(old, new)| old == new).count();
    let (old_cut, new_cut) = (old.len() - n_common, new.len() - n_common);
    let whole_step = |name: &[u8], cut: usize| cut == 0 || name[cut - 1] == b'/';
    if n_common > 0 && whole_step(old, old_cut) && whole_step(new, new_cut) {
        return (old_cut, new_cut);
    }
    match memchr::memchr(b'/', &old[old_cut..]) {
        Some(slash) => (old_cut + slash + 1, new_cut + slash + 1),
        None => (0, 0),
    }
}

/// The length of the prefix of a single name, when the other side is `/dev/null`.
pub(super) fn lone_prefix(name: &[u8]) -> usize {
    if known_prefix(name) { 2 } else { 0 }
}

/// True for `a/ b/`, `i/ w/ c/ o/` of `diff.mnemonicPrefix`, and `1/ 2/` of `git diff --no-index`.
fn known_prefix(name: &[u8]) -> bool {
    name.len() > 2 && name[1] == b'/' && matches!(name[0], b'a' | b'b' | b'c' | b'i' | b'o' | b'w' | b'1' | b'2')
}

/// Parses a quoted name; returns it and the number of bytes consumed.
fn unquote(text: &[u8]) -> Option<(Vec<u8>, usize)> {
    let inner = text.strip_prefix(b"\"")?;
    let mut name = Vec::new();
    let mut at = 0;
    loop {
        let byte = *inner.get(at)?;
        at += 1;
        match byte {
            b'"' => return Some((name, at + 1)),
            b'\\' => {
                let escape = *inner.get(at)?;
                at += 1;
                name.push(match escape {
                    b'a' => 0x07,
                    b'b' => 0x08,
                    b't' => b'\t',
                    b'n' => b'\n',
                    b'v' => 0x0b,
                    b'f' => 0x0c,
                    b'r' => b'\r',
                    b'"' | b'\\' => escape,
                    b'0'..=b'3' => {
                        let low = inner.get(at..at + 2)?;
                        at += 2;
                        if !low.iter().all(|digit| matches!(digit, b'0'..=b'7')) {
                            return None;
                        }
                        (escape - b'0') << 6 | (low[0] - b'0') << 3 | (low[1] - b'0')
                    }
                    _ => return None,
                });
            }
            _ => name.push(byte),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(names: &str, expected: &str) {
        let text = |name: &[u8]| String::from_utf8_lossy(name).into_owned();
        let shown = match split(names.as_bytes(), None, None) {
            Some((old, new)) => {
                let (old_prefix, new_prefix) = prefixes(&old, &new);
                format!("{} | {}", text(&old[old_prefix..]), text(&new[new_prefix..]))
            }
            None => "unclear".to_owned(),
        };
        assert_eq!(shown, expected, "{names}");
    }

    #[test]
    fn two_names_are_split_where_both_name_one_file() {
        check("a/x b/x", "x | x");
        check("a/x b/x b/x b/x", "x b/x | x b/x");
        check("a/two words b/two words", "two words | two words");
        check("i/x w/x", "x | x");
        check("c/a/b.rs i/a/b.rs", "a/b.rs | a/b.rs");
    }

    #[test]
    fn prefixes_may_be_missing_or_anything() {
        check("src/a.rs src/a.rs", "src/a.rs | src/a.rs");
        check("b/x b/x", "b/x | b/x");
        check("old/src/a b.rs new/src/a b.rs", "src/a b.rs | src/a b.rs");
        check("before/x y after/x y", "x y | x y");
        check("x new/x", "x | x");
    }

    #[test]
    fn names_in_quotes_are_read_as_c_strings() {
        check(r#""a/\303\244.txt" "b/\303\244.txt""#, "ä.txt | ä.txt");
        check(r#"a/plain "b/\"q\" \\ \t""#, "plain | \"q\" \\ \t");
        check(r#""a/\n" b/plain"#, "\n | plain");
        check(r#""a/x"#, "unclear");
        check(r#""a/\999" b/x"#, "unclear");
    }

    #[test]
    fn names_of_two_files_keep_their_own_folders() {
        check("a/x/foo.rs b/y/foo.rs", "x/foo.rs | y/foo.rs");
        check("a/one b/two", "one | two");
    }

    #[test]
    fn a_time_behind_the_name_is_not_part_of_it() {
        assert_eq!(side(b"a/x\t2026-01-01 10:00:00 +0000").as_deref(), Some(&b"a/x"[..]));
        assert_eq!(side(b"x\t1970-01-01 00:00:00.000000000 +0000"), None);
        assert_eq!(side(b"/dev/null"), None);
    }
}
