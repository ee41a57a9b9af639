//! Spawns five children, follows them, answers and decides, compares and merges their work, and
//! lands it; typed again after a crash, it goes on where it was and pays nothing twice.
//!
//! It needs no key: the model is twenty lines of this program. Type `cargo run --example
//! release_notes`. With a provider's model it is a real program: `cargo run --example release_notes
//! -- anthropic/claude-sonnet-5`.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "an example shows what it does"
)]
#![expect(
    clippy::indexing_slicing,
    reason = "there are as many children as were spawned"
)]

use orchestrate::prelude::*;
use orchestrate::{GivenModel, Message, Price, json};

#[derive(Deserialize, JsonSchema)]
struct Shout {
    text: String,
}

#[derive(Deserialize, JsonSchema)]
struct Facts {
    colour: String,
}

/// A model of the program's own: it shouts the task and writes it to a file.
struct MyModel;

impl Model for MyModel {
    async fn reply(&self, request: Request) -> orchestrate::Result<Reply> {
        let results = request
            .messages
            .iter()
            .rev()
            .map_while(|message| match message {
                Message::ToolResult { text, .. } => Some(text),
                _ => None,
            });
        let heard = results.last();
        let file = format!("notes/{}.md", request.child);
        Ok(match (request.child.as_str(), request.turn, heard) {
            ("which_colour", 1, _) => Reply::text("").call(
                "send_message_to_agent",
                json!({
                "agent_id": "user", "message": "Which one?", "kind": "question", "wait": true}),
            ),
            ("which_colour", _, _) => Reply::text(r#"{"colour": "blue"}"#),
            (child, 1, _) => Reply::text("").call("shout", json!({"text": child})),
            (_, 2, Some(text)) => {
                Reply::text("").call("write_file", json!({"path": file, "content": text}))
            }
            _ => Reply::text("I wrote it down.").usage(100, 20),
        })
    }

    fn price(&self) -> Option<Price> {
        Some(Price::per_million(1.0, 4.0))
    }
}

/// The model that is named on the command line, or the program's own.
fn model() -> GivenModel {
    match std::env::args().nth(1) {
        Some(name) => name.into(),
        None => MyModel.into(),
    }
}

#[orchestrate::main]
async fn main() -> orchestrate::Result<()> {
    let session = Session::open(".")?
        .model(model())
        .tool(tool_fn("shout", "Shouts.", |cx, a: Shout| async move {
            cx.progress("warming up");
            Ok(a.text.to_uppercase())
        }))
        .role(
            Role::new("shouter")
                .prompt("Shout.")
                .tools(["shout", "write_file"]),
        )
        .ask("Bash(rm:*)")
        .budget_usd(2.0)
        .verify("test ! -e notes/broken.md")
        .start("release-notes")
        .await?;
    let children = session
        .spawn_all(["a one", "b two", "c three", "d four"].map(|t| Child::new(t).role("shouter")))
        .await?;
    let scout = session
        .spawn(Child::new("Which colour?").answers::<Facts>())
        .await?;
    let mut events = session.events();
    while let Some(event) = events.next().await {
        match event? {
            Event::Text { child, delta } => eprintln!("[{child}] {delta}"),
            Event::Question(question) => question.answer("blue").await?,
            Event::Approval(call) => call.allow().await?,
            Event::AtRest => break,
            _ => {}
        }
    }
    let facts: Facts = scout.output().await?;
    let compared = session.compare(&children).await?;
    println!("{} {:?}", facts.colour, compared.conflicts);
    session.merge(&children[..2]).await?;
    children[3].discard().await?;
    println!("{}", session.land(Land::squash()).await?.to);
    Ok(())
}
