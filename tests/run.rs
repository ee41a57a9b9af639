//! Whole runs through the library: the real engine, git, journal and sandbox, and a scripted model.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::time::Duration;

use libtest_mimic::Failed;
use orchestrate_coordinator::{Coordinator, PlanInput, Run, Settings};
use orchestrate_core::event::{Event, ReturnCause};
use orchestrate_core::request::Request;
use orchestrate_core::settings::MergeMode;
use orchestrate_core::{Report, RunId, RunState, TaskId, TaskState};
use orchestrate_journal::InboxId;
use orchestrate_plan::{KnownNames, Plan};
use serde_json::json;
use tokio::sync::watch;

use crate::support::{Case, Outcome, Played, Repository, Rule, Script, answering, case, fail, write_or_end};

pub(crate) fn cases() -> Vec<Case> {
    vec![
        case("run::two_independent_tasks_are_merged", two_independent_tasks_are_merged),
        case("run::a_conflict_goes_back_to_its_author", a_conflict_goes_back_to_its_author),
        case("run::a_red_task_check_goes_back_to_its_agent", a_red_task_check_goes_back_to_its_agent),
        case("run::a_red_merged_tree_never_lands", a_red_merged_tree_never_lands),
        case("run::commands_run_without_a_model", commands_run_without_a_model),
        case("run::nothing_waits_for_what_is_never_merged", nothing_waits_for_what_is_never_merged),
        case("run::who_waits_holds_up_nobody_else", who_waits_holds_up_nobody_else),
    ]
}

/// A repository, a state folder and a runtime of its own.
pub(crate) struct Stage {
    pub(crate) repository: Repository,
    pub(crate) state: tempfile::TempDir,
}

impl Stage {
    pub(crate) fn new() -> Result<Self, Failed> {
        let state = tempfile::Builder::new().prefix("orchestrate-state-").tempdir()?;
        Ok(Self { repository: Repository::lived_in()?, state })
    }

    /// Opens the repository with a scripted model.
    pub(crate) fn coordinator(
        &self,
        script: &Script,
        change: impl FnOnce(&mut Settings),
    ) -> Result<Coordinator, Failed> {
        let mut settings = Settings::new(self.state.path());
        settings.run.model = Some(script.write_to(&self.state.path().join("script.jsonl"))?);
        change(&mut settings);
        Ok(Coordinator::open(self.repository.path(), settings)?)
    }

    /// Runs a plan to its end, and checks that the user's own things are as they were.
    pub(crate) fn run(&self, plan: &str, script: &Script, verify: Option<&str>) -> Result<Report, Failed> {
        let before = self.repository.fingerprint()?;
        let coordinator = self.coordinator(script, |settings| settings.run.verify = verify.map(str::to_owned))?;
        let report = runtime()?.block_on(coordinator.run(plan_input(plan)?))?;
        before.require_same(&self.repository.fingerprint()?)?;
        Ok(report)
    }

    /// Runs a plan to its end with settings of the test's own, and keeps what the journal says of it.
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

    /// Takes a run over and plays it to its end.
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

    /// Returns a file of the merged result.
    pub(crate) fn merged(&self, report: &Report, file: &str) -> Result<String, Failed> {
        self.repository.show(&report.integration_branch, file)
    }
}

pub(crate) fn runtime() -> Result<tokio::runtime::Runtime, Failed> {
    Ok(tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?)
}

pub(crate) fn plan_input(text: &str) -> Result<PlanInput, Failed> {
    let plan = Plan::parse(text, &KnownNames::roles(["implementer", "reviewer"]))
        .map_err(|errors| Failed::from(format!("{errors:?}")))?;
    Ok(PlanInput { path: None, text: text.to_owned(), title: plan.title, tasks: plan.tasks })
}

fn states(report: &Report) -> Vec<(&str, TaskState)> {
    report.tasks.iter().map(|task| (task.id.as_str(), task.state)).collect()
}

fn require_states(report: &Report, expected: &[(&str, TaskState)]) -> Outcome {
    if states(report) == expected { Ok(()) } else { fail(format!("{report:#?}")) }
}

pub(crate) fn write(task: &str, path: &str, content: &str) -> Rule {
    Rule::task(task).turn(1).call("write_file", &json!({"path": path, "content": content}))
}

pub(crate) fn done(task: &str) -> Rule {
    Rule::task(task).text("Done.")
}

fn two_independent_tasks_are_merged() -> Outcome {
    let stage = Stage::new()?;
    let script = Script::default()
        .rule(write("T1", "one.txt", "1\n"))
        .rule(done("T1"))
        .rule(write("T2", "two.txt", "2\n"))
        .rule(done("T2"))
        .rule(write("T3", "three.txt", "3\n"))
        .rule(done("T3"));
    let plan = "- [ ] T1 one\n- [ ] T2 two\n- [ ] T3 three (depends: T1, T2)\n";
    let report = stage.run(plan, &script, None)?;
    require_states(&report, &[("T1", TaskState::Merged), ("T2", TaskState::Merged), ("T3", TaskState::Merged)])?;
    for (file, text) in [("one.txt", "1"), ("two.txt", "2"), ("three.txt", "3")] {
        if stage.merged(&report, file)? != text {
            return fail(format!("{file} is not in the merged result"));
        }
    }
    Ok(())
}

fn a_conflict_goes_back_to_its_author() -> Outcome {
    let stage = Stage::new()?;
    let mut script = Script::default();
    for task in ["T1", "T2"] {
        script = script
            .rule(write(task, "src/lib.txt", &format!("one\n{task}\nthree\n")))
            .rule(Rule::task(task).returned(ReturnCause::Conflict).call("read_file", &json!({"path": "src/lib.txt"})))
            .rule(
                Rule::task(task)
                    .last_contains("<<<<<<<")
                    .call("write_file", &json!({"path": "src/lib.txt", "content": "one\nT1\nT2\nthree\n"})),
            )
            .rule(done(task));
    }
    let report = stage.run("- [ ] T1 a\n- [ ] T2 b\n", &script, None)?;
    require_states(&report, &[("T1", TaskState::Merged), ("T2", TaskState::Merged)])?;
    let text = stage.merged(&report, "src/lib.txt")?;
    if text == "one\nT1\nT2\nthree" { Ok(()) } else { fail(text) }
}

fn a_red_task_check_goes_back_to_its_agent() -> Outcome {
    let stage = Stage::new()?;
    let script = Script::default()
        .rule(write("T1", "answer.txt", "41\n"))
        .rule(
            Rule::task("T1")
                .returned(ReturnCause::TaskCheck)
                .last_contains("got 41")
                .call("write_file", &json!({"path": "answer.txt", "content": "42\n"})),
        )
        .rule(done("T1"));
    let plan = "- [ ] T1 answer (verify: test \"$(cat answer.txt)\" = 42 || { echo got $(cat answer.txt); exit 1; })\n";
    let report = stage.run(plan, &script, None)?;
    require_states(&report, &[("T1", TaskState::Merged)])?;
    let text = stage.merged(&report, "answer.txt")?;
    if text == "42" { Ok(()) } else { fail(text) }
}

fn a_red_merged_tree_never_lands() -> Outcome {
    let stage = Stage::new()?;
    let script = Script::default().rule(write("T1", "bad.txt", "bad\n")).rule(done("T1"));
    let report = stage.run("- [ ] T1 bad\n", &script, Some("test ! -e bad.txt"))?;
    if report.exit_code != Some(3) || report.integration_commit != report.base_commit {
        return fail(format!("{report:#?}"));
    }
    Ok(())
}

fn commands_run_without_a_model() -> Outcome {
    let stage = Stage::new()?;
    let report = stage.run(
        "- [ ] T1 make (run: echo made > made.txt)\n- [ ] T2 fails (run: echo why; exit 7)\n- [ ] T3 after (depends: T2)\n",
        &Script::default(),
        None,
    )?;
    require_states(&report, &[("T1", TaskState::Merged), ("T2", TaskState::Failed), ("T3", TaskState::Skipped)])?;
    if report.exit_code == Some(1) { Ok(()) } else { fail(format!("{report:#?}")) }
}

fn nothing_waits_for_what_is_never_merged() -> Outcome {
    let stage = Stage::new()?;
    let coordinator = stage
        .coordinator(&Script::default(), |settings| settings.run.merge = orchestrate_core::settings::MergeMode::None)?;
    let plan = plan_input("- [ ] T1 a (run: true)\n- [ ] T2 b (depends: T1) (run: true)\n")?;
    match runtime()?.block_on(coordinator.run(plan)) {
        Err(error) if error.to_string().contains("T2 depends on T1") => Ok(()),
        other => fail(format!("{other:?}")),
    }
}

/// While an agent waits for its model, a task for its check and the merge queue for another, people are answered and
/// what can go on does: the dispatcher waits on nobody.
fn who_waits_holds_up_nobody_else() -> Outcome {
    let stage = Stage::new()?;
    stage.repository.write(".gitignore", "gate\n")?;
    stage.repository.commit_all("Ignore the gates")?;
    let (release, may) = watch::channel(false);
    let model = answering(move |request| {
        let mut may = may.clone();
        async move {
            // Nobody holds the other end any more once the test has ended.
            drop(may.wait_for(|may| *may).await);
            write_or_end(&request)
        }
    });
    let coordinator = stage.coordinator(&Script::default(), |settings| {
        settings.model = Some(model);
        settings.run.merge = MergeMode::Review;
        settings.run.worktree_setup = Some("test -p gate || mkfifo gate".to_owned());
        settings.run.verify = Some("test ! -e four.txt || read line < gate".to_owned());
    })?;
    let plan = "- [ ] T1 wait for the model\n- [ ] T2 wait in its check (run: touch two.txt) (verify: read line < gate)\n\
                - [ ] T3 be merged (run: touch three.txt)\n- [ ] T4 wait in the merge queue (run: touch four.txt)\n";
    let (went, report) = runtime()?.block_on(async {
        let run = coordinator.start(plan_input(plan)?).await?;
        let went = tokio::time::timeout(Duration::from_secs(60), meanwhile(&run)).await;
        release.send_replace(true);
        let (layout, id) = (coordinator.layout(), run.id());
        let gates = [layout.worktree(id, &"T2".into()), layout.verifier(id)].map(|folder| open_gate(&folder));
        let report = run.wait().await?;
        drop(gates);
        Ok::<_, Failed>((went, report))
    })?;
    went??;
    let ended = [TaskState::AwaitingReview, TaskState::AwaitingReview, TaskState::Merged, TaskState::Merged];
    require_states(&report, &["T1", "T2", "T3", "T4"].into_iter().zip(ended).collect::<Vec<_>>())
}

/// Has one task merged while the first two wait, and sends a message once the last one waits too.
async fn meanwhile(run: &Run) -> Outcome {
    let mut state = run.watch();
    let stands = |state: &RunState, task: &str, at| state.task(&task.into()).is_some_and(|record| record.state() == at);
    let reviewed = |state: &RunState| ["T3", "T4"].iter().all(|task| stands(state, task, TaskState::AwaitingReview));
    state.wait_for(|state| waits(run, "T1") && waits(run, "T2") && reviewed(state)).await?;
    let third = approve(run, "T3")?;
    state.wait_for(|state| stands(state, "T3", TaskState::Merged)).await?;
    let fourth = approve(run, "T4")?;
    state.wait_for(|_| waits(run, "T4")).await?;
    let message = run.store().send(run.id(), &Request::Message { to: "T1".into(), body: "hello".to_owned() })?;
    state.wait_for(|state| state.unread().next().is_some()).await?;
    let still_wait = ["T1", "T2", "T4"].map(|task| waits(run, task));
    let answers = [third, fourth, message].map(|sent| run.store().answer(sent));
    let are_done = answers.iter().all(|answer| matches!(answer, Ok(Some(Ok(_)))));
    if still_wait == [true; 3] && are_done { Ok(()) } else { fail(format!("{still_wait:?} {answers:?}")) }
}

/// Reports whether a task waits for its model or a check.
fn waits(run: &Run, task: &str) -> bool {
    let open = |event: &Event| match event {
        Event::ModelRequested { .. } | Event::VerifyStarted { .. } => 1,
        Event::ModelReplied { .. } | Event::VerifyFinished { .. } => -1,
        _ => 0,
    };
    let facts = run.store().events_of_task(run.id(), &task.into(), 0, usize::MAX);
    facts.is_ok_and(|facts| facts.iter().map(|fact| open(&fact.event)).sum::<i32>() == 1)
}

fn approve(run: &Run, task: &str) -> Result<InboxId, Failed> {
    let task = TaskId::from(task);
    let tree = run.watch().borrow().task(&task).and_then(|record| record.tree().cloned());
    let tree = tree.ok_or_else(|| Failed::from(format!("{task} has no work")))?;
    Ok(run.store().send(run.id(), &Request::Approve { task, tree })?)
}

/// Lets the command go on that reads a line of the gate in a folder, for as long as the gate is held.
pub(crate) fn open_gate(folder: &Path) -> std::io::Result<File> {
    // Opened for both, it waits for no reader.
    let mut gate = File::options().read(true).write(true).open(folder.join("gate"))?;
    gate.write_all(b"go\n")?;
    Ok(gate)
}
