//! When a person must approve a task's work before it is merged, by the modes of review and what
//! the work does.

use orchestrate_core::event::settings::MergeMode;
use orchestrate_core::run::Hold;
use orchestrate_core::{
    ComparedWork, Event, LeftAside, ReviewMode, RunSettings, RunState, Task, WithheldFile,
    WorkCompared,
};

use crate::facts;
use crate::facts::{prepared, ready, spawned, started_on_main};

/// What the work of the one task does.
#[derive(Clone, Copy, PartialEq)]
enum Work {
    Plain,
    Risky,
    Weakening,
    WithSecret,
}

fn settings(review: ReviewMode) -> RunSettings {
    RunSettings {
        review,
        ..RunSettings::default()
    }
}

/// Tells of a task whose work is committed and has no check of its own.
fn committed(settings: RunSettings, own: Option<ReviewMode>, work: Work) -> RunState {
    let withheld = match work {
        Work::WithSecret => vec![WithheldFile {
            path: ".env".to_owned(),
            reason: "its name".to_owned(),
        }],
        _ => Vec::new(),
    };
    let of = |is: Work, text: &str| {
        if work == is {
            vec![text.to_owned()]
        } else {
            Vec::new()
        }
    };
    let compared = ComparedWork {
        risks: of(Work::Risky, "Cargo.lock is changed"),
        weakened: of(Work::Weakening, "removes the test `a`"),
        ..ComparedWork::new("tree".into(), Vec::new())
    };
    let task = Task {
        review: own,
        ..facts::task("T1", &[])
    };
    let aside = LeftAside {
        withheld,
        ..LeftAside::default()
    };
    let events = [
        started_on_main(settings),
        Event::planned(task),
        ready("T1"),
        spawned("T1", 1),
        prepared("T1"),
        Event::SnapshotTaken {
            task: "T1".into(),
            number: 1,
            commit: "work".into(),
            tree: "tree".into(),
            on_branch: true,
            replaced: false,
            left_out: Vec::new(),
            aside,
        },
        Event::WorkCompared(WorkCompared {
            task: "T1".into(),
            work: compared,
        }),
        facts::committed("T1", "work", "tree"),
    ];
    facts::replayed(events)
}

fn is_held(settings: RunSettings, own: Option<ReviewMode>, work: Work) -> bool {
    let state = committed(settings, own, work);
    let record = state.task(&"T1".into()).unwrap();
    assert_eq!(
        state.needs_review(record),
        state.next_merge().is_none(),
        "what is held is no candidate"
    );
    state.needs_review(record)
}

#[test]
fn each_mode_holds_what_the_milder_ones_hold_and_more() {
    use ReviewMode::{Always, DeletedTests, Never, Risky};
    let works = [Work::Plain, Work::Risky, Work::Weakening, Work::WithSecret];
    let table = [
        (Never, [false, false, false, false]),
        (DeletedTests, [false, false, true, true]),
        (Risky, [false, true, true, true]),
        (Always, [true, true, true, true]),
    ];
    for (mode, held) in table {
        assert_eq!(
            works.map(|work| is_held(settings(mode), None, work)),
            held,
            "{mode:?}"
        );
        assert_eq!(
            works.map(|work| is_held(RunSettings::default(), Some(mode), work)),
            held,
            "{mode:?} of the task"
        );
    }
    let older = RunSettings {
        merge: MergeMode::Review,
        ..RunSettings::default()
    };
    assert!(
        works
            .into_iter()
            .all(|work| is_held(older.clone(), None, work))
    );
    assert!(
        is_held(older, Some(Never), Work::Plain),
        "a task takes nothing from what the user has asked for"
    );
}

#[test]
fn a_task_asks_for_less_only_within_what_the_user_allows() {
    let own = Some(ReviewMode::Never);
    assert!(
        !is_held(settings(ReviewMode::Always), own, Work::Weakening),
        "the plan alone has asked for it"
    );
    let by_user = RunSettings {
        least_review: Some(ReviewMode::DeletedTests),
        ..settings(ReviewMode::Always)
    };
    assert!(is_held(by_user.clone(), own, Work::Weakening) && !is_held(by_user, own, Work::Plain));
}

#[test]
fn what_holds_work_is_named() {
    let state = committed(RunSettings::default(), None, Work::WithSecret);
    let holds = state.holds(state.task(&"T1".into()).unwrap());
    assert!(
        matches!(holds.as_slice(), [Hold::Withheld(file)] if file.path == ".env"),
        "{holds:?}"
    );
    assert_eq!(
        holds[0].to_string(),
        ".env (its name) is new, and is not in the commit"
    );
}
