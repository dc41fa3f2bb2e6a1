//! One line of the table.

use std::fmt;

/// The head of the table.
pub(crate) const HEADER: &str = "measure                        | ours        | peer        | ratio | bar   | ok";

/// The unit of rates.
pub(crate) const PER_SECOND: &str = "/s";

/// One figure of ours beside one of a peer, or beside a limit.
#[derive(Debug, Clone)]
pub(crate) struct Row {
    /// The name of the measure.
    pub(crate) measure: String,
    /// Our figure.
    pub(crate) ours: f64,
    /// The peer's figure, or the limit's unit.
    pub(crate) peer: f64,
    /// The unit of both.
    pub(crate) unit: &'static str,
    /// The ratio that must not be exceeded; of rates, which are better the higher they are, the one that must be reached.
    pub(crate) bar: f64,
}

impl Row {
    /// Ours over the peer's.
    pub(crate) fn ratio(&self) -> f64 {
        self.ours / self.peer
    }

    /// True when the bar is met.
    pub(crate) fn is_ok(&self) -> bool {
        if self.unit == PER_SECOND { self.ratio() >= self.bar } else { self.ratio() <= self.bar }
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let figure = |value: f64| format!("{value:.2} {}", self.unit);
        let ok = if self.is_ok() { "ok" } else { "FAIL" };
        write!(
            f,
            "{:30} | {:11} | {:11} | {:5.2} | {:5} | {ok}",
            self.measure,
            figure(self.ours),
            figure(self.peer),
            self.ratio(),
            self.bar
        )
    }
}
