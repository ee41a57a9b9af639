//! Limits in whole runs: each ends only what it limits, with its own exit code.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use libtest_mimic::Failed;
use orchestrate_coordinator::Takeover;
use orchestrate_core::TaskState::{AwaitingReview, Failed as FailedTask, Merged, Skipped, Waiting};
use orchestrate_core::agent::context::{TokenCounter, fixed_tokens, request_tokens};
use orchestrate_core::event::Event;
use orchestrate_core::event::settings::MergeMode;
use orchestrate_core::policy::{RuleDecision, RuleText};
use orchestrate_core::run::request::{Request, RequestRefused};
use orchestrate_core::task::{FailureCause, Work};
use orchestrate_core::{
    Allowance, ModelReply, ModelRequest, RunId, RunSettings, RunState, Task, TaskId, TaskRecord,
    Usage,
};
use orchestrate_journal::{Clock, Journal, Store};
use orchestrate_model::Tokenizer;
use orchestrate_settings::{Kind, named};
use serde_json::json;
use tokio::sync::{Barrier, watch};

use crate::support::{
    Case, Outcome, Played, Rule, Script, World, answering, case, done, fail, on, plan_input, reads,
    runtime, sandboxed, shell, write, write_or_end,
};

pub(crate) fn cases() -> Vec<Case> {
    vec![
        case!(turns_end_a_task),
        case!(an_agent_that_repeats_itself_ends),
        case!(a_tasks_budget_ends_it),
        sandboxed!(more_of_one_limit_does_not_help_where_both_are_used_up),
        case!(the_runs_budget_is_never_exceeded),
        sandboxed!(a_person_gives_a_run_more_tokens),
        case!(a_request_waits_for_what_others_may_give_back),
        case!(a_tasks_time_ends_it),
        case!(work_that_was_done_in_time_is_handed_over),
        case!(resuming_gives_no_new_time),
        case!(a_person_gives_a_run_more_time),
        sandboxed!(more_time_is_what_is_named_next),
        case!(finished_work_is_not_approved_out_of_time),
        case!(what_takes_all_memory_or_disk_fails_alone),
        case!(the_context_bound_holds),
        case!(whatever_one_turn_reads_and_writes_fits),
        case!(the_fixed_prompt_is_small),
        case!(the_smallest_context_is_enough_to_work_in),
        case!(no_more_agents_than_allowed),
        case!(three_agents_work_at_once),
        case!(a_panicking_worker_fails_its_task_alone),
        case!(a_name_that_is_no_model_fails_its_task_alone),
    ]
}

/// Returns a script for an agent that searches for something else in each turn and never ends.
fn busy(task: &str, turns: u32) -> Script {
    add_busy(Script::default(), task, turns, 0)
}

fn add_busy(script: Script, task: &str, turns: u32, tokens: u64) -> Script {
    (1..=turns).fold(script, |script, turn| {
        let list = json!({"pattern": format!("nothing-{turn}")});
        let usage = json!({"input_tokens": tokens, "output_tokens": 10});
        let rule = on(task, turn).call("search_files", &list);
        script.rule(if tokens > 0 { rule.usage(usage) } else { rule })
    })
}

fn turns_end_a_task() -> Outcome {
    let script = add_busy(busy("T1", 9), "T4", 9, 0).writes("T2", "two.txt", "2\n");
    let plan =
        "- [ ] T1 busy\n- [ ] T2 quick\n- [ ] T3 after (depends: T1)\n- [ ] T4 busy (turns: 2)\n";
    let played = World::lived_in()?.play(plan, &script, |settings| settings.run.max_turns = 4)?;
    played.require(
        4,
        &[
            ("T1", FailedTask),
            ("T2", Merged),
            ("T3", Skipped),
            ("T4", FailedTask),
        ],
    )?;
    played.require_failure("T1", FailureCause::Turns, "turns")?;
    // A task's own limit takes precedence; the report is one more.
    let turns = [played.report.tasks[0].turns, played.report.tasks[3].turns];
    assert_eq!(turns, [5, 3], "{turns:?} turns");
    Ok(())
}

/// An agent that makes the same failing call again and again is ended; what it has written is kept.
fn an_agent_that_repeats_itself_ends() -> Outcome {
    let script = Script::default()
        .rule(write("T1", "half.txt", "half\n"))
        .rule(reads(Rule::task("T1"), "none.txt"));
    let script = (1..=12)
        .fold(script, |script, turn| {
            script.rule(reads(on("T2", turn), &format!("none-{turn}.txt")))
        })
        .rule(write("T2", "two.txt", "2\n").turn(13))
        .rule(done("T2"));
    let world = World::lived_in()?;
    let played = world.play("- [ ] T1 repeat\n- [ ] T2 look\n", &script, |_| {})?;
    // The control: more failing calls of another agent, which differ, are no loop, and it does its
    // work.
    played.require(1, &[("T1", FailedTask), ("T2", Merged)])?;
    played.require_failure("T1", FailureCause::Looping, "repeated the same calls")?;
    let calls = [played.results("T1")?.len(), played.results("T2")?.len()];
    // The write, and five of the eight; the others were not run.
    assert_eq!(calls, [6, 13], "{calls:?} calls\n{played}");
    let kept = played.pick(|event| match event {
        Event::SnapshotTaken { task, commit, .. } if task.as_str() == "T1" => {
            Some(commit.to_string())
        }
        _ => None,
    });
    let Some(kept) = kept.last() else {
        return fail(played.story());
    };
    assert_eq!(
        world.repository.show(kept, "half.txt")?,
        "half",
        "half.txt is not kept"
    );
    Ok(())
}

fn a_tasks_budget_ends_it() -> Outcome {
    let script = add_busy(Script::default(), "T1", 30, 3_000).writes("T2", "two.txt", "2\n");
    let script = add_busy(script, "T3", 12, 3_000)
        .rule(write("T3", "three.txt", "3\n").turn(13))
        .rule(done("T3"));
    let plan = "- [ ] T1 busy (tokens: 20000)\n- [ ] T2 quick\n- [ ] T3 busy (tokens: 200000)\n";
    let played = World::lived_in()?.play(plan, &script, |_| {})?;
    played.require(4, &[("T1", FailedTask), ("T2", Merged), ("T3", Merged)])?;
    played.require_failure("T1", FailureCause::Budget, "budget of 20000")?;
    // The control: with a larger budget, the same requests use more than this one.
    assert!(
        require_within(&played, Some("T3"), 20_000).is_err(),
        "{played}"
    );
    require_within(&played, Some("T1"), 20_000)
}

/// Requires that the tokens used plus the tokens reserved are within the cap at every fact.
fn require_within(played: &Played, only: Option<&str>, cap: u64) -> Outcome {
    let (mut used, mut reserved) = (0, BTreeMap::new());
    for fact in &played.facts {
        if only.is_some_and(|only| fact.event.task().is_none_or(|task| task.as_str() != only)) {
            continue;
        }
        match &fact.event {
            Event::ModelRequested {
                task,
                reserved_tokens,
                ..
            } => drop(reserved.insert(task, *reserved_tokens)),
            Event::ModelReplied { task, usage, .. } => {
                reserved.remove(task);
                used += usage.total();
            }
            Event::ModelCut { task, tokens, .. } => {
                reserved.remove(task);
                used += tokens;
            }
            Event::ModelFailed { task, .. } | Event::ModelRejected { task, .. } => {
                reserved.remove(task);
            }
            _ => {}
        }
        let sum = used + reserved.values().sum::<u64>();
        if sum > cap {
            return fail(format!("{sum} tokens of {cap} at fact {}", fact.seq));
        }
    }
    assert_ne!(used, 0, "nothing was used");
    Ok(())
}

fn the_runs_budget_is_never_exceeded() -> Outcome {
    let mut script = Script::default();
    for task in ["T1", "T2", "T3"] {
        script = add_busy(script, task, 30, 3_000);
    }
    let plan = "- [ ] T1 busy\n- [ ] T2 busy\n- [ ] T3 busy\n";
    let played = World::lived_in()?.play(plan, &script, |settings| {
        settings.run.budget_tokens = Some(50_000)
    })?;
    played.require(
        4,
        &[("T1", FailedTask), ("T2", FailedTask), ("T3", FailedTask)],
    )?;
    played.require_failure("T3", FailureCause::Budget, "the run has")?;
    require_within(&played, None, 50_000)?;
    // The control: without a budget, the same requests of one agent use more than that.
    let script =
        add_busy(Script::default(), "T1", 18, 3_000).rule(write("T1", "one.txt", "1\n").turn(19));
    let played = World::lived_in()?.play("- [ ] T1 busy\n", &script.rule(done("T1")), |_| {})?;
    played.require_merged(&["T1"])?;
    assert!(require_within(&played, None, 50_000).is_err(), "{played}");
    Ok(())
}

/// T1 is stopped by the run's budget only, T2 also by its own, so a larger budget of the run helps
/// only T1.
fn a_person_gives_a_run_more_tokens() -> Outcome {
    let world = World::plain()?;
    world.repository.write(
        "plan.md",
        "- [ ] T1 one\n- [ ] T2 two (tokens: 3000)\n- [ ] T3 three (depends: T1) (run: touch x)\n",
    )?;
    let script = Script::default().writes("T1", "one.txt", "1\n");
    let model = script.write_to(&world.home.path().join("script.jsonl"))?;
    let type_in = |arguments: &[&str]| world.types(arguments, 4);
    let ran = type_in(&[
        "run",
        "plan.md",
        "--model",
        &model,
        "--budget-tokens",
        "3000",
    ])?;
    let run = world.git("for-each-ref --format=%(refname:lstrip=3) refs/heads/orchestrate")?;
    let run = run.split('/').next().unwrap_or_default();
    let more = format!("orchestrate resume {run} --budget-tokens N");
    let told = "the run has used 0 of its budget of 3000 tokens; the next request";
    assert!(ran.stdout.contains(told), "{}", ran.stdout);
    assert_eq!(ran.stdout.matches(&more).count(), 1, "{}", ran.stdout);
    assert!(!ran.stdout.contains("retry T1"), "{}", ran.stdout);
    let reviewed = world.types(&["review", "T1"], 0)?;
    assert!(reviewed.stdout.contains(&more), "{}", reviewed.stdout);
    assert!(!reviewed.stdout.contains("retry T1"), "{}", reviewed.stdout);
    let resumed = type_in(&["resume", "--budget-tokens", "100000"])?;
    // Only another plan can give T2 more, and a new run starts from what has landed.
    let helps = "\n  orchestrate land\n  orchestrate run PLAN\n";
    assert!(!resumed.stdout.contains(&more), "{}", resumed.stdout);
    assert!(!resumed.stdout.contains("retry T2"), "{}", resumed.stdout);
    assert!(resumed.stdout.contains(helps), "{}", resumed.stdout);
    let reviewed = world.types(&["review", "T2"], 0)?;
    assert!(!reviewed.stdout.contains("retry T2"), "{}", reviewed.stdout);
    assert!(
        reviewed.stdout.contains("\n  orchestrate run PLAN\n"),
        "{}",
        reviewed.stdout
    );
    // The control: with more tokens for the run, what the smaller budget has stopped is done.
    let status = world.types(&["status", "--json"], 0)?.json()?;
    let states: Vec<_> = (0..3)
        .map(|task| status["tasks"][task]["state"].clone())
        .collect();
    assert_eq!(states, ["merged", "failed", "merged"], "{status}");
    Ok(())
}

fn a_request_waits_for_what_others_may_give_back() -> Outcome {
    // Enough for one request at a time, as long as its cost is not known.
    const CAP: u64 = 10_000;
    let (may, held) = watch::channel(false);
    let model = answering(move |request| {
        let mut held = held.clone();
        async move {
            // The sender is dropped once the test has ended.
            drop(held.wait_for(|may| *may).await);
            let usage = Usage {
                input_tokens: 100,
                output_tokens: 10,
                ..Usage::default()
            };
            ModelReply {
                usage,
                ..write_or_end(&request)
            }
        }
    });
    let world = World::lived_in()?;
    let coordinator = world.coordinator(&Script::default(), |settings| {
        settings.model = Some(model);
        settings.run.budget_tokens = Some(CAP);
    })?;
    let report = runtime()?.block_on(async {
        let run = coordinator
            .start(plan_input(
                "- [ ] T1 write\n- [ ] T2 write\n- [ ] T3 write\n",
            )?)
            .await?;
        let waits = |state: &Arc<RunState>, id: &str| state.budget.waiting(&id.into()).is_some();
        let two_wait = |state: &Arc<RunState>| {
            ["T1", "T2", "T3"]
                .iter()
                .filter(|id| waits(state, id))
                .count()
                == 2
        };
        let failed =
            |state: &Arc<RunState>| state.tasks().any(|record| record.state() == FailedTask);
        run.watch()
            .wait_for(|state| two_wait(state) || failed(state))
            .await?;
        may.send_replace(true);
        Ok::<_, Failed>(run.wait().await?)
    })?;
    let played = Played::of(coordinator, report)?;
    played.require_merged(&["T1", "T2", "T3"])?;
    require_within(&played, None, CAP)?;
    // The task that waited first was served first.
    let order = |fits: fn(&Event) -> Option<&TaskId>| -> Vec<&TaskId> {
        played
            .facts
            .iter()
            .filter_map(|fact| fits(&fact.event))
            .collect()
    };
    let waited = order(|event| match event {
        Event::BudgetWaited { task, turn: 1, .. } => Some(task),
        _ => None,
    });
    let asked = order(|event| match event {
        Event::ModelRequested { task, turn: 1, .. } => Some(task),
        _ => None,
    });
    assert_eq!(waited.len(), 2, "{played}");
    assert_eq!(asked.get(1..), Some(&waited[..]), "{played}");
    Ok(())
}

fn a_tasks_time_ends_it() -> Outcome {
    let script = Script::default()
        .rule(shell(on("T1", 1), "echo half > half.txt; sleep 50"))
        .rule(done("T1"))
        .writes("T2", "two.txt", "2\n");
    let plan = "- [ ] T1 slow (timeout: 1s)\n- [ ] T2 quick\n";
    let world = World::lived_in()?;
    let played = world.play(plan, &script, |_| {})?;
    played.require(4, &[("T1", FailedTask), ("T2", Merged)])?;
    played.require_failure("T1", FailureCause::Timeout, "`timeout` of 1 s")?;
    // What T1 had written is kept.
    let kept = played.pick(|event| match event {
        Event::SnapshotTaken { task, commit, .. } if task.as_str() == "T1" => {
            Some(commit.to_string())
        }
        _ => None,
    });
    let Some(kept) = kept.last() else {
        return fail(played.story());
    };
    assert_eq!(
        world.repository.show(kept, "half.txt")?,
        "half",
        "half.txt is not kept"
    );
    Ok(())
}

/// The task's time is up while the command's result is being committed.
fn work_that_was_done_in_time_is_handed_over() -> Outcome {
    let world = World::lived_in()?;
    let coordinator = world.coordinator(&Script::default(), |_| {})?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let report = runtime.block_on(async {
        let run = coordinator
            .start(plan_input("- [ ] T1 one (run: touch one) (timeout: 1h)\n")?)
            .await?;
        let ended =
            |record: &TaskRecord| record.last_tool().is_some() && record.open_calls().is_empty();
        run.watch()
            .wait_for(|state| state.task(&"T1".into()).is_some_and(ended))
            .await?;
        tokio::time::pause();
        tokio::time::advance(Duration::from_secs(3_600)).await;
        tokio::time::resume();
        Ok::<_, Failed>(run.wait().await?)
    })?;
    Played::of(coordinator, report)?.require_merged(&["T1"])
}

/// The clock of the run that [`worked_on`] creates, in milliseconds.
static MOMENT: AtomicU64 = AtomicU64::new(0);

fn moment() -> u64 {
    MOMENT.load(Ordering::Relaxed)
}

/// Creates a run with a task that started 100 s ago; a process worked on the run during the first
/// 70 s.
fn worked_on(world: &World, of_run: Option<u64>, of_task: Option<u64>) -> Result<RunId, Failed> {
    let coordinator = world.coordinator(&Script::default(), |_| {})?;
    let folder = coordinator.layout().journal();
    let (run, base) = (RunId::from("r-worked1"), coordinator.repo().head()?.commit);
    let now = (Clock::SYSTEM.date)();
    MOMENT.store(now - 100_000, Ordering::Relaxed);
    let store = Store::open_with(
        &folder,
        Clock {
            date: moment,
            steady: moment,
            asleep: || 0,
        },
    )?;
    let id = TaskId::from("T1");
    let work = Work::Run("sleep 50".to_owned());
    let task = Task {
        id: id.clone(),
        timeout_ms: of_task,
        work,
        ..Task::default()
    };
    let started = Event::RunStarted {
        plan: None,
        plan_source: None,
        title: None,
        settings: Box::new(RunSettings {
            timeout_ms: of_run,
            ..RunSettings::default()
        }),
        base_commit: base.clone(),
        base_branch: None,
    };
    let branch = run.task_branch(&id);
    let spawned = Event::AgentSpawned {
        task: id.clone(),
        attempt: 1,
        agent: None,
        model: None,
        branch,
        base,
        spec: None,
        sends: None,
    };
    let first = vec![
        started,
        Event::planned(task),
        Event::TaskReady { task: id.clone() },
        spawned,
    ];
    let journal = Journal::create(&store, &run, first)?;
    MOMENT.store(now - 30_000, Ordering::Relaxed);
    journal.append_blocking(Event::WorktreeRemoved { task: id })?;
    Ok(run)
}

fn within(time: Duration) -> Allowance {
    Allowance {
        time: Some(time),
        ..Allowance::default()
    }
}

fn resuming_gives_no_new_time() -> Outcome {
    for (of_run, of_task, why) in [
        (Some(60_000), None, "time limit of 60 s"),
        (None, Some(60_000), "`timeout` of 60 s"),
    ] {
        let world = World::lived_in()?;
        let run = worked_on(&world, of_run, of_task)?;
        let resumed = world.resume(&run, &Script::default(), |_| {})?;
        resumed.require(4, &[("T1", FailedTask)])?;
        resumed.require_failure("T1", FailureCause::Timeout, why)?;
        assert!(
            resumed.report.duration_ms <= 90_000,
            "{why}: the pause was counted\n{resumed}"
        );
    }
    Ok(())
}

/// T1 is stopped by the run's time limit, T2 by its own, so more time for the run lets only T1
/// continue.
fn a_person_gives_a_run_more_time() -> Outcome {
    let slow = |task: &str| shell(on(task, 1), "sleep 50");
    let script = Script::default()
        .rule(slow("T1"))
        .rule(write("T1", "one.txt", "1\n").turn(3))
        .rule(done("T1"));
    let (script, world) = (script.rule(slow("T2")), World::lived_in()?);
    let plan = "- [ ] T1 slow\n- [ ] T2 slow too (timeout: 1s)\n- [ ] T3 after (depends: T1) (run: touch three)\n";
    let played = world.play(plan, &script, |settings| {
        settings.run.timeout_ms = Some(3_000)
    })?;
    played.require(
        4,
        &[("T1", FailedTask), ("T2", FailedTask), ("T3", Skipped)],
    )?;
    assert!(played.report.duration_ms <= 20_000, "{played}");
    played.require_failure(
        "T1",
        FailureCause::Timeout,
        "the run's time limit of 3 s is used up",
    )?;
    played.require_failure("T2", FailureCause::Timeout, "`timeout` of 1 s")?;
    let (run, store) = (
        played.report.run_id.clone(),
        played.coordinator.store().clone(),
    );
    drop(played);
    let sent = store.send(
        &run,
        &Request::Retry {
            task: "T1".into(),
            message: None,
        },
    )?;
    world.resume(&run, &script, |_| {})?.require(
        4,
        &[("T1", FailedTask), ("T2", FailedTask), ("T3", Skipped)],
    )?;
    match store.answer(sent)? {
        Some(Err(RequestRefused::OutOfTime { limit_ms: 3_000 })) => {}
        other => return fail(format!("{other:?}")),
    }
    let coordinator = world.coordinator(&script, |_| {})?;
    let report = runtime()?.block_on(async {
        let resumed = coordinator
            .resume_within(&run, within(Duration::from_secs(600)))
            .await?;
        // T1 is returned in the same batch as the first fact of the resume, so a process that dies
        // from here on leaves nothing undone.
        let facts: Vec<Event> = store
            .events(&run, 0, usize::MAX)?
            .into_iter()
            .map(|fact| fact.event)
            .collect();
        let begun = facts
            .iter()
            .rposition(|fact| matches!(fact, Event::RunResumed { .. }))
            .unwrap_or_default();
        match facts.get(begun + 1) {
            Some(Event::TaskReturned { task, .. }) if task.as_str() == "T1" => {
                Ok::<_, Failed>(resumed.wait().await?)
            }
            other => fail(format!("{other:?}")),
        }
    })?;
    Played::of(coordinator, report)?
        .require(4, &[("T1", Merged), ("T2", FailedTask), ("T3", Merged)])
}

/// T1 has too few tokens and T2 too little time; with more tokens alone, T1 cannot continue either.
/// The time has to suffice for T1 to ask for its first reply, also on a busy machine.
fn more_of_one_limit_does_not_help_where_both_are_used_up() -> Outcome {
    let world = World::plain()?;
    world
        .repository
        .write("plan.md", "- [ ] T1 one\n- [ ] T2 slow (run: sleep 50)\n")?;
    let model = Script::default()
        .rule(done("T1"))
        .write_to(&world.home.path().join("script.jsonl"))?;
    let ran = world.types(
        &[
            "run",
            "plan.md",
            "--model",
            &model,
            "--budget-tokens",
            "3000",
            "--timeout",
            "4s",
        ],
        4,
    )?;
    if !ran.stdout.contains(" --budget-tokens N --timeout TIME\n") {
        return fail(ran.stdout);
    }
    let log = world.types(&["log", "--json"], 0)?.stdout;
    for (given, told) in [
        (
            &["--budget-tokens", "100000"][..],
            "T1 cannot continue: the run's time limit of 4 s is used up too\nhint: `orchestrate resume r-",
        ),
        (
            &["--timeout", "4s"],
            "T2 cannot continue: the run's time limit of 4 s is used up\nhint: `orchestrate resume r-",
        ),
    ] {
        let refused = world.types(&[&["resume"], given].concat(), 2)?.stderr;
        let flags = if given[0] == "--timeout" {
            " --timeout TIME` "
        } else {
            " --budget-tokens N --timeout TIME` "
        };
        assert!(refused.contains(told), "{refused}");
        assert!(refused.contains(flags), "{refused}");
        assert_eq!(world.types(&["log", "--json"], 0)?.stdout, log, "{refused}");
    }
    Ok(())
}

fn more_time_is_what_is_named_next() -> Outcome {
    let world = World::plain()?;
    world
        .repository
        .write("plan.md", "- [ ] T1 slow (run: sleep 50)\n")?;
    let type_in = |arguments: &[&str]| world.orchestrate(arguments).run();
    let ran = type_in(&["run", "plan.md", "--timeout", "1s"])?.exits(4)?;
    for told in [
        ran,
        type_in(&["status"])?.exits(0)?,
        type_in(&["review", "T1"])?.exits(0)?,
    ] {
        let is_named = told.stdout.contains("\n  orchestrate resume r-")
            && told.stdout.contains(" --timeout TIME\n");
        assert!(is_named, "{}", told.stdout);
        assert!(!told.stdout.contains("retry T1"), "{}", told.stdout);
    }
    Ok(())
}

/// Finished work that is approved when no time is left would fail, so the approval is refused until
/// there is more time.
fn finished_work_is_not_approved_out_of_time() -> Outcome {
    let publish = shell(on("T1", 1), "touch published.txt");
    let script = Script::default()
        .rule(publish)
        .rule(done("T1"))
        .writes("T2", "two.txt", "2\n");
    let world = World::lived_in()?;
    let first = world.play("- [ ] T1 publish\n- [ ] T2 write\n", &script, |settings| {
        let rule = "run_shell_command(touch*)".to_owned();
        settings.run.rules = vec![RuleText::new(RuleDecision::Ask, rule, "--ask")];
        settings.run.ask_parks = true;
        settings.run.merge = MergeMode::Review;
    })?;
    first.require(3, &[("T1", Waiting), ("T2", AwaitingReview)])?;
    let Played {
        coordinator,
        report,
        ..
    } = first;
    let (run, store) = (report.run_id, coordinator.store().clone());
    let within = |time| {
        let resume = async {
            coordinator
                .resume_within(&run, within(time))
                .await?
                .wait()
                .await
        };
        Ok::<_, Failed>(runtime()?.block_on(resume)?)
    };
    within(Duration::from_millis(1))?;
    let state = store.state(&run)?;
    let call = state.open_approvals().map(|(call, _)| call.clone()).next();
    let tree = state
        .task(&"T2".into())
        .and_then(|record| record.tree().cloned());
    let (Some(call), Some(tree)) = (call, tree) else {
        return fail("nothing waits for a person");
    };
    let commands = [
        Request::Decide {
            call,
            allowed: true,
            message: None,
        },
        Request::Approve {
            task: "T2".into(),
            tree,
        },
    ];
    for command in &commands {
        match runtime()?.block_on(coordinator.resume_with(&run, command.clone()))? {
            Takeover::Refused(RequestRefused::OutOfTime { .. }) => {}
            Takeover::Refused(refused) => return fail(refused.to_string()),
            Takeover::Begun { run } => return fail(run.id()),
            Takeover::Answered => return fail("it was answered"),
        }
    }
    if store.state(&run)?.seq != state.seq {
        return fail("a refused approval left facts");
    }
    for command in &commands {
        store.send(&run, command)?;
    }
    let report = within(Duration::from_secs(600))?;
    Played::of(coordinator, report)?.require(3, &[("T1", AwaitingReview), ("T2", Merged)])
}

fn what_takes_all_memory_or_disk_fails_alone() -> Outcome {
    let plan = "- [ ] T1 fill (run: head -c 64000000 /dev/zero > big && sleep 90)\n\
                - [ ] T2 hoard (run: head -c 200000000 /dev/zero | tail -c 200000000 | sleep 90)\n\
                - [ ] T3 write (run: echo kept > written.txt)\n\
                - [ ] T4 litter (run: mkdir many && cd many && touch $(seq 3000) && sleep 90)\n";
    let world = World::lived_in()?;
    let played = world.play(plan, &Script::default(), |settings| {
        settings.run.worktree_files = 1_000;
        (settings.run.worktree_mib, settings.run.command_memory_mib) = (32, Some(64));
    })?;
    let states = [
        ("T1", FailedTask),
        ("T2", FailedTask),
        ("T3", Merged),
        ("T4", FailedTask),
    ];
    played.require(1, &states)?;
    played.require_failure("T4", FailureCause::Command, "`worktree_files`")?;
    played.require_failure("T1", FailureCause::Command, "`worktree_mib`")?;
    played.require_failure("T2", FailureCause::Command, "`command_memory_mib`")
}

fn the_context_bound_holds() -> Outcome {
    let world = World::lived_in()?;
    let giant: String = (0..40_000)
        .map(|line| format!("line {line} of a very long file\n"))
        .collect();
    world.commit("giant.txt", &giant)?;
    let mut script = Script::default();
    for turn in 1..=12 {
        let offset = turn * 1000;
        script = script.rule(
            shell(on("T1", turn), &format!("tail -n +{offset} giant.txt"))
                .call("read_file", &json!({"path": "giant.txt", "offset": offset})),
        );
    }
    let script = script
        .rule(write("T1", "small.txt", "1\n").turn(13))
        .rule(done("T1"));
    let played = world.play("- [ ] T1 read a lot\n", &script, |_| {})?;
    played.require_merged(&["T1"])?;
    let (counter, requests) = (Tokenizer::load()?, played.requests()?);
    let largest = requests
        .iter()
        .map(|request| request_tokens(request, &counter))
        .max()
        .unwrap_or(0);
    let body = requests
        .iter()
        .map(|request| counter.count(&json!(request).to_string()))
        .max()
        .unwrap_or(0);
    assert!(
        largest <= 16_000 && body <= 16_000 && requests.len() == 14,
        "{} requests, the largest has {largest} tokens, the largest body {body}",
        requests.len()
    );
    // Such results leave room only for the newest: whole turns are left out, and that is recorded.
    let dropped = played.pick(|event| match event {
        Event::ContextCompacted { compaction, .. } => compaction.dropped,
        _ => None,
    });
    assert!(!dropped.is_empty(), "{played}");
    Ok(())
}

fn whatever_one_turn_reads_and_writes_fits() -> Outcome {
    let world = World::lived_in()?;
    let source: String = (0..300)
        .map(|n| format!("fn number_{n}(a: u32) -> u32 {{ a.wrapping_mul({n}) }}\n"))
        .collect();
    for number in 1..=8 {
        world
            .repository
            .write(&format!("src/{number}.rs"), &source)?;
    }
    world.repository.commit_all("Add sources")?;
    let calls = |turn, one: fn(u32, &str) -> (&'static str, serde_json::Value)| {
        (1..=8).fold(on("T1", turn), |rule, number| {
            let (name, arguments) = one(number, &source);
            rule.call(name, &arguments)
        })
    };
    let script = Script::default()
        .rule(calls(1, |number, _| {
            ("read_file", json!({"path": format!("src/{number}.rs")}))
        }))
        .rule(calls(2, |number, text| {
            (
                "write_file",
                json!({"path": format!("copy/{number}.rs"), "content": text}),
            )
        }))
        .rule(done("T1"));
    let played = world.play("- [ ] T1 copy the sources\n", &script, |_| {})?;
    played.require_merged(&["T1"])?;
    let counter = Tokenizer::load()?;
    let largest = played
        .requests()?
        .iter()
        .map(|request| request_tokens(request, &counter))
        .max()
        .unwrap_or(0);
    assert!(
        largest <= 16_000,
        "the largest request has {largest} tokens"
    );
    let read = played.results("T1")?;
    let paged = read
        .iter()
        .take(8)
        .all(|text| text.contains("continue with offset"));
    assert!(paged, "{read:#?}");
    Ok(())
}

fn the_fixed_prompt_is_small() -> Outcome {
    let script = Script::default().writes("T1", "one.txt", "1\n");
    let played = World::lived_in()?.play("- [ ] T1 one\n", &script, |_| {})?;
    let (counter, requests) = (Tokenizer::load()?, played.requests()?);
    let Some(first) = requests.first() else {
        return fail(played.story());
    };
    let tokens = fixed_tokens(&first.system, &first.tools, &counter);
    assert!(
        tokens < 2_500 && first.tools.len() == 22,
        "{tokens} tokens, {} tools",
        first.tools.len()
    );
    Ok(())
}

fn the_smallest_context_is_enough_to_work_in() -> Outcome {
    let Some(Kind::Number { least, .. }) = named("context_tokens").map(|key| key.kind) else {
        return fail("no bound");
    };
    let world = World::lived_in()?;
    world.commit("long.txt", &"some words of a line\n".repeat(400))?;
    // The role with the most tools, and a role that only reads.
    let plan = "- [ ] T1 Look and write @implementer\n- [ ] T2 Look and tell @reviewer\n";
    let text = "a line of a file that is written\n".repeat(20);
    let script = Script::default()
        .rule(reads(Rule::any().turn(1), "long.txt"))
        .rule(
            Rule::any()
                .turn(2)
                .call("grep", &json!({"pattern": "words"})),
        )
        .rule(write("T1", "one.txt", &text).turn(3))
        .rule(Rule::any().text("Done."));
    let played = world.play(plan, &script, |settings| {
        settings.run.context_tokens = least
    })?;
    played.require_merged(&["T1", "T2"])
}

/// Returns the largest number of agents at work at once: started, and neither committed nor failed.
fn most_at_work(played: &Played) -> usize {
    let (mut working, mut most) = (BTreeSet::new(), 0);
    for fact in &played.facts {
        match &fact.event {
            Event::AgentSpawned { task, .. } => drop(working.insert(task)),
            Event::TaskCommitted { task, .. } | Event::TaskFailed { task, .. } => {
                working.remove(task);
            }
            _ => {}
        }
        most = most.max(working.len());
    }
    most
}

fn six_tasks() -> (String, Script) {
    let names: Vec<_> = (1..=6).map(|number| format!("T{number}")).collect();
    let plan = names
        .iter()
        .map(|name| format!("- [ ] {name} write\n"))
        .collect();
    let script = names.iter().fold(Script::default(), |script, name| {
        script.writes(name, &format!("{name}.txt"), "1\n")
    });
    (plan, script)
}

fn no_more_agents_than_allowed() -> Outcome {
    let (plan, script) = six_tasks();
    let played = World::lived_in()?.play(&plan, &script, |settings| settings.run.max_agents = 2)?;
    assert_eq!(played.report.exit_code, Some(0), "{played}");
    let most = most_at_work(&played);
    assert_eq!(most, 2, "{most} agents at once\n{played}");
    Ok(())
}

fn three_agents_work_at_once() -> Outcome {
    let plan = "- [ ] T1 write\n- [ ] T2 write\n- [ ] T3 write\n";
    // Each request is answered once all three have arrived.
    let together = Arc::new(Barrier::new(3));
    let model = answering(move |request| {
        let together = Arc::clone(&together);
        async move {
            together.wait().await;
            write_or_end(&request)
        }
    });
    let played = World::lived_in()?.play(plan, &Script::default(), |settings| {
        settings.model = Some(model)
    })?;
    played.require_merged(&["T1", "T2", "T3"])?;
    let committed = played.first(|event| matches!(event, Event::TaskCommitted { .. }))?;
    let replied = played.first(|event| matches!(event, Event::ModelReplied { .. }))?;
    let before = |end: u64, fits: fn(&Event) -> bool| {
        played
            .facts
            .iter()
            .filter(|fact| fact.seq < end && fits(&fact.event))
            .count()
    };
    let spawned = before(committed, |event| {
        matches!(event, Event::AgentSpawned { .. })
    });
    let open = before(replied, |event| {
        matches!(event, Event::ModelRequested { .. })
    });
    assert_eq!(
        (spawned, open),
        (3, 3),
        "{spawned} spawned, {open} open calls"
    );
    Ok(())
}

fn a_panicking_worker_fails_its_task_alone() -> Outcome {
    let plan = "- [ ] T1 write\n- [ ] T2 write\n- [ ] T3 write (depends: T1)\n";
    let model = answering(async |request: ModelRequest| {
        assert!(
            request.origin.task.as_str() != "T2",
            "this model panics on purpose"
        );
        write_or_end(&request)
    });
    // The budget is enough for one request at a time: what the panicking task had reserved must not
    // be lost.
    let change = |settings: &mut orchestrate_coordinator::Settings| {
        settings.model = Some(Arc::clone(&model));
        settings.run.max_agents = 1;
        settings.run.budget_tokens = Some(17_000);
    };
    let played = World::lived_in()?.play(plan, &Script::default(), change)?;
    played.require(70, &[("T1", Merged), ("T2", FailedTask), ("T3", Merged)])?;
    played.require_failure("T2", FailureCause::Panicked, "panicked")
}

fn a_name_that_is_no_model_fails_its_task_alone() -> Outcome {
    let script = Script::default().writes("T2", "two.txt", "2\n");
    let world = World::lived_in()?;
    let model = script.write_to(&world.home.path().join("other.jsonl"))?;
    let plan = format!("- [ ] T1 write (model: nobody/knows)\n- [ ] T2 write (model: {model})\n");
    let played = world.play(&plan, &script, |settings| settings.run.model = None)?;
    played.require(1, &[("T1", FailedTask), ("T2", Merged)])?;
    played.require_failure("T1", FailureCause::Model, "nobody")
}
