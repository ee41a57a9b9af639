//! Brings what an agent's git says to our refs, and what our tools have done to the agent's git.

use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::OwnedFd;
use std::path::PathBuf;

use git2::{Index, Oid, Reference};
use orchestrate_core as core;
use orchestrate_files::if_there;

use crate::error::GitError;
use crate::files::index_entry::unread_entry;
use crate::files::openat;
use crate::program::retry;
use crate::repo::refs::branch_ref;
use crate::repo::repository::{CommitSpec, Repo, ours, theirs, tree_of};
use crate::repo::worktree::Worktree;
use crate::store::conflicts;
use crate::worktree::own_refs::{HEAD, LEFT, MOST_NAMES, OwnRefs, SELECTED, TASK_BRANCH};
use crate::worktree::private::found::{Found, Staged};
use crate::worktree::private::import::{Import, NotBrought};
use crate::worktree::private::make;
use crate::worktree::private::objects::PrivateObjects;
use crate::worktree::private::place::PrivatePlace;
use crate::worktree::private::shown_refs::PACKED;
use crate::worktree::private::synced::{Name, Synced};
use crate::worktree::worktrees::Worktrees;

/// The folders of refs of an agent's git, and those of our names for them.
const FOLDERS: [(&str, &str); 2] = [("refs/heads/", "branch/"), ("refs/tags/", "tag/")];
/// The folder of our names for all other refs.
const OTHERS: &str = "other/";
/// Refs that are a part of an operation in progress.
const PASSING: [&str; 4] = [
    "refs/bisect/",
    "refs/rewritten/",
    "refs/worktree/",
    "refs/stash",
];
/// The longest name that is taken over.
const LONGEST_NAME: usize = 200;
/// What a commit ends of an operation in progress.
const ENDED: [&[u8]; 5] = [
    b"MERGE_HEAD",
    b"MERGE_MODE",
    b"MERGE_MSG",
    b"CHERRY_PICK_HEAD",
    b"REVERT_HEAD",
];
/// The largest file of packed refs.
const PACKED_BYTES: u64 = 64 << 20;
/// How many paths in conflict, and things that are not taken over, are named.
const NAMED: usize = 20;

/// Our side of an agent's git.
#[derive(Clone, Debug)]
pub struct OurSide {
    /// The names of the task's own refs.
    pub own: OwnRefs,
    /// The tip of the task's branch.
    pub tip: core::Oid,
    /// The commit that holds a selection; its tree is set. Without one, what is staged is not
    /// looked at.
    pub selection: Option<CommitSpec>,
}

/// A file in conflict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InConflict {
    /// Its path.
    pub path: PathBuf,
    /// The line of its first marker.
    pub line: usize,
}

/// What an agent's git says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentsGit {
    /// The commit on which the agent is; the branch's tip, unless it has made commits of its own.
    pub head: core::Oid,
    /// The short name of the branch on which it is; `None` if it is on none.
    pub branch: Option<String>,
    /// The commit that is being merged.
    pub merging: Option<core::Oid>,
    /// The operation in progress, such as `a rebase`.
    pub operation: Option<&'static str>,
    /// The files of a merge in progress that have markers of conflicts.
    pub conflicts: Vec<InConflict>,
    /// What was not taken over, and why.
    pub notes: Vec<String>,
}

/// One comparison.
struct Sync<'a> {
    repo: &'a Repo,
    worktree: &'a Worktree,
    side: &'a OurSide,
    place: PrivatePlace,
    before: Synced,
    notes: Vec<String>,
}

/// What was brought of an agent's git.
#[derive(Clone)]
struct Brought {
    head: Oid,
    /// What its names stand for there.
    names: BTreeMap<String, Oid>,
    selected: Option<Oid>,
    index: String,
}

impl Worktrees<'_> {
    /// Makes the git directory that the commands of a worktree find, unless there is one.
    pub(crate) fn ensure_git(&self, worktree: &Worktree) -> Result<(), GitError> {
        let place = PrivatePlace::beside(worktree);
        if place.open().is_some_and(|git_dir| is_whole(&git_dir)) {
            return Ok(());
        }
        self.renew_git(worktree)
    }

    /// Makes a fresh git directory for the commands of a worktree. What another one there held is
    /// gone, so it was compared before, or belongs to nobody.
    ///
    /// # Errors
    /// If the file system refuses.
    pub fn renew_git(&self, worktree: &Worktree) -> Result<(), GitError> {
        let place = PrivatePlace::beside(worktree);
        make::make(worktree, &place)?;
        let head = self.head(worktree)?;
        let index = make::index(self.repo, worktree, &place, &head)?;
        put(&place, b"index", &index)
    }

    /// Holds what an agent has committed and set aside in its own git, before that is removed.
    ///
    /// # Errors
    /// As [`Worktrees::sync_git`].
    pub fn hold_git(
        &self,
        worktree: &Worktree,
        own: &OwnRefs,
        tip: &core::Oid,
    ) -> Result<(), GitError> {
        let place = PrivatePlace::beside(worktree);
        let before = Synced::read(&place)?;
        let Some(git_dir) = place.open() else {
            return Ok(());
        };
        let mut found = Found::read(&git_dir);
        found.is_whole = is_whole(&git_dir);
        let side = OurSide {
            own: own.clone(),
            tip: tip.clone(),
            selection: None,
        };
        let mut sync = Sync {
            repo: self.repo,
            worktree,
            side: &side,
            place,
            before,
            notes: Vec::new(),
        };
        sync.bring(&found).map(drop)
    }

    /// Compares an agent's git with our refs: what it has changed is brought to them, and what they
    /// have changed is written there. No command of the agent may run meanwhile.
    ///
    /// # Errors
    /// If the repository or our folder beside the worktree cannot be read or written. What the
    /// agent has made of its git directory is no error.
    pub fn sync_git(&self, worktree: &Worktree, side: &OurSide) -> Result<AgentsGit, GitError> {
        let place = PrivatePlace::beside(worktree);
        let mut sync = Sync {
            repo: self.repo,
            worktree,
            side,
            before: Synced::read(&place)?,
            place,
            notes: Vec::new(),
        };
        let mut found = Found::default();
        if let Some(git_dir) = sync.place.open() {
            found = Found::read(&git_dir);
        }
        let git_dir = sync.place.open().filter(is_whole);
        found.is_whole = git_dir.is_some();
        let mut brought = sync.bring(&found)?;
        let is_new = sync.before.tip.is_none() || git_dir.is_none();
        if git_dir.is_none() {
            if sync.before.tip.is_some() {
                sync.notes
                    .push("it was damaged, and was made again at your branch's tip".to_owned());
            }
            self.renew_git(worktree)?;
            found = Found::default();
            brought.selected = None;
            brought.names.clear();
            sync.before = Synced::default();
        }
        let head = match sync.write(&found, brought.clone(), is_new) {
            Ok(head) => head,
            // The agent may have made it one that cannot be written.
            Err(cause) => {
                let made = "it could not be written, and was made again at your branch's tip";
                sync.notes.push(format!("{made}: {cause}"));
                self.renew_git(worktree)?;
                found = Found::default();
                brought.names.clear();
                sync.before = Synced::default();
                sync.write(&found, brought, true)?
            }
        };
        let on = match found.on {
            Some(on) => Some(on),
            None if is_new => worktree.branch().map(|own| branch_ref(own).into_bytes()),
            None => None,
        };
        let branch = on.and_then(|on| Some(on.strip_prefix(b"refs/heads/")?.to_vec()));
        let conflicts = match &found.staged {
            Some(staged) => marked(worktree, &staged.conflicts),
            None => Vec::new(),
        };
        Ok(AgentsGit {
            head: ours(head),
            branch: branch.map(|name| String::from_utf8_lossy(&name).into_owned()),
            merging: found
                .merging
                .filter(|_| found.operation.is_some())
                .map(ours),
            operation: found.operation,
            conflicts,
            notes: sync.notes,
        })
    }
}

impl Sync<'_> {
    /// Brings what has changed in the agent's git to our refs.
    fn bring(&mut self, found: &Found) -> Result<Brought, GitError> {
        let tip = theirs(&self.side.tip)?;
        let objects = match self.place.open() {
            Some(git_dir) => PrivateObjects::open(&git_dir),
            None => PrivateObjects::none(),
        };
        let mut import = Import::new(self.repo, objects)?;
        let known = self.before.tip.unwrap_or(tip);
        let head = match found.head {
            Some(head) if head != known => self.commit(&mut import, head, "HEAD")?,
            head => head,
        };
        let head = head.unwrap_or(known);
        let names = self.bring_names(&mut import, found)?;
        self.bring_stashes(&mut import, found)?;
        let (selected, index) = self.bring_selection(&mut import, found, head)?;
        import.finish()?;
        self.hold_head(head)?;
        Ok(Brought {
            head,
            names,
            selected,
            index,
        })
    }

    /// Notes what was not taken over, as long as the list is one to read.
    fn note(&mut self, text: String) {
        if self.notes.len() < NAMED {
            self.notes.push(text);
        }
    }

    /// Imports a commit; `None`, and a note, if what the agent's git holds is not usable.
    fn commit(
        &mut self,
        import: &mut Import<'_>,
        id: Oid,
        what: &str,
    ) -> Result<Option<Oid>, GitError> {
        match import.commit(id) {
            Ok(commit) => Ok(Some(commit)),
            Err(NotBrought::Failed(error)) => Err(error),
            Err(NotBrought::Unusable(why)) => {
                self.note(format!("{what} was not taken over: {why}"));
                Ok(None)
            }
        }
    }

    /// Holds the commit on which the agent is, and the one on which it was if no history leads
    /// there any more.
    fn hold_head(&self, head: Oid) -> Result<(), GitError> {
        let (repo, own) = (self.repo, &self.side.own);
        let held = own.read(repo, HEAD)?;
        let head = ours(head);
        if held.as_ref() == Some(&head) {
            return Ok(());
        }
        let is_ours = repo.contains(&self.side.tip, &head)?;
        if let Some(held) = held {
            let is_left = !repo.contains(&head, &held)? && !repo.contains(&self.side.tip, &held)?;
            if is_left {
                let short: String = held.as_str().chars().take(12).collect();
                own.set(repo, &format!("{LEFT}{short}"), &held)?;
            }
            if is_ours {
                own.forget(repo, &[HEAD])?;
            }
        }
        if is_ours {
            Ok(())
        } else {
            own.set(repo, HEAD, &head)
        }
    }

    /// Brings branches, tags and other refs; returns what they stand for in the agent's git.
    fn bring_names(
        &mut self,
        import: &mut Import<'_>,
        found: &Found,
    ) -> Result<BTreeMap<String, Oid>, GitError> {
        let path = self.place.shown();
        let shown = if_there(std::fs::read(&path)).map_err(GitError::io("read", &path))?;
        let shown = shown.map_or(BTreeMap::new(), |shown| packed(&shown));
        let own_branch = self.worktree.branch().map(branch_ref);
        let mut names = BTreeMap::new();
        for (full, id) in &found.refs {
            if shown.get(full) == Some(id) {
                continue;
            }
            let Some(name) = own_name(full, own_branch.as_deref()) else {
                continue;
            };
            let is_current = found.on.as_deref() == Some(full.as_slice());
            if name == TASK_BRANCH && (is_current || Some(*id) == self.before.tip) {
                continue;
            }
            let is_valid = Reference::is_valid_name(&String::from_utf8_lossy(full))
                && name.len() <= LONGEST_NAME;
            if !is_valid || names.len() >= MOST_NAMES {
                self.note(format!("`{name}` was not taken over"));
                continue;
            }
            names.insert(name, *id);
        }
        let (repo, own) = (self.repo, self.side.own.clone());
        for (name, known) in &self.before.names {
            let is_ours = || Ok::<_, GitError>(own.read(repo, name)? == Some(ours(known.ours)));
            if found.is_whole && !names.contains_key(name) && is_ours()? {
                own.forget(repo, &[name])?;
            }
        }
        let mut held: BTreeSet<String> = own
            .names(repo)?
            .into_iter()
            .map(|entry| entry.name)
            .collect();
        let mut brought = BTreeMap::new();
        for (name, id) in names {
            let known = self.before.names.get(&name).map(|known| known.theirs);
            if known == Some(id) {
                brought.insert(name, id);
            } else if held.iter().any(|other| is_within(other, &name)) {
                self.note(format!("`{name}` was not taken over"));
            } else if let Some(commit) = self.commit(import, id, &name)? {
                own.set(repo, &name, &ours(commit))?;
                held.insert(name.clone());
                brought.insert(name, id);
            }
        }
        Ok(brought)
    }

    fn bring_stashes(&mut self, import: &mut Import<'_>, found: &Found) -> Result<(), GitError> {
        if found.stashes == self.before.stashes {
            return Ok(());
        }
        let (repo, own) = (self.repo, &self.side.own.clone());
        let stacked = own.stashes(repo)?;
        let held: BTreeSet<Oid> = stacked
            .iter()
            .map(|entry| theirs(&entry.commit.id))
            .collect::<Result<_, _>>()?;
        for entry in &stacked {
            let id = theirs(&entry.commit.id)?;
            let is_gone = self.before.stashes.contains(&id) && !found.stashes.contains(&id);
            if found.is_whole && is_gone {
                own.take_off(repo, entry)?;
            }
        }
        let new: Vec<&Oid> = found
            .stashes
            .iter()
            .filter(|id| !held.contains(id))
            .collect();
        let left = new.len().saturating_sub(MOST_NAMES);
        if left > 0 {
            self.note(format!("{left} of the oldest stashes were not taken over"));
        }
        for id in new.into_iter().skip(left) {
            if let Some(commit) = self.commit(import, *id, "a stash")? {
                own.push(repo, &ours(commit))?;
            }
        }
        Ok(())
    }

    /// Brings what is staged; returns it, and the metadata of the index.
    fn bring_selection(
        &mut self,
        import: &mut Import<'_>,
        found: &Found,
        head: Oid,
    ) -> Result<(Option<Oid>, String), GitError> {
        let index = self.index_metadata();
        let (repo, own) = (self.repo, &self.side.own);
        let Some(selection) = &self.side.selection else {
            return Ok((self.before.selected, index));
        };
        if index == self.before.index || !found.is_whole {
            return Ok((self.before.selected, index));
        }
        let Some(staged) = found.staged.as_ref().filter(|staged| {
            // A merge is committed as a whole.
            staged.conflicts.is_empty()
        }) else {
            return Ok((self.before.selected, index));
        };
        let selected = match staged_tree(repo, import, staged, head) {
            Ok(selected) => selected,
            Err(NotBrought::Failed(error)) => return Err(error),
            Err(NotBrought::Unusable(why)) => {
                self.note(format!("what is staged was not taken over: {why}"));
                return Ok((self.before.selected, index));
            }
        };
        if selected == self.before.selected {
            return Ok((selected, index));
        }
        match selected {
            Some(tree) => {
                let commit = repo.commit(&CommitSpec {
                    tree: ours(tree),
                    ..selection.clone()
                })?;
                own.set(repo, SELECTED, &commit)?;
            }
            None => own.forget(repo, &[SELECTED])?,
        }
        Ok((selected, index))
    }

    /// Writes what our tools have changed to the agent's git; returns the commit on which it is.
    fn write(&mut self, found: &Found, brought: Brought, is_new: bool) -> Result<Oid, GitError> {
        let (repo, own) = (self.repo, self.side.own.clone());
        let tip = theirs(&self.side.tip)?;
        let has_moved = match self.before.tip {
            Some(before) => before != tip,
            None => found.head.is_some_and(|head| head != tip),
        };
        let head = if has_moved || is_new {
            tip
        } else {
            brought.head
        };
        if is_new {
            let selection = self.side.selection.as_ref();
            let author = selection.map(|commit| &commit.by.author);
            let config = make::configuration(self.worktree, author);
            put(&self.place, b"config", &config)?;
        }
        if has_moved {
            self.move_head(found, tip)?;
        }
        self.hold_head(head)?;
        let names = self.write_names(&brought.names)?;
        let mut stashes = Vec::new();
        for entry in own.stashes(repo)?.iter().rev() {
            stashes.push(theirs(&entry.commit.id)?);
        }
        if stashes != found.stashes {
            self.write_stashes(&stashes)?;
        }
        self.write_alternates()?;
        let selected = own.current(repo, SELECTED, &self.side.tip)?;
        let selected = selected.map(|commit| theirs(&commit.tree)).transpose()?;
        let mut index = brought.index;
        if has_moved || selected != brought.selected {
            let tree = ours(selected.unwrap_or(head));
            let bytes = make::index(repo, self.worktree, &self.place, &tree)?;
            put(&self.place, b"index", &bytes)?;
            index = self.index_metadata();
        }
        let now = Synced {
            tip: Some(tip),
            selected,
            index,
            names,
            stashes,
        };
        if now != self.before {
            now.write(&self.place)?;
        }
        Ok(head)
    }

    /// Puts the agent on the tip of the task's branch, on the branch on which it is.
    fn move_head(&self, found: &Found, tip: Oid) -> Result<(), GitError> {
        let line = format!("{tip}\n");
        if let Some(branch) = self.worktree.branch() {
            put(&self.place, branch_ref(branch).as_bytes(), line.as_bytes())?;
        }
        let on = found.on.as_ref().filter(|name| {
            name.starts_with(b"refs/heads/")
                && Reference::is_valid_name(&String::from_utf8_lossy(name))
        });
        match (on, found.head) {
            (Some(name), _) => put(&self.place, name, line.as_bytes())?,
            (None, _) => put(&self.place, b"HEAD", line.as_bytes())?,
        }
        let Some(git_dir) = self.place.open() else {
            return Ok(());
        };
        for name in ENDED {
            openat::remove_file(&git_dir, name)
                .map_err(GitError::errno("remove a file of", self.place.git_dir()))?;
        }
        Ok(())
    }

    /// Writes our names for commits; returns all of them.
    fn write_names(
        &self,
        brought: &BTreeMap<String, Oid>,
    ) -> Result<BTreeMap<String, Name>, GitError> {
        let mut names = BTreeMap::new();
        for entry in self.side.own.names(self.repo)? {
            let id = theirs(&entry.target)?;
            let known = self.before.names.get(&entry.name);
            let there = brought.get(&entry.name).copied();
            let is_ours = known.is_none_or(|known| known.ours != id);
            let mut value = there;
            if there.is_none() || (is_ours && known.map(|known| known.theirs) == there) {
                let Some(full) = full_name(&entry.name) else {
                    continue;
                };
                put(&self.place, full.as_bytes(), format!("{id}\n").as_bytes())?;
                value = Some(id);
            }
            if let Some(theirs) = value {
                names.insert(entry.name, Name { theirs, ours: id });
            }
        }
        let gone = brought.keys().filter(|name| !names.contains_key(*name));
        for full in gone.filter_map(|name| full_name(name)) {
            self.delete_ref(&full)?;
        }
        Ok(names)
    }

    fn delete_ref(&self, full: &str) -> Result<(), GitError> {
        let Some(git_dir) = self.place.open() else {
            return Ok(());
        };
        let failed = GitError::errno("remove a ref of", self.place.git_dir());
        let (folder, name) = openat::split(full.as_bytes());
        if let Ok(folder) = openat::open_folder(&git_dir, folder) {
            openat::remove_file(&folder, name).map_err(&failed)?;
        }
        let Ok(Some((packed, _))) = openat::read(&git_dir, PACKED.as_bytes(), PACKED_BYTES) else {
            return Ok(());
        };
        let ends = format!(" {full}");
        let is_it = |line: &&[u8]| line.ends_with(ends.as_bytes());
        let lines: Vec<&[u8]> = packed.split(|byte| *byte == b'\n').collect();
        if !lines.iter().any(is_it) {
            return Ok(());
        }
        // What a tag stands for is on the line below it.
        let (mut kept, mut drops) = (Vec::new(), false);
        for line in lines {
            drops = is_it(&line) || (drops && line.starts_with(b"^"));
            if !drops && !line.is_empty() {
                kept.extend_from_slice(line);
                kept.push(b'\n');
            }
        }
        put(&self.place, PACKED.as_bytes(), &kept)
    }

    /// Writes the changes that are set aside as git keeps them.
    fn write_stashes(&self, stashes: &[Oid]) -> Result<(), GitError> {
        let Some(newest) = stashes.last() else {
            let Some(git_dir) = self.place.open() else {
                return Ok(());
            };
            let failed = GitError::errno("remove the stash of", self.place.git_dir());
            for folder in [b"refs".as_slice(), b"logs/refs"] {
                if let Ok(folder) = openat::open_folder(&git_dir, folder) {
                    openat::remove_file(&folder, b"stash").map_err(&failed)?;
                }
            }
            return self.delete_ref("refs/stash");
        };
        let (mut log, mut before) = (String::new(), Oid::ZERO_SHA1);
        for id in stashes {
            let commit = self.repo.store().commit_info(&ours(*id))?;
            let who = format!("{} <{}>", commit.author.name, commit.author.email);
            let (time, subject) = (commit.time_unix, commit.subject());
            log.push_str(&format!("{before} {id} {who} {time} +0000\t{subject}\n"));
            before = *id;
        }
        put(&self.place, b"logs/refs/stash", log.as_bytes())?;
        put(&self.place, b"refs/stash", format!("{newest}\n").as_bytes())
    }

    /// Writes again where the repository's objects are: another tier of the sandbox shows them
    /// elsewhere, and the agent may have changed it.
    fn write_alternates(&self) -> Result<(), GitError> {
        let wanted = self.place.alternates();
        let there = self.place.open().and_then(|git_dir| {
            let folder = openat::open_folder(&git_dir, b"objects/info").ok()?;
            openat::read(&folder, b"alternates", 1 << 16).ok().flatten()
        });
        if there.is_some_and(|(bytes, _)| bytes == wanted) {
            return Ok(());
        }
        put(&self.place, b"objects/info/alternates", &wanted)
    }

    /// Returns what tells whether an index has been written since; empty if there is none.
    fn index_metadata(&self) -> String {
        let stat = self
            .place
            .open()
            .and_then(|git_dir| openat::look(&git_dir, b"index").ok().flatten());
        stat.map_or(String::new(), |stat| {
            format!(
                "{}.{}.{}.{}.{}",
                stat.st_ino, stat.st_size, stat.st_mtime, stat.st_mtime_nsec, stat.st_ctime_nsec
            )
        })
    }
}

/// Returns those of the files that have markers of conflicts.
fn marked(worktree: &Worktree, paths: &BTreeSet<Vec<u8>>) -> Vec<InConflict> {
    let mut marked = Vec::new();
    for path in paths.iter().take(NAMED) {
        // A path that cannot be opened has no markers: the agent's index may name any.
        let content = conflicts::content(worktree, path).unwrap_or(None);
        let line = content.and_then(|bytes| conflicts::first_marker(&bytes, &[]));
        marked.extend(line.map(|line| InConflict {
            path: openat::path_of(path),
            line,
        }));
    }
    marked
}

/// Returns the tree that is staged, if it is not the one of this commit.
fn staged_tree(
    repo: &Repo,
    import: &mut Import<'_>,
    staged: &Staged,
    head: Oid,
) -> Result<Option<Oid>, NotBrought> {
    let failed = GitError::library("read what is staged in an agent's git");
    let handle = repo.handle()?;
    let tree = tree_of(&handle, &ours(head))?;
    let mut index = Index::new().map_err(&failed)?;
    index.read_tree(&tree).map_err(&failed)?;
    let entries: Vec<git2::IndexEntry> = index.iter().collect();
    let mut same = BTreeSet::new();
    for entry in &entries {
        if staged.files.get(&entry.path) == Some(&(entry.mode, entry.id)) {
            same.insert(entry.path.as_slice());
        } else {
            index
                .remove(&openat::path_of(&entry.path), 0)
                .map_err(&failed)?;
        }
    }
    for (path, (mode, id)) in &staged.files {
        if same.contains(path.as_slice()) {
            continue;
        }
        let is_link = *mode == crate::files::index_entry::LINK;
        if !core::text::git_path::is_storable(path, is_link) {
            let shown = String::from_utf8_lossy(path);
            let why = format!("git does not accept the path `{shown}`");
            return Err(NotBrought::Unusable(why));
        }
        if *mode != crate::files::index_entry::GITLINK {
            import.content(*id)?;
        }
        index
            .add(&unread_entry(path, *mode, *id))
            .map_err(|error| NotBrought::Unusable(error.message().to_owned()))?;
    }
    let written = retry::while_swept(|| index.write_tree_to(&handle));
    let written = written.map_err(&failed)?;
    Ok((written != tree.id()).then_some(written))
}

/// Reports whether a directory is one that git works with.
fn is_whole(git_dir: &OwnedFd) -> bool {
    let is_file = openat::look(git_dir, b"HEAD")
        .ok()
        .flatten()
        .is_some_and(|stat| openat::kind(&stat) == rustix::fs::FileType::RegularFile);
    let is_folder = |name: &[u8]| openat::open_folder(git_dir, name).is_ok();
    is_file && is_folder(b"objects") && is_folder(b"refs")
}

/// Returns our name for a ref of an agent's git, or `None` if none is needed.
fn own_name(full: &[u8], own_branch: Option<&str>) -> Option<String> {
    let full = std::str::from_utf8(full).ok()?;
    if PASSING.iter().any(|passing| full.starts_with(passing)) {
        return None;
    }
    if Some(full) == own_branch {
        return Some(TASK_BRANCH.to_owned());
    }
    for (folder, name) in FOLDERS {
        if let Some(rest) = full.strip_prefix(folder) {
            return Some(format!("{name}{rest}"));
        }
    }
    let rest = full.strip_prefix("refs/")?;
    Some(format!("{OTHERS}{rest}"))
}

/// Returns the ref of an agent's git that one of our names stands for, if tools may write it.
fn full_name(name: &str) -> Option<String> {
    for (folder, ours) in FOLDERS {
        if let Some(rest) = name.strip_prefix(ours) {
            return Some(format!("{folder}{rest}"));
        }
    }
    None
}

/// Reports whether one of two different names is a folder of the other.
fn is_within(one: &str, two: &str) -> bool {
    let is_below = |name: &str, folder: &str| {
        let rest = name.strip_prefix(folder);
        rest.is_some_and(|rest| rest.starts_with('/'))
    };
    is_below(one, two) || is_below(two, one)
}

/// Reads refs that we have packed.
fn packed(bytes: &[u8]) -> BTreeMap<Vec<u8>, Oid> {
    let mut refs = BTreeMap::new();
    for line in bytes.split(|byte| *byte == b'\n') {
        if let Some((id, name)) = line.split_at_checked(40)
            && let Ok(id) = Oid::from_str(&String::from_utf8_lossy(id))
            && let Some(name) = name.strip_prefix(b" ")
        {
            refs.insert(name.to_vec(), id);
        }
    }
    refs
}

fn put(place: &PrivatePlace, name: &[u8], bytes: &[u8]) -> Result<(), GitError> {
    let path = place.git_dir();
    match place.open() {
        Some(git_dir) => make::put(&git_dir, name, bytes, &path),
        None => Err(GitError::io("open", path)(
            std::io::ErrorKind::NotFound.into(),
        )),
    }
}
