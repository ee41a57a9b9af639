//! Tests of what says a status, and of what seems to.

use crate::KnownNames;
use crate::finding::FindingCode;
use crate::parse::read;
use crate::tests::styles::{reads, written};
use orchestrate_core::task::TaskStatus;

#[test]
fn colours_of_headings_are_no_status() {
    reads(
        "# Fixes\n\n## 🔴 High\n\n- [ ] Fix the crash\n\n## 🟢 Low\n\n- [ ] Polish the page\n\n## 🟢 Done\n\n- [x] Log in\n",
        "\
fix_the_crash [todo] Fix the crash
polish_the_page [todo] Polish the page
log_in [done] Log in
> fix_the_crash: nothing comes before
> polish_the_page: after fix_the_crash: the phase before
",
    );
}

#[test]
fn an_open_box_below_done_is_a_contradiction() {
    reads(
        "# Fixes\n\n## ✅ Done\n\n- [x] Log in\n- [ ] Log out\n- [ ] Log off\n\n## Next\n\n- [ ] Print\n",
        "\
log_in [done] Log in
log_out [done] Log out
log_off [done] Log off
print [todo] Print
> print: nothing comes before
line 6: under \"✅ Done\", which says that it is done
line 7: under \"✅ Done\", which says that it is done
",
    );
}

#[test]
fn colours_in_tables() {
    reads(
        "# Fixes\n\n| Task | Status |\n|---|---|\n| Log in | 🟢 |\n| Log out | 🔴 |\n| Print | 📅 Planned |\n| Draw | 👀 In review |\n",
        "\
log_in [done] Log in
log_out [todo] Log out
print [todo] Print
draw [blocked] Draw
> log_out / print: nothing comes before; together: nothing orders them
",
    );
    reads(
        "# Fixes\n\n| Task | Status |\n|---|---|\n| Log in | ✅ |\n| Log out | 🟢 |\n| Print | 🟢 Low |\n| Draw | ⏳ |\n",
        "\
log_in [done] Log in
log_out [blocked] Log out | details Status: 🟢
print [blocked] Print | details Status: 🟢 Low
draw [in_progress] Draw
> draw: nothing comes before
line 6: its status is not known
line 7: its status is not known
warnings 6: unknown status `🟢`: this task is not run
warnings 7: unknown status `🟢 Low`: this task is not run
",
    );
    reads(
        "# 计划\n\n| 任务 | 优先级 | 状态 |\n|---|---|---|\n| 缓存 | 🔴 高 | ✅ 已完成 |\n| 登录 | 🟢 低 | ⏳ 进行中 |\n",
        "\
缓存 [done] 缓存 | details 优先级: 🔴 高
登录 [in_progress] 登录 | details 优先级: 🟢 低
errors 1: this plan can be read in several ways, since the rows of a table may be tasks or facts
",
    );
}

#[test]
fn a_status_of_the_document_may_be_limited() {
    reads(
        "# Design\n\n## Status\n\n- **State:** Completed (design only)\n\n## Tasks\n\n- [ ] Build it\n",
        "\
build_it [todo] Build it
> build_it: nothing comes before
warnings 5: the status `Completed (design only)` is no word for done, so the open tasks are run
",
    );
    reads(
        "# Design\n\n## Status\n\nCompleted: nothing yet\n\n## Tasks\n\n- [ ] Build it\n",
        "\
build_it [todo] Build it
> build_it: nothing comes before
warnings 5: the status `Completed: nothing yet` is no word for done, so the open tasks are run
",
    );
    reads(
        "# Design\n\n**Status:** ✅ Completed (2025-01-31)\n\n## Tasks\n\n- [ ] Build it\n",
        "\
build_it [done] Build it
line 7: the document says that all its work is done, or not to be done
",
    );
}

#[test]
fn a_colour_is_no_status_of_the_document() {
    reads(
        "# P\n\n**Status:** 🟢\n\n- [ ] Fix it\n",
        "\
fix_it [todo] Fix it
> fix_it: nothing comes before
",
    );
}

#[test]
fn a_legend_of_boxes_is_no_work() {
    reads(
        "# P\n\n## Marks\n\n- [ ] Pending\n- [x] Done\n- [~] Out of scope\n\n## Tasks\n\n- [ ] Build\n- [ ] Ship\n",
        "\
build [todo] Build
ship [todo] Ship
> build / ship: nothing comes before; together: nothing orders them
line 5: a legend
line 6: a legend
line 7: a legend
",
    );
    reads(
        "# P\n\nLegend:\n\n- [ ] not yet begun here\n- [x] Done\n\n## Tasks\n\n- [ ] Build\n- [ ] Ship\n",
        "\
build [todo] Build
ship [todo] Ship
> build / ship: nothing comes before; together: nothing orders them
line 5: under \"Legend\"
line 6: under \"Legend\"
",
    );
}

#[test]
fn two_tasks_that_begin_with_words_of_a_status_are_no_legend() {
    for tasks in [
        "- [x] Complete setup\n- [ ] Complete migration\n",
        "- [x] Complete setup\n- [ ] Open the page\n",
    ] {
        let (plan, _) = read(tasks, &KnownNames::default());
        assert_eq!(plan.tasks.len(), 2, "{tasks}");
    }
}

#[test]
fn a_checklist_of_work_is_work() {
    reads(
        "# P\n\n### Current slice checklist\n\n- [ ] Build\n\n### Review checklist\n\n- [ ] It is fast\n",
        "\
build [todo] Build
> build: nothing comes before
line 9: under \"Review checklist\"
",
    );
}

#[test]
fn bullets_below_what_is_next_are_work() {
    reads(
        "# P\n\n## What's next\n\n- Build the page\n- Ship the page\n",
        "\
build_the_page [todo] Build the page
ship_the_page [todo] Ship the page
> build_the_page: nothing comes before
> ship_the_page: after build_the_page: the plan's order
",
    );
}

#[test]
fn what_is_done_by_hand_is_a_persons() {
    reads(
        "# P\n\n- [ ] Review by hand the migrated rows\n- [ ] Let users manually verify a row\n",
        "\
review_by_hand [blocked] Review by hand the migrated rows
let_users [todo] Let users manually verify a row
> let_users: nothing comes before
line 3: it is work of a person
",
    );
}

#[test]
fn a_numbered_table_of_issues_beside_boxes_is_asked_about() {
    reads(
        "# P\n\n## Work\n\n- [ ] Build\n\n## Remaining\n\n| ID | Issue | Notes |\n|---|---|---|\n| R-1 | Crash | old |\n| R-2 | Leak | new |\n\n## Choices\n\n| Item | Decision |\n|---|---|\n| Store | files |\n| Parser | own |\n",
        "\
build [todo] Build
line 11: a row of a table; the plan's tasks are its boxes
line 12: a row of a table; the plan's tasks are its boxes
errors 1: this plan can be read in several ways, since boxes and rows of a table look like tasks
",
    );
}

#[test]
fn an_unknown_status_below_a_heading_is_not_run() {
    reads(
        "# P\n\n### Task 1: Parse\n\n**Status**: Parked upstream\n\nText.\n\n### Task 2: Print\n\n- Status: Ready for dev\n\n\
         ### Task 3: Answer\n\nThe page shows:\n\n- Status: 404\n- Status: a badge\n\n### Task 4: [ ] Ship\n\n**Status:** Parked\n",
        "\
T1 [blocked] Parse | details **Status**: Parked upstream / Text.
T2 [blocked] Print | details Status: Ready for dev
T3 [todo] Answer | details The page shows: / Status: 404 / Status: a badge
T4 [todo] Ship | details **Status:** Parked
> T3: nothing comes before
> T4: after T3: its number
line 3: its status is not known
line 9: its status is not known
warnings 5: unknown status `Parked upstream`: this task is not run
warnings 11: unknown status `Ready for dev`: this task is not run
warnings 22: unknown status `Parked`: its mark counts
",
    );
}

#[test]
fn what_a_document_says_of_its_marks_counts() {
    for legend in [
        "Legend: `[ ]` open, `[~]` done / dropped, `[>]` deferred, `[x]` finished.",
        "```\n[ ] open\n[~] dropped\n[>] on hold\n```",
        "- `[ ]` = open\n- `[~]` = dropped\n- `[>]` - on hold\n- `[x]` = done",
        "| Mark | Meaning |\n|---|---|\n| `[ ]` | open |\n| `[~]` | dropped |\n| `[>]` | on hold |",
        "**Marks**: [~] out of scope · [>] postponed · [x] done",
        "## Marks\n\n- [ ] Pending\n- [x] Done\n- [~] Dropped\n- [>] Deferred",
    ] {
        let source = format!(
            "# P\n\n{legend}\n\n## Tasks\n\n- [ ] Build\n- [~] Paint\n- [>] Sell\n- [/] Ship\n"
        );
        let (plan, errors) = read(&source, &KnownNames::default());
        let runs: Vec<bool> = plan.tasks.iter().map(|task| task.status.runs()).collect();
        assert_eq!(
            (runs, errors),
            (vec![true, false, false, true], vec![]),
            "{legend}"
        );
        assert_eq!(plan.warnings, [], "{legend}");
    }
}

#[test]
fn marks_that_are_not_explained_mean_the_usual() {
    for text in [
        "Change `[ ]` to `[x]` when it passes, and to `[~]` when you begin.",
        "`[~]` done",
    ] {
        let source = format!("# P\n\n{text}\n\n## Tasks\n\n- [ ] Build\n- [~] Paint\n");
        let (plan, errors) = read(&source, &KnownNames::default());
        let runs: Vec<bool> = plan.tasks.iter().map(|task| task.status.runs()).collect();
        assert_eq!((runs, errors), (vec![true, true], vec![]), "{text}");
        assert_eq!(plan.warnings, [], "{text}");
    }
}

#[test]
fn a_mark_with_another_meaning_is_said() {
    reads(
        "# P\n\nMarks: `[ ]` open, `[!]` important, `[x]` cancelled\n\n- [ ] Build\n- [!] Paint\n- [x] Ship\n",
        "\
build [todo] Build
paint [blocked] Paint
ship [done] Ship
errors 3: `[!]` means `important` here, which is no known status
errors 3: `[x]` means `cancelled` here, so no task can be ticked with it
",
    );
}

#[test]
fn a_legend_in_another_language_is_said() {
    for legend in [
        "Legende: `[ ]` offen, `[x]` fertig, `[~]` verworfen",
        "- `[ ]` offen\n- `[x]` fertig\n- `[~]` verworfen",
    ] {
        let source = format!("# P\n\n{legend}\n\n## Aufgaben\n\n- [ ] Bauen\n- [~] Malen\n");
        let (plan, errors) = read(&source, &KnownNames::default());
        assert_eq!(plan.warnings, [], "{legend}");
        let said: Vec<&str> = errors.iter().map(|own| own.text.as_str()).collect();
        assert_eq!(said, ["verworfen"], "{legend}");
    }
}

#[test]
fn an_unknown_status_below_a_box_is_said() {
    reads(
        "# P\n\n- [ ] Parse\n  - **Status**: Parked upstream\n- [x] Print\n  - Status: Parked\n- [ ] Ship\n  - Show it\n  - Status: a badge\n",
        "\
parse [todo] Parse | details **Status**: Parked upstream
print [done] Print | details Status: Parked
ship [todo] Ship | details Show it / Status: a badge
> parse / ship: nothing comes before; together: nothing orders them
warnings 4: unknown status `Parked upstream`: its mark counts
",
    );
}

/// What becomes of the tasks of a plan: `+` for one that is run; and how many warnings there are.
fn runs(source: &str) -> (String, usize) {
    let (plan, errors) = read(source, &KnownNames::default());
    assert_eq!(errors, [], "{source}");
    let mut tasks = String::new();
    for task in &plan.tasks {
        tasks.push(if task.status.runs() { '+' } else { '-' });
    }
    (tasks, plan.warnings.len())
}

#[test]
fn a_field_of_a_task_says_its_status() {
    let table = [
        ("**Status:** 已完成", "-", 1),
        ("**Status:** erledigt", "-", 1),
        ("**Status:** verified", "-", 1),
        ("**Status:** cancelled by the customer", "-", 0),
        ("**Status:** Superseded by plan B", "-", 0),
        ("**Status:** DNF (superseded)", "-", 0),
        ("**Status:** ⏳ DEFERRED TO BACKLOG - later", "-", 0),
        ("**State:** done", "-", 0),
        ("**State:** what the store keeps", "+", 0),
        ("Done: yes", "-", 0),
        ("Done: when it prints", "+", 0),
        ("> Status: done", "-", 0),
        ("**Progress:** 100%", "-", 0),
        ("**Progress:** 40%", "+", 0),
        ("**Completed:** 2025-01-01", "-", 0),
        ("(shipped in v1.2)", "-", 1),
        ("(see above)", "+", 0),
    ];
    for (field, expected, warnings) in table {
        let source = format!("# P\n\n### Task 1: Print\n\n{field}\n\nPrint the letters.\n");
        assert_eq!(runs(&source), (expected.to_owned(), warnings), "{field}");
    }
}

#[test]
fn a_status_of_a_section_counts_for_what_stands_below_it() {
    let table = [
        (
            "## Printer\n\n**Status:** Cancelled\n\n- [ ] Print\n\n## Lexer\n\n- [ ] Read",
            "-+",
            0,
        ),
        (
            "## Printer\n\n**Status:** Parked upstream\n\n- [ ] Print\n\n## Lexer\n\n- [ ] Read",
            "-+",
            1,
        ),
        (
            "## Printer\n\n- [ ] Print\n\nThe page shows:\n\nStatus: parked\n\n- [ ] Show",
            "++",
            0,
        ),
        (
            "## Printer\n\n- [ ] Print\n\n### Status: Deferred\n\n- [ ] Fold\n\n## Lexer\n\n- [ ] Read",
            "--+",
            0,
        ),
        (
            "## Parser\n\n- [ ] Parse\n\n## Printer\n\n## Status: Deferred\n\n- [ ] Print",
            "+-",
            0,
        ),
        ("## Status: Deferred\n\n## Parser\n\n- [ ] Parse", "-", 0),
        (
            "## TODO\n\n- DONE: lexer\n- parser\n- Cancelled: printer\n- TODO: log",
            "-+-+",
            0,
        ),
        (
            "## Work\n\n- [ ] Parse\n\n## Already done\n\n- [ ] Read",
            "+-",
            0,
        ),
        (
            "## Work\n\n- [ ] Parse\n\n## Archived\n\n- [ ] Read",
            "+-",
            0,
        ),
        (
            "## Work\n\n- [ ] Parse\n\n## Not in scope\n\n- [ ] Read",
            "+",
            0,
        ),
        (
            "- [ ] ~~Migrate~~ <!-- dnf: superseded -->\n- [ ] Read",
            "-+",
            1,
        ),
    ];
    for (body, expected, warnings) in table {
        let source = format!("# P\n\n{body}\n");
        assert_eq!(runs(&source), (expected.to_owned(), warnings), "{body}");
    }
}

#[test]
fn a_status_of_the_document_that_is_not_certain_is_said() {
    let table = [
        ("OUTDATED", "+", 1),
        ("Planning (awaiting approval)", "+", 1),
        ("Draft", "+", 1),
        ("Archived", "-", 0),
        ("DNF (superseded by plan B)", "-", 0),
        ("ready-for-dev", "+", 0),
        ("In Progress (3/10)", "+", 0),
    ];
    for (said, expected, warnings) in table {
        for source in [
            format!("# P\n\n**Status:** {said}\n\n## Tasks\n\n- [ ] Print\n"),
            format!("# P\n\n> **Status: {said}**\n\n## Tasks\n\n- [ ] Print\n"),
        ] {
            assert_eq!(runs(&source), (expected.to_owned(), warnings), "{source}");
        }
    }
    let front = "---\nstatus: implemented-pending-live-verification\n---\n# P\n\n- [ ] Print\n";
    assert_eq!(runs(front), ("+".to_owned(), 1));
}

#[test]
fn words_in_brackets_before_bullets_are_marks() {
    let plan = "# P\n\n## Steps\n\n- [completed] Cut the planks\n- [in_progress] Glue them\n- [pending] Paint it\n\n\
                ## Checks\n\n- It stands\n";
    reads(
        plan,
        "\
cut_the_planks [done] Cut the planks
glue_them [in_progress] Glue them
paint_it [todo] Paint it
> glue_them: nothing comes before
> paint_it: after glue_them: the plan's order
",
    );
    written(plan, &["paint_it"], &plan.replace("[pending]", "[done]"));
}

#[test]
fn headings_of_a_document_that_is_done_are_not_run() {
    let plan = "# Task 4: Split the index\n\n## Status: Completed\n\n## Work\n\n### Phase 1: Cut\n\n#### 1.1 Cut it\n\n\
                **Files**: `a.rs`\n\n#### 1.2 Sort it\n\nBy name.\n\n### Phase 2: Join\n\n#### 2.1 Join it\n\n**Files**: `b.rs`\n";
    let (plan, errors) = read(plan, &KnownNames::default());
    assert_eq!(errors, []);
    assert!(
        plan.tasks
            .iter()
            .all(|task| task.status == TaskStatus::Done)
    );
}

#[test]
fn an_open_box_above_boxes_that_are_all_ticked_is_not_run() {
    reads(
        "# Shop\n\n- [ ] Cart\n  - [x] Add\n  - [x] Remove\n- [ ] Till\n  - [x] Cash\n  - [ ] Cards\n",
        "\
cart [done] Cart | details [x] Add / [x] Remove
till [todo] Till | details [x] Cash / [ ] Cards
> till: nothing comes before
line 3: all boxes below it are ticked: tick it, or open the one that is left
",
    );
}

#[test]
fn a_story_that_is_over_and_has_no_tasks_is_asked_about() {
    let plan = "# Story 4.4: The manual\n\n## Status\n✅ **COMPLETED** (August)\n\n## Story\n\n\
                As a user, I want a manual.\n\n### ✅ Completed items\n\n1. **Manual** - written\n";
    let (_, errors) = read(plan, &KnownNames::default());
    let codes: Vec<FindingCode> = errors.iter().map(|error| error.code).collect();
    assert_eq!(codes, [FindingCode::Ambiguous]);
}

#[test]
fn a_word_behind_an_at_sign_is_a_status() {
    reads(
        "# P\n\n- [ ] Cut it @DONE\n- [ ] Glue it @done(2025-01-31)\n- [ ] Paint it @todo\n",
        "\
cut_it_done [done] Cut it @DONE
glue_it_done [done] Glue it @done(2025-01-31)
paint_it [todo] Paint it @todo
> paint_it: nothing comes before
line 3: its box is open, but it says `DONE`: tick it, or cut this
line 4: its box is open, but it says `done(2025-01-31)`: tick it, or cut this
",
    );
    reads(
        "# P\n\n### Task 1: Cut it @done\n\nBy hand.\n\n### Task 2: Glue it\n\nAll of it.\n",
        "\
T1 [done] Cut it | details By hand.
T2 [todo] Glue it | details All of it.
> T2: nothing comes before
",
    );
}
