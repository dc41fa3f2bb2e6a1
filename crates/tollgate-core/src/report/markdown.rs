//! A review as Markdown that maps one to one to its JSON.
//!
//! ````text
//! # Code Review: Add API Client Retry Logic
//!
//! **Reviewed SHA:** `a1b2c3d4e5f6789012345678901234567890abcd`
//! **Base SHA:** `fedcba0987654321098765432109876543210fed`
//! **Verdict:** CHANGES_REQUESTED
//! **Blocking Issues:** 0 Critical, 1 High
//!
//! ---
//!
//! ## Files Reviewed
//!
//! - `src/api/client.ts`
//!
//! ---
//!
//! ## Findings
//!
//! ### F001: [High/Error] Unhandled promise rejection
//!
//! **File:** `src/api/client.ts:42`
//!
//! Network failures crash the app
//!
//! **Evidence:**
//! ```typescript
//! await fetch(url).then(r => r.json())
//! ```
//! ````
//!
//! Reading the output gives the same review for any text. Lines that would be structure get a backslash; fields that the
//! template lacks, or that plain text cannot carry (carriage returns, blank edges, invisible characters), stand in
//! `<!-- tollgate: {json} -->` behind the finding or at the end. The writer parses its output to find those fields.

mod escape;
mod read;
mod write;

pub use read::read;
pub use write::write;
