//! What `status`, `review`, `land` and `stop` say about a run that is not simply running or merged.

use libtest_mimic::Failed;
use orchestrate_core::run::request::{Holder, Purpose, Request, StopLevel};
use orchestrate_journal::Journal;
use rustix::process::Signal;
use serde_json::json;

use crate::support::{
    Case, Home, Outcome, Rule, Script, World, after, at, case, done, fail, on, plan_input, put,
    runtime, sandboxed, says, write,
};

pub(crate) fn cases() -> Vec<Case> {
    vec![
        sandboxed!(nothing_is_called_running_of_a_dead_run),
        sandboxed!(a_command_with_nothing_left_to_do_has_no_commit),
        sandboxed!(rejected_work_is_to_be_dropped),
        sandboxed!(boxes_of_another_branch_are_left),
        sandboxed!(what_was_not_merged_is_not_landed),
        case!(a_rejection_without_a_merge_is_taken_back),
        sandboxed!(a_report_can_be_read),
        sandboxed!(the_disk_space_of_worktrees_is_shown),
        sandboxed!(a_landing_is_no_run_to_be_stopped),
        sandboxed!(a_stop_for_another_process_is_refused),
        sandboxed!(a_plan_without_an_open_box_says_so),
        sandboxed!(open_tasks_that_wait_for_a_closed_one_are_told),
        sandboxed!(an_approval_is_of_what_was_looked_at),
        sandboxed!(an_approval_is_of_what_was_listed),
        sandboxed!(a_rejection_that_changed_nothing_is_taken_back),
        sandboxed!(a_tree_that_was_red_when_merged_is_shown_as_red),
        sandboxed!(what_was_merged_before_a_rejection_is_shown),
        sandboxed!(a_rejected_command_that_is_retried_stands),
        sandboxed!(a_comment_is_about_a_place_that_there_is),
        sandboxed!(a_task_may_be_called_as_a_run_begins),
        sandboxed!(doctor_tells_what_works_without_a_model),
        case!(help_names_the_defaults),
        sandboxed!(a_command_has_the_time_that_its_task_or_the_settings_give),
        sandboxed!(what_git_cannot_store_is_told),
        case!(a_demo_without_git_leaves_nothing),
    ]
}

fn nothing_is_called_running_of_a_dead_run() -> Outcome {
    let world = World::with_plan("- [ ] T1 Make it (run: sleep 20; touch made)\n")?;
    let arguments = ["run", "plan.md", "--output-format", "stream-json"];
    let running = world.orchestrate(&arguments).start()?;
    running.line(|line| line.contains("\"tool.started\""))?;
    let live = world.types(&["status"], 0)?;
    says(&live, &["T1    running", ": running for "])?;
    running.signal(Signal::KILL)?;
    running.end()?.exits(137)?;
    let shows: [(&[&str], &[&str]); 6] = [
        (
            &["status"],
            &["T1    ready", "stopped after", "orchestrate resume"],
        ),
        (&["status", "--json"], &["\"ready\"", "\"stopped\""]),
        (&["status", "--all"], &[" stopped "]),
        (&["review"], &["T1    ready"]),
        (&["review", "T1"], &["ready"]),
        (&["review", "--json"], &["\"ready\""]),
    ];
    let asks: [(&[&str], &[&str]); 2] = [
        (&["clean", "--dry-run"], &["orchestrate resume"]),
        (&["stop"], &["orchestrate resume"]),
    ];
    let is_said = |(arguments, words): &(&[&str], &[&str])| {
        let ran = world.types(arguments, 0)?;
        assert!(!ran.stdout.contains("running"), "{}", ran.stdout);
        says(&ran, words)
    };
    shows.iter().chain(&asks).try_for_each(is_said)?;
    says(
        &world.types(&["reject", "T1", "-m", "Again."], 2)?,
        &["T1 has not ended", "orchestrate resume r-"],
    )?;
    // A process that cleans the run does not work on it.
    let store = world.archive()?.store().clone();
    let run = store
        .latest_run()?
        .ok_or_else(|| Failed::from("there is no run"))?;
    let _cleaned = Journal::resume_for(&store, &run, Purpose::Clean)?;
    shows.iter().try_for_each(is_said)
}

/// Both commands change one line. The one that is merged second is rerun on the result of the
/// first, where it has nothing left to do.
fn a_command_with_nothing_left_to_do_has_no_commit() -> Outcome {
    let world = World::with_plan(
        "- [ ] T1 one (run: sed -i s/two/TWO/ src/lib.txt)\n- [ ] T2 other (run: sed -i s/two/zwei/ src/lib.txt)\n",
    )?;
    world.types(&["run", "plan.md"], 0)?;
    let report = world.types(&["status", "--json"], 0)?.json()?;
    let again = if at(&report, "/tasks/0/attempt")? == 2 {
        0
    } else {
        1
    };
    let task = at(&report, &format!("/tasks/{again}"))?;
    let (id, word) = (
        format!("T{}", again + 1),
        "its command changed nothing, so nothing was merged",
    );
    assert_eq!(
        json!([task["id"], task["state"], task["attempt"], task["commit"]]),
        json!([id, "merged", 2, null]),
        "{report}"
    );
    says(&world.types(&["status"], 0)?, &[&format!("{id}: {word}")])?;
    says(
        &world.types(&["review", &id], 0)?,
        &["at no commit: 0 files"],
    )?;
    let reviewed = world.types(&["review", &id, "--json"], 0)?.json()?;
    let seen = json!([
        reviewed["commit"],
        reviewed["tree"],
        reviewed["files"],
        reviewed["diff"]
    ]);
    assert_eq!(seen, json!([null, null, [], ""]), "{reviewed}");
    Ok(())
}

/// T1's agent writes a file that T2's command builds on. T1's second attempt changes nothing, so it
/// fails.
fn rejected_work_is_to_be_dropped() -> Outcome {
    let world =
        World::with_plan("- [ ] T1 one\n- [ ] T2 two (depends: T1) (run: cp one.txt two.txt)\n")?;
    let model = world.script(&Script::default().writes("T1", "one.txt", "1\n"))?;
    world.types(&["run", "plan.md", "--model", &model], 0)?;
    world.types(&["reject", "T1", "-m", "write 2", "--follow"], 1)?;
    says(
        &world.types(&["status"], 0)?,
        &["merged, stale", "T2: stale: ", "orchestrate review T2"],
    )?;
    says(
        &world.types(&["review", "T2"], 0)?,
        &["merged, stale", "stale: "],
    )?;
    for (arguments, pointer) in [
        (["status", "--json"], "/tasks/1/stale"),
        (["review", "--json"], "/items/1/stale"),
    ] {
        let report = world.types(&arguments, 0)?.json()?;
        assert!(at(&report, pointer)? == true, "{report}");
    }
    says(
        &world.types(&["land", "--json"], 3)?,
        &["T1 was rejected after the merge"],
    )?;
    let status = world.types(&["status"], 0)?;
    says(&status, &["  orchestrate drop T1 --with-dependents\n"])?;
    assert!(
        !status.stdout.contains("orchestrate land"),
        "{}",
        status.stdout
    );
    Ok(())
}

fn boxes_of_another_branch_are_left() -> Outcome {
    let plan = "- [ ] T1 one (run: echo 1 > one.txt)\n";
    let world = World::with_plan(plan)?;
    world.types(&["run", "plan.md"], 0)?;
    world.git("switch -q -c other")?;
    says(
        &world.types(&["land"], 0)?,
        &["run r-", "has landed", "were left unchanged"],
    )?;
    assert_eq!(world.repository.read("plan.md")?, plan);
    world.git("switch -q main")?;
    says(&world.types(&["land"], 0)?, &["were ticked"])
}

fn what_was_not_merged_is_not_landed() -> Outcome {
    let world = World::with_plan("- [ ] T1 one (run: echo 1 > one.txt)\n")?;
    world.types(&["run", "plan.md", "--merge", "none"], 0)?;
    says(
        &world.types(&["approve", "T1"], 2)?,
        &["this run merges nothing"],
    )?;
    says(
        &world.types(&["land"], 0)?,
        &["has nothing to land", "orchestrate review"],
    )?;
    let rejected = world.types(&["reject", "T1", "-m", "no", "--follow"], 1)?;
    if rejected.stdout.contains("orchestrate approve") {
        return fail(rejected.stdout);
    }
    says(&rejected, &["\n  orchestrate retry T1 -m TEXT\n"])?;
    says(
        &world.types(&["retry", "T1", "-m", "after all"], 0)?,
        &["T1    verified"],
    )
}

/// The run merges nothing, but the suggested command still accepts the rejected work as it was.
fn a_rejection_without_a_merge_is_taken_back() -> Outcome {
    let world = World::with_plan("- [ ] T1 one\n")?;
    let model = world.script(&Script::default().writes("T1", "one.txt", "1\n"))?;
    world.types(&["run", "plan.md", "--model", &model, "--merge", "none"], 0)?;
    says(
        &world.types(&["reject", "T1", "-m", "Why so?", "--follow"], 1)?,
        &["\n  orchestrate approve T1\n"],
    )?;
    says(
        &world.types(&["approve", "T1", "--follow"], 0)?,
        &["T1    verified"],
    )
}

fn a_report_can_be_read() -> Outcome {
    let world = World::with_plan("- [ ] T1 Look @reviewer\n")?;
    let words = format!(
        "It is all right.\n{}the last word",
        "A line of the report.\n".repeat(20)
    );
    let model = world.script(&Script::default().rule(Rule::task("T1").text(&words)))?;
    says(
        &world.types(&["run", "plan.md", "--model", &model], 0)?,
        &["orchestrate review T1"],
    )?;
    says(
        &world.types(&["review", "T1"], 0)?,
        &["It is all right.", "the last word"],
    )?;
    let entry = world.types(&["review", "T1", "--json"], 0)?.json()?;
    assert_eq!(at(&entry, "/summary")?, words.as_str(), "{entry}");
    Ok(())
}

fn a_landing_is_no_run_to_be_stopped() -> Outcome {
    let world = World::with_plan("- [ ] T1 one (run: echo 1 > one.txt)\n")?;
    // The check is quick in the run, and slow in the landing because of a file that main has got
    // since.
    world.types(
        &["run", "plan.md", "--verify", "test ! -e slow || sleep 3"],
        0,
    )?;
    world.repository.write("slow", "")?;
    world.repository.commit_all("slow")?;
    let landing = world.orchestrate(&["land"]).start()?;
    landing.says("main has new commits: checking their merge")?;
    says(&world.types(&["stop"], 2)?, &["is landing it"])?;
    says(
        &world.types(&["reject", "T1", "-m", "no"], 2)?,
        &["is landing it"],
    )?;
    landing.end()?.exits(0)?;
    says(&world.types(&["status"], 0)?, &["succeeded"])
}

fn a_stop_for_another_process_is_refused() -> Outcome {
    let world = World::lived_in()?;
    let coordinator = world.coordinator(&Script::default(), |_| {})?;
    let report = runtime()?.block_on(async {
        let run = coordinator
            .start(plan_input("- [ ] T1 one (run: echo 1 > one.txt)\n")?)
            .await?;
        let holder = Some(Holder {
            pid: 1,
            since_ms: 1,
            purpose: Purpose::Run,
        });
        run.store().send(
            run.id(),
            &Request::Stop {
                level: StopLevel::Stop,
                holder,
            },
        )?;
        Ok::<_, Failed>(run.wait().await?)
    })?;
    assert_eq!(report.status, "succeeded", "{}", json!(report));
    Ok(())
}

fn a_plan_without_an_open_box_says_so() -> Outcome {
    let world = World::with_plan("- [x] T1 one\n- [-] T2 two\n")?;
    says(
        &world.types(&["run", "plan.md"], 0)?,
        &["there was nothing to do: the plan has no open box"],
    )
}

fn open_tasks_that_wait_for_a_closed_one_are_told() -> Outcome {
    let world = World::with_plan("- [-] T1 one\n- [ ] T2 two (run: true) (depends: T1)\n")?;
    let told =
        "T2 will not run: it depends on T1, which is marked as cancelled (mark T1 as open or done)";
    says(&world.types(&["check", "plan.md"], 0)?, &[told])?;
    says(
        &world.types(&["run", "plan.md"], 0)?,
        &[
            told,
            "there was nothing to do: each open task depends on one that",
        ],
    )
}

/// Creates a world whose T1 awaits review, and has another tree once its agent is told to write 2.
fn one_waits_for_review() -> Result<World, Failed> {
    let world = World::with_plan("- [ ] T1 one\n")?;
    let script = Script::default()
        .rule(write("T1", "one.txt", "1\n"))
        .rule(put(after("T1", "write 2"), "one.txt", "2\n"))
        .rule(done("T1"));
    let model = world.script(&script)?;
    world.types(
        &["run", "plan.md", "--model", &model, "--merge", "review"],
        3,
    )?;
    Ok(world)
}

/// The list shows no content, so it is no review of work that has changed since; as JSON it names
/// each tree, so it is.
fn an_approval_is_of_what_was_listed() -> Outcome {
    let (lists, as_json): (&[&str], &[&str]) = (&["review"], &["review", "--json"]);
    for (looked, looked_again) in [(lists, &["review", "T1"][..]), (as_json, as_json)] {
        let world = one_waits_for_review()?;
        world.types(looked, 0)?;
        world.types(&["reject", "T1", "-m", "write 2", "--follow"], 3)?;
        says(
            &world.types(&["approve", "T1"], 2)?,
            &["T1 has changed since you reviewed it"],
        )?;
        if looked == lists {
            world.types(lists, 0)?;
            world.types(&["approve", "T1"], 2)?;
        }
        world.types(looked_again, 0)?;
        world.types(&["approve", "T1", "--follow"], 0)?;
    }
    Ok(())
}

/// T1's agent only answers and leaves its work unchanged. Approving it takes the rejection back,
/// and T2, which depends on it, runs.
fn a_rejection_that_changed_nothing_is_taken_back() -> Outcome {
    let plan = "---\nverify: test -e one.txt\n---\n- [ ] T1 one (review: required) (verify: test -e one.txt)\n\
                - [ ] T2 two (depends: T1) (run: touch two)\n";
    let world = World::with_plan(plan)?;
    let model = world.script(&Script::default().writes("T1", "one.txt", "1\n"))?;
    world.types(
        &["run", "plan.md", "--model", &model, "--no-verify-base"],
        3,
    )?;
    let rejected = world.types(&["reject", "T1", "-m", "Why so?", "--follow"], 1)?;
    says(
        &rejected,
        &[
            "T1: no_changes",
            "\n  orchestrate approve T1\n",
            "T2    skipped",
        ],
    )?;
    says(
        &world.types(&["review", "T1"], 0)?,
        &["+1\n", "\n  orchestrate approve T1\n"],
    )?;
    says(
        &world.types(&["approve", "T1", "--follow"], 0)?,
        &["T1    merged", "T2    merged"],
    )?;
    says(&world.types(&["land"], 0)?, &["has landed"])?;
    // So is the rejection of work that is part of the result, which had to be dropped or done again
    // otherwise.
    let rejected = world.types(&["reject", "T1", "-m", "Why so?", "--follow"], 1)?;
    says(
        &rejected,
        &[
            "after its work was rejected, which stays merged",
            "\n  orchestrate approve T1\n",
        ],
    )?;
    let approved = world.types(&["approve", "T1", "--follow"], 0)?;
    says(&approved, &["T1    merged", "T2    merged"])?;
    assert!(!approved.stdout.contains("stale"), "{}", approved.stdout);
    Ok(())
}

/// T1's agent leaves its work unchanged although the check of the merged result failed with it;
/// T1's own check passes.
fn a_tree_that_was_red_when_merged_is_shown_as_red() -> Outcome {
    for own in ["", " (verify: test -e bad)"] {
        let world = World::with_plan(&format!(
            "---\nverify: test ! -e bad\n---\n- [ ] T1 one{own}\n"
        ))?;
        let model = world.script(&Script::default().writes("T1", "bad", "1\n"))?;
        world.types(
            &["run", "plan.md", "--model", &model, "--merge", "review"],
            3,
        )?;
        world.types(&["approve", "T1", "--follow"], 3)?;
        says(
            &world.types(&["review"], 0)?,
            &["T1    awaiting_review  FAILED"],
        )?;
        says(
            &world.types(&["review", "T1"], 0)?,
            &["awaiting_review, check FAILED"],
        )?;
        for (arguments, pointer) in [
            (["status", "--json"], "/tasks/0/verify"),
            (["review", "--json"], "/items/0/verify"),
        ] {
            let shown = world.types(&arguments, 0)?.json()?;
            assert_eq!(at(&shown, pointer)?, "failed", "{shown}");
        }
    }
    Ok(())
}

/// T1's agent is told to take its file out, and writes another one instead: both are in the result.
fn what_was_merged_before_a_rejection_is_shown() -> Outcome {
    let world = World::with_plan("- [ ] T1 one (review: required)\n")?;
    let take_out = put(after("T1", "take it out"), "two.txt", "2\n");
    let model = world.script(
        &Script::default()
            .rule(write("T1", "one.txt", "1\n"))
            .rule(take_out)
            .rule(done("T1")),
    )?;
    world.types(&["run", "plan.md", "--model", &model], 3)?;
    world.types(&["approve", "T1", "--follow"], 0)?;
    world.types(&["reject", "T1", "-m", "take it out", "--follow"], 3)?;
    let again = [
        "includes attempt 1",
        "T1 at ",
        ": 2 files +2 -0",
        "\nattempt 1, merged as ",
        "\n+1\n",
        "\n+2\n",
    ];
    says(
        &world.types(&["review", "T1"], 0)?,
        &[&again[..], &["\nnewest work, not merged:\n"]].concat(),
    )?;
    says(
        &world.types(&["review"], 0)?,
        &["T1    awaiting_review  -      2 files +2 -0"],
    )?;
    world.types(&["approve", "T1", "--follow"], 0)?;
    says(
        &world.types(&["review", "T1"], 0)?,
        &[&again[..], &["\nattempt 2, merged as "]].concat(),
    )?;
    let entry = world.types(&["review", "--json"], 0)?.json()?;
    let paths = [
        at(&entry, "/items/0/files/0/path")?,
        at(&entry, "/items/0/files/1/path")?,
    ];
    let attempts = [
        at(&entry, "/items/0/merged/0/attempt")?,
        at(&entry, "/items/0/merged/1/attempt")?,
    ];
    if json!([paths, attempts]) != json!([["one.txt", "two.txt"], [1, 2]]) {
        return fail(entry);
    }
    let patch = world.home.path().join("patch");
    std::fs::write(&patch, world.types(&["diff", "T1"], 0)?.stdout)?;
    world.git(&format!("apply {}", patch.display()))?;
    let texts = [
        world.repository.read("one.txt")?,
        world.repository.read("two.txt")?,
    ];
    assert_eq!(texts, ["1\n", "2\n"], "{}", texts.join(", "));
    Ok(())
}

/// The command produces what it has produced before, which has been in the result all the time.
fn a_rejected_command_that_is_retried_stands() -> Outcome {
    let world = World::with_plan("- [ ] T1 one (run: echo 1 > one.txt)\n")?;
    world.types(&["run", "plan.md"], 0)?;
    world.types(&["reject", "T1", "-m", "no", "--follow"], 1)?;
    let retried = world.types(&["retry", "T1", "-m", "after all"], 0)?;
    let report = world.types(&["status", "--json"], 0)?.json()?;
    let is_told = retried.stdout.contains("so nothing was merged");
    if is_told || at(&report, "/tasks/0/commit")? != at(&report, "/integration_commit")? {
        return fail(format!("{}\n{report:#}", retried.stdout));
    }
    says(
        &world.types(&["review", "T1"], 0)?,
        &[
            "T1 (attempt 3): merged",
            "  one.txt +1 -0\n",
            "includes attempt 1",
        ],
    )?;
    let landed = world.types(&["land"], 0)?;
    assert!(!landed.stderr.contains("warning"), "{}", landed.stderr);
    says(&landed, &["has landed"])
}

/// A place has to be one that the diff shows, which may be a line of a file that the task has
/// removed.
fn a_comment_is_about_a_place_that_there_is() -> Outcome {
    let world = World::with_plan(
        "- [ ] T1 one (run: seq 3 > three.txt; date +%N > time; rm kept.txt; ln -s nowhere link) (review: required)\n",
    )?;
    world.commit("kept.txt", "1\n2")?;
    world.types(&["run", "plan.md"], 3)?;
    let log = || Ok::<_, Failed>(world.types(&["log"], 0)?.stdout);
    let before = log()?;
    for (place, why) in [
        ("nofile:3", "there is no such file"),
        ("src:1", "there is no such file"),
        ("/etc/passwd:1", "there is no such file"),
        ("../three.txt:1", "there is no such file"),
        ("three.txt:4", "it has 3 lines"),
        ("kept.txt:3", "it has 2 lines"),
    ] {
        let refused = world.types(&["reject", "T1", "-m", "Why?", "--at", place], 2)?;
        says(&refused, &[place, why, "orchestrate review T1 --run r-"])?;
    }
    assert_eq!(log()?, before);
    for place in ["./three.txt:3", "kept.txt:2", "src/lib.txt:1", "link:1"] {
        world.types(
            &["reject", "T1", "-m", "Why?", "--at", place, "--follow"],
            3,
        )?;
    }
    Ok(())
}

fn an_approval_is_of_what_was_looked_at() -> Outcome {
    let world = one_waits_for_review()?;
    world.types(&["diff", "T1"], 0)?;
    world.types(&["reject", "T1", "-m", "write 2", "--follow"], 3)?;
    says(
        &world.types(&["approve", "T1"], 2)?,
        &["T1 has changed since you reviewed it"],
    )?;
    says(
        &world.types(&["approve", "T1", "--tree", "0123"], 2)?,
        &["T1 has changed since you reviewed it"],
    )?;
    let entry = world.types(&["review", "T1", "--json"], 0)?.json()?;
    let tree = at(&entry, "/tree")?.as_str().unwrap_or_default().to_owned();
    world.types(
        &[
            "approve",
            "T1",
            "--tree",
            tree.get(..10).unwrap_or_default(),
            "--follow",
        ],
        0,
    )?;
    says(&world.types(&["status"], 0)?, &["T1    merged"])
}

fn a_task_may_be_called_as_a_run_begins() -> Outcome {
    let world = World::with_plan("- [ ] r-foo one (run: echo 1 > one.txt)\n")?;
    let report = world.types(&["run", "plan.md", "--json"], 0)?.json()?;
    let run = at(&report, "/run_id")?
        .as_str()
        .unwrap_or_default()
        .to_owned();
    let task = at(&report, "/tasks/0/id")?
        .as_str()
        .unwrap_or_default()
        .to_owned();
    says(&world.types(&["review", &task], 0)?, &["one.txt"])?;
    says(&world.types(&["log", &task], 0)?, &["started command"])?;
    for prefix in [run.as_str(), run.get(..4).unwrap_or_default()] {
        says(&world.types(&["log", prefix], 0)?, &["started command"])?;
    }
    Ok(())
}

fn doctor_tells_what_works_without_a_model() -> Outcome {
    let world = World::with_plan("")?;
    let nowhere = "http://127.0.0.1:1/v1";
    let servers = [
        "OLLAMA_HOST",
        "LLAMACPP_BASE_URL",
        "LMSTUDIO_BASE_URL",
        "VLLM_BASE_URL",
    ];
    let doctor = |directory: &std::path::Path, arguments: &[&str]| {
        let doctor = world
            .home
            .orchestrate(directory, &[&["doctor"], arguments].concat());
        servers
            .iter()
            .fold(doctor, |doctor, server| doctor.env(server, nowhere))
    };
    let told = doctor(world.repository.path(), &[]).run()?.exits(0)?;
    says(
        &told,
        &[
            "ok       control groups",
            "`run:` tasks work, agents do not",
            "fix: name one (`model`, ORCHESTRATE_MODEL)",
            " or: set one of",
            "agents need a model",
        ],
    )?;
    let outside = doctor(world.home.path(), &["--json"])
        .run()?
        .exits(2)?
        .json()?;
    let checks = outside["checks"].as_array().cloned().unwrap_or_default();
    let seen: Vec<_> = checks
        .iter()
        .take(3)
        .map(|check| json!([check["name"], check["status"]]))
        .collect();
    let expected = [
        json!(["git", "ok"]),
        json!(["repository", "missing"]),
        json!(["identity", "missing"]),
    ];
    let fix = at(&outside, "/checks/1/fix")?
        .as_str()
        .unwrap_or_default()
        .to_owned();
    assert!(fix.contains("git init") && seen == expected, "{outside}");
    let set = [
        "GIT_AUTHOR_NAME",
        "GIT_AUTHOR_EMAIL",
        "GIT_COMMITTER_NAME",
        "GIT_COMMITTER_EMAIL",
    ];
    let known = set
        .iter()
        .fold(doctor(world.home.path(), &[]), |doctor, name| {
            doctor.env(name, "Someone")
        })
        .run()?;
    says(&known, &["git has a user.name and user.email"])
}

fn help_names_the_defaults() -> Outcome {
    let world = World::with_plan("")?;
    let help = world.types(&["run", "--help"], 0)?;
    says(
        &help,
        &[
            "agents at work at once [default: 20]",
            "[default: implementer]",
            "[default: auto]",
        ],
    )
}

fn a_demo_without_git_leaves_nothing() -> Outcome {
    let home = Home::new()?;
    let demo = home
        .orchestrate(home.path(), &["demo", "sample"])
        .env("PATH", home.path());
    says(&demo.run()?.exits(2)?, &["git is not installed"])?;
    assert!(!home.path().join("sample").exists(), "the folder was left");
    Ok(())
}

fn a_command_has_the_time_that_its_task_or_the_settings_give() -> Outcome {
    let world = World::with_plan(
        "- [ ] T1 long (run: sleep 2; touch one) (timeout: 60s)\n- [ ] T2 short (run: sleep 20; touch two)\n",
    )?;
    let run = world.orchestrate(&["run", "plan.md"]);
    let ran = run
        .env("ORCHESTRATE_COMMAND_TIMEOUT", "1s")
        .run()?
        .exits(4)?;
    says(
        &ran,
        &[
            "T1: merged as",
            "T2: FAILED (timeout)",
            "time limit of 1 s",
            "`command_timeout`",
        ],
    )
}

/// The agent is told by its own commit, the user by the run's progress, the log and the review.
fn what_git_cannot_store_is_told() -> Outcome {
    let world = World::with_plan("- [ ] T1 clone\n")?;
    let makes = json!({"command": "git init -q sub && echo 1 > sub/one.txt && mkfifo pipe"});
    let script = Script::default()
        .rule(on("T1", 1).call("run_shell_command", &makes))
        .rule(on("T1", 2).call("git_commit", &json!({"message": "Clone"})))
        .rule(done("T1"));
    let model = world.script(&script)?;
    let words = "git cannot store sub/.git, pipe; left out of its commit";
    says(
        &world.types(&["run", "plan.md", "--model", &model], 0)?,
        &[words],
    )?;
    says(&world.types(&["log"], 0)?, &[words])?;
    says(
        &world.types(&["log", "T1", "--tools"], 0)?,
        &["left out, since git cannot store it: sub/.git, pipe"],
    )?;
    says(
        &world.types(&["review", "T1"], 0)?,
        &["left out because git cannot store it: sub/.git, pipe"],
    )?;
    let left_out = at(
        &world.types(&["review", "T1", "--json"], 0)?.json()?,
        "/left_out",
    )?
    .clone();
    assert_eq!(left_out, json!(["sub/.git", "pipe"]));
    Ok(())
}

/// What a command leaves in its worktree, ignored by git or not, is counted until the worktree is
/// cleaned.
fn the_disk_space_of_worktrees_is_shown() -> Outcome {
    // That of merged work would be gone.
    let world =
        World::with_plan("- [ ] T1 Fill it (run: head -c 3000000 /dev/urandom > large; false)\n")?;
    world.types(&["run", "plan.md"], 1)?;
    says(
        &world.types(&["status"], 0)?,
        &["worktrees: ", " MB on the disk (T1 3."],
    )?;
    let shown = world.types(&["status", "--json"], 0)?.json()?;
    let (task, bytes) = (
        at(&shown, "/worktrees/0/task")?,
        at(&shown, "/worktrees/0/bytes")?,
    );
    assert_eq!(*task, json!("T1"), "{bytes}");
    assert!(bytes.as_u64() >= Some(3_000_000), "{task} {bytes}");
    world.types(&["clean"], 0)?;
    let cleaned = world.types(&["status"], 0)?;
    assert!(
        !cleaned.stdout.contains("worktrees: "),
        "{}",
        cleaned.stdout
    );
    Ok(())
}
