//! `tollgate feature logs`: the output of an agent, complete or followed as it grows.

use std::time::Duration;

use tollgate_core::board::machine::Work;
use tollgate_core::visible::visible;
use tollgate_engine::board::Refused;
use tollgate_engine::failure::Failure;
use tollgate_engine::store::board::FeatureRow;

use super::BoardContext;
use crate::cli::{Exit, output};

/// The poll interval of `--follow`, between notifications.
const LOOK_EVERY: Duration = Duration::from_millis(500);

pub(super) fn run(
    scene: &BoardContext<'_>,
    row: &FeatureRow,
    follow: bool,
    asked: Option<u32>,
) -> Result<Exit, Failure> {
    let (board, project) = (&scene.board, scene.project.id);
    let mut number = asked.unwrap_or(row.state.iteration.max(1));
    let (mut from, mut seen, mut last) = (0, 0, None);
    loop {
        // The state is read before the output: output written before the work ended is then never missed.
        let now = board.feature(project, &row.id).map_err(Refused::into_failure)?;
        let output = board.output(project, &row.id, number, from).map_err(Refused::into_failure)?;
        last = output.text.chars().next_back().or(last);
        output::print(&visible(&output.text))?;
        let is_all = output.next == from;
        from = output.next;
        if !is_all {
            continue;
        }
        if follow && asked.is_none() && now.state.iteration > number {
            number += 1;
            from = 0;
            end_line(&mut last)?;
            output::say(&format!("--- iteration {number}"));
            continue;
        }
        let is_over = now.state.work == Work::Nothing || asked.is_some_and(|asked| asked < now.state.iteration);
        if !follow || is_over {
            break;
        }
        board.database().wait_for_events(seen, LOOK_EVERY)?;
        seen = board.database().last_seq()?;
    }
    if from == 0 {
        output::say(&format!("no agent output in iteration {number}"));
    }
    end_line(&mut last)?;
    Ok(Exit::Success)
}

/// Ends the current line of output, so that a message starts on its own line.
fn end_line(last: &mut Option<char>) -> Result<(), Failure> {
    match last.take() {
        Some('\n') | None => Ok(()),
        Some(_) => output::print("\n"),
    }
}
