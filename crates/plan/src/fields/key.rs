//! The keys of attributes, in every English spelling, and the words that are most likely typos of
//! them.

use orchestrate_core::text::similar::{edit_distance, nearest};

/// The key of an attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Key {
    Depends,
    Files,
    Agent,
    Model,
    Verify,
    Tokens,
    Turns,
    Timeout,
    Priority,
    Branch,
    Run,
    Review,
}

/// The spellings of every key, the usual one first; blanks and hyphens count as `_`.
#[rustfmt::skip]
const KEYS: &[(&[&str], Key)] = &[
    (
        &[
            "depends", "depends_on", "depend", "depend_on", "dependency", "dependencies", "deps",
            "blocked_by", "after", "needs", "requires", "prerequisite", "prerequisites",
        ],
        Key::Depends,
    ),
    (&["files", "file"], Key::Files),
    (&["agent", "role"], Key::Agent),
    (&["model"], Key::Model),
    (&["verify"], Key::Verify),
    (&["tokens"], Key::Tokens),
    (&["turns", "max_turns"], Key::Turns),
    (&["timeout"], Key::Timeout),
    (&["priority"], Key::Priority),
    (&["branch"], Key::Branch),
    (&["run"], Key::Run),
    (&["review"], Key::Review),
];

/// Ordinary words that are one letter off a key, or two off a long one.
#[rustfmt::skip]
const PROSE: &[&str] = &[
    "fixes", "mode", "rule", "tiles", "miles", "piles", "field", "fields", "verified",
    "verifies", "verity", "dependent", "dependents", "dependence", "demand", "demands",
    "descend", "descends", "decent", "dedent", "deepen", "defend", "defends", "need", "require",
    "required",
];

/// The keys whose misspelling would change what runs, or in which order.
const GRAVE: &[Key] = &[Key::Depends, Key::Files, Key::Agent, Key::Verify, Key::Run];

/// From this length on, a word that is two letters off a key counts as a typo rather than another
/// word.
const LONG_WORD: usize = 7;

/// The maximum number of letters in which a typo of a key differs.
const MAX_EDITS: usize = 2;

/// The minimum length of a word that may be a typo at the head of a line, and of the key that it is
/// a typo of: shorter ones are too much like other words.
const LEAST_WORD: usize = 5;
const LEAST_KEY: usize = 6;

fn spellings() -> impl Iterator<Item = (&'static str, Key)> {
    KEYS.iter()
        .flat_map(|(words, key)| words.iter().map(|word| (*word, *key)))
}

/// Returns the key that a word spells, if any.
pub(crate) fn key_of(word: &str) -> Option<Key> {
    let word = word.trim();
    let mut found = spellings().filter(|(spelling, _)| is_spelled(word, spelling));
    found.next().map(|(_, key)| key)
}

/// Reports whether a word is this spelling of a key.
fn is_spelled(word: &str, spelling: &str) -> bool {
    word.len() == spelling.len()
        && word
            .bytes()
            .zip(spelling.bytes())
            .all(|(own, known)| normal_byte(own) == known)
}

/// Returns a byte of a word in the normal spelling of keys.
fn normal_byte(byte: u8) -> u8 {
    match byte {
        b' ' | b'-' => b'_',
        _ => byte.to_ascii_lowercase(),
    }
}

/// Returns a word in the normal spelling of keys.
fn normal_word(word: &str) -> String {
    word.trim().to_lowercase().replace([' ', '-'], "_")
}

/// Reports whether a key is a word that parentheses of prose begin with, too (`(after: login)`),
/// unlike `depends` and `blocked by`.
pub(crate) fn is_word_of_prose(word: &str) -> bool {
    let word = normal_word(word);
    key_of(&word) == Some(Key::Depends) && !word.starts_with("dep") && !word.contains('_')
}

/// Returns the grave key that a word in parentheses most likely is a typo of: one letter off, or
/// two in a long word. Words of up to three letters and ordinary words are excluded.
pub(crate) fn grave_slip(word: &str) -> Option<&'static str> {
    let first = word.trim().bytes().next().map(normal_byte);
    let mut known = spellings().filter(|(_, key)| GRAVE.contains(key));
    // Most words are not nearly as long as a key with their first letter.
    let may_be_slip = known.any(|(known, _)| {
        known.bytes().next() == first && known.len().abs_diff(word.trim().len()) <= MAX_EDITS
    });
    if !may_be_slip {
        return None;
    }
    let word = normal_word(word);
    let limit = if word.len() < LONG_WORD { 1 } else { MAX_EDITS };
    let known = nearest(&word, spellings().map(|(spelling, _)| spelling))?;
    let is_grave = key_of(known).is_some_and(|key| GRAVE.contains(&key));
    let is_slip = is_grave && word.len() > 3 && !is_other_word(&word, known);
    (is_slip && edit_distance(&word, known, limit).is_some()).then_some(known)
}

/// Like [`grave_slip`], of a word at the head of a line.
pub(crate) fn grave_slip_in_line(word: &str) -> Option<&'static str> {
    let is_long = word.len() >= LEAST_WORD;
    grave_slip(word).filter(|known| is_long && known.len() >= LEAST_KEY)
}

/// Reports whether a word that is similar to a key is another one: nobody mistypes the first
/// letter.
fn is_other_word(word: &str, known: &str) -> bool {
    PROSE.contains(&word) || word.starts_with(known) || word.bytes().next() != known.bytes().next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_english_words() {
        for word in [
            "needs",
            "Requires",
            "prerequisite",
            "Prerequisites",
            "Blocked by",
        ] {
            assert_eq!(key_of(word), Some(Key::Depends), "{word}");
        }
        for word in ["Abhängigkeiten", "依赖", "Dateien", "need", "requirements"] {
            assert_eq!(key_of(word), None, "{word}");
        }
    }

    #[test]
    fn ordinary_words_are_no_typos() {
        for word in [
            "Append",
            "prepend",
            "Legend",
            "Spend",
            "Resend",
            "Dependents",
            "Demand",
            "descend",
            "certify",
            "Need",
            "required",
            "Requirements",
        ] {
            assert_eq!(
                (grave_slip(word), grave_slip_in_line(word)),
                (None, None),
                "{word}"
            );
        }
        for (word, known) in [
            ("Depnds", "depends"),
            ("dependancies", "dependencies"),
            ("Verfiy", "verify"),
        ] {
            assert_eq!(
                (grave_slip(word), grave_slip_in_line(word)),
                (Some(known), Some(known)),
                "{word}"
            );
        }
        assert_eq!(
            (grave_slip("flies"), grave_slip_in_line("flies")),
            (Some("files"), None)
        );
    }
}
