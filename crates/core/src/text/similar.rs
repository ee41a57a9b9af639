//! Known words that are similar to a mistyped one.

/// The maximum length of a word to compare: anything longer is not a mistyped name, though a model
/// may write one.
const MAX_WORD_BYTES: usize = 64;

/// Returns the known word nearest to `word`, at most 2 edits away (1 for words of up to 3
/// characters).
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let limit = if word.chars().count() <= 3 { 1 } else { 2 };
    if word.len() > MAX_WORD_BYTES {
        return None;
    }
    let word = word.to_lowercase();
    known
        .into_iter()
        .filter(|candidate| candidate.len() <= MAX_WORD_BYTES)
        .filter_map(|candidate| {
            Some((
                edit_distance(&word, &candidate.to_lowercase(), limit)?,
                candidate,
            ))
        })
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Returns the known words that are most similar to `word`, ignoring case, most similar first,
/// however different.
pub fn most_similar<'a>(
    word: &str,
    known: impl IntoIterator<Item = &'a str>,
    count: usize,
) -> Vec<&'a str> {
    let word: String = word
        .chars()
        .take(MAX_WORD_BYTES)
        .flat_map(char::to_lowercase)
        .collect();
    let mut words: Vec<(usize, &str)> = known
        .into_iter()
        .map(|known| (strsim::osa_distance(&word, &known.to_lowercase()), known))
        .collect();
    words.sort_unstable();
    words
        .into_iter()
        .take(count)
        .map(|(_, known)| known)
        .collect()
}

/// Returns the edit distance (a transposition counts as one edit) if it is at most `limit`. Words
/// whose lengths differ by more are not compared, since comparing takes time in the product of both
/// lengths.
pub fn edit_distance(a: &str, b: &str, limit: usize) -> Option<usize> {
    if a.len().abs_diff(b.len()) > limit.saturating_mul(char::MAX_LEN_UTF8) {
        return None;
    }
    // Each letter that the other word does not have takes an edit.
    let strange = a.chars().filter(|letter| !b.contains(*letter));
    if strange.take(limit + 1).count() > limit
        || a.chars().count().abs_diff(b.chars().count()) > limit
    {
        return None;
    }
    let distance = strsim::osa_distance(a, b);
    (distance <= limit).then_some(distance)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_distance_counts_what_has_to_be_typed() {
        let table = [
            ("kitten", "sitting", Some(3)),
            ("", "abc", Some(3)),
            ("grep", "grpe", Some(1)),
            ("grep", "cat", None),
            ("ß", "s", Some(1)),
            ("", "grep", None),
        ];
        for (a, b, expected) in table {
            assert_eq!(edit_distance(a, b, 3), expected, "{a} {b}");
        }
    }

    #[test]
    fn the_most_similar_words_come_first() {
        let known = ["react", "read_file", "read_plan", "grep"];
        assert_eq!(
            most_similar("Read_fil", known, 2),
            ["read_file", "read_plan"]
        );
        assert_eq!(most_similar("", known, 1), ["grep"]);
        assert_eq!(most_similar("x", [], 3), Vec::<&str>::new());
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
