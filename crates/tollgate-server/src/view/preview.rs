//! The preview of a prompt: what a reviewer would be sent about a feature.

use serde::{Deserialize, Serialize};
use tollgate_core::visible::visible;
use tollgate_engine::board::PromptPreview;
use tollgate_engine::pipeline::SentPrompt;
use utoipa::ToSchema;

use crate::view::prompt::Prompts;
use crate::view::request::FeatureName;

/// A feature and the prompts to preview with it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct PreviewRequest {
    /// The project of the feature.
    #[serde(deserialize_with = "crate::json::whole")]
    #[schema(maximum = 9_000_000_000_000_000_i64)]
    pub(crate) project: u64,
    /// The feature, which has at least one review.
    pub(crate) feature: FeatureName,
    /// Draft prompts; missing means those in force.
    #[serde(default)]
    #[schema(nullable = false)]
    pub(crate) prompts: Option<Prompts>,
    /// True when `prompts` are for all projects, false when for this one.
    #[serde(default)]
    pub(crate) for_all: bool,
}

/// The request that a reviewer would be sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Preview {
    /// The iteration whose commit it is about.
    pub(crate) iteration: u32,
    /// The reviewer.
    #[schema(example = "claude")]
    pub(crate) reviewer: String,
    /// False when no reviewer is configured and this is an example.
    pub(crate) is_set_up: bool,
    /// The number of calls.
    pub(crate) calls: u64,
    /// The estimated tokens of all calls.
    pub(crate) tokens: u64,
    /// Parts of the change that exceed the budget and are not sent.
    pub(crate) left_out: u64,
    /// The system prompt of the first call. Hidden characters are written as `\u{..}`.
    pub(crate) system: Excerpt,
    /// The part that all calls share.
    pub(crate) shared: Excerpt,
    /// The part of the first call alone.
    pub(crate) part: Excerpt,
    /// The context files of the project.
    pub(crate) context: Vec<ContextShown>,
    /// Warnings.
    pub(crate) notes: Vec<String>,
}

/// The beginning of a text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub(crate) struct Excerpt {
    /// The beginning of the text.
    pub(crate) text: String,
    /// The number of characters of the whole text.
    pub(crate) chars: u64,
    /// True when the text is longer.
    pub(crate) cut: bool,
}

impl Excerpt {
    /// The most characters of a text.
    pub(crate) const MAX_CHARS: usize = 60_000;

    /// The beginning of a text, sanitized for display.
    pub(crate) fn of(text: &str) -> Self {
        let chars = text.chars().count();
        let beginning: String = text.chars().take(Self::MAX_CHARS).collect();
        let text = visible(&beginning).into_owned();
        Self { text, chars: chars as u64, cut: chars > Self::MAX_CHARS }
    }
}

/// A context file of the project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub(crate) struct ContextShown {
    /// Its name.
    #[schema(example = "AGENTS.md")]
    pub(crate) name: String,
    /// The number of its characters.
    pub(crate) chars: u64,
    /// The number of characters that are sent.
    pub(crate) shown: u64,
}

impl From<PromptPreview> for Preview {
    fn from(shown: PromptPreview) -> Self {
        let first =
            |text: fn(&SentPrompt) -> &String| Excerpt::of(shown.first.as_ref().map(text).map_or("", String::as_str));
        let context = shown.context.iter().map(|file| ContextShown {
            name: visible(&file.name).into_owned(),
            chars: file.n_chars as u64,
            shown: file.n_shown as u64,
        });
        Self {
            iteration: shown.iteration,
            is_set_up: shown.is_set_up,
            calls: shown.n_calls as u64,
            tokens: shown.n_tokens as u64,
            left_out: shown.n_left_out as u64,
            system: first(|sent| &sent.system),
            shared: first(|sent| &sent.shared),
            part: first(|sent| &sent.part),
            context: context.collect(),
            notes: shown.notes.iter().map(|note| visible(note).into_owned()).collect(),
            reviewer: shown.reviewer,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_cut_and_says_so() {
        let long = "é".repeat(Excerpt::MAX_CHARS + 5);
        let excerpt = Excerpt::of(&long);
        assert_eq!((excerpt.text.chars().count(), excerpt.chars, excerpt.cut), (60_000, 60_005, true));
        let short = Excerpt::of("a\u{202e}b");
        assert_eq!((short.text.as_str(), short.cut), (r"a\u{202e}b", false));
    }
}
