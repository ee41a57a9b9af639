//! Landing, undoing it, cleaning and recovering, in a repository with local changes.

use std::cell::RefCell;
use std::path::PathBuf;

use libtest_mimic::Failed;
use orchestrate_coordinator::{
    Archive, Boxes, Brought, Cancel, CleanOptions, CoordinatorError, LandOptions, LandStyle,
    Landed, LandingError, PlanInput, ResultRefusal, Settings,
};
use orchestrate_core::{Oid, Report, RunId, RunSettings};

use crate::support::{
    Case, Outcome, Repository, Rule, Script, World, block_on, case, fail, plan_input, runtime,
    write,
};

/// Two independent tasks, in text that must stay byte for byte.
const PLAN: &str = "# Words\r\n\n- [ ] T1 one  \n* [ ] T2 two\n\n> not a task: [ ]\n- [x] T0 was done\n\nno end of line";

pub(crate) fn cases() -> Vec<Case> {
    vec![
        case!(a_fast_forward_lands_and_is_undone),
        case!(new_commits_are_merged_and_checked),
        case!(what_lands_is_the_very_tree_that_was_checked),
        case!(the_check_of_a_landing_has_what_every_worktree_has),
        case!(a_red_merge_is_refused),
        case!(a_conflict_is_refused),
        case!(overlapping_local_changes_are_refused),
        case!(a_checkout_in_conflict_is_refused),
        case!(a_branch_that_is_gone_or_rewound_is_refused),
        case!(a_detached_head_is_refused),
        case!(undo_refuses_once_the_branch_has_moved),
        case!(files_of_a_lost_landing_go_back_before_the_next),
        case!(a_plan_that_was_edited_is_left_alone),
        case!(a_plan_that_cannot_be_written_holds_up_nothing),
        case!(a_killed_landing_is_finished_by_the_next),
        case!(what_a_killed_landing_left_is_used_up),
        case!(cleaning_removes_what_is_kept_and_nothing_else),
        case!(cleaning_holds_files_that_only_a_passing_ref_has),
        case!(cleaning_keeps_what_git_ignores_until_told),
        case!(cleaning_without_gits_entries_removes_no_work),
        case!(a_broken_verifier_is_cleaned),
        case!(what_a_killed_cleaning_left_is_removed),
        case!(a_snapshot_that_cannot_be_read_is_named),
        case!(a_snapshot_is_restored_as_a_branch),
    ]
}

/// A run of two tasks that has ended, and the plan's file beside it.
struct Ended {
    world: World,
    report: Report,
    /// The folder of the run's worktrees.
    folder: PathBuf,
}

impl Ended {
    fn new(verify: Option<&str>) -> Result<Self, Failed> {
        let world = World::lived_in()?;
        world.repository.write("plan.md", PLAN)?;
        Self::of(world, |run| run.verify = verify.map(str::to_owned))
    }

    fn of(world: World, change: impl Fn(&mut RunSettings)) -> Result<Self, Failed> {
        let script = Script::default()
            .rule(write("T1", "one.txt", "1\n"))
            .rule(Rule::task("T1").text("Done."))
            .rule(write("T2", "kept.txt", "2\n"))
            .rule(Rule::task("T2").text("Done."));
        let coordinator = world.coordinator(&script, |settings| change(&mut settings.run))?;
        let plan = PlanInput {
            path: Some("plan.md".to_owned()),
            ..plan_input(PLAN)?
        };
        let report = runtime()?.block_on(coordinator.run(plan))?;
        let folder = coordinator.layout().run(&report.run_id).canonicalize()?;
        if report.exit_code == Some(0) {
            Ok(Self {
                world,
                report,
                folder,
            })
        } else {
            fail(format!("{report:#?}"))
        }
    }

    /// Runs the tasks, and creates their worktrees again, which go as soon as the work is merged: a
    /// person may have had a file there.
    fn with_worktrees(verify: Option<&str>) -> Result<Self, Failed> {
        let ended = Self::new(verify)?;
        for task in ["T1", "T2"] {
            ended.world.worktree_again(ended.run(), task)?;
        }
        Ok(ended)
    }

    fn runs(&self) -> Result<Archive, Failed> {
        self.world.archive()
    }

    fn run(&self) -> &RunId {
        &self.report.run_id
    }

    fn options(&self) -> LandOptions {
        let directory = self.world.repository.path().to_owned();
        LandOptions {
            directory,
            write_back: true,
            style: LandStyle::Merge,
            message: None,
            hooks: false,
            cancel: Cancel::new(),
        }
    }

    fn land(&self) -> Result<Landed, CoordinatorError> {
        let runs = Archive::open(
            self.world.repository.path(),
            Settings::new(self.world.home.state()),
        )?;
        block_on(runs.land(self.run(), &self.options()))
    }

    fn git(&self, arguments: &[&str]) -> Result<String, Failed> {
        self.world.repository.git(arguments)
    }

    fn look(&self) -> Result<String, Failed> {
        look(&self.world.repository)
    }

    /// Requires that landing is refused for this reason and that nothing of the user's has changed.
    fn require_refused(&self, is_reason: impl Fn(&CoordinatorError) -> bool) -> Outcome {
        let before = self.world.repository.fingerprint()?;
        self.require_refusal(is_reason)?;
        before.require_same(&self.world.repository.fingerprint()?)
    }

    fn require_refusal(&self, is_reason: impl Fn(&CoordinatorError) -> bool) -> Outcome {
        match self.land() {
            Err(error) if error.needs_person() && is_reason(&error) => Ok(()),
            other => fail(format!("{other:?}")),
        }
    }
}

/// Returns, as text, everything of the user's that landing may change only where it is supposed to;
/// reflogs and times are left out.
pub(crate) fn look(repository: &Repository) -> Result<String, Failed> {
    let mut look = String::new();
    let questions: [&[&str]; 8] = [
        &[
            "status",
            "--porcelain=v2",
            "--branch",
            "--ignored",
            "--untracked-files=all",
        ],
        &["diff"],
        &["diff", "--cached"],
        &["stash", "list"],
        &["stash", "show", "-p"],
        &[
            "for-each-ref",
            "refs/heads/main",
            "refs/heads/other",
            "refs/tags",
            "refs/stash",
        ],
        &["config", "--local", "--list"],
        &["ls-files", "--stage"],
    ];
    for question in questions {
        look.push_str(&repository.git(question)?);
        look.push('\n');
    }
    for file in [
        "plan.md",
        "kept.txt",
        "staged.txt",
        "src/lib.txt",
        "untracked/new file.txt",
        "debug.log",
    ] {
        look.push_str(&repository.read(file)?);
    }
    look.push_str(&repository.read(".git/hooks/pre-commit")?);
    Ok(look)
}

fn is(reason: fn(&ResultRefusal) -> bool) -> impl Fn(&CoordinatorError) -> bool {
    move |error| matches!(error, CoordinatorError::Landing(LandingError::Refused(refusal)) if reason(refusal))
}

/// Returns a check that an error is git's and contains this text.
fn says(text: &'static str) -> impl Fn(&CoordinatorError) -> bool {
    move |error| matches!(error, CoordinatorError::Git(_)) && error.to_string().contains(text)
}

fn same<T: PartialEq + std::fmt::Debug>(actual: &T, expected: &T) -> Outcome {
    assert_eq!(
        actual, expected,
        "got {actual:#?}\ninstead of {expected:#?}"
    );
    Ok(())
}

fn a_fast_forward_lands_and_is_undone() -> Outcome {
    let ended = Ended::new(None)?;
    let before = ended.look()?;
    let base = ended.report.base_commit.clone();
    let landed = ended.land()?;
    let repository = &ended.world.repository;
    let plan = repository.path().join("plan.md");
    let expected = Landed {
        run: ended.run().clone(),
        branch: "main".to_owned(),
        from: base.clone(),
        to: ended.report.integration_commit.clone(),
        brought: Brought::FastForward,
        checkout: Some(repository.path().to_owned()),
        boxes: Boxes::Written(plan),
        is_empty: false,
        is_signed: None,
        skipped_hooks: Vec::new(),
        warnings: Vec::new(),
    };
    same(&landed, &expected)?;
    same(
        &[repository.read("one.txt")?, repository.read("kept.txt")?],
        &["1\n".to_owned(), "2\n".to_owned()],
    )?;
    let ticked = PLAN
        .replace("- [ ] T1", "- [x] T1")
        .replace("* [ ] T2", "* [x] T2");
    same(&repository.read("plan.md")?, &ticked)?;
    let status = " M src/lib.txt\nAM staged.txt\n?? plan.md\n?? untracked/";
    same(&ended.git(&["status", "--porcelain"])?, &status.to_owned())?;
    let again = ended.land()?;
    same(
        &[again.from, again.to],
        &[landed.to.clone(), landed.to.clone()],
    )?;
    what_was_taken_back_by_hand_stays(&ended)?;
    let undone = block_on(ended.runs()?.unland(ended.run(), &ended.options()))?;
    same(&[undone.from, undone.to], &[landed.to, base])?;
    same(&ended.look()?, &before)?;
    match block_on(ended.runs()?.unland(ended.run(), &ended.options())) {
        Err(CoordinatorError::Landing(LandingError::Refused(ResultRefusal::NotLanded {
            ..
        }))) => Ok(()),
        other => fail(format!("{other:?}")),
    }
}

/// The user stages the files of before the landing, and unticks the boxes: landing again says so
/// and changes nothing.
fn what_was_taken_back_by_hand_stays(ended: &Ended) -> Outcome {
    let repository = &ended.world.repository;
    let (landed, ticked) = (ended.look()?, repository.read("plan.md")?);
    let source = format!("--source={}", ended.report.base_commit);
    ended.git(&[
        "restore",
        &source,
        "--staged",
        "--worktree",
        "one.txt",
        "kept.txt",
    ])?;
    repository.write("plan.md", PLAN)?;
    let taken_back = ended.look()?;
    let again = ended.land()?;
    let is_told = again
        .warnings
        .iter()
        .any(|warning| warning.contains("take it back; they were left as they are"));
    same(
        &(again.brought, again.boxes, is_told),
        &(Brought::Nothing, Boxes::Nothing, true),
    )?;
    same(&ended.look()?, &taken_back)?;
    ended.git(&["restore", "--staged", "--worktree", "one.txt", "kept.txt"])?;
    repository.write("plan.md", &ticked)?;
    same(&ended.look()?, &landed)
}

fn commit_on_main(ended: &Ended, file: &str, text: &str) -> Result<Oid, Failed> {
    ended.world.repository.write(file, text)?;
    ended.git(&["add", file])?;
    ended.git(&["commit", "-q", "-m", "Meanwhile", "--", file])?;
    Ok(Oid::new(ended.git(&["rev-parse", "HEAD"])?))
}

fn new_commits_are_merged_and_checked() -> Outcome {
    let ended = Ended::new(Some("test ! -e red.txt"))?;
    let tip = commit_on_main(&ended, "meanwhile.txt", "m\n")?;
    let before = ended.look()?;
    let landed = ended.land()?;
    same(
        &(landed.brought, landed.from),
        &(Brought::Merge, tip.clone()),
    )?;
    let parents = ended.git(&["log", "-1", "--format=%P %s", "main"])?;
    let title = format!(
        "{tip} {} Merge run {}: Words",
        ended.report.integration_commit,
        ended.run()
    );
    same(&parents, &title)?;
    let repository = &ended.world.repository;
    let texts = [
        repository.read("one.txt")?,
        repository.read("meanwhile.txt")?,
        repository.read("kept.txt")?,
    ];
    same(&texts, &["1\n", "m\n", "2\n"].map(str::to_owned))?;
    block_on(ended.runs()?.unland(ended.run(), &ended.options()))?;
    same(&ended.look()?, &before)
}

/// A command that prints the files of a folder with a hash of each, without git's own and those
/// that the checks write.
const LOOK: &str =
    "find . -name .git -prune -o -type f ! -name '*.log' -exec sha256sum {} + | LC_ALL=C sort";

/// Each check records the files that it sees, changes one, and leaves one behind that is in no
/// tree.
fn what_lands_is_the_very_tree_that_was_checked() -> Outcome {
    let ended = Ended::new(Some(&format!(
        "{LOOK} > $(mktemp seen-XXXXXX.log) && date > kept.txt && touch left"
    )))?;
    let merges = ended.git(&[
        "rev-list",
        "--first-parent",
        &format!("main..{}", ended.report.integration_commit),
    ])?;
    commit_on_main(&ended, "meanwhile.txt", "m\n")?;
    let landed = ended.land()?.to;
    same(&ended.git(&["rev-parse", "main"])?, &landed.to_string())?;
    let folder = ended.folder.join("+verifier");
    let mut seen = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with("seen-") {
            seen.push(std::fs::read_to_string(entry.path())?);
        }
    }
    let brought = merges
        .lines()
        .chain([landed.as_str()])
        .map(|commit| look_into(&ended, commit));
    let mut brought = brought.collect::<Result<Vec<_>, _>>()?;
    seen.sort();
    brought.sort();
    same(&brought.len(), &3)?;
    same(&seen, &brought)
}

/// Returns the files of a commit as a check of it has to see them.
fn look_into(ended: &Ended, commit: &str) -> Result<String, Failed> {
    let folder = tempfile::tempdir()?;
    let command = format!("git archive {commit} | tar -x -C \"$0\" && cd \"$0\" && {LOOK}");
    let typed = ["-c", &command, &folder.path().display().to_string()];
    Ok(ended
        .world
        .home
        .command("sh", ended.world.repository.path(), &typed)
        .run()?
        .exits(0)?
        .stdout)
}

fn the_check_of_a_landing_has_what_every_worktree_has() -> Outcome {
    let world = World::lived_in()?;
    world
        .repository
        .write("local.log", "ignored, and wanted everywhere\n")?;
    world.repository.write(".worktreeinclude", "local.log\n")?;
    let ended = Ended::of(world, |run| {
        run.worktree_setup = Some("mkdir -p made.log && echo x > made.log/x".to_owned());
        run.verify = Some("test -e local.log && test -e made.log/x".to_owned());
    })?;
    // Otherwise the files that the run's own checks left would be enough for this check, too.
    block_on(ended.runs()?.clean(
        ended.run(),
        CleanOptions {
            ignored: true,
            ..CleanOptions::default()
        },
    ))?;
    commit_on_main(&ended, "meanwhile.txt", "m\n")?;
    same(&ended.land()?.brought, &Brought::Merge)
}

fn a_red_merge_is_refused() -> Outcome {
    let ended = Ended::new(Some("test ! -e red.txt || { echo it is red; exit 3; }"))?;
    commit_on_main(&ended, "red.txt", "r\n")?;
    ended.require_refused(|error| {
        let message = error.to_string();
        is(|refusal| matches!(refusal, ResultRefusal::RedCheck { .. }))(error)
            && message.contains("it is red")
    })
}

fn a_conflict_is_refused() -> Outcome {
    let ended = Ended::new(None)?;
    commit_on_main(&ended, "kept.txt", "mine\n")?;
    ended.require_refused(is(
        |refusal| matches!(refusal, ResultRefusal::Conflict { files, .. } if files == &["kept.txt (contents)".to_owned()]),
    ))
}

fn overlapping_local_changes_are_refused() -> Outcome {
    let ended = Ended::new(None)?;
    // Git compares the files here, and like each of its commands it updates their times in the
    // index.
    let refused = |reason| {
        let before = ended.look()?;
        ended.require_refusal(says(reason))?;
        same(&ended.look()?, &before)
    };
    ended.world.repository.write("kept.txt", "half an edit\n")?;
    refused("it would overwrite local changes in kept.txt")?;
    ended.world.repository.write("kept.txt", "kept\n")?;
    ended.world.repository.write("one.txt", "untracked\n")?;
    refused("it would overwrite local changes in one.txt")?;
    std::fs::remove_file(ended.world.repository.path().join("one.txt"))?;
    same(&ended.land()?.to, &ended.report.integration_commit)
}

/// The conflict is as `git stash pop` leaves it; git itself moves nothing then, whether or not
/// these files overlap.
fn a_checkout_in_conflict_is_refused() -> Outcome {
    let ended = Ended::new(None)?;
    ended.world.repository.write("src/lib.txt", "stashed\n")?;
    ended.git(&["stash", "push", "-q", "--", "src/lib.txt"])?;
    commit_on_main(&ended, "src/lib.txt", "committed\n")?;
    assert!(
        ended.git(&["stash", "pop", "-q"]).is_err(),
        "there is no conflict"
    );
    ended.require_refused(says(
        "it has conflicts (src/lib.txt); resolve each file and `git add`",
    ))?;
    ended.git(&["add", "src/lib.txt"])?;
    ended.land().map(drop).map_err(Failed::from)
}

fn a_branch_that_is_gone_or_rewound_is_refused() -> Outcome {
    let ended = Ended::new(None)?;
    ended.git(&["checkout", "-q", "-b", "elsewhere"])?;
    ended.git(&["branch", "-q", "-f", "main", "HEAD~1"])?;
    ended.require_refused(is(|refusal| {
        matches!(refusal, ResultRefusal::BaseLost { .. })
    }))?;
    ended.git(&["branch", "-q", "-D", "main"])?;
    ended.require_refused(says("the branch is gone"))
}

fn a_detached_head_is_refused() -> Outcome {
    let world = World::lived_in()?;
    world.repository.write("plan.md", PLAN)?;
    world.git("checkout -q --detach")?;
    Ended::of(world, |_| {})?.require_refused(is(|refusal| {
        matches!(refusal, ResultRefusal::DetachedHead { .. })
    }))
}

fn undo_refuses_once_the_branch_has_moved() -> Outcome {
    let ended = Ended::new(None)?;
    ended.land()?;
    commit_on_main(&ended, "later.txt", "l\n")?;
    let before = ended.world.repository.fingerprint()?;
    match block_on(ended.runs()?.unland(ended.run(), &ended.options())) {
        Err(CoordinatorError::Landing(LandingError::Refused(ResultRefusal::MovedSince {
            ..
        }))) => before.require_same(&ended.world.repository.fingerprint()?),
        other => fail(format!("{other:?}")),
    }
}

/// Another process moves the branch while git writes the checkout, and git fails to restore the
/// files that it has written.
fn files_of_a_lost_landing_go_back_before_the_next() -> Outcome {
    let ended = Ended::new(None)?;
    let (repository, base) = (
        &ended.world.repository,
        ended.report.base_commit.to_string(),
    );
    let conflicting = ended.git(&[
        "commit-tree",
        "-p",
        "HEAD",
        "-m",
        "Meanwhile",
        "stash@{0}^{tree}",
    ])?;
    ended.git(&["update-ref", "refs/heads/main", &conflicting])?;
    let expected = ended.look()?;
    ended.git(&["update-ref", "refs/heads/main", &base])?;
    let script = format!(
        "echo >> .git/times; case $(wc -l < .git/times) in 1) git --git-dir=.git update-ref refs/heads/main {conflicting};; 2) exit 1;; esac; cat"
    );
    let configuration = ended
        .world
        .home
        .path()
        .join("gitconfig")
        .display()
        .to_string();
    for (key, value) in [
        ("smudge", script.as_str()),
        ("clean", "cat"),
        ("required", "true"),
    ] {
        ended.git(&[
            "config",
            "--file",
            &configuration,
            &format!("filter.mine.{key}"),
            value,
        ])?;
    }
    repository.write(".git/info/attributes", "kept.txt filter=mine\n")?;
    let landing = ended.world.orchestrate(&["land", ended.run().as_str()]);
    let landed = landing.env("GIT_CONFIG_GLOBAL", &configuration).run()?;
    if !landed.stderr.contains("already contains the files of") {
        return fail(landed.stdout + &landed.stderr);
    }
    ended.require_refusal(is(|refusal| {
        matches!(refusal, ResultRefusal::Conflict { .. })
    }))?;
    same(&ended.look()?, &expected)
}

fn a_plan_that_was_edited_is_left_alone() -> Outcome {
    let ended = Ended::new(None)?;
    ended
        .world
        .repository
        .write("plan.md", &format!("{PLAN}\n- [ ] one more\n"))?;
    let edited = ended.world.repository.read("plan.md")?;
    let left = Boxes::Left {
        plan: "plan.md".to_owned(),
        reason: "it has changed since the run began".to_owned(),
    };
    same(&ended.land()?.boxes, &left)?;
    same(&ended.world.repository.read("plan.md")?, &edited)
}

fn a_plan_that_cannot_be_written_holds_up_nothing() -> Outcome {
    let ended = Ended::new(None)?;
    // The file is written here before it takes the plan's place.
    let taken = ended
        .world
        .repository
        .path()
        .join(format!(".plan.md.{}", ended.run()));
    std::fs::create_dir(&taken)?;
    let require_left = |boxes: &Boxes| match boxes {
        Boxes::Left { reason, .. } if reason.starts_with("it cannot be written: ") => Ok(()),
        other => fail(format!("{other:?}")),
    };
    require_left(&ended.land()?.boxes)?;
    std::fs::remove_dir(&taken)?;
    same(
        &ended.land()?.boxes,
        &Boxes::Written(ended.world.repository.path().join("plan.md")),
    )?;
    std::fs::create_dir(&taken)?;
    require_left(&block_on(ended.runs()?.unland(ended.run(), &ended.options()))?.boxes)?;
    same(
        &ended.git(&["rev-parse", "main"])?,
        &ended.report.base_commit.to_string(),
    )?;
    same(
        &ended.runs()?.store().state(ended.run())?.landings,
        &Vec::new(),
    )
}

fn a_killed_landing_is_finished_by_the_next() -> Outcome {
    let ended = Ended::new(None)?;
    let runs = ended.runs()?;
    let (from, to) = (
        ended.report.base_commit.clone(),
        ended.report.integration_commit.clone(),
    );
    // The state that a kill leaves between the fact and the act.
    let journal = orchestrate_journal::Journal::resume(runs.store(), ended.run())?;
    let fact = orchestrate_core::Event::LandingStarted {
        branch: "main".to_owned(),
        from,
        to: to.clone(),
    };
    journal.append_blocking(fact)?;
    drop(journal);
    let seq = runs.store().state(ended.run())?.seq;
    same(&ended.land()?.to, &to)?;
    same(&runs.store().state(ended.run())?.seq, &(seq + 1))?;
    same(&ended.git(&["rev-parse", "main"])?, &to.to_string())
}

/// The state that a kill leaves while the merged tree is checked, and while the boxes are written.
fn what_a_killed_landing_left_is_used_up() -> Outcome {
    let ended = Ended::new(Some("test ! -e red.txt"))?;
    commit_on_main(&ended, "meanwhile.txt", "m\n")?;
    let repository = &ended.world.repository;
    let entries = std::fs::read_dir(repository.path().join(".git/worktrees"))?
        .collect::<Result<Vec<_>, _>>()?;
    let of_verifier = |entry: &std::fs::DirEntry| {
        std::fs::read_to_string(entry.path().join("gitdir"))
            .is_ok_and(|path| path.contains("/+verifier/"))
    };
    let entry = entries
        .into_iter()
        .find(of_verifier)
        .ok_or_else(|| Failed::from("there is no verifier"))?;
    let lock = entry.path().join("index.lock");
    std::fs::write(&lock, "")?;
    let half_written = format!(".plan.md.{}", ended.run());
    repository.write(&half_written, "half")?;
    let landed = ended.land()?;
    same(
        &(landed.brought, landed.boxes),
        &(
            Brought::Merge,
            Boxes::Written(repository.path().join("plan.md")),
        ),
    )?;
    same(
        &[lock, repository.path().join(half_written)].map(|path| path.exists()),
        &[false, false],
    )
}

fn cleaning_removes_what_is_kept_and_nothing_else() -> Outcome {
    let ended = Ended::with_worktrees(Some("true"))?;
    let (runs, before) = (ended.runs()?, ended.world.repository.fingerprint()?);
    let refs = ended.git(&["for-each-ref"])?;
    let places = ended.git(&["worktree", "list", "--porcelain"])?;
    let unkept = ended.folder.join("T2/unkept.txt");
    std::fs::write(&unkept, "nowhere else\n")?;
    let names = |cleaned: &orchestrate_coordinator::Cleaned| -> Vec<String> {
        let removed = cleaned
            .removed
            .iter()
            .map(|(task, _)| format!("- {task:?}"));
        removed
            .chain(cleaned.kept.iter().map(|kept| format!("+ {}", kept.task)))
            .collect()
    };
    let expected = [r#"- Some(TaskId("T1"))"#, "- None", "+ T2"]
        .map(str::to_owned)
        .to_vec();
    let planned = block_on(runs.clean(
        ended.run(),
        CleanOptions {
            dry_run: true,
            ..CleanOptions::default()
        },
    ))?;
    same(&names(&planned), &expected)?;
    same(&ended.git(&["worktree", "list", "--porcelain"])?, &places)?;
    let cleaned = block_on(runs.clean(ended.run(), CleanOptions::default()))?;
    same(&cleaned, &planned)?;
    same(
        &std::fs::read_to_string(&unkept)?,
        &"nowhere else\n".to_owned(),
    )?;
    same(
        &cleaned.removed.iter().any(|(_, path)| path.exists()),
        &false,
    )?;
    std::fs::remove_file(&unkept)?;
    same(
        &names(&block_on(runs.clean(ended.run(), CleanOptions::default()))?),
        &vec![r#"- Some(TaskId("T2"))"#.to_owned()],
    )?;
    same(&ended.git(&["for-each-ref"])?, &refs)?;
    same(&ended.git(&["worktree", "list"])?.lines().count(), &1)?;
    before.require_same(&ended.world.repository.fingerprint()?)
}

/// The files are those before the agent's last command, which changed nothing, and were not stored
/// after it.
fn cleaning_holds_files_that_only_a_passing_ref_has() -> Outcome {
    let ended = Ended::with_worktrees(None)?;
    let (runs, worktree) = (ended.runs()?, ended.folder.join("T2"));
    std::fs::write(worktree.join("kept.txt"), "nowhere else\n")?;
    let commit = ended.git(&["-C", &worktree.display().to_string(), "stash", "create"])?;
    let before = format!("refs/orchestrate/keep/{}/T2/before-command", ended.run());
    ended.git(&["update-ref", &before, &commit])?;
    let cleaned = block_on(runs.clean(ended.run(), CleanOptions::default()))?;
    same(&(cleaned.kept.len(), worktree.exists()), &(0, false))?;
    let holders = ended.git(&[
        "for-each-ref",
        "--points-at",
        &commit,
        "--format=%(refname)",
    ])?;
    same(
        &holders,
        &format!("refs/orchestrate/keep/{}/T2/cleaned-{commit}", ended.run()),
    )?;
    same(
        &ended.world.repository.show(&commit, "kept.txt")?,
        &"nowhere else".to_owned(),
    )
}

/// The checkout also has T2's `debug.log`, so only T1's files would be lost with a worktree. No
/// agent works in the verifier, so its files do not count.
fn cleaning_keeps_what_git_ignores_until_told() -> Outcome {
    let ended = Ended::with_worktrees(Some("echo built > out.log"))?;
    let (runs, folder) = (ended.runs()?, ended.folder.clone());
    let precious = folder.join("T1/.precious.log");
    std::fs::write(&precious, "nowhere else\n")?;
    for built in 1..=7 {
        let place = folder.join(format!("T1/{built}.log"));
        std::fs::create_dir(&place)?;
        std::fs::write(place.join("object"), "built\n")?;
    }
    std::fs::copy(
        ended.world.repository.path().join("debug.log"),
        folder.join("T2/debug.log"),
    )?;
    let clean =
        |dry_run, ignored| block_on(runs.clean(ended.run(), CleanOptions { dry_run, ignored }));
    let tasks = |cleaned: &orchestrate_coordinator::Cleaned| -> Vec<String> {
        cleaned
            .removed
            .iter()
            .map(|(task, _)| task.as_ref().map_or_else(String::new, ToString::to_string))
            .collect()
    };
    let planned = clean(true, false)?;
    // The control: T2's ignored file is in the checkout, too, so its worktree goes, as T1's does
    // once it is told to.
    same(&tasks(&planned), &["T2", ""].map(str::to_owned).to_vec())?;
    let [kept] = &planned.kept[..] else {
        return fail(format!("{planned:#?}"));
    };
    same(&kept.ignored.len(), &8)?;
    let named = "no commit has .precious.log, 1.log/, 2.log/, 3.log/, 4.log/, and 3 more,";
    same(&kept.reason.starts_with(named), &true).map_err(|_| Failed::from(kept.reason.clone()))?;
    same(&clean(false, false)?, &planned)?;
    same(&folder.join("T2").exists(), &false)?;
    same(
        &std::fs::read_to_string(&precious)?,
        &"nowhere else\n".to_owned(),
    )?;
    same(&tasks(&clean(true, true)?), &vec!["T1".to_owned()])?;
    same(&precious.exists(), &true)?;
    same(&tasks(&clean(false, true)?), &vec!["T1".to_owned()])?;
    same(&folder.exists(), &false)
}

/// The state that a kill leaves between moving the files away and removing git's entry for them,
/// and while they are deleted.
fn what_a_killed_cleaning_left_is_removed() -> Outcome {
    let ended = Ended::with_worktrees(None)?;
    let (runs, refs) = (ended.runs()?, ended.git(&["for-each-ref"])?);
    let folder = ended.folder.clone();
    let trash = folder
        .ancestors()
        .nth(2)
        .ok_or_else(|| Failed::from("there is no trash"))?
        .join("trash");
    std::fs::create_dir_all(trash.join("worktree-1"))?;
    std::fs::rename(folder.join("T1"), trash.join("worktree-1/T1"))?;
    block_on(runs.clean(ended.run(), CleanOptions::default()))?;
    same(&std::fs::read_dir(&trash)?.count(), &0)?;
    same(&ended.git(&["worktree", "list"])?.lines().count(), &1)?;
    same(&ended.git(&["for-each-ref"])?, &refs)
}

/// No agent works in the verifier, so it is removed in whatever state it is, and nothing else is
/// kept because of it.
fn a_broken_verifier_is_cleaned() -> Outcome {
    let ended = Ended::with_worktrees(Some("true"))?;
    let folder = ended.folder.clone();
    std::fs::write(folder.join("+verifier/.git"), "gitdir: /nowhere\n")?;
    let cleaned = block_on(ended.runs()?.clean(ended.run(), CleanOptions::default()))?;
    same(
        &(cleaned.removed.len(), cleaned.kept.len(), folder.exists()),
        &(3, 0, false),
    )
}

/// The verifier is removed; the worktrees of tasks, for which git has no entry any more, are kept
/// and named.
fn cleaning_without_gits_entries_removes_no_work() -> Outcome {
    let ended = Ended::with_worktrees(Some("true"))?;
    let folder = ended.folder.clone();
    std::fs::remove_dir_all(ended.world.repository.path().join(".git/worktrees"))?;
    let cleaned = block_on(ended.runs()?.clean(ended.run(), CleanOptions::default()))?;
    let names = |kept: &orchestrate_coordinator::KeptWorktree| {
        kept.reason.contains("inspect its files, and delete")
    };
    let removed: Vec<_> = cleaned
        .removed
        .iter()
        .map(|(task, _)| task.clone())
        .collect();
    same(
        &(removed, cleaned.kept.iter().map(names).collect()),
        &(vec![None], vec![true, true]),
    )?;
    let left = ["T1", "T2", "+verifier"].map(|name| folder.join(name).exists());
    same(&left, &[true, true, false])
}

fn a_snapshot_is_restored_as_a_branch() -> Outcome {
    let ended = Ended::new(None)?;
    let (runs, before) = (ended.runs()?, ended.world.repository.fingerprint()?);
    let kept = runs.kept(ended.run())?;
    let Some(first) = kept.iter().find(|kept| kept.name.starts_with("T1/")) else {
        return fail(format!("{kept:#?}"));
    };
    let branch = runs.recover(ended.run(), &first.name, None)?;
    same(
        &branch,
        &format!("orchestrate/recovered/{}/{}", ended.run(), first.name),
    )?;
    same(
        &ended.git(&["rev-parse", &branch])?,
        &first.commit.to_string(),
    )?;
    same(
        &ended.world.repository.show(&branch, "one.txt")?,
        &"1".to_owned(),
    )?;
    before.require_same(&ended.world.repository.fingerprint()?)?;
    match runs.recover(ended.run(), "T1/99", None) {
        Err(LandingError::Refused(ResultRefusal::NoSnapshot { .. })) => Ok(()),
        other => fail(format!("{other:?}")),
    }
}

fn a_snapshot_that_cannot_be_read_is_named() -> Outcome {
    let ended = Ended::new(None)?;
    let kept = ended.runs()?.kept(ended.run())?;
    let reference = format!("refs/orchestrate/keep/{}/T1/damaged", ended.run());
    ended.world.repository.write(
        &format!(".git/{reference}"),
        &format!("{}\n", "1".repeat(40)),
    )?;
    thread_local!(static TOLD: RefCell<String> = const { RefCell::new(String::new()) });
    let runs = ended
        .runs()?
        .telling(|text| TOLD.with_borrow_mut(|told| told.push_str(text)));
    same(&runs.kept(ended.run())?, &kept)?;
    let told = TOLD.with_borrow(Clone::clone);
    assert!(
        told.contains(&format!("{reference} cannot be restored")),
        "{told}"
    );
    Ok(())
}
