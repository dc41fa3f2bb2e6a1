//! Private keys in PEM: a header followed by a body.
//!
//! ```text
//! -----BEGIN RSA PRIVATE KEY-----
//! MIIEpAIBAAKCAQEA…
//! ```

use std::ops::Range;

use super::heuristics::{contains, entropy, is_made_up};

/// The literal of the search.
pub(super) const MARK: &str = "-----BEGIN ";

/// Finds a private key whose header is at `at`; returns the range after the header on its line.
///
/// A header without a body, on the same line or the next ones, is no key.
pub(super) fn find<'a>(
    line: &'a [u8],
    at: usize,
    mut following: impl Iterator<Item = &'a [u8]>,
) -> Option<Range<usize>> {
    let rest = line.get(at + MARK.len()..)?;
    let name_len =
        rest.iter().take(40).take_while(|byte| byte.is_ascii_uppercase() || matches!(byte, b' ' | b'0'..=b'9')).count();
    let name = &rest[..name_len];
    let is_private = contains(name, b"PRIVATE KEY") && rest.get(name_len..name_len + 5) == Some(b"-----");
    if !is_private {
        return None;
    }
    let end = at + MARK.len() + name_len + 5;
    let same_line = line.get(end..).unwrap_or_default();
    let same_line = same_line.strip_prefix(b"\\n").or(same_line.strip_prefix(b"\\r\\n")).unwrap_or(same_line);
    let has_body = is_body(same_line) || (is_end(same_line) && following.by_ref().take(6).any(is_body));
    has_body.then_some(end..line.len())
}

/// True when only quotes and line ends follow the header.
fn is_end(rest: &[u8]) -> bool {
    rest.len() <= 8 && rest.iter().all(|byte| !byte.is_ascii_alphanumeric() || matches!(byte, b'n' | b'r'))
}

/// True for a line of base64 that begins like a key.
fn is_body(line: &[u8]) -> bool {
    let skip = line.iter().take_while(|byte| !(byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/'))).count();
    let text = &line[skip.min(16)..];
    let len = text
        .iter()
        .take(76)
        .take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'='))
        .count();
    let body = &text[..len];
    // DER begins with a sequence; OpenSSH with its magic; PGP with a secret key packet.
    let begins = body.starts_with(b"M") || body.starts_with(b"b3BlbnNzaC1rZXk") || body.starts_with(b"l");
    len >= 32 && begins && entropy(body) >= 3.5 && !is_made_up(body)
}
