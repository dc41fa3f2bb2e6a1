//! Private keys in other forms than PEM: PuTTY and JSON Web Keys.

use std::ops::Range;

use super::heuristics::{contains, entropy};
use crate::text::base64;

/// The first line of a PuTTY key: `PuTTY-User-Key-File-3: ssh-ed25519`.
pub(super) const PUTTY_MARK: &str = "PuTTY-User-Key-File-";

/// The private part of a JSON Web Key, and of a symmetric one.
pub(super) static JWK_MARKS: &[&str] = &["\"d\":", "\"k\":", "\"d\" :"];

/// Lines of a PuTTY key before its private part: the public part has at most about 25.
const MAX_PUBLIC: usize = 60;

/// The range after the mark on its line, when the private part follows.
pub(super) fn putty<'a>(line: &'a [u8], at: usize, following: impl Iterator<Item = &'a [u8]>) -> Option<Range<usize>> {
    let start = at + PUTTY_MARK.len();
    let numbered = matches!(line.get(start..start + 3), Some([b'1'..=b'9', b':', b' ']));
    let mut following = following.take(MAX_PUBLIC).skip_while(|line| !contains(line, b"Private-Lines:"));
    let has_private = following.next().is_some() && following.next().is_some_and(is_base64_line);
    // The private part may also be in the same literal, after `\n`.
    let in_line = contains(&line[start.min(line.len())..], b"Private-Lines:");
    (numbered && (has_private || in_line)).then_some(start + 3..line.len())
}

fn is_base64_line(line: &[u8]) -> bool {
    let text = line.trim_ascii();
    text.len() >= 16 && text.iter().filter(|byte| base64::digit(**byte).is_some()).count() + 4 >= text.len()
}

/// The range of the private value of a JSON Web Key whose member name is at `at`; `around` is the text near it.
pub(super) fn jwk(line: &[u8], at: usize, around: &[u8]) -> Option<Range<usize>> {
    let rest = line.get(at..)?;
    let colon = rest.iter().take(8).position(|&byte| byte == b':')?;
    let quote = rest[colon + 1..].iter().take(4).position(|&byte| byte == b'"')?;
    let start = at + colon + 1 + quote + 1;
    let len = line[start..].iter().take(2048).take_while(|byte| base64::digit(**byte).is_some()).count();
    let value = &line[start..start + len];
    let closed = line.get(start + len) == Some(&b'"');
    let kind: &[u8] = if rest.starts_with(b"\"k\"") { b"\"oct\"" } else { b"\"kty\"" };
    let fits = closed && len >= 32 && entropy(&value[..len.min(64)]) >= 3.5;
    let has = |part: &[u8]| memchr::memmem::find(around, part).is_some();
    (fits && has(b"\"kty\"") && has(kind)).then_some(start..start + len)
}
