//! Risky areas that a change touches.
//!
//! Each kind is detected by paths, by keywords in added lines, or by removed declarations. At most one risk of a kind is
//! reported per file, at its first occurrence. The result is deterministic.

use crate::analysis::category::is_manifest;
use crate::analysis::declaration::{self, DeclarationScope};
use crate::analysis::path_parts::{Folder, PathParts};
use crate::analysis::{AnalyzedFile, Category, FileSection, keywords};
use crate::diff::{LineKind, Status};
use crate::language::Language;
use crate::path::RepoPath;

/// More added lines than this make a file large.
const LARGE_LINES: u32 = 1_000;

/// A binary file of more bytes than this is large.
const LARGE_BYTES: u64 = 1 << 20;

/// The kind of a risk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RiskKind {
    /// Authentication or authorization.
    Auth,
    /// Encryption, hashing.
    Crypto,
    /// SQL queries.
    Sql,
    /// A database migration.
    Migration,
    /// A dependency is added, updated or removed.
    Dependencies,
    /// Permissions of continuous integration.
    CiPermissions,
    /// A public name is removed.
    PublicApiRemoved,
    /// The file has fewer tests than before.
    DeletedTests,
    /// A file too large to review with care.
    LargeFile,
}

/// A risky area that the change touches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Risk {
    /// The kind of a risk.
    pub kind: RiskKind,
    /// The file.
    pub path: RepoPath,
    /// The line after the change, or before it for removed code; `None` where the diff shows no lines.
    pub line: Option<u32>,
}

impl RiskKind {
    /// The name in JSON and for people, e.g. `ci-permissions`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Auth => "auth",
            Self::Crypto => "crypto",
            Self::Sql => "sql",
            Self::Migration => "migration",
            Self::Dependencies => "dependencies",
            Self::CiPermissions => "ci-permissions",
            Self::PublicApiRemoved => "public-api-removed",
            Self::DeletedTests => "deleted-tests",
            Self::LargeFile => "large-file",
        }
    }
}

/// Finds the risks of one file.
pub(super) fn find(part: &FileSection<'_>, name: &PathParts<'_>, file: &AnalyzedFile, risks: &mut Vec<Risk>) {
    let first = risks.len();
    let mut push = |kind: RiskKind, line: Option<u32>| risks.push(Risk { kind, path: file.path.clone(), line });
    if file.category == Category::Source && is_migration(name) {
        push(RiskKind::Migration, part.first_changed_line());
    }
    if file.category == Category::Config && is_manifest(name.lower()) {
        push(RiskKind::Dependencies, part.first_changed_line());
    }
    if file.category == Category::Infra
        && is_ci(name)
        && let Some(line) = permission_line(part)
    {
        push(RiskKind::CiPermissions, Some(line));
    }
    if !file.generated && (file.n_added > LARGE_LINES || file.binary && part.binary_size > Some(LARGE_BYTES)) {
        push(RiskKind::LargeFile, part.first_changed_line());
    }
    if !file.generated && !file.binary {
        find_in_lines(part, file, &mut push);
    }
    risks[first..].sort_by_key(|risk| risk.kind);
}

fn find_in_lines(part: &FileSection<'_>, file: &AnalyzedFile, push: &mut impl FnMut(RiskKind, Option<u32>)) {
    let hunks = part.hunk_bytes();
    let is_sql = file.language == Some(Language::Sql);
    if matches!(file.category, Category::Source | Category::Config | Category::Infra) && file.n_added > 0 {
        let added = part.added.relative_to(part.hunks.start);
        for (kind, at) in keywords::find(hunks, added).filter(|(kind, _)| !(is_sql && *kind == RiskKind::Sql)) {
            push(kind, part.line_number_at(at));
        }
        if is_sql {
            push(RiskKind::Sql, part.first_changed_line());
        }
    }
    if file.status == Status::Deleted && file.category == Category::Test && file.language.is_some_and(has_tests) {
        push(RiskKind::DeletedTests, part.first_changed_line());
    } else if file.n_removed > 0
        && let Some(language) = file.language
        && let Some(wanted) = declaration_scope(file.category)
    {
        let gone = declaration::find_removed(hunks, language, wanted);
        if let Some(at) = gone.public {
            push(RiskKind::PublicApiRemoved, part.line_number_at(at));
        }
        if let Some(at) = gone.tests {
            push(RiskKind::DeletedTests, part.line_number_at(at));
        }
    }
}

fn declaration_scope(category: Category) -> Option<DeclarationScope> {
    match category {
        Category::Source => Some(DeclarationScope::Source),
        Category::Test => Some(DeclarationScope::Tests),
        Category::Config | Category::Docs | Category::Infra => None,
    }
}

/// True for programming languages; a deleted fixture in a data format is not a deleted test.
fn has_tests(language: Language) -> bool {
    !matches!(
        language,
        Language::Json
            | Language::Yaml
            | Language::Toml
            | Language::Xml
            | Language::Text
            | Language::Markdown
            | Language::Csv
    )
}

fn is_migration(name: &PathParts<'_>) -> bool {
    name.is_below(Folder::Migrations) || name.folders().ends_with(b"alembic/versions/") || is_flyway(name.lower())
}

/// True for `V12__add_users.sql`.
fn is_flyway(name: &[u8]) -> bool {
    let Some(rest) = name.strip_prefix(b"v") else { return false };
    let n_digits = rest.iter().take_while(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'_')).count();
    name.ends_with(b".sql") && n_digits > 2 && rest[..n_digits].ends_with(b"__")
}

fn is_ci(name: &PathParts<'_>) -> bool {
    let (folders, name) = (name.folders(), name.lower());
    folders.starts_with(b".github/workflows/")
        || folders.starts_with(b".github/actions/")
        || folders.starts_with(b".circleci/")
        || folders.starts_with(b".buildkite/")
        || matches!(name, b".gitlab-ci.yml" | b"azure-pipelines.yml" | b"jenkinsfile" | b"action.yml" | b"action.yaml")
        || matches!(name, b"bitbucket-pipelines.yml" | b".travis.yml" | b".drone.yml")
}

/// The first changed line that grants permissions or removes a restriction on them.
fn permission_line(part: &FileSection<'_>) -> Option<u32> {
    const GRANTS: &[&[u8]] = &[
        b"permissions:",
        b"write-all",
        b": write",
        b"pull_request_target",
        b"workflow_run",
        b"secrets.",
        b"secrets:",
        b"id-token",
        b"privileged",
    ];
    let changed = part.hunk_lines().flat_map(|(_, lines)| lines).filter(|line| line.kind != LineKind::Context);
    let grants = |text: &[u8]| GRANTS.iter().any(|grant| memchr::memmem::find(text, grant).is_some());
    changed
        .filter(|line| !line.text.trim_ascii_start().starts_with(b"#"))
        .find(|line| match line.kind {
            LineKind::Added => grants(line.text),
            // A workflow without `permissions:` runs with the repository's default permissions.
            LineKind::Removed => memchr::memmem::find(line.text, b"permissions:").is_some(),
            LineKind::Context => false,
        })
        .and_then(|line| line.new.or(line.old))
}
