//! Prompts of code reviews as JSON: the stored custom prompts, and the prompts in force.

use std::fmt;

use serde::de::{Deserializer, Error, MapAccess, Visitor};
use serde::{Deserialize, Serialize};
use tollgate_core::prompt::{self, DEFAULT_SYSTEM, DEFAULT_TEMPLATE};
use tollgate_engine::board::{self, Board, EffectivePrompt, OwnPrompt, OwnPrompts, Refused};
use utoipa::ToSchema;
use utoipa::openapi::schema::{AdditionalProperties, ObjectBuilder, OneOfBuilder, Schema, SchemaType, Type};

/// The most characters of a prompt.
pub(crate) const MAX_CHARS: usize = 200_000;

/// A custom prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Prompt {
    /// True to use it, false to use the default and keep this one.
    pub(crate) enabled: bool,
    /// The text.
    pub(crate) value: String,
}

/// The custom prompts of code reviews.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Prompts {
    /// The system prompt: the role of the reviewer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(schema_with = system)]
    pub(crate) review_system_prompt: Option<Prompt>,
    /// The template of the review request; has `{gitDiff}` in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(schema_with = template)]
    pub(crate) review_prompt_template: Option<Prompt>,
}

impl Prompts {
    /// The prompts as the board stores them.
    pub(crate) fn for_board(self) -> OwnPrompts {
        let prompt = |prompt: Prompt| OwnPrompt { enabled: prompt.enabled, value: prompt.value };
        OwnPrompts { system: self.review_system_prompt.map(prompt), template: self.review_prompt_template.map(prompt) }
    }
}

/// The level at which a prompt is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Level {
    /// The default.
    Default,
    /// For all projects.
    All,
    /// For this project.
    Project,
}

/// A prompt in force, and the level it comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub(crate) struct UsedPrompt {
    /// The level it comes from.
    pub(crate) level: Level,
    /// The text.
    pub(crate) value: String,
}

impl From<EffectivePrompt> for UsedPrompt {
    fn from(prompt: EffectivePrompt) -> Self {
        let level = match prompt.level {
            board::Level::Default => Level::Default,
            board::Level::All => Level::All,
            board::Level::Project => Level::Project,
        };
        Self { level, value: prompt.text }
    }
}

/// The prompts in force.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct UsedPrompts {
    /// The system prompt: the role of the reviewer.
    pub(crate) review_system_prompt: UsedPrompt,
    /// The template of the review request.
    pub(crate) review_prompt_template: UsedPrompt,
}

/// The prompts of code reviews.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PromptsBody {
    /// The custom prompts at this level.
    pub(crate) code_review: Prompts,
    /// The defaults, used where no custom prompt is enabled.
    pub(crate) defaults: PromptDefaults,
    /// Warnings about the custom prompts.
    pub(crate) notes: Vec<String>,
    /// The revision, as in the header `ETag`.
    pub(crate) revision: u64,
    /// The prompts in force, and the levels they come from.
    pub(crate) used: UsedPrompts,
}

/// The default prompts.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PromptDefaults {
    pub(crate) review_system_prompt: &'static str,
    pub(crate) review_prompt_template: &'static str,
}

impl PromptsBody {
    /// Reads the prompts of a project, or those for all projects.
    pub(crate) fn read(board: &Board, project: Option<i64>) -> Result<Self, Refused> {
        let (own, used) = (board.prompts(project)?, board.prompts_in_force(project)?);
        let template = own.template.as_ref().filter(|template| template.enabled);
        let mut notes = template.map(|template| prompt::lint_template(&template.value)).unwrap_or_default();
        notes.extend(own.check().err());
        let revision = own.revision();
        let prompt = |own: OwnPrompt| Prompt { enabled: own.enabled, value: own.value };
        Ok(Self {
            code_review: Prompts {
                review_system_prompt: own.system.map(prompt),
                review_prompt_template: own.template.map(prompt),
            },
            defaults: PromptDefaults { review_system_prompt: DEFAULT_SYSTEM, review_prompt_template: DEFAULT_TEMPLATE },
            notes,
            revision,
            used: UsedPrompts {
                review_system_prompt: used.system.into(),
                review_prompt_template: used.template.into(),
            },
        })
    }
}

/// By hand, because the derived implementation would also accept an array of the fields.
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

/// A system prompt: not empty when it is enabled.
fn system() -> Schema {
    usable(r"\S")
}

/// A template: holds the diff when it is enabled.
fn template() -> Schema {
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
