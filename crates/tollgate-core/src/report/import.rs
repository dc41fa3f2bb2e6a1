//! Converts results of other tools to findings.
//!
//! Tools have a message, a level and a location; the other fields of a finding are derived here for all formats. No text
//! is lost: a long message becomes a short summary with the whole in the reason.

use crate::finding::{Category, Finding, FindingId, Fix, LineRange, Location, Origin, Severity, Side, Summary};
use crate::path::{FilePath, RepoPath};
use crate::report::json::fields::Reader;

/// A result of another tool.
#[derive(Debug)]
pub(super) struct ToolFinding {
    pub(super) severity: Severity,
    pub(super) category: Category,
    pub(super) location: Location,
    pub(super) message: String,
    /// The description of the rule, used when the message gives no reason.
    pub(super) explanation: Option<String>,
    pub(super) evidence: Option<String>,
    pub(super) suggestion: Option<String>,
    pub(super) fix: Option<Fix>,
    pub(super) origin: Origin,
}

impl ToolFinding {
    /// Converts it to a finding with the id F001.
    pub(super) fn into_finding(self) -> Finding {
        let message = self.message.replace('\0', "");
        let message = message.trim();
        let (first, rest) = message.split_once('\n').unwrap_or((message, ""));
        let (summary, whole) = Summary::shorten(first);
        let rest = Some(rest.trim().to_owned()).filter(|rest| !rest.is_empty());
        let mut reason = match (whole, rest) {
            (Some(whole), Some(rest)) => Some(format!("{whole}\n\n{rest}")),
            (whole, rest) => whole.or(rest),
        };
        let clean =
            |text: Option<String>| text.map(|text| text.replace('\0', "")).filter(|text| !text.trim().is_empty());
        if reason.is_none() {
            reason = clean(self.explanation).filter(|text| text.trim() != summary.as_str());
        }
        if reason.is_none() && self.severity.blocks() {
            reason = Some(summary.as_str().to_owned());
        }
        let evidence = clean(self.evidence).unwrap_or_else(|| summary.as_str().to_owned());
        Finding {
            id: FindingId::at(0),
            severity: self.severity,
            category: self.category,
            location: self.location,
            summary,
            reason,
            evidence,
            suggestion: clean(self.suggestion),
            fix: self.fix.map(|fix| Fix { replacement: fix.replacement.replace('\0', ""), ..fix }),
            origin: Origin {
                reviewer: clean(self.origin.reviewer),
                rule: clean(self.origin.rule),
                rule_url: clean(self.origin.rule_url),
            },
            extra: serde_json::Map::new(),
        }
    }
}

/// Numbers findings in order.
pub(crate) fn numbered(mut findings: Vec<Finding>) -> Vec<Finding> {
    for (index, finding) in findings.iter_mut().enumerate() {
        finding.id = FindingId::at(index);
    }
    findings
}

/// Makes a tool's path relative to the repository; `None` when it names no file.
///
/// `roots` are absolute folders that may be the root of the repository.
pub(super) fn relative(reader: &mut Reader, at: &str, path: &str, roots: &[String]) -> Option<FilePath> {
    let path = path.replace('\\', "/");
    let inside = roots.iter().filter_map(|root| below(&path, root)).min_by_key(|rest| rest.len());
    let rest = inside.unwrap_or(&path);
    if let Ok(file) = FilePath::parse(rest) {
        return Some(file);
    }
    if !rest.chars().any(|character| !matches!(character, '/' | '.')) {
        reader.report(at, "file", &path, "this path names no file");
        return None;
    }
    let file = FilePath::of_repo_path(&RepoPath::from_bytes(rest.as_bytes()));
    reader.report(at, "file", &path, format!("this path is not in the repository; read as `{file}`"));
    Some(file)
}

fn below<'a>(path: &'a str, root: &str) -> Option<&'a str> {
    let root = root.trim_end_matches('/');
    path.strip_prefix(root)?.strip_prefix('/').filter(|_| !root.is_empty())
}

/// A location on the new side.
pub(super) fn place(file: FilePath, start: u64, end: u64) -> Location {
    let line = |number: u64| u32::try_from(number).unwrap_or(u32::MAX).max(1);
    let lines = LineRange::new(line(start), line(end)).unwrap_or_else(|| LineRange::line(line(start)));
    Location { file, lines, side: Side::Right }
}

/// Percent-decodes a URI; invalid UTF-8 is replaced.
pub(super) fn decode(address: &str) -> String {
    let mut bytes = Vec::with_capacity(address.len());
    let mut rest = address.as_bytes();
    while let [first, tail @ ..] = rest {
        let digits = tail.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        let escaped = digits.filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()));
        match escaped.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) if *first == b'%' => {
                bytes.push(byte);
                rest = &tail[2..];
            }
            _ => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path::percent_encode;

    #[test]
    fn uris_are_decoded_once() {
        assert_eq!(decode("a%20b%25zz%2"), "a b%zz%2");
        assert_eq!(decode(&percent_encode("sрc/ä b:c%20#?")), "sрc/ä b:c%20#?");
    }

    #[test]
    fn absolute_paths_become_relative_to_the_nearest_root() {
        let roots = ["/home/me/".to_owned(), "/home/me/repo".to_owned()];
        let mut reader = Reader::default();
        let mut check = |path, expected| {
            let file = relative(&mut reader, "", path, &roots);
            assert_eq!(file.as_ref().map(FilePath::as_str), expected, "{path}");
        };
        check("/home/me/repo/src/a.rs", Some("src/a.rs"));
        check("/home/me/other/a.rs", Some("other/a.rs"));
        check("./src\\a.rs", Some("src/a.rs"));
        check("/etc/passwd", Some("etc/passwd"));
        check("..", None);
    }
}
