//! Prices of well-known models.
//!
//! List prices of November 2026 in US dollars for a million tokens, without discounts for batches and without surcharges
//! for very long questions. They are for an estimate: services change them, and some report the cost of a call.

use crate::reviewer::call::Usage;

/// The price of a model, in US dollars for a million tokens.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Price {
    /// Input tokens.
    pub input: f64,
    /// Cached input tokens.
    pub cached: f64,
    /// Output tokens.
    pub output: f64,
}

/// The cost of a call at this price, in US dollars.
pub fn cost(usage: &Usage, price: &Price) -> f64 {
    let cached = usage.cached.min(usage.input);
    let fresh = usage.input - cached;
    (fresh as f64 * price.input + cached as f64 * price.cached + usage.output as f64 * price.output) / 1e6
}

/// The price of a model, where it is known; a vendor before its name and a date behind it do not matter.
pub fn of(model: &str) -> Option<Price> {
    let name = model.rsplit('/').next().unwrap_or_default().replace('.', "-");
    PRICES
        .iter()
        .find(|(known, ..)| is_version_of(&name, &known.replace('.', "-")))
        .map(|&(_, input, cached, output)| Price { input, cached, output })
}

fn is_version_of(name: &str, known: &str) -> bool {
    let is_date = |rest: &str| rest.len() >= 5 && rest.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    name.strip_prefix(known)
        .is_some_and(|rest| rest.is_empty() || rest == "-latest" || (rest.starts_with('-') && is_date(rest)))
}

/// Model, input, cached input, output.
const PRICES: &[(&str, f64, f64, f64)] = &[
    ("claude-fable-5.1", 10.0, 0.25, 50.0),
    ("claude-haiku-4.5", 1.0, 0.10, 5.0),
    ("claude-haiku-5.5", 0.10, 0.01, 0.50),
    ("claude-opus-4.5", 5.0, 0.50, 25.0),
    ("claude-opus-4.6", 5.0, 0.50, 25.0),
    ("claude-opus-4.7", 5.0, 0.50, 25.0),
    ("claude-opus-4.8", 5.0, 0.50, 25.0),
    ("claude-opus-5", 5.0, 0.50, 25.0),
    ("claude-opus-5.5", 4.0, 0.20, 20.0),
    ("claude-sonnet-4.5", 3.0, 0.30, 15.0),
    ("claude-sonnet-4.6", 3.0, 0.30, 15.0),
    ("claude-sonnet-5", 2.0, 0.20, 10.0),
    ("claude-sonnet-5.5", 2.0, 0.10, 10.0),
    // At peak hours; half of it otherwise.
    ("deepseek-flash", 0.30, 0.006, 1.20),
    ("deepseek-v4-pro", 1.32, 0.044, 3.96),
    ("gemini-3.1-pro-preview", 2.0, 0.20, 12.0),
    ("gemini-3.5-flash", 1.50, 0.15, 9.0),
    ("gemini-3.7-flash", 0.75, 0.075, 3.75),
    ("gemini-3.8-flash", 0.75, 0.075, 3.75),
    ("gpt-5.4", 2.50, 0.25, 15.0),
    ("gpt-5.4-mini", 0.75, 0.075, 4.50),
    ("gpt-5.5", 5.0, 0.50, 30.0),
    ("gpt-6-luna", 0.10, 0.01, 0.50),
    ("gpt-6-sol", 2.0, 0.20, 10.0),
    ("gpt-6.1-sol", 2.0, 0.10, 10.0),
    ("gpt-6.1-terra", 1.0, 0.05, 5.0),
    // The price of cached tokens is not published here.
    ("grok-4.3", 1.25, 1.25, 2.50),
    ("grok-4.5", 2.0, 2.0, 6.0),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(model: &str, input: Option<f64>) {
        assert_eq!(of(model).map(|price| price.input), input, "{model}");
    }

    #[test]
    fn models_are_known_by_all_their_names() {
        check("claude-opus-5-5", Some(4.0));
        check("anthropic/claude-opus-5.5", Some(4.0));
        check("claude-opus-5-20260724", Some(5.0));
        check("claude-opus-5", Some(5.0));
        check("claude-haiku-4-5-latest", Some(1.0));
        check("gpt-5.4-mini-2026-03-01", Some(0.75));
    }

    #[test]
    fn an_unknown_model_has_no_price() {
        for model in ["", "smollm2-135m", "claude-opus", "gpt-5.4-nano", "claude-opus-5-6", "gpt-6-sol-pro"] {
            check(model, None);
        }
    }

    #[test]
    fn cached_tokens_cost_less() {
        let price = Price { input: 2.0, cached: 0.2, output: 10.0 };
        let usage = Usage { input: 1_000_000, cached: 500_000, output: 100_000 };
        assert!((cost(&usage, &price) - 2.1).abs() < 1e-9);
        let odd = Usage { input: 0, cached: 1_000_000, output: 0 };
        assert!(cost(&odd, &price).abs() < 1e-9, "no more can come from a cache than was read");
    }
}
