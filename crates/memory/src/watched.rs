//! Bytes for a parser that cannot be asked to stop, but fails once its input does.

use std::io::{self, BufReader, Read};

use crate::work::is_over;

/// How many bytes are handed out between questions whether the work is over.
const PIECE: usize = 4 << 10;

/// Returns a reader of bytes that fails once the work of this thread is over, or `stop` says so.
pub fn watched<'b>(bytes: &'b [u8], stop: &'b dyn Fn() -> bool) -> impl Read + 'b {
    BufReader::with_capacity(PIECE, Watched { bytes, stop })
}

struct Watched<'b> {
    bytes: &'b [u8],
    stop: &'b dyn Fn() -> bool,
}

impl Read for Watched<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if (self.stop)() || is_over(self.stop) {
            return Err(io::Error::from(io::ErrorKind::OutOfMemory));
        }
        self.bytes.read(buffer)
    }
}
