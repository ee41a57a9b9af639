//! Decides whether faulty work is returned to its agent or its task ends, and how.
//!
//! Every fault in finished work goes through [`TaskRecord::after_fault`]: a failed check, a conflict, files that
//! cannot be stored. The limit is the run's `merge_rounds`; a new attempt, which only the user starts, counts from
//! zero again. Tasks whose work is never finished fail for the causes of [`crate::event::FailureCause`].

use crate::event::ReturnCause;
use crate::ids::Oid;
use crate::task_record::TaskRecord;

/// What happens to faulty work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AfterFault {
    /// It is returned to its agent.
    Return,
    /// The task ends without success.
    GiveUp(GivenUp),
}

/// How a task ends when its rounds are used up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GivenUp {
    /// It has failed.
    Failed,
    /// Its branch is left to the user, who can resolve what the agent could not.
    Conflicted,
}

impl TaskRecord {
    /// Decides what happens to the task's faulty work, if it may be returned `merge_rounds` times in one attempt. A
    /// fault that was found in a merge names the result that the work was merged into.
    pub fn after_fault(&self, fault: ReturnCause, merged_into: Option<&Oid>, merge_rounds: u32) -> AfterFault {
        let needs_merge = matches!(fault, ReturnCause::Conflict | ReturnCause::RunCheck);
        // A command fixes nothing: it is only rerun on a newer result, which may contain what it lacked.
        let is_on_newer = merged_into.is_some_and(|result| self.base() != Some(result));
        let can_answer = !self.is_command() || needs_merge && is_on_newer;
        if can_answer && self.rounds() < merge_rounds {
            return AfterFault::Return;
        }
        // Without an agent a failed check cannot be fixed, and there is nothing for the user to resolve.
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

    /// Returns the record of a task whose work has been returned this many times in its first attempt.
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
        use ReturnCause::ChangesRequested;
        use ReturnCause::{Conflict, Deletions, RunCheck, TaskCheck, Unstorable};
        let (agent, command) = (Work::Agent(None), Work::Run("make".to_owned()));
        let (failed, conflicted) = (GiveUp(GivenUp::Failed), GiveUp(GivenUp::Conflicted));
        for (work, fault, within, beyond) in [
            (&agent, Conflict, Return, conflicted),
            (&agent, RunCheck, Return, conflicted),
            (&agent, TaskCheck, Return, failed),
            (&agent, Deletions, Return, failed),
            (&agent, Unstorable, Return, failed),
            (&agent, ChangesRequested, Return, failed),
            (&command, ChangesRequested, failed, failed),
            (&command, Conflict, Return, conflicted),
            (&command, RunCheck, Return, failed),
            (&command, TaskCheck, failed, failed),
            (&command, Deletions, failed, failed),
            (&command, Unstorable, failed, failed),
        ] {
            let newer = "newer".into();
            let decided = [0, 1, 2, 3].map(|rounds| record(work, rounds).after_fault(fault, Some(&newer), 2));
            assert_eq!(decided, [within, within, beyond, beyond], "{work:?} {fault:?}");
        }
        assert_eq!(record(&agent, 0).after_fault(Conflict, None, 0), conflicted);
    }

    #[test]
    fn a_command_is_not_rerun_on_the_base_where_it_failed() {
        let (base, newer): (Oid, Oid) = ("base".into(), "newer".into());
        let command = record(&Work::Run("make".to_owned()), 0);
        let decided = [&base, &newer].map(|onto| command.after_fault(ReturnCause::RunCheck, Some(onto), 2));
        assert_eq!(decided, [AfterFault::GiveUp(GivenUp::Failed), AfterFault::Return]);
        let agent = record(&Work::Agent(None), 0);
        assert_eq!(agent.after_fault(ReturnCause::RunCheck, Some(&base), 2), AfterFault::Return);
    }
}
