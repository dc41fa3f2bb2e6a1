//! Follows the events of the board and logs them.

use std::time::Duration;

use serde_json::Value;
use tollgate_core::board::{FeatureId, feature_event};
use tollgate_engine::failure::Failure;
use tollgate_engine::store::board::EventRow;

use super::BackgroundTasks;
use super::event_log::{self, Detail};

/// The longest wait for a notification of new events.
const IDLE: Duration = Duration::from_secs(5 * 60);
/// How soon the events are read again after a failure.
const RETRY: Duration = Duration::from_millis(200);
/// How many events are read at once.
const AT_ONCE: usize = 500;

/// Logs all events after a sequence number.
pub(super) fn run(tasks: &BackgroundTasks, from: u64) {
    let mut seq = from;
    let signal = tasks.board.database().event_signal();
    loop {
        // Read first, so that events before the end are still logged.
        let is_last = tasks.last_event.is_cancelled();
        let seen = signal.count();
        let is_logged = log_new(tasks, &mut seq).is_ok();
        if is_last {
            return;
        }
        // A failing database is reported by the thread that writes to it.
        let wait = if is_logged { IDLE } else { RETRY };
        signal.wait_unless_cancelled(seen, wait, &tasks.last_event);
    }
}

fn log_new(tasks: &BackgroundTasks, seq: &mut u64) -> Result<(), Failure> {
    loop {
        let rows = tasks.board.database().events_after(*seq, AT_ONCE, None)?;
        for row in &rows {
            *seq = row.seq;
            log_one(tasks, row);
        }
        if rows.len() < AT_ONCE {
            return Ok(());
        }
    }
}

fn log_one(tasks: &BackgroundTasks, row: &EventRow) {
    let (Some(project), Some(feature)) = (row.event.project, &row.event.feature) else { return };
    let payload: Value = serde_json::from_str(&row.event.payload).unwrap_or_default();
    let detail = if tasks.story.is_some() { Detail::Story } else { Detail::Log };
    if let Some(line) = event_log::tell(&row.event.kind, &payload, detail) {
        (tasks.log)(Some(row.at_ms), &format!("{}{line}", name(tasks, project, feature)));
    }
    if let Some(epilogue) = &tasks.story
        && row.event.kind == feature_event::STATUS_CHANGED
        && payload["status"] == "waiting_approval"
    {
        (tasks.log)(None, &epilogue(feature));
    }
}

/// The name of a feature at the beginning of a line. A demonstration has only one feature.
fn name(tasks: &BackgroundTasks, project: i64, feature: &FeatureId) -> String {
    match tasks.board.database().feature(project, feature) {
        _ if tasks.story.is_some() => String::new(),
        Ok(Some(known)) => format!("{} ({}): ", known.facts.display_title(), feature.short()),
        Ok(None) | Err(_) => format!("{feature}: "),
    }
}
