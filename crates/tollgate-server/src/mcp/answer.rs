//! What a tool answers: data for programs, and the same in a few words.

use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::{Value, json};
use tollgate_core::visible::visible;
use tollgate_engine::failure::Failure;

/// The longest text of an answer, in bytes; the data has the rest.
const MAX_TEXT: usize = 48 * 1024;

/// What a tool answers.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Answer {
    text: String,
    data: Value,
    is_error: bool,
}

impl Answer {
    /// An answer that was found.
    pub(super) fn new(text: String, data: Value) -> Self {
        Self { text, data, is_error: false }
    }

    /// The same, as the protocol has it.
    pub(super) fn into_result(self) -> CallToolResult {
        let text = ContentBlock::text(cut(&visible(self.text.trim_end()), MAX_TEXT));
        if self.is_error {
            // Not as data: that has to be what the schema of the tool promises.
            return CallToolResult::error(vec![text]);
        }
        let mut result = CallToolResult::structured(self.data);
        result.content = vec![text];
        result
    }
}

impl From<Failure> for Answer {
    fn from(failure: Failure) -> Self {
        let hint = failure.hint.map(|hint| format!("\n{hint}")).unwrap_or_default();
        Self { text: format!("{}{hint}", cut(&failure.message, 4096)), data: json!(null), is_error: true }
    }
}

/// A text of at most so many bytes, with a mark where it was cut.
pub(super) fn cut(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let kept = &text[..text.floor_char_boundary(most)];
    format!("{kept}… [{} more bytes]", text.len() - kept.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use tollgate_engine::failure::Kind;

    #[test]
    fn a_failure_is_an_answer_with_what_to_do_next() {
        let failure = Failure::new(Kind::User, "there is no review 7").hint("Call `list_findings`.");
        let result = serde_json::to_value(Answer::from(failure).into_result()).unwrap();
        assert_eq!(result["isError"], true);
        assert_eq!(result["content"][0]["text"], "there is no review 7\nCall `list_findings`.");
        assert_eq!(result.get("structuredContent"), None);
    }

    #[test]
    fn a_long_text_is_cut_between_characters_and_says_so() {
        assert_eq!(cut("short", 5), "short");
        assert_eq!(cut("ääää", 3), "ä… [6 more bytes]");
        let result = Answer::new("x".repeat(MAX_TEXT + 1), json!({})).into_result();
        assert!(result.content[0].as_text().unwrap().text.ends_with("x… [1 more bytes]"));
    }

    #[test]
    fn characters_that_nobody_sees_are_shown() {
        let result = serde_json::to_value(Answer::new("a\u{202e}b".to_owned(), json!({})).into_result()).unwrap();
        assert_eq!(result["content"][0]["text"], "a\\u{202e}b");
        assert_eq!(result["isError"], false);
    }
}
