//! Agents and those around them: children, messages, questions, reviewers and approvers.

mod aggregate;
mod approver;
mod children;
pub(crate) mod hand_back;
mod messages;
mod questions;
mod spawning;
mod verdict;
pub(crate) mod waits;

use crate::support::Case;

/// Returns the cases of every module.
pub(super) fn cases() -> Vec<Case> {
    let modules = [
        aggregate::cases,
        approver::cases,
        children::cases,
        hand_back::cases,
        messages::cases,
        questions::cases,
        spawning::cases,
        verdict::cases,
        waits::cases,
    ];
    modules.iter().flat_map(|cases| cases()).collect()
}
