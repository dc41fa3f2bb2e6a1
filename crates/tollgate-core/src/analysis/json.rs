//! The analysis as JSON. The field names are stable; see `tollgate schema`.
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
use crate::json::mirror_enum;

/// The result of analyzing a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "Analysis")]
pub(super) struct AnalysisJson {
    /// The files, in the order of the diff.
    files: Vec<FileJson>,
    /// The size of the change.
    totals: TotalsJson,
    /// The paths of each category that has any.
    files_by_category: BTreeMap<CategoryJson, Vec<String>>,
    /// The paths of each language that has any.
    files_by_language: BTreeMap<String, Vec<String>>,
    /// Risky areas; at most one per kind and file.
    risks: Vec<RiskJson>,
}

/// One file of the change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "AnalyzedFile")]
struct FileJson {
    /// The path after the change or, for a deleted file, before it.
    path: String,
    /// The path before the change, if it differs.
    old_path: Option<String>,
    /// Added, deleted, modified, renamed or copied.
    status: StatusJson,
    /// The role of the file.
    category: CategoryJson,
    /// The language, detected by the file name.
    language: Option<String>,
    /// Number of added lines.
    added: u32,
    /// Number of removed lines.
    removed: u32,
    /// True when the content is not text.
    binary: bool,
    /// True for generated files.
    generated: bool,
}

mirror_enum! {
    /// The status of a file in a change.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
    #[serde(rename_all = "lowercase")]
    #[schemars(rename = "FileStatus")]
    enum StatusJson mirrors Status {
        /// The file is new.
        Added,
        /// The file is deleted.
        Deleted,
        /// The file's content or mode changed.
        Modified,
        /// The file has a new path.
        Renamed,
        /// The file is a copy of another.
        Copied,
    }
}

mirror_enum! {
    /// The role of a file in the repository.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
    #[serde(rename_all = "lowercase")]
    #[schemars(rename = "FileCategory")]
    enum CategoryJson mirrors Category {
        /// Program code.
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
}

/// The size of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "AnalysisTotals")]
struct TotalsJson {
    /// Number of files.
    files: u64,
    /// Number of added lines.
    added: u64,
    /// Number of removed lines.
    removed: u64,
}

/// A risky area that the change touches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "Risk")]
struct RiskJson {
    /// The kind of risk.
    risk: RiskKindJson,
    /// The file.
    path: String,
    /// The line after the change, or before it for removed code; null where the diff shows no lines.
    line: Option<u32>,
}

mirror_enum! {
    /// The kind of risk.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
    #[serde(rename_all = "kebab-case")]
    #[schemars(rename = "RiskKind")]
    enum RiskKindJson mirrors RiskKind {
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
}

/// Writes an analysis, indented, with a line break at the end.
#[must_use]
pub fn write(analysis: &Analysis) -> String {
    let mut text = serde_json::to_string_pretty(&AnalysisJson::from(analysis)).unwrap_or_default();
    text.push('\n');
    text
}

/// The JSON Schema of the output of [`write()`].
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

impl From<&Risk> for RiskJson {
    fn from(risk: &Risk) -> Self {
        Self { risk: risk.kind.into(), path: risk.path.to_string(), line: risk.line }
    }
}
