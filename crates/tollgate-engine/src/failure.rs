//! What goes wrong, said to a person.
//!
//! Each failure is made by a named function, so that the words stand in one
//! place: `failure::no_such_revision("mian").hint("Run `git fetch` first.")`.
//! Messages are lower case without a period; hints are sentences that say what
//! to do next.

use std::fmt;
use std::path::Path;

/// Whose turn it is to do something about a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The command was used wrongly or its input is bad.
    User,
    /// A configuration or rule file is wrong.
    Config,
    /// Something we depend on failed: git, a file, the network.
    External,
    /// We are wrong.
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

/// Something went wrong, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// Whose turn it is.
    pub kind: Kind,
    /// What went wrong.
    pub message: String,
    /// What to do next.
    pub hint: Option<String>,
}

impl Failure {
    /// A failure without a hint.
    #[must_use]
    pub fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), hint: None }
    }

    /// Says what to do next.
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

/// The folder is in no git repository.
#[must_use]
pub fn not_a_repository(dir: &Path) -> Failure {
    Failure::new(Kind::User, format!("`{}` is not in a git repository", dir.display()))
        .hint("Run this inside a repository; `review` and `analyze` also take a patch with `--diff FILE`.")
}

/// There is no working tree, and what was asked for needs one.
#[must_use]
pub fn no_working_tree(what: &str) -> Failure {
    Failure::new(Kind::User, format!("{what} needs a working tree, and there is none here"))
        .hint("Name a range of commits, as in `tollgate review main..feature`.")
}

/// A bare repository lies inside another checkout, where anybody could have put it.
#[must_use]
pub fn embedded_bare_repository(dir: &Path) -> Failure {
    Failure::new(
        Kind::User,
        format!("`{}` is a bare repository inside another repository, which is how code is smuggled in", dir.display()),
    )
    .hint("If it is yours, say so with `GIT_DIR=.`.")
}

/// No commit goes by this name.
#[must_use]
pub fn no_such_revision(rev: &str) -> Failure {
    Failure::new(Kind::User, format!("there is no revision `{rev}` here"))
        .hint("Check the spelling, or run `git fetch` if it is on a remote.")
}

/// The text is not something git takes for a range of commits.
#[must_use]
pub fn not_a_range(text: &str) -> Failure {
    Failure::new(Kind::User, format!("`{text}` is not a revision or a range of revisions")).hint(
        "Write `A..B` to compare two revisions, `A...B` to compare B with where it left A, or `A` for all since A.",
    )
}

/// Two lines of history have no commit in common.
#[must_use]
pub fn no_merge_base(a: &str, b: &str, shallow: bool) -> Failure {
    let failure = Failure::new(Kind::User, format!("`{a}` and `{b}` have no commit in common"));
    if shallow {
        failure.hint("This clone is shallow: run `git fetch --unshallow`, or compare directly with `A..B`.")
    } else {
        failure.hint("Compare them directly with `A..B`.")
    }
}

/// A shallow clone holds nothing to compare with.
#[must_use]
pub fn no_main_branch() -> Failure {
    Failure::new(Kind::User, "this clone is shallow and has no main branch to compare with")
        .hint("Run `git fetch origin main` and set `review.base`, or name a range of commits.")
}

/// Git refuses because the repository belongs to somebody else.
#[must_use]
pub fn dubious_ownership(dir: &Path) -> Failure {
    Failure::new(
        Kind::User,
        format!("the repository at `{}` belongs to another user, so git will not read it", dir.display()),
    )
    .hint(format!("If you trust it, run `git config --global --add safe.directory {}`.", dir.display()))
}

/// Objects are missing that the clone left on the server.
#[must_use]
pub fn missing_objects(said: &str) -> Failure {
    Failure::new(Kind::External, format!("git cannot read part of the change: {said}"))
        .hint("In a partial clone, run the same `git diff` once, so that git downloads what is missing.")
}

/// The git program is not there, or the machine lets nothing be started.
#[must_use]
pub fn no_git(problem: &std::io::Error) -> Failure {
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
    // Hints and warnings come first and often have nothing to do with the failure.
    let is_beside = |line: &&str| line.starts_with("hint:") || line.starts_with("warning:");
    let said: Vec<&str> = said.lines().filter(|line| !line.trim().is_empty() && !is_beside(line)).collect();
    let said = said.join("\n");
    let said = said.strip_prefix("fatal: ").unwrap_or(&said);
    let said = if said.is_empty() { "it gave no reason" } else { said };
    Failure::new(Kind::External, format!("`git {command}` failed: {said}"))
}

/// A git command took too long.
#[must_use]
pub fn git_too_slow(command: &str, seconds: u64) -> Failure {
    Failure::new(Kind::External, format!("`git {command}` did not finish within {seconds} s and was stopped"))
        .hint("Review a smaller range.")
}

/// A git command said more than we read.
#[must_use]
pub fn git_too_much(command: &str, limit: usize) -> Failure {
    Failure::new(Kind::External, format!("`git {command}` printed more than {limit} bytes"))
}

/// A git command said something we do not understand.
#[must_use]
pub fn git_unreadable(command: &str) -> Failure {
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
    Failure::new(Kind::User, format!("`{name}` holds no unified diff")).hint("Make one with `git diff > change.patch`.")
}

/// A configuration file is wrong at a place.
#[must_use]
pub fn bad_config(place: &str, problem: &str) -> Failure {
    Failure::new(Kind::Config, format!("{place}: {problem}"))
}

/// A finding is in the list of dismissals already.
#[must_use]
pub fn dismissed_before(file: &str, reason: &str) -> Failure {
    Failure::new(Kind::User, format!("`{file}` has this finding already: {reason}"))
        .hint("Change the reason in the file, if it is another one now.")
}

/// A repository says how the board is to work on it.
#[must_use]
pub fn pipeline_in_repository(source: &str) -> Failure {
    Failure::new(Kind::Config, format!("{source}: how the board works is the operator's to say, not the repository's"))
        .hint("Set `[pipeline]` and `identity.pipeline` in your own configuration (~/.config/tollgate/config.toml).")
}

/// A repository says which app of GitHub is ours.
#[must_use]
pub fn github_in_repository(source: &str) -> Failure {
    let problem = "`github` cannot be set in a repository, whose author could then have the app's key sent elsewhere";
    bad_config(source, problem)
        .hint("Set it in your own `~/.config/tollgate/config.toml`, or with `TOLLGATE_GITHUB_*` variables.")
}

/// A repository cannot have what others stored forgotten.
pub fn retention_in_repository(source: &str) -> Failure {
    bad_config(source, "`retention` cannot be set in a repository, whose author could then have reviews forgotten")
        .hint("Set it in your own `~/.config/tollgate/config.toml`, or with `TOLLGATE_RETENTION_*` variables.")
}

/// A repository says where the memory is to be.
#[must_use]
pub fn store_in_repository(source: &str) -> Failure {
    bad_config(source, "`store` cannot be set in a repository, which could then write anywhere")
        .hint("Set it in your own `~/.config/tollgate/config.toml`, with `TOLLGATE_STORE_PATH` or `TOLLGATE_STORE_DATABASE`, or with `--store` or `--database`.")
}

/// Two places are named for the one memory.
#[must_use]
pub fn two_stores(place: &str, file: &str, database: &str) -> Failure {
    bad_config(
        place,
        &format!("{file} and {database} are both set, and only one of them can be where reviews are kept"),
    )
    .hint("Leave one of them out.")
}

/// A repository says how a reviewer is reached.
#[must_use]
pub fn own_only(source: &str, reviewer: &str, field: &str) -> Failure {
    let problem = format!(
        "`reviewer.{reviewer}.{field}` cannot be set in a repository, whose author could then run programs, read keys or spend money"
    );
    bad_config(source, &problem).hint("Set the whole table in your own `~/.config/tollgate/config.toml`.")
}

/// Nobody is called that.
#[must_use]
pub fn no_such_reviewer(name: &str, near: Option<&str>, known: &[&str]) -> Failure {
    let failure = Failure::new(Kind::User, format!("there is no reviewer `{name}`"));
    match near {
        Some(near) => failure.hint(format!("Did you mean `{near}`? `tollgate doctor` lists them.")),
        None => failure.hint(format!("Known are {}; your own go to `[reviewer.NAME]`.", known.join(", "))),
    }
}

/// More voices are asked for than there are.
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

/// There is a budget of money, and nobody knows what a reviewer costs.
#[must_use]
pub fn no_price(name: &str) -> Failure {
    Failure::new(Kind::Config, format!("`budget.usd` is set, and what `{name}` costs is not known"))
        .hint(format!("Set `price_input` and `price_output` in `[reviewer.{name}]`, or use `budget.tokens`."))
}

/// A file is no record of a review.
#[must_use]
pub fn not_a_record(name: &str) -> Failure {
    Failure::new(Kind::User, format!("`{name}` is not a record of a review"))
        .hint("Make one with `tollgate review --reviewer NAME --record FILE`.")
}

/// A record was made by a newer version.
#[must_use]
pub fn newer_record(name: &str, format: u64) -> Failure {
    Failure::new(Kind::User, format!("`{name}` is a record of format {format}, and only format 1 can be read"))
        .hint("Use the version of tollgate that made it.")
}

/// A record is damaged.
#[must_use]
pub fn bad_record(name: &str, line_number: usize, problem: &str) -> Failure {
    Failure::new(Kind::User, format!("line {line_number} of the record `{name}` cannot be read: {problem}"))
        .hint("Record the review again.")
}

/// A repository is too large to be copied for an agent.
#[must_use]
pub fn too_large_to_copy(n_files: usize, gibibytes: u64) -> Failure {
    Failure::new(
        Kind::External,
        format!("the repository has more than {n_files} files or {gibibytes} GiB, too much for a copy"),
    )
    .hint("Use a reviewer that is a service: it is sent the change and needs no copy.")
}

/// A file of a copy cannot be written.
#[must_use]
pub fn cannot_copy(path: &Path, problem: &std::io::Error) -> Failure {
    Failure::new(Kind::External, format!("cannot write `{}`: {problem}", path.display()))
        .hint("Check the room in the folder for temporary files; `TMPDIR` names another one.")
}

/// A user's rule file is wrong.
#[must_use]
pub fn bad_rule(path: &str, problem: &str) -> Failure {
    Failure::new(Kind::Config, format!("{path}: {problem}"))
        .hint("Rules are ast-grep YAML; `tollgate rules test` tries them.")
}

/// A review ended without one.
#[must_use]
pub fn nothing_reviewed() -> Failure {
    Failure::new(Kind::Internal, "the review ended without a result")
}

/// The scanning child process cannot be started.
#[must_use]
pub fn no_scanner(path: &Path, problem: &std::io::Error) -> Failure {
    Failure::new(Kind::Internal, format!("cannot start `{}` to scan files: {problem}", path.display()))
}

/// The memory of past reviews cannot be used.
#[must_use]
pub fn no_store(path: &Path, problem: &str) -> Failure {
    Failure::new(Kind::External, format!("the memory at `{}` cannot be used: {problem}", path.display()))
        .hint("Name another place with `--store FILE` or `store.path`.")
}

/// The memory was made by a newer version of this program.
#[must_use]
pub fn newer_store(path: &Path, found: usize, known: usize) -> Failure {
    let (path, message) = (path.display(), "comes from a newer tollgate");
    Failure::new(Kind::External, format!("the memory at `{path}` {message} (version {found}, known is {known})"))
        .hint("Update tollgate; the file was left as it is.")
}

/// The file is no memory of this program.
#[must_use]
pub fn foreign_store(path: &Path) -> Failure {
    Failure::new(Kind::External, format!("`{}` is not a memory of tollgate", path.display()))
        .hint("It was left as it is. Move it away, or name another place with `--store FILE` or `store.path`.")
}

/// The memory is damaged.
#[must_use]
pub fn damaged_store(path: &Path, problem: &str) -> Failure {
    Failure::new(Kind::External, format!("the memory at `{}` is damaged: {problem}", path.display()))
        .hint("It was left as it is. Move it away to start a new one; `sqlite3 FILE .recover` can save what is in it.")
}

/// Another process holds the memory.
#[must_use]
pub fn locked_store(path: &Path) -> Failure {
    Failure::new(Kind::External, format!("the memory at `{}` is in use by another process", path.display()))
        .hint("Try again, or find out who holds the file.")
}

/// The server of the database cannot be reached.
#[must_use]
pub fn no_database(shown: &str, problem: &str) -> Failure {
    Failure::new(Kind::External, format!("the database `{shown}` cannot be reached: {problem}"))
        .hint("Nothing is lost. See that the server runs and can be reached from here; `tollgate doctor` checks both.")
}

/// The server of the database does not let us in.
#[must_use]
pub fn no_entry_to_database(shown: &str, problem: &str) -> Failure {
    Failure::new(Kind::External, format!("the database `{shown}` does not let us in: {problem}"))
        .hint("Check the user and the password in `--database`, `store.database` or `TOLLGATE_STORE_DATABASE`.")
}

/// The server has no such database.
#[must_use]
pub fn no_such_database(shown: &str) -> Failure {
    Failure::new(Kind::External, format!("there is no database `{shown}`"))
        .hint("Make it with `createdb`, owned by the user in the address; see docs/operations.md.")
}

/// The database does not allow what is needed.
#[must_use]
pub fn no_right_in_database(shown: &str, problem: &str) -> Failure {
    Failure::new(Kind::External, format!("the database `{shown}` does not allow it: {problem}"))
        .hint("The user in the address must own the database or may create in its schema; see docs/operations.md.")
}

/// Others use the database for longer than we wait.
#[must_use]
pub fn busy_database(shown: &str) -> Failure {
    Failure::new(Kind::External, format!("the database `{shown}` is too busy to answer in time"))
        .hint("Try again; if it stays so, look for transactions that never end in `pg_stat_activity`.")
}

/// The database refuses for a reason that we do not know.
#[must_use]
pub fn failing_database(shown: &str, problem: &str) -> Failure {
    Failure::new(Kind::External, format!("the database `{shown}` refuses: {problem}"))
        .hint("Nothing of it was stored. Its own log says more.")
}

/// The tables of the database were made by a newer version of this program, which does not work with ours.
#[must_use]
pub fn newer_database(shown: &str, found: usize, known: usize) -> Failure {
    Failure::new(
        Kind::External,
        format!("the database `{shown}` comes from a newer tollgate (version {found}, known is {known})"),
    )
    .hint("Update tollgate on this machine; nothing was changed.")
}

/// The database has tables of somebody else that are named as ours.
#[must_use]
pub fn foreign_database(shown: &str) -> Failure {
    Failure::new(Kind::External, format!("the database `{shown}` belongs to another program"))
        .hint("It was left as it is. Make a database for tollgate alone: `createdb tollgate`.")
}

/// What stands in the database is not what was put there.
#[must_use]
pub fn damaged_database(shown: &str, problem: &str) -> Failure {
    Failure::new(Kind::External, format!("the database `{shown}` is damaged: {problem}"))
        .hint("Restore a backup, or find out who else writes to its tables.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_git_says_is_shown_without_its_own_prefix() {
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
