//! The memory of what analyses of many files have found, until it has been answered.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use orchestrate_code::Stop;
use orchestrate_memory::held;

use crate::answer::ToolError;

/// The memory that all analyses of many files may hold together, besides what is kept for all
/// agents: those of the largest repositories that people write.
const MAX_BYTES: usize = 96 << 20;

/// What all analyses hold.
static ALL: AtomicUsize = AtomicUsize::new(0);

/// What one analysis holds. It is given back when this is dropped.
#[derive(Debug, Default)]
pub(crate) struct Held(AtomicUsize);

impl Held {
    /// Does a part of the analysis, and counts what of it is kept.
    ///
    /// # Errors
    /// Those of the part; `TooBroad` if all analyses hold too much.
    pub(crate) fn keep<T>(
        &self,
        part: impl FnOnce() -> Result<T, ToolError>,
    ) -> Result<T, ToolError> {
        let before = held();
        let result = part();
        let bytes = usize::try_from(held().wrapping_sub(before)).unwrap_or(0);
        self.0.fetch_add(bytes, Ordering::Relaxed);
        if ALL.fetch_add(bytes, Ordering::Relaxed) + bytes > MAX_BYTES {
            Err(too_much())
        } else {
            result
        }
    }

    /// Does a part of the analysis that asks whether to stop, and stops it once all analyses hold
    /// too much.
    ///
    /// # Errors
    /// As [`Held::keep`].
    pub(crate) fn keep_while<T>(
        &self,
        stop: Stop<'_>,
        part: impl FnOnce(Stop<'_>) -> Result<T, ToolError>,
    ) -> Result<T, ToolError> {
        let (before, was_too_much) = (held(), AtomicBool::new(false));
        let stops = || {
            let bytes = usize::try_from(held().wrapping_sub(before)).unwrap_or(0);
            let is_too_much = ALL.load(Ordering::Relaxed) + bytes > MAX_BYTES;
            was_too_much.fetch_or(is_too_much, Ordering::Relaxed);
            is_too_much || stop()
        };
        let result = self.keep(|| part(&stops));
        if was_too_much.load(Ordering::Relaxed) {
            Err(too_much())
        } else {
            result
        }
    }
}

fn too_much() -> ToolError {
    let megabytes = MAX_BYTES >> 20;
    ToolError::TooBroad(format!(
        "the results of all analyses have more than {megabytes} MB; name a folder or a file"
    ))
}

impl Drop for Held {
    fn drop(&mut self) {
        ALL.fetch_sub(*self.0.get_mut(), Ordering::Relaxed);
    }
}
