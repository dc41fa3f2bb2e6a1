//! Estimates the number of tokens of a text without a tokenizer.
//!
//! A tokenizer processes some 20 MB a second and takes 30 ms to load, which is too slow for planning. Instead each byte has
//! one of nine classes, and each pair of neighbours has a weight. The weights are fitted to the tokens of `o200k` over
//! commits of 159 public repositories; `tollgate-bench tokens` measures the error. Exact counts, such as the tokens spent,
//! come from the provider.

/// The weight of one token.
const TOKEN: u64 = 1_000;

/// The weight of a byte, in thousandths of a token, by the class of the byte before it and its own.
///
/// No weight is zero, so that every text costs something. Fitted by robust least squares of the relative error.
#[rustfmt::skip]
const WEIGHTS: [[u16; 9]; 9] = [
    // vowel  other  upper  digit  space   feed    tab   mark   wide
    [    73,    10,    10,   442,   541,    10,    10,    10,  1445], // vowel
    [    25,   126,   254,  1248,    10,   753,   511,    10,    10], // other
    [   581,   787,   209,  2727,   750,    10,   404,   339,   538], // upper
    [   379,  1220,  1505,   227,    10,  2211,  1018,   571,  1745], // digit
    [   488,   765,    42,  1376,    22,    10,   656,   539,   304], // space
    [    10,   392,    10,  1528,   763,    10,    10,  1339,    10], // feed
    [   773,    10,   705,    10,    10,   774,   151,  1154,    10], // tab
    [  1131,  1318,   749,  1655,   767,    10,   822,   272,  2156], // mark
    [   597,  1676,  1601,    10,    10,  2315,    37,   514,   153], // wide
];

/// The class of a line feed, also used as the class before the first byte.
const FEED: usize = 5;

const CLASSES: [u8; 256] = classes();

/// Estimates the number of tokens of a text.
///
/// The estimate is additive over whole lines, except for rounding.
#[must_use]
pub fn estimate(text: &[u8]) -> usize {
    tokens(weigh(text))
}

/// The weight of a text, additive over whole lines.
pub(crate) fn weigh(text: &[u8]) -> u64 {
    let (mut weight, mut before) = (0, FEED);
    for &byte in text {
        let class = usize::from(CLASSES[usize::from(byte)]);
        weight += u64::from(WEIGHTS[before][class]);
        before = class;
    }
    weight
}

/// The tokens of a weight, rounded up.
pub(crate) fn tokens(weight: u64) -> usize {
    usize::try_from(weight.div_ceil(TOKEN)).unwrap_or(usize::MAX)
}

/// The weight of a number of tokens.
pub(crate) fn weight(n_tokens: usize) -> u64 {
    u64::try_from(n_tokens).unwrap_or(u64::MAX).saturating_mul(TOKEN)
}

const fn classes() -> [u8; 256] {
    let mut classes = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        classes[byte] = match byte as u8 {
            b'a' | b'e' | b'i' | b'o' | b'u' | b'y' => 0,
            b'a'..=b'z' => 1,
            b'A'..=b'Z' => 2,
            b'0'..=b'9' => 3,
            b' ' => 4,
            b'\n' | b'\r' => FEED as u8,
            b'\t' => 6,
            0x80.. => 8,
            _ => 7,
        };
        byte += 1;
    }
    classes
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(text: &str, counted: usize) {
        let off = estimate(text.as_bytes()).abs_diff(counted);
        assert!(off * 10 <= counted, "{} for {counted}: {text}", estimate(text.as_bytes()));
    }

    #[test]
    fn ordinary_texts_are_estimated_within_a_tenth() {
        // The counts of `o200k`.
        check(RUST, RUST_TOKENS);
        check(PROSE, PROSE_TOKENS);
    }

    const RUST: &str = "@@ -12 +12 @@ impl Boundary {\n12     pub fn new(random: [u8; 8]) -> Self {\n\
        13-        let text = format!(\"{random:?}\");\n13+        let digits: String = random.iter()\n\
        14+            .map(|byte| format!(\"{byte:02x}\")).collect();\n15         Self(digits)\n16     }\n";
    const RUST_TOKENS: usize = 75;
    const PROSE: &str = "A tokenizer reads some 20 MB a second and takes 30 ms to load, which is more than a plan may \
        take. So a text is weighed: each byte is of one of nine classes, and each pair of neighbours has a weight.\n";
    const PROSE_TOKENS: usize = 50;

    #[test]
    fn every_text_has_a_positive_estimate() {
        assert_eq!(estimate(b""), 0);
        for byte in [b'\n', b' ', b'a', 0xff] {
            assert!(estimate(&vec![byte; 100_000]) >= 1_000, "{byte}");
        }
    }

    proptest! {
        #[test]
        fn estimates_of_whole_lines_add_up(lines in prop::collection::vec("[^\n]{0,20}\n", 0..20)) {
            let apart: u64 = lines.iter().map(|line| weigh(line.as_bytes())).sum();
            prop_assert_eq!(weigh(lines.concat().as_bytes()), apart);
        }

        #[test]
        fn more_text_is_more_tokens(text in prop::collection::vec(any::<u8>(), 0..100), at in 0..100_usize) {
            prop_assert!(estimate(&text[..at.min(text.len())]) <= estimate(&text));
        }
    }
}
