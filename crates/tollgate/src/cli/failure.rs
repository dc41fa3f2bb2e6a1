//! The failures of commands: one constructor for each, with message and hint.

use std::io;
use std::path::Path;

use tollgate_core::answer::NoAnswer;
use tollgate_core::board::FeatureId;
use tollgate_core::board::machine::UnknownStatus;
use tollgate_core::pull::PullRefError;
use tollgate_core::visible::visible;
use tollgate_engine::failure::{Failure, Kind};

pub(super) fn cannot_write(name: &str, problem: &io::Error) -> Failure {
    Failure::new(Kind::External, format!("cannot write `{name}`: {problem}"))
}

pub(super) fn not_a_database() -> Failure {
    Failure::new(Kind::User, "the database is neither a `postgres://` URL nor a `sqlite:` file")
        .hint("Write `postgres://user@host/database`, or `sqlite:FILE`.")
}

pub(super) fn cannot_read(name: &str, problem: &io::Error) -> Failure {
    Failure::new(Kind::User, format!("cannot read `{name}`: {problem}"))
}

pub(super) fn not_text(name: &str) -> Failure {
    Failure::new(Kind::User, format!("`{name}` is not valid UTF-8"))
}

pub(super) fn too_large(name: &str, limit: u64) -> Failure {
    Failure::new(Kind::User, format!("`{name}` is larger than the limit of {limit} bytes"))
        .hint("Make it smaller, or split it.")
}

pub(super) fn no_such_folder(path: &Path) -> Failure {
    Failure::new(Kind::User, format!("no such directory: `{}`", path.display()))
}

pub(super) fn no_program(problem: &io::Error) -> Failure {
    Failure::new(Kind::External, format!("cannot find the running executable: {problem}"))
}

pub(super) fn already_there(name: &str) -> Failure {
    Failure::new(Kind::User, format!("`{name}` already exists"))
}

pub(super) fn not_pinned(action: &str) -> Failure {
    let shown: String = action.chars().take(200).collect();
    Failure::new(Kind::User, format!("`{}` is not an action pinned to a full commit hash", visible(&shown)))
        .hint("Write `OWNER/NAME@` and a 40-digit commit hash: tags and branches can be moved.")
}

pub(super) fn not_a_pull_request(problem: &PullRefError) -> Failure {
    let shown = visible(&problem.found);
    Failure::new(Kind::User, format!("`{shown}` is not the URL of a pull request"))
        .hint("Copy it from the browser: `https://github.com/OWNER/NAME/pull/12`.")
}

pub(super) fn no_token(host: &str) -> Failure {
    Failure::new(Kind::User, format!("no token for posting to {host}")).hint(
        "Set `GITHUB_TOKEN` to a token with write access to pull requests; for another host, also set `github.url`.",
    )
}

pub(super) fn not_ours() -> Failure {
    Failure::new(Kind::Internal, "another process is posting to the pull request at the same time")
}

pub(super) fn unrelated(number: u64, branch: &str) -> Failure {
    let branch = visible(branch);
    Failure::new(Kind::User, format!("pull request {number} and `{branch}` have no commit in common"))
        .hint("Rebase the pull request onto its base.")
}

pub(super) fn unknown_format(name: &str) -> Failure {
    Failure::new(Kind::User, format!("`{name}` has an unknown format")).hint(
        "Supported are tollgate's JSON and Markdown, SARIF 2.1.0, rdjson and rdjsonl; `convert --from` selects one.",
    )
}

pub(super) fn unreadable_report(name: &str, problems: &str) -> Failure {
    Failure::new(Kind::User, format!("`{name}` violates its format:{problems}"))
        .hint("`tollgate convert --lenient` corrects what it can; `tollgate schema review` describes the JSON format.")
}

pub(super) fn no_such_language(name: &str) -> Failure {
    Failure::new(Kind::User, format!("no rules for `{name}`"))
}

pub(super) fn unknown_status(unknown: &UnknownStatus) -> Failure {
    Failure::new(Kind::User, unknown.to_string()).hint(UnknownStatus::HINT)
}

pub(super) fn no_such_rule(id: &str) -> Failure {
    Failure::new(Kind::User, format!("no such rule: `{id}`"))
}

pub(super) fn no_data_folder() -> Failure {
    Failure::new(Kind::User, "no data directory for past reviews: `HOME` is not set")
        .hint("Name a file with `--store FILE`.")
}

pub(super) fn no_identity() -> Failure {
    Failure::new(Kind::User, "not inside a repository, so there are no past reviews to list")
        .hint("Run this inside a repository, or add `--all`.")
}

pub(super) fn flags_before_command() -> Failure {
    Failure::new(Kind::User, "flags of `list` were given before another subcommand")
        .hint("Write them after the subcommand, as in `tollgate history show 12 --format json`.")
}

pub(super) fn no_such_run(number: i64) -> Failure {
    Failure::new(Kind::User, format!("no such review: {number}")).hint("`tollgate history --all` lists them.")
}

pub(super) fn no_runs() -> Failure {
    Failure::new(Kind::User, "no reviews of this repository yet").hint("Make one with `tollgate review`.")
}

pub(super) fn run_without_review(number: i64) -> Failure {
    Failure::new(Kind::User, format!("review {number} did not complete, so it has no findings"))
}

pub(super) fn run_failed(number: i64, problem: &str) -> Failure {
    Failure::new(Kind::User, format!("review {number} failed: {problem}"))
}

pub(super) fn no_such_finding(name: &str, run: i64) -> Failure {
    Failure::new(Kind::User, format!("review {run} has no finding `{name}`"))
        .hint(format!("`tollgate history show {run} --verbose` lists them; `--run` names another review."))
}

pub(super) fn not_a_fingerprint(text: &str) -> Failure {
    Failure::new(Kind::User, format!("`{text}` is not a fingerprint"))
        .hint("A fingerprint is `fp-` and sixteen hexadecimal digits; `tollgate history dismissals` lists them.")
}

pub(super) fn nothing_to_change() -> Failure {
    Failure::new(Kind::User, "no field to change was given")
        .hint("Give `--title`, `--description`, `--spec-file`, `--priority`, `--category` or `--model`.")
}

pub(super) fn uncommitted(n_files: usize) -> Failure {
    Failure::new(Kind::User, format!("{n_files} uncommitted files in the work tree"))
        .hint("Commit or remove them, and try again.")
}

pub(super) fn not_our_worktree() -> Failure {
    Failure::new(Kind::User, "the work tree was not created by tollgate and is kept")
        .hint("Remove it with `git worktree remove`.")
}

pub(super) fn not_dismissed(text: &str) -> Failure {
    Failure::new(Kind::User, format!("you have not dismissed `{text}` in this repository"))
        .hint("Dismissals of the team are in `.tollgate/dismissals.toml`; remove it there.")
}

pub(super) fn no_reason() -> Failure {
    Failure::new(Kind::User, "a dismissal needs a reason in words")
        .hint("Give one of at least two words with `--reason`.")
}

pub(super) fn not_for_agents(what: &str, agent: &str) -> Failure {
    Failure::new(Kind::User, format!("an agent cannot {what}, and this command runs as {agent}"))
        .hint("A person runs it in a terminal of their own, outside of the work trees of features, or uses the board.")
}

pub(super) fn unreadable_findings(name: &str, problem: &dyn std::error::Error) -> Failure {
    Failure::new(Kind::User, format!("cannot read findings from `{name}`: {problem}"))
        .hint("Give a review in any format that `tollgate convert` reads, or a JSON array of `{\"file\", \"title\", \"severity\", \"category\"}`.")
}

pub(super) fn no_answer(name: &str, problem: &NoAnswer) -> Failure {
    let failure = Failure::new(Kind::User, format!("`{name}`: {problem}"));
    match problem {
        NoAnswer::Empty => failure.hint("Pass the answer as a file or on standard input."),
        NoAnswer::NotAReview(_) => failure.hint("Ask for the review again once this is resolved."),
        NoAnswer::Unparsable(_) => failure.hint(
            "Supported are the answer schema, JSON with `findings` and a `decision`, `**[APPROVED]**` or `**[REJECTED]**` \
             with a list of issues, the Markdown of a review, and comments such as `src/a.rs (12): title` under a severity.",
        ),
    }
}

pub(super) fn standard_input_twice(one: &str, other: &str) -> Failure {
    let both = if one == other { format!("two `{one}`") } else { format!("`{one}` and `{other}`") };
    Failure::new(Kind::User, format!("{both} cannot both read standard input"))
        .hint("Save one of them to a file first.")
}

pub(super) fn not_commits(name: &str, problem: &str) -> Failure {
    Failure::new(Kind::User, format!("`{name}` is not a list of commits: {problem}"))
        .hint("Create one with `git log --oneline main..HEAD`, or give a range such as `main..HEAD`.")
}

pub(super) fn neither_file_nor_range(name: &str, why: Failure) -> Failure {
    let message = format!("`{name}` is not a file, and as a range of commits: {}", why.message);
    Failure { message, ..why }
}

pub(super) fn no_project_here(path: &Path) -> Failure {
    Failure::new(Kind::User, format!("`{}` is not in a project of the board", path.display()))
        .hint("`tollgate project add PATH` adds one; `tollgate project list` lists them.")
}

pub(super) fn several_features(named: &str, ids: &[FeatureId]) -> Failure {
    const SHOWN: usize = 5;
    let mut names: Vec<&str> = ids.iter().take(SHOWN).map(FeatureId::as_str).collect();
    if ids.len() > SHOWN {
        names.push("…");
    }
    Failure::new(Kind::User, format!("`{named}` is ambiguous: {}", names.join(", "))).hint("Give more of the ID.")
}

pub(super) fn empty_flag(flag: &str) -> Failure {
    Failure::new(Kind::User, format!("`{flag}` is empty")).hint("Give a short text; it is recorded.")
}

pub(super) fn not_an_address(text: &str) -> Failure {
    Failure::new(Kind::User, format!("`{text}` is not a listen address"))
        .hint("Give an IP address and a port, such as `127.0.0.1:7420` or `[::1]:0`.")
}

pub(super) fn open_to_others(address: &std::net::SocketAddr) -> Failure {
    Failure::new(Kind::User, format!("`{address}` is reachable from other machines"))
        .hint("Give the public host name with `--allow-host NAME` and use a TLS proxy, or listen on `127.0.0.1`.")
}

/// The way to a file to be written leads through a link that the repository holds.
pub(super) fn link_of_repository(path: &str, link: &str) -> Failure {
    Failure::new(Kind::User, format!("cannot write `{path}`: `{link}` is a symbolic link of the repository"))
        .hint("Name a file elsewhere; the link could lead anywhere.")
}
