//! Days of the calendar, in UTC.
//!
//! ```text
//! 2026-01-09
//! ```
//!
//! Hours and time zones are none of its business.

use std::fmt;

/// The length of a day.
pub(crate) const DAY_MS: u64 = 86_400_000;

/// A day, from 1970-01-01 on; earlier days are clamped to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Day(u64);

impl Day {
    /// The day of a moment in milliseconds since 1970.
    pub(crate) fn of(ms: u64) -> Self {
        Self(ms / DAY_MS)
    }

    /// Parses `2026-01-09`; `None` for a date that the calendar does not have.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let parts: Vec<&str> = text.split('-').collect();
        let [year, month, day] = parts[..] else { return None };
        let is_plain = |text: &str, n: usize| text.len() == n && text.bytes().all(|byte| byte.is_ascii_digit());
        if !(is_plain(year, 4) && is_plain(month, 2) && is_plain(day, 2)) {
            return None;
        }
        let (year, month, day): (i64, i64, i64) = (year.parse().ok()?, month.parse().ok()?, day.parse().ok()?);
        let number = number(year, month, day);
        // A date that the calendar does not have comes back as another day.
        (civil(number) == (year, month, day)).then(|| Self(u64::try_from(number).unwrap_or(0)))
    }

    /// When it begins, in milliseconds since 1970.
    pub(crate) fn begin_ms(self) -> u64 {
        self.0.saturating_mul(DAY_MS)
    }

    /// The day after so many.
    pub(crate) fn after(self, n_days: u64) -> Self {
        Self(self.0.saturating_add(n_days))
    }

    /// The day before so many.
    pub(crate) fn before(self, n_days: u64) -> Self {
        Self(self.0.saturating_sub(n_days))
    }

    /// How many days there are from this one to another, both counted.
    pub(crate) fn to(self, last: Self) -> u64 {
        last.0.saturating_sub(self.0) + 1
    }

    /// As an axis names it: `9 Jan`.
    pub(crate) fn short(self) -> String {
        const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
        let (_, month, day) = self.civil();
        let month = usize::try_from(month - 1).ok().and_then(|index| MONTHS.get(index)).unwrap_or(&"");
        format!("{day} {month}")
    }

    fn civil(self) -> (i64, i64, i64) {
        civil(i64::try_from(self.0).unwrap_or(0))
    }
}

impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day) = self.civil();
        write!(f, "{year:04}-{month:02}-{day:02}")
    }
}

/// The number of a day since 1970-01-01. Years are counted from March, so that the leap day is the last of one.
fn number(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// Year, month and day of a number.
fn civil(number: i64) -> (i64, i64, i64) {
    let shifted = number + 719_468;
    let (era, of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (era * 400 + year + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(text: &str, begin_ms: Option<u64>) {
        assert_eq!(Day::parse(text).map(Day::begin_ms), begin_ms, "{text}");
    }

    #[test]
    fn days_are_those_of_the_calendar() {
        check("1970-01-01", Some(0));
        check("2026-01-09", Some(1_767_916_800_000));
        check("2024-02-29", Some(1_709_164_800_000));
        check("1900-01-01", Some(0));
        for none in [
            "2026-02-29",
            "1900-02-29",
            "2026-13-01",
            "2026-00-10",
            "2026-04-31",
            "2026-1-09",
            "+026-01-09",
            "",
            "-",
            "２026-01-09",
        ] {
            check(none, None);
        }
    }

    #[test]
    fn a_day_says_its_name() {
        let day = Day::of(1_767_968_520_000);
        assert_eq!((day.to_string(), day.short()), ("2026-01-09".to_owned(), "9 Jan".to_owned()));
        assert_eq!(day.before(9).to_string(), "2025-12-31");
        assert_eq!(day.after(51).to_string(), "2026-03-01");
        assert_eq!((day.to(day), day.to(day.after(6)), day.to(day.before(3))), (1, 7, 1));
    }

    proptest! {
        #[test]
        fn a_day_is_read_as_it_is_written(number in 0..2_932_896u64) {
            prop_assert_eq!(Day::parse(&Day(number).to_string()), Some(Day(number)));
        }
    }
}
