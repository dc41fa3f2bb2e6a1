//! The retry policy: exponential backoff with jitter, and `Retry-After` headers.
//!
//! ```text
//! retry-after: 120        retry-after: Fri, 31 Dec 1999 23:59:59 GMT        retry-after-ms: 1500
//! ```

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::time::{Duration, SystemTime};

use reqwest::header::HeaderMap;

/// The longest backoff; a `Retry-After` of the service may be longer.
const MAX_WAIT: Duration = Duration::from_secs(30);

/// The delay that the service requests.
pub(crate) fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    let millis = text("retry-after-ms").and_then(|text| text.parse().ok()).map(|millis: f64| millis / 1000.0);
    let after = text("retry-after");
    let seconds = millis.or_else(|| after.and_then(|text| text.parse().ok())).filter(|seconds| *seconds >= 0.0);
    let counted = seconds.map(|seconds| Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX));
    // A date in the past requests no delay.
    counted.or_else(|| after.and_then(http_date).map(|date| date.duration_since(now).unwrap_or_default()))
}

/// The exponential backoff before the next attempt, with jitter against thundering herds.
pub(crate) fn delay(first: Duration, n_tries: u32) -> Duration {
    let longest = first.saturating_mul(1 << n_tries.saturating_sub(1).min(16)).min(MAX_WAIT);
    longest.mul_f64(jitter())
}

/// A number from 0 to 1, from the randomness that the system gives every hash map.
fn jitter() -> f64 {
    let bits = RandomState::new().build_hasher().finish() >> 11;
    bits as f64 / (1u64 << 53) as f64
}

/// Parses `Fri, 31 Dec 1999 23:59:59 GMT`, the one form that RFC 9110 permits senders.
pub(crate) fn http_date(text: &str) -> Option<SystemTime> {
    let text = text.split_once(", ")?.1.strip_suffix(" GMT")?;
    let mut words = text.split(' ');
    let (day, month, year): (u64, &str, u64) =
        (words.next()?.parse().ok()?, words.next()?, words.next()?.parse().ok()?);
    let time = words.next()?;
    let names = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let month = names.iter().position(|name| *name == month)? as u64 + 1;
    let clock: Vec<u64> = time.split(':').map(|part| part.parse().ok()).collect::<Option<_>>()?;
    let &[hour, minute, second] = clock.as_slice() else { return None };
    if !(1970..=9999).contains(&year) || !(1..=31).contains(&day) || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    // Years that begin in March put the leap day at their end.
    let (year, month) = if month <= 2 { (year - 1, month + 9) } else { (year, month - 3) };
    let day_of_year = (153 * month + 2) / 5 + day - 1;
    let days = year * 365 + year / 4 - year / 100 + year / 400 + day_of_year;
    let seconds = (days - 719_468) * 86_400 + hour * 3600 + minute * 60 + second;
    SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(header: &'static str, value: &'static str, expected: Option<f64>) {
        let mut headers = HeaderMap::new();
        headers.insert(header, value.parse().unwrap());
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(946_684_799);
        assert_eq!(retry_after(&headers, now).map(|wait| wait.as_secs_f64()), expected, "{header}: {value}");
    }

    #[test]
    fn waits_are_read_in_every_form() {
        check("retry-after", "120", Some(120.0));
        check("retry-after", " 0.5 ", Some(0.5));
        check("retry-after-ms", "1500", Some(1.5));
        check("retry-after", "Sat, 01 Jan 2000 00:01:00 GMT", Some(61.0));
        check("retry-after", "Tue, 29 Feb 2000 00:00:00 GMT", Some(5_097_601.0));
        check("retry-after", "Fri, 31 Dec 1999 23:59:59 GMT", Some(0.0));
        check("retry-after", "Thu, 01 Jan 1970 00:00:00 GMT", Some(0.0));
    }

    #[test]
    fn an_invalid_header_requests_no_delay() {
        for value in [
            "",
            "soon",
            "-5",
            "NaN",
            "Fri, 31 Dec 1999",
            "Fri, 99 Dec 1999 23:59:59 GMT",
            "Fri, 31 Dez 1999 23:59:59 GMT",
        ] {
            check("retry-after", value, None);
        }
        check("retry-after", "1e300", Some(Duration::MAX.as_secs_f64()));
        check("retry-after", "inf", Some(Duration::MAX.as_secs_f64()));
    }

    #[test]
    fn waits_grow_and_differ() {
        let waits: Vec<Duration> = (0..50).map(|_| delay(Duration::from_secs(1), 2)).collect();
        assert!(waits.iter().all(|wait| *wait <= Duration::from_secs(2)), "{waits:?}");
        assert!(waits.iter().any(|wait| *wait != waits[0]), "{waits:?}");
        assert!(delay(Duration::from_secs(1), u32::MAX) <= MAX_WAIT);
    }
}
