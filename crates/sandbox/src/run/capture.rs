//! Reads output without blocking, and keeps only its start and its end.

use std::collections::VecDeque;
use std::os::fd::OwnedFd;

use rustix::io::Errno;

use crate::error::SandboxError;
use crate::job::Captured;
use crate::live_output::LiveOutput;

/// The capacity of a Linux pipe, in bytes.
const CHUNK: usize = 64 << 10;

/// Collects one output stream.
#[derive(Debug)]
pub(crate) struct Capture {
    pipe: Option<OwnedFd>,
    head_bytes: usize,
    tail_bytes: usize,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    total: u64,
    /// Gets what is read, too.
    live: Option<LiveOutput>,
}

impl Capture {
    /// Reads from a pipe and keeps at most `kept_bytes`; `None` stands for a stream that has ended.
    pub(crate) fn new(pipe: Option<OwnedFd>, kept_bytes: usize) -> Result<Self, SandboxError> {
        if let Some(pipe) = &pipe {
            rustix::io::ioctl_fionbio(pipe, true)
                .map_err(SandboxError::errno("read without blocking"))?;
        }
        let tail_bytes = kept_bytes / 2;
        Ok(Self {
            pipe,
            head_bytes: kept_bytes - tail_bytes,
            tail_bytes,
            head: Vec::new(),
            tail: VecDeque::new(),
            total: 0,
            live: None,
        })
    }

    /// Sets what gets each part of the output as it is read.
    pub(crate) fn showing(self, live: Option<LiveOutput>) -> Self {
        Self { live, ..self }
    }

    pub(crate) fn pipe(&self) -> Option<&OwnedFd> {
        self.pipe.as_ref()
    }

    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    /// Closes the pipe.
    pub(crate) fn close(&mut self) {
        self.pipe = None;
    }

    /// Reads what is available, at most the capacity of a pipe, so that the caller can check its
    /// deadlines.
    pub(crate) fn read_some(&mut self) {
        let Some(pipe) = &self.pipe else { return };
        let mut chunk = vec![0; CHUNK];
        match rustix::io::read(pipe, &mut chunk) {
            Ok(0) => self.pipe = None,
            Ok(count) => {
                chunk.truncate(count);
                self.keep(&chunk);
            }
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(_) => self.pipe = None,
        }
    }

    fn keep(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        if let Some(live) = &self.live {
            live.add(bytes);
        }
        let (first, rest) = bytes.split_at(bytes.len().min(self.head_bytes - self.head.len()));
        self.head.extend_from_slice(first);
        let (_, rest) = rest.split_at(rest.len().saturating_sub(self.tail_bytes));
        let surplus = (self.tail.len() + rest.len()).saturating_sub(self.tail_bytes);
        self.tail.drain(..surplus);
        self.tail.extend(rest);
    }

    pub(crate) fn finish(self) -> Captured {
        Captured {
            head: self.head,
            tail: self.tail.into(),
            total_bytes: self.total,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn captured(kept: usize, chunks: &[&str]) -> Captured {
        let mut capture = Capture::new(None, kept).unwrap();
        for chunk in chunks {
            capture.keep(chunk.as_bytes());
        }
        capture.finish()
    }

    #[test]
    fn keeps_head_and_tail() {
        let expected = |head: &str, tail: &str, total_bytes| Captured {
            head: head.into(),
            tail: tail.into(),
            total_bytes,
        };
        assert_eq!(captured(4, &[]), expected("", "", 0));
        assert_eq!(captured(4, &["abc"]), expected("ab", "c", 3));
        assert_eq!(captured(4, &["abcd", "efg", "h"]), expected("ab", "gh", 8));
        assert_eq!(
            captured(4, &["a", "b", "cdefghij"]),
            expected("ab", "ij", 10)
        );
        assert_eq!(captured(0, &["abc"]), expected("", "", 3));
    }
}
