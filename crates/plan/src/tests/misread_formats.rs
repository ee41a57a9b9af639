//! Tests of documents of known formats that were misread once: work that is done and ran again,
//! and parts of a plan that were lost without a word.

use crate::check::readings;
use crate::parse;
use crate::tests::styles::reads;
use crate::{KnownNames, ReadAs};

const OF_SUPERPOWERS: &str = "# Search index\n\n**Status:** Completed. It was merged.\n\n\
    > **For agentic workers:** REQUIRED: Use superpowers:executing-plans to implement it.\n\n\
    ### Task 1: Build the index\n\n**Files:**\n- Create: `src/index.rs`\n\n\
    - [x] **Step 1: Write the test**\n- [ ] **Step 2: Write the code**\n\n\
    ### Task 2: Describe it\n\nIn the manual.\n";

#[test]
fn a_status_that_a_document_says_of_itself_counts_in_each_format() {
    reads(OF_SUPERPOWERS, "\
T1 [done] Build the index | files src/index.rs | details [x] **Step 1: Write the test** / [ ] **Step 2: Write the code**
T2 [done] Describe it | details In the manual.
line 7: the document says that all its work is done, or not to be done
line 15: the document says that all its work is done, or not to be done
");
    let checklist = "# Tasks\n\nStatus: done\n\n## Phase 1: Setup\n\n\
        - [ ] T001 Make the crate\n- [ ] T002 [P] Make the tests\n";
    reads(
        checklist,
        "\
T001 [done] Make the crate
T002 [done] Make the tests
line 7: the document says that all its work is done, or not to be done
line 8: the document says that all its work is done, or not to be done
",
    );
}

#[test]
fn the_phases_of_a_roadmap_may_be_items() {
    let roadmap = "# Roadmap\n\n- **Phase 1**: Ledger\n  Plans:\n  - [x] 01-01-PLAN.md — tables\n\
        \x20 - [x] 01-01-02-SUMMARY.md\n- **Phase 2**: Report\n  Plans:\n  - [ ] 02-01-PLAN.md — sums\n  - [ ] 02-02-PLAN.md — page\n\
        - **Phase 3**: Send it by mail.\n- **Phase 4**: Print it.\n";
    reads(
        roadmap,
        "\
01-01 [done] tables | details Part of Phase 1: Ledger / Plans:
01_01_02_summary [done] 01-01-02-SUMMARY.md | details Part of Phase 1: Ledger / Plans:
02-01 [todo] sums | details Part of Phase 2: Report / Plans:
02-02 [todo] page | details Part of Phase 2: Report / Plans:
P3 [todo] Phase 3: Send it by mail.
P4 [todo] Phase 4: Print it.
> 02-01: nothing comes before
> 02-02: after 02-01: its number
> P3: after 02-02: the phase before
> P4: after P3: its number
",
    );
    let boxed = "- [x] **Phase 1**: Ledger\n  - [ ] 01-01: tables\n- [ ] **Phase 2**: Report\n  \
        - [ ] 02-01: sums\n- [ ] **Phase 3**: Send it\n";
    reads(
        boxed,
        "\
01-01 [done] tables | details Part of Phase 1: Ledger
02-01 [todo] sums | details Part of Phase 2: Report
P3 [todo] Phase 3: Send it
> 02-01: nothing comes before
> P3: after 02-01: the phase before
line 2: it is an open step of a task that is done: write it beside that task to have it carried out
",
    );
}

#[test]
fn a_group_of_agent_os_is_done_once_its_own_box_is() {
    let list = "# Task Breakdown: Upload\n\n#### Task Group 1: Storage\n**Dependencies:** None\n\n\
        - [x] 1.0 Complete the storage\n  - [x] 1.1 Write the tests\n  - [ ] 1.2 Try it by hand\n\n\
        #### Task Group 2: Form\n**Dependencies:** Task Group 1\n\n\
        - [ ] 2.0 Complete the form\n  - [x] 2.1 Draw it\n";
    reads(list, "\
T1 [done] Storage | details [x] 1.0 Complete the storage /   - [x] 1.1 Write the tests /   - [ ] 1.2 Try it by hand
T2 [todo] Form | details [ ] 2.0 Complete the form /   - [x] 2.1 Draw it
> T2: nothing comes before
line 8: it is an open step of a task that is done: write it beside that task to have it carried out
");
}

#[test]
fn groups_of_agent_os_are_named_by_any_words_for_them() {
    let list = "# Task Breakdown: Upload\n\n### GROUP 1: Storage\n\n**Dependencies:** None\n\n\
        - [ ] 1.0 Complete it\n  - [ ] 1.1 Write it\n\n### GROUP 2: Form\n\n\
        **Dependencies:** Task Group 1\n\n- [ ] 2.0 Complete it\n  - [ ] 2.1 Draw it\n\n\
        ### GROUP 3: Manual\n\n**Dependencies:** Task Groups 1, 2\n\n\
        - [ ] 3.0 Complete it\n  - [ ] 3.1 Write it\n";
    reads(
        list,
        "\
T1 [todo] Storage | details [ ] 1.0 Complete it /   - [ ] 1.1 Write it
T2 [todo] Form | details [ ] 2.0 Complete it /   - [ ] 2.1 Draw it
T3 [todo] Manual | details [ ] 3.0 Complete it /   - [ ] 3.1 Write it
> T1: nothing comes before
> T2: after T1: dependency
> T3: after T2: dependency
",
    );
}

#[test]
fn the_tasks_of_a_story_may_be_headings() {
    let story = "# Story 3.2: Offline mode\n\n**Status**: ready-for-dev\n\n\
        **Depends On**: [Story 3.1: Cache](./3.1.story.md)\n\n## Story\n\nAs a reader, I want it.\n\n\
        ## Acceptance Criteria\n\n1. It works without a network\n\n## Tasks / Subtasks\n\n\
        ### Task 1: Keep the pages (AC-1)\n- [ ] add a store\n- [ ] fill it\n\n\
        ### Task 2: Read them\n- [x] read the store\n\n## Dev Notes\n\nKeep it small.\n";
    reads(
        story,
        "\
T1 [todo] Keep the pages (AC-1) | details [ ] add a store / [ ] fill it
T2 [done] Read them | details [x] read the store
> T1: nothing comes before
",
    );
}

#[test]
fn all_automated_checks_of_a_task_are_its_verification() {
    let plan = |verify: &str| {
        format!(
            "<task type=\"auto\">\n<name>Task 1: Add it</name>\n<action>Both.</action>\n\
             <verify>\n{verify}\n</verify>\n</task>\n"
        )
    };
    let both = "<automated>cargo test a</automated>\n<automated>`cd x; make check`</automated>";
    reads(&plan(both), "\
T1 [todo] Add it | details <action>Both.</action> / <verify> / <automated>cargo test a</automated> / <automated>`cd x; make check`</automated> / </verify> | verify set -e / ( / cargo test a / ) / ( / cd x; make check / )
> T1: nothing comes before
warnings 1: tasks of GSD have no status, so landing will not mark them as done
");
    let one = "<automated>cargo test a</automated>\n<automated>Look at the page.</automated>";
    reads(&plan(one), "\
T1 [todo] Add it | details <action>Both.</action> / <verify> / <automated>cargo test a</automated> / <automated>Look at the page.</automated> / </verify>
> T1: nothing comes before
warnings 1: tasks of GSD have no status, so landing will not mark them as done
warnings 6: not all of these checks are commands, so none of them is run
");
}

#[test]
fn a_reading_without_open_tasks_says_how_many_are_done() {
    let plan =
        "### Task 1: A\n\n- [x] a\n\n### Task 2: B\n\n- [x] b\n\n## Rest\n\n- [ ] c\n- [ ] d\n";
    let (plan, _) = parse::read(plan, &KnownNames::default());
    assert_eq!(
        readings::render(&plan.readings),
        "\nWays to read it:\n\
   \x20 headings  2 tasks, all done  the plan's tasks are its headings\n\
   \x20 boxes        2 tasks  the plan's tasks are its boxes\n\
   \x20                       c\n\
   \x20                       d\n\
   \x20 whole        1 task   the whole document is one goal\n"
    );
}

#[test]
fn each_milestone_of_an_execplan_is_recorded_or_asked_about() {
    let plan = "This ExecPlan is a living document.\n\n## Progress\n\n- [x] Milestone 1: parse\n\n\
        ## Plan of Work\n\n### Milestone 1: parse\n\nRead it.\n\n### Milestone 2: render\n\nShow it.\n";
    reads(plan, "\
milestone_1 [done] Milestone 1: parse
errors 1: this plan can be read in several ways, since its progress does not mention \"Milestone 2: render\"
");
}

#[test]
fn only_a_number_that_is_repeated_gets_another_name() {
    let list = "# Tasks\n\n## Phase 1: Setup\n\n- [ ] T001 Make the crate\n- [ ] T002 [P] Check it\n\n\
        ## Phase 2: Commands\n\n- [ ] T002 [P] [US1] Add init\n- [ ] T003 [US1] Add build (depends: T001)\n\
        - [ ] T004 [US1] Add run (depends: T002)\n";
    reads(
        list,
        "\
P1-T001 [todo] Make the crate
P1-T002 [todo] Check it
P2-T002 [todo] Add init | details Story: US1
P2-T003 [todo] Add build | details Story: US1
P2-T004 [todo] Add run | details Story: US1
> P1-T001: nothing comes before
> P1-T002: after P1-T001: the plan's order
> P2-T002 / P2-T003: after P1-T002: the phase before; together: nothing orders them
> P2-T004: after P2-T002: dependency
warnings 10: the numbers restart, so each id begins with its part of the plan
",
    );
    let restarts = "## Part A\n\n- [ ] T1 a\n- [ ] T2 b\n- [ ] T3 c\n\n## Part B\n\n- [ ] T1 d\n\
        - [ ] T2 e (depends: T1, T3)\n";
    reads(
        restarts,
        "\
P1-T1 [todo] a
P1-T2 [todo] b
P1-T3 [todo] c
P2-T1 [todo] d
P2-T2 [todo] e
> P1-T1: nothing comes before
> P1-T2: after P1-T1: the plan's order
> P1-T3: after P1-T2: the plan's order
> P2-T1: after P1-T3: the plan's order
> P2-T2: after P2-T1: dependency
warnings 9: the numbers restart, so each id begins with its part of the plan
",
    );
}

#[test]
fn a_field_may_say_the_id_of_a_task() {
    let plan = "# Tasks\n\n### Task 1: Init\n- **ID**: T-1\n- **Files**: `a.json`\n\n\
        ### Task 2: Sort\n- **ID**: T-4\n- **Depends on**: T-1\n- **Files**: `b.js`\n\n\
        ### Task 3: Hide\n- **ID**: `HIDE-3`\n- **Depends on**: T-4\n- **Files**: `c.js`\n";
    reads(
        plan,
        "\
T-1 [todo] Init | files a.json | details **ID**: T-1
T-4 [todo] Sort | files b.js | details **ID**: T-4
HIDE-3 [todo] Hide | files c.js | details **ID**: `HIDE-3`
> T-1: nothing comes before
> T-4: after T-1: dependency
> HIDE-3: after T-4: dependency
",
    );
}

#[test]
fn a_story_without_tasks_whose_boxes_are_checks_is_asked_about() {
    let story = "# Story 4.2: Archive\n\n## Acceptance Criteria\n\n- It is kept\n\n\
        ## Definition of Done\n\n- [ ] All of it works\n- [ ] Tests pass\n";
    reads(story, "\
US-4.2 [todo] Archive | details ## Acceptance Criteria / It is kept / ## Definition of Done / [ ] All of it works / [ ] Tests pass
errors 1: this plan can be read in several ways, since it is a story without tasks, and its boxes are what it is checked by
");
    let (plan, _) = parse::read(story, &KnownNames::default());
    let ways: Vec<&str> = plan.readings.iter().map(|own| own.read.as_str()).collect();
    assert_eq!(ways, ["headings", "boxes"]);
    let known = KnownNames {
        read: Some(ReadAs::Boxes),
        ..KnownNames::default()
    };
    assert_eq!(parse::read(story, &known).1, []);
}

#[test]
fn boxes_of_a_story_that_its_record_repeats_are_no_tasks() {
    let story = "# Story 1.2: Bot\n\n## Status\n\nApproved\n\n## Story\n\nAs a user, I want a bot.\n\n\
        ## Acceptance Criteria\n\n1. It answers\n\n## Tasks / Subtasks\n\n\
        - [x] Task 1: Make the bot (AC: 1, 4)\n- [ ] Task 2: Answer a ping (AC: 1)\n\n\
        ## Dev Agent Record\n\n- [x] Make the bot (AC: 1)\n- [ ] Answer a ping (AC: 1)\n";
    reads(
        story,
        "\
T1 [done] Make the bot (AC: 1, 4)
T2 [todo] Answer a ping (AC: 1)
> T2: nothing comes before
line 22: a box outside of the tasks of the story
line 23: a box outside of the tasks of the story
",
    );
}

#[test]
fn a_plan_of_claude_whose_headings_any_word_counts_is_asked_about() {
    let plan = "# Split the parser\n\n## Context\n\nIt is one file.\n\n\
        ### PR 1: Move the lexer\n\nMove it.\n\n### PR 2: Move the errors\n\nMove them.\n\n\
        ## Verification\n\nAll tests pass.\n";
    reads(
        plan,
        "\
pr_1_move_the [todo] PR 1: Move the lexer | details Move it.
pr_2_move_the [todo] PR 2: Move the errors | details Move them.
errors 1: this plan can be read in several ways, since headings in a series may be tasks or chapters
",
    );
}

#[test]
fn why_a_task_comes_first_is_no_dependency() {
    let list = "# Tasks\n\n- [ ] 1. Draw the table\n- [ ] 2. Fill it (Depends on: Task 1 - it has to be there)\n\
        - [ ] 3. Sort it (Depends on: Task 2 – reason)\n";
    reads(
        list,
        "\
1 [todo] Draw the table
2 [todo] Fill it
3 [todo] Sort it
> 1: nothing comes before
> 2: after 1: dependency
> 3: after 2: dependency
",
    );
}

#[test]
fn the_criteria_that_a_task_is_for_are_no_field() {
    reads(
        "# Story\n\n### Task 1: Draw it (AC: 1, 4)\n\n- with ink\n\n### Task 2: Send it (ACs: 2)\n",
        "\
T1 [todo] Draw it (AC: 1, 4) | details with ink
T2 [todo] Send it (ACs: 2)
> T1: nothing comes before
> T2: after T1: its number
",
    );
}

#[test]
fn a_task_of_gsd_may_be_named_in_its_tag() {
    let plan = "---\nphase: 02\nplan: 01\n---\n\n<tasks>\n\
        <task id=\"ui-01\" title=\"Draw the list -> page\">\n\
        <description>\nOne row each.\n</description>\n</task>\n\n\
        <task type='auto' name='Fill it'>\n<description>\nFrom the store.\n</description>\n\
        </task>\n</tasks>\n\n<verification_criteria>\n- [ ] It is drawn\n\
        - [ ] It is filled\n</verification_criteria>\n";
    reads(
        plan,
        "\
ui-01 [todo] Draw the list -> page | details <description> / One row each. / </description>
fill_it [todo] Fill it | details <description> / From the store. / </description>
> ui-01: nothing comes before
> fill_it: after ui-01: the plan's order
line 21: the plan's tasks are its `<task>` elements
line 22: the plan's tasks are its `<task>` elements
warnings 7: tasks of GSD have no status, so landing will not mark them as done
",
    );
}

#[test]
fn the_open_box_of_a_phase_whose_plans_are_done_is_said() {
    let roadmap = "# Roadmap\n\n- [x] **Phase 1: Build**\n- [ ] **Phase 2: Deploy**\n\n\
        ## Phase Details\n\n### Phase 1: Build\n\nPlans:\n- [x] 01-01: make it\n\n\
        ### Phase 2: Deploy\n\nPlans:\n- [x] 02-01: put it there\n";
    reads(
        roadmap,
        "\
01-01 [done] make it
02-01 [done] put it there
line 4: the plans of this phase are done, but its own box is open
",
    );
}

#[test]
fn a_parent_of_kiro_with_requirements_of_its_own_is_a_task() {
    let beside = "# Implementation Plan\n\n- [ ] 1. Build the frame\n  - Cut the wood\n  - _Requirements: 1.1_\n\n\
                  - [ ] 1.1 Test the frame\n  - Load it\n  - _Requirements: 1.1_\n\n- [ ] 2. Paint\n\n- [ ] 2.1 Paint it red\n  - _Requirements: 2.1_\n";
    reads(
        beside,
        "\
1 [todo] Build the frame | details Cut the wood / _Requirements: 1.1_
1.1 [todo] Test the frame | details Part of 1: Build the frame / Cut the wood / _Requirements: 1.1_ / Load it / _Requirements: 1.1_
2.1 [todo] Paint it red | details Part of 2: Paint / _Requirements: 2.1_
> 1: nothing comes before
> 1.1: after 1: dependency
> 2.1: after 1.1: its number
",
    );
    let within = "# Implementation Plan\n\n- [ ] 1. Build the frame\n  - [ ] 1.1 Cut it\n  - [ ] 1.2 Glue it\n  - _Requirements: 1.1_\n";
    let (plan, _) = parse::read(within, &KnownNames::default());
    let ids: Vec<&str> = plan.tasks.iter().map(|task| task.id.as_str()).collect();
    assert_eq!(ids, ["1.1", "1.2"]);
}

#[test]
fn a_blank_may_stand_before_the_colon_of_a_task() {
    reads(
        "# Atelier\n\n### Task 1 : Couper le bois\n\nAvec la scie.\n",
        "\
T1 [todo] Couper le bois | details Avec la scie.
> T1: nothing comes before
",
    );
}
