//! Stored reviews, as far as they are of the repository that is meant.
//!
//! One database holds the reviews of all repositories of its user; a caller sees those of the repository it may read.

use std::path::Path;

use tollgate_core::review::Review;
use tollgate_engine::failure::Failure;
use tollgate_engine::forge::local::{Local, Trigger};
use tollgate_engine::store::{Filter, Run, Store};

use crate::mcp::arguments::maybe_name;
use crate::mcp::context::ToolContext;
use crate::mcp::failure;

/// Which review is meant.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Which<'a> {
    /// The folder of the repository.
    pub(super) repository: Option<&'a str>,
    /// The number of the review.
    pub(super) review: Option<i64>,
    /// The branch whose last review is meant.
    pub(super) branch: Option<&'a str>,
}

/// The run that is meant, with its review.
pub(super) fn find(context: &ToolContext, which: Which<'_>) -> Result<(Run, Review), Failure> {
    let branch = maybe_name("branch", which.branch)?;
    let names = names(&context.open(which.repository, Trigger::Default)?);
    if names.is_empty() {
        return Err(failure::no_repository());
    }
    let store = context.look_up()?;
    let mut run = match which.review {
        Some(number) => {
            let run = store.run(number)?.filter(|run| names.contains(&run.subject.repository));
            run.ok_or_else(|| failure::no_such_review(number))?
        }
        None => newest(&store, &names, branch)?.ok_or_else(|| failure::no_reviews(branch))?,
    };
    match run.review.take() {
        Some(review) => Ok((run, *review)),
        None => Err(failure::review_failed(run.id, run.problem.as_deref().unwrap_or("it ended without a review"))),
    }
}

/// The last review of any subject.
fn newest(store: &Store, names: &[String], branch: Option<&str>) -> Result<Option<Run>, Failure> {
    let mut newest: Option<Run> = None;
    for name in names {
        let filter = Filter { repository: Some(name.clone()), name: branch.map(str::to_owned), limit: 1 };
        let run = store.runs(&filter)?.into_iter().next().map(|(run, _)| run);
        newest = [newest, run].into_iter().flatten().max_by_key(|run| run.id);
    }
    Ok(newest)
}

/// What a repository is called: by its address, and on a board by its folder.
fn names(forge: &Local) -> Vec<String> {
    let common = forge.common_dir().and_then(|common| common.canonicalize().ok());
    let folders = [forge.root(), common.as_deref().and_then(Path::parent)];
    let folders = folders.into_iter().flatten().map(|folder| folder.to_string_lossy().into_owned());
    let mut names: Vec<String> = forge.identity().into_iter().chain(folders).collect();
    names.sort_unstable();
    names.dedup();
    names
}
