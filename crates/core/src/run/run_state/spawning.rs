//! Adding children: whether an agent may have another one, what the child may do, and what it is
//! called.

use std::collections::BTreeSet;

use crate::event::settings::LEAST_CONTEXT_TOKENS;
use crate::event::{Event, SpawnRecord};
use crate::ids::{AgentId, BlobId, CallOfTurn, TaskId};
use crate::messages::SpawnRefused;
use crate::policy::Authority;
use crate::record::TaskRecord;
use crate::run::child::{
    AgentHandle, AskedChild, MAX_SPAWNED_PER_RUN, PARENTS_TOOLS, SpawnDecision,
};
use crate::run::child_id::child_id;
use crate::run::run_state::RunState;
use crate::task::{Task, Work};

impl RunState {
    /// Decides about a child that an agent or a program asks for. The same call adds a child only
    /// once, so it can be repeated.
    ///
    /// # Errors
    /// Fails with the reason for the parent.
    pub fn decide_spawn(&self, asked: AskedChild) -> Result<SpawnDecision, SpawnRefused> {
        if self.exit_code.is_some() {
            return Err(SpawnRefused::RunEnded);
        }
        if let Some(existing) = self.spawned_by(asked.parent.as_ref(), asked.call.as_ref()) {
            return Ok(SpawnDecision::Exists(existing.task.id.clone()));
        }
        if let Some(existing) = self.asked_before(&asked)? {
            return Ok(SpawnDecision::Exists(existing.task.id.clone()));
        }
        let id = self.id_of_child(&asked)?;
        if let Some(parent) = &asked.parent {
            self.check_parent(parent)?;
        }
        let authority = self.authority_of_child(&id, &asked)?;
        let tokens = self.tokens_of_child(&asked, &authority)?;
        let AskedChild {
            parent,
            call,
            task,
            base,
            context,
            asked,
            ..
        } = asked;
        let task = Box::new(Task { id, tokens, ..task });
        let spawn = Some(Box::new(SpawnRecord {
            call,
            base,
            authority,
            context,
            asked,
        }));
        Ok(SpawnDecision::Adds(Box::new(Event::TaskAdded {
            task,
            parent,
            spawn,
        })))
    }

    /// Returns what the parent of a child gets to hold of it.
    pub fn handle_of(&self, child: &TaskRecord) -> AgentHandle {
        let granted = child
            .spawn
            .iter()
            .flat_map(|spawn| &spawn.authority.grant.tools);
        let tools = granted.filter(|tool| self.settings.tools.tool(tool).is_some());
        AgentHandle {
            agent_id: child.task.id.clone(),
            branch: self.run_id.task_branch(&child.task.id),
            role: self.role_of(&child.task).to_owned(),
            tools: tools.cloned().collect(),
            budget: child.task.tokens,
        }
    }

    /// Returns the name of the role that carries a task out; the run's default role if it names
    /// none.
    pub fn role_of<'a>(&'a self, task: &'a Task) -> &'a str {
        match &task.work {
            Work::Agent(Some(role)) => role,
            _ => &self.settings.agent,
        }
    }

    /// Returns why an agent may have no children at all, by the limits of the run and by its depth;
    /// `None` if it may.
    pub fn bars_children(&self, agent: &AgentId) -> Option<SpawnRefused> {
        self.bars_children_at(agent, self.depth(agent))
    }

    fn bars_children_at(&self, agent: &AgentId, depth: u32) -> Option<SpawnRefused> {
        let limit = self.settings.max_depth;
        if self.settings.max_children_per_agent == 0 {
            Some(SpawnRefused::NoSpawning)
        } else if depth >= limit {
            Some(SpawnRefused::TooDeep {
                parent: agent.clone(),
                limit,
            })
        } else {
            None
        }
    }

    /// Returns the depth of an agent: a task of the plan, or a child of the run, is one below the
    /// run itself.
    pub fn depth(&self, agent: &AgentId) -> u32 {
        let ancestors = std::iter::successors(Some(agent), |at| self.task(at)?.parent.as_ref());
        // At most as many steps as there are tasks, in case a parent is its own ancestor.
        u32::try_from(ancestors.take(self.tasks.len() + 1).count()).unwrap_or(u32::MAX)
    }

    /// Returns the child that a call has spawned.
    fn spawned_by(
        &self,
        parent: Option<&AgentId>,
        call: Option<&CallOfTurn>,
    ) -> Option<&TaskRecord> {
        let (parent, call) = (parent?, call?);
        for child in self.children(parent) {
            if let Some(spawn) = &child.spawn
                && spawn.call.as_ref() == Some(call)
            {
                return Some(child);
            }
        }
        None
    }

    /// Returns the child of this id that a program has asked for before, in the same words.
    fn asked_before(&self, asked: &AskedChild) -> Result<Option<&TaskRecord>, SpawnRefused> {
        let existing = asked.id.as_ref().and_then(|id| self.task(id));
        let Some((existing, first)) = existing.and_then(|child| Some((child, first_asked(child)?)))
        else {
            return Ok(None);
        };
        if asked.asked.as_ref() == Some(first) {
            return Ok(Some(existing));
        }
        Err(SpawnRefused::OtherSpec {
            first: existing.task.title.clone(),
            second: asked.task.title.clone(),
        })
    }

    /// Returns the id that a program has chosen, or one made of the task's words.
    fn id_of_child(&self, asked: &AskedChild) -> Result<TaskId, SpawnRefused> {
        let Some(id) = &asked.id else {
            return Ok(child_id(&asked.task.title, |id| {
                self.schedule.has_key_of(id)
            }));
        };
        if let Some(reason) = TaskId::refusal(id.as_str()) {
            return Err(SpawnRefused::BadId {
                id: id.to_string(),
                reason,
            });
        }
        if self.schedule.has_key_of(id) {
            Err(SpawnRefused::Taken)
        } else {
            Ok(id.clone())
        }
    }

    fn check_parent(&self, parent: &AgentId) -> Result<(), SpawnRefused> {
        let record = match self.task(parent) {
            Some(record) if !record.is_command() => record,
            _ => {
                return Err(SpawnRefused::UnknownParent {
                    parent: parent.clone(),
                });
            }
        };
        if record.state().is_settled() || record.is_stopping() {
            return Err(SpawnRefused::ParentEnded {
                parent: parent.clone(),
            });
        }
        if let Some(barred) = self.bars_children(parent) {
            return Err(barred);
        }
        let limit = self.settings.max_children_per_agent;
        if self
            .children(parent)
            .filter(|child| !self.is_at_rest(child))
            .count()
            >= limit
        {
            return Err(SpawnRefused::TooMany {
                parent: parent.clone(),
                limit,
            });
        }
        let limit = MAX_SPAWNED_PER_RUN;
        if self.agenda.spawned() >= limit {
            return Err(SpawnRefused::TooManyInRun { limit });
        }
        Ok(())
    }

    /// Returns what a child may do: what its role and its parent both may, and of that no more than
    /// is asked for.
    fn authority_of_child(
        &self,
        id: &AgentId,
        asked: &AskedChild,
    ) -> Result<Authority, SpawnRefused> {
        let parent = asked.parent.as_ref().and_then(|parent| self.task(parent));
        let of_parent = match parent.map(|parent| &parent.spawn) {
            Some(Some(spawn)) => Some(&spawn.authority),
            Some(None) => asked.of_parents_role.as_ref(),
            None => None,
        };
        let mut authority = match of_parent {
            Some(above) => asked.of_role.meet(above),
            None => asked.of_role.clone(),
        };
        let parents_depth = match &asked.parent {
            Some(parent) => self.depth(parent),
            None => 0,
        };
        if let Some(barred) = self.bars_children_at(id, parents_depth + 1) {
            authority
                .grant
                .withhold(&PARENTS_TOOLS, &barred.to_string());
        }
        if let Some(wanted) = &asked.tools {
            narrow(&mut authority, wanted)?;
        }
        if asked.parent.is_some() && asked.delivers_changes && !self.can_change_files(&authority) {
            let role = self.role_of(&asked.task).to_owned();
            return Err(SpawnRefused::CannotChangeFiles {
                role,
                available: tools_of(&authority),
            });
        }
        Ok(authority)
    }

    fn can_change_files(&self, authority: &Authority) -> bool {
        for tool in &authority.grant.tools {
            if let Some(traits) = self.settings.tools.tool(tool)
                && traits.changes_files
                && authority.grant.permits(tool, traits.permission)
            {
                return true;
            }
        }
        false
    }

    /// Returns the budget of a child: what is asked for, but no more than its ancestors and the run
    /// have left.
    fn tokens_of_child(
        &self,
        asked: &AskedChild,
        authority: &Authority,
    ) -> Result<Option<u64>, SpawnRefused> {
        let Some(parent) = &asked.parent else {
            return Ok(asked.task.tokens);
        };
        // A request reserves its input and its maximum reply.
        let least =
            LEAST_CONTEXT_TOKENS.saturating_add(u64::from(authority.limits.max_output_tokens));
        if let Some(tokens) = asked.task.tokens
            && tokens < least
        {
            return Err(SpawnRefused::SmallBudget { tokens, least });
        }
        let Some(left) = self.budget.left_for_children(parent) else {
            return Ok(asked.task.tokens);
        };
        if left < least {
            return Err(SpawnRefused::NoBudget {
                parent: parent.clone(),
                left,
                least,
            });
        }
        Ok(asked.task.tokens.map(|tokens| tokens.min(left)))
    }
}

/// Leaves the child only the tools that are asked for, which it must be able to have.
fn narrow(authority: &mut Authority, wanted: &BTreeSet<String>) -> Result<(), SpawnRefused> {
    let unavailable: Vec<String> = wanted.difference(&authority.grant.tools).cloned().collect();
    if !unavailable.is_empty() {
        return Err(SpawnRefused::NoSuchTools {
            unavailable,
            available: tools_of(authority),
        });
    }
    authority.grant.tools.clone_from(wanted);
    Ok(())
}

fn tools_of(authority: &Authority) -> Vec<String> {
    authority.grant.tools.iter().cloned().collect()
}

/// Returns the hash of what a program asked for when it spawned a child.
fn first_asked(child: &TaskRecord) -> Option<&BlobId> {
    child.spawn.as_ref()?.asked.as_ref()
}
