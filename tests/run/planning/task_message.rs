//! The first message of an agent, word for word, for each style of plan.

use orchestrate_core::{Message, ModelRequest};
use serde_json::json;

use crate::support::{Case, Outcome, Rule, Script, World, case, done, fail, write};

pub(crate) fn cases() -> Vec<Case> {
    vec![
        case!(of_a_checklist),
        case!(of_headings_with_fields),
        case!(of_a_numbered_specification),
        case!(of_phases),
        case!(of_priorities),
        case!(of_a_table),
        case!(of_a_record_of_progress),
        case!(of_milestones),
        case!(of_a_story),
        case!(of_a_whole_document),
        case!(a_reviewer_gets_the_changes),
        case!(what_does_not_fit_is_named),
        case!(a_section_of_the_plan_can_be_read),
    ]
}

/// Runs a plan whose agents write a file each, and returns a task's first message.
fn first_message(plan: &str, of: &str, tasks: &[&str]) -> Result<String, libtest_mimic::Failed> {
    let script = tasks.iter().fold(Script::default(), |script, task| {
        let report = format!("{task} is written.");
        script
            .rule(write(task, &format!("{task}.txt"), "1\n"))
            .rule(Rule::task(task).text(&report))
    });
    first_of(
        World::lived_in()?.play(plan, &script, |_| ())?.requests()?,
        of,
    )
}

fn first_of(requests: Vec<ModelRequest>, of: &str) -> Result<String, libtest_mimic::Failed> {
    let request = requests
        .into_iter()
        .find(|request| request.origin.task.as_str() == of);
    match request
        .as_ref()
        .and_then(|request| request.messages.first())
    {
        Some(Message::User { text }) => Ok(text.clone()),
        other => fail(format!("{other:?}")),
    }
}

/// Requires a message, in which the ids of commits and the marks of blocks are of no interest.
fn require(message: &str, expected: &str) -> Outcome {
    let mut plain = String::new();
    for line in message.lines() {
        let line = match line.split_once("Commit ") {
            Some(("", rest)) => format!("Commit …{}", rest.get(8..).unwrap_or_default()),
            _ if line.starts_with("<data-") => "<data>".to_owned(),
            _ if line.starts_with("</data-") => "</data>".to_owned(),
            _ => line.to_owned(),
        };
        plain.push_str(&line);
        plain.push('\n');
    }
    assert_eq!(
        plain, expected,
        "--- message\n{plain}--- expected\n{expected}"
    );
    Ok(())
}

const CHECKLIST: &str = "\
# Sharpen the string utilities

Small steps only; the public names stay.

## Rules

- No new dependencies.
- ASCII stays fast.

## Case

How words are cased.

- [ ] T1 Title case (files: T1.txt) (verify: test -e T1.txt)
  - keep acronyms
- [ ] T2 Snake case (files: T2.txt) (depends: T1) (turns: 9)

## Space

How words are spaced.

- [ ] T3 Trim (files: T3.txt)
";

fn of_a_checklist() -> Outcome {
    let expected = "\
Task T2: Snake case
Files of this task: T2.txt
Limits: 9 turns

## The plan: Sharpen the string utilities

Small steps only; the public names stay.

## The plan: Rules

- No new dependencies.
- ASCII stays fast.

## The section of this task: Case

How words are cased.

## Done before this task: T1: Title case

Commit …, its files and its report:
<data>
T1.txt

T1 is written.
</data>

## Other tasks, which are not yours

- T3: Trim (files: T3.txt)
";
    require(
        &first_message(CHECKLIST, "T2", &["T1", "T2", "T3"])?,
        expected,
    )
}

const FIELDS: &str = "\
# Logging

**Goal:** one log for all.

## Architecture

One writer, many readers.

### Task 1: Write

**Files:**
- Create: `T1.txt`

Write the log.

### Task 2: Read

**Files:** `T2.txt`
**Depends on:** Task 1

Read the log.
";

fn of_headings_with_fields() -> Outcome {
    let expected = "\
Task T2: Read
Read the log.
Files of this task: T2.txt

## The plan: Logging

**Goal:** one log for all.

## The plan: Architecture

One writer, many readers.

## Done before this task: T1: Write

Commit …, its files and its report:
<data>
T1.txt

T1 is written.
</data>
";
    require(&first_message(FIELDS, "T2", &["T1", "T2"])?, expected)
}

const SPECIFICATION: &str = "\
# Implementation Plan

Work test first.

- [ ] 1. Storage
  - [ ] 1.1 Open the file
    - _Requirements: 1.1_
  - [ ] 1.2 Close the file
- [ ] 2. Interface
  - [ ] 2.1 Add a command
";

fn of_a_numbered_specification() -> Outcome {
    let expected = "\
Task 1.2: Close the file
Part of 1: Storage

## The plan: Implementation Plan

Work test first.

## Done before this task: 1.1: Open the file

Commit …, its files and its report:
<data>
1.1.txt

1.1 is written.
</data>

## Other tasks, which are not yours

- 2.1: Add a command
";
    require(
        &first_message(SPECIFICATION, "1.2", &["1.1", "1.2", "2.1"])?,
        expected,
    )
}

const PHASES: &str = "\
# Tasks: Upload

**Input**: the design below `specs/`

## Phase 1: Setup

**Purpose**: the folders

- [ ] T001 [P] Create T001.txt
- [ ] T002 [P] Create T002.txt

## Phase 2: Story

**Goal**: a file can be sent

- [ ] T003 Create T003.txt
";

fn of_phases() -> Outcome {
    let expected = "\
Task T003: Create T003.txt

## The plan: Tasks: Upload

**Input**: the design below `specs/`

## The section of this task: Phase 2: Story

**Goal**: a file can be sent

## Done before this task: T001: Create T001.txt

Commit …, its files and its report:
<data>
T001.txt

T001 is written.
</data>

## Done before this task: T002: Create T002.txt

Commit …, its files and its report:
<data>
T002.txt

T002 is written.
</data>
";
    require(
        &first_message(PHASES, "T003", &["T001", "T002", "T003"])?,
        expected,
    )
}

const PRIORITIES: &str = "\
# Fix plan

Sorted by priority.

## High Priority

- [ ] [one] **One**: write `one.txt`
- [ ] [T1] Write T1.txt
  - [ ] and nothing else

## Medium

- [ ] [T2] Write T2.txt

## Learnings

- The suite is slow.
";

fn of_priorities() -> Outcome {
    let expected = "\
Task T2: Write T2.txt

## The plan: Fix plan

Sorted by priority.

## The plan: Learnings

- The suite is slow.

## The section of this task: Medium

## Done before this task: one: One: write `one.txt`

Commit …, its files and its report:
<data>
one.txt

one is written.
</data>

## Done before this task: T1: Write T1.txt

Commit …, its files and its report:
<data>
T1.txt

T1 is written.
</data>
";
    require(
        &first_message(PRIORITIES, "T2", &["one", "T1", "T2"])?,
        expected,
    )
}

const TABLE: &str = "\
# Release

All of it on one day.

| # | Task | Status | Owner |
|---|------|--------|-------|
| T1 | Write `T1\\|.txt` | ✅ | Ann |
| T2 | Write T2.txt | ⏳ | Bob |
| T3 | Write T3.txt | ❌ | – |
";

fn of_a_table() -> Outcome {
    let expected = "\
Task T2: Write T2.txt
Owner: Bob

## The plan: Release

All of it on one day.

## Other tasks, which are not yours

- T3: Write T3.txt
";
    require(&first_message(TABLE, "T2", &["T2", "T3"])?, expected)
}

const PROGRESS: &str = "\
# Stream the parser

This document is kept up to date.

## Purpose

Files of any size can be read.

## Steps

- [x] (2025-10-01 13:00Z) Read the old parser.
- [ ] (2025-10-02) [T1] Milestone 1: write T1.txt.
- [ ] [T2] Milestone 2: write T2.txt.

## Plan of Work

First the chunks, then the tokens.

## Validation and Acceptance

- [ ] both files are there
";

fn of_a_record_of_progress() -> Outcome {
    let expected = "\
Task T2: Milestone 2: write T2.txt.

## The plan: Stream the parser

This document is kept up to date.

## The plan: Purpose

Files of any size can be read.

## The plan: Plan of Work

First the chunks, then the tokens.

## The plan: Validation and Acceptance

- [ ] both files are there

## Done before this task: T1: Milestone 1: write T1.txt.

Commit …, its files and its report:
<data>
T1.txt

T1 is written.
</data>
";
    require(&first_message(PROGRESS, "T2", &["T1", "T2"])?, expected)
}

const MILESTONES: &str = "\
---
read: items
---
# Roadmap

## Milestone 1: Core ✅

- Parser

## Milestone 2: Shell

Small and quick.

- T1: write T1.txt
- T2: write T2.txt
";

fn of_milestones() -> Outcome {
    let expected = "\
Task T2: write T2.txt

## The section of this task: Milestone 2: Shell

Small and quick.

## Done before this task: T1: write T1.txt

Commit …, its files and its report:
<data>
T1.txt

T1 is written.
</data>
";
    require(&first_message(MILESTONES, "T2", &["T1", "T2"])?, expected)
}

const STORY: &str = r#"{"project": "Shop", "description": "A cart that survives a restart.", "userStories": [
{"id": "US-001", "title": "Keep the cart", "description": "As a buyer, I keep my cart.", "acceptanceCriteria": ["US-001.txt exists"], "priority": 1, "passes": false},
{"id": "US-002", "title": "Show the cart", "acceptanceCriteria": [], "priority": 2, "passes": false, "notes": "Plain.", "dependsOn": ["US-001"]}]}
"#;

fn of_a_story() -> Outcome {
    let expected = "\
Task US-002: Show the cart
Notes: Plain.

## The plan

A cart that survives a restart.

## Done before this task: US-001: Keep the cart

Commit …, its files and its report:
<data>
US-001.txt

US-001 is written.
</data>
";
    require(
        &first_message(STORY, "US-002", &["US-001", "US-002"])?,
        expected,
    )
}

const DOCUMENT: &str = "\
# Dark mode

We want a dark theme.

## Changes

### 1. `tokens.css`

Name the colours.

- keep the contrast

## Verification

1. `npm test`
";

fn of_a_whole_document() -> Outcome {
    let expected = "\
Task dark_mode: Dark mode
The goal is everything that the whole of this plan describes.

## The plan: Dark mode

We want a dark theme.

## The plan: 1. `tokens.css`

Name the colours.

- keep the contrast

## The plan: Verification

1. `npm test`
";
    require(
        &first_message(DOCUMENT, "dark_mode", &["dark_mode"])?,
        expected,
    )
}

fn a_reviewer_gets_the_changes() -> Outcome {
    let plan = "- [ ] T1 Write one\n- [ ] T2 Review it @reviewer (depends: T1)\n";
    let script = Script::default().writes("T1", "one.txt", "1\n");
    let approves = Rule::task("T2").call("review_verdict", &json!({"verdict": "approve"}));
    let requests = World::lived_in()?
        .play(plan, &script.rule(approves), |_| ())?
        .requests()?;
    let message = first_of(requests, "T2")?;
    assert!(
        message.contains("These tasks are merged only after your approval: T1."),
        "{message}"
    );
    assert!(message.contains("## The changes of T1\n"), "{message}");
    assert!(message.contains("\n+1\n"), "{message}");
    Ok(())
}

/// A context of 8,000 tokens has room for a part of the plan only.
fn what_does_not_fit_is_named() -> Outcome {
    let long = "words of the plan ".repeat(600);
    let plan = format!(
        "# Title\n\nShort.\n\n## Architecture\n\n{long}\n\n## Tasks\n\n- [ ] T1 Write one\n- [ ] T2 Write two\n"
    );
    let script = ["T1", "T2"].iter().fold(Script::default(), |script, task| {
        script.writes(task, &format!("{task}.txt"), "1\n")
    });
    let played = World::lived_in()?.play(&plan, &script, |settings| {
        settings.run.context_tokens = 8_000
    })?;
    let message = first_of(played.requests()?, "T1")?;
    let names = message
        .contains("Left out of this message because it is too long: \"Architecture\". `read_plan`");
    assert!(names, "{message}");
    assert!(message.contains("Short."), "{message}");
    assert!(message.contains("- T2: Write two"), "{message}");
    Ok(())
}

fn a_section_of_the_plan_can_be_read() -> Outcome {
    let read = |rule: Rule, section: &str| rule.call("read_plan", &json!({ "section": section }));
    let script = Script::default()
        .rule(read(read(write("T3", "T3.txt", "1\n"), "rules"), "Rulez"))
        .rule(done("T3"))
        .writes("T1", "T1.txt", "1\n")
        .writes("T2", "T2.txt", "1\n");
    let results = World::lived_in()?
        .play(CHECKLIST, &script, |_| ())?
        .results("T3")?;
    let is_read = results
        .iter()
        .any(|text| text.contains("## Rules\\n\\n- No new dependencies.\\n- ASCII stays fast.\""));
    let is_whole = results
        .iter()
        .any(|text| text.contains("How words are cased"));
    let is_refused = results.iter().any(|text| {
        text.contains("the plan has no section `Rulez`; its sections: Sharpen the string utilities, Rules, Case, Space")
    });
    assert!(is_read && is_refused && !is_whole, "{}", results.join("\n"));
    Ok(())
}
