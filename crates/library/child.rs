//! Children: what is asked of one, and the work of one that was spawned.

use std::fmt;
use std::sync::Arc;

use orchestrate_coordinator as engine;
use orchestrate_core::projections::report::TaskReport;
use orchestrate_core::run::request::Request;
use orchestrate_core::task::answer::value_in;
use orchestrate_core::{Report as EngineReport, RunState};
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
    /// it is made of the words of its task, with a number if an earlier child has the same words:
    /// two of `Child::new("Fix it")` are `fix` and `fix_2`, in every process. See
    /// [`Session::spawn`](crate::Session::spawn).
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

    /// Asks for an answer of this type, which [`ChildHandle::output`] returns. The child is told
    /// its JSON Schema, and an answer that is not of the type is asked for once more.
    ///
    /// A provider gets the schema as well where that is known to leave the tools callable: OpenAI
    /// and Anthropic with every request; Gemini and the local servers (Ollama, llama.cpp, LM
    /// Studio, vLLM) only with requests that have no tools, since those that hold a whole reply to
    /// a form call no tool; OpenRouter, and other servers in a provider's place, never. It is sent
    /// without limits such as a minimum, and left out for types that it cannot say: maps, types
    /// that contain themselves, enums with fields, and fields that may be missing but not null.
    ///
    /// ```no_run
    /// # use orchestrate::prelude::*;
    /// #[derive(Deserialize, JsonSchema)]
    /// struct Found {
    ///     /// The files that have to change.
    ///     files: Vec<String>,
    /// }
    ///
    /// # async fn example(session: Session) -> orchestrate::Result<()> {
    /// let scout = session.spawn(Child::new("Find the parser").answers::<Found>()).await?;
    /// let found: Found = scout.output().await?;
    /// # Ok(()) }
    /// ```
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
///
/// ```no_run
/// # use orchestrate::prelude::*;
/// # async fn example(child: ChildHandle) -> orchestrate::Result<()> {
/// child.send("Keep it under a page.").await?;
/// let outcome = child.wait().await?;
/// println!("{}: {:?}", outcome.state, outcome.answer);
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct ChildHandle {
    pub(crate) handle: engine::ChildHandle,
    pub(crate) session: Arc<Shared>,
}

/// How the work of a child stands.
///
/// ```
/// fn line(outcome: &orchestrate::Outcome) -> String {
///     match &outcome.error {
///         Some(error) => format!("{} failed: {error}", outcome.child),
///         None if outcome.is_merged() => format!("{} is merged", outcome.child),
///         None => format!("{} is {}", outcome.child, outcome.state),
///     }
/// }
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Outcome {
    /// The child.
    pub child: String,
    /// Its state, as in `orchestrate status --json`: `pending`, `ready` and `running` before its
    /// end, `waiting` for a person, a message or other children, `committed` and `verified` while
    /// its work is checked or merged; `awaiting_review` if it waits for
    /// [`Session::merge`](crate::Session::merge), `merged`, `nothing_to_do` (it has answered
    /// without changing a file), `failed`, `conflicted`, `skipped` or `cancelled`.
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
    /// What these cost in US dollars; `None` if a price is not known.
    pub cost_usd: Option<f64>,
    has_succeeded: bool,
}

/// What the children of a session have done.
///
/// ```
/// fn failed(report: &orchestrate::Report) -> Vec<&str> {
///     let failed = report.children.iter().filter(|outcome| outcome.has_failed());
///     failed.map(|outcome| outcome.child.as_str()).collect()
/// }
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Report {
    /// Each child, those of other children included, in the order in which they were spawned.
    pub children: Vec<Outcome>,
    /// The tokens that they used.
    pub tokens: u64,
    /// What these cost in US dollars; `None` if a price is not known.
    pub cost_usd: Option<f64>,
}

impl Outcome {
    /// Reports whether it has changes that are part of the session's result.
    pub fn is_merged(&self) -> bool {
        self.has_succeeded && self.commit.is_some()
    }

    /// Reports whether it has ended well without a change to merge: it has answered.
    pub fn has_answered(&self) -> bool {
        self.has_succeeded && self.commit.is_none()
    }

    /// Reports whether it has ended without success.
    pub fn has_failed(&self) -> bool {
        self.error.is_some()
    }
}

impl From<EngineReport> for Report {
    fn from(report: EngineReport) -> Self {
        Self {
            children: report.tasks.into_iter().map(Outcome::from).collect(),
            tokens: report.usage.input_tokens + report.usage.output_tokens,
            cost_usd: report.usage.cost_usd,
        }
    }
}

impl From<TaskReport> for Outcome {
    fn from(report: TaskReport) -> Self {
        Self {
            child: report.id.to_string(),
            state: report.state.as_str().to_owned(),
            has_succeeded: report.state.is_merged(),
            branch: report.branch,
            commit: report.commit.map(|commit| commit.to_string()),
            answer: report
                .hand_back
                .filter(|handed| handed.by_agent)
                .map(|handed| handed.summary),
            error: report.error.map(|error| error.message),
            tokens: report.usage.input_tokens + report.usage.output_tokens,
            cost_usd: report.usage.cost_usd,
        }
    }
}

impl ChildHandle {
    /// Returns its id, which is also the last part of its branch's name.
    pub fn id(&self) -> &str {
        self.handle.id.as_str()
    }

    /// Reports whether it was spawned by an earlier process, which has ended: [`Session::spawn`]
    /// has returned the child that the session had already, and what that has done is not done
    /// again.
    ///
    /// [`Session::spawn`]: crate::Session::spawn
    pub fn is_resumed(&self) -> bool {
        self.session.run.is_earlier(&self.handle.id)
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

    /// Stops it, and waits until it has stopped; its worktree and its branch are kept. One that has
    /// ended stays as it is.
    ///
    /// # Errors
    ///
    /// Fails if the session has ended.
    pub async fn cancel(&self) -> Result<()> {
        let stop = Request::StopAgent {
            agent: self.handle.id.clone(),
            holder: None,
        };
        let mut states = self.session.run.watch();
        self.session.ask(&stop).await?;
        let has_ended = |state: &Arc<RunState>| {
            state
                .task(&self.handle.id)
                .is_none_or(|record| record.state().is_settled())
        };
        // An error says that the run has ended, and all children with it.
        let _ = states.wait_for(has_ended).await;
        Ok(())
    }

    /// Has a child that did not succeed go on, with a message: its worktree is as it left it, and
    /// its limits count anew.
    ///
    /// # Errors
    ///
    /// Fails if it is at work, or has succeeded, or if the session has ended.
    pub async fn retry(&self, message: impl Into<String>) -> Result<()> {
        let retry = Request::Retry {
            task: self.handle.id.clone(),
            message: Some(message.into()),
        };
        self.session.ask(&retry).await
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
            .is_some_and(|record| record.state().is_merged() && !record.state().did_nothing());
        if is_merged {
            return Err(Error::new(format!(
                "{} is merged already: take it out of the result instead, with `orchestrate drop`",
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
