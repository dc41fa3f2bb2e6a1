//! Detects lock files that download a package from a new host.

use std::collections::HashSet;

use crate::change::manifest;
use crate::change::view::{Reporter, View, patterns};

/// Hosts of the common registries.
const KNOWN: &[&str] = &[
    "registry.npmjs.org",
    "registry.yarnpkg.com",
    "github.com",
    "codeload.github.com",
    "crates.io",
    "index.crates.io",
    "files.pythonhosted.org",
    "pypi.org",
    "pypi.python.org",
    "rubygems.org",
    "api.github.com",
    "packagist.org",
    "npm.pkg.github.com",
    "registry.npmjs.com",
    "opencollective.com",
    "gitlab.com",
    "jsr.io",
    "npm.jsr.io",
];

/// Maximum number of reported hosts per file.
const MAX_HOSTS: usize = 10;

patterns! {
    SOURCE = concat!(
        r#"^\s*(?:"?resolved"?:? |"?tarball"?: |source = |url = |\{ ?url = |remote: "#,
        r#"|resolution: )"?\{?.*?(?:(https?|git\+https?|registry\+https?|sparse\+https?|git\+ssh"#,
        r#"|ssh)://(?:[^@/\s"]+@)?([A-Za-z0-9.-]+))"#,
    );
}

pub(crate) fn scan(view: &View<'_>, reporter: &mut Reporter) {
    for file in view.files.iter().filter(|file| file.stays() && manifest::of_lock(&file.path).is_some()) {
        let host = |text: &str| {
            let groups = SOURCE.captures(text)?;
            Some((groups.get(1)?.as_str().to_owned(), groups.get(2)?.as_str().to_ascii_lowercase()))
        };
        let before: HashSet<String> = file
            .lines
            .iter()
            .filter(|line| !line.is_added())
            .filter_map(|line| host(&line.text))
            .map(|(_, host)| host)
            .collect();
        let mut reported = HashSet::new();
        for (index, line) in file.added() {
            let Some((scheme, host)) = host(&line.text) else { continue };
            if reported.len() >= MAX_HOSTS {
                break;
            }
            let known = KNOWN.contains(&host.as_str()) && scheme != "http";
            if known || before.contains(&host) || !reported.insert(host.clone()) {
                continue;
            }
            let in_manifest = view
                .files
                .iter()
                .filter(|other| manifest::of_manifest(&other.path).is_some())
                .any(|other| other.added().any(|(_, line)| line.text.contains(&host)));
            if !in_manifest {
                let message = format!("lock file downloads a package from the new host `{host}`");
                reporter.report(file, index..index + 1, Some(message));
            }
        }
    }
}
