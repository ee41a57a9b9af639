//! Errors of requests to models, each with what to do next.
//!
//! Messages complete "failed to …". No variant contains a key, only the name of the variable that
//! holds it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use orchestrate_core::TaskId;

/// The environment variable that names a model.
const MODEL_VARIABLE: &str = "ORCHESTRATE_MODEL";
/// Stands in for the name of a variable if the endpoint was given as `--base-url`, a setting that a
/// run keeps.
pub(crate) const TYPED_BASE: &str = "base_url";

/// Why a request got no reply, or no model could be chosen.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// A script cannot be read or parsed.
    #[error("load the script {}{}: {problem}", file.display(), at_line(*line))]
    Script {
        /// The path of the script.
        file: PathBuf,
        /// The line from 1, or 0 for the whole file.
        line: usize,
        /// The problem.
        problem: String,
    },
    /// No rule of a script matches a request.
    #[error(
        "answer turn {turn} of task {task}: no rule of {model} matches; add one, or raise the \
         `times` of one that did"
    )]
    NoScriptedReply {
        /// The model's name, `script:FILE`.
        model: String,
        /// The task whose agent sent the request.
        task: TaskId,
        /// The number of the agent's request, from 1.
        turn: u32,
    },
    /// Requests to a model would go to a provider that the user has not allowed.
    #[error(
        "use {model}: the user has not allowed the provider `{provider}`; `allowed_providers` in \
         the user's own configuration does, for the next run"
    )]
    VendorNotAllowed {
        /// The model's name.
        model: String,
        /// The provider's name.
        provider: String,
    },
    /// A model's name is not of the form `provider/model`.
    #[error("understand the model name {name:?}: {problem}")]
    InvalidName {
        /// The name as typed.
        name: String,
        /// The problem, and the forms that are valid.
        problem: String,
    },
    /// No model was named and none was found.
    #[error("choose a model: {0}; {fix}", fix = .0.fix())]
    NoModel(NoneFound),
    /// The provider needs a key and the environment has none.
    #[error(
        "find a key for {model}: set {variable}, or {variable}_FILE to the path of a file that \
         contains it"
    )]
    MissingKey {
        /// `provider/model`.
        model: String,
        /// The base URL.
        endpoint: String,
        /// The variable that would hold it.
        variable: String,
    },
    /// The value of an environment variable, or of `--base-url`, cannot be used.
    #[error("use {variable}: {problem}")]
    Environment {
        /// The name of the variable.
        variable: String,
        /// The problem with its value.
        problem: String,
    },
    /// The price of the model is not known.
    #[error(
        "price {model}: its price is not known; add it to your own configuration, in dollars for a \
         million tokens: [prices] \"{model}\" = {{ input = N, output = N }}"
    )]
    NoPrice {
        /// `provider/model`.
        model: String,
    },
    /// The provider rejects the key (401, 403).
    #[error(
        "authenticate for {model} at {endpoint} (HTTP {status}): {message}; check the key in {key}"
    )]
    Unauthorized {
        /// `provider/model`.
        model: String,
        /// The base URL.
        endpoint: String,
        /// The HTTP status.
        status: u16,
        /// The source of the key, or a note that there was none.
        key: String,
        /// The provider's message.
        message: String,
    },
    /// The endpoint does not have the model (404).
    #[error(
        "find the model {model} at {endpoint}: {message}; check its name, or the endpoint in \
         {variable}: a run keeps its model{}, so changing it takes a new \
         run", if variable == TYPED_BASE { " and endpoint" } else { "" }
    )]
    UnknownModel {
        /// `provider/model`.
        model: String,
        /// The base URL.
        endpoint: String,
        /// The variable that sets the endpoint.
        variable: String,
        /// The provider's message.
        message: String,
    },
    /// The account has no credit or has reached its spending limit; waiting does not help.
    #[error(
        "use {model} at {endpoint}, since its account has no credit or has reached a limit: \
         {message}; add credit or raise the limit at the provider, then resume the run"
    )]
    QuotaExhausted {
        /// `provider/model`.
        model: String,
        /// The base URL.
        endpoint: String,
        /// The provider's message.
        message: String,
    },
    /// The endpoint rejects the key or the account: for this request, or for another agent's just
    /// before.
    #[error("{0}")]
    AccountRejected(Arc<ModelError>),
    /// The request is longer than the model's context.
    #[error(
        "fit the request into the context of {model}: {message}; start a new run with lower \
         `context_tokens` (`root_context_tokens` for a goal), since a run keeps its setting"
    )]
    ContextTooLong {
        /// `provider/model`.
        model: String,
        /// The provider's message.
        message: String,
    },
    /// The provider rejects the request as invalid; sending it again does not help.
    #[error("send the request to {model} at {endpoint} (rejected with HTTP {status}): {message}")]
    Rejected {
        /// `provider/model`.
        model: String,
        /// The base URL.
        endpoint: String,
        /// The HTTP status.
        status: u16,
        /// The provider's message.
        message: String,
    },
    /// The provider cannot answer now: 408, 409, 425, 429, 5xx, or an error within a stream.
    #[error("get an answer from {model} at {endpoint}{}: {message}", with_status(*status))]
    Unavailable {
        /// `provider/model`.
        model: String,
        /// The base URL.
        endpoint: String,
        /// The HTTP status, or the one that an error within a stream stands for; 0 if it is
        /// unknown.
        status: u16,
        /// The wait that the provider asks for.
        retry_after: Option<Duration>,
        /// The provider's message.
        message: String,
    },
    /// No server responds at the endpoint.
    #[error(
        "reach {model} at {endpoint}: {cause}; start the server, or {}",
        move_to(variable)
    )]
    Unreachable {
        /// `provider/model`.
        model: String,
        /// The base URL.
        endpoint: String,
        /// The variable that sets the endpoint.
        variable: String,
        /// The network error.
        cause: String,
    },
    /// The stream ended or stalled before the reply was complete; its content is dropped.
    #[error("receive the complete reply of {model} at {endpoint}: {problem}")]
    Truncated {
        /// `provider/model`.
        model: String,
        /// The base URL.
        endpoint: String,
        /// How the stream ended.
        problem: String,
    },
    /// The endpoint's answer is not a valid reply of its protocol.
    #[error("understand the reply of {model} at {endpoint}: {problem}")]
    Malformed {
        /// `provider/model`.
        model: String,
        /// The base URL.
        endpoint: String,
        /// The part that was not understood.
        problem: String,
    },
    /// The reply is larger than the limit.
    #[error("accept the reply of {model} at {endpoint}: {what} is larger than {limit} bytes")]
    TooLarge {
        /// `provider/model`.
        model: String,
        /// The base URL.
        endpoint: String,
        /// The part that is too large.
        what: String,
        /// The limit in bytes.
        limit: usize,
    },
    /// A model of the program's own does not answer a request; sending it again does not help.
    #[error("get a reply from the program's model {model}: {message}")]
    Program {
        /// The model's name.
        model: String,
        /// What it said.
        message: String,
    },
    /// The endpoint of the model has no search of the web.
    #[error(
        "search the web with {model}: {problem}; the user can choose another service in \
        `tools.web_requests.search_service`: searxng, brave or tavily"
    )]
    NoSearch {
        /// `provider/model`.
        model: String,
        /// Why it has none.
        problem: String,
    },
    /// The HTTP client or the tokenizer could not be set up.
    #[error("set up requests to models: {problem}")]
    Setup {
        /// The failure.
        problem: String,
    },
}

impl ModelError {
    /// Reports whether the same request may succeed later.
    pub fn is_retryable(&self) -> bool {
        matches!(
            self,
            Self::Unavailable { .. }
                | Self::Unreachable { .. }
                | Self::Truncated { .. }
                | Self::Malformed { .. }
        )
    }

    /// Reports whether the endpoint did not answer, although it may answer the same request at
    /// another time.
    pub fn is_outage(&self) -> bool {
        matches!(self, Self::Unavailable { .. } | Self::Unreachable { .. })
    }

    /// Reports whether the endpoint had begun to answer, so that it may charge for a part of the
    /// reply.
    pub fn had_begun_to_answer(&self) -> bool {
        matches!(
            self,
            Self::Truncated { .. } | Self::Malformed { .. } | Self::TooLarge { .. }
        )
    }

    /// Reports whether the endpoint may have worked on a request whose reply comes as a whole, and
    /// charge for it: the reply was lost on the way, or a gateway has not waited for it.
    pub fn may_be_charged_for(&self) -> bool {
        let is_lost = matches!(
            self,
            Self::Unavailable {
                status: 0 | 502 | 504,
                ..
            }
        );
        is_lost || self.had_begun_to_answer()
    }

    /// Reports whether the endpoint rejects all requests of this account.
    pub(crate) fn rejects_account(&self) -> bool {
        matches!(
            self,
            Self::Unauthorized { .. } | Self::QuotaExhausted { .. }
        )
    }

    /// Reports whether the cause is the endpoint or the account there, so that the same request may
    /// succeed once the user has mended that.
    pub fn blames_endpoint(&self) -> bool {
        self.is_outage() || self.rejecting_endpoint().is_some()
    }

    /// Returns the base URL of the endpoint that rejects the key or the account, or that there is
    /// no key for.
    pub fn rejecting_endpoint(&self) -> Option<&str> {
        match self {
            Self::Unauthorized { endpoint, .. }
            | Self::QuotaExhausted { endpoint, .. }
            | Self::MissingKey { endpoint, .. } => Some(endpoint),
            Self::AccountRejected(error) => error.rejecting_endpoint(),
            _ => None,
        }
    }

    /// Returns the wait that the provider asked for, if any.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Unavailable { retry_after, .. } => *retry_after,
            _ => None,
        }
    }

    /// Reports whether the provider asked all users of this key to slow down (429, 529).
    pub fn is_rate_limit(&self) -> bool {
        matches!(
            self,
            Self::Unavailable {
                status: 429 | 529,
                ..
            }
        )
    }

    /// Reports whether searches of the web need another service or another setting of the user's.
    pub fn is_without_search(&self) -> bool {
        matches!(
            self,
            Self::NoSearch { .. } | Self::NoPrice { .. } | Self::MissingKey { .. }
        )
    }

    /// Returns the error of a variable whose value cannot be used.
    pub(crate) fn environment(variable: &str, problem: impl Into<String>) -> Self {
        Self::Environment {
            variable: variable.to_owned(),
            problem: problem.into(),
        }
    }

    /// Returns the error of a model whose endpoint has no search that is known here.
    pub(crate) fn no_search(model: &str) -> Self {
        let problem = "its endpoint has no search of its own, unlike those of openai/…, \
                       anthropic/… and gemini/…";
        Self::NoSearch {
            model: model.to_owned(),
            problem: problem.to_owned(),
        }
    }

    /// Reports whether a shorter request may succeed, so that the caller should compact instead of
    /// retrying.
    pub fn is_context_too_long(&self) -> bool {
        matches!(self, Self::ContextTooLong { .. })
    }
}

fn at_line(line: usize) -> String {
    if line == 0 {
        String::new()
    } else {
        format!(", line {line}")
    }
}

/// Why no model was found.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NoneFound {
    /// The server at the given base URL lists none.
    #[error("{url} lists no models")]
    NoneListed {
        /// The base URL.
        url: String,
    },
    /// There is no endpoint that could be asked.
    #[error("none is named, no key is set and no local server responds")]
    NoEndpoint {
        /// The variables of keys, one for each provider.
        keys: Vec<&'static str>,
        /// The servers that were asked, as `name at URL`.
        local: Vec<String>,
    },
}

impl NoneFound {
    /// Returns the ways to name one, by setting and variable.
    #[must_use]
    pub fn fix(&self) -> String {
        match self {
            Self::NoneListed { .. } => format!("name one (`model`, {MODEL_VARIABLE})"),
            Self::NoEndpoint { keys, local } => format!(
                "name one (`model`, {MODEL_VARIABLE}), or set one of {}, or start a server ({}), \
                 or name any OpenAI-compatible one (`base_url`)",
                keys.join(", "),
                local.join(", "),
            ),
        }
    }
}

impl ModelError {
    /// Reports whether no model was named and none was found.
    #[must_use]
    pub fn is_none_found(&self) -> bool {
        matches!(self, ModelError::NoModel(_))
    }
}

/// Returns an instruction for changing a run's endpoint.
pub(crate) fn move_to(variable: &str) -> String {
    if variable == TYPED_BASE {
        format!("start a new run with another {variable}, since a run keeps its setting")
    } else {
        format!("set {variable} to its address")
    }
}

fn with_status(status: u16) -> String {
    if status == 0 {
        String::new()
    } else {
        format!(" (HTTP {status})")
    }
}
