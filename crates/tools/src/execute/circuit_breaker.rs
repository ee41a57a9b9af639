//! Refuses calls that need something which is out of order, such as a class of tools or a host,
//! until it is time to try it again. Shared by all agents of a run.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use orchestrate_core::collections::Mutex;
use orchestrate_core::policy::Target;
use orchestrate_core::policy::failure_handling::{Failure, Health, Lacking};
use orchestrate_core::text::invisible::shown;

use crate::answer::{Answer, ToolError};
use crate::call::Effect;
use crate::tool::{Category, Tool};

/// The maximum number of circuits that are kept: the hosts are named by agents.
const MAX_CIRCUITS: usize = 1_000;

/// What a call needs of its class of tools, or of what it reaches.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Need {
    class: Category,
    /// The hosts that the call names, or its tool if it names none; `None` for what the whole class
    /// needs.
    reached: Option<String>,
}

impl Need {
    /// Returns what a call needs.
    pub(crate) fn for_call(tool: &dyn Tool, effects: &[Effect]) -> [Need; 2] {
        let hosts: BTreeSet<String> = effects
            .iter()
            .filter_map(|effect| host_of(&effect.target))
            .collect();
        let reached = if hosts.is_empty() {
            tool.name().to_owned()
        } else {
            Vec::from_iter(hosts).join(", ")
        };
        // What all of them need is not what the others of their category need.
        let class = if tool.properties().reaches_remotes {
            Category::REMOTES
        } else {
            tool.category()
        };
        let of_class = Need {
            class: class.clone(),
            reached: None,
        };
        let of_call = Need {
            class,
            reached: Some(reached),
        };
        [of_class, of_call]
    }

    fn lacking(&self) -> Lacking {
        match self.reached {
            Some(_) => Lacking::Reached,
            None => Lacking::Class,
        }
    }

    fn refusal(&self, reason: &str, next_try: Duration) -> ToolError {
        let class = &self.class;
        let broken = match &self.reached {
            Some(reached) => format!(
                "`{}` is out of order for the tools of the category `{class}`",
                shown(reached)
            ),
            None => format!("the tools of the category `{class}` are out of order"),
        };
        let seconds = next_try.as_secs() + 1;
        ToolError::Unavailable(format!(
            "{broken}: {reason}; their calls are refused until one that tries again succeeds, \
             which may be in {seconds} s. Go on with other tools, or end and report what is missing"
        ))
    }
}

/// Returns the host that a call reaches.
fn host_of(target: &Target) -> Option<String> {
    match target {
        Target::Host(host) => Some(host.clone()),
        Target::Remote(branch) => branch.host.as_ref().map(ToString::to_string),
        _ => None,
    }
}

/// What the end of a call says about what it needs.
#[derive(Debug)]
pub(crate) enum Finding {
    /// It is available.
    Available,
    /// This part of it is not.
    Unavailable { lacking: Lacking, reason: String },
    /// Nothing: the call was interrupted.
    Unknown,
}

impl Finding {
    /// Returns what a result says.
    pub(crate) fn from_result(result: &Result<Answer, ToolError>) -> Finding {
        let Err(error) = result else {
            return Finding::Available;
        };
        if error.failure() == Failure::Interrupted {
            return Finding::Unknown;
        }
        match error.failure().shows() {
            Some(lacking) => Finding::Unavailable {
                lacking,
                reason: error.to_string(),
            },
            None => Finding::Available,
        }
    }

    /// Returns the same without the words of a failure.
    pub(crate) fn without_words(self) -> Finding {
        match self {
            Finding::Unavailable { lacking, .. } => Finding::Unavailable {
                lacking,
                reason: "the last call that needed it failed".to_owned(),
            },
            other => other,
        }
    }
}

/// The circuits that are not closed: each is something that failed when it was needed last.
pub(crate) struct CircuitBreaker {
    since: Instant,
    circuits: Mutex<BTreeMap<Need, Circuit>>,
}

#[derive(Default)]
struct Circuit {
    health: Health,
    /// Why it failed last.
    reason: String,
}

impl CircuitBreaker {
    pub(crate) fn new() -> CircuitBreaker {
        CircuitBreaker {
            since: Instant::now(),
            circuits: Mutex::default(),
        }
    }

    /// Admits a call, or refuses it because something that it needs is out of order.
    pub(crate) fn admit(&self, needs: &[Need], probe_after: Duration) -> Result<(), ToolError> {
        let now = self.since.elapsed();
        let mut circuits = self.circuits.lock();
        // Nothing counts as tried unless the call runs.
        for need in needs {
            if let Some(circuit) = circuits.get(need)
                && let Some(next_try) = circuit.health.refusal(now, probe_after)
            {
                return Err(need.refusal(&circuit.reason, next_try));
            }
        }
        for need in needs {
            if let Some(circuit) = circuits.get_mut(need) {
                circuit.health.begun();
            }
        }
        Ok(())
    }

    /// Notes what an admitted call has found.
    pub(crate) fn record(&self, needs: &[Need], finding: &Finding) {
        let now = self.since.elapsed();
        let mut circuits = self.circuits.lock();
        for need in needs {
            match finding {
                Finding::Unavailable { lacking, reason } if *lacking == need.lacking() => {
                    let circuit = circuits.entry(need.clone()).or_default();
                    circuit.health.ended(false, now);
                    reason.clone_into(&mut circuit.reason);
                }
                // Without what the class needs, nothing was reached.
                Finding::Unavailable {
                    lacking: Lacking::Class,
                    ..
                }
                | Finding::Unknown => {
                    if let Some(circuit) = circuits.get_mut(need) {
                        circuit.health.undecided();
                    }
                }
                Finding::Unavailable {
                    lacking: Lacking::Reached,
                    ..
                }
                | Finding::Available => {
                    circuits.remove(need);
                }
            }
        }
        while circuits.len() > MAX_CIRCUITS {
            let oldest = circuits
                .iter()
                .min_by_key(|(_, circuit)| circuit.health.noted_at());
            let Some((oldest, _)) = oldest else { return };
            let oldest = oldest.clone();
            circuits.remove(&oldest);
        }
    }
}
