//! HTTP as the fake GitHub speaks it: one thread for each connection, and answers that may stay away.

use std::io::{BufRead as _, BufReader, Error, Read as _, Result, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// A request, read to its end.
pub(crate) struct Request {
    pub(crate) method: String,
    /// The path without the query.
    pub(crate) path: String,
    pub(crate) query: String,
    headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Request {
    /// A header, by its name in lower case.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(found, _)| found == name).map(|(_, value)| value.as_str())
    }

    /// A value of the query, as far as it is plain.
    pub(crate) fn asked(&self, name: &str) -> Option<&str> {
        self.query.split('&').filter_map(|pair| pair.split_once('=')).find(|(found, _)| *found == name).map(|(_, v)| v)
    }

    pub(crate) fn number(&self, name: &str) -> Option<usize> {
        self.asked(name)?.parse().ok()
    }
}

/// An answer.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

/// What becomes of a request.
pub(crate) enum Reply {
    Send(Answer),
    /// The connection is closed without a response, after a while.
    Hang(Duration),
}

/// Accepts connections until it is stopped.
pub(crate) fn serve(
    listener: TcpListener,
    stop: Arc<AtomicBool>,
    answer: impl Fn(&Request) -> Reply + Send + Sync + 'static,
) {
    let answer = Arc::new(answer);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            if stop.load(Ordering::SeqCst) {
                return;
            }
            let answer = Arc::clone(&answer);
            // A client that goes away is no failure of ours.
            std::thread::spawn(move || drop(converse(&stream, &*answer)));
        }
    });
}

fn converse(mut stream: &TcpStream, answer: &dyn Fn(&Request) -> Reply) -> Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut writer = stream;
    while let Some(request) = read(&mut reader, writer)? {
        match answer(&request) {
            Reply::Send(answer) => {
                let is_last = request.header("connection").is_some_and(|value| value.eq_ignore_ascii_case("close"));
                let mut head = format!("HTTP/1.1 {} {}\r\n", answer.status, phrase(answer.status));
                for (name, value) in &answer.headers {
                    head.push_str(&format!("{name}: {value}\r\n"));
                }
                if answer.status != 204 {
                    head.push_str(&format!("content-length: {}\r\n", answer.body.len()));
                }
                if is_last {
                    // Some clients keep a connection open unless the response says `close`.
                    head.push_str("connection: close\r\n");
                }
                head.push_str("\r\n");
                writer.write_all(&[head.as_bytes(), &answer.body].concat())?;
                if is_last {
                    return stream.shutdown(Shutdown::Both);
                }
            }
            Reply::Hang(after) => {
                // Until the client gives up or the time is over.
                stream.set_read_timeout(Some(after.max(Duration::from_millis(1))))?;
                let _ = stream.read(&mut [0]);
                return stream.shutdown(Shutdown::Both);
            }
        }
    }
    Ok(())
}

fn phrase(status: u16) -> &'static str {
    match status {
        200 => "OK",
        201 => "Created",
        202 => "Accepted",
        204 => "No Content",
        400..=499 => "Refused",
        500..=599 => "Broken",
        _ => "Other",
    }
}

/// Reads a request; `None` at the end of the connection.
fn read(reader: &mut BufReader<TcpStream>, mut writer: &TcpStream) -> Result<Option<Request>> {
    let mut first = String::new();
    if reader.read_line(&mut first)? == 0 {
        return Ok(None);
    }
    let mut words = first.split_whitespace();
    let method = words.next().unwrap_or_default().to_owned();
    let target = words.next().unwrap_or_default();
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let (path, query) = (path.to_owned(), query.to_owned());
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Err(Error::other("cut off"));
        }
        let Some((name, value)) = line.split_once(':') else { break };
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let mut request = Request { method, path, query, headers, body: Vec::new() };
    if request.header("expect").is_some() {
        writer.write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
    }
    if request.header("transfer-encoding").is_some() {
        request.body = read_chunks(reader)?;
    } else if let Some(n_bytes) = request.header("content-length").and_then(|value| value.parse().ok()) {
        request.body = vec![0; n_bytes];
        reader.read_exact(&mut request.body)?;
    }
    Ok(Some(request))
}

fn read_chunks(reader: &mut BufReader<TcpStream>) -> Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let n_bytes = usize::from_str_radix(line.trim(), 16).map_err(Error::other)?;
        let mut chunk = vec![0; n_bytes + 2];
        reader.read_exact(&mut chunk)?;
        if n_bytes == 0 {
            return Ok(body);
        }
        body.extend_from_slice(&chunk[..n_bytes]);
    }
}

/// Sends a request to `http://HOST/PATH` and returns the status and the body of the answer.
pub(crate) fn ask(method: &str, url: &str, headers: &[(&str, &str)], body: &[u8]) -> Result<(u16, Vec<u8>)> {
    let (host, path) = url.trim_start_matches("http://").split_once('/').ok_or_else(|| Error::other("no path"))?;
    let mut stream = TcpStream::connect(host)?;
    stream.set_read_timeout(Some(Duration::from_secs(20)))?;
    let mut head = format!("{method} /{path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n");
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str(&format!("content-length: {}\r\n\r\n", body.len()));
    stream.write_all(head.as_bytes())?;
    stream.write_all(body)?;
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let status = line.split_whitespace().nth(1).and_then(|status| status.parse().ok());
    let status = status.ok_or_else(|| Error::other("no answer"))?;
    let mut is_chunked = false;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 || line == "\r\n" {
            break;
        }
        is_chunked |= line.to_ascii_lowercase().starts_with("transfer-encoding: chunked");
    }
    let mut answer = Vec::new();
    if is_chunked {
        answer = read_chunks(&mut reader)?;
    } else {
        reader.read_to_end(&mut answer)?;
    }
    Ok((status, answer))
}
