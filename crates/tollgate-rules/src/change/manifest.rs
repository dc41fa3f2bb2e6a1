//! Parses manifests and lock files: their ecosystem, and the dependencies on changed lines.

use tollgate_core::diff::LineKind;

use crate::change::path;
use crate::change::view::{File, Pattern, patterns};

/// A package ecosystem.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ecosystem {
    Cargo,
    Npm,
    PyPi,
    Go,
    Ruby,
    Php,
}

patterns! {
    TOML_SECTION = r"^\[+\s*([^\]]+?)\s*\]+";
    TOML_LIST = r"^\s*([\w-]+)\s*=\s*\[";
    CARGO = r#"^([\w-]+)(?:\.workspace)?\s*=\s*(?:"[~^=<>* \d]|true|\{.*(?:version|path|git|workspace)\b)"#;
    JSON_SECTION = r#"^\s*"([\w-]+)"\s*:\s*\{"#;
    NPM = r#"^\s*"(@?[\w./-]+)"\s*:\s*"(?:[~^<>=* ]*v?\d|workspace:|npm:|git|file:|\*|latest|https?:)[^"]*",?\s*$"#;
    POETRY = r#"^([\w.-]+)\s*=\s*(?:"[~^=<>*!\d]|\{.*(?:version|path|git)\b)"#;
    REQUIREMENT = concat!(
        r#"^\s*["']?([A-Za-z0-9][\w.-]*)\s*(?:\[[^\]]*\])?\s*(?:(?:[=~!<>]=|[<>]|@ ).*"#,
        r#"|["']?,?\s*(?:[#;].*)?)$"#,
    );
    GO = r"^\s*(?:require )?([\w./~-]+\.[\w./~-]+) v\d";
    GEM = r#"^\s*gem\s*\(?["']([\w.-]+)["']"#;
}

/// The ecosystem of a manifest.
pub(crate) fn of_manifest(path: &str) -> Option<Ecosystem> {
    match path::name(path) {
        "Cargo.toml" => Some(Ecosystem::Cargo),
        "package.json" => Some(Ecosystem::Npm),
        "pyproject.toml" | "Pipfile" => Some(Ecosystem::PyPi),
        "go.mod" => Some(Ecosystem::Go),
        "Gemfile" => Some(Ecosystem::Ruby),
        "composer.json" => Some(Ecosystem::Php),
        name if name.starts_with("requirements") && name.ends_with(".txt") => Some(Ecosystem::PyPi),
        _ => None,
    }
}

/// The ecosystem of a lock file.
pub(crate) fn of_lock(path: &str) -> Option<Ecosystem> {
    let name = path::name(path);
    ALL.iter().copied().find(|ecosystem| ecosystem.locks().contains(&name))
}

const ALL: &[Ecosystem] =
    &[Ecosystem::Cargo, Ecosystem::Npm, Ecosystem::PyPi, Ecosystem::Go, Ecosystem::Ruby, Ecosystem::Php];

impl Ecosystem {
    /// The names of its lock files.
    pub(crate) fn locks(self) -> &'static [&'static str] {
        match self {
            Self::Cargo => &["Cargo.lock"],
            Self::Npm => {
                &["package-lock.json", "npm-shrinkwrap.json", "yarn.lock", "pnpm-lock.yaml", "bun.lock", "bun.lockb"]
            }
            Self::PyPi => &["poetry.lock", "uv.lock", "Pipfile.lock", "pdm.lock"],
            Self::Go => &["go.sum"],
            Self::Ruby => &["Gemfile.lock"],
            Self::Php => &["composer.lock"],
        }
    }
}

/// A dependency on a changed line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Dependency {
    pub(crate) index: usize,
    pub(crate) name: String,
}

/// The dependencies on lines of this kind. Where the hunk does not show the section, the form of the line decides.
pub(crate) fn dependencies(file: &File<'_>, kind: LineKind) -> Vec<Dependency> {
    let Some(ecosystem) = of_manifest(&file.path) else { return Vec::new() };
    let mut found = Vec::new();
    for hunk in &file.hunks {
        let mut section: Option<String> = None;
        let mut list: Option<String> = None;
        for index in hunk.clone() {
            let line = &file.lines[index];
            let text = line.text.as_ref();
            match ecosystem {
                Ecosystem::Npm | Ecosystem::Php => {
                    if let Some(name) = JSON_SECTION.captures(text).and_then(|groups| groups.get(1)) {
                        section = Some(name.as_str().to_owned());
                    } else if text.trim_start().starts_with('}') {
                        section = None;
                    }
                }
                Ecosystem::Cargo | Ecosystem::PyPi => {
                    if let Some(name) = TOML_SECTION.captures(text).and_then(|groups| groups.get(1)) {
                        (section, list) = (Some(name.as_str().to_owned()), None);
                    } else if let Some(name) = TOML_LIST.captures(text).and_then(|groups| groups.get(1)) {
                        list = Some(name.as_str().to_owned());
                    } else if text.trim() == "]" {
                        list = None;
                    }
                }
                Ecosystem::Go | Ecosystem::Ruby => {}
            }
            if line.kind != kind || line.is_comment() {
                continue;
            }
            if let Some(name) = dependency(ecosystem, &file.path, text, section.as_deref(), list.as_deref()) {
                found.push(Dependency { index, name });
            }
        }
    }
    found
}

fn dependency(
    ecosystem: Ecosystem,
    path: &str,
    text: &str,
    section: Option<&str>,
    list: Option<&str>,
) -> Option<String> {
    const KEYS: &[&str] = &[
        "version",
        "edition",
        "rust-version",
        "resolver",
        "node",
        "npm",
        "yarn",
        "pnpm",
        "vscode",
        "python",
        "requires-python",
        "packageManager",
        "license",
        "name",
        "workspace",
        "target",
        "target-version",
        "minversion",
        "schema",
        "php",
        "readme",
        "documentation",
        "homepage",
        "repository",
        "default-features",
        "path",
        "git",
        "branch",
        "tag",
        "rev",
    ];
    let group = |pattern: &Pattern| Some(pattern.captures(text)?.get(1)?.as_str().to_owned());
    let name = match ecosystem {
        Ecosystem::Cargo => {
            let named = |section: &str| {
                section == "dependencies" || section.ends_with("-dependencies") || section.ends_with(".dependencies")
            };
            section.is_none_or(named).then(|| group(&CARGO)).flatten()
        }
        Ecosystem::Npm => {
            let named = |section: &str| matches!(section, "dependencies" | "devDependencies" | "optionalDependencies");
            section.is_none_or(named).then(|| group(&NPM)).flatten()
        }
        Ecosystem::Php => {
            let named = |section: &str| matches!(section, "require" | "require-dev");
            section.is_none_or(named).then(|| group(&NPM)).flatten().filter(|name| name.contains('/'))
        }
        Ecosystem::PyPi if path::ending(path) == "txt" => {
            group(&REQUIREMENT).filter(|_| !text.trim_start().starts_with('-'))
        }
        Ecosystem::PyPi => {
            let poetry =
                |section: &str| section.contains("dependencies") || matches!(section, "packages" | "dev-packages");
            let listed = section
                .is_some_and(|section| section == "dependency-groups" || section == "project.optional-dependencies")
                || list.is_some_and(|list| list.contains("dependencies"));
            match (listed, section.is_some_and(poetry)) {
                (true, _) => group(&REQUIREMENT).filter(|_| text.trim_start().starts_with(['"', '\''])),
                (false, true) => group(&POETRY),
                (false, false) => None,
            }
        }
        Ecosystem::Go => group(&GO),
        Ecosystem::Ruby => group(&GEM),
    };
    name.filter(|name| !KEYS.contains(&name.as_str()))
}
