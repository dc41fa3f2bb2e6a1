//! House rules as tests: direction of modules, file size, vocabulary, documentation.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use tollgate_rules::catalog::{self, RuleKind};

mod config_keys;
mod map;
mod words;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Every tracked or new file of the project below a folder, with its text.
fn sources(folder: &str, extension: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut pending = vec![root().join(folder)];
    while let Some(path) = pending.pop() {
        if path.is_dir() {
            if path.file_name().is_some_and(|name| name == "target") {
                continue;
            }
            pending.extend(std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else if path.extension().is_some_and(|found| found == extension) {
            let name = path.strip_prefix(root()).unwrap().to_string_lossy().into_owned();
            found.push((name, std::fs::read_to_string(&path).unwrap()));
        }
    }
    found.sort();
    found
}

#[track_caller]
fn none(problems: &[String]) {
    assert!(problems.is_empty(), "\n{}\n", problems.join("\n"));
}

#[test]
fn crates_depend_only_on_those_before_them() {
    let order = ["tollgate-core", "tollgate-rules", "tollgate-engine", "tollgate-server", "tollgate"];
    let mut problems = Vec::new();
    for (position, name) in order.iter().enumerate() {
        let Ok(manifest) = std::fs::read_to_string(root().join("crates").join(name).join("Cargo.toml")) else {
            continue;
        };
        for later in &order[position..] {
            if manifest
                .lines()
                .any(|line| line.starts_with(&format!("{later}.")) || line.starts_with(&format!("{later} ")))
            {
                problems.push(format!("{name} depends on {later}"));
            }
        }
    }
    none(&problems);
}

#[test]
fn parts_of_the_engine_do_not_name_one_another() {
    let forbidden = [
        ("process", &["agent", "config", "forge", "reviewer", "store", "pipeline", "board"][..]),
        ("agent", &["forge", "reviewer", "store", "pipeline", "board"]),
        ("forge", &["reviewer", "store", "pipeline", "board"]),
        ("reviewer", &["forge", "store", "pipeline", "board"]),
        ("store", &["forge", "reviewer", "pipeline", "board"]),
        ("config", &["forge", "reviewer", "store", "pipeline", "board"]),
        ("failure", &["config", "forge", "reviewer", "store", "pipeline", "board"]),
        ("pipeline", &["board"]),
    ];
    let mut problems = Vec::new();
    for (name, text) in sources("crates/tollgate-engine/src", "rs") {
        let inside = name.trim_start_matches("crates/tollgate-engine/src/");
        for (part, others) in forbidden {
            let is_part = inside == format!("{part}.rs") || inside.starts_with(&format!("{part}/"));
            for other in others.iter().filter(|_| is_part) {
                if text.contains(&format!("crate::{other}")) {
                    problems.push(format!("{name} names {other}"));
                }
            }
        }
    }
    none(&problems);
}

#[test]
fn the_core_touches_nothing_outside() {
    let outside = ["std::fs", "std::env", "std::net", "std::process", "std::time::", "SystemTime", "Instant::now"];
    let mut problems = Vec::new();
    for (name, text) in sources("crates/tollgate-core/src", "rs") {
        let production = text.split("#[cfg(test)]").next().unwrap_or_default();
        for word in outside {
            if production.contains(word) && !name.contains("test") {
                problems.push(format!("{name} uses {word}"));
            }
        }
    }
    none(&problems);
}

#[test]
fn modules_say_what_they_are_for() {
    let mut problems = Vec::new();
    for (name, text) in sources("crates", "rs") {
        let is_test_module = name.ends_with("/tests.rs") || name.contains("/tests/");
        if !is_test_module && !text.starts_with("//!") {
            problems.push(format!("{name} does not begin with `//!`"));
        }
    }
    none(&problems);
}

#[test]
fn files_are_about_one_thing() {
    let mut problems = Vec::new();
    for (name, text) in sources("crates", "rs") {
        let n_lines = text.lines().count();
        if n_lines > 800 {
            problems.push(format!("{name} has {n_lines} lines"));
        }
        let stem = Path::new(&name).file_stem().unwrap().to_string_lossy().into_owned();
        if ["mod", "utils", "util", "common", "helpers", "types", "services"].contains(&stem.as_str()) {
            problems.push(format!("{name} is not named after the thing it is about"));
        }
    }
    none(&problems);
}

#[test]
fn left_overs_do_not_stay() {
    let marks = [concat!("FIX", "ME"), concat!("to", "do!("), concat!("unimpl", "emented!("), concat!("#[ig", "nore")];
    let mut problems = Vec::new();
    for (name, text) in sources("crates", "rs") {
        let is_rule_logic = name.starts_with("crates/tollgate-rules/src/change");
        for mark in marks.iter().filter(|_| !is_rule_logic) {
            if text.contains(mark) {
                problems.push(format!("{name} has `{mark}`"));
            }
        }
    }
    none(&problems);
}

/// `TOLLGATE_BLESS=1 cargo test -p tollgate tidy` writes the page anew.
#[test]
fn every_rule_is_documented() {
    let mut page = String::from(
        "# The embedded rules\n\n\
         Written by `TOLLGATE_BLESS=1 cargo test -p tollgate tidy`; `tollgate rules show ID` has the examples.\n",
    );
    let mut groups: BTreeMap<String, Vec<&catalog::Rule>> = BTreeMap::new();
    for rule in catalog::all() {
        let group = match rule.kind() {
            RuleKind::Code => rule.languages.join(", "),
            RuleKind::Text => "Text of added lines".to_owned(),
            RuleKind::Change => "The change as a whole".to_owned(),
        };
        groups.entry(group).or_default().push(rule);
    }
    for (group, rules) in groups {
        let _ = write!(page, "\n## {group}\n\n| rule | severity | what it reports |\n|---|---|---|\n");
        for rule in rules {
            let message = rule.message.replace('|', "\\|");
            let _ = writeln!(page, "| `{}` | {}/{} | {message} |", rule.id, rule.severity, rule.category);
        }
    }
    let path = root().join("docs/rules.md");
    if std::env::var_os("TOLLGATE_BLESS").is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    assert_eq!(std::fs::read_to_string(&path).unwrap_or_default(), page, "docs/rules.md is not up to date");
}

#[test]
fn rules_that_the_documents_name_exist() {
    let template = ("the configuration template".to_owned(), tollgate_engine::config::TEMPLATE.to_owned());
    let pages = ["README.md", "docs/configuration.md", "docs/commands.md", "CONTRIBUTING.md"]
        .map(|page| (page.to_owned(), std::fs::read_to_string(root().join(page)).unwrap()));
    let mut problems = Vec::new();
    for (page, text) in pages.into_iter().chain([template]) {
        for line in text.lines().map(|line| line.trim_start_matches(['#', ' '])) {
            let settings = ["disable = ", "severity = ", "rule = "].iter().any(|key| line.starts_with(key));
            let quoted = line.split('"').skip(1).step_by(2).filter(|_| settings);
            let ignored = line.split("tollgate:ignore ").skip(1).filter_map(|rest| rest.split(' ').next());
            let is_rule = |name: &&str| name.contains('-') && !name.contains(['*', '<', '…']) && *name != "rule-id";
            for name in quoted.chain(ignored).filter(is_rule) {
                if catalog::find(name).is_none() {
                    problems.push(format!("{page} names the rule `{name}`, which does not exist"));
                }
            }
        }
    }
    none(&problems);
}

#[test]
fn every_exit_code_is_documented() {
    let page = std::fs::read_to_string(root().join("docs/commands.md")).unwrap();
    for code in ["| 0 |", "| 1 |", "| 2 |", "| 3 |"] {
        assert!(page.contains(code), "docs/commands.md does not explain exit code {code}");
    }
}

#[test]
fn templates_escape_everything_and_hold_no_scripts_and_styles() {
    let mut problems = Vec::new();
    let templates = sources("web/templates", "html");
    assert!(templates.len() > 2);
    let code: String = sources("crates/tollgate-server/src", "rs").into_iter().map(|(_, text)| text).collect();
    let all: String = templates.iter().map(|(_, text)| text.as_str()).collect();
    for (name, text) in &templates {
        let squeezed = text.split_whitespace().collect::<Vec<_>>().join(" ");
        for forbidden in ["|safe", "| safe", "|escape", " style=", "<style", " onclick=", " onload=", "javascript:"] {
            if squeezed.contains(forbidden) {
                problems.push(format!("{name} has `{forbidden}`"));
            }
        }
        let inline_scripts = text.matches("<script").count() - text.matches("<script type=\"module\" src=").count();
        if inline_scripts > 0 {
            problems.push(format!("{name} has a script in it"));
        }
        let file = name.trim_start_matches("web/templates/");
        let quoted = format!("\"{file}\"");
        if !code.contains(&quoted) && !all.contains(&quoted) {
            problems.push(format!("{name} is used by nobody"));
        }
    }
    for (name, text) in sources("crates/tollgate-server/src", "rs") {
        let is_made = text.match_indices("Safe(").any(|(at, _)| !text[..at].ends_with(char::is_alphanumeric));
        if is_made && !name.ends_with("pages/markup.rs") {
            problems.push(format!("{name} makes markup of its own"));
        }
    }
    none(&problems);
}
