//! Reviewing branches, approving, rejecting and retrying: what a user decides, also after the run
//! has ended.

use libtest_mimic::Failed;
use orchestrate_coordinator::{Coordinator, Takeover};
use orchestrate_core::event::settings::MergeMode;
use orchestrate_core::projections::review::{ReviewEntry, Risk};
use orchestrate_core::run::request::{Request, RequestRefused};
use orchestrate_core::task::{EndCause, FailureCause};
use orchestrate_core::{Report, TaskState};
use serde_json::json;

use crate::support::{
    Case, Outcome, Rule, Script, World, after, at, case, done, fail, on, plan_input, put, reads,
    runtime, sandboxed, says, write,
};

pub(crate) fn cases() -> Vec<Case> {
    vec![
        case!(branches_are_listed_with_risk_and_overlaps),
        case!(a_branch_that_deletes_most_files_is_a_high_risk),
        case!(a_rejection_goes_back_to_the_same_agent),
        case!(a_rejected_command_runs_on_what_it_started_from),
        case!(a_failed_task_is_tried_again),
        sandboxed!(a_result_that_was_committed_on_is_refused),
        sandboxed!(a_merged_branch_may_be_committed_on),
        sandboxed!(each_landing_is_taken_back_by_itself),
        case!(a_landing_is_taken_back_after_a_rejection),
        sandboxed!(a_landed_filter_is_taken_back),
        sandboxed!(a_result_is_landed_beside_a_new_filter),
        sandboxed!(what_is_not_part_of_a_landing_is_named),
        sandboxed!(a_result_that_is_checked_out_is_left_alone),
        sandboxed!(a_verifier_that_is_damaged_is_made_anew),
        sandboxed!(what_is_staged_alone_is_kept),
        sandboxed!(what_is_staged_beside_an_agent_is_kept),
        sandboxed!(an_unfinished_merge_in_a_worktree_goes_on),
        sandboxed!(a_worktree_on_another_branch_is_brought_back),
        sandboxed!(the_landing_of_another_run_is_named),
        sandboxed!(a_commit_of_a_persons_in_a_worktree_is_kept),
        case!(the_program_reviews_approves_and_lands),
        sandboxed!(a_whole_result_is_shown_with_titles_and_where_it_landed),
    ]
}

fn a_whole_result_is_shown_with_titles_and_where_it_landed() -> Outcome {
    let world = World::with_plan(
        "- [ ] T1 Add a page (run: echo 1 > page)\n- [ ] T2 Add a form (run: echo 2 > form)\n",
    )?;
    world.types(&["run", "plan.md"], 0)?;
    says(
        &world.types(&["review"], 0)?,
        &["COST  TITLE", "  Add a page\n", "  Add a form\n"],
    )?;
    says(
        &world.types(&["review", "T1"], 0)?,
        &["Add a page\ntask T1 (attempt 1)"],
    )?;
    let whole = world.types(&["diff"], 0)?;
    let one = world.types(&["diff", "T1"], 0)?;
    says(&whole, &["+++ b/page", "+++ b/form"])?;
    assert!(!one.stdout.contains("form"), "{}", one.stdout);
    let object = world.types(&["diff", "--json"], 0)?.json()?;
    let listed = world.types(&["review", "--json"], 0)?.json()?;
    let files: Vec<_> = object["files"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|file| &file["path"])
        .collect();
    assert_eq!(object["diff"], json!(whole.stdout), "{object}\n{listed}");
    assert_eq!(files, ["form", "page"], "{object}\n{listed}");
    assert_eq!(
        listed["items"][1]["title"], "Add a form",
        "{object}\n{listed}"
    );
    // It is a patch of the base.
    world.write("whole.patch", &whole.stdout)?;
    world
        .repository
        .git(&["apply", "--check", &world.file("whole.patch")])?;
    let run = object["run_id"].as_str().unwrap_or_default();
    if world.types(&["diff", run], 0)?.stdout != whole.stdout {
        return fail("the run's result differs by its name");
    }
    assert!(
        !world.types(&["status"], 0)?.stdout.contains("landed"),
        "it has not landed"
    );
    world.types(&["land"], 0)?;
    let landed = world.types(&["status", "--json"], 0)?.json()?;
    let tip = world.git("rev-parse main")?;
    says(
        &world.types(&["status"], 0)?,
        &[&format!("landed in main as {}", &tip[..8])],
    )?;
    assert_eq!(
        landed["landed"],
        json!({"branch": "main", "commit": tip.trim(), "is_whole": true}),
        "{landed}"
    );
    Ok(())
}

/// A run, and the coordinator that can resume it.
struct Reviewed {
    world: World,
    coordinator: Coordinator,
    report: Report,
}

impl Reviewed {
    fn new(plan: &str, script: &Script, merge: MergeMode) -> Result<Self, Failed> {
        let world = World::lived_in()?;
        let coordinator = world.coordinator(script, |settings| settings.run.merge = merge)?;
        let before = world.repository.fingerprint()?;
        let report = runtime()?.block_on(coordinator.run(plan_input(plan)?))?;
        before.require_same(&world.repository.fingerprint()?)?;
        Ok(Self {
            world,
            coordinator,
            report,
        })
    }

    fn review(&self) -> Result<Vec<ReviewEntry>, Failed> {
        let runs = self.world.archive()?;
        Ok(runs.review(&self.report.run_id)?)
    }

    /// Resumes the run with a command; returns the report, or why the command was refused.
    fn ask(&self, command: Request) -> Result<Result<Report, RequestRefused>, Failed> {
        let before = self.world.repository.fingerprint()?;
        let outcome = runtime()?.block_on(async {
            match self
                .coordinator
                .resume_with(&self.report.run_id, command)
                .await?
            {
                Takeover::Begun { run, .. } => Ok::<_, Failed>(Ok(run.wait().await?)),
                Takeover::Refused(why) => Ok(Err(why)),
                Takeover::Answered => fail("it was answered"),
            }
        })?;
        before.require_same(&self.world.repository.fingerprint()?)?;
        Ok(outcome)
    }
}

fn mends(task: &str, said: &str, path: &str, content: &str) -> Rule {
    put(after(task, said), path, content)
}

fn require(report: &Report, task: &str, state: TaskState, attempt: u32) -> Outcome {
    match report.tasks.iter().find(|found| found.id.as_str() == task) {
        Some(found) if (found.state, found.attempt) == (state, attempt) => Ok(()),
        _ => fail(format!("{report:#?}")),
    }
}

fn branches_are_listed_with_risk_and_overlaps() -> Outcome {
    let script = Script::default()
        .writes("T1", "src/lib.txt", "one\ntwo\nthree\nfour\n")
        .rule(write("T2", "Makefile", "all:\n"))
        .rule(put(on("T2", 2), "src/lib.txt", "one\n"))
        .rule(done("T2"));
    let reviewed = Reviewed::new("- [ ] T1 a\n- [ ] T2 b\n", &script, MergeMode::Review)?;
    let found: Vec<_> = reviewed
        .review()?
        .into_iter()
        .map(|entry| {
            let files: Vec<_> = entry
                .files
                .iter()
                .map(|file| (file.path.clone(), file.added, file.removed))
                .collect();
            let overlaps: Vec<_> = entry
                .overlaps
                .iter()
                .map(|other| other.task.to_string())
                .collect();
            json!([
                entry.task,
                entry.state,
                files,
                entry.risk,
                overlaps,
                entry.commit.is_some(),
                entry.tree.is_some()
            ])
        })
        .collect();
    let expected = vec![
        json!([
            "T1",
            "awaiting_review",
            [["src/lib.txt", 1, 0]],
            Risk::Low,
            ["T2"],
            true,
            true
        ]),
        json!([
            "T2",
            "awaiting_review",
            [["Makefile", 1, 0], ["src/lib.txt", 0, 2]],
            Risk::High,
            ["T1"],
            true,
            true
        ]),
    ];
    assert_eq!(found, expected);
    Ok(())
}

fn a_rejection_goes_back_to_the_same_agent() -> Outcome {
    let script = Script::default()
        .rule(write("T1", "one.txt", "1\n"))
        .rule(mends(
            "T1",
            "src/lib.txt:2: say it in words",
            "one.txt",
            "one\n",
        ))
        .rule(done("T1"));
    let reviewed = Reviewed::new("- [ ] T1 a\n", &script, MergeMode::Review)?;
    let at = Some("src/lib.txt:2".to_owned());
    let command = Request::Reject {
        task: "T1".into(),
        message: "say it in words".to_owned(),
        at,
    };
    let report = reviewed.ask(command)?.map_err(Failed::from)?;
    require(&report, "T1", TaskState::AwaitingReview, 2)?;
    let branch = format!("orchestrate/{}/T1", report.run_id);
    let text = reviewed.world.repository.show(&branch, "one.txt")?;
    assert_eq!(text, "one");
    Ok(())
}

/// A command that appends to a file would append twice if it ran on its own result.
fn a_rejected_command_runs_on_what_it_started_from() -> Outcome {
    let reviewed = Reviewed::new(
        "- [ ] T1 add (run: echo 1 >> log.txt)\n",
        &Script::default(),
        MergeMode::Review,
    )?;
    require(&reviewed.report, "T1", TaskState::AwaitingReview, 1)?;
    let reject = Request::Reject {
        task: "T1".into(),
        message: "differently".to_owned(),
        at: None,
    };
    let report = reviewed.ask(reject)?.map_err(Failed::from)?;
    require(&report, "T1", TaskState::Failed, 2)?;
    let why = report.tasks[0]
        .error
        .as_ref()
        .map(|error| (error.cause, error.message.as_str()));
    if !why.is_some_and(|(cause, message)| {
        cause == EndCause::Failed(FailureCause::NoChanges)
            && message.contains("repeated what was rejected")
    }) {
        return fail(format!("{report:#?}"));
    }
    let branch = format!("orchestrate/{}/T1", report.run_id);
    let superseded = format!("refs/orchestrate/attempts/{}/T1/1", report.run_id);
    for name in [&branch, &superseded] {
        let text = reviewed.world.repository.show(name, "log.txt")?;
        assert_eq!(text, "1", "{name} has {text:?}");
    }
    // The rejected work awaits review again, and does not count as merged.
    let retry = Request::Retry {
        task: "T1".into(),
        message: None,
    };
    require(
        &reviewed.ask(retry)?.map_err(Failed::from)?,
        "T1",
        TaskState::AwaitingReview,
        3,
    )
}

fn a_failed_task_is_tried_again() -> Outcome {
    let script = Script::default()
        .rule(on("T1", 1).text("I changed nothing."))
        .rule(mends("T1", "do write it", "one.txt", "1\n"))
        .rule(done("T1"));
    let reviewed = Reviewed::new(
        "- [ ] T1 a\n- [ ] T2 b (run: echo 2 > two.txt) (depends: T1)\n",
        &script,
        MergeMode::Auto,
    )?;
    require(&reviewed.report, "T1", TaskState::Failed, 1)?;
    require(&reviewed.report, "T2", TaskState::Skipped, 0)?;
    let command = Request::Retry {
        task: "T1".into(),
        message: Some("do write it".to_owned()),
    };
    let report = reviewed.ask(command)?.map_err(Failed::from)?;
    require(&report, "T1", TaskState::Merged, 2)?;
    require(&report, "T2", TaskState::Merged, 1)
}

/// Runs two commands, of which the second awaits review.
fn one_waits_for_review() -> Result<World, Failed> {
    let world = World::plain()?;
    let plan = "- [ ] T1 one (run: touch one)\n- [ ] T2 two (depends: T1) (run: touch two) (review: required)\n";
    std::fs::write(world.home.path().join("plan.md"), plan)?;
    let plan = world.home.path().join("plan.md").display().to_string();
    world.types(&["run", &plan], 3)?;
    Ok(world)
}

/// A user checks the result's branch out to look at it, and then lets the run continue.
fn a_result_that_is_checked_out_is_left_alone() -> Outcome {
    let world = one_waits_for_review()?;
    let branch = at(
        &world.types(&["status", "--json"], 0)?.json()?,
        "/integration_branch",
    )?
    .as_str()
    .unwrap_or_default()
    .to_owned();
    world.git(&format!("switch -q {branch}"))?;
    world.repository.write("two", "mine\n")?;
    let (before, log) = (
        world.repository.fingerprint()?,
        world.types(&["log"], 0)?.stdout,
    );
    world.types(&["retry", "T1"], 2)?;
    if world.types(&["log"], 0)?.stdout != log {
        return fail("a refused command has left facts");
    }
    let approved = world.types(&["approve", "T2", "--follow"], 0)?;
    if approved.stderr.matches("git merge --ff-only ").count() != 1 {
        return fail(approved.stderr);
    }
    before.require_same(&world.repository.fingerprint()?)?;
    let stash = approved
        .stderr
        .split('`')
        .find(|part| part.starts_with("git stash"))
        .unwrap_or_default();
    world
        .repository
        .git(&stash.split(' ').skip(1).collect::<Vec<_>>())?;
    let told = approved
        .stderr
        .split('`')
        .find(|part| part.starts_with("git merge --ff-only "));
    let commit = told
        .and_then(|command| command.split(' ').next_back())
        .ok_or_else(|| Failed::from(approved.stderr.clone()))?;
    world.git(&format!("merge -q --ff-only {commit}"))?;
    world.git("reset -q --hard HEAD~1")?;
    world.git("switch -q main")?;
    world.types(&["land"], 0)?;
    // The branch is moved once it is not checked out any more.
    assert!(
        world.repository.path().join("two").exists()
            && world
                .git(&format!("rev-parse {branch}"))?
                .starts_with(commit),
        "{}",
        world.git("log --oneline --all")?
    );
    Ok(())
}

/// A user who has committed on the result's branch is told to keep that commit first, and the ended
/// run stays ended.
fn a_result_that_was_committed_on_is_refused() -> Outcome {
    let world = one_waits_for_review()?;
    let before = world.types(&["status", "--json"], 0)?.json()?;
    let branch = at(&before, "/integration_branch")?
        .as_str()
        .unwrap_or_default();
    world.git(&format!("switch -q {branch}"))?;
    world.repository.write("mine", "1\n")?;
    let mine = world.repository.commit_all("Mine")?;
    let looked = world.types(&["status", "--json"], 0)?;
    assert_eq!(looked.json()?, before, "{}", looked.stderr);
    assert!(
        looked
            .stderr
            .contains(&format!("{branch} was moved to {mine}")),
        "{}",
        looked.stderr
    );
    let on_it = world.types(&["approve", "T2", "--follow"], 3)?.stderr;
    if !on_it.contains(&format!(
        "switch {} to another branch",
        world.repository.path().display()
    )) {
        return fail(on_it);
    }
    world.git("switch -q main")?;
    let refused = world.types(&["approve", "T2", "--follow"], 3)?.stderr;
    let after = world.types(&["status", "--json"], 0)?.json()?;
    if !refused.contains(&format!(
        "git branch NAME {}",
        world.git(&format!("rev-parse {branch}"))?
    )) || after != before
    {
        return fail(format!("{mine}: {refused}\n{before:#}\n{after:#}"));
    }
    world.types(&["resume"], 3)?;
    let after = world.types(&["status", "--json"], 0)?.json()?;
    assert_eq!(after, before);
    let landed = world.types(&["land"], 0)?.stderr;
    assert!(
        landed.contains(&format!("another process moved {branch} to")),
        "{landed}"
    );
    Ok(())
}

/// A user's commit on a branch whose work is merged blocks nothing and is not lost.
fn a_merged_branch_may_be_committed_on() -> Outcome {
    let world = one_waits_for_review()?;
    let run = world
        .archive()?
        .store()
        .latest_run()?
        .ok_or_else(|| Failed::from("there is no run"))?;
    let place = world.worktree_again(&run, "T1")?;
    let git = |arguments: &[&str]| {
        world
            .repository
            .git(&[&["-C", &place.display().to_string()], arguments].concat())
    };
    std::fs::write(place.join("mine"), "1\n")?;
    git(&["add", "mine"])?;
    git(&["commit", "-qm", "Mine"])?;
    let mine = git(&["rev-parse", "HEAD"])?;
    world.types(&["approve", "T2", "--follow"], 0)?;
    world.types(&["reject", "T1", "-m", "Again.", "--follow"], 1)?;
    let held = world.git(&format!("for-each-ref --contains {mine} refs/orchestrate"))?;
    assert!(
        !held.is_empty(),
        "what the person had committed is not kept"
    );
    Ok(())
}

/// No agent works in the verifier, so it is recreated if git does not know it any more or if it is
/// damaged.
fn a_verifier_that_is_damaged_is_made_anew() -> Outcome {
    let world = World::plain()?;
    let tasks =
        (2..=4).map(|task| format!("- [ ] T{task} next (run: touch {task}) (review: required)\n"));
    world.repository.write(
        "plan.md",
        &format!(
            "- [ ] T1 one (run: touch one)\n{}",
            tasks.collect::<String>()
        ),
    )?;
    world.types(
        &[
            "run",
            "plan.md",
            "--verify",
            "test -e one",
            "--no-verify-base",
        ],
        3,
    )?;
    let verifier = world.repository.worktree("+verifier")?;
    std::fs::write(
        world
            .repository
            .path()
            .join(".git/worktrees/+verifier/index"),
        "cut off",
    )?;
    world.types(&["approve", "T2", "--follow"], 3)?;
    std::fs::remove_dir_all(&verifier)?;
    std::fs::write(&verifier, "a file")?;
    world.types(&["approve", "T3", "--follow"], 3)?;
    std::fs::remove_dir_all(world.repository.path().join(".git/worktrees"))?;
    world.types(&["approve", "T4", "--follow"], 0).map(drop)
}

/// Changes that a user has staged in a task's worktree, and that are nowhere else, stop `clean` and
/// are kept before new work begins.
fn what_is_staged_alone_is_kept() -> Outcome {
    let world = one_waits_for_review()?;
    let place = world.repository.worktree("T2")?;
    std::fs::write(place.join("staged"), "precious\n")?;
    world.git(&format!("-C {} add staged", place.display()))?;
    std::fs::remove_file(place.join("staged"))?;
    let kept = world.types(&["clean"], 0)?.stdout;
    assert!(
        kept.contains("its staged changes are stored nowhere else") && place.exists(),
        "{kept}"
    );
    world.types(&["reject", "T2", "-m", "Again.", "--follow"], 1)?;
    let recovered = world.types(&["recover", "--json"], 0)?.json()?;
    let names = recovered["items"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|kept| kept["name"].as_str());
    let name = names
        .into_iter()
        .find(|name| name.starts_with("T2/staged-"));
    world.types(
        &[
            "recover",
            "--restore",
            name.unwrap_or_default(),
            "--branch",
            "rescued",
        ],
        0,
    )?;
    let rescued = world.repository.show("rescued", "staged")?;
    assert_eq!(rescued, "precious");
    Ok(())
}

/// An agent continues in its worktree, where the next snapshot replaces what is staged; so that is
/// kept first.
fn what_is_staged_beside_an_agent_is_kept() -> Outcome {
    let world = World::plain()?;
    world.repository.write("plan.md", "- [ ] T1 one\n")?;
    let script = Script::default()
        .rule(write("T1", "one", "1\n"))
        .rule(put(after("T1", "Again"), "one", "2\n"))
        .rule(done("T1"));
    let model = script.write_to(&world.home.path().join("model.jsonl"))?;
    world.types(
        &["run", "plan.md", "--model", &model, "--merge", "review"],
        3,
    )?;
    let place = world.repository.worktree("T1")?;
    std::fs::write(place.join("staged"), "precious\n")?;
    world.git(&format!("-C {} add staged", place.display()))?;
    std::fs::remove_file(place.join("staged"))?;
    world.types(&["reject", "T1", "-m", "Again.", "--follow"], 3)?;
    let held = world.git("log --glob=refs/orchestrate --format=%s -- staged")?;
    assert!(held.contains("Staged by a person"), "{held}");
    Ok(())
}

/// A user begins a merge in a task's worktree, and resolves the file without telling git.
fn an_unfinished_merge_in_a_worktree_goes_on() -> Outcome {
    let world = World::plain()?;
    let plan = "- [ ] T1 one (run: echo 1 > file)\n- [ ] T2 two\n";
    world.repository.write("plan.md", plan)?;
    let script = Script::default()
        .rule(write("T2", "file", "2\n"))
        .rule(reads(after("T2", "Mended"), "file"))
        .rule(done("T2"));
    let model = script.write_to(&world.home.path().join("model.jsonl"))?;
    world.types(
        &["run", "plan.md", "--model", &model, "--merge", "review"],
        3,
    )?;
    let (one, two) = (
        world.repository.worktree("T1")?,
        world.repository.worktree("T2")?,
    );
    let (one, place) = (
        world.git(&format!("-C {} rev-parse HEAD", one.display()))?,
        two.display(),
    );
    let merge = format!("! git -C {place} merge -q {}", one.trim());
    world
        .home
        .command("sh", world.repository.path(), &["-c", &merge])
        .run()?
        .exits(0)?;
    let refused = world
        .types(&["reject", "T2", "-m", "Mended.", "--follow"], 1)?
        .stdout;
    assert!(refused.contains("conflict markers in file:1"), "{refused}");
    assert!(!refused.contains("(attempt 3)"), "{refused}");
    // Telling git that it is resolved does not resolve it either.
    world.git(&format!("-C {place} add file"))?;
    says(
        &world.types(&["retry", "T2", "-m", "Mended."], 1)?,
        &["conflict markers in file:1"],
    )?;
    std::fs::write(two.join("file"), "both\n")?;
    world.types(&["retry", "T2", "-m", "Mended."], 3)?;
    let status = world.types(&["status", "--json"], 0)?.json()?;
    let branch = at(&status, "/tasks/1/branch")?
        .as_str()
        .unwrap_or_default()
        .to_owned();
    let file = world.repository.show(&branch, "file")?;
    assert_eq!(file, "both", "{status}");
    Ok(())
}

/// Returns a task's branch in a report.
/// A user leaves the branch of a task's worktree, for example to commit as `clean` advises, and
/// only then rejects the work.
fn a_worktree_on_another_branch_is_brought_back() -> Outcome {
    let world = one_waits_for_review()?;
    let place = world.repository.worktree("T2")?;
    let in_the_way = "git switch -q -C mine HEAD~1 && echo mine > two";
    let rebase = "! git rebase -q --exec false HEAD~1";
    for leave in [
        "git switch -q -c mine",
        rebase,
        "git switch -q --orphan none",
        in_the_way,
    ] {
        world
            .home
            .command("sh", &place, &["-c", leave])
            .run()?
            .exits(0)?;
        let failed = world
            .types(&["reject", "T2", "-m", "Again.", "--follow"], 1)?
            .stdout;
        let told = failed.split('`').find(|part| part.starts_with("git "));
        let told = told.ok_or_else(|| Failed::from(failed.clone()))?;
        world
            .home
            .command("sh", world.repository.path(), &["-c", told])
            .run()?
            .exits(0)?;
        let again = world.types(&["retry", "T2"], 3)?.stdout;
        assert!(again.contains("T2    awaiting_review"), "{again}");
    }
    says(
        &world
            .home
            .command("git", &place, &["show", "stash^3:two"])
            .run()?,
        &["mine"],
    )?;
    let merge = "git switch -q -C mine HEAD~1 && git merge -q --no-ff --no-commit @{-1}";
    world
        .home
        .command("sh", &place, &["-c", merge])
        .run()?
        .exits(0)?;
    says(
        &world.types(&["reject", "T2", "-m", "Again.", "--follow"], 1)?,
        &["a merge is in progress; finish or abort it first"],
    )
}

fn the_landing_of_another_run_is_named() -> Outcome {
    let world = World::plain()?;
    world
        .repository
        .write("one.md", "- [ ] T1 one (run: touch one)\n")?;
    world
        .repository
        .write("two.md", "- [ ] T1 two (run: touch two)\n")?;
    world.types(&["run", "one.md"], 0)?;
    let landed = at(&world.types(&["land", "--json"], 0)?.json()?, "/run_id")?
        .as_str()
        .unwrap_or_default()
        .to_owned();
    world.types(&["run", "two.md"], 0)?;
    let refused = world.types(&["land", "--undo"], 3)?.stderr;
    assert!(
        refused.contains(&format!("`orchestrate land --undo {landed}`")),
        "{refused}"
    );
    world.types(&["land", "--undo", &landed], 0).map(drop)
}

/// What was landed before a rejection stays landed and ticked when the second landing is undone,
/// and can still be undone.
fn each_landing_is_taken_back_by_itself() -> Outcome {
    let world = World::plain()?;
    let plan = "- [ ] T1 one (run: date +%N >> one)\n- [ ] T2 two (run: touch two)\n";
    world.commit("plan.md", plan)?;
    let tip = || world.git("rev-parse main");
    let is_ticked =
        || Ok::<_, Failed>(world.repository.read("plan.md")? == plan.replace("[ ]", "[x]"));
    let start = tip()?;
    world.types(&["run", "plan.md"], 0)?;
    world.types(&["land"], 0)?;
    let first = tip()?;
    // Meanwhile the user commits the ticked boxes.
    world.repository.commit_all("Tick")?;
    let between = tip()?;
    world.types(&["reject", "T1", "-m", "Once more.", "--follow"], 0)?;
    world.types(&["land"], 0)?;
    let second = tip()?;
    world.types(&["land", "--undo"], 0)?;
    assert!(
        second != between && tip()? == between && is_ticked()?,
        "{start} {first} {between} {second}: {}\n{}",
        tip()?,
        world.repository.read("plan.md")?
    );
    world.types(&["land", "--undo"], 3)?;
    world.git(&format!("reset -q --hard {first}"))?;
    world.types(&["land", "--undo"], 0)?;
    assert!(
        tip()? == start && world.repository.read("plan.md")? == plan,
        "{start} {first} {second}: {}\n{}",
        tip()?,
        world.repository.read("plan.md")?
    );
    world.types(&["land", "--undo"], 3).map(drop)
}

/// If landed work was sent back and has no new result, undoing the landing opens its box again.
fn a_landing_is_taken_back_after_a_rejection() -> Outcome {
    let world = World::plain()?;
    let plan = "- [ ] T1 one\n";
    world.commit("plan.md", plan)?;
    let script = Script::default()
        .rule(write("T1", "one.txt", "1\n"))
        .rule(Rule::task("T1").text("Done."));
    let model = script.write_to(&world.home.path().join("model.jsonl"))?;
    world.types(&["run", "plan.md", "--model", &model], 0)?;
    world.types(&["land"], 0)?;
    world.types(&["reject", "T1", "-m", "Once more.", "--follow"], 1)?;
    let undone = world.types(&["land", "--undo"], 0)?;
    if world.repository.read("plan.md")? == plan {
        Ok(())
    } else {
        fail(format!("{}{}", undone.stdout, undone.stderr))
    }
}

/// A landed result that no run could start from can still be undone.
fn a_landed_filter_is_taken_back() -> Outcome {
    let world = World::plain()?;
    world.commit(
        "plan.md",
        "- [ ] T1 ask for a filter (run: echo '*.up filter=up' > .gitattributes)\n",
    )?;
    world.types(&["run", "plan.md"], 0)?;
    world.git("config filter.up.clean cat")?;
    world.types(&["land"], 0)?;
    world.types(&["run", "plan.md"], 2)?;
    world.types(&["land", "--undo"], 0)?;
    assert!(
        !world.repository.path().join(".gitattributes").exists(),
        "it is still there"
    );
    Ok(())
}

/// Landing an ended run only has to move the checkout, so it is possible where no new run could
/// start.
fn a_result_is_landed_beside_a_new_filter() -> Outcome {
    let world = World::plain()?;
    world
        .repository
        .write(".gitattributes", "*.up filter=up\n")?;
    world
        .repository
        .write("plan.md", "- [ ] T1 make (run: echo 1 > one.txt)\n")?;
    world.repository.commit_all("Plan")?;
    world.types(&["run", "plan.md"], 0)?;
    world.git("config filter.up.clean cat")?;
    world.types(&["land"], 0)?;
    assert_eq!(world.repository.read("one.txt")?, "1\n", "it is not there");
    Ok(())
}

/// A user who lands a part of a run is told what is not included.
fn what_is_not_part_of_a_landing_is_named() -> Outcome {
    let world = World::plain()?;
    world.repository.write(
        "plan.md",
        "- [ ] T1 one (run: false)\n- [ ] T2 two (run: touch two)\n- [-] T3 three\n",
    )?;
    world.types(&["run", "plan.md"], 1)?;
    let landed = world.types(&["land", "--json"], 0)?.json()?;
    let expected = json!(["T1 is failed: it is not included"]);
    assert_eq!(*at(&landed, "/warnings")?, expected, "{landed:#}");
    Ok(())
}

/// The base has four files; moving them loses none.
fn a_branch_that_deletes_most_files_is_a_high_risk() -> Outcome {
    let plan = "- [ ] T1 three (run: rm README.md kept.txt .gitignore)\n- [ ] T2 two (run: rm kept.txt .gitignore)\n\
                - [ ] T3 all (run: mkdir lib; mv README.md kept.txt src lib)\n";
    let reviewed = Reviewed::new(plan, &Script::default(), MergeMode::Review)?;
    let seen: Vec<_> = reviewed
        .review()?
        .iter()
        .map(|entry| (entry.risk, entry.loses_most))
        .collect();
    let expected = [(Risk::High, true), (Risk::Low, false), (Risk::Low, false)];
    assert_eq!(seen, expected);
    Ok(())
}

/// Follows a user through the commands, with the exit codes that scripts rely on.
fn the_program_reviews_approves_and_lands() -> Outcome {
    let world = World::lived_in()?;
    let plan = "- [ ] T1 one (run: echo 1 > one.txt)\n- [ ] T2 two (run: echo 2 > tests.txt)\n";
    world.repository.write("plan.md", plan)?;
    let before = world.repository.fingerprint()?;
    world.types(&["run", "plan.md", "--merge", "review"], 3)?;
    let reviewed = world.types(&["review", "--json"], 0)?.json()?;
    let seen = json!([
        at(&reviewed, "/items/0/task")?,
        at(&reviewed, "/items/0/state")?,
        at(&reviewed, "/items/0/files")?
    ]);
    if seen != json!(["T1", "awaiting_review", [{"path": "one.txt", "added": 1, "removed": 0}]]) {
        return fail(format!("{reviewed:#}"));
    }
    let patch = world.types(&["diff", "T1"], 0)?.stdout;
    assert!(patch.ends_with("@@ -0,0 +1 @@\n+1\n"), "{patch}");
    world.types(&["review", "T3"], 2)?;
    world.types(&["reject", "T1", "-m", " "], 2)?;
    world.types(&["reject", "T1", "-m", "Louder.", "--at", "one.txt"], 2)?;
    world.types(&["approve", "T1", "--follow"], 3)?;
    world.types(&["approve", "T1"], 2)?;
    let ended = world
        .types(&["approve", "T2", "--json", "--follow"], 0)?
        .json()?;
    before.require_same(&world.repository.fingerprint()?)?;
    let landed = world.types(&["land", "--json"], 0)?.json()?;
    if at(&landed, "/to")? != at(&ended, "/integration_commit")? {
        return fail(format!("{landed:#}\n{ended:#}"));
    }
    let reviewed = world.types(&["review", "T1"], 0)?.stdout;
    assert!(!reviewed.contains("orchestrate land"), "{reviewed}");
    let written = [
        world.repository.read("one.txt")?,
        world.repository.read("plan.md")?,
    ];
    if written != ["1\n".to_owned(), plan.replace("[ ]", "[x]")] {
        return fail(written.join("\n"));
    }
    world.types(&["land", "--undo"], 0)?;
    world.types(&["land", "--undo"], 3)?;
    assert!(
        world.repository.read("plan.md")? == plan
            && !world.repository.path().join("one.txt").exists(),
        "the landing was not undone"
    );
    let planned = world.types(&["clean", "--dry-run", "--json"], 0)?.json()?;
    let cleaned = world.types(&["clean", "--json"], 0)?.json()?;
    assert!(
        at(&planned, "/removed")? == at(&cleaned, "/removed")?
            && at(&cleaned, "/kept")? == &json!([]),
        "{planned:#}\n{cleaned:#}"
    );
    let kept = world.types(&["recover", "--json"], 0)?.json()?;
    let name = at(&kept, "/items/0/name")?.as_str().unwrap_or_default();
    let taken = world.types(&["recover", "--restore", name, "--branch", "main"], 3)?;
    if !taken.stderr.contains("branch main exists already") {
        return fail(taken.stderr);
    }
    world.types(&["recover", "--restore", name, "--branch", "rescued"], 0)?;
    let rescued = world.repository.show("rescued", "one.txt")?;
    assert_eq!(rescued, "1");
    Ok(())
}

fn a_commit_of_a_persons_in_a_worktree_is_kept() -> Outcome {
    let world = World::plain()?;
    world.repository.write(
        "plan.md",
        "- [ ] T1 Make one (run: echo 1 > one)\n- [ ] T2 Make two (run: echo 2 > two)\n",
    )?;
    world.types(&["run", "plan.md", "--merge", "review"], 3)?;
    let place = world.repository.worktree("T1")?.display().to_string();
    // One on top is no problem, and is kept if it is not taken; one in the place of the work is.
    world.repository.git(&[
        "-C",
        &place,
        "commit",
        "-q",
        "--amend",
        "-m",
        "Mended by hand",
    ])?;
    let refused = world.types(&["approve", "T2", "--follow"], 3)?.stderr;
    let commands: Vec<&str> = refused
        .split('`')
        .filter_map(|part| part.strip_prefix("git "))
        .collect();
    for command in &commands {
        world
            .repository
            .git(&command.split_whitespace().collect::<Vec<_>>())?;
    }
    let kept = world.git("log -1 --format=%s NAME")?;
    world.types(&["approve", "T2", "--follow"], 3)?;
    world.types(&["approve", "T1", "--follow"], 0)?;
    assert_eq!(commands.len(), 2, "{refused}");
    assert_eq!(kept.trim_end(), "Mended by hand", "{refused}");
    Ok(())
}
