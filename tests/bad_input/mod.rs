//! Faulty machines, repositories, plans and models: each fault is reported with what to do next,
//! and nothing is lost.

mod machine;
mod models;
mod older;
mod plans;
mod repositories;

use libtest_mimic::Failed;

use crate::support::{Case, Outcome, Place, World, require_words};

pub(crate) fn cases() -> Vec<Case> {
    let everywhere = [Place::Root, Place::WithoutBubblewrap, Place::OldestGit];
    let repositories = repositories::cases()
        .into_iter()
        .map(|case| case.depends_on(&[Place::OldestGit]));
    let machine = machine::cases()
        .into_iter()
        .map(|case| case.depends_on(&everywhere));
    let others = [plans::cases, models::cases, older::cases];
    others
        .iter()
        .flat_map(|cases| cases())
        .chain(repositories)
        .chain(machine)
        .collect()
}

/// A plan of one command.
const PLAN: &str = "- [ ] T1 Make it (run: touch made)\n";

/// Creates a world whose plan is [`PLAN`].
fn world() -> Result<World, Failed> {
    World::with_plan_outside(PLAN)
}

/// Requires that the plan is refused with these words, before anything is created.
fn refuses(world: &World, said: &[&str]) -> Outcome {
    let before = world.repository.fingerprint()?;
    require_words(
        &world.types(&["run", &world.file("plan.md")], 2)?.stderr,
        said,
    )?;
    before.require_same(&world.repository.fingerprint()?)
}
