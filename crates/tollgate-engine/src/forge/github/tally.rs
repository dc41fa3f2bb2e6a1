//! What a process counts of its requests to GitHub, for those who watch.

use std::sync::atomic::{AtomicU64, Ordering};

/// The classes of answers.
pub const CLASSES: [&str; 6] = ["2xx", "3xx", "4xx", "5xx", "limited", "none"];

/// How many answers of each class there were. There is one of it, as there is one pool of connections.
static ANSWERS: [AtomicU64; CLASSES.len()] = [const { AtomicU64::new(0) }; CLASSES.len()];
/// How many requests were left, plus one; 0 while nobody said.
static LEFT: AtomicU64 = AtomicU64::new(0);

/// What was counted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tallied {
    /// Answers by the classes of [`CLASSES`].
    pub answers: [u64; CLASSES.len()],
    /// How many requests were left by the last answer, in whosever name that was asked; `None` while nobody said.
    pub n_left: Option<u64>,
}

/// What was counted by now.
#[must_use]
pub fn read() -> Tallied {
    let answers = std::array::from_fn(|index| ANSWERS[index].load(Ordering::Relaxed));
    Tallied { answers, n_left: LEFT.load(Ordering::Relaxed).checked_sub(1) }
}

/// Counts an answer by its status, and how many requests are left; `None` when there was no answer.
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
    fn an_answer_has_one_of_a_few_classes() {
        let answers =
            [Some((201, None)), Some((304, None)), Some((404, None)), Some((502, None)), Some((429, None)), None];
        assert_eq!(answers.map(class), CLASSES);
        assert_eq!(class(Some((403, Some(0)))), "limited");
        assert_eq!(class(Some((403, Some(7)))), "4xx");
    }
}
