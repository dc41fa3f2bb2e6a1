//! Failures of the board.

use std::path::Path;

use tollgate_core::board::FeatureId;

use crate::failure::{Failure, Kind};
use crate::store::board::ProjectRow;

/// The project's folder is on another machine.
pub(super) fn elsewhere(project: &ProjectRow) -> Failure {
    let (path, name) = (project.path.display(), &project.name);
    match &project.machine {
        Some(machine) => {
            Failure::new(Kind::User, format!("`{name}` is a project of the machine `{machine}`, in `{path}` there"))
                .hint("Ask a server on that machine, or run the command there.")
        }
        None => Failure::new(Kind::User, format!("no machine has adopted the project `{name}` in `{path}`"))
            .hint("Run `tollgate project add PATH` on the machine that has the folder."),
    }
}

/// It is unknown whether a new feature was stored; its file was written.
pub(super) fn stored_later(failure: Failure) -> Failure {
    failure.hint(
        "The file of the feature is written. It comes to the board as soon as the database can be reached: look for it \
         there before you add it again.",
    )
}

/// No agent is configured.
pub(super) fn no_agent() -> Failure {
    Failure::new(Kind::Config, "no agent is configured to implement features")
        .hint("Set `agent` in `[pipeline]` of your configuration; `tollgate doctor` lists the installed agents.")
}

/// The configured agent is a service.
pub(super) fn not_an_agent(name: &str) -> Failure {
    Failure::new(Kind::Config, format!("`{name}` is a service, and a service cannot change files"))
        .hint("Set `agent` in `[pipeline]` to an agent, as `claude` or `codex`, or to one with a `command`.")
}

/// The main checkout is not as it was before the agent started.
pub(super) fn main_changed(project: &Path, changes: &[String]) -> Failure {
    let message = format!("the main checkout changed while the agent ran: {}", changes.join(", "));
    Failure::new(Kind::User, message).hint(format!(
        "An agent may write only in its work tree. Undo in `{}` what is not yours, then retry: the work of the agent is \
         kept, and it does not run again.",
        project.display()
    ))
}

/// The main checkout is not as it was before a reviewing agent started.
pub(super) fn main_changed_in_review(project: &Path, changes: &[String]) -> Failure {
    let message = format!("the main checkout changed while the reviewer ran: {}", changes.join(", "));
    Failure::new(Kind::User, message).hint(format!(
        "A reviewer may write nothing, so its review does not count. Undo in `{}` what is not yours, then retry.",
        project.display()
    ))
}

/// A name that is not the name of a model.
pub(super) fn bad_model(name: &str) -> Failure {
    let name = name.escape_debug();
    Failure::new(Kind::Config, format!("the model `{name}` cannot be used: it is not the name of a model"))
        .hint("Give the feature another `model`, or none; `pipeline.review_model` sets that of reviews.")
}

/// The user's own program takes no model.
pub(super) fn model_not_taken(program: &str, model: &str) -> Failure {
    Failure::new(Kind::Config, format!("`{program}` takes no model, and the feature asks for `{model}`"))
        .hint("Put `{model}` into its `command`, or remove the `model` of the feature.")
}

/// The branch name of a feature is invalid.
pub(super) fn bad_branch(name: &str, why: &str) -> Failure {
    Failure::new(Kind::User, format!("the branch `{}` cannot be used: {why}", name.escape_debug()))
        .hint("Give the feature another `branchName`, or none.")
}

/// The target branch does not exist.
pub(super) fn no_target(project: &Path, name: Option<&str>) -> Failure {
    match name {
        Some(name) => Failure::new(Kind::User, format!("`{}` has no branch `{name}`", project.display()))
            .hint("Set `review.base` to the branch that features are made for."),
        None => Failure::new(Kind::User, format!("`{}` is on no branch", project.display()))
            .hint("Check one out, or set `review.base` to the branch that features are made for."),
    }
}

/// The file of a feature is gone.
pub(super) fn gone(id: &FeatureId) -> Failure {
    Failure::new(Kind::User, format!("the file of `{id}` is gone"))
}

/// The branch of the feature is gone.
pub(super) fn no_branch(name: &str) -> Failure {
    Failure::new(Kind::User, format!("the branch `{name}` is gone"))
        .hint("Put it back, or move the feature to the backlog and start it again.")
}

/// The worktree was removed together with uncommitted work.
pub(super) fn no_worktree(branch: &str) -> Failure {
    Failure::new(Kind::User, format!("the work tree of the branch `{branch}` is gone"))
        .hint("Try again, and the agent starts from the branch.")
}
