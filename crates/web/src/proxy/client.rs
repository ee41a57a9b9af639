//! A program's connection, whose bytes are counted.

use std::io::{self, ErrorKind};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// How much the connections of one program may move in both directions together: toolchains and all
/// packages of a large project are a tenth of it.
const MAX_MOVED: u64 = 8 << 30;

/// The bytes that the connections of one program have moved.
#[derive(Debug, Default)]
pub(super) struct Meter(AtomicU64);

impl Meter {
    fn add(&self, bytes: u64) -> io::Result<()> {
        match self.0.fetch_add(bytes, Ordering::Relaxed) {
            moved if moved > MAX_MOVED => Err(io::Error::new(
                ErrorKind::QuotaExceeded,
                "the program has moved too much",
            )),
            _ => Ok(()),
        }
    }
}

/// A connection of a program.
pub(super) struct Client {
    /// Bytes that have been read ahead and are returned first.
    ahead: Bytes,
    stream: TcpStream,
    of_program: Arc<Meter>,
    /// The bytes that this connection has moved.
    moved: Arc<AtomicU64>,
}

impl Client {
    pub(super) fn new(stream: TcpStream, of_program: Arc<Meter>) -> Client {
        Client {
            ahead: Bytes::new(),
            stream,
            of_program,
            moved: Arc::default(),
        }
    }

    /// Returns the count of what this connection has moved.
    pub(super) fn moved(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.moved)
    }

    /// Reports whether these bytes come first, as soon as that is certain; they are read again.
    pub(super) async fn begins_with(&mut self, first: &[u8]) -> io::Result<bool> {
        let mut read = BytesMut::new();
        while first.starts_with(&read) && read.len() < first.len() {
            if self.read_buf(&mut read).await? == 0 {
                return Err(ErrorKind::UnexpectedEof.into());
            }
        }
        let begins = read.starts_with(first);
        self.put_back(read.freeze());
        Ok(begins)
    }

    /// Lets bytes be read before all others.
    pub(super) fn put_back(&mut self, bytes: Bytes) {
        self.ahead = if self.ahead.is_empty() {
            bytes
        } else {
            [bytes, self.ahead.clone()].concat().into()
        };
    }

    fn count(&self, bytes: usize) -> io::Result<()> {
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        self.moved.fetch_add(bytes, Ordering::Relaxed);
        self.of_program.add(bytes)
    }
}

impl AsyncRead for Client {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if !self.ahead.is_empty() {
            let count = self.ahead.len().min(into.remaining());
            into.put_slice(&self.ahead.split_to(count));
            return Poll::Ready(Ok(()));
        }
        let before = into.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(cx, into))?;
        Poll::Ready(self.count(into.filled().len() - before))
    }
}

impl AsyncWrite for Client {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = ready!(Pin::new(&mut self.stream).poll_write(cx, bytes))?;
        Poll::Ready(self.count(written).map(|()| written))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = ready!(Pin::new(&mut self.stream).poll_write_vectored(cx, parts))?;
        Poll::Ready(self.count(written).map(|()| written))
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
