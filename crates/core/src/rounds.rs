//! The rule of rounds: how often work goes back to its author before the task is given up, and how it ends then.
//!
//! Whatever is wrong with finished work is put to [`TaskRecord::after_fault`]: a check that is red, a merge that
//! conflicts, files that cannot be stored. The limit is the run's `merge_rounds`; a new attempt, which only a person
//! begins, counts from zero again.

use crate::event::ReturnCause;
use crate::task_record::TaskRecord;

/// What becomes of work in which a fault was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AfterFault {
    /// It goes back to its author.
    Return,
    /// The task ends without success.
    GiveUp(GivenUp),
}

/// How a task ends that is given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GivenUp {
    /// It has failed.
    Failed,
    /// Its branch is left to a person, who can resolve what its author could not.
    Conflicted,
}

impl TaskRecord {
    /// Decides what becomes of the task's work in which a fault was found, where work may go back so many times in one
    /// attempt.
    pub fn after_fault(&self, fault: ReturnCause, merge_rounds: u32) -> AfterFault {
        let needs_merge = matches!(fault, ReturnCause::Conflict | ReturnCause::RunCheck);
        // A command mends nothing: it is only run again on a newer result, which may be what it lacked.
        let can_answer = needs_merge || !self.is_command();
        if can_answer && self.rounds() < merge_rounds {
            return AfterFault::Return;
        }
        // Without an agent nobody can mend a red tree, and a person has nothing to resolve.
        let is_resolvable = fault == ReturnCause::Conflict || needs_merge && !self.is_command();
        AfterFault::GiveUp(if is_resolvable { GivenUp::Conflicted } else { GivenUp::Failed })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Event;
    use crate::ids::BlobId;
    use crate::task::{Task, Work};

    /// Returns the record of a task whose work has come back so often in its first attempt.
    fn record(work: &Work, rounds: u32) -> TaskRecord {
        let mut record = TaskRecord::new(Task { id: "T1".into(), work: work.clone(), ..Task::default() }, None);
        let mut tell = |event| record.apply(&event).unwrap();
        let spawned = Event::AgentSpawned {
            task: "T1".into(),
            attempt: 1,
            agent: None,
            model: None,
            branch: "b".to_owned(),
            base: "base".into(),
            spec: None,
        };
        tell(Event::TaskReady { task: "T1".into() });
        tell(spawned.clone());
        for _ in 0..rounds {
            let text = BlobId::from("text");
            tell(Event::TaskReturned { task: "T1".into(), cause: ReturnCause::RunCheck, text, onto: None });
            if matches!(work, Work::Run(_)) {
                tell(spawned.clone());
            }
        }
        record
    }

    #[test]
    fn work_goes_back_so_often_and_then_ends_by_what_is_wrong_with_it() {
        use AfterFault::{GiveUp, Return};
        use ReturnCause::{Conflict, Deletions, RunCheck, TaskCheck, Unstorable};
        let (agent, command) = (Work::Agent(None), Work::Run("make".to_owned()));
        let (failed, conflicted) = (GiveUp(GivenUp::Failed), GiveUp(GivenUp::Conflicted));
        for (work, fault, within, beyond) in [
            (&agent, Conflict, Return, conflicted),
            (&agent, RunCheck, Return, conflicted),
            (&agent, TaskCheck, Return, failed),
            (&agent, Deletions, Return, failed),
            (&agent, Unstorable, Return, failed),
            (&command, Conflict, Return, conflicted),
            (&command, RunCheck, Return, failed),
            (&command, TaskCheck, failed, failed),
            (&command, Deletions, failed, failed),
            (&command, Unstorable, failed, failed),
        ] {
            let decided = [0, 1, 2, 3].map(|rounds| record(work, rounds).after_fault(fault, 2));
            assert_eq!(decided, [within, within, beyond, beyond], "{work:?} {fault:?}");
        }
        assert_eq!(record(&agent, 0).after_fault(Conflict, 0), conflicted);
    }
}
