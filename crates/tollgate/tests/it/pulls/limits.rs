//! Pull requests of every size and shape: each gets one outcome, which is right, and no finding is lost on the way.
//!
//! `TOLLGATE_CHAOS=1 cargo test -p tollgate --test it pulls::limits -- --nocapture` takes the largest sizes; without it
//! the differences are smaller. The posts and the peak memory of the server are printed.

mod large;
mod many;
mod odd;
mod words;

use std::collections::BTreeSet;

use super::test_server::TestServer;
use crate::fake_github::{FakeGithub, PullRequest, Seen};

/// The most characters that GitHub takes in a body.
const MAX_BODY: usize = 65_536;
/// The peak memory limit of the server, which is built without optimization here.
const MAX_MB: u64 = 400;

const START: &[(&str, &str)] = &[("README.md", "# app\n")];

fn is_thorough() -> bool {
    std::env::var_os("TOLLGATE_CHAOS").is_some()
}

/// Where the findings of a review are to be seen.
struct Found {
    seen: Seen,
    /// The ids of findings with an inline comment.
    inline: BTreeSet<String>,
    /// The ids of findings listed in the text of a review.
    listed: BTreeSet<String>,
    n_annotations: usize,
}

impl Found {
    /// All findings that have a name somewhere.
    fn n_named(&self) -> usize {
        self.inline.union(&self.listed).count()
    }

    /// Everything that was written, but for annotations.
    fn bodies(&self) -> Vec<&str> {
        let Seen { summaries, others, reviews, inline, answers, .. } = &self.seen;
        let comments = summaries.iter().chain(others).map(|one| &one.body);
        let at_lines = inline.iter().chain(answers).map(|one| &one.body);
        comments.chain(at_lines).chain(reviews.iter().map(|one| &one.body)).map(String::as_str).collect()
    }

    /// What the check of the head says.
    fn check(&self) -> String {
        let check = self.seen.check_of(&self.seen.head).unwrap();
        format!("{}\n{}", check.title.as_deref().unwrap_or_default(), check.summary.as_deref().unwrap_or_default())
    }

    fn summary(&self) -> &str {
        &self.seen.summaries[0].body
    }
}

/// The ids of findings in a text: `f-…`.
fn names(text: &str) -> impl Iterator<Item = String> {
    let words = text.split(|character: char| !character.is_ascii_alphanumeric() && character != '-');
    let is_id = |id: &str| id.len() == 8 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    words.filter(move |word| word.strip_prefix("f-").is_some_and(is_id)).map(str::to_owned)
}

/// Waits for the outcome of a pull request, and checks the common invariants.
#[track_caller]
fn outcome(github: &FakeGithub, server: &TestServer<'_>, pull: &PullRequest<'_>, what: &str) -> Found {
    outcome_after(github, server, pull, what, &[])
}

/// The same where the host refuses some requests, and no others.
#[track_caller]
#[expect(clippy::print_stdout, reason = "the figures are part of the test, and the same for each")]
fn outcome_after(
    github: &FakeGithub,
    server: &TestServer<'_>,
    pull: &PullRequest<'_>,
    what: &str,
    refused: &[&str],
) -> Found {
    let begun = std::time::Instant::now();
    let seen = server.settled(pull);
    assert_eq!(seen.problems(), [""; 0], "{what}");
    assert_eq!(refusals(github), refused, "{what}");
    assert_eq!(github.n_limited(), 0, "{what}");
    let inline = seen.inline.iter().flat_map(|one| names(&one.body)).collect();
    let listed = seen.reviews.iter().flat_map(|one| names(&one.body)).collect();
    let n_annotations = seen.check_of(&seen.head).map_or(0, |check| check.annotations.len());
    let found = Found { seen, inline, listed, n_annotations };
    let longest = found.bodies().iter().map(|body| body.chars().count()).max().unwrap_or(0);
    assert!(longest <= MAX_BODY, "{what}: {longest} characters");
    let peak = server.peak_mb();
    println!(
        "{what}: {}, {} inline, {} listed, {} annotations, at most {longest} characters, {peak} MB, {:.1} s",
        found.seen.conclusion().unwrap_or("-"),
        found.inline.len(),
        found.listed.len(),
        found.n_annotations,
        begun.elapsed().as_secs_f64()
    );
    assert!(peak <= MAX_MB, "{what}: {peak} MB");
    found
}

/// The requests that GitHub refused.
fn refusals(github: &FakeGithub) -> Vec<String> {
    let refused = github.requests("").into_iter().filter(|entry| !(200..300).contains(&entry.status));
    refused.map(|entry| format!("{} {}", entry.name, entry.status)).collect()
}
