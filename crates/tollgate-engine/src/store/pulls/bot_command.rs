//! Commands that people give the bot on a pull request, and their effects.
//!
//! A command is stored as text of the event, and each comment is handled once (idempotent). The effect and the reply are stored
//! together.

use serde::{Deserialize, Serialize};
use tollgate_core::fingerprint::Fingerprint;
use tollgate_core::pull::command::Command;
use tollgate_core::pull::webhook_event::CommentRef;

use super::claim::claimed;
use super::post::{self, NewPost};
use super::ready::{self, Priority};
use super::{Fenced, FencingToken, LeaseLost, damaged, delivery};
use crate::failure::Failure;
use crate::store::record::{self, RunRecord};
use crate::store::sql::{self, Connection, Row, params};
use crate::store::{Database, NewDismissal, Subject, board, dismissal, number};

/// A command to the bot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BotCommand {
    /// A command in a comment.
    Comment {
        /// The comment.
        place: CommentRef,
        /// The command.
        command: Command,
    },
    /// A thread was resolved or reopened.
    ThreadResolved {
        /// The first comment of the thread.
        root: u64,
        /// Whether it is resolved now.
        resolved: bool,
    },
}

/// A stored command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BotCommandRow {
    /// Its number in this database.
    pub id: i64,
    /// The login of its author.
    pub who: String,
    /// The command.
    pub told: BotCommand,
    /// When it was given, in milliseconds since 1970.
    pub at_ms: u64,
}

impl BotCommandRow {
    /// True for a bot, which may only propose.
    pub fn is_by_bot(&self) -> bool {
        self.who.ends_with(BOT_SUFFIX)
    }
}

/// The end of the login of a bot. No person's login can have it.
pub(super) const BOT_SUFFIX: &str = "[bot]";

/// The effect of a command.
#[derive(Debug, Clone)]
pub enum BotEffect {
    /// A reply only.
    Nothing,
    /// Another review.
    Review {
        /// A full review, as if it were the first.
        whole: bool,
    },
    /// Pauses automatic reviews.
    Pause,
    /// Resumes automatic reviews.
    Resume,
    /// Dismisses a finding and stores the review again without it.
    Dismiss {
        /// The dismissal; that of a bot is only proposed.
        dismissal: Box<NewDismissal>,
        /// The review without the finding; `None` when there is none to update.
        record: Option<Box<RunRecord>>,
    },
    /// Withdraws a dismissal.
    Withdraw {
        /// The pull request, as the store names it.
        subject: Subject,
        /// The fingerprint of the finding.
        fingerprint: Fingerprint,
        /// The review with the finding; `None` when only another review can find it.
        record: Option<Box<RunRecord>>,
    },
    /// Rejects a proposed dismissal.
    RejectProposal {
        /// The pull request, as the store names it.
        subject: Subject,
        /// The fingerprint of the finding.
        fingerprint: Fingerprint,
    },
}

/// A handled command.
#[derive(Debug, Clone)]
pub struct BotReply {
    /// The number of the command.
    pub told: i64,
    /// When it was given. A later command that replaced it meanwhile, as the last state of a thread does, stays due.
    pub told_ms: u64,
    /// The login of its author.
    pub who: String,
    /// Its effect.
    pub effect: BotEffect,
    /// The posts of the reply.
    pub posts: Vec<NewPost>,
    /// Now, in milliseconds since 1970.
    pub at_ms: u64,
}

impl Database {
    /// The commands on a pull request that are not handled yet, oldest first.
    pub fn due_bot_commands(&self, pull: i64) -> Result<Vec<BotCommandRow>, Failure> {
        let sql =
            "SELECT id, kind, comment, root, who, what, at_ms FROM told WHERE pull = ?1 AND state = 'due' ORDER BY id";
        self.read(|connection| connection.prepare(sql)?.query_map([pull], of_row)?.collect())
    }

    /// Stores the effect of a command together with the reply.
    pub fn store_bot_reply(&self, token: FencingToken, answered: BotReply) -> Fenced<()> {
        self.decide(move |connection| {
            let Some(pull) = claimed(connection, token)? else { return Ok(Err(LeaseLost)) };
            let sql = "UPDATE told SET state = 'done' WHERE id = ?1 AND pull = ?2 AND state = 'due' \
                       AND at_ms = ?3 AND who = ?4";
            let values = params![answered.told, pull, number(answered.told_ms), answered.who];
            if connection.execute(sql, values)? > 0 {
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
            // Pushes during the pause are reviewed now.
            delivery::want(connection, pull, at_ms, (0, Priority::Asked))
        }
        BotEffect::Dismiss { dismissal, record } => {
            dismissal::insert(connection, dismissal, at_ms)?;
            record.as_ref().map_or(Ok(()), |record| store_again(connection, pull, record))
        }
        BotEffect::RejectProposal { subject, fingerprint } => {
            let place = (subject.repository.as_str(), Some(subject.name.as_str()));
            dismissal::reject(connection, place, *fingerprint, &answered.who, at_ms).map(drop)
        }
        BotEffect::Withdraw { subject, fingerprint, record } => {
            let place = (subject.repository.as_str(), Some(subject.name.as_str()));
            if dismissal::withdraw(connection, place, *fingerprint, at_ms)? {
                if let Some(record) = record {
                    return store_again(connection, pull, record);
                }
                // The last review does not have the finding. Only a full one can find it.
                delivery::want(connection, pull, at_ms, (0, Priority::Asked))?;
                delivery::again(connection, pull, true)?;
            }
            Ok(())
        }
    }
}

/// Stores the last review of a pull request again, after a dismissal or its end.
fn store_again(connection: &Connection, pull: i64, record: &RunRecord) -> sql::Result<()> {
    let run = record::record_in(connection, record)?;
    board::announce_run(connection, run, record)?;
    connection.execute("UPDATE pull SET run = ?2 WHERE id = ?1", params![pull, run]).map(drop)
}

/// Stores a command; a redelivered one is ignored.
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
    let what = serde_json::to_string(&StoredCommand(command.clone())).unwrap_or_default();
    let values = params![pull, kind, number(comment), root.map(number), who, what, number(at_ms)];
    connection.prepare(sql)?.execute(values)?;
    was_told(connection, pull, at_ms)
}

/// Stores that a thread was resolved or reopened; the last state wins.
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

/// Makes the pull request due, since a person waits for a reply.
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
        let StoredCommand(command) = serde_json::from_str(&what).map_err(|error| damaged(error.to_string()))?;
        let place = root.map_or(CommentRef::Conversation(comment), |root| CommentRef::Thread { comment, root });
        BotCommand::Comment { place, command }
    };
    Ok(BotCommandRow { id: row.get("id")?, who: row.get("who")?, told, at_ms: row.get("at_ms")? })
}

/// A command, serialized in its stored form.
#[derive(Serialize, Deserialize)]
struct StoredCommand(#[serde(with = "Words")] Command);

/// The stored form of a command.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Command", rename_all = "kebab-case")]
enum Words {
    Review,
    FullReview,
    Pause,
    Resume,
    Dismiss {
        finding: Option<String>,
        reason: String,
        #[serde(default)]
        everywhere: bool,
    },
    Confirm {
        finding: Option<String>,
    },
    Reject {
        finding: Option<String>,
    },
    Explain {
        finding: Option<String>,
    },
    Help,
    Unknown {
        words: String,
    },
}
