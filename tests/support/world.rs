//! The starting point of every test: a repository and its user's home, in which runs are started
//! through the library or the built program.

use std::path::PathBuf;

use libtest_mimic::Failed;
use orchestrate_coordinator::{
    Archive, Coordinator, CoordinatorError, LandingError, PlanInput, Settings,
};
use orchestrate_core::{Report, RunId};
use orchestrate_plan::{KnownNames, Plan};
use tokio::runtime::{Builder, Runtime};

use super::{Home, Invocation, Played, Ran, Repository, Script};

/// A condition of the shell: a file of this name is among the repository's objects, which a
/// confined command can see. They are beside the git directory that a worktree's `.git` leads to,
/// or in the one that it is in.
macro_rules! there_is {
    ($name:literal) => {
        concat!(
            "{ g=$(sed 's/^gitdir: //' .git); test -e \"$g-base/objects/",
            $name,
            "\" || test -e \"$g/../../objects/",
            $name,
            "\"; }"
        )
    };
}
pub(crate) use there_is;

/// A plan whose only task waits until a file `go` exists among the repository's objects.
pub(crate) const WAITING: &str = concat!(
    "- [ ] T1 one (run: until ",
    there_is!("go"),
    "; do sleep 0.05; done; touch one)\n"
);

/// One repository and one user's home; both are deleted on drop.
pub(crate) struct World {
    pub(crate) home: Home,
    pub(crate) repository: Repository,
}

impl World {
    /// Creates a home and a repository with local changes, as users have them
    /// ([`Repository::lived_in`]).
    pub(crate) fn lived_in() -> Result<Self, Failed> {
        Ok(Self {
            home: Home::new()?,
            repository: Repository::lived_in()?,
        })
    }

    /// Creates a home and a clean repository with one commit ([`Repository::plain`]).
    pub(crate) fn plain() -> Result<Self, Failed> {
        Ok(Self {
            home: Home::new()?,
            repository: Repository::plain()?,
        })
    }

    /// Creates a home and a plain repository with this `plan.md`, which is not committed.
    pub(crate) fn with_plan(plan: &str) -> Result<Self, Failed> {
        let world = Self::plain()?;
        world.repository.write("plan.md", plan)?;
        Ok(world)
    }

    /// Creates a home with this `plan.md`, outside the repository, and a repository with local
    /// changes.
    pub(crate) fn with_plan_outside(plan: &str) -> Result<Self, Failed> {
        let world = Self::lived_in()?;
        world.write("plan.md", plan)?;
        Ok(world)
    }

    /// Returns a path below the home, outside the repository, for a file of the test.
    pub(crate) fn file(&self, name: &str) -> String {
        self.home.path().join(name).display().to_string()
    }

    /// Writes a file below the home, outside the repository, and returns its path.
    pub(crate) fn write(&self, name: &str, text: &str) -> Result<String, Failed> {
        std::fs::write(self.home.path().join(name), text)?;
        Ok(self.file(name))
    }

    /// Writes a scripted model into the home and returns the value for `--model`.
    pub(crate) fn script(&self, script: &Script) -> Result<String, Failed> {
        script.write_to(&self.home.path().join("script.jsonl"))
    }

    /// Writes a file in the checkout and commits everything that has changed there.
    pub(crate) fn commit(&self, path: &str, text: &str) -> Result<(), Failed> {
        self.repository.write(path, text)?;
        self.repository.commit_all(&format!("Change {path}"))?;
        Ok(())
    }

    /// Runs a git command in the checkout, whose words are separated by spaces, and returns its
    /// output.
    pub(crate) fn git(&self, command: &str) -> Result<String, Failed> {
        let words: Vec<&str> = command.split(' ').collect();
        self.repository.git(&words)
    }

    /// Prepares to start the built program in the checkout.
    pub(crate) fn orchestrate(&self, arguments: &[&str]) -> Invocation {
        self.home.orchestrate(self.repository.path(), arguments)
    }

    /// Runs the built program in the checkout, requires its exit code, and returns its output.
    pub(crate) fn types(&self, arguments: &[&str], code: i32) -> Result<Ran, Failed> {
        self.orchestrate(arguments).run()?.exits(code)
    }

    /// Opens the repository through the library, with a scripted model and the settings that
    /// `change` adjusts.
    pub(crate) fn coordinator(
        &self,
        script: &Script,
        change: impl FnOnce(&mut Settings),
    ) -> Result<Coordinator, Failed> {
        let mut settings = Settings::new(self.home.state());
        settings.run.model = Some(self.script(script)?);
        // A test whose server has ended fails soon.
        settings.run.outage_patience_ms = 30_000;
        // Checks of tests are often red before the work is done.
        settings.run.verify_base = false;
        change(&mut settings);
        Ok(Coordinator::open(self.repository.path(), settings)?)
    }

    /// Opens the records of the repository's runs.
    pub(crate) fn archive(&self) -> Result<Archive, Failed> {
        Ok(Archive::open(
            self.repository.path(),
            Settings::new(self.home.state()),
        )?)
    }

    /// Runs a plan through the library with `verify` as the run's check, requires that the user's
    /// own files are unchanged, and returns the report.
    pub(crate) fn run(
        &self,
        plan: &str,
        script: &Script,
        verify: Option<&str>,
    ) -> Result<Report, Failed> {
        let played = self.play(plan, script, |settings| {
            settings.run.verify = verify.map(str::to_owned)
        })?;
        Ok(played.report)
    }

    /// Runs a plan as [`run`](Self::run) does, with the settings that `change` adjusts, and reads
    /// its journal.
    pub(crate) fn play(
        &self,
        plan: &str,
        script: &Script,
        change: impl FnOnce(&mut Settings),
    ) -> Result<Played, Failed> {
        let before = self.repository.fingerprint()?;
        let coordinator = self.coordinator(script, change)?;
        let report = runtime()?.block_on(coordinator.run(plan_input(plan)?))?;
        before.require_same(&self.repository.fingerprint()?)?;
        Played::of(coordinator, report)
    }

    /// Resumes a run through the library, waits for its end, and reads its journal.
    pub(crate) fn resume(
        &self,
        run: &RunId,
        script: &Script,
        change: impl FnOnce(&mut Settings),
    ) -> Result<Played, Failed> {
        let coordinator = self.coordinator(script, change)?;
        let resume = async { coordinator.resume(run).await?.wait().await };
        let report = runtime()?.block_on(resume)?;
        Played::of(coordinator, report)
    }

    /// Creates the worktree of a task again, which goes as soon as its work is merged, and returns
    /// its path.
    pub(crate) fn worktree_again(&self, run: &RunId, task: &str) -> Result<PathBuf, Failed> {
        let mut repositories = std::fs::read_dir(self.home.state().join("repos"))?;
        let repository = repositories
            .next()
            .ok_or_else(|| Failed::from("there is no run"))??
            .path();
        let folder = repository.join("runs").join(run.as_str());
        std::fs::create_dir_all(&folder)?;
        let path = folder.canonicalize()?.join(task);
        let (reason, branch) = (
            format!("orchestrate {run} pid 1"),
            format!("orchestrate/{run}/{task}"),
        );
        let place = path.display().to_string();
        self.repository.git(&[
            "worktree", "add", "--quiet", "--lock", "--reason", &reason, &place, &branch,
        ])?;
        Ok(path)
    }

    /// Returns the paths of all files on the run's integration branch, one a line.
    pub(crate) fn merged_files(&self, report: &Report) -> Result<String, Failed> {
        let branch = report.run_id.integration_branch();
        self.git(&format!("ls-tree -r --name-only {branch}"))
    }

    /// Returns the text of a file on the run's integration branch, without newlines at its end.
    pub(crate) fn merged(&self, report: &Report, file: &str) -> Result<String, Failed> {
        self.repository
            .show(&report.run_id.integration_branch(), file)
    }
}

/// Creates a tokio runtime with two worker threads.
pub(crate) fn runtime() -> Result<Runtime, Failed> {
    Ok(Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?)
}

/// Waits for what is done with the runs of a repository, without a runtime of the caller's.
pub(crate) fn block_on<T>(
    work: impl Future<Output = Result<T, LandingError>>,
) -> Result<T, CoordinatorError> {
    let built = Builder::new_current_thread().enable_all().build();
    let runtime = built.map_err(|source| CoordinatorError::Io {
        path: PathBuf::from("."),
        source,
    })?;
    Ok(runtime.block_on(work)?)
}

/// Parses a plan's text as the input of a run; the plan has no file.
pub(crate) fn plan_input(text: &str) -> Result<PlanInput, Failed> {
    let plan = Plan::parse(
        text,
        &KnownNames::roles(["implementer", "lead", "reviewer", "strict"]),
    )
    .map_err(|errors| Failed::from(format!("{errors:?}")))?;
    Ok(PlanInput {
        text: text.to_owned(),
        title: plan.title,
        tasks: plan.tasks,
        ..PlanInput::default()
    })
}
