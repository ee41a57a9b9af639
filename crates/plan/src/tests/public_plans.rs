//! Tests of plans in the manner of public ones, in the languages that these are written in, and of
//! documents that mark no task.

use crate::parse::read;
use crate::tests::styles::reads;
use crate::{FindingCode, KnownNames, write_boxes};
use orchestrate_core::TaskId;
use orchestrate_core::task::Work;

#[test]
fn a_list_below_to_do() {
    let plan = "\
# Fix Plan

## TODO

* Test the tokenizer
* Wire `src/fs`

## DONE

* Bootstrap
";
    reads(
        plan,
        "\
test_the [todo] Test the tokenizer
wire_src_fs [todo] Wire `src/fs`
> test_the / wire_src_fs: nothing comes before; together: nothing orders them
",
    );
}

#[test]
fn marks_outside_a_list_are_noted() {
    let plan = "⬜ Log in\n✅ Log out\n\n- ⬜ Build\n";
    reads(
        plan,
        "\
build [todo] Build
> build: nothing comes before
line 1: nearly an item with a box: write `- [ ]` at the beginning of a line
",
    );
}

#[test]
fn a_column_of_a_table_chooses_a_role() {
    let plan = "\
| Task | Agent | Verify | Status |
|------|-------|--------|--------|
| Build | @tester | looks right | open |
| Ship | Claude | | open |
";
    reads(
        plan,
        "\
build [todo] Build | details Verify: looks right
ship [todo] Ship | details Agent: Claude
> build / ship: nothing comes before; together: nothing orders them
",
    );
    let (plan, _) = read(plan, &KnownNames::roles(["tester"]));
    assert_eq!(plan.tasks[0].work, Work::Agent(Some("tester".to_owned())));
}

#[test]
fn tables_of_several_kinds() {
    let plan = "\
---
read: table
---
# Status

| Feature | Status | Owner |
|---------|:------:|-------|
| Login `a\\|b` | 🚧 | Ann |
| Export | ✅ | |

| ID | Bug | Status |
|----|-----|--------|
| B1 | Crash | Open |
| B2 | Time zone | Fixed |

| Area | Status |
|------|--------|
| Billing | To do |
";
    reads(
        plan,
        "\
login_a_b [in_progress] Login `a|b` | details Owner: Ann
export [done] Export
B1 [todo] Crash
B2 [done] Time zone
billing [todo] Billing
> login_a_b / B1 / billing: nothing comes before; together: nothing orders them
",
    );
}

#[test]
fn a_table_beside_lists() {
    let plan = "\
---
read: table
---
# 开发计划

## 阶段一：基础

1. 初始化仓库

| 任务 | 状态 |
|---|---|
| 登录 | 🚧 |
";
    reads(
        plan,
        "\
登录 [in_progress] 登录
> 登录: nothing comes before
",
    );
}

#[test]
fn a_plan_in_another_language_is_read_by_its_structure_or_asked_about() {
    // Headings with fields, and boxes elsewhere.
    reads(
        "# 实施计划\n\n### 任务1：索引\n\n**Files：** `src/index.rs`\n\n### 任务2：查询\n\n**Files:** `q.rs`\n\n\
         ## 验收标准\n\n- [ ] 搜索返回结果\n",
        "\
任务1_索引 [todo] 任务1：索引 | files src/index.rs
任务2_查询 [todo] 任务2：查询 | files q.rs
line 13: a box; the plan's tasks are its headings
errors 1: this plan can be read in several ways, since headings and boxes outside of them look like tasks
",
    );
    // Headings in a series, and a box elsewhere.
    reads(
        "# Plan\n\n## Étape 1 : Base\n\n- Créer le dépôt\n\n## Étape 2 : Fonctions\n\n- Recherche\n\n## Critères\n\n\
         - [ ] Tout passe\n",
        "\
étape_1_base [todo] Étape 1 : Base | details Créer le dépôt
étape_2 [todo] Étape 2 : Fonctions | details Recherche
line 11: it looks like work, but no task was read there
line 13: a box; the plan's tasks are its headings
errors 1: this plan can be read in several ways, since boxes and headings in a series look like tasks
",
    );
    // Boxes alone are tasks.
    reads(
        "# 実装計画\n\n## フェーズ 1: 準備\n\n- [ ] 1. 準備する\n\n## フェーズ 2: 機能\n\n- [ ] 1. 検索する\n",
        "\
P1-1 [todo] 準備する
P2-1 [todo] 検索する
> P1-1: nothing comes before
> P2-1: after P1-1: its number
warnings 9: the numbers restart, so each id begins with its part of the plan
",
    );
    // So are those of a known format.
    reads(
        "# Plano\n\n## Fase 1: Preparação\n\n- [ ] T001 Criar o projeto\n- [ ] T002 [P] Configurar (files: ci.yml)\n\n\
         ## Critérios de aceitação\n\n- [ ] Funciona\n",
        "\
T001 [todo] Criar o projeto
T002 [todo] Configurar | files ci.yml
> T001: nothing comes before
> T002: after T001: the plan's order
line 10: a box without the number of a task
",
    );
}

#[test]
fn attributes_in_wide_parentheses() {
    reads(
        "- [ ] T1 解析（files：src/a.rs，src/b.rs）\n- [ ] T2 打印（depends：T1）\n- [ ] T3 说明（见文档）（depends on：T1、T2）\n",
        "\
T1 [todo] 解析 | files src/a.rs / src/b.rs
T2 [todo] 打印
T3 [todo] 说明（见文档）
> T1: nothing comes before
> T2: after T1: dependency
> T3: after T2: dependency
",
    );
}

#[test]
fn dependencies_in_prose() {
    let plan = "\
# Plan

- [ ] T1 Log in
- [ ] T2 Show the profile (depends on the login work)
- [ ] T3 Edit it (depends on: the profile page)
- [ ] T4 Delete it (depends: T1 must be merged first)
- [ ] T5 Export it
  - **Dependencies:** T1 through T3
- [ ] T6 Mail it (depends: Log in)
- [ ] T7 Print it (depends: none, it stands alone)
";
    reads(
        plan,
        "\
T1 [todo] Log in
T2 [todo] Show the profile (depends on the login work)
T3 [todo] Edit it | details Depends on: the profile page
T4 [todo] Delete it | details Depends on: T1 must be merged first
T5 [todo] Export it
T6 [todo] Mail it
T7 [todo] Print it
> T1 / T7: nothing comes before; together: nothing orders them
> T2 / T6: T6 after T1: dependency; T2 after T1: the plan's order; together: nothing orders them
> T3: after T2: the plan's order
> T4 / T5: T5 after T3: dependency; T4 after T3: the plan's order; together: nothing orders them
warnings 4: not all of this names tasks, so it stays in the title
warnings 5: `the profile page` names no task, so it is read as a remark
warnings 6: `must be merged first` names no task, so it is read as a remark
",
    );
}

#[test]
fn a_group_that_depends_on_one_of_its_tasks() {
    reads(
        "- [ ] 2 Ship (blocked by 2.1)\n  - [ ] 2.1 a\n  - [ ] 2.2 b\n",
        "\
2.1 [todo] a | details Part of 2: Ship (blocked by 2.1)
2.2 [todo] b | details Part of 2: Ship (blocked by 2.1)
> 2.1: nothing comes before
> 2.2: after 2.1: dependency
",
    );
}

#[test]
fn dependencies_on_a_phase() {
    let plan = "\
## Phase 1

### Task 1: Model

Make it.

### Task 2: Store (depends on Task 1)

## Phase 2

### Task 1: Route

**Dependencies:** Phase 1
";
    reads(
        plan,
        "\
P1-T1 [todo] Model | details Make it.
P1-T2 [todo] Store (depends on Task 1)
P2-T1 [todo] Route
> P1-T1: nothing comes before
> P1-T2: after P1-T1: dependency
> P2-T1: after P1-T2: the phase before
warnings 11: the numbers restart, so each id begins with its part of the plan
",
    );
}

#[test]
fn a_document_that_says_nothing_or_what_is_done_is_no_task() {
    for text in [
        "# Title\n",
        "# Title\n\nprose\n",
        "# Title\n\nTBD\n",
        "---\ntitle: x\n---\n",
        "# T\n\n## Tasks\n\n## Notes\n\nAn agent should read these notes.\n",
        "# Done\n\nEverything that was planned was built.\n",
        "# T\n\n## Completed\n\n- The parser of the language\n- The printer of the language\n",
        "# T\n\nThis was a plan for the parser.\n\nAll tasks are done.\n",
        "# T\n\n**Status**: ✅ Completed\n\nWrite the parser of the language.\n",
        "# T\n\n- Status: Implemented\n- Author: me\n\nWrite the parser of the language.\n",
        "# T\n\n## Status\n\nRejected.\n\n## Context\n\nWrite the parser of the language.\n",
        "# Task ID: 1\n# Title: Parser\n# Status: done\n\nWrite the parser of the language.\n",
        "# T\n\n<!-- write what is to be done here -->\n",
        "# T\n\n- [?] an odd box is said with its line\n",
        "# T\n\n## Manual steps\n\n- [ ] Ask the owner for a key\n",
        "[1, 2, 3]\n",
    ] {
        let (plan, errors) = read(text, &KnownNames::default());
        assert!(
            plan.tasks.is_empty() && !errors.is_empty(),
            "{text}: {plan:?} {errors:?}"
        );
    }
    let (plan, errors) = read("# T\n\n- [x] a\n- [x] b\n", &KnownNames::default());
    assert!(
        errors.is_empty() && plan.tasks.iter().all(|task| !task.status.runs()),
        "{plan:?}"
    );
}

#[test]
fn a_document_without_marks_is_one_task() {
    for text in [
        "Fix the crash when the name is empty.\n",
        "# 修正\n\n名前が空のときの異常終了を直す。\n",
        "# T\n\n**Status**: accepted\n\n## Parser\n\nWrite it again from scratch.\n\n**Status**: done\n",
        "# T\n\nThe answer needs these fields:\n\n- Status: done\n- Name: text\n",
        "# T\n\nShow how far an order is.\n\n### Status: done\n\nA green badge.\n",
        "# T\n\nWrite the parser of the language.\n\n```yaml\nStatus: done\n```\n",
        "# T\n\nWrite the parser of the language.\n\n~~~\n# TODO\n~~~\n",
    ] {
        let (plan, errors) = read(text, &KnownNames::default());
        assert_eq!(
            (plan.tasks.len(), errors.len()),
            (1, 0),
            "{text}: {errors:?}"
        );
        let codes: Vec<FindingCode> = plan.warnings.iter().map(|warning| warning.code).collect();
        assert_eq!(codes, [FindingCode::WholeDocument], "{text}");
        assert!(
            plan.is_goal() && plan.tasks[0].work == Work::Agent(Some("coordinator".to_owned())),
            "{text}"
        );
        assert!(
            plan.notes.iter().any(|note| !note.text.is_empty()),
            "{text}"
        );
    }
}

/// Returns a text in other forms of the same content, each with its name.
fn forms(text: &str) -> Vec<(&'static str, String)> {
    vec![
        ("as written", text.to_owned()),
        ("CRLF", text.replace('\n', "\r\n")),
        ("CR", text.replace('\n', "\r")),
        ("BOM", format!("\u{feff}{text}")),
        (
            "BOM and CRLF",
            format!("\u{feff}{}", text.replace('\n', "\r\n")),
        ),
        ("no final newline", text.trim_end().to_owned()),
        ("blanks at the ends", text.replace('\n', "  \n")),
        ("tabs", text.replace("- [", "-\t[").replace("| ", "|\t")),
    ]
}

/// Marks a task as done, and requires that exactly one place changes, from `before` to `after`.
fn writes(text: &str, task: &str, before: &str, after: &str) {
    for (form, source) in forms(text) {
        let written = write_boxes(&source, &[TaskId::from(task)], &KnownNames::default());
        let (old, new): (Vec<char>, Vec<char>) =
            (source.chars().collect(), written.chars().collect());
        let start = old
            .iter()
            .zip(&new)
            .take_while(|(one, other)| one == other)
            .count();
        let ends = old[start..].iter().rev().zip(new[start..].iter().rev());
        let end = ends.take_while(|(one, other)| one == other).count();
        let changed = |text: &[char]| text[start..text.len() - end].iter().collect::<String>();
        assert_eq!(
            (changed(&old).as_str(), changed(&new).as_str()),
            (before, after),
            "{form}: {written:?}"
        );
        let (plan, errors) = read(&written, &KnownNames::default());
        assert!(errors.is_empty(), "{form}: {errors:?}");
        let done: Vec<&str> = plan
            .tasks
            .iter()
            .filter(|task| !task.status.runs())
            .map(|task| task.id.as_str())
            .collect();
        assert_eq!(done, [task], "{form}: {written:?}");
    }
}

#[test]
fn only_the_status_changes_in_any_form_of_a_plan() {
    writes(
        "# P\n\n- [ ] same\n- [ ] same\n- [ ] same\n",
        "same_2",
        " ",
        "x",
    );
    writes(
        "- [ ] 1. Group\n  - [ ] 1.1 One\n  - [ ] 1.2 Two\n",
        "1.2",
        " ",
        "x",
    );
    writes(
        "| Task | Status |\n|---|---|\n| A `x\\|y` \\| z | ⏳ |\n| B | ⏳ |\n",
        "a_x_y_z",
        "⏳",
        "✅",
    );
    writes(
        "| Status | Task |\n|---|---|\n| `todo` | A `|` |\n| todo | B |\n",
        "a",
        "todo",
        "done",
    );
    writes(
        "| ID | Bug | Status |\n|---|---|---|\n| B1 | A | [ ] |\n| B2 | B | [ ] |\n",
        "B1",
        " ",
        "x",
    );
    writes(
        "### Task 1: A\n\n**Status**: Not Started\n\n### Task 2: B\n\n**Files**: `b`\n",
        "T1",
        "Not Started",
        "Done",
    );
    writes(
        "# P\n\n## Work\n\n- [ ] (2025-10-02) [a] A\n- [ ] [b] B\n",
        "a",
        " ",
        "x",
    );
    writes("- ⏳ Printer\n- ⬜ Loader\n", "loader", "⬜", "✅");
    writes(
        "# 计划\n\n### Task 1: [ ] 索引\n\n### Task 2: [ ] 查询\n",
        "T1",
        " ",
        "x",
    );
}
