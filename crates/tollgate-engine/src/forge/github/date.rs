//! Parses GitHub's timestamps: `2024-05-01T12:00:00Z`.

use time::{Date, Month};

/// Parses a timestamp into milliseconds since 1970; fractions of a second are ignored.
pub(super) fn parse_ms(text: &str) -> Option<u64> {
    let (day, clock) = text.strip_suffix('Z')?.split_once('T')?;
    let clock = clock.split('.').next()?;
    let numbers = |text: &str, separator: char| -> Option<[u16; 3]> {
        let numbers: Vec<u16> = text.split(separator).map(|part| part.parse().ok()).collect::<Option<_>>()?;
        numbers.try_into().ok()
    };
    let ([year, month, day], [hour, minute, second]) = (numbers(day, '-')?, numbers(clock, ':')?);
    let [month, day, hour, minute, second] = [month, day, hour, minute, second].map(|number| u8::try_from(number).ok());
    let date = Date::from_calendar_date(i32::from(year), Month::try_from(month?).ok()?, day?).ok()?;
    let at = date.with_hms(hour?, minute?, second?).ok()?.assume_utc();
    u64::try_from(at.unix_timestamp()).ok()?.checked_mul(1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Option<u64>) {
        assert_eq!(parse_ms(text), expected, "{text:?}");
    }

    #[test]
    fn times_are_read_to_the_second() {
        check("1970-01-01T00:00:01Z", Some(1_000));
        check("2016-07-11T22:14:10Z", Some(1_468_275_250_000));
        check("2024-02-29T23:59:59.123Z", Some(1_709_251_199_000));
    }

    #[test]
    fn an_invalid_timestamp_is_none() {
        for text in ["", "Z", "T:Z", "2024-02-30T00:00:00Z", "2024-01-01T00:00:00+02:00", "2024-01-01 00:00:00Z"] {
            check(text, None);
        }
        for text in ["1969-12-31T23:59:59Z", "2024-01-01T24:00:00Z", "2024-256-01T00:00:00Z", "70000-01-01T00:00:00Z"] {
            check(text, None);
        }
    }
}
