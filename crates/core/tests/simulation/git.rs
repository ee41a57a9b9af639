//! A repository as a pure value: trees are sets of lines by file, commits name a tree and their
//! parents.

use std::collections::BTreeMap;

use orchestrate_core::{Oid, TaskId};

/// The lines of each file, as bits.
pub(crate) type Tree = BTreeMap<u32, u64>;

/// A repository with its worktrees: what a crash leaves as it is.
#[derive(Clone, Debug, Default)]
pub(crate) struct Git {
    trees: Vec<Tree>,
    ids: BTreeMap<Tree, usize>,
    commits: Vec<Commit>,
    refs: BTreeMap<String, Oid>,
    worktrees: BTreeMap<TaskId, Worktree>,
}

#[derive(Clone, Debug)]
struct Commit {
    tree: usize,
    /// Itself and all its ancestors, as bits.
    history: Vec<u64>,
}

/// The files of one task, and those whose conflict is not resolved.
#[derive(Clone, Debug, Default)]
pub(crate) struct Worktree {
    pub(crate) files: Tree,
    pub(crate) unresolved: Tree,
}

/// A merge of two commits: the merged files and, for each that conflicts, the lines of both sides.
pub(crate) struct Merged {
    pub(crate) files: Tree,
    pub(crate) conflicts: Tree,
}

impl Git {
    /// Stores a tree; the same content has the same id.
    pub(crate) fn store(&mut self, tree: &Tree) -> Oid {
        let at = *self.ids.entry(tree.clone()).or_insert_with(|| {
            self.trees.push(tree.clone());
            self.trees.len() - 1
        });
        Oid::new(format!("t{at}"))
    }

    pub(crate) fn commit(&mut self, tree: &Oid, parents: &[&Oid]) -> Oid {
        let at = self.commits.len();
        let mut history = vec![0; at / 64 + 1];
        for parent in parents {
            for (own, theirs) in history
                .iter_mut()
                .zip(&self.commits[number(parent)].history)
            {
                *own |= theirs;
            }
        }
        history[at / 64] |= 1 << (at % 64);
        self.commits.push(Commit {
            tree: number(tree),
            history,
        });
        Oid::new(format!("c{at}"))
    }

    pub(crate) fn tree_of(&self, commit: &Oid) -> Oid {
        Oid::new(format!("t{}", self.commits[number(commit)].tree))
    }

    pub(crate) fn tree(&self, tree: &Oid) -> &Tree {
        &self.trees[number(tree)]
    }

    /// Reports whether a commit is another one, or has it among its ancestors.
    pub(crate) fn contains(&self, commit: &Oid, other: &Oid) -> bool {
        let (history, other) = (&self.commits[number(commit)].history, number(other));
        history
            .get(other / 64)
            .is_some_and(|bits| bits & (1 << (other % 64)) != 0)
    }

    pub(crate) fn merge(&self, ours: &Oid, theirs: &Oid) -> Merged {
        let base = self.tree(&self.tree_of(&self.merge_base(ours, theirs)));
        let ours = self.tree(&self.tree_of(ours));
        let theirs = self.tree(&self.tree_of(theirs));
        let mut merged = Merged {
            files: ours.clone(),
            conflicts: Tree::new(),
        };
        for (file, lines) in theirs {
            let of = |tree: &Tree| tree.get(file).copied().unwrap_or(0);
            let (before, own) = (of(base), of(ours));
            if own == before {
                merged.files.insert(*file, *lines);
            } else if *lines != before && *lines != own {
                merged.conflicts.insert(*file, own | lines);
            }
        }
        merged
    }

    /// Returns the newest common ancestor; commits are numbered in the order of their history.
    fn merge_base(&self, ours: &Oid, theirs: &Oid) -> Oid {
        let pairs = self.commits[number(ours)]
            .history
            .iter()
            .zip(&self.commits[number(theirs)].history);
        let mut common = pairs
            .map(|(ours, theirs)| ours & theirs)
            .enumerate()
            .filter(|(_, bits)| *bits != 0);
        let (word, bits) = common.next_back().unwrap();
        Oid::new(format!(
            "c{}",
            word * 64 + 63 - bits.leading_zeros() as usize
        ))
    }

    pub(crate) fn read_ref(&self, name: &str) -> Option<&Oid> {
        self.refs.get(name)
    }

    pub(crate) fn set_ref(&mut self, name: &str, commit: &Oid) {
        self.refs.insert(name.to_owned(), commit.clone());
    }

    pub(crate) fn worktree(&mut self, task: &TaskId) -> &mut Worktree {
        self.worktrees.entry(task.clone()).or_default()
    }

    /// Brings what changed between two commits into a worktree, whose own changes stay.
    pub(crate) fn bring(&mut self, task: &TaskId, from: &Oid, to: &Oid) {
        let tree = |commit| self.tree(&self.tree_of(commit)).clone();
        let (before, after) = (tree(from), tree(to));
        let files = &mut self.worktree(task).files;
        for (file, lines) in &after {
            let (known, own) = (before.get(file), files.get(file).copied());
            if known == Some(lines) || own == Some(*lines) {
                continue;
            }
            assert_eq!(
                own,
                known.copied(),
                "a change of {task} in {file} would be lost"
            );
            files.insert(*file, *lines);
        }
    }

    /// Makes a worktree show a commit, and nothing else.
    pub(crate) fn check_out(&mut self, task: &TaskId, commit: &Oid) {
        let files = self.tree(&self.tree_of(commit)).clone();
        *self.worktree(task) = Worktree {
            files,
            unresolved: Tree::new(),
        };
    }
}

fn number(id: &Oid) -> usize {
    id.as_str()[1..].parse().unwrap()
}
