//! The guard's side of the network: loopback ports inside of the sandbox that lead to the proxy outside.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use super::Bridge;

/// The most connections at once; further ones are closed.
pub(super) const MAX_CONNECTIONS: usize = 128;
/// The longest head of a request or a response.
pub(super) const MAX_HEAD: usize = 16 * 1024;

/// Listens for the processes of the sandbox, and returns the port of the proxy.
pub(crate) fn start(bridge: &Bridge) -> io::Result<u16> {
    for &port in &bridge.loopback {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        serve(listener, bridge.socket.clone(), Some(port));
    }
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let port = listener.local_addr()?.port();
    serve(listener, bridge.socket.clone(), None);
    Ok(port)
}

/// Accepts connections on a thread of its own, until the guard ends.
fn serve(listener: TcpListener, socket: PathBuf, target: Option<u16>) {
    let n_open = Arc::new(AtomicUsize::new(0));
    thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(stream) = stream else { continue };
            let Some(place) = Place::take(&n_open) else { continue };
            let socket = socket.clone();
            thread::spawn(move || {
                let _place = place;
                // The process inside sees a closed connection.
                let _ = carry(&stream, &socket, target);
            });
        }
    });
}

/// One of the connections that are open at once.
pub(super) struct Place(Arc<AtomicUsize>);

impl Place {
    pub(super) fn take(n_open: &Arc<AtomicUsize>) -> Option<Self> {
        let place = Self(Arc::clone(n_open));
        (n_open.fetch_add(1, Ordering::SeqCst) < MAX_CONNECTIONS).then_some(place)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

fn carry(inside: &TcpStream, socket: &Path, target: Option<u16>) -> io::Result<()> {
    let proxy = UnixStream::connect(socket)?;
    if let Some(port) = target {
        (&proxy).write_all(format!("CONNECT 127.0.0.1:{port} HTTP/1.1\r\n\r\n").as_bytes())?;
        let head = read_head(&mut &proxy)?;
        if !head.starts_with(b"HTTP/1.1 200") {
            return Err(io::ErrorKind::ConnectionRefused.into());
        }
    }
    relay(inside, &proxy);
    Ok(())
}

/// Reads a head up to its empty line, byte by byte, because what follows belongs to somebody else.
pub(super) fn read_head(from: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        if head.len() >= MAX_HEAD {
            return Err(io::ErrorKind::InvalidData.into());
        }
        from.read_exact(&mut byte)?;
        head.push(byte[0]);
    }
    Ok(head)
}

/// A connection whose directions end one by one.
pub(super) trait Line {
    fn close(&self, direction: Shutdown);
}

impl Line for TcpStream {
    fn close(&self, direction: Shutdown) {
        let _ = self.shutdown(direction);
    }
}

impl Line for UnixStream {
    fn close(&self, direction: Shutdown) {
        let _ = self.shutdown(direction);
    }
}

/// Carries bytes both ways until both directions have ended.
pub(super) fn relay<A: Line + Sync, B: Line + Sync>(one: &A, other: &B)
where
    for<'a> &'a A: Read + Write,
    for<'a> &'a B: Read + Write,
{
    thread::scope(|scope| {
        scope.spawn(|| {
            let _ = io::copy(&mut &*one, &mut &*other);
            other.close(Shutdown::Write);
        });
        let _ = io::copy(&mut &*other, &mut &*one);
        one.close(Shutdown::Write);
    });
}
