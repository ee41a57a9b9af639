//! What files declare and refer to, kept on disk by their content, so that no run has to find it out again.
//!
//! The file has one line for each content, which is only added to; a line that a crash has cut, or another version of
//! this program has written, is passed over. It is made again once most of it is of contents that are no longer used.
//! It holds nothing that cannot be found out again, so a failure to write it costs only time.

use std::collections::HashSet;
use std::fs::{File, OpenOptions};
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use orchestrate_code::{LanguageHint, Tags};
use orchestrate_core::Oid;
use serde::{Deserialize, Serialize};

use crate::code_files::FileVersion;

/// A file of more lines than this, and than [`MOST_UNUSED`] times as many as are used, is made again.
const LEAST_LINES: usize = 2_000;
/// See [`LEAST_LINES`].
const MOST_UNUSED: usize = 3;
/// The longest line that is read, in bytes: far more than the tags of the largest file that has some.
const MAX_LINE: u64 = 4 << 20;

/// What files declare and refer to, by their content.
#[derive(Clone, Debug)]
pub struct MapParts {
    path: PathBuf,
}

/// One line.
#[derive(Serialize, Deserialize)]
struct Line {
    version: u32,
    content: Oid,
    hint: LanguageHint,
    tags: Tags,
}

impl MapParts {
    /// The parts in this file, which is created when there are some.
    pub fn at(path: &Path) -> MapParts {
        MapParts { path: path.to_owned() }
    }

    /// Calls `see` with everything that is in it until that returns `false`. Returns the number of lines.
    pub(super) fn read(&self, see: &mut dyn FnMut(FileVersion, Tags) -> bool) -> usize {
        let Ok(file) = File::open(&self.path) else { return 0 };
        let (mut reader, mut line, mut lines) = (BufReader::new(file), Vec::new(), 0);
        loop {
            line.clear();
            let read = std::io::Read::take(&mut reader, MAX_LINE).read_until(b'\n', &mut line);
            match read {
                Ok(0) | Err(_) => return lines,
                Ok(_) => lines += 1,
            }
            let Ok(one) = serde_json::from_slice::<Line>(&line) else { continue };
            let version = FileVersion { content: one.content, hint: one.hint };
            if one.version == Tags::VERSION && !see(version, one.tags) {
                return lines;
            }
        }
    }

    /// Adds what was found out.
    pub(super) fn add(&self, found: Vec<(FileVersion, Tags)>) {
        if found.is_empty() {
            return;
        }
        // A line that a crash has cut ends here.
        let mut bytes = vec![b'\n'];
        for (version, tags) in found {
            write_line(&mut bytes, version, tags);
        }
        let open = OpenOptions::new().append(true).create(true).mode(0o600).open(&self.path);
        let added = open.and_then(|mut file| file.write_all(&bytes));
        if let Err(error) = added {
            tracing::debug!(path = %self.path.display(), %error, "the parts of maps were not kept");
        }
    }

    /// Makes the file, which has so many lines, again with only what is used, if that is the lesser part.
    pub(super) fn tidy(&self, lines: usize, used: &[FileVersion]) {
        if lines <= LEAST_LINES.max(MOST_UNUSED * used.len()) {
            return;
        }
        let used: HashSet<&FileVersion> = used.iter().collect();
        let (mut bytes, mut kept) = (Vec::new(), HashSet::new());
        self.read(&mut |version, tags| {
            if used.contains(&version) && kept.insert(version.clone()) {
                write_line(&mut bytes, version, tags);
            }
            true
        });
        if let Err(error) = orchestrate_files::replace(&self.path, &bytes) {
            tracing::debug!(path = %self.path.display(), %error, "the parts of maps were not tidied");
        }
    }
}

fn write_line(bytes: &mut Vec<u8>, version: FileVersion, tags: Tags) {
    let FileVersion { content, hint } = version;
    let before = bytes.len();
    let line = Line { version: Tags::VERSION, content, hint, tags };
    match serde_json::to_writer(&mut *bytes, &line) {
        Ok(()) => bytes.push(b'\n'),
        Err(_) => bytes.truncate(before),
    }
}
