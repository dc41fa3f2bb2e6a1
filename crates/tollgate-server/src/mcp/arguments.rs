//! Parses the arguments of a tool into types; unknown arguments are refused with a list of the known ones.

use serde::de::DeserializeOwned;
use serde_json::Value;
use tollgate_engine::failure::Failure;

use super::failure;

/// The longest name of a folder, revision, branch or finding.
const MAX_NAME: usize = 4096;

pub(super) fn read<T: DeserializeOwned>(tool: &str, arguments: Value) -> Result<T, Failure> {
    serde_json::from_value(arguments).map_err(|error| failure::bad_arguments(tool, &error.to_string()))
}

/// A project name or id, if it is valid.
pub(super) fn name<'a>(what: &str, text: &'a str) -> Result<&'a str, Failure> {
    if text.is_empty() || text.len() > MAX_NAME || text.chars().any(char::is_control) {
        return Err(failure::not_a_name(what, text));
    }
    Ok(text)
}

/// The same for one that may be missing.
pub(super) fn maybe_name<'a>(what: &str, text: Option<&'a str>) -> Result<Option<&'a str>, Failure> {
    text.map(|text| name(what, text)).transpose()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_line_of_some_length() {
        assert_eq!(name("range", "main..HEAD").unwrap(), "main..HEAD");
        for bad in ["", "a\0b", "a\nb", &"x".repeat(MAX_NAME + 1)] {
            let refused = name("range", bad).unwrap_err();
            assert!(refused.message.len() < 300, "{}", refused.message);
        }
    }
}
