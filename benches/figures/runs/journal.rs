//! Measures how much the turns of one agent add to the journal, early and late in its work.

use libtest_mimic::Failed;

use crate::measuring::{Figure, Worker, open, repository, run, settings, state_folder};
use crate::support::{Repository, bytes_of_turns};

/// Turns that read a file of the same size.
const TURNS: u32 = 300;
/// The turns that are compared.
const EARLY: usize = 3;
const LATE: usize = 300;
/// A context that holds the whole conversation.
const LARGE: u64 = 1_000_000;
/// The turns of a window, in which the context is compacted several times.
const WINDOW: usize = 100;

pub(crate) fn measure() -> Result<Vec<Figure>, Failed> {
    let repository = repository(TURNS)?;
    let (whole, compacted) = (turns(&repository, Some(LARGE))?, turns(&repository, None)?);
    let (early, late) = (whole[EARLY - 1], whole[LATE - 1]);
    let first = mean(&compacted[EARLY - 1..][..WINDOW]);
    let last = mean(&compacted[LATE - WINDOW..LATE]);
    Ok(vec![
        Figure {
            name: "journal bytes of turn 300, times those of turn 3",
            measured: late as f64 / early as f64,
            limit: 1.2,
            unit: "x",
            beside: format!("{early} and {late} bytes, nothing left out of the conversation"),
        },
        Figure {
            name: "… a compacted context, 100 turns on average",
            measured: last / first,
            limit: 1.2,
            unit: "x",
            beside: format!("{first:.0} and {last:.0} bytes a turn, the default context"),
        },
    ])
}

fn mean(turns: &[usize]) -> f64 {
    turns.iter().sum::<usize>() as f64 / turns.len() as f64
}

/// Runs one agent that reads files, and returns the bytes that each of its turns added.
fn turns(repository: &Repository, context_tokens: Option<u64>) -> Result<Vec<usize>, Failed> {
    let (state, server) = (state_folder()?, Worker::reading_by_number(TURNS)?);
    let mut settings = settings(state.path(), &server.base_url());
    settings.run.max_turns = TURNS + 10;
    settings.run.context_tokens = context_tokens.unwrap_or(settings.run.context_tokens);
    let coordinator = open(repository.path(), settings)?;
    let (_, facts) = run(&coordinator, "- [ ] T1 Read\n")?;
    let turns = bytes_of_turns(coordinator.store(), &facts)?;
    match turns.len() > LATE {
        true => Ok(turns),
        false => Err(format!("the agent took only {} turns", turns.len()).into()),
    }
}
