//! Classifies a file by its path: language, test, documentation, source.

use tollgate_core::analysis;

/// The languages that the change rules support.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Language {
    Rust,
    Python,
    Script,
    Go,
    Java,
    Kotlin,
    CSharp,
    Ruby,
    Php,
    C,
    Other,
}

impl Language {
    /// Detects the language by the file extension; `Script` is JavaScript and TypeScript in any form.
    pub(crate) fn of(path: &str) -> Self {
        match ending(path) {
            "rs" => Self::Rust,
            "py" => Self::Python,
            "js" | "jsx" | "mjs" | "cjs" | "ts" | "tsx" | "mts" | "cts" | "vue" | "svelte" => Self::Script,
            "go" => Self::Go,
            "java" => Self::Java,
            "kt" | "kts" => Self::Kotlin,
            "cs" => Self::CSharp,
            "rb" | "rake" => Self::Ruby,
            "php" => Self::Php,
            "c" | "h" | "cc" | "cpp" | "cxx" | "hpp" | "hh" | "m" | "mm" => Self::C,
            _ => Self::Other,
        }
    }

    /// True when indentation alone delimits blocks.
    pub(crate) fn is_indented(self) -> bool {
        self == Self::Python
    }
}

/// The file extension.
pub(crate) fn ending(path: &str) -> &str {
    name(path).rsplit_once('.').map_or("", |(_, ending)| ending)
}

/// The file name of a path.
pub(crate) fn name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// The directory of a path, with its final slash; empty at the root.
pub(crate) fn folder(path: &str) -> &str {
    path.strip_suffix(name(path)).unwrap_or_default()
}

/// True for tests and test helpers.
pub(crate) fn is_test(path: &str) -> bool {
    const FOLDERS: &[&str] = &[
        "test",
        "tests",
        "__tests__",
        "__mocks__",
        "spec",
        "specs",
        "testdata",
        "testing",
        "e2e",
        "cypress",
        "fixtures",
        "integration-tests",
        "androidtest",
        "testfixtures",
        "sharedtest",
        "test-utils",
        "testutil",
        "playwright",
    ];
    let folders = folder(path).split('/').filter(|step| !step.is_empty());
    let in_folder = |step: &str| {
        let lower = step.to_ascii_lowercase();
        FOLDERS.contains(&lower.as_str()) || lower.ends_with(".tests") || lower.ends_with(".test")
    };
    if path.starts_with(".github/") {
        return false;
    }
    if folders.into_iter().any(in_folder) {
        return true;
    }
    if Language::of(path) == Language::Other && !path.ends_with(".snap") {
        return false;
    }
    let name = name(path);
    let stem = name.split_once('.').map_or(name, |(stem, _)| stem);
    let by_stem = ["_test", "_tests", "_spec", "-test", "-spec", "Test", "Tests", "Spec", "IT"];
    by_stem.iter().any(|end| stem.len() > end.len() && stem.ends_with(end))
        || name.starts_with("test_")
        || name.contains(".test.")
        || name.contains(".spec.")
        || matches!(stem, "conftest" | "tests" | "test")
}

/// True for prose.
pub(crate) fn is_document(path: &str) -> bool {
    matches!(ending(path), "md" | "mdx" | "rst" | "txt" | "adoc")
        || path.starts_with("docs/")
        || path.contains("/docs/")
}

/// True for code that is neither test, example nor generated.
pub(crate) fn is_source(path: &str) -> bool {
    const ASIDE: &[&str] = &[
        "example",
        "examples",
        "samples",
        "demo",
        "bench",
        "benches",
        "benchmarks",
        "scripts",
        "tools",
        "docs",
        "deps",
    ];
    Language::of(path) != Language::Other
        && !is_test(path)
        && !folder(path).split('/').any(|step| ASIDE.contains(&step))
        && !path.contains(".min.")
        && !analysis::is_generated(path.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_recognised_by_directory_or_name() {
        for path in [
            "tests/a.py",
            "src/__tests__/a.ts",
            "pkg/a_test.go",
            "a.spec.ts",
            "src/test/java/A.java",
            "AppTests.cs",
            "Api.Tests/Foo.cs",
            "spec/models/user_spec.rb",
            "test_views.py",
            "conftest.py",
        ] {
            assert!(is_test(path) && !is_source(path), "{path}");
        }
        for path in ["src/latest.rs", "contest.py", "src/attest/mod.rs", "Test.md2", "src/manifest.go"] {
            assert!(!is_test(path), "{path}");
        }
        assert!(
            is_source("src/a.rs")
                && !is_source("vendor/a.go")
                && is_source("src/dist/A.java")
                && !is_source("README.md")
        );
    }
}
