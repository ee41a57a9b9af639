//! Runs jobs and inspects their results.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use orchestrate_sandbox::{
    Cancel, Confinement, Exit, Finished, Helper, HostView, Job, Limits, Network, Sandbox,
    SandboxError, View,
};
use tempfile::TempDir;

pub(crate) const COORDINATOR_ARG: &str = "__coordinator";

/// The time limit of waiting for anything: load slows everything down, so a shorter one would
/// measure the machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(100);

/// What the tests are run with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tested {
    pub(crate) confinement: Confinement,
    /// Whether namespaces are kept from job to job.
    pub(crate) keeps_rooms: bool,
}

impl Tested {
    pub(crate) const UNCONFINED: Self = Self {
        confinement: Confinement::Unconfined,
        keeps_rooms: false,
    };

    /// Returns its name, which [`Tested::named`] takes.
    pub(crate) fn name(self) -> &'static str {
        match self.confinement {
            Confinement::Full if self.keeps_rooms => "full_in_rooms",
            Confinement::Full => "full",
            Confinement::Fallback if self.keeps_rooms => "fallback_in_rooms",
            Confinement::Fallback => "fallback",
            Confinement::Unconfined => "unconfined",
        }
    }

    pub(crate) fn named(name: &str) -> Self {
        Self {
            confinement: match name {
                "full" | "full_in_rooms" => Confinement::Full,
                "fallback" | "fallback_in_rooms" => Confinement::Fallback,
                _ => Confinement::Unconfined,
            },
            keeps_rooms: name.ends_with("_in_rooms"),
        }
    }

    pub(crate) fn sandbox(self) -> Sandbox {
        let sandbox = Sandbox::with(self.confinement, Helper::default()).unwrap();
        if self.keeps_rooms {
            sandbox.keeping_rooms()
        } else {
            sandbox
        }
    }
}

/// One sandbox, one writable root, and a folder outside it.
pub(crate) struct Scene {
    pub(crate) tested: Tested,
    pub(crate) sandbox: Sandbox,
    pub(crate) root: TempDir,
    pub(crate) outside: TempDir,
}

impl Scene {
    pub(crate) fn new(tested: Tested) -> Self {
        let scene = Self {
            tested,
            sandbox: tested.sandbox(),
            root: tempfile::tempdir().unwrap(),
            outside: tempfile::tempdir().unwrap(),
        };
        if tested.keeps_rooms {
            // What a test looks at is the second job of a room, which would find what is left of
            // the first.
            assert_eq!(scene.says("echo x > /tmp/x; echo x > ~/x").0, Exit::Code(0));
        }
        scene
    }

    pub(crate) fn view(&self) -> HostView {
        HostView {
            writable: vec![self.root.path().to_owned()],
            read_only: vec![own_program().parent().unwrap().to_owned()],
            ..HostView::default()
        }
    }

    pub(crate) fn job(&self, program: impl AsRef<Path>, args: &[&str]) -> Job {
        Job {
            view: View::Host(self.view()),
            program: program.as_ref().into(),
            args: args.iter().map(Into::into).collect(),
            cwd: self.root.path().to_owned(),
            stdin: Vec::new(),
            env: Default::default(),
            network: Network::None,
            limits: Limits {
                timeout: Duration::from_secs(60),
                ..Limits::default()
            },
        }
    }

    pub(crate) fn sh(&self, script: &str) -> Job {
        self.job("sh", &["-c", script])
    }

    pub(crate) fn try_run(&self, job: &Job) -> Result<Finished, SandboxError> {
        self.sandbox.run(job, &Cancel::new())
    }

    pub(crate) fn run(&self, job: &Job) -> Finished {
        self.try_run(job).unwrap()
    }

    /// Runs a script; returns how it ended and all its output.
    pub(crate) fn says(&self, script: &str) -> (Exit, String) {
        let finished = self.run(&self.sh(script));
        (
            finished.exit,
            finished.stdout.text() + &finished.stderr.text(),
        )
    }

    /// Runs a probe of this very program; returns whether it got through, and its output.
    pub(crate) fn probe(&self, args: &[&str]) -> (bool, String) {
        self.probe_with(Network::None, args)
    }

    /// Returns the job of a probe.
    pub(crate) fn probe_job(&self, args: &[&str]) -> Job {
        self.job(own_program(), &[&[crate::probe::ARG], args].concat())
    }

    /// Runs a probe in the same way, with a network.
    pub(crate) fn probe_with(&self, network: Network, args: &[&str]) -> (bool, String) {
        let finished = match network {
            // A proxy that accepts nothing.
            Network::Proxy => self
                .sandbox
                .run_proxied(&self.probe_job(args), &Cancel::new(), drop)
                .unwrap(),
            _ => self.run(&Job {
                network,
                ..self.probe_job(args)
            }),
        };
        let said = finished.stdout.text() + &finished.stderr.text();
        match finished.exit {
            Exit::Code(0) => (true, said),
            Exit::Code(crate::probe::REFUSED) => (false, said),
            other => panic!("the probe {args:?} itself failed: {other}: {said}"),
        }
    }
}

pub(crate) fn own_program() -> PathBuf {
    std::env::current_exe().unwrap()
}

/// Returns a command that starts a separate coordinator, which runs a script in the scene's tier
/// and root.
pub(crate) fn coordinator_of(scene: &Scene, script: &str) -> Command {
    let mut command = Command::new(own_program());
    command
        .args([COORDINATOR_ARG, scene.tested.name()])
        .arg(scene.root.path())
        .arg(script);
    command.stdin(Stdio::null());
    command
}

/// Lists the processes that have `mark` as an argument.
pub(crate) fn alive(mark: &str) -> Vec<i32> {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let holds = |pid: &i32| {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        // Only the marked program itself: a script that starts it contains the mark in a longer
        // argument.
        line.split(|byte| *byte == 0)
            .any(|argument| argument == mark.as_bytes())
    };
    pids.filter(holds).collect()
}

/// Lists the sandbox's own processes above the given ones, the nearest first.
pub(crate) fn helpers_above(pids: &[i32]) -> Vec<i32> {
    let parent = |pid: i32| -> Option<i32> {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        stat.rsplit_once(')')?
            .1
            .split_whitespace()
            .nth(1)?
            .parse()
            .ok()
    };
    let is_helper = |pid: &i32| {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        line.split(|byte| *byte == 0)
            .any(|argument| argument == orchestrate_sandbox::HELPER_ARG.as_bytes())
    };
    let lines = pids.iter().map(|pid| {
        let own = i32::try_from(std::process::id()).unwrap();
        let above = std::iter::successors(Some(*pid), |pid| parent(*pid))
            .take_while(|pid| *pid != own && *pid > 1);
        above.filter(is_helper).collect::<Vec<i32>>()
    });
    lines.max_by_key(Vec::len).unwrap_or_default()
}

/// Returns a number of seconds for which no other process on this machine sleeps.
pub(crate) fn unique_seconds() -> String {
    use std::sync::atomic::{AtomicU32, Ordering};
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!(
        "{}.{}",
        300_000 + std::process::id(),
        NEXT.fetch_add(1, Ordering::SeqCst)
    )
}

/// Waits until `done` holds; returns false if it does not within the time.
pub(crate) fn within(time: Duration, done: impl Fn() -> bool) -> bool {
    let until = std::time::Instant::now() + time;
    while !done() {
        if std::time::Instant::now() > until {
            return false;
        }
        std::thread::yield_now();
    }
    true
}
