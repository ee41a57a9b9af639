//! Parses headings that begin a phase or name a priority, in the languages that public plans are
//! written in.

use std::borrow::Cow;

use crate::read::headings::section::{each_word, words};
use crate::read::lines::text::is_one_of;
use orchestrate_core::text::parts::Parts;

/// Words that name a phase, before its number.
const PHASES: &[&str] = &[
    "phase",
    "stage",
    "milestone",
    "meilenstein",
    "fase",
    "etapa",
    "étape",
    "hito",
    "marco",
    "этап",
    "фаза",
    "단계",
];
const PHASES_WITHOUT_BLANKS: &[&str] = &[
    "阶段",
    "階段",
    "里程碑",
    "フェーズ",
    "ステージ",
    "マイルストーン",
    "단계",
];

const PRIORITIES: &[&str] = &[
    "priority",
    "priorität",
    "priorité",
    "prioridad",
    "prioridade",
    "priorità",
    "приоритет",
];
const PRIORITIES_WITHOUT_BLANKS: &[&str] = &["高优先", "中优先", "低优先", "优先级", "優先度"];
const LEVELS: &[&str] = &[
    "critical",
    "urgent",
    "high",
    "medium",
    "normal",
    "low",
    "hohe",
    "hoch",
    "mittlere",
    "mittel",
    "niedrige",
    "niedrig",
    "haute",
    "moyenne",
    "basse",
    "alta",
    "media",
    "média",
    "baja",
    "baixa",
    "bassa",
    "высокий",
    "средний",
    "низкий",
];

/// A heading that begins a phase, which waits for the one before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Phase {
    /// The phase's letter and number (`P2`, `M1`); `None` for a priority.
    pub(crate) label: Option<String>,
}

/// Parses a heading that contains `Phase N`, `Stage N` or `Milestone N`, or begins with a priority;
/// a box may be before it.
pub(crate) fn of_heading(title: &str) -> Option<Phase> {
    let title = without_box(title);
    let is_likely = || {
        let mut each = each_word(title);
        each.next().is_some_and(may_begin) || each.any(|word| is_one_of(word, PHASES))
    };
    if title.is_ascii() && !is_likely() {
        return None;
    }
    // Lowered word by word: some letters become two, which would split a word.
    let written = words(title);
    let lowered: Vec<Cow<'_, str>> = written.iter().map(|word| lowered(word)).collect();
    let words: Vec<&str> = lowered.iter().map(AsRef::as_ref).collect();
    for (word, number) in words.iter().zip(written.into_iter().skip(1)) {
        if PHASES.contains(word) && is_number(number) {
            let letter = word
                .chars()
                .next()
                .filter(char::is_ascii)
                .unwrap_or('p')
                .to_ascii_uppercase();
            return Some(Phase {
                label: Some(format!("{letter}{}", number.to_uppercase())),
            });
        }
    }
    let is_named = !title.is_ascii()
        && PHASES_WITHOUT_BLANKS
            .iter()
            .any(|word| title.contains(word) && title.contains(is_ideographic_number));
    (is_named || is_priority(&words)).then_some(Phase { label: None })
}

/// Returns a heading without its box, in which a letter is no word of its own.
fn without_box(title: &str) -> &str {
    match title.as_bytes() {
        [
            b'[',
            b' ' | b'x' | b'X' | b'~' | b'/' | b'-' | b'!',
            b']',
            b' ',
            ..,
        ] => title.get(4..).unwrap_or(title),
        _ => title,
    }
}

/// Reports whether a text begins with `Phase N`, `Stage N` or `Milestone N`, rather than naming one
/// further on.
pub(crate) fn begins(text: &str) -> bool {
    let mut words = each_word(text);
    let (first, second) = (
        words.next().unwrap_or_default(),
        words.next().unwrap_or_default(),
    );
    let is_counted = !second.is_empty() && is_number(second);
    let is_named = |word: &&str| match first.strip_prefix(*word) {
        Some("") => second.starts_with(is_ideographic_number),
        Some(rest) => rest.starts_with(is_ideographic_number),
        None => first.ends_with(*word) && first.contains(is_ideographic_number),
    };
    is_counted && PHASES.contains(&&*lowered(first))
        || !first.is_ascii() && PHASES_WITHOUT_BLANKS.iter().any(is_named)
}

/// Reports whether a heading with this first word may begin a phase. Most headings neither begin so
/// nor name a phase further on.
fn may_begin(word: &str) -> bool {
    let is_grade = matches!(word.as_bytes(), [b'p' | b'P', b'0'..=b'4']);
    is_grade
        || [PHASES, PRIORITIES, LEVELS]
            .into_iter()
            .any(|known| is_one_of(word, known))
}

fn lowered(word: &str) -> Cow<'_, str> {
    let is_low = word
        .bytes()
        .all(|byte| byte.is_ascii() && !byte.is_ascii_uppercase());
    if is_low {
        Cow::Borrowed(word)
    } else {
        Cow::Owned(word.to_lowercase())
    }
}

fn is_ideographic_number(c: char) -> bool {
    c.is_ascii_digit() || "一二三四五六七八九十".contains(c)
}

fn is_priority(plain: &[&str]) -> bool {
    let first = plain.first().copied().unwrap_or_default();
    let is_grade = matches!(first.as_bytes(), [b'p', b'0'..=b'4']);
    let is_alone = plain.len() == 1 && LEVELS.contains(&first);
    let head = plain.head(plain.len().min(3));
    let head_begins = head
        .first()
        .is_some_and(|word| PRIORITIES.contains(word) || LEVELS.contains(word));
    let names_priority = head.iter().any(|word| PRIORITIES.contains(word));
    let names_level = head
        .iter()
        .any(|word| LEVELS.contains(word) || word.bytes().all(|byte| byte.is_ascii_digit()));
    let in_ideographs = PRIORITIES_WITHOUT_BLANKS
        .iter()
        .any(|start| first.starts_with(start));
    is_grade || is_alone || (head_begins && names_priority && names_level) || in_ideographs
}

/// Reports whether a word counts a phase: a number in digits, Roman or as a word, or a capital
/// letter.
fn is_number(word: &str) -> bool {
    let words = [
        "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
    ];
    let mut letters = word.chars();
    let is_capital = letters.next().is_some_and(char::is_uppercase) && letters.next().is_none();
    word.starts_with(|c: char| c.is_ascii_digit())
        || is_capital
        || word.bytes().all(is_roman)
        || words.iter().any(|number| word.eq_ignore_ascii_case(number))
}

fn is_roman(byte: u8) -> bool {
    matches!(byte.to_ascii_lowercase(), b'i' | b'v' | b'x')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_begin_with_a_phase_are_told() {
        for text in [
            "Phase 1: Setup",
            "**Stage II** Build",
            "🚀 milestone 2",
            "阶段一：准备",
            "第二阶段",
            "1단계: 준비",
        ] {
            assert!(begins(text), "{text}");
        }
        for text in [
            "Write the docs of Phase 2",
            "Phase",
            "Phases 1 and 2",
            "1. Phase 1",
            "High priority",
            "阶段性成果统一",
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
            ("Milestone 2 — Beta", Some(Some("M2"))),
            ("Phase N: Polish", Some(Some("PN"))),
            ("phase two", Some(Some("PTWO"))),
            ("Fase 3: Pruebas", Some(Some("F3"))),
            ("Этап 2: Поиск", Some(Some("P2"))),
            ("阶段一：准备", Some(None)),
            ("1단계: 준비", Some(None)),
            ("High Priority", Some(None)),
            ("[ ] High Priority", Some(None)),
            ("[x] High Priority", Some(None)),
            ("[x] Phase 3: Docs", Some(Some("P3"))),
            ("Medium", Some(None)),
            ("Priority: Low", Some(None)),
            ("P0 - Blockers", Some(None)),
            ("高优先级", Some(None)),
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
