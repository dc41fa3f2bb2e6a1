//! Secrets in base64, hexadecimal and percent-encoding: each word that decodes to text with a secret is replaced.

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use tollgate_rules::text::mask::mask as mask_text;

/// The replacement of an encoded secret.
const HIDDEN: &str = "[hidden secret]";
/// Shorter words hold no secret.
const MIN_WORD: usize = 20;
/// Longer words are files, not secrets, and are not decoded.
const MAX_WORD: usize = 64 * 1024;

/// Replaces the words of a text that hold a secret once they are decoded.
pub(super) fn mask(text: &str) -> String {
    let mut masked = String::with_capacity(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        let len = rest.find(|character| !is_of_word(character)).unwrap_or(rest.len());
        let (word, behind) = rest.split_at(len);
        masked.push_str(if holds_secret(word) { HIDDEN } else { word });
        let end = behind.find(is_of_word).unwrap_or(behind.len());
        masked.push_str(&behind[..end]);
        rest = &behind[end..];
    }
    masked
}

/// True for the characters of both alphabets of base64, and of percent-encoding.
fn is_of_word(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '+' | '/' | '-' | '_' | '=' | '%' | '.' | '~')
}

fn holds_secret(word: &str) -> bool {
    if !(MIN_WORD..=MAX_WORD).contains(&word.len()) {
        return false;
    }
    let is_secret = |bytes: Vec<u8>| {
        // Random bytes are no text, and would be taken for secrets of high entropy.
        String::from_utf8(bytes).is_ok_and(|text| !text.contains(char::is_control) && mask_text(&text) != text)
    };
    let percent = word.contains('%').then(|| percent_decoded(word));
    let bare = word.trim_matches(['=', '.', '~', '%']);
    [percent, hex(bare), base64(bare, &alphabet::STANDARD), base64(bare, &alphabet::URL_SAFE)]
        .into_iter()
        .flatten()
        .any(is_secret)
}

fn base64(word: &str, alphabet: &alphabet::Alphabet) -> Option<Vec<u8>> {
    let config = GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true);
    GeneralPurpose::new(alphabet, config).decode(word).ok()
}

fn hex(word: &str) -> Option<Vec<u8>> {
    let digits = word.as_bytes();
    if !digits.len().is_multiple_of(2) {
        return None;
    }
    digits.chunks_exact(2).map(super::of_hex).collect()
}

fn percent_decoded(word: &str) -> Vec<u8> {
    let bytes = word.as_bytes();
    let (mut decoded, mut index) = (Vec::new(), 0);
    while let Some(&byte) = bytes.get(index) {
        let escaped = (byte == b'%').then(|| bytes.get(index + 1..index + 3)).flatten().and_then(super::of_hex);
        decoded.push(escaped.unwrap_or(byte));
        index += if escaped.is_some() { 3 } else { 1 };
    }
    decoded
}

#[cfg(test)]
mod tests {
    use super::*;

    // In pieces, so that this file holds none.
    fn secrets() -> Vec<String> {
        [
            ["gh", "s_wWPw5k4aXcaT4fNP0UcnZwJUVFk6LO0pINUx"],
            ["AK", "IAQ3EGRYV7XWU5BZ2M"],
            ["xo", "xb-731846209573-8241907365128-Kq7Rw2Lm9Xz4Tb6Vn3Yc8Pd1"],
            ["postgres://bob:kX9", "mQ2vLp@db.acme.io/shop"],
        ]
        .map(|parts| parts.concat())
        .to_vec()
    }

    #[test]
    fn encoded_secrets_are_replaced() {
        for secret in secrets() {
            assert_ne!(mask_text(&secret), secret, "the rules do not know {secret}");
            let hex: String = secret.bytes().map(|byte| format!("{byte:02x}")).collect();
            let percent: String = secret.bytes().map(|byte| format!("%{byte:02X}")).collect();
            let standard = base64::engine::general_purpose::STANDARD.encode(&secret);
            let url_safe = base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(format!("token {secret}"));
            for encoded in [hex, percent, standard, url_safe] {
                assert_eq!(mask(&format!("see {encoded}, please")), "see [hidden secret], please", "{secret}");
            }
        }
    }

    #[test]
    fn words_paths_and_hashes_are_left_alone() {
        let text = "crates/tollgate-engine/src/redaction.rs 0123456789abcdef0123456789abcdef01234567 ünïcode \
                    aGVsbG8gd29ybGQsIHRoaXMgaXMgdGV4dA== https://example.org/a%20b?c=d";
        assert_eq!(mask(text), text);
    }
}
