//! The spending of the run: reservations and settlements of tokens and money, and how large a
//! request of an agent may be.

use std::sync::Arc;

use crate::agent::budget::{Amount, Reservation};
use crate::agent::price::Cost;
use crate::event::Event;
use crate::event::settings::{ROOT_AGENT, RunSettings};
use crate::ids::{AgentId, TaskId};
use crate::record::TaskRecord;
use crate::run::run_state::RunState;
use crate::run::run_state::reporting::both;
use crate::task::{ReturnCause, Task};

impl RunState {
    /// Decides whether a task may send a request that needs this much now, of tokens and of money.
    pub fn ask_budgets(&self, task: &TaskId, amount: Amount) -> Reservation {
        if self
            .task(task)
            .is_some_and(|record| record.reached_limit().is_some())
        {
            return self.ask_for_report(task, amount);
        }
        let tokens = self.budget.ask(task, amount.tokens);
        let money = self.money.ask(task, amount.micro_usd.unwrap_or_default());
        both(tokens, money)
    }

    /// Returns what the task's request waits for, if it waits.
    pub fn waiting_for(&self, task: &TaskId) -> Option<Amount> {
        let (tokens, money) = (self.budget.waiting(task)?, self.money.waiting(task));
        Some(Amount {
            tokens,
            micro_usd: money,
        })
    }

    /// Returns what all requests of the run cost.
    pub fn cost(&self) -> Cost {
        let mut sum = Cost::default();
        for record in self.tasks() {
            sum.add(record.cost().micro_usd());
        }
        sum
    }

    /// Changes the limits of the run, and forgets what the process that has ended had reserved: new
    /// workers repeat its requests.
    pub(super) fn raise_budgets(&mut self, tokens: Option<u64>, micro_usd: Option<u64>) {
        let settings = Arc::make_mut(&mut self.settings);
        settings.budget_tokens = tokens.or(settings.budget_tokens);
        settings.budget_micro_usd = micro_usd.or(settings.budget_micro_usd);
        self.budget.limit_run(self.settings.budget_tokens);
        self.money.limit_run(self.settings.budget_micro_usd);
        self.budget.release_all();
        self.money.release_all();
        // What is held follows from the new limits.
        let tasks: Vec<TaskId> = self.tasks().map(|record| record.task.id.clone()).collect();
        for task in tasks.iter() {
            self.budget.let_go(task);
        }
        for task in tasks.iter() {
            self.hold_for_report(task);
        }
    }

    /// Holds what an agent's last report needs while it is at work, until its last request is sent.
    fn hold_for_report(&mut self, task: &TaskId) {
        if self.task(task).is_some_and(is_held) {
            self.budget.hold(task);
        } else {
            self.budget.let_go(task);
        }
    }

    /// Returns the events that count the requests of a process that has ended, whose ends were not
    /// observed.
    pub fn cut_requests(&self) -> Vec<Event> {
        self.tasks().filter_map(TaskRecord::cut).collect()
    }

    /// Counts what a task reserves and spends.
    pub(super) fn count_spending(&mut self, task: &TaskId, event: &Event) {
        if let Event::TaskReturned {
            cause: ReturnCause::Retried,
            ..
        } = event
            && let Some(tokens) = self.task(task).and_then(|record| record.task.tokens)
        {
            self.budget.renew(task, tokens);
        }
        // The last request is paid for from what was held for it, so the hold ends before the
        // tokens are reserved.
        self.hold_for_report(task);
        match event {
            Event::ModelRequested {
                reserved_tokens,
                reserved_micro_usd,
                ..
            } => {
                self.budget.reserve(task, *reserved_tokens);
                self.money
                    .reserve(task, reserved_micro_usd.unwrap_or_default());
            }
            Event::BudgetWaited {
                tokens, micro_usd, ..
            } => {
                self.budget.wait(task, *tokens);
                if let Some(micro_usd) = micro_usd {
                    self.money.wait(task, *micro_usd);
                }
            }
            Event::ModelReplied {
                usage, micro_usd, ..
            } => {
                self.budget.settle(task, usage.total());
                self.money.settle(task, micro_usd.unwrap_or_default());
            }
            Event::SearchRequested(asked) => {
                self.budget.reserve(task, asked.reserved_tokens);
                self.money
                    .reserve(task, asked.reserved_micro_usd.unwrap_or_default());
            }
            // One that was counted as cut off is not counted again.
            Event::SearchEnded(ended) if self.budget.has_reserved(task) => {
                self.budget.settle(task, ended.usage.total());
                self.money.settle(task, ended.micro_usd.unwrap_or_default());
            }
            Event::ModelCut {
                tokens, micro_usd, ..
            } => {
                self.budget.settle(task, *tokens);
                self.money.settle(task, micro_usd.unwrap_or_default());
            }
            // A finished task sends no more requests: one whose end was not observed must not keep
            // its reservation.
            Event::ModelFailed { .. }
            | Event::ModelRejected { .. }
            | Event::ModelSwitched { .. }
            | Event::TaskFailed { .. }
            | Event::TaskCancelled { .. } => {
                self.budget.release(task);
                self.money.release(task);
            }
            _ => {}
        }
    }
}

fn is_held(record: &TaskRecord) -> bool {
    record.state().is_under_way() && !record.is_command() && !record.has_asked_for_report()
}

impl RunState {
    /// Returns the maximum size of a request of an agent, in tokens; its role and its model may
    /// narrow it further.
    ///
    /// The root is also found by the name [`ROOT_AGENT`], unless a task has it.
    pub fn token_limit(&self, agent: &AgentId) -> u64 {
        match self.task(self.agent_named(agent)) {
            Some(record) => self.settings.token_limit_of(&record.task, record.model()),
            None if agent.as_str() == ROOT_AGENT => self.settings.root_context_tokens,
            None => self.settings.context_tokens,
        }
    }
}

impl RunSettings {
    /// Returns the maximum size of a request of a task's agent to a model, in tokens; the run's own
    /// limit if no model is named, or if none is set for it.
    pub fn token_limit_of(&self, task: &Task, model: Option<&str>) -> u64 {
        let of_agent = if task.goal {
            self.root_context_tokens
        } else {
            self.context_tokens
        };
        let of_model = model.and_then(|model| self.context_limits.get(model).copied());
        of_model.map_or(of_agent, |own| own.min(of_agent))
    }
}
