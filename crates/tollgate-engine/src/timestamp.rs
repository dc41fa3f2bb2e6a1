//! Timestamps in files, answers and reviews: `2026-01-09T14:22:00.000Z`.

use time::OffsetDateTime;
use time::macros::format_description;

/// Formats milliseconds since 1970 as `2026-01-09T14:22:00.000Z`.
#[must_use]
pub fn iso(ms: u64) -> String {
    let form = format_description!("[year]-[month]-[day]T[hour]:[minute]:[second].[subsecond digits:3]Z");
    let time = OffsetDateTime::from_unix_timestamp_nanos(i128::from(ms) * 1_000_000);
    time.ok().and_then(|time| time.format(form).ok()).unwrap_or_else(|| "1970-01-01T00:00:00.000Z".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_milliseconds_and_end_with_z() {
        assert_eq!(iso(1_767_968_520_000), "2026-01-09T14:22:00.000Z");
        assert_eq!(iso(1_007), "1970-01-01T00:00:01.007Z");
        assert_eq!(iso(u64::MAX), "1970-01-01T00:00:00.000Z");
    }
}
