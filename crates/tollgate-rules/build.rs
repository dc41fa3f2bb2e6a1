//! Compiles `rules/**/*.yml` into one static table, so that no YAML is parsed at run time.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

use serde::Deserialize;
use serde_json::{Map, Value};

/// A rule file as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleFile {
    id: String,
    #[serde(default)]
    language: Vec<String>,
    severity: String,
    category: String,
    message: String,
    why: String,
    #[serde(default)]
    anchors: Vec<Anchor>,
    #[serde(default)]
    needs: Vec<String>,
    prefilter: Option<String>,
    #[serde(default = "yes")]
    in_tests: bool,
    detector: Option<String>,
    #[serde(default)]
    references: Vec<String>,
    rule: Option<Value>,
    constraints: Option<Value>,
    utils: Option<Value>,
    transform: Option<Value>,
    rewriters: Option<Value>,
    fix: Option<Value>,
    bad: Vec<Example>,
    good: Vec<Example>,
}

/// A literal, optionally with other literals that the line must or must not contain.
#[derive(Deserialize)]
#[serde(untagged)]
enum Anchor {
    Text(String),
    Line {
        text: String,
        #[serde(default)]
        with: Vec<String>,
        #[serde(default)]
        without: Vec<String>,
    },
}

/// Code, or a diff for change rules.
#[derive(Deserialize)]
#[serde(untagged)]
enum Example {
    Code(String),
    File { path: String, code: String },
    Diff { diff: String },
}

fn yes() -> bool {
    true
}

fn main() {
    let root = Path::new(&env::var("CARGO_MANIFEST_DIR").expect("cargo sets it")).join("rules");
    println!("cargo::rerun-if-changed={}", root.display());
    let mut files = Vec::new();
    collect(&root, &mut files);
    files.sort();

    let mut table = String::from("pub(crate) static RULES: &[Rule] = &[\n");
    for file in &files {
        println!("cargo::rerun-if-changed={}", file.display());
        let yaml = fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let rule: RuleFile =
            serde_saphyr::from_str(&yaml).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        check(file, &rule);
        write_rule(&mut table, &rule);
    }
    table.push_str("];\n");
    let out = PathBuf::from(env::var("OUT_DIR").expect("cargo sets it")).join("rules.rs");
    fs::write(out, table).expect("the output folder can be written");
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("the rules folder can be read") {
        let path = entry.expect("the rules folder can be read").path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "yml") {
            files.push(path);
        }
    }
}

fn check(file: &Path, rule: &RuleFile) {
    let name = file.display();
    assert_eq!(file.file_stem().and_then(|stem| stem.to_str()), Some(rule.id.as_str()), "{name}: named after its id");
    assert!(rule.rule.is_some() != rule.detector.is_some(), "{name}: has either `rule` or `detector`");
    assert!(rule.rule.is_none() || !rule.language.is_empty(), "{name}: a code rule names its languages");
    assert!(rule.message.chars().count() <= 80, "{name}: the message has at most 80 characters");
    assert!(!rule.bad.is_empty() && !rule.good.is_empty(), "{name}: has bad and good examples");
    let is_plain = |text: &String| !text.is_empty() && !text.contains('\n');
    assert!(rule.anchors.iter().all(|anchor| is_plain(text_of(anchor))), "{name}: anchors are on one line");
}

fn text_of(anchor: &Anchor) -> &String {
    match anchor {
        Anchor::Text(text) | Anchor::Line { text, .. } => text,
    }
}

fn anchors(anchors: &[Anchor]) -> String {
    let mut text = String::from("[");
    for anchor in anchors {
        let (with, without) = match anchor {
            Anchor::Text(_) => (&[][..], &[][..]),
            Anchor::Line { with, without, .. } => (with.as_slice(), without.as_slice()),
        };
        let _ = write!(text, "Anchor {{ text: {:?}, with: &{with:?}, without: &{without:?} }}, ", text_of(anchor));
    }
    text.push(']');
    text
}

fn write_rule(table: &mut String, rule: &RuleFile) {
    let mut matcher = Map::new();
    let parts = [
        ("rule", &rule.rule),
        ("constraints", &rule.constraints),
        ("utils", &rule.utils),
        ("transform", &rule.transform),
        ("rewriters", &rule.rewriters),
        ("fix", &rule.fix),
    ];
    for (name, part) in parts {
        if let Some(part) = part {
            let mut part = part.clone();
            with_ascii_classes(&mut part);
            matcher.insert(name.to_owned(), part);
        }
    }
    let matcher = Value::Object(matcher).to_string();
    let detector = rule.detector.as_deref().unwrap_or_default();
    let prefilter = rule.prefilter.as_ref().map_or("None".to_owned(), |name| format!("Some(Prefilter::{name})"));
    let _ = writeln!(
        table,
        "Rule {{ id: {:?}, languages: &{:?}, severity: Severity::{}, category: Category::{}, message: {:?}, \
         why: {:?}, anchors: &{}, needs: &{:?}, prefilter: {prefilter}, in_tests: {}, detector: {detector:?}, references: &{:?}, matcher: {matcher:?}, \
         bad: &{}, good: &{} }},",
        rule.id,
        rule.language,
        rule.severity,
        rule.category,
        rule.message.trim(),
        rule.why.trim(),
        anchors(&rule.anchors),
        rule.needs,
        rule.in_tests,
        rule.references,
        examples(&rule.bad),
        examples(&rule.good),
    );
}

/// Makes `\w`, `\d`, `\s` and `\b` in every `regex` of a rule ASCII-only: Unicode classes dominate the compile time of a
/// rule, and keywords and identifiers in code are ASCII.
fn with_ascii_classes(value: &mut Value) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                match value {
                    Value::String(text) if key == "regex" => *text = ascii_classes(text),
                    other => with_ascii_classes(other),
                }
            }
        }
        Value::Array(values) => values.iter_mut().for_each(with_ascii_classes),
        _ => {}
    }
}

fn ascii_classes(pattern: &str) -> String {
    let (mut ascii, mut characters) = (String::new(), pattern.chars());
    while let Some(character) = characters.next() {
        if character != '\\' {
            ascii.push(character);
            continue;
        }
        match characters.next() {
            Some('w') => ascii.push_str("[0-9A-Za-z_]"),
            Some('W') => ascii.push_str("[^0-9A-Za-z_]"),
            Some('d') => ascii.push_str("[0-9]"),
            Some('D') => ascii.push_str("[^0-9]"),
            Some('s') => ascii.push_str(r"[ \t\r\n]"),
            Some('S') => ascii.push_str(r"[^ \t\r\n]"),
            Some('b') => ascii.push_str(r"(?-u:\b)"),
            Some(other) => ascii.extend(['\\', other]),
            None => ascii.push('\\'),
        }
    }
    ascii
}

fn examples(examples: &[Example]) -> String {
    let mut text = String::from("[");
    for example in examples {
        let _ = match example {
            Example::Code(code) => write!(text, "Example::Code {{ path: None, code: {code:?} }}, "),
            Example::File { path, code } => {
                write!(text, "Example::Code {{ path: Some({path:?}), code: {code:?} }}, ")
            }
            Example::Diff { diff } => write!(text, "Example::Diff({diff:?}), "),
        };
    }
    text.push(']');
    text
}
