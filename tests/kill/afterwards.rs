//! Kills what users do with a run that has ended: sending work back, and cleaning.

use libtest_mimic::Failed;

use super::plays::{self, Play};
use super::scene::{self, Deed, KILLED, Scene};
use super::{End, NO_FAULT, SHORTER_FORM, places};
use crate::support::{Case, Outcome, case};

pub(crate) fn cases() -> Vec<Case> {
    vec![
        case("kill::a_rejection_is_resumed_to_the_same_end", || {
            sent_back(Deed::Reject, &plays::obedient())
        }),
        case("kill::a_retry_is_resumed_to_the_same_end", || {
            sent_back(Deed::Retry, &plays::lazy())
        }),
        case!("kill", cleaning_loses_nothing_and_is_finished_by_the_next),
        case!("kill", a_drop_is_finished_by_the_next),
    ]
}

/// Kills the process that sends work back, at several appends, resumes the run, and compares its
/// end.
fn sent_back(deed: Deed, play: &Play) -> Outcome {
    let ended = || {
        let scene = Scene::of(play)?;
        scene.coordinate(NO_FAULT)?.exits(0)?;
        Ok::<_, Failed>(scene)
    };
    let scene = ended()?;
    let ran = scene.act(deed, NO_FAULT)?.exits(0)?;
    let (expected, appends) = (End::of(&scene, &ran.stdout)?, ran.stderr.trim().parse()?);
    let faults: Vec<String> = places(appends, SHORTER_FORM)
        .1
        .iter()
        .flat_map(|k| [format!("before:{k}"), format!("after:{k}")])
        .collect();
    for fault in &faults {
        let scene = ended()?;
        scene.act(deed, fault)?.exits(KILLED)?;
        scene.require_untouched()?;
        let end = End::of(&scene, &scene.coordinate(NO_FAULT)?.exits(0)?.stdout)?;
        assert_eq!(
            end, expected,
            "{deed:?} {fault}: {end:#?}\ninstead of\n{expected:#?}"
        );
        scene.require_untouched()?;
    }
    scene::say(&format!(
        "{deed:?}, killed before and after append k: {0} of {0} ended the same",
        faults.len()
    ));
    Ok(())
}

fn cleaning_loses_nothing_and_is_finished_by_the_next() -> Outcome {
    for fault in ["before:1", "after:1"] {
        let scene = Scene::of(&plays::commands())?;
        scene.coordinate(NO_FAULT)?.exits(0)?;
        let refs = scene.world.git("for-each-ref")?;
        // The worktrees of merged work are gone; a person has made two of them again.
        scene.world.worktree_again(&scene.run()?, "T1")?;
        let unkept = scene
            .world
            .worktree_again(&scene.run()?, "T2")?
            .join("unkept.txt");
        std::fs::write(&unkept, "nowhere else\n")?;
        for (fault, code) in [(fault, KILLED), (NO_FAULT, 0)] {
            scene.act(Deed::Clean, fault)?.exits(code)?;
            assert!(
                std::fs::read_to_string(&unkept)? == "nowhere else\n"
                    && scene.world.git("for-each-ref")? == refs,
                "{fault} lost something"
            );
            scene.require_untouched()?;
        }
        let left = scene.world.git("worktree list")?;
        assert_eq!(left.lines().count(), 2, "{fault} left worktrees:\n{left}");
    }
    Ok(())
}

fn a_drop_is_finished_by_the_next() -> Outcome {
    let ended = || {
        let scene = Scene::of(&plays::half_failing())?;
        scene.coordinate(NO_FAULT)?.exits(0)?;
        Ok::<_, Failed>(scene)
    };
    let appends: u64 = ended()?
        .act(Deed::Drop, NO_FAULT)?
        .exits(0)?
        .stderr
        .trim()
        .parse()?;
    for fault in (1..=appends).flat_map(|k| [format!("before:{k}"), format!("after:{k}")]) {
        let scene = ended()?;
        scene.act(Deed::Drop, &fault)?.exits(KILLED)?;
        // The second one is refused if the first one has recorded its decision.
        scene.act(Deed::Drop, NO_FAULT)?;
        let state = scene.state()?;
        let tip = scene
            .world
            .git(&format!("rev-parse {}", state.run_id.integration_branch()))?;
        assert!(
            state.exit_code == Some(0) && tip == state.integration.as_str(),
            "{fault}: {tip} instead of {}, exit code {:?}",
            state.integration,
            state.exit_code
        );
        let left = scene
            .world
            .git(&format!("ls-tree --name-only {tip} log.txt"))?;
        assert!(left.is_empty(), "{fault}: the work is still there");
        scene.require_untouched()?;
    }
    Ok(())
}
