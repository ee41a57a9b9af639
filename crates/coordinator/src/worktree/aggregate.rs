//! The results of several agents: their changes as a diff, and the conflicts between their
//! branches, found by merging without a checkout.

use std::path::PathBuf;

use orchestrate_core::projections::aggregated::{
    AgentChanges, AggregatedResults, BranchConflict, ConflictingFile, Counterpart,
    MAX_COMBINED_DIFF_BYTES, pairs_to_merge,
};
use orchestrate_core::projections::{HandBacks, HandedBack};
use orchestrate_core::text::git_path::{shown_path, text};
use orchestrate_core::{AgentId, Oid, WaitRefused};
use orchestrate_git::{GitError, Merge, Repo};
use orchestrate_landing::{base_of, changed_file};
use orchestrate_tools::ShowsPath;

use crate::error::CoordinatorError;
use crate::link::requests::ReadHandBacks;
use crate::ruling::Ruling;
use crate::run::machine::host::Host;
use crate::worktree::workspace::Workspace;

/// The work of one agent.
struct Work {
    changes: AgentChanges,
    base: Oid,
    /// Its newest commit; `None` before its first attempt.
    tip: Option<Oid>,
}

impl Workspace {
    /// Returns the results of these agents beside those of this one; fails with the reason if one
    /// does not exist.
    pub(crate) async fn aggregate(
        &self,
        agents: &[AgentId],
        shows: ShowsPath,
    ) -> Result<Ruling<AggregatedResults, WaitRefused>, CoordinatorError> {
        match self
            .link
            .ask(ReadHandBacks {
                agents: agents.to_vec(),
            })
            .await?
        {
            Ruling::Granted(handed) => {
                let results = aggregate(&self.host, handed, shows).await?;
                Ok(Ruling::Granted(results))
            }
            Ruling::Refused(refused) => Ok(Ruling::Refused(refused)),
        }
    }
}

/// Combines what agents hand back; only the content of paths that may be shown becomes part of it.
pub(crate) async fn aggregate(
    host: &Host,
    handed: HandBacks,
    shows: ShowsPath,
) -> Result<AggregatedResults, CoordinatorError> {
    host.git(move |repo| results(repo, handed, &shows)).await
}

fn results(
    repo: &Repo,
    handed: HandBacks,
    shows: &ShowsPath,
) -> Result<AggregatedResults, GitError> {
    let HandBacks {
        result,
        own,
        agents,
    } = handed;
    let works = agents
        .iter()
        .map(|agent| work_of(repo, agent))
        .collect::<Result<Vec<_>, _>>()?;
    let changes: Vec<AgentChanges> = works.iter().map(|work| work.changes.clone()).collect();
    let hand_backs = agents.into_iter().map(|agent| agent.hand_back).collect();
    let mut together = AggregatedResults::combine(hand_backs, &changes);
    let (yours, with) = match own {
        Some(own) => (own, Counterpart::Yours),
        None => (result, Counterpart::Result),
    };
    let (pairs, unchecked) = pairs_to_merge(&changes);
    together.unchecked_pairs = unchecked;
    for (one, other) in pairs {
        let Some((
            Work {
                changes,
                tip: Some(tip),
                ..
            },
            second,
        )) = works.get(one).map(|work| (work, works.get(other)))
        else {
            continue;
        };
        let (target, with) = match second {
            None => (&yours, with.clone()),
            Some(Work {
                changes,
                tip: Some(tip),
                ..
            }) => (tip, Counterpart::Agent(changes.agent_id.clone())),
            Some(Work { tip: None, .. }) => continue,
        };
        if let Merge::Conflict { files, .. } = repo.merging().merge(target, tip)? {
            let files = files.iter().map(conflicting_file).collect();
            together.conflicts.push(BranchConflict {
                agent_id: changes.agent_id.clone(),
                with,
                files,
            });
        }
    }
    for work in &works {
        add_diff(repo, work, shows, &mut together)?;
    }
    Ok(together)
}

fn conflicting_file(file: &orchestrate_git::ConflictFile) -> ConflictingFile {
    ConflictingFile {
        path: text(&file.path),
        kind: file.kind.clone(),
    }
}

fn work_of(repo: &Repo, agent: &HandedBack) -> Result<Work, GitError> {
    let agent_id = agent.hand_back.agent_id.clone();
    let Some(tip) = agent.tip.clone() else {
        let changes = AgentChanges {
            agent_id,
            files: Vec::new(),
        };
        return Ok(Work {
            changes,
            base: agent.span.base.clone(),
            tip: None,
        });
    };
    let base = base_of(repo, &agent.span, &tip)?;
    let files = repo
        .store()
        .diff(&base, &tip)?
        .into_iter()
        .map(changed_file)
        .collect();
    Ok(Work {
        changes: AgentChanges { agent_id, files },
        base,
        tip: Some(tip),
    })
}

/// Adds an agent's changes to the combined diff, as far as they may be shown and there is room for
/// them.
fn add_diff(
    repo: &Repo,
    work: &Work,
    shows: &ShowsPath,
    to: &mut AggregatedResults,
) -> Result<(), GitError> {
    let Some(tip) = work.tip.as_ref().filter(|_| !work.changes.files.is_empty()) else {
        return Ok(());
    };
    let (may_show, withheld): (Vec<PathBuf>, Vec<PathBuf>) = repo
        .store()
        .changed_paths(&work.base, tip)?
        .into_iter()
        .partition(|path| shows(&text(path)));
    to.withheld
        .extend(withheld.iter().map(|path| shown_path(path)));
    if may_show.is_empty() || to.diff.len() >= MAX_COMBINED_DIFF_BYTES {
        return Ok(());
    }
    to.diff
        .push_str(&format!("agent {}:\n", work.changes.agent_id));
    to.diff
        .push_str(&repo.store().diff_text_of(&work.base, tip, &may_show)?);
    if to.diff.len() > MAX_COMBINED_DIFF_BYTES {
        let end = (0..=MAX_COMBINED_DIFF_BYTES)
            .rev()
            .find(|at| to.diff.is_char_boundary(*at))
            .unwrap_or(0);
        to.diff.truncate(end);
        to.diff.push_str(
            "\n[the combined diff is longer; merge or look at the branches one by one]\n",
        );
    }
    Ok(())
}
