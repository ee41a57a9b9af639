//! Counts in words.

/// Returns a number of things, such as `1 file` or `2 files`.
pub(crate) fn counted(number: usize, noun: &str) -> String {
    let ending = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{ending}")
}
