//! What files declare and refer to, kept by their content, so that no run has to find it out again.
//!
//! There is one line for each content; what a crash has cut, or another version of this program has
//! written, is passed over. The lines are written again once most of them are of contents that are
//! no longer used.

use std::collections::HashSet;
use std::io::BufRead as _;

use orchestrate_code::{LanguageHint, TagText, Tags};
use orchestrate_core::Oid;
use serde::{Deserialize, Serialize};

use crate::code_files::FileVersion;

/// More lines than this, and than [`MOST_UNUSED`] times as many as are used, are written again.
const LEAST_LINES: usize = 2_000;
/// See [`LEAST_LINES`].
const MOST_UNUSED: usize = 3;
/// The longest line that is read, in bytes: far more than the tags of the largest file that has
/// some.
const MAX_LINE: u64 = 4 << 20;

/// Where lines are kept between runs, which mean something to this crate alone. Nothing is lost
/// with them but time, so what cannot be read or written is not an error.
pub trait MapLines {
    /// Opens them for reading; `None` if there are none.
    fn open(&self) -> Option<Box<dyn std::io::Read>>;

    /// Adds lines at the end.
    fn add(&self, lines: &[u8]);

    /// Replaces all of them.
    fn replace(&self, lines: &[u8]);
}

/// One line.
#[derive(Serialize, Deserialize)]
struct Line<S> {
    version: u32,
    content: Oid,
    hint: LanguageHint,
    tags: Tags<S>,
}

/// Calls `see` with everything that is kept until that returns `false`. Returns the number of
/// lines.
pub(super) fn read(
    kept: &dyn MapLines,
    see: &mut dyn FnMut(FileVersion, Tags<TagText<'_>>) -> bool,
) -> usize {
    let Some(lines) = kept.open() else { return 0 };
    let mut reader = std::io::BufReader::new(lines);
    let (mut line, mut count) = (Vec::new(), 0);
    loop {
        line.clear();
        let read = std::io::Read::take(&mut reader, MAX_LINE).read_until(b'\n', &mut line);
        match read {
            Ok(0) | Err(_) => return count,
            Ok(_) => count += 1,
        }
        let Ok(one) = serde_json::from_slice::<Line<TagText<'_>>>(&line) else {
            continue;
        };
        let version = FileVersion {
            content: one.content,
            hint: one.hint,
        };
        if one.version == Tags::VERSION && !see(version, one.tags) {
            return count;
        }
    }
}

/// Adds what was found out.
pub(super) fn add(kept: &dyn MapLines, found: Vec<(FileVersion, Tags)>) {
    if found.is_empty() {
        return;
    }
    // A line that a crash has cut ends here.
    let mut bytes = vec![b'\n'];
    for (version, tags) in found {
        write_line(&mut bytes, version, tags);
    }
    kept.add(&bytes);
}

/// Writes the lines, of which there are so many, again with only what is used, if that is the
/// lesser part.
pub(super) fn tidy(kept: &dyn MapLines, count: usize, used: &[FileVersion]) {
    if count <= LEAST_LINES.max(MOST_UNUSED * used.len()) {
        return;
    }
    let used: HashSet<&FileVersion> = used.iter().collect();
    let (mut bytes, mut written) = (Vec::new(), HashSet::new());
    read(kept, &mut |version, tags| {
        if used.contains(&version) && written.insert(version.clone()) {
            write_line(&mut bytes, version, tags);
        }
        true
    });
    kept.replace(&bytes);
}

fn write_line<S: Serialize>(bytes: &mut Vec<u8>, version: FileVersion, tags: Tags<S>) {
    let FileVersion { content, hint } = version;
    let before = bytes.len();
    let line = Line {
        version: Tags::VERSION,
        content,
        hint,
        tags,
    };
    match serde_json::to_writer(&mut *bytes, &line) {
        Ok(()) => bytes.push(b'\n'),
        Err(_) => bytes.truncate(before),
    }
}
