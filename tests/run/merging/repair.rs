//! Work that comes back, and worktrees that vanish: no work of an agent or a user is lost or half
//! merged.

use std::path::Path;

use libtest_mimic::Failed;
use orchestrate_coordinator::{ChildSpec, PlanInput, ShutdownLevel};
use orchestrate_core::TaskState::{Conflicted, Failed as FailedTask, Merged};
use orchestrate_core::event::Event;
use orchestrate_core::event::settings::MergeMode;
use orchestrate_core::policy::{RuleDecision, RuleText};
use orchestrate_core::run::request::Request;
use orchestrate_core::task::{FailureCause, ReturnCause};
use orchestrate_core::{RunId, RunState, Task, TaskRecord};
use serde_json::json;

use crate::support::{
    Case, Outcome, Played, Rule, Script, World, after, case, done, fail, on, plan_input, put,
    reads, runtime, shell, write,
};

pub(crate) fn cases() -> Vec<Case> {
    vec![
        case!(a_worktree_that_vanishes_is_merged_into_again),
        case!(a_worktree_whose_entry_vanishes_keeps_its_files),
        case!(a_commit_of_markers_is_not_merged),
        case!(markers_that_were_left_once_can_be_mended),
        case!(markers_of_another_merge_are_not_merged),
        case!(a_conflict_without_markers_is_decided_by_its_author),
        case!(a_conflict_that_nobody_decides_needs_a_person),
        case!(a_binary_conflict_whose_author_has_no_shell_needs_a_person_at_once),
        case!(a_conflict_with_a_link_that_leads_nowhere_is_one_of_its_author),
        case!(who_can_delete_a_binary_file_decides_about_it),
        case!(what_a_person_puts_into_a_worktree_is_kept),
        case!(what_a_person_puts_beside_an_interrupted_command_is_kept),
        case!(a_child_that_conflicts_is_merged_in_the_end),
        case!(deletions_are_confirmed_by_their_author),
        case!(what_was_confirmed_or_rejected_stays_so_until_it_is_stored),
        case!(an_empty_tree_is_accepted_of_no_agent_that_did_not_record_it),
        case!(what_git_cannot_store_goes_back_to_its_author),
        case!(what_git_can_never_store_fails_its_task_alone),
        case!(what_configures_agents_goes_back_whoever_wrote_it),
        case!(a_rule_about_a_tool_opens_nothing_to_a_command),
        case!(unfinished_work_goes_on_where_it_was_left),
        case!(an_error_of_one_task_ends_no_other),
        case!(a_plan_that_cannot_run_is_refused),
        case!(the_runs_check_has_what_every_worktree_has),
        case!(a_run_keeps_its_endpoint_and_the_place_of_its_script),
        case!(a_run_without_its_model_is_not_taken_over),
        case!(children_have_possible_ids_roles_and_parents),
    ]
}

/// Returns a script in which T1 and T2 change the same line; the task that is merged second has to
/// mend it.
fn clash(mut before: Script, between: impl Fn(Script, &str) -> Script) -> Script {
    for task in ["T1", "T2"] {
        before = before.rule(put(
            on(task, 1),
            "src/lib.txt",
            &format!("one\n{task}\nthree\n"),
        ));
        before = between(before, task)
            .rule(put(
                after(task, "<<<<<<<"),
                "src/lib.txt",
                "one\nT1\nT2\nthree\n",
            ))
            .rule(done(task));
    }
    before
}

const CLASH: &str = "- [ ] T1 a\n- [ ] T2 b\n";

fn require_both(world: &World, played: &Played) -> Outcome {
    played.require_merged(&["T1", "T2"])?;
    let text = world.merged(&played.report, "src/lib.txt")?;
    assert_eq!(text, "one\nT1\nT2\nthree", "{played}");
    Ok(())
}

fn a_commit_of_markers_is_not_merged() -> Outcome {
    let world = World::lived_in()?;
    let script = clash(Script::default(), |script, task| {
        let commits = json!({"message": "Take both"});
        script
            .rule(
                Rule::task(task)
                    .returned(ReturnCause::Conflict)
                    .times(1)
                    .call("git_commit", &commits),
            )
            .rule(reads(
                Rule::task(task).returned(ReturnCause::Conflict),
                "src/lib.txt",
            ))
    });
    require_both(&world, &world.play(CLASH, &script, |_| {})?)
}

fn markers_that_were_left_once_can_be_mended() -> Outcome {
    let world = World::lived_in()?;
    let script = clash(Script::default(), |script, task| {
        script
            .rule(
                Rule::task(task)
                    .returned(ReturnCause::Conflict)
                    .times(1)
                    .text("Looks fine."),
            )
            .rule(reads(
                Rule::task(task).returned(ReturnCause::Conflict),
                "src/lib.txt",
            ))
    });
    require_both(&world, &world.play(CLASH, &script, |_| {})?)
}

/// The markers of a merge by hand have other labels.
fn markers_of_another_merge_are_not_merged() -> Outcome {
    let world = World::lived_in()?;
    let markers = "one\n<<<<<<< HEAD\nT1\n=======\nT2\n>>>>>>> mine\nthree\n";
    let script = clash(Script::default(), |script, task| {
        script
            .rule(put(
                Rule::task(task).returned(ReturnCause::Conflict).times(1),
                "src/lib.txt",
                markers,
            ))
            .rule(reads(
                Rule::task(task).returned(ReturnCause::Conflict),
                "src/lib.txt",
            ))
    });
    let played = world.play(CLASH, &script, |_| {})?;
    require_both(&world, &played)?;
    let told = format!("{}{}", played.told("T1")?, played.told("T2")?);
    assert!(told.contains("src/lib.txt:2\n"), "{told}");
    Ok(())
}

/// Returns a script in which T1 deletes two files and creates a folder in place of one, and T2
/// changes both; the task that is merged second has to decide. A file that one side deleted, and
/// one that git moved aside, have no markers.
fn moved_away(decide: impl Fn(Rule) -> Rule) -> Script {
    let script = Script::default()
        .rule(shell(
            on("T1", 1),
            "rm kept.txt README.md && mkdir kept.txt && echo 1 > kept.txt/in",
        ))
        .rule(shell(
            on("T2", 1),
            "echo 2 > kept.txt; echo 2 > README.md; printf '\\0' > src/lib.txt",
        ));
    ["T1", "T2"].into_iter().fold(script, |script, task| {
        let sent_back = || Rule::task(task).returned(ReturnCause::Conflict);
        script
            .rule(sent_back().times(1).text("Looks fine."))
            .rule(decide(sent_back()))
            .rule(done(task))
    })
}

fn a_conflict_without_markers_is_decided_by_its_author() -> Outcome {
    let world = World::lived_in()?;
    let decide = "rm kept.txt~* && touch README.md";
    let script = moved_away(|rule| shell(rule, decide));
    let played = world.play(CLASH, &script, |_| {})?;
    played.require_merged(&["T1", "T2"])?;
    let files = world.merged_files(&played.report)?;
    let told = format!("{:?}", played.requests()?);
    for named in ["README.md (modify/delete)", "(file/directory)"] {
        assert!(told.contains(named), "{told}");
    }
    assert_eq!(files, ".gitignore\nREADME.md\nkept.txt/in\nsrc/lib.txt");
    Ok(())
}

fn a_conflict_that_nobody_decides_needs_a_person() -> Outcome {
    let world = World::lived_in()?;
    let played = world.play(CLASH, &moved_away(|rule| rule.text("Looks fine.")), |_| {})?;
    let [one, two] = &played.report.tasks[..] else {
        return fail(played.story());
    };
    let error = one
        .error
        .iter()
        .chain(&two.error)
        .map(|error| error.message.as_str())
        .collect::<String>();
    let states = [one.state, two.state];
    assert!(states.contains(&Merged), "{played}");
    assert!(states.contains(&Conflicted), "{played}");
    assert_eq!(played.report.exit_code, Some(3), "{played}");
    assert!(
        error.contains("README.md (modify/delete), kept.txt~"),
        "{error}"
    );
    Ok(())
}

/// Returns a script in which T1 and T2 create the same binary file.
fn binary_clash() -> Script {
    ["T1", "T2"]
        .into_iter()
        .fold(Script::default(), |script, task| {
            script
                .rule(put(on(task, 1), "data.bin", &format!("{task}\0")))
                .rule(reads(
                    Rule::task(task).returned(ReturnCause::Retried),
                    "src/lib.txt",
                ))
                .rule(done(task))
        })
}

/// A role whose agents can only read and write text.
const WRITER: &str =
    "---\nname: writer\ndescription: Writes.\ntools: read_file, write_file\n---\nWrite.\n";

/// With text, an agent can neither keep such a file nor restore a version of it, so the conflict is
/// not sent back. A user's own solution is there when the agent continues.
fn a_binary_conflict_whose_author_has_no_shell_needs_a_person_at_once() -> Outcome {
    let world = World::lived_in()?;
    world.commit(".orchestrate/agents/writer.md", WRITER)?;
    let play = |settings: &mut orchestrate_coordinator::Settings| {
        "writer".clone_into(&mut settings.run.agent)
    };
    let played = world.play(CLASH, &binary_clash(), play)?;
    let [one, two] = &played.report.tasks[..] else {
        return fail(played.story());
    };
    let (conflicted, merged) = if one.state == Conflicted {
        (one, two)
    } else {
        (two, one)
    };
    if (conflicted.state, merged.state, conflicted.turns) != (Conflicted, Merged, 2) {
        return fail(played.story());
    }
    let error = conflicted
        .error
        .as_ref()
        .map(|error| error.message.as_str())
        .unwrap_or_default();
    let facts = ["data.bin (", "`run_shell_command`", "`delete_file`"];
    assert!(facts.iter().all(|fact| error.contains(fact)), "{error}");
    assert_eq!(played.report.exit_code, Some(3), "{error}");
    let task = conflicted.id.clone();
    let worktree = played
        .coordinator
        .layout()
        .worktree(&played.report.run_id, &task);
    std::fs::write(worktree.join("data.bin"), "both\0")?;
    let retry = Request::Retry {
        task,
        message: Some("mended by hand".to_owned()),
    };
    let played = ask(&world, played, &binary_clash(), &retry)?;
    played.require_merged(&["T1", "T2"])?;
    let file = format!("{}:data.bin", played.report.run_id.integration_branch());
    let text = world.git(&format!("cat-file -p {file}"))?;
    assert_eq!(text, "both\0", "{played}");
    Ok(())
}

/// One task changes a file and the other deletes it. Even without a shell, the author can decide to
/// delete it.
fn who_can_delete_a_binary_file_decides_about_it() -> Outcome {
    let world = World::lived_in()?;
    let role = "---\nname: keeper\ndescription: Keeps files.\ntools: read_file, write_file, delete_file\n---\nKeep.\n";
    world.commit(".orchestrate/agents/keeper.md", role)?;
    let delete = |rule: Rule| rule.call("delete_file", &json!({"path": "kept.txt"}));
    let script = ["T1", "T2"].into_iter().fold(
        Script::default()
            .rule(put(on("T1", 1), "kept.txt", "\0"))
            .rule(delete(on("T2", 1))),
        |script, task| {
            let mends = Rule::task(task).returned(ReturnCause::Conflict);
            script.rule(delete(mends)).rule(done(task))
        },
    );
    let played = world.play(CLASH, &script, |settings| {
        "keeper".clone_into(&mut settings.run.agent)
    })?;
    played.require_merged(&["T1", "T2"])?;
    let files = world.merged_files(&played.report)?;
    assert!(!files.contains("kept.txt"), "{files}");
    Ok(())
}

/// One side replaces a file by a link; where it leads does not matter for the conflict.
fn a_conflict_with_a_link_that_leads_nowhere_is_one_of_its_author() -> Outcome {
    let world = World::lived_in()?;
    let script = Script::default()
        .rule(put(on("T2", 1), "src/lib.txt", "one\nT2\nthree\n"))
        .rule(reads(Rule::task("T2").returned(ReturnCause::Conflict), "."))
        .rule(done("T2"));
    let plan = "- [ ] T1 a (run: ln -sf /nowhere src/lib.txt)\n- [ ] T2 b\n";
    let review = |settings: &mut orchestrate_coordinator::Settings| {
        (settings.run.merge, settings.run.agent) = (MergeMode::Review, "coordinator".to_owned());
    };
    let mut played = world.play(plan, &script, review)?;
    for task in ["T1", "T2"] {
        let state = played.coordinator.store().state(&played.report.run_id)?;
        let tree = state
            .task(&task.into())
            .and_then(|record| record.tree().cloned());
        let tree = tree.ok_or_else(|| Failed::from(played.story()))?;
        played = ask(
            &world,
            played,
            &script,
            &Request::Approve {
                task: task.into(),
                tree,
            },
        )?;
    }
    played.require(3, &[("T1", Merged), ("T2", Conflicted)])
}

/// A file that a user leaves in a worktree is kept by a ref before the worktree is reset or merged
/// into.
fn what_a_person_puts_into_a_worktree_is_kept() -> Outcome {
    let world = World::lived_in()?;
    let script = clash(Script::default(), |script, task| {
        script.rule(reads(
            Rule::task(task).returned(ReturnCause::Conflict),
            "src/lib.txt",
        ))
    });
    let plan = format!("{CLASH}- [ ] T3 c (run: false)\n");
    let mut played = world.play(&plan, &script, |settings| {
        settings.run.merge = MergeMode::Review
    })?;
    let note = |played: &Played, task: &str| {
        let worktree = played
            .coordinator
            .layout()
            .worktree(&played.report.run_id, &task.into());
        std::fs::write(worktree.join(format!("note-of-{task}")), "a person's\n")
    };
    note(&played, "T2")?;
    note(&played, "T3")?;
    for task in ["T1", "T2"] {
        let tree = played
            .coordinator
            .store()
            .state(&played.report.run_id)?
            .task(&task.into())
            .and_then(|r| r.tree().cloned());
        let tree = tree.ok_or_else(|| Failed::from(played.story()))?;
        played = ask(
            &world,
            played,
            &script,
            &Request::Approve {
                task: task.into(),
                tree,
            },
        )?;
    }
    played = ask(
        &world,
        played,
        &script,
        &Request::Retry {
            task: "T3".into(),
            message: None,
        },
    )?;
    for task in ["T2", "T3"] {
        let path = format!("note-of-{task}");
        let held = world.git(&format!(
            "log --glob=refs/orchestrate --format=%s -- {path}"
        ))?;
        let worktree = played
            .coordinator
            .layout()
            .worktree(&played.report.run_id, &task.into());
        assert!(!held.is_empty(), "{task}: {held:?}\n{played}");
        assert!(!worktree.join(path).exists(), "{task}: {held:?}\n{played}");
    }
    Ok(())
}

/// The repeated command ends at once because of a file that git ignores, so that no reset removes
/// it.
fn what_a_person_puts_beside_an_interrupted_command_is_kept() -> Outcome {
    let world = World::lived_in()?;
    world.commit(".gitignore", "*.log\n")?;
    let coordinator = world.coordinator(&Script::default(), |_| {})?;
    let run = runtime()?.block_on(async {
        let run = coordinator
            .start(plan_input(
                "- [ ] T1 wait (run: test -e go.log || sleep 60)\n",
            )?)
            .await?;
        let mut state = run.watch();
        until(&mut state, |state| {
            state.tasks().any(|record| !record.open_calls().is_empty())
        })
        .await;
        run.raise(ShutdownLevel::Stop);
        let id = run.id().clone();
        run.wait().await?;
        Ok::<_, Failed>(id)
    })?;
    let worktree = coordinator.layout().worktree(&run, &"T1".into());
    drop(coordinator);
    std::fs::write(worktree.join("note"), "a person's\n")?;
    std::fs::write(worktree.join("go.log"), "")?;
    let played = world.resume(&run, &Script::default(), |_| {})?;
    played.require_merged(&["T1"])?;
    let held = world.git("log --glob=refs/orchestrate --format=%s -- note")?;
    assert!(!held.is_empty(), "{played}");
    assert!(!worktree.join("note").exists(), "{played}");
    Ok(())
}

/// Waits until the newest state fits.
async fn until(
    state: &mut tokio::sync::watch::Receiver<std::sync::Arc<RunState>>,
    fits: impl Fn(&RunState) -> bool,
) {
    let _ = state.wait_for(|state| fits(state)).await;
}

fn a_worktree_that_vanishes_is_merged_into_again() -> Outcome {
    let world = World::lived_in()?;
    let script = clash(Script::default(), |script, task| {
        let sleep = json!({"command": "sleep 60"});
        script
            .rule(
                Rule::task(task)
                    .returned(ReturnCause::Conflict)
                    .call("run_shell_command", &sleep),
            )
            // The file that it changed is gone; it reads it again.
            .rule(reads(on(task, 4), "src/lib.txt"))
    });
    let run = stopped_in_repair(&world, (&script, 3), |worktree| {
        Ok(std::fs::remove_dir_all(worktree)?)
    })?;
    require_both(&world, &world.resume(&run, &script, |_| {})?)
}

/// Stops a run while an agent that mends a conflict executes the call of this turn. Calls `act` on
/// its worktree, and returns the run.
fn stopped_in_repair(
    world: &World,
    (script, turn): (&Script, u32),
    act: impl Fn(&Path) -> Outcome,
) -> Result<RunId, Failed> {
    let coordinator = world.coordinator(script, |_| {})?;
    let run = runtime()?.block_on(async {
        let run = coordinator.start(plan_input(CLASH)?).await?;
        let mut state = run.watch();
        let runs = |record: &TaskRecord| record.turns() == turn && !record.open_calls().is_empty();
        until(&mut state, |state| {
            state
                .tasks()
                .any(|record| record.repair().is_some() && runs(record))
        })
        .await;
        run.raise(ShutdownLevel::Stop);
        let id = run.id().clone();
        run.wait().await?;
        Ok::<_, Failed>(id)
    })?;
    // That of the other task went when it was merged.
    let places = ["T1", "T2"].map(|task| coordinator.layout().worktree(&run, &task.into()));
    let there: Vec<_> = places.iter().filter(|place| place.exists()).collect();
    let [worktree] = there.as_slice() else {
        return fail(format!("{there:?}"));
    };
    act(worktree)?;
    Ok(run)
}

/// An agent's repair is kept when it continues, although git had lost its record of the worktree.
fn a_worktree_whose_entry_vanishes_keeps_its_files() -> Outcome {
    let world = World::lived_in()?;
    let script = clash(Script::default(), |script, task| {
        let sleep = json!({"command": "sleep 60"});
        script
            .rule(reads(
                Rule::task(task).returned(ReturnCause::Conflict),
                "src/lib.txt",
            ))
            .rule(on(task, 5).call("run_shell_command", &sleep))
    });
    let run = stopped_in_repair(&world, (&script, 5), |worktree| {
        let pointer = std::fs::read_to_string(worktree.join(".git"))?;
        Ok(std::fs::remove_dir_all(
            pointer.trim_start_matches("gitdir: ").trim_end(),
        )?)
    })?;
    require_both(&world, &world.resume(&run, &script, |_| {})?)
}

/// Queues a command for a run, resumes the run, and plays it to its end.
fn ask(
    world: &World,
    played: Played,
    script: &Script,
    command: &Request,
) -> Result<Played, Failed> {
    let run = played.report.run_id.clone();
    played.coordinator.store().send(&run, command)?;
    drop(played);
    world.resume(&run, script, |_| {})
}

fn reject() -> Request {
    Request::Reject {
        task: "T1".into(),
        message: "not so".to_owned(),
        at: None,
    }
}

fn a_child_that_conflicts_is_merged_in_the_end() -> Outcome {
    let world = World::lived_in()?;
    let script = clash(Script::default(), |script, task| {
        script.rule(reads(
            Rule::task(task).returned(ReturnCause::Conflict),
            "src/lib.txt",
        ))
    });
    let coordinator = world.coordinator(&script, |_| {})?;
    let child = |id: &str| ChildSpec {
        id: Some(id.into()),
        ..ChildSpec::new("change the second line")
    };
    let report = runtime()?.block_on(async {
        let (one, two) = (
            coordinator.spawn(child("T1")).await?,
            coordinator.spawn(child("T2")).await?,
        );
        coordinator.merge(&[one, two]).await?;
        let Some(report) = coordinator.finish().await? else {
            return fail("no run was open");
        };
        Ok::<_, Failed>(report)
    })?;
    require_both(&world, &Played::of(coordinator, report)?)
}

fn deletions_are_confirmed_by_their_author() -> Outcome {
    let world = World::lived_in()?;
    let remove = json!({"command": "rm -r src kept.txt README.md"});
    let script = Script::default()
        .rule(on("T1", 1).call("run_shell_command", &remove))
        .rule(
            Rule::task("T1")
                .returned(ReturnCause::Deletions)
                .text("The task asks for it."),
        )
        .rule(done("T1"));
    let played = world.play("- [ ] T1 remove\n", &script, |_| {})?;
    played.require_merged(&["T1"])?;
    let files = world.merged_files(&played.report)?;
    assert_eq!(files, ".gitignore");
    Ok(())
}

/// An agent that only says "done" again has recorded nothing; one that restores the files and
/// deletes them by calls has.
fn an_empty_tree_is_accepted_of_no_agent_that_did_not_record_it() -> Outcome {
    let world = World::lived_in()?;
    let files = [".gitignore", "README.md", "kept.txt", "src/lib.txt"];
    let emptied = |task| {
        shell(
            on(task, 1),
            "find . -name .git -prune -o -type f -exec rm -f {} +",
        )
    };
    // Not with git: it needs a configuration that commands of the fallback tier cannot read.
    let anew = format!("mkdir -p src && touch {}", files.join(" "));
    let delete = |rule: Rule, file: &str| rule.call("delete_file", &json!({ "path": file }));
    let recorded = Script::default()
        .rule(emptied("T1"))
        .rule(done("T1").turn(2));
    let recorded = recorded.rule(shell(
        Rule::task("T1").returned(ReturnCause::Deletions),
        &anew,
    ));
    let script = recorded
        .rule(
            files
                .iter()
                .fold(on("T1", 4), |rule, file| delete(rule, file)),
        )
        .rule(done("T1"))
        .rule(emptied("T2"))
        .rule(done("T2"));
    let refused = world.play("- [ ] T2 empty it\n", &script, |_| {})?;
    refused.require(1, &[("T2", FailedTask)])?;
    refused.require_failure(
        "T2",
        FailureCause::Worktree,
        "no file is left, and the deletion of 4 was not recorded",
    )?;
    let in_tree = |branch: &str| world.git(&format!("ls-tree -r --name-only {branch}"));
    let branch = refused.report.run_id.task_branch(&"T2".into());
    assert!(in_tree(&branch)?.lines().eq(files), "{refused}");
    let accepted = world.play("- [ ] T1 empty it\n", &script, |_| {})?;
    accepted.require_merged(&["T1"])?;
    assert!(
        in_tree(&accepted.report.run_id.integration_branch())?.is_empty(),
        "{accepted}"
    );
    Ok(())
}

/// An agent leaves files under names that git refuses, and so does an agent whose role only
/// reports.
fn what_git_cannot_store_goes_back_to_its_author() -> Outcome {
    let world = World::lived_in()?;
    let script = Script::default()
        .rule(shell(
            on("T1", 1),
            "mkdir -p lib/.GIT && echo 1 > lib/.GIT/kept && echo 1 > one.txt",
        ))
        .rule(shell(
            Rule::task("T1").returned(ReturnCause::Unstorable),
            "mv lib/.GIT lib/git",
        ))
        .rule(done("T1"))
        .rule(shell(on("T2", 1), "mkdir .git. && touch .git./x"))
        .rule(shell(
            Rule::task("T2").returned(ReturnCause::Unstorable),
            "rm -r .git.",
        ))
        .rule(done("T2"));
    let played = world.play("- [ ] T1 make\n- [ ] T2 look @reviewer\n", &script, |_| {})?;
    played.require_merged(&["T1", "T2"])?;
    played.require_told("T1", &["lib/.GIT/kept"])?;
    let files = world.git(&format!(
        "ls-tree -r --name-only {} lib",
        played.report.run_id.integration_branch()
    ))?;
    assert_eq!(files, "lib/git/kept");
    Ok(())
}

/// Confirmed deletions are not asked about again, and rejected work does not become new work,
/// although it contained something in between that git cannot store.
fn what_was_confirmed_or_rejected_stays_so_until_it_is_stored() -> Outcome {
    let world = World::lived_in()?;
    let spoils = |rule: Rule| shell(rule, "mkdir .GIT && touch .GIT/x");
    let mut script = Script::default()
        .rule(shell(on("T1", 1), "rm -r src kept.txt README.md"))
        .rule(spoils(Rule::task("T1").returned(ReturnCause::Deletions)))
        .rule(write("T2", "two.txt", "2\n"))
        .rule(spoils(Rule::task("T2").returned(ReturnCause::Rejected)));
    for task in ["T1", "T2"] {
        let mends = Rule::task(task).returned(ReturnCause::Unstorable);
        script = script.rule(shell(mends, "rm -r .GIT")).rule(done(task));
    }
    let plan = "- [ ] T1 remove\n- [ ] T2 make (review: required)\n";
    let played = world.play(plan, &script, |_| {})?;
    played.require(
        3,
        &[
            ("T1", Merged),
            ("T2", orchestrate_core::TaskState::AwaitingReview),
        ],
    )?;
    let reject = Request::Reject {
        task: "T2".into(),
        message: "not so".to_owned(),
        at: None,
    };
    ask(&world, played, &script, &reject)?.require_failure(
        "T2",
        FailureCause::NoChanges,
        "without changing a file",
    )
}

/// An agent does not mend its work, and a command cannot; nothing of theirs is lost.
fn what_git_can_never_store_fails_its_task_alone() -> Outcome {
    let world = World::lived_in()?;
    let command = "mkdir .GIT && echo kept > .GIT/kept";
    let script = Script::default()
        .rule(shell(on("T1", 1), command))
        .rule(done("T1"));
    let plan = format!(
        "- [ ] T1 make\n- [ ] T2 make (run: {command})\n- [ ] T3 make (run: touch three)\n"
    );
    let played = world.play(&plan, &script, |_| {})?;
    played.require(1, &[("T1", FailedTask), ("T2", FailedTask), ("T3", Merged)])?;
    for task in ["T1", "T2"] {
        played.require_failure(task, FailureCause::Worktree, ".GIT/kept")?;
        let worktree = played
            .coordinator
            .layout()
            .worktree(&played.report.run_id, &task.into());
        if std::fs::read_to_string(worktree.join(".GIT/kept"))? != "kept\n" {
            return fail("the file is gone");
        }
    }
    let returns = played.pick(|event| matches!(event, Event::TaskReturned { .. }).then_some(()));
    assert_eq!(returns.len(), 2, "{played}");
    // Another attempt of the command would start in a clean worktree, so the user is told which
    // file prevents that.
    let worktree = played
        .coordinator
        .layout()
        .worktree(&played.report.run_id, &"T2".into());
    let played = ask(
        &world,
        played,
        &script,
        &Request::Retry {
            task: "T2".into(),
            message: None,
        },
    )?;
    let told = format!(
        "save the files in {} before replacing them: store .GIT/kept",
        worktree.display()
    );
    played.require_failure("T2", FailureCause::Worktree, &told)?;
    assert!(worktree.join(".GIT/kept").exists(), "the file is gone");
    Ok(())
}

/// A shell writes and deletes files that no file tool may, under names of any case.
fn what_configures_agents_goes_back_whoever_wrote_it() -> Outcome {
    let world = World::lived_in()?;
    world.repository.write("agents/old.md", "old\n")?;
    world.repository.commit_all("agents")?;
    let spoil = "echo 1 > Orchestrate.toml && mkdir .orchestrate && echo 1 > .orchestrate/x && \
                 rm agents/old.md && echo 1 > agents/a.Md && echo 1 > one.txt";
    let mend = "rm -r Orchestrate.toml .orchestrate agents/a.Md && echo old > agents/old.md";
    let script = Script::default()
        .rule(shell(on("T1", 1), spoil))
        .rule(shell(
            Rule::task("T1").returned(ReturnCause::Unstorable),
            mend,
        ))
        .rule(done("T1"));
    let plan = "- [ ] T1 make\n- [ ] T2 make (run: echo 1 > ORCHESTRATE.TOML)\n- [ ] T3 make (run: touch three)\n";
    let played = world.play(plan, &script, |_| {})?;
    played.require(1, &[("T1", Merged), ("T2", FailedTask), ("T3", Merged)])?;
    played.require_told(
        "T1",
        &[
            "`.orchestrate/x`",
            "`Orchestrate.toml`",
            "`agents/a.Md`",
            "`agents/old.md`",
        ],
    )?;
    played.require_failure("T2", FailureCause::Worktree, "`ORCHESTRATE.TOML`")?;
    let files = world.merged_files(&played.report)?;
    let has = |name: &str| files.lines().any(|file| file == name);
    let spoilt = [
        "Orchestrate.toml",
        "ORCHESTRATE.TOML",
        ".orchestrate/x",
        "agents/a.Md",
    ]
    .into_iter()
    .any(has);
    assert!(has("agents/old.md") && has("one.txt") && !spoilt, "{files}");
    Ok(())
}

/// The user's rules allow files: one rule for a tool, which may then write where a command may not,
/// and one rule for everything that writes.
fn a_rule_about_a_tool_opens_nothing_to_a_command() -> Outcome {
    let world = World::lived_in()?;
    let rule = |rule: &str| RuleText::new(RuleDecision::Allow, rule, "--allow");
    let spoil = "echo 1 > agents/command.md && echo 1 > orchestrate.toml";
    let script = Script::default()
        .rule(put(on("T1", 1), "agents/tool.md", "1\n"))
        .rule(shell(on("T1", 2), spoil))
        .rule(shell(
            Rule::task("T1").returned(ReturnCause::Unstorable),
            "rm agents/command.md orchestrate.toml",
        ))
        .rule(done("T1"));
    let plan = "- [ ] T1 make\n- [ ] T2 make (run: mkdir -p agents && echo 1 > agents/b.md)\n\
                - [ ] T3 make (run: mkdir -p agents && echo 1 > agents/c.md)\n";
    let played = world.play(plan, &script, |settings| {
        settings.run.rules = vec![rule("write_file(**)"), rule("file_write(/agents/c.md)")];
    })?;
    played.require(1, &[("T1", Merged), ("T2", FailedTask), ("T3", Merged)])?;
    played.require_told("T1", &["`agents/command.md`", "`orchestrate.toml`"])?;
    let files = world.merged_files(&played.report)?;
    let has = |name: &str| files.lines().any(|file| file == name);
    let spoilt = ["agents/command.md", "orchestrate.toml", "agents/b.md"]
        .into_iter()
        .any(has);
    assert!(has("agents/tool.md"), "{files}");
    assert!(has("agents/c.md"), "{files}");
    assert!(!spoilt, "{files}");
    Ok(())
}

/// Files that a failed attempt has written but not committed are there for the next, even if other
/// work was merged meanwhile.
fn unfinished_work_goes_on_where_it_was_left() -> Outcome {
    let world = World::lived_in()?;
    let script = Script::default()
        .rule(put(on("T1", 1), "half.txt", "half\n"))
        .rule(reads(on("T1", 2), "half.txt"))
        .rule(reads(on("T1", 3), "half.txt"))
        .rule(done("T1"))
        .writes("T2", "two.txt", "2\n");
    let plan = "- [ ] T1 one (turns: 2)\n- [ ] T2 two\n";
    let played = world.play(plan, &script, |_| {})?;
    played.require(4, &[("T1", FailedTask), ("T2", Merged)])?;
    let retry = Request::Retry {
        task: "T1".into(),
        message: None,
    };
    let played = ask(&world, played, &script, &retry)?;
    played.require_merged(&["T1", "T2"])?;
    let text = world.merged(&played.report, "half.txt")?;
    assert_eq!(text, "half");
    Ok(())
}

/// A role that does not exist fails its task alone.
fn an_error_of_one_task_ends_no_other() -> Outcome {
    let world = World::lived_in()?;
    let script = Script::default().writes("T2", "two.txt", "2\n");
    let coordinator = world.coordinator(&script, |_| {})?;
    let named = |id: &str, role: Option<&str>| Task {
        id: id.into(),
        work: orchestrate_core::task::Work::Agent(role.map(str::to_owned)),
        ..Task::default()
    };
    let tasks = vec![named("T1", Some("nobody")), named("T2", None)];
    let report = runtime()?.block_on(coordinator.run(PlanInput {
        tasks,
        ..PlanInput::default()
    }))?;
    let played = Played::of(coordinator, report)?;
    played.require(1, &[("T1", FailedTask), ("T2", Merged)])?;
    played.require_failure("T1", FailureCause::Setup, "nobody")
}

fn a_plan_that_cannot_run_is_refused() -> Outcome {
    let world = World::lived_in()?;
    let coordinator = world.coordinator(&Script::default(), |_| {})?;
    let task = |id: &str, on: &str| Task {
        id: id.into(),
        depends: vec![on.into()],
        ..Task::default()
    };
    for (tasks, why) in [
        (vec![task("T1", "T9")], "find `T9`, which `T1` depends on"),
        (
            vec![task("T1", "T2"), task("T2", "T1")],
            "depend on each other",
        ),
    ] {
        match runtime()?.block_on(coordinator.run(PlanInput {
            tasks,
            ..PlanInput::default()
        })) {
            Err(error) if error.to_string().contains(why) => {}
            other => return fail(format!("{other:?}")),
        }
    }
    Ok(())
}

fn the_runs_check_has_what_every_worktree_has() -> Outcome {
    let world = World::lived_in()?;
    world
        .repository
        .write("local.log", "ignored, and wanted everywhere\n")?;
    world.repository.write(".worktreeinclude", "local.log\n")?;
    let played = world.play(
        "- [ ] T1 make (run: echo 1 > one.txt)\n",
        &Script::default(),
        |settings| {
            settings.run.worktree_setup = Some("mkdir -p made && echo x > made/x.log".to_owned());
            settings.run.verify =
                Some("test -e local.log && test -e made/x.log && test -e one.txt".to_owned());
        },
    )?;
    played.require_merged(&["T1"])
}

fn a_run_keeps_its_endpoint_and_the_place_of_its_script() -> Outcome {
    let world = World::lived_in()?;
    let (url, script) = ("http://127.0.0.1:9/v1", "examples/quickstart/script.jsonl");
    let played = world.play(
        "- [ ] T1 make (run: true)\n",
        &Script::default(),
        |settings| {
            settings.base_url = Some(url.to_owned());
            settings.run.model = Some(format!("script:{script}"));
        },
    )?;
    let recorded = played
        .coordinator
        .store()
        .state(&played.report.run_id)?
        .settings;
    let model = format!("script:{}/{script}", std::env::current_dir()?.display());
    assert_eq!(
        (recorded.base_url.as_deref(), recorded.model.as_deref()),
        (Some(url), Some(model.as_str())),
        "{recorded:?}"
    );
    Ok(())
}

/// A run whose model is missing is refused before anything is recorded, and can be resumed later.
fn a_run_without_its_model_is_not_taken_over() -> Outcome {
    let world = World::lived_in()?;
    let script = Script::default().writes("T1", "one.txt", "1\n");
    let played = world.play("- [ ] T1 one\n", &script, |settings| {
        settings.run.merge = MergeMode::Review
    })?;
    let (run, facts) = (played.report.run_id.clone(), played.facts.len());
    drop(played);
    let elsewhere = |settings: &mut orchestrate_coordinator::Settings| settings.run.model = None;
    let coordinator = world.coordinator(&script, elsewhere)?;
    std::fs::remove_file(world.home.path().join("script.jsonl"))?;
    // Work that waits for a user needs no model; work that is sent back does.
    let refused = runtime()?.block_on(coordinator.resume_with(&run, reject()));
    assert!(
        refused.is_err() && coordinator.store().events(&run, 0, usize::MAX)?.len() == facts,
        "a run whose model is gone was taken over"
    );
    drop((refused, coordinator));
    let played = world.resume(&run, &script, |_| {})?;
    played.require(3, &[("T1", orchestrate_core::TaskState::AwaitingReview)])
}

fn children_have_possible_ids_roles_and_parents() -> Outcome {
    let world = World::lived_in()?;
    let coordinator = world.coordinator(&Script::default(), |_| {})?;
    runtime()?.block_on(async {
        let child = |id: &str| ChildSpec {
            id: Some(id.into()),
            ..ChildSpec::new("do it")
        };
        let nobody = Some("nobody".to_owned());
        for (spec, why) in [
            (child("integration"), "reserved"),
            (child(""), "an id is made of"),
            (child(&"a".repeat(65)), "at most 64 bytes"),
            (
                ChildSpec {
                    role: nobody.clone(),
                    ..child("a")
                },
                "the role 'nobody'",
            ),
            (
                ChildSpec {
                    parent: Some("z".into()),
                    ..child("a")
                },
                "its parent, agent z, does not exist",
            ),
        ] {
            match coordinator.spawn(spec).await {
                Err(error) if error.to_string().contains(why) => {}
                Err(error) => return fail(format!("{why}: {error}")),
                Ok(_) => return fail(format!("{why}: it was spawned")),
            }
        }
        let Some(report) = coordinator.finish().await? else {
            return fail("no run was open");
        };
        assert!(report.tasks.is_empty(), "{report:#?}");
        Ok(())
    })
}
