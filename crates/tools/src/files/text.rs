//! Decodes a file's bytes as text and encodes it again, so that unedited parts keep their bytes.

use std::borrow::Cow;

use crate::answer::ToolError;

/// The encoding of a text file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Encoding(&'static encoding_rs::Encoding);

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
    /// UTF-8, which includes ASCII.
    pub const UTF_8: Encoding = Encoding(encoding_rs::UTF_8);

    /// Finds an encoding by a label of the WHATWG Encoding Standard, or by its name in Python.
    pub fn named(label: &str) -> Option<Encoding> {
        let dashed = label.replace('_', "-").to_ascii_lowercase();
        let python = dashed
            .replace("latin-", "latin")
            .replace("utf-16-", "utf-16")
            .replace("utf8", "utf-8");
        let found = [label, &dashed, &python]
            .into_iter()
            .find_map(|label| encoding_rs::Encoding::for_label(label.as_bytes()));
        // The standard maps encodings that are no longer supported to one that decodes nothing.
        found
            .filter(|found| *found != encoding_rs::REPLACEMENT)
            .map(Encoding)
    }

    /// Returns the name, in lower case.
    pub fn name(self) -> String {
        self.0.name().to_ascii_lowercase()
    }

    /// Reports whether a byte below 128 is the character of ASCII wherever it stands, as a line's
    /// end is.
    pub fn is_ascii_compatible(self) -> bool {
        self.0.is_ascii_compatible()
    }

    fn mark(self) -> &'static [u8] {
        match self.0 {
            utf_8 if utf_8 == encoding_rs::UTF_8 => b"\xef\xbb\xbf",
            little if little == encoding_rs::UTF_16LE => b"\xff\xfe",
            big if big == encoding_rs::UTF_16BE => b"\xfe\xff",
            _ => b"",
        }
    }

    /// Encodes a text, without a byte-order mark.
    ///
    /// # Errors
    /// `Retry` if a character cannot be represented.
    pub fn encode(self, text: &str) -> Result<Vec<u8>, ToolError> {
        // The standard has no encoder for UTF-16.
        if self.0 == encoding_rs::UTF_16LE {
            return Ok(text.encode_utf16().flat_map(u16::to_le_bytes).collect());
        }
        if self.0 == encoding_rs::UTF_16BE {
            return Ok(text.encode_utf16().flat_map(u16::to_be_bytes).collect());
        }
        match self.0.encode(text) {
            (bytes, _, false) => Ok(bytes.into_owned()),
            (_, _, true) => {
                let is_missing = |c: &char| self.0.encode(c.encode_utf8(&mut [0; 4])).2;
                let missing = text
                    .chars()
                    .find(is_missing)
                    .unwrap_or(char::REPLACEMENT_CHARACTER);
                Err(ToolError::Retry(format!(
                    "`{missing}` is not in {}",
                    self.name()
                )))
            }
        }
    }

    fn decode(self, bytes: &[u8]) -> Option<String> {
        self.0
            .decode_without_bom_handling_and_without_replacement(bytes)
            .map(Cow::into_owned)
    }
}

impl Decoded {
    /// Decodes bytes in the encoding that their byte-order mark names, or else in the requested
    /// one.
    ///
    /// # Errors
    /// `File`, naming what the bytes look like, if they are not text in that encoding.
    pub fn decode(path: &str, bytes: &[u8], asked: Encoding) -> Result<Decoded, ToolError> {
        if let Some(marked) = Decoded::marked(bytes) {
            return marked.ok_or_else(|| {
                ToolError::file(path, "does not have the encoding that its first bytes name")
            });
        }
        if asked == Encoding::UTF_8
            && let Some(kind) = binary_kind(bytes)
        {
            return Err(ToolError::file(path, format!("is not text but {kind}")));
        }
        let text = asked.decode(bytes).ok_or_else(|| {
            let (asked, guess) = (asked.name(), guessed(bytes).name());
            ToolError::file(
                path,
                format!("is not valid {asked} but looks like {guess}; pass `encoding`"),
            )
        })?;
        Ok(Decoded {
            text,
            encoding: asked,
            has_mark: false,
        })
    }

    /// Decodes bytes in the encoding that they seem to have.
    ///
    /// # Errors
    /// `File`, naming what the bytes look like, if they are not text.
    pub fn detect(path: &str, bytes: &[u8]) -> Result<Decoded, ToolError> {
        Decoded::decode(path, bytes, Encoding::UTF_8).or_else(|error| match binary_kind(bytes) {
            Some(_) => Err(error),
            None => Decoded::decode(path, bytes, guessed(bytes)),
        })
    }

    /// Decodes bytes that begin with a byte-order mark; `None` inside if they do not have that
    /// encoding.
    fn marked(bytes: &[u8]) -> Option<Option<Decoded>> {
        let (encoding, mark) = encoding_rs::Encoding::for_bom(bytes)?;
        let (_, behind) = bytes.split_at(mark);
        let text = Encoding(encoding).decode(behind);
        Some(text.map(|text| Decoded {
            text,
            encoding: Encoding(encoding),
            has_mark: true,
        }))
    }

    /// Encodes another text in the same way, including the byte-order mark.
    ///
    /// # Errors
    /// As [`Encoding::encode`].
    pub fn encode(&self, text: &str) -> Result<Vec<u8>, ToolError> {
        let body = self.encoding.encode(text)?;
        Ok(if self.has_mark {
            [self.encoding.mark(), &body].concat()
        } else {
            body
        })
    }

    /// Refuses bytes that would not stay the same where the text does: some encodings can write one
    /// text in several ways.
    ///
    /// # Errors
    /// `File`, if encoding the text does not return these bytes.
    pub fn require_reversible(&self, path: &str, bytes: &[u8]) -> Result<(), ToolError> {
        if self.encode(&self.text).is_ok_and(|again| again == bytes) {
            return Ok(());
        }
        Err(ToolError::file(
            path,
            format!(
                "cannot be edited as {} without changing other bytes",
                self.encoding.name()
            ),
        ))
    }

    /// Reports whether at least half of the line ends are CRLF.
    pub fn has_crlf(&self) -> bool {
        let crlf = self.text.matches("\r\n").count();
        crlf > 0 && crlf * 2 >= self.text.matches('\n').count()
    }
}

/// Returns the encoding that a text which is not UTF-8 most likely has.
fn guessed(bytes: &[u8]) -> Encoding {
    let mut detector = chardetng::EncodingDetector::new(chardetng::Iso2022JpDetection::Allow);
    detector.feed(bytes, true);
    Encoding(detector.guess(None, chardetng::Utf8Detection::Deny))
}

/// Returns a description of a binary file, recognised by its first bytes or by a zero byte; `None`
/// for text.
pub(crate) fn binary_kind(bytes: &[u8]) -> Option<String> {
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
    let shown = || crate::answer::size(bytes.len() as u64);
    if let Some((_, kind)) = KINDS.iter().find(|(magic, _)| bytes.starts_with(magic)) {
        return Some(format!("{kind} of {}", shown()));
    }
    bytes
        .iter()
        .take(LOOKED_AT)
        .any(|&byte| byte == 0)
        .then(|| format!("binary data of {}", shown()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_comes_back_as_it_was_written() {
        let files: [&[u8]; 5] = [
            b"plain\n",
            b"\xef\xbb\xbfmarked\r\n",
            b"\xff\xfea\0b\0",
            b"\xfe\xff\0a\0b",
            "ü".as_bytes(),
        ];
        for bytes in files {
            let decoded = Decoded::decode("f", bytes, Encoding::UTF_8).unwrap();
            assert_eq!(decoded.encode(&decoded.text).unwrap(), bytes);
        }
        assert_eq!(
            Decoded::decode("f", b"\xfc", Encoding::named("latin-1").unwrap())
                .unwrap()
                .text,
            "ü"
        );
    }

    #[test]
    fn what_is_no_text_is_named() {
        let table: [(&[u8], &str); 3] = [
            (
                b"\x89PNG\r\n\x1a\n",
                "is not text but a PNG image of 8 B: f",
            ),
            (b"a\0b", "is not text but binary data of 3 B: f"),
            (
                b"caf\xe9",
                "is not valid utf-8 but looks like windows-1252; pass `encoding`: f",
            ),
        ];
        for (bytes, expected) in table {
            assert_eq!(
                Decoded::decode("f", bytes, Encoding::UTF_8)
                    .unwrap_err()
                    .to_string(),
                expected
            );
        }
    }

    #[test]
    fn an_encoding_has_every_label_of_the_standard_and_those_of_python() {
        let table = [
            ("UTF8", "utf-8"),
            ("utf_8", "utf-8"),
            ("ascii", "windows-1252"),
            ("latin-1", "windows-1252"),
            ("iso-8859-2", "iso-8859-2"),
            ("utf-16-be", "utf-16be"),
            ("utf-16", "utf-16le"),
            ("shift_jis", "shift_jis"),
            ("Shift-JIS", "shift_jis"),
            ("gb18030", "gb18030"),
            ("koi8-r", "koi8-r"),
        ];
        for (label, name) in table {
            assert_eq!(
                Encoding::named(label).map(Encoding::name).as_deref(),
                Some(name),
                "{label}"
            );
        }
        assert_eq!(
            (Encoding::named("utf-7"), Encoding::named("iso-2022-kr")),
            (None, None)
        );
    }

    #[test]
    fn a_character_that_an_encoding_lacks_is_named() {
        let cyrillic = Encoding::named("koi8-r").unwrap();
        assert_eq!(
            cyrillic.encode("Привет").unwrap(),
            b"\xf0\xd2\xc9\xd7\xc5\xd4"
        );
        assert_eq!(
            cyrillic.encode("день €").unwrap_err().to_string(),
            "`€` is not in koi8-r"
        );
    }

    #[test]
    fn an_encoding_is_detected() {
        let japanese = Encoding::named("shift_jis")
            .unwrap()
            .encode("これは日本語の文章です。漢字とかな。")
            .unwrap();
        assert_eq!(
            Decoded::detect("f", &japanese).unwrap().encoding.name(),
            "shift_jis"
        );
        assert_eq!(
            Decoded::detect("f", b"plain").unwrap().encoding,
            Encoding::UTF_8
        );
        assert!(Decoded::detect("f", b"a\0b").is_err());
    }
}
