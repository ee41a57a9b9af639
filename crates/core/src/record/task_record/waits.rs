//! The events of a wait, applied to its task.

use std::mem;

use super::stage::Stage;
use super::started::Started;
use crate::event::{EndedWait, Event, Illegal, Wait};
use crate::ids::{CallHash, CallOfTurn};

impl Started {
    /// Applies the begin of a wait, or the end of one for other agents.
    pub(super) fn apply_wait(&mut self, event: &Event) -> Result<(), Illegal> {
        match event {
            Event::ApprovalRequested { call, call_id, .. } => {
                let of = CallOfTurn {
                    turn: self.turns,
                    call: call_id.clone(),
                };
                self.wait(Wait::Person { call: call.clone() }, Some(of))
            }
            Event::AgentWaiting {
                turn,
                call_id,
                wait,
                ..
            } if !wait.has_own_end() => self.wait(
                wait.clone(),
                Some(CallOfTurn {
                    turn: *turn,
                    call: call_id.clone(),
                }),
            ),
            Event::HandOverWaiting { .. } => {
                self.wait(Wait::Children, None)?;
                self.attempt.tally.awaits_children = true;
                Ok(())
            }
            Event::AgentWoken { timed_out, .. } => self.wake(*timed_out),
            Event::ModelRejected {
                endpoint, error, ..
            } => {
                self.attempt.outage = None;
                self.asked = None;
                self.wait(
                    Wait::Endpoint {
                        endpoint: endpoint.clone(),
                        error: error.clone(),
                    },
                    None,
                )
            }
            // A person is asked by an event of its own, which says what about.
            _ => Err(self.refusal()),
        }
    }

    /// Lets a call wait, a request, or the end of the work.
    pub(super) fn wait(&mut self, wait: Wait, of: Option<CallOfTurn>) -> Result<(), Illegal> {
        let open_calls = mem::take(self.running()?);
        self.stage = Stage::Waiting {
            wait,
            of,
            open_calls,
        };
        Ok(())
    }

    /// Ends a wait for other agents or a message.
    fn wake(&mut self, timed_out: bool) -> Result<(), Illegal> {
        let refusal = self.refusal();
        let Stage::Waiting {
            wait,
            of,
            open_calls,
        } = &mut self.stage
        else {
            return Err(refusal);
        };
        if wait.has_own_end() {
            return Err(refusal);
        }
        let waited = of.clone().map(|of| EndedWait { of, timed_out });
        self.stage = Stage::Running {
            open_calls: mem::take(open_calls),
            waited,
        };
        Ok(())
    }

    /// Lets the agent continue if it waits for an endpoint.
    pub(super) fn ask_again(&mut self) {
        if let Stage::Waiting {
            wait: Wait::Endpoint { .. },
            open_calls,
            ..
        } = &mut self.stage
        {
            self.stage = Stage::Running {
                open_calls: mem::take(open_calls),
                waited: None,
            };
        }
    }

    /// Lets the agent continue if this is its parked call.
    pub(super) fn unpark(&mut self, decided: &CallHash) {
        if let Stage::Waiting {
            wait: Wait::Person { call },
            open_calls,
            ..
        } = &mut self.stage
            && call == decided
        {
            self.stage = Stage::Running {
                open_calls: mem::take(open_calls),
                waited: None,
            };
        }
    }
}
