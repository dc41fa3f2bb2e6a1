//! Limits on the webhook deliveries that are in memory at once.
//!
//! Any client can send a delivery, so their number and bytes are bounded together: without room for the next part a delivery
//! is refused, and GitHub can redeliver it.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::limits::Limits;
use crate::problem::{self, Problem};

/// The unit in which bytes are counted.
pub(crate) const UNIT: usize = 64 * 1024;

/// What webhook deliveries may still occupy.
pub(crate) struct DeliveryLimits {
    deliveries: Arc<Semaphore>,
    units: Arc<Semaphore>,
}

impl DeliveryLimits {
    pub(crate) fn new(limits: &Limits) -> Self {
        let units = limits.deliveries_bytes / UNIT;
        Self { deliveries: Arc::new(Semaphore::new(limits.deliveries)), units: Arc::new(Semaphore::new(units)) }
    }

    /// A permit for one more delivery.
    pub(crate) fn delivery(&self) -> Result<OwnedSemaphorePermit, Problem> {
        let permit = Arc::clone(&self.deliveries).try_acquire_owned();
        permit.map_err(|_| problem::busy("too many deliveries at once"))
    }

    /// A permit for one more unit of bytes.
    pub(crate) fn unit(&self) -> Result<OwnedSemaphorePermit, Problem> {
        Arc::clone(&self.units).try_acquire_owned().map_err(|_| problem::busy("too much is delivered at once"))
    }
}
