//! Base64 in the standard and the URL-safe alphabet.

/// Decodes base64 up to its padding; `None` for any other character.
pub(super) fn decode(text: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3 + 3);
    let (mut bits, mut n_bits) = (0u32, 0);
    let end = text.iter().rposition(|&byte| byte != b'=').map_or(0, |last| last + 1);
    for &byte in &text[..end] {
        bits = bits << 6 | u32::from(digit(byte)?);
        n_bits += 6;
        if n_bits >= 8 {
            n_bits -= 8;
            bytes.push((bits >> n_bits & 0xff) as u8);
        }
    }
    Some(bytes)
}

/// The value of a base64 digit.
pub(super) fn digit(byte: u8) -> Option<u8> {
    Some(match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' | b'-' => 62,
        b'/' | b'_' => 63,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_decoded_in_both_alphabets() {
        assert_eq!(decode(b"aGVsbG8=").as_deref(), Some(&b"hello"[..]));
        assert_eq!(decode(b"-_-_"), decode(b"+/+/"));
        assert_eq!(decode(b"a b"), None);
        assert_eq!(decode(b"===="), Some(Vec::new()));
    }
}
