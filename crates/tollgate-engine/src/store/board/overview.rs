//! The most recently reviewed features across projects.

use tollgate_core::board::FeatureId;

use super::id;
use crate::failure::Failure;
use crate::store::Database;
use crate::store::sql::{Row, params};

/// A reviewed feature.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReviewedRow {
    /// Its project.
    pub project: i64,
    /// The name of the project.
    pub project_name: String,
    /// Its id.
    pub feature: FeatureId,
    /// Its title, or the first line of its description.
    pub title: String,
    /// The last reviewed iteration.
    pub iteration: u32,
    /// The time of the review, in milliseconds since 1970.
    pub stored_ms: u64,
}

impl Database {
    /// The reviewed features of one project or of all, the most recent first.
    pub fn reviewed(&self, project: Option<i64>, limit: usize) -> Result<Vec<ReviewedRow>, Failure> {
        let sql = "SELECT iteration.project, project.name, feature.id, feature.title, feature.first_line, \
                   iteration.number, iteration.stored_ms, max(iteration.id) AS last FROM iteration \
                   JOIN feature ON feature.project = iteration.project AND feature.id = iteration.feature \
                   JOIN project ON project.id = iteration.project \
                   WHERE project.removed_ms IS NULL AND feature.deleted_ms IS NULL AND iteration.commit_id IS NOT NULL \
                   AND (CAST(?1 AS BIGINT) IS NULL OR iteration.project = ?1) \
                   GROUP BY iteration.project, iteration.feature ORDER BY last DESC LIMIT ?2";
        let read = |row: &Row<'_>| {
            let (title, first_line): (String, String) = (row.get(3)?, row.get(4)?);
            Ok(ReviewedRow {
                project: row.get(0)?,
                project_name: row.get(1)?,
                feature: id(row.get(2)?)?,
                title: if title.trim().is_empty() { first_line } else { title },
                iteration: row.get(5)?,
                stored_ms: row.get(6)?,
            })
        };
        self.read(|connection| connection.prepare(sql)?.query_map(params![project, limit], read)?.collect())
    }
}
