//! A client's cursor in the event log.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use tokio::sync::watch;
use tollgate_engine::failure::{Failure, Kind};

use crate::events::frame::Frame;
use crate::events::hub::{Ahead, BATCH, Hub};

/// What a client is given next.
#[derive(Debug)]
pub enum Next {
    /// Events, in order and without a gap but for those of other projects.
    Frames(VecDeque<Frame>),
    /// What the client has missed is not there any more; everything up to this number is to be read anew.
    Resync(u64),
}

/// A client's place: the number of the last event it was given.
#[derive(Debug)]
pub struct Reader {
    hub: Hub,
    news: watch::Receiver<u64>,
    /// The last event that was given or passed over.
    seq: u64,
    /// False while it is not known whether there ever was such an event.
    is_checked: bool,
    project: Option<u64>,
}

impl Reader {
    pub(super) fn new(hub: Hub, since: Option<u64>, project: Option<u64>) -> Self {
        let news = hub.0.last.subscribe();
        let seq = since.unwrap_or_else(|| hub.last_seq());
        hub.0.n_open.fetch_add(1, Ordering::Relaxed);
        Self { news, seq, is_checked: since.is_none(), project, hub }
    }

    /// The last event that was given or passed over.
    pub fn seq(&self) -> u64 {
        self.seq
    }

    /// Waits for the next event. Cancel-safe.
    pub async fn next(&mut self) -> Next {
        loop {
            // Marked as seen before the look-up: an event that arrives in between wakes the reader again.
            let last = *self.news.borrow_and_update();
            if !self.is_checked {
                if let Some(resync) = self.check(last).await {
                    return resync;
                }
                self.is_checked = true;
            }
            let ahead = match self.hub.0.after(self.seq) {
                Ahead::Frames(frames) => frames,
                Ahead::FellOut => match self.read_log().await {
                    Ok(Some(frames)) => frames,
                    // Events that were pruned or cannot be read now make the client reload.
                    Ok(None) | Err(_) => return Next::Resync(last),
                },
            };
            if let Some(newest) = ahead.last() {
                self.seq = newest.seq;
                let frames: VecDeque<Frame> = ahead.into_iter().filter(|frame| frame.is_for(self.project)).collect();
                if !frames.is_empty() {
                    self.hub.0.n_sent.fetch_add(frames.len() as u64, Ordering::Relaxed);
                    return Next::Frames(frames);
                }
                // All of them were of other projects. There may be more.
                tokio::task::yield_now().await;
                continue;
            }
            if self.news.changed().await.is_err() {
                return Next::Resync(last);
            }
        }
    }

    /// A client may name a number that never was, or one that is too old.
    async fn check(&self, last: u64) -> Option<Next> {
        if self.seq <= last {
            // Later events are found in the ring buffer or the log.
            return None;
        }
        // The hub may be behind the log by a moment.
        let log = Arc::clone(&self.hub.0.log);
        match tokio::task::spawn_blocking(move || log.last_seq()).await {
            Ok(Ok(really)) if self.seq <= really => None,
            _ => Some(Next::Resync(last)),
        }
    }

    /// The events after the cursor, from the log; `None` when some were pruned.
    async fn read_log(&self) -> Result<Option<Vec<Frame>>, Failure> {
        let gone = || Failure::new(Kind::Internal, "the event log is closed");
        let _turn = self.hub.0.log_readers.acquire().await.map_err(|_| gone())?;
        let (log, seq) = (Arc::clone(&self.hub.0.log), self.seq);
        let read = move || {
            let events = log.events_after(seq, BATCH)?;
            // Checked afterwards: events pruned in between would be missing.
            if log.pruned_to()? > seq {
                return Ok(None);
            }
            Ok(Some(events.iter().map(Frame::new).collect()))
        };
        tokio::task::spawn_blocking(read).await.map_err(|_| gone())?
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.hub.0.n_open.fetch_sub(1, Ordering::Relaxed);
    }
}
