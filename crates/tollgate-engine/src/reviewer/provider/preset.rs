//! Well-known services: base URLs, protocols and variables of keys.
//!
//! Checked against the services' documentation in November 2026.

use super::{Protocol, Structured};

/// A well-known service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Preset {
    /// Its name in settings.
    pub name: &'static str,
    /// The protocol.
    pub protocol: Protocol,
    /// The base URL.
    pub base_url: &'static str,
    /// The environment variables that may hold its key, the usual one first; none where no key is needed.
    pub key_names: &'static [&'static str],
    /// The default model.
    pub model: Option<&'static str>,
    /// How structured output is requested.
    pub structured: Structured,
}

/// The service that goes by this name.
pub fn find(name: &str) -> Option<&'static Preset> {
    ALL.iter().find(|preset| preset.name == name)
}

/// All well-known services, by name.
pub const ALL: &[Preset] = &[
    // Forcing a tool is an error with the models of today; the schema works with all since 4.5.
    Preset {
        name: "anthropic",
        protocol: Protocol::Anthropic,
        base_url: "https://api.anthropic.com",
        key_names: &["ANTHROPIC_API_KEY"],
        model: Some("claude-sonnet-5-5"),
        structured: Structured::Schema,
    },
    // It supports JSON output without a schema; the parser finds JSON in text as well.
    Preset {
        name: "deepseek",
        protocol: Protocol::OpenAi,
        base_url: "https://api.deepseek.com",
        key_names: &["DEEPSEEK_API_KEY"],
        model: Some("deepseek-v4-pro"),
        structured: Structured::None,
    },
    Preset {
        name: "google",
        protocol: Protocol::Gemini,
        base_url: "https://generativelanguage.googleapis.com/v1beta",
        key_names: &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
        model: Some("gemini-3.8-flash"),
        structured: Structured::Schema,
    },
    Preset {
        name: "ollama",
        protocol: Protocol::OpenAi,
        base_url: "http://localhost:11434/v1",
        key_names: &[],
        model: None,
        structured: Structured::Schema,
    },
    Preset {
        name: "openai",
        protocol: Protocol::OpenAi,
        base_url: "https://api.openai.com/v1",
        key_names: &["OPENAI_API_KEY"],
        model: Some("gpt-6.1-sol"),
        structured: Structured::Schema,
    },
    Preset {
        name: "openrouter",
        protocol: Protocol::OpenAi,
        base_url: "https://openrouter.ai/api/v1",
        key_names: &["OPENROUTER_API_KEY"],
        model: None,
        structured: Structured::Schema,
    },
    Preset {
        name: "xai",
        protocol: Protocol::OpenAi,
        base_url: "https://api.x.ai/v1",
        key_names: &["XAI_API_KEY"],
        model: Some("grok-4.5"),
        structured: Structured::Schema,
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reviewer::provider::{Connection, Key, Net, Provider, price};

    #[test]
    fn every_service_can_be_connected_to() {
        for preset in ALL {
            let key = (!preset.key_names.is_empty()).then(|| Key::new("sk-1").unwrap());
            let connection = Connection { key, ..Connection::new(preset.name, preset.protocol, preset.base_url, "m") };
            Provider::new(connection, &Net::new()).unwrap();
            assert_eq!(find(preset.name), Some(preset));
        }
        assert!(ALL.is_sorted_by_key(|preset| preset.name));
        assert_eq!(find("clippy"), None);
    }

    #[test]
    fn the_model_that_is_asked_by_default_has_a_price() {
        for model in ALL.iter().filter_map(|preset| preset.model) {
            assert!(price::of(model).is_some(), "{model}");
        }
    }
}
