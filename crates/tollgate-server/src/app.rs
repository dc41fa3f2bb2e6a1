//! The state that all handlers share.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tollgate_engine::board::Board;

use crate::access::Access;
use crate::agents::Agents;
use crate::delivery_limits::DeliveryLimits;
use crate::events::Hub;
use crate::guard::Names;
use crate::limits::Limits;
use crate::metrics::{Metrics, Observer};
use crate::pending_apps::PendingApps;
use crate::problem::{self, Problem};
use crate::webhook::Webhook;

/// The number of a project in the database.
pub(crate) type ProjectId = i64;

/// The state of handlers.
pub(crate) type Shared = Arc<App>;

/// The state that all handlers share.
pub(crate) struct App {
    pub(crate) board: Board,
    pub(crate) hub: Hub,
    pub(crate) access: Access,
    pub(crate) names: Names,
    /// Configured host names besides the loopback ones.
    pub(crate) hosts: Vec<String>,
    /// The address the server listens on.
    pub(crate) address: SocketAddr,
    pub(crate) metrics: Metrics,
    pub(crate) limits: Limits,
    pub(crate) observer: Option<Observer>,
    /// Cancelled when the server shuts down.
    pub(crate) closing: CancellationToken,
    pub(crate) calls: Arc<Semaphore>,
    /// What webhook deliveries may occupy.
    pub(crate) deliveries: DeliveryLimits,
    /// Whether webhook deliveries are accepted.
    pub(crate) webhook: Arc<Webhook>,
    /// GitHub Apps whose registration was begun.
    pub(crate) pending: PendingApps,
    /// The organization that is to own a new app, if given.
    pub(crate) organization: Option<String>,
    pub(crate) agents: Agents,
    /// Held while a prompt preview is made.
    pub(crate) previews: tokio::sync::Mutex<()>,
}

impl App {
    /// Calls the board on a blocking thread, because it reads files, the database and git.
    pub(crate) async fn call<T, E>(
        &self,
        work: impl FnOnce(&Board) -> Result<T, E> + Send + 'static,
    ) -> Result<T, Problem>
    where
        T: Send + 'static,
        E: Send + 'static,
        Problem: From<E>,
    {
        let wait = tokio::time::timeout(self.limits.answer, Arc::clone(&self.calls).acquire_owned());
        let Ok(Ok(permit)) = wait.await else { return Err(problem::busy("too many requests at once")) };
        let board = self.board.clone();
        off_runtime(move || {
            let _permit = permit;
            work(&board).map_err(Problem::from)
        })
        .await
    }

    /// Calls the board about a project, which must be on it.
    pub(crate) async fn call_in<T, E>(
        &self,
        project: ProjectId,
        work: impl FnOnce(&Board) -> Result<T, E> + Send + 'static,
    ) -> Result<T, Problem>
    where
        T: Send + 'static,
        E: Send + 'static,
        Problem: From<E>,
    {
        let work = move |board: &Board| -> Result<T, Problem> {
            board.project(project)?;
            Ok(work(board)?)
        };
        self.call::<T, Problem>(work).await
    }
}

/// Runs blocking work on a thread of its own. A panic there costs this request and nothing else.
async fn off_runtime<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Problem> + Send + 'static,
) -> Result<T, Problem> {
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|_| Err(problem::internal()))
}

/// Seconds of Unix time.
pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_of_a_handler_is_an_internal_error_without_its_message() {
        let work = || -> Result<(), Problem> { panic!("a secret of ours") };
        let problem = off_runtime(work).await.unwrap_err();
        assert_eq!(problem, problem::internal());
        assert!(!String::from_utf8(problem.to_json()).unwrap().contains("secret"));
    }
}
