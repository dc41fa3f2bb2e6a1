//! Ids of features and pipeline steps: safe as names of folders, branches and arguments.

use std::fmt;

/// The longest id.
const MAX_CHARS: usize = 64;

/// Why a text is not a valid id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IdError {
    /// The text is empty.
    #[error("it is empty")]
    Empty,
    /// The text is too long.
    #[error("it has {0} characters, and {MAX_CHARS} are the most")]
    TooLong(usize),
    /// A leading `-`, which programs take for an option.
    #[error("it begins with `-`")]
    Option,
    /// A character that is special to a file system, a shell or git.
    #[error("it has a character other than `A-Z`, `a-z`, `0-9`, `_` and `-`")]
    Character,
}

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(String);

        impl $name {
            /// Parses an id.
            pub fn parse(text: &str) -> Result<Self, IdError> {
                check(text)?;
                Ok(Self(text.to_owned()))
            }

            /// The id as text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

id! {
    /// The id of a feature: `feature-1767960000000-x7k2m9qpa`, `user-auth`.
    ///
    /// It is also the name of the feature's folder and branch, so it holds nothing that could lead elsewhere.
    FeatureId
}

impl FeatureId {
    /// The short form for lists and log lines: the random last part of a generated id.
    #[must_use]
    pub fn short(&self) -> &str {
        let own = self.0.strip_prefix("feature-").and_then(|rest| rest.split_once('-'));
        match own {
            Some((time, tail)) if time.len() >= 10 && time.bytes().all(|byte| byte.is_ascii_digit()) => tail,
            Some(_) | None => &self.0,
        }
    }
}

id! {
    /// The id of a pipeline step behind the review: `step_lx3k_a1b2c3`.
    StepId
}

fn check(text: &str) -> Result<(), IdError> {
    let is_safe = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    if text.is_empty() {
        return Err(IdError::Empty);
    }
    if !text.bytes().all(is_safe) {
        return Err(IdError::Character);
    }
    if text.starts_with('-') {
        return Err(IdError::Option);
    }
    if text.len() > MAX_CHARS {
        return Err(IdError::TooLong(text.len()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_that_could_escape_a_folder_are_refused() {
        let bad =
            ["", ".", "..", "a/b", "a\\b", "-rf", "--output=x", "a b", "a\n", "a\0", "é", "a%2fb", "a.b", "~", "$(x)"];
        for text in bad {
            assert!(FeatureId::parse(text).is_err(), "{text:?}");
            assert!(StepId::parse(text).is_err(), "{text:?}");
        }
        assert_eq!(FeatureId::parse(&"x".repeat(300)), Err(IdError::TooLong(300)));
    }

    #[track_caller]
    fn check_short(id: &str, expected: &str) {
        assert_eq!(FeatureId::parse(id).unwrap().short(), expected);
    }

    #[test]
    fn generated_ids_are_shortened_to_their_last_part() {
        check_short("feature-1767960000000-x7k2m9qpa", "x7k2m9qpa");
        check_short("feature-1767960000000-a-b", "a-b");
        check_short("feature-login-1", "feature-login-1");
        check_short("login", "login");
    }

    #[test]
    fn ids_as_boards_generate_them_are_accepted() {
        for text in ["feature-1767960000000-x7k2m9qpa", "user-auth", "A_1", "_x", &"x".repeat(64)] {
            assert_eq!(FeatureId::parse(text).unwrap().as_str(), text);
        }
    }
}
