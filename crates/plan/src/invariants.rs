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
        "~~~\n",
        "````md\n",
        "    ",
        "<details>\n",
        "<p>",
        "-----\n",
        "* * *\n",
        "[a]: /b\n",
        "[x]: ",
        "+ ",
        "1) ",
        "| Task | Status |\n|---|---|\n",
        "| a | todo |\n",
        "## Task 2\n",
        "## Done\n",
        "**Deferred**\n",
        "✅ ",
        "[-] ",
        "- [x]* ",
    ]);
    let plain = prop::collection::vec(pieces.prop_map(str::to_owned), 0..60)
        .prop_map(|parts| parts.concat());
    prop_oneof![4 => plain, 1 => any::<String>()]
}

/// Requires that each line that is not blank has one role, in order; that each task has its line;
/// and that what is said to be skipped is not run, or a part of a task that an agent reads.
pub(crate) fn require_account(source: &str) -> Result<(), TestCaseError> {
    let (plan, errors) = parse::read(source, &KnownNames::roles(["tester"]));
    let is_unread = |error: &PlanError| {
        use FindingCode::{BinaryPlan, EmptyPlan, Json, TooDeep};
        matches!(error.code, BinaryPlan | EmptyPlan | Json | TooDeep)
    };
    if errors.iter().any(is_unread) {
        return Ok(());
    }
    let text = source.trim_start_matches('\u{feff}');
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let lines: Vec<&str> = text.split('\n').collect();
    let has_text = |line: &usize| {
        let line = lines.get(line - 1);
        line.is_some_and(|line| !line.trim_ascii().is_empty())
    };
    let expected: Vec<usize> = (1..=lines.len()).filter(has_text).collect();
    let of_uses = plan.lines.iter().flat_map(|own| own.from..=own.to);
    let found: Vec<usize> = of_uses.filter(has_text).collect();
    prop_assert_eq!(found, expected);
    // Of a tracker's file, a line may have several records.
    if matches!(plan.format.as_str(), "ralph-prd" | "task-master" | "beads") {
        return Ok(());
    }
    for task in &plan.tasks {
        let begins = |own: &LineUse| {
            let is_off = own.role == LineKind::NotRun && !task.status.runs();
            let is_own = own.role == LineKind::Task || is_off;
            is_own && own.task.as_ref() == Some(&task.id) && own.from == task.line
        };
        prop_assert!(plan.lines.iter().any(begins), "{} has no line", task.id);
    }
    for skipped in &plan.skipped {
        let around = |own: &&LineUse| (own.from..=own.to).contains(&skipped.line);
        let own = plan.lines.iter().find(around);
        let is_off = || {
            let mut tasks = plan.tasks.iter();
            tasks.any(|task| task.line == skipped.line && !task.status.runs())
        };
        let agrees = match own.map(|own| own.role) {
            Some(LineKind::NotRun | LineKind::Part) => true,
            Some(LineKind::Task) => is_off(),
            _ => false,
        };
        prop_assert!(agrees, "{skipped:?} is {own:?}");
    }
    Ok(())
}

/// Generates plans without cycles, whose tasks depend on earlier and on later ones.
fn plan() -> impl Strategy<Value = String> {
    let task = (
        prop::sample::select(vec!["[ ]", "[ ]", "[x]", "[~]", "[-]", "[!]", "[ ]*"]),
        prop::collection::vec(0usize..20, 0..3),
        prop::sample::select(vec!["x", "x", "Set up the project", "Test x", "Release"]),
        any::<u8>(),
    );
    let order = prop::sample::select(vec!["auto", "sequential"]);
    (order, prop::collection::vec(task, 1..20)).prop_map(|(order, tasks)| {
        let rank = |at: usize| tasks.get(at).map_or((0, at), |(.., rank)| (*rank, at));
        let line =
            |(at, (mark, depends, title, priority)): (usize, &(&str, Vec<usize>, &str, u8))| {
                let lower = depends
                    .iter()
                    .filter(|on| **on < tasks.len() && rank(**on) < rank(at));
                let names: Vec<String> = lower.map(|on| format!("T{on}")).collect();
                let depends = match names.is_empty() {
                    true => String::new(),
                    false => format!(" (depends: {})", names.join(", ")),
                };
                format!(
                    "- {mark} T{at} {title} (priority: {}){depends}\n",
                    priority % 3
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

/// Gives each word of a text its number, so that one that is lost is seen.
fn numbered(text: &str) -> String {
    let mut parts = text.split("word");
    let mut out = parts.next().map_or(String::new(), str::to_owned);
    for (at, part) in (1..).zip(parts) {
        out.push_str(&format!("w{at}w{part}"));
    }
    out
}

/// Requires that what is told is in the notes or in the details of a task, and that what is a part
/// of a task is said by it.
fn require_told(source: &str) -> Result<(), TestCaseError> {
    let (plan, errors) = parse::read(source, &KnownNames::roles(["tester"]));
    if !errors.is_empty() {
        return Ok(());
    }
    let text = source.replace("\r\n", "\n").replace('\r', "\n");
    let lines: Vec<&str> = text.split('\n').collect();
    let said = serde_json::to_string(&(&plan.notes, &plan.tasks)).unwrap();
    for own in &plan.lines {
        if !matches!(own.role, LineKind::Task | LineKind::Part | LineKind::Told) {
            continue;
        }
        for line in lines.iter().take(own.to).skip(own.from - 1) {
            let words = line.split(|c: char| !c.is_ascii_alphanumeric());
            let words = words.filter(|word| {
                let inner = word
                    .strip_prefix('w')
                    .and_then(|rest| rest.strip_suffix('w'));
                inner.is_some_and(|inner| inner.parse::<u8>().is_ok())
            });
            for word in words {
                prop_assert!(said.contains(word), "{word} is lost: {own:?}");
            }
        }
    }
    Ok(())
}

proptest! {
    #[test]
    fn each_line_has_one_role(source in text()) {
        require_account(&source)?;
    }

    #[test]
    fn nothing_that_is_told_is_lost(source in text()) {
        // Comments, definitions of links and remarks of a status are told to nobody.
        let without = ["<!--", "]:", "(files: ", "|"];
        let source = without.iter().fold(source, |text, piece| text.replace(piece, ""));
        require_told(&numbered(&source))?;
    }

    #[test]
    fn any_text_is_read_and_written_back(source in text()) {
        let plan = parse(&source);
        let ids: Vec<TaskId> = plan.tasks.iter().map(|task| task.id.clone()).collect();
        let written = write_boxes(&source, &ids, &KnownNames::default());
        prop_assert_eq!(without_marks(&written), without_marks(&source));
        for mark in plan.marks.iter().flat_map(|(_, marks)| marks).filter(|mark| mark.done == "x") {
            prop_assert_eq!(&source[mark.range.start - 1..mark.range.start], "[");
            prop_assert_eq!(&source[mark.range.end..=mark.range.end], "]");
        }
        prop_assert_eq!(&write_boxes(&written, &ids, &KnownNames::default()), &written);
        prop_assert_eq!(write_boxes(&source, &[], &KnownNames::default()), source);
    }

    #[test]
    fn in_json_only_the_status_of_landed_tasks_is_written(source in tracker(), landed in prop::collection::vec(any::<bool>(), 12)) {
        let plan = Plan::parse(&source, &KnownNames::default()).map_err(|errors| TestCaseError::fail(format!("{errors:?}")))?;
        let chosen = plan.tasks.iter().zip(landed).filter(|(_, landed)| *landed).map(|(task, _)| task.id.clone());
        let landed: Vec<TaskId> = chosen.collect();
        let written = write_boxes(&source, &landed, &KnownNames::default());
        prop_assert_eq!(without_status(&written), without_status(&source));
        prop_assert_eq!(&write_boxes(&written, &landed, &KnownNames::default()), &written);
        prop_assert_eq!(&write_boxes(&source, &[], &KnownNames::default()), &source);
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
                let tested = task.after.iter().filter(|_| task.tests_what_it_follows);
                let lost = task.depends.iter().chain(tested).any(|on| now(on) != Some(TaskState::Merged));
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
