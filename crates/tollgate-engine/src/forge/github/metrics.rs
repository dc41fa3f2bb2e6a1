//! Process-wide metrics of requests to GitHub.

use std::sync::atomic::{AtomicU64, Ordering};

/// The response classes.
pub const CLASSES: [&str; 6] = ["2xx", "3xx", "4xx", "5xx", "limited", "none"];

/// The number of responses by class, process-wide like the connection pool.
static ANSWERS: [AtomicU64; CLASSES.len()] = [const { AtomicU64::new(0) }; CLASSES.len()];
/// The remaining requests, plus one; 0 while unknown.
static LEFT: AtomicU64 = AtomicU64::new(0);

/// A snapshot of the counters.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RequestCounts {
    /// Responses by class, in the order of [`CLASSES`].
    pub answers: [u64; CLASSES.len()],
    /// The remaining requests by the last response, of any installation; `None` while unknown.
    pub n_left: Option<u64>,
}

/// Takes a snapshot of the counters.
pub fn read() -> RequestCounts {
    let answers = std::array::from_fn(|index| ANSWERS[index].load(Ordering::Relaxed));
    RequestCounts { answers, n_left: LEFT.load(Ordering::Relaxed).checked_sub(1) }
}

/// Counts a response by status and remaining requests; `None` when there was no response.
pub(super) fn count(answer: Option<(u16, Option<u64>)>) {
    let class = class(answer);
    if let Some(counter) = CLASSES.iter().position(|known| *known == class).and_then(|index| ANSWERS.get(index)) {
        counter.fetch_add(1, Ordering::Relaxed);
    }
    if let Some((_, Some(n_left))) = answer {
        LEFT.store(n_left.saturating_add(1), Ordering::Relaxed);
    }
}

fn class(answer: Option<(u16, Option<u64>)>) -> &'static str {
    match answer {
        Some((429, _) | (403, Some(0))) => "limited",
        Some((status, _)) if status < 300 => "2xx",
        Some((status, _)) if status < 400 => "3xx",
        Some((status, _)) if status < 500 => "4xx",
        Some(_) => "5xx",
        None => "none",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn responses_are_classified() {
        let answers =
            [Some((201, None)), Some((304, None)), Some((404, None)), Some((502, None)), Some((429, None)), None];
        assert_eq!(answers.map(class), CLASSES);
        assert_eq!(class(Some((403, Some(0)))), "limited");
        assert_eq!(class(Some((403, Some(7)))), "4xx");
    }
}
