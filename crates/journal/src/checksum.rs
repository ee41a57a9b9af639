//! The checksum of a recorded fact, by which a reader notices that its disk has changed it.

use orchestrate_core::ids::{BlobId, RunId};

/// How many hexadecimal digits of the digest are stored: as many as an integer of the database
/// holds.
const DIGITS: usize = 16;

/// The stored parts of a fact.
pub(crate) struct Stored<'a> {
    pub(crate) run: &'a RunId,
    pub(crate) seq: u64,
    pub(crate) ts_ms: u64,
    pub(crate) v: u32,
    pub(crate) kind: &'a str,
    pub(crate) task: Option<&'a str>,
    pub(crate) body: &'a str,
}

impl Stored<'_> {
    /// Returns the checksum of all of it: the beginning of its SHA-256, as an integer of the
    /// database.
    pub(crate) fn checksum(&self) -> i64 {
        let Self {
            run,
            seq,
            ts_ms,
            v,
            kind,
            task,
            body,
        } = self;
        let text = format!(
            "{run}\n{seq} {ts_ms} {v} {kind}\n{}\n{body}",
            task.unwrap_or_default()
        );
        let id = BlobId::from_content(text.as_bytes());
        let mut sum = 0u64;
        for digit in id.as_str().chars().take(DIGITS) {
            let value = digit.to_digit(16);
            assert!(value.is_some(), "BUG: a digest has other digits");
            sum = (sum << 4) | value.map_or(0, u64::from);
        }
        sum.cast_signed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_of_a_fact_counts() {
        let run = RunId::from("r-test01");
        let whole = || Stored {
            run: &run,
            seq: 1,
            ts_ms: 2,
            v: 3,
            kind: "task.ready",
            task: Some("T1"),
            body: "{\"a\":1}",
        };
        let sum = whole().checksum();
        assert_eq!(sum, whole().checksum());
        let other_run = RunId::from("r-test02");
        let changed = [
            Stored {
                run: &other_run,
                ..whole()
            },
            Stored { seq: 2, ..whole() },
            Stored {
                ts_ms: 3,
                ..whole()
            },
            Stored { v: 2, ..whole() },
            Stored {
                kind: "task.reads",
                ..whole()
            },
            Stored {
                task: None,
                ..whole()
            },
            Stored {
                body: "{\"a\":3}",
                ..whole()
            },
        ];
        assert!(changed.iter().all(|changed| changed.checksum() != sum));
    }
}
