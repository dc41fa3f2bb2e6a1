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

/// Verifies the checksum of a Bech32 text in upper case, such as an age key.
pub(super) fn bech32(text: &[u8]) -> bool {
    const DIGITS: &[u8; 32] = b"QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L";
    let Some(split) = text.iter().rposition(|byte| *byte == b'1') else {
        return false;
    };
    let (prefix, data) = (text[..split].to_ascii_lowercase(), &text[split + 1..]);
    let digits = data.iter().map(|byte| DIGITS.iter().position(|digit| digit == byte));
    let Some(digits) =
        digits.map(|digit| digit.and_then(|digit| u32::try_from(digit).ok())).collect::<Option<Vec<_>>>()
    else {
        return false;
    };
    let high = prefix.iter().map(|byte| u32::from(byte >> 5));
    let low = prefix.iter().map(|byte| u32::from(byte & 31));
    data.len() >= 6 && polymod(high.chain([0]).chain(low).chain(digits)) == 1
}

fn polymod(values: impl Iterator<Item = u32>) -> u32 {
    const GENERATOR: [u32; 5] = [0x3b6a_57b2, 0x2650_8e6d, 0x1ea1_19fa, 0x3d42_33dd, 0x2a14_62b3];
    values.fold(1, |sum, value| {
        let top = sum >> 25;
        let sum = (sum & 0x01ff_ffff) << 5 ^ value;
        (0..).zip(GENERATOR).fold(sum, |sum, (bit, term)| if top >> bit & 1 == 1 { sum ^ term } else { sum })
    })
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
    fn the_checksum_of_a_bech32_text_is_valid() {
        // From the examples of BIP 173.
        assert!(bech32(b"A12UEL5L") && bech32(b"SPLIT1CHECKUPSTAGEHANDSHAKEUPSTREAMERRANTERREDCAPERRED2Y9E3W"));
        assert!(!bech32(b"A12UEL5Q") && !bech32(b"") && !bech32(b"1") && !bech32(b"A1"));
    }

    #[test]
    fn the_checksum_of_a_token_published_by_github_is_valid() {
        let token = ["ghp_zQWBuTSOoRi4A9sp", "HcVY5ncnsDkxkJ0mLq17"].concat();
        assert!(crc32_base62(token.as_bytes(), 4));
        assert!(!crc32_base62(token.replace('z', "y").as_bytes(), 4));
        assert!(!crc32_base62(b"ghp_", 4) && !crc32_base62(b"", 4));
    }
}
