//! Makes one attempt at a request over HTTP, limited in time and size.
//!
//! Redirects are not followed: a server must not be able to send the key elsewhere. Dropping the
//! future closes the connection and so cancels the request.

use std::borrow::Cow;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use orchestrate_core::agent::model_search::{SearchReply, SearchRequest};
use orchestrate_core::{ModelReply, ModelRequest, Redactor};
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use reqwest::{Client, Response, StatusCode};
use serde_json::Value;

use crate::error::{ModelError, move_to};
use crate::model::{Delta, Model};
use crate::provider::Endpoint;
use crate::wire::fault::{Allowance, Fault, Headers, ProviderRefusal, RefusalKind, refused};
use crate::wire::sse::SseDecoder;
use crate::wire::{
    MAX_EVENT_BYTES, MAX_STREAM_BYTES, OnDelta, Protocol, Reader, SearchApi, chat, messages,
};

/// Maximum size of an error's body in bytes; the rest is not read.
const MAX_ERROR_BYTES: usize = 64 << 10;
/// What a refusal of the form of an answer mentions.
const FORMS: &[&str] = &[
    "response_format",
    "output_config",
    "output_format",
    "schema",
];
/// Number of bytes of a stream to keep, to show the beginning of one that contains no events.
const BEGINNING_BYTES: usize = 256;

/// The timeouts of the parts of a request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timeouts {
    /// Until the response begins; a local model sends nothing while it processes a long prompt.
    pub(crate) headers: Duration,
    /// Between two pieces of a stream.
    pub(crate) idle: Duration,
    /// For the whole reply, so that a server that keeps sending single bytes cannot block an agent
    /// for ever.
    pub(crate) total: Duration,
    /// For a list of models.
    pub(crate) list: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            headers: Duration::from_secs(600),
            idle: Duration::from_secs(300),
            total: Duration::from_secs(3600),
            list: Duration::from_secs(10),
        }
    }
}

/// A model of an endpoint, which makes no retries.
#[derive(Debug)]
pub(crate) struct Remote {
    pub(crate) http: Client,
    pub(crate) endpoint: Endpoint,
    /// `provider/model`, for messages.
    pub(crate) name: String,
    /// The endpoint's own name for the model.
    pub(crate) model: String,
    pub(crate) timeouts: Timeouts,
    /// Applied to the server's answer before it is parsed: a fault shows only a beginning, which
    /// may cut a secret in two.
    pub(crate) redactor: Redactor,
    pub(crate) learnt: Arc<Learnt>,
}

/// What a server has refused in requests to a model, and is sent otherwise since.
#[derive(Debug, Default)]
pub(crate) struct Learnt {
    /// It has asked for the other name of the parameter for the maximum reply size.
    other_max_tokens_key: AtomicBool,
    /// It does not take the form of an answer.
    no_answer_form: AtomicBool,
}

/// What of a request depends on what was learnt.
struct Dialect {
    other_max_tokens_key: bool,
    /// The form of the agent's answer, if it is sent.
    answer: Option<Value>,
}

#[async_trait]
impl Model for Remote {
    async fn complete(
        &self,
        request: &ModelRequest,
        on_delta: &mut (dyn for<'d> FnMut(Delta<'d>) + Send),
    ) -> Result<ModelReply, ModelError> {
        loop {
            // Read before the attempt: if another agent has learnt more meanwhile, this request is
            // repeated too.
            let dialect = self.dialect(request);
            let body = self.body(request, &dialect);
            match self.attempt(request, body, on_delta).await {
                Err(Fault::Refused(refusal)) if self.learns(&refusal, &dialect) => {}
                result => return result.map_err(|fault| self.error(fault)),
            }
        }
    }

    async fn search(&self, request: &SearchRequest) -> Result<SearchReply, ModelError> {
        let Some(api) = self.endpoint.search else {
            return Err(ModelError::no_search(&self.name));
        };
        self.search_by(api, request)
            .await
            .map_err(|fault| match fault {
                Fault::Refused(ProviderRefusal {
                    status: 404,
                    message,
                    ..
                }) => {
                    let (model, endpoint) = (self.name.clone(), &self.endpoint.base_url);
                    ModelError::NoSearch {
                        model,
                        problem: format!("{endpoint} has none for it (HTTP 404): {message}"),
                    }
                }
                fault => self.error(fault),
            })
    }
}

impl Remote {
    async fn search_by(
        &self,
        api: SearchApi,
        request: &SearchRequest,
    ) -> Result<SearchReply, Fault> {
        let mut headers = self.headers()?;
        if let (SearchApi::Gemini, Some(key)) = (api, &self.endpoint.key) {
            headers.remove("authorization");
            headers.insert("x-goog-api-key", secret(key.secret.clone())?);
        }
        let url = self.endpoint.search_url(api, &self.model);
        let body = api.body(request, &self.model);
        let mut response = self
            .http
            .post(url)
            .headers(headers)
            .json(&body)
            .send()
            .await
            .map_err(|error| unsent(&error))?;
        if response.status() != StatusCode::OK {
            return Err(self.refusal(response).await);
        }
        let kind =
            text_of(response.headers(), "content-type").map(|kind| self.redactor.owned(kind));
        let bytes = self.redacted(self.body_of(&mut response, MAX_EVENT_BYTES).await?);
        match serde_json::from_slice(&bytes) {
            Ok(body) => api.reply(&body),
            Err(_) => Err(Fault::foreign(
                kind.as_deref(),
                bytes.get(..BEGINNING_BYTES).unwrap_or(&bytes),
            )),
        }
    }

    /// Requests the list of the endpoint's models, without retries.
    pub(crate) async fn list(&self, limit: usize) -> Result<Value, ModelError> {
        let timeout = self.timeouts.list;
        let answer = tokio::time::timeout(timeout, self.fetch_list(limit)).await;
        answer
            .unwrap_or_else(|_| {
                Err(Fault::Truncated(format!(
                    "no list of models within {} s",
                    timeout.as_secs()
                )))
            })
            .map_err(|fault| self.error(fault))
    }

    async fn fetch_list(&self, limit: usize) -> Result<Value, Fault> {
        let path = match self.endpoint.protocol {
            Protocol::ChatCompletions => "models",
            Protocol::Messages => "v1/models",
        };
        let mut response = self
            .http
            .get(self.endpoint.url(path))
            .headers(self.headers()?)
            .send()
            .await
            .map_err(|error| unsent(&error))?;
        if response.status() != StatusCode::OK {
            return Err(self.refusal(response).await);
        }
        let body = self.redacted(self.body_of(&mut response, limit).await?);
        serde_json::from_slice(&body)
            .map_err(|error| Fault::garbage(&String::from_utf8_lossy(&body), &error))
    }

    async fn attempt(
        &self,
        request: &ModelRequest,
        body: Vec<u8>,
        on_delta: OnDelta<'_>,
    ) -> Result<ModelReply, Fault> {
        let limit = self.timeouts.total;
        match tokio::time::timeout(limit, self.exchange(request, body, on_delta)).await {
            Ok(result) => result,
            Err(_) => Err(Fault::Truncated(format!(
                "it was incomplete after {} s",
                limit.as_secs()
            ))),
        }
    }

    async fn exchange(
        &self,
        request: &ModelRequest,
        body: Vec<u8>,
        on_delta: OnDelta<'_>,
    ) -> Result<ModelReply, Fault> {
        let sent = self
            .http
            .post(self.url())
            .header(CONTENT_TYPE, "application/json")
            .headers(self.headers()?)
            .body(body)
            .send();
        let limit = self.timeouts.headers;
        let response = match tokio::time::timeout(limit, sent).await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => return Err(unsent(&error)),
            Err(_) => {
                return Err(unanswered(format!(
                    "no response within {} s",
                    limit.as_secs()
                )));
            }
        };
        if response.status() != StatusCode::OK {
            return Err(self.refusal(response).await);
        }
        let reader = self.endpoint.protocol.reader();
        if is_json(&response) {
            self.whole(response, reader, request, on_delta).await
        } else {
            self.stream(response, reader, request, on_delta).await
        }
    }

    async fn stream(
        &self,
        mut response: Response,
        mut reader: Reader,
        request: &ModelRequest,
        on_delta: OnDelta<'_>,
    ) -> Result<ModelReply, Fault> {
        let kind =
            text_of(response.headers(), "content-type").map(|kind| self.redactor.owned(kind));
        let mut decoder = SseDecoder::new(MAX_EVENT_BYTES);
        let mut events = Vec::new();
        let mut beginning = Vec::new();
        let mut has_events = kind
            .as_ref()
            .is_some_and(|kind| kind.contains("event-stream"));
        let mut received = 0;
        while let Some(bytes) = self.piece(&mut response).await? {
            received += bytes.len();
            beginning.extend(bytes.iter().take(BEGINNING_BYTES - beginning.len()));
            if received > MAX_STREAM_BYTES {
                return Err(Fault::TooLarge {
                    what: "the stream",
                    limit: MAX_STREAM_BYTES,
                });
            }
            decoder
                .push(&bytes, &mut events)
                .map_err(|_| Fault::TooLarge {
                    what: "an event of the stream",
                    limit: MAX_EVENT_BYTES,
                })?;
            for mut event in events.drain(..) {
                has_events = true;
                event.data = self.redactor.owned(event.data);
                reader.event(&event, on_delta)?;
                if reader.has_ended() {
                    return reader.finish(request);
                }
            }
        }
        let last = decoder.finish();
        if !has_events && last.is_none() && !beginning.is_empty() {
            let beginning = self.redacted(beginning);
            return Err(Fault::foreign(kind.as_deref(), &beginning));
        }
        if let Some(mut event) = last {
            event.data = self.redactor.owned(event.data);
            reader
                .event(&event, on_delta)
                .map_err(|fault| match fault {
                    Fault::Malformed(_) => {
                        Fault::Truncated("the stream ended within an event".to_owned())
                    }
                    fault => fault,
                })?;
        }
        reader.finish(request)
    }

    /// Reads the reply of a server that does not stream, or an error that it sent with a status of
    /// success.
    async fn whole(
        &self,
        mut response: Response,
        mut reader: Reader,
        request: &ModelRequest,
        on_delta: OnDelta<'_>,
    ) -> Result<ModelReply, Fault> {
        let kind =
            text_of(response.headers(), "content-type").map(|kind| self.redactor.owned(kind));
        let bytes = self.redacted(self.body_of(&mut response, MAX_EVENT_BYTES).await?);
        let body: Value = serde_json::from_slice(&bytes)
            .map_err(|error| Fault::garbage(&String::from_utf8_lossy(&bytes), &error))?;
        reader.whole(&body, on_delta)?;
        if !reader.has_ended() {
            let beginning = bytes.get(..BEGINNING_BYTES).unwrap_or(&bytes);
            return Err(Fault::foreign(kind.as_deref(), beginning));
        }
        reader.finish(request)
    }

    async fn body_of(&self, response: &mut Response, limit: usize) -> Result<Vec<u8>, Fault> {
        let mut body = Vec::new();
        while let Some(bytes) = self.piece(response).await? {
            body.extend_from_slice(&bytes);
            if body.len() > limit {
                return Err(Fault::TooLarge {
                    what: "the response",
                    limit,
                });
            }
        }
        Ok(body)
    }

    async fn piece(
        &self,
        response: &mut Response,
    ) -> Result<Option<impl Deref<Target = [u8]>>, Fault> {
        let limit = self.timeouts.idle;
        match tokio::time::timeout(limit, response.chunk()).await {
            Ok(Ok(piece)) => Ok(piece),
            Ok(Err(error)) => Err(Fault::Truncated(causes(&error))),
            Err(_) => Err(Fault::Truncated(format!(
                "nothing arrived for {} s",
                limit.as_secs()
            ))),
        }
    }

    async fn refusal(&self, mut response: Response) -> Fault {
        let status = response.status();
        let headers = retry_headers(response.headers());
        if status.is_redirection() {
            let target = self
                .redactor
                .owned(text_of(response.headers(), "location").unwrap_or_default());
            let message = format!(
                "it redirects to {target:?}, which is not followed; use that as the base URL"
            );
            let kind = RefusalKind::Request;
            return Fault::Refused(ProviderRefusal {
                status: status.as_u16(),
                kind,
                message,
                retry_after: None,
            });
        }
        let mut body = Vec::new();
        while let Ok(Some(bytes)) = self.piece(&mut response).await {
            body.extend_from_slice(&bytes);
            if body.len() > MAX_ERROR_BYTES {
                break;
            }
        }
        let status = if status.is_success() {
            502
        } else {
            status.as_u16()
        };
        refused(
            status,
            &headers,
            &String::from_utf8_lossy(&self.redacted(body)),
        )
    }

    /// Redacts bytes. Those that are not UTF-8 are converted lossily if they contain a secret,
    /// since they are shown as text.
    fn redacted(&self, bytes: Vec<u8>) -> Vec<u8> {
        match self.redactor.text(&String::from_utf8_lossy(&bytes)) {
            Cow::Owned(redacted) => redacted.into_bytes(),
            Cow::Borrowed(_) => bytes,
        }
    }

    fn url(&self) -> String {
        let path = match self.endpoint.protocol {
            Protocol::ChatCompletions => "chat/completions",
            Protocol::Messages => "v1/messages",
        };
        self.endpoint.url(path)
    }

    fn dialect(&self, request: &ModelRequest) -> Dialect {
        let takes_form = !self.learnt.no_answer_form.load(Ordering::Relaxed);
        let form = self.endpoint.answers.schema_for(request);
        Dialect {
            other_max_tokens_key: self.learnt.other_max_tokens_key.load(Ordering::Relaxed),
            answer: form.filter(|_| takes_form),
        }
    }

    /// Returns the text of a request. Only this is kept while its reply is waited for: the value it
    /// is made of takes several times as much memory.
    fn body(&self, request: &ModelRequest, dialect: &Dialect) -> Vec<u8> {
        let answer = dialect.answer.as_ref();
        let body = match self.endpoint.protocol {
            Protocol::ChatCompletions => {
                let key = match self.endpoint.is_openai != dialect.other_max_tokens_key {
                    true => "max_completion_tokens",
                    false => "max_tokens",
                };
                chat::body(request, &self.model, key, answer)
            }
            Protocol::Messages => messages::body(request, &self.model, answer),
        };
        body.to_string().into_bytes()
    }

    /// Learns from a refusal what the server wants otherwise; reports whether it was sent what it
    /// does not want, so that the request should be made again. Each is learnt once.
    fn learns(&self, refusal: &ProviderRefusal, sent: &Dialect) -> bool {
        if !matches!(refusal.status, 400 | 422) {
            return false;
        }
        let names = |word: &&str| refusal.message.contains(*word);
        let learnt = if self.endpoint.protocol == Protocol::ChatCompletions
            && !sent.other_max_tokens_key
            && names(&"max_completion_tokens")
        {
            &self.learnt.other_max_tokens_key
        } else if sent.answer.is_some() && FORMS.iter().any(names) {
            &self.learnt.no_answer_form
        } else {
            return false;
        };
        learnt.store(true, Ordering::Relaxed);
        true
    }

    fn headers(&self) -> Result<HeaderMap, Fault> {
        let mut headers = HeaderMap::new();
        headers.insert(
            "accept",
            HeaderValue::from_static("text/event-stream, application/json"),
        );
        let is_messages = self.endpoint.protocol == Protocol::Messages;
        if is_messages {
            headers.insert(
                "anthropic-version",
                HeaderValue::from_static(messages::VERSION),
            );
        }
        if let Some(key) = &self.endpoint.key {
            let (name, value) = if is_messages && !key.is_bearer {
                ("x-api-key", key.secret.clone())
            } else {
                ("authorization", format!("Bearer {}", key.secret))
            };
            headers.insert(name, secret(value)?);
        }
        Ok(headers)
    }

    /// Converts a fault to an error with the model, the endpoint and what to do next.
    fn error(&self, fault: Fault) -> ModelError {
        let (model, endpoint) = (self.name.clone(), self.endpoint.base_url.clone());
        match fault {
            Fault::Unreachable(cause) => {
                let variable = self.endpoint.base_variable.to_owned();
                ModelError::Unreachable {
                    model,
                    endpoint,
                    variable,
                    cause,
                }
            }
            Fault::Truncated(problem) => ModelError::Truncated {
                model,
                endpoint,
                problem,
            },
            Fault::Malformed(problem) => ModelError::Malformed {
                model,
                endpoint,
                problem,
            },
            Fault::Foreign(seen) => {
                let step = move_to(self.endpoint.base_variable);
                let problem = format!("{seen}, so the endpoint may be wrong; {step}");
                ModelError::Malformed {
                    model,
                    endpoint,
                    problem,
                }
            }
            Fault::TooLarge { what, limit } => ModelError::TooLarge {
                model,
                endpoint,
                what: what.to_owned(),
                limit,
            },
            Fault::Refused(refusal) => self.refusal_error(refusal),
        }
    }

    fn refusal_error(&self, refusal: ProviderRefusal) -> ModelError {
        let (model, endpoint) = (self.name.clone(), self.endpoint.base_url.clone());
        let ProviderRefusal {
            status,
            kind,
            message,
            retry_after,
        } = refusal;
        let message = self.redactor.owned(message);
        match kind {
            RefusalKind::Later => ModelError::Unavailable {
                model,
                endpoint,
                status,
                retry_after,
                message,
            },
            RefusalKind::Key => ModelError::Unauthorized {
                model,
                endpoint,
                status,
                key: self.endpoint.key_source(),
                message,
            },
            RefusalKind::Model => {
                let variable = self.endpoint.base_variable.to_owned();
                ModelError::UnknownModel {
                    model,
                    endpoint,
                    variable,
                    message,
                }
            }
            RefusalKind::Quota => ModelError::QuotaExhausted {
                model,
                endpoint,
                message,
            },
            RefusalKind::Context => ModelError::ContextTooLong { model, message },
            RefusalKind::Request => ModelError::Rejected {
                model,
                endpoint,
                status,
                message,
            },
        }
    }
}

/// Returns the value of a field that holds a key.
fn secret(value: String) -> Result<HeaderValue, Fault> {
    let mut value = HeaderValue::try_from(value).map_err(|_| {
        let message = "the key contains characters that are invalid in a header".to_owned();
        Fault::Refused(ProviderRefusal {
            status: 0,
            kind: RefusalKind::Key,
            message,
            retry_after: None,
        })
    })?;
    value.set_sensitive(true);
    Ok(value)
}

fn is_json(response: &Response) -> bool {
    text_of(response.headers(), "content-type")
        .is_some_and(|kind| kind.contains("json") && !kind.contains("stream"))
}

fn retry_headers(headers: &HeaderMap) -> Headers {
    let mut allowances = Vec::new();
    for of in ["", "-requests", "-tokens"] {
        if let Some(reset) = text_of(headers, &format!("x-ratelimit-reset{of}")) {
            allowances.push(Allowance {
                remaining: text_of(headers, &format!("x-ratelimit-remaining{of}")),
                reset,
            });
        }
    }
    Headers {
        allowances,
        retry_after_ms: text_of(headers, "retry-after-ms"),
        retry_after: text_of(headers, "retry-after"),
        should_retry: text_of(headers, "x-should-retry"),
    }
}

fn text_of(headers: &HeaderMap, name: &str) -> Option<String> {
    headers.get(name)?.to_str().ok().map(str::to_owned)
}

fn unsent(error: &reqwest::Error) -> Fault {
    if error.is_connect() {
        Fault::Unreachable(causes(error))
    } else {
        unanswered(causes(error))
    }
}

/// Returns the fault of a server that was reached but has not begun to answer.
fn unanswered(message: String) -> Fault {
    Fault::Refused(ProviderRefusal {
        status: 0,
        kind: RefusalKind::Later,
        message,
        retry_after: None,
    })
}

/// Returns the innermost cause, the only one that is specific ("connection refused").
fn causes(error: &reqwest::Error) -> String {
    let mut innermost: &dyn std::error::Error = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost.to_string()
}

#[cfg(test)]
mod tests;
