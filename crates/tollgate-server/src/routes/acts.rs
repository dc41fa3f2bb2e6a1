//! Actions on features as one table: start, stop, approve, reject and so on.

use axum::extract::State;
use axum::response::Response;
use serde::Deserialize;
use tollgate_core::board::FeatureId;
use tollgate_core::board::machine::Status;
use tollgate_engine::board::Board;
use tollgate_engine::forge::worktree::Removed;
use tollgate_engine::same_variants;
use tollgate_engine::store::board::FeatureRow;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::{ProjectId, Shared};
use crate::extract::{Body, IsPerson, OfFeature, Optional};
use crate::problem::{self, Kind, Problem};
use crate::routes::features::{check_text, whole};
use crate::view::FeatureBody;

/// The name of the person who acts through the API, unless given.
pub(crate) const BY: &str = "operator";

/// A note to the agent.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Resume {
    /// The note, which comes first in the prompt of the agent.
    #[schema(max_length = 20_000, example = "Use the existing session store.")]
    note: Option<String>,
}

/// A manual approval.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Approve {
    /// The reason, recorded with the approval.
    #[schema(min_length = 1, max_length = 20_000, pattern = r"\S", example = "The remark is about generated code.")]
    reason: String,
    /// The person who approves; `operator` by default.
    #[schema(max_length = 200, example = "Ada")]
    by: Option<String>,
}

/// A rejection by a person.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Reject {
    /// A note to the agent.
    #[schema(
        min_length = 1,
        max_length = 20_000,
        pattern = r"\S",
        example = "The error message names the wrong field."
    )]
    note: String,
}

/// A move to another column.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Move {
    /// The column: `backlog`, or `completed` for a feature that passed.
    status: Column,
}

/// A column that people move features to.
#[derive(Debug, Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Column {
    /// Not started.
    Backlog,
    /// Approved, awaiting manual approval.
    WaitingApproval,
    /// Approved, without manual approval.
    Verified,
    /// It is over.
    Completed,
}

/// The body of an action, checked before anything is done.
trait ActBody {
    fn check(&self) -> Result<(), Problem>;

    /// Refuses a program with the API token what only a person may do: everything that opens the gate.
    fn check_party(&self, _: IsPerson) -> Result<(), Problem> {
        Ok(())
    }
}

impl ActBody for Resume {
    fn check(&self) -> Result<(), Problem> {
        check_text("note", self.note.as_ref(), 20_000)
    }
}

impl ActBody for Approve {
    fn check(&self) -> Result<(), Problem> {
        check_said("reason", &self.reason)?;
        check_text("by", self.by.as_ref(), 200)
    }

    fn check_party(&self, person: IsPerson) -> Result<(), Problem> {
        person.name(None, "approve a feature").map(drop)
    }
}

impl ActBody for Reject {
    fn check(&self) -> Result<(), Problem> {
        check_said("note", &self.note)
    }
}

impl ActBody for Move {
    fn check(&self) -> Result<(), Problem> {
        Ok(())
    }

    fn check_party(&self, person: IsPerson) -> Result<(), Problem> {
        match self.status {
            Column::Backlog => Ok(()),
            Column::WaitingApproval | Column::Verified | Column::Completed => {
                person.name(None, "move a feature past the gate").map(drop)
            }
        }
    }
}

/// The table of actions: for each its documentation, name, path and operation, its body if it has one, and the call to the
/// board. Every action answers with the feature.
macro_rules! acts {
    ($($(#[$doc:meta])* $name:ident $path:tt $operation:tt $(($extract:ident<$body:ident>, $schema:ty))? => $call:expr;)*) => {
        $(
            $(#[$doc])*
            #[utoipa::path(
                post,
                path = $path,
                operation_id = $operation,
                $(request_body = $schema,)?
                responses((status = 200, description = "The feature after the action.", body = FeatureBody, headers(("etag" = String))))
            )]
            async fn $name(State(app): State<Shared>, of: OfFeature, person: IsPerson $(, $extract(body): $extract<$body>)?) -> Result<Response, Problem> {
                acts!(@act app, of, person, $call $(, body, $body)?)
            }
        )*

        /// The routes of all actions.
        pub(crate) fn router() -> OpenApiRouter<Shared> {
            OpenApiRouter::new()$(.routes(routes!($name)))*
        }
    };
    (@act $app:ident, $of:ident, $person:ident, $call:expr) => {{
        let _ = $person;
        act(&$app, $of, $call).await
    }};
    (@act $app:ident, $of:ident, $person:ident, $call:expr, $given:ident, $body:ident) => {{
        $given.check()?;
        $given.check_party($person)?;
        let call: fn(&Board, ProjectId, &FeatureId, &$body) -> Result<FeatureRow, Problem> = $call;
        act(&$app, $of, move |board, project, id| call(board, project, id, &$given)).await
    }};
}

acts! {
    /// Starts work on a feature.
    start "/api/projects/{project}/features/{feature}/start" "startFeature"
        => |board, project, id| Ok(board.start(project, id, BY)?);
    /// Stops the work on a feature. Its work tree stays as it is.
    stop "/api/projects/{project}/features/{feature}/stop" "stopFeature"
        => |board, project, id| Ok(board.stop(project, id, BY)?);
    /// Resumes a paused feature with a fresh iteration budget.
    resume "/api/projects/{project}/features/{feature}/resume" "resumeFeature" (Optional<Resume>, Option<Resume>)
        => |board, project, id, resume| Ok(board.resume(project, id, BY, resume.note.as_deref())?);
    /// Approves a feature against its review. The reason is recorded. A request with the API token is refused (403): only a
    /// person approves, on the page or with `tollgate feature approve`.
    approve "/api/projects/{project}/features/{feature}/approve" "approveFeature" (Body<Approve>, Approve)
        => |board, project, id, approve| {
            let by = approve.by.as_deref().filter(|by| !by.trim().is_empty()).unwrap_or(BY);
            Ok(board.approve(project, id, by, &approve.reason)?)
        };
    /// Sends a feature back to the agent.
    reject "/api/projects/{project}/features/{feature}/reject" "rejectFeature" (Body<Reject>, Reject)
        => |board, project, id, reject| Ok(board.reject(project, id, BY, &reject.note)?);
    /// Retries a failed step, or repeats a review that rejected too often, e.g. after findings were dismissed.
    retry "/api/projects/{project}/features/{feature}/retry" "retryFeature"
        => |board, project, id| Ok(board.retry(project, id, BY)?);
    /// Moves a feature to another column, if it may go there. A request with the API token is refused (403) unless the
    /// column is `backlog`.
    move_to "/api/projects/{project}/features/{feature}/move" "moveFeature" (Body<Move>, Move)
        => |board, project, id, to| Ok(board.move_to(project, id, BY, &to.status.into())?);
    /// Removes the work tree of a feature, if nothing in it would be lost.
    clean "/api/projects/{project}/features/{feature}/clean" "cleanFeature" => remove_worktree;
}

same_variants!(Column => Status: Backlog WaitingApproval Verified Completed);

fn remove_worktree(board: &Board, project: ProjectId, id: &FeatureId) -> Result<FeatureRow, Problem> {
    let why = match board.clean(project, id).map_err(problem::conflict)? {
        Removed::Done => return Ok(board.feature(project, id)?),
        Removed::Kept { uncommitted } => format!("{uncommitted} files in its work tree are not committed"),
        Removed::NotOurs => "its work tree was not made by tollgate, and stays".to_owned(),
    };
    Err(Problem::new(Kind::Conflict, why))
}

/// Acts on a feature and responds with its new state.
async fn act(
    app: &Shared,
    OfFeature(project, id): OfFeature,
    action: impl FnOnce(&Board, ProjectId, &FeatureId) -> Result<FeatureRow, Problem> + Send + 'static,
) -> Result<Response, Problem> {
    let act = move |board: &Board| {
        let row = action(board, project, &id)?;
        Ok::<_, Problem>(FeatureBody::new(row, board.settings().pipeline.rounds))
    };
    Ok(whole(app.call_in(project, act).await?))
}

pub(crate) fn check_said(name: &str, text: &String) -> Result<(), Problem> {
    check_text(name, Some(text), 20_000)?;
    if text.trim().is_empty() {
        return Err(Problem::new(Kind::Unprocessable, format!("`{name}` is empty")));
    }
    Ok(())
}
