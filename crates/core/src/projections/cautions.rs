//! The cautions for a person before a run's result is landed.

use crate::ids::TaskId;
use crate::projections::hand_back::UnverifiedClaim;
use crate::run::RunState;
use crate::task::TaskState;

/// Something in the work of a merged task that a person should look at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caution {
    /// The task.
    pub task: TaskId,
    /// Its subject.
    pub about: CautionAbout,
}

/// The subject of a caution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CautionAbout {
    /// The risk is high.
    Risk(String),
    /// It takes something from existing tests.
    Weakened(String),
    /// Its report claims what the facts do not bear out.
    Claim(UnverifiedClaim),
    /// A person took a part of it, and its agent made nothing of the rest.
    Rest,
}

impl std::fmt::Display for Caution {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.about {
            CautionAbout::Risk(why) => write!(f, "{}: risk HIGH: {why}", self.task),
            CautionAbout::Weakened(what) => write!(f, "{}: risk HIGH: it {what}", self.task),
            CautionAbout::Claim(claim) => write!(f, "{}: unverified claim {claim}", self.task),
            CautionAbout::Rest => write!(
                f,
                "{}: its agent made nothing of what you did not take of its work; `recover` lists \
                 it",
                self.task
            ),
        }
    }
}

impl RunState {
    /// Returns what a person should look at before the result is landed: high risks and unverified
    /// claims of the work that is part of it, in the run's order.
    pub fn cautions(&self) -> Vec<Caution> {
        let merged = self.newly_merged();
        let mut cautions = Vec::new();
        for record in merged.iter().filter_map(|task| self.task(task)) {
            let mut topics = Vec::new();
            if let Some(work) = record.compared() {
                topics.extend(work.risks.iter().cloned().map(CautionAbout::Risk));
                topics.extend(work.weakened.iter().cloned().map(CautionAbout::Weakened));
            }
            if let Some(ended) = self.ended_hand_back(record) {
                topics.extend(ended.unverified.into_iter().map(CautionAbout::Claim));
            }
            if record.state() == TaskState::NothingToDo && record.works_on_rest() {
                topics.push(CautionAbout::Rest);
            }
            for about in topics {
                let task = record.task.id.clone();
                cautions.push(Caution { task, about });
            }
        }
        cautions
    }
}
