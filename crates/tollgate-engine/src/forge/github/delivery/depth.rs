//! Limits the nesting of JSON before it is parsed.
//!
//! Every delivery passes here before it is read, so this takes 64 bytes at a time where it can.

use wide::u8x16;

const BLOCK: usize = 64;

/// True when brackets are nested deeper than that, in one pass over the bytes. What is no JSON may be anything.
pub(super) fn exceeds(text: &[u8], max: usize) -> bool {
    let mut scan = Scan { max, ..Scan::default() };
    let (blocks, rest) = text.as_chunks::<BLOCK>();
    blocks.iter().any(|block| scan.block(block)) || scan.bytes(rest)
}

#[derive(Default)]
struct Scan {
    max: usize,
    depth: usize,
    is_in_string: bool,
    is_escaped: bool,
}

impl Scan {
    /// Reads a block; true when it goes too deep.
    #[inline]
    fn block(&mut self, block: &[u8; BLOCK]) -> bool {
        let Masks { quotes, slashes, opening, closing } = Masks::of(block);
        if slashes != 0 || self.is_escaped {
            return self.bytes(block);
        }
        // A byte is in a string when the number of quotes up to it is odd.
        let mut strings = if self.is_in_string { quotes ^ 1 } else { quotes };
        for shift in [1, 2, 4, 8, 16, 32] {
            strings ^= strings << shift;
        }
        let (opening, closing) = (opening & !strings, closing & !strings);
        if opening | closing != 0 {
            let (n_open, n_close) = (opening.count_ones() as usize, closing.count_ones() as usize);
            if self.depth + n_open > self.max || n_close > self.depth {
                return self.bytes(block);
            }
            self.depth = self.depth + n_open - n_close;
        }
        self.is_in_string = strings >> (BLOCK - 1) == 1;
        false
    }

    /// The same byte by byte, for what is rare and for the end.
    fn bytes(&mut self, bytes: &[u8]) -> bool {
        for byte in bytes {
            if std::mem::take(&mut self.is_escaped) {
                continue;
            }
            match (byte, self.is_in_string) {
                (b'"', _) => self.is_in_string = !self.is_in_string,
                (b'\\', true) => self.is_escaped = true,
                (b'{' | b'[', false) => self.depth += 1,
                (b'}' | b']', false) => self.depth = self.depth.saturating_sub(1),
                _ => {}
            }
            if self.depth > self.max {
                return true;
            }
        }
        false
    }
}

/// Where in a block something stands, the lowest bit being the first byte.
struct Masks {
    quotes: u64,
    slashes: u64,
    opening: u64,
    closing: u64,
}

impl Masks {
    #[inline]
    fn of(block: &[u8; BLOCK]) -> Self {
        let (lanes, _) = block.as_chunks::<16>();
        let lanes = [0, 1, 2, 3].map(|index| u8x16::from(lanes[index]));
        // This bit apart, the two kinds of brackets are the same.
        let folded = lanes.map(|lane| lane | u8x16::splat(b'[' ^ b'{'));
        Self {
            quotes: mask(lanes, b'"'),
            slashes: mask(lanes, b'\\'),
            opening: mask(folded, b'{'),
            closing: mask(folded, b'}'),
        }
    }
}

#[inline]
fn mask(lanes: [u8x16; 4], byte: u8) -> u64 {
    let bits = lanes.map(|lane| u64::from(lane.simd_eq(u8x16::splat(byte)).to_bitmask()));
    bits[0] | bits[1] << 16 | bits[2] << 32 | bits[3] << 48
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    #[track_caller]
    fn check(text: &str, depth: usize) {
        assert!(!exceeds(text.as_bytes(), depth), "{text}");
        assert!(depth == 0 || exceeds(text.as_bytes(), depth - 1), "{text}");
    }

    #[test]
    fn brackets_count_outside_of_strings() {
        check("", 0);
        check("1", 0);
        check("{}", 1);
        check(r#"{"a":[{}],"b":[]}"#, 3);
        check(r#"{"[[[[":"{{{","b":"\"[[","c":"\\"}"#, 1);
        check(r#"["\\\"[[", "#, 1);
        check("\"[[[[", 0);
        check("]]]]{", 1);
        // Strings and what is escaped in them go on from one block to the next.
        for n_before in 50..70 {
            let before = "x".repeat(n_before);
            check(&format!(r#"["{before}\"[[", []]"#), 2);
            check(&format!(r#"["{before}\\", []]"#), 2);
            check(&format!("{before}[[]"), 2);
        }
    }

    #[test]
    fn three_thousand_levels_are_too_deep() {
        assert!(exceeds("[".repeat(3_000).as_bytes(), 32));
    }

    fn depth(value: &Value) -> usize {
        match value {
            Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
            Value::Object(fields) => 1 + fields.values().map(depth).max().unwrap_or(0),
            _ => 0,
        }
    }

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![Just(Value::Null), any::<i64>().prop_map(Value::from), ".*".prop_map(Value::from)];
        leaf.prop_recursive(6, 40, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::vec((".*", inner), 0..4)
                    .prop_map(|fields| Value::Object(fields.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn the_depth_is_that_of_what_is_read(value in value()) {
            let (text, depth) = (value.to_string(), depth(&value));
            prop_assert!(!exceeds(text.as_bytes(), depth));
            prop_assert!(depth == 0 || exceeds(text.as_bytes(), depth - 1));
        }

        #[test]
        fn blocks_are_read_as_their_bytes(
            bytes in prop::collection::vec(prop::sample::select(&br#"{}[]"\ab"#[..]), 0..400),
            max in 0usize..20,
        ) {
            let mut scan = Scan { max, ..Scan::default() };
            prop_assert_eq!(exceeds(&bytes, max), scan.bytes(&bytes));
        }
    }
}
