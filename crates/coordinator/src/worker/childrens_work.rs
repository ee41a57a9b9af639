//! What an agent is told of those that it spawned: what has become of them, and what of their work
//! was merged.

use orchestrate_core::checks::EVIDENCE_BYTES;
use orchestrate_core::event::Event;
use orchestrate_core::record::HandOver;
use orchestrate_core::task::ReturnCause;
use orchestrate_core::text::cut;
use orchestrate_core::text::git_path::text;
use orchestrate_core::text::invisible::shown;
use orchestrate_core::{Oid, RunState, TaskId, TaskRecord};
use orchestrate_git::{GitError, Repo};
use orchestrate_journal::{Batch, Blob};
use orchestrate_tools::{EndedAgentsWait, MergedWork};

use crate::error::CoordinatorError;
use crate::run::context::RunContext;

/// The maximum number of files of one merge that are named: the agent can look at the merge itself.
const NAMED_FILES: usize = 50;

/// Returns what of the work of these agents was merged into the branch of another one.
pub(super) async fn merged_into(
    context: &RunContext,
    agent: &TaskId,
    others: &[TaskId],
) -> Result<Vec<MergedWork>, CoordinatorError> {
    let (state, mut found) = (context.state(), Vec::new());
    for other in others {
        let newest = state.task(other).and_then(|record| record.merged().last());
        let Some(merged) = newest.filter(|merged| merged.into.agent() == Some(agent)) else {
            continue;
        };
        let (commit, of) = (merged.commit.clone(), merged.commit.clone());
        let files = context.git(move |repo| files_of(repo, &of)).await?;
        found.push(MergedWork {
            agent: other.clone(),
            commit,
            files,
        });
    }
    Ok(found)
}

/// Lists the files that a merge changes in its first parent.
fn files_of(repo: &Repo, merge: &Oid) -> Result<Vec<String>, GitError> {
    let Some(before) = repo.store().commit_info(merge)?.parents.into_iter().next() else {
        return Ok(Vec::new());
    };
    let changed = repo.store().changed_paths(&before, merge)?;
    let mut files: Vec<String> = changed
        .iter()
        .take(NAMED_FILES)
        .map(|path| shown(&text(path)))
        .collect();
    let more = changed.len().saturating_sub(NAMED_FILES);
    if more > 0 {
        files.push(format!("and {more} more"));
    }
    Ok(files)
}

/// Records the message to an agent that had finished before those that it spawned, unless there is
/// something else to do before.
pub(super) async fn tell(context: &RunContext, agent: &TaskId) -> Result<(), CoordinatorError> {
    let state = context.state();
    let children: Vec<&TaskRecord> = state.children(agent).collect();
    let ids: Vec<TaskId> = children.iter().map(|child| child.task.id.clone()).collect();
    let ended = EndedAgentsWait {
        all_done: true,
        timed_out: false,
        has_message: false,
        agents: children
            .iter()
            .map(|child| state.agent_status(child, true))
            .collect(),
        merged: merged_into(context, agent, &ids).await?,
    };
    let outcomes = cut(&ended.outcomes(), EVIDENCE_BYTES);
    let text = context
        .prompts
        .render_around("children_ended", &[], &[("children", &outcomes)]);
    let (text, task) = (Blob::new(text.into_bytes()), agent.clone());
    let cause = ReturnCause::ChildrenEnded;
    let told = move |state: &RunState| {
        if state.decide_hand_over(&task) != HandOver::AfterNews {
            return Batch::default();
        }
        let returned = Event::TaskReturned {
            task,
            cause,
            text: text.id().clone(),
            onto: None,
        };
        Batch::from(returned).with_blob(text)
    };
    context.decide(told).await
}
