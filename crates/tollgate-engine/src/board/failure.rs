//! What goes wrong on the board, said to a person.

use std::path::Path;

use tollgate_core::board::FeatureId;

use crate::failure::{Failure, Kind};
use crate::store::board::ProjectRow;

/// The folder of a project is on another machine.
pub(super) fn elsewhere(project: &ProjectRow) -> Failure {
    let (path, name) = (project.path.display(), &project.name);
    match &project.machine {
        Some(machine) => {
            Failure::new(Kind::User, format!("`{name}` is a project of the machine `{machine}`, in `{path}` there"))
                .hint("Ask a server on that machine, or run the command there.")
        }
        None => Failure::new(Kind::User, format!("no machine has said that `{name}`, in `{path}`, is its project"))
            .hint("Run `tollgate project add PATH` on the machine that has the folder."),
    }
}

/// Nobody knows whether a new feature was stored; its file is there.
pub(super) fn stored_later(failure: Failure) -> Failure {
    failure.hint(
        "The file of the feature is written. It comes to the board as soon as the database can be reached: look for it \
         there before you add it again.",
    )
}

/// Nobody is set up to implement features.
pub(super) fn no_agent() -> Failure {
    Failure::new(Kind::Config, "no agent is set up to implement features")
        .hint("Set `agent` in `[pipeline]` of your configuration; `tollgate doctor` says which agents are here.")
}

/// Who is to implement features cannot.
pub(super) fn not_an_agent(name: &str) -> Failure {
    Failure::new(Kind::Config, format!("`{name}` is a service, and a service cannot change files"))
        .hint("Set `agent` in `[pipeline]` to an agent, as `claude` or `codex`, or to one with a `command`.")
}

/// The branch of a feature has a name that is none.
pub(super) fn bad_branch(name: &str, why: &str) -> Failure {
    Failure::new(Kind::User, format!("the branch `{}` cannot be used: {why}", name.escape_debug()))
        .hint("Give the feature another `branchName`, or none.")
}

/// The branch from which features start is not there.
pub(super) fn no_target(project: &Path, name: Option<&str>) -> Failure {
    match name {
        Some(name) => Failure::new(Kind::User, format!("`{}` has no branch `{name}`", project.display()))
            .hint("Set `review.base` to the branch that features are made for."),
        None => Failure::new(Kind::User, format!("`{}` is on no branch", project.display()))
            .hint("Check one out, or set `review.base` to the branch that features are made for."),
    }
}

/// The system gives no thread.
pub(super) fn no_thread(error: &std::io::Error) -> Failure {
    Failure::new(Kind::External, format!("no thread could be started: {error}"))
}

/// The file of a feature is gone.
pub(super) fn gone(id: &FeatureId) -> Failure {
    Failure::new(Kind::User, format!("the file of `{id}` is gone"))
}

/// The branch has lost its commits.
pub(super) fn no_branch(name: &str) -> Failure {
    Failure::new(Kind::User, format!("the branch `{name}` is gone"))
        .hint("Put it back, or move the feature to the backlog and start it again.")
}

/// The work tree was removed, and with it what was not committed.
pub(super) fn no_worktree(branch: &str) -> Failure {
    Failure::new(Kind::User, format!("the work tree of the branch `{branch}` is gone"))
        .hint("Try again, and the agent starts from what the branch has.")
}

/// A part of the program gave up.
pub(super) fn mistake() -> Failure {
    Failure::new(Kind::Internal, "the program made a mistake").hint("The server's log says where; please report it.")
}
