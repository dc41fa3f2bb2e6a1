//! Search and filters of a board, from the query string.
//!
//! ```text
//! ?q=log+in&priority=1&category=Core&needs=1&status=in_progress
//! ```
//!
//! A form sends empty fields as empty texts, which filter nothing.

use serde::Deserialize;
use tollgate_core::board::FeatureId;

use super::cards::{BoardPlace, CardSearch};
use super::column::Slug;
use crate::problem::{Kind, Problem};

/// The longest text that is looked for.
const MAX_CHARS: usize = 200;

/// What an address asks for.
#[derive(Debug, Deserialize, Default)]
pub(crate) struct Asked {
    q: Option<String>,
    priority: Option<String>,
    category: Option<String>,
    needs: Option<String>,
    status: Option<String>,
    after: Option<String>,
    /// How many were shown before.
    n: Option<String>,
}

/// The same, checked.
#[derive(Debug, Clone, Default)]
pub(super) struct Search {
    pub(super) wanted: CardSearch,
    /// Only this column or lane.
    pub(super) only: Option<BoardPlace>,
    /// Those after this one.
    pub(super) after: Option<FeatureId>,
    /// How many were shown before it.
    pub(super) n_before: usize,
}

impl Asked {
    pub(super) fn check(self) -> Result<Search, Problem> {
        let filled = |text: Option<String>| text.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
        let (q, category) = (filled(self.q), filled(self.category));
        if [&q, &category].into_iter().flatten().any(|text| text.chars().count() > MAX_CHARS) {
            return Err(refused(&format!("what is looked for is longer than {MAX_CHARS} characters")));
        }
        let priority = match filled(self.priority).as_deref() {
            None => None,
            Some("1") => Some(1),
            Some("2") => Some(2),
            Some("3") => Some(3),
            Some(_) => return Err(refused("`priority` is not 1, 2 or 3")),
        };
        let only = match filled(self.status) {
            Some(slug) => Some(Slug::parse(&slug).ok_or_else(|| refused("there is no such column"))?),
            None => None,
        };
        let after = filled(self.after).map(|name| FeatureId::parse(&name)).transpose();
        let after = after.map_err(|_| refused("`after` names no feature"))?;
        let n_before = filled(self.n).and_then(|n| n.parse().ok()).unwrap_or(0);
        let needs_person = filled(self.needs).is_some();
        Ok(Search { wanted: CardSearch { text: q, priority, category, needs_person }, only, after, n_before })
    }
}

fn refused(why: &str) -> Problem {
    Problem::new(Kind::Unprocessable, why).hint("Go to the board and look for something else.")
}

impl Search {
    /// True when not all features are looked for.
    pub(super) fn is_narrow(&self) -> bool {
        self.wanted != CardSearch::default() || self.only.is_some()
    }

    /// The text that is looked for.
    pub(super) fn text(&self) -> &str {
        self.wanted.text.as_deref().unwrap_or_default()
    }

    /// The group that is looked for.
    pub(super) fn category(&self) -> &str {
        self.wanted.category.as_deref().unwrap_or_default()
    }

    /// True when this priority is looked for.
    pub(super) fn is_priority(&self, priority: u32) -> bool {
        self.wanted.priority == Some(priority)
    }

    /// True when only this column is shown.
    pub(super) fn is_only(&self, slug: &str) -> bool {
        self.only.as_ref().is_some_and(|place| Slug(place).to_string() == slug)
    }

    /// The same question as an address has it, without a column and a place to begin.
    pub(super) fn pairs(&self) -> Vec<(&'static str, String)> {
        let wanted = &self.wanted;
        let pairs = [
            ("q", wanted.text.clone()),
            ("priority", wanted.priority.map(|priority| priority.to_string())),
            ("category", wanted.category.clone()),
            ("needs", wanted.needs_person.then(|| "1".to_owned())),
        ];
        pairs.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
    }
}

/// The part of an address behind its path; empty when there is nothing to say.
pub(super) fn encoded(pairs: &[(&'static str, String)]) -> String {
    let pair = |(name, value): &(&'static str, String)| format!("{name}={}", percent(value));
    let all: Vec<String> = pairs.iter().map(pair).collect();
    if all.is_empty() { String::new() } else { format!("?{}", all.join("&")) }
}

fn percent(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => encoded.push(char::from(byte)),
            _ => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use axum::http::Uri;
    use proptest::prelude::*;

    use super::*;

    fn search(query: &str) -> Result<Search, String> {
        let uri: Uri = format!("/projects/1{query}").parse().map_err(|error| format!("{error}"))?;
        let axum::extract::Query(asked) =
            axum::extract::Query::<Asked>::try_from_uri(&uri).map_err(|error| error.body_text())?;
        asked.check().map_err(|problem| problem.in_words().1)
    }

    #[track_caller]
    fn check(query: &str, expected: &str) {
        let said = match search(query) {
            Ok(search) => format!("{}{}", encoded(&search.pairs()), if search.is_narrow() { "" } else { "everything" }),
            Err(why) => format!("refused: {why}"),
        };
        assert_eq!(said, expected, "{query}");
    }

    #[test]
    fn an_address_says_what_is_looked_for() {
        check("", "everything");
        check("?q=&priority=&category=&status=", "everything");
        check("?q=+log+in+&needs=1", "?q=log%20in&needs=1");
        check("?priority=3&category=A%26B", "?priority=3&category=A%26B");
        check("?priority=4", "refused: `priority` is not 1, 2 or 3");
        check("?status=code_review.running", "");
        check("?status=nowhere", "refused: there is no such column");
        check("?after=../x", "refused: `after` names no feature");
        check(&format!("?q={}", "x".repeat(201)), "refused: what is looked for is longer than 200 characters");
    }

    proptest! {
        #[test]
        fn a_search_survives_the_round_trip_through_an_address(text in "\\PC{1,40}", category in "\\PC{1,40}") {
            let given = CardSearch { text: Some(text.trim().to_owned()), category: Some(category.trim().to_owned()), ..CardSearch::default() };
            let given = Search { wanted: given, ..Search::default() };
            prop_assume!(!given.text().is_empty() && !given.category().is_empty());
            let read = search(&encoded(&given.pairs())).unwrap();
            prop_assert_eq!(read.wanted, given.wanted);
        }
    }
}
