//! The keys of attributes, in every spelling, and the words that are most likely typos of them.

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

/// Every spelling of every key; blanks and hyphens count as `_`.
const KEYS: &[(&str, Key)] = &[
    ("depends", Key::Depends),
    ("depends_on", Key::Depends),
    ("depend", Key::Depends),
    ("depend_on", Key::Depends),
    ("dependency", Key::Depends),
    ("dependencies", Key::Depends),
    ("deps", Key::Depends),
    ("blocked_by", Key::Depends),
    ("after", Key::Depends),
    ("files", Key::Files),
    ("file", Key::Files),
    ("agent", Key::Agent),
    ("role", Key::Agent),
    ("model", Key::Model),
    ("verify", Key::Verify),
    ("tokens", Key::Tokens),
    ("turns", Key::Turns),
    ("max_turns", Key::Turns),
    ("timeout", Key::Timeout),
    ("priority", Key::Priority),
    ("branch", Key::Branch),
    ("run", Key::Run),
    ("review", Key::Review),
];

/// The keys that order tasks or keep them apart, in other languages.
const TRANSLATED_KEYS: &[(&str, Key)] = &[
    ("abhängig_von", Key::Depends),
    ("hängt_ab_von", Key::Depends),
    ("abhängigkeit", Key::Depends),
    ("abhängigkeiten", Key::Depends),
    ("dépend_de", Key::Depends),
    ("dépendance", Key::Depends),
    ("dépendances", Key::Depends),
    ("depende_de", Key::Depends),
    ("dependencia", Key::Depends),
    ("dependencias", Key::Depends),
    ("dependência", Key::Depends),
    ("dependências", Key::Depends),
    ("dipende_da", Key::Depends),
    ("dipendenze", Key::Depends),
    ("зависит_от", Key::Depends),
    ("зависимости", Key::Depends),
    ("依赖", Key::Depends),
    ("依赖于", Key::Depends),
    ("依存", Key::Depends),
    ("의존", Key::Depends),
    ("의존성", Key::Depends),
    ("datei", Key::Files),
    ("dateien", Key::Files),
    ("fichier", Key::Files),
    ("fichiers", Key::Files),
    ("archivo", Key::Files),
    ("archivos", Key::Files),
    ("arquivo", Key::Files),
    ("arquivos", Key::Files),
    ("ficheiros", Key::Files),
    ("файл", Key::Files),
    ("файлы", Key::Files),
    ("文件", Key::Files),
    ("ファイル", Key::Files),
    ("파일", Key::Files),
];

/// Ordinary words that are one letter off a key, or two off a long one.
const PROSE: &[&str] = &[
    "fixes",
    "mode",
    "rule",
    "tiles",
    "miles",
    "piles",
    "field",
    "fields",
    "verified",
    "verifies",
    "verity",
    "dependent",
    "dependents",
    "dependence",
    "demand",
    "demands",
    "descend",
    "descends",
    "decent",
    "dedent",
    "deepen",
    "defend",
    "defends",
];

/// The keys whose misspelling would change what runs, or in which order.
const GRAVE: &[Key] = &[Key::Depends, Key::Files, Key::Agent, Key::Verify, Key::Run];

/// From this length on, a word that is two letters off a key counts as a typo rather than another
/// word.
const LONG_WORD: usize = 7;

/// The minimum length of a word that may be a typo at the head of a line, and of the key that it is
/// a typo of: shorter ones are too much like other words.
const LEAST_WORD: usize = 5;
const LEAST_KEY: usize = 6;

/// Returns each key with its usual spelling.
pub(crate) fn usual_spellings() -> impl Iterator<Item = (&'static str, Key)> {
    let mut last = None;
    KEYS.iter()
        .copied()
        .filter(move |(_, key)| last.replace(*key) != Some(*key))
}

/// Returns the key that a word spells, if any.
pub(crate) fn key_of(word: &str) -> Option<Key> {
    let word = word.trim();
    let mut keys = KEYS.iter().chain(TRANSLATED_KEYS);
    let found = match word.is_ascii() {
        true => keys.find(|(spelling, _)| is_spelling(word, spelling)),
        false => {
            let word = normal(word);
            keys.find(|(spelling, _)| *spelling == word)
        }
    };
    found.map(|(_, key)| *key)
}

/// Reports whether an ASCII word is a key in its normal spelling.
fn is_spelling(word: &str, spelling: &str) -> bool {
    let normal = |byte: u8| {
        if matches!(byte, b' ' | b'-') {
            b'_'
        } else {
            byte.to_ascii_lowercase()
        }
    };
    word.len() == spelling.len() && word.bytes().map(normal).eq(spelling.bytes())
}

fn normal(word: &str) -> String {
    word.trim().to_lowercase().replace([' ', '-'], "_")
}

/// Returns the grave key that a word in parentheses most likely is a typo of: one letter off, or
/// two in a long word. Words of up to three letters and ordinary words are excluded.
pub(crate) fn grave_slip(word: &str) -> Option<&'static str> {
    let word = normal(word);
    let limit = if word.len() < LONG_WORD { 1 } else { 2 };
    let known = nearest(&word, KEYS.iter().map(|(spelling, _)| *spelling))?;
    let is_grave = key_of(known).is_some_and(|key| GRAVE.contains(&key));
    let is_slip = is_grave && word.len() > 3 && !is_other_word(&word, known);
    (is_slip && edit_distance(&word, known, limit).is_some()).then_some(known)
}

/// Like [`grave_slip`], of a word at the head of a line.
pub(crate) fn grave_slip_in_line(word: &str) -> Option<&'static str> {
    if word.len() < LEAST_WORD {
        return None;
    }
    let word = normal(word);
    let is_slip = |(known, key): &&(&str, Key)| {
        let is_likely =
            known.len() >= LEAST_KEY && GRAVE.contains(key) && !is_other_word(&word, known);
        is_likely && edit_distance(&word, known, 2).is_some()
    };
    KEYS.iter().find(is_slip).map(|(known, _)| *known)
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
