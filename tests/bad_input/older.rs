//! A run that an older version began, before agents had children: it is resumed as any other.

use libtest_mimic::Failed;

use orchestrate_core::event::Event;
use orchestrate_core::task::ReturnCause;
use orchestrate_core::{MergeTarget, RunId};
use orchestrate_journal::{Batch, Blob, Journal};
use serde_json::Value;

use crate::support::{Case, Outcome, Rule, Script, World, case, done, fail, on, writes};

pub(super) fn cases() -> Vec<Case> {
    vec![case!("bad_input", a_run_of_an_older_version_is_resumed)]
}

/// What such a version recorded until it was killed: first the blobs, then the facts. `SCRIPT` is
/// the model, and `BASE` the commit that the run starts from. The last fact is that of a child that
/// a program spawned.
const RECORDED: &str = include_str!("older_run.jsonl");
/// The id of the run.
const RUN: &str = "r-older1";

/// Returns what was recorded, with this model and this commit; ids of blobs follow from their
/// texts.
fn recorded(model: &str, base: &str) -> Result<Batch, Failed> {
    let text = RECORDED.replace("SCRIPT", model).replace("BASE", base);
    let (mut batch, mut named) = (Batch::default(), text.clone());
    for line in text.lines() {
        let fields: Value = serde_json::from_str(line)?;
        if let (Some(id), Some(text)) = (fields["blob"].as_str(), fields["text"].as_str()) {
            let blob = Blob::new(text.as_bytes().to_vec());
            named = named.replace(id, blob.id().as_str());
            batch.blobs.push(blob);
        }
    }
    let facts = named.lines().filter(|line| line.starts_with("{\"type\""));
    batch.events = facts
        .map(serde_json::from_str)
        .collect::<Result<Vec<Event>, _>>()?;
    Ok(batch)
}

fn a_run_of_an_older_version_is_resumed() -> Outcome {
    let world = World::plain()?;
    let script = Script::default()
        .rule(
            Rule::task("T1")
                .returned(ReturnCause::ChildrenEnded)
                .text("Done."),
        )
        .rule(writes(on("T1", 2), "one.txt"))
        .rule(done("T1"))
        .writes("T2", "two.txt", "2\n")
        .writes("T3", "three.txt", "3\n")
        .writes("T4", "four.txt", "4\n");
    let (run, base) = (RunId::from(RUN), world.git("rev-parse main")?);
    let coordinator = world.coordinator(&script, |_| {})?;
    drop(Journal::create(
        coordinator.store(),
        &run,
        recorded(&world.script(&script)?, &base)?,
    )?);
    drop(coordinator);
    world.git(&format!("update-ref {} {base}", run.integration_ref()))?;
    let played = world.resume(&run, &script, |_| {})?;
    played.require_merged(&["T1", "T2", "T3", "T4"])?;
    for (file, content) in [
        ("one.txt", "1"),
        ("two.txt", "2"),
        ("three.txt", "3"),
        ("four.txt", "4"),
    ] {
        if world.merged(&played.report, file)? != content {
            return fail(format!("{file}\n{}", played.story()));
        }
    }
    // It counted the messages of a sender, not those to each receiver.
    played.require_told(
        "T2",
        &[
            "Message 1 from agent T1",
            "the port is 1",
            "Message 3 from agent T1",
            "the port is 3",
        ],
    )?;
    played.require_told("T3", &["Message 2 from agent T1", "the port is 2"])?;
    // Its reply is not asked for again, and the work of the child goes where that of a child goes.
    let replies =
        played.pick(|event| matches!(event, Event::ModelReplied { turn: 1, .. }).then_some(()));
    let into = played.pick(|event| match event {
        Event::MergeStarted {
            task,
            into: MergeTarget::Agent(agent),
            ..
        } => Some((task.as_str(), agent.as_str())),
        _ => None,
    });
    assert!(replies.len() == 4 && into == [("T4", "T1")], "{played}");
    Ok(())
}
