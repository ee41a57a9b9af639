//! What the calls of one agent find in the cache, and what git knows of its worktree's files.

use std::sync::Arc;
use std::time::SystemTime;

use orchestrate_cache::Identity;
use orchestrate_core::Oid;
use orchestrate_core::collections::Mutex;
use orchestrate_core::policy::CacheMode;
use orchestrate_core::policy::cache::{CacheKey, ContentHash, NO_COMMIT, Phase, agent_name};
use orchestrate_tools::{FileContents, FileStamp, ReplayService, Replayable};
use serde_json::json;

use crate::run::machine::results::Results;
use crate::worker::workplace::Workplace;
use crate::worktree::contents::GitContents;
use crate::worktree::workspace::Workspace;

/// How many digits of a commit's id are in a key.
const COMMIT_DIGITS: usize = 7;

/// The stored results for one agent.
pub(super) struct Replays {
    results: Arc<Results>,
    /// `None` once the agent has ended.
    files: Mutex<Option<Workspace>>,
    agent: String,
    commit: String,
    basis: String,
    /// What the index knew when it was last written.
    recorded: Mutex<Option<(SystemTime, Arc<GitContents>)>>,
}

impl Replays {
    pub(super) fn new(workplace: &Workplace, role: Option<&str>) -> Self {
        let assignment = &workplace.assignment;
        let grant = assignment.role.as_ref().map(|role| &role.grant);
        let basis = json!([assignment.rules, assignment.tool_settings, grant, program()]);
        Self {
            results: Arc::clone(&workplace.host.results),
            files: Mutex::new(Some(workplace.files.clone())),
            agent: agent_name([role, None, None]),
            commit: assignment
                .base
                .as_str()
                .chars()
                .take(COMMIT_DIGITS)
                .collect(),
            basis: basis.to_string(),
            recorded: Mutex::default(),
        }
    }

    /// Releases the run; nothing is known of files afterwards.
    pub(super) fn close(&self) {
        self.files.lock().take();
    }

    /// Returns by what the result of a call is found. The digest covers the content of all that the
    /// tool could see, so the agent's commit, which is printed in its keys, does not decide: an
    /// agent on another commit that sees the same files shares the result.
    fn identity(&self, call: &Replayable) -> Identity {
        let key = self.key_at(call, NO_COMMIT);
        Identity {
            key,
            commit: NO_COMMIT.to_owned(),
            agent: self.agent.clone(),
        }
    }

    fn key_at(&self, call: &Replayable, commit: &str) -> CacheKey {
        let content = ContentHash::of_parts([call.digest.as_bytes()]);
        // Agents work on the plan; none of their calls is for planning only.
        CacheKey::new(&self.agent, Phase::Build, &content, commit)
    }

    fn recorded(&self) -> Option<Arc<GitContents>> {
        let files = self.files.lock().clone()?;
        let written = files.index_written().ok()?;
        let mut recorded = self.recorded.lock();
        if let Some((time, contents)) = recorded.as_ref()
            && *time == written
        {
            return Some(Arc::clone(contents));
        }
        let contents = Arc::new(files.contents().ok()?);
        *recorded = Some((written, Arc::clone(&contents)));
        Some(contents)
    }
}

impl ReplayService for Replays {
    fn mode(&self, tool: &str) -> CacheMode {
        self.results.mode(tool)
    }

    fn basis(&self) -> &str {
        &self.basis
    }

    fn contents(&self) -> Option<Arc<dyn FileContents>> {
        let contents = Contents {
            recorded: self.recorded()?,
            results: Arc::clone(&self.results),
        };
        Some(Arc::new(contents))
    }

    fn key(&self, call: &Replayable) -> String {
        self.key_at(call, &self.commit).as_str().to_owned()
    }

    fn find(&self, call: &Replayable) -> Option<Vec<u8>> {
        self.results.find(&self.identity(call))
    }

    fn store(&self, call: &Replayable, result: &[u8]) {
        self.results.store(&self.identity(call), result);
    }
}

/// What is known of a worktree's files: by git, and since they were read.
struct Contents {
    recorded: Arc<GitContents>,
    results: Arc<Results>,
}

impl FileContents for Contents {
    fn known(&self, path: &str, stamp: &FileStamp) -> Option<Oid> {
        self.recorded
            .known(path, stamp)
            .or_else(|| self.results.content(stamp))
    }

    fn read(&self, stamp: &FileStamp, bytes: &[u8]) -> Option<Oid> {
        let id = GitContents::id_of(bytes)?;
        self.results.remember(stamp, &id);
        Some(id)
    }
}

/// Identifies the file that this process runs, so that another build answers for itself.
fn program() -> Option<(u64, SystemTime)> {
    let file = std::env::current_exe()
        .and_then(|path| path.metadata())
        .ok()?;
    Some((file.len(), file.modified().ok()?))
}
