//! The results of several agents: their changes as a diff, and the conflicts between their branches, found by merging
//! without a checkout.

use std::path::PathBuf;

use orchestrate_core::aggregated::{
    AgentChanges, AggregatedResults, BranchConflict, ConflictingFile, Counterpart, MAX_COMBINED_DIFF_BYTES,
    pairs_to_merge,
};
use orchestrate_core::git_path::{shown_path, text};
use orchestrate_core::{AgentId, Oid, RunState, TaskId, TaskRecord, WaitRefused};
use orchestrate_git::{GitError, Merge, Repo};
use orchestrate_tools::ShowsPath;

use crate::error::CoordinatorError;
use crate::run::context::RunContext;
use crate::worktree::compare::{base_of, changed_file};

/// Who asks for the results.
pub(crate) struct Caller {
    /// The agent; `None` for a program, whose counterpart is the run's result.
    pub(crate) agent: Option<TaskId>,
    /// Whether the content of a path may be shown.
    pub(crate) shows: ShowsPath,
}

/// The work of one agent.
struct Work {
    changes: AgentChanges,
    base: Oid,
    /// Its newest commit; `None` before its first attempt.
    tip: Option<Oid>,
}

/// Returns the results of these agents; fails with the reason for the caller if one of them does not exist.
pub(crate) async fn aggregate(
    context: &RunContext,
    agents: &[AgentId],
    caller: Caller,
) -> Result<Result<AggregatedResults, WaitRefused>, CoordinatorError> {
    let state = context.state();
    let records = match state.named_agents(agents) {
        Ok(records) => records.into_iter().cloned().collect::<Vec<_>>(),
        Err(refused) => return Ok(Err(refused)),
    };
    let found = context.git(move |repo| results(repo, &state, &records, &caller)).await?;
    Ok(Ok(found))
}

fn results(
    repo: &Repo,
    state: &RunState,
    records: &[TaskRecord],
    caller: &Caller,
) -> Result<AggregatedResults, GitError> {
    let works = records.iter().map(|record| work_of(repo, state, record)).collect::<Result<Vec<_>, _>>()?;
    let changes: Vec<AgentChanges> = works.iter().map(|work| work.changes.clone()).collect();
    let hand_backs = records.iter().map(|record| state.hand_back(record)).collect();
    let mut together = AggregatedResults::of(hand_backs, &changes);
    let own = caller.agent.as_ref().and_then(|agent| state.task(agent)?.tip().cloned());
    let (yours, with) = match own {
        Some(own) => (own, Counterpart::Yours),
        None => (state.integration.clone(), Counterpart::Result),
    };
    let (pairs, unchecked) = pairs_to_merge(&changes);
    together.unchecked_pairs = unchecked;
    for (one, other) in pairs {
        let Some((Work { changes, tip: Some(tip), .. }, second)) = works.get(one).map(|work| (work, works.get(other)))
        else {
            continue;
        };
        let (target, with) = match second {
            None => (&yours, with.clone()),
            Some(Work { changes, tip: Some(tip), .. }) => (tip, Counterpart::Agent(changes.agent_id.clone())),
            Some(Work { tip: None, .. }) => continue,
        };
        if let Merge::Conflict { files, .. } = repo.merging().merge(target, tip)? {
            let file = |file: &orchestrate_git::ConflictFile| ConflictingFile {
                path: text(&file.path),
                kind: file.kind.clone(),
            };
            let files = files.iter().map(file).collect();
            together.conflicts.push(BranchConflict { agent_id: changes.agent_id.clone(), with, files });
        }
    }
    for work in &works {
        add_diff(repo, work, caller, &mut together)?;
    }
    Ok(together)
}

fn work_of(repo: &Repo, state: &RunState, record: &TaskRecord) -> Result<Work, GitError> {
    let agent_id = record.task.id.clone();
    let Some(tip) = record.newest_work().cloned() else {
        let changes = AgentChanges { agent_id, files: Vec::new() };
        return Ok(Work { changes, base: state.base.clone(), tip: None });
    };
    let base = base_of(repo, state, record, &tip)?;
    let files = repo.store().diff(&base, &tip)?.into_iter().map(changed_file).collect();
    Ok(Work { changes: AgentChanges { agent_id, files }, base, tip: Some(tip) })
}

/// Adds an agent's changes to the combined diff, as far as they may be shown and there is room for them.
fn add_diff(repo: &Repo, work: &Work, caller: &Caller, to: &mut AggregatedResults) -> Result<(), GitError> {
    let Some(tip) = work.tip.as_ref().filter(|_| !work.changes.files.is_empty()) else { return Ok(()) };
    let (may_show, withheld): (Vec<PathBuf>, Vec<PathBuf>) =
        repo.store().changed_paths(&work.base, tip)?.into_iter().partition(|path| (caller.shows)(&text(path)));
    to.withheld.extend(withheld.iter().map(|path| shown_path(path)));
    if may_show.is_empty() || to.diff.len() >= MAX_COMBINED_DIFF_BYTES {
        return Ok(());
    }
    to.diff.push_str(&format!("agent {}:\n", work.changes.agent_id));
    to.diff.push_str(&repo.store().diff_text_of(&work.base, tip, &may_show)?);
    if to.diff.len() > MAX_COMBINED_DIFF_BYTES {
        let end = (0..=MAX_COMBINED_DIFF_BYTES).rev().find(|at| to.diff.is_char_boundary(*at)).unwrap_or(0);
        to.diff.truncate(end);
        to.diff.push_str("\n[the combined diff is longer; merge or look at the branches one by one]\n");
    }
    Ok(())
}
