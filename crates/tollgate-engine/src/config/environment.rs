//! Settings from the environment: `TOLLGATE_REVIEW_BASE` is `review.base`.
//!
//! Only single values can be set this way, no lists. Variables that begin with
//! `TOLLGATE_` and then no section of the file are not ours to judge.

use super::file::{self, nearest};
use super::{File, Layer};
use crate::failure::{self, Failure};

/// The keys that have a variable, and whether their values are numbers.
const KEYS: [(&str, &str, bool); 20] = [
    ("review", "base", false),
    ("review", "fail_on", false),
    ("review", "floor", false),
    ("review", "profile", false),
    ("review", "cap", true),
    ("review", "max_diff_bytes", true),
    ("limits", "file_bytes", true),
    ("limits", "file_seconds", true),
    ("limits", "cpu_seconds", true),
    ("limits", "memory_mib", true),
    ("limits", "jobs", true),
    ("identity", "bot", false),
    ("store", "path", false),
    ("review", "consensus", true),
    ("budget", "tokens", true),
    ("budget", "usd", true),
    ("budget", "call_tokens", true),
    ("budget", "seconds", true),
    ("budget", "idle_seconds", true),
    ("budget", "parallel", true),
];

/// One layer for each variable, so that each value names its own source.
pub(super) fn layers(variables: &[(String, String)]) -> Result<Vec<Layer>, Failure> {
    let mut layers = Vec::new();
    let mut ours: Vec<_> = variables.iter().filter(|(name, value)| is_ours(name) && !value.is_empty()).collect();
    ours.sort();
    for (name, value) in ours {
        let Some((section, key, number)) = KEYS.into_iter().find(|(section, key, _)| variable(section, key) == *name)
        else {
            let names: Vec<String> = KEYS.iter().map(|(section, key, _)| variable(section, key)).collect();
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let failure = failure::bad_config(name, "no setting belongs to this variable");
            return Err(match nearest(name, &names) {
                Some(near) => failure.hint(format!("Did you mean `{near}`?")),
                None => failure,
            });
        };
        let is_plain = |value: &str| value.bytes().all(|byte| byte.is_ascii_digit() || b"-.".contains(&byte));
        if number && !(is_plain(value) && value.parse::<f64>().is_ok()) {
            return Err(failure::bad_config(name, &format!("expected a number, found `{value}`")));
        }
        let value = if number { value.clone() } else { toml::Value::String(value.clone()).to_string() };
        let text = format!("{section}.{key} = {value}");
        let values: File = toml::from_str(&text).map_err(|error| file::explain(name, error.message()))?;
        layers.push(Layer { source: name.clone(), values });
    }
    Ok(layers)
}

fn variable(section: &str, key: &str) -> String {
    format!("TOLLGATE_{section}_{key}").to_ascii_uppercase()
}

fn is_ours(name: &str) -> bool {
    ["TOLLGATE_REVIEW_", "TOLLGATE_LIMITS_", "TOLLGATE_IDENTITY_", "TOLLGATE_STORE_", "TOLLGATE_BUDGET_"]
        .iter()
        .any(|prefix| name.starts_with(prefix))
}
