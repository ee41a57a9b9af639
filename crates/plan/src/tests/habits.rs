//! Tests of habits that plans have beside their styles: checkpoints, groups, criteria, sections of
//! what is not to be done now, and marks and numbers of other products.

use crate::parse::read;
use crate::tests::styles::{reads, written};
use crate::{KnownNames, Plan};
use orchestrate_core::task::TaskStatus;

fn plan(source: &str) -> Plan {
    let (plan, errors) = read(
        source,
        &KnownNames::roles(["implementer", "reviewer", "tester"]),
    );
    assert!(errors.is_empty(), "{source}\n{errors:#?}");
    plan
}

const KIRO: &str = "\
# Implementation Plan

- [-] 1. Models
  - [x] 1.1 Interfaces
    - _Requirements: 1.1_
  - [-] 1.2 User
  - [ ]* 1.3 Write unit tests

- [ ] 2. Checkpoint - Ensure all tests pass

- [ ] 3. Routes
  - [ ] 3.1 Read
  - [ ] 3.2 Write

- [ ] 4. Final checkpoint - Ensure all tests pass
";

#[test]
fn tasks_that_only_check_may_change_nothing() {
    let ids = |source: &str| -> Vec<String> {
        let tasks = plan(source)
            .tasks
            .into_iter()
            .filter(|task| task.may_change_nothing);
        tasks.map(|task| task.id.to_string()).collect()
    };
    assert_eq!(ids(KIRO), ["2", "4"]);
    assert_eq!(
        ids(
            "- [ ] T1 Write tests\n- [ ] T2 Verify the login\n- [ ] T3 Add a page\n\
                    - [ ] T4 Test it (files: t)\n"
        ),
        ["T2"]
    );
}

#[test]
fn only_tests_and_reviews_behind_other_tasks_need_what_they_follow() {
    let ids = |source: &str| -> Vec<String> {
        let tasks = plan(source)
            .tasks
            .into_iter()
            .filter(|task| task.tests_what_it_follows);
        tasks.map(|task| task.id.to_string()).collect()
    };
    assert_eq!(ids(KIRO), ["1.3", "2", "4"]);
    assert_eq!(
        ids(
            "- [ ] T1 Write tests\n- [ ] T2 Add a page\n- [ ] T3 Write tests\n- [ ] T4 Add a form\n"
        ),
        ["T3"]
    );
    assert_eq!(
        ids("1. [ ] Add a page\n2. [ ] Test it\n3. [ ] Add a form\n"),
        ["test_it"]
    );
}

#[test]
fn the_box_of_a_group_is_ticked_with_the_last_of_its_tasks() {
    let expected = KIRO
        .replace("[-]", "[x]")
        .replace("[ ] 2.", "[x] 2.")
        .replace("[ ] 3.1", "[x] 3.1");
    written(KIRO, &["1.2", "2", "3.1"], &expected);
    let expected = expected.replace("[ ] 3", "[x] 3");
    written(KIRO, &["1.2", "2", "3.1", "3.2"], &expected);
    written(
        "- [ ] 1. A\n- [ ] 1.1 B\n- [ ] 1.2 C\n",
        &["1.1", "1.2"],
        "- [x] 1. A\n- [x] 1.1 B\n- [x] 1.2 C\n",
    );
    written(
        "- [ ] 1. A\n  - [ ] 1.1 B\n  - [!] 1.2 C\n",
        &["1.1"],
        "- [ ] 1. A\n  - [x] 1.1 B\n  - [!] 1.2 C\n",
    );
}

#[test]
fn a_group_passes_only_short_lists_to_its_tasks() {
    let parsed = |fields: usize| {
        let files: String = (0..fields)
            .map(|at| format!("  - files: {at}/{}\n", "a".repeat(1_000)))
            .collect();
        let (plan, errors) = read(
            &format!("- [ ] G\n{files}  - [ ] T1 x\n  - [ ] T2 y\n"),
            &KnownNames::default(),
        );
        let files: Vec<usize> = plan.tasks.iter().map(|task| task.files.len()).collect();
        (
            files,
            errors
                .into_iter()
                .map(|error| (error.line, error.message))
                .collect::<Vec<_>>(),
        )
    };
    let message = "the dependencies and paths of this group are too long, since each of its tasks has them as well";
    assert_eq!(parsed(10), (vec![10, 10], vec![]));
    assert_eq!(parsed(20), (vec![0, 0], vec![(1, message.to_owned())]));
}

#[test]
fn a_group_loses_none_of_the_boxes_below_it() {
    let source = "- [ ] 1 Setup\n  - [ ] 1.1 A\n  - Backend\n    - [ ] 1.2 B\n  - [] 1.3 C\n  - In Rust\n\
                  - [ ] 2 Rest\n  - [ ] 2.1 D\n- [ ] 2.2 E\n";
    reads(
        source,
        "\
1.1 [todo] A | details Part of 1: Setup / In Rust
1.2 [todo] B | details Part of 1: Setup / In Rust / Part of Backend
2.1 [todo] D | details Part of 2: Rest
2.2 [todo] E | details Part of 2: Rest
> 1.1: nothing comes before
> 1.2: after 1.1: its number
> 2.1: after 1.2: its number
> 2.2: after 2.1: its number
line 5: nearly a box: write `[ ]` or `[x]`, and a blank after it
",
    );
    written(source, &["2.2"], &source.replace("[ ] 2.2", "[x] 2.2"));
}

#[test]
fn a_group_passes_on_what_is_said_of_it() {
    let source = "- [ ]* 1 Extras\n  all of them small\n  - [ ] 1.1 A\n  - [ ] [P] 1.2 B\n  - [ ] Without a number\n";
    let (plan, _) = read(source, &KnownNames::default());
    let found: Vec<_> = plan
        .tasks
        .iter()
        .map(|task| (task.title.as_str(), task.optional, task.details.join("\n")))
        .collect();
    let details = "Part of 1: Extras\nall of them small".to_owned();
    assert_eq!(
        found,
        ["A", "B", "Without a number"].map(|title| (title, true, details.clone()))
    );
}

#[test]
fn what_has_only_optional_parts_is_a_task_itself() {
    let source = "- [ ] 1. Implement parser\n  - Build it in f.py\n  - [ ]* 1.1 Write unit tests\n- [ ] 2. Ship\n";
    reads(
        source,
        "\
1 [todo] Implement parser | details Build it in f.py
1.1 [todo] Write unit tests | details Part of 1: Implement parser / Build it in f.py
2 [todo] Ship
> 1: nothing comes before
> 2: after 1: its number
> 1.1: after 2: optional tasks come last
",
    );
    written(source, &["1"], &source.replace("[ ] 1.", "[x] 1."));
    let ids: Vec<String> = plan(source)
        .tasks
        .into_iter()
        .flat_map(|task| task.depends)
        .map(|id| id.to_string())
        .collect();
    assert_eq!(ids, ["1"], "only the part depends on anything");
    reads(
        "- [ ] 4. Wire everything\n- [ ]* 4.1 Optional docs\n- [ ]* 4.2 Optional demo\n",
        "\
4 [todo] Wire everything
4.1 [todo] Optional docs | details Part of 4: Wire everything
4.2 [todo] Optional demo | details Part of 4: Wire everything
> 4: nothing comes before
> 4.1: after 4: dependency
> 4.2: after 4.1: its number
",
    );
    reads(
        "- [!] 1 A\n  - [ ]* 1.1 B\n- [ ] 2 C (depends: 2.1)\n  - [ ]* 2.1 D\n",
        "\
1 [blocked] A
1.1 [blocked] B | details Part of 1: A
2 [todo] C
2.1 [todo] D | details Part of 2: C
> 2.1: nothing comes before
> 2: after 2.1: dependency
line 2: it is a part of what is blocked or put off
",
    );
}

#[test]
fn a_heading_is_the_task_and_the_boxes_below_it_are_its_criteria() {
    let stories = "\
# PRD: Priority

## User Stories

### US-001: Add priority
**Description:** As a developer I want priority.

**Acceptance Criteria:**
- [ ] Column exists
- [x] Type check passes

### US-002: Show priority

**Acceptance Criteria:**
- [ ] Badge
";
    reads(
        stories,
        "\
US-001 [todo] Add priority | details **Description:** As a developer I want priority. / **Acceptance Criteria:** / [ ] Column exists / [x] Type check passes
US-002 [todo] Show priority | details **Acceptance Criteria:** / [ ] Badge
> US-001: nothing comes before
> US-002: after US-001: the plan's order
",
    );
    written(
        stories,
        &["US-001"],
        &stories.replace("[ ] Column", "[x] Column"),
    );
    let tasks = "# Mixed\n\n## Tasks\n\n### Task 1: A\n- [ ] a1\n  - [ ] a2\n- [-] a3\n\n### Task 2: B\n- [ ] b1\n\n### Task 3: C\n\
                 Just text.\n";
    reads(
        tasks,
        "\
T1 [todo] A | details [ ] a1 /   - [ ] a2 / [-] a3
T2 [todo] B | details [ ] b1
T3 [todo] C | details Just text.
> T1: nothing comes before
> T2: after T1: its number
> T3: after T2: its number
",
    );
    written(tasks, &["T1"], &tasks.replace("[ ] a", "[x] a"));
    let criteria = "# Story 1: Users\n\n### Story 1.1: Login\nAs a user.\n\n#### Acceptance Criteria\n- [ ] form\n- [ ] \
                    cookie\n\n### Story 1.2: Logout\n\n#### Acceptance Criteria\n- [ ] button\n";
    reads(
        criteria,
        "\
US-1.1 [todo] Login | details As a user. / #### Acceptance Criteria / [ ] form / [ ] cookie
US-1.2 [todo] Logout | details #### Acceptance Criteria / [ ] button
> US-1.1: nothing comes before
> US-1.2: after US-1.1: its number
",
    );
    written(
        criteria,
        &["US-1.2"],
        &criteria.replace("[ ] button", "[x] button"),
    );
}

#[test]
fn headings_that_group_tasks_are_none() {
    reads(
        "## Task 1: Store\n\n### Task 1.1: Open\n\n- [ ] a\n\n### Task 1.2: Close\n\n- [ ] b\n\n## Task 2: Show\n\n#### Step \
         1: Draw\n\nText.\n",
        "\
T1.1 [todo] Open | details [ ] a
T1.2 [todo] Close | details [ ] b
T2 [todo] Show | details #### Step 1: Draw / Text.
> T1.1: nothing comes before
> T1.2: after T1.1: its number
> T2: after T1.2: its number
",
    );
}

const STEPS: &str = "\
### Task 1: Component

**Files:**
- Create: `a.py`

**Interfaces:**
- Produces: `def a(x: int) -> int`

- [ ] **Step 1: Write the failing test**

```python
# - [ ] not a task
```

- [ ] **Step 2: Run it**

Run: `pytest tests/test_a.py -v`

### Task 2: Other

**Files:**
- Modify: `b.py:12-20`

- [ ] **Step 1: Do it**

## Self-Review

- [ ] Spec coverage
";

#[test]
fn the_steps_of_a_task_say_that_it_is_done() {
    let first = STEPS.replacen("- [ ] **", "- [x] **", 2);
    written(STEPS, &["T1"], &first);
    written(STEPS, &["T1", "T2"], &STEPS.replace("- [ ] **", "- [x] **"));
    let status = |source: &str| {
        plan(source)
            .tasks
            .iter()
            .map(|task| task.status)
            .collect::<Vec<_>>()
    };
    assert_eq!(status(STEPS), [TaskStatus::Todo, TaskStatus::Todo]);
    assert_eq!(status(&first), [TaskStatus::Done, TaskStatus::Todo]);
    assert_eq!(
        status(&STEPS.replace("- [ ] **", "- [x] **")),
        [TaskStatus::Done, TaskStatus::Done]
    );
    // What the plan says itself counts.
    assert_eq!(
        status("### Task 1: A\n\n**Status:** open\n\n- [x] a\n"),
        [TaskStatus::Todo]
    );
}

#[test]
fn a_slash_is_a_task_in_progress_and_a_run_says_other_marks() {
    let source = "# Task\n\n- [/] Parse <!-- id: 2 -->\n- [?] Ask\n- [ ] Print <!-- id: 4 -->\n- [/]* Polish\n";
    reads(
        source,
        "\
2 [in_progress] Parse
4 [todo] Print
polish [in_progress] Polish
> 2: nothing comes before
> 4: after 2: its number
> polish: after 4: optional tasks come last
line 4: nearly a box: write `[ ]` or `[x]`, and a blank after it
",
    );
    written(source, &["2"], &source.replacen("[/]", "[x]", 1));
    let said = "1 line that looks like work is not run: `check` shows it";
    assert_eq!(plan(source).not_run("check").as_deref(), Some(said));
}

#[test]
fn sections_of_what_is_not_to_be_done_now_are_left_out_and_said() {
    let source = "# X\n\n## Now\n- [ ] Work\n\n## Backlog\n- [ ] Polish\n\n## Deferred\n- [ ] Export\n- [ ] Import\n\n## Won't do\n\
                  - [ ] Print\n\n## 4. Rollback\n- [ ] 4.1 Revert\n\n## Questions for Bob\n- [ ] Why?\n\n## Docs\n- [ ] Write\n";
    reads(
        source,
        "\
work [todo] Work
polish [todo] Polish
write [todo] Write
> work: nothing comes before
> polish: after work: tests, reviews and releases follow the work
> write: after polish: the plan's order
line 10: under \"Deferred\"
line 11: under \"Deferred\"
line 14: under \"Won't do\"
line 17: under \"4. Rollback\"
line 20: under \"Questions for Bob\", which waits for a person
",
    );
    let said = "5 lines that look like work are not run: `check` lists them";
    assert_eq!(plan(source).not_run("check").as_deref(), Some(said));
    assert_eq!(plan("# X\n\n- [ ] Work\n").not_run("check"), None);
    let (_, errors) = read("# X\n\n## Ideas\n\n- [ ] Print\n", &KnownNames::default());
    assert_eq!(
        errors.len(),
        1,
        "an idea is no task even where nothing else is: {errors:?}"
    );
}

#[test]
fn ids_are_read_after_emoji() {
    let source = "# Status\n\n- [ ] ✅ T-001: Set up\n- [x] 🚧 T-002: Parse\n- [ ] ⏳ T-003: Print (depends: T-001)\n- [ ] 📝 1.2 Docs\n\
                  - [ ] 🔥 Heat\n";
    reads(
        source,
        "\
T-001 [done] Set up
T-002 [done] Parse
T-003 [todo] Print
1.2 [todo] Docs
heat [todo] 🔥 Heat
> T-003: nothing comes before
> 1.2: after T-003: its number
> heat: after 1.2: the plan's order
line 3: its box is open, but it says `✅`: tick it, or cut this
",
    );
    written(source, &["T-003"], &source.replace("[ ] ⏳", "[x] ⏳"));
    reads(
        "## 🚀 Phase 1\n\n### 🔧 Task 1: Set up\n\n- [ ] a\n",
        "\
T1 [todo] Set up | details [ ] a
> T1: nothing comes before
",
    );
}

#[test]
fn ids_are_read_in_strikes_and_links() {
    reads(
        "- [ ] ~~T4 struck~~\n- [ ] [T6](issues/6) Title\n- [ ] T7 x (depends: T6)\n- [ ] ~~T8 old~~ new\n\
         - [x] T9 y (depends: T4)\n",
        "\
T4 [cancelled] struck
T6 [todo] Title
T7 [todo] x
T8 [todo] ~~old~~ new
T9 [done] y
> T6 / T8: nothing comes before; together: nothing orders them
> T7: after T6: dependency
",
    );
}

#[test]
fn numbers_of_ordered_boxes_count_within_their_section() {
    reads(
        "# Restart\n\n## Phase 1\n1. [ ] a\n2. [ ] b (depends: 1)\n## Phase 2\n1. [ ] c\n2. [ ] d\n3. [ ] e (depends: 1-2)\n\
         4. [ ] f (depends: a)\n",
        "\
a [todo] a
b [todo] b
c [todo] c
d [todo] d
e [todo] e
f [todo] f
> a: nothing comes before
> b: after a: dependency
> c / f: after b: the phase before; together: nothing orders them
> d: after c: its number
> e: after d: dependency
",
    );
}

#[test]
fn what_a_task_that_is_over_depends_on_may_be_gone() {
    reads(
        "- [x] T9 x (depends: T100)\n- [-] T8 y (depends: T101)\n- [ ] T7 z\n",
        "\
T9 [done] x
T8 [cancelled] y
T7 [todo] z
> T7: nothing comes before
warnings 1: there is no task `T100`
warnings 2: there is no task `T101`
",
    );
    for source in [
        "- [!] T1 a (depends: T9)\n",
        "- [ ] G (depends: T9)\n  - [x] T1 a\n  - [ ] T2 b\n",
    ] {
        let (_, errors) = read(source, &KnownNames::default());
        assert_eq!(errors.len(), 1, "{source}: {errors:?}");
    }
}

#[test]
fn open_work_is_not_read_as_done_for_a_word_in_its_title() {
    reads(
        "### Task 1: Handle sockets (closed)\n\nText.\n\n### Task 2: Parse (done)\n\nText.\n",
        "\
T1 [todo] Handle sockets (closed) | details Text.
T2 [done] Parse | details Text.
> T1: nothing comes before
",
    );
    reads(
        "## Phase 1: Sockets (closed)\n\n- Open them\n\n## Phase 2\n\n- Show messages (delivered)\n\
         - Show users (new)\n",
        "\
P1 [done] Phase 1: Sockets | details Open them
P2 [todo] Phase 2 | details Show messages (delivered) / Show users (new)
errors 1: this plan can be read in several ways, since headings in a series may be tasks or chapters
",
    );
}

#[test]
fn lines_that_are_nearly_tasks_are_said() {
    reads(
        "# P\n\n- [ ] Build\n-[ ] Test\n- [ ]Ship\n\n• [ ] Pack\n\n*[ ] Send\n– [ ] Tell\n\n## Acceptance\n\n\
         -[ ] criterion\n\nProse with [ ] in it.\n",
        "\
build [todo] Build | details -[ ] Test
line 4: nearly an item with a box: write `- [ ]` at the beginning of a line
line 5: nearly a box: write `[ ]` or `[x]`, and a blank after it
line 7: nearly an item with a box: write `- [ ]` at the beginning of a line
line 9: nearly an item with a box: write `- [ ]` at the beginning of a line
line 10: nearly an item with a box: write `- [ ]` at the beginning of a line
line 14: nearly an item with a box: write `- [ ]` at the beginning of a line
errors 1: this plan can be read in several ways, since many lines are nearly boxes
",
    );
    reads(
        "All of this:\n    - [ ] Build\n\n- [ ] Test\n",
        "\
test [todo] Test
> test: nothing comes before
line 2: nearly an item with a box: write `- [ ]` at the beginning of a line
",
    );
    reads(
        "# P\n\n- [ ] Build\n\n###Task 2: Test it\n",
        "\
build [todo] Build
> build: nothing comes before
line 5: no blank after the `#` marks, so this is no heading
",
    );
    let reason = "nearly an item with a box: write `- [ ]` at the beginning of a line";
    reads(
        "Do all of this:\n\n[ ] Build the tool\n[x] Test the tool\n",
        &format!("line 3: {reason}\nline 4: {reason}\nerrors 1: no tasks found\n"),
    );
}

#[test]
fn numbered_headings_with_fields_are_tasks_and_their_boxes_steps() {
    let plan = "# P\n### 1. Write lexer\n**Files:** src/a.py\n**Depends on:** none\n- [ ] lex\n\n### 2. Write printer\n\
                **Files:** src/b.py\n**Depends on:** 1\n- [ ] print\n";
    reads(
        plan,
        "\
1 [todo] Write lexer | files src/a.py | details [ ] lex
2 [todo] Write printer | files src/b.py | details [ ] print
> 1: nothing comes before
> 2: after 1: dependency
",
    );
    written(plan, &["1"], &plan.replace("[ ] lex", "[x] lex"));
    // A section describes its boxes if they are tasks by themselves, or if its fields do not make a
    // task.
    reads(
        "# P\n\n## 1. Store\n\n**Files:** src/a.py\n\n- [ ] 1.1 Read\n\n## 2. Show\n\n**Priority:** High\n\n- [ ] 2.1 Draw\n",
        "\
1.1 [todo] Read
2.1 [todo] Draw
> 1.1: nothing comes before
> 2.1: after 1.1: its number
",
    );
}

#[test]
fn headings_beside_those_of_tasks_are_tasks_or_said() {
    reads(
        "# P\n\n### Task 1: A\n**Files:** a.py\n\n### TASK-10: Do J\n**Depends on:** T1\n\n### JIRA-12: B\n\
         **Depends on:** TASK-10\n\n### ~~Task 2: B~~\n\n### Task 3: K\n**Depends on:** JIRA-12\n\n### FEAT-2 C\n\
         **Files:** c.py\n\n### Fix: D\n**Files:** d.py\n\n### 3. Sum up\n\nText.\n\n### Remarks\n\nText.\n",
        "\
T1 [todo] A | files a.py
TASK-10 [todo] Do J
JIRA-12 [todo] B
T2 [cancelled] B
T3 [todo] K
feat_2_c [todo] FEAT-2 C | files c.py
fix_d [todo] Fix: D | files d.py
> T1: nothing comes before
> TASK-10: after T1: dependency
> JIRA-12: after TASK-10: dependency
> T3: after JIRA-12: dependency
> feat_2_c / fix_d: after T3: the plan's order; together: different files
line 23: it looks like work, but no task was read there
line 27: it looks like work, but no task was read there
",
    );
    // A section ends before the heading of a task of its level.
    reads(
        "# P\n\n## Notes\n\n- [ ] remark\n\n## Task 1: A\n\n**Files:** a.py\n",
        "T1 [todo] A | files a.py\n> T1: nothing comes before\nline 5: under \"Notes\"\n",
    );
}

#[test]
fn sections_that_are_put_off_struck_out_or_for_the_user_are_not_run() {
    reads(
        "# X\n\n## User Review Required\n\n- [ ] Agree\n\n## Phase 1: Now\n\n- [ ] Work\n\n## ~~Phase 4: Old~~\n\n- [ ] Print\n\n\
         ## Phase 5: Future (deferred)\n\n- [ ] Export\n\n## Verification Plan\n\n- [ ] It runs\n\n## 検証\n\n- [ ] 動く\n",
        "\
work [todo] Work
動く [todo] 動く
> work: nothing comes before
> 動く: after work: the phase before
line 5: under \"User Review Required\", which waits for a person
line 13: under \"~~Phase 4: Old~~\"
line 17: under \"Phase 5: Future (deferred)\"
line 21: under \"Verification Plan\"
",
    );
}

#[test]
fn items_without_a_box_hand_their_text_and_their_order_down() {
    let plan = "# P\n1. Set up the base\n   - in Rust\n   - [ ] sub a\n   - [ ] sub b\n2. Build\n   - [ ] sub c\n3. Deploy\n";
    reads(
        plan,
        "\
sub_a [todo] sub a | details Part of 1: Set up the base / in Rust
sub_b [todo] sub b | details Part of 1: Set up the base / in Rust
sub_c [todo] sub c | details Part of 2: Build
deploy [todo] Deploy
> sub_a: nothing comes before
> sub_b: after sub_a: the plan's order
> sub_c: after sub_b: the phase before
> deploy: after sub_c: the phase before
",
    );
    written(plan, &["sub_a"], &plan.replace("[ ] sub a", "[x] sub a"));
    // Bullets have no order.
    reads(
        "- Backend (agent: tester)\n  - [ ] sub a\n- Frontend\n  - [ ] sub b\n- Remark\n",
        "\
sub_a [todo] sub a | details Part of Backend
sub_b [todo] sub b | details Part of Frontend
> sub_a / sub_b: nothing comes before; together: nothing orders them
",
    );
}

#[test]
fn a_cycle_that_a_phase_closes_names_the_phase() {
    let message = |source: &str| {
        let (_, errors) = read(source, &KnownNames::default());
        errors
            .iter()
            .map(|error| format!("{}: {}", error.line, error.message))
            .collect::<Vec<_>>()
            .join(" / ")
    };
    assert_eq!(
        message("## Milestone 1\n\n- [ ] T1 a (depends: T2)\n\n## Milestone 2\n\n- [ ] T2 b\n"),
        "3: T1 depends on T2, whose phase comes after that of T1: T1 → T2 → T1"
    );
    assert_eq!(
        message("- [ ] T1 a (depends: T2)\n- [ ] T2 b (depends: T1)\n"),
        "1: these tasks depend on each other: T1 → T2 → T1"
    );
}
