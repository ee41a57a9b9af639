//! What work is checked by, and what an agent is told of it.

mod base;
pub(crate) mod evidence;
mod flaky;
mod setup;
mod verifier;
mod warm;

use crate::support::{Case, Place};

/// Returns the cases of every module.
pub(super) fn cases() -> Vec<Case> {
    let confined = [base::cases, evidence::cases, setup::cases];
    let confined = confined
        .iter()
        .flat_map(|cases| cases())
        .map(|case| case.depends_on(&[Place::WithoutBubblewrap, Place::Root]));
    let others = [flaky::cases, verifier::cases, warm::cases];
    others
        .iter()
        .flat_map(|cases| cases())
        .chain(confined)
        .collect()
}
