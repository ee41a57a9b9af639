//! What a program asked its proxy for: the decisions about it, and what could not be reached.

use std::collections::BTreeSet;
use std::sync::Arc;

use orchestrate_core::collections::Mutex;
use orchestrate_core::policy::egress::EgressDecision;
use orchestrate_core::truncate;

/// Maximum number of entries of what could not be reached, and of characters of each: a program
/// chooses both, and may ask for one host in any number of spellings as long as it runs.
const MAX_UNREACHED: usize = 100;
const MAX_UNREACHED_CHARS: usize = 500;

/// What was decided about the hosts that a program asked for, and what of it could not be reached.
/// Clones share it.
#[derive(Clone, Debug, Default)]
pub struct DecidedHosts {
    decided: Arc<Mutex<Vec<EgressDecision>>>,
    unreached: Arc<Mutex<BTreeSet<String>>>,
}

impl DecidedHosts {
    /// Adds a decision.
    pub fn push(&self, decision: EgressDecision) {
        self.decided.lock().push(decision);
    }

    /// Returns all decisions so far.
    pub fn all(&self) -> Vec<EgressDecision> {
        self.decided.lock().clone()
    }

    /// Adds what may be reached and cannot, with the reason; of many entries, the first are kept.
    pub fn note_unreached(&self, what: &str) {
        let mut unreached = self.unreached.lock();
        if unreached.len() < MAX_UNREACHED {
            unreached.insert(truncate(what, MAX_UNREACHED_CHARS));
        }
    }

    /// Returns what could not be reached so far, each once.
    pub fn unreached(&self) -> BTreeSet<String> {
        self.unreached.lock().clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_a_limit_to_what_could_not_be_reached() {
        let hosts = DecidedHosts::default();
        for number in 0..2 * MAX_UNREACHED {
            hosts.note_unreached(&format!("gone.example:{number}: {}", "x".repeat(10_000)));
        }
        let unreached = hosts.unreached();
        assert_eq!(unreached.len(), MAX_UNREACHED);
        assert!(
            unreached
                .iter()
                .all(|what| what.chars().count() < 2 * MAX_UNREACHED_CHARS)
        );
    }
}
