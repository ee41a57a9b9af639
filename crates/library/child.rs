//! Children: what is asked of one, and the work of one that was spawned.

use std::fmt;
use std::sync::Arc;

use orchestrate_coordinator as engine;
use orchestrate_core::projections::report::TaskReport;
use orchestrate_core::run::request::Request;
use orchestrate_core::task::answer::value_in;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use crate::error::{Error, Kind, Result};
use crate::session::Shared;
use crate::tool::schema_of;

/// An agent to be spawned with [`Session::spawn`](crate::Session::spawn).
///
/// ```
/// use orchestrate::Child;
///
/// let child = Child::new("Add a test of the parser").role("tester").verify("cargo test parser");
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct Child {
    pub(crate) spec: engine::ChildSpec,
}

impl Child {
    /// Asks for a child that does this.
    pub fn new(task: impl Into<String>) -> Self {
        Self {
            spec: engine::ChildSpec::new(task),
        }
    }

    /// Sets its id, which names its branch and by which it is found again after a crash; otherwise
    /// it is made of the words of its task, with a number if an earlier child has the same words.
    pub fn id(mut self, id: impl Into<String>) -> Self {
        self.spec.id = Some(engine_id(id.into()));
        self
    }

    /// Sets its role.
    pub fn role(mut self, role: impl Into<String>) -> Self {
        self.spec.role = Some(role.into());
        self
    }

    /// Sets its model, as `provider/model`.
    pub fn model(mut self, model: impl Into<String>) -> Self {
        self.spec.model = Some(model.into());
        self
    }

    /// Adds instructions.
    pub fn details(mut self, details: impl Into<String>) -> Self {
        self.spec.details.push(details.into());
        self
    }

    /// Gives it material: text or JSON, which is no instruction.
    pub fn context(mut self, context: impl Into<String>) -> Self {
        self.spec.context = Some(context.into());
        self
    }

    /// Restricts it to these of the tools that its role has.
    pub fn tools<T: Into<String>>(mut self, tools: impl IntoIterator<Item = T>) -> Self {
        self.spec.tools = Some(tools.into_iter().map(Into::into).collect());
        self
    }

    /// Sets a shell command that has to exit with 0 in its worktree.
    pub fn verify(mut self, command: impl Into<String>) -> Self {
        self.spec.verify = Some(command.into());
        self
    }

    /// Sets its budget in tokens.
    pub fn tokens(mut self, tokens: u64) -> Self {
        self.spec.tokens = Some(tokens);
        self
    }

    /// Sets its maximum number of turns.
    pub fn turns(mut self, turns: u32) -> Self {
        self.spec.turns = Some(turns);
        self
    }

    /// Asks for an answer of this type, which [`ChildHandle::output`] returns. An answer that is
    /// not of the type is asked for once more.
    pub fn answers<T: JsonSchema>(mut self) -> Self {
        self.spec.answers = Some(schema_of::<T>());
        self
    }

    /// Makes it the child of another one: it begins with what that has committed, and may do no
    /// more than it.
    pub fn parent(mut self, parent: &ChildHandle) -> Self {
        self.spec.parent = Some(parent.handle.id.clone());
        self
    }
}

fn engine_id(id: String) -> orchestrate_core::TaskId {
    orchestrate_core::TaskId::new(id)
}

/// A spawned child.
#[derive(Clone)]
pub struct ChildHandle {
    pub(crate) handle: engine::ChildHandle,
    pub(crate) session: Arc<Shared>,
}

/// How the work of a child stands.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Outcome {
    /// The child.
    pub child: String,
    /// Its state: `in_review` (verified, and waiting to be merged), `merged`, `nothing_to_do`,
    /// `waiting`, `failed` and so on, as in `orchestrate status --json`.
    pub state: String,
    /// Its branch.
    pub branch: Option<String>,
    /// The tip of its branch.
    pub commit: Option<String>,
    /// Its last report, or its answer.
    pub answer: Option<String>,
    /// Why it did not succeed.
    pub error: Option<String>,
    /// The tokens that it used.
    pub tokens: u64,
    is_merged: bool,
}

impl Outcome {
    /// Reports whether its work is part of the session's result.
    pub fn is_merged(&self) -> bool {
        self.is_merged
    }

    /// Reports whether it has ended without success.
    pub fn has_failed(&self) -> bool {
        self.error.is_some()
    }
}

impl From<TaskReport> for Outcome {
    fn from(report: TaskReport) -> Self {
        Self {
            child: report.id.to_string(),
            state: report.state.as_str().to_owned(),
            is_merged: report.state.is_merged(),
            branch: report.branch,
            commit: report.commit.map(|commit| commit.to_string()),
            answer: report.hand_back.map(|handed| handed.summary),
            error: report.error.map(|error| error.message),
            tokens: report.usage.input_tokens + report.usage.output_tokens,
        }
    }
}

impl ChildHandle {
    /// Returns its id, which is also the last part of its branch's name.
    pub fn id(&self) -> &str {
        self.handle.id.as_str()
    }

    /// Waits until its work is verified, it has answered or ended, or it waits for a person.
    ///
    /// # Errors
    ///
    /// Fails if the session has ended.
    pub async fn wait(&self) -> Result<Outcome> {
        Ok(self.handle.wait().await?.into())
    }

    /// Waits for its answer, of the type that [`Child::answers`] asked for, or any that its words
    /// can be read as.
    ///
    /// # Errors
    ///
    /// Fails if it has ended without an answer, or with one of another type
    /// ([`Error::is_answer`]), or if the session has ended.
    pub async fn output<T: DeserializeOwned>(&self) -> Result<T> {
        let outcome = self.wait().await?;
        if let Some(error) = outcome.error {
            return Err(self.unreadable(error));
        }
        let text = outcome
            .answer
            .ok_or_else(|| self.unreadable(format!("it has none; it is {}", outcome.state)))?;
        let value =
            value_in(&text).ok_or_else(|| self.unreadable("it holds no JSON".to_owned()))?;
        serde_json::from_value(value).map_err(|error| self.unreadable(error.to_string()))
    }

    fn unreadable(&self, reason: String) -> Error {
        Error::from_kind(Kind::Answer {
            child: self.id().to_owned(),
            reason,
        })
    }

    /// Sends it a message, which it reads before its next request; returns the message's number.
    ///
    /// # Errors
    ///
    /// Fails if it has ended, or if its mailbox is full.
    pub async fn send(&self, message: impl Into<String>) -> Result<u64> {
        let message: String = message.into();
        Ok(self.handle.send(message.as_str()).await?)
    }

    /// Stops it; its worktree and its branch are kept.
    ///
    /// # Errors
    ///
    /// Fails if the session has ended.
    pub async fn cancel(&self) -> Result<()> {
        let stop = Request::StopAgent {
            agent: self.handle.id.clone(),
            holder: None,
        };
        self.session.ask(&stop).await
    }

    /// Leaves its work out of the session's result: stops it if it is at work, and gives finished
    /// work up that was not merged. Its branch is kept until the session is cleaned.
    ///
    /// # Errors
    ///
    /// Fails if its work was merged already, or if the session has ended.
    pub async fn discard(&self) -> Result<()> {
        let state = self.session.run.state();
        let is_merged = state
            .task(&self.handle.id)
            .is_some_and(|record| record.state().is_merged());
        if is_merged {
            return Err(Error::new(format!(
                "{} is merged already: drop it from the result instead, with `orchestrate review`",
                self.id()
            )));
        }
        self.cancel().await
    }
}

impl fmt::Debug for ChildHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ChildHandle").field(&self.id()).finish()
    }
}
