//! Git LFS without its program: pointers, and the contents that the user's repository has for them.
//!
//! A commit has a small text, the pointer, in place of a large file. The file's content is in the
//! folder `lfs` of the git directory, under its SHA-256, if `git lfs` has fetched it. Nothing is
//! ever fetched or added here.

use std::fs::File;
use std::io::{Read, Seek as _};
use std::path::{Path, PathBuf};

use orchestrate_core::hex;
use rustix::fs::{Mode, OFlags};
use sha2::{Digest as _, Sha256};

use crate::program::configuration::Configuration;

/// The name of the filter in attributes.
pub(crate) const FILTER: &str = "lfs";
/// The largest pointer; `git lfs` reads no more to tell a pointer from a content.
pub(crate) const MAX_POINTER_BYTES: u64 = 1_024;

/// The version line of pointers, by the specification (docs/spec.md of git-lfs).
const VERSION: &str = "version https://git-lfs.github.com/spec/v1";
/// The kind of hash of every content.
const HASH: &str = "oid sha256:";
const SIZE: &str = "size ";
const DIGITS: usize = 64;
/// How many bytes are hashed at once.
const CHUNK: usize = 1 << 16;

/// What a commit has of a file that is stored with Git LFS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pointer {
    /// The SHA-256 of the content, in lower-case hexadecimal.
    pub(crate) content: String,
    /// The size of the content in bytes.
    pub(crate) size: u64,
}

impl Pointer {
    /// Parses a pointer. One with an extension, whose content is not the file's, is none.
    pub(crate) fn parse(bytes: &[u8]) -> Option<Pointer> {
        if bytes.len() as u64 > MAX_POINTER_BYTES {
            return None;
        }
        let mut lines = std::str::from_utf8(bytes)
            .ok()?
            .strip_suffix('\n')?
            .split('\n');
        let (version, content, size) = (lines.next()?, lines.next()?, lines.next()?);
        let content = content.strip_prefix(HASH)?;
        let is_hash = content.len() == DIGITS
            && content
                .bytes()
                .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        if version != VERSION || !is_hash || lines.next().is_some() {
            return None;
        }
        Some(Pointer {
            content: content.to_owned(),
            size: size.strip_prefix(SIZE)?.parse().ok()?,
        })
    }

    /// Returns the pointer to a content.
    pub(crate) fn to(bytes: &[u8]) -> Pointer {
        Pointer {
            content: hex(&Sha256::digest(bytes)),
            size: bytes.len() as u64,
        }
    }

    /// Returns the text of the pointer as `git lfs` writes it.
    pub(crate) fn text(&self) -> String {
        format!("{VERSION}\n{HASH}{}\n{SIZE}{}\n", self.content, self.size)
    }
}

/// The folder with the contents that the user's repository has.
#[derive(Clone, Debug)]
pub(crate) struct LfsStore {
    objects: PathBuf,
}

impl LfsStore {
    /// Returns the store of a repository: where its configuration says, else in the git directory.
    pub(crate) fn from_configuration(configuration: &Configuration, common_dir: &Path) -> LfsStore {
        let storage = configuration
            .path("lfs.storage")
            .unwrap_or_else(|| PathBuf::from("lfs"));
        // An absolute path replaces the git directory.
        LfsStore {
            objects: common_dir.join(storage).join("objects"),
        }
    }

    /// Reports whether there is a file of the right size for a content, without reading it.
    pub(crate) fn has(&self, pointer: &Pointer) -> bool {
        self.open(pointer).is_some()
    }

    /// Opens a content whose size and hash are right; `None` if there is none.
    pub(crate) fn verified(&self, pointer: &Pointer) -> Option<File> {
        let mut file = self.open(pointer)?;
        let is_right = sha256(&mut file).ok()? == pointer.content;
        file.rewind().ok()?;
        is_right.then_some(file)
    }

    fn open(&self, pointer: &Pointer) -> Option<File> {
        let path = self.path(pointer)?;
        // A pipe in its place must not be waited for.
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = File::from(rustix::fs::open(&path, flags, Mode::empty()).ok()?);
        let found = file.metadata().ok()?;
        (found.is_file() && found.len() == pointer.size).then_some(file)
    }

    fn path(&self, pointer: &Pointer) -> Option<PathBuf> {
        let (first, second) = (pointer.content.get(..2)?, pointer.content.get(2..4)?);
        Some(self.objects.join(first).join(second).join(&pointer.content))
    }
}

fn sha256(file: &mut File) -> std::io::Result<String> {
    let (mut hash, mut buffer) = (Sha256::new(), vec![0; CHUNK]);
    loop {
        let read = file.read(&mut buffer)?;
        if read == 0 {
            return Ok(hex(&hash.finalize()));
        }
        hash.update(buffer.get(..read).unwrap_or(&buffer));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pointer_is_read_as_it_is_written_and_nothing_else_is_one() {
        let pointer = Pointer::to(b"content\n");
        let hash = "434728a410a78f56fc1b5899c3593436e61ab0c731e9072d95e96db290205e53";
        let text =
            format!("version https://git-lfs.github.com/spec/v1\noid sha256:{hash}\nsize 8\n");
        assert_eq!(
            (pointer.text(), Pointer::parse(text.as_bytes())),
            (text.clone(), Some(pointer))
        );
        let others = [
            String::new(),
            "content\n".to_owned(),
            text.trim_end().to_owned(),
            format!("{text}more\n"),
            text.replace("spec/v1", "spec/v2"),
            text.replace("sha256:43", "sha256:4G"),
            text.replace("sha256:43", "sha256:"),
            text.replace("size 8", "size -8"),
            text.replace("oid", "ext-0-foo sha256:00\noid"),
            format!("{text}{}", "x".repeat(2_000)),
        ];
        for other in others {
            assert_eq!(Pointer::parse(other.as_bytes()), None, "{other}");
        }
    }
}
