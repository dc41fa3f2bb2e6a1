//! Limits the nesting of JSON before it is parsed.
//!
//! `serde_json` bounds the nesting of the fields that are read, but skips all others without a limit.

/// True when arrays and objects are nested deeper than `max`. Text that is no JSON may give either answer.
pub(super) fn exceeds(text: &[u8], max: usize) -> bool {
    let (mut depth, mut is_in_string, mut is_escaped) = (0_usize, false, false);
    text.iter().any(|byte| {
        if std::mem::take(&mut is_escaped) {
            return false;
        }
        match (byte, is_in_string) {
            (b'"', _) => is_in_string = !is_in_string,
            (b'\\', true) => is_escaped = true,
            (b'{' | b'[', false) => depth += 1,
            (b'}' | b']', false) => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth > max
    })
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
        // Escapes in long strings.
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
        fn the_depth_is_that_of_the_parsed_value(value in value()) {
            let (text, depth) = (value.to_string(), depth(&value));
            prop_assert!(!exceeds(text.as_bytes(), depth));
            prop_assert!(depth == 0 || exceeds(text.as_bytes(), depth - 1));
        }
    }
}
