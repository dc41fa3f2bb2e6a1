//! Counts tokens exactly, with the `o200k` tokenizer.
//!
//! The tokenizer is loaded on first use, which takes some 30 ms. Plans use the estimate of [`tollgate_core::tokens`]
//! instead; the exact count is for budgets near their limit, for the cost of calls whose provider does not report it, and
//! for measuring the estimate.

/// Counts the tokens of a text, as `o200k` has them. Other models' tokenizers differ by some percent.
///
/// Linear in the length of any text.
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
