//! What people told us on a pull request, and what follows from it.
//!
//! The words are those of the event, and each comment is heard once. What follows and the answer are stored together.

use serde::{Deserialize, Serialize};
use tollgate_core::fingerprint::Fingerprint;
use tollgate_core::pull::command::Command;
use tollgate_core::pull::webhook_event::CommentRef;
use tollgate_core::suppress::Dismissal;

use super::claim::{FencingToken, claimed};
use super::post::{self, NewPost};
use super::ready::{self, Priority};
use super::{Fenced, LeaseLost, damaged, delivery};
use crate::failure::Failure;
use crate::store::record::{self, RunRecord};
use crate::store::sql::{self, Connection, Row, params};
use crate::store::{Database, board, dismissal, number};

/// What we were told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BotCommand {
    /// To do something, in a comment.
    Comment {
        /// The comment.
        place: CommentRef,
        /// What.
        command: Command,
    },
    /// That a thread was resolved or opened again.
    ThreadResolved {
        /// The comment that began it.
        root: u64,
        /// Whether it is resolved now.
        resolved: bool,
    },
}

/// What we were told, as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BotCommandRow {
    /// Its number in this database.
    pub id: i64,
    /// Who told us.
    pub who: String,
    /// What.
    pub told: BotCommand,
    /// When, in milliseconds since 1970.
    pub at_ms: u64,
}

/// What follows from what we were told.
#[derive(Debug, Clone)]
pub enum BotEffect {
    /// Nothing but an answer.
    Nothing,
    /// Another review.
    Review {
        /// Of all of it, as if for the first time.
        whole: bool,
    },
    /// No more reviews by themselves.
    Pause,
    /// Reviews by themselves again.
    Resume,
    /// A finding is not to be heard again, and the stored review is judged anew.
    Dismiss {
        /// The repository, as the memory calls it.
        repository: String,
        /// What is not to be heard.
        dismissal: Box<Dismissal>,
        /// The review without it; `None` when there is none to be judged anew.
        record: Option<Box<RunRecord>>,
    },
    /// A finding is to be heard again.
    Withdraw {
        /// The repository, as the memory calls it.
        repository: String,
        /// Which.
        fingerprint: Fingerprint,
    },
}

/// What we were told, and what came of it.
#[derive(Debug, Clone)]
pub struct BotReply {
    /// What we were told.
    pub told: i64,
    /// Who told us.
    pub who: String,
    /// What follows.
    pub effect: BotEffect,
    /// What is to be seen of it.
    pub posts: Vec<NewPost>,
    /// Now, in milliseconds since 1970.
    pub at_ms: u64,
}

impl Database {
    /// What we were told about a pull request and have not answered, oldest first.
    pub fn due_bot_commands(&self, pull: i64) -> Result<Vec<BotCommandRow>, Failure> {
        let sql =
            "SELECT id, kind, comment, root, who, what, at_ms FROM told WHERE pull = ?1 AND state = 'due' ORDER BY id";
        self.read(|connection| connection.prepare(sql)?.query_map([pull], of_row)?.collect())
    }

    /// Stores what follows from what we were told, with the answer.
    pub fn store_bot_reply(&self, token: FencingToken, answered: BotReply) -> Fenced<()> {
        self.decide(move |connection| {
            let Some(pull) = claimed(connection, token)? else { return Ok(Err(LeaseLost)) };
            let sql = "UPDATE told SET state = 'done' WHERE id = ?1 AND pull = ?2 AND state = 'due'";
            if connection.execute(sql, params![answered.told, pull])? > 0 {
                take_effect(connection, pull, &answered)?;
                post::put(connection, pull, &answered.posts)?;
                ready::refresh(connection, pull)?;
            }
            Ok(Ok(()))
        })
    }
}

fn take_effect(connection: &Connection, pull: i64, answered: &BotReply) -> sql::Result<()> {
    let at_ms = answered.at_ms;
    match &answered.effect {
        BotEffect::Nothing => Ok(()),
        BotEffect::Review { whole } => {
            delivery::want(connection, pull, at_ms, (0, Priority::Asked))?;
            delivery::again(connection, pull, *whole)
        }
        BotEffect::Pause => {
            connection.execute("UPDATE pull SET paused_by = ?2 WHERE id = ?1", params![pull, answered.who]).map(drop)
        }
        BotEffect::Resume => {
            connection.execute("UPDATE pull SET paused_by = NULL WHERE id = ?1", [pull])?;
            // What came while it was paused is looked at now.
            delivery::want(connection, pull, at_ms, (0, Priority::Asked))
        }
        BotEffect::Dismiss { repository, dismissal, record } => {
            dismissal::insert(connection, repository, dismissal, Some(&answered.who), at_ms)?;
            let Some(record) = record else { return Ok(()) };
            let run = record::record_in(connection, record)?;
            board::announce_run(connection, run, record)?;
            connection.execute("UPDATE pull SET run = ?2 WHERE id = ?1", params![pull, run]).map(drop)
        }
        BotEffect::Withdraw { repository, fingerprint } => {
            if dismissal::withdraw(connection, repository, *fingerprint, at_ms)? {
                // It counts again, which only a review of all can say: what was withheld is not looked at otherwise.
                delivery::want(connection, pull, at_ms, (0, Priority::Asked))?;
                delivery::again(connection, pull, true)?;
            }
            Ok(())
        }
    }
}

/// Notes a command; one that was noted before stays what it was.
pub(super) fn insert(
    connection: &Connection,
    pull: i64,
    (kind, comment, root): (&str, u64, Option<u64>),
    who: &str,
    command: &Command,
    at_ms: u64,
) -> sql::Result<()> {
    let sql = "INSERT INTO told (pull, kind, comment, root, who, what, at_ms, state) \
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 'due') ON CONFLICT DO NOTHING";
    let what = serde_json::to_string(&Words::from(command)).unwrap_or_default();
    let values = params![pull, kind, number(comment), root.map(number), who, what, number(at_ms)];
    connection.prepare(sql)?.execute(values)?;
    was_told(connection, pull, at_ms)
}

/// Notes that a thread was resolved or opened again; what was noted last stands.
pub(super) fn insert_resolved(
    connection: &Connection,
    pull: i64,
    root: u64,
    who: &str,
    resolved: bool,
    at_ms: u64,
) -> sql::Result<()> {
    let sql = "INSERT INTO told (pull, kind, comment, who, what, at_ms, state) \
               VALUES (?1, 'resolved', ?2, ?3, ?4, ?5, 'due') ON CONFLICT (pull, kind, comment) DO UPDATE SET \
               who = excluded.who, what = excluded.what, at_ms = excluded.at_ms, state = 'due'";
    let what = if resolved { "true" } else { "false" };
    connection.prepare(sql)?.execute(params![pull, number(root), who, what, number(at_ms)])?;
    was_told(connection, pull, at_ms)
}

/// A person waits for an answer.
fn was_told(connection: &Connection, pull: i64, at_ms: u64) -> sql::Result<()> {
    let sql = "UPDATE pull SET since_ms = ?2 WHERE id = ?1 AND ready_ms IS NULL";
    connection.prepare(sql)?.execute(params![pull, number(at_ms)])?;
    ready::raise(connection, pull, Priority::Asked)?;
    ready::refresh(connection, pull)
}

fn of_row(row: &Row<'_>) -> sql::Result<BotCommandRow> {
    let (kind, what): (String, String) = (row.get("kind")?, row.get("what")?);
    let comment: u64 = row.get("comment")?;
    let root: Option<u64> = row.get("root")?;
    let told = if kind == "resolved" {
        BotCommand::ThreadResolved { root: comment, resolved: what == "true" }
    } else {
        let words: Words = serde_json::from_str(&what).map_err(|error| damaged(error.to_string()))?;
        let place = root.map_or(CommentRef::Conversation(comment), |root| CommentRef::Thread { comment, root });
        BotCommand::Comment { place, command: words.into() }
    };
    Ok(BotCommandRow { id: row.get("id")?, who: row.get("who")?, told, at_ms: row.get("at_ms")? })
}

/// A command as it is stored.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Words {
    Review,
    FullReview,
    Pause,
    Resume,
    Dismiss { finding: Option<String>, reason: String },
    Explain { finding: Option<String> },
    Help,
    Unknown { words: String },
}

impl From<&Command> for Words {
    fn from(command: &Command) -> Self {
        match command.clone() {
            Command::Review => Self::Review,
            Command::FullReview => Self::FullReview,
            Command::Pause => Self::Pause,
            Command::Resume => Self::Resume,
            Command::Dismiss { finding, reason } => Self::Dismiss { finding, reason },
            Command::Explain { finding } => Self::Explain { finding },
            Command::Help => Self::Help,
            Command::Unknown { words } => Self::Unknown { words },
        }
    }
}

impl From<Words> for Command {
    fn from(words: Words) -> Self {
        match words {
            Words::Review => Self::Review,
            Words::FullReview => Self::FullReview,
            Words::Pause => Self::Pause,
            Words::Resume => Self::Resume,
            Words::Dismiss { finding, reason } => Self::Dismiss { finding, reason },
            Words::Explain { finding } => Self::Explain { finding },
            Words::Help => Self::Help,
            Words::Unknown { words } => Self::Unknown { words },
        }
    }
}
