//! The events of what an agent hands back, applied to its task: its last report at a limit, and its
//! files.

use std::mem;

use super::stage::Stage;
use super::started::{LastReport, Started};
use crate::agent::{ReportDue, ReportGiven};
use crate::event::{Event, Illegal, Wait};

impl Started {
    /// Applies that a report is due or was given, or what the work changes.
    pub(super) fn apply_report(&mut self, event: &Event) -> Result<(), Illegal> {
        match event {
            Event::ReportDue(ReportDue { limit, .. }) => {
                self.stop_waiting();
                self.require_running()?;
                if self.attempt.tally.report.is_some() {
                    return Err(Illegal::Reported);
                }
                self.attempt.tally.report = Some(LastReport {
                    limit: limit.clone(),
                    asked: false,
                });
                Ok(())
            }
            Event::ReportGiven(ReportGiven { summary, .. }) => {
                self.require_running()?;
                if self.attempt.tally.report.is_none() {
                    return Err(Illegal::Reported);
                }
                self.summary.clone_from(summary);
                Ok(())
            }
            Event::WorkCompared(compared) => {
                self.compared = Some(compared.work.clone());
                Ok(())
            }
            _ => Err(self.refusal()),
        }
    }

    /// Requires that another request may be sent: an agent at a limit sends one only.
    pub(super) fn require_request_allowed(&self) -> Result<(), Illegal> {
        match &self.attempt.tally.report {
            Some(report) if report.asked => Err(Illegal::Reported),
            _ => Ok(()),
        }
    }

    /// Records that a request was sent, which is the last one of an agent at a limit.
    pub(super) fn note_last_request(&mut self) {
        if let Some(report) = &mut self.attempt.tally.report {
            report.asked = true;
        }
    }

    /// Ends a wait for other agents or a message, whose call is not answered any more.
    fn stop_waiting(&mut self) {
        let Stage::Waiting {
            wait, open_calls, ..
        } = &mut self.stage
        else {
            return;
        };
        if matches!(wait, Wait::Agents { .. } | Wait::Message { .. }) {
            self.stage = Stage::Running {
                open_calls: mem::take(open_calls),
                waited: None,
            };
        }
    }
}
