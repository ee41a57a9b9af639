//! Parses labels that stand above lists in the place of headings: `**Out of scope:**`.

use crate::read::headings::section::{self, Kind, each_word};
use crate::read::lines::text;

/// First words of labels of notes that stand above lists of work as well.
const GENERAL_LABELS: &[&str] = &["notes", "note", "validation", "outcomes", "outcome"];

/// Words of labels of tests, which are written as work is done: `Acceptance tests`.
const TESTS: &[&str] = &["test", "tests", "testing"];

/// The maximum number of words of a label; a longer line is a sentence.
const MAX_LABEL_WORDS: usize = 5;

/// Returns what the boxes below a label are, which is no heading: a line `**Out of scope:**` above
/// a list, or the item of a list above them. Such a label may stand above work where the same
/// heading would not.
pub(crate) fn kind(label: &str) -> Kind {
    if each_word(label).nth(MAX_LABEL_WORDS).is_some() {
        return Kind::Work;
    }
    let is_general = || {
        let first = each_word(label).next().unwrap_or_default();
        let names_tests = || each_word(label).any(|word| text::is_one_of(word, TESTS));
        let is_list = || section::is_progress(label) || section::is_checklist(label);
        text::is_one_of(first, GENERAL_LABELS) || names_tests() || is_list()
    };
    match section::kind(label) {
        Kind::Notes if is_general() => Kind::Work,
        kind => kind,
    }
}

/// Returns the text of a line that is a label: in bold, or with a colon at its end.
pub(crate) fn of_line(line: &str) -> Option<&str> {
    let line = line.trim();
    let text = line.trim_end_matches([':', '：']);
    let strong = ["**", "__"]
        .into_iter()
        .find_map(|mark| text.strip_prefix(mark)?.strip_suffix(mark));
    let label = strong
        .or(Some(text).filter(|text| text.len() < line.len()))?
        .trim_end_matches([':', '：'])
        .trim();
    (!label.is_empty() && !label.contains("**")).then_some(label)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_told_from_text() {
        use Kind::{Dropped, Notes, Optional, Waiting, Work};
        let table = [
            ("**Acceptance criteria:**", Some(Notes)),
            ("**Out of scope**:", Some(Notes)),
            ("__Manual steps__", Some(Waiting)),
            ("Won't do:", Some(Dropped)),
            ("**Won't have (this time):**", Some(Dropped)),
            ("**🎁 Stretch goals**", Some(Optional)),
            ("**Tasks:**", Some(Work)),
            ("Notes:", Some(Work)),
            ("**Acceptance tests:**", Some(Work)),
            ("Manual testing:", Some(Waiting)),
            ("**Progress**", Some(Work)),
            (
                "Acceptance criteria of these and all other tasks:",
                Some(Work),
            ),
            ("Acceptance criteria", None),
            ("范围外：", Some(Dropped)),
            ("**Out of scope**: nothing", None),
            ("**a** and **b**:", None),
            ("", None),
        ];
        for (line, expected) in table {
            assert_eq!(of_line(line).map(kind), expected, "{line}");
        }
    }
}
