//! The map of modules in ARCHITECTURE.md, generated from the first sentence of each module's documentation.

use std::fmt::Write as _;

use regex::Regex;

use super::{none, root};

const CRATES: [&str; 5] = ["tollgate-core", "tollgate-rules", "tollgate-engine", "tollgate-server", "tollgate"];
const BEGIN: &str = "<!-- map: TOLLGATE_BLESS=1 cargo test -p tollgate tidy -->\n```\n";
const END: &str = "```\n<!-- end of map -->\n";

/// Modules below the first level that are worth a line of their own.
const DEEP: [&str; 5] = [
    "tollgate-engine/src/forge/github.rs",
    "tollgate-engine/src/store/pulls.rs",
    "tollgate-engine/src/store/queue.rs",
    "tollgate-engine/src/pulls/publish.rs",
    "tollgate-engine/src/pulls/bot_commands.rs",
];

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The first sentence of a module's documentation.
fn first_sentence(text: &str) -> String {
    let lines = text.lines().map_while(|line| line.strip_prefix("//!")).map(str::trim);
    let paragraph = lines.take_while(|line| !line.is_empty()).collect::<Vec<_>>().join(" ");
    let sentence = paragraph.split_once(". ").map_or(paragraph.as_str(), |(sentence, _)| sentence);
    sentence.trim_end_matches('.').to_owned()
}

/// The modules that the root of a crate declares, in order.
fn modules(root_file: &str) -> Vec<String> {
    let declaration = Regex::new(r"(?m)^(?:pub(?:\([a-z]+\))? )?mod (\w+);").unwrap();
    declaration.captures_iter(root_file).map(|found| found[1].to_owned()).collect()
}

fn map() -> String {
    let mut map = String::new();
    for name in CRATES {
        let root_path = if name == "tollgate" { "main" } else { "lib" };
        let root_file = read(&format!("crates/{name}/src/{root_path}.rs"));
        let _ = writeln!(map, "{:<24} {}", format!("crates/{name}"), first_sentence(&root_file));
        for module in modules(&root_file) {
            let sentence = first_sentence(&read(&format!("crates/{name}/src/{module}.rs")));
            let _ = writeln!(map, "  {module:<22} {sentence}");
            for path in DEEP.iter().filter(|path| path.starts_with(&format!("{name}/src/{module}/"))) {
                let inner = path.trim_start_matches(&format!("{name}/src/")).trim_end_matches(".rs");
                let _ = writeln!(map, "    {inner:<20} {}", first_sentence(&read(&format!("crates/{path}"))));
            }
        }
    }
    map
}

/// `TOLLGATE_BLESS=1 cargo test -p tollgate tidy` writes the map anew.
#[test]
fn architecture_maps_every_module() {
    let (path, map) = (root().join("ARCHITECTURE.md"), map());
    let page = read("ARCHITECTURE.md");
    let (before, rest) = page.split_once(BEGIN).expect("ARCHITECTURE.md has the beginning of a map");
    let (_, after) = rest.split_once(END).expect("ARCHITECTURE.md has the end of a map");
    let expected = format!("{before}{BEGIN}{map}{END}{after}");
    if std::env::var_os("TOLLGATE_BLESS").is_some() {
        std::fs::write(&path, &expected).unwrap();
    }
    assert_eq!(read("ARCHITECTURE.md"), expected, "the map of ARCHITECTURE.md is not up to date");
    assert!(expected.lines().count() < 200, "ARCHITECTURE.md has {} lines", expected.lines().count());
    none(
        &map.lines()
            .filter(|line| line.chars().count() > 160)
            .map(|line| format!("too long: {line}"))
            .collect::<Vec<_>>(),
    );
}
