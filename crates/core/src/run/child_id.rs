//! The id of a child that gets none from its parent: words of its task, so that its branch says
//! what it is for.

use crate::event::settings::ROOT_AGENT;
use crate::ids::TaskId;
use crate::text::invisible::is_invisible;

/// The maximum number of an id's characters: enough for a few words, short enough for a column.
const MAX_CHARS: usize = 24;
/// The id of a child whose task has no word.
const NO_WORDS: &str = "agent";
/// Words that say nothing about a task.
const FILLERS: [&str; 15] = [
    "a", "an", "and", "by", "for", "from", "in", "into", "it", "of", "on", "please", "the", "to",
    "with",
];
/// Names that mean something else than an agent where agents are named.
const RESERVED: [&str; 15] = [
    "all",
    "broadcast",
    "child",
    "children",
    "everyone",
    "head",
    "nobody",
    "parent",
    "person",
    "role",
    "root",
    "self",
    "sibling",
    "siblings",
    "user",
];

/// Returns an id made of the words of a task, valid and not taken.
pub(crate) fn child_id(task: &str, is_taken: impl Fn(&TaskId) -> bool) -> TaskId {
    let free = child_ids(task).find(|id| !is_taken(id));
    // There are more numbers than tasks.
    free.unwrap_or_default()
}

/// Returns the valid ids that are made of the words of a task: `refactor_database`, then
/// `refactor_database_2` and so on.
pub fn child_ids(task: &str) -> impl Iterator<Item = TaskId> {
    let stem = stem(task);
    let first = std::iter::once(stem.clone());
    let numbered = (2_u64..).map(move |number| with_number(&stem, number));
    let candidates = first.chain(numbered).map(TaskId::new);
    candidates.filter(|id| is_possible(id.as_str()))
}

fn is_possible(id: &str) -> bool {
    let is_reserved = RESERVED.contains(&id) || id == ROOT_AGENT;
    !is_reserved && TaskId::refusal(id).is_none()
}

/// Returns the first words that fit, without those that say nothing.
fn stem(task: &str) -> String {
    let lower = task.to_lowercase();
    let words: Vec<&str> = lower
        .split(|c| !is_letter(c))
        .filter(|word| !word.is_empty())
        .collect();
    let telling = words.iter().copied().filter(|word| !FILLERS.contains(word));
    let mut stem = joined(telling);
    if stem.is_empty() {
        stem = joined(words.into_iter());
    }
    if stem.is_empty() {
        NO_WORDS.to_owned()
    } else {
        stem
    }
}

fn is_letter(c: char) -> bool {
    c.is_alphanumeric() && !is_invisible(c)
}

/// Joins words while they fit; the first one is cut if it is too long by itself.
fn joined<'w>(mut words: impl Iterator<Item = &'w str>) -> String {
    let mut joined = words
        .next()
        .map(|word| first_chars(word, MAX_CHARS))
        .unwrap_or_default();
    for word in words {
        let longer = format!("{joined}_{word}");
        if !fits(&longer, MAX_CHARS) {
            break;
        }
        joined = longer;
    }
    joined
}

/// Returns the stem with a number, shortened so that it still fits.
fn with_number(stem: &str, number: u64) -> String {
    let number = format!("_{number}");
    let stem = first_chars(stem, MAX_CHARS.saturating_sub(number.len()));
    format!("{}{number}", stem.trim_end_matches('_'))
}

fn fits(text: &str, chars: usize) -> bool {
    text.chars().count() <= chars && text.len() <= TaskId::MAX_BYTES
}

/// Returns the beginning of a text, at most this many characters, that fits an id.
fn first_chars(text: &str, chars: usize) -> String {
    let mut first = String::new();
    for c in text.chars().take(chars) {
        if first.len() + c.len_utf8() > TaskId::MAX_BYTES - MAX_CHARS {
            break;
        }
        first.push(c);
    }
    first
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn ids_are_the_words_of_the_task() {
        let table = [
            ("Refactor the database", "refactor_database"),
            (
                "Refactor the database layer to use a pool",
                "refactor_database_layer",
            ),
            ("Fix `login()` in src/auth.rs", "fix_login_src_auth_rs"),
            ("  -- T2: Parse!!! ", "t2_parse"),
            ("2 fixes", "2_fixes"),
            (
                "Internationalisationalizations everywhere",
                "internationalisationaliz",
            ),
            ("to the", "to_the"),
            ("", "agent"),
            ("…—!", "agent"),
            ("Ändere die Größe", "ändere_die_größe"),
            ("数据库 重构", "数据库_重构"),
            // No title yields a reserved word, a branch of ours, a run's id, an option or a path.
            ("Integration", "integration_2"),
            ("ＩＮＴＥＧＲＡＴＩＯＮ", "ｉｎｔｅｇｒａｔｉｏｎ_2"),
            ("parent", "parent_2"),
            ("main ralph coordinator", "main_ralph_coordinator_2"),
            ("r-k3v9x2", "r_k3v9x2"),
            ("--force", "force"),
            ("../../.git/hooks.lock", "git_hooks_lock"),
            ("HEAD", "head_2"),
            ("a\u{202e}b\u{3164}c\u{0}d", "b_c_d"),
            ("İ", "i"),
        ];
        for (task, expected) in table {
            assert_eq!(child_id(task, |_| false).as_str(), expected, "{task}");
        }
    }

    #[test]
    fn a_taken_id_gets_a_number() {
        let mut taken = BTreeSet::new();
        let ids = [
            "Refactor the database layer",
            "refactor database LAYER",
            "Refactor a database layer",
        ]
        .map(|task| {
            let id = child_id(task, |id| taken.contains(id));
            taken.insert(id.clone());
            id.to_string()
        });
        assert_eq!(
            ids,
            [
                "refactor_database_layer",
                "refactor_database_laye_2",
                "refactor_database_laye_3"
            ]
        );
    }

    proptest! {
        /// Whatever the task is called, its id is valid, short, new, and a branch's name as it is
        /// if it is ASCII.
        #[test]
        fn every_title_yields_a_valid_id(
            titles in proptest::collection::vec("\\PC{0,60}|integration|[a-z ]{0,9}", 1..9),
        ) {
            let mut taken: BTreeSet<TaskId> = BTreeSet::new();
            for title in titles {
                let id = child_id(&title, |id| taken.contains(id));
                prop_assert_eq!(TaskId::refusal(id.as_str()), None);
                prop_assert!(id.as_str().chars().count() <= MAX_CHARS);
                prop_assert!(!id.as_str().is_ascii() || id.branch_component() == id.as_str());
                prop_assert!(taken.insert(id));
            }
        }
    }
}
