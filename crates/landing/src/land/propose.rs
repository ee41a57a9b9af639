//! Proposing a run's result: pushes it, and opens a pull request for it, instead of landing it
//! here.

use std::path::Path;

use orchestrate_core::RunId;
use orchestrate_core::run::request::Purpose;
use orchestrate_core::text::message_template::MessageTemplate;
use orchestrate_git::{OpenRequest, PullRequest};
use orchestrate_journal::Journal;

use crate::archive::Archive;
use crate::error::{LandingError, ResultRefusal};
use crate::land::landing::{branch_of, require_landable, warnings};
use crate::land::wording::Wording;

/// The hook that git runs before it pushes.
const PRE_PUSH: &str = "pre-push";

/// A result that was pushed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proposed {
    /// The run.
    pub run: RunId,
    /// The name of the remote.
    pub remote: String,
    /// The branch of the remote that was pushed to.
    pub head: String,
    /// The branch that it is to be merged into.
    pub base: String,
    /// The pull request. `None` if it is not open.
    pub opened: Option<OpenRequest>,
    /// Why the program for pull requests has not opened it. `None` also if no such program is
    /// installed.
    pub failure: Option<String>,
    /// The commands that open the pull request by hand, unless it is open.
    pub commands: Vec<String>,
    /// The hooks that are present, that `git push` would have run, and that were not run.
    pub skipped_hooks: Vec<&'static str>,
    /// What a landing would warn of: work that is not part of the result, and rejected work that
    /// is.
    pub warnings: Vec<String>,
}

impl Archive {
    /// Pushes a run's result to the remote of the branch that the run started from, and opens a
    /// pull request.
    ///
    /// # Errors
    ///
    /// Fails if the result must not land, if there is no remote, or if the push fails.
    pub async fn propose(
        &self,
        run: &RunId,
        message: Option<&MessageTemplate>,
    ) -> Result<Proposed, LandingError> {
        let (run, message) = (run.clone(), message.cloned());
        self.beside("proposing", move |runs| {
            runs.propose_now(&run, message.as_ref())
        })
        .await
    }

    fn propose_now(
        &self,
        run: &RunId,
        message: Option<&MessageTemplate>,
    ) -> Result<Proposed, LandingError> {
        let journal = Journal::resume_for(&self.store, run, Purpose::Land)?;
        let state = journal.state();
        let branch = branch_of(&state)?;
        require_landable(&state)?;
        self.require_heard(run)?;
        if state.integration == state.base {
            return Err(ResultRefusal::NothingToPropose { run: run.clone() }.into());
        }
        let warnings = warnings(&state)
            .into_iter()
            .chain(self.catch_up(&state)?)
            .collect();
        let (landing, head) = (self.repo.landing(), run.integration_branch());
        let (remote, base) = (landing.push_remote(&branch)?, landing.request_base(&branch));
        let (title, body) = Wording {
            state: &state,
            since: None,
        }
        .of_request(message);
        let body_file = self.layout.request_body(run);
        write(&body_file, &body).map_err(LandingError::at(&body_file))?;
        (self.progress)(&format!(
            "pushing {head} to {} ({})",
            remote.name, remote.address
        ));
        // Dropping tasks has made the result anew, without what was pushed before.
        landing.push(&remote, &state.integration, &head, &state.replaced)?;
        let request = PullRequest {
            head,
            base,
            title,
            body,
        };
        let (opened, failure) = match landing.open_request(&remote, &request) {
            Ok(opened) => (opened, None),
            // The branch is pushed, and the rest can be done by hand.
            Err(error) => (None, Some(error.to_string())),
        };
        let commands = if opened.is_none() {
            landing.request_commands(&remote, &request, &body_file)
        } else {
            Vec::new()
        };
        Ok(Proposed {
            run: run.clone(),
            remote: remote.name,
            head: request.head,
            base: request.base,
            opened,
            failure,
            commands,
            skipped_hooks: landing.hooks_present(&[PRE_PUSH]),
            warnings,
        })
    }
}

/// Writes a file, and the folder for it.
fn write(file: &Path, text: &str) -> std::io::Result<()> {
    orchestrate_files::create_folder(file.parent().unwrap_or(file))?;
    orchestrate_files::replace(file, format!("{text}\n").as_bytes())
}
