//! Detects typosquatting: new dependencies whose name resembles a popular package.
//!
//! The lists contain the most used packages of each registry, and well-known
//! packages whose names differ from those by a typo.

use std::collections::HashSet;
use std::sync::LazyLock;

use tollgate_core::diff::LineKind;

use crate::change::manifest::{self, Ecosystem};
use crate::change::view::{Reporter, View};

/// Shorter names resemble too many others.
const MIN_CHARS: usize = 6;

/// Maximum number of dependencies that are compared.
const MAX_DEPENDENCIES: usize = 1_000;

pub(crate) fn scan(view: &View<'_>, reporter: &mut Reporter) {
    let mut n_left = MAX_DEPENDENCIES;
    for file in &view.files {
        let Some(ecosystem) = manifest::of_manifest(&file.path) else { continue };
        let before: HashSet<String> =
            manifest::dependencies(file, LineKind::Removed).into_iter().map(|dependency| dependency.name).collect();
        for dependency in manifest::dependencies(file, LineKind::Added).into_iter().take(n_left) {
            n_left -= 1;
            if before.contains(&dependency.name) {
                continue;
            }
            if let Some(popular) = near_miss(ecosystem, &dependency.name) {
                let message = format!("new dependency `{}` resembles the popular package `{popular}`", dependency.name);
                reporter.report(file, dependency.index..dependency.index + 1, Some(message));
            }
        }
    }
}

/// The popular package that this name resembles, unless it is popular itself.
pub(crate) fn near_miss(ecosystem: Ecosystem, name: &str) -> Option<&'static str> {
    static CARGO: LazyLock<Names> = LazyLock::new(|| Names::of(include_str!("popular/cargo.txt")));
    static NPM: LazyLock<Names> = LazyLock::new(|| Names::of(include_str!("popular/npm.txt")));
    static PYPI: LazyLock<Names> = LazyLock::new(|| Names::of(include_str!("popular/pypi.txt")));
    static GO: LazyLock<Names> = LazyLock::new(|| Names::of(include_str!("popular/go.txt")));
    static RUBY: LazyLock<Names> = LazyLock::new(|| Names::of(include_str!("popular/ruby.txt")));
    let names = match ecosystem {
        Ecosystem::Cargo => &CARGO,
        Ecosystem::Npm => &NPM,
        Ecosystem::PyPi => &PYPI,
        Ecosystem::Go => &GO,
        Ecosystem::Ruby => &RUBY,
        Ecosystem::Php => return None,
    };
    let lower = name.to_ascii_lowercase();
    // PyPI and crates.io treat these spellings as the same name.
    let own =
        if matches!(ecosystem, Ecosystem::PyPi | Ecosystem::Cargo) { lower.replace(['_', '.'], "-") } else { lower };
    names.near_miss(&own, ecosystem)
}

struct Names {
    exact: HashSet<String>,
    /// Each name in normalized form, and as it is written.
    all: Vec<(String, &'static str)>,
}

impl Names {
    fn of(text: &'static str) -> Self {
        let fold = |name: &str| if name.contains('/') { name.to_owned() } else { name.replace(['_', '.'], "-") };
        let all: Vec<(String, &'static str)> =
            text.lines().filter(|line| !line.is_empty()).map(|name| (fold(name), name)).collect();
        let exact = all.iter().flat_map(|(folded, name)| [(*name).to_owned(), folded.clone()]).collect();
        Self { exact, all }
    }

    fn near_miss(&self, name: &str, ecosystem: Ecosystem) -> Option<&'static str> {
        let n_chars = name.chars().count();
        let scoped = ecosystem == Ecosystem::Npm && name.starts_with('@');
        if !(MIN_CHARS..=100).contains(&n_chars) || scoped || self.exact.contains(name) {
            return None;
        }
        if ecosystem == Ecosystem::Go {
            return self.near_module(name);
        }
        self.all.iter().find(|(popular, _)| is_near(name, popular)).map(|&(_, name)| name)
    }

    /// Go modules have an owner: a near miss is the same module of an owner with a similar name.
    fn near_module(&self, name: &str) -> Option<&'static str> {
        let parts = |module: &str| -> Vec<String> { module.split('/').take(3).map(str::to_owned).collect() };
        let own = parts(name);
        let owner = |parts: &[String]| parts.iter().take(2).cloned().collect::<Vec<_>>();
        if self.all.iter().any(|(popular, _)| owner(&parts(popular)) == owner(&own)) {
            return None;
        }
        let near = self.all.iter().find(|(popular, _)| {
            let other = parts(popular);
            own.len() == 3
                && other.len() == 3
                && own[0] == other[0]
                && own[2] == other[2]
                && is_near(&own[1], &other[1])
        });
        near.map(|&(_, name)| name)
    }
}

fn is_near(name: &str, popular: &str) -> bool {
    let (n_chars, n_popular) = (name.len(), popular.len());
    if n_popular < MIN_CHARS - 1 || n_chars.abs_diff(n_popular) > 2 {
        return false;
    }
    let bare = |text: &str| text.replace(['-', '_', '.'], "");
    if bare(name) == bare(popular) {
        return name != popular;
    }
    // A trailing number usually names a sibling package.
    let stem = |text: &str| text.trim_end_matches(|c: char| c.is_ascii_digit()).to_owned();
    if stem(name) == stem(popular) {
        return false;
    }
    // Typos are rarely in the first letter, and rhyming names are often intended.
    name.chars().next() == popular.chars().next() && strsim::damerau_levenshtein(name, popular) == 1
}
