//! Whole runs through the library: the real engine, git, journal and sandbox, and a scripted model.

use std::time::Duration;

use libtest_mimic::Failed;
use orchestrate_coordinator::{ConfinementChoice, Run};
use orchestrate_core::event::Event;
use orchestrate_core::event::settings::MergeMode;
use orchestrate_core::run::request::Request;
use orchestrate_core::task::ReturnCause;
use orchestrate_core::{Report, RunState, TaskId, TaskState};
use orchestrate_journal::InboxId;
use orchestrate_sandbox::Confinement;
use tokio::sync::watch;

use crate::support::{
    Case, Outcome, Rule, Script, World, after, answering, case, done, fail, on, open_gate,
    plan_input, put, reads, runtime, shell, write, write_or_end,
};

pub(crate) fn cases() -> Vec<Case> {
    let tiers = [
        (Confinement::Full, "full"),
        (Confinement::Fallback, "fallback"),
    ];
    let separate = tiers.map(|(tier, word)| {
        let name =
            format!("end_to_end::each_agent_has_the_project_in_a_worktree_of_its_own ({word})");
        case(name, move || {
            each_agent_has_the_project_in_a_worktree_of_its_own(tier)
        })
        .in_tier(tier)
    });
    let others = [
        case!(two_independent_tasks_are_merged),
        case!(a_conflict_goes_back_to_its_author),
        case!(a_red_task_check_goes_back_to_its_agent),
        case!(a_red_merged_tree_never_lands),
        case!(commands_run_without_a_model),
        case!(nothing_waits_for_what_is_never_merged),
        case!(who_waits_holds_up_nobody_else),
    ];
    separate.into_iter().chain(others).collect()
}

fn states(report: &Report) -> Vec<(&str, TaskState)> {
    report
        .tasks
        .iter()
        .map(|task| (task.id.as_str(), task.state))
        .collect()
}

fn require_states(report: &Report, expected: &[(&str, TaskState)]) -> Outcome {
    assert_eq!(states(report), expected, "{report:#?}");
    Ok(())
}

/// In the full tier each of them is at the path of the checkout, which is hidden.
fn each_agent_has_the_project_in_a_worktree_of_its_own(tier: Confinement) -> Outcome {
    let world = World::lived_in()?;
    let look = |script: Script, task: &'static str| {
        let command = format!(
            "pwd > {task}.txt; (ls T?.txt; git ls-files) | sort >> {task}.txt; cat README.md >> {task}.txt"
        );
        script.rule(shell(on(task, 1), &command)).rule(done(task))
    };
    let script = ["T1", "T2"].into_iter().fold(Script::default(), look);
    let played = world.play("- [ ] T1 look\n- [ ] T2 look\n", &script, |settings| {
        settings.confinement = ConfinementChoice::Exactly(tier);
    })?;
    let report = &played.report;
    require_states(
        report,
        &[("T1", TaskState::Merged), ("T2", TaskState::Merged)],
    )?;
    let seen = |task: &str| world.merged(report, &format!("{task}.txt"));
    let (one, other) = (seen("T1")?, seen("T2")?);
    let split = |text: &str| {
        text.split_once('\n')
            .map(|(folder, rest)| (folder.to_owned(), rest.to_owned()))
    };
    let (Some((first, of_first)), Some((second, of_second))) = (split(&one), split(&other)) else {
        return fail(format!("{one}\n{other}"));
    };
    let readme = world.repository.show("HEAD", "README.md")?;
    let checkout = world.repository.path().display().to_string();
    let is_there = match tier {
        Confinement::Full => first == checkout && second == checkout,
        Confinement::Fallback | Confinement::Unconfined => {
            first.ends_with("/T1") && second.ends_with("/T2")
        }
    };
    let is_separate = of_first.replace("T1.txt", "T2.txt") == of_second && of_first != of_second;
    assert!(is_there, "{one}\n{other}");
    assert!(is_separate, "{one}\n{other}");
    assert!(of_first.ends_with(&readme), "{one}\n{other}");
    Ok(())
}

fn two_independent_tasks_are_merged() -> Outcome {
    let world = World::lived_in()?;
    let script = Script::default()
        .writes("T1", "one.txt", "1\n")
        .writes("T2", "two.txt", "2\n")
        .writes("T3", "three.txt", "3\n");
    let plan = "- [ ] T1 one\n- [ ] T2 two\n- [ ] T3 three (depends: T1, T2)\n";
    let report = world.run(plan, &script, None)?;
    require_states(
        &report,
        &[
            ("T1", TaskState::Merged),
            ("T2", TaskState::Merged),
            ("T3", TaskState::Merged),
        ],
    )?;
    for (file, text) in [("one.txt", "1"), ("two.txt", "2"), ("three.txt", "3")] {
        if world.merged(&report, file)? != text {
            return fail(format!("{file} is not in the merged result"));
        }
    }
    Ok(())
}

fn a_conflict_goes_back_to_its_author() -> Outcome {
    let world = World::lived_in()?;
    let mut script = Script::default();
    for task in ["T1", "T2"] {
        script = script
            .rule(write(task, "src/lib.txt", &format!("one\n{task}\nthree\n")))
            .rule(reads(
                Rule::task(task).returned(ReturnCause::Conflict),
                "src/lib.txt",
            ))
            .rule(put(
                after(task, "<<<<<<<"),
                "src/lib.txt",
                "one\nT1\nT2\nthree\n",
            ))
            .rule(done(task));
    }
    let report = world.run("- [ ] T1 a\n- [ ] T2 b\n", &script, None)?;
    require_states(
        &report,
        &[("T1", TaskState::Merged), ("T2", TaskState::Merged)],
    )?;
    let text = world.merged(&report, "src/lib.txt")?;
    assert_eq!(text, "one\nT1\nT2\nthree");
    Ok(())
}

fn a_red_task_check_goes_back_to_its_agent() -> Outcome {
    let world = World::lived_in()?;
    let script = Script::default()
        .rule(write("T1", "answer.txt", "41\n"))
        .rule(put(
            Rule::task("T1")
                .returned(ReturnCause::TaskCheck)
                .last_contains("got 41"),
            "answer.txt",
            "42\n",
        ))
        .rule(done("T1"));
    let plan = "- [ ] T1 answer (verify: test \"$(cat answer.txt)\" = 42 || { echo got $(cat answer.txt); exit 1; })\n";
    let report = world.run(plan, &script, None)?;
    require_states(&report, &[("T1", TaskState::Merged)])?;
    let text = world.merged(&report, "answer.txt")?;
    assert_eq!(text, "42");
    Ok(())
}

fn a_red_merged_tree_never_lands() -> Outcome {
    let world = World::lived_in()?;
    let script = Script::default().writes("T1", "bad.txt", "bad\n");
    let report = world.run("- [ ] T1 bad\n", &script, Some("test ! -e bad.txt"))?;
    assert_eq!(report.exit_code, Some(3), "{report:#?}");
    assert_eq!(report.integration_commit, report.base_commit, "{report:#?}");
    Ok(())
}

fn commands_run_without_a_model() -> Outcome {
    let world = World::lived_in()?;
    let report = world.run(
        "- [ ] T1 make (run: echo made > made.txt)\n- [ ] T2 fails (run: echo why; exit 7)\n- [ ] T3 after (depends: T2)\n",
        &Script::default(),
        None,
    )?;
    require_states(
        &report,
        &[
            ("T1", TaskState::Merged),
            ("T2", TaskState::Failed),
            ("T3", TaskState::Skipped),
        ],
    )?;
    assert_eq!(report.exit_code, Some(1), "{report:#?}");
    Ok(())
}

fn nothing_waits_for_what_is_never_merged() -> Outcome {
    let world = World::lived_in()?;
    let coordinator = world.coordinator(&Script::default(), |settings| {
        settings.run.merge = orchestrate_core::event::settings::MergeMode::None
    })?;
    let plan = plan_input("- [ ] T1 a (run: true)\n- [ ] T2 b (depends: T1) (run: true)\n")?;
    match runtime()?.block_on(coordinator.run(plan)) {
        Err(error) if error.to_string().contains("T2 depends on T1") => Ok(()),
        other => fail(format!("{other:?}")),
    }
}

/// While an agent waits for its model, a task for its check and the merge queue for another check,
/// users are answered and other work continues: the dispatcher never blocks.
fn who_waits_holds_up_nobody_else() -> Outcome {
    let world = World::lived_in()?;
    world.commit(".gitignore", "gate\n")?;
    let (release, may) = watch::channel(false);
    let model = answering(move |request| {
        let mut may = may.clone();
        async move {
            // The sender is dropped once the test has ended.
            drop(may.wait_for(|may| *may).await);
            write_or_end(&request)
        }
    });
    let coordinator = world.coordinator(&Script::default(), |settings| {
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
        let gates = [layout.worktree(id, &"T2".into()), layout.verifier(id)]
            .map(|folder| open_gate(&folder));
        let report = run.wait().await?;
        drop(gates);
        Ok::<_, Failed>((went, report))
    })?;
    went??;
    let ended = [
        TaskState::AwaitingReview,
        TaskState::AwaitingReview,
        TaskState::Merged,
        TaskState::Merged,
    ];
    require_states(
        &report,
        &["T1", "T2", "T3", "T4"]
            .into_iter()
            .zip(ended)
            .collect::<Vec<_>>(),
    )
}

/// Has T3 merged while the first two tasks wait, and sends a message once the last one waits, too.
async fn meanwhile(run: &Run) -> Outcome {
    let mut state = run.watch();
    let stands = |state: &RunState, task: &str, at| {
        state
            .task(&task.into())
            .is_some_and(|record| record.state() == at)
    };
    let reviewed = |state: &RunState| {
        ["T3", "T4"]
            .iter()
            .all(|task| stands(state, task, TaskState::AwaitingReview))
    };
    state
        .wait_for(|state| waits(run, "T1") && waits(run, "T2") && reviewed(state))
        .await?;
    let third = approve(run, "T3")?;
    state
        .wait_for(|state| stands(state, "T3", TaskState::Merged))
        .await?;
    let fourth = approve(run, "T4")?;
    state.wait_for(|_| waits(run, "T4")).await?;
    let message = run
        .store()
        .send(run.id(), &Request::message("T1", "hello"))?;
    state
        .wait_for(|state| state.unread().next().is_some())
        .await?;
    let still_wait = ["T1", "T2", "T4"].map(|task| waits(run, task));
    let answers = [third, fourth, message].map(|sent| run.store().answer(sent));
    let are_done = answers
        .iter()
        .all(|answer| matches!(answer, Ok(Some(Ok(_)))));
    assert_eq!(still_wait, [true; 3], "{answers:?}");
    assert!(are_done, "{still_wait:?} {answers:?}");
    Ok(())
}

/// Reports whether a task waits for its model or a check.
fn waits(run: &Run, task: &str) -> bool {
    let open = |event: &Event| match event {
        Event::ModelRequested { .. } | Event::VerifyStarted { .. } => 1,
        Event::ModelReplied { .. } | Event::VerifyFinished { .. } => -1,
        _ => 0,
    };
    let facts = run
        .store()
        .events_of_task(run.id(), &task.into(), 0, usize::MAX);
    facts.is_ok_and(|facts| facts.iter().map(|fact| open(&fact.event)).sum::<i32>() == 1)
}

fn approve(run: &Run, task: &str) -> Result<InboxId, Failed> {
    let task = TaskId::from(task);
    let tree = run
        .watch()
        .borrow()
        .task(&task)
        .and_then(|record| record.tree().cloned());
    let tree = tree.ok_or_else(|| Failed::from(format!("{task} has no work")))?;
    Ok(run
        .store()
        .send(run.id(), &Request::Approve { task, tree })?)
}
