//! The newest output of a job that runs, for showing what it does.

use std::sync::{Arc, Mutex, PoisonError};

use crate::job::plain_text;

/// How much of the output is kept, in bytes: more than a screen's width.
const KEPT: usize = 1 << 10;

/// The newest output of a job, of both streams as they are read.
#[derive(Clone, Debug, Default)]
pub struct LiveOutput(Arc<Mutex<Vec<u8>>>);

impl LiveOutput {
    /// Returns the last line with text, if the job has written one. What a program writes over a
    /// line with a carriage return counts as a line.
    #[must_use]
    pub fn last_line(&self) -> Option<String> {
        let kept = self
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        let text = plain_text(&kept);
        let line = text
            .rsplit(['\n', '\r'])
            .map(str::trim)
            .find(|line| !line.is_empty());
        line.map(str::to_owned)
    }

    pub(crate) fn add(&self, bytes: &[u8]) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.extend_from_slice(bytes);
        let surplus = kept.len().saturating_sub(KEPT);
        kept.drain(..surplus);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_is_the_newest_with_text() {
        let output = LiveOutput::default();
        assert_eq!(output.last_line(), None);
        let table = [
            ("test a ... ok\n", "test a ... ok"),
            ("\u{1b}[32mtest b\u{1b}[0m", "test b"),
            (" ... ok\n\n  \n", "test b ... ok"),
            ("10%\r20%\r", "20%"),
        ];
        for (bytes, expected) in table {
            output.add(bytes.as_bytes());
            assert_eq!(output.last_line().as_deref(), Some(expected), "{bytes:?}");
        }
        output.add(&[b'x'; 3 * KEPT]);
        assert_eq!(output.last_line().map(|line| line.len()), Some(KEPT));
    }
}
