//! Measures the start of a run on other people's projects, whose published packages are pinned by
//! their hashes: how long until its first request, and how much memory one agent of ten commands
//! needs.
//!
//! The packages are downloaded once, by pip, and kept below cargo's target folder.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use libtest_mimic::Failed;
use serde_json::json;

use crate::measuring::{Figure, median, ms, timed};
use crate::support::{Home, ModelServer, Ran, Reply, Repository};

const SAMPLES: usize = 9;
/// The turns with a command of the agent whose memory is measured.
const COMMANDS: usize = 10;
/// The heading of a map in an agent's first message.
const MAP: &str = "## Map of the repository";

/// A published package, whose files become a repository.
struct Package {
    requirement: &'static str,
    sha256: &'static str,
    /// A task that names something of it.
    task: &'static str,
}

const OF_900_FILES: Package = Package {
    requirement: "twisted==24.3.0",
    sha256: "039f2e6a49ab5108abd94de187fa92377abe5985c7a72d68d0ad266ba19eae63",
    task: "- [ ] T1 Let `getProcessOutput` accept a time limit (files: twisted/internet/utils.py)\n",
};
const OF_20000_FILES: Package = Package {
    requirement: "homeassistant==2022.2.0",
    sha256: "dadfad1608d1edef35835a699d31056813185f954877c84a8d9863826e6db8d6",
    task: "- [ ] T1 Let `async_track_time_interval` accept a name (files: homeassistant/helpers/event.py)\n",
};

/// What was seen of a start.
pub(crate) struct Start {
    pub(crate) milliseconds: f64,
    has_map: bool,
}

/// Creates a repository with the files of a pinned package of about 900 files.
pub(crate) fn repository_of_900_files() -> Result<Repository, Failed> {
    repository(&OF_900_FILES)
}

/// Measures the time from the start of a later run to its first request, in milliseconds.
pub(crate) fn warm_start(repository: &Repository) -> Result<f64, Failed> {
    let starts = warm_starts(repository)?;
    let times: Vec<f64> = starts.iter().map(|start| start.milliseconds).collect();
    median(&times)
}

pub(crate) fn measure() -> Result<Vec<Figure>, Failed> {
    let (toy, home) = (Repository::plain()?, Home::new()?);
    toy.write("plan.md", "- [ ] T1 Say hello\n")?;
    toy.commit_all("Plan")?;
    let (medium, large) = (repository(&OF_900_FILES)?, repository(&OF_20000_FILES)?);
    let small = starts(&home, &toy)?;
    let (mut homes, mut cold) = (Vec::new(), Vec::new());
    for _ in 0..SAMPLES {
        // Kept until the end: a file system may be slow to create files where others were just
        // deleted.
        let home = Home::new()?;
        cold.push(first_request(&home, &medium)?);
        homes.push(home);
    }
    let (warm, of_large) = (warm_starts(&medium)?, warm_starts(&large)?);
    if warm.iter().filter(|start| start.has_map).count() * 2 < SAMPLES {
        return Err("most first requests of a later run have no map".into());
    }
    let first = format!("{}; nothing kept", OF_900_FILES.requirement);
    let later = format!("{}; a later run", OF_900_FILES.requirement);
    let later_of_large = format!("{}; a later run", OF_20000_FILES.requirement);
    Ok(vec![
        Figure {
            name: "process start to first request",
            limit: 150.0,
            ..figure(&small, "a repository of one file")?
        },
        Figure {
            name: "first request in 900 files, the first run",
            limit: 400.0,
            ..figure(&cold, &first)?
        },
        Figure {
            name: "first request in 900 files beyond its checkout",
            limit: 150.0,
            ..beyond_checkout(figure(&warm, &later)?, &medium)?
        },
        Figure {
            name: "first request in 20,000 files beyond its checkout",
            limit: 400.0,
            ..beyond_checkout(figure(&of_large, &later_of_large)?, &large)?
        },
        memory(&medium)?,
    ])
}

/// Returns a figure without its name and limit.
fn figure(starts: &[Start], beside: &str) -> Result<Figure, Failed> {
    let with_map = starts.iter().filter(|start| start.has_map).count();
    let times: Vec<f64> = starts.iter().map(|start| start.milliseconds).collect();
    Ok(Figure {
        name: "",
        measured: median(&times)?,
        limit: 0.0,
        unit: "ms",
        beside: format!("{beside}; {with_map} of {} with a map", starts.len()),
    })
}

/// Leaves out what git alone takes for the worktree, of which the checkout of a commit cannot take
/// less.
fn beyond_checkout(mut figure: Figure, repository: &Repository) -> Result<Figure, Failed> {
    let checkout = checkout_time(repository)?;
    figure.beside.push_str(&format!(
        "; in all {:.0} ms, `git worktree add` {checkout:.0} ms",
        figure.measured
    ));
    figure.measured -= checkout;
    Ok(figure)
}

/// Starts runs in one home, in which what the files declare is known already.
fn warm_starts(repository: &Repository) -> Result<Vec<Start>, Failed> {
    let home = Home::new()?;
    let map = ["check", "plan.md", "--map", "T1"];
    home.orchestrate(repository.path(), &map).run()?.exits(0)?;
    starts(&home, repository)
}

fn starts(home: &Home, repository: &Repository) -> Result<Vec<Start>, Failed> {
    let samples = 0..SAMPLES;
    samples.map(|_| first_request(home, repository)).collect()
}

/// Measures `run` against a server on the loopback, from its start to the arrival of its request.
pub(crate) fn first_request(home: &Home, repository: &Repository) -> Result<Start, Failed> {
    let server = ModelServer::answering(|_, _| Reply::text("Hello."))?;
    let since = Instant::now();
    // The agent changes nothing, so its task fails; only the time to its request counts.
    let ran = run_plan(home, repository, &server)?;
    match (server.answered().first(), server.requests().first()) {
        (Some((arrived, _)), Some(request)) => Ok(Start {
            milliseconds: ms(arrived.saturating_duration_since(since)),
            has_map: request.body.to_string().contains(MAP),
        }),
        _ => Err(format!("no request came: {ran:?}").into()),
    }
}

fn run_plan(home: &Home, repository: &Repository, server: &ModelServer) -> Result<Ran, Failed> {
    let base = server.openai_base();
    let arguments = [
        "run",
        "plan.md",
        "--model",
        "openai/test",
        "--base-url",
        &base,
    ];
    let run = home.orchestrate(repository.path(), &arguments);
    run.env("OPENAI_API_KEY", "none").run()
}

/// Measures how long git alone takes to check a repository out once more.
pub(crate) fn checkout_time(repository: &Repository) -> Result<f64, Failed> {
    let folder = tempfile::tempdir()?;
    let mut times = Vec::new();
    for number in 0..SAMPLES {
        let path = folder.path().join(number.to_string()).display().to_string();
        times.push(timed(|| {
            repository.git(&["worktree", "add", "-q", "--detach", &path])?;
            Ok(())
        })?);
    }
    // In the end alone: a file system may be slow to create files where others were just deleted.
    drop(folder);
    repository.git(&["worktree", "prune"])?;
    median(&times)
}

/// Measures the most anonymous memory of a run whose agent calls a shell in each of its turns.
fn memory(repository: &Repository) -> Result<Figure, Failed> {
    let seen = Arc::<Mutex<Vec<u64>>>::default();
    let server = ModelServer::answering({
        let seen = Arc::clone(&seen);
        move |_, turn| {
            let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
            seen.push(anonymous_memory().unwrap_or_default());
            if turn < COMMANDS {
                let command = json!({ "command": format!("echo {turn}") });
                Reply::text("").call("run_shell_command", command)
            } else {
                Reply::text("Done.")
            }
        }
    })?;
    run_plan(&Home::new()?, repository, &server)?;
    let seen = seen.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let most = seen.iter().max().copied().unwrap_or_default();
    if seen.len() <= COMMANDS || most == 0 {
        return Err(format!("{} requests came, with {most} KiB", seen.len()).into());
    }
    let each = seen
        .iter()
        .map(|kib| format!("{:.0}", *kib as f64 / 1024.0));
    let each: Vec<String> = each.collect();
    Ok(Figure {
        name: "anonymous memory of one agent of ten commands",
        measured: most as f64 / 1024.0,
        limit: 25.0,
        unit: "MB",
        beside: format!(
            "{}; at each request {}",
            OF_900_FILES.requirement,
            each.join(" ")
        ),
    })
}

/// Returns the anonymous memory of the run that this process has started, in KiB.
fn anonymous_memory() -> Option<u64> {
    let own = std::process::id().to_string();
    let mut most = None;
    for entry in std::fs::read_dir("/proc").ok()?.filter_map(Result::ok) {
        let Ok(status) = std::fs::read_to_string(entry.path().join("status")) else {
            continue;
        };
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name))?;
            line.split_whitespace().next().map(str::to_owned)
        };
        if field("PPid:").is_some_and(|parent| parent == own) {
            most = most.max(field("RssAnon:").and_then(|kib| kib.parse().ok()));
        }
    }
    most
}

/// Creates a repository with the files of a package, and a plan.
fn repository(package: &Package) -> Result<Repository, Failed> {
    let (archive, repository) = (download(package)?, Repository::plain()?);
    let into = repository.path().display().to_string();
    let words = ["-m", "zipfile", "-e", &archive.display().to_string(), &into];
    run("python3", &words)?;
    repository.write("plan.md", package.task)?;
    repository.commit_all("The package")?;
    Ok(repository)
}

/// Returns a package's archive, which is downloaded if it is not there.
fn download(package: &Package) -> Result<PathBuf, Failed> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("packages")
        .join(package.sha256);
    if !folder.exists() {
        let half = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
        let requirements = half.path().join("requirements.txt");
        let pinned = format!("{} --hash=sha256:{}\n", package.requirement, package.sha256);
        std::fs::write(&requirements, pinned)?;
        let into = half.path().join("downloaded");
        let (requirements, to) = (requirements.display(), into.display());
        let download = format!(
            "-m pip download -q --disable-pip-version-check --python-version 3.12 --no-deps \
             --only-binary :all: --require-hashes -r {requirements} -d {to}"
        );
        run("python3", &download.split(' ').collect::<Vec<_>>())?;
        std::fs::create_dir_all(folder.parent().unwrap_or(&folder))?;
        std::fs::rename(&into, &folder)?;
    }
    match std::fs::read_dir(&folder)?.next() {
        Some(archive) => Ok(archive?.path()),
        None => Err(format!("{} is empty", folder.display()).into()),
    }
}

fn run(program: &str, arguments: &[&str]) -> Result<(), Failed> {
    let output = Command::new(program).args(arguments).output()?;
    if output.status.success() {
        Ok(())
    } else {
        Err(format!("{program} {arguments:?}: {output:?}").into())
    }
}
