//! The exposure of each agent of a run: a fold over its events.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use super::exposure::Exposure;
use super::reach::{PrivateData, Reach};
use super::works::{Found, Works, strings};
use crate::collections::SharedMap;
use crate::event::settings::RunSettings;
use crate::event::{AdoptedWork, Event, MergeTarget, ResourceUsage, ToolOutcome};
use crate::ids::{AgentId, CallId, Oid, TaskId};
use crate::messages::Sender;
use crate::policy::tool_names::ToolNames;
use crate::policy::{Permission, Sending};
use crate::task::ReturnCause;

/// The tools whose result, or what they merge, is the work or the words of the agents that the call
/// names, or of those who made the commit that it names.
const READ_AGENTS: [&str; 5] = [
    "aggregate_agent_results",
    "get_agent_status",
    "git_checkout",
    "git_merge",
    "wait_for_agents",
];

/// The tools of the web, which count what their text has of others: a failed call that read nothing
/// quotes no one.
const COUNTS_WHAT_IT_READS: [&str; 6] = [
    "fetch_api_docs",
    "fetch_url",
    "parse_documentation",
    "search_github",
    "search_stackoverflow",
    "web_search",
];

/// The exposures of the agents of a run.
///
/// An agent's branch and report may contain text that it has read, so their readers are exposed as
/// well: the agent that spawned it, those whose work begins with the merged result or depends on
/// it, and those that it reviews. A command does not see the branches of others, but objects cannot
/// be hidden: one that names a commit with such work, or asks git for objects without naming any,
/// counts as one that reads it.
#[derive(Clone, Debug, PartialEq)]
pub struct Exposures {
    tools: Arc<ToolNames>,
    private: PrivateData,
    agents: SharedMap<AgentId, Arc<Exposure>>,
    /// The agent that spawned another, by that one's id.
    parents: SharedMap<AgentId, AgentId>,
    /// The tasks that a task depends on.
    depends: SharedMap<TaskId, Arc<Vec<TaskId>>>,
    /// The calls that have started and not ended.
    open: BTreeMap<(AgentId, CallId), OpenCall>,
    /// The commits with work that may contain text from outside.
    works: Works,
    /// Where the merge in progress leads.
    merging_into: MergeTarget,
    /// The first of the agents that have read text from outside and whose work was merged into the
    /// result, and what all of them together were exposed to.
    in_result: Option<(AgentId, Exposure)>,
}

#[derive(Clone, Debug, PartialEq)]
struct OpenCall {
    reach: Reach,
    /// The rule that allowed it, or refused it.
    rule: String,
    looks_at: LooksAt,
}

/// How a call could get the work of other agents.
#[derive(Clone, Debug, PartialEq)]
enum LooksAt {
    Nothing,
    /// It gives an agent the work or the words of those that one of these texts names.
    Named(Vec<String>),
    /// It runs a program with these texts, which can read every object of the repository.
    Objects(Vec<String>),
}

impl LooksAt {
    fn for_call(tool: &str, permission: Permission, arguments: &Value) -> LooksAt {
        match permission {
            _ if READ_AGENTS.contains(&tool) => LooksAt::Named(strings(arguments)),
            Permission::CodeExecution => LooksAt::Objects(strings(arguments)),
            _ => LooksAt::Nothing,
        }
    }
}

/// How a call ended.
struct CallEnd<'e> {
    agent: &'e AgentId,
    call: &'e CallId,
    tool: &'e str,
    turn: u32,
    outcome: ToolOutcome,
    denied_by: Option<&'e str>,
    used: ResourceUsage,
}

impl Exposures {
    /// Returns those of a run that begins with these settings.
    pub fn new(settings: &RunSettings) -> Exposures {
        Exposures {
            tools: Arc::new(settings.tools.clone()),
            private: PrivateData::from_settings(settings),
            agents: SharedMap::default(),
            parents: SharedMap::default(),
            depends: SharedMap::default(),
            open: BTreeMap::new(),
            works: Works::default(),
            merging_into: MergeTarget::default(),
            in_result: None,
        }
    }

    /// Returns what an agent was exposed to; `None` if nothing is known of it.
    pub fn for_agent(&self, agent: &AgentId) -> Option<&Exposure> {
        self.agents.get(agent).map(Arc::as_ref)
    }

    /// Applies an event that is valid in the run.
    pub fn apply(&mut self, event: &Event) {
        match event {
            Event::TaskAdded { task, parent, .. } => {
                self.added(&task.id, parent.as_ref(), &task.depends)
            }
            Event::ToolStarted {
                task,
                call_id,
                tool,
                arguments,
                rule,
                ..
            } => {
                if let Some(open) = self.started(tool, arguments, rule) {
                    self.open.insert((task.clone(), call_id.clone()), open);
                }
            }
            Event::ToolFinished {
                task,
                turn,
                call_id,
                tool,
                outcome,
                denied_by,
                resource_usage,
                ..
            } => {
                let (turn, outcome, denied_by) = (*turn, *outcome, denied_by.as_deref());
                let used = *resource_usage;
                self.finished(&CallEnd {
                    agent: task,
                    call: call_id,
                    tool,
                    turn,
                    outcome,
                    denied_by,
                    used,
                });
            }
            Event::MergeStarted { into, .. } => self.merging_into = into.clone(),
            Event::SnapshotTaken { task, commit, .. } => self.made(task, commit),
            Event::MergePrepared { task, commit, .. } => self.prepared(task, commit),
            Event::TaskReturned { task, cause, .. } if brings_others_work(*cause) => {
                self.begun(task)
            }
            Event::AgentSpawned { task, sends, .. } => {
                self.equipped(task, *sends);
                self.begun(task);
            }
            Event::WorktreePrepared {
                task,
                onto: Some(_),
            } => self.begun(task),
            Event::MessageDelivered {
                from: Sender::Agent(from),
                to,
                expired: false,
                ..
            } => self.hear(to, from),
            Event::ReviewVerdict(given) => {
                for change in &given.changes {
                    self.hear(&change.task, &given.task);
                }
            }
            Event::TaskMerged { task, commit, .. } => self.merged(task, commit.as_ref()),
            Event::ReportGiven(given) => self.tell_parent(&given.task),
            Event::TaskCommitted { task, commit, .. }
            | Event::WorkAdopted(AdoptedWork { task, commit, .. }) => {
                self.made(task, commit);
                self.tell_parent(task);
            }
            Event::NothingToDo { task, .. }
            | Event::TaskFailed { task, .. }
            | Event::TaskConflicted { task, .. }
            | Event::TaskCancelled { task, .. } => self.tell_parent(task),
            _ => {}
        }
    }

    fn added(&mut self, task: &TaskId, parent: Option<&AgentId>, depends: &[TaskId]) {
        if !depends.is_empty() {
            self.depends
                .insert_mut(task.clone(), Arc::new(depends.to_vec()));
        }
        if let Some(parent) = parent {
            self.parents.insert_mut(task.clone(), parent.clone());
            self.hear(task, parent);
        }
    }

    /// Returns what a call that starts now may do to its agent, if that is anything.
    fn started(&self, tool: &str, arguments: &Value, rule: &str) -> Option<OpenCall> {
        let traits = self.tools.tool(tool)?;
        let reach = Reach::for_call(tool, traits.permission, arguments, self.private);
        let looks_at = LooksAt::for_call(tool, traits.permission, arguments);
        if reach == Reach::default() && looks_at == LooksAt::Nothing {
            return None;
        }
        Some(OpenCall {
            reach,
            rule: rule.to_owned(),
            looks_at,
        })
    }

    fn finished(&mut self, end: &CallEnd<'_>) {
        let agent = end.agent;
        let Some(open) = self.open.remove(&(agent.clone(), end.call.clone())) else {
            return;
        };
        // A call that failed may have sent its data, and its error may quote what it got.
        if !ran(&open, end) {
            return;
        }
        let reach = if brought_something(end) {
            open.reach
        } else {
            open.reach.bringing_nothing()
        };
        let mut exposure = self.for_agent(agent).cloned().unwrap_or_default();
        exposure.called(end.tool, end.turn, reach);
        self.set(agent, exposure);
        // Only now, since an agent that the call waited for may have read something meanwhile.
        let found = match &open.looks_at {
            LooksAt::Nothing => return,
            LooksAt::Named(texts) => texts.iter().flat_map(|text| self.named(text)).collect(),
            LooksAt::Objects(texts) => self.works.read_by(texts),
        };
        for found in found {
            self.find(agent, &found);
        }
    }

    /// Returns whose work or words a text names: an agent, a branch or a commit, which git's
    /// suffixes may follow.
    fn named(&self, text: &str) -> Vec<Found> {
        let text = text.trim();
        let name = text.split(['~', '^']).next().unwrap_or(text);
        let last = name.rsplit('/').next().unwrap_or(name);
        let agent = Some(AgentId::from(name))
            .filter(|id| self.agents.contains_key(id))
            .map(Found::Agent);
        let result = (last == TaskId::INTEGRATION).then_some(Found::Result);
        let found = agent
            .into_iter()
            .chain(result)
            .chain(self.works.branch(last));
        found.chain(self.works.commit(name)).collect()
    }

    fn find(&mut self, agent: &AgentId, found: &Found) {
        match found {
            Found::Agent(from) => self.hear(agent, from),
            Found::Result => self.hear_result(agent),
            Found::Everything => {
                let mut exposed = Vec::new();
                for (id, exposure) in self.agents.iter() {
                    if exposure.outside().is_some() && id != agent {
                        exposed.push(id.clone());
                    }
                }
                for from in &exposed {
                    self.hear(agent, from);
                }
            }
        }
    }

    /// An agent's work was stored.
    fn made(&mut self, task: &TaskId, commit: &Oid) {
        if self
            .for_agent(task)
            .is_some_and(|of| of.outside().is_some())
        {
            self.works.add(commit, Found::Agent(task.clone()));
        }
    }

    /// An agent's work was joined with that of others.
    fn prepared(&mut self, task: &TaskId, commit: &Oid) {
        self.made(task, commit);
        match self.merging_into.clone() {
            MergeTarget::Agent(parent) => self.made(&parent, commit),
            MergeTarget::Integration if self.in_result.is_some() => {
                self.works.add(commit, Found::Result)
            }
            MergeTarget::Integration => {}
        }
    }

    /// An agent begins with tools that let it send data out in this way.
    fn equipped(&mut self, task: &TaskId, sends: Option<Sending>) {
        let mut exposure = self.for_agent(task).cloned().unwrap_or_default();
        exposure.begins(sends);
        self.set(task, exposure);
    }

    /// An agent begins, or gets its work back: with its parent's work, with reports of tasks that
    /// it depends on, with the result, or with the output of a check of all that.
    fn begun(&mut self, task: &TaskId) {
        let parent = self.parents.get(task).cloned();
        let depends = self.depends.get(task).cloned().unwrap_or_default();
        for from in parent.iter().chain(depends.iter()) {
            self.hear(task, from);
        }
        self.hear_result(task);
    }

    fn merged(&mut self, task: &TaskId, commit: Option<&Oid>) {
        self.tell_parent(task);
        let Some(commit) = commit.filter(|_| self.merging_into.is_integration()) else {
            return;
        };
        if let Some(of) = self
            .for_agent(task)
            .filter(|of| of.outside().is_some())
            .cloned()
        {
            match &mut self.in_result {
                Some((_, result)) => result.shares_data(&of),
                none => *none = Some((task.clone(), of)),
            }
        }
        self.prepared(task, commit);
    }

    fn hear_result(&mut self, task: &TaskId) {
        let Some((from, result)) = self.in_result.clone() else {
            return;
        };
        let mut exposure = self.for_agent(task).cloned().unwrap_or_default();
        if from == *task {
            // Its own text is no news, but others may have added private data.
            exposure.shares_data(&result);
        } else {
            exposure.heard(&from, &result);
        }
        self.set(task, exposure);
    }

    fn tell_parent(&mut self, child: &TaskId) {
        if let Some(parent) = self.parents.get(child).cloned() {
            self.hear(&parent, child);
        }
    }

    fn hear(&mut self, agent: &AgentId, from: &AgentId) {
        let Some(of) = self.for_agent(from).filter(|_| agent != from) else {
            return;
        };
        let mut exposure = self.for_agent(agent).cloned().unwrap_or_default();
        exposure.heard(from, of);
        self.set(agent, exposure);
    }

    fn set(&mut self, agent: &AgentId, exposure: Exposure) {
        if exposure.outside().is_some() {
            self.works.add_branch(agent);
        }
        if exposure != *self.for_agent(agent).unwrap_or(&Exposure::default()) {
            self.agents.insert_mut(agent.clone(), Arc::new(exposure));
        }
    }
}

/// Reports whether a call has run: one that is invalid fails before any rule has decided about it,
/// and what denies one that has run is not what was decided before.
fn ran(open: &OpenCall, end: &CallEnd<'_>) -> bool {
    let is_decided = !open.rule.is_empty();
    match end.outcome {
        ToolOutcome::Ok => true,
        ToolOutcome::Denied => is_decided && end.denied_by.is_some_and(|rule| rule != open.rule),
        ToolOutcome::Failed | ToolOutcome::TimedOut | ToolOutcome::Interrupted => is_decided,
    }
}

/// Reports whether a call that has run gave its agent something of what it may read.
fn brought_something(end: &CallEnd<'_>) -> bool {
    match end.used.outside_bytes {
        Some(bytes) => bytes > 0,
        // A stored result is not counted again; and older versions have counted what a tool for the
        // web read.
        None => {
            end.outcome == ToolOutcome::Ok
                || end.used.read_bytes > 0
                || !COUNTS_WHAT_IT_READS.contains(&end.tool)
        }
    }
}

/// Reports whether an agent that gets its work back for this cause sees what others have made.
fn brings_others_work(cause: ReturnCause) -> bool {
    matches!(
        cause,
        ReturnCause::Conflict
            | ReturnCause::RunCheck
            | ReturnCause::NewWork
            | ReturnCause::Rejected
    )
}
