//! How deep a text of JSON is nested, without reading it.

use memchr::memchr2;

/// True when brackets are nested deeper than that, in one pass over the bytes. What is no JSON may be anything.
pub(super) fn exceeds(text: &[u8], max: usize) -> bool {
    let (mut depth, mut index) = (0usize, 0);
    while let Some(byte) = text.get(index) {
        index += 1;
        match byte {
            b'{' | b'[' => {
                depth += 1;
                if depth > max {
                    return true;
                }
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            b'"' => index = end_of_string(text, index),
            _ => {}
        }
    }
    false
}

/// The place behind the quote that ends a string.
fn end_of_string(text: &[u8], mut index: usize) -> usize {
    while let Some(found) = text.get(index..).and_then(|rest| memchr2(b'"', b'\\', rest)) {
        index += found + 1;
        if text[index - 1] == b'"' {
            return index;
        }
        index += 1;
    }
    text.len()
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
        fn any_bytes_are_taken(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            exceeds(&bytes, 3);
        }
    }
}
