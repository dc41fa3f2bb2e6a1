//! Private keys in PEM: a header followed by a body.
//!
//! ```text
//! -----BEGIN RSA PRIVATE KEY-----
//! MIIEpAIBAAKCAQEA…
//! -----END RSA PRIVATE KEY-----
//! ```
//!
//! A key is recognised by the structure of its first bytes: DER, OpenSSH or OpenPGP. Real keys begin with long runs of
//! `A`, so their look says nothing. A key whose structure is complete is proven, whatever the file is called.

use std::ops::Range;

use super::heuristics::contains;
use crate::text::base64;

/// The literal of the search.
pub(super) const MARK: &str = "-----BEGIN ";

/// The same in base64, as in `client-key-data` of a kubeconfig and in Kubernetes secrets.
pub(super) const MARK_BASE64: &str = "LS0tLS1CRUdJTi";

/// Lines that are searched for the body, and for the end of the key.
const MAX_LINES: usize = 200;

/// Header lines (`Proc-Type`, `Version`, `Comment`) and blank lines before the body.
const MAX_HEADERS: usize = 8;

/// The longest body that is decoded, in characters.
const MAX_BODY: usize = 32 * 1024;

/// Fewer characters are no key: the shortest are those of Ed25519, with 64.
const MIN_BODY: usize = 32;

/// A private key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PrivateKey {
    /// The range after the header on its line.
    pub(super) range: Range<usize>,
    /// True when the key is there to its last byte.
    pub(super) whole: bool,
}

/// Finds a private key whose header is at `at`.
///
/// A header without a body, on the same line or the next ones, is no key.
pub(super) fn find<'a>(line: &'a [u8], at: usize, following: impl Iterator<Item = &'a [u8]>) -> Option<PrivateKey> {
    let rest = line.get(at + MARK.len()..)?;
    let name_len =
        rest.iter().take(40).take_while(|byte| byte.is_ascii_uppercase() || matches!(byte, b' ' | b'0'..=b'9')).count();
    let is_private = contains(&rest[..name_len], b"PRIVATE KEY") && rest.get(name_len..name_len + 5) == Some(b"-----");
    if !is_private {
        return None;
    }
    let end = at + MARK.len() + name_len + 5;
    let mut body = Body::default();
    let lines = std::iter::once(line.get(end..).unwrap_or_default()).chain(following.take(MAX_LINES));
    let mut n_headers = 0;
    for (index, line) in lines.enumerate() {
        match body.take(line) {
            Step::Goes => {}
            Step::Header if body.text.is_empty() && n_headers < MAX_HEADERS => n_headers += usize::from(index > 0),
            Step::Header | Step::Ends => break,
        }
    }
    body.is_key().then(|| PrivateKey { range: end..line.len(), whole: body.is_whole() })
}

/// Finds a private key that is encoded in base64 as a whole, by the literal at `at`.
pub(super) fn find_base64(line: &[u8], at: usize) -> Option<PrivateKey> {
    let is_digit = |byte: &&u8| base64::digit(**byte).is_some() || **byte == b'=';
    if line[..at].last().is_some_and(|byte| base64::digit(*byte).is_some()) {
        return None;
    }
    let len = line[at..].iter().take(MAX_BODY).take_while(is_digit).count();
    let text = base64::decode(&line[at..at + len])?;
    let mut lines = text.split(|&byte| byte == b'\n');
    let first = lines.next()?;
    find(first, 0, lines).map(|key| PrivateKey { range: at..at + len, whole: key.whole })
}

/// The body of a key as it is read, line by line.
#[derive(Debug, Default)]
struct Body {
    text: Vec<u8>,
    /// True after `-----END`.
    ended: bool,
    /// True for a key in the old form of encryption, whose body has no structure.
    encrypted: bool,
}

enum Step {
    Goes,
    Ends,
    /// A line that does not belong to the body.
    Header,
}

impl Body {
    /// Reads a line, which may hold the whole key with `\n` between its lines.
    fn take(&mut self, line: &[u8]) -> Step {
        self.encrypted |= contains(line, b"DEK-Info:") || contains(line, b"4,ENCRYPTED");
        let mut at = 0;
        while let Some(&byte) = line.get(at) {
            if line[at..].starts_with(b"-----END") {
                self.ended = true;
                return Step::Ends;
            }
            // Another key begins, so that each line is read for one key only.
            if line[at..].starts_with(MARK.as_bytes()) {
                return Step::Ends;
            }
            // An escaped line break, with any number of backslashes.
            if byte == b'\\' {
                at += line[at..].iter().take_while(|byte| **byte == b'\\').count();
                at += usize::from(matches!(line.get(at), Some(b'n' | b'r')));
                continue;
            }
            if !is_body_byte(byte) {
                at += 1;
                continue;
            }
            let len = line[at..].iter().take_while(|byte| is_body_byte(**byte)).count();
            let (run, after) = (&line[at..at + len], &line[at + len..]);
            if after.starts_with(b"...") || after.starts_with("…".as_bytes()) {
                return Step::Ends;
            }
            // Signs of concatenation and comments stand alone; short words are header lines or code.
            let is_first = self.text.is_empty();
            if is_first && (3..MIN_BODY).contains(&len) || self.text.len() + len > MAX_BODY {
                return Step::Header;
            }
            if len > 2 {
                let n_marks = if is_first { run.iter().take_while(|byte| **byte == b'/').count() } else { 0 };
                self.text.extend_from_slice(&run[n_marks..]);
            }
            at += len;
        }
        Step::Goes
    }

    fn is_key(&self) -> bool {
        let head = &self.text[..self.text.len().min(64)];
        // The sequence of DER; the magic of OpenSSH; the packet of a secret key in OpenPGP, old and new.
        let begins = head.starts_with(b"M") || head.starts_with(OPENSSH) || matches!(head.first(), Some(b'l' | b'x'));
        head.len() >= MIN_BODY && (begins || self.encrypted) && !is_made_up(&self.text)
    }

    /// True when the bytes are all there.
    fn is_whole(&self) -> bool {
        let Some(bytes) = self.ended.then(|| self.decoded()).flatten() else {
            return false;
        };
        if self.text.starts_with(b"M") && !self.encrypted {
            return der_len(&bytes).is_some_and(|len| len >= 40 && len.abs_diff(bytes.len()) <= 2);
        }
        bytes.len() >= 90
    }

    /// The bytes of the body. OpenPGP adds a checksum, which begins with `=`.
    fn decoded(&self) -> Option<Vec<u8>> {
        let end = self.text.iter().position(|byte| *byte == b'=').unwrap_or(self.text.len());
        base64::decode(&self.text[..end])
    }
}

/// The magic of OpenSSH, `openssh-key-v1`, in base64.
const OPENSSH: &[u8] = b"b3BlbnNzaC1rZXk";

fn is_body_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=')
}

/// The length of a DER sequence with its header.
pub(super) fn der_len(bytes: &[u8]) -> Option<usize> {
    match *bytes {
        [0x30, 0x82, high, low, ..] => Some(4 + usize::from(high) * 256 + usize::from(low)),
        [0x30, 0x81, len, ..] => Some(3 + usize::from(len)),
        [0x30, len, ..] if len < 0x80 => Some(2 + usize::from(len)),
        _ => None,
    }
}

/// True for a body that a person typed: few characters in use, long runs of one other than zeros and ones, or a word that says so.
fn is_made_up(body: &[u8]) -> bool {
    let sample = &body[..body.len().min(512)];
    let lower = sample.to_ascii_lowercase();
    let says = [&b"example"[..], b"placeholder", b"redacted", b"changeme", b"privatekey", b"yourkey", b"keygoeshere"];
    let mut seen = [false; 256];
    sample.iter().for_each(|&byte| seen[usize::from(byte)] = true);
    let n_distinct = seen.iter().filter(|seen| **seen).count();
    let run = |window: &[u8]| !matches!(window[0], b'A' | b'/') && window.iter().all(|byte| *byte == window[0]);
    n_distinct < 14 || sample.windows(8).any(run) || says.iter().any(|word| contains(&lower, word))
}
