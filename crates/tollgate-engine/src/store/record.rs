//! Stores a run that has ended, with its findings.

use tollgate_core::coverage::Coverage;
use tollgate_core::finding::Finding;
use tollgate_core::fingerprint::Fingerprint;
use tollgate_core::gate::Gate;
use tollgate_core::report::json;
use tollgate_core::review::Review;

use super::{Completed, Ended, Outcome, Subject, figures, number, snapshot_key};
use crate::store::sql::{self, Connection, params};

/// An owned run that has ended, to be stored with other rows.
#[derive(Debug, Clone)]
pub struct Record {
    /// Its subject.
    pub subject: Subject,
    /// Its start and end, in milliseconds since 1970.
    pub time: (u64, u64),
    /// The program's version.
    pub version: String,
    /// The review, or the reason of the failure.
    pub outcome: Result<Box<Reviewed>, String>,
}

/// A completed run.
#[derive(Debug, Clone)]
pub struct Reviewed {
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

impl Record {
    /// A completed run.
    #[must_use]
    pub fn of(completed: &Completed<'_>, subject: Subject, time: (u64, u64), version: &str) -> Self {
        let reviewed = Reviewed {
            review: completed.review.clone(),
            gate: completed.gate,
            n_added: completed.n_added,
            snapshot: completed.snapshot.to_vec(),
            prior: completed.prior,
            new: completed.new.map(<[usize]>::to_vec),
        };
        Self { subject, time, version: version.to_owned(), outcome: Ok(Box::new(reviewed)) }
    }

    /// A borrowed view.
    #[must_use]
    pub fn ended(&self) -> Ended<'_> {
        let outcome = match &self.outcome {
            Ok(reviewed) => Outcome::Completed(Completed {
                review: &reviewed.review,
                gate: reviewed.gate,
                n_added: reviewed.n_added,
                snapshot: &reviewed.snapshot,
                prior: reviewed.prior,
                new: reviewed.new.as_deref(),
            }),
            Err(problem) => Outcome::Failed(problem),
        };
        Ended { subject: &self.subject, time: self.time, version: &self.version, outcome }
    }
}

/// Stores a run within a transaction, and returns its number.
pub(super) fn record_in(connection: &Connection, ended: &Ended<'_>) -> sql::Result<i64> {
    let id = insert_run(connection, ended)?;
    if let Outcome::Completed(completed) = ended.outcome {
        insert_findings(connection, id, &completed)?;
    }
    figures::add(connection, id)?;
    Ok(id)
}

fn insert_run(connection: &Connection, ended: &Ended<'_>) -> sql::Result<i64> {
    let Ended { subject, time, version, outcome } = ended;
    let completed = match outcome {
        Outcome::Completed(completed) => Some(completed),
        Outcome::Failed(_) => None,
    };
    let review = completed.map(|completed| completed.review);
    let covered = review.and_then(|review| review.coverage.as_ref()).map(Coverage::count).unwrap_or_default();
    let text = completed.map(|completed| {
        let options = json::Options { gate: Some(completed.gate), ..json::Options::default() };
        json::review_value(completed.review, options).to_string()
    });
    let problem = match outcome {
        Outcome::Failed(problem) => Some(*problem),
        Outcome::Completed(_) => None,
    };
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
            problem,
            completed.map_or(0, |completed| number(completed.n_added)),
            number(covered.reviewed),
            number(covered.skipped),
            number(covered.not_reviewed),
            completed.and_then(|completed| completed.prior),
            text,
            completed.map(|completed| completed.snapshot),
            snapshot_key(completed.map_or(&[][..], |completed| completed.snapshot)),
        ],
        |row| row.get(0),
    )
}

fn insert_findings(connection: &Connection, run: i64, completed: &Completed<'_>) -> sql::Result<()> {
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
        let since_last = completed.new.map(|new| if new.contains(&index) { "new" } else { "still open" });
        add(finding, None, since_last)?;
    }
    for withheld in &completed.review.withheld {
        add(&withheld.finding, Some(withheld.why.as_str()), None)?;
    }
    Ok(())
}
