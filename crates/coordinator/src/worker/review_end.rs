//! Ends a reviewing task's work with its verdict: records what [`RunState::verdict_end`] decides,
//! with the messages to the agents whose work is returned.

use orchestrate_checks::Layout;
use orchestrate_core::checks::EVIDENCE_BYTES;
use orchestrate_core::event::Event;
use orchestrate_core::task::{FailureCause, ReturnCause};
use orchestrate_core::text::cut;
use orchestrate_core::{AfterFault, AfterReview, RunId, RunState, TaskId, VerdictEnd};
use orchestrate_journal::{Batch, Blob};

use crate::error::CoordinatorError;
use crate::run::context::RunContext;
use crate::texts::failed_checks::after_rounds;
use crate::texts::prompts::Prompts;

/// Records what follows from the verdict, unless the agent has to read a message first; returns
/// whether it was recorded.
pub(crate) async fn conclude(
    context: &RunContext,
    task: &TaskId,
    summary: String,
) -> Result<bool, CoordinatorError> {
    let (task, prompts) = (task.clone(), context.prompts.clone());
    let ending = Ending {
        task,
        summary,
        prompts,
        run: context.run.clone(),
        layout: context.host.site.layout.clone(),
    };
    let concluded = context.journal.append_if(move |state| {
        if let Some(unread) = state.messages_for(&ending.task).next() {
            return Err(unread.sequence);
        }
        let end = state.verdict_end(&ending.task);
        Ok(end.map(|end| ending.facts(state, end)).unwrap_or_default())
    });
    Ok(concluded.await?.recorded().is_ok())
}

/// The end of one review, with what its events are made of.
struct Ending {
    task: TaskId,
    summary: String,
    prompts: Prompts,
    run: RunId,
    layout: Layout,
}

impl Ending {
    fn facts(self, state: &RunState, end: VerdictEnd) -> Batch {
        let (task, summary) = (self.task.clone(), self.summary.clone());
        match end {
            VerdictEnd::Approve => Batch::from(Event::TaskMerged {
                task,
                commit: None,
                target: None,
                summary: Some(summary),
            }),
            VerdictEnd::NothingToDo => Batch::from(Event::NothingToDo { task, summary }),
            VerdictEnd::Await(after) => {
                let mut batch = Batch::from(Event::ReviewWaiting { task });
                for next in after {
                    self.add_return(state, next, &mut batch);
                }
                batch
            }
        }
    }

    /// Returns work to its agent with the requested changes, or ends its task.
    fn add_return(
        &self,
        state: &RunState,
        AfterReview { change, after }: AfterReview,
        batch: &mut Batch,
    ) {
        let task = change.task;
        if after != AfterFault::Return {
            let message = self.give_up_message(state, &task, &change.text);
            batch.events.push(Event::TaskFailed {
                task,
                cause: FailureCause::ChangesRequested,
                message,
            });
            return;
        }
        let (reviewer, text) = (self.task.as_str(), cut(&change.text, EVIDENCE_BYTES));
        let text = self.prompts.render_around(
            "changes_requested",
            &[("reviewer", reviewer)],
            &[("changes", &text)],
        );
        let blob = Blob::new(text.into_bytes());
        let text = blob.id().clone();
        batch.events.push(Event::TaskReturned {
            task,
            cause: ReturnCause::ChangesRequested,
            text,
            onto: None,
        });
        batch.blobs.push(blob);
    }

    /// Returns why the task ends although its work exists, and where that work is kept.
    fn give_up_message(&self, state: &RunState, task: &TaskId, changes: &str) -> String {
        let record = state.task(task);
        let again = match record {
            Some(record) if record.is_command() => ", and a command cannot make them".to_owned(),
            Some(record) => after_rounds(record),
            None => String::new(),
        };
        let worktree = self.layout.worktree(&self.run, task).display().to_string();
        let reviewer = &self.task;
        format!(
            "{reviewer} requests changes{again}; the branch and its worktree {worktree} are kept\n\
             {changes}"
        )
    }
}
