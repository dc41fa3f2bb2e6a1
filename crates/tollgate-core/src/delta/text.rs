//! The delta as plain text.
//!
//! ```text
//! 1 new, 1 resolved, 2 still open
//!
//! New
//!   Critical  src/auth.rs:42: SQL injection in login query
//! Resolved
//!   High      src/api.rs: Missing rate limiting
//! Still open
//!   Medium    src/list.rs:9: Missing null check
//!   Low       src/fmt.rs:3: Inconsistent names (not reviewed again)
//!
//! New blockers found: Address 1 new issue(s)
//! ```

use std::fmt::Write as _;

use crate::delta::classify::Delta;
use crate::delta::identity::ComparedFinding;
use crate::visible::visible;

/// Writes the classes of the findings of two reviews.
#[must_use]
pub fn write(delta: &Delta, prior: &[ComparedFinding<'_>], current: &[ComparedFinding<'_>]) -> String {
    let Delta { new, still_open, resolved } = delta;
    let mut out = format!("{} new, {} resolved, {} still open\n", new.len(), resolved.len(), still_open.len());
    if !(new.is_empty() && resolved.is_empty() && still_open.is_empty()) {
        out.push('\n');
    }
    section(&mut out, "New", new.iter().map(|&index| item(&current[index], true)));
    // A resolved finding has no current lines.
    section(&mut out, "Resolved", resolved.iter().map(|&index| item(&prior[index], false)));
    let open = still_open.iter().map(|open| match (open.current, &open.at) {
        (Some(index), _) => item(&current[index], true),
        (None, Some(at)) => {
            let claim = ComparedFinding { file: &at.file, lines: Some(at.lines), ..prior[open.prior] };
            item(&claim, true) + " (not reviewed again)"
        }
        (None, None) => item(&prior[open.prior], false) + " (not reviewed again)",
    });
    section(&mut out, "Still open", open);
    if prior.is_empty() {
        out.push_str("\nThere are no prior findings to compare with.\n");
    } else {
        let (label, explanation) = delta.said(prior, current);
        let _ = writeln!(out, "\n{label}: {explanation}");
    }
    out
}

fn section(out: &mut String, title: &str, items: impl ExactSizeIterator<Item = String>) {
    if items.len() > 0 {
        let _ = writeln!(out, "{title}");
    }
    for item in items {
        let _ = writeln!(out, "  {item}");
    }
}

fn item(claim: &ComparedFinding<'_>, with_lines: bool) -> String {
    let lines = claim.lines.filter(|_| with_lines).map_or(String::new(), |lines| format!(":{lines}"));
    let severity = claim.severity.as_str();
    let one_line = claim.title.split_whitespace().collect::<Vec<_>>().join(" ");
    let title = if one_line.is_empty() { "(no title)" } else { one_line.as_str() };
    format!("{severity:8}  {}{lines}: {}", visible(claim.file.as_str()), visible(title))
}
