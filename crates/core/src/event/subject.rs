//! The task that an event is about, and the event that adds one.

use crate::event::Event;
use crate::event::kinds::StopRequest;
use crate::ids::TaskId;
use crate::task::Task;
use crate::task::verdict::VerdictGiven;

impl Event {
    /// Returns the event that adds a task of the plan.
    pub fn planned(task: Task) -> Event {
        Event::TaskAdded {
            task: Box::new(task),
            parent: None,
            spawn: None,
        }
    }

    /// Returns the task that the event refers to, or `None` if it refers to none.
    pub fn task(&self) -> Option<&TaskId> {
        match self {
            Event::RunStarted { .. }
            | Event::RunResumed { .. }
            | Event::RunFinished { .. }
            | Event::BaseVerifying { .. }
            | Event::BaseVerified { .. }
            | Event::ApprovalDecided { .. }
            | Event::LandingStarted { .. }
            | Event::LandingFailed(_)
            | Event::RunLanded { .. }
            | Event::RunUnlanded(_)
            | Event::RunCleaned { .. }
            | Event::TasksDropped(_)
            | Event::IntegrationHeld(_)
            | Event::MachineSlept { .. } => None,
            Event::TaskAdded { task, .. } => Some(&task.id),
            Event::ReportDue(due) => Some(&due.task),
            Event::ReportGiven(given) => Some(&given.task),
            Event::WorkCompared(compared) => Some(&compared.task),
            Event::WorkAdopted(adopted) => Some(&adopted.task),
            Event::CheckFlaky(flaky) => flaky.task.as_ref(),
            Event::EgressDecided(decided) => Some(&decided.task),
            Event::SearchRequested(asked) => Some(&asked.task),
            Event::SearchEnded(ended) => Some(&ended.task),
            // What an agent writes to the user is a part of its own story.
            Event::MessageSent { envelope } => envelope.to.agent().or(envelope.from.agent()),
            Event::MessageDelivered { to, .. } => Some(to),
            Event::MessageExpired(expired) => expired.to.agent().or(expired.from.agent()),
            Event::QuestionUnanswered(question) => Some(&question.from),
            Event::TaskReady { task }
            | Event::AgentSpawned { task, .. }
            | Event::MapMade { task, .. }
            | Event::WorktreePrepared { task, .. }
            | Event::WorktreeRemoved { task }
            | Event::TurnStarted { task, .. }
            | Event::ModelRequested { task, .. }
            | Event::BudgetWaited { task, .. }
            | Event::ModelReplied { task, .. }
            | Event::ModelWaiting { task, .. }
            | Event::ModelSwitched { task, .. }
            | Event::ModelFailed { task, .. }
            | Event::ModelRejected { task, .. }
            | Event::ModelCut { task, .. }
            | Event::ContextCompacted { task, .. }
            | Event::ToolStarted { task, .. }
            | Event::ToolFinished { task, .. }
            | Event::ApprovalRequested { task, .. }
            | Event::AgentWaiting { task, .. }
            | Event::HandOverWaiting { task }
            | Event::AgentWoken { task, .. }
            | Event::StopRequested(StopRequest { task, .. })
            | Event::SnapshotTaken { task, .. }
            | Event::TaskCommitted { task, .. }
            | Event::VerifyStarted { task, .. }
            | Event::VerifyFinished { task, .. }
            | Event::ReviewRequested { task }
            | Event::ReviewApproved { task, .. }
            | Event::ReviewVerdict(VerdictGiven { task, .. })
            | Event::ReviewWaiting { task }
            | Event::NothingToDo { task, .. }
            | Event::MergeStarted { task, .. }
            | Event::MergeConflicted { task, .. }
            | Event::MergePrepared { task, .. }
            | Event::TaskReturned { task, .. }
            | Event::TaskMerged { task, .. }
            | Event::TaskFailed { task, .. }
            | Event::TaskConflicted { task, .. }
            | Event::TaskSkipped { task, .. }
            | Event::TaskCancelled { task, .. } => Some(task),
        }
    }

    /// Reports whether it begins a wait, or ends one for other agents.
    pub(crate) fn is_of_wait(&self) -> bool {
        let is_of_call = matches!(
            self,
            Event::ApprovalRequested { .. } | Event::AgentWaiting { .. }
        );
        let is_begin = is_of_call
            || matches!(
                self,
                Event::HandOverWaiting { .. } | Event::ModelRejected { .. }
            );
        is_begin || matches!(self, Event::AgentWoken { .. })
    }
}
