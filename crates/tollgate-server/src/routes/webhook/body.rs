//! Reads the body of a delivery: hashed as it arrives, within limits of size and time.

use axum::body::Body;
use axum::http::{HeaderMap, header};
use hmac::{Hmac, Mac as _};
use http_body_util::BodyExt as _;
use sha2::Sha256;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;
use tollgate_engine::process::crash_point;

use super::failure;
use super::signature::Signature;
use crate::app::App;
use crate::delivery_limits::UNIT;
use crate::extract;
use crate::problem::{Kind, Problem};

/// A whole body, with the permits for the memory it occupies.
pub(super) struct Whole {
    bytes: Vec<u8>,
    hashes: Vec<Hmac<Sha256>>,
    units: Vec<OwnedSemaphorePermit>,
    _permit: OwnedSemaphorePermit,
}

impl Whole {
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// True when it is signed with one of the secrets.
    pub(super) fn is_signed_with(&self, signature: &Signature) -> bool {
        signature.fits(self.hashes.clone())
    }

    /// Appends a part, within the limits.
    fn take(&mut self, part: &[u8], app: &App) -> Result<(), Problem> {
        let length = self.bytes.len() + part.len();
        if length > app.limits.delivery_bytes {
            return Err(extract::too_large(app.limits.delivery_bytes));
        }
        while self.units.len() * UNIT < length {
            self.units.push(app.deliveries.unit()?);
        }
        for hash in &mut self.hashes {
            hash.update(part);
        }
        self.bytes.extend_from_slice(part);
        Ok(())
    }
}

/// Reads a body within the limits of size and time.
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
    let permit = app.deliveries.delivery()?;
    // At most one unit: the announced length has not arrived yet.
    let bytes = Vec::with_capacity(said.unwrap_or_default().min(UNIT));
    let mut whole = Whole { bytes, hashes, units: Vec::new(), _permit: permit };
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
