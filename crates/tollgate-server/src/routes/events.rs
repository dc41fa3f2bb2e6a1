//! The event stream: over a WebSocket, or as server-sent events for `curl`.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::Body as HttpBody;
use axum::extract::State;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::ws::{CloseFrame, Message, Utf8Bytes, WebSocket, WebSocketUpgrade, close_code};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use bytes::Bytes;
use futures_util::{SinkExt as _, stream};
use serde::{Deserialize, Serialize};
use tokio::time::{Interval, MissedTickBehavior, interval_at};
use tokio_util::sync::CancellationToken;
use utoipa::{IntoParams, ToSchema};

use crate::access;
use crate::app::{ProjectId, Shared};
use crate::connections::{Busy, Connection};
use crate::events::{Next, Reader, frame};
use crate::extract::Query;
use crate::problem::{self, Kind, Problem};

/// Bytes kept for what a client sends, which is nothing of use; held as long as it listens.
const READ_BUFFER: usize = 512;
/// Bytes of frames that are put together into one write.
const WRITE_BUFFER: usize = 4096;
/// Bytes of one message of a client.
const MAX_MESSAGE: usize = 4096;
/// The most messages of a client between two heartbeats; they are ignored.
const MAX_SAID: u32 = 64;
/// The protocol of our sockets, for clients that name one.
const PROTOCOL: &str = "tollgate.events";

/// From where on, and of which project.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct Wanted {
    /// The number of the last event the client has seen; missing means from now on.
    since: Option<u64>,
    /// The number of a project; missing means all.
    project: Option<u64>,
}

/// Streams events: over a WebSocket when asked to upgrade, otherwise as server-sent events.
///
/// The first frame is `hello`. After `resync` the connection is closed: the client has missed what cannot be sent again,
/// and reads everything anew. After `goodbye` it comes back a little later with `since`.
#[utoipa::path(
    get,
    path = "/api/events",
    operation_id = "listen",
    params(
        Wanted,
        ("last-event-id" = Option<u64>, Header,
         description = "As `since`, from clients of event streams that come back.")
    ),
    responses(
        (status = 101, description = "A WebSocket; each message is a frame."),
        (status = 200, description = "An event stream; each `data` is a frame.", body = String,
         content_type = "text/event-stream",
         example = "id: 17\ndata: {\"type\":\"feature:code-review-started\",\"payload\":{\"featureId\":\"login\",\
                    \"iterationNumber\":1},\"seq\":17,\"timestamp\":\"2026-01-09T14:22:00.000Z\"}\n\n")
    )
)]
pub(crate) async fn events(
    State(app): State<Shared>,
    Extension(connection): Extension<Arc<Connection>>,
    Query(wanted): Query<Wanted>,
    headers: HeaderMap,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<Response, Problem> {
    if app.hub.n_open() >= app.limits.listeners as u64 {
        return Err(problem::busy("too many clients listen"));
    }
    if let Some(project) = wanted.project {
        let id = ProjectId::try_from(project).unwrap_or(ProjectId::MAX);
        app.call(move |board| board.project(id)).await?;
    }
    let last_id = headers.get("last-event-id").and_then(|value| value.to_str().ok()?.trim().parse().ok());
    let reader = app.hub.listen(last_id.or(wanted.since), wanted.project);
    let over = app.access.over();
    let listener =
        Listener { heartbeat: heartbeat(app.limits.heartbeat), reader, app, over, busy: Busy::new(&connection) };
    match upgrade {
        Ok(upgrade) => Ok(listener.upgrade(upgrade, &headers)),
        Err(_) if headers.contains_key(header::UPGRADE) => {
            Err(Problem::new(Kind::BadRequest, "this is not how a WebSocket is opened"))
        }
        Err(_) => Ok(listener.stream()),
    }
}

/// A ticket for a socket.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Ticket {
    /// To be sent as the protocol `tollgate.ticket.<ticket>` beside `tollgate.events`.
    ticket: String,
    /// How many seconds it is good.
    #[schema(example = 30)]
    expires_in: u64,
}

/// Gives a ticket that opens one socket, for pages that can send no headers with it.
#[utoipa::path(
    post,
    path = "/api/events/ticket",
    operation_id = "getTicket",
    responses((status = 200, description = "The ticket.", body = Ticket))
)]
pub(crate) async fn ticket(State(app): State<Shared>) -> Result<Json<Ticket>, Problem> {
    let tickets = &app.access.tickets;
    let ticket = tickets.issue(Instant::now())?.ok_or_else(|| problem::busy("too many tickets are out"))?;
    Ok(Json(Ticket { ticket, expires_in: tickets.good_for().as_secs() }))
}

/// A client that listens.
struct Listener {
    reader: Reader,
    heartbeat: Interval,
    app: Shared,
    /// Cancelled when the token that opened it holds no more.
    over: CancellationToken,
    busy: Busy,
}

/// What a client is sent next.
enum Turn {
    Next(Next),
    Heartbeat,
    Goodbye,
}

impl Listener {
    /// Waits for the next thing to send. May be dropped at any point without losing anything.
    async fn turn(&mut self) -> Turn {
        turn_of(&mut self.reader, &mut self.heartbeat, &self.app, &self.over).await
    }

    fn upgrade(self, upgrade: WebSocketUpgrade, headers: &HeaderMap) -> Response {
        let mut upgrade = upgrade
            .read_buffer_size(READ_BUFFER)
            .write_buffer_size(WRITE_BUFFER)
            .max_message_size(MAX_MESSAGE)
            .max_frame_size(MAX_MESSAGE);
        if let Some(protocol) = protocol(headers) {
            upgrade.set_selected_protocol(protocol);
        }
        upgrade.on_upgrade(|socket| self.talk(socket))
    }

    /// Talks to a client until one of the two has enough. A client that takes nothing is cut off by the connection.
    async fn talk(mut self, mut socket: WebSocket) {
        let (mut is_alive, mut n_said) = (true, 0);
        if send(&mut socket, frame::hello(self.app.hub.last_seq())).await.is_err() {
            return;
        }
        loop {
            let turn = tokio::select! {
                biased;
                () = self.busy.cut_off() => return,
                said = socket.recv() => match said {
                    None | Some(Err(_) | Ok(Message::Close(_))) => return,
                    Some(Ok(Message::Pong(_))) => {
                        is_alive = true;
                        continue;
                    }
                    Some(Ok(_)) => {
                        n_said += 1;
                        if n_said > MAX_SAID {
                            return close(socket, close_code::POLICY, "nobody listens here").await;
                        }
                        continue;
                    }
                },
                turn = turn_of(&mut self.reader, &mut self.heartbeat, &self.app, &self.over) => turn,
            };
            let sent = match turn {
                Turn::Next(Next::Frames(frames)) => send_all(&mut socket, frames.into_iter().map(|f| f.text)).await,
                Turn::Next(Next::Resync(seq)) => {
                    let _ = send(&mut socket, frame::resync(seq)).await;
                    return close(socket, close_code::AGAIN, "read everything anew").await;
                }
                Turn::Heartbeat if !is_alive => return,
                Turn::Heartbeat => {
                    (is_alive, n_said) = (false, 0);
                    socket.send(Message::Ping(Bytes::new())).await
                }
                Turn::Goodbye => {
                    let _ = send(&mut socket, frame::goodbye(self.reader.seq())).await;
                    return close(socket, close_code::AWAY, "the server ends").await;
                }
            };
            if sent.is_err() {
                return;
            }
        }
    }

    /// The same as an event stream.
    fn stream(self) -> Response {
        let hello = data(None, &frame::hello(self.app.hub.last_seq()));
        let first = stream::once(async { Ok::<_, std::convert::Infallible>(Bytes::from(hello)) });
        let rest = stream::unfold(Some(self), |listener| async {
            let mut listener = listener?;
            let (text, listener) = match listener.turn().await {
                Turn::Next(Next::Frames(frames)) => {
                    let text = frames.iter().map(|frame| data(Some(frame.seq), &frame.text)).collect::<String>();
                    (text, Some(listener))
                }
                Turn::Next(Next::Resync(seq)) => (data(None, &frame::resync(seq)), None),
                Turn::Heartbeat => (": still here\n\n".to_owned(), Some(listener)),
                Turn::Goodbye => (data(None, &frame::goodbye(listener.reader.seq())), None),
            };
            Some((Ok(Bytes::from(text)), listener))
        });
        let kind = HeaderValue::from_static("text/event-stream");
        let body = HttpBody::from_stream(futures_util::StreamExt::chain(first, rest));
        ([(header::CONTENT_TYPE, kind)], body).into_response()
    }
}

/// As [`Listener::turn`], while something else of the listener is in use.
async fn turn_of(reader: &mut Reader, heartbeat: &mut Interval, app: &Shared, over: &CancellationToken) -> Turn {
    tokio::select! {
        biased;
        () = app.closing.cancelled() => Turn::Goodbye,
        () = over.cancelled() => Turn::Goodbye,
        next = reader.next() => Turn::Next(next),
        _ = heartbeat.tick() => Turn::Heartbeat,
    }
}

fn heartbeat(every: Duration) -> Interval {
    let mut heartbeat = interval_at(tokio::time::Instant::now() + every, every);
    heartbeat.set_missed_tick_behavior(MissedTickBehavior::Delay);
    heartbeat
}

async fn send(socket: &mut WebSocket, text: Utf8Bytes) -> Result<(), axum::Error> {
    socket.send(Message::Text(text)).await
}

/// Sends many with as few writes as they fit into.
async fn send_all(socket: &mut WebSocket, texts: impl Iterator<Item = Utf8Bytes>) -> Result<(), axum::Error> {
    for text in texts {
        socket.feed(Message::Text(text)).await?;
    }
    socket.flush().await
}

async fn close(mut socket: WebSocket, code: u16, reason: &'static str) {
    let _ = socket.send(Message::Close(Some(CloseFrame { code, reason: reason.into() }))).await;
    // The client's answer, so that the system does not discard frames that were sent.
    let _ =
        tokio::time::timeout(Duration::from_secs(2), async { while let Some(Ok(_)) = socket.recv().await {} }).await;
}

/// The protocol to answer with: ours, or else the one with the ticket, which is worth nothing any more.
fn protocol(headers: &HeaderMap) -> Option<HeaderValue> {
    let ours = access::protocols(headers).find(|name| *name == PROTOCOL);
    let ticket = || access::protocols(headers).find(|name| name.starts_with(access::TICKET_PROTOCOL));
    ours.or_else(ticket).and_then(|name| HeaderValue::from_str(name).ok())
}

fn data(seq: Option<u64>, text: &str) -> String {
    match seq {
        Some(seq) => format!("id: {seq}\ndata: {text}\n\n"),
        None => format!("data: {text}\n\n"),
    }
}
