//! What other processes write to a server is heard at once.
//!
//! A notification only says that there is something; what it is stands in the table, which has no limit to its size. Once
//! a second the table is looked at anyway, so a notification that was lost costs a second and nothing else.

use std::sync::Weak;
use std::thread;
use std::time::{Duration, Instant};

use super::clock::Clock;
use super::pulse::Pulse;
use super::tally::Tally;
use crate::store::location::Address;
use crate::store::sql::{self, Connection, Follower};

/// What a server is told to tell everybody.
pub(super) const CHANNEL: &str = "tollgate_event";
/// How often it is looked without being told, and how soon the end of the database is noticed.
const LOOK_EVERY: Duration = Duration::from_secs(1);
const SLICE: Duration = Duration::from_millis(200);
/// How long is waited before a server that is gone is called again.
const CALL_AGAIN: Duration = Duration::from_millis(300);

/// Who is to be told: it is there as long as the database is.
#[derive(Debug, Default)]
pub(super) struct Told {
    pub(super) pulse: Pulse,
    pub(super) clock: Clock,
    pub(super) tally: Tally,
}

/// Listens until the database is gone.
pub(super) fn follow(address: &Address, told: &Weak<Told>) {
    let mut is_first = true;
    while told.strong_count() > 0 {
        if !is_first && let Some(told) = told.upgrade() {
            told.tally.reconnected();
        }
        is_first = false;
        // What went wrong is told to whoever reads or writes.
        let _ = listen(address, told);
        thread::sleep(CALL_AGAIN);
    }
}

fn listen(address: &Address, told: &Weak<Told>) -> sql::Result<()> {
    let follower = Follower::connect(address, CHANNEL)?;
    let mut looked = None::<Instant>;
    let mut is_told = true;
    loop {
        let Some(told) = told.upgrade() else { return Ok(()) };
        if is_told || looked.is_none_or(|at| at.elapsed() >= LOOK_EVERY) {
            looked = Some(Instant::now());
            look(follower.connection(), &told)?;
        }
        drop(told);
        is_told = follower.wait(SLICE)?;
    }
}

/// Reads the number of the last event and the time.
pub(super) fn look(connection: &Connection, told: &Told) -> sql::Result<()> {
    let sql = "SELECT value, CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT) FROM counter \
               WHERE name = 'event'";
    let asked = Instant::now();
    let (last_seq, now_ms) = connection.query_row(sql, (), |row| Ok((row.get(0)?, row.get(1)?)))?;
    told.clock.set(asked, Instant::now(), now_ms);
    told.pulse.beat(last_seq);
    Ok(())
}
