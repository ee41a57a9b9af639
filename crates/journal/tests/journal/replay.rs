//! Every history that the journal accepts replays, at each of its prefixes, to the state of the
//! writer.

use orchestrate_core::event::Event;
use orchestrate_core::task::{FailureCause, ReturnCause};
use orchestrate_core::{RequestParts, RunState};
use orchestrate_journal::{Blob, Journal, JournalError};
use proptest::prelude::{ProptestConfig, any, prop, proptest};
use tempfile::tempdir;

use crate::support::{added, delivered, ready, run, sent, spawned, started, store, turn};

/// Returns a fact about a task; whether it is legal depends on the state.
fn fact(kind: u8, task: u8, number: u8) -> Event {
    let id = format!("T{}", task % 3);
    let (number, task) = (u64::from(number % 4), id.as_str().into());
    match kind % 13 {
        0 => added(&id),
        1 => ready(&id),
        2 => spawned(&id),
        3 => turn(&id, 1),
        4 => sent(&id, number),
        5 => delivered(&id, number),
        6 => Event::ModelRequested {
            task,
            turn: 1,
            model: "script/demo".to_owned(),
            request: "request".into(),
            parts: RequestParts::anew("system".into(), "tools".into(), vec!["message".into()], 100),
            reserved_tokens: number,
            reserved_micro_usd: None,
        },
        7 => Event::TaskCommitted {
            task,
            commit: "2".repeat(40).as_str().into(),
            tree: "3".repeat(40).as_str().into(),
            summary: "done".to_owned(),
        },
        8 => Event::MergeStarted {
            task,
            into: orchestrate_core::MergeTarget::Integration,
            target: "1".repeat(40).as_str().into(),
            candidate: "2".repeat(40).as_str().into(),
        },
        9 => Event::TaskReturned {
            task,
            cause: ReturnCause::Conflict,
            text: Blob::new("evidence").id().clone(),
            onto: None,
        },
        10 => Event::TaskMerged {
            task,
            commit: Some("4".repeat(40).as_str().into()),
            target: Some("1".repeat(40).as_str().into()),
            summary: None,
        },
        11 => Event::TaskFailed {
            task,
            cause: FailureCause::Turns,
            message: "no turns left".to_owned(),
        },
        _ => Event::RunResumed {
            pid: 1,
            timeout_ms: None,
            budget_tokens: None,
            budget_micro_usd: None,
        },
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_prefix_replays_to_the_state_of_that_time(
        choices in prop::collection::vec((any::<u8>(), any::<u8>(), any::<u8>()), 0..60)
    ) {
        let folder = tempdir().unwrap();
        let store = store(folder.path());
        let journal = Journal::create(&store, &run(), started()).unwrap();
        let mut states = vec![journal.state()];
        for (kind, task, number) in choices {
            match journal.append_blocking(fact(kind, task, number)) {
                Ok(seqs) => assert_eq!(seqs, [states.len() as u64 + 1]),
                Err(JournalError::Illegal(_)) => continue,
                Err(other) => panic!("{other}"),
            }
            states.push(journal.state());
        }
        let facts = store.events(&run(), 0, usize::MAX).unwrap();
        assert_eq!(facts.len(), states.len());
        for (number, state) in (1..).zip(&states) {
            assert_eq!(RunState::replay(&facts[..number]).unwrap().as_ref(), Some(&**state));
        }
        assert_eq!(Some(&store.state(&run()).unwrap()), states.last().map(|state| &**state));
    }
}
