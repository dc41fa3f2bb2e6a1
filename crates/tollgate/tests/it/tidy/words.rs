//! The vocabulary of the code: comments, type names, test names and help texts.

use std::collections::BTreeMap;
use std::process::Command;

use regex::Regex;

use super::{none, sources};

/// Words that stand where the subject of a sentence should be.
const VAGUE: &str = r"(?i)\b(whoever|whatever|whichever|somebody|someone|nobody|no one|everybody|everyone|anybody|anyone|those who|those that|owed|what (is|was|are|were|it|they|one|there|has|had|may|can|must|does|did|others?|comes?|goes|stands?|follows?|happens?|holds|came|went|belongs|counts|makes|made|needs?|runs?|says?|said|stays?)|who (is|was|are|were|may|can|must|does|did|has|had|asks?|came|comes|waits?|writes?|reads?|looks?|wants?|holds?|would|will|knows?|takes?|made|makes))\b";

/// Most comment lines with such a word, of a thousand.
const MAX_VAGUE_PER_1000: usize = 10;

/// Names that each file of one kind gives to its own type: the flags of a command, the arguments of an MCP tool.
const ONE_PER_FILE: [&str; 2] = ["Args", "Arguments"];

/// Most definitions of one public type name in the workspace.
const MAX_DEFINITIONS: usize = 3;

fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().map(|(index, line)| (index + 1, line.trim_start()))
}

#[test]
fn comments_name_their_subject() {
    let vague = Regex::new(VAGUE).unwrap();
    let (mut n_comments, mut found) = (0, Vec::new());
    for (name, text) in sources("crates", "rs").into_iter().chain(sources("benches", "rs")) {
        for (number, line) in lines(&text).filter(|(_, line)| line.starts_with("//")) {
            n_comments += 1;
            if vague.is_match(line) {
                found.push(format!("{name}:{number}: {line}"));
            }
        }
    }
    assert!(n_comments > 5_000, "only {n_comments} comment lines were found");
    if found.len() * 1_000 > MAX_VAGUE_PER_1000 * n_comments {
        none(&found);
    }
}

#[test]
fn public_type_names_mean_one_thing() {
    let definition = Regex::new(r"^pub(\(crate\))? (struct|enum|trait|type|union) (\w+)").unwrap();
    let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (name, text) in sources("crates", "rs").into_iter().filter(|(name, _)| name.contains("/src/")) {
        for (number, line) in lines(&text) {
            if let Some(found) = definition.captures(line).filter(|found| !ONE_PER_FILE.contains(&&found[3])) {
                places.entry(found[3].to_owned()).or_default().push(format!("{name}:{number}"));
            }
        }
    }
    assert!(places.len() > 500, "only {} public types were found", places.len());
    places.retain(|_, places| places.len() > MAX_DEFINITIONS);
    let problems: Vec<String> =
        places.iter().map(|(name, places)| format!("`{name}` is defined in {}", places.join(", "))).collect();
    none(&problems);
}

#[test]
fn function_names_begin_with_their_subject() {
    let vague = Regex::new(r"^(?:pub(?:\([a-z ]+\))? )?(?:async )?fn ((?:what|who|whoever|whatever|nobody|somebody|everybody)(?:_\w+)?)[(<]").unwrap();
    let mut problems = Vec::new();
    for (name, text) in sources("crates", "rs").into_iter().chain(sources("benches", "rs")) {
        for (number, line) in lines(&text) {
            if let Some(found) = vague.captures(line) {
                problems.push(format!("{name}:{number}: `{}`", &found[1]));
            }
        }
    }
    none(&problems);
}

/// The names of the subcommands that a help page lists, each with its description.
fn subcommands(command: &[String]) -> Vec<(String, String)> {
    let output = Command::new(env!("CARGO_BIN_EXE_tollgate")).args(command).arg("--help").output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    let page = String::from_utf8(output.stdout).unwrap();
    let rows = page.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let rows = rows.filter_map(|line| line.strip_prefix("  ").filter(|line| !line.starts_with(' ')));
    let pairs =
        rows.filter_map(|line| line.split_once(' ').map(|(name, text)| (name.to_owned(), text.trim().to_owned())));
    pairs.filter(|(name, _)| name != "help").collect()
}

#[test]
fn command_help_begins_with_an_imperative_verb() {
    // The third person ("Lists"), a gerund ("Listing"), an article or a pronoun is no imperative.
    let other =
        Regex::new(r"^(?:[A-Z][a-z]*(?:[^s]s|ing|ed)|The|A|An|What|Who|Which|Where|Has|Is|All|This|It)$").unwrap();
    let (mut pending, mut n_commands, mut problems) = (vec![Vec::new()], 0, Vec::new());
    while let Some(command) = pending.pop() {
        for (name, text) in subcommands(&command) {
            n_commands += 1;
            let first = text.split([' ', ',']).next().unwrap_or_default();
            let is_verb = first.starts_with(|c: char| c.is_ascii_uppercase()) && !other.is_match(first);
            let mut path = command.clone();
            path.push(name);
            if !is_verb {
                problems.push(format!("`tollgate {}`: {text}", path.join(" ")));
            }
            pending.push(path);
        }
    }
    assert!(n_commands > 30, "only {n_commands} commands were found");
    none(&problems);
}
