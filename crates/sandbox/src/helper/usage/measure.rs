//! Measures what the processes of a job use.
//!
//! The kernel adds up the processor time and the transfers of processes that were waited for, and
//! keeps the size of the largest. What processes hold together is seen only while they live: at
//! each check of the limits, and when the job ends.

use crate::helper::usage::tree;
use crate::job::Usage;
use crate::sys;

/// The highest usage that was seen.
#[derive(Debug, Default)]
pub(crate) struct Peak {
    resident_bytes: u64,
    processes: u64,
}

impl Peak {
    /// Takes the usage of a moment into account.
    pub(crate) fn note(&mut self, usage: &tree::Usage) {
        self.resident_bytes = self.resident_bytes.max(usage.resident_bytes);
        self.processes = self.processes.max(usage.processes.len() as u64);
    }

    /// Takes the usage of this moment into account, and returns it; nothing if it cannot be seen.
    pub(crate) fn look(&mut self) -> tree::Usage {
        let usage = tree::usage().unwrap_or_default();
        self.note(&usage);
        usage
    }

    /// Takes into account the program, which has just ended, and the processes that it has left.
    pub(crate) fn note_end_of_program(&mut self, has_left_any: bool) {
        let left = if has_left_any {
            self.look()
        } else {
            tree::Usage::default()
        };
        self.processes = self.processes.max(left.processes.len() as u64 + 1);
    }

    /// Returns what the job used, once none of its processes is left.
    pub(crate) fn usage(&self) -> Usage {
        let children = sys::used_by_children();
        Usage {
            cpu: children.cpu,
            peak_memory_bytes: self.resident_bytes.max(children.peak_resident_bytes),
            peak_processes: self.processes,
            read_bytes: children.read_bytes,
            written_bytes: children.written_bytes,
        }
    }
}
