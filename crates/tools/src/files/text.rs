//! Decodes a file's bytes as text and encodes it again, so that unedited parts keep their bytes.

use crate::error::ToolError;

/// The encoding of a text file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// UTF-8, which includes ASCII.
    Utf8,
    /// UTF-16, little-endian.
    Utf16Le,
    /// UTF-16, big-endian.
    Utf16Be,
    /// ISO 8859-1: one byte for each of the first 256 characters.
    Latin1,
}

/// A file's text and its encoding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decoded {
    /// The text without the byte-order mark.
    pub text: String,
    /// The encoding; a byte-order mark overrides the requested one.
    pub encoding: Encoding,
    /// Whether the file begins with a byte-order mark.
    pub has_mark: bool,
}

impl Encoding {
    /// Finds an encoding by its name, ignoring case.
    pub fn named(name: &str) -> Option<Encoding> {
        match name.to_ascii_lowercase().replace('_', "-").as_str() {
            "utf-8" | "utf8" | "ascii" | "us-ascii" => Some(Encoding::Utf8),
            "utf-16" | "utf-16le" | "utf-16-le" => Some(Encoding::Utf16Le),
            "utf-16be" | "utf-16-be" => Some(Encoding::Utf16Be),
            "latin-1" | "latin1" | "iso-8859-1" => Some(Encoding::Latin1),
            _ => None,
        }
    }

    fn mark(self) -> &'static [u8] {
        match self {
            Encoding::Utf8 => b"\xef\xbb\xbf",
            Encoding::Utf16Le => b"\xff\xfe",
            Encoding::Utf16Be => b"\xfe\xff",
            Encoding::Latin1 => b"",
        }
    }

    /// Encodes a text, without a byte-order mark.
    ///
    /// # Errors
    /// `Retry` if a character cannot be represented.
    pub fn encode(self, text: &str) -> Result<Vec<u8>, ToolError> {
        match self {
            Encoding::Utf8 => Ok(text.as_bytes().to_vec()),
            Encoding::Utf16Le => Ok(text.encode_utf16().flat_map(u16::to_le_bytes).collect()),
            Encoding::Utf16Be => Ok(text.encode_utf16().flat_map(u16::to_be_bytes).collect()),
            Encoding::Latin1 => text
                .chars()
                .map(|c| u8::try_from(u32::from(c)).map_err(|_| ToolError::Retry(format!("`{c}` is not in latin-1"))))
                .collect(),
        }
    }

    fn decode(self, bytes: &[u8]) -> Option<String> {
        match self {
            Encoding::Utf8 => String::from_utf8(bytes.to_vec()).ok(),
            Encoding::Utf16Le => decode_utf16(bytes, u16::from_le_bytes),
            Encoding::Utf16Be => decode_utf16(bytes, u16::from_be_bytes),
            Encoding::Latin1 => Some(bytes.iter().map(|&byte| char::from(byte)).collect()),
        }
    }
}

impl Decoded {
    /// Decodes bytes in the encoding that their byte-order mark names, or else in the requested one.
    ///
    /// # Errors
    /// `File`, naming what the bytes look like, if they are not text.
    pub fn of(path: &str, bytes: &[u8], asked: Encoding) -> Result<Decoded, ToolError> {
        let marked = [Encoding::Utf8, Encoding::Utf16Le, Encoding::Utf16Be]
            .into_iter()
            .find(|encoding| bytes.starts_with(encoding.mark()));
        let encoding = marked.unwrap_or(asked);
        let body = marked.and_then(|encoding| bytes.strip_prefix(encoding.mark())).unwrap_or(bytes);
        if marked.is_none()
            && encoding == Encoding::Utf8
            && let Some(kind) = binary_kind(bytes)
        {
            return Err(ToolError::file(path, format!("is not text but {kind}")));
        }
        match encoding.decode(body) {
            Some(text) => Ok(Decoded { text, encoding, has_mark: marked.is_some() }),
            None => Err(ToolError::file(path, "is not valid UTF-8 but looks like latin-1; pass `encoding`")),
        }
    }

    /// Encodes another text in the same way, including the byte-order mark.
    ///
    /// # Errors
    /// As [`Encoding::encode`].
    pub fn encode(&self, text: &str) -> Result<Vec<u8>, ToolError> {
        let body = self.encoding.encode(text)?;
        Ok(if self.has_mark { [self.encoding.mark(), &body].concat() } else { body })
    }

    /// Reports whether at least half of the line ends are CRLF.
    pub fn has_crlf(&self) -> bool {
        let crlf = self.text.matches("\r\n").count();
        crlf > 0 && crlf * 2 >= self.text.matches('\n').count()
    }
}

fn decode_utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Option<String> {
    let (pairs, rest) = bytes.as_chunks::<2>();
    let units: Vec<u16> = pairs.iter().map(|&pair| unit(pair)).collect();
    if rest.is_empty() { String::from_utf16(&units).ok() } else { None }
}

/// Returns a description of a binary file, recognised by its first bytes or by a zero byte; `None` for text.
fn binary_kind(bytes: &[u8]) -> Option<String> {
    const KINDS: &[(&[u8], &str)] = &[
        (b"\x89PNG", "a PNG image"),
        (b"\xff\xd8\xff", "a JPEG image"),
        (b"GIF8", "a GIF image"),
        (b"%PDF", "a PDF document"),
        (b"PK\x03\x04", "a ZIP archive"),
        (b"\x1f\x8b", "a gzip archive"),
        (b"\x7fELF", "an ELF program"),
        (b"SQLite format 3\0", "an SQLite database"),
        (b"\0asm", "a WebAssembly module"),
    ];
    /// Number of bytes to search for a zero byte, as in git.
    const LOOKED_AT: usize = 8000;
    let shown = || crate::shape::size(bytes.len() as u64);
    if let Some((_, kind)) = KINDS.iter().find(|(magic, _)| bytes.starts_with(magic)) {
        return Some(format!("{kind} of {}", shown()));
    }
    bytes.iter().take(LOOKED_AT).any(|&byte| byte == 0).then(|| format!("binary data of {}", shown()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_comes_back_as_it_was_written() {
        let files: [&[u8]; 5] =
            [b"plain\n", b"\xef\xbb\xbfmarked\r\n", b"\xff\xfea\0b\0", b"\xfe\xff\0a\0b", "ü".as_bytes()];
        for bytes in files {
            let decoded = Decoded::of("f", bytes, Encoding::Utf8).unwrap();
            assert_eq!(decoded.encode(&decoded.text).unwrap(), bytes);
        }
        assert_eq!(Decoded::of("f", b"\xfc", Encoding::Latin1).unwrap().text, "ü");
    }

    #[test]
    fn what_is_no_text_is_named() {
        let table: [(&[u8], &str); 3] = [
            (b"\x89PNG\r\n\x1a\n", "is not text but a PNG image of 8 B: f"),
            (b"a\0b", "is not text but binary data of 3 B: f"),
            (b"caf\xe9", "is not valid UTF-8 but looks like latin-1; pass `encoding`: f"),
        ];
        for (bytes, expected) in table {
            assert_eq!(Decoded::of("f", bytes, Encoding::Utf8).unwrap_err().to_string(), expected);
        }
    }
}
