//! What figures count, how they are written, and which of them an axis names.

use tollgate_core::visible::grouped;

use crate::pages::words;

/// What figures count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    /// Things.
    Count,
    /// Of a hundred.
    Percent,
    /// Milliseconds.
    Duration,
    /// US dollars.
    Dollars,
}

/// Steps that a clock has, in seconds.
const CLOCK: [f64; 17] = [
    1.0, 2.0, 5.0, 10.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 900.0, 1_800.0, 3_600.0, 7_200.0, 14_400.0, 43_200.0,
    86_400.0,
];

impl Unit {
    /// A figure in full.
    pub(crate) fn words(self, value: f64) -> String {
        match self {
            Self::Count => grouped(value.round() as u64),
            Self::Percent => format!("{value:.0} %"),
            Self::Duration => words::duration(value as u64),
            Self::Dollars => words::cost(value),
        }
    }

    /// A figure beside an axis, where there is little room.
    pub(super) fn short(self, value: f64) -> String {
        let seconds = value / 1_000.0;
        match self {
            Self::Count if value >= 10_000.0 => format!("{} k", trimmed(value / 1_000.0)),
            Self::Count => grouped(value.round() as u64),
            Self::Percent => format!("{value:.0} %"),
            Self::Duration if seconds >= 86_400.0 => format!("{} d", trimmed(seconds / 86_400.0)),
            Self::Duration if seconds >= 3_600.0 => format!("{} h", trimmed(seconds / 3_600.0)),
            Self::Duration if seconds >= 60.0 => format!("{} min", trimmed(seconds / 60.0)),
            Self::Duration => format!("{} s", trimmed(seconds)),
            Self::Dollars if value.fract() == 0.0 => format!("${}", grouped(value as u64)),
            // Steps below a cent have thousandths.
            Self::Dollars if (value * 100.0).round() / 100.0 == (value * 1_000.0).round() / 1_000.0 => {
                format!("${value:.2}")
            }
            Self::Dollars => format!("${value:.3}"),
        }
    }
}

fn trimmed(value: f64) -> String {
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// The figures that an axis names, from 0 to one that is not below the largest; three to six of them.
pub(super) fn ticks(unit: Unit, most: f64) -> Vec<f64> {
    let most = if most.is_finite() { most.clamp(0.0, 1e15) } else { 0.0 };
    let step = match unit {
        Unit::Count => decimal((most / 4.0).max(1.0)).max(1.0),
        Unit::Percent => 25.0,
        Unit::Duration => {
            let wanted = (most / 4_000.0).max(0.25);
            CLOCK.into_iter().find(|step| *step >= wanted).unwrap_or_else(|| 86_400.0 * (wanted / 86_400.0).ceil())
                * 1_000.0
        }
        Unit::Dollars => decimal((most / 4.0).max(0.005)),
    };
    let n_steps = (most / step).ceil().clamp(2.0, 5.0) as usize;
    (0..=n_steps).map(|n| n as f64 * step).collect()
}

/// The next of 1, 2, 5, 10, 20, 50 … and of their tenths.
fn decimal(wanted: f64) -> f64 {
    let size = 10f64.powf(wanted.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0];
    size * steps.into_iter().find(|step| step * size >= wanted * 0.999_999).unwrap_or(10.0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(unit: Unit, most: f64, expected: &str) {
        let ticks: Vec<String> = ticks(unit, most).into_iter().map(|tick| unit.short(tick)).collect();
        assert_eq!(ticks.join(" "), expected, "{most}");
    }

    #[test]
    fn an_axis_names_round_figures() {
        check(Unit::Count, 0.0, "0 1 2");
        check(Unit::Count, 3.0, "0 1 2 3");
        check(Unit::Count, 17.0, "0 5 10 15 20");
        check(Unit::Count, 42_000.0, "0 20 k 40 k 60 k");
        check(Unit::Percent, 100.0, "0 % 25 % 50 % 75 % 100 %");
        check(Unit::Duration, 0.0, "0 s 1 s 2 s");
        check(Unit::Duration, 9_000.0, "0 s 5 s 10 s");
        check(Unit::Duration, 100_000.0, "0 s 30 s 1 min 1.5 min 2 min");
        check(Unit::Duration, 9.0e7, "0 s 12 h 1 d 1.5 d");
        check(Unit::Dollars, 0.0, "$0 $0.005 $0.01");
        check(Unit::Dollars, 0.37, "$0 $0.10 $0.20 $0.30 $0.40");
        check(Unit::Dollars, 4_000.0, "$0 $1,000 $2,000 $3,000 $4,000");
        check(Unit::Dollars, f64::NAN, "$0 $0.005 $0.01");
    }

    proptest! {
        #[test]
        fn ticks_begin_at_nothing_rise_and_reach_the_largest_figure(most in 0.0..1e12f64) {
            for unit in [Unit::Count, Unit::Duration, Unit::Dollars] {
                let ticks = ticks(unit, most);
                prop_assert!(ticks[0] == 0.0 && (3..=6).contains(&ticks.len()), "{ticks:?}");
                prop_assert!(ticks.is_sorted_by(|a, b| a < b) && ticks[ticks.len() - 1] >= most * 0.999_99, "{ticks:?}");
            }
        }
    }
}
