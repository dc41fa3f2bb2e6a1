//! Commit messages of the board, with trailers.
//!
//! ```text
//! feat: Add user authentication
//!
//! Implemented by Automaker auto-mode - Code Review Iteration 2
//! Fixes from review iteration 1
//!
//! Tollgate-Feature: user-auth
//! Tollgate-Iteration: 2
//! Tollgate-Attempt: 7f3a
//! ```
//!
//! The trailers identify a commit after a crash, so that it is not made twice. Any commit can carry such lines: recovery
//! compares the attempt with the stored one and trusts nothing else in a message.

use crate::board::FeatureId;
use crate::visible::is_hidden;

/// The longest title in a subject, in characters.
pub const MAX_TITLE_CHARS: usize = 72;
/// The longest name of a pipeline or of a step, in characters.
const MAX_NAME_CHARS: usize = 64;
/// The longest attempt id, in characters.
const MAX_ATTEMPT_CHARS: usize = 128;
/// The default pipeline name, which existing projects have in their history.
const PIPELINE: &str = "Automaker";

const FEATURE: &str = "Tollgate-Feature";
const ITERATION: &str = "Tollgate-Iteration";
const ATTEMPT: &str = "Tollgate-Attempt";

/// The inputs of a commit message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Commit<'a> {
    /// The title of the feature; may be empty.
    pub title: &'a str,
    /// Its description, whose first line replaces a missing title.
    pub description: &'a str,
    /// The feature.
    pub feature: &'a FeatureId,
    /// The kind of work that is committed.
    pub work: Work<'a>,
    /// The iteration, from 1.
    pub iteration: u32,
    /// The configured name of the pipeline.
    pub pipeline: &'a str,
    /// The id of this attempt: letters, digits and `._-`; other characters are left out.
    pub attempt: &'a str,
}

/// The kind of work in a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Work<'a> {
    /// An implementation, or a fix after a review.
    Implementation,
    /// A pipeline step, by its name.
    Step(&'a str),
}

/// Writes the message of a commit.
#[must_use]
pub fn message(commit: &Commit<'_>) -> String {
    let Commit { feature, iteration, .. } = commit;
    let subject = subject(commit);
    let pipeline = Some(one_line(commit.pipeline, MAX_NAME_CHARS)).filter(|name| !name.is_empty());
    let pipeline = pipeline.as_deref().unwrap_or(PIPELINE);
    let done = match commit.work {
        Work::Implementation => format!("Code Review Iteration {iteration}"),
        Work::Step(name) => format!("Pipeline Step: {}", one_line(name, MAX_NAME_CHARS)),
    };
    let fixes = match (commit.work, iteration.checked_sub(1)) {
        (Work::Implementation, Some(last @ 1..)) => format!("\nFixes from review iteration {last}"),
        _ => String::new(),
    };
    let attempt: String = commit.attempt.chars().filter(|part| is_of_attempt(*part)).take(MAX_ATTEMPT_CHARS).collect();
    format!(
        "feat: {subject}\n\nImplemented by {pipeline} auto-mode - {done}{fixes}\n\n\
         {FEATURE}: {feature}\n{ITERATION}: {iteration}\n{ATTEMPT}: {attempt}\n"
    )
}

/// The title of the feature, else the first line of its description, else its id.
fn subject(commit: &Commit<'_>) -> String {
    let title = one_line(commit.title, MAX_TITLE_CHARS);
    // A description may begin with a heading or the item of a list.
    let lines = commit.description.lines().map(|line| line.trim_start_matches(['#', '-', '*', '>', ' ', '\t']));
    let titles = std::iter::once(title).chain(lines.map(|line| one_line(line, MAX_TITLE_CHARS)));
    titles.into_iter().find(|title| !title.is_empty()).unwrap_or_else(|| commit.feature.to_string())
}

/// Untrusted text on one line, without invisible characters, truncated.
fn one_line(text: &str, max_chars: usize) -> String {
    let spaced: String = text.chars().map(|part| if part.is_whitespace() { ' ' } else { part }).collect();
    let shown: String = spaced.chars().filter(|part| !is_hidden(*part)).collect();
    let line = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= max_chars {
        return line;
    }
    let head: String = line.chars().take(max_chars - 1).collect();
    format!("{}…", head.trim_end())
}

fn is_of_attempt(part: char) -> bool {
    part.is_ascii_alphanumeric() || matches!(part, '.' | '_' | '-')
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;
    use proptest::prelude::*;

    use super::*;

    /// The trailers of a message, parsed as git does.
    #[derive(Debug, Clone, PartialEq, Eq)]
    struct Trailers {
        feature: FeatureId,
        iteration: u32,
        attempt: String,
    }

    fn parse_trailers(message: &str) -> Option<Trailers> {
        let message = message.trim_end();
        let start = message.rfind("\n\n").map_or(0, |at| at + 2);
        let value = |wanted: &str| {
            let pairs = message[start..].lines().filter_map(|line| line.split_once(':'));
            let mut values = pairs.filter(|(name, _)| name.trim().eq_ignore_ascii_case(wanted)).map(|(_, value)| value);
            values.next().map(str::trim).filter(|_| values.next().is_none())
        };
        let feature = FeatureId::parse(value(FEATURE)?).ok()?;
        let iteration = value(ITERATION)?.parse().ok().filter(|number| *number > 0)?;
        let attempt = value(ATTEMPT)?;
        let is_name = !attempt.is_empty() && attempt.len() <= MAX_ATTEMPT_CHARS && attempt.chars().all(is_of_attempt);
        is_name.then(|| Trailers { feature, iteration, attempt: attempt.to_owned() })
    }

    fn id() -> FeatureId {
        FeatureId::parse("user-auth").unwrap()
    }

    fn commit<'a>(feature: &'a FeatureId, title: &'a str, description: &'a str, iteration: u32) -> Commit<'a> {
        let work = Work::Implementation;
        Commit { title, description, feature, work, iteration, pipeline: "Automaker", attempt: "7f3a" }
    }

    #[track_caller]
    fn check_subject(title: &str, description: &str, expected: &str) {
        let message = message(&commit(&id(), title, description, 1));
        assert_eq!(message.lines().next().unwrap(), expected);
        assert_eq!(message.lines().nth(1), Some(""));
    }

    #[test]
    fn the_first_iteration_names_feature_iteration_and_attempt() {
        assert_snapshot!(message(&commit(&id(), "Add user authentication", "", 1)), @r"
        feat: Add user authentication

        Implemented by Automaker auto-mode - Code Review Iteration 1

        Tollgate-Feature: user-auth
        Tollgate-Iteration: 1
        Tollgate-Attempt: 7f3a
        ");
    }

    #[test]
    fn later_iterations_name_the_review_they_fix() {
        let feature = id();
        let commit = Commit { pipeline: "Acme", ..commit(&feature, "Add user authentication", "", 3) };
        assert_snapshot!(message(&commit), @r"
        feat: Add user authentication

        Implemented by Acme auto-mode - Code Review Iteration 3
        Fixes from review iteration 2

        Tollgate-Feature: user-auth
        Tollgate-Iteration: 3
        Tollgate-Attempt: 7f3a
        ");
    }

    #[test]
    fn a_step_commit_names_the_step() {
        let feature = id();
        let commit = Commit { work: Work::Step("Doc\numentation"), ..commit(&feature, "Add login", "", 2) };
        assert_snapshot!(message(&commit), @r"
        feat: Add login

        Implemented by Automaker auto-mode - Pipeline Step: Doc umentation

        Tollgate-Feature: user-auth
        Tollgate-Iteration: 2
        Tollgate-Attempt: 7f3a
        ");
    }

    #[test]
    fn a_title_is_one_line_of_visible_characters() {
        check_subject(" Add\n\nlogin\t now\u{1b}\u{202e} ", "", "feat: Add login now");
        check_subject(&"ü".repeat(80), "", &format!("feat: {}…", "ü".repeat(71)));
        check_subject(&"ü".repeat(72), "", &format!("feat: {}", "ü".repeat(72)));
    }

    #[test]
    fn a_missing_title_falls_back_to_the_description_then_to_the_id() {
        check_subject("", "\n\n## Add login\nwith a form", "feat: Add login");
        check_subject("\u{200b}", "- \n> Add `rm -rf $(x)`", "feat: Add `rm -rf $(x)`");
        check_subject("", " \n", "feat: user-auth");
    }

    #[test]
    fn trailers_are_parsed_from_the_last_paragraph_only() {
        let ours = "Tollgate-Feature: a\nTollgate-Iteration: 2\nTollgate-Attempt: x";
        let read = |text: &str| parse_trailers(text).map(|found| (found.feature.to_string(), found.iteration));
        let a = Some(("a".to_owned(), 2));
        assert_eq!(read(&format!("s\n\n{ours}\n")), a);
        assert_eq!(read(&format!("s\n\n{ours}\nSigned-off-by: b <b@example.com>\n\n")), a);
        assert_eq!(read(&format!("s\n\n{ours}\n\nand more")), None);
        assert_eq!(read(&format!("s\n\n{ours}\nTollgate-Iteration: 3")), None);
        assert_eq!(read("s\n\nTollgate-Feature: a\nTollgate-Iteration: 2"), None);
        assert_eq!(read(&ours.replace(": a", ": ../a")), None);
        assert_eq!(read(&ours.replace(": 2", ": 0")), None);
        assert_eq!(read(&ours.replace(": x", ": x y")), None);
        assert_eq!(read(""), None);
    }

    proptest! {
        #[test]
        fn no_title_or_step_name_can_forge_a_trailer(
            title in "(\\PC|[\\r\\n\\u{85}\\u{2028}]|Tollgate-Iteration: 9){0,12}",
            step in proptest::option::of("(\\PC|\n\n|Tollgate-Feature: b){0,8}"),
            iteration in 1u32..,
            attempt in "[A-Za-z0-9._-]{1,20}",
        ) {
            let feature = id();
            let work = step.as_deref().map_or(Work::Implementation, Work::Step);
            let commit = Commit { work, attempt: &attempt, ..commit(&feature, &title, &title, iteration) };
            let expected = Trailers { feature: feature.clone(), iteration, attempt: attempt.clone() };
            let message = message(&commit);
            prop_assert_eq!(parse_trailers(&message), Some(expected));
            prop_assert_eq!(message.split("\n\n").count(), 3);
        }
    }
}
