//! Prompts as JSON: an object, of which the text must be usable when it is to be used.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use utoipa::openapi::schema::{AdditionalProperties, ObjectBuilder, OneOfBuilder, Schema, SchemaType, Type};

use crate::desk::Prompt;

/// Characters of a prompt.
pub(crate) const MAX_CHARS: usize = 200_000;

/// By hand, because what is derived would also take an array of the fields.
impl<'de> Deserialize<'de> for Prompt {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Fields)
    }
}

struct Fields;

impl<'de> Visitor<'de> for Fields {
    type Value = Prompt;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with `enabled` and `value`")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut pairs: A) -> Result<Prompt, A::Error> {
        let (mut enabled, mut value) = (None, None);
        while let Some(key) = pairs.next_key::<String>()? {
            match key.as_str() {
                "enabled" => enabled = Some(pairs.next_value()?),
                "value" => value = Some(pairs.next_value()?),
                _ => return Err(A::Error::unknown_field(&key, &["enabled", "value"])),
            }
        }
        Ok(Prompt {
            enabled: enabled.ok_or_else(|| A::Error::missing_field("enabled"))?,
            value: value.ok_or_else(|| A::Error::missing_field("value"))?,
        })
    }
}

/// The role of the reviewer: not empty when it is used.
pub(super) fn system() -> Schema {
    usable(r"\S")
}

/// The question: shows the change when it is used.
pub(super) fn template() -> Schema {
    usable(r"\{gitDiff\}")
}

fn usable(pattern: &str) -> Schema {
    let value = || ObjectBuilder::new().schema_type(Type::String).max_length(Some(MAX_CHARS));
    let prompt = |enabled: bool, value: ObjectBuilder| {
        ObjectBuilder::new()
            .property("enabled", ObjectBuilder::new().schema_type(Type::Boolean).enum_values(Some([enabled])))
            .property("value", value)
            .required("enabled")
            .required("value")
            .additional_properties(Some(AdditionalProperties::<Schema>::FreeForm(false)))
    };
    let nothing = ObjectBuilder::new().schema_type(SchemaType::Type(Type::Null));
    OneOfBuilder::new()
        .item(prompt(true, value().pattern(Some(pattern))))
        .item(prompt(false, value()))
        .item(nothing)
        .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, is_fine: bool) {
        assert_eq!(serde_json::from_str::<Prompt>(text).is_ok(), is_fine, "{text}");
    }

    #[test]
    fn a_prompt_is_an_object_with_both_fields_and_no_other() {
        check(r#"{"enabled": true, "value": "x"}"#, true);
        check(r#"{"value": "x", "enabled": false}"#, true);
        check(r#"[true, "x"]"#, false);
        check(r#"{"enabled": true}"#, false);
        check(r#"{"enabled": true, "value": "x", "other": 1}"#, false);
    }
}
