//! Which part of a feature is looked at, as it stands in the address.
//!
//! ```text
//! ?iteration=2&severity=error&file=src/a.rs&q=secret&open=1&view=split
//! ?compare=1,2
//! ```
//!
//! Invalid values filter nothing: a bookmarked address never breaks.

use serde::Deserialize;
use tollgate_core::board::{FeatureId, Remark};
use tollgate_core::finding::Category;

use crate::app::ProjectId;

/// The longest text that is looked for.
const MAX_CHARS: usize = 200;

/// What an address asks for.
#[derive(Debug, Clone, Deserialize, Default)]
pub(crate) struct Asked {
    iteration: Option<String>,
    compare: Option<String>,
    view: Option<String>,
    severity: Option<String>,
    category: Option<String>,
    file: Option<String>,
    q: Option<String>,
    open: Option<String>,
    all: Option<String>,
}

/// Which reviews are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Which {
    #[default]
    Last,
    One(u32),
    /// Two beside each other, the earlier one first.
    Two(u32, u32),
}

/// How much a finding matters, as the page groups them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Weight {
    Error,
    Warning,
    Info,
}

impl Weight {
    pub(super) const ALL: [Self; 3] = [Self::Error, Self::Warning, Self::Info];

    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Info => "info",
        }
    }

    pub(super) fn of(remark: &Remark) -> Self {
        match remark.severity_word() {
            "error" => Self::Error,
            "warning" => Self::Warning,
            _ => Self::Info,
        }
    }
}

/// Which findings are listed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Filter {
    pub(super) weight: Option<Weight>,
    pub(super) category: Option<Category>,
    pub(super) file: Option<String>,
    /// As it was typed.
    pub(super) text: Option<String>,
    /// Only findings that are neither dismissed nor resolved.
    pub(super) is_open_only: bool,
}

impl Filter {
    /// True when not everything is listed.
    pub(super) fn is_narrow(&self) -> bool {
        *self != Self::default()
    }

    /// True when a finding is listed, dismissed or not.
    pub(super) fn wants(&self, remark: &Remark) -> bool {
        let has = |text: &str, part: &str| text.to_lowercase().contains(&part.to_lowercase());
        let says = |part: &String| {
            let texts =
                [Some(&remark.title), Some(&remark.description), remark.file.as_ref(), remark.evidence.as_ref()];
            texts.into_iter().flatten().any(|text| has(text, part))
        };
        self.weight.is_none_or(|weight| Weight::of(remark) == weight)
            && self.category.is_none_or(|category| remark.category == category)
            && self.file.as_ref().is_none_or(|file| remark.file.as_ref() == Some(file))
            && self.text.as_ref().is_none_or(says)
    }
}

/// The selected view.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Query {
    pub(super) which: Which,
    pub(super) is_split: bool,
    pub(super) filter: Filter,
    /// True to show long texts in full.
    pub(super) is_all: bool,
}

impl Asked {
    pub(super) fn read(&self) -> Query {
        let filled = |text: &Option<String>| {
            let text = text.as_deref().unwrap_or_default().trim();
            let text: String = text.chars().take(MAX_CHARS).collect();
            (!text.is_empty()).then_some(text)
        };
        let number = |text: &str| text.parse::<u32>().ok().filter(|number| *number > 0);
        let pair = |text: &str| {
            let (one, other) = text.split_once(',')?;
            let (one, other) = (number(one.trim())?, number(other.trim())?);
            (one != other).then_some(Which::Two(one.min(other), one.max(other)))
        };
        let which = match (filled(&self.compare), filled(&self.iteration)) {
            (Some(two), _) if pair(&two).is_some() => pair(&two).unwrap_or_default(),
            (_, Some(one)) => number(&one).map_or(Which::Last, Which::One),
            _ => Which::Last,
        };
        let severity = filled(&self.severity);
        let filter = Filter {
            weight: Weight::ALL.into_iter().find(|weight| severity.as_deref() == Some(weight.as_str())),
            category: filled(&self.category).and_then(|word| Category::parse_exact(&word)),
            file: self.file.clone().filter(|file| !file.is_empty() && file.len() <= 4096),
            text: filled(&self.q),
            is_open_only: filled(&self.open).is_some(),
        };
        Query { which, is_split: self.view.as_deref() == Some("split"), filter, is_all: filled(&self.all).is_some() }
    }
}

/// Where a feature is, without anything after `?`.
pub(super) fn base(project: ProjectId, feature: &FeatureId) -> String {
    format!("/projects/{project}/features/{feature}")
}

impl Query {
    /// The query string of this view, with its `?`; empty for the default view.
    pub(super) fn tail(&self) -> String {
        let Filter { weight, category, file, text, is_open_only } = &self.filter;
        let which = match self.which {
            Which::Last => None,
            Which::One(number) => Some(("iteration", number.to_string())),
            Which::Two(one, other) => Some(("compare", format!("{one},{other}"))),
        };
        let yes = |is_so: bool| is_so.then(|| "1".to_owned());
        let pairs = [
            ("severity", weight.map(|weight| weight.as_str().to_owned())),
            ("category", category.map(|category| category.as_str().to_owned())),
            ("file", file.clone()),
            ("q", text.clone()),
            ("open", yes(*is_open_only)),
            ("all", yes(self.is_all)),
            ("view", self.is_split.then(|| "split".to_owned())),
        ];
        let pairs = pairs.into_iter().filter_map(|(name, value)| Some((name, value?)));
        let mut tail = String::new();
        for (name, value) in which.into_iter().chain(pairs) {
            tail.push(if tail.is_empty() { '?' } else { '&' });
            tail.push_str(name);
            tail.push('=');
            encode(&value, &mut tail);
        }
        tail
    }

    /// The same of another review, or of two.
    pub(super) fn of(&self, which: Which) -> Self {
        Self { which, ..self.clone() }
    }

    /// The same with other findings listed.
    pub(super) fn listing(&self, filter: Filter) -> Self {
        Self { filter, ..self.clone() }
    }
}

/// A value as it stands in an address.
fn encode(value: &str, to: &mut String) {
    for byte in value.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~/,".contains(&byte) {
            to.push(char::from(byte));
        } else {
            to.push_str(&format!("%{byte:02X}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(text: &str) -> Query {
        let uri = format!("/x?{text}").parse().unwrap();
        axum::extract::Query::<Asked>::try_from_uri(&uri).unwrap().0.read()
    }

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(read(text).tail(), expected, "{text}");
    }

    #[test]
    fn an_address_says_what_is_looked_at() {
        check("", "");
        check("iteration=2", "?iteration=2");
        check("compare=3,1", "?compare=1,3");
        check("severity=error&category=Perf&open=1&view=split", "?severity=error&category=Perf&open=1&view=split");
        check("file=src/a%20b.rs&q=%20x%26y%20", "?file=src/a%20b.rs&q=x%26y");
    }

    #[test]
    fn invalid_parts_of_an_address_are_ignored() {
        check("iteration=0&compare=1,1&severity=worst&category=x&view=3d&q=+&file=", "");
        check("iteration=-1", "");
        check("iteration=99999999999999", "");
        check("compare=1&iteration=2", "?iteration=2");
    }

    proptest! {
        #[test]
        fn a_query_survives_the_round_trip_through_an_address(file in "\\PC{1,20}", text in "\\S[^\\n]{0,20}\\S", number in 1u32..99) {
            let filter = Filter { file: Some(file), text: Some(text), ..Filter::default() };
            let query = Query { which: Which::One(number), filter, ..Query::default() };
            let tail = query.tail();
            prop_assert!(tail.bytes().all(|byte| byte.is_ascii_graphic()));
            prop_assert_eq!(read(&tail[1..]), query);
        }
    }
}
