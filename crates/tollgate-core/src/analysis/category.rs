//! File categories by path: source, test, configuration, documentation, infrastructure.
//!
//! The rules follow the conventions of common ecosystems. Where several match, the order is: test, infrastructure, docs,
//! configuration, source; a `Dockerfile` below `tests/` is a test file.

use crate::analysis::path_parts::{Folder, PathParts};
use crate::language::Language;

/// Files of continuous integration and deployment.
const INFRA_FILES: &[&[u8]] = &[
    b".gitlab-ci.yml",
    b".travis.yml",
    b"appveyor.yml",
    b".appveyor.yml",
    b"jenkinsfile",
    b"bitbucket-pipelines.yml",
    b".drone.yml",
    b"cloudbuild.yaml",
    b"vagrantfile",
    b"procfile",
    b"fly.toml",
    b"netlify.toml",
    b"vercel.json",
    b"render.yaml",
    b"app.yaml",
    b"skaffold.yaml",
    b"tiltfile",
    b".dockerignore",
    b"nginx.conf",
    b".cirrus.yml",
    b"buildspec.yml",
];

/// Stems of documentation files.
const DOCS_STEMS: &[&[u8]] = &[
    b"readme",
    b"license",
    b"licence",
    b"copying",
    b"changelog",
    b"changes",
    b"contributing",
    b"authors",
    b"notice",
    b"code_of_conduct",
    b"security",
    b"history",
    b"maintainers",
    b"contributors",
    b"todo",
];

/// Dependency manifests.
const MANIFESTS: &[&[u8]] = &[
    b"cargo.toml",
    b"package.json",
    b"go.mod",
    b"pyproject.toml",
    b"setup.py",
    b"setup.cfg",
    b"pipfile",
    b"environment.yml",
    b"gemfile",
    b"pom.xml",
    b"build.gradle",
    b"build.gradle.kts",
    b"build.sbt",
    b"libs.versions.toml",
    b"composer.json",
    b"podfile",
    b"cartfile",
    b"package.swift",
    b"pubspec.yaml",
    b"mix.exs",
    b"rebar.config",
    b"packages.config",
    b"directory.packages.props",
    b"project.clj",
    b"deps.edn",
    b"conanfile.txt",
    b"conanfile.py",
    b"vcpkg.json",
    b"flake.nix",
    b"deno.json",
    b"pnpm-workspace.yaml",
    b"gradle.properties",
    b"stack.yaml",
    b"elm.json",
    b"manifest.in",
];

/// Lock files of package managers.
const LOCK_FILES: &[&[u8]] = &[
    b"cargo.lock",
    b"package-lock.json",
    b"npm-shrinkwrap.json",
    b"yarn.lock",
    b"pnpm-lock.yaml",
    b"bun.lock",
    b"bun.lockb",
    b"deno.lock",
    b"go.sum",
    b"go.work.sum",
    b"poetry.lock",
    b"uv.lock",
    b"pdm.lock",
    b"pipfile.lock",
    b"gemfile.lock",
    b"composer.lock",
    b"podfile.lock",
    b"cartfile.resolved",
    b"package.resolved",
    b"pubspec.lock",
    b"mix.lock",
    b"rebar.lock",
    b"packages.lock.json",
    b"gradle.lockfile",
    b"flake.lock",
    b"conda-lock.yml",
    b"pixi.lock",
    b"stack.yaml.lock",
    b".terraform.lock.hcl",
    b"cabal.project.freeze",
    b"chart.lock",
    b"module.bazel.lock",
];

/// The role of a file in the repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Category {
    /// Program code, and the default for everything that matches no other category.
    Source,
    /// Tests and their data.
    Test,
    /// Settings, manifests, lock files.
    Config,
    /// Documentation.
    Docs,
    /// Continuous integration, containers, deployment.
    Infra,
}

impl Category {
    /// Every category, in the order in which summaries name them.
    pub const ALL: [Self; 5] = [Self::Source, Self::Test, Self::Config, Self::Docs, Self::Infra];

    /// The name in JSON and for people, e.g. `source`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Source => "source",
            Self::Test => "test",
            Self::Config => "config",
            Self::Docs => "docs",
            Self::Infra => "infra",
        }
    }
}

/// Categorizes a file by its path.
#[must_use]
pub fn category(path: &[u8]) -> Category {
    of_name(&PathParts::new(path), Language::of_path(path))
}

pub(super) fn of_name(name: &PathParts<'_>, language: Option<Language>) -> Category {
    if is_test(name) {
        Category::Test
    } else if is_infra(name, language) {
        Category::Infra
    } else if is_docs(name, language) {
        Category::Docs
    } else if is_config(name.lower(), language) {
        Category::Config
    } else {
        Category::Source
    }
}

fn is_test(name: &PathParts<'_>) -> bool {
    let lower = name.lower();
    if name.is_below(Folder::Tests) {
        return true;
    }
    let Some(dot) = name.first_dot() else { return false };
    let stem = name.stem();
    if stem.starts_with(b"test_") || stem.ends_with(b"_test") || stem.ends_with(b"_tests") || stem.ends_with(b"_spec") {
        return true;
    }
    // `UserTest.java`, `UserTests.cs`, `UserSpec.scala`: the capital distinguishes them from `latest.java`.
    let whole = &name.written()[..dot];
    let camel = [&b"Test"[..], b"Tests", b"Spec", b"TestCase", b"IT"]
        .iter()
        .any(|end| whole.strip_suffix(*end).is_some_and(|rest| rest.last().is_some_and(u8::is_ascii_lowercase)));
    let inner = lower[dot..].split(|&byte| byte == b'.');
    let by_inner =
        || inner.clone().any(|part| matches!(part, b"test" | b"tests" | b"spec" | b"e2e" | b"cy" | b"stories"));
    camel
        || matches!(stem, b"conftest" | b"tests" | b"test")
            && matches!(lower.get(dot..), Some(b".py" | b".rs" | b".js" | b".ts"))
        || lower.ends_with(b".snap")
        || lower.ends_with(b".bats")
        || (name.last_dot() != Some(dot) && by_inner())
}

fn is_infra(name: &PathParts<'_>, language: Option<Language>) -> bool {
    let (folders, lower) = (name.folders(), name.lower());
    if matches!(language, Some(Language::Dockerfile | Language::Hcl)) {
        return true;
    }
    let is_yaml = language == Some(Language::Yaml);
    let is_prose = language == Some(Language::Markdown);
    let by_folder = name.is_below(Folder::Infra) && !is_prose
        || name.is_below(Folder::InfraData) && !is_prose && !language.is_some_and(is_code);
    let in_github = folders.starts_with(b".github/") && (is_yaml || folders.starts_with(b".github/workflows/"));
    by_folder
        || (in_github && !folders.starts_with(b".github/issue_template"))
        || (is_yaml
            && [
                &b"docker-compose"[..],
                b"compose.",
                b"kustomization.",
                b"serverless.",
                b"azure-pipelines",
                b"action.",
                b"helmfile",
            ]
            .iter()
            .any(|start| lower.starts_with(start)))
        || INFRA_FILES.contains(&lower)
}

fn is_docs(name: &PathParts<'_>, language: Option<Language>) -> bool {
    let lower = name.lower();
    if matches!(language, Some(Language::Markdown | Language::Rst | Language::Tex)) {
        return true;
    }
    let stem = name.stem();
    let by_stem = DOCS_STEMS.contains(&stem) || stem.starts_with(b"license-") || stem.starts_with(b"readme");
    let by_stem = by_stem && !language.is_some_and(is_code);
    let is_listing = matches!(lower, b"robots.txt" | b"cmakelists.txt") || is_manifest(lower);
    by_stem || name.is_below(Folder::Docs) || (language == Some(Language::Text) && !is_listing)
}

fn is_config(lower: &[u8], language: Option<Language>) -> bool {
    is_manifest(lower)
        || lower.first() == Some(&b'.')
        || matches!(
            language,
            Some(
                Language::Json
                    | Language::Toml
                    | Language::Yaml
                    | Language::Ini
                    | Language::Xml
                    | Language::Makefile
                    | Language::CMake
                    | Language::Starlark
                    | Language::Nix
            )
        )
        || lower.windows(8).any(|part| part == b".config.")
        || matches!(lower, b"codeowners" | b"gulpfile.js" | b"gruntfile.js" | b"setup.py" | b"build.rs" | b"robots.txt")
}

/// True for programming languages, false for data and markup.
fn is_code(language: Language) -> bool {
    !matches!(
        language,
        Language::Json
            | Language::Toml
            | Language::Yaml
            | Language::Ini
            | Language::Xml
            | Language::Text
            | Language::Csv
            | Language::Markdown
            | Language::Rst
            | Language::Tex
    )
}

/// True for dependency manifests and lock files, by file name in lower case.
pub(super) fn is_manifest(lower: &[u8]) -> bool {
    MANIFESTS.contains(&lower)
        || is_lock(lower)
        || [&b".csproj"[..], b".fsproj", b".vbproj", b".gemspec", b".cabal", b".podspec"]
            .iter()
            .any(|end| lower.ends_with(end))
        || (lower.ends_with(b".txt") && (lower.starts_with(b"requirements") || lower.starts_with(b"constraints")))
}

/// True for lock files of package managers, by file name in lower case.
pub(super) fn is_lock(lower: &[u8]) -> bool {
    LOCK_FILES.contains(&lower)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(expected: Category, paths: &[&str]) {
        for path in paths {
            assert_eq!(category(path.as_bytes()), expected, "{path}");
        }
    }

    #[test]
    fn tests_are_recognized_by_folder_or_name() {
        check(
            Category::Test,
            &[
                "pkg/a_test.go",
                "src/a.test.ts",
                "src/a.spec.tsx",
                "tests/it/main.rs",
                "web/__tests__/a.js",
                "test_a.py",
                "src/test/java/A.java",
                "spec/models/user_spec.rb",
                "UserTest.java",
                "Api.Tests/UserTests.cs",
                "conftest.py",
                "src/foo/tests.rs",
                "cypress/a.cy.ts",
                "ui/Button.stories.tsx",
                "a/__snapshots__/x.snap",
                "tests/Dockerfile",
            ],
        );
    }

    #[test]
    fn words_that_only_end_in_test_are_not_tests() {
        check(
            Category::Source,
            &["src/latest.rs", "contest/a.py", "src/Latest.java", "attest.go", "src/testament.rs", "inspect.js"],
        );
    }

    #[test]
    fn infrastructure_is_ci_containers_and_deployment() {
        check(
            Category::Infra,
            &[
                ".github/workflows/ci.yml",
                ".github/dependabot.yml",
                ".gitlab-ci.yml",
                "Jenkinsfile",
                "Dockerfile",
                "docker/Dockerfile.dev",
                "docker-compose.yml",
                "main.tf",
                "k8s/app.yaml",
                "charts/app/values.yaml",
                ".circleci/config.yml",
                "azure-pipelines.yml",
                "deploy/prod.yaml",
                "action.yml",
                "Vagrantfile",
            ],
        );
    }

    #[test]
    fn docs_are_prose() {
        check(
            Category::Docs,
            &[
                "README.md",
                "docs/guide.rst",
                "CHANGELOG",
                "LICENSE-MIT",
                "doc/a.png",
                "notes.txt",
                ".github/ISSUE_TEMPLATE/bug.md",
            ],
        );
    }

    #[test]
    fn configuration_is_settings_and_manifests() {
        check(
            Category::Config,
            &[
                "Cargo.toml",
                "package.json",
                "package-lock.json",
                "requirements-dev.txt",
                ".gitignore",
                "tsconfig.json",
                ".eslintrc.js",
                "vite.config.ts",
                "Makefile",
                "CMakeLists.txt",
                "go.mod",
                "pom.xml",
                "app.csproj",
                "Gemfile",
                "config/settings.yaml",
                ".editorconfig",
            ],
        );
    }

    #[test]
    fn all_else_is_source() {
        check(
            Category::Source,
            &["src/main.rs", "a.py", "logo.png", "", "x", "security.py", "deploy/run.go", "history.js", "db/a.sql"],
        );
    }
}
