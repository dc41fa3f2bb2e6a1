//! What GitHub delivers to a real board.

use tollgate_core::pull::ask::Ask;

use super::BoardDesk;
use crate::desk::deliveries::{Deliveries, Delivery, Done, Hook, Wire};
use crate::desk::{Refusal, deliveries};
use tollgate_engine::failure::{Failure, Kind};

impl Deliveries for BoardDesk {
    fn wire(&self) -> Wire {
        Wire::None
    }

    fn read(&self, _: &Hook, _: &str, _: &[u8]) -> Result<Option<Ask>, String> {
        Ok(None)
    }

    fn accept(&self, _: Delivery, done: Done) {
        let nobody = Failure::new(Kind::Config, "no GitHub App is set up here");
        let answer: Result<deliveries::Accepted, Refusal> = Err(nobody.into());
        done(answer);
    }
}
