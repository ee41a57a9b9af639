//! `demo`: runs the real engine on a sample project with scripted replies, without a key or a
//! network.
//!
//! Nothing is faked: the run takes the path of every run, and the folder that it leaves can be run
//! again.

use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use orchestrate_coordinator::{
    Confinement, ConfinementChoice, Coordinator, CoordinatorError, PlanInput, Settings,
    confinement_of, lay_out_sample, require_confinement,
};
use orchestrate_core::event::Event;
use orchestrate_core::task::ReturnCause;
use orchestrate_core::{RunState, shell_word};
use orchestrate_journal::Store;
use orchestrate_plan::{KnownNames, Plan};
use orchestrate_settings::{SandboxDemand, Switches};

use crate::args::DemoArgs;
use crate::context::Context;
use crate::error::CommandError;
use crate::follow::display::{Format, Style};
use crate::follow::run;
use crate::show::output;

macro_rules! sample {
    ($name:literal) => {
        include_str!(concat!("../../../../examples/quickstart/", $name))
    };
}

/// The sample project, its plan and the model's replies.
const FILES: [(&str, &str); 6] = [
    ("README.md", sample!("README.md")),
    ("check.sh", sample!("check.sh")),
    ("lib/upper.sh", sample!("lib/upper.sh")),
    ("tests/upper.sh", sample!("tests/upper.sh")),
    ("plan.md", PLAN),
    ("script.jsonl", sample!("script.jsonl")),
];

const PLAN: &str = sample!("plan.md");

/// How long the scripted model takes for a reply, so that the agents are seen to work in parallel.
const PACE: Duration = Duration::from_millis(60);

/// Runs the command.
pub(crate) fn execute(context: &Context, arguments: &DemoArgs) -> Result<u8, CommandError> {
    if !cfg!(target_os = "linux") {
        return Err(CommandError::not_available(
            "running commands on this platform (only Linux can confine them)",
        ));
    }
    // Only the user's variables count: files around the current directory have nothing to do with
    // the sample.
    let mut settings = Settings {
        confinement: confinement_of(&Switches::parse(&context.variables)?),
        demanded_by: SandboxDemand::find(&context.variables).map(|demand| demand.by),
        ..Settings::new(&context.directories()?.state)
    };
    if settings.confinement != ConfinementChoice::Strongest {
        // A confinement that the user requires is never given up, and a sample that cannot be run
        // is of no use.
        require_confinement(&settings)?;
    }
    let folder = lay_out(context, arguments.dir.as_deref())?;
    settings.run.model = Some(format!("script:{}", folder.join("script.jsonl").display()));
    settings.script_pace = PACE;
    let plan = Plan::parse(PLAN, &KnownNames::roles(["implementer"]))
        .map_err(|_| CommandError::internal("the sample plan cannot be read"))?;
    settings.run.verify.clone_from(&plan.front_matter.verify);
    let input = PlanInput {
        path: Some("plan.md".to_owned()),
        text: PLAN.to_owned(),
        title: plan.title.clone(),
        tasks: plan.tasks,
        ..PlanInput::default()
    };
    output::note(&format!(
        "the sample project, its plan and the scripted replies are in {}",
        folder.display()
    ));
    let style = Style {
        format: Format::Text,
        quiet: false,
        verbose: false,
        terminal: context.terminal,
    };
    let runtime = run::runtime()?;
    let ended = runtime.block_on(async {
        let coordinator = open(&folder, settings)?;
        output::note(&run::tier(&coordinator, &context.variables));
        let run = coordinator.start(input).await?;
        let (store, id) = (run.store().clone(), run.id().clone());
        let code = run::to_its_end(run, style, 0, None).await?.print()?;
        tell(&store, &store.state(&id)?, &folder)?;
        Ok::<_, CommandError>(code)
    });
    runtime.shutdown_background();
    ended
}

/// Opens the sample. Without a working sandbox its own scripted commands, which are part of this
/// program, run unconfined.
fn open(folder: &Path, settings: Settings) -> Result<Coordinator, CommandError> {
    let unconfined = Settings {
        run: settings.run.clone(),
        script_pace: settings.script_pace,
        confinement: ConfinementChoice::Exactly(Confinement::Unconfined),
        ..Settings::new(&settings.state_dir)
    };
    let is_exact = settings.confinement != ConfinementChoice::Strongest;
    match Coordinator::open(folder, settings) {
        Err(CoordinatorError::Sandbox(error)) if !is_exact => {
            output::warning(&format!("failed to {error}"));
            output::warning(
                "the demo's commands run without a sandbox; `orchestrate run` would refuse to (see \
                 `orchestrate doctor`)",
            );
            Ok(Coordinator::open(folder, unconfined)?)
        }
        other => Ok(other?),
    }
}

/// Writes the sample into a new folder and creates a repository there.
fn lay_out(context: &Context, wanted: Option<&Path>) -> Result<PathBuf, CommandError> {
    let failed = |error: std::io::Error| {
        CommandError::usage(format!("failed to create the sample project: {error}"))
    };
    let folder = match wanted {
        Some(wanted) => context.directory.join(wanted),
        None => {
            let place = std::env::temp_dir();
            new_folder(&place).map_err(|error| {
                CommandError::of_file("create a folder in", &place, error)
                    .hint("set TMPDIR to a writable folder")
            })?
        }
    };
    let is_taken = fs::read_dir(&folder).is_ok_and(|mut entries| entries.next().is_some());
    if is_taken {
        let message = format!("{} is not empty; nothing was written", folder.display());
        let error = CommandError::usage(message);
        return Err(error.hint("name a new folder: `orchestrate demo DIR`"));
    }
    let is_new = !folder.exists();
    orchestrate_files::create_folder(&folder).map_err(failed)?;
    if let Err(error) = lay_out_sample(&folder, &FILES) {
        if is_new || wanted.is_none() {
            // Only an empty folder is removed: the content of another may show the reason.
            drop(fs::remove_dir(&folder));
        }
        return Err(error.into());
    }
    folder.canonicalize().map_err(failed)
}

/// Creates the first of `orchestrate-demo-1`, `-2`, … that does not exist in a folder.
fn new_folder(parent: &Path) -> std::io::Result<PathBuf> {
    for number in 1..=u16::MAX {
        let folder = parent.join(format!("orchestrate-demo-{number}"));
        // Creating the folder claims the name: no other user can have put a link there.
        match DirBuilder::new().mode(0o700).create(&folder) {
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            made => return made.map(|()| folder),
        }
    }
    let message = "every name for a demo folder is taken";
    Err(std::io::Error::other(message))
}

/// Prints what happened, from the recorded events, and what can be tried in the folder.
fn tell(store: &Store, state: &RunState, folder: &Path) -> Result<(), CommandError> {
    let facts = store.events(&state.run_id, 0, usize::MAX)?;
    let mut lines = vec!["What happened:".to_owned()];
    let (mut agents, mut checks) = (0, 0);
    for fact in &facts {
        match &fact.event {
            Event::AgentSpawned { agent: Some(_), .. } => agents += 1,
            Event::VerifyFinished { .. } => checks += 1,
            Event::TaskReturned { task, cause, .. } => {
                let what = match cause {
                    ReturnCause::Conflict => {
                        " conflicted with merged work; its agent got the conflict and resolved it"
                    }
                    ReturnCause::TaskCheck => {
                        "'s check failed; its agent got the output and fixed the cause"
                    }
                    ReturnCause::RunCheck => {
                        " failed the check of the merged tree; its agent got the output"
                    }
                    _ => continue,
                };
                lines.push(format!("  {task}{what}"));
            }
            _ => {}
        }
    }
    let branch = state.run_id.integration_branch();
    lines.push(format!(
        "  {agents} agents, {checks} checks; {branch} holds the merged result"
    ));
    lines.push("  the checkout, its index and its branch were not touched".to_owned());
    lines.push(String::new());
    lines.push("After `cargo install --path .`, try in that folder:".to_owned());
    for command in [
        format!("cd {}", shell_word(folder)),
        "orchestrate review            # all branches: state, checks, size, risk".to_owned(),
        "orchestrate review T1         # one branch, with its diff".to_owned(),
        "orchestrate log T2            # what an agent did".to_owned(),
        format!("git log --graph --oneline {branch}"),
        "orchestrate land              # merge the result into main".to_owned(),
        "orchestrate land --undo       # undo that".to_owned(),
        "orchestrate run plan.md --model script:script.jsonl   # run it again".to_owned(),
    ] {
        lines.push(format!("  {command}"));
    }
    output::line(&lines.join("\n"))
}
