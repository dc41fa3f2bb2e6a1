//! A TCP connection that neither waits for ever for a client to read, nor cuts it off before it has read.
//!
//! Closing a socket with unread input makes the system throw away the bytes just sent. So after the last byte of an
//! answer what still comes in is read and dropped, for a while: a client that sends a gigabyte still learns that it was
//! too much.

use std::io::{Error, ErrorKind, IoSlice, Result};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::Sleep;

/// How long what still comes in is dropped.
const LINGER: Duration = Duration::from_secs(2);

/// The connection.
#[derive(Debug)]
pub(super) struct Stream {
    tcp: TcpStream,
    stall: Duration,
    /// Runs while the client takes nothing.
    stalled: Option<Pin<Box<Sleep>>>,
    /// Runs while what still comes in is dropped.
    lingering: Option<Pin<Box<Sleep>>>,
}

impl Stream {
    pub(super) fn new(tcp: TcpStream, stall: Duration) -> Self {
        Self { tcp, stall, stalled: None, lingering: None }
    }

    /// Gives up when nothing could be written for too long.
    fn watch(&mut self, cx: &mut Context<'_>, written: Poll<Result<usize>>) -> Poll<Result<usize>> {
        if written.is_ready() {
            self.stalled = None;
            return written;
        }
        let stall = self.stall;
        let sleep = self.stalled.get_or_insert_with(|| Box::pin(tokio::time::sleep(stall)));
        ready!(sleep.as_mut().poll(cx));
        Poll::Ready(Err(Error::new(ErrorKind::TimedOut, "the client takes nothing")))
    }
}

impl AsyncRead for Stream {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.tcp).poll_read(cx, buffer)
    }
}

impl AsyncWrite for Stream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<Result<usize>> {
        let written = Pin::new(&mut self.tcp).poll_write(cx, bytes);
        self.watch(cx, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<Result<usize>> {
        let written = Pin::new(&mut self.tcp).poll_write_vectored(cx, slices);
        self.watch(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.tcp.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.tcp).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        let this = &mut *self;
        if this.lingering.is_none() {
            ready!(Pin::new(&mut this.tcp).poll_shutdown(cx))?;
        }
        let until = this.lingering.get_or_insert_with(|| Box::pin(tokio::time::sleep(LINGER)));
        if until.as_mut().poll(cx).is_ready() {
            return Poll::Ready(Ok(()));
        }
        let mut dropped = [0; 8192];
        loop {
            let mut buffer = ReadBuf::new(&mut dropped);
            match ready!(Pin::new(&mut this.tcp).poll_read(cx, &mut buffer)) {
                Ok(()) if !buffer.filled().is_empty() => {}
                // The client is gone, or has nothing more to say.
                _ => return Poll::Ready(Ok(())),
            }
        }
    }
}
