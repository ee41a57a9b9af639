//! Runs a call of the program's own tool on a thread of its own, so that a tool that blocks its
//! thread, or never ends, holds up nothing else; and its checks of a call's arguments, for which
//! the caller waits a short time.
//!
//! A call ends at the time limit of commands, or when the agent is stopped. Its future is then
//! dropped at its next `await`. A tool that never gets there keeps its thread until the program
//! ends; such threads are counted, and a program with too many of them runs no more calls of its
//! own tools.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicIsize, Ordering};
use std::sync::mpsc::sync_channel;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::answer::{Answer, ToolError};
use crate::tool::{Tool, ToolContext, panicked};

/// Maximum number of threads that calls have left behind: each holds its stack and the descriptors
/// of its worktree.
const MAX_LEFT_BEHIND: isize = 16;

/// How long a tool may take to check arguments, which needs nothing else; the caller's thread
/// waits.
const MAX_CHECK: Duration = Duration::from_secs(1);

/// The threads of calls that did not end in time. Clones share the number.
#[derive(Clone, Default)]
pub(crate) struct LeftBehind(Arc<AtomicIsize>);

impl LeftBehind {
    /// Counts a thread from the time that it is abandoned.
    fn thread(&self) -> Result<Arc<Thread>, ToolError> {
        if self.0.load(Ordering::SeqCst) >= MAX_LEFT_BEHIND {
            let reason = format!(
                "{MAX_LEFT_BEHIND} earlier calls of this program's own tools have not ended yet"
            );
            return Err(ToolError::Execution(reason));
        }
        Ok(Arc::new(Thread {
            all: self.clone(),
            changed: AtomicBool::new(false),
        }))
    }
}

/// The thread of one call, counted from the time that its caller stops waiting until it ends.
struct Thread {
    all: LeftBehind,
    changed: AtomicBool,
}

impl Thread {
    /// Notes that the call has ended without its thread; the thread may have ended at the same
    /// time.
    fn abandon(&self) {
        if !self.changed.swap(true, Ordering::SeqCst) {
            self.all.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// Notes that the thread has ended.
    fn end(&self) {
        if self.changed.swap(true, Ordering::SeqCst) {
            self.all.0.fetch_sub(1, Ordering::SeqCst);
        }
    }
}

/// Runs one call to its end, its time limit or its cancellation.
///
/// # Errors
/// Returns the error of the tool; `Timeout`, `Interrupted`, or `Execution` if the tool panics or no
/// thread can start.
pub(crate) async fn run(
    tool: Arc<dyn Tool>,
    context: &Arc<ToolContext>,
    arguments: Value,
    left_behind: &LeftBehind,
) -> Result<Answer, ToolError> {
    let thread = left_behind.thread()?;
    let limit = context.limits().max_command_timeout;
    let (cancel, stop) = (context.cancel().clone(), CancellationToken::new());
    // Also if the task of this call is dropped.
    let _stops = stop.clone().drop_guard();
    let ended = start(
        tool,
        Arc::clone(context),
        arguments,
        stop,
        Arc::clone(&thread),
    )?;
    let result = tokio::select! {
        result = ended => return result.unwrap_or_else(|_| Err(interrupted())),
        () = cancel.cancelled() => Err(interrupted()),
        () = tokio::time::sleep(limit) => {
            // A limit below one second must not read as none.
            let seconds = limit.as_secs() + u64::from(limit.subsec_nanos() > 0);
            Err(ToolError::timeout(seconds, String::new()))
        }
    };
    thread.abandon();
    result
}

fn interrupted() -> ToolError {
    ToolError::Interrupted("the agent was stopped".to_owned())
}

/// Runs a tool's own checks of a call's arguments to their end or their time limit.
///
/// # Errors
/// Returns the error of the checks; `Timeout`, or `Execution` if they panic or no thread can start.
pub(crate) fn check<T: Send + 'static>(
    left_behind: &LeftBehind,
    checks: impl FnOnce() -> Result<T, ToolError> + Send + 'static,
) -> Result<T, ToolError> {
    let thread = left_behind.thread()?;
    let ending = Arc::clone(&thread);
    let (send, ended) = sync_channel(1);
    let work = move || {
        let result = catch_unwind(AssertUnwindSafe(checks));
        // The receiver is gone if the limit has passed.
        let _ = send.send(result.unwrap_or_else(|panic| Err(panicked(panic.as_ref()))));
        ending.end();
    };
    spawn("tool-check", work)?;
    ended.recv_timeout(MAX_CHECK).unwrap_or_else(|_| {
        thread.abandon();
        Err(ToolError::timeout(MAX_CHECK.as_secs(), String::new()))
    })
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> Result<(), ToolError> {
    let started = std::thread::Builder::new()
        .name(name.to_owned())
        .spawn(work);
    let failed =
        |error| ToolError::Execution(format!("failed to start a thread for the tool: {error}"));
    started.map(drop).map_err(failed)
}

/// Starts the thread of a call, and returns the receiver of its result.
fn start(
    tool: Arc<dyn Tool>,
    context: Arc<ToolContext>,
    arguments: Value,
    stop: CancellationToken,
    thread: Arc<Thread>,
) -> Result<oneshot::Receiver<Result<Answer, ToolError>>, ToolError> {
    let (send, ended) = oneshot::channel();
    let runtime = tokio::runtime::Handle::current();
    let work = move || {
        let call = async {
            tokio::select! {
                result = tool.execute(&context, arguments) => result,
                () = stop.cancelled() => {
                    Err(ToolError::Interrupted("the call has ended".to_owned()))
                }
            }
        };
        let result = context
            .meter()
            .timed(|| catch_unwind(AssertUnwindSafe(|| runtime.block_on(call))));
        // The receiver is gone if the call has ended.
        let _ = send.send(result.unwrap_or_else(|panic| Err(panicked(panic.as_ref()))));
        drop(context);
        thread.end();
    };
    spawn("tool", work)?;
    Ok(ended)
}
