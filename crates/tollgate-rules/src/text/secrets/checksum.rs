//! Checks that some providers build into their keys.

/// The checksum of GitHub's and npm's tokens: the last six characters are the CRC-32 of those before them
/// and behind the prefix, in base 62.
pub(super) fn crc32_base62(token: &[u8], prefix_len: usize) -> bool {
    let Some((body, sum)) =
        token.get(prefix_len..).and_then(|rest| rest.split_at_checked(rest.len().saturating_sub(6)))
    else {
        return false;
    };
    !body.is_empty() && sum == base62(crc32(body))
}

fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |crc, &byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| if crc & 1 == 1 { (crc >> 1) ^ 0xedb8_8320 } else { crc >> 1 })
    })
}

fn base62(mut number: u32) -> [u8; 6] {
    const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let mut digits = [b'0'; 6];
    for digit in digits.iter_mut().rev() {
        *digit = DIGITS[(number % 62) as usize];
        number /= 62;
    }
    digits
}

/// Reads base64, plain or for addresses, up to its padding; nothing when another character is in it.
pub(super) fn base64(text: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3 + 3);
    let (mut bits, mut n_bits) = (0u32, 0);
    let end = text.iter().rposition(|&byte| byte != b'=').map_or(0, |last| last + 1);
    for &byte in &text[..end] {
        let digit = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return None,
        };
        bits = bits << 6 | u32::from(digit);
        n_bits += 6;
        if n_bits >= 8 {
            n_bits -= 8;
            bytes.push((bits >> n_bits & 0xff) as u8);
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_of_the_token_that_github_published_is_right() {
        let token = ["ghp_zQWBuTSOoRi4A9sp", "HcVY5ncnsDkxkJ0mLq17"].concat();
        assert!(crc32_base62(token.as_bytes(), 4));
        assert!(!crc32_base62(token.replace('z', "y").as_bytes(), 4));
        assert!(!crc32_base62(b"ghp_", 4) && !crc32_base62(b"", 4));
    }

    #[test]
    fn base64_is_read_in_both_alphabets() {
        assert_eq!(base64(b"aGVsbG8=").as_deref(), Some(&b"hello"[..]));
        assert_eq!(base64(b"-_-_"), base64(b"+/+/"));
        assert_eq!(base64(b"a b"), None);
        assert_eq!(base64(b"===="), Some(Vec::new()));
    }
}
