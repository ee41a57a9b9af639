//! Finds the known word that a mistyped one most likely means.

/// The longest word that is compared: nobody mistypes a name by two letters beyond it.
const MAX_WORD_BYTES: usize = 64;

/// Gives the known word nearest to `word`, if it is near enough to be meant.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let limit = if word.chars().count() <= 3 { 1 } else { 2 };
    if word.len() > MAX_WORD_BYTES {
        return None;
    }
    let word = word.to_lowercase();
    known
        .into_iter()
        .filter(|candidate| candidate.len() <= MAX_WORD_BYTES)
        .filter_map(|candidate| Some((edit_distance(&word, &candidate.to_lowercase(), limit)?, candidate)))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Gives the edit distance (a swap of neighbours counts once) if it is at most `limit`.
///
/// It takes time in the product of both lengths: who compares others' text bounds its length.
pub fn edit_distance(a: &str, b: &str, limit: usize) -> Option<usize> {
    if a.len().abs_diff(b.len()) > limit.saturating_mul(4) {
        return None;
    }
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    if a.len().abs_diff(b.len()) > limit {
        return None;
    }
    let mut before: Vec<usize> = Vec::new();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut next = Vec::with_capacity(row.len());
        next.push(i + 1);
        for (j, y) in b.iter().enumerate() {
            let cell = |cells: &[usize], at: usize| cells.get(at).copied().unwrap_or(usize::MAX / 2);
            let mut best = (cell(&row, j) + usize::from(x != y)).min(cell(&row, j + 1) + 1).min(cell(&next, j) + 1);
            let swapped = i > 0 && j > 0 && a.get(i - 1) == Some(y) && b.get(j - 1) == Some(x);
            if swapped {
                best = best.min(cell(&before, j - 1) + 1);
            }
            next.push(best);
        }
        before = std::mem::replace(&mut row, next);
    }
    row.last().copied().filter(|found| *found <= limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_distance_counts_what_has_to_be_typed() {
        let table =
            [("kitten", "sitting", Some(3)), ("", "abc", Some(3)), ("grep", "grpe", Some(1)), ("grep", "cat", None)];
        for (a, b, expected) in table {
            assert_eq!(edit_distance(a, b, 3), expected, "{a} {b}");
        }
    }

    #[test]
    fn finds_the_word_that_was_meant() {
        let known = ["depends", "files", "agent", "run"];
        let table = [
            ("depnds", Some("depends")),
            ("Depedns", Some("depends")),
            ("file", Some("files")),
            ("agnet", Some("agent")),
            ("rnu", Some("run")),
            ("colour", None),
            ("ab", None),
        ];
        for (word, expected) in table {
            assert_eq!(nearest(word, known), expected, "{word}");
        }
    }
}
