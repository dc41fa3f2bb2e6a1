//! Figures in words, the same on every page.

use tollgate_core::visible::grouped;

/// How long something took or takes: `4 s`, `3 min 20 s`, `2 h 5 min`, `3 d 4 h`.
pub(crate) fn duration(ms: u64) -> String {
    let seconds = ms / 1000;
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    match seconds {
        0 => "under 1 s".to_owned(),
        1..60 => format!("{seconds} s"),
        60..3600 => format!("{minutes} min {} s", seconds % 60),
        3600..86_400 => format!("{hours} h {} min", minutes % 60),
        _ => format!("{} d {} h", grouped(days), hours % 24),
    }
}

/// US dollars: `$0.42`, `under $0.01`.
pub(crate) fn cost(usd: f64) -> String {
    match usd {
        usd if usd > 0.0 && usd < 0.01 => "under $0.01".to_owned(),
        usd if usd.is_finite() && usd < 1000.0 => format!("${usd:.2}"),
        usd if usd.is_finite() => format!("${}", grouped(usd.round() as u64)),
        _ => "an unknown cost".to_owned(),
    }
}

/// A number of things: `1 finding`, `1,204 findings`. Only for words that take an `s`.
pub(crate) fn count(n: u64, word: &str) -> String {
    if n == 1 { format!("1 {word}") } else { format!("{} {word}s", grouped(n)) }
}

/// A text with a capital letter at its beginning and a period at its end.
pub(crate) fn sentence(text: &str) -> String {
    let text = text.trim();
    let mut characters = text.chars();
    let Some(first) = characters.next() else { return String::new() };
    let end = if text.ends_with(['.', '!', '?', '…', ':']) { "" } else { "." };
    format!("{}{}{end}", first.to_uppercase(), characters.as_str())
}

/// The length of a text: `1,204 characters`.
pub(crate) fn characters(text: &str) -> String {
    count(text.chars().count() as u64, "character")
}

/// A time as the API writes it, to people, in UTC: `9 Jan 2026, 14:22`. A script makes it local.
pub(crate) fn moment(iso: &str) -> String {
    const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let parts = || {
        let (date, time) = iso.split_once('T')?;
        let mut date = date.split('-');
        let (year, month, day) = (date.next()?, date.next()?.parse::<usize>().ok()?, date.next()?.parse::<u8>().ok()?);
        Some(format!("{day} {} {year}, {}", MONTHS.get(month.checked_sub(1)?)?, time.get(..5)?))
    };
    parts().unwrap_or_else(|| iso.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_begin_and_end_like_sentences() {
        let cases = [("", ""), ("it is done", "It is done."), ("Why?", "Why?"), ("éa", "Éa."), ("ß", "SS.")];
        for (text, expected) in cases {
            assert_eq!(sentence(text), expected);
        }
    }

    #[test]
    fn figures_read_well() {
        let durations = [0, 999, 1000, 59_999, 60_000, 200_000, 7_500_000, 273_600_000, u64::MAX].map(duration);
        let words =
            "under 1 s|under 1 s|1 s|59 s|1 min 0 s|3 min 20 s|2 h 5 min|3 d 4 h|213,503,982,334 d 14 h".split('|');
        assert!(durations.iter().map(String::as_str).eq(words), "{durations:?}");
        let costs = [0.0, 0.001, 0.42, 999.5, 12_345.6, f64::NAN, f64::INFINITY].map(cost);
        let words = "$0.00|under $0.01|$0.42|$999.50|$12,346|an unknown cost|an unknown cost".split('|');
        assert!(costs.iter().map(String::as_str).eq(words), "{costs:?}");
        assert_eq!([0, 1, 1204].map(|n| count(n, "finding")), ["0 findings", "1 finding", "1,204 findings"]);
        assert_eq!(
            ["", "it is gone", "`x` is gone.", "état"].map(sentence),
            ["", "It is gone.", "`x` is gone.", "État."]
        );
        assert_eq!(moment("2026-01-09T14:22:00.000Z"), "9 Jan 2026, 14:22");
        assert_eq!(["", "yesterday", "2026-13-09T14:22", "2026-01-09Tx"].map(moment)[1], "yesterday");
    }
}
