//! Filters in the query string of a page.

use std::fmt::Write as _;

use crate::routes::reviews::ReviewQuery;

/// The filters by their names in the query string, each with its label.
pub(super) const FILTERS: [(&str, &str); 12] = [
    ("q", "text"),
    ("repository", "repository"),
    ("verdict", "verdict"),
    ("gate", "gate"),
    ("origin", "from"),
    ("reviewer", "reviewer"),
    ("rule", "rule"),
    ("category", "category"),
    ("severity", "severity"),
    ("file", "file"),
    ("from", "since"),
    ("to", "until"),
];

/// The value of a filter.
pub(super) fn get<'a>(which: &'a ReviewQuery, name: &str) -> Option<&'a str> {
    let value = match name {
        "q" => &which.q,
        "repository" => &which.repository,
        "verdict" => &which.verdict,
        "gate" => &which.gate,
        "origin" => &which.origin,
        "reviewer" => &which.reviewer,
        "rule" => &which.rule,
        "category" => &which.category,
        "severity" => &which.severity,
        "file" => &which.file,
        "from" => &which.from,
        "to" => &which.to,
        "order" => &which.order,
        _ => return None,
    };
    value.as_deref()
}

/// Takes a filter away.
pub(super) fn clear(which: &mut ReviewQuery, name: &str) {
    if let Some(value) = place(which, name) {
        *value = None;
    }
}

fn place<'a>(which: &'a mut ReviewQuery, name: &str) -> Option<&'a mut Option<String>> {
    Some(match name {
        "q" => &mut which.q,
        "repository" => &mut which.repository,
        "verdict" => &mut which.verdict,
        "gate" => &mut which.gate,
        "origin" => &mut which.origin,
        "reviewer" => &mut which.reviewer,
        "rule" => &mut which.rule,
        "category" => &mut which.category,
        "severity" => &mut which.severity,
        "file" => &mut which.file,
        "from" => &mut which.from,
        "to" => &mut which.to,
        "order" => &mut which.order,
        _ => return None,
    })
}

/// A form sends blank fields as well; they filter nothing.
pub(super) fn without_blanks(mut which: ReviewQuery) -> ReviewQuery {
    for name in FILTERS.iter().map(|(name, _)| *name).chain(["order"]) {
        if get(&which, name).is_some_and(|value| value.trim().is_empty()) {
            clear(&mut which, name);
        }
    }
    which
}

/// The address of a list.
pub(super) fn of(which: &ReviewQuery) -> String {
    let mut pairs: Vec<(&str, String)> = Vec::new();
    for name in FILTERS.iter().map(|(name, _)| *name).chain(["order"]) {
        pairs.extend(get(which, name).map(|value| (name, value.to_owned())));
    }
    let numbers = [("newer", which.newer), ("after", which.after)];
    pairs.extend(numbers.into_iter().filter_map(|(name, number)| Some((name, number?.to_string()))));
    pairs.extend(which.limit.filter(|limit| *limit != super::SHOWN).map(|limit| ("limit", limit.to_string())));
    encoded("/reviews", &pairs)
}

/// An address with a question behind it.
pub(crate) fn encoded(path: &str, pairs: &[(&str, String)]) -> String {
    let mut address = path.to_owned();
    for (index, (name, value)) in pairs.iter().enumerate() {
        let _ = write!(address, "{}{name}=", if index == 0 { '?' } else { '&' });
        for byte in value.bytes() {
            match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' | b'/' => address.push(byte.into()),
                byte => {
                    let _ = write!(address, "%{byte:02X}");
                }
            }
        }
    }
    address
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(address: &str) -> ReviewQuery {
        let uri = address.parse().unwrap();
        axum::extract::Query::<ReviewQuery>::try_from_uri(&uri).unwrap().0
    }

    #[test]
    fn blank_fields_are_dropped() {
        let which = without_blanks(read("/reviews?q=&repository=+&verdict=failed&order="));
        assert_eq!(of(&which), "/reviews?verdict=failed");
    }

    #[test]
    fn every_filter_can_be_taken_away_again() {
        for (name, _) in FILTERS {
            let mut which = read(&format!("/reviews?{name}=x&order=longest"));
            assert_eq!(get(&which, name), Some("x"), "{name}");
            clear(&mut which, name);
            assert_eq!(of(&which), "/reviews?order=longest", "{name}");
        }
    }

    proptest! {
        #[test]
        fn an_address_is_read_as_it_was_written(text in any::<String>(), file in "[ -~]*", after in any::<Option<u64>>()) {
            let which = ReviewQuery { q: Some(text), file: Some(file), after, ..ReviewQuery::default() };
            prop_assert_eq!(read(&of(&which)), which);
        }
    }
}
