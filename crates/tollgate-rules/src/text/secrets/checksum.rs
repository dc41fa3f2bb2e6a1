//! Checksums in provider keys.

/// Verifies the checksum of GitHub and npm tokens: the last six characters are the CRC-32, in base 62, of the
/// characters between them and the prefix.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_of_a_token_published_by_github_is_valid() {
        let token = ["ghp_zQWBuTSOoRi4A9sp", "HcVY5ncnsDkxkJ0mLq17"].concat();
        assert!(crc32_base62(token.as_bytes(), 4));
        assert!(!crc32_base62(token.replace('z', "y").as_bytes(), 4));
        assert!(!crc32_base62(b"ghp_", 4) && !crc32_base62(b"", 4));
    }
}
