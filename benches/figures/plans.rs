//! Measures what parsing a plan of one megabyte costs beside comrak, for each style of plan.
//!
//! CPU time of the thread is compared, sample by sample, so that other load on the machine does not
//! count.

use std::fmt::Write as _;
use std::hint::black_box;

use comrak::{Arena, Options, parse_document};
use libtest_mimic::Failed;
use orchestrate_plan::{KnownNames, Plan};
use serde_json::Value;

use crate::figure::{Figure, median, ms};
use crate::processor::time_of;

const SAMPLES: usize = 9;
/// The size of each plan.
const BYTES: usize = 1 << 20;
/// How many times as long as comrak ours may take.
const LIMIT: f64 = 2.0;

/// The name of a figure, the text of a plan's next tasks by their number, and what encloses all of
/// them.
struct Style {
    name: &'static str,
    tasks: fn(usize) -> String,
    before: &'static str,
    after: &'static str,
}

const STYLES: [Style; 6] = [
    Style {
        name: "parsing 1 MB of a flat checklist",
        tasks: checklist,
        before: "# Plan\n\n",
        after: "",
    },
    Style {
        name: "parsing 1 MB of phases",
        tasks: phase,
        before: "# Plan\n",
        after: "",
    },
    Style {
        name: "parsing 1 MB of Kiro's nested numbers",
        tasks: kiro,
        before: "# Plan\n\n",
        after: "",
    },
    Style {
        name: "parsing 1 MB of headings with fields",
        tasks: fielded,
        before: "# Plan\n",
        after: "",
    },
    Style {
        name: "parsing 1 MB of spec-kit",
        tasks: spec_kit,
        before: "# Tasks\n",
        after: "",
    },
    Style {
        name: "parsing 1 MB of task-master",
        tasks: task_master,
        before: "{\n  \"tasks\": [",
        after: "\n  ]\n}\n",
    },
];

pub(crate) fn measure() -> Result<Vec<Figure>, Failed> {
    STYLES.iter().map(figure).collect()
}

fn figure(style: &Style) -> Result<Figure, Failed> {
    let text = text(style)?;
    let known = KnownNames::roles(["implementer"]);
    let plan = Plan::parse(&text, &known)
        .map_err(|errors| Failed::from(format!("{}: {errors:?}", style.name)))?;
    let (mut ours, mut theirs, mut json, mut ratios) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for _ in 0..SAMPLES {
        let alone = time_of(|| comrak(&text))?;
        let whole = time_of(|| drop(black_box(Plan::parse(&text, &known))))?;
        ratios.push(ms(whole) / ms(alone));
        ours.push(ms(whole));
        theirs.push(ms(alone));
        if text.starts_with('{') {
            json.push(ms(time_of(|| serde_json(&text))?));
        }
    }
    let tasks = plan.tasks.len();
    let mut beside = format!(
        "{tasks} tasks in {:.1} ms, comrak {:.1} ms",
        median(ours)?,
        median(theirs)?
    );
    if !json.is_empty() {
        write!(beside, ", serde_json {:.1} ms", median(json)?)?;
    }
    Ok(Figure {
        name: style.name,
        measured: median(ratios)?,
        limit: LIMIT,
        unit: "x",
        beside,
    })
}

/// Returns a plan of the style, a megabyte long.
fn text(style: &Style) -> Result<String, Failed> {
    let mut text = String::with_capacity(BYTES + 1024);
    text.push_str(style.before);
    let mut number = 1;
    while text.len() < BYTES {
        write!(text, "{}", (style.tasks)(number))?;
        number += 1;
    }
    text.push_str(style.after);
    Ok(text)
}

fn comrak(text: &str) {
    let arena = Arena::new();
    black_box(parse_document(&arena, text, &Options::default()));
}

fn serde_json(text: &str) {
    let _ = black_box(serde_json::from_str::<Value>(text));
}

fn checklist(number: usize) -> String {
    format!(
        "- [ ] T{number} Add the `part {number}` to the store, with its tests (files: src/part_{number}.rs) (verify: cargo \
         test part_{number})\n  - keep what the callers see as it is\n"
    )
}

fn phase(number: usize) -> String {
    let mut text = format!(
        "\n## Phase {number}: The part {number}\n\nWhat this part is for, in a sentence or two.\n\n"
    );
    for task in 1..=8 {
        let _ = writeln!(
            text,
            "- [ ] Write the step {task} of the part {number}, as the page says\n  - no more than that, and with its tests"
        );
    }
    text
}

fn kiro(number: usize) -> String {
    let mut text = format!("- [ ] {number}. Build the part {number} of the service\n");
    for task in 1..=4 {
        let _ = writeln!(
            text,
            "  - [ ] {number}.{task} Write the step {task} of it\n    - Add the type and its constructor\n    - Handle \
             what may go wrong on the way\n    - _Requirements: {number}.1, {number}.2_"
        );
    }
    text
}

fn fielded(number: usize) -> String {
    let before = if number > 1 {
        format!("**Depends**: Task {}\n", number - 1)
    } else {
        String::new()
    };
    format!(
        "\n### Task {number}: Add the part {number}\n\n**Files**: `src/part_{number}.rs`, `tests/part_{number}.rs`\n{before}\n\
         The part reads the input, checks it and stores it. It says what was wrong, with the line.\n\n- It has tests.\n- It \
         is documented.\n"
    )
}

fn spec_kit(number: usize) -> String {
    let mut text = format!(
        "\n## Phase {number}: User Story {number} (Priority: P2)\n\n**Goal**: A user sees the part.\n\n"
    );
    for task in 0..8 {
        let id = (number - 1) * 8 + task + 1;
        let _ = writeln!(
            text,
            "- [ ] T{id:04} [P] [US{number}] Create the model of the part {task}, with its fields and its checks, in \
             src/models/part_{number}_{task}.py"
        );
    }
    text.push_str("\n**Checkpoint**: The story works on its own.\n");
    text
}

fn task_master(number: usize) -> String {
    let separator = if number > 1 { "," } else { "" };
    let depends = if number > 1 {
        (number - 1).to_string()
    } else {
        String::new()
    };
    format!(
        "{separator}\n    {{\n      \"id\": {number},\n      \"title\": \"Add the part {number}\",\n      \"description\": \
         \"The part reads the input, checks it and stores it.\",\n      \"status\": \"pending\",\n      \"dependencies\": \
         [{depends}],\n      \"priority\": \"medium\",\n      \"details\": \"Use the types of the store.\\nSay what was \
         wrong, with the line.\",\n      \"testStrategy\": \"Unit tests for each case.\",\n      \"subtasks\": [\n        \
         {{ \"id\": 1, \"title\": \"The type\", \"description\": \"With a constructor.\", \"dependencies\": [], \"status\": \
         \"pending\" }}\n      ]\n    }}"
    )
}
