//! The capabilities of a service, learned from its error messages.
//!
//! Servers implement a protocol only in part: one knows no schemas, another has a different name for the limit. A 400 that
//! names such a field leads to a retry without it, and later requests leave it out as well.

use super::assembly::Fault;
use super::{Connection, Protocol, Structured};

const NO_STRUCTURE: u8 = 1;
const OTHER_LIMIT: u8 = 2;
const NO_TEMPERATURE: u8 = 4;
const NO_USAGE: u8 = 8;

/// Names of structured output in error messages.
const STRUCTURE: &[&str] = &[
    "response_format",
    "json_schema",
    "output_config",
    "output_format",
    "structured output",
    "tool_choice",
    "tool use",
    "tool call",
    "tools",
    "function call",
    "responsejsonschema",
    "response_json_schema",
    "responseschema",
    "response_schema",
    "responsemimetype",
    "response_mime_type",
    "grammar",
    "schema",
];

/// The request fields that a service rejects, as bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Capabilities(u8);

impl Capabilities {
    pub(super) fn of_bits(bits: u8) -> Self {
        Self(bits)
    }

    pub(super) fn bits(self) -> u8 {
        self.0
    }

    fn has(self, bit: u8) -> bool {
        self.0 & bit != 0
    }

    /// How structured output is requested.
    pub(super) fn structured(self, connection: &Connection) -> Structured {
        if self.has(NO_STRUCTURE) { Structured::None } else { connection.structured }
    }

    /// The temperature, unless the service rejects it.
    pub(super) fn temperature(self, connection: &Connection) -> Option<f32> {
        connection.temperature.filter(|_| !self.has(NO_TEMPERATURE))
    }

    /// True to request the token usage at the end of the stream.
    pub(super) fn usage_is_asked_for(self) -> bool {
        !self.has(NO_USAGE)
    }

    /// True for the field name of the limit that includes reasoning: OpenAI's own models require it, most others know
    /// only the old name.
    pub(super) fn limit_is_of_completion(self, connection: &Connection) -> bool {
        let host = reqwest::Url::parse(&connection.base_url).ok().and_then(|url| url.host_str().map(str::to_owned));
        let is_openai = host.is_some_and(|host| host == "api.openai.com" || host.ends_with(".openai.azure.com"));
        is_openai != self.has(OTHER_LIMIT)
    }

    /// The capabilities after this error, if a retry without the field can help.
    pub(super) fn after(self, connection: &Connection, complaint: &Fault) -> Option<Self> {
        let text = format!("{} {}", complaint.kind, complaint.message).to_lowercase();
        let names = |words: &[&str]| words.iter().any(|word| text.contains(word));
        let refuses =
            names(&["unsupported", "not support", "unknown", "unrecognized", "extra", "instead", "not permitted"]);
        let bit =
            if connection.protocol == Protocol::OpenAi && refuses && names(&["max_tokens", "max_completion_tokens"]) {
                OTHER_LIMIT
            } else if connection.temperature.is_some() && names(&["temperature"]) {
                NO_TEMPERATURE
            } else if connection.protocol == Protocol::OpenAi && names(&["stream_options", "include_usage"]) {
                NO_USAGE
            } else if connection.structured != Structured::None && names(STRUCTURE) {
                NO_STRUCTURE
            } else {
                return None;
            };
        (!self.has(bit)).then_some(Self(self.0 | bit))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(message: &str, expected: Option<u8>) {
        let mut connection = Connection::new("x", Protocol::OpenAi, "https://api.openai.com/v1", "m");
        connection.temperature = Some(0.0);
        connection.structured = Structured::Schema;
        let complaint = Fault { message: message.to_owned(), ..Fault::default() };
        assert_eq!(
            Capabilities::default().after(&connection, &complaint).map(Capabilities::bits),
            expected,
            "{message}"
        );
        let all = Capabilities(NO_STRUCTURE | OTHER_LIMIT | NO_TEMPERATURE | NO_USAGE);
        assert_eq!(all.after(&connection, &complaint), None, "twice: {message}");
    }

    #[test]
    fn a_rejected_field_is_left_out() {
        check("Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.", Some(OTHER_LIMIT));
        check("max_tokens is too large: 90000", None);
        check("'temperature' does not support 0 with this model.", Some(NO_TEMPERATURE));
        check("Unrecognized request argument supplied: stream_options", Some(NO_USAGE));
        check("This response_format type is unavailable now", Some(NO_STRUCTURE));
        check("tool_choice: forced tool use is not supported for this model", Some(NO_STRUCTURE));
        check("Invalid JSON schema: unknown keyword", Some(NO_STRUCTURE));
        check("your credit is used up", None);
    }

    #[test]
    fn only_openai_counts_thinking_in_the_limit() {
        let limit = |url: &str| {
            Capabilities::default().limit_is_of_completion(&Connection::new("x", Protocol::OpenAi, url, "m"))
        };
        assert!(limit("https://api.openai.com/v1") && limit("https://me.openai.azure.com/openai/v1"));
        assert!(!limit("https://openrouter.ai/api/v1") && !limit("http://127.0.0.1:8080/v1") && !limit("nonsense"));
    }
}
