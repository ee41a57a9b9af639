//! Tests of what could be misread gravely: work that is done or not wanted, but open in form; boxes
//! that are no tasks; text that would reach no agent.

use crate::parse::read;
use crate::tests::styles::{reads, written};
use crate::{FindingCode, KnownNames, Plan};

fn plan(source: &str) -> Plan {
    let (plan, errors) = read(source, &KnownNames::roles(["implementer", "tester"]));
    assert!(errors.is_empty(), "{source}\n{errors:#?}");
    plan
}

/// Returns the id and the status of each task.
fn statuses(source: &str) -> Vec<String> {
    plan(source)
        .tasks
        .iter()
        .map(|task| format!("{} {:?}", task.id, task.status))
        .collect()
}

/// Returns the line and the message of each warning.
fn warnings(source: &str) -> Vec<String> {
    plan(source)
        .warnings
        .iter()
        .map(|warning| format!("{}: {}", warning.line, warning.message))
        .collect()
}

#[test]
fn an_open_box_whose_text_says_that_it_is_over_is_not_run_and_said() {
    let source = "- [ ] a (done)\n- [ ] b (in progress)\n- [ ] c ✅ (files: x)\n- [ ] d\n  - **Status**: complete\n\
                  - [x] e (done)\n- [ ] f - cancelled\n- [ ] g - what is done\n- [ ] h ✅ DONE (2025-01-31)\n\
                  - [ ] i - SKIPPED\n- [ ] j (closed)\n";
    let expected = [
        "a_done Done",
        "b_in_progress Todo",
        "c Done",
        "d Done",
        "e_done Done",
        "f_cancelled Cancelled",
        "g_what_is_done Todo",
        "h_done_2025_01 Done",
        "i_skipped Cancelled",
        "j_closed Todo",
    ];
    assert_eq!(statuses(source), expected);
    let said = |(line, words): (usize, &str)| {
        format!("{line}: its box is open, but it says `{words}`: tick it, or cut this")
    };
    let expected = [
        (1, "done"),
        (3, "✅"),
        (4, "complete"),
        (7, "cancelled"),
        (9, "✅ DONE (2025-01-31)"),
        (10, "SKIPPED"),
    ]
    .map(said);
    assert_eq!(skipped(source), expected);
}

#[test]
fn open_boxes_below_a_heading_that_says_done_are_not_run_and_said() {
    let source = "# P\n\n## Setup ✅ COMPLETE\n\n- [x] T1 a\n- [ ] T2 b\n- [ ] T3 c\n\n## Rest\n\n- [ ] T4 d\n";
    assert_eq!(
        statuses(source),
        ["T1 Done", "T2 Done", "T3 Done", "T4 Todo"]
    );
    let reason = "under \"Setup ✅ COMPLETE\", which says that it is done";
    let expected = [6, 7].map(|line| format!("{line}: {reason}"));
    assert_eq!(skipped(source), expected);
}

#[test]
fn a_drawn_box_without_a_bullet_is_said() {
    let source = "# P\n\n- [ ] a\n\nAlso:\n☐ b\n☑ c\n⬜ Not started\n";
    let said: Vec<String> = plan(source)
        .skipped
        .iter()
        .map(|skipped| format!("{}: {}", skipped.line, skipped.reason))
        .collect();
    assert_eq!(
        said,
        ["6: nearly an item with a box: write `- [ ]` at the beginning of a line",]
    );
}

/// Returns what the agent of the first task is told beside its title.
fn details(source: &str) -> String {
    plan(source)
        .tasks
        .first()
        .map(|task| task.details.join("\n"))
        .unwrap_or_default()
}

#[test]
fn the_steps_of_a_task_keep_their_nesting() {
    let plan = "- [ ] T1 a\n  - [ ] one\n    that goes on\n    - [ ] deeper\n      1. deepest\n  1. [ ] two\n     - three\n\n     \
                Text.\n";
    let expected =
        "[ ] one\nthat goes on\n  - [ ] deeper\n    1. deepest\n[ ] two\n   - three\n\n   Text.";
    assert_eq!(details(plan), expected);
    assert_eq!(details(&plan.replace('\n', "\r\n")), expected);
    assert_eq!(
        details("- [ ] T1 a\n\t- [ ] one\n\t\t- [ ] deeper\n"),
        "[ ] one\n\t- [ ] deeper"
    );
}

/// Returns the files, the dependencies and the details of the last task.
fn last(source: &str) -> (Vec<String>, Vec<String>, Vec<String>) {
    let task = plan(source).tasks.pop().unwrap();
    (
        task.files,
        task.depends.iter().map(ToString::to_string).collect(),
        task.details,
    )
}

#[test]
fn the_list_below_a_key_without_a_bullet_is_its_value() {
    let expected = |details: &[&str]| {
        let owned = |texts: &[&str]| {
            texts
                .iter()
                .map(|text| (*text).to_owned())
                .collect::<Vec<_>>()
        };
        (owned(&["src/a.rs", "b.rs"]), owned(&["T1"]), owned(details))
    };
    for plan in [
        "- [ ] T1 a\n- [ ] T2 b (depends: T1)\n  Files:\n  - src/a.rs\n  - Create: `b.rs`\n",
        "- [ ] T1 a\n- [ ] T2 b\n\n  Files:\n  - src/a.rs\n  - `b.rs`\n\n  **Depends on:**\n\n  - T1\n",
        "- [ ] T1 a\n- [ ] T2 b\n  files: src/a.rs, b.rs\n  Depends on:\n  - T1\n",
    ] {
        let (files, depends, _) = expected(&[]);
        let found = last(plan);
        assert_eq!((found.0, found.1), (files, depends), "{plan}");
    }
    // The steps after the values are steps, and the words before the key a detail.
    let plan = "- [ ] T1 a\n- [ ] T2 b\n\n  depends: T1\n\n  Look at it.\n  Files:\n  - src/a.rs\n  - b.rs\n  - [ ] step\n";
    assert_eq!(last(plan), expected(&["Look at it.", "[ ] step"]));
    assert_eq!(warnings(plan), [""; 0]);
}

#[test]
fn a_list_of_paths_swallows_no_other_field() {
    for task in [
        "- [ ] T1 a\n\n  Files:\n  ",
        "- [ ] T1 a\n  - Files:\n    ",
        "### T1 a\n\nFiles:\n",
    ] {
        let blanks = task.rsplit('\n').next().unwrap();
        let source =
            format!("{task}- Model: `src/model.rs`\n{blanks}- b.rs\n{blanks}- verify: `make`\n");
        let task = plan(&source).tasks.pop().unwrap();
        assert_eq!(
            (task.files.join(" "), task.verify.as_deref()),
            ("src/model.rs b.rs".to_owned(), Some("make")),
            "{source}"
        );
    }
}

#[test]
fn what_stands_below_an_attribute_reaches_the_agent() {
    let plan = "- [ ] T1 a\n  - verify: `make`\n    - three tests pass\n  - Files:\n    - `src/a.rs` - add the loop\n    \
                - b.rs\n      - keep its order\n";
    let details = [
        "- three tests pass",
        "`src/a.rs` - add the loop",
        "b.rs\n  - keep its order",
    ]
    .map(str::to_owned);
    assert_eq!(
        last(plan),
        (
            vec!["src/a.rs".to_owned(), "b.rs".to_owned()],
            vec![],
            details.to_vec()
        )
    );
}

#[test]
fn what_is_said_to_be_done_is_not_run_again() {
    let table = [
        (
            "### Task 1: a (completed 2025-01-31)\n\nText.\n\n### Task 2: b\n\nText.\n",
            ["T1 Done", "T2 Todo"],
        ),
        (
            "### Task 1: a\n\n**Status:** Done - merged in #12\n\n### Task 2: b\n\n**Status:** Open\n",
            ["T1 Done", "T2 Todo"],
        ),
        (
            "## Steps\n\n1. a\n   - **Status**: Done\n2. b\n",
            ["a Done", "b Todo"],
        ),
        (
            "## Steps\n\n1. a\n   - Status: `done`, `open`\n2. b\n   - Status: open, done\n",
            ["a Todo", "b Todo"],
        ),
        (
            "## Completed steps\n\n1. a\n\n## Remaining steps\n\n1. b\n",
            ["a Done", "b Todo"],
        ),
        (
            "## Done\n\n### Task 1: a\n\n**Files:** a\n\n## To do\n\n### Task 2: b\n\n**Files:** b\n",
            ["T1 Done", "T2 Todo"],
        ),
        (
            "## Complete steps\n\n### Task 1: a\n\n**Files:** a\n\n## Completed steps\n\n### Task 2: b\n\n**Files:** b\n",
            ["T1 Todo", "T2 Done"],
        ),
    ];
    for (source, expected) in table {
        assert_eq!(statuses(source), expected, "{source}");
    }
    // A mark that is an ornament does not make a task done.
    assert_eq!(statuses("## ✅ Tasks\n\n- a\n"), ["a Todo"]);
}

/// Returns the line and the reason of each line that is no task.
fn skipped(source: &str) -> Vec<String> {
    plan(source)
        .skipped
        .iter()
        .map(|skipped| format!("{}: {}", skipped.line, skipped.reason))
        .collect()
}

#[test]
fn boxes_below_a_label_of_what_is_not_to_be_done_are_not_run() {
    let source = "# P\n\n**Tasks:**\n- [ ] T1 a\n\n**Acceptance criteria:**\n\n- [ ] it works\n\nOut of scope:\n- [ ] T2 b\n\n\
                  **Optional**\n- [ ] T3 c\n\nMore:\n- [ ] T4 d\n\n**Deferred**\n- [ ] T5 e\n\n## Rest\n\n- [ ] T6 f\n";
    assert_eq!(
        statuses(source),
        ["T1 Todo", "T3 Todo", "T4 Todo", "T6 Todo"]
    );
    assert_eq!(
        skipped(source),
        [
            "8: under \"Acceptance criteria\"",
            "11: under \"Out of scope\"",
            "20: under \"Deferred\""
        ]
    );
    assert!(
        plan(source)
            .tasks
            .iter()
            .all(|task| task.optional == (task.id.as_str() == "T3"))
    );
    let said = "3 lines that look like work are not run: `check` lists them";
    assert_eq!(plan(source).not_run("check").as_deref(), Some(said));
    let source = "- [ ] T1 a\n\n**Out of scope:**\n- [ ] T2 b\n\n---\n\n- [ ] T3 c\n";
    assert_eq!(statuses(source), ["T1 Todo", "T3 Todo"]);
    let source = "- Backend\n  - [ ] T1 a\n- **Deferred**\n  - [ ] T2 b\n- Manual steps:\n  - [ ] T3 c\n- Rest\n  - [ ] T4 d\n";
    assert_eq!(statuses(source), ["T1 Todo", "T4 Todo"]);
    let person = "6: under \"Manual steps\", which waits for a person";
    assert_eq!(skipped(source), ["4: under \"Deferred\"", person]);
}

#[test]
fn the_star_of_an_optional_box_may_be_escaped() {
    let source = "- [ ] 1. a\n  - [ ] 1.1 b\n  - [ ]\\* 1.2 c\n- [x]\\* 2. d\n";
    assert_eq!(statuses(source), ["1.1 Todo", "1.2 Todo", "2 Done"]);
    assert_eq!(
        plan(source)
            .tasks
            .iter()
            .map(|task| task.optional)
            .collect::<Vec<_>>(),
        [false, true, true]
    );
    let landed = [orchestrate_core::TaskId::from("1.2")];
    assert_eq!(
        crate::write_boxes(source, &landed, &KnownNames::default()),
        source.replace("[ ]\\*", "[x]\\*")
    );
}

#[test]
fn approvals_wait_for_a_person() {
    let source = "## 1. Orders\n- [ ] 1.1 a\n\n## 2. Approvals\n- [ ] 2.1 b\n\n## 3. Manual testing\n- [ ] 3.1 c\n\n\
                  ## Approvals\n- [ ] The owner agrees\n";
    assert_eq!(statuses(source), ["1.1 Todo"]);
}

#[test]
fn boxes_below_a_label_are_asked_about_where_nothing_else_is() {
    for source in [
        "# P\n\n**Acceptance criteria:**\n\n- [ ] a\n",
        "# P\n\n**Done when:**\n\n- [ ] a\n",
    ] {
        let (plan, errors) = crate::parse::read(source, &KnownNames::default());
        assert_eq!(errors.len(), 1, "{errors:?}");
        let read: Vec<&str> = plan.readings.iter().map(|own| own.read.as_str()).collect();
        assert_eq!(read, ["boxes", "whole"]);
    }
}

#[test]
fn a_label_above_bullets_refuses_no_goal() {
    let source = "# P\n\n**Prerequisites:**\n- Node\n\nWrite the parser of the language.\n\n**Open questions:**\n- Why?\n";
    assert!(plan(source).is_goal());
}

#[test]
fn parts_below_labels_go_in_their_order() {
    let waits = |source: &str| -> Vec<String> {
        let ids = |ids: &[orchestrate_core::TaskId]| {
            ids.iter()
                .map(ToString::to_string)
                .collect::<Vec<_>>()
                .join(" ")
        };
        plan(source)
            .tasks
            .iter()
            .map(|task| format!("{}: {}, {}", task.id, ids(&task.depends), ids(&task.after)))
            .collect()
    };
    let phases = "**Phase 1: Set up**\n- [ ] T1 a\n\n**Phase 2: Build**\n\n- [ ] T2 b\n- [ ] T3 c\n\n## Rest\n\n- [ ] T4 d\n";
    assert_eq!(
        waits(phases),
        ["T1: , ", "T2: T1, ", "T3: T1, T2", "T4: T2 T3, "]
    );
    assert_eq!(
        waits(&phases.replace("## Rest", "Phase 3:")),
        ["T1: , ", "T2: T1, ", "T3: T1, T2", "T4: T2 T3, "]
    );
    assert_eq!(
        waits("**Backend**\n- [ ] T1 a\n\n**Frontend**\n- [ ] T2 b\n"),
        ["T1: , ", "T2: , T1"]
    );
}

#[test]
fn what_is_struck_out_is_not_run() {
    let table = [
        (
            "- [ ] T1 ~~a~~\n- [ ] ~~T2 b~~ (moved to v2)\n- [ ] T3 c\n",
            ["T1 Cancelled", "T2 Cancelled", "T3 Todo"],
        ),
        (
            "- [ ] ~~T1 a~~\n  files: a\n- [ ] ~~T2 b~~ (done)\n- [ ] ~~T3 old~~ new\n",
            ["T1 Cancelled", "T2 Done", "T3 Todo"],
        ),
        (
            "- [ ] T1 ~~a~~ — ersetzt durch T3\n- [ ] ~~T2 b~~: trop lent\n- [ ] ~~T3~~: c\n",
            ["T1 Cancelled", "T2 Cancelled", "T3 Todo"],
        ),
        (
            "## Steps\n\n1. ~~a~~ (too slow)\n2. ~~b~~ c\n3. d\n",
            ["a_too_slow Cancelled", "b_c Todo", "d Todo"],
        ),
        (
            "### Task 1: ~~a~~\n\n- [ ] x\n\n### Task 2: b\n\n- [ ] y\n\n### [ ] Task 3: ~~c~~ (dropped)\n",
            ["T1 Cancelled", "T2 Todo", "T3 Cancelled"],
        ),
        (
            "| ID | Task | Status |\n|---|---|---|\n| ~~B1~~ | ~~a~~ | ~~todo~~ |\n| B2 | b | todo |\n| B3 | c | done |\n",
            ["B1 Cancelled", "B2 Todo", "B3 Done"],
        ),
    ];
    for (source, expected) in table {
        assert_eq!(statuses(source), expected, "{source}");
    }
}

#[test]
fn boxes_that_a_slip_hides_are_said_by_a_run() {
    let closed = "- [ ] T1 a\n\n```md\n- [ ] b\n```\n\n~~~~\n```\n- [ ] c\n~~~~\n\n<!--\n- [ ] d\n-->\n\n> - [ ] e\n";
    assert_eq!(skipped(closed).len(), 4, "{:?}", skipped(closed));
    for (hides, reason) in [
        ("<!-- later\n", "in a comment that is not closed"),
        (
            "<details>\n",
            "in an HTML block: write an empty line above the list",
        ),
        (
            "## More\n\n    ",
            "its indentation makes it code: write `- [ ]` with less of it",
        ),
    ] {
        let source = format!("- [ ] T1 a\n\n{hides}- [ ] T2 b\n");
        let line = source.lines().count();
        for source in [source.clone(), source.replace('\n', "\r\n")] {
            assert_eq!(statuses(&source), ["T1 Todo"], "{source}");
            assert_eq!(skipped(&source), [format!("{line}: {reason}")], "{source}");
        }
    }
}

#[test]
fn a_table_may_answer_whether_its_tasks_are_done() {
    let source =
        "| Task | Done? |\n|---|---|\n| a | x |\n| b | |\n| c | No |\n| d | yes |\n| e | ✅ |\n";
    assert_eq!(
        statuses(source),
        ["a Done", "b Todo", "c Todo", "d Done", "e Done"]
    );
    let landed = ["b", "c"].map(orchestrate_core::TaskId::from);
    let expected = source
        .replace("| b | |", "| b | Done |")
        .replace("No", "Yes");
    assert_eq!(
        crate::write_boxes(source, &landed, &KnownNames::default()),
        expected
    );
    let code = "| Task | Done |\n|---|---|\n| a | `[x]` |\n| b | `[ ]` |\n";
    assert_eq!(statuses(code), ["a Done", "b Todo"]);
    assert_eq!(
        crate::write_boxes(
            code,
            &[orchestrate_core::TaskId::from("b")],
            &KnownNames::default()
        ),
        code.replace("[ ]", "[x]")
    );
    let dashes = "| Task | Status |\n|---|---|\n| a | - |\n| b | – |\n";
    assert_eq!(statuses(dashes), ["a Todo", "b Todo"]);
    assert_eq!(
        crate::write_boxes(
            dashes,
            &["a", "b"].map(orchestrate_core::TaskId::from),
            &KnownNames::default()
        ),
        dashes.replace(" - ", " Done ").replace('–', "Done")
    );
    let days = "| Task | Completed |\n|---|---|\n| a | 2025-01-31 |\n| b | |\n| c | Q3 |\n";
    assert_eq!(statuses(days), ["a Done", "b Todo", "c Blocked"]);
    let boxes = "| Task | Status |\n|---|---|\n| [x] a | |\n| [ ] b | |\n| [ ] c | done |\n";
    assert_eq!(statuses(boxes), ["a Done", "b Todo", "c Done"]);
    let landed = [orchestrate_core::TaskId::from("b")];
    assert_eq!(
        crate::write_boxes(boxes, &landed, &KnownNames::default()),
        boxes.replace("[ ] b", "[x] b")
    );
}

#[test]
fn a_remark_at_the_end_of_a_heading_puts_its_section_off_or_makes_it_optional() {
    let source = "## Phase 1\n- [ ] T1 a\n\n## Phase 2 (on hold)\n- [ ] T2 b\n\n## Phase 3 (optional)\n- [ ] T3 c\n\n\
                  ## Phase 4 (future)\n- [ ] T4 d\n";
    assert_eq!(statuses(source), ["T1 Todo", "T3 Todo"]);
    assert_eq!(
        plan(source)
            .tasks
            .iter()
            .filter(|task| task.optional)
            .count(),
        1
    );
    assert_eq!(
        skipped(source),
        [
            "5: under \"Phase 2 (on hold)\"",
            "11: under \"Phase 4 (future)\""
        ]
    );
    // A numbered heading with fields is a task all the same.
    assert_eq!(
        statuses("# P\n\n### 2.1 API (optional)\n\n**Files:** a\n"),
        ["2.1 Todo"]
    );
}

#[test]
fn the_to_dos_of_a_front_matter_are_the_tasks() {
    let front = "---\nname: Login\ntodos:\n  - id: form\n    content: \"Draw the form: plain\"\n    status: completed\n  \
                 - id: check\n    content: >-\n      Check the\n      password\n    status: pending\n    dependencies:\n      \
                 - form\n  - id: old\n    content: Drop it\n    status: cancelled\n    dependencies: [\"form\", check]\n\
                 isProject: false\n---\n";
    let source = &format!("{front}\n# Login\n\nA form that asks for the password.\n");
    assert_eq!(
        statuses(source),
        ["form Done", "check Todo", "old Cancelled"]
    );
    let found = plan(source).tasks;
    let titles: Vec<&str> = found.iter().map(|task| task.title.as_str()).collect();
    assert_eq!(
        titles,
        ["Draw the form: plain", "Check the password", "Drop it"]
    );
    let depends: Vec<usize> = found.iter().map(|task| task.depends.len()).collect();
    assert_eq!(depends, [0, 1, 2]);
    let landed = [orchestrate_core::TaskId::from("check")];
    assert_eq!(
        crate::write_boxes(source, &landed, &KnownNames::default()),
        source.replace("pending", "completed")
    );
    assert_eq!(
        crate::write_boxes(
            &source.replace('\n', "\r\n"),
            &landed,
            &KnownNames::default()
        ),
        source.replace("pending", "completed").replace('\n', "\r\n")
    );
}

#[test]
fn what_stands_below_the_to_dos_of_a_front_matter_is_no_task() {
    let front = "---\ntodos:\n  - id: form\n    content: Draw the form\n    status: completed\n---\n\n# Login\n\n";
    let boxed = "12: the plan's tasks are the to-dos of its front matter";
    let heading = "10: it looks like work, but no task was read there";
    let table: [(&str, &[&str]); 5] = [
        ("## Steps\n\n1. Draw the form\n", &[]),
        ("## Phase 1\n\n- Draw the form\n", &[]),
        ("## Checks\n\n- [ ] It asks for the password\n", &[boxed]),
        ("### Task 1: Draw the form\n\nText.\n", &[heading]),
        ("### Task 1: Draw the form\n\n**Files:** a\n", &[heading]),
    ];
    for (body, said) in table {
        let source = format!("{front}{body}");
        assert_eq!(statuses(&source), ["form Done"], "{source}");
        assert_eq!(skipped(&source), said, "{source}");
        assert_eq!(warnings(&source), [""; 0], "{source}");
    }
}

#[test]
fn other_fields_of_a_to_do_change_neither_its_status_nor_its_text() {
    let source = "---\ntodos:\n- content: 'Don''t stop'\n  status: completed # by hand\n  activeForm: Going on\n  steps:\n  \
                  - status: pending\n- status: \"pending\"\n  content: |\n    Say \"status: done\"\n    status: done\n  \
                  priority: high\n---\n\nText.\n";
    let found = plan(source).tasks;
    let read: Vec<String> = found
        .iter()
        .map(|task| format!("{} {:?}", task.title, task.status))
        .collect();
    assert_eq!(
        read,
        ["Don't stop Done", "Say \"status: done\" status: done Todo"]
    );
    let landed = [found[1].id.clone()];
    assert_eq!(
        crate::write_boxes(source, &landed, &KnownNames::default()),
        source.replace("\"pending\"", "\"completed\"")
    );
}

#[test]
fn to_dos_are_read_in_any_form_of_yaml() {
    let source = "---\r\ntodos: [{content: é, status: done},\r\n  {status: 'in_progress', content: b}]\r\n---\r\n";
    let found = plan(source).tasks;
    let read: Vec<String> = found
        .iter()
        .map(|task| format!("{} {} {:?}", task.line, task.title, task.status))
        .collect();
    assert_eq!(read, ["2 é Done", "3 b InProgress"]);
    let landed = [found[1].id.clone()];
    assert_eq!(
        crate::write_boxes(source, &landed, &KnownNames::default()),
        source.replace("in_progress", "completed")
    );
}

#[test]
fn to_dos_that_cannot_be_read_are_asked_about() {
    for todos in ["- content: a: b", "- content: a\n  dependencies: b"] {
        let source = format!("---\ntodos:\n{todos}\n---\n\n- [ ] c\n");
        let (plan, errors) = crate::parse::read(&source, &KnownNames::default());
        let is_asked = |error: &crate::Finding| error.code == FindingCode::Ambiguous;
        assert_eq!(plan.format, "ambiguous", "{source}");
        assert!(errors.iter().any(is_asked), "{source}");
    }
}

#[test]
fn to_dos_in_another_form_are_said_to_have_no_effect() {
    for todos in ["todos: 3", "todos: [a, b]", "todos:\n  - a"] {
        let source = format!("---\n{todos}\n---\n\nWrite the parser of the language.\n");
        assert!(plan(&source).is_goal(), "{source}");
        assert_eq!(
            warnings(&source)[0],
            "2: keys in the front matter without effect: `todos`",
            "{source}"
        );
    }
}

#[test]
fn phases_that_are_bullets_go_in_their_order() {
    let source = "- **Phase 1: Set up**\n  - [ ] T1 a\n- **Phase 2: Build**\n  - [ ] T2 b\n- Docs\n  - [ ] T3 c\n";
    let depends: Vec<Vec<String>> = plan(source)
        .tasks
        .iter()
        .map(|task| task.depends.iter().map(ToString::to_string).collect())
        .collect();
    assert_eq!(
        depends,
        [vec![], vec!["T1".to_owned()], vec!["T2".to_owned()]]
    );
}

#[test]
fn headings_of_tasks_may_have_a_hyphen() {
    let source = "# P\n\n### TASK-001: a\n- **Status**: Done\n- **Priority**: High\n\n### TASK-002: b\n- **Status**: TODO\n\n\
                  ### TASK-003: c\n\nText.\n";
    assert_eq!(
        statuses(source),
        ["TASK-001 Done", "TASK-002 Todo", "TASK-003 Todo"]
    );
    assert_eq!(
        plan(source).tasks[2].after,
        [orchestrate_core::TaskId::from("TASK-002")]
    );
}

#[test]
fn the_sections_of_a_series_are_one_reading_if_only_one_of_them_holds_boxes() {
    let source = "# P\n\n## Teil 1\n\n- [ ] lexer\n\n## Teil 2\n\nWrite a printer.\n";
    let known = KnownNames::default();
    let (plan, _) = crate::parse::read(source, &known);
    let ways: Vec<&str> = plan.readings.iter().map(|own| own.read.as_str()).collect();
    assert_eq!(ways, ["headings", "boxes", "whole"]);
    let chosen = KnownNames {
        read: Some(crate::ReadAs::Headings),
        ..known
    };
    let (plan, errors) = crate::parse::read(source, &chosen);
    assert_eq!((plan.tasks.len(), errors.len()), (2, 0));
}

#[test]
fn a_mark_before_the_id_of_a_row_is_its_status() {
    let table = "# Tasks\n\n| id | role | files | depends-on | acceptance |\n|---|---|---|---|---|\n\
        | ✅ T01 | craftsman | a.rs | - | The routes are typed |\n\
        | T02 | craftsman | b.rs | T01 | The gate refuses |\n";
    reads(
        table,
        "\
T01 [done] The routes are typed | files a.rs | details role: craftsman
T02 [todo] The gate refuses | files b.rs | details role: craftsman
errors 1: this plan can be read in several ways, since the rows of a table may be tasks or facts
",
    );
}

#[test]
fn a_line_may_have_several_fields() {
    let plan = "# Bot\n\n## Phase 1: Environment\n\n### ENV-01: Structure\n\
        **Priority**: High | **Status**: Pending | **Dependencies**: None\n\nAll folders.\n\n\
        **Acceptance Criteria**:\n- [ ] Folders exist\n\n### ENV-02: Hooks\n\
        **Priority**: High | **Status**: Completed | **Dependencies**: ENV-01\n\n\
        **Acceptance Criteria**:\n- [x] Hooks run\n\n### ENV-03: Scripts\n\
        **Status**: Pending | **Dependencies**: ENV-01, ENV-02\n\nSome.\n";
    reads(
        plan,
        "\
ENV-01 [todo] Structure | details All folders. / **Acceptance Criteria**: / [ ] Folders exist
ENV-02 [done] Hooks | details **Acceptance Criteria**: / [x] Hooks run
ENV-03 [todo] Scripts | details Some.
> ENV-01: nothing comes before
> ENV-03: after ENV-01: dependency
",
    );
}

#[test]
fn the_status_of_a_line_of_several_fields_is_written() {
    let plan = "# Bot\n\n### ENV-01: Structure\n\n\
        **Priority**: High | **Status**: Pending | **Dependencies**: None\n\n\
        ### ENV-02: Hooks\n\n**Status**: Pending | **Dependencies**: ENV-01\n";
    let done = plan.replacen("Pending", "Done", 1);
    written(plan, &["ENV-01"], &done);
}
