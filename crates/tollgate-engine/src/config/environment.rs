//! Settings from the environment: `TOLLGATE_REVIEW_BASE` is `review.base`.
//!
//! Only single values can be set this way, no lists. Variables that begin with
//! `TOLLGATE_` and no section of the file are ignored.

use super::file::{self, nearest};
use super::{File, Layer, github};
use crate::failure::{self, Failure};

/// The keys that have a variable, and whether their values are numbers.
const KEYS: [(&str, &str, bool); 45] = [
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
    ("store", "database", false),
    ("store", "machine", false),
    ("review", "consensus", true),
    ("budget", "tokens", true),
    ("budget", "usd", true),
    ("budget", "call_tokens", true),
    ("budget", "seconds", true),
    ("budget", "idle_seconds", true),
    ("budget", "parallel", true),
    ("review", "mode", false),
    ("github", "url", false),
    ("github", "api_url", false),
    ("github", "app_id", true),
    ("github", "slug", false),
    ("github", "private_key_file", false),
    ("github", "webhook_secret_file", false),
    ("github", "check_name", false),
    ("github", "public_url", false),
    ("github", "concurrency", true),
    ("github", "concurrency_per_repository", true),
    ("github", "concurrency_per_installation", true),
    ("github", "model_reviews_per_repository", true),
    ("github", "model_reviews_per_author", true),
    ("retention", "reviews", true),
    ("retention", "diffs", true),
    ("retention", "deliveries", true),
    ("retention", "events", true),
    ("retention", "pulls", true),
    ("sandbox", "mode", false),
    ("sandbox", "network", false),
    ("sandbox", "memory_mib", true),
    ("sandbox", "processes", true),
];
/// Variables that hold secrets; they are read where they are needed, and never become settings.
const SECRETS: [&str; 2] = [github::SECRET, github::OLD_SECRET];

/// One layer for each variable, so that each value names its own source.
pub(super) fn layers(variables: &[(String, String)]) -> Result<Vec<Layer>, Failure> {
    let mut layers = Vec::new();
    let mut ours: Vec<_> = variables.iter().filter(|(name, value)| is_ours(name) && !value.is_empty()).collect();
    ours.sort();
    let [file, database] = ["path", "database"].map(|key| variable("store", key));
    if [&file, &database].iter().all(|wanted| ours.iter().any(|(name, _)| name == *wanted)) {
        return Err(failure::two_stores("the environment", &format!("`{file}`"), &format!("`{database}`")));
    }
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
    let sections = ["REVIEW_", "LIMITS_", "IDENTITY_", "STORE_", "BUDGET_", "GITHUB_", "RETENTION_", "SANDBOX_"];
    let is_setting = |rest: &str| sections.iter().any(|section| rest.starts_with(section));
    name.strip_prefix("TOLLGATE_").is_some_and(is_setting) && !SECRETS.contains(&name)
}
