//! Stored runs compared with one another.

use tollgate_core::delta::fresh;
use tollgate_core::delta::identity::{Claim, join};
use tollgate_core::delta::lines::LineMap;
use tollgate_core::delta::settle::{self, Delta, Looked, settle};
use tollgate_core::delta::snapshot::Snapshot;
use tollgate_core::finding::{Finding, Severity};
use tollgate_core::path::FilePath;

use crate::store::Run;

/// What became of the findings of one run in another.
///
/// A review holds what it carried over, so what is not in the later one is resolved.
#[must_use]
pub fn compare(earlier: &Run, later: &Run) -> Delta {
    let map = match snapshots(earlier, later) {
        Some((then, now)) => LineMap::between(&then, &now),
        None => LineMap::identity(),
    };
    let (prior, current) = (claims(earlier), claims(later));
    let joined = join(&prior, &current, &map);
    settle(&prior, current.len(), &joined, &map, Looked::at(&|_, _| true))
}

/// The findings of a run that count.
#[must_use]
pub fn claims(run: &Run) -> Vec<Claim<'_>> {
    findings(run).iter().map(Claim::from).collect()
}

/// True when a later run shows that a review no longer speaks for the change.
#[must_use]
pub fn is_outdated(run: &Run, last: &Run) -> bool {
    let (Some(review), Some((then, now))) = (&run.review, snapshots(run, last)) else {
        return false;
    };
    let resolved = compare(run, last).resolved;
    let fixed: Vec<Severity> = resolved.iter().map(|&index| review.findings[index].severity).collect();
    let fresh = fresh::fresh(&then, &now);
    let changed: Vec<FilePath> = fresh.files().cloned().collect();
    let hunks = review.coverage.iter().flat_map(|coverage| &coverage.hunks);
    // What a rule skipped was in its scope, too.
    let scope: Vec<FilePath> = hunks.map(|hunk| hunk.file.clone()).chain(review.files_reviewed.clone()).collect();
    settle::re_review_required(settle::Since {
        fixed: &fixed,
        n_added: fresh.n_added() as u64,
        changed: &changed,
        scope: &scope,
    })
}

fn findings(run: &Run) -> &[Finding] {
    run.review.as_ref().map_or(&[], |review| &review.findings)
}

fn snapshots(earlier: &Run, later: &Run) -> Option<(Snapshot, Snapshot)> {
    let read = |run: &Run| Snapshot::from_bytes(run.snapshot.as_deref()?).ok();
    read(earlier).zip(read(later))
}
