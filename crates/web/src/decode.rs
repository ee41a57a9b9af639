//! Decompresses content into a bounded buffer, piece by piece, so that nothing small becomes
//! something large.

use std::io::{self, Write};

use brotli_decompressor::DecompressorWriter;
use flate2::write::MultiGzDecoder;
use orchestrate_core::policy::web::WebFailure;

/// The codings that are asked for.
pub(crate) const ACCEPTED: &str = "gzip, br";
/// The size of the decompressor's buffer in bytes.
const BUFFER_BYTES: usize = 8 << 10;

/// The content of a response as it arrives.
pub(crate) struct Content {
    coding: Coding,
    /// Bytes that arrived, which count as well: a stream may decompress to nothing for ever.
    received: u64,
    max_bytes: u64,
}

enum Coding {
    None(Bounded),
    Gzip(Box<MultiGzDecoder<Bounded>>),
    Brotli(Box<DecompressorWriter<Bounded>>),
}

/// A buffer that takes no more than its maximum.
struct Bounded {
    bytes: Vec<u8>,
    max: usize,
    is_full: bool,
}

/// Content that has ended.
pub(crate) struct Ended {
    pub(crate) body: Vec<u8>,
    pub(crate) is_cut: bool,
}

impl Content {
    /// Creates the content of a response with this coding.
    pub(crate) fn new(coding: Option<&str>, max_bytes: u64) -> Result<Content, WebFailure> {
        let max = usize::try_from(max_bytes).unwrap_or(usize::MAX);
        let buffer = Bounded {
            bytes: Vec::new(),
            max,
            is_full: false,
        };
        let coding = match coding
            .map(|coding| coding.trim().to_ascii_lowercase())
            .as_deref()
        {
            None | Some("" | "identity") => Coding::None(buffer),
            Some("gzip" | "x-gzip") => Coding::Gzip(Box::new(MultiGzDecoder::new(buffer))),
            Some("br") => Coding::Brotli(Box::new(DecompressorWriter::new(buffer, BUFFER_BYTES))),
            Some(other) => {
                let other: String = other.chars().take(40).collect();
                return Err(WebFailure::Garbled(format!(
                    "the content is compressed as {other:?}, which was not asked for"
                )));
            }
        };
        Ok(Content {
            coding,
            received: 0,
            max_bytes,
        })
    }

    /// Adds a piece; returns false once there is no room for more.
    pub(crate) fn push(&mut self, piece: &[u8]) -> Result<bool, WebFailure> {
        self.received = self.received.saturating_add(piece.len() as u64);
        let written = match &mut self.coding {
            Coding::None(buffer) => buffer.write_all(piece),
            Coding::Gzip(decoder) => decoder.write_all(piece),
            Coding::Brotli(decoder) => decoder.write_all(piece),
        };
        match written {
            _ if self.is_full() => Ok(false),
            Ok(()) => Ok(self.received <= self.max_bytes),
            Err(error) => Err(garbled(&error)),
        }
    }

    /// Ends the content; `is_whole` says whether the server has ended it, too.
    pub(crate) fn end(self, is_whole: bool) -> Result<Ended, WebFailure> {
        let is_cut = !is_whole || self.is_full();
        let buffer = match self.coding {
            Coding::None(buffer) => buffer,
            Coding::Gzip(mut decoder) if is_cut => std::mem::take(decoder.get_mut()),
            Coding::Gzip(decoder) => decoder.finish().map_err(|error| garbled(&error))?,
            Coding::Brotli(decoder) => match decoder.into_inner() {
                Ok(buffer) => buffer,
                Err(buffer) if is_cut => buffer,
                Err(_) => return Err(garbled(&io::Error::from(io::ErrorKind::UnexpectedEof))),
            },
        };
        Ok(Ended {
            body: buffer.bytes,
            is_cut,
        })
    }

    fn is_full(&self) -> bool {
        match &self.coding {
            Coding::None(buffer) => buffer.is_full,
            Coding::Gzip(decoder) => decoder.get_ref().is_full,
            Coding::Brotli(decoder) => decoder.get_ref().is_full,
        }
    }
}

impl Default for Bounded {
    fn default() -> Bounded {
        Bounded {
            bytes: Vec::new(),
            max: 0,
            is_full: true,
        }
    }
}

impl Write for Bounded {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        let room = self.max.saturating_sub(self.bytes.len());
        let (taken, left) = piece.split_at(room.min(piece.len()));
        self.bytes.extend_from_slice(taken);
        if !left.is_empty() {
            self.is_full = true;
            return Err(io::Error::other("the content is larger than allowed"));
        }
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn garbled(error: &io::Error) -> WebFailure {
    WebFailure::Malformed(format!("the compressed content is damaged: {error}"))
}
