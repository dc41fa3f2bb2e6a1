//! What GitHub delivers to a real board.

use std::sync::PoisonError;

use tollgate_core::pull::webhook_event::WebhookEvent;
use tollgate_engine::forge::github::delivery;
use tollgate_engine::store::pulls::{self, NewDelivery};

use super::BoardDesk;
use crate::desk::Refusal;
use crate::desk::deliveries::{Accepted, Deliveries, Delivery, Done, Hook, Wire};

impl BoardDesk {
    /// Says whether GitHub can deliver here from now on.
    pub fn set_wire(&self, wire: Wire) {
        *self.wire.write().unwrap_or_else(PoisonError::into_inner) = wire;
    }
}

impl Deliveries for BoardDesk {
    fn wire(&self) -> Wire {
        self.wire.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn read(&self, hook: &Hook, event: &str, body: &[u8]) -> Result<Option<WebhookEvent>, String> {
        delivery::read(event, body, hook.mention()).map_err(|bad| bad.to_string())
    }

    fn accept(&self, delivery: Delivery, done: Done) {
        let Delivery { guid, event, ask } = delivery;
        let at_ms = self.board.now();
        let delivery = NewDelivery { guid, event, ask, at_ms };
        self.board.database().accept_then(delivery, |accepted| {
            let accepted = accepted.map(|accepted| match accepted {
                pulls::Accepted::New => Accepted::New,
                pulls::Accepted::Known => Accepted::Known,
            });
            done(accepted.map_err(Refusal::from));
        });
    }
}
