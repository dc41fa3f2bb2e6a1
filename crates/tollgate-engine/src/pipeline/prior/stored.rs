//! The delta of a stored review, which is read again when a finding is dismissed or counts again.

use std::collections::HashMap;

use serde_json::Value;
use tollgate_core::finding::{Finding, FindingId};
use tollgate_core::fingerprint::Fingerprint;
use tollgate_core::report::head_state::SINCE_LAST;
use tollgate_core::report::{Content, Strictness, json};
use tollgate_core::review::{Review, WithheldFinding};
use tollgate_core::sha::Sha;

use super::SinceLast;

impl SinceLast {
    /// The delta that a stored review carries; `None` for a first review.
    #[must_use]
    pub(crate) fn stored(review: &Review) -> Option<Self> {
        let since = review.extra.get(SINCE_LAST)?;
        let list = |name: &str| since[name].as_array().map(Vec::as_slice).unwrap_or_default();
        let number = |name: &str| since[name].as_u64().and_then(|n| usize::try_from(n).ok()).unwrap_or_default();
        let indices = |name: &str| -> Vec<usize> {
            let ids: Vec<FindingId> = list(name).iter().filter_map(|id| FindingId::parse(id.as_str()?)).collect();
            ids.iter().filter_map(|id| review.findings.iter().position(|finding| finding.id == *id)).collect()
        };
        let dismissed = list("dismissed").iter().filter_map(finding).filter_map(|finding| {
            let print = Fingerprint::of(&finding);
            review.withheld.iter().find(|held| Fingerprint::of(&held.finding) == print).cloned()
        });
        Some(Self {
            run: 0,
            head: Sha::parse(since["head"].as_str()?).ok()?,
            new: indices("new"),
            still_open: indices("still_open"),
            resolved: list("resolved").iter().filter_map(finding).collect(),
            n_held_back: number("held_back"),
            n_withheld: number("withheld"),
            dismissed: dismissed.collect(),
            n_fresh: number("fresh"),
            // Reviews of earlier versions have one figure.
            n_added: since.get("added").map_or_else(|| number("fresh"), |_| number("added")),
            n_removed: number("removed"),
        })
    }
}

/// A finding of the delta, as it is stored.
fn finding(value: &Value) -> Option<Finding> {
    match json::read(value.to_string().as_bytes(), Strictness::Lenient).ok()?.content {
        Content::Findings(findings, _) => findings.into_iter().next(),
        Content::Review(_) => None,
    }
}

/// The delta of a stored review by the ids of its findings, while findings move between those that count and the others.
#[derive(Debug)]
pub(crate) struct MovedDelta {
    since: SinceLast,
    new: Vec<FindingId>,
    still_open: Vec<FindingId>,
}

impl MovedDelta {
    /// The delta before findings are moved.
    pub(crate) fn of(review: &Review) -> Option<Self> {
        let since = SinceLast::stored(review)?;
        let ids = |indices: &[usize]| -> Vec<FindingId> {
            indices.iter().filter_map(|&index| Some(review.findings.get(index)?.id)).collect()
        };
        Some(Self { new: ids(&since.new), still_open: ids(&since.still_open), since })
    }

    /// Stores the delta after findings were moved and numbered anew; `numbers` are their new ids by the old ones.
    ///
    /// A dismissed finding that was open before is listed as dismissed. One that counts again is open again if it was
    /// listed so, and new otherwise.
    pub(crate) fn store(self, review: &mut Review, numbers: &HashMap<FindingId, FindingId>) {
        let Self { mut since, new, still_open } = self;
        let ids =
            |ids: &[FindingId]| -> Vec<FindingId> { ids.iter().filter_map(|id| numbers.get(id).copied()).collect() };
        let (new, still_open) = (ids(&new), ids(&still_open));
        let held = |id: &FindingId| review.withheld.iter().find(|held| held.finding.id == *id);
        let dismissed: Vec<WithheldFinding> = still_open.iter().filter_map(held).cloned().collect();
        since.n_withheld += dismissed.len();
        since.dismissed.extend(dismissed);
        (since.new, since.still_open) = (Vec::new(), Vec::new());
        for (index, finding) in review.findings.iter().enumerate() {
            let print = Fingerprint::of(finding);
            let was_dismissed = since.dismissed.iter().position(|held| Fingerprint::of(&held.finding) == print);
            if still_open.contains(&finding.id) {
                since.still_open.push(index);
            } else if let Some(place) = was_dismissed.filter(|_| !new.contains(&finding.id)) {
                since.dismissed.remove(place);
                since.n_withheld = since.n_withheld.saturating_sub(1);
                since.still_open.push(index);
            } else {
                since.new.push(index);
            }
        }
        review.extra.insert(SINCE_LAST.to_owned(), since.to_json(review));
    }
}
