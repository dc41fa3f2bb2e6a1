//! Error messages for failed calls of reviewing agents; those common to all agents are in `agent::explain`.

use crate::agent::Agent;
use crate::agent::explain::failed;
use crate::call::{CallFailure, FailureCause};
use crate::failure::Failure;

pub(super) fn no_tree(agent: &Agent, failure: &Failure) -> CallFailure {
    let told = failed(FailureCause::Setup, format!("cannot copy the code for `{}`: {failure}", agent.name));
    CallFailure { hint: failure.hint.clone(), ..told }
}

pub(super) fn too_large(agent: &Agent) -> CallFailure {
    failed(FailureCause::Setup, format!("the code is more than `{}` can be given", agent.name))
}

pub(super) fn misbehaved(agent: &Agent, changes: &str) -> CallFailure {
    failed(FailureCause::Misbehaved, format!("`{}` is to read only, but {changes}", agent.name))
        .hint("Nothing of yours was touched: it worked in a copy. Its answer was thrown away.")
}
