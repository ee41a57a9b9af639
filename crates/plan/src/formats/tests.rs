//! Each format's own example is read as the text beside it says: its tasks, their waves, what each
//! line is, and what is written once all of it has landed.

use expect_test::expect_file;
use orchestrate_core::ids::TaskId;
use orchestrate_core::task::schedule::Schedule;

use crate::formats::document::Document;
use crate::formats::format::Claim;
use crate::formats::table::FORMATS;
use crate::import;
use crate::lines::source::Source;
use crate::parse;
use crate::{KnownNames, Plan, write_boxes};

/// Renders what a text is read as, and the lines that change once all of it has landed.
fn rendered(text: &str, plan: &Plan) -> String {
    let mut lines = Vec::new();
    for task in &plan.tasks {
        let status = serde_json::to_value(task.status).unwrap();
        let status = status.as_str().unwrap();
        lines.push(format!(
            "{} {} {status}: {}",
            task.line, task.id, task.title
        ));
    }
    for wave in Schedule::new(&plan.tasks).unwrap().waves() {
        let ids: Vec<&str> = wave.iter().map(|id| id.as_str()).collect();
        lines.push(format!("then {}", ids.join(" ")));
    }
    for own in &plan.lines {
        let role = serde_json::to_value(own.role).unwrap();
        let mut line = match own.from == own.to {
            true => own.from.to_string(),
            false => format!("{}-{}", own.from, own.to),
        };
        line.push_str(&format!(" {}", role.as_str().unwrap()));
        if let Some(task) = &own.task {
            line.push_str(&format!(" {task}"));
        }
        if let Some(reason) = &own.reason {
            line.push_str(&format!(": {reason}"));
        }
        lines.push(line);
    }
    let open = plan.tasks.iter().filter(|task| task.status.runs());
    let landed: Vec<TaskId> = open.map(|task| task.id.clone()).collect();
    let written = write_boxes(text, &landed, &KnownNames::default());
    for (number, (old, new)) in (1..).zip(text.lines().zip(written.lines())) {
        if old != new {
            lines.push(format!("{number} > {new}"));
        }
    }
    lines.join("\n")
}

#[test]
fn the_example_of_a_format_is_of_that_one_alone() {
    for format in FORMATS {
        let source = Source::new(format.example);
        let start = crate::front_matter::split(&source).map_or(0, |(_, body)| body);
        let document = Document::read(&source, start);
        let mut mine = Vec::new();
        for other in FORMATS {
            match (other.claims)(&document) {
                Claim::NotMine => {}
                Claim::Mine(_) | Claim::Weakly(_) => mine.push(other.name.to_owned()),
                Claim::Contradicting(why) => mine.push(format!("{}: {why}", other.name)),
            }
        }
        assert_eq!(mine, [format.name]);
    }
}

#[test]
fn the_example_of_a_format_is_read_as_it_says() {
    let markdown = FORMATS.iter().map(|own| (own.name, own.example, "."));
    let json = import::FORMATS
        .iter()
        .map(|own| (own.name, own.example, "../import"));
    for (name, example, folder) in markdown.chain(json) {
        let (plan, errors) = parse::read(example, &KnownNames::default());
        assert_eq!(errors, []);
        assert_eq!(plan.format, name);
        let golden = format!("{folder}/{}.txt", name.replace('-', "_"));
        expect_file![golden].assert_eq(&rendered(example, &plan));
    }
}

/// Small documents, each with the format or the way that they are read as.
const DOCUMENTS: &[(&str, &str)] = &[
    (
        "- [ ] 1. 设置\n- [ ] 2. 实现\n  - [ ] 2.1 编写\n    - _需求：1.1、2.3_\n",
        "kiro",
    ),
    ("- [ ] 1. 設定\n- [ ] 1.1 (P) 作成\n", "kiro"),
    ("- [ ] 1. Set up\n  - [ ] 1.1 Make it\n", "boxes"),
    (
        "### Task 1: A\n\n- [ ] 1.1 Make it\n  - _Needs: 2.1_\n",
        "ambiguous",
    ),
    (
        "> 使用 superpowers:executing-plans\n\n### 任务 1：模型\n\n\
         - [ ] **步骤 1：写测试**\n",
        "superpowers",
    ),
    (
        "> Use superpowers:executing-plans\n\n# Design\n\nA service makes slugs.\n",
        "whole",
    ),
    (
        "> Use superpowers:executing-plans\n\n## Task 1: A\n\n- [ ] Do\n\n\
         ### Task 1.1: B\n\n- [ ] Do\n",
        "ambiguous",
    ),
    ("## 1、准备\n- [ ] 1.1 创建\n- [ ] 其他\n", "openspec"),
    (
        "# Spec Tasks\n\n## 1. A\n\n- [ ] 1.1 Test it\n",
        "agent-os-v1",
    ),
    ("# Spec Tasks\n\n- [ ] 1. A\n- [ ] 1.1 Test it\n", "boxes"),
    (
        "#### Grupo 1: A\n\n- [ ] 1.0 Completar\n  - [ ] 1.1 Probar\n",
        "agent-os",
    ),
    ("## Phase 1: A\n\n- [ ] Task: Read workflow.md\n", "boxes"),
    (
        "## 进度\n\n- [x] (2026-02-18 00:10Z) A\n- [ ] B\n\n\
         ## 决定\n\n- Decision: C\n  Rationale: D\n",
        "execplan",
    ),
    (
        "This ExecPlan is a living document.\n\n## Progress\n\n- [ ] A\n\n\
         ### Task 1\n\n- [ ] A\n",
        "ambiguous",
    ),
    (
        "# 故事 1.1\n\n## Status\n\nready-for-dev\n\n## 任务\n\n- [ ] A (AC: 1)\n",
        "bmad-story",
    ),
    (
        "# Story 1.1: A\n\nStatus: Ready for Review\n\n\
         ## Tasks\n\n- [ ] A (AC: 1)\n",
        "ambiguous",
    ),
    ("- `[/]` A\n- `[ ]` B\n- `[ ]` C\n", "antigravity-task"),
    (
        "The marks mean this:\n\n- `[ ]` open\n- `[x]` done\n",
        "whole",
    ),
    ("- [/] 甲\n  - [x] 乙\n  - [ ] 丙\n", "antigravity-task"),
    ("- [/] 1. A\n  - [x] 1.1 B\n  - [ ] 1.2 C\n", "boxes"),
    (
        "# 変更\n\n#### [修正] [a.rs](file:///a.rs)\n\n- 直す\n",
        "antigravity-plan",
    ),
    (
        "- [ ] **Fase 1: A** - x\n- [ ] **Fase 2: B** - y\n\n\
         ### Fase 1: A\n**Meta**: m\n\n### Fase 2: B\n**Meta**: n\n",
        "gsd-roadmap",
    ),
    (
        "| # | 作業 | 状態 |\n|---|---|---|\n| 1 | A | [ ] |\n",
        "status-table",
    ),
    (
        "A long story of the shop.\nIt has a cart.\nIt has a form.\nIt has a list.\n\n\
         And more.\n\nAnd more.\n\nAnd more.\n\nAnd more.\n\nAnd more.\n\n\
         | # | Task | Status |\n|---|---|---|\n| 1 | A | Open |\n",
        "ambiguous",
    ),
    ("| 功能 | 状态 |\n|---|---|\n| A | ⏳ |\n", "ambiguous"),
    (
        "---\ntodos:\n  - content: 甲\n---\n\n| # | Task | Status |\n|---|---|---|\n| 1 | A | Done |\n",
        "cursor",
    ),
    (
        "---\nid: T-1\ntitle: 甲\nstatus: To Do\nassignee: []\n---\n\n- [ ] A\n",
        "ambiguous",
    ),
    (
        "<task type=\"auto\">\n<name>甲</name>\n</task>\n",
        "gsd-plan",
    ),
    ("<task type=\"auto\">\n<name>甲</name>\n", "ambiguous"),
    (
        "```xml\n<task>\n<name>A</name>\n</task>\n```\n\nWrite such a file.\n",
        "whole",
    ),
];

#[test]
fn formats_are_told_by_their_structure_in_any_language() {
    for (source, expected) in DOCUMENTS {
        let (plan, _) = parse::read(source, &KnownNames::default());
        assert_eq!(plan.format, *expected, "{source}");
    }
}
