//! Measures how fast messages between agents are accepted and delivered, each durable before its
//! sender goes on.

use std::sync::Arc;
use std::time::{Duration, Instant};

use libtest_mimic::Failed;
use orchestrate_core::messages::{MessageRefused, Origin, Sender};
use orchestrate_core::{CallOfTurn, Event, Outgoing, RunSettings, RunState, Task, TaskId};
use orchestrate_journal::{Appended, Batch, Journal, Store};

use crate::measuring::{Figure, ms, runtime, state_folder};

/// The agents, each of which writes to the next one.
const AGENTS: usize = 32;
/// The messages of each agent.
const MESSAGES: usize = 100;
/// The required messages in a second.
const REQUIRED: f64 = 1_000.0;

/// When a message was handed to the router, or read.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Moment {
    to: TaskId,
    number: usize,
    is_read: bool,
    at: Instant,
}

pub(crate) fn measure() -> Result<Vec<Figure>, Failed> {
    let folder = state_folder()?;
    let store = Store::open(folder.path())?;
    let journal = Arc::new(Journal::create(&store, &"r-messages".into(), first())?);
    let began = Instant::now();
    let mut delays = runtime()?.block_on(exchange(&journal))?;
    let took = began.elapsed();
    delays.sort_unstable_by(f64::total_cmp);
    let (median, late) = (delays[delays.len() / 2], delays[delays.len() * 99 / 100]);
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
            measured: late,
            limit: 50.0,
            unit: "ms",
            beside: format!("{median:.1} ms in the median, the receiver's turn not counted"),
        },
    ])
}

fn name(number: usize) -> TaskId {
    TaskId::new(format!("T{}", number % AGENTS))
}

/// Returns the first facts of a run in which all agents work.
fn first() -> Vec<Event> {
    let mut events = vec![Event::RunStarted {
        plan: None,
        plan_source: None,
        title: None,
        settings: Box::new(RunSettings::default()),
        base_commit: "base".into(),
        base_branch: None,
    }];
    for task in (0..AGENTS).map(name) {
        let planned = Task {
            id: task.clone(),
            ..Task::default()
        };
        let spawned = Event::AgentSpawned {
            task: task.clone(),
            attempt: 1,
            agent: Some("implementer".to_owned()),
            model: None,
            branch: format!("orchestrate/r-messages/{task}"),
            base: "base".into(),
            spec: None,
            sends: None,
        };
        events.extend([Event::planned(planned), Event::TaskReady { task }, spawned]);
    }
    events
}

/// Lets all agents write and read at once, and returns how long each message took: from the moment
/// that it is handed to the router until it is read.
async fn exchange(journal: &Arc<Journal>) -> Result<Vec<f64>, Failed> {
    let mut workers = Vec::new();
    for number in 0..AGENTS {
        workers.push(tokio::spawn(write(Arc::clone(journal), number)));
        workers.push(tokio::spawn(read(Arc::clone(journal), number)));
    }
    let mut moments = Vec::new();
    for worker in workers {
        moments.extend(worker.await??);
    }
    moments.sort();
    let mut delays = Vec::new();
    for pair in moments.chunks(2) {
        match pair {
            [sent, read]
                if !sent.is_read
                    && read.is_read
                    && (&sent.to, sent.number) == (&read.to, read.number) =>
            {
                delays.push(ms(read.at.saturating_duration_since(sent.at)));
            }
            _ => return Err(format!("a message was not read exactly once: {pair:?}").into()),
        }
    }
    Ok(delays)
}

/// Sends an agent's messages one after the other, as its calls do.
async fn write(journal: Arc<Journal>, agent: usize) -> Result<Vec<Moment>, Failed> {
    let to = name(agent + 1);
    let mut moments = Vec::new();
    for number in 1..=MESSAGES {
        let call = CallOfTurn {
            turn: u32::try_from(number)?,
            call: "c1".into(),
        };
        let origin = Origin {
            from: Sender::Agent(name(agent)),
            call: Some(call),
            channels: None,
        };
        let message = Outgoing::new(to.clone(), format!("message {number} of agent {agent}"));
        let at = loop {
            let (origin, message, sent) = (origin.clone(), message.clone(), Instant::now());
            let decide = move |state: &RunState| {
                let routed = state.decide_message(&origin, &message)?;
                Ok(Batch::from(routed.events))
            };
            match journal.append_if(decide).await? {
                Appended::Recorded(_) => break sent,
                // The receiver is behind: as the refusal says, it has to read first.
                Appended::Refused(MessageRefused::MailboxFull { .. }) => {
                    tokio::time::sleep(Duration::from_millis(1)).await;
                }
                Appended::Refused(refused) => return Err(refused.into()),
            }
        };
        let (to, is_read) = (to.clone(), false);
        moments.push(Moment {
            to,
            number,
            is_read,
            at,
        });
    }
    Ok(moments)
}

/// Reads an agent's messages whenever there are some, as between two turns.
async fn read(journal: Arc<Journal>, agent: usize) -> Result<Vec<Moment>, Failed> {
    let (agent, mut state, mut moments) = (name(agent), journal.watch(), Vec::new());
    while moments.len() < MESSAGES {
        let (of, wanted) = (agent.clone(), agent.clone());
        let has_message = |state: &Arc<RunState>| state.messages_for(&wanted).next().is_some();
        state.wait_for(has_message).await?;
        let delivered = move |state: &RunState| {
            Ok::<_, MessageRefused>(Batch::from(state.decide_delivery(&of).0))
        };
        let facts = journal.append_if(delivered).await?.recorded()?;
        let at = Instant::now();
        for _ in facts {
            moments.push(Moment {
                to: agent.clone(),
                number: moments.len() + 1,
                is_read: true,
                at,
            });
        }
    }
    Ok(moments)
}
