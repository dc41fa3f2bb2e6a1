//! Configuration keys in messages, hints and documents exist.

use std::collections::BTreeSet;

use regex::Regex;
use serde_json::Value;

use super::{none, root, sources};

/// Endings of names that are files or functions.
const OTHER_ENDINGS: &[&str] = &[
    "bin", "c", "db", "go", "gradle", "js", "json", "load", "mod", "org", "py", "rs", "toml", "ts", "txt", "xml", "yml",
];

/// Every key of the schema, as a path: `github.public_url`.
fn keys(schema: &Value, at: &Value, path: &str, found: &mut BTreeSet<String>) {
    let name = at["$ref"].as_str().and_then(|name| name.strip_prefix("#"));
    if let Some(target) = name.and_then(|name| schema.pointer(name)) {
        return keys(schema, target, path, found);
    }
    for one in ["anyOf", "allOf", "oneOf"].iter().flat_map(|word| at[word].as_array().into_iter().flatten()) {
        keys(schema, one, path, found);
    }
    for (name, part) in at["properties"].as_object().into_iter().flatten() {
        let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        keys(schema, part, &path, found);
        found.insert(path);
    }
}

// Issue 17: a hint named the key `server.names`, which there is not.
#[test]
fn configuration_keys_in_texts_exist() {
    let schema = tollgate_engine::config::schema();
    let mut known = BTreeSet::new();
    keys(&schema, &schema, "", &mut known);
    assert!(known.contains("github.public_url"), "{known:?}");
    let literal = Regex::new(r#"(?s)"((?:[^"\\]|\\.)*)""#).unwrap();
    let key = Regex::new(r"`([a-z_]+(?:\.[a-z_]+)+)`").unwrap();
    let mut problems = Vec::new();
    let mut check = |file: &str, text: &str| {
        for found in key.captures_iter(text).map(|found| found[1].to_owned()) {
            let is_other = found.rsplit('.').next().is_some_and(|ending| OTHER_ENDINGS.contains(&ending));
            if !is_other && !known.contains(&found) {
                problems.push(format!("{file}: there is no configuration key `{found}`"));
            }
        }
    };
    for (file, text) in sources("crates", "rs").iter().filter(|(file, _)| file.contains("/src/")) {
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        literal.captures_iter(code).for_each(|found| check(file, &found[1]));
    }
    for (file, text) in sources("docs", "md") {
        check(&file, &text);
    }
    check("README.md", &std::fs::read_to_string(root().join("README.md")).unwrap());
    none(&problems);
}
