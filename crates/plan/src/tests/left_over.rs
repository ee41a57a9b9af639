//! Documents with work that the reading of their tasks leaves over: it is asked about, or said.

use crate::KnownNames;
use crate::parse::read;

/// Returns how a text is read: the format with its number of tasks, or the ways among which one has
/// to choose, and the lines that are said to be not run.
fn outcome(source: &str) -> String {
    let (plan, _) = read(source, &KnownNames::default());
    let ways = plan.readings.iter();
    let ways: Vec<String> = ways
        .map(|own| format!("{} {}", own.read, own.tasks))
        .collect();
    let lines = plan.skipped.iter().map(|own| own.line.to_string());
    let lines: Vec<String> = lines.collect();
    match ways.is_empty() {
        true => format!("{} {}: {}", plan.format, plan.tasks.len(), lines.join(" ")),
        false => ways.join(" | "),
    }
}

#[track_caller]
fn require(table: &[(&str, &str)]) {
    for (source, expected) in table {
        assert_eq!(outcome(source), *expected, "{source}");
    }
}

#[test]
fn a_task_may_have_a_name_instead_of_a_number() {
    require(&[
        (
            "# P\n\n### Task 1: Cut\n\nDo.\n\n### Task saw-1: Saw\n\nDo.\n\n### Task B: Glue\n\nDo.\n",
            "headings 3: ",
        ),
        (
            "# P\n\n## Tasks\n\n### Task 1: Cut\n\nDo.\n\n## Verification\n\nTest.\n\n\
             ### Task saw-v2-1: Saw\n\nDo.\n",
            "headings 2: ",
        ),
        (
            "# P\n\n### Task 1: Cut\n\nDo.\n\n### Task 1b: Saw\n\n**Depends on:** Task 1\n",
            "headings 2: ",
        ),
    ]);
}

#[test]
fn headings_beside_those_of_tasks_are_asked_about_or_said() {
    require(&[
        (
            "# P\n\n### Task 1: Cut\n\nDo.\n\n### Varnish\n\nTwice.\n\n### Task 2: Pack\n\nDo.\n",
            "headings 3 | whole 1",
        ),
        (
            "# P\n\n## Overview\n\nA box.\n\n## Task 1: Cut\n\nDo.\n\n## Varnish\n\nTwice.\n",
            "headings 1: 11",
        ),
        (
            "# P\n\n### Task 1: Cut\n\nDo.\n\n### Final task: Pack\n\nDo.\n",
            "headings 2 | whole 1",
        ),
        (
            "# P\n\n### Task 1: Cut\n\nDo.\n\n### Task: Pack\n\nDo.\n",
            "headings 2 | whole 1",
        ),
        (
            "# P\n\n## [x] Lid\n\nCut it.\n\n## [ ] Box\n\nCut it.\n\n## Lock\n\nBuy one.\n",
            "headings 2: 11",
        ),
        (
            "# P\n\n### Task 1: Cut\n\nDo.\n\n## Appendix\n\n### Phase 9: Sell\n\nAsk Ann.\n",
            "headings 1: 9",
        ),
        (
            "# P\n\n> For agents: use superpowers:executing-plans\n\n### Task 1: Cut\n\n\
             - [ ] **Step 1: saw**\n\n### Varnish\n\nTwice.\n\n### Task 2: Pack\n\n\
             - [ ] **Step 1: wrap**\n",
            "headings 3 | boxes 2 | whole 1",
        ),
        (
            "# P\n\n## Roadmap\n\n### Milestone 1: Box\n\nOf wood.\n\n### Milestone 2: Lid\n\nOf glass.\n\n\
             ## The first milestone\n\n### Step 1: Cut\n\nDo.\n\n### Step 2: Glue\n\nDo.\n",
            "headings 4 | whole 1",
        ),
        (
            "# P\n\n## Roadmap\n\n### Phase 1: Box\n\nOf wood.\n\n### Phase 2: Lid\n\nOf glass.\n\n\
             ## Phase 1\n\n### Task 1: Cut\n\nDo.\n\n## Phase 2\n\n### Task 2: Glue\n\nDo.\n",
            "headings 2: ",
        ),
    ]);
}

#[test]
fn boxes_that_are_only_a_part_of_the_work_are_asked_about() {
    require(&[
        (
            "# 计划\n\n### 任务 1：切\n\n- [ ] 木\n\n### 任务 2：粘\n\n- [ ] 木\n\n## 验收标准\n\n- [ ] 好\n",
            "headings 2 | boxes 3 | whole 1",
        ),
        (
            "# P\n\n### Week 1\n\n- [ ] cut\n\n### Week 2\n\n- [ ] glue\n\n## Remarks\n\n- [x] bought\n",
            "boxes 3: ",
        ),
        (
            "# P\n\n## Phase 1\n\n1. Cut\n2. Glue\n\n### Deliverables\n\n- [ ] a box\n\n## Phase 2\n\n\
             1. Pack\n2. Send\n\n### Deliverables\n\n- [ ] a parcel\n",
            "headings 2 | boxes 2 | whole 1",
        ),
        (
            "# P\n\n## Phase 1\n\n### Deliverables\n\n- [ ] a box\n\n### Key tasks\n\n\
             1. Cut\n2. Glue\n\n## Phase 2\n\n### Deliverables\n\n- [ ] a parcel\n\n\
             ### Key tasks\n\n1. Pack\n2. Send\n",
            "headings 2 | boxes 2 | whole 1",
        ),
        (
            "# Plan\n\n## Parts\n\n### 1. Saw\n\nSharp.\n\n### 2. Glue\n\nWet.\n\n## Phase 1\n\n\
             ### Deliverables\n\n- [ ] a box\n\n### Key Tasks\n\n1. Cut\n2. Glue\n\n## Phase 2\n\n\
             ### Deliverables\n\n- [ ] a parcel\n\n### Key Tasks\n\n1. Pack\n2. Send\n",
            "headings 2 | boxes 2 | whole 1",
        ),
        (
            "# Plan\n\n## Changes\n\n### 1. Box\n\n- Cut\n\n### 2. Lid\n\n- Glue\n\n\
             ## Phase: Fixes\n\n- [ ] Task: Paint\n",
            "headings 2 | boxes 1 | whole 1",
        ),
        (
            "# P\n\n## Milestone 1\n\n1. Cut\n2. Glue\n\n## Milestone 2\n\nPaint it.\n",
            "headings 2 | items 2 | whole 1",
        ),
        (
            "# P\n\n- [ ] cut\n- [] saw\n- [o] glue\n- [x] buy\n-[ ] pack\n",
            "boxes 1 | whole 1",
        ),
        (
            "# Tasks: Box\n\n## Phase 1: Wood\n\n- [ ] T001 Cut it\n- [ ] T002 [P] Saw it\n\n\
             ## Phase 2: Glue\n\n- T003 Glue it\n\n## Notes\n\n- T001, T002 (wood)\n",
            "boxes 3 | headings 2 | whole 1",
        ),
    ]);
}

#[test]
fn lists_and_marks_beside_boxes_are_said() {
    require(&[
        (
            "## Tasks\n\n- [ ] cut\n\n### Release\n\n* Sell it\n",
            "boxes 1: 7",
        ),
        (
            "## Tasks\n\n- [ ] cut\n\n## Later\n\n- Sell it\n",
            "boxes 1: 7",
        ),
        (
            "## Tasks\n\n- [ ] cut\n\n## Risks\n\n- It breaks\n",
            "boxes 1: ",
        ),
        (
            "## Tasks\n\n- [ ] cut\n\n## Part 2\n\n- Sell it\n",
            "boxes 1: 7",
        ),
        (
            "# P\n\n## Roadmap\n\n- **Milestone 1**: Box\n- **Milestone 2**: Lid\n\n## Milestone 1\n\n- [ ] cut\n",
            "boxes 1: 6",
        ),
        ("- ☐ cut\n- ☑ buy\n- ☒ sell\n", "items 2: 3"),
        (
            "- [ ] cut\n\n<ul>\n<li><input type=\"checkbox\"> glue</li>\n</ul>\n",
            "boxes 1: 4",
        ),
        (
            "### Task 1: Cut\n\nDo.\n\n## Example\n\n> ### Task 2: Saw\n\n```\n### Task 3: Glue\n```\n",
            "headings 1: 7 10",
        ),
    ]);
}
