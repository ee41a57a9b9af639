//! The bound of the memory of one analysis: of a text, its tree, and what is made of both.

use orchestrate_memory::{Work, is_over, was_over};

use crate::error::CodeError;
use crate::source::Stop;

/// Does a work whose memory is bounded, once few others are done, or as a part of the work that the
/// thread does already. The `stop` that it gets also ends a work that holds too much. What the
/// thread allocates meanwhile counts, so a text that is read from a file is read within it.
///
/// # Errors
/// Those of the work; [`CodeError::TooMuch`] if it holds too much, [`CodeError::Stopped`] if `stop`
/// said so before it began.
pub fn within_memory<T>(
    stop: Stop<'_>,
    work: impl FnOnce(Stop<'_>) -> Result<T, CodeError>,
) -> Result<T, CodeError> {
    let Some(_bound) = Work::begin(stop) else {
        return Err(CodeError::Stopped);
    };
    let has_to_end = || stop() || is_over(stop);
    match work(&has_to_end) {
        Err(CodeError::Stopped) if was_over() => Err(CodeError::TooMuch),
        result => result,
    }
}
