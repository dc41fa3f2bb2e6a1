//! A client that sends exactly the given bytes.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// How long anything may take before a test gives up. Nothing depends on it but the end of a broken test.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Debug, Clone)]
pub(crate) struct Said {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Said {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(found, _)| found == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.body).unwrap_or_else(|problem| panic!("{problem}: {self:?}"))
    }
}

/// A request as it goes over the wire.
pub(crate) fn request(method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Vec<u8> {
    let mut text = format!("{method} {path} HTTP/1.1\r\n");
    for (name, value) in headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    if !body.is_empty() {
        text.push_str(&format!("content-length: {}\r\n", body.len()));
    }
    text.push_str("\r\n");
    text.push_str(body);
    text.into_bytes()
}

pub(crate) async fn connect(address: SocketAddr) -> TcpStream {
    TcpStream::connect(address).await.unwrap()
}

/// Sends bytes on a connection of their own and reads the answer.
pub(crate) async fn exchange(address: SocketAddr, bytes: &[u8]) -> Said {
    let mut tcp = connect(address).await;
    tcp.write_all(bytes).await.unwrap();
    read(&mut tcp).await.expect("an answer")
}

/// Reads one answer; `None` when the connection ends before a whole one.
pub(crate) async fn read(tcp: &mut TcpStream) -> Option<Said> {
    tokio::time::timeout(PATIENCE, read_patiently(tcp)).await.expect("an answer in time")
}

async fn read_patiently(tcp: &mut TcpStream) -> Option<Said> {
    let mut bytes = Vec::new();
    let head = loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break end;
        }
        let mut part = [0; 4096];
        match tcp.read(&mut part).await {
            Ok(0) | Err(_) => return None,
            Ok(n) => bytes.extend_from_slice(&part[..n]),
        }
    };
    let text = String::from_utf8(bytes[..head].to_vec()).unwrap();
    let mut lines = text.split("\r\n");
    let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let mut said = Said { status, headers, body: String::new() };
    let length = said.header("content-length").map_or(0, |length| length.parse::<usize>().unwrap());
    let mut body = bytes.split_off(head + 4);
    while body.len() < length {
        let mut part = [0; 4096];
        match tcp.read(&mut part).await {
            Ok(0) | Err(_) => return None,
            Ok(n) => body.extend_from_slice(&part[..n]),
        }
    }
    said.body = String::from_utf8_lossy(&body[..length]).into_owned();
    Some(said)
}
