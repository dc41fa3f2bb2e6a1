//! What other processes write to a server is heard at once.
//!
//! A notification only says how far the events go; what they are stands in the table, which has no limit to its size. Once
//! a second the table is looked at anyway, so a notification that was lost costs a second and nothing else. What waits for
//! its number gets it here.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::SyncSender;
use std::sync::{Mutex, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

use super::clock::Clock;
use super::numbering;
use super::pulse::Pulse;
use super::tally::Tally;
use crate::store::location::Address;
use crate::store::sql::{self, Connection, Follower, Row};

/// What a server is told to tell everybody.
pub(super) const CHANNEL: &str = "tollgate_event";
/// How often it is looked without being told, and how soon the end of the database is noticed.
const LOOK_EVERY: Duration = Duration::from_secs(1);
const SLICE: Duration = Duration::from_millis(200);
/// So long numbers are not given out again, so that those of many are given out at once.
const REST: Duration = Duration::from_millis(5);
/// How long is waited before a server that is gone is called again.
const CALL_AGAIN: Duration = Duration::from_millis(300);

/// Who is to be told: it is there as long as the database is.
#[derive(Debug, Default)]
pub(super) struct Told {
    pub(super) pulse: Pulse,
    pub(super) clock: Clock,
    pub(super) tally: Tally,
    /// True when something waits for its number.
    has_waiting: AtomicBool,
    /// Wakes the thread that listens, while it does.
    waker: Mutex<Option<SyncSender<()>>>,
}

impl Told {
    /// Has the thread that listens give numbers to what was announced.
    pub(super) fn wake(&self) {
        self.has_waiting.store(true, Ordering::SeqCst);
        if let Some(waker) = &*self.waker.lock().unwrap_or_else(PoisonError::into_inner) {
            // It is awake anyway when something waits to be heard.
            let _ = waker.try_send(());
        }
    }
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
    let (mut looked, mut numbered) = (None::<Instant>, None::<Instant>);
    loop {
        let Some(told) = told.upgrade() else { return Ok(()) };
        if looked.is_none() {
            *told.waker.lock().unwrap_or_else(PoisonError::into_inner) = Some(follower.waker());
        }
        told.pulse.beat(follower.number());
        if looked.is_none_or(|at| at.elapsed() >= LOOK_EVERY) {
            looked = Some(Instant::now());
            if look(follower.connection(), &told)? {
                told.has_waiting.store(true, Ordering::SeqCst);
            }
        }
        if told.has_waiting.load(Ordering::SeqCst) {
            thread::sleep(numbered.map_or(Duration::ZERO, |at| REST.saturating_sub(at.elapsed())));
            // Before: what is announced from now on asks again. Should this fail, the next look finds what waits.
            told.has_waiting.store(false, Ordering::SeqCst);
            if !numbering::number_waiting(follower.connection())? {
                // Whoever does it may have begun before what waits here was there.
                told.wake();
            }
            numbered = Some(Instant::now());
        }
        drop(told);
        follower.wait(SLICE)?;
    }
}

/// Reads the number of the last event and the time; true when there are events that wait for their number.
pub(super) fn look(connection: &Connection, told: &Told) -> sql::Result<bool> {
    let sql = "SELECT value, CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT), \
               EXISTS (SELECT 1 FROM event_waiting) FROM counter WHERE name = 'event'";
    let asked = Instant::now();
    let read = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
    let (last_seq, now_ms, has_waiting) = connection.query_row(sql, (), read)?;
    told.clock.set(asked, Instant::now(), now_ms);
    told.pulse.beat(last_seq);
    Ok(has_waiting)
}
