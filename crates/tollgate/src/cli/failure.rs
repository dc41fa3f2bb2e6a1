//! What can go wrong around a command, said to a person.

use std::io;
use std::path::Path;

use tollgate_core::answer::NoAnswer;
use tollgate_core::board::FeatureId;
use tollgate_core::pull::{PullRefError, Repo};
use tollgate_core::visible::visible;
use tollgate_engine::failure::{Failure, Kind};

pub(super) fn cannot_write(name: &str, problem: &io::Error) -> Failure {
    Failure::new(Kind::External, format!("cannot write `{name}`: {problem}"))
}

pub(super) fn not_a_database() -> Failure {
    Failure::new(Kind::User, "what is named as a database is neither the address of a server nor a file")
        .hint("Write `postgres://user@host/database`, or `sqlite:FILE`.")
}

pub(super) fn cannot_read(name: &str, problem: &io::Error) -> Failure {
    Failure::new(Kind::User, format!("cannot read `{name}`: {problem}"))
}

pub(super) fn not_text(name: &str) -> Failure {
    Failure::new(Kind::User, format!("`{name}` is not valid UTF-8"))
}

pub(super) fn too_large(name: &str, limit: u64) -> Failure {
    Failure::new(Kind::User, format!("`{name}` has more than {limit} bytes, which is all that is read"))
        .hint("Make it smaller, or give it in parts.")
}

pub(super) fn no_such_folder(path: &Path) -> Failure {
    Failure::new(Kind::User, format!("there is no folder `{}`", path.display()))
}

pub(super) fn no_program(problem: &io::Error) -> Failure {
    Failure::new(Kind::External, format!("cannot find the program that is running: {problem}"))
}

pub(super) fn already_there(name: &str) -> Failure {
    Failure::new(Kind::User, format!("`{name}` is already there"))
}

pub(super) fn not_pinned(action: &str) -> Failure {
    let shown: String = action.chars().take(200).collect();
    Failure::new(Kind::User, format!("`{}` does not name an action by its full commit", visible(&shown)))
        .hint("Write `OWNER/NAME@` and the 40 digits of a commit: tags and branches can be made to mean another.")
}

pub(super) fn not_a_pull_request(problem: &PullRefError) -> Failure {
    let shown = visible(&problem.found);
    Failure::new(Kind::User, format!("`{shown}` is not the address of a pull request"))
        .hint("Copy it from the browser: `https://github.com/OWNER/NAME/pull/12`.")
}

pub(super) fn no_token(host: &str) -> Failure {
    Failure::new(Kind::User, format!("there is no token with which to post to {host}"))
        .hint("Set `GITHUB_TOKEN` to one that may write pull requests; for another host, set `github.url` as well.")
}

pub(super) fn not_installed(repo: &Repo) -> Failure {
    Failure::new(Kind::User, format!("the GitHub App of this server is not installed in `{repo}`"))
        .hint("An owner of the repository installs it on the app's page at GitHub.")
}

pub(super) fn not_ours() -> Failure {
    Failure::new(Kind::Internal, "somebody else posts to the pull request at the same time")
}

pub(super) fn unrelated(number: u64, branch: &str) -> Failure {
    let branch = visible(branch);
    Failure::new(Kind::User, format!("pull request {number} and `{branch}` have no commit in common"))
        .hint("There is nothing to compare it with: rebase it onto its base.")
}

pub(super) fn unknown_format(name: &str) -> Failure {
    Failure::new(Kind::User, format!("`{name}` is in no format that can be read")).hint(
        "Known are tollgate's JSON and Markdown, SARIF 2.1.0, rdjson and rdjsonl; `convert --from` names one of them.",
    )
}

pub(super) fn unreadable_report(name: &str, problems: &str) -> Failure {
    Failure::new(Kind::User, format!("`{name}` breaks the rules of its format:{problems}"))
        .hint("`tollgate convert --lenient` makes the best of it; `tollgate schema review` describes the JSON form.")
}

pub(super) fn no_such_language(name: &str) -> Failure {
    Failure::new(Kind::User, format!("there are no rules for `{name}`"))
}

pub(super) fn no_such_rule(id: &str) -> Failure {
    Failure::new(Kind::User, format!("there is no rule `{id}`"))
}

pub(super) fn no_data_folder() -> Failure {
    Failure::new(Kind::User, "there is no folder to keep past reviews in: `HOME` is not set")
        .hint("Name a file with `--store FILE`.")
}

pub(super) fn no_identity() -> Failure {
    Failure::new(Kind::User, "past reviews belong to a repository, and there is none here")
        .hint("Run this inside a repository, or add `--all`.")
}

pub(super) fn flags_before_command() -> Failure {
    Failure::new(Kind::User, "`--all`, `--branch`, `--limit` and `--format` stand after the command that they are for")
        .hint("Write for example `tollgate history show 12 --format json`.")
}

pub(super) fn no_such_run(number: i64) -> Failure {
    Failure::new(Kind::User, format!("there is no review {number}")).hint("`tollgate history --all` lists them.")
}

pub(super) fn no_runs() -> Failure {
    Failure::new(Kind::User, "there is no review of this repository yet").hint("Make one with `tollgate review`.")
}

pub(super) fn run_without_review(number: i64) -> Failure {
    Failure::new(Kind::User, format!("review {number} did not come to an end, so it has no findings"))
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
        .hint("It is `fp-` and sixteen digits, as `tollgate history dismissals` lists them.")
}

pub(super) fn nothing_to_change() -> Failure {
    Failure::new(Kind::User, "nothing was said that could be changed")
        .hint("`--title`, `--description`, `--spec-file`, `--priority`, `--category` and `--model` can be given.")
}

pub(super) fn uncommitted(n_files: usize) -> Failure {
    Failure::new(Kind::User, format!("{n_files} files in its work tree are not committed"))
        .hint("Commit or remove them, and try again.")
}

pub(super) fn not_our_worktree() -> Failure {
    Failure::new(Kind::User, "its work tree was made by somebody else, and stays")
        .hint("`git worktree remove` removes it.")
}

pub(super) fn not_dismissed(text: &str) -> Failure {
    Failure::new(Kind::User, format!("`{text}` is not dismissed by you in this repository"))
        .hint("What the team dismissed stands in `.tollgate/dismissals.toml`: remove it there.")
}

pub(super) fn no_reason() -> Failure {
    Failure::new(Kind::User, "a dismissal needs a reason").hint("Say why with `--reason`.")
}

pub(super) fn unreadable_findings(name: &str, problem: &dyn std::error::Error) -> Failure {
    Failure::new(Kind::User, format!("`{name}` has no findings that can be compared: {problem}"))
        .hint("Give a review in any format that `tollgate convert` reads, or a JSON array of `{\"file\", \"title\", \"severity\", \"category\"}`.")
}

pub(super) fn no_answer(name: &str, problem: &NoAnswer) -> Failure {
    let failure = Failure::new(Kind::User, format!("`{name}`: {problem}"));
    match problem {
        NoAnswer::Empty => failure.hint("Give the answer as a file or on standard input."),
        NoAnswer::NotAReview(_) => failure.hint("Ask for the review again once this is settled."),
        NoAnswer::Unparsable(_) => failure.hint(
            "Understood are the answer schema, JSON with `findings` and a `decision`, `**[APPROVED]**` or `**[REJECTED]**` \
             with a list of issues, the Markdown of a review, and comments such as `src/a.rs (12): title` under a severity.",
        ),
    }
}

pub(super) fn no_diff(name: &str) -> Failure {
    Failure::new(Kind::User, format!("`{name}` is no diff")).hint("`git diff OLD NEW` writes one.")
}

pub(super) fn standard_input_twice(one: &str, other: &str) -> Failure {
    let both = if one == other { format!("two `{one}`") } else { format!("`{one}` and `{other}`") };
    Failure::new(Kind::User, format!("{both} cannot both read standard input"))
        .hint("Write one of them to a file first.")
}

pub(super) fn not_commits(name: &str, problem: &str) -> Failure {
    Failure::new(Kind::User, format!("`{name}` is no list of commits: {problem}"))
        .hint("Make one with `git log --oneline main..HEAD`, or name a range such as `main..HEAD`.")
}

pub(super) fn neither_file_nor_range(name: &str, why: Failure) -> Failure {
    let message = format!("`{name}` is no file, and as a range of commits: {}", why.message);
    Failure { message, ..why }
}

pub(super) fn no_project_here(path: &Path) -> Failure {
    Failure::new(Kind::User, format!("`{}` is in no project of the board", path.display()))
        .hint("`tollgate project add PATH` adds one; `tollgate project list` shows them.")
}

pub(super) fn several_features(named: &str, ids: &[FeatureId]) -> Failure {
    const SHOWN: usize = 5;
    let mut names: Vec<&str> = ids.iter().take(SHOWN).map(FeatureId::as_str).collect();
    if ids.len() > SHOWN {
        names.push("…");
    }
    Failure::new(Kind::User, format!("`{named}` is the beginning of several features: {}", names.join(", ")))
        .hint("Write more of the name.")
}

pub(super) fn nothing_said(flag: &str) -> Failure {
    Failure::new(Kind::User, format!("`{flag}` is empty")).hint("Say it in a few words; it is kept.")
}

pub(super) fn not_an_address(text: &str) -> Failure {
    Failure::new(Kind::User, format!("`{text}` is no address to listen on"))
        .hint("Give an address and a port, as `127.0.0.1:7420` or `[::1]:0`.")
}

pub(super) fn open_to_others(address: &std::net::SocketAddr) -> Failure {
    Failure::new(Kind::User, format!("`{address}` can be reached from other machines")).hint(
        "Say by which name with `--allow-host NAME`, and put a proxy with TLS before it; or listen on `127.0.0.1`.",
    )
}

pub(super) fn no_thread(problem: &io::Error) -> Failure {
    Failure::new(Kind::External, format!("no thread can be started: {problem}"))
}
