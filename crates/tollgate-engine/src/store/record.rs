//! Stores a run that has ended, with its findings.

use tollgate_core::coverage::Coverage;
use tollgate_core::finding::Finding;
use tollgate_core::fingerprint::Fingerprint;
use tollgate_core::gate::Gate;
use tollgate_core::report::json;
use tollgate_core::review::Review;

use super::{Subject, figures, number, snapshot_key};
use crate::store::sql::{self, Connection, params};

/// A run that has ended, to be stored.
#[derive(Debug, Clone)]
pub struct RunRecord {
    /// Its subject.
    pub subject: Subject,
    /// Its start and end, in milliseconds since 1970.
    pub time: (u64, u64),
    /// The program's version.
    pub version: String,
    /// The review, or the reason of the failure.
    pub outcome: Result<Box<CompletedRun>, String>,
}

/// A completed run.
#[derive(Debug, Clone)]
pub struct CompletedRun {
    /// The review.
    pub review: Review,
    /// The result of the gate.
    pub gate: Gate,
    /// The number of added lines.
    pub n_added: usize,
    /// A snapshot of the change, by the hashes of its lines.
    pub snapshot: Vec<u8>,
    /// The prior run.
    pub prior: Option<i64>,
    /// The indices of findings that are new since the prior run; `None` without one.
    pub new: Option<Vec<usize>>,
}

impl RunRecord {
    /// A completed run of this version of the program.
    #[must_use]
    pub fn completed(run: CompletedRun, subject: Subject, time: (u64, u64)) -> Self {
        Self { subject, time, version: env!("CARGO_PKG_VERSION").to_owned(), outcome: Ok(Box::new(run)) }
    }

    /// A failed run of this version of the program.
    #[must_use]
    pub fn failed(problem: &str, subject: Subject, time: (u64, u64)) -> Self {
        Self { subject, time, version: env!("CARGO_PKG_VERSION").to_owned(), outcome: Err(problem.to_owned()) }
    }
}

/// Stores a run within a transaction, and returns its number.
pub(super) fn record_in(connection: &Connection, record: &RunRecord) -> sql::Result<i64> {
    let id = insert_run(connection, record)?;
    if let Ok(completed) = &record.outcome {
        insert_findings(connection, id, completed)?;
    }
    figures::add(connection, id)?;
    Ok(id)
}

fn insert_run(connection: &Connection, record: &RunRecord) -> sql::Result<i64> {
    let RunRecord { subject, time, version, outcome } = record;
    let completed = outcome.as_deref().ok();
    let review = completed.map(|completed| &completed.review);
    let covered = review.and_then(|review| review.coverage.as_ref()).map(Coverage::count).unwrap_or_default();
    let text = completed.map(|completed| {
        let options = json::Options { gate: Some(completed.gate), ..json::Options::default() };
        json::review_value(&completed.review, options).to_string()
    });
    connection.query_row(
        "INSERT INTO run (repository, subject, scope, state, started_ms, finished_ms, version, head, base, compared, \
         title, verdict, gate, problem, n_added, reviewed, skipped, not_reviewed, prior, review, snapshot, snapshot_key) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22) \
         RETURNING id",
        params![
            subject.repository,
            subject.name,
            subject.scope,
            if review.is_some() { "completed" } else { "failed" },
            number(time.0),
            number(time.1),
            version,
            review.map_or("", |review| review.reviewed.as_str()),
            review.map_or("", |review| review.base.as_str()),
            review.and_then(|review| review.compared.as_deref()).unwrap_or_default(),
            review.and_then(|review| review.title.as_deref()),
            review.map(|review| review.verdict().as_str()),
            completed.map(|completed| completed.gate.as_str()),
            outcome.as_ref().err(),
            completed.map_or(0, |completed| number(completed.n_added)),
            number(covered.reviewed),
            number(covered.skipped),
            number(covered.not_reviewed),
            completed.and_then(|completed| completed.prior),
            text,
            completed.map(|completed| &completed.snapshot),
            snapshot_key(completed.map_or(&[][..], |completed| &completed.snapshot)),
        ],
        |row| row.get(0),
    )
}

fn insert_findings(connection: &Connection, run: i64, completed: &CompletedRun) -> sql::Result<()> {
    let mut insert = connection.prepare(
        "INSERT INTO finding (run, id, fingerprint, file, line_start, line_end, severity, category, rule, reviewer, \
         summary, withheld, since_last) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
    )?;
    let mut add = |finding: &Finding, withheld: Option<&str>, since_last: Option<&str>| {
        let (lines, origin) = (finding.location.lines, &finding.origin);
        insert.execute(params![
            run,
            finding.id.to_string(),
            Fingerprint::of(finding).to_string(),
            finding.location.file.as_str(),
            lines.start(),
            lines.end(),
            finding.severity.as_str(),
            finding.category.as_str(),
            origin.rule,
            origin.reviewer,
            finding.summary.as_str(),
            withheld,
            since_last,
        ])
    };
    for (index, finding) in completed.review.findings.iter().enumerate() {
        let since_last = completed.new.as_ref().map(|new| if new.contains(&index) { "new" } else { "still open" });
        add(finding, None, since_last)?;
    }
    for withheld in &completed.review.withheld {
        add(&withheld.finding, Some(withheld.why.as_str()), None)?;
    }
    Ok(())
}
