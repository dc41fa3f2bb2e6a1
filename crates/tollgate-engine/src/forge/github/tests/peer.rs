use std::collections::VecDeque;
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use serde_json::Value;

use crate::forge::github::Address;

/// The reaction of the scripted GitHub to the next request.
pub(super) enum Reply {
    /// A response: status, raw headers, body.
    Says(u16, String, String),
    /// Reads the request and closes the connection.
    HangsUp,
    /// Reads the request and stays silent until the end of the test.
    Silent,
    /// Sends a body of this many bytes, all `x`.
    Long(usize),
}

impl Reply {
    pub(super) fn json(status: u16, body: &Value) -> Self {
        Self::Says(status, String::new(), body.to_string())
    }

    pub(super) fn with(self, header: &str) -> Self {
        match self {
            Self::Says(status, headers, body) => Self::Says(status, format!("{headers}{header}\r\n"), body),
            other => other,
        }
    }
}

/// A request that arrived.
#[derive(Debug, Clone)]
pub(super) struct Heard {
    /// `GET /repos/…?page=1`
    pub(super) line: String,
    pub(super) head: String,
    pub(super) body: Value,
}

impl Heard {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        let of = |line: &'_ str| line.split_once(": ").is_some_and(|(found, _)| found.eq_ignore_ascii_case(name));
        self.head.lines().find(|line| of(line)).and_then(|line| line.split_once(": ")).map(|(_, value)| value)
    }
}

/// A GitHub that plays a script, one request after the other.
pub(super) struct Peer {
    at: SocketAddr,
    heard: Arc<Mutex<Vec<Heard>>>,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Peer {
    pub(super) fn playing(replies: Vec<Reply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let at = listener.local_addr().unwrap();
        let (heard, is_over) = (Arc::<Mutex<Vec<Heard>>>::default(), Arc::new(AtomicBool::new(false)));
        let (log, over) = (heard.clone(), is_over.clone());
        let thread = std::thread::spawn(move || {
            let (mut replies, mut silent) = (VecDeque::from(replies), Vec::new());
            for stream in listener.incoming() {
                if over.load(Ordering::SeqCst) {
                    return;
                }
                let mut stream = stream.unwrap();
                let Some(request) = hear(&mut stream) else { continue };
                log.lock().unwrap().push(request);
                let over = || Reply::Says(500, String::new(), "{\"message\":\"the script is over\"}".to_owned());
                play(&replies.pop_front().unwrap_or_else(over), stream, &mut silent);
            }
        });
        Self { at, heard, is_over, thread: Some(thread) }
    }

    pub(super) fn address(&self) -> Address {
        let url = format!("http://{}", self.at);
        Address::parse(&url, Some(&url)).unwrap()
    }

    pub(super) fn heard(&self) -> Vec<Heard> {
        self.heard.lock().unwrap().clone()
    }

    /// The first line of every request.
    pub(super) fn lines(&self) -> String {
        self.heard().into_iter().map(|heard| heard.line).collect::<Vec<_>>().join("\n")
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(self.at);
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

fn hear(stream: &mut TcpStream) -> Option<Heard> {
    let (mut bytes, mut piece) = (Vec::new(), [0; 4096]);
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = |line: &str| line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse().ok();
            let length: usize = head.lines().find_map(length).unwrap_or(0);
            if body.len() >= length {
                let line = head.lines().next()?.trim_end_matches(" HTTP/1.1").to_owned();
                let body = serde_json::from_str(body).unwrap_or(Value::Null);
                return Some(Heard { line, head: head.to_owned(), body });
            }
        }
        match stream.read(&mut piece).ok()? {
            0 => return None,
            n_read => bytes.extend_from_slice(&piece[..n_read]),
        }
    }
}

fn play(reply: &Reply, mut stream: TcpStream, silent: &mut Vec<TcpStream>) {
    // The client stopped reading, so the rest is dropped.
    let mut send = |bytes: &[u8]| stream.write_all(bytes).is_ok();
    match reply {
        Reply::Says(status, headers, body) => {
            let head = format!("HTTP/1.1 {status} X\r\ncontent-length: {}\r\nconnection: close\r\n", body.len());
            send(format!("{head}{headers}\r\n{body}").as_bytes());
        }
        Reply::HangsUp => {}
        Reply::Silent => {
            silent.push(stream);
            return;
        }
        Reply::Long(length) => {
            send(format!("HTTP/1.1 200 X\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n").as_bytes());
            let piece = [b'x'; 1 << 16];
            let _ = (0..length.div_ceil(piece.len())).all(|_| send(&piece));
        }
    }
    let _ = stream.shutdown(Shutdown::Both);
}
