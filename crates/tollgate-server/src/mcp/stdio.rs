//! The tools on standard input and output: one message a line, nothing else on standard output.
//!
//! It ends when the input ends. A line that is no message or too long is answered with an error, and what comes before the
//! first request is not heard: none of that ends the conversation.

use std::io;

use rmcp::RoleServer;
use rmcp::model::JsonRpcMessage;
use rmcp::service::{RxJsonRpcMessage, ServerInitializeError, ServiceExt as _, TxJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::transport::async_rw::AsyncRwTransport;
use tokio::io::{AsyncRead, AsyncWrite};
use tollgate_engine::failure::{Failure, Kind};

use super::Mcp;

mod lines;

/// A longer message is refused.
const MAX_MESSAGE: usize = 16 * 1024 * 1024;
/// The bytes between the client and the SDK, in each direction.
const PIPE: usize = 64 * 1024;
/// The refusals that wait to be written.
const MAX_REFUSED: usize = 16;

/// Serves the tools on standard input and output until the input ends, on a runtime of its own.
pub fn serve(mcp: Mcp) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.map_err(|error| cannot_talk(&error))?;
    let served = runtime.block_on(talk(mcp, tokio::io::stdin(), tokio::io::stdout()));
    // Calls that are still running have no client to answer to.
    runtime.shutdown_background();
    served
}

async fn talk<R, W>(mcp: Mcp, input: R, output: W) -> Result<(), Failure>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let (messages, to_sdk) = tokio::io::duplex(PIPE);
    let (from_sdk, answers) = tokio::io::duplex(PIPE);
    let (refuse, refused) = tokio::sync::mpsc::channel(MAX_REFUSED);
    let reading = tokio::spawn(lines::forward(input, to_sdk, refuse));
    let writing = tokio::spawn(lines::write(answers, refused, output));
    let transport = AsyncRwTransport::new(messages, from_sdk).with_max_line_length(MAX_MESSAGE);
    let served = converse(mcp, transport).await;
    reading.abort();
    // The last answers are still on their way.
    let _ = writing.await;
    served
}

async fn converse<T: Transport<RoleServer> + 'static>(mcp: Mcp, transport: T) -> Result<(), Failure> {
    match mcp.serve(Patient { inner: transport, has_begun: false }).await {
        Ok(running) => running.waiting().await.map(drop).map_err(|error| cannot_talk(&io::Error::other(error))),
        // The input ended before the client initialized the session.
        Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
        Err(error) => Err(cannot_talk(&io::Error::other(error))),
    }
}

fn cannot_talk(problem: &io::Error) -> Failure {
    Failure::new(Kind::External, format!("the conversation on standard input and output ended: {problem}"))
        .hint("This command is started by an agent or an editor; `tollgate mcp --help` shows how to set one up.")
}

/// A way to a client that may begin with anything.
///
/// The SDK ends the conversation when it does not begin with a request.
struct Patient<T> {
    inner: T,
    has_begun: bool,
}

impl<T: Transport<RoleServer>> Transport<RoleServer> for Patient<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.inner.send(message)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            let message = self.inner.receive().await?;
            self.has_begun |= matches!(message, JsonRpcMessage::Request(_));
            if self.has_begun {
                return Some(message);
            }
        }
    }

    fn close(&mut self) -> impl Future<Output = Result<(), Self::Error>> + Send {
        self.inner.close()
    }
}
