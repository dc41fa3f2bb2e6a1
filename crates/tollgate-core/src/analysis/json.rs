//! The analysis as JSON, for scripts. The names are promised; see `tollgate schema`.
//!
//! ```json
//! { "files": [{"path": "src/a.rs", "old_path": null, "status": "modified", "category": "source", "language": "Rust",
//!              "added": 3, "removed": 1, "binary": false, "generated": false}],
//!   "totals": {"files": 1, "added": 3, "removed": 1}, "files_by_category": {"source": ["src/a.rs"]},
//!   "files_by_language": {"Rust": ["src/a.rs"]}, "risks": [{"risk": "auth", "path": "src/a.rs", "line": 10}] }
//! ```

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::analysis::{Analysis, AnalyzedFile, Category, Risk, RiskKind};
use crate::diff::Status;

/// What a change is made of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "Analysis")]
pub struct AnalysisJson {
    /// The files, in the order of the diff.
    pub files: Vec<FileJson>,
    /// The size of the change.
    pub totals: TotalsJson,
    /// The paths of each category that has any.
    pub files_by_category: BTreeMap<CategoryJson, Vec<String>>,
    /// The paths of each language that has any.
    pub files_by_language: BTreeMap<String, Vec<String>>,
    /// Where to look closer; at most one per kind and file.
    pub risks: Vec<RiskJson>,
}

/// One file of the change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "AnalyzedFile")]
pub struct FileJson {
    /// The path after the change or, for a deleted file, before it.
    pub path: String,
    /// The path before the change, where it was another one.
    pub old_path: Option<String>,
    /// What happened to the file.
    pub status: StatusJson,
    /// What the file is for.
    pub category: CategoryJson,
    /// The language its name tells.
    pub language: Option<String>,
    /// Number of added lines.
    pub added: u32,
    /// Number of removed lines.
    pub removed: u32,
    /// True when the content is not text.
    pub binary: bool,
    /// True when a program wrote it.
    pub generated: bool,
}

/// What happened to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "FileStatus")]
pub enum StatusJson {
    /// The file is new.
    Added,
    /// The file is gone.
    Deleted,
    /// The file's content or mode changed.
    Modified,
    /// The file has a new path.
    Renamed,
    /// The file is a copy of another.
    Copied,
}

/// What a file is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "FileCategory")]
pub enum CategoryJson {
    /// The program itself.
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

/// The size of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "AnalysisTotals")]
pub struct TotalsJson {
    /// Number of files.
    pub files: u64,
    /// Number of added lines.
    pub added: u64,
    /// Number of removed lines.
    pub removed: u64,
}

/// One place to look at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "Risk")]
pub struct RiskJson {
    /// What to look out for.
    pub risk: RiskKindJson,
    /// The file.
    pub path: String,
    /// The line after the change, or before it for what is gone; null where the diff shows no lines.
    pub line: Option<u32>,
}

/// What to look out for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "RiskKind")]
pub enum RiskKindJson {
    /// Who may do what.
    Auth,
    /// Encryption, hashing.
    Crypto,
    /// A database is asked in SQL.
    Sql,
    /// The shape of a database changes.
    Migration,
    /// Other people's code is added, updated or removed.
    Dependencies,
    /// What continuous integration may do.
    CiPermissions,
    /// A public name is gone.
    PublicApiRemoved,
    /// There are fewer tests than before.
    DeletedTests,
    /// More than people read with care.
    LargeFile,
}

/// Writes an analysis, indented, with a line break at the end.
#[must_use]
pub fn write(analysis: &Analysis) -> String {
    let mut text = serde_json::to_string_pretty(&AnalysisJson::from(analysis)).unwrap_or_default();
    text.push('\n');
    text
}

/// The JSON Schema of what [`write()`] writes.
#[must_use]
pub fn schema() -> serde_json::Value {
    schemars::schema_for!(AnalysisJson).into()
}

impl From<&Analysis> for AnalysisJson {
    fn from(analysis: &Analysis) -> Self {
        let mut files_by_category = BTreeMap::<_, Vec<_>>::new();
        let mut files_by_language = BTreeMap::<_, Vec<_>>::new();
        for file in &analysis.files {
            files_by_category.entry(file.category.into()).or_default().push(file.path.to_string());
            if let Some(language) = file.language {
                files_by_language.entry(language.name().to_owned()).or_default().push(file.path.to_string());
            }
        }
        let totals = analysis.totals();
        Self {
            files: analysis.files.iter().map(FileJson::from).collect(),
            totals: TotalsJson { files: totals.n_files, added: totals.n_added, removed: totals.n_removed },
            files_by_category,
            files_by_language,
            risks: analysis.risks.iter().map(RiskJson::from).collect(),
        }
    }
}

impl From<&AnalyzedFile> for FileJson {
    fn from(file: &AnalyzedFile) -> Self {
        Self {
            path: file.path.to_string(),
            old_path: file.old_path.as_ref().map(ToString::to_string),
            status: file.status.into(),
            category: file.category.into(),
            language: file.language.map(|language| language.name().to_owned()),
            added: file.n_added,
            removed: file.n_removed,
            binary: file.binary,
            generated: file.generated,
        }
    }
}

impl From<Status> for StatusJson {
    fn from(status: Status) -> Self {
        match status {
            Status::Added => Self::Added,
            Status::Deleted => Self::Deleted,
            Status::Modified => Self::Modified,
            Status::Renamed => Self::Renamed,
            Status::Copied => Self::Copied,
        }
    }
}

impl From<Category> for CategoryJson {
    fn from(category: Category) -> Self {
        match category {
            Category::Source => Self::Source,
            Category::Test => Self::Test,
            Category::Config => Self::Config,
            Category::Docs => Self::Docs,
            Category::Infra => Self::Infra,
        }
    }
}

impl From<&Risk> for RiskJson {
    fn from(risk: &Risk) -> Self {
        let kind = match risk.kind {
            RiskKind::Auth => RiskKindJson::Auth,
            RiskKind::Crypto => RiskKindJson::Crypto,
            RiskKind::Sql => RiskKindJson::Sql,
            RiskKind::Migration => RiskKindJson::Migration,
            RiskKind::Dependencies => RiskKindJson::Dependencies,
            RiskKind::CiPermissions => RiskKindJson::CiPermissions,
            RiskKind::PublicApiRemoved => RiskKindJson::PublicApiRemoved,
            RiskKind::DeletedTests => RiskKindJson::DeletedTests,
            RiskKind::LargeFile => RiskKindJson::LargeFile,
        };
        Self { risk: kind, path: risk.path.to_string(), line: risk.line }
    }
}
