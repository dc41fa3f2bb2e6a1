//! Errors for people, each with an exit code and a hint.
//!
//! Each failure is made by a named function, so that the messages are in one
//! place: `failure::no_such_revision("mian").hint("Run `git fetch` first.")`.
//! Messages are lower case without a period; hints are sentences that say what
//! to do next.

use std::fmt;
use std::path::Path;

use tollgate_core::diff::{COLOURED, Refused};
use tollgate_core::path::PathDanger;
use tollgate_core::visible::visible;

/// The kind of a failure, which decides the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The command was used wrongly or its input is bad.
    User,
    /// A configuration or rule file is wrong.
    Config,
    /// Something we depend on failed: git, a file, the network.
    External,
    /// A bug in this program.
    Internal,
}

impl Kind {
    /// The exit code of the program.
    #[must_use]
    pub fn exit_code(self) -> u8 {
        match self {
            Self::User | Self::Config => 2,
            Self::External | Self::Internal => 3,
        }
    }
}

/// An error for people, with a remedy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// Its kind.
    pub kind: Kind,
    /// The message.
    pub message: String,
    /// The remedy.
    pub hint: Option<String>,
}

impl Failure {
    /// A failure without a hint.
    #[must_use]
    pub fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), hint: None }
    }

    /// Adds a remedy.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}

/// No thread could be started.
#[must_use]
pub fn no_thread(error: &std::io::Error) -> Failure {
    Failure::new(Kind::External, format!("no thread could be started: {error}"))
}

/// A worker panicked.
pub(crate) fn internal_error() -> Failure {
    Failure::new(Kind::Internal, "internal error").hint("The server's log has the details; please report it.")
}

/// The folder is in no git repository.
pub(crate) fn not_a_repository(dir: &Path) -> Failure {
    Failure::new(Kind::User, format!("`{}` is not in a git repository", dir.display()))
        .hint("Run this inside a repository; `review` and `analyze` also take a patch with `--diff FILE`.")
}

/// The command needs a working tree, and there is none.
#[must_use]
pub fn no_working_tree(what: &str) -> Failure {
    Failure::new(Kind::User, format!("{what} needs a working tree, and there is none here"))
        .hint("Name a range of commits, as in `tollgate review main..feature`.")
}

/// A bare repository lies inside another checkout, which git treats as an attack.
pub(crate) fn embedded_bare_repository(dir: &Path) -> Failure {
    Failure::new(
        Kind::User,
        format!("`{}` is a bare repository inside another repository, which is how code is smuggled in", dir.display()),
    )
    .hint("If it is yours, say so with `GIT_DIR=.`.")
}

/// No commit goes by this name.
pub(crate) fn no_such_revision(rev: &str) -> Failure {
    Failure::new(Kind::User, format!("there is no revision `{rev}` here"))
        .hint("Check the spelling, or run `git fetch` if it is on a remote.")
}

/// The text is not a range of commits.
pub(crate) fn not_a_range(text: &str) -> Failure {
    Failure::new(Kind::User, format!("`{text}` is not a revision or a range of revisions")).hint(
        "Write `A..B` to compare two revisions, `A...B` to compare B with where it left A, or `A` for all since A.",
    )
}

/// Two lines of history have no commit in common.
pub(crate) fn no_merge_base(a: &str, b: &str, shallow: bool) -> Failure {
    let failure = Failure::new(Kind::User, format!("`{a}` and `{b}` have no commit in common"));
    if shallow {
        failure.hint("This clone is shallow: run `git fetch --unshallow`, or compare directly with `A..B`.")
    } else {
        failure.hint("Compare them directly with `A..B`.")
    }
}

/// A shallow clone holds nothing to compare with.
pub(crate) fn no_main_branch() -> Failure {
    Failure::new(Kind::User, "this clone is shallow and has no main branch to compare with")
        .hint("Run `git fetch origin main` and set `review.base`, or name a range of commits.")
}

/// Git refuses because the repository belongs to another user.
pub(crate) fn dubious_ownership(dir: &Path) -> Failure {
    Failure::new(
        Kind::User,
        format!("the repository at `{}` belongs to another user, so git will not read it", dir.display()),
    )
    .hint(format!("If you trust it, run `git config --global --add safe.directory {}`.", dir.display()))
}

/// Objects are missing that the clone left on the server.
pub(crate) fn missing_objects(said: &str) -> Failure {
    Failure::new(Kind::External, format!("git cannot read part of the change: {said}"))
        .hint("In a partial clone, run the same `git diff` once, so that git downloads the missing objects.")
}

/// The git program is not installed, or no process can be started.
pub(crate) fn no_git(problem: &std::io::Error) -> Failure {
    let failure = Failure::new(Kind::External, format!("cannot run `git`: {problem}"));
    match problem.kind() {
        std::io::ErrorKind::NotFound | std::io::ErrorKind::PermissionDenied => {
            failure.hint("Install git 2.41 or newer and make sure it is on the PATH.")
        }
        _ => failure.hint("The machine is short of processes, memory or file handles; end other programs, try again."),
    }
}

/// A git command failed.
#[must_use]
pub fn git(command: &str, said: &str) -> Failure {
    // Hints and warnings are often unrelated to the failure.
    let is_beside = |line: &&str| line.starts_with("hint:") || line.starts_with("warning:");
    let said: Vec<&str> = said.lines().filter(|line| !line.trim().is_empty() && !is_beside(line)).collect();
    let said = said.join("\n");
    let said = said.strip_prefix("fatal: ").unwrap_or(&said);
    let said = if said.is_empty() { "it gave no reason" } else { said };
    Failure::new(Kind::External, format!("`git {command}` failed: {said}"))
}

/// A git command took too long.
pub(crate) fn git_too_slow(command: &str, seconds: u64) -> Failure {
    Failure::new(Kind::External, format!("`git {command}` did not finish within {seconds} s and was stopped"))
        .hint("Review a smaller range.")
}

/// The output of a git command exceeds the limit.
pub(crate) fn git_too_much(command: &str, limit: usize) -> Failure {
    Failure::new(Kind::External, format!("`git {command}` printed more than {limit} bytes"))
}

/// The output of a git command cannot be parsed.
pub(crate) fn git_unreadable(command: &str) -> Failure {
    Failure::new(Kind::Internal, format!("the answer of `git {command}` cannot be understood"))
}

/// A file cannot be read.
#[must_use]
pub fn unreadable(path: &Path, problem: &std::io::Error) -> Failure {
    Failure::new(Kind::External, format!("cannot read `{}`: {problem}", path.display()))
}

/// A patch holds no change that can be read.
#[must_use]
pub fn not_a_patch(name: &str) -> Failure {
    Failure::new(Kind::User, format!("`{name}` holds no unified diff"))
        .hint("Make one with `git diff > change.patch` or `diff -u`.")
}

/// Git needs more memory than it may have.
#[must_use]
pub fn git_too_large(command: &str, mebibytes: u64) -> Failure {
    Failure::new(Kind::User, format!("`git {command}` needs more than {mebibytes} MiB of memory"))
        .hint("The change or its repository is too large to be reviewed as a whole; split the change.")
}

/// Two commits differ in too many paths to be listed.
#[must_use]
pub fn too_many_paths(most: u64) -> Failure {
    Failure::new(Kind::User, format!("the change has more than {most} paths, which are too many to list"))
}

/// A file that git reads in a work tree is a pipe, a socket or a device.
#[must_use]
pub fn special_file(path: &Path) -> Failure {
    Failure::new(
        Kind::User,
        format!("`{}` is not a file but a pipe, a socket or a device", visible(&path.to_string_lossy())),
    )
    .hint("Remove it: git would wait for it forever.")
}

/// A patch cannot be read from its file or stream.
#[must_use]
pub fn unreadable_patch(name: &str, problem: &std::io::Error) -> Failure {
    Failure::new(Kind::User, format!("cannot read `{name}`: {problem}"))
}

/// A patch is larger than the limit.
#[must_use]
pub fn patch_too_large(name: &str, limit: u64) -> Failure {
    Failure::new(Kind::User, format!("`{name}` is larger than {limit} bytes"))
        .hint("Review it in parts, or by its commits: `tollgate review A..B`.")
}

/// A part of a patch cannot be read.
#[must_use]
pub fn broken_diff(name: &str, refused: &Refused) -> Failure {
    let Refused { line_number, problem } = refused;
    let hint = if problem.contains(COLOURED) {
        "The diff is colored for a terminal; make it again with `git diff --no-color > change.patch`."
    } else {
        "The diff is cut off or was edited by hand; make it again with `git diff > change.patch`."
    };
    Failure::new(Kind::User, format!("line {line_number} of `{name}`: {problem}")).hint(hint)
}

/// A patch names a path that no checkout may write.
#[must_use]
pub fn dangerous_path(name: &str, path: &str, danger: PathDanger) -> Failure {
    Failure::new(Kind::User, format!("`{name}` names the path `{}`: {danger}", visible(path)))
        .hint("Do not apply this patch; git itself refuses such paths.")
}

/// A configuration file has an error at a position.
#[must_use]
pub fn bad_config(place: &str, problem: &str) -> Failure {
    Failure::new(Kind::Config, format!("{place}: {problem}"))
}

/// A finding is in the list of dismissals already.
pub(crate) fn dismissed_before(file: &str, reason: &str) -> Failure {
    Failure::new(Kind::User, format!("`{file}` has this finding already: {reason}"))
        .hint("Change the reason in the file, if it is another one now.")
}

/// A repository sets the pipeline of the board.
pub(crate) fn pipeline_in_repository(source: &str) -> Failure {
    Failure::new(Kind::Config, format!("{source}: how the board works is the operator's to say, not the repository's"))
        .hint("Set `[pipeline]` and `identity.pipeline` in your own configuration (~/.config/tollgate/config.toml).")
}

/// A repository sets the GitHub app.
pub(crate) fn github_in_repository(source: &str) -> Failure {
    let problem = "`github` cannot be set in a repository, whose author could then have the app's key sent elsewhere";
    bad_config(source, problem)
        .hint("Set it in your own `~/.config/tollgate/config.toml`, or with `TOLLGATE_GITHUB_*` variables.")
}

/// A repository sets the retention.
pub(crate) fn retention_in_repository(source: &str) -> Failure {
    bad_config(source, "`retention` cannot be set in a repository, whose author could then have reviews forgotten")
        .hint("Set it in your own `~/.config/tollgate/config.toml`, or with `TOLLGATE_RETENTION_*` variables.")
}

/// A repository sets the sandbox.
pub(crate) fn sandbox_in_repository(source: &str) -> Failure {
    bad_config(source, "`sandbox` cannot be set in a repository, whose author could then open it for an agent")
        .hint("Set it in your own `~/.config/tollgate/config.toml`, or with `TOLLGATE_SANDBOX_*` variables.")
}

/// A repository sets the store.
pub(crate) fn store_in_repository(source: &str) -> Failure {
    bad_config(source, "`store` cannot be set in a repository, which could then write anywhere")
        .hint("Set it in your own `~/.config/tollgate/config.toml`, with `TOLLGATE_STORE_PATH` or `TOLLGATE_STORE_DATABASE`, or with `--store` or `--database`.")
}

/// Both a file and a database are set as the store.
pub(crate) fn two_stores(place: &str, file: &str, database: &str) -> Failure {
    bad_config(
        place,
        &format!("{file} and {database} are both set, and only one of them can be where reviews are kept"),
    )
    .hint("Leave one of them out.")
}

/// A repository sets the connection of a reviewer.
pub(crate) fn own_only(source: &str, reviewer: &str, field: &str) -> Failure {
    let problem = format!(
        "`reviewer.{reviewer}.{field}` cannot be set in a repository, whose author could then run programs, read keys or spend money"
    );
    bad_config(source, &problem).hint("Set the whole table in your own `~/.config/tollgate/config.toml`.")
}

/// There is no reviewer of this name.
pub(crate) fn no_such_reviewer(name: &str, near: Option<&str>, known: &[&str]) -> Failure {
    let failure = Failure::new(Kind::User, format!("there is no reviewer `{name}`"));
    match near {
        Some(near) => failure.hint(format!("Did you mean `{near}`? `tollgate doctor` lists them.")),
        None => failure.hint(format!("Known are {}; your own go to `[reviewer.NAME]`.", known.join(", "))),
    }
}

/// The consensus needs more reviewers than there are.
#[must_use]
pub fn no_consensus(needed: usize, n_voices: u64) -> Failure {
    let problem =
        format!("`review.consensus` is {needed}, and only {n_voices} would be asked, so no finding could count");
    Failure::new(Kind::Config, problem).hint("Add reviewers, raise `passes` of one, or lower `review.consensus`.")
}

/// A model or agent did not review.
#[must_use]
pub fn reviewer(name: &str, problem: &str, hint: Option<String>) -> Failure {
    let failure = Failure::new(Kind::External, format!("`{name}` did not review the change: {problem}"));
    match hint {
        Some(hint) => failure.hint(hint),
        None => failure.hint("The rules' findings stand; `tollgate doctor` says what reviewers lack."),
    }
}

/// A review at the gate needs more tokens than its budget has.
pub(crate) fn over_token_budget(n_needed: usize, n_tokens: usize) -> Failure {
    let [needed, limit] = [n_needed, n_tokens].map(|n| tollgate_core::visible::grouped(n as u64));
    let message = format!("the review needs about {needed} tokens, and its budget is {limit}");
    Failure::new(Kind::Config, message)
        .hint(format!("Raise `budget.tokens` to {needed} or more and retry, or make the change smaller."))
}

/// A review at the gate costs more than its budget has.
pub(crate) fn over_money_budget(needed: f64, left: f64) -> Failure {
    let message = format!("the review costs about ${needed:.2}, and ${:.2} of its budget are left", left.max(0.0));
    Failure::new(Kind::Config, message)
        .hint(format!("Raise `budget.usd` or `pipeline.usd` so that ${needed:.2} are left, and retry."))
}

/// Part of the change at the gate cannot be sent to a reviewer.
pub(crate) fn not_all_sent(what: &str) -> Failure {
    Failure::new(Kind::Config, format!("not all of the change can be reviewed: {what}"))
        .hint("Make the change smaller, or leave the file out of the review with `paths.exclude`.")
}

/// There is a budget in money, and the price of a reviewer is not known.
pub(crate) fn no_price(name: &str) -> Failure {
    Failure::new(Kind::Config, format!("`budget.usd` is set, and what `{name}` costs is not known"))
        .hint(format!("Set `price_input` and `price_output` in `[reviewer.{name}]`, or use `budget.tokens`."))
}

/// A file is no record of a review.
pub(crate) fn not_a_record(name: &str) -> Failure {
    Failure::new(Kind::User, format!("`{name}` is not a record of a review"))
        .hint("Make one with `tollgate review --reviewer NAME --record FILE`.")
}

/// A record was made by a newer version.
pub(crate) fn newer_record(name: &str, format: u64) -> Failure {
    Failure::new(Kind::User, format!("`{name}` is a record of format {format}, and only format 1 can be read"))
        .hint("Use the version of tollgate that made it.")
}

/// A record is damaged.
pub(crate) fn bad_record(name: &str, line_number: usize, problem: &str) -> Failure {
    Failure::new(Kind::User, format!("line {line_number} of the record `{name}` cannot be read: {problem}"))
        .hint("Record the review again.")
}

/// A repository is too large to be copied for an agent.
pub(crate) fn too_large_to_copy(n_files: usize, gibibytes: u64) -> Failure {
    Failure::new(
        Kind::External,
        format!("the repository has more than {n_files} files or {gibibytes} GiB, too much for a copy"),
    )
    .hint("Use a reviewer that is a service: it is sent the change and needs no copy.")
}

/// A file of a copy cannot be written.
pub(crate) fn cannot_copy(path: &Path, problem: &std::io::Error) -> Failure {
    Failure::new(Kind::External, format!("cannot write `{}`: {problem}", path.display()))
        .hint("Check the room in the folder for temporary files; `TMPDIR` names another one.")
}

/// A user's rule file is wrong.
pub(crate) fn bad_rule(path: &str, problem: &str) -> Failure {
    Failure::new(Kind::Config, format!("{path}: {problem}"))
        .hint("Rules are ast-grep YAML; `tollgate rules test` tries them.")
}

/// A review ended without a result.
pub(crate) fn nothing_reviewed() -> Failure {
    Failure::new(Kind::Internal, "the review ended without a result")
}

/// The scanning child process cannot be started.
pub(crate) fn no_scanner(path: &Path, problem: &std::io::Error) -> Failure {
    Failure::new(Kind::Internal, format!("cannot start `{}` to scan files: {problem}", path.display()))
}

/// The store of past reviews cannot be used.
#[must_use]
pub fn no_store(path: &Path, problem: &str) -> Failure {
    Failure::new(Kind::External, format!("the memory at `{}` cannot be used: {problem}", path.display()))
        .hint("Name another place with `--store FILE` or `store.path`.")
}

/// The store was made by a newer version of this program.
pub(crate) fn newer_store(path: &Path, found: usize, known: usize) -> Failure {
    let (path, message) = (path.display(), "comes from a newer tollgate");
    Failure::new(Kind::External, format!("the memory at `{path}` {message} (version {found}, known is {known})"))
        .hint("Update tollgate; the file was left as it is.")
}

/// The file is not a store of this program.
pub(crate) fn foreign_store(path: &Path) -> Failure {
    Failure::new(Kind::External, format!("`{}` is not a memory of tollgate", path.display()))
        .hint("It was left as it is. Move it away, or name another place with `--store FILE` or `store.path`.")
}

/// The store is damaged.
pub(crate) fn damaged_store(path: &Path, problem: &str) -> Failure {
    Failure::new(Kind::External, format!("the memory at `{}` is damaged: {problem}", path.display()))
        .hint("It was left as it is. Move it away to start a new one; `sqlite3 FILE .recover` can save its content.")
}

/// Another process holds the lock of the store.
pub(crate) fn locked_store(path: &Path) -> Failure {
    Failure::new(Kind::External, format!("the memory at `{}` is in use by another process", path.display()))
        .hint("Try again, or find the process that holds the file, for example with `lsof`.")
}

/// The server of the database cannot be reached.
pub(crate) fn no_database(shown: &str, problem: &str) -> Failure {
    Failure::new(Kind::External, format!("the database `{shown}` cannot be reached: {problem}"))
        .hint("Nothing is lost. See that the server runs and can be reached from here; `tollgate doctor` checks both.")
}

/// The database server rejected the credentials.
pub(crate) fn database_login_failed(shown: &str, problem: &str) -> Failure {
    Failure::new(Kind::External, format!("the database `{shown}` does not let us in: {problem}"))
        .hint("Check the user and the password in `--database`, `store.database` or `TOLLGATE_STORE_DATABASE`.")
}

/// The server has no such database.
pub(crate) fn no_such_database(shown: &str) -> Failure {
    Failure::new(Kind::External, format!("there is no database `{shown}`"))
        .hint("Make it with `createdb`, owned by the user in the address; see docs/operations.md.")
}

/// The user of the database lacks a permission.
pub(crate) fn database_permission_denied(shown: &str, problem: &str) -> Failure {
    Failure::new(Kind::External, format!("the database `{shown}` does not allow it: {problem}"))
        .hint("The user in the address must own the database or may create in its schema; see docs/operations.md.")
}

/// The database did not answer within the timeout.
pub(crate) fn busy_database(shown: &str) -> Failure {
    Failure::new(Kind::External, format!("the database `{shown}` is too busy to answer in time"))
        .hint("Try again; if it stays so, look for transactions that never end in `pg_stat_activity`.")
}

/// The database reported an unknown error.
pub(crate) fn failing_database(shown: &str, problem: &str) -> Failure {
    Failure::new(Kind::External, format!("the database `{shown}` refuses: {problem}"))
        .hint("Nothing of it was stored. Its own log says more.")
}

/// The tables of the database were made by a newer version of this program, which does not work with ours.
pub(crate) fn newer_database(shown: &str, found: usize, known: usize) -> Failure {
    Failure::new(
        Kind::External,
        format!("the database `{shown}` comes from a newer tollgate (version {found}, known is {known})"),
    )
    .hint("Update tollgate on this machine; nothing was changed.")
}

/// The database has tables of another program with our names.
pub(crate) fn foreign_database(shown: &str) -> Failure {
    Failure::new(Kind::External, format!("the database `{shown}` belongs to another program"))
        .hint("It was left as it is. Make a database for tollgate alone: `createdb tollgate`.")
}

/// The content of the database is damaged.
pub(crate) fn damaged_database(shown: &str, problem: &str) -> Failure {
    Failure::new(Kind::External, format!("the database `{shown}` is damaged: {problem}"))
        .hint("Restore a backup, or find the other program that writes to its tables.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_git_are_shown_without_their_prefix() {
        assert_eq!(git("diff", "fatal: bad object\n").to_string(), "`git diff` failed: bad object");
        assert_eq!(git("diff", "").to_string(), "`git diff` failed: it gave no reason");
        let said = "hint: grafts are deprecated\nhint:\nfatal: bad object\n";
        assert_eq!(git("diff", said).to_string(), "`git diff` failed: bad object");
    }

    #[test]
    fn the_exit_code_tells_wrong_use_from_things_that_broke() {
        assert_eq!(not_a_range("x").kind.exit_code(), 2);
        assert_eq!(bad_config("a:1:1", "b").kind.exit_code(), 2);
        assert_eq!(git("diff", "").kind.exit_code(), 3);
    }
}
