//! What a program can know of its session: while it runs, after its end, and when it starts again.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use libtest_mimic::Failed;
use orchestrate::{
    Child, ChildHandle, Error, Event, Events, Land, Model, Reply, Request, Result, Session,
};
use serde_json::json;
use tokio::sync::Notify;

use super::{open, until_rest, writes};
use crate::support::{Case, Outcome, World, runtime, sandboxed};

pub(super) fn cases() -> Vec<Case> {
    vec![
        sandboxed!(a_red_base_ends_the_stream_with_its_error),
        sandboxed!(a_session_begins_anew_once_its_base_is_mended),
        sandboxed!(children_of_the_same_words_are_found_by_their_texts),
        sandboxed!(what_has_no_words_is_refused),
        sandboxed!(ends_are_events_and_a_merge_is_no_rest),
        sandboxed!(what_was_done_can_be_read_after_the_end_and_is_not_done_again),
        sandboxed!(what_waits_for_the_program_can_be_asked_for),
        sandboxed!(a_plan_is_run_within_a_limit_of_requests_at_once),
        sandboxed!(a_repository_that_was_made_again_needs_another_session),
    ]
}

/// Returns the error with which a stream ends.
async fn last_error(mut events: Events) -> std::result::Result<Error, Failed> {
    let mut last = None;
    while let Some(event) = events.next().await {
        last = Some(event);
    }
    match last {
        Some(Err(error)) => Ok(error),
        other => Err(format!("the stream ends with {other:?}").into()),
    }
}

fn a_red_base_ends_the_stream_with_its_error() -> Outcome {
    let world = World::plain()?;
    runtime()?.block_on(async {
        let session = open(&world, writes)?.verify("exit 7").start("red").await?;
        let child = session.spawn(Child::new("Write").id("one")).await?;
        let streamed = last_error(session.events()).await?.to_string();
        assert!(streamed.contains("exit 7"), "{streamed}");
        let waited = child.wait().await.err().ok_or("it has not ended")?;
        let spawned = session.spawn(Child::new("Late")).await;
        let spawned = spawned.err().ok_or("a child was spawned")?;
        let finished = session.finish().await.err().ok_or("it is no error")?;
        for error in [waited, spawned, finished] {
            assert_eq!(error.to_string(), streamed);
        }
        let report = session.report();
        assert_eq!((report.children.len(), report.tokens), (1, 0));
        Ok(())
    })
}

fn a_session_begins_anew_once_its_base_is_mended() -> Outcome {
    let world = World::plain()?;
    let start = || async {
        open(&world, writes)?
            .verify("test -e mended")
            .start("red")
            .await
    };
    runtime()?.block_on(async {
        let session = start().await?;
        let first = session.run_id().to_owned();
        session.spawn(Child::new("Write").id("one")).await?;
        let error = session.finish().await.err().ok_or("it is no error")?;
        let said = error.to_string();
        assert!(said.contains("then start the session again"), "{said}");
        drop(session);

        world.commit("mended", "yes\n")?;
        let session = start().await?;
        assert!(!session.is_resumed() && session.run_id() != first);
        let child = session.spawn(Child::new("Write").id("one")).await?;
        assert_eq!(child.wait().await?.state, "awaiting_review");
        session.finish().await?;
        Ok(())
    })
}

/// Spawns children of these texts in a session that is started for them, and returns their ids.
async fn spawned(world: &World, texts: [&str; 3]) -> std::result::Result<String, Failed> {
    let session = open(world, writes)?.start("words").await?;
    let children = session.spawn_all(texts.map(Child::new)).await?;
    let ids: Vec<&str> = children.iter().map(ChildHandle::id).collect();
    session.finish().await?;
    Ok(ids.join(" "))
}

fn children_of_the_same_words_are_found_by_their_texts() -> Outcome {
    let world = World::plain()?;
    runtime()?.block_on(async {
        let first = spawned(
            &world,
            ["Write the parser", "Write parser!", "Write the parser"],
        )
        .await?;
        assert_eq!(first, "write_parser write_parser_2 write_parser_3");
        let again = spawned(
            &world,
            ["Write parser!", "Write the parser", "Write the parser"],
        )
        .await?;
        assert_eq!(again, "write_parser_2 write_parser write_parser_3");
        Ok(())
    })
}

fn what_has_no_words_is_refused() -> Outcome {
    let world = World::plain()?;
    runtime()?.block_on(async {
        let unnamed = open(&world, writes)?.start(" ").await;
        let error = unnamed.err().ok_or("it was started")?;
        assert!(format!("{error:?}").contains("its name is empty"));
        let session = open(&world, writes)?.start("empty").await?;
        let error = session.spawn(Child::new("")).await;
        let error = error.err().ok_or("it was spawned")?;
        assert!(error.to_string().contains("its task is empty"));
        session.finish().await?;
        Ok(())
    })
}

/// Reads on until the session is at rest, and returns the ends of children.
async fn ends(events: &mut Events) -> Result<Vec<String>> {
    let mut ends = Vec::new();
    while let Some(event) = events.next().await {
        match event? {
            Event::Ended(end) => ends.push(format!("{} {}", end.child, end.state)),
            Event::AtRest => break,
            _ => {}
        }
    }
    Ok(ends)
}

fn ends_are_events_and_a_merge_is_no_rest() -> Outcome {
    let world = World::plain()?;
    let model = |request: &Request| match request.child.as_str() {
        "says" => Ok(Reply::text("Blue.")),
        "fails" => Err(Error::new("no such deployment")),
        _ => writes(request),
    };
    runtime()?.block_on(async {
        // With one rule of each kind, as its docs have them.
        let session = open(&world, model)?
            .max_agents(1)
            .deny("Bash(git push:*)")
            .deny("Bash(npm test)")
            .ask("write_file(docs/**)")
            .ask("Edit(*.lock)")
            .ask("WebFetch(domain:*.example.org)")
            .ask("Bash(domain:crates.io)")
            .deny("git_push(origin/agents/*)")
            .start("ends")
            .await?;
        let spawn = |id: &'static str| session.spawn(Child::new("Do it").id(id));
        let children = [spawn("one").await?, spawn("two").await?];
        let (says, _) = (spawn("says").await?, spawn("fails").await?);
        let mut events = session.events();
        let mut first = ends(&mut events).await?;
        first.sort();
        let expected = [
            "fails failed",
            "one awaiting_review",
            "says nothing_to_do",
            "two awaiting_review",
        ];
        assert_eq!(first, expected);
        let (merged, then) = tokio::join!(session.merge(&children), ends(&mut events));
        assert_eq!(then?, ["one merged", "two merged"]);
        assert!(
            merged?
                .iter()
                .all(|end| end.is_merged() && !end.has_answered())
        );
        let said = says.wait().await?;
        assert!(said.has_answered() && !said.is_merged(), "{said:?}");
        // Who comes later is told how things stand, once for each child.
        let mut late = ends(&mut session.events()).await?;
        late.sort();
        let expected = [
            "fails failed",
            "one merged",
            "says nothing_to_do",
            "two merged",
        ];
        assert_eq!(late, expected);
        session.finish().await?;
        Ok(())
    })
}

fn what_was_done_can_be_read_after_the_end_and_is_not_done_again() -> Outcome {
    let world = World::plain()?;
    let asked = Arc::new(AtomicUsize::new(0));
    let model = || {
        let count = Arc::clone(&asked);
        move |request: &Request| {
            count.fetch_add(1, Ordering::Relaxed);
            Ok(writes(request)?.usage(100, 20))
        }
    };
    runtime()?.block_on(async {
        let session = open(&world, model())?.start("end").await?;
        let first = session.spawn(Child::new("Write it")).await?;
        assert!(!session.is_resumed() && !first.is_resumed());
        let report = session.finish().await?;
        assert_eq!((report.tokens, report.cost_usd), (240, None));
        assert_eq!(first.wait().await?.state, "awaiting_review");
        drop(session);

        let session = open(&world, model())?.start("end").await?;
        let again = session.spawn(Child::new("Write it")).await?;
        let other = session.spawn(Child::new("Write something else")).await?;
        assert!(session.is_resumed() && again.is_resumed() && !other.is_resumed());
        assert_eq!(again.id(), first.id());
        session.merge(&[again, other]).await?;
        assert_eq!(asked.load(Ordering::Relaxed), 4);
        let how = Land::squash().message("notes: {title} {{x}\n\n{tasks}");
        let landed = session.land(how).await?;
        let message = world.git(&format!("log -1 --format=%B {}", landed.to))?;
        assert!(message.starts_with("notes: end {x}\n"), "{message}");

        let children = session.children();
        let ids: Vec<&str> = children.iter().map(ChildHandle::id).collect();
        assert_eq!(ids, ["write", "write_something_else"]);
        for child in &children {
            assert!(child.wait().await?.is_merged());
        }
        assert!(session.child("write").is_some());
        let report = session.report();
        assert_eq!((report.children.len(), report.tokens), (2, 480));
        let told = ends(&mut session.events()).await?;
        assert_eq!(told.len(), 2, "{told:?}");
        // Nothing can be asked of it any more.
        assert!(children[0].cancel().await.is_err());
        assert!(session.merge(&children).await.is_ok());
        Ok(())
    })
}

fn what_waits_for_the_program_can_be_asked_for() -> Outcome {
    let world = World::plain()?;
    let model = |request: &Request| {
        let ask =
            json!({"agent_id": "user", "message": "Which?", "kind": "question", "wait": true});
        let write = json!({"path": "a.txt", "content": "a"});
        Ok(match (request.child.as_str(), request.turn) {
            ("asks", 1) => Reply::text("").call("send_message_to_agent", ask),
            ("calls", 1) => Reply::text("").call("write_file", write),
            _ => Reply::text("Done."),
        })
    };
    let start = || async { open(&world, model)?.ask("write_file").start("waits").await };
    runtime()?.block_on(async {
        let session = start().await?;
        assert!(session.questions().is_empty() && session.approvals().is_empty());
        for id in ["asks", "calls"] {
            session.spawn(Child::new("Do it").id(id)).await?;
        }
        until_rest(&session).await?;
        session.finish().await?;
        drop(session);

        // The next process finds what still waits.
        let session = start().await?;
        let (questions, approvals) = (session.questions(), session.approvals());
        let asked: Vec<_> = questions.iter().map(|q| (q.child(), q.text())).collect();
        assert_eq!(asked, [("asks", "Which?")]);
        let calls: Vec<_> = approvals.iter().map(|c| (c.child(), c.tool())).collect();
        assert_eq!(calls, [("calls", "write_file")]);
        questions[0].answer("This").await?;
        approvals[0].allow().await?;
        assert!(session.questions().is_empty() && session.approvals().is_empty());
        let report = session.finish().await?;
        let states: Vec<&str> = report
            .children
            .iter()
            .map(|end| end.state.as_str())
            .collect();
        assert_eq!(states, ["nothing_to_do", "awaiting_review"]);
        Ok(())
    })
}

/// A model that holds its first two requests until both are there, and counts those at once.
#[derive(Clone, Default)]
struct Crowd {
    now: Arc<AtomicUsize>,
    most: Arc<AtomicUsize>,
    seen: Arc<AtomicUsize>,
    both: Arc<Notify>,
}

impl Model for Crowd {
    async fn reply(&self, request: Request) -> Result<Reply> {
        let now = self.now.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(now, Ordering::SeqCst);
        match self.seen.fetch_add(1, Ordering::SeqCst) {
            0 => self.both.notified().await,
            1 => self.both.notify_one(),
            _ => tokio::task::yield_now().await,
        }
        self.now.fetch_sub(1, Ordering::SeqCst);
        writes(&request)
    }
}

fn a_plan_is_run_within_a_limit_of_requests_at_once() -> Outcome {
    let world = World::plain()?;
    let crowd = Crowd::default();
    let plan =
        "# Four files\n\n- [ ] T1 Write a\n- [ ] T2 Write b\n- [ ] T3 Write c\n- [ ] T4 Write d\n";
    runtime()?.block_on(async {
        let builder = open(&world, writes)?.model(crowd.clone()).max_agents(2);
        let session = builder.start("plan").await?;
        let run = session.run_plan(plan).await?;
        let outcomes = run.finish().await?.children;
        let ids: Vec<&str> = outcomes.iter().map(|end| end.child.as_str()).collect();
        assert_eq!(ids, ["T1", "T2", "T3", "T4"]);
        assert!(outcomes.iter().all(|end| end.is_merged()), "{outcomes:?}");
        // Two were there at once, and never a third.
        assert_eq!(crowd.most.load(Ordering::SeqCst), 2);
        assert_eq!(crowd.seen.load(Ordering::SeqCst), 8);
        let unreadable = session.run_plan("Nothing to do here.").await;
        let error = unreadable.err().ok_or("it is no plan")?.to_string();
        assert!(error.starts_with("failed to read the plan:\n"), "{error}");
        session.finish().await?;
        Ok(())
    })
}

fn a_repository_that_was_made_again_needs_another_session() -> Outcome {
    let world = World::plain()?;
    let start = |name: &'static str| {
        let begun = open(&world, writes);
        async move { begun?.start(name).await }
    };
    runtime()?.block_on(async {
        let session: Session = start("daily").await?;
        session.spawn(Child::new("Write")).await?;
        session.finish().await?;
        drop(session);
        let folder = world.repository.path().join(".git");
        let config = std::fs::read(folder.join("config"))?;
        std::fs::remove_dir_all(&folder)?;
        world.git("init -q")?;
        std::fs::write(folder.join("config"), config)?;
        world.commit("other.txt", "another beginning\n")?;
        let error = start("daily").await.err().ok_or("it goes on")?.to_string();
        assert!(
            error.contains("made again") && error.contains("another name"),
            "{error}"
        );
        let session = start("daily again").await?;
        let child = session.spawn(Child::new("Write")).await?;
        assert!(session.merge(&[child]).await?[0].is_merged());
        session.finish().await?;
        Ok(())
    })
}
