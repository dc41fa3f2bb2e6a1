//! The URL of a database; its password is redacted in all output.
//!
//! ```toml
//! [store]
//! database = "postgres://tollgate:secret@db.example/tollgate?sslmode=require"
//! ```

use std::borrow::Cow;
use std::fmt;

use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The replacement of a password.
const MASK: &str = "***";

/// The URL of a database.
#[derive(Clone, PartialEq, Eq)]
pub struct DatabaseUrl(String);

impl DatabaseUrl {
    /// Parses a URL with a known scheme. It is not connected to.
    pub fn parse(text: &str) -> Result<Self, String> {
        let is_known = ["postgres://", "postgresql://", "sqlite:"].iter().any(|start| text.starts_with(start));
        if is_known {
            Ok(Self(text.to_owned()))
        } else {
            Err("expected an address as `postgres://user@host/database` or `sqlite:FILE`".to_owned())
        }
    }

    /// The whole URL, with the password.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for DatabaseUrl {
    /// Never shows the password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&masked(&self.0))
    }
}

impl fmt::Debug for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DatabaseUrl({self})")
    }
}

impl<'de> Deserialize<'de> for DatabaseUrl {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Self::parse(&String::deserialize(from)?).map_err(D::Error::custom)
    }
}

impl Serialize for DatabaseUrl {
    /// Serializes without the password, because the output is for people.
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl JsonSchema for DatabaseUrl {
    fn schema_name() -> Cow<'static, str> {
        "DatabaseUrl".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string", "pattern": "^(postgres://|postgresql://|sqlite:)" })
    }
}

/// A URL with its password redacted.
pub(crate) fn masked(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    // A password may contain `@`; it ends before the last one.
    let shown = match rest.rsplit_once('@') {
        Some((user, tail)) => match user.split_once(':') {
            Some((name, _)) => format!("{name}:{MASK}@{tail}"),
            None => rest.to_owned(),
        },
        None => rest.to_owned(),
    };
    let (start, query) = shown.split_once('?').unwrap_or((&shown, ""));
    let mask = |pair: &str| match pair.split_once('=') {
        Some((name, _)) if name.to_ascii_lowercase().ends_with("password") => format!("{name}={MASK}"),
        Some(_) | None => pair.to_owned(),
    };
    let query = query.split('&').map(mask).collect::<Vec<_>>().join("&");
    let query = if shown.contains('?') { format!("?{query}") } else { query };
    format!("{scheme}://{start}{query}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(url: &str, shown: &str) {
        assert_eq!(DatabaseUrl::parse(url).unwrap().to_string(), shown);
    }

    #[test]
    fn a_password_is_not_shown_wherever_it_stands() {
        check("postgres://ann:s3cret@db:5433/toll?sslmode=require", "postgres://ann:***@db:5433/toll?sslmode=require");
        check("postgresql://ann@db/toll", "postgresql://ann@db/toll");
        check("postgres://db/toll?user=ann&password=s3cret", "postgres://db/toll?user=ann&password=***");
        check("postgres://db/toll?Password=s3c@ret&user=ann", "postgres://db/toll?Password=***&user=ann");
        check("sqlite:/var/lib/toll.db", "sqlite:/var/lib/toll.db");
    }

    #[test]
    fn a_password_that_is_not_written_as_it_should_be_is_not_shown_either() {
        check("postgres://ann:s3/cr?et@db/toll", "postgres://ann:***@db/toll");
        check("postgres://ann:s3@cret@db/toll", "postgres://ann:***@db/toll");
    }

    #[test]
    fn an_address_of_another_kind_is_refused_without_being_shown() {
        for text in ["mysql://ann:s3cret@db/toll", "ann:s3cret@db", ""] {
            assert!(!DatabaseUrl::parse(text).unwrap_err().contains("s3cret"), "{text}");
        }
    }
}
