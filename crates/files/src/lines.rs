//! Logs, whose entries are lines.

use std::fs::File;
use std::io::{Read as _, Result, Seek as _, SeekFrom};

/// Reports whether a file ends within a line, which a full disk or a kill may have cut; it is left
/// at its end.
///
/// # Errors
/// If it cannot be read.
pub fn ends_within_a_line(file: &mut File) -> Result<bool> {
    if file.metadata()?.len() == 0 {
        return Ok(false);
    }
    let mut last = [0];
    file.seek(SeekFrom::End(-1))?;
    file.read_exact(&mut last)?;
    Ok(last != *b"\n")
}
