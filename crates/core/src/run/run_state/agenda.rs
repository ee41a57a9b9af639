//! What there is to do: lists of tasks that [`RunState::apply`] keeps, so that no question goes
//! through all tasks.
//!
//! Whether a task is in a list is a function of the rest of the state ([`RunState::is_listed`]).
//! After each fact it is evaluated again for the tasks that the fact may concern: those whose
//! records it has changed, and those that look at them, which are the tasks that they review and
//! those whose work is merged where they are. So at every instant the lists are those that
//! [`RunState::with_new_agenda`] makes of all records. What is not listed is decided when it is
//! asked for: by the clock, messages, and the merge in progress.

use std::collections::BTreeSet;

use crate::ids::{AgentId, TaskId};
use crate::record::{Changes, TaskRecord};
use crate::run::agenda::{Agenda, LISTS, List, Memberships, Standing};
use crate::run::run_state::RunState;
use crate::task::TaskState;
use crate::task::schedule::Progress;

impl RunState {
    /// Returns the tasks in a list, by priority where it counts, then in the order of the plan and
    /// of addition.
    pub(super) fn listed(&self, list: List) -> impl Iterator<Item = &TaskRecord> {
        self.agenda.places(list).filter_map(|place| self.at(place))
    }

    /// Reports whether any task is in a list.
    pub(super) fn is_any(&self, list: List) -> bool {
        self.agenda.places(list).next().is_some()
    }

    /// Returns the agents that an agent has spawned, in the order of addition.
    pub fn children(&self, agent: &AgentId) -> impl Iterator<Item = &TaskRecord> {
        self.agenda
            .children(agent)
            .filter_map(|place| self.at(place))
    }

    /// Returns the tasks that can never start, each with the task because of which it cannot.
    pub(super) fn unstartable(&self) -> impl Iterator<Item = (&TaskId, &TaskId)> {
        let places = self.agenda.places(List::Unstartable);
        places.filter_map(|place| {
            let because = self.agenda.outlook.skipped_because(place)?;
            Some((self.schedule.id(place)?, self.schedule.id(because)?))
        })
    }

    /// Returns the same state with lists made of all records, which are the same as those that were
    /// kept.
    #[must_use]
    pub fn with_new_agenda(&self) -> Self {
        let mut state = Self {
            agenda: Agenda::default(),
            ..self.clone()
        };
        let ids: Vec<TaskId> = self.schedule.tasks().cloned().collect();
        for (place, id) in ids.into_iter().enumerate() {
            if let Some(parent) = self.parent_of(&id) {
                state.agenda.add_child(parent, place);
            }
            state.tasks.note_rewired(id);
        }
        state.update_agenda();
        state
    }

    /// Evaluates the lists again for all tasks that the current fact may concern.
    pub(super) fn update_agenda(&mut self) {
        let Changes { changed, rewired } = self.tasks.take_changes();
        let rewired = self.places(&rewired);
        let mut changed = self.places(&changed);
        changed.extend(rewired.iter().copied());
        let mut concerned = self.concerned(&changed);
        let mut progressed = Vec::new();
        for place in &concerned {
            let Some(record) = self.at(*place) else {
                continue;
            };
            let standing = self.standing(record);
            let before = self.agenda.standings.get(place);
            if before == Some(&standing) {
                continue;
            }
            if before.is_none_or(|before| before.progress != standing.progress) {
                progressed.push(*place);
            }
            self.agenda.standings.insert_mut(*place, standing);
        }
        let standings = &self.agenda.standings;
        concerned.extend(self.agenda.outlook.update(
            &self.schedule,
            &rewired,
            progressed,
            |place| match standings.get(&place) {
                Some(standing) => standing.progress,
                None => Progress::Waiting,
            },
        ));
        for place in concerned {
            let Some(record) = self.at(place) else {
                continue;
            };
            let lists: Memberships = LISTS
                .into_iter()
                .filter(|list| self.is_listed(*list, place, record))
                .collect();
            let priority = record.task.priority;
            self.agenda.set(place, priority, lists);
        }
    }

    fn places<'a>(&self, ids: impl IntoIterator<Item = &'a TaskId>) -> BTreeSet<usize> {
        let mut places = BTreeSet::new();
        for id in ids {
            places.extend(self.schedule.place(id));
        }
        places
    }

    /// Returns the record of the task at a place of the schedule.
    pub(super) fn at(&self, place: usize) -> Option<&TaskRecord> {
        self.task(self.schedule.id(place)?)
    }

    /// Reports whether a task is in a list.
    fn is_listed(&self, list: List, place: usize, record: &TaskRecord) -> bool {
        let state = record.state();
        let has_worker = matches!(state, TaskState::Running | TaskState::Committed);
        match list {
            List::Begun => has_worker && !record.is_stopping(),
            List::Ready => state == TaskState::Ready && !record.is_stopping(),
            List::Startable => self.agenda.outlook.is_ready(place),
            List::Unstartable => self.agenda.outlook.skipped_because(place).is_some(),
            List::Stopping => record.is_stopping(),
            List::Waiting => record.wait().is_some(),
            List::Silent => record.outage().is_some(),
            List::AtWork => record.is_at_work(),
            List::ToReview => self.needs_new_review(record),
            List::Candidate => self.candidate(record).is_some(),
            List::Abandoned => {
                !has_worker && !state.is_settled() && self.lost_parent(record).is_some()
            }
            List::GoesOn => self.can_go_on(record),
            // The worktree of a command counts as lost once it has begun, and is there
            // nevertheless.
            List::Releasable => state.is_merged() && (record.is_prepared() || record.is_command()),
        }
    }

    fn standing(&self, record: &TaskRecord) -> Standing {
        let (progress, state) = (self.progress(record), record.state());
        Standing {
            progress,
            state,
            takes_work: record.takes_work(),
        }
    }

    /// Returns the changed tasks and those that look at them.
    fn concerned(&self, changed: &BTreeSet<usize>) -> BTreeSet<usize> {
        let mut concerned = changed.clone();
        for place in changed {
            let Some(record) = self.at(*place) else {
                continue;
            };
            if record.task.verdict {
                concerned.extend(self.places(&self.schedule.reviews(&record.task.id)));
            }
            if let Some(before) = self.agenda.standings.get(place)
                && before.state == record.state()
                && before.takes_work == record.takes_work()
            {
                continue;
            }
            self.add_below(record, &mut concerned);
        }
        concerned
    }

    /// Adds the tasks whose work is merged into an agent's own, or was until now.
    fn add_below(&self, agent: &TaskRecord, concerned: &mut BTreeSet<usize>) {
        let mut open = vec![agent];
        let mut seen = BTreeSet::new();
        while let Some(above) = open.pop() {
            for child in self.children(&above.task.id) {
                if !seen.insert(&child.task.id) {
                    continue;
                }
                concerned.extend(self.schedule.place(&child.task.id));
                // Its own children go where it went.
                if child.state().is_merged() || child.is_command() {
                    open.push(child);
                }
            }
        }
    }
}
