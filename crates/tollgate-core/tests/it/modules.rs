//! The modules of the crate import each other without cycles.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The top-level modules that each top-level module imports with `crate::…`, test code left out.
fn imports() -> BTreeMap<String, BTreeSet<String>> {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/src"));
    let mut imports = BTreeMap::<String, BTreeSet<String>>::new();
    let mut pending: Vec<PathBuf> = vec![root.to_owned()];
    while let Some(path) = pending.pop() {
        if path.is_dir() {
            pending.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
            continue;
        }
        let inside = path.strip_prefix(root).unwrap().with_extension("");
        let steps: Vec<_> = inside.iter().map(|step| step.to_str().unwrap()).collect();
        if path.extension().is_none_or(|extension| extension != "rs") || steps.contains(&"tests") || steps == ["lib"] {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
        let named = lines.flat_map(|line| line.split("crate::").skip(1)).map(|rest| {
            rest.chars().take_while(|character| character.is_alphanumeric() || *character == '_').collect::<String>()
        });
        imports.entry(steps[0].to_owned()).or_default().extend(named.filter(|name| name != steps[0]));
    }
    imports
}

#[test]
fn top_level_modules_have_no_import_cycle() {
    let mut imports = imports();
    assert!(imports["policy"].contains("intent"), "the imports are read");
    // Kahn's algorithm: modules without imports are removed until none is left.
    while let Some(leaf) = imports.iter().find(|(_, imported)| imported.is_empty()).map(|(name, _)| name.clone()) {
        imports.remove(&leaf);
        imports.values_mut().for_each(|imported| {
            imported.remove(&leaf);
        });
    }
    assert!(imports.is_empty(), "modules in or above a cycle: {imports:?}");
}
