//! How many tokens a text is, exactly.
//!
//! The tokenizer takes some 30 ms to load, which it does when it is first asked. Plans are made with
//! [`tollgate_core::tokens`] instead; this is for what people are told of the cost of a call whose provider does not
//! say, and for measuring the estimate. No review without a model comes here.

/// Counts the tokens of a text, as `o200k` has them. Other models' tokenizers differ by some percent.
///
/// Linear in the length of the text, whatever it holds.
#[must_use]
pub fn count(text: &str) -> usize {
    bpe_openai::o200k_base().count(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_counted_as_the_tokenizer_has_them() {
        assert_eq!(count(""), 0);
        assert_eq!(count("fn main() {}\n"), 4);
        assert_eq!(count("the quick brown fox"), 4);
    }

    #[test]
    fn a_million_spaces_are_counted_in_time() {
        assert!(count(&" ".repeat(1_000_000)) > 1_000);
    }
}
