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

use crate::measuring::{
    Figure, Worker, coordinator, median, ms, plan, runtime, state_folder, timed,
};
use crate::support::{Home, Repository};

const COMMITS: usize = 20_000;
const FILES: usize = 100;
const MERGES: usize = 11;
/// How often the ref is read: much more often than the limit, but not constantly.
const LOOK_AGAIN: Duration = Duration::from_micros(50);

/// An observed merge.
struct Seen {
    ms: f64,
    /// Whether another branch was merged since this task started.
    overtaken: bool,
}

pub(crate) fn measure() -> Result<Vec<Figure>, Failed> {
    let repository = repository()?;
    let (mut in_a_row, mut in_pairs) = (String::new(), String::new());
    for number in 1..=MERGES {
        let depends = match number {
            1 => String::new(),
            _ => format!(" (depends: T{})", number - 1),
        };
        writeln!(in_a_row, "- [ ] T{number} Write{depends}")?;
    }
    // Two tasks at a time start from the same commit; the second to be merged was overtaken by the
    // first.
    for number in 1..=2 * MERGES {
        let depends = match (number - 1) / 2 * 2 {
            0 => String::new(),
            before => format!(" (depends: T{}, T{before})", before - 1),
        };
        writeln!(in_pairs, "- [ ] T{number} Write{depends}")?;
    }
    Ok(vec![
        figure(
            "merge of a one-file branch, 20,000 commits",
            &repository,
            &in_a_row,
            false,
        )?,
        figure(
            "the same, another one merged meanwhile",
            &repository,
            &in_pairs,
            true,
        )?,
    ])
}

/// Measures the merges of a plan whose tasks write a file each: those that were overtaken, or the
/// others.
fn figure(
    name: &'static str,
    repository: &Repository,
    tasks: &str,
    overtaken: bool,
) -> Result<Figure, Failed> {
    let (state, server) = (state_folder()?, Worker::reading(0)?);
    let coordinator = coordinator(repository.path(), state.path(), &server.base_url())?;
    let plan = plan(tasks)?;
    let (report, seen) = runtime()?.block_on(async {
        let run = coordinator.start(plan).await?;
        let (states, git) = (run.watch(), repository.path().join(".git"));
        let follower = thread::spawn(move || follow(states, &git));
        let report = run.wait().await?;
        let seen = follower.join().map_err(|_| "the follower panicked")??;
        Ok::<_, Failed>((report, seen))
    })?;
    if report.exit_code != Some(0) {
        return Err(format!("the run failed: {report:#?}").into());
    }
    let wanted = seen.iter().filter(|seen| seen.overtaken == overtaken);
    let times: Vec<f64> = wanted.map(|seen| seen.ms).collect();
    let bare = bare_merges(repository, &report.run_id.integration_branch())?;
    Ok(Figure {
        name,
        measured: median(&times)?,
        limit: 15.0,
        unit: "ms",
        beside: format!(
            "git merge-tree {bare:.2} ms; {} of {MERGES} merges seen",
            times.len()
        ),
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
            let branch = state.run_id.integration_branch();
            wait_until_moved(
                &git.join("refs/heads").join(branch),
                state.integration.as_str(),
            )?;
            merges.push(Seen {
                ms: ms(since.elapsed()),
                overtaken: record.base() != Some(&state.integration),
            });
        }
        if state.exit_code.is_some() {
            break;
        }
    }
    Ok(merges)
}

/// Waits until a ref no longer names a commit.
fn wait_until_moved(reference: &Path, from: &str) -> Result<(), Failed> {
    // The file is never missing: git renames the new one over it.
    while fs::read_to_string(reference)?.trim() == from {
        thread::sleep(LOOK_AGAIN);
    }
    Ok(())
}

/// Creates the long history, in which each commit changes one small file.
fn repository() -> Result<Repository, Failed> {
    let repository = Repository::unborn()?;
    let mut stream = String::new();
    for number in 1..=COMMITS {
        let (file, time) = (number % FILES, 1_600_000_000 + number);
        let (message, text) = (format!("Change {number}"), format!("{number}\n"));
        write!(
            stream,
            "commit refs/heads/main\ncommitter Test <test@example.invalid> {time} +0000\n\
             data {}\n{message}\nM 100644 inline data/{file:03}.txt\ndata {}\n{text}\n",
            message.len(),
            text.len()
        )?;
    }
    let home = Home::new()?;
    let import = home.command("git", repository.path(), &["fast-import", "--quiet"]);
    import.stdin(stream).run()?.exits(0)?;
    repository.git(&["reset", "-q", "--hard"])?;
    Ok(repository)
}

/// Merges the same commits with git itself, and returns the median time in milliseconds.
fn bare_merges(repository: &Repository, branch: &str) -> Result<f64, Failed> {
    let listed = repository.git(&["log", "--first-parent", "--merges", "--format=%P", branch])?;
    let mut samples = Vec::new();
    for (target, candidate) in listed.lines().filter_map(|parents| parents.split_once(' ')) {
        samples.push(timed(|| {
            repository.git(&["merge-tree", "--write-tree", target, candidate])?;
            Ok(())
        })?);
    }
    median(&samples)
}
