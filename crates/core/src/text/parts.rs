//! Parts of texts and lists.

use std::ops::Range;

/// A text or a list with parts up to an offset or from one. A part that is not there, or that would
/// begin or end within a character, is empty.
pub trait Parts {
    /// Returns what is before an offset.
    fn head(&self, end: usize) -> &Self;

    /// Returns what is from an offset on.
    fn tail(&self, start: usize) -> &Self;

    /// Returns what is in a range.
    fn part(&self, range: Range<usize>) -> &Self;
}

impl Parts for str {
    fn head(&self, end: usize) -> &Self {
        self.get(..end).unwrap_or("")
    }

    fn tail(&self, start: usize) -> &Self {
        self.get(start..).unwrap_or("")
    }

    fn part(&self, range: Range<usize>) -> &Self {
        self.get(range).unwrap_or("")
    }
}

impl<T> Parts for [T] {
    fn head(&self, end: usize) -> &Self {
        self.get(..end).unwrap_or(&[])
    }

    fn tail(&self, start: usize) -> &Self {
        self.get(start..).unwrap_or(&[])
    }

    fn part(&self, range: Range<usize>) -> &Self {
        self.get(range).unwrap_or(&[])
    }
}

/// Returns a text with other texts in place of ranges of it, which are in order and do not overlap.
pub fn replaced<S: AsRef<str>>(
    text: &str,
    replacements: impl IntoIterator<Item = (Range<usize>, S)>,
) -> String {
    let mut out = String::with_capacity(text.len());
    let mut from = 0;
    for (range, new) in replacements {
        if let Some(kept) = text.get(from..range.start) {
            out.push_str(kept);
        }
        out.push_str(new.as_ref());
        from = range.end;
    }
    if let Some(kept) = text.get(from..) {
        out.push_str(kept);
    }
    out
}

/// Returns a list without the first elements, as long as they fulfil a condition.
pub fn behind_leading<T>(mut list: &[T], is_leading: impl Fn(&T) -> bool) -> &[T] {
    while let Some(rest) = list.split_first().filter(|(first, _)| is_leading(first)) {
        list = rest.1;
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_that_are_not_there_are_empty() {
        let (text, list) = ("aéb", [1, 2, 3]);
        assert_eq!(
            [text.head(3), text.tail(3), text.part(1..3)],
            ["aé", "b", "é"]
        );
        assert_eq!([text.head(2), text.tail(5), text.part(2..3)], ["", "", ""]);
        assert_eq!(
            (list.head(1), list.tail(1), list.part(1..2)),
            (&[1][..], &[2, 3][..], &[2][..])
        );
        assert!(list.head(4).is_empty() && list.tail(4).is_empty() && list.part(2..4).is_empty());
    }

    #[test]
    fn replacements_stand_in_for_ranges() {
        assert_eq!(replaced("abcde", [(1..2, "X"), (3..5, "")]), "aXc");
        assert_eq!(replaced("abc", [(3..3, "d")]), "abcd");
        assert_eq!(replaced::<&str>("abc", []), "abc");
    }

    #[test]
    fn leading_elements_are_left_out() {
        assert_eq!(behind_leading(&[1, 1, 2, 1], |one| *one == 1), [2, 1]);
        assert!(behind_leading(&[1], |one| *one == 1).is_empty());
    }
}
