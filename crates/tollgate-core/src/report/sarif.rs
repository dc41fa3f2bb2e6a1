//! Reads and writes SARIF 2.1.0, the exchange format of static analysis tools.
//!
//! ```json
//! {
//!   "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
//!   "version": "2.1.0",
//!   "runs": [{
//!     "tool": { "driver": { "name": "tollgate", "rules": [{ "id": "sql-injection" }] } },
//!     "results": [{ "ruleId": "sql-injection", "level": "error", "message": { "text": "…" } }]
//!   }]
//! }
//! ```
//!
//! The output fits GitHub code scanning: rules with descriptions and help, no empty text, `primaryLocationLineHash`.
//! Withheld findings are results with `suppressions`. The reader accepts any tool; results without a file are reported
//! in the notes.

mod hash;
mod read;
mod ruff;
mod write;

pub use read::read;
pub use write::{Options, Rule, write};
