//! Fields, statuses, tables and ids in the forms that public plans write them in, each misread
//! once.

use crate::parse::read;
use crate::tests::styles::reads;
use crate::{KnownNames, LineKind};

#[test]
fn a_field_of_a_section_status_says_that_of_the_document() {
    let rest = "## Phase 0: Base\n\n- [ ] Record\n";
    for status in [
        "- **State:** Completed\n- **Completed:** 2026-07-06",
        "- **Status:** Completed",
        "**State:** Completed",
    ] {
        reads(
            &format!("# P\n\n## Status\n\n{status}\n\n{rest}").replace("2026-07-06", "in July"),
            &format!(
                "record [done] Record\nline {}: the document says that all its work is done, or not to be done\n",
                8 + status.lines().count()
            ),
        );
    }
}

#[test]
fn criteria_and_logs_are_no_work() {
    reads(
        "# P\n\n## Done Criteria (Observable)\n\n- [ ] It arrives\n\n## Tasks\n\n1. [ ] Send it\n\n\
         ## Git Checkpoint Log\n\n- [ ] `git status`\n",
        "\
send_it [todo] Send it
> send_it: nothing comes before
line 5: under \"Done Criteria (Observable)\"
line 13: under \"Git Checkpoint Log\"
",
    );
}

#[test]
fn only_names_are_files() {
    reads(
        "### Task 1: Shell\n\n**Files:**\n- Modify: `ui/App.tsx`\n- Test: `cd ui && npm run build`\n\n\
         ### Task 2: Styles\n\n**Files:**\n- Create/Modify: `a.test.ts`, Settings/visual contracts\n\n\
         ### Task 3: Library\n\n**File**: `x.ini`\n**Changes**:\n```ini\na = 1\n```\n",
        "\
T1 [todo] Shell | files ui/App.tsx
T2 [todo] Styles | files a.test.ts | details Create/Modify: `a.test.ts`, Settings/visual contracts
T3 [todo] Library | files x.ini | details **Changes**: / ```ini / a = 1 / ```
> T1: nothing comes before
> T2: after T1: its number
> T3: after T2: its number
",
    );
}

#[test]
fn what_is_measured_afterwards_is_no_dependency() {
    reads(
        "### Task 1: Speed\n\n- **Before**: 120 seconds\n- **After**: 85 seconds\n\n\
         ### Task 2: Rate\n\n- **After**: 93%\n\n### Task 3: Docs\n\n- **After**: 1, 2\n",
        "\
T1 [todo] Speed | details **Before**: 120 seconds / **After**: 85 seconds
T2 [todo] Rate | details **After**: 93%
T3 [todo] Docs
> T1: nothing comes before
> T2: after T1: its number
> T3: after T2: dependency
",
    );
}

#[test]
fn ids_of_phases_and_issues_are_read() {
    reads(
        "- [ ] **P2-01:** Write docs\n- [ ] **P2-02:** Ship it (depends: P2-01)\n\
         - [ ] **#7** Announce (depends: P2-02)\n- [ ] Rest (depends: #7)\n",
        "\
P2-01 [todo] Write docs
P2-02 [todo] Ship it
7 [todo] Announce
rest [todo] Rest
> P2-01: nothing comes before
> P2-02: after P2-01: dependency
> 7: after P2-02: dependency
> rest: after 7: dependency
",
    );
}

#[test]
fn manual_work_is_of_a_person() {
    reads(
        "# P\n\n- [ ] Add the theme\n- [ ] Manual QA via `app serve`: switch it\n\
         - [ ] Manual contrast check (axe) of the pairs\n- [ ] RT manually reviews it\n- [ ] Manual page of the tool\n",
        "\
add_the_theme [todo] Add the theme
manual_qa_via [blocked] Manual QA via `app serve`: switch it
manual_contrast [blocked] Manual contrast check (axe) of the pairs
rt_manually [blocked] RT manually reviews it
manual_page_of [todo] Manual page of the tool
> add_the_theme / manual_page_of: nothing comes before; together: nothing orders them
line 4: it is work of a person
line 5: it is work of a person
line 6: it is work of a person
",
    );
}

#[test]
fn a_done_box_waits_for_nobody() {
    reads(
        "# P\n\n## Work\n\n- [ ] Build\n\n## Blocked\n\n- [x] Permission denied\n- [ ] Sign it\n",
        "\
build [todo] Build
> build: nothing comes before
line 9: under \"Blocked\", which waits for a person
line 10: under \"Blocked\", which waits for a person
",
    );
}

#[test]
fn a_legend_of_statuses_is_no_work() {
    reads(
        "# P\n\n## Status legend\n\n| Status | Meaning |\n|---|---|\n| `todo` | not begun |\n| `done` | finished |\n\n\
         ## Phase 0\n\n| ID | Task | Status |\n|---|---|---|\n| P0-1 | [Rule](r.md) | done |\n| P0-2 | Docs | todo |\n| P0-3 | Page | in-review |\n",
        "\
P0-1 [done] [Rule](r.md)
P0-2 [todo] Docs
P0-3 [blocked] Page
> P0-2: nothing comes before
",
    );
}

#[test]
fn tables_of_ids_compete_with_boxes() {
    reads(
        "# 路线\n\n| 里程碑 | 交付物 |\n|---|---|\n| M1: 骨架 | 目录 |\n| M2: 采集 | 读取 |\n\n**验收**:\n\n- [ ] 配置\n",
        "\
配置 [todo] 配置
line 5: a row of a table; the plan's tasks are its boxes
line 6: a row of a table; the plan's tasks are its boxes
errors 1: this plan can be read in several ways, since boxes and rows of a table look like tasks
",
    );
    reads(
        "# P\n\n| ID | Task | Status |\n|---|---|---|\n| T1 | Frame | done |\n| T2 | Page | todo |\n\n\
         ## Later\n\n| ID | Task | Notes |\n|---|---|---|\n| T3 | Export | after T2 |\n",
        "\
T1 [done] Frame
T2 [todo] Page
> T2: nothing comes before
line 12: under \"Later\"
",
    );
}

#[test]
fn phases_may_be_named_by_their_first_and_last() {
    reads(
        "## Phase 1: A\n\n- [ ] a\n\n## Phase 2: B\n\n- [ ] b\n\n## Phase 3: C\n\n\
         - [ ] c\n  - Prerequisites: Phases 1-2 complete\n- [ ] d (needs: Phases 1-9)\n",
        "\
a [todo] a
b [todo] b
c [todo] c | details Depends on: Phases 1-2 complete
d_needs_phases_1 [todo] d (needs: Phases 1-9)
> a: nothing comes before
> b: after a: the phase before
> c: after b: the phase before
> d_needs_phases_1: after c: the plan's order
warnings 12: `Phases 1-2 complete` names no task, so it is read as a remark
warnings 13: not all of this names tasks, so it stays in the title
",
    );
}

#[test]
fn a_wrapped_title_is_read_to_its_end() {
    reads(
        "# P\n\n- [ ] Make the parser of dates accept what people write in their letters and\n  cards, in each calendar\n\
         - [ ] Print\n  all of it\n",
        "\
make_the_parser [todo] Make the parser of dates accept what people write in their letters and cards, in each calendar
print [todo] Print | details all of it
> make_the_parser / print: nothing comes before; together: nothing orders them
",
    );
}

#[test]
fn the_lines_of_a_persons_work_are_not_run() {
    let (plan, _) = read(
        "- [ ] Build\n- [ ] Manual QA of it\n  with a phone\n",
        &KnownNames::default(),
    );
    let lines: Vec<_> = plan.lines.iter().map(|own| (own.from, own.role)).collect();
    assert_eq!(
        lines,
        [
            (1, LineKind::Task),
            (2, LineKind::NotRun),
            (3, LineKind::NotRun)
        ]
    );
    let reasons = plan.lines.iter().filter_map(|own| own.reason.as_deref());
    assert_eq!(reasons.collect::<Vec<_>>(), ["it is work of a person"; 2]);
}

#[test]
fn what_goes_on_without_a_person_is_said() {
    reads(
        "## 1. Code\n\n- [ ] 1.1 Add it\n\n## 2. Checks\n\n- [ ] 2.1 Manual check of it\n- [ ] 2.2 Install it\n\
         - [ ] 2.3 Tell of it (depends: 2.1)\n",
        "\
1.1 [todo] Add it
2.1 [blocked] Manual check of it
2.2 [todo] Install it
2.3 [todo] Tell of it
> 1.1: nothing comes before
> 2.2: after 1.1: its number
line 7: it is work of a person
warnings 8: this does not wait for the task before it, which is work of a person
warnings 9: 2.3 will not run: it depends on 2.1, which is blocked or the work of a person
",
    );
}

#[test]
fn the_rows_of_a_table_that_a_format_does_not_read_are_said() {
    reads(
        "> Use superpowers:executing-plans\n\n### Task 1: Frame\n\n- [ ] **Step 1: Cut it**\n\n## Rest\n\n\
         | # | Task | Status |\n|---|---|---|\n| 1 | Frame | todo |\n| 2 | Roof | todo |\n| 3 | Floor | done |\n",
        "\
T1 [todo] Frame | details [ ] **Step 1: Cut it**
> T1: nothing comes before
line 12: it looks like work, but no task was read there
",
    );
}
