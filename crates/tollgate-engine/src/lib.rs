//! The review as work: git, reviewers, configuration and the review pipeline.
//!
//! A change is fetched ([`forge`]), reviewers produce findings ([`reviewer`]),
//! and the [`pipeline`] turns them into a review by the settings ([`config`]).
//! [`agent`]s are programs that review or implement. Errors for people are
//! [`failure::Failure`]s; [`redaction`] keeps our keys out of all output.
//!
//! `config, failure, process ← agent ← forge, reviewer ← pipeline`; `forge`
//! and `reviewer` do not name one another. Nothing here prints.

/// Implements the conversion of one enum into another whose variants have the same names.
#[macro_export]
macro_rules! same_variants {
    ($from:ident => $to:ident: $($variant:ident)+) => {
        impl From<$from> for $to {
            fn from(value: $from) -> Self {
                match value {
                    $($from::$variant => Self::$variant,)+
                }
            }
        }
    };
}

pub mod agent;
pub mod board;
pub mod call;
pub mod config;
pub mod dismissals;
pub mod failure;
pub mod forge;
pub mod history;
mod lock;
mod net;
pub mod party;
pub mod pipeline;
pub mod process;
pub mod pulls;
pub mod redaction;
pub mod reviewer;
pub mod store;
mod timestamp;
mod tree;
mod worker;
