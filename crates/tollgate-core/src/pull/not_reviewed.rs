//! Notices for commits that are not reviewed: the check run, and sometimes a comment.
//!
//! Forges count *neutral* as passed, so an unreviewed commit gets *action required* or *failure*. The one exception is an
//! author with write access who skips the review.

use crate::markdown::escape::{code_span, literal_at_start, shown};
use crate::pull::check_run::{CheckOutput, Conclusion};
use crate::pull::marker::Marker;
use crate::report::summary::phrases::plural;
use crate::sha::Sha;

/// The most characters of an untrusted reason.
const MAX_REASON: usize = 1000;

/// A notice in place of a review.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// The conclusion of the check.
    pub conclusion: Conclusion,
    /// The output of the check.
    pub check: CheckOutput,
    /// A comment with its marker; one per commit.
    pub comment: Option<String>,
}

/// The access of the author of a pull request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuthorAccess {
    /// Write access, which allows skipping the review.
    Write,
    /// No write access: an outsider must not switch the gate off.
    ReadOnly,
}

/// The title and summary of a check while the review runs.
#[must_use]
pub fn in_progress(head: &Sha) -> (String, String) {
    ("Reviewing".to_owned(), format!("The review of {} is running.", head.short()))
}

/// The pull request is a draft.
#[must_use]
pub fn draft(mention: &str) -> Notice {
    let say = say(mention, "review");
    let text = format!("Drafts are not reviewed. Mark it as ready for review, or write {say}.");
    needs_action("Not reviewed: this is a draft", text)
}

/// Reviews are paused.
#[must_use]
pub fn paused(mention: &str, by: Option<&str>) -> Notice {
    let by = by.map(|by| shown(by, 100)).filter(|by| !by.is_empty());
    let by = by.map_or_else(String::new, |by| format!(" by {}", code_span(&by)));
    let (resume, review) = (say(mention, "resume"), say(mention, "review"));
    let text = format!(
        "Reviews of this pull request were paused{by}. Write {resume} to have every push reviewed again, or {review} \
         for this one."
    );
    needs_action("Not reviewed: reviews are paused", text)
}

/// Reviews run on request only.
#[must_use]
pub fn on_request(mention: &str) -> Notice {
    let text = format!("Reviews run on request here. Write {} to request one.", say(mention, "review"));
    needs_action("Not reviewed: no review was requested", text)
}

/// The title has `[no-review]`.
#[must_use]
pub fn skipped(mention: &str, head: &Sha, author: AuthorAccess) -> Notice {
    let tag = "`[no-review]`";
    let (conclusion, title, text) = match author {
        AuthorAccess::Write => {
            let text = format!("Review skipped per {tag} in PR title.");
            (Conclusion::Neutral, "Skipped by author", text)
        }
        AuthorAccess::ReadOnly => {
            let review = say(mention, "review");
            let text = format!(
                "The title says {tag}, but its author has no write access to this repository and cannot skip the \
                 review. Remove {tag} from the title, or ask a maintainer to write {review}."
            );
            (Conclusion::ActionRequired, "Not reviewed: the author cannot skip the review", text)
        }
    };
    let mark = Marker::Note { head: head.clone(), what: "skipped".to_owned() };
    Notice { comment: Some(mark.below(&text)), ..note(conclusion, title, text) }
}

/// A newer push superseded the commit.
#[must_use]
pub fn superseded(newer: &Sha) -> Notice {
    let text = format!("Superseded by a newer push: {} is reviewed instead of this commit.", newer.short());
    needs_action("Not reviewed: superseded by a newer push", text)
}

/// The pull request was closed before the review finished.
#[must_use]
pub fn closed() -> Notice {
    let text = "The pull request was closed before the review finished. Reopen it to have it reviewed.".to_owned();
    needs_action("Not reviewed: the pull request was closed", text)
}

/// An operator cancelled the review.
#[must_use]
pub fn cancelled(by: &str) -> Notice {
    let by = Some(shown(by, 100)).filter(|by| !by.is_empty());
    let by = by.map_or_else(|| "an operator".to_owned(), |by| code_span(&by));
    let text = format!("The review was cancelled by {by}. Push a commit or request a review to start a new one.");
    needs_action("Not reviewed: the review was cancelled", text)
}

/// The change exceeds the file limit.
#[must_use]
pub fn too_large(n_files: u64, max_files: u64) -> Notice {
    let text =
        format!("The change has {}; the limit is {max_files}. Split it into smaller changes.", plural(n_files, "file"));
    needs_action("Not reviewed: the change is too large", text)
}

/// The review timed out.
#[must_use]
pub fn timed_out(mention: &str, minutes: u64) -> Notice {
    let text = format!(
        "The review did not finish within {}. Write {} to try again.",
        plural(minutes, "minute"),
        say(mention, "review")
    );
    needs_action("Not reviewed: the review timed out", text)
}

/// The review failed, for this reason.
#[must_use]
pub fn failed(mention: &str, reason: &str, hint: Option<&str>) -> Notice {
    let said = |text: &str| Some(literal_at_start(&shown(text, MAX_REASON))).filter(|text| !text.is_empty());
    let mut lines = vec!["The review failed, so this commit is not reviewed.".to_owned()];
    lines.extend(said(reason));
    lines.extend(hint.and_then(said));
    lines.push(format!("Write {} to try again.", say(mention, "review")));
    note(Conclusion::Failure, "The review failed", lines.join("\n\n"))
}

fn needs_action(title: &str, summary: String) -> Notice {
    note(Conclusion::ActionRequired, title, summary)
}

fn note(conclusion: Conclusion, title: &str, summary: String) -> Notice {
    let check = CheckOutput { title: title.to_owned(), summary, annotations: Vec::new() };
    Notice { conclusion, check, comment: None }
}

/// A bot command as a code span.
fn say(mention: &str, command: &str) -> String {
    code_span(&format!("@{mention} {command}"))
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;
    use crate::pull::hostile::{self, assert_harmless};
    use crate::pull::sample::head;

    fn all(hostile: &str) -> Vec<Notice> {
        vec![
            draft("tollgate"),
            paused("tollgate", Some(hostile)),
            paused("tollgate", None),
            on_request("tollgate"),
            skipped("tollgate", &head(), AuthorAccess::Write),
            skipped("tollgate", &head(), AuthorAccess::ReadOnly),
            superseded(&head()),
            closed(),
            cancelled(hostile),
            too_large(5000, 3000),
            timed_out("tollgate", 30),
            failed("tollgate", hostile, Some(hostile)),
            failed("tollgate", hostile, None),
        ]
    }

    #[test]
    fn unreviewed_commits_pass_only_when_an_author_with_write_access_skips() {
        for note in all("x") {
            let may_pass = note == skipped("tollgate", &head(), AuthorAccess::Write);
            assert_eq!(note.conclusion.passes(), may_pass, "{}", note.check.title);
        }
        assert_eq!(failed("a", "x", None).conclusion, Conclusion::Failure);
        assert_eq!(skipped("a", &head(), AuthorAccess::Write).conclusion, Conclusion::Neutral);
        assert_eq!(skipped("a", &head(), AuthorAccess::ReadOnly).conclusion, Conclusion::ActionRequired);
    }

    #[test]
    fn only_a_skipped_review_has_a_comment() {
        assert_snapshot!(skipped("tollgate", &head(), AuthorAccess::ReadOnly).comment.unwrap(), @"
        The title says `[no-review]`, but its author has no write access to this repository and cannot skip the review. Remove `[no-review]` from the title, or ask a maintainer to write `@tollgate review`.

        <!-- tollgate:note head=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa what=skipped -->
        ");
        assert_eq!(all("x").iter().filter(|note| note.comment.is_some()).count(), 2);
    }

    #[test]
    fn each_notice_says_what_happened_and_what_to_do() {
        let shown = |note: &Notice| format!("{}\n{}", note.check.title, note.check.summary);
        assert_snapshot!(all("the budget is spent").iter().map(shown).collect::<Vec<_>>().join("\n--\n"), @"
        Not reviewed: this is a draft
        Drafts are not reviewed. Mark it as ready for review, or write `@tollgate review`.
        --
        Not reviewed: reviews are paused
        Reviews of this pull request were paused by `the budget is spent`. Write `@tollgate resume` to have every push reviewed again, or `@tollgate review` for this one.
        --
        Not reviewed: reviews are paused
        Reviews of this pull request were paused. Write `@tollgate resume` to have every push reviewed again, or `@tollgate review` for this one.
        --
        Not reviewed: no review was requested
        Reviews run on request here. Write `@tollgate review` to request one.
        --
        Skipped by author
        Review skipped per `[no-review]` in PR title.
        --
        Not reviewed: the author cannot skip the review
        The title says `[no-review]`, but its author has no write access to this repository and cannot skip the review. Remove `[no-review]` from the title, or ask a maintainer to write `@tollgate review`.
        --
        Not reviewed: superseded by a newer push
        Superseded by a newer push: aaaaaaa is reviewed instead of this commit.
        --
        Not reviewed: the pull request was closed
        The pull request was closed before the review finished. Reopen it to have it reviewed.
        --
        Not reviewed: the review was cancelled
        The review was cancelled by `the budget is spent`. Push a commit or request a review to start a new one.
        --
        Not reviewed: the change is too large
        The change has 5000 files; the limit is 3000. Split it into smaller changes.
        --
        Not reviewed: the review timed out
        The review did not finish within 30 minutes. Write `@tollgate review` to try again.
        --
        The review failed
        The review failed, so this commit is not reviewed.

        the budget is spent

        the budget is spent

        Write `@tollgate review` to try again.
        --
        The review failed
        The review failed, so this commit is not reviewed.

        the budget is spent

        Write `@tollgate review` to try again.
        ");
        assert_snapshot!(format!("{:?}", in_progress(&head())), @r#"("Reviewing", "The review of aaaaaaa is running.")"#);
    }

    #[test]
    fn hostile_reasons_are_inert() {
        for text in hostile::texts().map(str::to_owned).chain(["@a ".repeat(100_000)]) {
            for note in all(&text) {
                assert_harmless(&note.check.summary);
                note.comment.iter().for_each(|comment| assert_harmless(comment));
            }
        }
    }
}
