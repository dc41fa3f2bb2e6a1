//! Classifies a file by its path, for the text rules.

use tollgate_core::analysis;

/// The purpose of a file, as far as its path shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct FileClass {
    /// Tests, fixtures, samples: its values are fake.
    pub(crate) test: bool,
    /// Below a folder of tests or samples, or a document below a folder of documentation.
    pub(crate) sample_folder: bool,
    /// Documentation: its values are examples.
    pub(crate) prose: bool,
    /// Generated or vendored.
    pub(crate) generated: bool,
    /// Configuration, where values need no quotes.
    pub(crate) config: bool,
    /// Source code written by people.
    pub(crate) code: bool,
    /// Continuous integration, where temporary databases have throw-away passwords.
    pub(crate) ci: bool,
    /// Translations of the user interface.
    pub(crate) translation: bool,
}

const TEST_FOLDERS: &[&str] = &[
    "test",
    "tests",
    "__tests__",
    "spec",
    "specs",
    "fixtures",
    "fixture",
    "__fixtures__",
    "testdata",
    "test-data",
    "test_data",
    "testing",
    "mocks",
    "__mocks__",
    "mock",
    "e2e",
    "cypress",
    "example",
    "examples",
    "sample",
    "samples",
    "demo",
    "demos",
    "stories",
    "__snapshots__",
    "testfixtures",
    "test-fixtures",
    "testutil",
    "testutils",
    "factories",
    "cassettes",
    "benches",
    "integration-tests",
    "integration_tests",
    "androidtest",
    "playground",
];

const PROSE: &[&str] =
    &["md", "mdx", "markdown", "rst", "adoc", "asciidoc", "txt", "tex", "org", "texi", "pod", "ipynb"];

const CONFIG: &[&str] = &[
    "env",
    "properties",
    "ini",
    "cfg",
    "conf",
    "config",
    "yml",
    "yaml",
    "toml",
    "sh",
    "bash",
    "zsh",
    "fish",
    "service",
    "envrc",
    "npmrc",
    "pypirc",
    "netrc",
    "dockerfile",
    "credentials",
];

const CODE: &[&str] = &[
    "rs", "py", "pyi", "js", "jsx", "mjs", "cjs", "ts", "tsx", "mts", "cts", "go", "java", "kt", "kts", "scala", "c",
    "h", "cc", "cpp", "cxx", "hpp", "hh", "cs", "fs", "vb", "rb", "php", "swift", "m", "mm", "dart", "ex", "exs",
    "erl", "clj", "hs", "ml", "lua", "pl", "pm", "r", "jl", "sh", "bash", "ps1", "vue", "svelte", "sql", "tf",
    "groovy", "zig", "nim",
];

/// Endings of data that programs write.
const GENERATED: &[&str] = &[
    "lock", "sum", "map", "svg", "pem", "crt", "cer", "pub", "asc", "sig", "csv", "tsv", "pbxproj", "lockb", "patch",
    "diff", "har", "sha256", "sha512", "md5", "woff", "eot",
];

/// Names of generated files beyond lock files.
const GENERATED_NAMES: &[&str] = &["gradle-wrapper.properties", "verification-metadata.xml"];

impl FileClass {
    /// Classifies a path without opening the file.
    pub(crate) fn of(path: &[u8]) -> Self {
        let by_program = analysis::is_generated(path);
        let path = String::from_utf8_lossy(path);
        let lower = path.to_ascii_lowercase();
        let (folders, name) = lower.rsplit_once('/').unwrap_or(("", &lower));
        let cased_name = path.rsplit('/').next().unwrap_or(&path);
        let ends = |list: &[&str]| {
            let after_dot = |ending: &&str| name.strip_suffix(*ending).is_some_and(|rest| rest.ends_with('.'));
            list.iter().any(after_dot)
        };
        let in_folder = |list: &[&str]| folders.split('/').any(|folder| list.contains(&folder));
        let env = name.starts_with(".env") || name.ends_with(".env") || is_dockerfile(path.as_bytes());
        let names_an_example =
            ["example", "sample", "template", ".dist", "dummy"].iter().any(|word| name.contains(word));
        Self {
            sample_folder: in_folder(TEST_FOLDERS) || (ends(PROSE) && in_folder(&["docs", "doc", "documentation"])),
            test: in_folder(TEST_FOLDERS) || is_test_name(name, cased_name) || names_an_example,
            ci: lower.contains(".github/workflows/")
                || matches!(name, ".gitlab-ci.yml" | ".travis.yml" | "azure-pipelines.yml"),
            // An API description contains example values.
            prose: ends(PROSE)
                || name.contains("openapi")
                || name.contains("swagger")
                || matches!(name, "readme" | "changelog" | "license" | "licence" | "notice"),
            generated: by_program || GENERATED_NAMES.contains(&name) || ends(GENERATED),
            config: env || ends(CONFIG),
            code: ends(CODE) || name == "makefile" || is_dockerfile(path.as_bytes()),
            translation: in_folder(&["locale", "locales", "i18n", "l10n", "lang", "translations", "lc_messages"])
                || folders.contains("/values-")
                || ends(&["po", "pot", "ftl", "arb", "xlf", "xliff", "strings", "resx", "properties"]),
        }
    }
}

fn is_test_name(name: &str, cased: &str) -> bool {
    let stem = name.split('.').next().unwrap_or(name);
    let cased_stem = cased.split('.').next().unwrap_or(cased);
    stem.starts_with("test_")
        || stem.starts_with("test-")
        || name.split('.').any(|part| matches!(part, "test" | "testing" | "e2e") || part.ends_with("_test"))
        || matches!(stem, "test" | "tests" | "conftest" | "spec_helper" | "rails_helper")
        || ["_test", "_tests", "_spec", "-test", "-spec", "_fixture", "_fixtures", "_mock"]
            .iter()
            .any(|end| stem.ends_with(end))
        || ["Test", "Tests", "Spec", "IT", "TestCase", "Mock", "Fixture"].iter().any(|end| cased_stem.ends_with(end))
        || [".test.", ".spec.", ".stories.", ".e2e.", ".mock.", ".fixture.", ".cy."]
            .iter()
            .any(|mid| name.contains(mid))
}

/// True for `Dockerfile`, `Dockerfile.web`, `web.dockerfile`, `Containerfile`.
pub(crate) fn is_dockerfile(path: &[u8]) -> bool {
    let name = path.rsplit(|&byte| byte == b'/').next().unwrap_or(path);
    let named =
        |prefix: &[u8]| name.strip_prefix(prefix).is_some_and(|rest| matches!(rest.first(), None | Some(b'.' | b'-')));
    let other = [&b".md"[..], b".dockerignore", b".go", b".py", b".ts", b".js", b".rb", b".java", b".j2", b".txt"];
    (named(b"Dockerfile") || named(b"Containerfile") || named(b"dockerfile") || ends(name, b".dockerfile"))
        && !other.iter().any(|end| ends(name, end))
}

/// True for `*.sql`.
pub(crate) fn is_sql(path: &[u8]) -> bool {
    ends(path, b".sql")
}

fn ends(name: &[u8], end: &[u8]) -> bool {
    name.len() >= end.len() && name[name.len() - end.len()..].eq_ignore_ascii_case(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, expected: &str) {
        let class = FileClass::of(path.as_bytes());
        let flags = [
            (class.test, "test"),
            (class.prose, "prose"),
            (class.generated, "generated"),
            (class.config, "config"),
            (class.code, "code"),
            (class.translation, "translation"),
            (class.ci, "ci"),
        ];
        let flags: Vec<&str> = flags.iter().filter(|(on, _)| *on).map(|(_, name)| *name).collect();
        assert_eq!(flags.join(" "), expected, "{path}");
    }

    #[test]
    fn files_are_classified_by_path() {
        check("src/main.rs", "code");
        check("src/contest.rs", "code");
        check("src/latest/attest.py", "code");
        check("tests/it/main.rs", "test code");
        check("pkg/server_test.go", "test code");
        check("src/UserServiceTest.java", "test code");
        check("src/Latest.java", "code");
        check("app/login.spec.ts", "test code");
        check("README.md", "prose");
        check("Cargo.lock", "generated");
        check("web/package-lock.json", "generated");
        check(".env", "config");
        check(".env.example", "test config");
        check(".env.test", "test config");
        check("deploy/values.yaml", "config");
        check("docs/openapi.yaml", "prose config");
        check(".github/workflows/test.yml", "test config ci");
        check("vendor/github.com/a/b.go", "generated code");
        check("build/Dockerfile", "config code");
        check("src/main/java/a/dist/A.java", "code");
        check("public/app.min.js", "generated code");
        check("config/locales/fa.yml", "config translation");
    }

    #[test]
    fn dockerfiles_are_recognised_by_name() {
        for path in ["Dockerfile", "a/Dockerfile.web", "web.dockerfile", "Containerfile", "docker/Dockerfile-dev"] {
            assert!(is_dockerfile(path.as_bytes()), "{path}");
        }
        for path in ["Dockerfile.md", "a/Dockerfiles/x", "dockerfile_test.go", "my-Dockerfile.ts"] {
            assert!(!is_dockerfile(path.as_bytes()), "{path}");
        }
    }
}
