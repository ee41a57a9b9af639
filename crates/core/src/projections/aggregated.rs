//! The results of several agents, side by side: what each hands back, what they change together,
//! and where their branches stand in each other's way.
//!
//! The changes and the conflicts are found in the repository; what follows from them is decided
//! here.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::ids::AgentId;
use crate::projections::hand_back::HandBack;
use crate::projections::review::ChangedFile;

/// The maximum number of pairs of branches that are merged to find conflicts, those with common
/// files first.
pub const MAX_COMPARED_PAIRS: usize = 64;

/// The maximum size of the combined diff in bytes.
pub const MAX_COMBINED_DIFF_BYTES: usize = 256 * 1024;

/// The size of one agent's changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangeSize {
    /// The agent.
    pub agent_id: AgentId,
    /// The number of files.
    pub files: usize,
    /// Lines added.
    pub added: usize,
    /// Lines removed.
    pub removed: usize,
}

/// A file that several agents change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SharedFile {
    /// The path.
    pub path: String,
    /// The agents, in the order of the call.
    pub agents: Vec<AgentId>,
}

/// The other side of a merge of an agent's branch.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Counterpart {
    /// Another agent's branch.
    Agent(AgentId),
    /// The branch of the agent that asks.
    Yours,
    /// The run's result.
    Result,
}

/// A file in conflict.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConflictingFile {
    /// The path.
    pub path: String,
    /// Git's name of the conflict, such as `contents` or `modify/delete`.
    pub kind: String,
}

/// A branch that does not merge cleanly with another one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BranchConflict {
    /// The agent.
    pub agent_id: AgentId,
    /// The other side of the merge.
    pub with: Counterpart,
    /// The files in conflict.
    pub files: Vec<ConflictingFile>,
}

/// Sums over several agents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CombinedUsage {
    /// Tokens.
    pub tokens: u64,
    /// Micro-dollars; `None` if a price is not known.
    pub micro_usd: Option<u64>,
    /// Requests answered.
    pub turns: u32,
}

/// The results of several agents.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AggregatedResults {
    /// The results that they hand back, in the order of the call.
    pub results: Vec<HandBack>,
    /// The size of each one's changes, in the same order.
    pub changes: Vec<ChangeSize>,
    /// The files that several of them change, sorted.
    pub overlaps: Vec<SharedFile>,
    /// The branches that do not merge cleanly with each other, or with that of the caller.
    pub conflicts: Vec<BranchConflict>,
    /// How many pairs of branches were not merged to find conflicts, because there are too many.
    pub unchecked_pairs: usize,
    /// The resources that they used together.
    pub usage: CombinedUsage,
    /// The changes of each as a unified diff, below a line with the agent; truncated if it is long.
    pub diff: String,
    /// Paths that differ, but may not be shown to the caller.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub withheld: Vec<String>,
}

/// The changes of an agent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AgentChanges {
    /// The agent.
    pub agent_id: AgentId,
    /// The files.
    pub files: Vec<ChangedFile>,
}

impl AgentChanges {
    /// Returns every path that is changed, the earlier one of a renamed file as well.
    pub fn paths(&self) -> BTreeSet<&str> {
        let paths = self
            .files
            .iter()
            .flat_map(|file| std::iter::once(&file.path).chain(&file.old_path));
        paths.map(String::as_str).collect()
    }

    fn size(&self) -> ChangeSize {
        ChangeSize {
            agent_id: self.agent_id.clone(),
            files: self.files.len(),
            added: self.files.iter().map(|file| file.added).sum(),
            removed: self.files.iter().map(|file| file.removed).sum(),
        }
    }
}

/// Returns the pairs of branches to merge, given by their position: those with common files first,
/// and at most [`MAX_COMPARED_PAIRS`]; and how many others there are. The position after the last
/// agent is the caller's branch.
pub fn pairs_to_merge(changes: &[AgentChanges]) -> (Vec<(usize, usize)>, usize) {
    let mut pairs = Vec::new();
    let (mut with_common_paths, mut others) = (Vec::new(), Vec::new());
    for (at, one) in changes.iter().enumerate() {
        if one.files.is_empty() {
            continue;
        }
        pairs.push((at, changes.len()));
        let paths = one.paths();
        for (later, other) in changes.iter().enumerate().skip(at + 1) {
            if other.files.is_empty() {
                continue;
            }
            if paths.is_disjoint(&other.paths()) {
                others.push((at, later));
            } else {
                with_common_paths.push((at, later));
            }
        }
    }
    pairs.extend(with_common_paths);
    pairs.extend(others);
    let surplus = pairs.len().saturating_sub(MAX_COMPARED_PAIRS);
    pairs.truncate(MAX_COMPARED_PAIRS);
    (pairs, surplus)
}

impl AggregatedResults {
    /// Combines what agents hand back with what they change; conflicts and the diff are still
    /// missing.
    pub fn combine(results: Vec<HandBack>, changes: &[AgentChanges]) -> Self {
        let micro_usd = results
            .iter()
            .map(|result| result.usage.micro_usd)
            .sum::<Option<u64>>();
        let usage = CombinedUsage {
            tokens: results.iter().map(|result| result.usage.tokens).sum(),
            micro_usd,
            turns: results.iter().map(|result| result.usage.turns).sum(),
        };
        Self {
            results,
            changes: changes.iter().map(AgentChanges::size).collect(),
            overlaps: overlaps(changes),
            conflicts: Vec::new(),
            unchecked_pairs: 0,
            usage,
            diff: String::new(),
            withheld: Vec::new(),
        }
    }
}

fn overlaps(changes: &[AgentChanges]) -> Vec<SharedFile> {
    let mut agents: BTreeMap<&str, Vec<AgentId>> = BTreeMap::new();
    for agent in changes {
        for path in agent.paths() {
            agents.entry(path).or_default().push(agent.agent_id.clone());
        }
    }
    let shared = agents.into_iter().filter(|(_, agents)| agents.len() > 1);
    shared
        .map(|(path, agents)| SharedFile {
            path: path.to_owned(),
            agents,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changes(agent: &str, files: &[&str]) -> AgentChanges {
        let file = |path: &&str| match path.split_once("->") {
            Some((old, path)) => ChangedFile {
                path: path.to_owned(),
                old_path: Some(old.to_owned()),
                ..ChangedFile::default()
            },
            None => ChangedFile {
                path: (*path).to_owned(),
                added: 2,
                removed: 1,
                ..ChangedFile::default()
            },
        };
        AgentChanges {
            agent_id: agent.into(),
            files: files.iter().map(file).collect(),
        }
    }

    #[test]
    fn files_of_several_agents_overlap() {
        let all = [
            changes("a", &["x", "y"]),
            changes("b", &["y", "x->z"]),
            changes("c", &["w"]),
        ];
        let together = AggregatedResults::combine(Vec::new(), &all);
        let shared: Vec<(&str, Vec<&str>)> = together
            .overlaps
            .iter()
            .map(|shared| {
                (
                    shared.path.as_str(),
                    shared.agents.iter().map(AgentId::as_str).collect(),
                )
            })
            .collect();
        assert_eq!(shared, [("x", vec!["a", "b"]), ("y", vec!["a", "b"])]);
        let size = ChangeSize {
            agent_id: "a".into(),
            files: 2,
            added: 4,
            removed: 2,
        };
        assert_eq!(together.changes[0], size);
    }

    #[test]
    fn every_pair_is_merged_up_to_a_bound_those_with_common_files_first() {
        let all = [
            changes("a", &["x"]),
            changes("b", &[]),
            changes("c", &["w"]),
            changes("d", &["x"]),
        ];
        assert_eq!(
            pairs_to_merge(&all),
            (vec![(0, 4), (2, 4), (3, 4), (0, 3), (0, 2), (2, 3)], 0)
        );
        let many: Vec<AgentChanges> = (0..20)
            .map(|at| changes(&format!("t{at}"), &["x"]))
            .collect();
        let (pairs, unchecked) = pairs_to_merge(&many);
        assert_eq!(
            (pairs.len(), unchecked),
            (MAX_COMPARED_PAIRS, 20 + 190 - MAX_COMPARED_PAIRS)
        );
    }
}
