//! The body of a delivery: hashed as it comes in, bounded in size and time, and all of them together in memory.
//!
//! Anybody can send one, so what strangers may make us hold is bounded as a whole: without room for the next part a
//! delivery is refused, and GitHub delivers it again when it is asked to.

use std::sync::Arc;

use axum::body::Body;
use axum::http::{HeaderMap, header};
use hmac::{Hmac, Mac as _};
use http_body_util::BodyExt as _;
use sha2::Sha256;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;
use tollgate_engine::process::crash_point;

use super::failure;
use super::signature::Signature;
use crate::app::{App, Limits};
use crate::extract;
use crate::problem::{self, Kind, Problem};

/// The unit in which room is counted.
const UNIT: usize = 64 * 1024;

/// What is left for deliveries that come in.
pub(crate) struct Room {
    /// How many more may come in at once.
    turns: Arc<Semaphore>,
    /// How many more units may be held.
    units: Arc<Semaphore>,
}

impl Room {
    pub(crate) fn new(limits: &Limits) -> Self {
        let units = limits.deliveries_bytes / UNIT;
        Self { turns: Arc::new(Semaphore::new(limits.deliveries)), units: Arc::new(Semaphore::new(units)) }
    }

    fn turn(&self) -> Result<OwnedSemaphorePermit, Problem> {
        Arc::clone(&self.turns).try_acquire_owned().map_err(|_| problem::busy("too many deliveries at once"))
    }
}

/// A body that has come in whole, and the room it takes.
pub(super) struct Whole {
    bytes: Vec<u8>,
    hashes: Vec<Hmac<Sha256>>,
    units: Vec<OwnedSemaphorePermit>,
    _turn: OwnedSemaphorePermit,
}

impl Whole {
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// True when it is signed with one of the secrets.
    pub(super) fn is_signed_with(&self, signature: &Signature) -> bool {
        signature.fits(self.hashes.clone())
    }

    /// Takes another part in, if there is room for it.
    fn take(&mut self, part: &[u8], app: &App) -> Result<(), Problem> {
        let length = self.bytes.len() + part.len();
        if length > app.limits.delivery_bytes {
            return Err(extract::too_large(app.limits.delivery_bytes));
        }
        while self.units.len() * UNIT < length {
            let unit = Arc::clone(&app.deliveries.units).try_acquire_owned();
            self.units.push(unit.map_err(|_| problem::busy("too much is delivered at once"))?);
        }
        for hash in &mut self.hashes {
            hash.update(part);
        }
        self.bytes.extend_from_slice(part);
        Ok(())
    }
}

/// Reads a body as long as it is small enough and comes soon enough.
pub(super) async fn read(
    mut incoming: Body,
    headers: &HeaderMap,
    hashes: Vec<Hmac<Sha256>>,
    app: &App,
) -> Result<Whole, Problem> {
    let said = headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<usize>().ok());
    if said.is_some_and(|length| length > app.limits.delivery_bytes) {
        return Err(extract::too_large(app.limits.delivery_bytes));
    }
    let _turn = app.deliveries.turn()?;
    // Not more than is usual: what somebody says about the length is not yet there.
    let bytes = Vec::with_capacity(said.unwrap_or_default().min(UNIT));
    let mut whole = Whole { bytes, hashes, units: Vec::new(), _turn };
    let end = Instant::now() + app.limits.body;
    while let Some(frame) = next(&mut incoming, end).await? {
        crash_point("delivery-body-frame");
        if let Some(part) = frame.data_ref() {
            whole.take(part, app)?;
        }
    }
    Ok(whole)
}

async fn next(incoming: &mut Body, end: Instant) -> Result<Option<hyper::body::Frame<bytes::Bytes>>, Problem> {
    match tokio::time::timeout_at(end, incoming.frame()).await {
        Ok(None) => Ok(None),
        Ok(Some(Ok(frame))) => Ok(Some(frame)),
        Ok(Some(Err(_))) => Err(Problem::new(Kind::BadRequest, "the body broke off")),
        Err(_) => Err(failure::too_slow()),
    }
}
