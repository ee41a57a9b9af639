//! Waiting for endpoints that reject the key or the account: which tasks do, and when they go on.
//!
//! Such a task keeps its work and its attempt. Only a resumption ends its wait, since only the user
//! can mend the cause.

use crate::event::{RejectingEndpoint, Wait};
use crate::record::TaskRecord;
use crate::run::run_state::RunState;

impl RunState {
    /// Returns the endpoints that tasks wait for, in the order of the tasks and each once.
    pub fn rejecting_endpoints(&self) -> Vec<RejectingEndpoint> {
        let mut found: Vec<RejectingEndpoint> = Vec::new();
        for record in self.tasks() {
            let Some(Wait::Endpoint { endpoint, error }) = record.wait() else {
                continue;
            };
            let task = record.task.id.clone();
            match found.iter_mut().find(|known| known.endpoint == *endpoint) {
                Some(known) => known.tasks.push(task),
                None => {
                    let (endpoint, error) = (endpoint.clone(), error.clone());
                    found.push(RejectingEndpoint {
                        endpoint,
                        error,
                        tasks: vec![task],
                    });
                }
            }
        }
        found
    }

    /// Ends the waits for endpoints: whoever resumes the run may have mended the key or the
    /// account.
    pub(super) fn ask_endpoints_again(&mut self) {
        self.tasks.change_if(
            |record| record.rejecting_endpoint().is_some(),
            TaskRecord::ask_again,
        );
    }
}
