//! Measures merging a one-file branch into a repository with a long history.
//!
//! The time runs from the moment when `merge.started` is durable until the integration branch's ref
//! has moved; the plan has no check. Measured for tasks that are built on each other, and for tasks
//! that start from the same commit and overtake each other. The bare counterpart is git's merge of
//! the same two commits.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use libtest_mimic::Failed;
use orchestrate_core::{RunState, TaskId};
use tokio::sync::watch;

use crate::figure::{Figure, median, ms};
use crate::stage::{Worker, coordinator, plan, runtime, state_folder};
use crate::support::{Home, Repository};

const COMMITS: usize = 20_000;
const FILES: usize = 100;
const MERGES: usize = 11;
/// How often the ref is read: much more often than the limit, but not constantly.
const LOOK_AGAIN: Duration = Duration::from_micros(50);

pub(crate) fn measure() -> Result<Vec<Figure>, Failed> {
    let repository = repository()?;
    let in_a_row = |number: usize| {
        if number == 1 {
            String::new()
        } else {
            format!(" (depends: T{})", number - 1)
        }
    };
    // Two tasks at a time start from the same commit; the second to be merged was overtaken by the
    // first.
    let in_pairs = |number: usize| match (number - 1) / 2 * 2 {
        0 => String::new(),
        before => format!(" (depends: T{}, T{before})", before - 1),
    };
    let built_on = merges(&repository, MERGES, in_a_row)?.of(false);
    let overtaken = merges(&repository, 2 * MERGES, in_pairs)?.of(true);
    Ok(vec![
        figure("merge of a one-file branch, 20,000 commits", built_on)?,
        figure("the same, another one merged meanwhile", overtaken)?,
    ])
}

fn figure(name: &'static str, (times, bare): (Vec<f64>, f64)) -> Result<Figure, Failed> {
    let beside = format!(
        "git merge-tree {bare:.2} ms; {} of {MERGES} merges seen",
        times.len()
    );
    Ok(Figure {
        name,
        measured: median(times)?,
        limit: 15.0,
        unit: "ms",
        beside,
    })
}

/// The observed merges of a run, and the time that git alone takes for the same.
struct Merges {
    seen: Vec<Seen>,
    bare: f64,
}

/// An observed merge.
struct Seen {
    ms: f64,
    /// Whether another branch was merged since this task started.
    overtaken: bool,
}

impl Merges {
    /// Returns the times of the merges that were overtaken, or of the others, with git's own time.
    fn of(&self, overtaken: bool) -> (Vec<f64>, f64) {
        (
            self.seen
                .iter()
                .filter(|seen| seen.overtaken == overtaken)
                .map(|seen| seen.ms)
                .collect(),
            self.bare,
        )
    }
}

/// Measures the merges of a plan with this many tasks, each of which writes a file.
fn merges(
    repository: &Repository,
    tasks: usize,
    depends: impl Fn(usize) -> String,
) -> Result<Merges, Failed> {
    let state = state_folder()?;
    let server = Worker::reading(0)?;
    let coordinator = coordinator(repository.path(), state.path(), &server.base_url())?;
    let plan = plan(
        &(1..=tasks)
            .map(|number| format!("- [ ] T{number} Write{}\n", depends(number)))
            .collect::<String>(),
    )?;
    let (report, seen) = runtime()?.block_on(async {
        let run = coordinator.start(plan).await?;
        let (states, git) = (run.watch(), repository.path().join(".git"));
        let follower = thread::spawn(move || follow(states, &git));
        let report = run.wait().await?;
        let seen = follower
            .join()
            .map_err(|_| Failed::from("the follower panicked"))??;
        Ok::<_, Failed>((report, seen))
    })?;
    if report.exit_code != Some(0) {
        return Err(Failed::from(format!("the run failed: {report:#?}")));
    }
    Ok(Merges {
        seen,
        bare: bare_merges(repository, &report.integration_branch)?,
    })
}

/// Measures each merge from outside: the durable state shows its beginning, the ref's file its end.
fn follow(mut states: watch::Receiver<Arc<RunState>>, git: &Path) -> Result<Vec<Seen>, Failed> {
    let waiting = tokio::runtime::Builder::new_current_thread().build()?;
    let mut merging: Option<TaskId> = None;
    let mut merges = Vec::new();
    while waiting.block_on(states.changed()).is_ok() {
        let since = Instant::now();
        let state = Arc::clone(&states.borrow_and_update());
        let current = state.merges.current().and_then(|task| state.task(task));
        if let Some(record) = current.filter(|record| merging.as_ref() != Some(&record.task.id)) {
            merging = Some(record.task.id.clone());
            let reference = git
                .join("refs/heads")
                .join(state.run_id.integration_branch());
            let ms = ms(moved(&reference, state.integration.as_str(), since)?);
            merges.push(Seen {
                ms,
                overtaken: record.base() != Some(&state.integration),
            });
        }
        if state.exit_code.is_some() {
            break;
        }
    }
    Ok(merges)
}

/// Waits until a ref no longer names a commit; returns the time since `since`.
fn moved(reference: &Path, from: &str, since: Instant) -> Result<Duration, Failed> {
    loop {
        // The file is never missing: git renames the new one over it.
        if fs::read_to_string(reference)?.trim() != from {
            return Ok(since.elapsed());
        }
        thread::sleep(LOOK_AGAIN);
    }
}

/// Creates the long history, in which each commit changes one small file.
fn repository() -> Result<Repository, Failed> {
    let repository = Repository::unborn()?;
    let mut stream = String::new();
    for number in 1..=COMMITS {
        let (file, message, text) = (
            number % FILES,
            format!("Change {number}"),
            format!("{number}\n"),
        );
        let time = 1_600_000_000 + number;
        writeln!(
            stream,
            "commit refs/heads/main\ncommitter Test <test@example.invalid> {time} +0000"
        )?;
        writeln!(stream, "data {}\n{message}", message.len())?;
        writeln!(
            stream,
            "M 100644 inline data/{file:03}.txt\ndata {}\n{text}",
            text.len()
        )?;
    }
    let home = Home::new()?;
    home.command("git", repository.path(), &["fast-import", "--quiet"])
        .stdin(stream)
        .run()?
        .exits(0)?;
    repository.git(&["reset", "-q", "--hard"])?;
    Ok(repository)
}

/// Merges the same commits with git itself, and returns the median time in milliseconds.
fn bare_merges(repository: &Repository, branch: &str) -> Result<f64, Failed> {
    let listed = repository.git(&["log", "--first-parent", "--merges", "--format=%P", branch])?;
    let mut samples = Vec::new();
    for (target, candidate) in listed.lines().filter_map(|parents| parents.split_once(' ')) {
        let since = Instant::now();
        repository.git(&["merge-tree", "--write-tree", target, candidate])?;
        samples.push(ms(since.elapsed()));
    }
    median(samples)
}
