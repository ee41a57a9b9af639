//! Measures how fast messages between agents are accepted and delivered, each durable before its
//! sender goes on.

use std::sync::Arc;
use std::time::{Duration, Instant};

use libtest_mimic::Failed;
use orchestrate_core::messages::{MessageRefused, Origin, Sender};
use orchestrate_core::{CallOfTurn, Event, Outgoing, RunSettings, RunState, Task, TaskId};
use orchestrate_journal::{Appended, Batch, Journal, Store};

use crate::figure::{Figure, ms};
use crate::stage::{runtime, state_folder};

/// The agents, each of which writes to the next one.
const AGENTS: usize = 32;
/// The messages of each agent.
const MESSAGES: usize = 100;
/// The required messages in a second.
const REQUIRED: f64 = 1_000.0;

/// The waits of one receiver: from the moment that a message is handed to the router until it is
/// read.
type Delays = Vec<f64>;

pub(crate) fn measure() -> Result<Vec<Figure>, Failed> {
    let folder = state_folder()?;
    let store = Store::open(folder.path())?;
    let journal = Arc::new(Journal::create(&store, &"r-messages".into(), first())?);
    let began = Instant::now();
    let mut delays = runtime()?.block_on(exchange(&journal))?;
    let took = began.elapsed();
    delays.sort_unstable_by(f64::total_cmp);
    let at = |part: usize| {
        delays
            .get(delays.len() * part / 100)
            .copied()
            .unwrap_or(f64::NAN)
    };
    let per_second = delays.len() as f64 / took.as_secs_f64();
    let beside = format!(
        "{} messages between {AGENTS} agents at once, {per_second:.0} a second",
        delays.len()
    );
    Ok(vec![
        Figure {
            name: "time of 1,000 durable messages between 32 agents",
            measured: REQUIRED / per_second * 1e3,
            limit: 1e3,
            unit: "ms",
            beside,
        },
        Figure {
            name: "… until one is delivered, 99th percentile",
            measured: at(99),
            limit: 50.0,
            unit: "ms",
            beside: format!(
                "{:.1} ms in the median, the receiver's turn not counted",
                at(50)
            ),
        },
    ])
}

fn name(number: usize) -> TaskId {
    TaskId::new(format!("T{}", number % AGENTS))
}

/// Returns the first facts of a run in which all agents work.
fn first() -> Vec<Event> {
    let started = Event::RunStarted {
        plan: None,
        plan_source: None,
        title: None,
        settings: Box::new(RunSettings::default()),
        base_commit: "base".into(),
        base_branch: None,
    };
    let of_agent = |number| {
        let (task, branch) = (
            name(number),
            format!("orchestrate/r-messages/{}", name(number)),
        );
        let added = Event::TaskAdded {
            task: Box::new(Task {
                id: task.clone(),
                ..Task::default()
            }),
            parent: None,
            spawn: None,
        };
        let (agent, base) = (Some("implementer".to_owned()), "base".into());
        let spawned = Event::AgentSpawned {
            task: task.clone(),
            attempt: 1,
            agent,
            model: None,
            branch,
            base,
            spec: None,
            sends: None,
        };
        [added, Event::TaskReady { task }, spawned]
    };
    std::iter::once(started)
        .chain((0..AGENTS).flat_map(of_agent))
        .collect()
}

/// Lets all agents write and read at once, and returns how long each message took.
async fn exchange(journal: &Arc<Journal>) -> Result<Delays, Failed> {
    let mut workers = Vec::new();
    for number in 0..AGENTS {
        workers.push(tokio::spawn(write(Arc::clone(journal), number)));
        workers.push(tokio::spawn(read(Arc::clone(journal), number)));
    }
    let mut times: Vec<(TaskId, u64, bool, Instant)> = Vec::new();
    for worker in workers {
        times.extend(
            worker
                .await
                .map_err(|error| Failed::from(error.to_string()))??,
        );
    }
    times.sort_by(|one, other| (&one.0, one.1, one.2).cmp(&(&other.0, other.1, other.2)));
    let pairs = times.chunks(2).map(|pair| match pair {
        [(to, number, false, sent), (same, again, true, read)] if (to, number) == (same, again) => {
            Ok(ms(read.saturating_duration_since(*sent)))
        }
        _ => Err(Failed::from(format!(
            "a message was not read exactly once: {pair:?}"
        ))),
    });
    pairs.collect()
}

type Times = Result<Vec<(TaskId, u64, bool, Instant)>, Failed>;

/// Sends an agent's messages one after the other, as its calls do.
async fn write(journal: Arc<Journal>, number: usize) -> Times {
    let (from, to) = (Sender::Agent(name(number)), name(number + 1));
    let mut times = Vec::new();
    for turn in 1..=MESSAGES {
        let call = Some(CallOfTurn {
            turn: u32::try_from(turn)?,
            call: "c1".into(),
        });
        let origin = Origin {
            from: from.clone(),
            call,
            channels: None,
        };
        let message = Outgoing::new(to.clone(), format!("message {turn} of agent {number}"));
        loop {
            let (origin, message, sent) = (origin.clone(), message.clone(), Instant::now());
            let decide = move |state: &RunState| {
                state
                    .decide_message(&origin, &message)
                    .map(|routed| routed.events)
            };
            match journal
                .append_if(move |state| decide(state).map(Batch::from))
                .await?
            {
                Appended::Recorded(_) => {
                    times.push((to.clone(), u64::try_from(turn)?, false, sent));
                    break;
                }
                // The receiver is behind: as the refusal says, it has to read first.
                Appended::Refused(MessageRefused::MailboxFull { .. }) => {
                    tokio::time::sleep(Duration::from_millis(1)).await
                }
                Appended::Refused(refused) => return Err(Failed::from(refused.to_string())),
            }
        }
    }
    Ok(times)
}

/// Reads an agent's messages whenever there are some, as between two turns.
async fn read(journal: Arc<Journal>, number: usize) -> Times {
    let (agent, mut state, mut times) = (name(number), journal.watch(), Vec::new());
    while times.len() < MESSAGES {
        let (of, wanted) = (agent.clone(), agent.clone());
        state
            .wait_for(|state| state.messages_for(&wanted).next().is_some())
            .await?;
        let delivered = move |state: &RunState| {
            Ok::<_, MessageRefused>(Batch::from(state.decide_delivery(&of).0))
        };
        let before = times.len() as u64;
        let facts = journal
            .append_if(delivered)
            .await?
            .recorded()
            .map_err(|refused| Failed::from(refused.to_string()))?;
        let now = Instant::now();
        times
            .extend((1..=facts.len() as u64).map(|more| (agent.clone(), before + more, true, now)));
    }
    Ok(times)
}
