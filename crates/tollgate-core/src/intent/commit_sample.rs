//! Samples long lists of commits.
//!
//! Up to fifty commits, all are parsed. Beyond that the first ten, the last ten, and every
//! fifth between: of 60 commits those at 0–9, 10, 15, … 45, and 50–59.

/// Up to this many commits, all are read.
const ALL: usize = 50;
/// The number of commits parsed at each end.
const END: usize = 10;
/// The sampling step between the ends.
const STEP: usize = 5;

/// The indices of the sampled commits, in order, without duplicates.
pub(crate) fn indices(n_commits: usize) -> impl Iterator<Item = usize> {
    let (first, last) = if n_commits > ALL { (END, n_commits - END) } else { (n_commits, n_commits) };
    (0..first).chain((first..last).step_by(STEP)).chain(last..n_commits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(n_commits: usize, expected: &[usize]) {
        assert_eq!(indices(n_commits).collect::<Vec<_>>(), expected, "{n_commits} commits");
    }

    #[test]
    fn up_to_fifty_commits_all_are_read() {
        check(0, &[]);
        check(1, &[0]);
        check(50, &(0..50).collect::<Vec<_>>());
    }

    #[test]
    fn of_more_the_ends_and_every_fifth_between_are_read() {
        let between = [10, 15, 20, 25, 30, 35, 40];
        check(51, &(0..10).chain(between).chain(41..51).collect::<Vec<_>>());
        check(60, &(0..10).chain(between).chain([45]).chain(50..60).collect::<Vec<_>>());
        assert_eq!(indices(120).count(), 40);
    }

    #[test]
    fn none_is_read_twice_and_the_order_is_kept() {
        for n_commits in 0..300 {
            let read: Vec<_> = indices(n_commits).collect();
            assert!(read.is_sorted_by(|a, b| a < b), "{n_commits}: {read:?}");
            assert!(read.last().is_none_or(|last| last + 1 == n_commits), "{n_commits}: the last is read");
        }
    }
}
