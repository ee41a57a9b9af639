//! The audit log of a repository's calls: a line for each that has ended or was replayed, bound to
//! the one before it.
//!
//! It has the format of the audit log of runs, and the user may name one file for both.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use orchestrate_core::RunId;
use orchestrate_core::projections::audit::Chain;
use orchestrate_core::projections::audit::command::{CommandEnd, last_of, line_after};
use orchestrate_files::ends_within_a_line;
use rustix::fs::{FlockOperation, flock};

use crate::context::Context;
use crate::show::output;

/// The name of the log in the folder of the calls.
const LOG: &str = "audit.jsonl";
/// How the name of the chain begins; the name of the folder of the calls follows.
const CHAIN: &str = "tool-run-";
/// The keys of the environment that name another file.
const VARIABLES: [&str; 3] = [
    "ORCHESTRATE_AUDIT_LOG",
    "ORCHESTRATE_AUDIT_LOG_PATH",
    "RALPH_AUDIT_LOG_PATH",
];
/// The number of bytes at the end of the file in which the newest line of the chain is looked for
/// first.
const TAIL_BYTES: u64 = 64 << 10;

/// The audit log of a repository's calls.
pub(super) struct CallAudit {
    path: PathBuf,
    chain: RunId,
}

impl CallAudit {
    /// Finds the log: the file that the environment names, else one in the folder of the
    /// repository's calls.
    pub(super) fn find(context: &Context, folder: &Path) -> CallAudit {
        let named = VARIABLES
            .iter()
            .find_map(|name| context.variables.get(*name).filter(|path| !path.is_empty()));
        let path = named.map_or_else(|| folder.join(LOG), |path| context.directory.join(path));
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        CallAudit {
            path,
            chain: RunId::new(format!("{CHAIN}{name}")),
        }
    }

    /// Appends the line of a call. A log that cannot be written changes nothing about the call, and
    /// is warned about.
    pub(super) fn note(&self, end: CommandEnd) {
        if let Err(error) = self.append(end) {
            let path = self.path.display();
            output::warning(&format!("failed to record the call in {path}: {error}"));
        }
    }

    fn append(&self, end: CommandEnd) -> io::Result<()> {
        let mut options = OpenOptions::new();
        let mut file = options
            .read(true)
            .append(true)
            .create(true)
            .mode(orchestrate_files::PRIVATE_FILE)
            .open(&self.path)?;
        rustix::io::retry_on_intr(|| flock(&file, FlockOperation::LockExclusive))?;
        let last = self.newest(&mut file)?;
        let line = line_after(&last, &self.chain, end).ok_or(io::ErrorKind::InvalidData)?;
        // A full disk may have cut the last line.
        let is_cut = ends_within_a_line(&mut file)?;
        let begin = if is_cut { "\n" } else { "" };
        file.write_all(format!("{begin}{line}\n").as_bytes())
    }

    /// Returns the newest line of the chain, which is near the end of the file unless others share
    /// it.
    fn newest(&self, file: &mut File) -> io::Result<Chain> {
        let length = file.metadata()?.len();
        for from in [length.saturating_sub(TAIL_BYTES), 0] {
            file.seek(SeekFrom::Start(from))?;
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes)?;
            let text = String::from_utf8_lossy(&bytes);
            // The first line of a part is not whole.
            let text = match from {
                0 => &text,
                _ => text.split_once('\n').map_or("", |halves| halves.1),
            };
            let found = last_of(text, &self.chain);
            if found != Chain::default() || from == 0 {
                return Ok(found);
            }
        }
        Ok(Chain::default())
    }
}
