//! The styles of public plans: one plan in the manner of each, and what `check --json` prints of
//! it.

use expect_test::expect_file;

use crate::support::{Case, Outcome, World, case};

/// What `check --json` prints of each plan: one line for each, in the order of [`STYLES`].
const GOLDEN: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/tests/run/planning/plan_styles.jsonl"
);

pub(crate) fn cases() -> Vec<Case> {
    vec![case!(each_style_is_checked_as_its_golden_line_says)]
}

/// If a difference is meant, `just plan-styles` writes the file anew.
fn each_style_is_checked_as_its_golden_line_says() -> Outcome {
    let world = World::plain()?;
    let mut found = String::new();
    for (file, plan) in STYLES {
        world.repository.write(file, plan)?;
        let printed = world.types(&["check", file, "--json"], 0)?.stdout;
        let (before, after) = printed.split_once("\"ts\":\"").ok_or("no time")?;
        let (_, after) = after.split_once("\",").ok_or("no end of the time")?;
        found.extend([before, after]);
    }
    expect_file![GOLDEN].assert_eq(&found);
    Ok(())
}

/// The plans, each with its file name.
const STYLES: [(&str, &str); 20] = [
    (
        "checklist.md",
        "\
---
title: Sharpen the string utilities
verify: sh -c true
---
# Sharpen the string utilities

- [ ] T1 Make `slugify` handle Unicode (files: src/slug.rs) (verify: sh -c true)
- [ ] T2 Add `truncate_words` @implementer (files: src/truncate.rs)
- [ ] T3 Review both for API consistency @reviewer (depends: T1, T2)
  - look at naming and at error cases
- [x] T0 Set up the crate
",
    ),
    (
        "spec-kit.md",
        "\
# Tasks: Upload

## Phase 1: Setup

- [ ] T001 Create the crate
- [ ] T002 [P] Add lints
- [ ] T003 [P] Add CI

## Phase 2: User Story 1 (Priority: P1)

### Tests

- [ ] T004 [P] [US1] Contract test in tests/a.rs

### Implementation

- [ ] T005 [US1] Model

**Checkpoint**: works
",
    ),
    (
        "kiro.md",
        "\
# Implementation Plan

- [x] 1. Set up
  - Create folders
  - _Requirements: 1.1_
- [-] 2. Models
  - [x] 2.1 User
    - _Requirements: 1.2_
  - [-] 2.2 Post
  - [ ]* 2.3 Write unit tests
- [ ] 3. Wire
- [ ] 4. Final checkpoint
  - Ensure all tests pass
",
    ),
    (
        "openspec.md",
        "\
## 1. Implementation
- [ ] 1.1 Create the schema
- [x] 1.2 Add the endpoint

## 2. Validation
- [ ] 2.1 Run `openspec validate add-search --strict`
",
    ),
    (
        "ralph.md",
        "\
# Fix plan

## Completed

- [x] Old

## High Priority

- [ ] Parse dates
- [ ] Fix time zones

## Medium

- [ ] Docs

## Manual steps

- [ ] Ask for a key

## Prerequisites

- Rust

## Low Priority

- [ ] Logo
",
    ),
    (
        "exec-plan.md",
        "\
# Stream the parser

This ExecPlan is a living document.

## Purpose / Big Picture

Files of any size can be read.

## Progress

- [x] (2025-10-01 13:00Z) Read the old parser.
- [ ] (2025-10-02) Milestone 1: the reader of chunks.
- [ ] Milestone 2: the tokenizer.

## Decision Log

- Decision: keep the old interface.

## Plan of Work

Add `ChunkReader` to `src/chunk.rs`.

## Validation and Acceptance

- [ ] `cargo test` passes.
",
    ),
    (
        "plan-mode.md",
        "\
# Limit the rate

## Context

A client can exhaust the pool.

## Changes

### `server/limit.ts` (new)

A token bucket.

### `server/app.ts`

Mount it.

## Verification

1. `npm test`
",
    ),
    (
        "tasks-with-steps.md",
        "\
# Feature Flags Implementation Plan

> **For agentic workers:** Steps use checkbox (`- [ ]`) syntax.

**Goal:** Flags that can be switched

---

### Task 1: Registry

**Files:**
- Create: `src/registry.py`
- Modify: `src/app.py:123-145`

- [ ] **Step 1: Write the failing test**

Run: `pytest tests`
Expected: FAIL

- [ ] **Step 2: Commit**

### Task 2: Middleware

**Files:**
- Create: `src/middleware.py`

**Step 1: Write the failing test**

Depends on the registry of Task 1.

## Remember

- Exact paths
",
    ),
    (
        "headings-with-boxes.md",
        "\
# Setup

### 1. [ ] Initial setup

**Files:**
- Create: `src/a.rs` - the crate
- `src/b.rs`

Run: `cargo test` and look.

- [ ] **Step 1: Write it**
- [x] Step 2

### 2. [x] Second ✅

Text.

### [ ] 3. Third

- Run: the tests
- verify: true
",
    ),
    (
        "step-headings.md",
        "\
# Refactor

## Background

1. not work

## Step 1: Extract ✅

Move it.

## Step 2: Rename

Rename it.

- by hand

## Acceptance

- [ ] it works
",
    ),
    (
        "numbered-headings.md",
        "\
---
read: headings
---
# Plan

## Implementation steps

### 1. Extract

Move it.

### 2. Rename

Rename it.

## Notes

x
",
    ),
    (
        "stages.md",
        "\
---
read: headings
---
## Stage 1: Parser
**Goal**: parse
**Success Criteria**: tests pass
**Status**: Complete

## Stage 2: Printer
**Goal**: print
**Status**: Not Started
",
    ),
    (
        "milestones.md",
        "\
---
read: items
---
# Roadmap

## Milestone 1: Core ✅

- Parser

## Milestone 2: Shell

- Prompt
- ⏳ History

## Ideas

- none
",
    ),
    (
        "table.md",
        "\
# Work

| # | Task | Status | Files |
|---|---|---|---|
| 1 | Add `a|b` | ✅ Done | `a.rs` |
| 2 | Wire | 🚧 In progress | - |
| 3 | Ship | ⬜ | |
",
    ),
    (
        "ordered-list.md",
        "\
# Notes

## Why

1. slow

## Remaining steps

1. **Cache** the index
   - in memory
2. Evict entries (after: 1)
3. ~~Tune~~
",
    ),
    (
        "marks.md",
        "\
# Status

- ✅ Parser
- ⏳ Printer
- ❌ Linker
- 🔲 Loader
- a remark
",
    ),
    (
        "german.md",
        "\
# Umsetzungsplan

## Aufgaben

- [x] Datenbank anlegen
- [ ] Suche bauen (Dateien: src/suche.rs)
- [ ] Doku schreiben (hängt ab von: Suche bauen)
- [ ] ~~Export~~

## Offene Fragen

- [ ] Welche Lizenz?
",
    ),
    (
        "prd.json",
        r#"{
  "project": "Shop",
  "branchName": "ralph/cart",
  "description": "A cart that survives a restart.",
  "userStories": [
    {"id": "US-002", "title": "Show the cart", "description": "As a buyer, I see what I chose.",
     "acceptanceCriteria": ["It lists each item", "Typecheck passes"], "priority": 2, "passes": false, "notes": ""},
    {"id": "US-001", "title": "Store the cart", "priority": 1, "passes": true},
    {"id": "US-003", "title": "Pay", "passes": false}
  ]
}
"#,
    ),
    (
        "task-master.json",
        r#"{"master": {"tasks": [
  {"id": 1, "title": "Set up", "status": "done", "dependencies": [], "priority": "high"},
  {"id": 2, "title": "Log in", "description": "With a form.", "testStrategy": "Try a wrong password.", "status": "pending",
   "dependencies": [1], "priority": "high", "subtasks": [
     {"id": 1, "title": "The form", "status": "done", "dependencies": [], "details": "Plain."},
     {"id": 2, "title": "The check", "status": "pending", "dependencies": [1]}]},
  {"id": 3, "title": "Pages", "status": "in-progress", "dependencies": [2]},
  {"id": 4, "title": "Later", "status": "deferred", "priority": "low"}
], "metadata": {}}}
"#,
    ),
    (
        "beads.jsonl",
        r#"{"id":"bd-e","title":"The parser","description":"Fast.","status":"open","priority":1,"issue_type":"epic"}
{"id":"bd-a1","title":"Lexer","status":"closed","priority":1,"issue_type":"task","dependencies":[{"issue_id":"bd-a1","depends_on_id":"bd-e","type":"parent-child"}]}
{"id":"bd-b2","title":"Grammar","status":"open","priority":0,"issue_type":"task","dependencies":[{"issue_id":"bd-b2","depends_on_id":"bd-a1","type":"blocks"}]}
{"id":"bd-c3","title":"Docs","status":"open","priority":2,"issue_type":"chore","dependencies":[{"issue_id":"bd-c3","depends_on_id":"bd-b2","type":"blocks"},{"issue_id":"bd-c3","depends_on_id":"bd-d4","type":"related"}]}
{"id":"bd-d4","title":"Odd","status":"blocked","priority":4,"issue_type":"bug"}
"#,
    ),
];
