//! One repository and one run of it, whose coordinators are children of this process.

use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use libtest_mimic::Failed;
use orchestrate_coordinator::{Coordinator, Settings};
use orchestrate_core::RunId;
use orchestrate_core::event::Event;
use orchestrate_journal::{Store, fault};
use serde_json::json;

use crate::run::{plan_input, runtime};
use crate::support::{Fingerprint, Home, Outcome, Ran, Repository, Rule, Running, Script, fail};

/// How a shell says that SIGKILL ended a program.
pub(super) const KILLED: i32 = 137;
/// The exit code of a child that could not go on.
pub(super) const FAILED: i32 = 1;
/// Steps that the slow task takes; each reads a file and writes it again.
const STEPS: u32 = 12;
/// How often work may come back: a round whose repair was killed is lost, and must not end the task.
const ROUNDS: u32 = 6;
/// More turns than the slow task takes, however often it is killed.
const TURNS: u32 = 200;

/// A plan, and what answers its agents.
pub(super) struct Play {
    pub(super) plan: &'static str,
    pub(super) script: Script,
}

/// A repository as people leave theirs, and a state folder for one run.
pub(super) struct Scene {
    pub(super) repository: Repository,
    pub(super) home: Home,
    before: Fingerprint,
}

impl Scene {
    /// Sets the reference run's scene.
    pub(super) fn new() -> Result<Self, Failed> {
        Self::of(&reference_play())
    }

    pub(super) fn of(play: &Play) -> Result<Self, Failed> {
        let (repository, home) = (Repository::lived_in()?, Home::new()?);
        std::fs::write(home.path().join("plan.md"), play.plan)?;
        play.script.write_to(&home.path().join("script.jsonl"))?;
        let before = repository.fingerprint()?;
        Ok(Self { repository, home, before })
    }

    /// Begins the run in a child, or resumes it, until the child ends by itself or by the fault.
    pub(super) fn coordinate(&self, fault: &str) -> Result<Ran, Failed> {
        self.start(fault)?.end()
    }

    /// Starts a child without waiting for its end.
    pub(super) fn start(&self, fault: &str) -> Result<Running, Failed> {
        let program = std::env::current_exe()?;
        let home = self.home.path().display().to_string();
        let arguments = [super::CHILD_ARGUMENT, &home];
        let child = self.home.command(&program.display().to_string(), self.repository.path(), &arguments);
        child.env(fault::VARIABLE, fault).start()
    }

    /// Fails if anything of the user's has changed.
    pub(super) fn require_untouched(&self) -> Outcome {
        self.before.require_same(&self.repository.fingerprint()?)
    }

    /// Gives the facts of the run.
    pub(super) fn events(&self) -> Result<Vec<Event>, Failed> {
        let store = self.store()?;
        let facts = store.events(&self.run_in(&store)?, 0, usize::MAX)?;
        Ok(facts.into_iter().map(|fact| fact.event).collect())
    }

    /// Gives the run.
    pub(super) fn run(&self) -> Result<RunId, Failed> {
        self.run_in(&self.store()?)
    }

    fn run_in(&self, store: &Store) -> Result<RunId, Failed> {
        store.latest_run()?.ok_or_else(|| Failed::from("there is no run"))
    }

    /// Opens the journal that the children write.
    pub(super) fn store(&self) -> Result<Store, Failed> {
        Ok(Store::open(&self.folder()?)?)
    }

    /// Gives the folder of the only repository that the state folder knows.
    pub(super) fn folder(&self) -> Result<PathBuf, Failed> {
        let folders = std::fs::read_dir(self.home.state().join("repos"))?.collect::<Result<Vec<_>, _>>()?;
        let [only] = &folders[..] else { return fail(format!("{folders:?}")) };
        Ok(only.path())
    }
}

/// Becomes a coordinator if this process was started as one; never returns then.
pub(crate) fn coordinate_if_asked() -> Option<ExitCode> {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    if arguments.get(1).is_none_or(|first| first != super::CHILD_ARGUMENT) {
        return None;
    }
    let home = PathBuf::from(arguments.get(2)?);
    Some(match coordinate(&home) {
        Ok(report) => {
            say(&report);
            tell(&fault::appends().to_string());
            ExitCode::SUCCESS
        }
        Err(failure) => {
            tell(failure.message().unwrap_or_default());
            ExitCode::from(1)
        }
    })
}

/// Runs the plan, or resumes what was begun of it; gives the report.
fn coordinate(home: &Path) -> Result<String, Failed> {
    super::install_fault()?;
    let mut settings = Settings::new(home.join("state/orchestrate"));
    settings.run.model = Some(format!("script:{}", home.join("script.jsonl").display()));
    settings.run.verify = Some("test -e src/lib.txt".to_owned());
    settings.run.merge_rounds = ROUNDS;
    settings.run.max_turns = TURNS;
    let coordinator = Coordinator::open(&std::env::current_dir()?, settings)?;
    let plan = plan_input(&std::fs::read_to_string(home.join("plan.md"))?)?;
    let report = runtime()?.block_on(async {
        match coordinator.store().latest_run()? {
            Some(run) => Ok::<_, Failed>(coordinator.resume(&run).await?.wait().await?),
            None => Ok(coordinator.run(plan).await?),
        }
    })?;
    Ok(serde_json::to_string(&report)?)
}

/// Two tasks: T1 is done at once, T2 takes many turns, has a red check, and conflicts with T1.
///
/// The replies follow from what the files hold, not from the number of a request, as a real model's would: whatever
/// was interrupted, T2 looks at its notes first and goes on from there, and whoever is merged second adds its line to
/// the other's. So the end depends neither on where the run was killed nor on how fast each of the two was.
fn reference_play() -> Play {
    let reads = |rule: Rule, path: &str| rule.call("read_file", &json!({ "path": path }));
    let writes = |rule: Rule, path: &str, text: &str| rule.call("write_file", &json!({"path": path, "content": text}));
    let deletes = |rule: Rule, path: &str| rule.call("delete_file", &json!({ "path": path }));
    let (one, two) =
        (|text: &str| Rule::task("T1").last_contains(text), |text: &str| Rule::task("T2").last_contains(text));
    let (both, conflict) = ("one\nT1\nT2\nthree\n", "conflicts with what other agents have merged");
    let mut script = Script::default()
        .rule(writes(one("<<<<<<<"), "src/lib.txt", both))
        .rule(
            writes(one("\ttwo"), "src/lib.txt", "one\nT1\nthree\n")
                .call("send_message_to_agent", &json!({"agent_id": "T2", "message": "The second line is mine."})),
        )
        .rule(one("\tT1").text("T1 is done."))
        .rule(writes(one("\tT2"), "src/lib.txt", both))
        .rule(reads(Rule::task("T1"), "src/lib.txt"))
        .rule(reads(two(conflict), "src/lib.txt"))
        .rule(writes(two("<<<<<<<"), "src/lib.txt", both))
        .rule(writes(two("\ttwo"), "src/lib.txt", "one\nT2\nthree\n"))
        .rule(two("\tT2").text("T2 is done."))
        .rule(writes(two("\tT1"), "src/lib.txt", both))
        .rule(writes(two("found 41"), "answer.txt", "42\n"))
        .rule(writes(two("found nothing"), "answer.txt", "42\n"))
        .rule(writes(two("file not found: notes.txt"), "notes.txt", "step 00.\n"))
        // A deletion that was interrupted may not have happened.
        .rule(reads(two(&format!("step {STEPS:02}.")), "kept.txt"))
        .rule(deletes(two("\tkept"), "kept.txt"))
        .rule(reads(two("file not found: kept.txt"), "src/lib.txt"));
    for step in 0..STEPS {
        let mut rule = two(&format!("step {step:02}."));
        if step == STEPS / 2 {
            rule = writes(rule, "answer.txt", "41\n");
        }
        if step == STEPS / 3 {
            rule = deletes(rule, "kept.txt");
        }
        if step == 2 * STEPS / 3 {
            rule = rule.call("git_commit", &json!({ "message": "Half of it" }));
        }
        script = script.rule(writes(rule, "notes.txt", &format!("step {:02}.\n", step + 1)));
    }
    let plan = "- [ ] T1 quick\n- [ ] T2 slow (verify: x=$(cat answer.txt || echo nothing); test $x = 42 || \
                { echo found $x; exit 1; })\n";
    Play { plan, script: script.rule(reads(Rule::task("T2"), "notes.txt")) }
}

/// Writes a line to standard output, which the harness leaves alone.
pub(super) fn say(text: &str) {
    let _ = writeln!(std::io::stdout(), "{text}");
}

fn tell(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}
