//! Tests of habits that public plans have, whatever their style: each line of the expected text is
//! one task, wave, skipped line or finding of a check. Whole styles are tested with the program's
//! own output.

use orchestrate_core::{TaskId, task::TaskStatus};
use serde_json::Value;

use crate::invariants::require_account;
use crate::parse::read;
use crate::{KnownNames, Plan, Surroundings, check, write_boxes};

/// Checks a plan, and renders the tasks, the waves with their reasons, the skipped lines and the
/// findings.
fn rendered(source: &str) -> String {
    let known = KnownNames::roles(["implementer", "reviewer", "tester"]);
    let settings = orchestrate_core::RunSettings::default();
    let around = Surroundings::unpriced(&known, &settings, &|_| true);
    let checked = check("plan.md", source, &around);
    let report = serde_json::to_value(&checked).unwrap();
    let mut out = String::new();
    for task in report["tasks"].as_array().unwrap() {
        out.push_str(&format!(
            "{} [{}] {}",
            text(&task["id"]),
            text(&task["status"]),
            text(&task["title"])
        ));
        for (name, value) in [
            ("files", &task["files"]),
            ("details", &task["details"]),
            ("verify", &task["verify"]),
        ] {
            if !value.is_null() && value != &Value::Array(Vec::new()) {
                out.push_str(&format!(" | {name} {}", text(value)));
            }
        }
        out.push('\n');
    }
    for wave in report["waves"].as_array().unwrap() {
        out.push_str(&format!(
            "> {}: {}\n",
            text(&wave["tasks"]),
            text(&wave["why"])
        ));
    }
    for skipped in &checked.skipped {
        out.push_str(&format!("line {}: {}\n", skipped.line, skipped.reason));
    }
    for kind in ["warnings", "errors"] {
        for found in report[kind].as_array().unwrap() {
            out.push_str(&format!(
                "{kind} {}: {}\n",
                found["line"],
                text(&found["message"])
            ));
        }
    }
    out
}

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.replace('\n', " / "),
        Value::Array(values) => values.iter().map(text).collect::<Vec<_>>().join(" / "),
        other => other.to_string(),
    }
}

#[track_caller]
pub(crate) fn reads(source: &str, expected: &str) {
    require_account(source).unwrap();
    let found = rendered(source);
    assert_eq!(
        found, expected,
        "{source}
--- found
{found}"
    );
}

#[test]
fn a_box_at_the_end_of_a_heading_is_its_box() {
    let plan = "# Plan\n\n### Task 1: Setup [x]\n\nText.\n\n### Task 2: Build [ ]\n\n- [ ] a step\n\n### Clean up [ ]\n\n\
                ### Ship it [x]\n\n- [x] Pack\n- [ ] Send\n\n## Phase 2: Later [ ]\n\n- [ ] Rest\n";
    reads(
        plan,
        "\
T1 [done] Setup | details Text.
T2 [todo] Build | details [ ] a step
clean_up [todo] Clean up
line 15: a box; the plan's tasks are its headings
line 16: a box; the plan's tasks are its headings
line 18: it looks like work, but no task was read there
line 20: a box; the plan's tasks are its headings
errors 1: this plan can be read in several ways, since headings and boxes outside of them look like tasks
",
    );
    let expected = plan
        .replace("Build [ ]", "Build [x]")
        .replace("[ ] a step", "[x] a step");
    let expected = expected.replace("Clean up [ ]", "Clean up [x]");
    assert_eq!(
        write_boxes(
            plan,
            &["T2".into(), "clean_up".into()],
            &KnownNames::default()
        ),
        expected
    );
}

#[test]
fn a_field_ends_with_its_list() {
    let plan = "### Task 1: Hooks\n\n**Files:**\n- Create: `a.sh`\n- Test: `tests/a.sh`\n- [ ] **Step 1: Write the test**\n\n\
                **Interfaces:** none\n\nRun: `sh tests/a.sh`\nExpected: FAIL\n\n- Verify: it looks right\n\n\
                ### Task 2: Docs\n\n**Files:** `docs/a.md`\n\n**Verify:** `make docs`\n";
    reads(plan, "\
T1 [todo] Hooks | files a.sh / tests/a.sh | details [ ] **Step 1: Write the test** / **Interfaces:** none / Run: `sh tests/a.sh` / Expected: FAIL / Verify: it looks right
T2 [todo] Docs | files docs/a.md | verify make docs
> T1: nothing comes before
> T2: after T1: its number
warnings 13: this is read as text, not as a command
");
}

#[test]
fn boxes_below_a_checklist_are_work_where_nothing_else_is() {
    reads(
        "# Release\n\n## Checklist\n\n- [ ] Tag\n- [x] Build\n\n## Waiting for user\n\n- [ ] Announce\n",
        "\
tag [todo] Tag
build [done] Build
line 10: under \"Waiting for user\", which waits for a person
errors 1: this plan can be read in several ways, since all boxes stand below headings of checks
",
    );
    reads(
        "# Veröffentlichung\n\n## Akzeptanzkriterien\n\n- [ ] läuft\n\n## Aufgaben\n\n- [ ] Bauen\n",
        "\
läuft [todo] läuft
bauen [todo] Bauen
> läuft: nothing comes before
> bauen: after läuft: the plan's order
",
    );
}

#[test]
fn boxes_of_progress_are_what_is_left_and_a_checklist_is_not() {
    reads(
        "# Stream\n\n## Progress\n\n- [x] Read the old parser\n- [ ] Write the reader\n- [ ] Write the tokenizer\n\n\
         ## Concrete Steps\n\n1. Run the tests\n2. Edit `src/a.rs`\n\n## Checklist\n\n- [ ] it works\n",
        "\
read_the_old [done] Read the old parser
write_the_reader [todo] Write the reader
write_the [todo] Write the tokenizer
it_works [todo] it works
line 11: no checkbox; the plan's tasks are its boxes
line 12: no checkbox; the plan's tasks are its boxes
errors 1: this plan can be read in several ways, since all boxes stand below headings of checks
",
    );
    reads(
        "# Release\n\n## Plan\n\n1. Build\n2. Ship\n\n## Checklist\n\n- [ ] it works\n",
        "\
it_works [todo] it works
line 5: no checkbox; the plan's tasks are its boxes
line 6: no checkbox; the plan's tasks are its boxes
errors 1: this plan can be read in several ways, since all boxes stand below headings of checks
",
    );
}

#[test]
fn numbers_that_restart_get_their_part_before_them() {
    let plan = "## Phase 1: Core\n\n- [ ] 1. Parse\n- [ ] 2. Print (depends: 1)\n\n## Phase 2: Shell\n\n- [ ] 1. Prompt\n- [ ] \
                2. History (depends: 1)\n";
    reads(
        plan,
        "\
P1-1 [todo] Parse
P1-2 [todo] Print
P2-1 [todo] Prompt
P2-2 [todo] History
> P1-1: nothing comes before
> P1-2: after P1-1: dependency
> P2-1: after P1-2: the phase before
> P2-2: after P2-1: dependency
warnings 8: the numbers restart, so each id begins with its part of the plan
",
    );
    reads(
        "## A\n- [ ] T1 a\n- [ ] T1 b\n",
        "\
T1 [todo] a
T1 [todo] b
errors 3: another task has the id `T1`
",
    );
}

#[test]
fn ids_of_other_programs() {
    let plan = "- [ ] Plan it <!-- id: 0 -->\n  - [ ] look <!-- id: 1 -->\n- [ ] Do it <!-- id: 2 --> (depends: 0)\n- [ ] T-001 \
                Name it\n- [ ] Mark it {#mark}\n";
    reads(
        plan,
        "\
1 [todo] look | details Part of 0: Plan it
2 [todo] Do it
T-001 [todo] Name it
mark [todo] Mark it
> 1: nothing comes before
> 2: after 1: dependency
> T-001: after 2: its number
> mark: after T-001: its number
",
    );
}

#[test]
fn a_line_that_sums_up_the_ones_after_it_is_a_group() {
    let plan =
        "- [ ] 1. Storage\n- [ ] 1.1 Open\n- [ ] 1.2 Close\n- [ ] 2. Interface (depends: 1)\n";
    reads(
        plan,
        "\
1.1 [todo] Open | details Part of 1: Storage
1.2 [todo] Close | details Part of 1: Storage
2 [todo] Interface
> 1.1: nothing comes before
> 1.2: after 1.1: its number
> 2: after 1.2: dependency
",
    );
    let plan = "- [ ] Phase 1: Storage\n  - [ ] T001 Open\n  - [ ] T002 Close\n- [ ] Phase 2: Interface\n  - [ ] T003 Show\n";
    reads(
        plan,
        "\
T001 [todo] Open | details Part of Phase 1: Storage
T002 [todo] Close | details Part of Phase 1: Storage
T003 [todo] Show | details Part of Phase 2: Interface
> T001: nothing comes before
> T002: after T001: the plan's order
> T003: after T002: the phase before
",
    );
}

#[test]
fn numbered_boxes_go_in_their_order_and_phases_are_barriers() {
    reads(
        "- [ ] Step 1: Create\n- [ ] Step 2: Build\n- [ ] Task 3: Ship\n",
        "\
step_1_create [todo] Step 1: Create
step_2_build [todo] Step 2: Build
task_3_ship [todo] Task 3: Ship
> step_1_create: nothing comes before
> step_2_build: after step_1_create: its number
> task_3_ship: after step_2_build: its number
",
    );
    reads(
        "- [ ] Phase 1: Create\n- [ ] Phase 2: Build\n- [ ] Write docs of Phase 1\n- [ ] Ship\n",
        "\
phase_1_create [todo] Phase 1: Create
phase_2_build [todo] Phase 2: Build
write_docs_of [todo] Write docs of Phase 1
ship [todo] Ship
> phase_1_create: nothing comes before
> phase_2_build: after phase_1_create: the phase before
> write_docs_of: after phase_2_build: the phase before
> ship: after write_docs_of: the plan's order
",
    );
    let plan = "* [ ] **Phase 1: Setup**\n  * [ ] Install\n  * [ ] Configure\n* [ ] **Phase 2: Build**\n  * [ ] Compile\n";
    reads(
        plan,
        "\
install [todo] Install | details Part of Phase 1: Setup
configure [todo] Configure | details Part of Phase 1: Setup
compile [todo] Compile | details Part of Phase 2: Build
> install: nothing comes before
> configure: after install: the plan's order
> compile: after configure: the phase before
",
    );
    written(
        plan,
        &["install", "configure"],
        &plan.replacen("[ ]", "[x]", 3),
    );
}

#[test]
fn the_author_s_order_and_the_freedom_that_the_plan_gives() {
    let plan = "# P\n\n## Backend\n\n- [ ] T1 a (files: b/a)\n- [ ] T2 b (files: b/b)\n\n## Frontend\n\n- [ ] T3 c (files: \
                f/c)\n- [ ] T4 d (P)\n- [ ] T5 e (P)\n- [ ] T6 Test it all (files: t)\n";
    reads(
        plan,
        "\
T1 [todo] a | files b/a
T2 [todo] b | files b/b
T3 [todo] c | files f/c
T4 [todo] d
T5 [todo] e
T6 [todo] Test it all | files t
> T1 / T2: nothing comes before; together: different files
> T3: after T1, T2: the plan's order
> T4 / T5: after T3: the plan's order; together: marked [P]
> T6: after T4, T5: tests, reviews and releases follow the work
",
    );
    reads(
        "- [ ] Add slugs\n- [ ] Add words\n- [ ] Write tests\n- [ ] Add dates\n- [ ] Final review\n",
        "\
add_slugs [todo] Add slugs
add_words [todo] Add words
write_tests [todo] Write tests
add_dates [todo] Add dates
final_review [todo] Final review
> add_slugs / add_words / add_dates: nothing comes before; together: nothing orders them
> write_tests: after add_slugs, add_words, add_dates: tests, reviews and releases follow the work
> final_review: after write_tests: tests, reviews and releases follow the work
",
    );
    reads(
        "---\nparallel: eager\n---\n## Phase 1\n- [ ] 1. a\n- [ ] 2. b\n## Phase 2\n- [ ] 3. c\n",
        "\
1 [todo] a
2 [todo] b
3 [todo] c
> 1 / 2 / 3: nothing comes before; together: nothing orders them
",
    );
}

#[test]
fn prose_below_a_task_is_no_attribute_and_refuses_nothing() {
    let plan = "- [ ] T1 Add tokens\n  - Tokens: JWT\n  - Model: User\n  - Agent: the user agent string\n  - Run: the whole \
                suite\n  - Reviews: two\n  - Priority: must have\n  - Verified: by hand\n- [ ] T2 Tune (priority: must) \
                (tiles: 3)\n";
    reads(plan, "\
T1 [todo] Add tokens | details Tokens: JWT / Model: User / Agent: the user agent string / Run: the whole suite / Reviews: two / Priority: must have / Verified: by hand
T2 [todo] Tune (priority: must) (tiles: 3)
> T1 / T2: nothing comes before; together: nothing orders them
warnings 5: this is read as text, not as a command
warnings 9: this stays in the title: `priority` is a whole number, high, medium or low elsewhere
warnings 9: unknown key `tiles`
");
}

#[test]
fn lines_that_look_like_work_are_said() {
    let plan = "# P\n\n## Tasks\n\n- [ ] Build\n\n## Next steps\n\n1. Ship\n\n### Task 9: Later\n\nProse.\n\n| Task | Status \
                |\n|---|---|\n| Sell | open |\n\n## To do\n\n- Tell\n\n## Tools\n\n- Hammer\n";
    reads(
        plan,
        "\
T9 [todo] Later | details Prose. / | Task | Status | / |---|---| / | Sell | open |
line 5: a box; the plan's tasks are its headings
line 9: no checkbox; the plan's tasks are its headings
line 21: no checkbox; the plan's tasks are its headings
errors 1: this plan can be read in several ways, since headings and boxes outside of them look like tasks
",
    );
}

/// Reads a plan, marks these tasks as done, and requires that only their statuses differ, and that
/// they are read so.
#[track_caller]
pub(crate) fn written(source: &str, landed: &[&str], expected: &str) {
    let landed: Vec<TaskId> = landed.iter().map(|id| TaskId::from(*id)).collect();
    let written = write_boxes(source, &landed, &KnownNames::default());
    assert_eq!(written, expected);
    assert_eq!(
        write_boxes(&written, &landed, &KnownNames::default()),
        written
    );
    let parsed = |source: &str| -> Plan { read(source, &KnownNames::default()).0 };
    let (before, after) = (parsed(source), parsed(&written));
    assert_eq!(before.tasks.len(), after.tasks.len());
    for (before, after) in before.tasks.iter().zip(&after.tasks) {
        let status = if landed.contains(&before.id) {
            TaskStatus::Done
        } else {
            before.status
        };
        assert_eq!((&after.id, after.status), (&before.id, status));
    }
}

/// The box of a phase is ticked with the last of its tasks, as that of a parent is.
#[test]
fn the_box_of_a_phases_heading_is_ticked_with_its_last_task() {
    let plan = "# [ ] Phase 0: All\n\n## [ ] Phase 1: a\n\n- [ ] T1 a\n\n### More\n\n- [x] T2 b\n\n## [-] Phase 2: b\n\n\
                - [ ] T3 c\n\n## [ ] High priority\n\n- [ ] T4 d\n- [ ] T5 e\n";
    let tick = |plan: &str, lines: &[&str]| {
        let ticked = |line: &&str| line.replacen("[ ]", "[x]", 1);
        lines.iter().fold(plan.to_owned(), |plan, line| {
            plan.replace(*line, &ticked(line))
        })
    };
    written(plan, &["T4"], &tick(plan, &["- [ ] T4"]));
    let expected = tick(plan, &["## [ ] Phase 1", "- [ ] T1", "- [ ] T4"]);
    written(plan, &["T1", "T4"], &expected);
    let expected = tick(
        plan,
        &[
            "# [ ] Phase 0",
            "## [ ] Phase 1",
            "- [ ] T1",
            "- [ ] T3",
            "## [ ] High",
            "- [ ] T4",
            "- [ ] T5",
        ],
    );
    written(plan, &["T1", "T3", "T4", "T5"], &expected);
}

#[test]
fn a_status_is_written_in_the_plans_own_form() {
    written(
        "| # | Task | Status |\n|---|---|---|\n| 1 | Parse | ⏳ Pending |\n| 2 | Print | [ ] |\n| 3 | Link | |\n",
        &["1", "2", "3"],
        "| # | Task | Status |\n|---|---|---|\n| 1 | Parse | ✅ Done |\n| 2 | Print | [x] |\n| 3 | Link | Done |\n",
    );
    written(
        "# Stand\n\n- ✅ Parser\n- ⏳ Printer\n- ❌ Linker\n",
        &["printer"],
        "# Stand\n\n- ✅ Parser\n- ✅ Printer\n- ❌ Linker\n",
    );
    written(
        "## Task 1: Parse ⏳\n\nText.\n\n## Task 2: Print (todo)\n\n## Task 3: Link\n\n**Status**: `in progress`\n",
        &["T1", "T2", "T3"],
        "## Task 1: Parse ✅\n\nText.\n\n## Task 2: Print (done)\n\n## Task 3: Link\n\n**Status**: `done`\n",
    );
    // A field that says otherwise than the box would undo it.
    written(
        "### [ ] Task 1: Parse\n\n**Status**: Open\n",
        &["T1"],
        "### [x] Task 1: Parse\n\n**Status**: Done\n",
    );
}

#[test]
fn boxes_below_a_task_are_said_to_be_its_steps() {
    reads(
        "- [ ] T1 Build\n  - [ ] T3 Ship (depends: T2) (run: make ship)\n  - [ ] Test\n    - verify: make\n    \
         - [x] deeper\n\n  > - [ ] quoted\n- [x] T2 Design\n  - [ ] forgotten\n  - [-] given up\n",
        "\
T1 [todo] Build | details [ ] T3 Ship (depends: T2) (run: make ship) / [ ] Test /   - verify: make /   - [x] deeper / > - [ ] quoted
T2 [done] Design | details [ ] forgotten / [-] given up
> T1: nothing comes before
line 7: in a quote
line 9: it is an open step of a task that is done: write it beside that task to have it carried out
",
    );
}

#[test]
fn a_line_that_is_nearly_a_box_is_said_below_steps_and_bullets() {
    for last in ["[x] a step", "a remark"] {
        reads(
            &format!("- [x] Old\n  - {last}\n-[ ] new\n"),
            &format!(
                "old [done] Old | details {last} / -[ ] new\n\
                 line 3: nearly an item with a box: write `- [ ]` at the beginning of a line\n"
            ),
        );
    }
}

#[test]
fn an_item_of_a_numbered_list_groups_the_boxes_numbered_under_it() {
    reads(
        "1. [ ] Store\n   - [ ] 1.1 Open\n   - [ ] 1.2 Close\n2. [ ] Show\n   - [ ] draw\n",
        "\
1.1 [todo] Open | details Part of 1: Store
1.2 [todo] Close | details Part of 1: Store
show [todo] Show | details [ ] draw
> 1.1: nothing comes before
> 1.2: after 1.1: its number
> show: after 1.2: its number
",
    );
}
