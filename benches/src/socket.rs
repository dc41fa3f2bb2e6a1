//! A client that listens to a server: a plain connection that reads the frames of a WebSocket.

use std::io;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpSocket;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};

use crate::board::Server;

/// Bytes that are read at once; there may be thousands of clients.
const BUFFER: usize = 1024;

/// An open socket.
pub(crate) struct Socket {
    reading: BufReader<OwnedReadHalf>,
    writing: OwnedWriteHalf,
    frame: Vec<u8>,
}

impl Socket {
    /// Opens a socket for events; `receive` is how many bytes the system keeps that are not read yet.
    pub(crate) async fn open(server: &Server, receive: Option<u32>) -> io::Result<Self> {
        let socket = TcpSocket::new_v4()?;
        if let Some(size) = receive {
            socket.set_recv_buffer_size(size)?;
        }
        let (reading, mut writing) = socket.connect(server.address).await?.into_split();
        let request = format!(
            "GET /api/events HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {}\r\nconnection: upgrade\r\n\
             upgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
            server.address, server.token
        );
        writing.write_all(request.as_bytes()).await?;
        let mut reading = BufReader::with_capacity(BUFFER, reading);
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(reading.read_u8().await?);
        }
        let is_open = head.starts_with(b"HTTP/1.1 101 ");
        if is_open { Ok(Self { reading, writing, frame: Vec::new() }) } else { Err(io::Error::other("no socket")) }
    }

    /// The next text; none when the server has closed. Says that it is there when it is asked.
    pub(crate) async fn text(&mut self) -> Option<&[u8]> {
        loop {
            let mut head = [0; 2];
            self.reading.read_exact(&mut head).await.ok()?;
            let length = match head[1] {
                126 => usize::from(self.reading.read_u16().await.ok()?),
                length => usize::from(length),
            };
            self.frame.resize(length, 0);
            self.reading.read_exact(&mut self.frame).await.ok()?;
            match head[0] & 0x0f {
                1 => return Some(&self.frame),
                // A pong, masked with nothing, to a ping without content.
                9 => self.writing.write_all(&[0x8a, 0x80, 0, 0, 0, 0]).await.ok()?,
                _ => {}
            }
        }
    }
}

/// The paths of the features of the first project.
pub(crate) fn features(server: &Server) -> io::Result<Vec<String>> {
    let page = server.client()?.get("/api/projects/1/features")?.json()?;
    let names = page["features"].as_array().into_iter().flatten().filter_map(|card| card["id"].as_str());
    Ok(names.map(|id| format!("/api/projects/1/features/{id}")).collect())
}
