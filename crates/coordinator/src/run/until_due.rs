//! Waits until a time limit or a deadline is reached, by the time that counts.

use std::sync::Arc;
use std::time::Duration;

use orchestrate_core::RunState;
use orchestrate_core::run::Expiry;
use tokio::sync::watch;

/// Resolves when no time is left; never if there is no limit, or if the run ends first. While
/// `left` returns `None`, the time stands still.
pub(crate) async fn reached(
    mut changes: watch::Receiver<Arc<RunState>>,
    left: impl Fn(&RunState) -> Option<Duration>,
) {
    loop {
        let now = left(&changes.borrow_and_update());
        let changed = changes.wait_for(|state| left(state).is_some() != now.is_some());
        let ended = match now {
            Some(left) => tokio::time::timeout(left, changed)
                .await
                .map(|changed| changed.is_err()),
            None => Ok(changed.await.is_err()),
        };
        match ended {
            Ok(false) => {}
            // The run is over.
            Ok(true) => std::future::pending().await,
            Err(_) => return,
        }
    }
}

/// Resolves when the next deadline of a wait or a message passes, and returns it; never if the run
/// ends first.
pub(crate) async fn next_expiry(mut changes: watch::Receiver<Arc<RunState>>) -> Expiry {
    loop {
        let next = changes.borrow_and_update().next_expiry();
        let is_other =
            |state: &Arc<RunState>| !is_same(state.next_expiry().as_ref(), next.as_ref());
        let changed = changes.wait_for(is_other);
        let ended = match &next {
            Some(expiry) => tokio::time::timeout(expiry.left, changed)
                .await
                .map(|changed| changed.is_err()),
            None => Ok(changed.await.is_err()),
        };
        match (ended, next) {
            (Err(_), Some(expiry)) => return expiry,
            // The run is over.
            (Ok(true), _) => std::future::pending().await,
            _ => {}
        }
    }
}

/// Reports whether both are the same deadline, whatever time is left; the time that counts may have
/// stood still.
fn is_same(one: Option<&Expiry>, other: Option<&Expiry>) -> bool {
    one.map(|expiry| &expiry.of) == other.map(|expiry| &expiry.of)
}
