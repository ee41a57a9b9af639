//! Lines of a file that is too large to be read whole: what lies behind them is not read, and
//! nothing is kept of what lies before them.

use std::io::{BufRead, Read as _, Result};

/// Maximum size of the lines of one page in bytes: far more than a page shows.
pub(super) const MAX_BYTES: u64 = 1 << 20;

/// The lines of a page.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Lines {
    /// Whole lines, as they are in the file.
    Of { bytes: Vec<u8>, are_last: bool },
    /// The file has only this many lines, so there are none.
    PastEnd(usize),
    /// The first line alone is larger than [`MAX_BYTES`].
    TooLong,
}

/// Reads at most so many lines from `first` on, counted from 1; fewer if they are larger than
/// [`MAX_BYTES`].
///
/// # Errors
/// If the file cannot be read.
pub(super) fn read_lines(file: &mut impl BufRead, first: usize, lines: usize) -> Result<Lines> {
    for before in 0..first.saturating_sub(1) {
        if file.skip_until(b'\n')? == 0 {
            return Ok(Lines::PastEnd(before));
        }
    }
    let mut bytes = Vec::new();
    let mut page = file.by_ref().take(MAX_BYTES);
    for _ in 0..lines {
        if page.read_until(b'\n', &mut bytes)? == 0 {
            break;
        }
    }
    let is_cut = page.limit() == 0;
    let are_last = file.fill_buf()?.is_empty();
    if is_cut && !are_last {
        match bytes.iter().rposition(|byte| *byte == b'\n') {
            Some(end) => bytes.truncate(end + 1),
            None => return Ok(Lines::TooLong),
        }
    }
    if bytes.is_empty() && first > 1 {
        return Ok(Lines::PastEnd(first - 1));
    }
    Ok(Lines::Of { bytes, are_last })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, first: usize, lines: usize) -> Lines {
        read_lines(&mut text.as_bytes(), first, lines).unwrap()
    }

    fn of(text: &str, are_last: bool) -> Lines {
        Lines::Of {
            bytes: text.as_bytes().to_vec(),
            are_last,
        }
    }

    #[test]
    fn lines_are_whole_and_end_with_the_file() {
        for (first, lines, expected) in [
            (1, 2, of("a\nb\n", false)),
            (2, 1, of("b\n", false)),
            (3, 5, of("c", true)),
            (1, 9, of("a\nb\nc", true)),
            (4, 1, Lines::PastEnd(3)),
            (9, 1, Lines::PastEnd(3)),
        ] {
            assert_eq!(read("a\nb\nc", first, lines), expected, "{first} {lines}");
        }
        assert_eq!(read("a\n", 2, 1), Lines::PastEnd(1));
        assert_eq!(read("", 1, 1), of("", true));
    }

    #[test]
    fn lines_beyond_the_size_of_a_page_wait_for_the_next_one() {
        let half = "x".repeat(usize::try_from(MAX_BYTES / 2).unwrap());
        let text = format!("{half}\n{half}\n{half}\n");
        assert_eq!(read(&text, 1, 3), of(&format!("{half}\n"), false));
        let text = format!("a\n{half}{half}b\nc\n");
        assert_eq!(read(&text, 1, 3), of("a\n", false));
        assert_eq!(read(&text, 2, 3), Lines::TooLong);
        assert_eq!(read(&text, 3, 3), of("c\n", true));
    }
}
