//! What holds for any text: reading never panics, and writing back touches boxes alone.

use proptest::prelude::*;

use super::*;
use crate::ids::TaskId;
use crate::schedule::{Progress, Schedule};

/// Lines that plans are made of, so that random texts are nearly plans.
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
    let plain = prop::collection::vec(pieces.prop_map(str::to_owned), 0..60).prop_map(|parts| parts.concat());
    prop_oneof![4 => plain, 1 => any::<String>()]
}

/// A plan of tasks that depend on earlier ones.
fn plan() -> impl Strategy<Value = String> {
    prop::collection::vec(
        (prop::sample::select(vec![" ", "x", "~", "-", "!"]), prop::collection::vec(0usize..20, 0..3), -1i64..2),
        1..20,
    )
    .prop_map(|tasks| {
        let line = |(at, (mark, depends, priority)): (usize, &(&str, Vec<usize>, i64))| {
            let earlier: Vec<String> = depends.iter().filter(|on| **on < at).map(|on| format!("T{on}")).collect();
            format!("- [{mark}] T{at} x (priority: {priority}) (depends: {})\n", earlier.join(", "))
        };
        tasks.iter().enumerate().map(line).collect()
    })
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
        prop_assert_eq!(written.len(), source.len());
        let changed: Vec<usize> = (0..source.len()).filter(|at| written.as_bytes()[*at] != source.as_bytes()[*at]).collect();
        for at in changed {
            prop_assert!(plan.boxes.values().any(|mark| *mark == at), "byte {} is no box", at);
            prop_assert_eq!(&source[at - 1..at], "[");
            prop_assert_eq!(&source[at + 1..at + 2], "]");
            prop_assert_eq!(&written[at..at + 1], "x");
        }
        prop_assert_eq!(write_boxes(&source, &[]), source);
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
    fn every_run_of_a_schedule_ends_and_is_the_same_twice(source in plan(), fates in prop::collection::vec(any::<bool>(), 20)) {
        let plan = parse(&source);
        let schedule = Schedule::new(&plan.tasks).unwrap();
        prop_assert_eq!(run(&schedule, &fates), run(&schedule, &fates));
        let (order, skipped) = run(&schedule, &fates);
        let runnable = plan.tasks.iter().filter(|task| task.status.runs()).count();
        prop_assert_eq!(order.len() + skipped.len(), runnable, "each task runs or is skipped");
        for (at, id) in order.iter().enumerate() {
            let task = plan.tasks.iter().find(|task| task.id == *id).unwrap();
            let running: Vec<&TaskId> = task.depends.iter().filter(|on| order.contains(on)).collect();
            prop_assert!(running.iter().all(|on| order[..at].contains(on)), "{} ran too early", id);
        }
    }
}

/// Runs everything, one at a time; gives the order, and what was skipped.
fn run(schedule: &Schedule, fates: &[bool]) -> (Vec<TaskId>, Vec<TaskId>) {
    let mut ended: Vec<(TaskId, Progress)> = Vec::new();
    loop {
        let progress =
            |id: &TaskId| ended.iter().find(|(other, _)| other == id).map_or(Progress::Waiting, |(_, end)| *end);
        let Some(next) = schedule.ready(progress).into_iter().next() else {
            let skipped = schedule.skipped(progress);
            return (ended.iter().map(|(id, _)| id.clone()).collect(), skipped);
        };
        let end = if fates[ended.len()] { Progress::Merged } else { Progress::Failed };
        ended.push((next, end));
    }
}
