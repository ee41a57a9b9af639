//! The arguments of `message`.

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser as _};
use orchestrate_core::MessageKind;
use orchestrate_settings::{Expected, Kind, Value};

use super::candidates;
use super::{JsonArgs, RunOption};

/// `message`.
#[derive(Debug, Args)]
pub(crate) struct MessageArgs {
    /// Whom it goes to: the id of a task, `role:NAME`, `children` (the agents of the plan's tasks,
    /// without those that agents spawned), `all`, or `main_ralph_coordinator` (the agent of a goal)
    #[arg(add = candidates::recipients())]
    pub(crate) to: String,
    /// The message
    pub(crate) text: String,
    /// What it is for [default: an answer if the agent waits for one, otherwise a note]
    #[arg(long, value_parser = kind_of_message(), value_name = "KIND")]
    pub(crate) kind: Option<MessageKind>,
    /// The number of the agent's question that it answers
    #[arg(long, value_name = "N")]
    pub(crate) reply_to: Option<u64>,
    /// Do not deliver it after this time, such as 30s or 5m
    #[arg(long, value_name = "TIME", value_parser = seconds)]
    pub(crate) deadline: Option<u64>,
    /// Send TEXT as a JSON object instead of as text
    #[arg(long)]
    pub(crate) object: bool,
    #[command(flatten)]
    pub(crate) which: RunOption,
    #[command(flatten)]
    pub(crate) json: JsonArgs,
}

/// Returns the parser of a kind.
fn kind_of_message() -> impl clap::builder::TypedValueParser<Value = MessageKind> {
    PossibleValuesParser::new(MessageKind::ALL.map(MessageKind::as_str))
        .map(|name| MessageKind::named(&name).unwrap_or_default())
}

/// Parses a time into seconds, of which a part counts as a whole.
fn seconds(text: &str) -> Result<u64, Expected> {
    match Kind::Duration.parse(text)? {
        Value::Number(milliseconds) => Ok(milliseconds.div_ceil(1_000)),
        _ => Err(Expected(Kind::Duration)),
    }
}
