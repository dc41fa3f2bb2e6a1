//! Classes of the rules of ruff, by the prefix of their codes.
//!
//! Ruff writes every result with the level `error`, also for a missing blank line. The class of the rule says how much
//! it matters.

use crate::finding::{Category, Severity};

/// The classes; of several prefixes that fit, the longest counts.
const CLASSES: &[(&str, Severity, Category)] = &[
    // Code that does not parse, and names that do not exist.
    ("E9", Severity::High, Category::Error),
    ("F8", Severity::Medium, Category::Logic),
    ("F82", Severity::High, Category::Error),
    ("F841", Severity::Low, Category::Logic),
    ("F811", Severity::Low, Category::Logic),
    ("F", Severity::Medium, Category::Logic),
    ("F401", Severity::Low, Category::Style),
    ("PLE", Severity::Medium, Category::Error),
    // Probable defects.
    ("B", Severity::Medium, Category::Logic),
    ("ASYNC", Severity::Medium, Category::Logic),
    ("PLW", Severity::Low, Category::Logic),
    ("S", Severity::Medium, Category::Security),
    ("S101", Severity::Nit, Category::Style),
    ("BLE", Severity::Low, Category::Error),
    ("TRY", Severity::Low, Category::Error),
    ("PERF", Severity::Low, Category::Perf),
    ("D", Severity::Nit, Category::Doc),
];

/// The severity and the category of a rule; every code that is not listed is a matter of style.
pub(super) fn class(code: &str) -> Option<(Severity, Category)> {
    let is_code = code.len() <= 12
        && code.chars().next().is_some_and(|first| first.is_ascii_uppercase())
        && code.chars().all(|character| character.is_ascii_alphanumeric());
    let letters: usize = code.chars().take_while(|character| character.is_ascii_alphabetic()).count();
    let fits = |prefix: &str| {
        // `B` is the class of `B006` and not of `BLE001`.
        let n_letters = prefix.chars().take_while(|character| character.is_ascii_alphabetic()).count();
        code.starts_with(prefix) && n_letters == letters
    };
    let found = CLASSES.iter().filter(|(prefix, ..)| fits(prefix)).max_by_key(|(prefix, ..)| prefix.len());
    let style = (Severity::Nit, Category::Style);
    is_code.then(|| found.map_or(style, |(_, severity, category)| (*severity, *category)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(code: &str, expected: &str) {
        let class = class(code).map(|(severity, category)| format!("{severity}/{category}"));
        assert_eq!(class.as_deref().unwrap_or("none"), expected, "{code}");
    }

    #[test]
    fn the_class_of_a_rule_decides_and_not_the_level() {
        check("E501", "Nit/Style");
        check("E999", "High/Error");
        check("F401", "Low/Style");
        check("F821", "High/Error");
        check("F841", "Low/Logic");
        check("B006", "Medium/Logic");
        check("BLE001", "Low/Error");
        check("S608", "Medium/Security");
        check("SIM102", "Nit/Style");
        check("D100", "Nit/Doc");
        check("DTZ005", "Nit/Style");
        check("I001", "Nit/Style");
        check("", "none");
        check("not a code", "none");
    }
}
