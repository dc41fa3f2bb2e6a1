//! What a pull request is told when there is no review of it: a check, and sometimes a comment.
//!
//! A host counts *neutral* as passed, so nothing that was not reviewed is: somebody has to act, or we failed. The one
//! exception is an author who may write to the repository and asks for no review.

use crate::pull::mark::Mark;
use crate::pull::post::{CheckText, Conclusion};
use crate::report::escape::{literal_at_start, shown};
use crate::report::markdown::escape::code_span;
use crate::report::summary::words::plural;
use crate::sha::Sha;

/// The most characters of a reason that others wrote.
const MAX_REASON: usize = 1000;

/// What is said in place of a review.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// How the check ends.
    pub conclusion: Conclusion,
    /// What the check says.
    pub check: CheckText,
    /// A comment, with its mark; one per commit.
    pub comment: Option<String>,
}

/// Whether the author of a pull request may write to the repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Author {
    /// May, and so may decide that a change is not reviewed.
    MayWrite,
    /// May not: a stranger must not switch the gate off.
    MayNot,
}

/// What a check says while the review goes on: a title and a text.
#[must_use]
pub fn begun(head: &Sha) -> (String, String) {
    ("Reviewing".to_owned(), format!("The review of {} goes on.", head.short()))
}

/// It is a draft.
#[must_use]
pub fn draft(mention: &str) -> Note {
    let say = say(mention, "review");
    let text = format!("Drafts are not reviewed. Mark it as ready for review, or write {say}.");
    needs_action("Not reviewed: this is a draft", text)
}

/// Somebody paused reviews.
#[must_use]
pub fn paused(mention: &str, by: Option<&str>) -> Note {
    let by = by.map(|by| shown(by, 100)).filter(|by| !by.is_empty());
    let by = by.map_or_else(String::new, |by| format!(" by {}", code_span(&by)));
    let (resume, review) = (say(mention, "resume"), say(mention, "review"));
    let text = format!(
        "Reviews of this pull request were paused{by}. Write {resume} to have every push reviewed again, or {review} \
         for this one."
    );
    needs_action("Not reviewed: reviews are paused", text)
}

/// Reviews are made only when somebody asks for one.
#[must_use]
pub fn on_request(mention: &str) -> Note {
    let text = format!("Pull requests are reviewed here when somebody asks. Write {}.", say(mention, "review"));
    needs_action("Not reviewed: nobody asked for it", text)
}

/// The title says `[no-review]`.
#[must_use]
pub fn skipped(mention: &str, head: &Sha, author: Author) -> Note {
    let tag = "`[no-review]`";
    let (conclusion, text) = match author {
        Author::MayWrite => {
            (Conclusion::Neutral, format!("Review skipped per {tag} in PR title, by an author who may write here."))
        }
        Author::MayNot => {
            let review = say(mention, "review");
            let text = format!(
                "The title says {tag}, but its author may not write to this repository and so cannot switch the review \
                 off. Take {tag} out of the title, or let somebody who may write say {review}."
            );
            (Conclusion::ActionRequired, text)
        }
    };
    let mark = Mark::Note { head: head.clone(), what: "skipped".to_owned() };
    let comment = Some(mark.below(&format!("Review skipped per {tag} in PR title.")));
    Note { comment, ..note(conclusion, "Skipped by author", text) }
}

/// A newer push took its place.
#[must_use]
pub fn superseded(newer: &Sha) -> Note {
    let text = format!("There is a newer push: {} is reviewed in place of this commit.", newer.short());
    needs_action("Not reviewed: there is a newer push", text)
}

/// The pull request was closed before the review was over.
#[must_use]
pub fn closed() -> Note {
    let text = "The pull request was closed before the review was over. Reopen it to have it reviewed.".to_owned();
    needs_action("Not reviewed: the pull request was closed", text)
}

/// Whoever runs the server ended the review.
#[must_use]
pub fn cancelled(by: &str) -> Note {
    let by = Some(shown(by, 100)).filter(|by| !by.is_empty());
    let by = by.map_or_else(|| "somebody".to_owned(), |by| code_span(&by));
    let text = format!("The review was ended by {by}, who runs the server. Push, or ask for a review, to have one.");
    needs_action("Not reviewed: the review was cancelled", text)
}

/// It has more than we look at.
#[must_use]
pub fn too_large(n_files: u64, max_files: u64) -> Note {
    let text = format!(
        "The change has {}, and at most {max_files} are reviewed. Split it into smaller ones.",
        plural(n_files, "file")
    );
    needs_action("Not reviewed: the change is too large", text)
}

/// The review took longer than it may.
#[must_use]
pub fn timed_out(mention: &str, minutes: u64) -> Note {
    let text = format!(
        "The review was not over after {}. Write {} to try again.",
        plural(minutes, "minute"),
        say(mention, "review")
    );
    needs_action("Not reviewed: it took too long", text)
}

/// The review failed, and this is why, in words for people.
#[must_use]
pub fn failed(mention: &str, reason: &str, hint: Option<&str>) -> Note {
    let said = |text: &str| Some(literal_at_start(&shown(text, MAX_REASON))).filter(|text| !text.is_empty());
    let mut lines = vec!["The review failed, so nothing is known about this commit.".to_owned()];
    lines.extend(said(reason));
    lines.extend(hint.and_then(said));
    lines.push(format!("Write {} to try again.", say(mention, "review")));
    note(Conclusion::Failure, "The review failed", lines.join("\n\n"))
}

fn needs_action(title: &str, summary: String) -> Note {
    note(Conclusion::ActionRequired, title, summary)
}

fn note(conclusion: Conclusion, title: &str, summary: String) -> Note {
    let check = CheckText { title: title.to_owned(), summary, annotations: Vec::new() };
    Note { conclusion, check, comment: None }
}

/// A command, as people write it.
fn say(mention: &str, command: &str) -> String {
    code_span(&format!("@{mention} {command}"))
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;
    use crate::pull::hostile::{self, assert_harmless};
    use crate::pull::sample::head;

    fn all(hostile: &str) -> Vec<Note> {
        vec![
            draft("tollgate"),
            paused("tollgate", Some(hostile)),
            paused("tollgate", None),
            on_request("tollgate"),
            skipped("tollgate", &head(), Author::MayWrite),
            skipped("tollgate", &head(), Author::MayNot),
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
    fn nothing_that_was_not_reviewed_passes_unless_its_author_may_decide_that() {
        for note in all("x") {
            let may_pass = note == skipped("tollgate", &head(), Author::MayWrite);
            assert_eq!(note.conclusion.passes(), may_pass, "{}", note.check.title);
        }
        assert_eq!(failed("a", "x", None).conclusion, Conclusion::Failure);
        assert_eq!(skipped("a", &head(), Author::MayWrite).conclusion, Conclusion::Neutral);
        assert_eq!(skipped("a", &head(), Author::MayNot).conclusion, Conclusion::ActionRequired);
    }

    #[test]
    fn a_skipped_review_is_told_once_per_commit() {
        assert_snapshot!(skipped("tollgate", &head(), Author::MayNot).comment.unwrap(), @"
        Review skipped per `[no-review]` in PR title.

        <!-- tollgate:note head=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa what=skipped -->
        ");
        assert_eq!(all("x").iter().filter(|note| note.comment.is_some()).count(), 2);
    }

    #[test]
    fn each_says_what_happened_and_what_to_do() {
        let shown = |note: &Note| format!("{}\n{}", note.check.title, note.check.summary);
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
        Not reviewed: nobody asked for it
        Pull requests are reviewed here when somebody asks. Write `@tollgate review`.
        --
        Skipped by author
        Review skipped per `[no-review]` in PR title, by an author who may write here.
        --
        Skipped by author
        The title says `[no-review]`, but its author may not write to this repository and so cannot switch the review off. Take `[no-review]` out of the title, or let somebody who may write say `@tollgate review`.
        --
        Not reviewed: there is a newer push
        There is a newer push: aaaaaaa is reviewed in place of this commit.
        --
        Not reviewed: the pull request was closed
        The pull request was closed before the review was over. Reopen it to have it reviewed.
        --
        Not reviewed: the review was cancelled
        The review was ended by `the budget is spent`, who runs the server. Push, or ask for a review, to have one.
        --
        Not reviewed: the change is too large
        The change has 5000 files, and at most 3000 are reviewed. Split it into smaller ones.
        --
        Not reviewed: it took too long
        The review was not over after 30 minutes. Write `@tollgate review` to try again.
        --
        The review failed
        The review failed, so nothing is known about this commit.

        the budget is spent

        the budget is spent

        Write `@tollgate review` to try again.
        --
        The review failed
        The review failed, so nothing is known about this commit.

        the budget is spent

        Write `@tollgate review` to try again.
        ");
        assert_snapshot!(format!("{:?}", begun(&head())), @r#"("Reviewing", "The review of aaaaaaa goes on.")"#);
    }

    #[test]
    fn whatever_went_wrong_is_only_said() {
        for text in hostile::texts().map(str::to_owned).chain(["@a ".repeat(100_000)]) {
            for note in all(&text) {
                assert_harmless(&note.check.summary);
                note.comment.iter().for_each(|comment| assert_harmless(comment));
            }
        }
    }
}
