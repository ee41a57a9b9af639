//! Models that a program brings itself.

use std::sync::Arc;

use async_trait::async_trait;
use orchestrate_core as core;
use orchestrate_core::agent::conversation::{self, StopReason, Usage};
use orchestrate_model::{self as engine, Delta, ModelError};
use serde_json::Value;

use crate::error::{Error, Kind, Result};

/// What stands for the address of the program's own model in messages.
const ENDPOINT: &str = "this program";
/// The HTTP statuses that a transient error stands for.
const UNAVAILABLE: u16 = 503;
const TOO_MANY_REQUESTS: u16 = 429;

/// A model of the program's own. Its requests are sent again, delayed and recorded as those to a
/// provider are.
///
/// What it is asked is the whole conversation of one child each time: a system text, the tools that
/// may be called, and messages. The first message is the task, and names the other children's.
/// After a reply with calls come their results, in the order of the calls, and after them what was
/// sent to the child meanwhile. A reply without calls ends the child's work: its text is the
/// child's answer or report.
///
/// An error that may pass is [`Error::transient`]: the request is made again after half a second,
/// and then after twice the time before, up to half a minute, for 30 minutes (the setting
/// `outage_patience`), in which the child's own time stands still; then the child fails, and
/// `orchestrate retry` lets it go on. [`Error::rate_limited`] lets the requests of all children
/// wait for the time that it names, at most five minutes each time. Any other error fails the child
/// at once.
///
/// ```
/// use orchestrate::{Model, Reply, Request, Result};
///
/// struct Parrot;
///
/// impl Model for Parrot {
///     async fn reply(&self, request: Request) -> Result<Reply> {
///         Ok(Reply::text(format!("I was asked {} things.", request.messages.len())))
///     }
/// }
/// ```
pub trait Model: Send + Sync + 'static {
    /// Returns the reply to a request, or an error after which it is made again or not, as said
    /// above. It may be dropped before it returns, when the child is stopped.
    fn reply(&self, request: Request) -> impl Future<Output = Result<Reply>> + Send;

    /// Returns its price, which a budget in dollars needs.
    fn price(&self) -> Option<Price> {
        None
    }
}

/// A price in dollars.
///
/// ```
/// let price = orchestrate::Price::per_million(3.0, 15.0);
/// assert!(price.input < price.output);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Price {
    /// For a million tokens of requests.
    pub input: f64,
    /// For a million tokens of replies.
    pub output: f64,
}

impl Price {
    /// Creates a price of so many dollars for a million tokens of requests, and of replies.
    pub fn per_million(input: f64, output: f64) -> Self {
        Self { input, output }
    }
}

/// A request to a model.
///
/// ```
/// use orchestrate::{Message, Reply, Request, json};
///
/// fn answer(request: &Request) -> Reply {
///     match request.messages.last() {
///         // What the tool has returned, or what is wrong with the call.
///         Some(Message::ToolResult { text, .. }) => Reply::text(format!("It says: {text}")),
///         _ if request.tools.iter().any(|tool| tool.name == "read_file") => {
///             Reply::text("").call("read_file", json!({"path": "README.md"}))
///         }
///         _ => Reply::text("I can read nothing."),
///     }
/// }
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Request {
    /// The id of the child that asks.
    pub child: String,
    /// The number of the child's request, from 1.
    pub turn: u32,
    /// The system text.
    pub system: String,
    /// The tools that may be called.
    pub tools: Vec<ToolSpec>,
    /// The conversation, oldest first.
    pub messages: Vec<Message>,
    /// The maximum number of tokens of the reply.
    pub max_output_tokens: u32,
    /// The JSON Schema of the text of the reply that ends the child's work, if
    /// [`Child::answers`](crate::Child::answers) has asked for one. The child is told it as well.
    pub answers: Option<Value>,
}

/// A tool as described to the model.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ToolSpec {
    /// Its name.
    pub name: String,
    /// What it does.
    pub description: String,
    /// The JSON Schema of its arguments, an object.
    pub parameters: Value,
}

/// One entry of a conversation.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Message {
    /// Text that the model did not write.
    User {
        /// The text.
        text: String,
    },
    /// A reply of the model.
    Assistant {
        /// Its text, empty if there was none.
        text: String,
        /// The calls that it asked for.
        calls: Vec<ToolCall>,
    },
    /// The result of a call of the reply before it.
    ToolResult {
        /// The id of the call.
        call: String,
        /// The result.
        text: String,
        /// Whether the call failed.
        is_error: bool,
    },
}

/// A call that a model asks for.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ToolCall {
    /// Its id, unique in the conversation.
    pub id: String,
    /// The tool's name.
    pub name: String,
    /// Its arguments.
    pub arguments: Value,
}

/// A model's reply.
///
/// ```
/// use orchestrate::Reply;
///
/// let reply = Reply::text("I look first.").call("read_file", serde_json::json!({"path": "a.rs"}));
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct Reply {
    text: String,
    calls: Vec<ToolCall>,
    usage: Usage,
}

impl Reply {
    /// A reply of words. Without a [`call`](Self::call) it is the child's last one.
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            calls: Vec::new(),
            usage: Usage::default(),
        }
    }

    /// Asks for a call of a tool as well.
    pub fn call(mut self, name: impl Into<String>, arguments: Value) -> Self {
        // The engine gives it an id that is unique in the conversation.
        self.calls.push(ToolCall {
            id: String::new(),
            name: name.into(),
            arguments,
        });
        self
    }

    /// Asks for a call whose id the provider of the model has chosen.
    pub fn call_with_id(
        mut self,
        id: impl Into<String>,
        name: impl Into<String>,
        arguments: Value,
    ) -> Self {
        self.calls.push(ToolCall {
            id: id.into(),
            name: name.into(),
            arguments,
        });
        self
    }

    /// Says how many tokens the request and the reply had, for the budgets.
    pub fn usage(mut self, input_tokens: u64, output_tokens: u64) -> Self {
        self.usage = Usage {
            input_tokens,
            output_tokens,
            cached_tokens: 0,
        };
        self
    }
}

/// A model that [`Builder::model`](crate::Builder::model) takes: the name of a provider's, such as
/// `anthropic/claude-sonnet-4-5`, or a [`Model`] of the program's own.
pub struct GivenModel(pub(crate) Given);

pub(crate) enum Given {
    Named(String),
    Own {
        model: Arc<dyn engine::Model>,
        price: Option<Price>,
    },
}

impl From<&str> for GivenModel {
    fn from(name: &str) -> Self {
        Self(Given::Named(name.to_owned()))
    }
}

impl From<String> for GivenModel {
    fn from(name: String) -> Self {
        Self(Given::Named(name))
    }
}

impl<M: Model> From<M> for GivenModel {
    fn from(model: M) -> Self {
        let price = model.price();
        Self(Given::Own {
            model: Arc::new(Adapted(model)),
            price,
        })
    }
}

/// A program's model as the engine asks it.
struct Adapted<M>(M);

#[async_trait]
impl<M: Model> engine::Model for Adapted<M> {
    async fn complete(
        &self,
        request: &core::ModelRequest,
        on_delta: &mut (dyn for<'d> FnMut(Delta<'d>) + Send),
    ) -> Result<core::ModelReply, ModelError> {
        let asked = Request::from(request);
        let reply = self.0.reply(asked).await;
        let reply = reply.map_err(|error| model_error(&request.model, &error))?;
        if !reply.text.is_empty() {
            on_delta(Delta::Text(&reply.text));
        }
        Ok(reply.into_engine(request.origin.turn))
    }
}

fn model_error(model: &str, error: &Error) -> ModelError {
    match error.kind() {
        Kind::Transient {
            message,
            retry_after,
        } => ModelError::Unavailable {
            model: model.to_owned(),
            endpoint: ENDPOINT.to_owned(),
            status: match retry_after {
                Some(_) => TOO_MANY_REQUESTS,
                None => UNAVAILABLE,
            },
            retry_after: *retry_after,
            message: message.clone(),
        },
        _ => ModelError::Program {
            model: model.to_owned(),
            message: error.to_string(),
        },
    }
}

impl From<&core::ModelRequest> for Request {
    fn from(request: &core::ModelRequest) -> Self {
        let mut messages = Vec::with_capacity(request.messages.len());
        for message in &request.messages {
            add_message(&mut messages, message);
        }
        let tools = request.tools.iter().map(|tool| ToolSpec {
            name: tool.name.clone(),
            description: tool.description.clone(),
            parameters: tool.parameters.clone(),
        });
        Self {
            child: request.origin.task.to_string(),
            turn: request.origin.turn,
            system: request.system.clone(),
            tools: tools.collect(),
            messages,
            max_output_tokens: request.max_output_tokens,
            answers: request.answers.clone(),
        }
    }
}

fn add_message(messages: &mut Vec<Message>, message: &conversation::Message) {
    match message {
        conversation::Message::User { text } => messages.push(Message::User { text: text.clone() }),
        conversation::Message::Assistant {
            text, tool_calls, ..
        } => {
            let calls = tool_calls.iter().map(|call| ToolCall {
                id: call.id.to_string(),
                name: call.name.clone(),
                arguments: call.arguments.clone(),
            });
            messages.push(Message::Assistant {
                text: text.clone(),
                calls: calls.collect(),
            });
        }
        conversation::Message::Tool { results } => {
            messages.extend(results.iter().map(|result| Message::ToolResult {
                call: result.call_id.to_string(),
                text: result.text.clone(),
                is_error: result.is_error,
            }));
        }
    }
}

impl Reply {
    fn into_engine(self, turn: u32) -> core::ModelReply {
        let stop = match self.calls.is_empty() {
            true => StopReason::EndTurn,
            false => StopReason::ToolCalls,
        };
        let mut tool_calls = Vec::with_capacity(self.calls.len());
        for (at, call) in self.calls.into_iter().enumerate() {
            let id = match call.id.is_empty() {
                true => format!("call_{turn}_{}", at + 1),
                false => call.id,
            };
            tool_calls.push(conversation::ToolCall {
                id: core::CallId::new(id),
                name: call.name,
                arguments: call.arguments,
            });
        }
        core::ModelReply {
            text: self.text,
            tool_calls,
            stop,
            usage: self.usage,
            raw: None,
        }
    }
}
