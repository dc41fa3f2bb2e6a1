//! The event stream: events of the boards, sent to subscribers.
//!
//! The log of events is the truth; it is written by the board in the transaction that makes them true. One thread
//! follows it and makes each event a frame, once. Frames stay in a ring for a while; every client has only a place in it
//! and reads new frames at its own pace, so that a slow client delays no other. A client that fell out of the ring, or comes
//! back after a while, is served from the log until it has caught up; one that the log cannot serve any more is told to
//! read everything anew (`resync`).
//!
//! ```json
//! {"type":"hello","seq":16}
//! {"type":"feature:code-review-started","payload":{"featureId":"login","iterationNumber":1},"seq":17,"timestamp":"2026-01-09T14:22:00.000Z"}
//! {"type":"resync","seq":90210}
//! {"type":"goodbye","seq":17}
//! ```

mod board_log;
pub mod frame;
pub mod hub;
pub mod log;
pub mod reader;

pub use board_log::BoardLog;
pub use frame::Frame;
pub use hub::Hub;
pub use log::{Event, EventLog};
pub use reader::{Next, Reader};
