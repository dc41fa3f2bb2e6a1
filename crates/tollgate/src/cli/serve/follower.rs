//! Follows the events of the board and logs them.

use std::time::Duration;

use serde_json::Value;
use tokio_util::sync::CancellationToken;
use tollgate_core::board::{FeatureId, feature_event};
use tollgate_engine::board::Board;
use tollgate_engine::failure::Failure;
use tollgate_engine::store::board::EventRow;

use super::{Clock, event_log};
use crate::cli::board;
use crate::cli::demo::Demo;
use crate::cli::output;

/// The longest wait for a notification of new events.
const IDLE: Duration = Duration::from_secs(10);
/// How soon the events are read again after a failure.
const RETRY: Duration = Duration::from_millis(200);
/// How many events are read at once.
const AT_ONCE: usize = 500;

/// Logs the events of a board.
pub(super) struct Follower {
    pub(super) board: Board,
    pub(super) demo: Option<Demo>,
    pub(super) clock: Clock,
    /// Cancelled when no more events follow.
    pub(super) until: CancellationToken,
}

impl Follower {
    /// Logs all events after a sequence number.
    pub(super) fn run(self, from: u64) {
        let mut seq = from;
        let signal = self.board.database().event_signal();
        loop {
            // Read first, so that events before the end are still logged.
            let is_last = self.until.is_cancelled();
            let seen = signal.count();
            let is_told = self.tell(&mut seq).is_ok();
            if is_last {
                return;
            }
            // A failing database is reported by the thread that writes to it.
            let wait = if is_told { IDLE } else { RETRY };
            signal.wait_unless_cancelled(seen, wait, &self.until);
        }
    }

    fn tell(&self, seq: &mut u64) -> Result<(), Failure> {
        loop {
            let rows = self.board.database().events_after(*seq, AT_ONCE, None)?;
            for row in &rows {
                *seq = row.seq;
                self.tell_one(row);
            }
            if rows.len() < AT_ONCE {
                return Ok(());
            }
        }
    }

    fn tell_one(&self, row: &EventRow) {
        let (Some(project), Some(feature)) = (row.event.project, &row.event.feature) else { return };
        let payload: Value = serde_json::from_str(&row.event.payload).unwrap_or_default();
        let detail = if self.demo.is_some() { event_log::Detail::Story } else { event_log::Detail::Log };
        if let Some(told) = event_log::tell(&row.event.kind, &payload, detail) {
            output::say(&format!("{} {}{told}", self.clock.time(row.at_ms), self.name(project, feature)));
        }
        if let Some(demo) = &self.demo
            && row.event.kind == feature_event::STATUS_CHANGED
            && payload["status"] == "waiting_approval"
        {
            output::say(&demo.epilogue(feature));
        }
    }

    /// What a feature is called before what happened to it. A demonstration has only one.
    fn name(&self, project: i64, feature: &FeatureId) -> String {
        match self.board.database().feature(project, feature) {
            _ if self.demo.is_some() => String::new(),
            Ok(Some(known)) => format!("{} ({}): ", board::title(&known), board::short(feature)),
            Ok(None) | Err(_) => format!("{feature}: "),
        }
    }
}
