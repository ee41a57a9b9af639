//! Checks that fail at random: how much work is blamed for them.

use orchestrate_core::checks::flaky::AfterRedCheck;
use orchestrate_core::event::{Event, VerifyScope};
use orchestrate_core::{
    BlobId, CheckVerdict, Evidence, MergeStep, Oid, RunSettings, RunState, Task, TaskId,
};

use crate::facts::{
    cancelled, committed, merge_prepared, merge_started, ready, recorded, resumed, spawned,
    started, verified,
};

/// The run's check, and that of each task.
const CHECK: &str = "check";
/// How often a flaky check fails, of a hundred times.
const FAILS: u64 = 40;
/// Determines the checks. The numbers that are to be expected are 10 and 0.6, see the exact
/// probabilities below; about one seed in twenty exceeds the promise by chance.
const SEED: u64 = 8;
/// The tree of the run's base.
const BASE_TREE: &str = "tree of base";

/// A run whose tasks are checked.
#[derive(Clone)]
struct Checked(RunState);

/// What became of a task's work.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fate {
    Merged,
    Blamed,
}

/// A generator of pseudo-random numbers, Sebastiano Vigna's splitmix64 (public domain).
struct Random(u64);

impl Random {
    fn percent(&mut self, chance: u64) -> bool {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % 100 < chance
    }
}

impl Checked {
    /// Starts a run with this many tasks on a base that has passed the check.
    fn run(retries: u32, tasks: usize) -> Self {
        let settings = RunSettings {
            verify: Some(CHECK.to_owned()),
            verify_retries: retries,
            ..RunSettings::default()
        };
        let mut run = Self(RunState::begin(&recorded(1, started(settings))).unwrap());
        for number in 0..tasks {
            let (id, verify) = (TaskId::new(format!("t{number}")), Some(CHECK.to_owned()));
            run.tell(Event::planned(Task {
                id,
                verify,
                ..Task::default()
            }));
        }
        run.base_verified(true);
        run
    }

    fn tell(&mut self, event: Event) {
        let seq = self.0.seq + 1;
        self.0.apply(&recorded(seq, event)).unwrap();
    }

    fn base_verified(&mut self, passed: bool) {
        self.base_ended(CHECK, passed);
    }

    /// Records how the check of the base has ended: by this command, its own or that of the setup.
    fn base_ended(&mut self, command: &str, passed: bool) {
        let (tree, command, exit) = (Oid::from(BASE_TREE), command.to_owned(), "exit".to_owned());
        let output = Some(BlobId::from("output"));
        self.tell(Event::BaseVerified {
            tree,
            command,
            passed,
            exit,
            output,
            duration_ms: 1,
        });
    }

    /// Lets a task hand its work over, which its own check may fail.
    fn commit(&mut self, task: &TaskId) {
        let (commit, tree) = (format!("{task}'s"), format!("{task}'s tree"));
        self.tell(ready(task.clone()));
        self.tell(spawned(task.clone(), 1));
        self.tell(committed(task.clone(), Oid::new(commit), Oid::new(tree)));
    }

    /// Begins the next merge, whose tree is new.
    fn begin_merge(&mut self) {
        let Some(MergeStep::Merge {
            task,
            target,
            candidate,
            ..
        }) = self.0.next_merge()
        else {
            panic!("nothing to merge: {:?}", self.0.next_merge());
        };
        let commit = Oid::new(format!("merge of {task}"));
        let tree = Oid::new(format!("tree with {task}"));
        self.tell(merge_started(task.clone(), target, candidate));
        self.tell(merge_prepared(task, commit, tree));
    }

    fn finished(&mut self, scope: VerifyScope, (task, tree): (&TaskId, &Oid), passed: bool) {
        self.tell(verified(task.clone(), scope, tree.clone(), passed));
    }

    /// Returns which check of the merge in progress is next, or what has become of the work.
    fn next(&self) -> Result<(VerifyScope, TaskId, Oid), Fate> {
        match self.0.next_merge() {
            Some(MergeStep::Verify { task, tree, .. }) => Ok((VerifyScope::Run, task, tree)),
            Some(MergeStep::VerifyTarget { task, commit, .. }) => {
                let tree = if commit == self.0.base {
                    Oid::from(BASE_TREE)
                } else {
                    tree_of(&commit)
                };
                Ok((VerifyScope::Target, task, tree))
            }
            Some(MergeStep::Advance { .. }) => Err(Fate::Merged),
            Some(MergeStep::Return { .. } | MergeStep::GiveUp { .. }) => Err(Fate::Blamed),
            other => panic!("{other:?}"),
        }
    }

    /// Carries out a merge with checks that fail at random, and returns what becomes of the work.
    fn merge(&mut self, random: &mut Random) -> Fate {
        self.begin_merge();
        loop {
            match self.next() {
                Ok((scope, task, tree)) => {
                    self.finished(scope, (&task, &tree), !random.percent(FAILS))
                }
                Err(fate) => return fate,
            }
        }
    }

    /// Returns the probability that the work of the merge in progress is blamed, over all ways in
    /// which the checks can end.
    fn blame(&self) -> f64 {
        let (scope, task, tree) = match self.next() {
            Ok(check) => check,
            Err(fate) => return f64::from(u8::from(fate == Fate::Blamed)),
        };
        let after = |passed: bool| {
            let mut run = self.clone();
            run.finished(scope, (&task, &tree), passed);
            run.blame()
        };
        0.4 * after(false) + 0.6 * after(true)
    }
}

fn tree_of(merge: &Oid) -> Oid {
    Oid::new(merge.as_str().replace("merge of", "tree with"))
}

/// Returns the task whose own check passes at once.
fn checked(run: &mut Checked, number: usize) {
    let task = TaskId::new(format!("t{number}"));
    run.commit(&task);
    run.finished(
        VerifyScope::Task,
        (&task, &Oid::new(format!("{task}'s tree"))),
        true,
    );
}

#[test]
fn of_a_hundred_checks_that_fail_at_random_few_are_blamed() {
    for (retries, most) in [(1, 15), (4, 2)] {
        // Each is the first of its run, so that nothing is known of the check: the worst case.
        let mut random = Random(SEED);
        let of_fresh_run = |_: usize| {
            let mut run = Checked::run(retries, 1);
            checked(&mut run, 0);
            run.merge(&mut random)
        };
        let blamed = (0..100)
            .map(of_fresh_run)
            .filter(|fate| *fate == Fate::Blamed)
            .count();
        assert!(
            blamed <= most,
            "verify_retries = {retries}: {blamed} blamed"
        );
        // All of one run.
        let (mut run, mut random) = (Checked::run(retries, 100), Random(SEED));
        let mut blamed = 0;
        for number in 0..100 {
            checked(&mut run, number);
            let fate = run.merge(&mut random);
            blamed += usize::from(fate == Fate::Blamed);
            let (task, target) = (TaskId::new(format!("t{number}")), run.0.integration.clone());
            run.tell(match fate {
                Fate::Merged => {
                    let commit = Some(Oid::new(format!("merge of {task}")));
                    Event::TaskMerged {
                        task,
                        commit,
                        target: Some(target),
                        summary: None,
                    }
                }
                Fate::Blamed => cancelled(task, ""),
            });
        }
        assert!(
            blamed <= most,
            "verify_retries = {retries}: {blamed} blamed in one run"
        );
    }
}

/// Over all ways in which the checks can end: no seed decides.
#[test]
fn the_probability_of_blame_is_as_low_as_promised() {
    let first = |retries: u32| {
        let mut run = Checked::run(retries, 1);
        checked(&mut run, 0);
        run.begin_merge();
        run.blame()
    };
    assert!((first(0) - 0.4).abs() < 1e-9, "{}", first(0));
    assert!(first(1) < 0.101, "{}", first(1));
    assert!(first(4) < 0.0065, "{}", first(4));
    let mut known = Checked::run(1, 1);
    known.base_verified(false);
    checked(&mut known, 0);
    known.begin_merge();
    assert!(
        (known.blame() - 0.4_f64.powi(5)).abs() < 1e-9,
        "{}",
        known.blame()
    );
}

/// Plays tries of the merged tree and of the one without the work, `+` or `-`, and returns what
/// becomes of the work.
fn fate(run: &mut Checked, tries: &str) -> Option<Fate> {
    for passed in tries.chars().map(|mark| mark == '+') {
        let (scope, task, tree) = run.next().unwrap();
        run.finished(scope, (&task, &tree), passed);
    }
    run.next().err()
}

#[test]
fn a_red_tree_is_blamed_only_after_each_try() {
    let table = [
        ("+", Some(Fate::Merged)),
        ("-", None),
        ("-+", Some(Fate::Merged)),
        ("--", None),
        // Without the work it is green.
        ("--+", Some(Fate::Blamed)),
        // Without the work it was green, and is red now: the check is flaky.
        ("---", None),
        ("----+", Some(Fate::Merged)),
        ("-----", None),
        ("------", Some(Fate::Blamed)),
    ];
    for (tries, expected) in table {
        let mut run = Checked::run(1, 1);
        checked(&mut run, 0);
        run.begin_merge();
        assert_eq!(fate(&mut run, tries), expected, "{tries}");
        if expected == Some(Fate::Blamed) {
            let Some(MergeStep::Return {
                evidence:
                    Evidence::Check {
                        tries: shown,
                        on_target,
                        ..
                    },
                ..
            }) = run.0.next_merge()
            else {
                panic!("{:?}", run.0.next_merge());
            };
            let red_without = on_target.map(|tried| !tried.passed);
            let expected = if tries == "--+" {
                (2, Some(false))
            } else {
                (5, Some(true))
            };
            assert_eq!((shown.len(), red_without), expected, "{tries}");
        }
    }
}

#[test]
fn a_flaky_check_is_recorded_once_and_speaks_against_nobody() {
    let mut run = Checked::run(1, 2);
    let task = TaskId::from("t0");
    run.commit(&task);
    let tree = Oid::from("t0's tree");
    run.finished(VerifyScope::Task, (&task, &tree), false);
    assert_eq!(run.0.after_red_check(&task), AfterRedCheck::TryAgain);
    let verdicts = |run: &Checked| {
        run.0
            .task(&task)
            .unwrap()
            .checks()
            .iter()
            .map(|check| check.verdict)
            .collect::<Vec<_>>()
    };
    assert_eq!(verdicts(&run), [CheckVerdict::Failed]);
    run.finished(VerifyScope::Task, (&task, &tree), true);
    let due = run.0.due_facts();
    let Some(Event::CheckFlaky(flaky)) = due.first() else {
        panic!("{due:?}")
    };
    assert_eq!(
        (flaky.task.as_ref(), flaky.command.as_str(), &flaky.tree),
        (Some(&task), CHECK, &tree)
    );
    run.tell(due.first().unwrap().clone());
    assert!(
        !run.0
            .due_facts()
            .iter()
            .any(|event| matches!(event, Event::CheckFlaky(_)))
    );
    // What is evidence of a red check is no longer there.
    assert_eq!(verdicts(&run), [CheckVerdict::Flaky, CheckVerdict::Passed]);
    assert_eq!(run.0.flaky_checks_of(&task).count(), 1);

    // Another task's check gets more tries from now on, in its own worktree and on the merged tree.
    let other = TaskId::from("t1");
    run.commit(&other);
    let tree = Oid::from("t1's tree");
    for number in 1..=5 {
        run.finished(VerifyScope::Task, (&other, &tree), false);
        let is_blamed = matches!(run.0.after_red_check(&other), AfterRedCheck::Blame(tries) if tries.len() == 5);
        assert_eq!(is_blamed, number == 5, "{number}");
    }
}

#[test]
fn a_base_that_fails_once_is_checked_again() {
    let fresh = || {
        let settings = RunSettings {
            verify: Some(CHECK.to_owned()),
            ..RunSettings::default()
        };
        let started = started(settings);
        let mut run = Checked(RunState::begin(&recorded(1, started)).unwrap());
        run.tell(Event::planned(Task {
            id: "t0".into(),
            ..Task::default()
        }));
        run.tell(ready("t0"));
        run
    };
    let seen = |run: &Checked| (run.0.base_check().is_some(), run.0.red_base().is_some());
    for (tries, expected) in [
        ("", (true, false)),
        ("-", (true, false)),
        ("-+", (false, false)),
        ("--", (false, true)),
    ] {
        let mut run = fresh();
        tries
            .chars()
            .for_each(|mark| run.base_verified(mark == '+'));
        assert_eq!(seen(&run), expected, "{tries}");
        assert_eq!(
            run.0.merges.flaky_checks().len(),
            usize::from(tries == "-+"),
            "{tries}"
        );
    }
    // The setup's failure is remembered, so trying it again would show the same.
    let mut run = fresh();
    run.base_ended("npm ci", false);
    assert_eq!(seen(&run), (false, true));
    run.tell(resumed());
    assert_eq!(seen(&run), (true, false));
    // What was red before a resume may have been mended, and is no evidence of a flaky check.
    let mut run = fresh();
    run.base_verified(false);
    run.base_verified(false);
    run.tell(resumed());
    assert_eq!(seen(&run), (true, false));
    run.base_verified(true);
    assert!(run.0.merges.flaky_checks().is_empty());
}
