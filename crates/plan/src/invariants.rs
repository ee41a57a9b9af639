//! Properties that hold for any text: parsing never panics, and writing back changes only boxes.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use orchestrate_core::event::{Event, Recorded, VERSION};
use orchestrate_core::ids::TaskId;
use orchestrate_core::run::RunState;
use orchestrate_core::task::schedule::Schedule;
use orchestrate_core::task::{FailureCause, TaskState, TaskStatus};

/// Generates random texts from fragments of plans, so that many are nearly plans.
fn text() -> impl Strategy<Value = String> {
    let pieces = prop::sample::select(vec![
        "- [ ] ",
        "- [x] ",
        "  - [ ] ",
        "- ",
        "> ",
        "1. ",
        "T1 ",
        "T2 ",
        "2.1 ",
        "2 ",
        "[id] ",
        "{#x}",
        "(depends: ",
        "T1-T3",
        ", ",
        ")",
        "(files: ",
        "src/*.rs",
        "@tester",
        "[P] ",
        "[US1]",
        "\n",
        "\n\n",
        "\r\n",
        "\r",
        "\t",
        "  ",
        "# ",
        "## Phase 1\n",
        "## Notes\n",
        "### Task 1: a\n\n**Files**: x\n",
        "---\n",
        "parallel: phases\n",
        "```\n",
        "<!--",
        "-->",
        "`",
        "**",
        "é",
        "\u{feff}",
        "\u{200b}",
        "word",
        "(turns: 3)",
        "(after: 2)",
        "===\n",
        "\\",
        "_",
        "[",
        "]",
        "<a>",
        "&amp;",
        "|",
        ":",
        "😀",
    ]);
    let plain = prop::collection::vec(pieces.prop_map(str::to_owned), 0..60)
        .prop_map(|parts| parts.concat());
    prop_oneof![4 => plain, 1 => any::<String>()]
}

/// Generates plans without cycles, whose tasks depend on earlier and on later ones.
fn plan() -> impl Strategy<Value = String> {
    let task = (
        prop::sample::select(vec![" ", " ", "x", "~", "-", "!"]),
        prop::collection::vec(0usize..20, 0..3),
        -1i64..2,
        any::<u8>(),
    );
    let order = prop::sample::select(vec!["auto", "sequential"]);
    (order, prop::collection::vec(task, 1..20)).prop_map(|(order, tasks)| {
        let rank = |at: usize| tasks.get(at).map_or((0, at), |(.., rank)| (*rank, at));
        let line = |(at, (mark, depends, priority, _)): (usize, &(&str, Vec<usize>, i64, u8))| {
            let lower = depends
                .iter()
                .filter(|on| **on < tasks.len() && rank(**on) < rank(at));
            let names: Vec<String> = lower.map(|on| format!("T{on}")).collect();
            format!(
                "- [{mark}] T{at} x (priority: {priority}) (depends: {})\n",
                names.join(", ")
            )
        };
        let lines: String = tasks.iter().enumerate().map(line).collect();
        format!("---\nparallel: {order}\n---\n{lines}")
    })
}

/// Generates files of other trackers, in one line or in many.
fn tracker() -> impl Strategy<Value = String> {
    let record = (
        0usize..4,
        prop::collection::vec(0usize..12, 0..3),
        any::<bool>(),
    );
    let blank = prop::sample::select(vec!["", " ", "\n", "\r\n  ", "\t"]);
    let blank = (0usize..3, blank).prop_map(|(format, blank)| match format {
        // A line holds one issue.
        2 => (format, blank.trim_matches(['\r', '\n'])),
        _ => (format, blank),
    });
    (blank, prop::collection::vec(record, 1..12)).prop_map(|((format, blank), records)| {
        let written = |(at, (status, on, is_marked)): (usize, &(usize, Vec<usize>, bool))| {
            let status = [
                ["false", "true"][status % 2],
                STATUS[*status],
                ISSUE_STATUS[*status],
            ][format];
            let field = [r#""passes""#, r#""status""#, r#""status""#][format];
            let mark = if *is_marked || at == 0 {
                format!("{field}{blank}:{blank}{status},")
            } else {
                String::new()
            };
            let link = |on: &usize| match format {
                2 => format!(r#"{{"depends_on_id":"t-{on}","type":"blocks"}}"#),
                _ => format!(r#""t-{on}""#),
            };
            let links = on
                .iter()
                .filter(|on| **on < at)
                .map(link)
                .collect::<Vec<_>>()
                .join(",");
            format!(r#"{{"id":"t-{at}",{mark}"title":"x","dependencies":[{links}]}}"#)
        };
        let records: Vec<String> = records.iter().enumerate().map(written).collect();
        match format {
            0 => format!(
                r#"{blank}{{"userStories":{blank}[{}]}}"#,
                records.join(&format!(",{blank}"))
            ),
            1 => format!(
                r#"{{"tasks":[{}]{blank}}}"#,
                records.join(&format!("{blank},"))
            ),
            _ => records.join("\n"),
        }
    })
}

const STATUS: [&str; 4] = [
    r#""pending""#,
    r#""in-progress""#,
    r#""done""#,
    r#""deferred""#,
];
const ISSUE_STATUS: [&str; 4] = [
    r#""open""#,
    r#""in_progress""#,
    r#""closed""#,
    r#""blocked""#,
];

/// Removes every word that says whether a task is done.
fn without_status(text: &str) -> String {
    let words = STATUS.iter().chain(&ISSUE_STATUS).chain(&["true", "false"]);
    words.fold(text.to_owned(), |text, word| text.replace(word, ""))
}

/// Returns a plan without what it says of the status of its tasks.
fn without_marks(source: &str) -> String {
    let plan = parse(source);
    let of_groups = plan.groups.iter().map(|group| &group.mark);
    let mut marks: Vec<&std::ops::Range<usize>> = plan
        .marks
        .iter()
        .flat_map(|(_, marks)| marks)
        .chain(of_groups)
        .map(|mark| &mark.range)
        .collect();
    marks.sort_unstable_by_key(|range| std::cmp::Reverse(range.start));
    let mut text = source.to_owned();
    for range in marks {
        text.replace_range(range.clone(), "");
    }
    text.replace(' ', "")
}

fn parse(source: &str) -> Plan {
    parse::read(source, &KnownNames::roles(["tester"])).0
}

proptest! {
    #[test]
    fn any_text_is_read_and_written_back(source in text()) {
        let plan = parse(&source);
        let ids: Vec<TaskId> = plan.tasks.iter().map(|task| task.id.clone()).collect();
        let written = write_boxes(&source, &ids);
        prop_assert_eq!(without_marks(&written), without_marks(&source));
        for mark in plan.marks.iter().flat_map(|(_, marks)| marks).filter(|mark| mark.done == "x") {
            prop_assert_eq!(&source[mark.range.start - 1..mark.range.start], "[");
            prop_assert_eq!(&source[mark.range.end..=mark.range.end], "]");
        }
        prop_assert_eq!(&write_boxes(&written, &ids), &written);
        prop_assert_eq!(write_boxes(&source, &[]), source);
    }

    #[test]
    fn in_json_only_the_status_of_landed_tasks_is_written(source in tracker(), landed in prop::collection::vec(any::<bool>(), 12)) {
        let plan = Plan::parse(&source, &KnownNames::default()).map_err(|errors| TestCaseError::fail(format!("{errors:?}")))?;
        let chosen = plan.tasks.iter().zip(landed).filter(|(_, landed)| *landed).map(|(task, _)| task.id.clone());
        let landed: Vec<TaskId> = chosen.collect();
        let written = write_boxes(&source, &landed);
        prop_assert_eq!(without_status(&written), without_status(&source));
        prop_assert_eq!(&write_boxes(&written, &landed), &written);
        prop_assert_eq!(&write_boxes(&source, &[]), &source);
        let again = parse(&written);
        prop_assert_eq!(again.tasks.len(), plan.tasks.len());
        for task in &plan.tasks {
            let is_written = landed.contains(&task.id) && plan.marks.iter().any(|(id, _)| *id == task.id);
            let now = again.tasks.iter().find(|other| other.id == task.id).map(|task| task.status);
            prop_assert_eq!(now, Some(if is_written { TaskStatus::Done } else { task.status }));
        }
    }

    #[test]
    fn a_plan_without_errors_makes_a_schedule_with_ids_of_its_own(source in text()) {
        if let Ok(plan) = Plan::parse(&source, &KnownNames::roles(["tester"])) {
            let ids: std::collections::BTreeSet<&TaskId> = plan.tasks.iter().map(|task| &task.id).collect();
            prop_assert_eq!(ids.len(), plan.tasks.len());
            prop_assert!(ids.iter().all(|id| id.as_str().len() <= TaskId::MAX_BYTES && !id.as_str().is_empty()));
            let components: std::collections::BTreeSet<String> = ids.iter().map(|id| id.branch_component()).collect();
            prop_assert_eq!(components.len(), plan.tasks.len());
            prop_assert!(Schedule::new(&plan.tasks).is_ok());
        }
    }

    #[test]
    fn every_run_of_a_plan_ends_in_order_and_is_the_same_twice(source in plan(), fates in prop::collection::vec(any::<bool>(), 20)) {
        let plan = parse(&source);
        prop_assert!(plan.tasks.len() > 1 || !source.contains("T1"), "the plan is read: {}", source);
        let (order, state) = run(&plan, &fates);
        prop_assert_eq!(&(order.clone(), state.clone()), &run(&plan, &fates));
        let now = |id: &TaskId| state.task(id).map(|record| record.state());
        for task in &plan.tasks {
            let Some(at) = order.iter().position(|id| *id == task.id) else {
                let lost = task.depends.iter().any(|on| now(on) != Some(TaskState::Merged));
                let skipped = now(&task.id) == Some(TaskState::Skipped) && lost;
                prop_assert!(skipped || !task.status.runs(), "{} neither ran nor was skipped", task.id);
                continue;
            };
            prop_assert!(task.depends.iter().all(|on| now(on) == Some(TaskState::Merged)));
            for before in predecessors(&plan, &task.id) {
                let later = order.iter().skip(at).any(|id| *id == before);
                prop_assert!(!later, "{} overtook {}", task.id, before);
            }
        }
    }
}

/// Returns the tasks that a task depends on directly, and those that it comes after directly or
/// indirectly.
fn predecessors(plan: &Plan, of: &TaskId) -> BTreeSet<TaskId> {
    let (mut found, mut open) = (BTreeSet::new(), vec![of.clone()]);
    while let Some(id) = open.pop() {
        let Some(task) = plan.tasks.iter().find(|task| task.id == id) else {
            continue;
        };
        found.extend(task.depends.iter().filter(|_| id == *of).cloned());
        open.extend(
            task.after
                .iter()
                .filter(|on| found.insert((*on).clone()))
                .cloned(),
        );
    }
    found
}

/// Simulates a run of the plan, one ready task at a time; returns the order of the tasks and the
/// final state.
fn run(plan: &Plan, fates: &[bool]) -> (Vec<TaskId>, RunState) {
    let started = Event::RunStarted {
        plan: None,
        plan_source: None,
        title: None,
        settings: Box::default(),
        base_commit: "base".into(),
        base_branch: None,
    };
    let fact = |seq, event| Recorded {
        run_id: "r-abcdef".into(),
        seq,
        ts_ms: 0,
        v: VERSION,
        event,
    };
    let mut state = RunState::begin(&fact(1, started)).unwrap();
    let tell = |state: &mut RunState, event| state.apply(&fact(state.seq + 1, event)).unwrap();
    for task in &plan.tasks {
        tell(&mut state, Event::planned(task.clone()));
    }
    let mut order: Vec<TaskId> = Vec::new();
    loop {
        for due in state.due_facts() {
            tell(&mut state, due);
        }
        let Some(task) = state.workable().first().cloned() else {
            return (order, state);
        };
        let branch = state.run_id.task_branch(&task);
        let (id, base) = (task.clone(), state.base.clone());
        let (agent, model, spec) = (None, None, None);
        tell(
            &mut state,
            Event::AgentSpawned {
                task: id,
                attempt: 1,
                agent,
                model,
                branch,
                base,
                spec,
                sends: None,
            },
        );
        let id = task.clone();
        let end = if fates[order.len()] {
            Event::TaskMerged {
                task: id,
                commit: None,
                target: None,
                summary: None,
            }
        } else {
            Event::TaskFailed {
                task: id,
                cause: FailureCause::Check,
                message: String::new(),
            }
        };
        tell(&mut state, end);
        order.push(task);
    }
}
