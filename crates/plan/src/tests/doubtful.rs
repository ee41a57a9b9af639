//! Documents of which a part would be left out, or of which text would be carried out, if they were
//! read in one way only: they are asked about.

use crate::KnownNames;
use crate::parse::read;
use crate::tests::styles::reads;

/// Returns the format or the way in which a text is read, or the ways among which one has to
/// choose, with the number of tasks of each.
fn read_as(source: &str) -> String {
    let (plan, _) = read(source, &KnownNames::default());
    if plan.readings.is_empty() {
        return format!("{} {}", plan.format, plan.tasks.len());
    }
    let ways = plan.readings.iter();
    ways.map(|own| format!("{} {}", own.read, own.tasks))
        .collect::<Vec<_>>()
        .join(" | ")
}

#[track_caller]
fn require(table: &[(&str, &str)]) {
    for (source, expected) in table {
        assert_eq!(read_as(source), *expected, "{source}");
    }
}

const OWNERS: &str = "| Task | Owner |\n|---|---|\n| Cut it | Ann |\n| Glue it | Bob |\n";

#[test]
fn a_table_of_tasks_without_a_status_is_no_remark() {
    let beside = format!("# P\n\n- [ ] Plane it\n\n{OWNERS}");
    let retold = format!("# P\n\n- [ ] Cut it\n- [ ] Glue it\n\n{OWNERS}");
    let alone = format!("# P\n\n## Tasks\n\n{OWNERS}");
    let in_prose = format!("# P\n\nWe make a box of wood.\n\n## People\n\n{OWNERS}");
    let check = format!("# P\n\n- [ ] Plane it\n\n## Acceptance\n\n{OWNERS}");
    let headings = format!("# P\n\n### Task 1: Plane it\n\nDo.\n\n## People\n\n{OWNERS}");
    let items = format!("# P\n\n## Tasks\n\n1. Plane it\n\n## People\n\n{OWNERS}");
    require(&[
        (&beside, "boxes 1 | table 2 | whole 1"),
        (&retold, "boxes 2"),
        (&alone, "table 2 | whole 1"),
        (&in_prose, "whole 1"),
        (&check, "boxes 1"),
        (&headings, "headings 1 | table 2 | whole 1"),
        (&items, "table 2 | items 1 | whole 1"),
    ]);
}

#[test]
fn parents_without_boxes_are_tasks_beside_those_with_boxes() {
    require(&[
        (
            "1. Cut\n   - [ ] wood\n2. Glue\n3. Paint\n   - [ ] red\n",
            "boxes 3",
        ),
        (
            "- **Phase 1: Cut**\n  - [ ] wood\n- **Phase 2: Glue**\n",
            "boxes 2",
        ),
        ("- Cut\n  - [ ] wood\n- Remark\n", "boxes 1"),
        ("1. [ ] Cut\n2. Glue\n", "boxes 1"),
    ]);
}

#[test]
fn a_series_of_sections_of_which_some_have_boxes_is_asked_about() {
    require(&[
        (
            "# P\n\n## Phase 1\n\n- [ ] cut\n\n## Phase 2\n\nGlue it.\n",
            "headings 2 | boxes 1 | whole 1",
        ),
        (
            "# P\n\n## Phase 1 ✅\n\nCut it.\n\n## Phase 2\n\n- [ ] glue\n",
            "boxes 1",
        ),
        (
            "# P\n\n## Phase 1\n\n- [ ] glue\n\n## Phase 2 (deferred)\n\nPaint it.\n",
            "boxes 1",
        ),
        (
            "# Plan\n\n## 1. Cut\n\n- [ ] wood\n\n## 2. Glue\n\n- [ ] wood\n\n## 3. Paint\n\nRed.\n",
            "headings 3 | boxes 2 | whole 1",
        ),
        (
            "# Plan\n\n## 1. Overview\n\nA box.\n\n## 2. Tasks\n\n- [ ] cut\n\n## 3. People\n\nAnn.\n",
            "boxes 1",
        ),
    ]);
}

#[test]
fn two_numberings_of_work_are_asked_about() {
    require(&[
        (
            "# P\n\n## Steps\n\n1. Cut\n2. Glue\n\n## Tasks\n\n1. Paint\n2. Sell\n",
            "items 4 | whole 1",
        ),
        (
            "# P\n\n## Phase 1: steps\n\n1. Cut\n2. Glue\n\n## Phase 2: steps\n\n1. Paint\n2. Sell\n",
            "headings 2 | items 4 | whole 1",
        ),
        (
            "# P\n\n## Completed steps\n\n1. Cut\n\n## Remaining steps\n\n1. Paint\n",
            "items 2",
        ),
        (
            "# P\n\n## Wood\n\n### Task 1: Cut\n\nDo.\n\n## Glass\n\n### Task 1: Blow\n\nDo.\n",
            "headings 2 | whole 1",
        ),
        (
            "# P\n\n## Part 1\n\n### Task 1: Cut\n\nDo.\n\n## Part 2\n\n### Task 1: Blow\n\nDo.\n",
            "headings 2",
        ),
    ]);
}

/// Returns an ExecPlan with this progress, and with what stands below it.
fn execplan(progress: &str, more: &str) -> String {
    format!(
        "# Box\n\nThis ExecPlan is a living document.\n\n## Purpose / Big Picture\n\nA box.\n\n\
         ## Progress\n\n{progress}\n## Decision Log\n\n- None.\n\n{more}"
    )
}

#[test]
fn milestones_that_no_progress_mentions_are_work() {
    let milestones = "## Plan of Work\n\n### Milestone 1: Cut the wood\n\nWith a saw.\n\n\
                      ### Milestone 2: Glue the frame\n\nWith glue.\n";
    let names = execplan(
        "- [x] Milestone 1\n- [ ] Milestone 2: one side\n",
        milestones,
    );
    let words = execplan("- [ ] Saw the wood\n- [ ] Put the frame up\n", milestones);
    let one = execplan("- [ ] Milestone 1\n", milestones);
    let none = execplan("- [ ] (2026-01-01) Write the plan\n", milestones);
    require(&[
        (&names, "execplan 2"),
        (&words, "boxes 2 | headings 2 | whole 1"),
        (&one, "boxes 1 | headings 2 | whole 1"),
        (&none, "boxes 1 | headings 2 | whole 1"),
    ]);
}

#[test]
fn an_execplan_in_name_only_is_asked_about() {
    let log = "# Box\n\nThis ExecPlan is a living document.\n\n## Purpose / Big Picture\n\nA box.\n\n\
               ## Concrete Steps\n\nCut it, then glue it.\n\n## Checkpoint log\n\n\
               - [x] (2026-01-01) Wood bought\n- [ ] (2026-01-02) Ask Ann\n";
    let elsewhere = execplan("- [ ] Cut\n", "## Concrete Steps\n\n- [ ] Buy a saw\n");
    let checks = execplan(
        "- [ ] Cut\n",
        "## Validation and Acceptance\n\n- [ ] It holds\n",
    );
    require(&[
        (log, "boxes 1 | whole 1"),
        (&elsewhere, "boxes 1 | whole 1"),
        (&checks, "execplan 1"),
    ]);
}

#[test]
fn the_table_of_a_report_is_asked_about() {
    let rows = "| # | Task | Status |\n|---|---|---|\n| 1 | Cut | Open |\n| 2 | Glue | Open |\n";
    let plan = format!("# Box\n\n## Phase 1\n\n{rows}\n## Notes\n\n- Ann helps.\n");
    let report =
        format!("# Review of the box\n\n## Findings\n\nIt leaks.\n\n## Follow-up\n\n{rows}");
    let figures = format!(
        "# Review of the box\n\n| Side | Leak |\n|---|---|\n| left | 3 |\n\n## Follow-up\n\n{rows}"
    );
    require(&[
        (&plan, "status-table 2"),
        (&report, "table 2 | whole 1"),
        (&figures, "table 2 | whole 1"),
    ]);
}

#[test]
fn numbered_sections_of_a_document_are_asked_about_unless_none_may_be_work() {
    require(&[
        (
            "# Box\n\n## 1. Background\n\nWe have none.\n\n## 2. Goals\n\nOne that holds.\n\n\
             ## 3. Design\n\nIt is round.\n\n## 4. Open questions\n\nWhich wood?\n",
            "headings 3 | whole 1",
        ),
        (
            "# Box\n\n## 1. Background\n\nWe have none, and need one.\n\n## 2. Goals\n\nOne box.\n\n\
             ## 3. Risks\n\nIt leaks.\n",
            "whole 1",
        ),
        (
            "# Box\n\n## 1. Cut\n\nWith a saw of steel.\n\n## 2. Glue\n\nWith glue.\n",
            "headings 2 | whole 1",
        ),
    ]);
}

#[test]
fn headings_that_count_on_across_sections_are_no_remarks() {
    let counted = "# P\n\n## Open\n\n### 1. Cut\n\nWith a saw.\n\n## Next month\n\n\
                   ### 2. Glue\n\nWith glue.\n";
    let beside = format!("{counted}\n## This week\n\n- [ ] Buy a saw\n");
    let anew = "# P\n\n- [ ] Buy\n\n## Wood\n\n### 1. Kinds\n\nOak.\n\n## Glass\n\n\
                ### 1. Kinds\n\nClear.\n";
    require(&[
        (counted, "headings 2 | whole 1"),
        (&beside, "headings 2 | boxes 1 | whole 1"),
        (anew, "boxes 1"),
        (
            "# P\n\n## Wood\n\n### 4294967295. Cut\n\nDo.\n\n## Glass\n\n### 1. Blow\n\nDo.\n",
            "whole 1",
        ),
    ]);
}

#[test]
fn a_phase_without_tasks_beside_those_with_some_is_asked_about() {
    require(&[
        (
            "# P\n\n## Phase 1\n\n### Step 1: Cut\n\nDo.\n\n## Phase 2\n\n### Test 1: It holds\n\n\
             See.\n\n### Test 2: It shuts\n\nSee.\n",
            "headings 3 | whole 1",
        ),
        (
            "# P\n\n## Phase 1\n\n### Step 1.1\n\nDo.\n\n## Phase 2\n\n### Move the box\n\nDo.\n",
            "headings 2 | whole 1",
        ),
        (
            "# P\n\n## Phase 1\n\n### Step 1.1\n\nDo.\n\n## Phase 2 (deferred)\n\nLater.\n",
            "headings 1",
        ),
        (
            "# Plan\n\n## 1. Tasks\n\n### Task 1: Cut\n\nDo.\n\n## 2. People\n\nAnn.\n",
            "headings 1",
        ),
    ]);
}

#[test]
fn counted_headings_are_the_tasks_among_those_with_fields() {
    require(&[
        (
            "# P\n\n## Phase 1\n\n**Prerequisites:** none\n\nCut.\n\n## Phase 2\n\nGlue.\n\n\
             ## Summary of it\n\nTwo days.\n",
            "headings 2 | whole 1",
        ),
        (
            "# P\n\n## Background\n\nNone.\n\n## Outline\n\n- Files: `a.rs`\n\n\
             ## Migration plan\n\n1. Cut\n2. Glue\n",
            "headings 2 | items 2 | whole 1",
        ),
        (
            "# P\n\n## 1. Aim\n\nA box.\n\n## 2. Parts\n\n### Milestone 1\n\nCut.\n\n\
             ### Milestone 2\n\nGlue.\n",
            "headings 2 | whole 1",
        ),
        (
            "# P\n\n## Phase A1 - Cut\n\nDo.\n\n## Phase A2 - Glue\n\nDo.\n",
            "headings 2 | whole 1",
        ),
        (
            "# P\n\n## Phase 0\n\nCut.\n\n## Phase 1a: Plane\n\nDo.\n\n## Phase 1\n\nGlue.\n",
            "headings 3 | whole 1",
        ),
        (
            "# P\n\n## Da fare\n\n### 1. Tagliare\n\nLegno.\n\n### 2. Incollare\n\nLati.\n",
            "headings 2 | whole 1",
        ),
    ]);
}

#[test]
fn a_second_numbered_list_is_asked_about_unless_one_is_called_the_work() {
    require(&[
        (
            "# Release plan\n\nRules:\n\n1. Be short\n2. Link it\n\n## Queue\n\n1. Cut\n2. Glue\n",
            "items 2 | whole 1",
        ),
        (
            "# P\n\n## Steps before you begin\n\n1. Cut\n2. Glue\n\n## Items of work\n\n3. Paint\n4. Sell\n",
            "items 4 | whole 1",
        ),
        ("# Tasks\n\n1. Cut\n2. Glue\n", "items 2"),
        (
            "# Tasks\n\n1. Cut\n2. Glue\n\n## More\n\n3. Paint\n4. Sell\n",
            "items 4 | whole 1",
        ),
        (
            "# Tasks\n\n1. Cut\n2. Glue\n\nNotes:\n\n1. Be quick.\n",
            "items 3 | whole 1",
        ),
        (
            "# Tasks\n\n1. Cut\n2. Glue\n\nThen the lid:\n3. Paint\n4. Sell\n",
            "items 2 | whole 1",
        ),
        (
            "# P\n\n## Design of it\n\n1. Round\n2. Red\n\n## Implementation steps\n\n1. Cut\n2. Glue\n",
            "items 2",
        ),
    ]);
    require(&[
        (
            "# Roadmap\n\n### Wood\n\n1. Cut\n2. Glue\n\n### Glass\n\n3. Blow\n",
            "items 3 | whole 1",
        ),
        (
            "# P\n\n## Plan\n\n1. Cut\n2. Glue\n\n### Afterwards\n\n3. Sell\n",
            "items 3 | whole 1",
        ),
    ]);
    let source = "# P\n\n## Design of it\n\n1. Round\n2. Red\n\n## Tasks\n\n1. Cut\n2. Glue\n";
    let (plan, _) = read(source, &KnownNames::default());
    let lines: Vec<usize> = plan.skipped.iter().map(|skipped| skipped.line).collect();
    assert_eq!(lines, [5, 6], "what is beside the tasks is listed");
}

#[test]
fn numbered_headings_of_one_section_are_asked_about_beside_boxes_that_nothing_calls_the_work() {
    let counted = "# P\n\n## Open\n\n### 1. Cut\n\nDo.\n\n### 2. Glue\n\nDo.\n\n";
    let done = format!("{counted}## Done\n\n- [x] Buy wood\n");
    let tasks = format!("{counted}## Tasks\n\n- [ ] Buy wood\n");
    require(&[
        (&done, "headings 2 | boxes 0 | whole 1"),
        (&tasks, "boxes 1"),
        (
            "# P\n\n## Setup\n\n- [ ] Buy wood\n\n## Log\n\n### 2026-01-14\n\nDone.\n\n\
             ### 2026-01-15\n\nDone.\n",
            "boxes 1",
        ),
        (
            "# P\n\n## Setup\n\n- [ ] Buy wood\n\n## Releases\n\n### 1.1 first\n\nDone.\n\n\
             ### 1.2 second\n\nDone.\n",
            "boxes 1",
        ),
    ]);
}

#[test]
fn the_title_of_a_document_with_phases_is_no_task() {
    require(&[
        (
            "# Task 50: Make it\n\n## Phase 1: Cut\n\nDo.\n\n## Phase 2: Glue\n\nDo.\n",
            "headings 2 | whole 1",
        ),
        ("# Task 50: Make it\n\n## Why\n\nIt leaks.\n", "headings 1"),
    ]);
}

#[test]
fn headings_beside_tasks_are_listed_and_letters_count() {
    let source = "# P\n\n## Work\n\n### Task 1: Cut\n\nDo.\n\n### Task T.1: Try it\n\nDo.\n\n\
                  ### Write it down\n\nDo.\n";
    let (plan, _) = read(source, &KnownNames::default());
    let ids: Vec<&str> = plan.tasks.iter().map(|task| task.id.as_str()).collect();
    assert_eq!(ids, ["T1", "TT.1"]);
    let lines: Vec<usize> = plan.skipped.iter().map(|skipped| skipped.line).collect();
    assert_eq!(lines, [13]);
}

#[test]
fn the_only_lists_of_a_document_may_be_tasks_in_any_language() {
    let list = "1. Dach decken\n2. Wände streichen\n3. Boden legen\n";
    let german = format!("# Umbau\n\nWir bauen das Haus um.\n\n## Aufgaben\n\n{list}");
    let title = format!("# Umbau\n\n{list}");
    let facts = format!("# Umbau\n\n## Overview\n\n{list}");
    let beside = format!("# Umbau\n\n## Haus\n\n- alt\n- schön und gross\n\n## Grund\n\n{list}");
    let ids = "# P\n\n## Entries\n\n- [DL-001] Write it\n- [DL-002] Print it\n";
    require(&[
        (&german, "items 3 | whole 1"),
        (&title, "items 3 | whole 1"),
        (&facts, "whole 1"),
        (&beside, "items 3 | whole 1"),
        (
            &beside.replace("Grund\n", "Grund\n\nSo geht es:\n"),
            "whole 1",
        ),
        (&beside.replace("Haus", "Goals"), "items 3 | whole 1"),
        (
            "# 計画\n\n## 手順\n\n1. 屋根を直す\n2. 壁を塗る\n",
            "items 2 | whole 1",
        ),
        (ids, "items 2 | whole 1"),
        (
            &ids.replace("[DL-001]", "**[DL-001]**")
                .replace("[DL-002]", "**[DL-002]**"),
            "items 2 | whole 1",
        ),
        (
            "# P\n\n## Entries\n\n- T1: Write it\n- T2: Print it\n",
            "items 2 | whole 1",
        ),
        (
            "# P\n\n## Entries\n\n- [one] Write it\n- [two] Print it\n",
            "whole 1",
        ),
        ("# P\n\n## Tasks\n\n1. Write it\n2. Print it\n", "items 2"),
    ]);
}

#[test]
fn headings_that_different_words_count_are_one_series() {
    let two = "# P\n\n## Work\n\n### PR 1: Parse\n\nText.\n\n### Improvement 2: Print\n\nText.\n";
    let three = two.replace("### Imp", "### PR 2: Read\n\nText.\n\n### Imp");
    let beside_task = two.replace("PR 1", "Task 1");
    let in_plan = format!(
        "# P\n\n## Context\n\nSlow.\n\n{}\n## Verification\n\nTry.\n",
        &two[5..]
    );
    require(&[
        (two, "headings 2 | whole 1"),
        (&three, "headings 3 | whole 1"),
        (&beside_task, "headings 2 | whole 1"),
        (&in_plan, "headings 2 | whole 1"),
    ]);
}

#[test]
fn numbered_sections_without_boxes_beside_others_with_boxes_are_asked_about() {
    let plan = "# P\n\n## 1. Parser\n\nWrite it.\n\n## 2. Printer\n\n- [ ] Write\n\n## Docs\n\n- [ ] Tell\n";
    let full = plan.replace("Write it.", "- [ ] Parse");
    let all_in_one = plan.replace("## Docs", "## Acceptance criteria");
    let described = plan.replace("Parser", "Background");
    let two = plan.replace("## Docs", "## 3. Docs");
    require(&[
        (plan, "headings 2 | boxes 2 | whole 1"),
        (&full, "boxes 3"),
        (&all_in_one, "boxes 1"),
        (&described, "boxes 2"),
        (&two, "headings 3 | boxes 2 | whole 1"),
    ]);
}

#[test]
fn a_report_of_a_bug_lists_no_work() {
    let report = "# The page is empty\n\n## Steps to reproduce\n\n1. Open the page\n2. Click on it\n\n\
        ## Expected behaviour\n\nIt is drawn.\n";
    reads(
        report,
        "\
the_page_is [todo] The page is empty | details The goal is everything that the whole of this plan describes.
> the_page_is: nothing comes before
warnings 1: nothing in it is certain to be a task, so the whole document is the goal of one agent
",
    );
}

#[test]
fn rows_that_are_all_done_are_certain() {
    let plan = "# Completed work\n\nText.\n\n| Item | Status | Where |\n|---|---|---|\n\
        | Parse it | complete | `a.rs` |\n| Print it | complete | `b.rs` |\n\n## Background\n\nText.\n";
    reads(
        plan,
        "\
parse_it [done] Parse it | details Where: `a.rs`
print_it [done] Print it | details Where: `b.rs`
",
    );
}

#[test]
fn a_table_that_counts_tasks_has_none() {
    let source = "# P\n\n## Phase 1\n\n- [ ] Cut\n- [ ] Glue\n\n## Sum\n\n| Phase | Tasks | Weight |\n|---|---|---|\n\
                  | 1 Wood | 2 | low |\n| **All** | **2** | |\n";
    require(&[(source, "boxes 2")]);
}

#[test]
fn a_document_that_marks_some_work_as_done_is_no_certain_goal() {
    let landed = "# Moving the shop\n\n## ✅ Moved in May\n\nThe shelves stand in the new hall.\n\n## Remarks\n\n\
                  The old keys still open the gate of the yard.\n";
    require(&[
        (landed, "whole 1"),
        (&landed.replace('✅', "✨"), "whole 1"),
    ]);
    let asked = |source: &str| !read(source, &KnownNames::default()).1.is_empty();
    assert!(asked(landed));
    assert!(!asked(&landed.replace('✅', "✨")));
}

#[test]
fn phases_that_letters_count_may_be_tasks() {
    let source = "# P\n\n## Phase A: Cut\n\nCut the wood with the saw in the yard.\n\n## Phase B: Glue\n\nGlue all parts.\n";
    require(&[(source, "headings 2 | whole 1")]);
}

#[test]
fn a_list_that_is_gone_through_again_and_again_is_no_plan() {
    let boxes =
        "## Code\n\n- [ ] It compiles\n- [ ] No warnings\n\n## Docs\n\n- [ ] The README is right\n";
    let asked = |source: &str| !read(source, &KnownNames::default()).1.is_empty();
    assert!(asked(&format!("# Pre-Commit Checklist\n\n{boxes}")));
    assert!(asked(&format!(
        "# Quality\n\nRead it before each commit.\n\n{boxes}"
    )));
    assert!(asked(&format!("# Validation checklist\n\n{boxes}")));
    assert!(asked(&format!(
        "# Shop\n\nBefore every release:\n\n{boxes}"
    )));
    assert!(!asked(&format!("# Launch checklist\n\n{boxes}")));
    assert!(!asked(&format!("# Launch\n\nWe commit often.\n\n{boxes}")));
    assert!(!asked(&format!(
        "# Release implementation checklist\n\n{boxes}"
    )));
    assert!(!asked(&format!("# Checklist\n\n{boxes}")));
}
