//! SARIF 2.1.0, the exchange format of static analysis tools, out and in.
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
//! What is written is what GitHub's code scanning accepts: rules with
//! descriptions and help, no empty text, `primaryLocationLineHash`. Findings that
//! do not count are results with `suppressions`. What is read may come from any
//! tool; what has no place in a file is named in the notes.

mod hash;
mod read;
mod write;

pub use hash::line_hashes;
pub use read::read;
pub use write::{Options, Rule, write};
