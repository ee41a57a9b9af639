//! Asks the program's own approver ([`Approver`]) about a parked tool call, and records its answer
//! like a person's. What a person requests, `approve` included, is carried out by `requests.rs`.

use std::sync::Arc;

use orchestrate_checks::{Shutdown, ShutdownLevel};
use orchestrate_core::{CallHash, RunState};
use orchestrate_journal::{Appended, Batch};

use crate::error::CoordinatorError;
use crate::run::context::RunContext;
use crate::run::program::approver::{Approver, ApproverAnswer, AskedCall};

/// Asks the approver about a call; returns once it is decided or left to a person.
pub(crate) async fn ask(
    context: Arc<RunContext>,
    approver: Arc<dyn Approver>,
    call: CallHash,
    shutdown: Shutdown,
) -> Result<(), CoordinatorError> {
    let Some(asked) = AskedCall::open(&context.state(), &call) else {
        return Ok(());
    };
    let answer = tokio::select! {
        answer = approver.decide(&asked) => answer,
        () = decided(&context, &call) => return Ok(()),
        () = shutdown.reached(ShutdownLevel::Drain) => return Ok(()),
    };
    let (allowed, message) = match answer {
        Ok(ApproverAnswer::Allow) => (true, None),
        Ok(ApproverAnswer::Deny { reason }) => {
            (false, Some(context.host.site.redactor.owned(reason)))
        }
        Ok(ApproverAnswer::LeaveToPerson) => return Ok(()),
        Err(error) => {
            left_to_person(
                &context,
                approver.name(),
                &call,
                &format!("failed: {error}"),
            );
            return Ok(());
        }
    };
    let (of_call, by) = (call.clone(), approver.name().to_owned());
    let decide = move |state: &RunState| match AskedCall::open(state, &of_call) {
        // A person was faster.
        None => Ok(Batch::default()),
        Some(_) => state
            .decide_call(&of_call, allowed, message, Some(by))
            .map(Batch::from),
    };
    if let Appended::Refused(refused) = context.journal.append_if(decide).await? {
        left_to_person(
            &context,
            approver.name(),
            &call,
            &format!("decided what is refused: {refused}"),
        );
    }
    Ok(())
}

/// Warns that a call waits for a person after all.
pub(crate) fn left_to_person(context: &RunContext, approver: &str, call: &CallHash, why: &str) {
    let why = context.host.site.redactor.owned(why.to_owned());
    (context.warn)(&format!(
        "the approver {approver} {why}; the call {call} waits for a person"
    ));
}

/// Waits until the call no longer waits for a decision.
async fn decided(context: &RunContext, call: &CallHash) {
    let mut state = context.journal.watch();
    // It fails if the journal is closed, which it is not while this job holds it.
    let _ = state
        .wait_for(|state| AskedCall::open(state, call).is_none())
        .await;
}
