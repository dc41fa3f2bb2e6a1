//! The delta as JSON. The field names are stable; see `tollgate schema`.
//!
//! ```json
//! { "template": "delta", "new": [1], "still_open": [{"current": 0, "prior": 2}], "resolved": [0, 1],
//!   "verdict_update": "new_blockers", "counts": {"new": 1, "still_open": 1, "resolved": 2} }
//! ```

use schemars::JsonSchema;
use serde::Serialize;

use crate::delta::classify::Delta;
use crate::delta::identity::ComparedFinding;
use crate::verdict::VerdictUpdate;

/// The classes of the findings of two reviews; findings are identified by their index, from 0.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "Delta")]
struct DeltaJson {
    /// The comment template to use.
    template: TemplateJson,
    /// Current findings that the prior review did not have.
    new: Vec<usize>,
    /// Prior findings that are not resolved.
    still_open: Vec<StillOpenJson>,
    /// Prior findings that are resolved.
    resolved: Vec<usize>,
    /// The delta of the blockers; null when there were no prior findings.
    verdict_update: Option<VerdictUpdateJson>,
    /// The sizes of the three lists.
    counts: CountsJson,
}

/// The comment template to use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "DeltaTemplate")]
enum TemplateJson {
    /// There are prior findings.
    Delta,
    /// There are no prior findings.
    Standard,
}

/// A prior finding that is not resolved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "StillOpen")]
struct StillOpenJson {
    /// The matching current finding; null when it was not reported again on untouched lines.
    current: Option<usize>,
    /// The prior finding.
    prior: usize,
}

/// The delta of the blockers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "VerdictUpdate")]
enum VerdictUpdateJson {
    /// There are new blockers.
    NewBlockers,
    /// All blockers are resolved.
    BlockersResolved,
    /// Some blockers are still open.
    BlockersRemain,
    /// There were no blockers and there are none.
    StillReady,
}

/// The sizes of the three lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "DeltaCounts")]
struct CountsJson {
    /// Number of new findings.
    new: usize,
    /// Number of findings that are still open.
    still_open: usize,
    /// Number of resolved findings.
    resolved: usize,
}

impl DeltaJson {
    /// The delta of two lists of findings.
    fn new(delta: &Delta, prior: &[ComparedFinding<'_>], current: &[ComparedFinding<'_>]) -> Self {
        let update = (!prior.is_empty()).then(|| delta.verdict_update(prior, current));
        let still_open = delta.still_open.iter();
        Self {
            template: if prior.is_empty() { TemplateJson::Standard } else { TemplateJson::Delta },
            new: delta.new.clone(),
            still_open: still_open.map(|open| StillOpenJson { current: open.current, prior: open.prior }).collect(),
            resolved: delta.resolved.clone(),
            verdict_update: update.map(VerdictUpdateJson::from),
            counts: CountsJson {
                new: delta.new.len(),
                still_open: delta.still_open.len(),
                resolved: delta.resolved.len(),
            },
        }
    }
}

impl From<VerdictUpdate> for VerdictUpdateJson {
    fn from(update: VerdictUpdate) -> Self {
        match update {
            VerdictUpdate::NewBlockers(_) => Self::NewBlockers,
            VerdictUpdate::BlockersResolved => Self::BlockersResolved,
            VerdictUpdate::BlockersRemain(_) => Self::BlockersRemain,
            VerdictUpdate::StillReady => Self::StillReady,
        }
    }
}

/// Writes a delta, indented, with a line break at the end.
#[must_use]
pub fn write(delta: &Delta, prior: &[ComparedFinding<'_>], current: &[ComparedFinding<'_>]) -> String {
    let mut text = serde_json::to_string_pretty(&DeltaJson::new(delta, prior, current)).unwrap_or_default();
    text.push('\n');
    text
}

/// The JSON Schema of the output of [`write()`].
#[must_use]
pub fn schema() -> serde_json::Value {
    schemars::schema_for!(DeltaJson).into()
}
