//! One repository with one run, whose coordinators are child processes of this one.

use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use libtest_mimic::Failed;
use orchestrate_coordinator::{
    Archive, Cancel, CleanOptions, Coordinator, LandOptions, LandStyle, PlanInput, Settings,
    Takeover,
};
use orchestrate_core::event::Event;
use orchestrate_core::run::request::Request;
use orchestrate_core::{RunId, RunState, TaskId};
use orchestrate_journal::{Store, fault};
use orchestrate_plan::Plan;

use super::plays::{LOUDER, Play, SENT_BACK};
use crate::run::models::reach;
use crate::support::{
    Fingerprint, Invocation, ModelServer, Outcome, Ran, Running, World, block_on, fail, plan_input,
    runtime,
};

/// The exit code of a program that SIGKILL ended, as shells report it.
pub(super) const KILLED: i32 = 137;
/// The exit code of a child that failed.
pub(super) const FAILED: i32 = 1;
/// How often work may come back. A round whose repair was killed is lost, so there have to be
/// enough.
const ROUNDS: u32 = 6;
/// The plan's file: in the home, and also in the checkout if its boxes are to be ticked.
pub(super) const PLAN: &str = "plan.md";
/// The file of the home with the addresses of the server that answers, one for each protocol.
const SERVER: &str = "server";
/// The file of the home that says that agents work one at a time.
const ALONE: &str = "alone";
/// The maximum number of turns: more than the slow task takes, however often it is killed.
const TURNS: u32 = 200;

/// The context size: more tokens than any request has bytes, so that none of hundreds of processes
/// loads the vocabulary, which takes longer than the rest of its work.
const CONTEXT: u64 = 200_000;

/// What a child does with the only run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Deed {
    /// Starts the run, or resumes it.
    Run,
    /// Rejects the work of [`SENT_BACK`] and resumes the run.
    Reject,
    /// Retries [`SENT_BACK`], which failed, and resumes the run.
    Retry,
    Land,
    Undo,
    Clean,
    /// Drops [`SENT_BACK`] with its dependents.
    Drop,
}

impl Deed {
    const ALL: [Self; 7] = [
        Self::Run,
        Self::Reject,
        Self::Retry,
        Self::Land,
        Self::Undo,
        Self::Clean,
        Self::Drop,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Reject => "reject",
            Self::Retry => "retry",
            Self::Land => "land",
            Self::Undo => "undo",
            Self::Clean => "clean",
            Self::Drop => "drop",
        }
    }
}

/// A world with one run, and a fingerprint of the user's files before it.
pub(super) struct Scene {
    pub(super) world: World,
    before: Fingerprint,
    /// Answers the agents while the scene lasts, if no script does.
    _server: Option<ModelServer>,
}

impl Scene {
    pub(super) fn of(play: &Play) -> Result<Self, Failed> {
        let world = World::with_plan_outside(&play.plan)?;
        world.script(&play.script)?;
        let server = play.server.map(|start| start()).transpose()?;
        if let Some(server) = &server {
            world.write(
                SERVER,
                &format!("{}\n{}", server.openai_base(), server.anthropic_base()),
            )?;
        }
        if play.alone {
            world.write(ALONE, "")?;
        }
        for (name, role) in play.roles {
            let path = format!(".orchestrate/agents/{name}.md");
            world.repository.write(&path, role)?;
            world.git(&format!("add {path}"))?;
            world
                .repository
                .git(&["commit", "-q", "-m", "Add a role", "--", &path])?;
        }
        let before = world.repository.fingerprint()?;
        Ok(Self {
            world,
            before,
            _server: server,
        })
    }

    /// Starts the run in a child, or resumes it, and waits until the child ends by itself or by the
    /// fault.
    pub(super) fn coordinate(&self, fault: &str) -> Result<Ran, Failed> {
        self.start(fault)?.end()
    }

    /// Starts the run in a child, or resumes it, without waiting for the child's end.
    pub(super) fn start(&self, fault: &str) -> Result<Running, Failed> {
        self.child(Deed::Run, fault)?.start()
    }

    /// Carries out a deed in a child, and waits until the child ends by itself or by the fault.
    pub(super) fn act(&self, deed: Deed, fault: &str) -> Result<Ran, Failed> {
        self.child(deed, fault)?.run()
    }

    /// Prepares to start a child that carries out a deed.
    pub(super) fn child(&self, deed: Deed, fault: &str) -> Result<Invocation, Failed> {
        let program = std::env::current_exe()?;
        let home = self.world.home.path().display().to_string();
        let arguments = [super::CHILD_ARGUMENT, &home, deed.name()];
        let child = self.world.home.command(
            &program.display().to_string(),
            self.world.repository.path(),
            &arguments,
        );
        Ok(child.env(fault::VARIABLE, fault))
    }

    /// Fails if any file of the user's has changed.
    pub(super) fn require_untouched(&self) -> Outcome {
        self.before
            .require_same(&self.world.repository.fingerprint()?)
    }

    /// Returns the facts of the run.
    pub(super) fn events(&self) -> Result<Vec<Event>, Failed> {
        let store = self.store()?;
        let facts = store.events(&self.run_in(&store)?, 0, usize::MAX)?;
        Ok(facts.into_iter().map(|fact| fact.event).collect())
    }

    /// Reports whether the run has recorded its fact of this number.
    pub(super) fn has_fact(&self, number: u64) -> Result<bool, Failed> {
        let store = self.store()?;
        Ok(!store
            .events(&self.run_in(&store)?, number - 1, 1)?
            .is_empty())
    }

    /// Returns the newest state of the run.
    pub(super) fn state(&self) -> Result<RunState, Failed> {
        let store = self.store()?;
        Ok(store.state(&self.run_in(&store)?)?)
    }

    /// Returns the id of the only run.
    pub(super) fn run(&self) -> Result<RunId, Failed> {
        self.run_in(&self.store()?)
    }

    fn run_in(&self, store: &Store) -> Result<RunId, Failed> {
        store
            .latest_run()?
            .ok_or_else(|| Failed::from("there is no run"))
    }

    /// Opens the journal that the children write.
    pub(super) fn store(&self) -> Result<Store, Failed> {
        Ok(Store::open(&self.folder()?)?)
    }

    /// Returns the path of a task's worktree.
    pub(super) fn worktree(&self, task: &str) -> Result<PathBuf, Failed> {
        Ok(self
            .folder()?
            .join("runs")
            .join(self.run()?.as_str())
            .join(task))
    }

    /// Returns the state folder of the only repository.
    pub(super) fn folder(&self) -> Result<PathBuf, Failed> {
        let folders = std::fs::read_dir(self.world.home.state().join("repos"))?
            .collect::<Result<Vec<_>, _>>()?;
        let [only] = &folders[..] else {
            return fail(format!("{folders:?}"));
        };
        Ok(only.path())
    }
}

/// Acts as a coordinator if this process was started as one, and returns its exit code; `None`
/// otherwise.
pub(crate) fn coordinate_if_asked() -> Option<ExitCode> {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    if arguments
        .get(1)
        .is_none_or(|first| first != super::CHILD_ARGUMENT)
    {
        return None;
    }
    let home = PathBuf::from(arguments.get(2)?);
    let deed = Deed::ALL
        .into_iter()
        .find(|deed| arguments.get(3).is_some_and(|name| name == deed.name()))?;
    Some(match carry_out(&home, deed) {
        Ok(said) => {
            say(&said);
            tell(&fault::appends().to_string());
            ExitCode::SUCCESS
        }
        Err(failure) => {
            tell(failure.message().unwrap_or_default());
            ExitCode::from(1)
        }
    })
}

/// Carries out this child's deed; returns the run's report, or another result as text.
fn carry_out(home: &Path, deed: Deed) -> Result<String, Failed> {
    super::install_fault()?;
    let here = std::env::current_dir()?;
    match deed {
        Deed::Run | Deed::Reject | Deed::Retry => coordinate(home, &here, deed),
        Deed::Land | Deed::Undo | Deed::Clean | Deed::Drop => {
            let runs = Archive::open(&here, settings(home))?;
            let run = runs
                .store()
                .latest_run()?
                .ok_or_else(|| Failed::from("there is no run"))?;
            let (directory, style, cancel) = (here, LandStyle::Merge, Cancel::new());
            let options = LandOptions {
                directory,
                write_back: true,
                style,
                message: None,
                hooks: false,
                cancel,
            };
            Ok(match deed {
                Deed::Land => format!("{:?}", block_on(runs.land(&run, &options))?),
                Deed::Undo => format!("{:?}", block_on(runs.unland(&run, &options))?),
                Deed::Drop => {
                    format!(
                        "{:?}",
                        block_on(runs.drop_task(
                            &run,
                            &TaskId::new(SENT_BACK),
                            true,
                            &options.cancel
                        ))?
                    )
                }
                _ => format!("{:?}", block_on(runs.clean(&run, CleanOptions::default()))?),
            })
        }
    }
}

fn settings(home: &Path) -> Settings {
    let mut settings = Settings::new(home.join("state/orchestrate"));
    settings.run.model = Some(format!("script:{}", home.join("script.jsonl").display()));
    settings.run.verify = Some("test -e src/lib.txt".to_owned());
    settings.run.merge_rounds = ROUNDS;
    settings.run.max_turns = TURNS;
    settings.run.context_tokens = CONTEXT;
    if home.join(ALONE).exists() {
        settings.run.max_agents = 1;
    }
    if let Ok(server) = std::fs::read_to_string(home.join(SERVER))
        && let Some((openai, anthropic)) = server.split_once('\n')
    {
        reach(&mut settings, openai, anthropic);
        settings.run.model = Some("openai/test".to_owned());
        settings.run.default_fallback_models = vec!["anthropic/test".to_owned()];
    }
    settings
}

/// Runs the plan, resumes its run, or resumes it with a command; returns the report as JSON.
fn coordinate(home: &Path, here: &Path, deed: Deed) -> Result<String, Failed> {
    let coordinator = Coordinator::open(here, settings(home))?;
    let path = here.join(PLAN).exists().then(|| PLAN.to_owned());
    let plan = PlanInput {
        path,
        ..input_of(&std::fs::read_to_string(home.join(PLAN))?)?
    };
    let (task, message) = (TaskId::new(SENT_BACK), LOUDER.to_owned());
    let command = match deed {
        Deed::Reject => Some(Request::Reject {
            task,
            message,
            at: None,
        }),
        Deed::Retry => Some(Request::Retry {
            task,
            message: Some(message),
        }),
        _ => None,
    };
    let report = runtime()?.block_on(async {
        match (coordinator.store().latest_run()?, command) {
            (Some(run), Some(command)) => match coordinator.resume_with(&run, command).await? {
                Takeover::Begun { run, .. } => Ok::<_, Failed>(run.wait().await?),
                Takeover::Refused(why) => fail(why),
                Takeover::Answered => fail("it was answered"),
            },
            (Some(run), None) => Ok(coordinator.resume(&run).await?.wait().await?),
            (None, _) => Ok(coordinator.run(plan).await?),
        }
    })?;
    Ok(serde_json::to_string(&report)?)
}

/// Creates the input of a run from a plan, or from a text without tasks as from a typed goal.
fn input_of(text: &str) -> Result<PlanInput, Failed> {
    match Plan::of_goal(text) {
        Some(goal) => Ok(PlanInput {
            title: goal.title,
            tasks: goal.tasks,
            ..PlanInput::default()
        }),
        None => plan_input(text),
    }
}

/// Writes a line to standard output, which the harness does not capture.
pub(super) fn say(text: &str) {
    let _ = writeln!(std::io::stdout(), "{text}");
}

fn tell(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}
