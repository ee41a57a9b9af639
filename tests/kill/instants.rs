//! Kills a wide tree of agents again and again, at instants that a seed chooses: at appends, and
//! from outside wherever the process is.

use libtest_mimic::Failed;
use rustix::process::Signal;

use super::scene::{self, KILLED, Scene};
use super::stopped::PATIENCE;
use super::{LONG_FORM, NO_FAULT, Play, Reference, trees};
use crate::support::{Case, Outcome, Ran, case, until};

pub(super) fn cases() -> Vec<Case> {
    vec![
        case(
            "kill::at_random_instants_a_wide_tree_is_resumed_to_the_same_end",
            || at_random_instants(false),
        ),
        case(
            "kill::at_random_instants_one_agent_at_a_time_is_resumed_to_the_same_end",
            || at_random_instants(true),
        ),
    ]
}

/// The seed of the instants.
const SEED: u64 = 20_261_126;
/// How many kills a run of the tree takes on average, before another one is begun.
const KILLS_PER_RUN: u64 = 20;

/// How wide the tree is, and how often it is killed.
struct Form {
    roots: usize,
    below: usize,
    kills: usize,
}

/// Forty agents.
const LONG: Form = Form {
    roots: 4,
    below: 3,
    kills: 100,
};
const SHORT: Form = Form {
    roots: 1,
    below: 2,
    kills: 3,
};

/// Numbers that a seed determines (SplitMix64).
struct Random(u64);

impl Random {
    /// Returns a number from 1 to `most`.
    fn up_to(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        1 + (mixed ^ (mixed >> 31)) % most.max(1)
    }
}

fn at_random_instants(alone: bool) -> Outcome {
    let form = if std::env::var(LONG_FORM).is_ok_and(|wanted| wanted == "all") {
        LONG
    } else {
        SHORT
    };
    let play = || Play {
        alone,
        ..trees::forest(form.roots, form.below)
    };
    let name = if alone {
        "one agent at a time"
    } else {
        "a wide tree"
    };
    let (reference, _) = Reference::run(name, 0, play())?;
    let agents = form.roots * (1 + form.below * 3);
    assert_eq!(
        reference.end.parents.len(),
        agents,
        "{} agents instead of {agents}",
        reference.end.parents.len()
    );
    // On average a kill comes after half of these appends.
    let span = if form.kills < 10 {
        reference.appends / 2
    } else {
        2 * reference.appends / KILLS_PER_RUN
    };
    let (mut random, mut left, mut runs) = (Random(SEED), form.kills, 0);
    while left > 0 {
        let scene = Scene::of(&reference.play)?;
        let mut faults = Vec::new();
        while left > 0
            && let Some(fault) = killed(&scene, &mut random, span)?
        {
            scene.require_untouched()?;
            faults.push(fault);
            left -= 1;
        }
        let ran = scene.coordinate(NO_FAULT)?.exits(0)?;
        let same = reference.require_same(&scene, &ran.stdout, faults.len());
        same.map_err(|failure| {
            Failed::from(format!(
                "{faults:?}: {}",
                failure.message().unwrap_or_default()
            ))
        })?;
        runs += 1;
    }
    scene::say(&format!(
        "{name}: {agents} agents, {} kills in {runs} runs, all of which ended the same",
        form.kills
    ));
    Ok(())
}

/// Starts or resumes a run, and kills it at the next instant, which is returned; `None` if the run
/// has ended before.
fn killed(scene: &Scene, random: &mut Random, span: u64) -> Result<Option<String>, Failed> {
    let (kind, at) = (random.up_to(3), random.up_to(span));
    let (fault, ran) = match kind {
        1 => (
            format!("before:{at}"),
            scene.coordinate(&format!("before:{at}"))?,
        ),
        2 => (
            format!("after:{at}"),
            scene.coordinate(&format!("after:{at}"))?,
        ),
        _ => (
            format!("from outside after {at} facts"),
            killed_from_outside(scene, at)?,
        ),
    };
    if ran.code == 0 {
        return Ok(None);
    }
    ran.exits(KILLED)?;
    Ok(Some(fault))
}

/// Kills a process once it has recorded so many facts, wherever it is.
fn killed_from_outside(scene: &Scene, facts: u64) -> Result<Ran, Failed> {
    // There is no run at first.
    let goal = scene.state().map_or(0, |state| state.seq) + facts;
    let mut running = scene.start(NO_FAULT)?;
    until(PATIENCE, || {
        let is_there = scene.has_fact(goal).unwrap_or_default();
        Ok((is_there || running.has_ended()?).then_some(()))
    })?;
    // It may have ended meanwhile.
    if !running.has_ended()? {
        running.signal(Signal::KILL)?;
    }
    running.end()
}
