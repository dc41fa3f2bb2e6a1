//! Reviews as files: which forms there are, and how one is sent.

use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse as _, Response};
use serde::Deserialize;
use tollgate_engine::history::Export;
use tollgate_engine::same_variants;
use utoipa::ToSchema;

/// The form of a review as a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ExportFormat {
    /// As `tollgate schema review` describes it.
    #[default]
    Json,
    /// For people, and read back by tollgate.
    Markdown,
    /// SARIF 2.1.0, for code scanning.
    Sarif,
    /// One page that stands alone.
    Html,
}

same_variants!(ExportFormat => Export: Json Markdown Sarif Html);

impl ExportFormat {
    /// The file, under a name without an ending.
    pub(crate) fn file(self, name: &str, text: String) -> Response {
        let (kind, ending) = match self {
            Self::Json => ("application/json", "json"),
            Self::Markdown => ("text/markdown; charset=utf-8", "md"),
            Self::Sarif => ("application/sarif+json", "sarif"),
            Self::Html => ("text/html; charset=utf-8", "html"),
        };
        let name = HeaderValue::from_str(&format!("attachment; filename=\"{name}.{ending}\""));
        let headers = [
            (header::CONTENT_TYPE, HeaderValue::from_static(kind)),
            (header::CONTENT_DISPOSITION, name.unwrap_or(HeaderValue::from_static("attachment"))),
        ];
        (headers, text).into_response()
    }
}
