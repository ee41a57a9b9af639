//! Waits until a time limit is reached, by the time that counts.

use std::sync::Arc;
use std::time::Duration;

use orchestrate_core::RunState;
use tokio::sync::watch;

/// Resolves when no time is left; never if there is no limit, or if the run ends first. While `left` returns `None`,
/// the time stands still.
pub(crate) async fn reached(mut changes: watch::Receiver<Arc<RunState>>, left: impl Fn(&RunState) -> Option<Duration>) {
    loop {
        let now = left(&changes.borrow_and_update());
        let changed = changes.wait_for(|state| left(state).is_some() != now.is_some());
        let ended = match now {
            Some(left) => tokio::time::timeout(left, changed).await.map(|changed| changed.is_err()),
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
