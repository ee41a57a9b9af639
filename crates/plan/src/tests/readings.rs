//! Every way to read a plan that is shown can be chosen by the word that is shown, and finds what
//! was shown.

use crate::fields::names::{KnownNames, ReadAs};
use crate::finding::FindingCode;
use crate::formats::reading::Reading;
use crate::parse;
use crate::parse::Plan;

/// Documents that several formats claim, or that contradict their own, each with the words that are
/// shown for it.
const DOCUMENTS: &[(&str, &str)] = &[
    // Kiro's boxes, with the headings of superpowers.
    (
        "### Task 1: Cart\n\n- [ ] 1.1 Make it\n  - _Requirements: 2.1_\n- [ ] 1.2 Test it\n",
        "boxes headings whole",
    ),
    (
        "> Use superpowers:executing-plans\n\n### Task 1: Cart\n\n- [ ] 1. Make the cart\n\
         - [ ]* 1.1 Test the cart\n\n### Task 2: Till\n\n- [ ] 2. Make the till\n",
        "headings boxes whole",
    ),
    (
        "> Use superpowers:executing-plans\n\n## Task 1: A\n\n- [ ] Do\n\n\
         ### Task 1.1: B\n\n- [ ] Do\n",
        "headings boxes whole",
    ),
    // Kiro's boxes in a story of BMAD.
    (
        "# Story 1.1: A\n\nStatus: ready-for-dev\n\n## Tasks\n\n- [ ] 1. Make the cart (AC: 1)\n\
         \x20 - [ ] 1.1 Write it\n    - _Requirements: 2.1_\n",
        "boxes headings whole",
    ),
    (
        "# Story 1.1: A\n\nStatus: Ready for Review\n\n## Tasks\n\n- [ ] A cart (AC: 1)\n",
        "boxes headings whole",
    ),
    (
        "This ExecPlan is a living document.\n\n## Progress\n\n- [ ] Make the cart\n\n\
         ### Task 1\n\n- [ ] Make the till\n",
        "boxes headings whole",
    ),
    (
        "---\nid: T-1\ntitle: Make a cart\nstatus: To Do\nassignee: []\n---\n\n- [ ] Add the cart\n",
        "whole boxes",
    ),
    (
        "<task type=\"auto\">\n<name>Make the cart</name>\n\nIt has a total.\n",
        "items whole",
    ),
    (
        "---\nphase: 1\nplan: 2\n---\n\n<task type=\"auto\">\n<name>Make the cart</name>\n</task>\n\
         <task type=\"auto\">\n<name>Make the till</name>\n",
        "items whole",
    ),
    // Todos of Cursor, with the numbers of spec-kit.
    (
        "---\ntodos:\n  - content: Make the cart\n---\n\n- [ ] T001 [P] Make the cart\n\
         - [ ] T002 [US1] Make the till\n",
        "items boxes whole",
    ),
    (
        "---\ntodos:\n  - content: Make the cart\n---\n\n- [ ] 1. Make the cart\n  - [ ]* 1.1 Test it\n",
        "items boxes whole",
    ),
    // No format, and several ways.
    (
        "## Task 1: Cart\n\nMake it.\n\n## Others\n\n- [ ] Make the till\n",
        "headings boxes whole",
    ),
    (
        "Boxes:\n\n- [ ] Make the cart\n\n| # | Task | Status |\n|---|---|---|\n| 1 | Till | Open |\n",
        "boxes table whole",
    ),
    ("```\n- [ ] Make the cart\n", "whole"),
    ("## Acceptance\n\n- [ ] It adds up\n", "boxes"),
];

fn open_tasks(plan: &Plan) -> Vec<&str> {
    let open = plan.tasks.iter().filter(|task| task.status.runs());
    open.map(|task| task.title.as_str()).collect()
}

/// Returns what a document is read as, without what stands beside it.
fn shown(format: &str, tasks: usize, titles: &[&str]) -> String {
    match format {
        "whole" => format!("whole: {tasks}"),
        _ => format!("{format}: {tasks}, {}", titles.join(", ")),
    }
}

fn chosen(document: &str, reading: &Reading, known: &KnownNames) -> String {
    let (plan, errors) = parse::read(document, known);
    if !errors.is_empty() || !plan.readings.is_empty() {
        return format!("{errors:?} {:?}", plan.readings);
    }
    let open = open_tasks(&plan);
    let first: Vec<&str> = open.iter().copied().take(reading.titles.len()).collect();
    shown(&plan.format, open.len(), &first)
}

#[test]
fn every_reading_that_is_shown_can_be_chosen() {
    let mut wrong = Vec::new();
    for (document, expected) in DOCUMENTS {
        let (plan, errors) = parse::read(document, &KnownNames::default());
        let codes: Vec<FindingCode> = errors.iter().map(|error| error.code).collect();
        let words: Vec<&str> = plan.readings.iter().map(|own| own.read.as_str()).collect();
        let mut advice: Vec<&str> = errors
            .iter()
            .filter_map(|own| own.suggestion.as_deref())
            .collect();
        advice.retain(|advice| words.iter().all(|word| advice.contains(word)));
        let is_advised = words.is_empty() || !advice.is_empty();
        if codes != [FindingCode::Ambiguous] || words.join(" ") != *expected || !is_advised {
            wrong.push(format!("{document}\n  {words:?} {errors:?}"));
        }
        for reading in &plan.readings {
            let word = &reading.read;
            let known = KnownNames {
                read: ReadAs::named(word),
                ..KnownNames::default()
            };
            let kept = match document.strip_prefix("---\n") {
                Some(rest) => format!("---\nread: {word}\n{rest}"),
                None => format!("---\nread: {word}\n---\n{document}"),
            };
            let titles: Vec<&str> = reading.titles.iter().map(String::as_str).collect();
            let expected = shown(word, reading.tasks, &titles);
            for found in [
                chosen(document, reading, &known),
                chosen(&kept, reading, &KnownNames::default()),
            ] {
                if found != expected {
                    wrong.push(format!("{document}\n  {expected}, but chosen: {found}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn prose_is_one_goal_whatever_it_shows_or_leaves_open() {
    for text in [
        "# Spec\n\nThe form shows a list of boxes.\n\n```\n- [ ] example\n```\n",
        "# Spec\n\nThe form shows a list of boxes.\n\n> - [ ] example\n",
        "# Spec\n\nThe form shows a list of boxes.\n\nTODO: ask about the colours\n",
        "# Spec\n\nThe form shows a list of boxes.\n\n## Colours\n\nTBD\n",
        "---\nread: whole\n---\n- [ ] Jump\n",
    ] {
        let (plan, errors) = parse::read(text, &KnownNames::default());
        assert!(errors.is_empty() && plan.is_goal(), "{text}: {errors:?}");
    }
    for text in [
        "# Tasks of the plan\n\nTODO\n",
        "```\n- [ ] Add the cart to the shop\n```\n",
        "# Spec\n\nThe form shows a list.\n\n## Manual steps\n\n- [ ] Ask the owner\n",
    ] {
        let (_, errors) = parse::read(text, &KnownNames::default());
        assert_eq!(errors.len(), 1, "{text}");
    }
}
