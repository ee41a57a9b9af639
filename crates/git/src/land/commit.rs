//! The commits that a landing itself creates: made by git as the user's own, signed if the user
//! signs commits.
//!
//! Git runs in a scratch repository (see [`crate::program::scratch_repo`]), and the settings for
//! signing are passed by value. They come from the user's own configuration, so that a repository
//! can name neither a key nor a program.

use std::collections::BTreeMap;
use std::ffi::OsString;

use orchestrate_core::Oid;

use crate::error::{GitError, NO_SPACE};
use crate::land::move_branch::Landing;
use crate::program::run::{Ended, Run};
use crate::program::scratch_repo::ScratchRepo;
use crate::repo::repository::{CommitSpec, Identity, theirs};

/// Makes `ssh-keygen` ask for a passphrase by `SSH_ASKPASS`: git has no terminal, and it would wait
/// for one for ever.
const ASK_WITHOUT_TERMINAL: (&str, &str) = ("SSH_ASKPASS_REQUIRE", "force");

/// What a commit of a landing is made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// It is new: written now, or when `GIT_AUTHOR_DATE` says.
    New,
    /// It repeats a commit that was written at this time, in seconds since 1970.
    Repeated(i64),
}

impl Landing<'_> {
    /// Reports whether the user signs commits.
    pub fn signs(&self) -> bool {
        self.repo.shared.configuration.signing().is_some()
    }

    /// Lists the settings of signing that only the repository's own configuration has, and that are
    /// therefore not used.
    pub fn ignored_settings(&self) -> Vec<String> {
        self.repo.shared.configuration.ignored_signing()
    }

    /// Creates a commit as `git commit` would: with the date and time zone of the user, and signed
    /// if the user signs commits. No ref moves. The time of `spec` is not used. If the hooks for
    /// its message are to be run, `hooks_for` is what git calls the source of the message to them
    /// (`merge`, `squash`, `message`).
    ///
    /// # Errors
    /// [`GitError::NotSigned`], [`GitError::HookFailed`], or if git cannot store the commit.
    pub fn commit(
        &self,
        spec: &CommitSpec,
        origin: Origin,
        hooks_for: Option<&'static str>,
    ) -> Result<Oid, GitError> {
        let scratch = ScratchRepo::new()?;
        let message = scratch.leave_message(&spec.text())?;
        if let Some(source) = hooks_for {
            self.run_message_hooks(&message, source)?;
        }
        let signing = self.repo.shared.configuration.signing();
        let mut args: Vec<OsString> = vec!["commit-tree".into(), "-F".into(), message.into()];
        args.extend(signing.is_some().then(|| "-S".into()));
        for parent in &spec.parents {
            args.extend(["-p".into(), parent.as_str().into()]);
        }
        args.push(spec.tree.as_str().into());
        let run = self.as_user(
            Run::new(scratch.git_dir(), scratch.work_tree(), args),
            spec,
            origin,
        );
        let ended = self
            .repo
            .program
            .run(&run.settings(signing.clone().unwrap_or_default()))?;
        if ended.code != 0 {
            return Err(failure(&ended, signing.is_some()));
        }
        let oid = Oid::new(String::from_utf8_lossy(&ended.stdout).trim());
        theirs(&oid)?;
        Ok(oid)
    }

    /// Adds what determines a commit besides its tree, parents and message.
    fn as_user<'r>(&self, run: Run<'r>, spec: &CommitSpec, origin: Origin) -> Run<'r> {
        let Identity { name, email } = &spec.by.author;
        let run = run
            .env("GIT_AUTHOR_NAME", name)
            .env("GIT_AUTHOR_EMAIL", email);
        let Identity { name, email } = &spec.by.committer;
        let run = run
            .env("GIT_COMMITTER_NAME", name)
            .env("GIT_COMMITTER_EMAIL", email);
        let mut variables: BTreeMap<&str, OsString> =
            self.repo.program.commit_environment().collect();
        variables
            .entry(ASK_WITHOUT_TERMINAL.0)
            .or_insert_with(|| ASK_WITHOUT_TERMINAL.1.into());
        if let Origin::Repeated(seconds) = origin {
            variables.insert("GIT_AUTHOR_DATE", format!("@{seconds} +0000").into());
        }
        let mut run = run;
        for (name, value) in variables {
            run = run.env(name, value);
        }
        let run = run.env(
            "GIT_OBJECT_DIRECTORY",
            self.repo.common_dir().join("objects"),
        );
        let shallow = self.repo.common_dir().join("shallow");
        if shallow.exists() {
            run.env("GIT_SHALLOW_FILE", shallow)
        } else {
            run
        }
    }
}

/// Converts a failure, which is taken for one of signing unless the disk is full: git says so in
/// many ways.
fn failure(ended: &Ended, is_signed: bool) -> GitError {
    if !is_signed || ended.stderr.contains(NO_SPACE) {
        return ended.failure("commit-tree");
    }
    let lines: Vec<&str> = ended
        .stderr
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    GitError::NotSigned {
        reason: lines.join("; "),
    }
}
