//! Parses lists of commits in common formats.
//!
//! ```text
//! {"sha": "abc1234…", "message": "fix: retry"}     JSON lines, as scripts write them
//! abc1234 (HEAD -> main) fix: retry                `git log --oneline`
//! commit abc1234…                                  `git log`
//! ```
//!
//! The first line determines the format. The order is kept.

use serde::Deserialize;

use crate::intent::Commit;

/// A commit of a list.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct ListedCommit {
    /// The commit id, possibly abbreviated.
    pub sha: String,
    /// Its message.
    pub message: String,
}

impl ListedCommit {
    /// The commit, borrowed.
    #[must_use]
    pub fn as_commit(&self) -> Commit<'_> {
        Commit { sha: &self.sha, message: &self.message }
    }
}

/// A line of a list that cannot be parsed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {problem}")]
pub struct ListError {
    /// The line, counted from 1.
    pub line: usize,
    /// The problem.
    pub problem: String,
}

/// Parses a list of commits.
pub fn parse(text: &str) -> Result<Vec<ListedCommit>, ListError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    if first.trim_start().starts_with('{') {
        json_lines(text)
    } else if commit_line(first).is_some() {
        Ok(log(text))
    } else {
        one_line_each(text)
    }
}

fn numbered(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().map(|(index, line)| (index + 1, line)).filter(|(_, line)| !line.trim().is_empty())
}

fn json_lines(text: &str) -> Result<Vec<ListedCommit>, ListError> {
    let read = |(line, json): (usize, &str)| {
        serde_json::from_str(json.trim()).map_err(|error| {
            // Each line is parsed alone, so the position in the error would be misleading.
            let error = error.to_string();
            let why = error.split(" at line ").next().unwrap_or_default();
            let problem = format!("expected an object with `sha` and `message`: {why}");
            ListError { line, problem }
        })
    };
    numbered(text).map(read).collect()
}

fn one_line_each(text: &str) -> Result<Vec<ListedCommit>, ListError> {
    let read = |(line, whole): (usize, &str)| {
        let (sha, rest) = whole.trim().split_once(char::is_whitespace).unwrap_or((whole.trim(), ""));
        if !is_name(sha) {
            let problem = "expected a commit id and a title, as printed by `git log --oneline`".to_owned();
            return Err(ListError { line, problem });
        }
        Ok(ListedCommit { sha: sha.to_owned(), message: undecorated(rest.trim_start()).to_owned() })
    };
    numbered(text).map(read).collect()
}

/// Strips the decoration of `git log --decorate` before a title.
fn undecorated(title: &str) -> &str {
    let Some((names, rest)) = title.strip_prefix('(').and_then(|inside| inside.split_once(") ")) else { return title };
    // A title may begin with its own parenthesis; branch names have no spaces.
    let is_name = |name: &str| {
        let name = name.trim_start_matches("HEAD -> ").trim_start_matches("tag: ");
        !name.is_empty() && !name.contains(char::is_whitespace)
    };
    let known = names.contains("HEAD") || names.contains('/') || names.contains("tag: ");
    if known && names.split(", ").all(is_name) { rest } else { title }
}

fn log(text: &str) -> Vec<ListedCommit> {
    let mut commits: Vec<ListedCommit> = Vec::new();
    for line in text.lines() {
        if let Some(sha) = commit_line(line) {
            commits.push(ListedCommit { sha: sha.to_owned(), message: String::new() });
        } else if let (Some(commit), Some(said)) = (commits.last_mut(), line.strip_prefix("    ")) {
            if !commit.message.is_empty() {
                commit.message.push('\n');
            }
            commit.message.push_str(said);
        }
    }
    commits
}

/// The commit id in a `commit` line of `git log`.
fn commit_line(line: &str) -> Option<&str> {
    let sha = line.strip_prefix("commit ")?.split_whitespace().next()?;
    is_name(sha).then_some(sha)
}

fn is_name(text: &str) -> bool {
    (4..=64).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        for text in [text.to_owned(), text.replace('\n', "\r\n"), format!("\u{feff}{text}")] {
            let said = match parse(&text) {
                Ok(commits) => {
                    commits.iter().map(|commit| format!("{}: {}", commit.sha, commit.message)).collect::<Vec<_>>()
                }
                Err(error) => vec![error.to_string()],
            };
            assert_eq!(said, expected, "{text:?}");
        }
    }

    #[test]
    fn json_lines_are_read() {
        let text =
            "{\"sha\": \"abc1234\", \"message\": \"a\\n\\nb\"}\n\n{\"message\": \"c\", \"sha\": \"d\", \"x\": 1}\n";
        check(text, &["abc1234: a\n\nb", "d: c"]);
        check("", &[]);
    }

    #[test]
    fn one_line_for_each_commit_is_read() {
        check("abc1234 fix: a\nabcd (HEAD -> x, origin/x) feat: b\n", &["abc1234: fix: a", "abcd: feat: b"]);
        check("abc1234 (feat) a\nabc1235\n", &["abc1234: (feat) a", "abc1235: "]);
    }

    #[test]
    fn the_long_form_is_read_with_its_messages() {
        let text = "commit abc1234 (HEAD -> main)\nMerge: a b\nAuthor: A <a@b.c>\nDate:   Thu\n\n    fix: a\n    \n    \
                    more\n\ncommit def5678\nAuthor: A\n\n    [wip] b\n";
        check(text, &["abc1234: fix: a\n\nmore", "def5678: [wip] b"]);
    }

    #[test]
    fn a_line_that_is_no_commit_is_named() {
        let problem = "expected a commit id and a title, as printed by `git log --oneline`";
        check("abc1234 a\nhello\n", &[&format!("line 2: {problem}")]);
        let error = parse("{\"sha\": \"a\", \"message\": \"b\"}\n{\"sha\": 1}\n").unwrap_err();
        assert_eq!(error.line, 2);
    }
}
