//! Sessions of clients of older revisions: so many, and each as long as it is used.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use futures_util::Stream;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::WorkerTransport;
use rmcp::transport::streamable_http_server::session::local::{
    LocalSessionManager, LocalSessionManagerError, LocalSessionWorker,
};
use rmcp::transport::streamable_http_server::session::{ServerSseMessage, SessionId, SessionManager};

/// How many there are at once.
const MAX_SESSIONS: usize = 64;
/// How much longer a session is kept than the longest review, of which nothing may be heard until it ends.
const LONGER: Duration = Duration::from_secs(5 * 60);

pub(super) struct Sessions {
    inner: LocalSessionManager,
    /// The one that was used least lately first.
    used: Mutex<Vec<SessionId>>,
}

impl Sessions {
    /// None yet; one in which nothing happens for longer than a review takes ends.
    pub(super) fn new(longest_review: Duration) -> Self {
        let mut inner = LocalSessionManager::default();
        inner.session_config.keep_alive = Some(longest_review + LONGER);
        inner.session_config.sse_retry = None;
        Self { inner, used: Mutex::default() }
    }

    /// Takes note of a session that is used, and gives back those for which there is no room any more.
    fn note(&self, id: &SessionId) -> Vec<SessionId> {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        used.retain(|known| known != id);
        used.push(id.clone());
        let n_over = used.len().saturating_sub(MAX_SESSIONS);
        used.drain(..n_over).collect()
    }

    fn forget(&self, id: &SessionId) {
        self.used.lock().unwrap_or_else(PoisonError::into_inner).retain(|known| known != id);
    }
}

impl SessionManager for Sessions {
    type Error = LocalSessionManagerError;
    type Transport = WorkerTransport<LocalSessionWorker>;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), Self::Error> {
        let (id, transport) = self.inner.create_session().await?;
        for old in self.note(&id) {
            self.inner.close_session(&old).await?;
        }
        Ok((id, transport))
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, Self::Error> {
        self.inner.initialize_session(id, message).await
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, Self::Error> {
        let is_there = self.inner.has_session(id).await?;
        if is_there {
            self.note(id);
        }
        Ok(is_there)
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), Self::Error> {
        self.forget(id);
        self.inner.close_session(id).await
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        self.inner.create_stream(id, message).await
    }

    async fn accept_message(&self, id: &SessionId, message: ClientJsonRpcMessage) -> Result<(), Self::Error> {
        self.inner.accept_message(id, message).await
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        self.inner.create_standalone_stream(id).await
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        self.inner.resume(id, last_event_id).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_session_takes_the_place_of_the_one_that_was_used_least_lately() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let sessions = Sessions::new(Duration::from_secs(1));
            let mut kept = Vec::new();
            for _ in 0..MAX_SESSIONS {
                kept.push(sessions.create_session().await.unwrap());
            }
            assert!(sessions.has_session(&kept[0].0).await.unwrap());
            kept.push(sessions.create_session().await.unwrap());
            assert!(sessions.has_session(&kept[0].0).await.unwrap());
            assert!(!sessions.has_session(&kept[1].0).await.unwrap());
            sessions.close_session(&kept[0].0).await.unwrap();
            assert!(!sessions.has_session(&kept[0].0).await.unwrap());
            assert_eq!(sessions.used.lock().unwrap().len(), MAX_SESSIONS - 1);
        });
    }
}
