//! What the turns of an agent add to the journal does not grow with its conversation.

use orchestrate_core::event::Event;
use serde_json::json;

use crate::support::{
    Case, Outcome, Rule, Script, World, bytes_of_turns, case, fail, on, put, reads,
};

pub(crate) fn cases() -> Vec<Case> {
    vec![
        case!(a_late_turn_adds_as_much_as_an_early_one),
        case!(a_compacted_conversation_is_stored_once),
    ]
}

const TURNS: u32 = 40;

/// Returns a world with a file of this many lines for each turn, all of the same size, and a script
/// that reads them.
fn reading(lines: usize) -> Result<(World, Script), libtest_mimic::Failed> {
    let (world, mut script) = (World::lived_in()?, Script::default());
    for turn in 1..=TURNS {
        let path = format!("source/{turn:03}.txt");
        world.repository.write(
            &path,
            &format!("a line of the file {turn:03}\n").repeat(lines),
        )?;
        script = script.rule(reads(on("T1", turn), &path));
    }
    world.repository.commit_all("Add files to read")?;
    let write = put(Rule::task("T1").turn(TURNS + 1), "end.txt", "end\n");
    Ok((
        world,
        script.rule(write).rule(Rule::task("T1").text("Done.")),
    ))
}

fn a_late_turn_adds_as_much_as_an_early_one() -> Outcome {
    let (world, script) = reading(20)?;
    let played = world.play("- [ ] T1 read\n", &script, |settings| {
        settings.run.context_tokens = 100_000
    })?;
    played.require_merged(&["T1"])?;
    let turns = bytes_of_turns(played.coordinator.store(), &played.facts)?;
    let requests = played.requests()?;
    let sent = requests
        .iter()
        .map(|request| Ok(serde_json::to_string(request)?.len()));
    let sent = sent.collect::<Result<Vec<usize>, libtest_mimic::Failed>>()?;
    let (early, late) = (turns[2], turns[39]);
    let grows = sent[39] > sent[2] + 37 * 500;
    assert!(
        grows && late * 10 <= early * 12,
        "{turns:?} of requests of {sent:?} bytes"
    );
    Ok(())
}

fn a_compacted_conversation_is_stored_once() -> Outcome {
    let (world, script) = reading(60)?;
    let played = world.play("- [ ] T1 read\n", &script, |_| {})?;
    played.require_merged(&["T1"])?;
    let compactions =
        played.pick(|event| matches!(event, Event::ContextCompacted { .. }).then_some(()));
    let turns = bytes_of_turns(played.coordinator.store(), &played.facts)?;
    // Every request is derived, and compared with its recorded hash.
    let requests = played.requests()?;
    let sent: usize = requests
        .iter()
        .map(|request| json!(request).to_string().len())
        .sum();
    let stored: usize = turns.iter().skip(1).sum();
    let is_small = stored * 4 < sent;
    if compactions.len() > 2 && requests.len() == turns.len() && is_small {
        return Ok(());
    }
    fail(format!(
        "{} compactions, {stored} bytes stored of {sent} sent, {turns:?}",
        compactions.len()
    ))
}
