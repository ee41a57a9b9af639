//! The protocols in which an endpoint is asked to search, behind one interface.

use orchestrate_core::agent::model_search::{SearchReply, SearchRequest};
use serde_json::Value;

use super::{gemini, messages, responses};
use crate::wire::fault::Fault;

/// The tool by which an endpoint searches the web.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SearchApi {
    /// `web_search` of Anthropic's Messages.
    Messages,
    /// `web_search` of OpenAI's Responses.
    Responses,
    /// `google_search` of Gemini's own protocol.
    Gemini,
}

impl SearchApi {
    /// Returns the path below the endpoint's base URL.
    pub(crate) fn path(self, model: &str) -> String {
        match self {
            Self::Messages => "v1/messages".to_owned(),
            Self::Responses => "responses".to_owned(),
            Self::Gemini => format!("models/{model}:generateContent"),
        }
    }

    /// Returns the body of the request.
    pub(crate) fn body(self, request: &SearchRequest, model: &str) -> Value {
        match self {
            Self::Messages => messages::body(request, model),
            Self::Responses => responses::body(request, model),
            Self::Gemini => gemini::body(request),
        }
    }

    /// Reads the reply.
    ///
    /// # Errors
    ///
    /// The fault that it reports; [`Fault::Malformed`] if it is not one of this protocol.
    pub(crate) fn reply(self, body: &Value) -> Result<SearchReply, Fault> {
        if let Some(error) = body.get("error").filter(|error| !error.is_null()) {
            return Err(Fault::within_stream(error));
        }
        let reply = match self {
            Self::Messages => messages::reply(body),
            Self::Responses => responses::reply(body),
            Self::Gemini => gemini::reply(body),
        };
        reply.ok_or_else(|| {
            Fault::Malformed(
                "it is not a reply of the protocol with which it was asked to search".to_owned(),
            )
        })
    }
}
