//! Parses headings that begin a phase or name a priority.

use crate::lines::text::{is_capital, is_one_of, next_word, position};
use crate::tasks::section::each_word;
use crate::words::{LEVELS, PHASES};

/// Before or after a level in a heading that names a priority.
const PRIORITY: &str = "priority";

/// A heading that begins a phase, which waits for the one before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Phase {
    /// The phase's letter and number (`P2`, `M1`); `None` for a priority.
    pub(crate) label: Option<String>,
}

/// Parses a heading that contains `Phase N`, `Stage N` or `Milestone N`, or names a priority; a box
/// may be before it.
pub(crate) fn of_heading(title: &str) -> Option<Phase> {
    // A letter in its box is no word of its own.
    let title = without_box(title);
    let mut before: Option<&str> = None;
    let mut rest = title;
    while let Some((word, after)) = next_word(rest) {
        if let Some(phase) = before.filter(|before| is_one_of(before, PHASES))
            && is_number(word)
        {
            let letter = phase.chars().next().map(|first| first.to_ascii_uppercase());
            let number = format!("{}{}", word.to_uppercase(), decimals(after));
            return Some(Phase {
                label: letter.map(|letter| format!("{letter}{number}")),
            });
        }
        (before, rest) = (Some(word), after);
    }
    names_priority(title).then_some(Phase { label: None })
}

fn without_box(title: &str) -> &str {
    let boxed = title
        .strip_prefix('[')
        .and_then(|inner| inner.split_once(']'));
    match boxed {
        Some((mark, rest)) if mark.chars().count() == 1 => rest,
        _ => title,
    }
}

/// Returns what makes the number before it a phase between two others (`.1` after `2`).
fn decimals(after: &str) -> &str {
    let end = position(after, |c| !c.is_ascii_digit() && c != '.');
    after.get(..end).unwrap_or(after).trim_end_matches('.')
}

/// Reports whether a text begins with `Phase N`, `Stage N` or `Milestone N`, rather than naming one
/// further on.
pub(crate) fn begins(text: &str) -> bool {
    let mut words = each_word(text);
    let is_phase = words.next().is_some_and(|first| is_one_of(first, PHASES));
    is_phase && words.next().is_some_and(is_number)
}

/// Reports whether a heading names a priority: `P0 - Blockers`, `High Priority`, `Priority: Low`,
/// `Priority 1: Cart`, `Medium`.
fn names_priority(title: &str) -> bool {
    let mut words = each_word(title);
    let Some(first) = words.next() else {
        return false;
    };
    if matches!(first.as_bytes(), [b'p' | b'P', b'0'..=b'4']) {
        return true;
    }
    let is_level = is_one_of(first, LEVELS);
    match words.next() {
        None => is_level,
        Some(second) if is_level => second.eq_ignore_ascii_case(PRIORITY),
        Some(second) => {
            let is_number = second.bytes().all(|byte| byte.is_ascii_digit());
            first.eq_ignore_ascii_case(PRIORITY) && (is_number || is_one_of(second, LEVELS))
        }
    }
}

/// Reports whether a word counts a phase: a number in digits, Roman or as a word, or a capital
/// letter.
fn is_number(word: &str) -> bool {
    let words = [
        "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
    ];
    word.starts_with(|c: char| c.is_ascii_digit())
        || is_capital(word)
        || word.bytes().all(is_roman)
        || is_one_of(word, &words)
}

fn is_roman(byte: u8) -> bool {
    matches!(byte.to_ascii_lowercase(), b'i' | b'v' | b'x')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_begin_with_a_phase_are_told() {
        for text in ["Phase 1: Setup", "**Stage II** Build", "🚀 milestone 2"] {
            assert!(begins(text), "{text}");
        }
        for text in [
            "Write the docs of Phase 2",
            "Phase",
            "Phases 1 and 2",
            "1. Phase 1",
            "High priority",
            "",
        ] {
            assert!(!begins(text), "{text}");
        }
    }

    #[test]
    fn phases_and_priorities_are_told() {
        let table = [
            ("Phase 1: Setup", Some(Some("P1"))),
            ("Stage II", Some(Some("SII"))),
            ("Phase 2.1: Setup", Some(Some("P2.1"))),
            ("Phase 2. Setup", Some(Some("P2"))),
            ("Milestone 2 — Beta", Some(Some("M2"))),
            ("Phase N: Polish", Some(Some("PN"))),
            ("phase two", Some(Some("PTWO"))),
            ("High Priority", Some(None)),
            ("[ ] High Priority", Some(None)),
            ("[x] High Priority", Some(None)),
            ("[x] Phase 3: Docs", Some(Some("P3"))),
            ("Medium", Some(None)),
            ("Priority: Low", Some(None)),
            ("Priority 1: Cart", Some(None)),
            ("P0 - Blockers", Some(None)),
            ("Phase B: Polish", Some(Some("PB"))),
            ("Phase iv", Some(Some("PIV"))),
            ("İş Phase 1", Some(Some("P1"))),
            ("Stage a rollout", None),
            ("Stage & roll out", None),
            ("Milestone é", None),
            ("High-level design", None),
            ("Low latency", None),
            ("Phases of the moon", None),
            ("Setup", None),
        ];
        for (title, expected) in table {
            let expected = expected.map(|label: Option<&str>| Phase {
                label: label.map(str::to_owned),
            });
            assert_eq!(of_heading(title), expected, "{title}");
        }
    }
}
