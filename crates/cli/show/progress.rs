//! Describes events: one line for each that matters to a waiting user, and one line for each
//! working agent.
//!
//! Everything here is a pure function; `display` prints the lines.

use std::collections::BTreeSet;
use std::time::Duration;

use orchestrate_coordinator::{Retry, RunningCheck};
use orchestrate_core::agent::price::dollars;
use orchestrate_core::event::{
    FailedLanding, HeldIntegration, ToolOutcome, UndoneLanding, VerifyScope, rfc3339,
};
use orchestrate_core::messages::{
    Envelope, ExpiredMessage, MessageKind, Receiver, Sender, UnansweredQuestion,
};
use orchestrate_core::policy::egress::EgressDecision;
use orchestrate_core::task::ReturnCause;
use orchestrate_core::{
    CallHash, Event, FlakyCheck, Liveness, MergeTarget, Recorded, RequestedChange, RunId, RunState,
    StopRequest, TaskId, TaskRecord, Usage, VerdictKind, Wait, split_hint,
};

use crate::show::output::{joined, names, one_line, quoted};
use crate::show::parked_call::line as line_of;
use crate::show::run_argument::Named;
use crate::show::{aside, columns, tree};

/// The minimum wait that is worth a line.
const NOTICED: Duration = Duration::from_secs(2);
/// The maximum number of lines of output that are shown below an event.
const MOST_LINES: usize = 6;
/// The maximum length, in characters, of external text in a line.
const WIDTH: usize = 100;
/// The maximum length, in characters, of a command beside the line that it has written.
const COMMAND_WIDTH: usize = 40;

/// Returns the line of an event, if it has one; with `verbose`, nearly every event has one.
pub(crate) fn line(fact: &Recorded, verbose: bool) -> Option<String> {
    let Recorded { run_id, event, .. } = fact;
    let line = milestone(event).or_else(|| question(run_id, event));
    if line.is_some() || !verbose {
        return line;
    }
    detail(event).or_else(|| landing(event))
}

/// Returns the line of a request that waits to be sent again, or `None` for a wait too short to
/// notice.
pub(crate) fn retry_line(retry: &Retry) -> Option<String> {
    let Retry {
        task,
        error,
        wait,
        waited,
        patience,
        ..
    } = retry;
    let (error, seconds) = (one_line(error, 2 * WIDTH), wait.as_secs());
    let waiting = match patience {
        Some(patience) if *waited >= NOTICED => {
            let (waited, patience) = (duration(*waited), duration(*patience));
            format!("; waiting for {waited} of at most {patience}")
        }
        _ => String::new(),
    };
    let line = format!("{task}: failed to {error}{waiting}; next attempt in {seconds} s");
    Some(line).filter(|_| *wait >= NOTICED)
}

/// Returns the line of a check that runs, with the last line that it has written.
pub(crate) fn running_line(check: &RunningCheck) -> String {
    let last = check.last_line.as_deref().unwrap_or("no output yet");
    format!("{}: {}", one_line(&check.command, COMMAND_WIDTH), cut(last))
}

/// Returns the same with the time since its start, for where lines are not redrawn.
pub(crate) fn still_running_line(check: &RunningCheck) -> String {
    let (elapsed, line) = (duration(check.elapsed), running_line(check));
    format!("still running after {elapsed}: {line}")
}

/// Formats a duration in whole seconds, for people.
fn duration(time: Duration) -> humantime::FormattedDuration {
    humantime::format_duration(Duration::from_secs(time.as_secs()))
}

/// Describes an event that matters to a waiting user.
fn milestone(event: &Event) -> Option<String> {
    Some(match event {
        Event::SnapshotTaken {
            task,
            on_branch: true,
            left_out,
            aside: left,
            ..
        } if !left_out.is_empty() || !left.is_empty() => {
            let mut text = String::new();
            if !left_out.is_empty() {
                let files = names(left_out, WIDTH);
                text = format!("{task}: git cannot store {files}; left out of its commit\n");
            }
            text += &aside::lines(task, left);
            text.trim_end().to_owned()
        }
        Event::CheckFlaky(flaky) => flaky_check(flaky),
        Event::BaseVerifying { .. } | Event::BaseVerified { .. } => return of_base(event),
        Event::RunResumed { .. } => "resumed".to_owned(),
        Event::IntegrationHeld(HeldIntegration { checkout, commit }) => format!(
            "the integration branch is checked out at {checkout} and was not moved; `git merge \
             --ff-only {}` there updates it, after `git stash -u` if your changes are in the way",
            short(commit)
        ),
        _ => format!("{}: {}", event.task()?, milestone_of_task(event)?),
    })
}

/// Describes an event of a task that matters to a waiting user; the task stands before it.
fn milestone_of_task(event: &Event) -> Option<String> {
    Some(match event {
        Event::AgentSpawned {
            attempt,
            agent,
            model,
            ..
        } => {
            let mut text = match agent {
                Some(agent) => format!("started @{agent}"),
                None => "started command".to_owned(),
            };
            if let Some(model) = model {
                text += &format!(" with {}", cut(model));
            }
            if *attempt > 1 {
                text += &format!(" (attempt {attempt})");
            }
            text
        }
        Event::ModelSwitched {
            turn,
            from,
            to,
            error,
            ..
        } => {
            let (from, to, error) = (cut(from), cut(to), one_line(error, 2 * WIDTH));
            format!("{to} takes over from {from} in turn {turn}: failed to {error}")
        }
        Event::ModelRejected { error, .. } => {
            let error = one_line(error, 2 * WIDTH);
            format!("waits until the run is resumed: failed to {error}")
        }
        Event::TaskCommitted { commit, .. } => format!("committed {}", short(commit)),
        Event::VerifyFinished {
            scope,
            command,
            passed,
            exit,
            ..
        } => {
            let what = match scope {
                VerifyScope::Task => "check",
                VerifyScope::Run => "check of the merged tree",
                VerifyScope::Target => "check of the tree without its work",
            };
            match passed {
                true => format!("{what} passed: {}", cut(command)),
                false => format!("{what} FAILED ({exit}): {}", cut(command)),
            }
        }
        Event::MergeConflicted { files, .. } => format!("conflicts in {}", names(files, WIDTH)),
        Event::TaskReturned { cause, .. } => format!("returned: {}", cause_words(*cause)),
        Event::TaskMerged {
            commit: Some(commit),
            ..
        } => format!("merged as {}", short(commit)),
        Event::TaskMerged { summary, .. } => match summary.as_deref().map(str::trim) {
            None | Some("") => "done, nothing to merge".to_owned(),
            Some(summary) => format!("reported: {}", cut(summary)),
        },
        Event::NothingToDo { .. } => "nothing to do".to_owned(),
        Event::ReviewVerdict(given) => {
            let verdict = verdict_words(given.verdict, &given.changes);
            format!("verdict: {verdict}{}", why(given.comment.as_deref()))
        }
        Event::ReportDue(due) => {
            let used_up = due.limit.used_up().unwrap_or("what it needs");
            format!("out of {used_up}: it makes its last report")
        }
        Event::ReportGiven(given) => format!("reported: {}", cut(&given.summary)),
        Event::TaskAdded {
            task,
            parent: Some(parent),
            ..
        } => format!("spawned by {parent}: {}", cut(&task.title)),
        Event::StopRequested(StopRequest { by: Some(by), .. }) => format!("to be stopped, by {by}"),
        Event::StopRequested(_) => "to be stopped".to_owned(),
        Event::TaskFailed { cause, message, .. } => {
            with_lines(&format!("FAILED ({cause})"), message)
        }
        Event::TaskConflicted { message, .. } => with_lines("NOT MERGED", message),
        Event::TaskSkipped { because, .. } => format!("skipped because {because} did not succeed"),
        Event::TaskCancelled { message, .. } => format!("cancelled: {}", cut(message)),
        _ => return None,
    })
}

/// Describes a check that has failed and passed on one tree.
pub(crate) fn flaky_check(
    FlakyCheck {
        task,
        command,
        tree,
        exit,
        ..
    }: &FlakyCheck,
) -> String {
    let of = task.as_ref().map_or("base", TaskId::as_str);
    let (command, tree) = (cut(command), short(tree));
    format!("{of}: flaky check: `{command}` has failed ({exit}) and passed on the same tree {tree}")
}

/// Describes an event of the check of the base.
fn of_base(event: &Event) -> Option<String> {
    Some(match event {
        Event::BaseVerifying { command, .. } => {
            format!("verifying the base: {}", cut(command))
        }
        Event::BaseVerified {
            command,
            passed: true,
            output: None,
            ..
        } => {
            format!("the base passed its check before: {}", cut(command))
        }
        Event::BaseVerified {
            command,
            passed: true,
            ..
        } => {
            format!("check of the base passed: {}", cut(command))
        }
        Event::BaseVerified { command, exit, .. } => {
            format!("check of the base FAILED ({exit}): {}", cut(command))
        }
        _ => return None,
    })
}

/// Returns a line with the first line of the message, and the next ones quoted below it.
fn with_lines(what: &str, message: &str) -> String {
    let (message, hint) = split_hint(message);
    let (first, rest) = message.split_once('\n').unwrap_or((message, ""));
    let shown: Vec<&str> = rest.lines().take(MOST_LINES).collect();
    let (first, rest) = (one_line(first, 4 * WIDTH), quoted(&shown.join("\n")));
    let text = format!("{what}: {first}\n{rest}");
    match hint {
        Some(hint) => format!("{}\n  fix: {}", text.trim_end(), one_line(hint, 4 * WIDTH)),
        None => text.trim_end().to_owned(),
    }
}

/// Describes a question to the user; its commands name the run, since the line may be read when
/// there are newer runs.
fn question(run: &RunId, event: &Event) -> Option<String> {
    Some(match event {
        Event::ReviewRequested { task } => due_review(run, task),
        Event::ApprovalRequested {
            task,
            call,
            summary,
            ..
        } => parked(run, task, call, summary),
        Event::MessageSent { envelope } if envelope.to == Receiver::User => told(run, envelope),
        Event::MessageExpired(ExpiredMessage {
            from,
            to: Receiver::User,
            sequence,
        }) => {
            let from = sender(from);
            format!("{from}: its question {sequence} to you was not answered before its deadline")
        }
        _ => return None,
    })
}

/// Returns the lines of what waits for the user already, as they were when it began to wait.
pub(crate) fn waiting_for_user(state: &RunState) -> Vec<String> {
    let run = &state.run_id;
    let mut lines = Vec::new();
    for record in state
        .tasks()
        .filter(|record| record.state().awaits_review())
    {
        lines.push(due_review(run, &record.task.id));
    }
    for (call, approval) in state.open_approvals() {
        lines.push(parked(run, &approval.task, call, &approval.summary));
    }
    lines.extend(state.questions_to_user().map(|asked| told(run, asked.1)));
    lines
}

/// Describes a review that is due.
fn due_review(run: &RunId, task: &TaskId) -> String {
    let review = Named::for_later(run).review(task);
    format!("{task}: waits for review: `{review}`")
}

/// Describes a call that waits for a decision.
fn parked(run: &RunId, task: &TaskId, call: &CallHash, summary: &str) -> String {
    let (call, named) = (short(call), Named::for_later(run));
    let approve = named.within(format!("approve {call}"));
    let reject = named.within(format!("reject {call} -m TEXT"));
    let what = line_of(summary, WIDTH);
    format!("{task}: asks to run {what}: `{approve}` shows it in full and asks, or `{reject}`")
}

/// Describes what an agent asks or tells the user.
fn told(run: &RunId, message: &Envelope) -> String {
    let Envelope {
        from,
        sequence,
        kind,
        body,
        deadline,
        ..
    } = message;
    let (from, text) = (sender(from), line_of(&body.to_string(), 2 * WIDTH));
    match kind {
        MessageKind::Question => {
            let answer =
                Named::for_later(run).within(format!("message {from} TEXT --reply-to {sequence}"));
            format!("{from} asks: {text}: `{answer}`{}", until(*deadline))
        }
        kind => format!("{from} tells you{}: {text}", in_parentheses(*kind)),
    }
}

/// Describes until when a question can be answered, and what happens then; empty without a
/// deadline.
pub(crate) fn until(deadline: Option<u64>) -> String {
    match deadline.map(rfc3339) {
        Some(time) => format!(" until {time}; then its agent goes on without an answer"),
        None => String::new(),
    }
}

/// Returns what a message is for, in parentheses; empty for a note.
pub(crate) fn in_parentheses(kind: MessageKind) -> String {
    match kind {
        MessageKind::Note => String::new(),
        kind => format!(" ({})", kind.as_str()),
    }
}

/// Describes an event that is shown on request only.
fn detail(event: &Event) -> Option<String> {
    Some(match event {
        Event::MachineSlept { slept_ms } => {
            let time = duration(Duration::from_millis(*slept_ms));
            format!("the machine slept for {time}, which does not count")
        }
        Event::ApprovalDecided {
            call, allowed, by, ..
        } => {
            let (call, answer) = (short(call), if *allowed { "approved" } else { "rejected" });
            match by {
                Some(by) => format!("call {call}: {answer} by {}", cut(by)),
                None => format!("call {call}: {answer}"),
            }
        }
        _ => match detail_of_task(event) {
            Some(words) => format!("{}: {words}", event.task()?),
            None => return message_detail(event),
        },
    })
}

/// Describes an event of a task that is shown on request only; the task stands before it.
fn detail_of_task(event: &Event) -> Option<String> {
    Some(match event {
        Event::TaskReady { .. } => "ready".to_owned(),
        Event::MapMade { .. } => "has a map of the repository".to_owned(),
        Event::WorktreePrepared { onto: None, .. } => "worktree prepared".to_owned(),
        Event::WorktreePrepared { .. } => "merged into its worktree".to_owned(),
        Event::WorktreeRemoved { .. } => {
            "its worktree is gone, and is created again if it is needed".to_owned()
        }
        Event::TurnStarted { turn, .. } => format!("turn {turn}"),
        Event::ModelRequested {
            turn,
            model,
            reserved_tokens,
            ..
        } => {
            let model = cut(model);
            format!("request {turn} to {model}, {reserved_tokens} tokens reserved")
        }
        Event::BudgetWaited { turn, tokens, .. } => {
            format!("request {turn} waits for {tokens} tokens that other requests may release")
        }
        Event::ModelReplied { turn, usage, .. } => {
            format!("reply {turn}, {} tokens", usage.total())
        }
        Event::ModelWaiting { turn, error, .. } => {
            format!(
                "request {turn} waits for an answer: failed to {}",
                cut(error)
            )
        }
        Event::ModelFailed { turn, error, .. } => format!("request {turn} failed: {}", cut(error)),
        Event::ModelCut { turn, tokens, .. } => {
            format!("request {turn} was cut off; it counts as {tokens} tokens")
        }
        Event::SearchRequested(asked) => {
            format!("asks the endpoint of {} to search", cut(&asked.model))
        }
        Event::SearchEnded(ended) => {
            let (tokens, searches) = (ended.usage.total(), ended.searches);
            let why = why(ended.error.as_deref());
            format!("the search used {tokens} tokens, and {searches} searches{why}")
        }
        Event::ToolStarted {
            tool,
            arguments,
            cache,
            ..
        } => {
            let (tool, arguments) = (cut(tool), line_of(&arguments.to_string(), WIDTH));
            match cache {
                Some(lookup) if lookup.hit => {
                    format!("{tool}({arguments}), answered from the cache")
                }
                _ => format!("{tool}({arguments})"),
            }
        }
        Event::EgressDecided(decided) => egress(&decided.decision),
        Event::ToolFinished {
            tool,
            outcome,
            error,
            duration_ms,
            ..
        } => {
            let (tool, outcome, why) = (cut(tool), outcome_words(*outcome), why(error.as_deref()));
            format!("{tool} {outcome} in {duration_ms} ms{why}")
        }
        Event::AgentWaiting { wait, .. } => format!("waits for {}", waited_for(wait)),
        Event::HandOverWaiting { .. } => {
            "has finished, and waits for the agents that it spawned".to_owned()
        }
        Event::AgentWoken { timed_out, .. } => match timed_out {
            false => "goes on after its wait".to_owned(),
            true => "goes on, since the time of its wait is over".to_owned(),
        },
        Event::SnapshotTaken { number, commit, .. } => {
            format!("snapshot {number} {}", short(commit))
        }
        Event::VerifyStarted { command, .. } => format!("checking with {}", cut(command)),
        Event::MergeStarted { into, .. } => match into {
            MergeTarget::Integration => "merging".to_owned(),
            MergeTarget::Agent(agent) => format!("merging into {agent}"),
        },
        Event::MergePrepared { commit, .. } => format!("merge prepared {}", short(commit)),
        Event::ReviewApproved { .. } => "approved".to_owned(),
        Event::WorkAdopted(adopted) => {
            format!("your commit {} is its work now", short(&adopted.commit))
        }
        Event::ReviewWaiting { .. } => "waits for new work to review".to_owned(),
        _ => return None,
    })
}

/// Describes what became of a message.
fn message_detail(event: &Event) -> Option<String> {
    Some(match event {
        Event::MessageSent { envelope } => {
            let Envelope {
                from,
                to,
                kind,
                body,
                ..
            } = envelope;
            let (to, from, kind) = (to.as_str(), sender(from), in_parentheses(*kind));
            format!(
                "{to}: message from {from}{kind}: {}",
                cut(&body.to_string())
            )
        }
        Event::QuestionUnanswered(UnansweredQuestion { from, to, sequence }) => {
            format!("{from}: {to} will not answer its question {sequence}")
        }
        Event::MessageExpired(ExpiredMessage {
            from,
            to: Receiver::Agent(to),
            sequence,
        })
        | Event::MessageDelivered {
            from,
            to,
            sequence,
            expired: true,
        } => {
            let from = sender(from);
            format!(
                "{to}: message {sequence} from {from} missed its deadline and was not delivered"
            )
        }
        Event::MessageDelivered {
            from,
            to,
            sequence,
            expired: false,
        } => {
            format!(
                "{to}: has received message {sequence} from {}",
                sender(from)
            )
        }
        _ => return None,
    })
}

/// Describes what the proxy of a program decided.
fn egress(decision: &EgressDecision) -> String {
    let EgressDecision {
        asked,
        host,
        port,
        rule,
        reason,
        ..
    } = decision;
    let (mut what, rule) = (cut(asked), cut(rule));
    if let (Some(host), Some(port)) = (host, port) {
        let canonical = format!("{host}:{port}");
        if canonical != what {
            what = format!("{} (as {what})", cut(&canonical));
        }
    }
    match reason {
        Some(reason) => format!("refused {what} to a program ({rule}): {}", cut(reason)),
        None => format!("let a program connect to {what} ({rule})"),
    }
}

/// Describes a change of the user's branch.
fn landing(event: &Event) -> Option<String> {
    Some(match event {
        Event::LandingStarted { branch, from, to } if from == to => {
            format!(
                "landing: {branch} contains the result already, at {}",
                short(to)
            )
        }
        Event::LandingStarted { branch, to, .. } => {
            format!("landing: moving {branch} to {}", short(to))
        }
        Event::LandingFailed(FailedLanding { message, .. }) => {
            format!("not landed: {}", one_line(message, 2 * WIDTH))
        }
        Event::RunLanded { branch, from, to } if from == to => {
            format!("landed: {branch} stays at {}", short(to))
        }
        Event::RunLanded { branch, from, to } => {
            format!(
                "landed: {branch} went from {} to {}",
                short(from),
                short(to)
            )
        }
        Event::RunUnlanded(UndoneLanding { branch, to }) => {
            format!("landing undone: {branch} is back at {}", short(to))
        }
        _ => return None,
    })
}

/// Returns the name of a message's sender.
pub(crate) fn sender(from: &Sender) -> String {
    match from {
        Sender::Agent(agent) => agent.to_string(),
        Sender::User => "you".to_owned(),
        Sender::Run => "the run".to_owned(),
    }
}

/// Returns a reason or a comment after what it belongs to; nothing without one.
fn why(text: Option<&str>) -> String {
    match text {
        Some(text) => format!(": {}", cut(text)),
        None => String::new(),
    }
}

fn cause_words(cause: ReturnCause) -> &'static str {
    match cause {
        ReturnCause::Conflict => "conflict with the merged result",
        ReturnCause::TaskCheck => "verification failed",
        ReturnCause::RunCheck => "verification of the merged tree failed",
        ReturnCause::Deletions => "most of its files are gone",
        ReturnCause::Unstorable => "git cannot store its files",
        ReturnCause::ChangesRequested => "changes requested in review",
        ReturnCause::Claims => "its report claims what the facts do not bear out",
        ReturnCause::NoVerdict => "it ended without a verdict",
        ReturnCause::InvalidPlan => "its plan cannot be run",
        ReturnCause::InvalidAnswer => "its answer has not the form that was asked for",
        ReturnCause::Hook => "a hook refused it",
        ReturnCause::NewWork => "new work to review",
        ReturnCause::ChildrenEnded => "the agents that it spawned have ended",
        ReturnCause::Rejected => "rejected in review",
        ReturnCause::Retried => "retried on request",
        ReturnCause::Rest => "a part was taken, and this is the rest",
    }
}

/// Returns a verdict in words, with the tasks that have to change.
pub(crate) fn verdict_words(verdict: VerdictKind, changes: &[RequestedChange]) -> String {
    match verdict {
        VerdictKind::Approve => "approved".to_owned(),
        VerdictKind::NothingToDo => "nothing to review".to_owned(),
        VerdictKind::Changes => {
            let tasks: BTreeSet<&str> = changes.iter().map(|change| change.task.as_str()).collect();
            format!("changes requested of {}", joined(tasks))
        }
    }
}

/// Returns the word for a call's outcome.
pub(crate) fn outcome_words(outcome: ToolOutcome) -> &'static str {
    match outcome {
        ToolOutcome::Ok => "ok",
        ToolOutcome::Failed => "failed",
        ToolOutcome::Denied => "denied",
        ToolOutcome::TimedOut => "timed out",
        ToolOutcome::Interrupted => "interrupted",
    }
}

/// Returns the first digits of a hash, enough to type.
pub(crate) fn short(hash: &impl AsRef<str>) -> &str {
    let hash = hash.as_ref();
    hash.get(..8).unwrap_or(hash)
}

/// Returns external text as one line of a part.
fn cut(text: &str) -> String {
    one_line(text, WIDTH)
}

/// Describes what a task waits for.
pub(crate) fn waited_for(wait: &Wait) -> String {
    match wait {
        Wait::Person { call } => format!("your decision about call {}", short(call)),
        Wait::Message {
            to: Receiver::User,
            question,
            ..
        } => format!("your answer to its question {question}"),
        Wait::Message {
            to: Receiver::Agent(agent),
            question,
            ..
        } => {
            format!("{agent}, whom it has asked question {question}")
        }
        Wait::Children => "the agents that it spawned".to_owned(),
        Wait::Agents { ids, .. } => {
            let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
            names(&ids, WIDTH)
        }
        Wait::Endpoint { endpoint, .. } => {
            format!("another key or account at {}", cut(endpoint))
        }
    }
}

/// Reports whether an attempt at a task has begun and not ended, at work or waiting, so that it has
/// a live line.
pub(crate) fn is_under_way(record: &TaskRecord) -> bool {
    record.attempt() > 0 && record.state().is_under_way()
}

/// Returns the line of an agent: state, turn, tokens, cost, and its last tool or what it waits for.
pub(crate) fn agent_line(record: &TaskRecord) -> String {
    format!(
        "{} {:<9} turn {:<3} {:>8} tokens  cost {}  {}",
        columns::padded(&one_line(record.task.id.as_str(), 12), 12),
        record.state().as_str(),
        record.turns(),
        tokens(record.usage().total()),
        cost(record.cost().micro_usd()),
        one_line(&last_act(record), 30)
    )
}

/// Returns the line of an agent in a tree: its place, what it is doing, turn, tokens, last tool.
pub(crate) fn tree_line(branches: &str, record: &TaskRecord, liveness: &Liveness) -> String {
    let name = tree::label(branches, record.task.id.as_str(), 26);
    format!(
        "{} {} turn {:<3} {:>6} tokens  {}",
        columns::padded(&name, 26),
        columns::padded(&tree::fitted(&tree::liveness(liveness), 22), 22),
        record.turns(),
        tokens(record.usage().total()),
        one_line(&last_act(record), 30)
    )
}

/// Returns the last tool that an agent has called, or what keeps it from calling one.
fn last_act(record: &TaskRecord) -> String {
    if record.outage().is_some() {
        return "no answer from its model".to_owned();
    }
    match record.wait() {
        Some(Wait::Endpoint { .. }) => "waits for another key".to_owned(),
        Some(wait) => format!("waits for {}", waited_for(wait)),
        None => record.last_tool().unwrap_or("-").to_owned(),
    }
}

/// Returns the line of a base that is being verified, while all agents wait for it.
pub(crate) fn base_line(state: &RunState) -> Option<String> {
    let command = state.base_check()?;
    Some(format!("verifying the base: {}", cut(command)))
}

/// Returns the line of totals; `hidden` agents that work or wait have no line of their own.
pub(crate) fn total_line(state: &RunState, hidden: usize) -> String {
    let mut usage = Usage::default();
    state.tasks().for_each(|record| usage.add(record.usage()));
    let all = state.tasks().count();
    let (mut merged, mut under_way, mut working) = (0, 0, 0);
    for record in state.tasks() {
        let is_under_way = is_under_way(record);
        merged += usize::from(record.state().is_merged());
        under_way += usize::from(is_under_way);
        working += usize::from(is_under_way && record.is_at_work());
    }
    let mut text = format!("{merged} of {all} merged, {working} at work");
    if under_way > working {
        text += &format!(", {} waiting", under_way - working);
    }
    if hidden > 0 {
        text += &format!(" ({hidden} not shown)");
    }
    let cost = cost(state.cost().micro_usd());
    format!("{text}, {} tokens, cost {cost}", tokens(usage.total()))
}

/// Formats a cost: `-` if nothing was paid, `?` if a price is not known.
pub(crate) fn cost(micro_usd: Option<u64>) -> String {
    match micro_usd {
        Some(0) => "-".to_owned(),
        Some(cost) => dollars(cost),
        None => "?".to_owned(),
    }
}

/// Abbreviates a number of tokens, such as `12k`.
pub(crate) fn tokens(number: u64) -> String {
    match number {
        0..10_000 => number.to_string(),
        10_000..10_000_000 => format!("{}k", number / 1000),
        _ => format!("{}M", number / 1_000_000),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use orchestrate_core::{RunSettings, Task};

    use super::*;

    /// Returns a run of three minutes: T1 is at work since the first one, and T2 waits for an
    /// answer since the second.
    pub(crate) fn asking_run() -> RunState {
        let spawned = |task: &str| Event::AgentSpawned {
            task: task.into(),
            attempt: 1,
            agent: Some("implementer".to_owned()),
            model: None,
            branch: format!("orchestrate/r-abcdef/{task}"),
            base: "base".into(),
            spec: None,
            sends: None,
        };
        let started = Event::RunStarted {
            plan: None,
            plan_source: None,
            title: None,
            settings: Box::new(RunSettings::default()),
            base_commit: "base".into(),
            base_branch: None,
        };
        let planned = |task: &str| {
            Event::planned(Task {
                id: task.into(),
                ..Task::default()
            })
        };
        let ready = |task: &str| Event::TaskReady { task: task.into() };
        let asked = Envelope::note(1, Sender::Agent("T2".into()), Receiver::User, "which port?");
        let envelope = Envelope {
            kind: MessageKind::Question,
            ..asked
        };
        let wait = Wait::Message {
            to: Receiver::User,
            question: 1,
            until_ms: None,
        };
        let events = [
            (0, started),
            (0, planned("T1")),
            (0, planned("T2")),
            (0, ready("T1")),
            (0, ready("T2")),
            (60, spawned("T1")),
            (60, spawned("T2")),
            (60, Event::MessageSent { envelope }),
            (
                120,
                Event::AgentWaiting {
                    task: "T2".into(),
                    turn: 1,
                    call_id: "c1".into(),
                    wait,
                },
            ),
            (
                180,
                Event::TurnStarted {
                    task: "T1".into(),
                    turn: 1,
                },
            ),
        ];
        let facts = (1..).zip(events).map(|(seq, (seconds, event))| {
            let (run_id, ts_ms) = ("r-abcdef".into(), seconds * 1_000);
            Recorded {
                run_id,
                seq,
                ts_ms,
                v: 1,
                event,
            }
        });
        RunState::replay(&facts.collect::<Vec<_>>())
            .unwrap()
            .unwrap()
    }

    #[test]
    fn what_waits_for_the_user_is_told_again() {
        let asked =
            "T2 asks: which port?: `orchestrate message T2 TEXT --reply-to 1 --run r-abcdef`";
        assert_eq!(waiting_for_user(&asking_run()), [asked]);
    }

    #[test]
    fn facts_are_lines_and_most_only_when_asked_for() {
        let from_agent =
            || Envelope::note(1, Sender::Agent("T1".into()), Receiver::User, "which port?");
        let question = |deadline| Event::MessageSent {
            envelope: Envelope {
                kind: MessageKind::Question,
                deadline,
                ..from_agent()
            },
        };
        let table: [(Event, bool, Option<&str>); 9] = [
            (Event::TaskReady { task: "T1".into() }, false, None),
            (
                Event::TaskReady { task: "T1".into() },
                true,
                Some("T1: ready"),
            ),
            (
                Event::ReviewRequested { task: "T1".into() },
                false,
                Some("T1: waits for review: `orchestrate review T1 --run r-abcdef`"),
            ),
            (
                Event::TaskMerged {
                    task: "T1".into(),
                    commit: Some("0123456789abcdef".into()),
                    target: None,
                    summary: None,
                },
                false,
                Some("T1: merged as 01234567"),
            ),
            (
                Event::TaskCancelled {
                    task: "T1".into(),
                    message: "a\u{1b}[31m\nb".to_owned(),
                },
                false,
                Some("T1: cancelled: a\\u{1b}[31m b"),
            ),
            (
                Event::QuestionUnanswered(UnansweredQuestion {
                    from: "T1".into(),
                    to: "T2".into(),
                    sequence: 1,
                }),
                true,
                Some("T1: T2 will not answer its question 1"),
            ),
            (
                Event::MessageExpired(ExpiredMessage {
                    from: Sender::Agent("T1".into()),
                    to: Receiver::User,
                    sequence: 1,
                }),
                false,
                Some("T1: its question 1 to you was not answered before its deadline"),
            ),
            (
                question(None),
                false,
                Some(
                    "T1 asks: which port?: `orchestrate message T1 TEXT --reply-to 1 --run \
                     r-abcdef`",
                ),
            ),
            (
                question(Some(60_000)),
                false,
                Some(
                    "T1 asks: which port?: `orchestrate message T1 TEXT --reply-to 1 --run \
                     r-abcdef` until 1970-01-01T00:01:00.000Z; then its agent goes on without an \
                     answer",
                ),
            ),
        ];
        for (event, verbose, expected) in table {
            let fact = Recorded {
                run_id: "r-abcdef".into(),
                seq: 1,
                ts_ms: 0,
                v: 1,
                event,
            };
            assert_eq!(line(&fact, verbose).as_deref(), expected);
        }
    }

    #[test]
    fn only_a_wait_that_is_noticed_has_a_line() {
        let line = |ms| {
            let (task, error) = ("T1".into(), "get an answer\nfrom x".to_owned());
            let patience = (ms > 8_000).then_some(Duration::from_secs(1800));
            let waited = Duration::from_secs(133);
            retry_line(&Retry {
                task,
                error,
                attempt: 3,
                wait: Duration::from_millis(ms),
                waited,
                patience,
            })
        };
        let waiting = "T1: failed to get an answer from x; waiting for 2m 13s of at most 30m; next \
                       attempt in 8 s";
        let broken = "T1: failed to get an answer from x; next attempt in 2 s";
        assert_eq!(
            (line(1_999), line(2_000).as_deref(), line(8_300).as_deref()),
            (None, Some(broken), Some(waiting))
        );
    }

    #[test]
    fn tokens_stay_short() {
        assert_eq!([900, 12_345, 23_456_789].map(tokens), ["900", "12k", "23M"]);
    }
}
