//! Deliveries to a board in memory.

use std::sync::Arc;

use tollgate_core::pull::ask::Ask;
use tollgate_engine::failure::{Failure, Kind};
use tollgate_engine::forge::github::delivery;
use tollgate_server::desk::deliveries::{Accepted, Deliveries, Delivery, Done, Hook, Wire};

use super::MemoryDesk;

/// The secret of GitHub's own example.
pub(crate) const SECRET: &str = "It's a Secret to Everybody";
/// The one before it.
pub(crate) const OLD_SECRET: &str = "It was a Secret to Everybody";

impl MemoryDesk {
    /// What was delivered, each once.
    pub(crate) fn delivered(&self) -> Vec<Delivery> {
        self.lock().delivered.values().cloned().collect()
    }

    /// As if nobody had set an app up.
    pub(crate) fn without_app(&self) {
        self.lock().no_app = true;
    }
}

impl Deliveries for MemoryDesk {
    fn wire(&self) -> Wire {
        let hook = Hook::new([SECRET, OLD_SECRET], "tollgate").unwrap();
        if self.lock().no_app { Wire::None } else { Wire::Open(Arc::new(hook)) }
    }

    fn read(&self, hook: &Hook, event: &str, body: &[u8]) -> Result<Option<Ask>, String> {
        delivery::read(event, body, hook.mention()).map_err(|bad| bad.to_string())
    }

    fn accept(&self, delivery: Delivery, done: Done) {
        let mut kept = self.lock();
        let accepted = if kept.is_sick {
            Err(Failure::new(Kind::External, "the disk is full").into())
        } else if kept.delivered.insert(delivery.guid.clone(), delivery).is_some() {
            Ok(Accepted::Known)
        } else {
            Ok(Accepted::New)
        };
        drop(kept);
        std::thread::spawn(move || done(accepted));
    }
}
