//! Checks that parsing is linear in the length of the text: t(2n)/t(n) on hostile inputs.
//!
//! CPU time of the thread is compared, so that other load on the machine does not count.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

use super::*;

/// The minimum time to compare: shorter measurements are dominated by startup.
const LEAST: Duration = Duration::from_millis(4);

/// The name of an input, and a function that creates a hostile plan of about that many bytes.
type Input = (&'static str, fn(usize) -> String);

const INPUTS: &[Input] = &[
    ("emphasis", |n| {
        format!("- [ ] T1 {}\n", "a**b".repeat(n / 4))
    }),
    ("one long line", |n| {
        format!("- [ ] T1 {}\n", "word ".repeat(n / 5))
    }),
    ("one long line without a task", |n| "x".repeat(n)),
    ("nesting at the limit", |n| {
        format!("{}x\n\n", "- ".repeat(MAX_DEPTH)).repeat(n / (2 * MAX_DEPTH + 3))
    }),
    ("blank lines below deep nesting", |n| {
        format!("{}[ ] x\n{}", "- ".repeat(MAX_DEPTH), "\n".repeat(n))
    }),
    ("nesting without limit", |n| "> - ".repeat(n / 4)),
    ("staircase", |n| {
        (0..n / 100)
            .map(|at| format!("{}- [ ] x\n", "  ".repeat(at % MAX_DEPTH)))
            .collect()
    }),
    ("parentheses", |n| format!("- [ ] T1 {}\n", "(".repeat(n))),
    ("wide parentheses", |n| {
        format!("- [ ] T1 {}\n", "（依赖：".repeat(n / 12))
    }),
    ("open attributes", |n| {
        format!("- [ ] T1 {}\n", "(files: ".repeat(n / 8))
    }),
    ("attributes", |n| {
        format!("- [ ] T1 {}\n", "(tokens: x; turns: y) ".repeat(n / 22))
    }),
    ("roles", |n| {
        format!("- [ ] T1 {}\n", "@nobody ".repeat(n / 8))
    }),
    ("labels", |n| format!("- [ ] {}x\n", "[P]".repeat(n / 3))),
    ("backticks", |n| {
        format!("- [ ] T1 {}\n", "`a``b```c".repeat(n / 9))
    }),
    ("comments", |n| {
        format!("- [ ] T1 {}\n", "<!-- <!--> ".repeat(n / 11))
    }),
    ("hidden characters", |n| {
        format!("- [ ] T1 {}\n", "\u{200b}x".repeat(n / 4))
    }),
    ("ids", |n| "- [ ] {#x} T1\n".repeat(n / 14)),
    ("the same title", |n| "- [ ] same\n".repeat(n / 11)),
    ("headings", |n| {
        "### Task 1: x\n\n**Files**: a\n\n".repeat(n / 30)
    }),
    ("skipped", |n| {
        format!("# P\n\n## Notes\n\n{}", "- [ ] x\n".repeat(n / 8))
    }),
    ("lines that are nearly items", |n| {
        format!("- [ ] x\n{}", "-[ ] y\n".repeat(n / 7))
    }),
    ("wide details", |n| {
        format!("- [ ] T1 x\n{}", "  - [ ] y\n".repeat(n / 10))
    }),
    ("fields without bullets", |n| {
        format!("- [ ] T1 x (\n{}", "  files: a\n  (x\n".repeat(n / 16))
    }),
    ("files", |n| {
        (0..n / 40)
            .map(|at| format!("- [ ] x (files: src/{at}/, src/{at}/a.rs)\n"))
            .collect()
    }),
    ("globs", |n| {
        let name = |at: usize| {
            if at < 16 {
                format!("a/*{at}*/**/c.rs")
            } else {
                format!("a/{at}/b/d.rs")
            }
        };
        (0..n / 36)
            .map(|at| format!("- [ ] x (files: {})\n", name(at)))
            .collect()
    }),
    ("dependencies in words", |n| {
        format!("- [ ] T1 {}\n", "after-".repeat(n / 6))
    }),
    ("unknown dependencies", |n| {
        "- [ ] x (depends: T9, T8)\n".repeat(n / 26)
    }),
    ("numbers", |n| {
        (0..n / 14).map(|at| format!("- [ ] {at}. x\n")).collect()
    }),
    ("numbers below each other", |n| {
        (1..n / 14)
            .map(|at| format!("- [ ] 1{}\n", ".1".repeat(at % 9)))
            .collect()
    }),
    ("headings with boxes", |n| {
        (0..n / 18)
            .map(|at| format!("{} [ ] x\n\n", "#".repeat(1 + at % 6)))
            .collect()
    }),
    ("sections with files", |n| {
        (0..n / 30)
            .map(|at| format!("## S\n- [ ] x (files: a/{at})\n"))
            .collect()
    }),
    ("a table", |n| {
        format!("Task | Status\n--- | ---\n{}", "x | done\n".repeat(n / 9))
    }),
    ("a wide table", |n| {
        format!(
            "Task | Status{}\n--- | ---\n{}",
            " | c".repeat(n / 8),
            "x\n".repeat(n / 4)
        )
    }),
    ("an ordered list", |n| {
        format!("## Steps\n\n{}", "1. x\n".repeat(n / 5))
    }),
    ("to-dos of a front matter", |n| {
        format!(
            "---\ntodos:\n  - content: >\n{}---\n\nProse.\n",
            "      x\n".repeat(n / 8)
        )
    }),
    ("elements of GSD", |n| {
        "<task type=\"auto\">\n<name>x</name>\n</task>\n\n".repeat(n / 45)
    }),
    ("a roadmap of GSD", |n| {
        let boxed = |at: usize| format!("- [ ] Phase {at}: x\n");
        let heading = |at: usize| format!("### Phase {at}: x\n**Goal**: y\n\n");
        let phases = n / 50;
        (0..phases)
            .map(boxed)
            .chain((0..phases).map(heading))
            .collect()
    }),
    ("a task of Backlog.md", |n| {
        let front = "---\nid: T-1\ntitle: x\nstatus: To Do\nassignee: []\n---\n";
        let section = "<!-- AC:BEGIN -->\n- [ ] x\n<!-- AC:END -->\n\n";
        format!("{front}{}", section.repeat(n / 45))
    }),
    ("boxes between backticks", |n| {
        "- `[ ]` x\n  - `[ ]` y\n".repeat(n / 22)
    }),
    ("labels", |n| {
        "**Out of scope:**\n- [ ] x\n\n".repeat(n / 27)
    }),
    ("slugs", |n| {
        (0..n / 26)
            .map(|at| format!("- [ ] abcdefghijkl{}\n", at / 2))
            .collect()
    }),
    ("no tasks", |n| "## Step\n\n- x\n".repeat(n / 13)),
    ("a group of unknown dependencies", |n| {
        group(n, &format!("depends: {}", "T9, ".repeat(2_000)))
    }),
    ("nested prose", |n| {
        format!(
            "- [ ] a {}{}\n",
            "(model: ".repeat(n / 9),
            ")".repeat(n / 9)
        )
    }),
    ("a group of ranges", |n| {
        group(n, &format!("depends: {}", "T1-T900, ".repeat(800)))
    }),
    ("stories", |n| {
        list(n, r#"{"title": "x", "passes": false, "priority": 1}"#)
    }),
    ("tasks of task-master", |n| {
        let task = r#"{"id": "x", "title": "x", "status": "done", "dependencies": ["x", "y"], "subtasks": [{"id": 1}]}"#;
        format!("{{\"tasks\": {}}}", list(n, task))
    }),
    ("issues of beads", |n| {
        let link = |at: usize| format!(r#"{{"depends_on_id":"b{at}","type":"parent-child"}}"#);
        let issue = |at: usize| {
            format!(
                "{{\"id\":\"b{at}\",\"title\":\"x\",\"dependencies\":[{}]}}\n",
                link(at / 2)
            )
        };
        (0..n / 80).map(issue).collect()
    }),
    ("fields that are set again and again", |n| {
        format!(
            "[{{\"title\": \"x\"{}, \"passes\": true}}]",
            ", \"title\": \"y\", \"z\": 1".repeat(n / 22)
        )
    }),
    ("nested lists", |n| {
        format!(
            "[{{\"passes\": true, \"title\": \"x\", \"steps\": {}{}}}]",
            "[".repeat(n / 2),
            "]".repeat(n / 2)
        )
    }),
    ("lines of JSON that end early", |n| {
        format!("{{}}\n{}", "{\n".repeat(n / 2))
    }),
    ("tasks below a long heading", |n| {
        format!(
            "## S {}\n\n{}",
            "x ".repeat(n / 4),
            "- [ ] a\n".repeat(n / 16)
        )
    }),
    ("a list below a long heading", |n| {
        format!(
            "## Steps {}\n\n{}",
            "x ".repeat(n / 4),
            "1. x\n".repeat(n / 10)
        )
    }),
    ("skipped below a long heading", |n| {
        format!(
            "# P\n\n## Notes {}\n\n{}",
            "x".repeat(n / 2),
            "- [ ] x\n".repeat(n / 16)
        )
    }),
    ("a column with a long heading", |n| {
        format!(
            "Task | Status | {}\n--- | ---\n{}",
            "x".repeat(n / 2),
            "a | done | b\n".repeat(n / 26)
        )
    }),
    ("a tag with a long name", |n| {
        let tasks = list(n / 2, r#"{"id": "x", "title": "x", "status": "done"}"#);
        format!(
            "{{\"{}\": {{\"tasks\": {tasks}}}, \"b\": {{\"tasks\": []}}}}",
            "t".repeat(n / 2)
        )
    }),
    ("legends", |n| {
        "`[~]` dropped, `[>]` so\n\nx\n\n- [~] x\n".repeat(n / 42)
    }),
    ("a long legend", |n| {
        format!("Marks: {}\n\n- [~] x\n", "[~] dropped ".repeat(n / 12))
    }),
    ("sections that several words count", |n| {
        "## A 1: x\n\n- [ ] x\n\n## B 2: y\n\nx\n\n".repeat(n / 38)
    }),
    ("numbered sections beside others", |n| {
        "# x\n\n## 1. x\n\n- [ ] x\n\n## 2. y\n\nx\n\n".repeat(n / 40)
    }),
    ("front matter", |n| {
        let keys: String = (0..n / 11).map(|at| format!("k{at}: 1\n")).collect();
        format!("---\n{keys}---\n- [ ] T1 x\n")
    }),
    ("a group of files", |n| {
        group(n, &format!("files: {}", "a/b, ".repeat(200)))
    }),
];

/// Creates a JSON list of a record again and again.
fn list(bytes: usize, record: &str) -> String {
    format!("[{}]", vec![record; bytes / record.len()].join(","))
}

/// Creates a group whose tasks all inherit its attributes.
fn group(bytes: usize, attributes: &str) -> String {
    let tasks: String = (1..bytes / 16)
        .map(|at| format!("  - [ ] T{at} x\n"))
        .collect();
    format!("- [ ] G ({attributes})\n{tasks}")
}

/// The maximum number of comparisons of one input: real growth shows in each, a burst of other load
/// in one.
const ATTEMPTS: usize = 4;

/// Returns the CPU time of this thread.
fn worked() -> Duration {
    clock_gettime(ClockId::ThreadCPUTime).try_into().unwrap()
}

fn run(text: &str) -> Duration {
    let start = worked();
    let _ = std::hint::black_box(Plan::parse(text, &KnownNames::default()));
    worked().saturating_sub(start)
}

/// Requires t(2n)/t(n) below 3 for an `n` that takes at least `LEAST`, or for the largest one whose
/// double is still within `MAX_PLAN_BYTES`.
fn require_linear(name: &str, smallest: usize, input: fn(usize) -> String) {
    let mut size = smallest;
    while run(&input(size)) < LEAST && may_grow(size) {
        size *= 2;
    }
    let mut attempts = 0;
    while attempts < ATTEMPTS {
        let (once, twice) = (run(&input(size)), run(&input(size * 2)));
        println!("{name}: {size} bytes take {once:?}, twice as many {twice:?}");
        if once < LEAST && may_grow(size) {
            size *= 2;
        } else if twice < LEAST || twice < once * 3 {
            return;
        } else {
            attempts += 1;
        }
    }
    panic!("{name}: t(2n)/t(n) is 3 or more at {size} bytes");
}

fn may_grow(size: usize) -> bool {
    size * 4 < MAX_PLAN_BYTES
}

/// Reads every fourth input, so that the tests below take the processors' time side by side.
fn require_linear_quarter(quarter: usize) {
    for (name, input) in INPUTS.iter().skip(quarter).step_by(4) {
        require_linear(name, 8 * 1024, *input);
    }
}

#[test]
fn reading_is_linear_on_hostile_input_1() {
    require_linear_quarter(0);
}

#[test]
fn reading_is_linear_on_hostile_input_2() {
    require_linear_quarter(1);
}

#[test]
fn reading_is_linear_on_hostile_input_3() {
    require_linear_quarter(2);
}

#[test]
fn reading_is_linear_on_hostile_input_4() {
    require_linear_quarter(3);
}

#[test]
fn reading_a_line_of_a_megabyte_is_linear() {
    require_linear("one line of a megabyte", 1 << 19, |n| {
        format!("- [ ] T1 {}\n", "x".repeat(n))
    });
}
