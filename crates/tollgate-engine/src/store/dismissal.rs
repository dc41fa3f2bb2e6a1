//! Stores dismissed findings, and the dismissals that agents propose.
//!
//! A dismissal is made by a person and holds for its subject, or without one for the whole repository. A proposal has no
//! effect: reviews do not read it. A person confirms it, which makes it a dismissal, or rejects it.

use tollgate_core::finding::Severity;
use tollgate_core::fingerprint::Fingerprint;
use tollgate_core::suppress::{self, Dismissal};

use super::board::NewEvent;
use super::{Database, Store, Subject, board, number};
use crate::failure::Failure;
use crate::party::Party;
use crate::store::sql::{self, Connection, Error, Row, params};
use crate::timestamp::iso;

const SELECT: &str = "SELECT file, title, evidence, reason, who, made_ms, subject, proposed_by, scope, severity \
                      FROM dismissal WHERE repository = ?1 AND withdrawn_ms IS NULL ORDER BY id";
const SELECT_PROPOSED: &str = "SELECT file, title, evidence, reason, who, made_ms, subject, NULL, scope, severity \
                               FROM proposal WHERE repository = ?1 AND settled_ms IS NULL ORDER BY id";

/// A dismissal to be stored, or only to be proposed when an agent asks for it.
#[derive(Debug, Clone)]
pub struct NewDismissal {
    /// The finding and the reason.
    pub dismissal: Dismissal,
    /// The party that asks for it.
    pub party: Party,
    /// The line of work it is made on.
    pub subject: Subject,
    /// True when it holds for the whole repository.
    pub everywhere: bool,
}

/// A stored dismissal or proposal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DismissalRow {
    /// The finding and the reason.
    pub dismissal: Dismissal,
    /// The person who made it, or the agent that proposes it; `None` in data of earlier versions.
    pub who: Option<String>,
    /// The time, in milliseconds since 1970.
    pub made_ms: u64,
    /// The branch, pull request or feature it holds for; `None` for the whole repository.
    pub subject: Option<String>,
    /// The agent that proposed it, for a dismissal that a person confirmed.
    pub proposed_by: Option<String>,
    /// True for a proposal, which has no effect until a person confirms it.
    pub is_proposal: bool,
}

impl DismissalRow {
    /// True when it holds for a subject: made on it, or for the whole repository.
    #[must_use]
    pub fn is_for(&self, subject: &str) -> bool {
        self.subject.as_deref().is_none_or(|own| own == subject)
    }
}

impl Store {
    /// Dismisses a finding for as long as its evidence is the same; an agent only proposes it.
    pub fn dismiss(&mut self, new: &NewDismissal, now: u64) -> Result<DismissalRow, Failure> {
        self.write(|transaction| insert(transaction, new, now).map(|(row, _)| row))
    }

    /// Withdraws the dismissals of a finding on all subjects; false when there is none.
    pub fn withdraw(&mut self, repository: &str, fingerprint: Fingerprint, now: u64) -> Result<bool, Failure> {
        self.write(|transaction| withdraw(transaction, (repository, None), fingerprint, now))
    }

    /// Rejects the proposed dismissals of a finding; false when there is none.
    pub fn reject_proposal(
        &mut self,
        repository: &str,
        fingerprint: Fingerprint,
        who: &str,
        now: u64,
    ) -> Result<bool, Failure> {
        self.write(|transaction| reject(transaction, (repository, None), fingerprint, who, now))
    }

    /// The dismissals that hold for a subject, oldest first.
    pub fn dismissals_for(&self, repository: &str, subject: &str) -> Result<Vec<Dismissal>, Failure> {
        let rows = self.dismissals(repository)?.into_iter().filter(|row| row.is_for(subject));
        Ok(rows.map(|row| row.dismissal).collect())
    }

    /// The dismissals in a repository, oldest first.
    pub fn dismissals(&self, repository: &str) -> Result<Vec<DismissalRow>, Failure> {
        all(&self.connection, repository).map_err(|error| self.failed(&error))
    }

    /// The proposed dismissals in a repository, oldest first.
    pub fn proposals(&self, repository: &str) -> Result<Vec<DismissalRow>, Failure> {
        proposed(&self.connection, repository).map_err(|error| self.failed(&error))
    }
}

impl Database {
    /// Dismisses a finding, or proposes that, and appends events unless nothing changed.
    pub fn dismiss(&self, new: NewDismissal, now: u64, events: Vec<NewEvent>) -> Result<DismissalRow, Failure> {
        self.write(move |connection| {
            let (row, is_new) = insert(connection, &new, now)?;
            if is_new {
                board::announce_in(connection, &events, now)?;
            }
            Ok(row)
        })
    }

    /// Withdraws a dismissal of a subject, or of the whole repository, and appends events; false, without events, when
    /// there is none.
    pub fn withdraw(
        &self,
        subject: &Subject,
        fingerprint: Fingerprint,
        now: u64,
        events: Vec<NewEvent>,
    ) -> Result<bool, Failure> {
        let Subject { repository, name, .. } = subject.clone();
        self.write(move |connection| {
            let was_there = withdraw(connection, (&repository, Some(&name)), fingerprint, now)?;
            if was_there {
                board::announce_in(connection, &events, now)?;
            }
            Ok(was_there)
        })
    }

    /// Rejects the proposed dismissal of a finding in the name of a person, and appends events; false, without events,
    /// when there is none.
    pub fn reject_proposal(
        &self,
        subject: &Subject,
        fingerprint: Fingerprint,
        (who, now): (&str, u64),
        events: Vec<NewEvent>,
    ) -> Result<bool, Failure> {
        let (Subject { repository, name, .. }, who) = (subject.clone(), who.to_owned());
        self.write(move |connection| {
            let was_there = reject(connection, (&repository, Some(&name)), fingerprint, &who, now)?;
            if was_there {
                board::announce_in(connection, &events, now)?;
            }
            Ok(was_there)
        })
    }

    /// The dismissals in a repository, oldest first.
    pub fn dismissals(&self, repository: &str) -> Result<Vec<DismissalRow>, Failure> {
        self.read(|connection| all(connection, repository))
    }

    /// The proposed dismissals in a repository, oldest first.
    pub fn proposals(&self, repository: &str) -> Result<Vec<DismissalRow>, Failure> {
        self.read(|connection| proposed(connection, repository))
    }
}

/// Stores a dismissal or a proposal; false when the proposal is pending already.
pub(super) fn insert(connection: &Connection, new: &NewDismissal, now: u64) -> sql::Result<(DismissalRow, bool)> {
    let subject = (!new.everywhere).then(|| new.subject.name.clone());
    let (is_proposal, who) = (matches!(new.party, Party::Agent(_)), new.party.name());
    let mut proposed_by = None;
    if is_proposal {
        if let Some(pending) = pending(connection, new, subject.as_deref())? {
            return Ok((pending, false));
        }
        put(connection, "proposal", new, (subject.as_deref(), None), now)?;
    } else {
        proposed_by = confirm(connection, new, who, now)?;
        // A repeated dismissal replaces the reason.
        let sql = "UPDATE dismissal SET withdrawn_ms = ?4 WHERE repository = ?1 AND fingerprint = ?2 AND evidence = ?3 \
                   AND withdrawn_ms IS NULL AND (subject IS NULL OR subject = ?5) \
                   AND (scope IS NULL OR CAST(?6 AS TEXT) IS NULL OR scope = ?6)";
        let (print, evidence) = (new.dismissal.fingerprint.to_string(), new.dismissal.evidence.as_str());
        let (repository, name, scope) = (&new.subject.repository, &new.subject.name, new.dismissal.scope.as_deref());
        connection.execute(sql, params![repository, print, evidence, number(now), name, scope])?;
        put(connection, "dismissal", new, (subject.as_deref(), proposed_by.as_deref()), now)?;
    }
    let (dismissal, who) = (new.dismissal.clone(), Some(who.to_owned()));
    Ok((DismissalRow { dismissal, who, made_ms: now, subject, proposed_by, is_proposal }.named(), true))
}

/// The pending proposal of the same finding with the same scope.
fn pending(connection: &Connection, new: &NewDismissal, subject: Option<&str>) -> sql::Result<Option<DismissalRow>> {
    let is_same = |row: &DismissalRow| {
        let (known, new) = (&row.dismissal, &new.dismissal);
        let is_finding = known.fingerprint == new.fingerprint && known.evidence == new.evidence;
        is_finding && known.scope == new.scope && row.subject.as_deref() == subject
    };
    Ok(proposed(connection, &new.subject.repository)?.into_iter().find(is_same))
}

fn put(
    connection: &Connection,
    table: &str,
    new: &NewDismissal,
    (subject, proposed_by): (Option<&str>, Option<&str>),
    now: u64,
) -> sql::Result<()> {
    let Dismissal { fingerprint, file, evidence, reason, scope, severity, .. } = &new.dismissal;
    let (scope, severity) = (scope.as_deref(), severity.map(Severity::as_str));
    let (print, title, who) = (fingerprint.to_string(), new.dismissal.title().as_str(), new.party.name());
    let (repository, file, now) = (&new.subject.repository, file.as_str(), number(now));
    let columns = "repository, fingerprint, file, title, evidence, reason, made_ms, who, subject, scope, severity";
    let mut columns = columns.to_owned();
    let mut places = "?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11".to_owned();
    let mut values =
        params![repository, print, file, title, evidence, reason, now, who, subject, scope, severity].to_vec();
    if proposed_by.is_some() {
        columns.push_str(", proposed_by");
        places.push_str(", ?12");
        values.push(&proposed_by);
    }
    connection.execute(&format!("INSERT INTO {table} ({columns}) VALUES ({places})"), values.as_slice())?;
    Ok(())
}

/// Settles the pending proposal of the same finding as confirmed; the agent that made it.
fn confirm(connection: &Connection, new: &NewDismissal, who: &str, now: u64) -> sql::Result<Option<String>> {
    let same = "repository = ?1 AND fingerprint = ?2 AND evidence = ?3 AND settled_ms IS NULL \
                AND (subject IS NULL OR subject = ?4) \
                AND (scope IS NULL OR CAST(?5 AS TEXT) IS NULL OR scope = ?5)";
    let (print, evidence) = (new.dismissal.fingerprint.to_string(), new.dismissal.evidence.as_str());
    let (repository, subject) = (new.subject.repository.as_str(), new.subject.name.as_str());
    let scope = new.dismissal.scope.as_deref();
    let sql = format!("SELECT who FROM proposal WHERE {same} ORDER BY id");
    let mut statement = connection.prepare(&sql)?;
    let found = statement.query_map(params![repository, print, evidence, subject, scope], |row| row.get(0))?;
    let by = found.collect::<sql::Result<Vec<String>>>()?.into_iter().next();
    if by.is_some() {
        let sql = format!("UPDATE proposal SET settled_ms = ?6, settled_by = ?7, outcome = 'confirmed' WHERE {same}");
        connection.execute(&sql, params![repository, print, evidence, subject, scope, number(now), who])?;
    }
    Ok(by)
}

/// Withdraws the dismissals of a finding: those of a subject and of the whole repository, or without a subject all.
pub(super) fn withdraw(
    connection: &Connection,
    (repository, subject): (&str, Option<&str>),
    fingerprint: Fingerprint,
    now: u64,
) -> sql::Result<bool> {
    let n_rows = connection.execute(
        "UPDATE dismissal SET withdrawn_ms = ?3 WHERE repository = ?1 AND fingerprint = ?2 AND withdrawn_ms IS NULL \
         AND (CAST(?4 AS TEXT) IS NULL OR subject IS NULL OR subject = ?4)",
        params![repository, fingerprint.to_string(), number(now), subject],
    )?;
    Ok(n_rows > 0)
}

/// Rejects the proposed dismissals of a finding.
pub(super) fn reject(
    connection: &Connection,
    (repository, subject): (&str, Option<&str>),
    fingerprint: Fingerprint,
    who: &str,
    now: u64,
) -> sql::Result<bool> {
    let n_rows = connection.execute(
        "UPDATE proposal SET settled_ms = ?3, settled_by = ?5, outcome = 'rejected' WHERE repository = ?1 \
         AND fingerprint = ?2 AND settled_ms IS NULL AND (CAST(?4 AS TEXT) IS NULL OR subject IS NULL OR subject = ?4)",
        params![repository, fingerprint.to_string(), number(now), subject, who],
    )?;
    Ok(n_rows > 0)
}

fn all(connection: &Connection, repository: &str) -> sql::Result<Vec<DismissalRow>> {
    read_all(connection, SELECT, repository, false)
}

fn proposed(connection: &Connection, repository: &str) -> sql::Result<Vec<DismissalRow>> {
    read_all(connection, SELECT_PROPOSED, repository, true)
}

fn read_all(
    connection: &Connection,
    select: &str,
    repository: &str,
    is_proposal: bool,
) -> sql::Result<Vec<DismissalRow>> {
    let mut statement = connection.prepare(select)?;
    let rows = statement.query_map([repository], |row| read(row, is_proposal))?.collect::<sql::Result<Vec<_>>>()?;
    Ok(rows.into_iter().flatten().collect())
}

/// A row; `None` for one of an earlier version without a reason in words, which does not hold.
fn read(row: &Row<'_>, is_proposal: bool) -> sql::Result<Option<DismissalRow>> {
    let (file, title, reason): (String, String, String) = (row.get(0)?, row.get(1)?, row.get(3)?);
    if suppress::reason(&reason).is_err() {
        return Ok(None);
    }
    let dismissal = Dismissal::parse(&file, &title, row.get(2)?, reason, "");
    let dismissal = dismissal.map_err(|problem| Error::Damaged(problem.to_string()))?;
    let (scope, severity): (Option<String>, Option<String>) = (row.get(8)?, row.get(9)?);
    let dismissal = dismissal.limited_to(scope, severity.as_deref().and_then(Severity::parse_exact));
    let (who, made_ms, subject, proposed_by) = (row.get(4)?, row.get(5)?, row.get(6)?, row.get(7)?);
    Ok(Some(DismissalRow { dismissal, who, made_ms, subject, proposed_by, is_proposal }.named()))
}

impl DismissalRow {
    /// The row with its author, time and scope in its dismissal, which reviews show.
    fn named(self) -> Self {
        let Self { dismissal, who, made_ms, subject, proposed_by, is_proposal } = self;
        let mut dismissal = dismissal.made(who.as_deref(), iso(made_ms), subject.is_none());
        dismissal.confirms(proposed_by.as_deref());
        Self { dismissal, who, made_ms, subject, proposed_by, is_proposal }
    }
}
