//! `approve`: approves a task's work to be merged, or a parked tool call to run, exactly as it was
//! shown.
//!
//! A task's work is identified by its tree, a call by the hash that is printed below the whole of
//! it. On a terminal, a call is shown in full before the question; for work that was never shown,
//! the question says so.

use orchestrate_core::projections::review::OwnChanges;
use orchestrate_core::run::request::{Adoption, Part, Request};
use orchestrate_core::{CallHash, Oid, RunId, RunState, TaskId, shown_hash};
use orchestrate_journal::Store;

use crate::args::{Approval, RequestArgs};
use crate::context::{Context, Subject, subject_of};
use crate::error::{CommandError, ErrorKind, Wording};
use crate::follow::inbox::{self, Sending};
use crate::show::progress::short;
use crate::show::run_argument::Named;
use crate::show::{output, parked_call};

/// The minimum number of digits of a hash that identify what was shown.
const MIN_HASH_DIGITS: usize = 8;

/// Where a program finds a call.
const SHOWS_CALLS: &str =
    "`orchestrate status --json` prints the full call and its hash for programs";

/// What can be shown while a request is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shows {
    /// A call that is approved without its hash is printed.
    Calls,
    /// Standard output is for programs.
    Nothing,
}

/// Runs the command.
pub(crate) fn execute(
    context: &Context,
    arguments: &RequestArgs<Approval>,
) -> Result<u8, CommandError> {
    let (store, run) = context.find_run(arguments.which.run.as_deref())?;
    let shows = match arguments.output.is_json() {
        true => Shows::Nothing,
        false => Shows::Calls,
    };
    let state = store.state(&run)?;
    let request = request(context, &store, &state, &arguments.what, shows)?;
    let sending = Sending::new(arguments.follow.follow, &arguments.output.values());
    inbox::send(context, &store, &run, &request, &sending)
}

/// Returns the request that approves a task's work, or a call that was shown.
pub(crate) fn request(
    context: &Context,
    store: &Store,
    state: &RunState,
    approval: &Approval,
    shows: Shows,
) -> Result<Request, CommandError> {
    let run = &state.run_id;
    let subject = subject_of(state, approval.target()?)?;
    if let Some(what) = not_together(&subject, approval) {
        return Err(CommandError::usage(what));
    }
    match subject {
        Subject::Call(call) => {
            let named = Named::new(store, run)?;
            require_shown(context, named, state, &call, Typed { approval, shows })?;
            Ok(Request::Decide {
                call,
                allowed: true,
                message: None,
            })
        }
        Subject::Task(task) if !approval.only.is_empty() => {
            part(context, run, state, task, approval)
        }
        Subject::Task(task) => {
            if approval.tree.is_none() {
                require_no_own_changes(context, state, &task, approval.wording)?;
            }
            Ok(Request::Approve {
                tree: tree(context, run, state, &task, approval)?,
                task,
            })
        }
    }
}

/// Returns why the arguments do not go together, if they do not. The command line excludes some of
/// that; a line of JSON may have it.
fn not_together(subject: &Subject, approval: &Approval) -> Option<String> {
    let [tree, hash, only] = ["tree", "hash", "only"].map(|name| approval.wording.argument(name));
    let takes_part = !approval.only.is_empty();
    match subject {
        Subject::Call(_) if approval.tree.is_some() => Some(format!(
            "{tree} applies to a task's work; use {hash} for a call"
        )),
        Subject::Call(_) if takes_part => {
            Some(format!("{only} applies to a task's work, not to a call"))
        }
        Subject::Task(_) if approval.hash.is_some() => Some(format!(
            "{hash} applies to a call; use {tree} for a task's work"
        )),
        Subject::Task(_) if approval.tree.is_some() && takes_part => Some(format!(
            "{tree} names all of a task's work, of which {only} takes a part"
        )),
        _ if approval.message.is_some() && !takes_part => Some(format!(
            "a message goes with {only}, to the agent that gets the rest"
        )),
        Subject::Call(_) | Subject::Task(_) => None,
    }
}

/// What was typed to approve a call, and what can be shown of it.
#[derive(Clone, Copy)]
struct Typed<'a> {
    approval: &'a Approval,
    shows: Shows,
}

/// Requires that the whole call was shown to the user: by its hash, or by showing it now.
fn require_shown(
    context: &Context,
    named: Named<'_>,
    state: &RunState,
    call: &CallHash,
    typed: Typed<'_>,
) -> Result<(), CommandError> {
    let Some((_, approval)) = state.open_approvals().find(|(open, _)| *open == call) else {
        return Err(CommandError::usage(format!(
            "call {call} has been answered already"
        )));
    };
    let (short, hash) = (short(call), shown_hash(call, approval));
    let wording = typed.approval.wording;
    if !parked_call::is_whole(approval) {
        let message = format!(
            "call {short} cannot be approved: it cannot be shown in full, because part of it was \
             cut or redacted (`[redacted:…]`)"
        );
        let reject = match wording {
            Wording::Command => named.within(format!("reject {short} -m TEXT")),
            Wording::Line => {
                format!(r#"{{"type":"reject","call":"{short}","message":"TEXT"}}"#)
            }
        };
        return Err(CommandError::usage(message).hint(format!(
            "`{reject}` lets its agent ask again; tell it that the call must contain neither a \
             secret nor `[redacted:…]`"
        )));
    }
    let whole = parked_call::whole(approval) + &format!("\ncall {short}, hash {hash}");
    match &typed.approval.hash {
        Some(given) if given.len() >= MIN_HASH_DIGITS && hash.starts_with(given.as_str()) => Ok(()),
        Some(given) => {
            let message = format!(
                "{} {given} is not the hash of call {short}; nothing was decided",
                wording.argument("hash")
            );
            let error = CommandError::usage(message);
            Err(match wording {
                Wording::Command => {
                    let approve = named.within(format!("approve {short}"));
                    error.hint(format!("`{approve}` shows it"))
                }
                Wording::Line => error.hint(SHOWS_CALLS),
            })
        }
        None if context.terminal.can_ask => {
            let is_seen = parked_call::show(&whole)?;
            if is_seen && output::confirm("Let it run? [y/N] ") {
                return Ok(());
            }
            let message =
                format!("call {short} still waits for your decision; nothing was decided");
            let reject = named.within(format!("reject {short} -m TEXT"));
            let error = CommandError::new(ErrorKind::NeedsPerson, message);
            Err(error.hint(format!("`{reject}` denies it")))
        }
        None => {
            if typed.shows == Shows::Calls {
                output::line(&whole)?;
            }
            let message = format!("approving call {short} requires its hash; nothing was decided");
            let by_hash = match wording {
                Wording::Command => named.within(format!("approve {short} --hash {hash}")),
                Wording::Line => {
                    format!(r#"{{"type":"approve","call":"{short}","hash":"{hash}"}}"#)
                }
            };
            Err(CommandError::usage(message)
                .hint(format!("read it in full, then type `{by_hash}`"))
                .hint(SHOWS_CALLS))
        }
    }
}

/// Returns the request that approves a part of a task's work; all of it if that is what is named.
fn part(
    context: &Context,
    run: &RunId,
    state: &RunState,
    task: TaskId,
    arguments: &Approval,
) -> Result<Request, CommandError> {
    let record = state.task(&task);
    let of_work = record.and_then(|record| record.tip().cloned().zip(record.tree().cloned()));
    let (tip, tree) = of_work.ok_or_else(|| unfinished(&task))?;
    // What would be refused commits nothing; the process that works on the run says why.
    let whole = Request::Adopt(Adoption {
        task: task.clone(),
        commit: tip.clone(),
        tree: tree.clone(),
        tip,
        part: Some(Part {
            taken: Vec::new(),
            left: Vec::new(),
            admitted: Vec::new(),
            message: None,
        }),
    });
    if state.decide(&whole).is_err() {
        return Ok(whole);
    }
    let (only, message) = (arguments.only.as_slice(), arguments.message.as_deref());
    let taken = context.runs()?.take_part(run, &task, only, message)?;
    let part = taken.as_ref().and_then(|taken| taken.part.as_ref());
    let goes_back = part.is_some_and(|part| !part.left.is_empty());
    if arguments.message.is_some() && !goes_back {
        output::warning(&format!(
            "all of the work of {task} is approved, so that nobody is left to read your message"
        ));
    }
    Ok(taken.map_or(Request::Approve { task, tree }, Request::Adopt))
}

/// Requires that the user has changed nothing that is not in the work: once that is merged, it
/// cannot be adopted.
fn require_no_own_changes(
    context: &Context,
    state: &RunState,
    task: &TaskId,
    wording: Wording,
) -> Result<(), CommandError> {
    let Some(record) = state.task(task) else {
        return Ok(());
    };
    let own = context.runs()?.own_changes(state, record)?;
    let Some(own) = own.filter(OwnChanges::is_any) else {
        return Ok(());
    };
    let tree = record.tree().map_or("TREE", short);
    let message = format!("{task} still waits for approval, because {own}; nothing was decided");
    let run = &state.run_id;
    let (adopt, approve) = match wording {
        Wording::Command => (
            format!("orchestrate adopt {task} --run {run}"),
            format!("orchestrate approve {task} --tree {tree} --run {run}"),
        ),
        Wording::Line => (
            format!(r#"{{"type":"adopt","task":"{task}"}}"#),
            format!(r#"{{"type":"approve","task":"{task}","tree":"{tree}"}}"#),
        ),
    };
    Err(CommandError::new(ErrorKind::NeedsPerson, message)
        .hint(format!("`{adopt}` makes them part of the work"))
        .hint(format!("`{approve}` approves the work without them")))
}

fn unfinished(task: &TaskId) -> CommandError {
    CommandError::usage(format!("task {task} has no finished work to approve"))
}

/// Returns the tree to approve: the one given by `--tree`, else the one shown last, else the
/// current one, unseen.
fn tree(
    context: &Context,
    run: &RunId,
    state: &RunState,
    task: &TaskId,
    arguments: &Approval,
) -> Result<Oid, CommandError> {
    let tree = state.task(task).and_then(|record| record.tree().cloned());
    let tree = tree.ok_or_else(|| unfinished(task))?;
    match &arguments.tree {
        Some(typed) if tree.as_str().starts_with(typed.as_str()) => return Ok(tree),
        Some(typed) => return Ok(Oid::from(typed.as_str())),
        None => {}
    }
    if let Some(shown) = context.runs()?.shown(run, task)? {
        return Ok(shown);
    }
    let question =
        format!("you have not reviewed the work of {task} yet. Approve it unseen? [y/N] ");
    if context.terminal.can_ask && !output::confirm(&question) {
        let message = format!("the work of {task} still waits for approval");
        let error = CommandError::new(ErrorKind::NeedsPerson, message);
        return Err(error.hint(format!("`orchestrate review {task} --run {run}` shows it")));
    }
    // A script may approve work that was not shown; its output then tells what that was.
    let request = Request::Approve {
        task: task.clone(),
        tree: tree.clone(),
    };
    if !context.terminal.can_ask && state.decide(&request).is_ok() {
        output::warning(&format!(
            "the work of {task} is approved unseen, as tree {tree}; `orchestrate diff {task} --run \
             {run}` shows it"
        ));
    }
    Ok(tree)
}
