//! Errors of tools, as messages for the agent that called.

use std::path::Path;

use tollgate_core::board::machine::UnknownStatus;
use tollgate_core::comment::Problem;
use tollgate_core::visible::visible;
use tollgate_engine::failure::{Failure, Kind};

use super::answer::cut;

/// Arguments are quoted in errors up to so many bytes.
const QUOTED: usize = 200;

fn quoted(text: &str) -> String {
    visible(&cut(text, QUOTED)).into_owned()
}

/// A tool was told something it does not understand.
pub(super) fn bad_arguments(tool: &str, problem: &str) -> Failure {
    Failure::new(Kind::User, format!("the arguments of `{tool}` are wrong: {}", quoted(problem)))
        .hint("The tool's input schema names each argument and its type; leave out what you do not need.")
}

/// A text cannot be a name of anything.
pub(super) fn not_a_name(what: &str, text: &str) -> Failure {
    Failure::new(Kind::User, format!("`{}` cannot be a {what}", quoted(text)))
        .hint("It must be one line, not empty, without control characters.")
}

/// A text names no column of the board.
pub(super) fn unknown_status(unknown: &UnknownStatus) -> Failure {
    Failure::new(Kind::User, unknown.to_string()).hint(UnknownStatus::HINT)
}

/// More than one change was named.
pub(super) fn several_changes() -> Failure {
    Failure::new(Kind::User, "`scope`, `range` and `diff` each name a change, and only one can be reviewed")
        .hint("Give one of them, or none for the branch with uncommitted work.")
}

/// A folder is not one that tools may look at. Whether it exists is not said.
pub(super) fn out_of_reach(named: &str) -> Failure {
    Failure::new(Kind::User, format!("`{}` is not a folder that this server may look at", quoted(named)))
        .hint("Name a folder inside the one it was started in; the operator can allow more with `--allow PATH`.")
}

/// The same for a server that knows projects.
pub(super) fn not_a_project(named: &str) -> Failure {
    Failure::new(Kind::User, format!("`{}` is no project of the board", quoted(named)))
        .hint("Give the number or the folder of a project; the operator adds one with `tollgate project add PATH`.")
}

/// No project was given and there are several.
pub(super) fn which_project(names: &[String]) -> Failure {
    let failure = Failure::new(Kind::User, "it is not clear which project is meant");
    match names {
        [] => failure.hint("There is none yet; the operator adds one with `tollgate project add PATH`."),
        names => failure.hint(format!("Give `repository`, one of: {}.", cut(&names.join(", "), 1000))),
    }
}

/// A repository reaches out of the folders that tools may look at.
pub(super) fn reaches_out(dir: &Path) -> Failure {
    Failure::new(Kind::User, format!("the repository of `{}` is not in a folder to look at", dir.display()))
        .hint("Start the server at the top of the repository, or allow that folder with `--allow PATH`.")
}

/// There is no board, or this folder is not on it.
pub(super) fn no_project_here() -> Failure {
    Failure::new(Kind::User, "this folder is no project of the board, so it has no features")
        .hint("The operator adds it with `tollgate project add PATH`; reviews need no board.")
}

/// Too much is going on.
pub(super) fn busy() -> Failure {
    Failure::new(Kind::External, "too many calls at once").hint("Wait until others have ended, then call again.")
}

/// The client cancelled the call.
pub(super) fn cancelled() -> Failure {
    Failure::new(Kind::External, "the call was cancelled, and nothing of it is kept")
}

/// We made a mistake.
pub(super) fn mistake() -> Failure {
    Failure::new(Kind::Internal, "something went wrong here, and it is not your fault")
        .hint("Try again; if it happens again, report it with what you called.")
}

/// The repository has no name under which reviews could be stored.
pub(super) fn no_repository() -> Failure {
    Failure::new(Kind::User, "reviews are stored by repository, and this folder is in none")
        .hint("Name a folder of a git repository.")
}

/// No review of this number is one of this repository.
pub(super) fn no_such_review(number: i64) -> Failure {
    Failure::new(Kind::User, format!("this repository has no review {number}"))
        .hint("Leave out `review` for the last one, or call `review_change`, which says the number of its review.")
}

/// Nothing is stored.
pub(super) fn no_reviews(branch: Option<&str>) -> Failure {
    let of = branch.map(|branch| format!(" of `{}`", quoted(branch))).unwrap_or_default();
    Failure::new(Kind::User, format!("there is no stored review{of} in this repository"))
        .hint("Call `review_change` first.")
}

/// A review ended without findings to speak of, because it failed.
pub(super) fn review_failed(number: i64, problem: &str) -> Failure {
    Failure::new(Kind::User, format!("review {number} failed: {}", quoted(problem)))
        .hint("Call `review_change` to review again.")
}

/// The review has no such finding.
pub(super) fn no_such_finding(named: &str, number: i64) -> Failure {
    Failure::new(Kind::User, format!("review {number} has no finding `{}`", quoted(named)))
        .hint("Name it by its id (`F002`) or its fingerprint (`fp-…`), as `list_findings` gives them.")
}

/// No finding is dismissed without a reason.
pub(super) fn needs_reason(id: &str) -> Failure {
    Failure::new(Kind::User, format!("{id} is not dismissed without a reason in words")).hint(
        "Say in `reason`, in a few words, why it is wrong or harmless here; everyone who reads the review sees it.",
    )
}

/// A summary breaks its rules.
pub(super) fn invalid_comment(problems: &[Problem], was_tried: bool) -> Failure {
    let listed: Vec<String> = problems.iter().take(20).map(|problem| format!("- {problem}")).collect();
    let more = problems.len().saturating_sub(listed.len());
    let more = if more > 0 { format!("\n- and {more} more") } else { String::new() };
    let failure = Failure::new(Kind::User, format!("the summary breaks its rules:\n{}{more}", listed.join("\n")));
    if was_tried {
        failure.hint("This cannot be repaired without a change of meaning; correct it and call again.")
    } else {
        failure.hint("Correct it, or call again with `fix: true` to have blank lines and the order repaired.")
    }
}

/// A comment is empty or too long for a code host.
pub(super) fn unfit_comment(n_chars: usize, most: usize) -> Failure {
    let problem = format!("a comment has between 1 and {most} characters, and this one has {n_chars}");
    Failure::new(Kind::User, problem).hint("Leave out what matters least.")
}

/// A comment holds one of our marks, by which our own comments are known.
pub(super) fn forged_mark() -> Failure {
    Failure::new(Kind::User, "the comment holds `<!-- tollgate:`, by which tollgate's own comments are known")
        .hint("Leave such marks out; they are added where they belong.")
}

/// An address is none of a pull request.
pub(super) fn not_a_pull_request(problem: &str) -> Failure {
    Failure::new(Kind::User, quoted(problem)).hint("Copy the address from the page of the pull request.")
}

/// A pull request is of another repository than the one at hand.
pub(super) fn not_our_pull_request(ours: &str, theirs: &str) -> Failure {
    let ours = if ours.is_empty() { "a repository without an origin" } else { ours };
    let problem = format!("the pull request is of `{}`, and this is `{}`", quoted(theirs), quoted(ours));
    Failure::new(Kind::User, problem).hint(
        "Only pull requests of the repository's origin are commented on; the operator allows others with `--post-to`.",
    )
}

/// Nothing lets us write at a code host.
pub(super) fn no_way_in(host: &str) -> Failure {
    Failure::new(Kind::User, format!("this server has neither a GitHub App nor a token for `{}`", quoted(host))).hint(
        "The operator makes an app with `tollgate github setup`, or sets `GITHUB_TOKEN` and, for another host than \
         github.com, `github.url`. Without `pull_request` the text is checked and comes back, to be posted by other context.",
    )
}
