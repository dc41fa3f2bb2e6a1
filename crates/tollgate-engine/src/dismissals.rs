//! Shared dismissals of a team: `.tollgate/dismissals.toml`.
//!
//! It lies in the repository, so that a dismissal is reviewed like code.
//!
//! ```toml
//! [[dismissal]]
//! file = "src/render.js"
//! title = "Input is evaluated as code"
//! evidence = "eval(template)"
//! function = "render"
//! severity = "High"
//! reason = "the template is ours"
//! ```

use std::path::Path;

use serde::{Deserialize, Serialize};
use tollgate_core::finding::{Finding, Severity};
use tollgate_core::suppress::Dismissal;

use crate::failure::{self, Failure};
use crate::tree::{self, Entry};

/// Where the file is, from the top of the repository.
pub const FILE_NAME: &str = ".tollgate/dismissals.toml";
/// A larger file is refused.
pub(crate) const MAX_BYTES: u64 = 4 * 1024 * 1024;
/// What a new file begins with.
const HEAD: &str = "# Findings that were looked at and are not to be heard again while their evidence is the same.\n\
                    # Written by `tollgate history dismiss --shared`; review changes to it like code.\n";

/// The file as it is written.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct File {
    dismissal: Vec<Entered>,
}

/// One dismissal as it is written.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entered {
    file: String,
    title: String,
    evidence: String,
    /// The enclosing function; without it the entry covers this code in one function of the file, the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    function: Option<String>,
    /// The severity; without it the entry covers findings of any severity.
    #[serde(skip_serializing_if = "Option::is_none")]
    severity: Option<String>,
    reason: String,
}

/// Reads the dismissals of the repository at `root`.
pub fn read(root: &Path) -> Result<Vec<Dismissal>, Failure> {
    read_text(root)?.map_or(Ok(Vec::new()), |text| parse(text.as_bytes()))
}

/// Parses the dismissals in the text of the file.
pub(crate) fn parse(text: &[u8]) -> Result<Vec<Dismissal>, Failure> {
    let text = std::str::from_utf8(text).map_err(|_| wrong("the file is not UTF-8"))?;
    let file: File = toml::from_str(text).map_err(|error| {
        let place = error.span().map_or_else(String::new, |span| format!("line {}: ", line_number(text, span.start)));
        wrong(&format!("{place}{}", error.message().trim()))
    })?;
    let parse = |(index, entered): (usize, Entered)| -> Result<Dismissal, Failure> {
        let Entered { file, title, evidence, function, severity, reason } = entered;
        let wrong = |problem: String| wrong(&format!("dismissal #{}: {problem}", index + 1));
        let severity = severity
            .map(|name| Severity::parse_exact(&name).ok_or_else(|| wrong(format!("`{name}` is not a severity"))));
        let dismissal = Dismissal::parse(&file, &title, evidence, reason, FILE_NAME).map_err(wrong)?;
        Ok(dismissal.limited_to(function, severity.transpose()?))
    };
    file.dismissal.into_iter().enumerate().map(parse).collect()
}

fn line_number(text: &str, at: usize) -> usize {
    text.get(..at).unwrap_or(text).matches('\n').count() + 1
}

/// The file with one more dismissal, to be written to [`FILE_NAME`].
pub fn with(root: &Path, finding: &Finding, reason: &str) -> Result<String, Failure> {
    // The file must be valid before an entry is appended.
    let new = Dismissal::of_finding(finding, reason).map_err(|problem| wrong(&problem))?;
    let is_there = |known: &Dismissal| known.file == new.file && known.covers(finding);
    if let Some(known) = read(root)?.iter().find(|known| is_there(known)) {
        return Err(failure::dismissed_before(FILE_NAME, &known.reason));
    }
    let before = read_text(root)?.unwrap_or_else(|| HEAD.to_owned());
    let entered = Entered {
        file: finding.location.file.as_str().to_owned(),
        title: finding.summary.as_str().to_owned(),
        evidence: finding.evidence.clone(),
        function: new.scope,
        severity: new.severity.map(|severity| severity.as_str().to_owned()),
        reason: reason.to_owned(),
    };
    let entered = toml::to_string(&File { dismissal: vec![entered] }).map_err(|error| wrong(&error.to_string()))?;
    Ok(format!("{}\n\n{entered}", before.trim_end()))
}

fn read_text(root: &Path) -> Result<Option<String>, Failure> {
    let content = match tree::read(root, FILE_NAME.as_bytes(), MAX_BYTES) {
        Ok(Entry::File { content, .. }) => content,
        Ok(Entry::Other) => return Ok(None),
        Ok(Entry::TooLarge(_)) => return Err(wrong("the file is larger than 4 MiB")),
        Ok(Entry::Link(_)) => return Err(wrong("symbolic links are not followed")),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failure::unreadable(&root.join(FILE_NAME), &error)),
    };
    String::from_utf8(content).map(Some).map_err(|_| wrong("the file is not UTF-8"))
}

fn wrong(problem: &str) -> Failure {
    let hint =
        "Each `[[dismissal]]` has `file`, `title`, `evidence` and `reason`, and may have `function` and `severity`.";
    failure::bad_config(FILE_NAME, problem).hint(hint)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tollgate_core::finding::{Category, FindingId, LineRange, Location, Origin, Severity, Side, Summary};
    use tollgate_core::path::FilePath;

    fn finding(evidence: &str) -> Finding {
        Finding {
            id: FindingId::at(0),
            severity: Severity::High,
            category: Category::Security,
            location: Location { file: FilePath::parse("a.js").unwrap(), lines: LineRange::line(1), side: Side::Right },
            summary: Summary::parse("input is \"evaluated\"").unwrap(),
            reason: None,
            evidence: evidence.to_owned(),
            suggestion: None,
            fix: None,
            origin: Origin::default(),
            extra: serde_json::Map::new(),
        }
    }

    fn write(root: &Path, text: &str) {
        std::fs::create_dir_all(root.join(".tollgate")).unwrap();
        std::fs::write(root.join(FILE_NAME), text).unwrap();
    }

    #[test]
    fn an_added_dismissal_is_read_back_with_any_quotation() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(read(folder.path()).unwrap(), []);
        let hostile = "a\n[[dismissal]]\n\"\"\"'''\\u0000\tb";
        for evidence in ["eval(x)", hostile] {
            let text = with(folder.path(), &finding(evidence), "it is ours").unwrap();
            write(folder.path(), &text);
        }
        let read: Vec<String> = read(folder.path()).unwrap().into_iter().map(|dismissal| dismissal.evidence).collect();
        assert_eq!(read, ["eval(x)", hostile]);
        assert!(std::fs::read_to_string(folder.path().join(FILE_NAME)).unwrap().starts_with(HEAD.trim_end()));
    }

    #[test]
    fn an_existing_dismissal_is_not_added_again() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), &with(folder.path(), &finding("eval(x)"), "it is ours").unwrap());
        let refused = with(folder.path(), &finding("eval(x)"), "once again").unwrap_err();
        assert!(refused.message.ends_with("already: it is ours"), "{}", refused.message);
        assert!(with(folder.path(), &finding("eval(y)"), "once again").is_ok());
    }

    #[track_caller]
    fn check_refused(text: &str, problem: &str) {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), text);
        let failure = read(folder.path()).unwrap_err();
        assert!(failure.message.contains(problem), "{}", failure.message);
        assert_eq!(with(folder.path(), &finding("x"), "it is ours").unwrap_err(), failure);
    }

    #[test]
    fn a_file_with_a_mistake_is_an_error_and_is_not_added_to() {
        check_refused("# a\n[[dismissal]]\nfile = \"a\"\n", "dismissals.toml: line 2: missing field `title`");
        check_refused("\n[[dismissals]]\n", "dismissals.toml: line 2: unknown field `dismissals`");
        let no_reason = "[[dismissal]]\nfile = \"a\"\ntitle = \"t\"\nevidence = \"e\"\nreason = \"\"\n";
        check_refused(no_reason, "dismissal #1: a dismissal needs a reason");
    }
}
