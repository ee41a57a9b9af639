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

use crate::measuring::{Figure, Pairs, cpu_ms, median};

const SAMPLES: usize = 9;
/// The size of each plan.
const BYTES: usize = 1 << 20;
/// How many times as long as comrak ours may take.
const LIMIT: f64 = 2.0;

/// A style of plan, in which `{n}` is the number of a part and `{next}` that of the next one, `{s}`
/// that of a step and `{id}` that of a step among all.
struct Style {
    name: &'static str,
    /// What comes before all parts; what has to differ in the first part stands here.
    before: &'static str,
    part: &'static str,
    step: &'static str,
    steps: usize,
    /// What comes after the steps of a part.
    end: &'static str,
    after: &'static str,
}

const NOTHING: Style = Style {
    name: "",
    before: "# Plan\n",
    part: "",
    step: "",
    steps: 0,
    end: "",
    after: "",
};

const STYLES: [Style; 6] = [
    Style {
        name: "parsing 1 MB of a flat checklist",
        part: "- [ ] T{n} Add the `part {n}` to the store, with its tests (files: src/part_{n}.rs) \
               (verify: cargo test part_{n})\n  - keep what the callers see as it is\n",
        ..NOTHING
    },
    Style {
        name: "parsing 1 MB of phases",
        part: "\n## Phase {n}: The part {n}\n\nWhat this part is for, in a sentence or two.\n\n",
        step: "- [ ] Write the step {s} of the part {n}, as the page says\n  - no more than that, \
               and with its tests\n",
        steps: 8,
        ..NOTHING
    },
    Style {
        name: "parsing 1 MB of Kiro's nested numbers",
        part: "- [ ] {n}. Build the part {n} of the service\n",
        step: "  - [ ] {n}.{s} Write the step {s} of it\n    - Add the type and its constructor\n    \
               - Handle what may go wrong on the way\n    - _Requirements: {n}.1, {n}.2_\n",
        steps: 4,
        ..NOTHING
    },
    Style {
        name: "parsing 1 MB of headings with fields",
        before: "# Plan\n\n### Task 1: Begin\n",
        part: "\n### Task {next}: Add the part {n}\n\n**Files**: `src/part_{n}.rs`, \
               `tests/part_{n}.rs`\n**Depends**: Task {n}\n\nThe part reads the input, checks it \
               and stores it. It says what was wrong, with the line.\n\n- It has tests.\n- It is \
               documented.\n",
        ..NOTHING
    },
    Style {
        name: "parsing 1 MB of spec-kit",
        before: "# Tasks\n",
        part: "\n## Phase {n}: User Story {n} (Priority: P2)\n\n**Goal**: A user sees the part.\n\n",
        step: "- [ ] T{id} [P] [US{n}] Create the model of the part {s}, with its fields and its \
               checks, in src/models/part_{n}_{s}.py\n",
        steps: 8,
        end: "\n**Checkpoint**: The story works on its own.\n",
        ..NOTHING
    },
    Style {
        name: "parsing 1 MB of task-master",
        before: "{\n  \"tasks\": [\n    { \"id\": 1, \"title\": \"Begin\", \"status\": \"pending\" }",
        part: TASK_MASTER,
        after: "\n  ]\n}\n",
        ..NOTHING
    },
];

const TASK_MASTER: &str = r#",
    {
      "id": {next},
      "title": "Add the part {n}",
      "description": "The part reads the input, checks it and stores it.",
      "status": "pending",
      "dependencies": [{n}],
      "priority": "medium",
      "details": "Use the types of the store.\nSay what was wrong, with the line.",
      "testStrategy": "Unit tests for each case.",
      "subtasks": [
        { "id": 1, "title": "The type", "description": "With a constructor.", "dependencies": [], "status": "pending" }
      ]
    }"#;

pub(crate) fn measure() -> Result<Vec<Figure>, Failed> {
    STYLES.iter().map(figure).collect()
}

fn figure(style: &Style) -> Result<Figure, Failed> {
    let text = text(style);
    let known = KnownNames::roles(["implementer"]);
    let plan =
        Plan::parse(&text, &known).map_err(|errors| format!("{}: {errors:?}", style.name))?;
    let pairs = Pairs::measure(
        SAMPLES,
        || cpu_ms(|| drop(black_box(Plan::parse(&text, &known)))),
        || cpu_ms(|| comrak(&text)),
    )?;
    let mut beside = format!(
        "{} tasks in {:.1} ms, comrak {:.1} ms",
        plan.tasks.len(),
        pairs.ours()?,
        pairs.bare()?
    );
    if text.starts_with('{') {
        let samples = (0..SAMPLES).map(|_| cpu_ms(|| serde_json(&text)));
        let samples: Result<Vec<f64>, Failed> = samples.collect();
        write!(beside, ", serde_json {:.1} ms", median(&samples?)?)?;
    }
    Ok(Figure {
        name: style.name,
        measured: pairs.ratio()?,
        limit: LIMIT,
        unit: "x",
        beside,
    })
}

/// Returns a plan of the style, a megabyte long.
fn text(style: &Style) -> String {
    let mut text = style.before.to_owned();
    let mut number = 0;
    while text.len() < BYTES {
        number += 1;
        let (n, next) = (number.to_string(), (number + 1).to_string());
        text.push_str(&style.part.replace("{n}", &n).replace("{next}", &next));
        for step in 1..=style.steps {
            let id = format!("{:04}", (number - 1) * style.steps + step);
            let line = style.step.replace("{n}", &n).replace("{id}", &id);
            text.push_str(&line.replace("{s}", &step.to_string()));
        }
        text.push_str(style.end);
    }
    text + style.after
}

fn comrak(text: &str) {
    let arena = Arena::new();
    black_box(parse_document(&arena, text, &Options::default()));
}

fn serde_json(text: &str) {
    let _ = black_box(serde_json::from_str::<Value>(text));
}
