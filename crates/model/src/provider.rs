//! The table of named providers, and their endpoints in a given environment.

use std::fmt;

use crate::environment::Environment;
use crate::error::{ModelError, TYPED_BASE};
use crate::wire::{AnswerForm, Protocol, SearchApi};

/// A provider of models; its properties are one row of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Provider {
    /// OpenAI, or the server that `OPENAI_BASE_URL` names.
    OpenAi,
    /// Anthropic, by its Messages API.
    Anthropic,
    /// Google's Gemini, by its OpenAI-compatible API.
    Gemini,
    /// OpenRouter, which forwards requests to many providers.
    OpenRouter,
    /// A local Ollama server.
    Ollama,
    /// A local `llama-server` (llama.cpp).
    LlamaCpp,
    /// A local LM Studio server.
    LmStudio,
    /// A local vLLM server.
    Vllm,
}

/// The properties of a provider.
struct Row {
    name: &'static str,
    protocol: Protocol,
    /// The tool by which it searches the web.
    search: Option<SearchApi>,
    /// When its own server, and not one that answers in its place, is sent the form of an answer.
    answers: AnswerForm,
    base_variable: &'static str,
    default_base: &'static str,
    /// The path between the variable's base URL and the protocol's own paths.
    path: &'static str,
    /// Variables that may hold the key, of which the first one set is used; empty if the provider
    /// needs no key.
    keys: &'static [&'static str],
    /// The model to use if none is named; `None` for local servers, which are asked for their
    /// models.
    default_model: Option<&'static str>,
}

/// The URL and the key for one provider's requests.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Endpoint {
    pub(crate) protocol: Protocol,
    /// The tool by which it searches the web, if it has one.
    pub(crate) search: Option<SearchApi>,
    /// When it is sent the form of an answer.
    pub(crate) answers: AnswerForm,
    /// The URL that the protocol's paths are appended to, without a trailing slash and without a
    /// query.
    pub(crate) base_url: String,
    /// The query to append after a path, with its `?`; empty if the base URL has none.
    pub(crate) query: String,
    /// The variable or setting that changes the endpoint, for messages.
    pub(crate) base_variable: &'static str,
    pub(crate) key: Option<Key>,
    /// Whether the server is OpenAI's own, which insists on `max_completion_tokens`, unlike all
    /// others.
    pub(crate) is_openai: bool,
    /// Whether this is the provider's default base URL.
    pub(crate) is_default: bool,
}

/// A key and its source; the key itself is never shown.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Key {
    pub(crate) secret: String,
    pub(crate) source: String,
    /// Whether the key is sent as `Authorization: Bearer` even if the protocol has its own header
    /// for keys.
    pub(crate) is_bearer: bool,
}

impl Provider {
    /// All providers that need a key, in the order in which they are tried if no model is named.
    pub const WITH_KEYS: [Self; 4] = [
        Self::OpenAi,
        Self::Anthropic,
        Self::Gemini,
        Self::OpenRouter,
    ];
    /// All local servers, in the order in which they are tried.
    pub const LOCAL: [Self; 4] = [Self::Ollama, Self::LlamaCpp, Self::LmStudio, Self::Vllm];

    /// Finds a provider by its name, the first part of `provider/model`.
    pub fn named(name: &str) -> Option<Self> {
        Self::WITH_KEYS
            .into_iter()
            .chain(Self::LOCAL)
            .find(|provider| provider.name() == name)
    }

    /// Returns the provider's name, the first part of `provider/model`.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// Returns the variables that may hold the provider's key; empty for local servers.
    pub fn key_variables(self) -> &'static [&'static str] {
        self.row().keys
    }

    /// Returns the model to use if only the provider is known; `None` for local servers.
    pub(crate) fn default_model(self) -> Option<&'static str> {
        self.row().default_model
    }

    /// Reports whether the environment holds a key for the provider.
    pub(crate) fn has_key(self, environment: &Environment) -> bool {
        self.row()
            .keys
            .iter()
            .any(|variable| environment.has(variable))
    }

    /// Returns the endpoint for requests; `base_url` is what the user typed, which overrides the
    /// environment.
    pub(crate) fn endpoint(
        self,
        environment: &Environment,
        base_url: Option<&str>,
    ) -> Result<Endpoint, ModelError> {
        let row = self.row();
        let named = match base_url {
            Some(url) => Some(checked_url(TYPED_BASE, url)?),
            None => match environment.value(row.base_variable)? {
                Some(url) if self == Self::Ollama => Some(ollama_url(&url)?),
                Some(url) => Some(checked_url(row.base_variable, &url)?),
                None => None,
            },
        };
        let is_default = named.is_none();
        let is_its_own = is_default || row.keys.is_empty();
        let (base, query) = named.unwrap_or_else(|| (row.default_base.to_owned(), String::new()));
        Ok(Endpoint {
            protocol: row.protocol,
            search: row.search,
            answers: match is_its_own {
                true => row.answers,
                false => AnswerForm::Never,
            },
            base_url: if base_url.is_some() {
                without_version(self, &base)
            } else {
                with_path(self, &base, row.path)
            },
            query,
            base_variable: if base_url.is_some() {
                TYPED_BASE
            } else {
                row.base_variable
            },
            key: self.key(environment)?,
            is_openai: self == Self::OpenAi && is_default,
            is_default,
        })
    }

    fn key(self, environment: &Environment) -> Result<Option<Key>, ModelError> {
        for variable in self.row().keys {
            if let Some(secret) = environment.value(variable)? {
                let source = environment.source(variable);
                return Ok(Some(Key {
                    secret,
                    source,
                    is_bearer: *variable == "ANTHROPIC_AUTH_TOKEN",
                }));
            }
        }
        Ok(None)
    }

    /// Returns the provider's properties. The default models are the general-purpose ones that the
    /// providers listed in autumn 2026.
    fn row(self) -> Row {
        let (chat, messages) = (Protocol::ChatCompletions, Protocol::Messages);
        match self {
            Self::OpenAi => Row {
                name: "openai",
                protocol: chat,
                search: Some(SearchApi::Responses),
                answers: AnswerForm::Always,
                base_variable: "OPENAI_BASE_URL",
                default_base: "https://api.openai.com/v1",
                path: "",
                keys: &["OPENAI_API_KEY"],
                default_model: Some("gpt-5.6"),
            },
            Self::Anthropic => Row {
                name: "anthropic",
                protocol: messages,
                search: Some(SearchApi::Messages),
                answers: AnswerForm::Always,
                base_variable: "ANTHROPIC_BASE_URL",
                default_base: "https://api.anthropic.com",
                path: "",
                keys: &["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"],
                default_model: Some("claude-sonnet-5"),
            },
            Self::Gemini => Row {
                name: "gemini",
                protocol: chat,
                search: Some(SearchApi::Gemini),
                answers: AnswerForm::WithoutTools,
                base_variable: "GOOGLE_GEMINI_BASE_URL",
                default_base: "https://generativelanguage.googleapis.com",
                path: "/v1beta/openai",
                keys: &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
                default_model: Some("gemini-3.5-flash"),
            },
            Self::OpenRouter => Row {
                name: "openrouter",
                protocol: chat,
                search: None,
                answers: AnswerForm::Never,
                base_variable: "OPENROUTER_BASE_URL",
                default_base: "https://openrouter.ai/api/v1",
                path: "",
                keys: &["OPENROUTER_API_KEY"],
                default_model: Some("openrouter/auto"),
            },
            Self::Ollama => local("ollama", "OLLAMA_HOST", "http://127.0.0.1:11434", "/v1"),
            Self::LlamaCpp => local(
                "llamacpp",
                "LLAMACPP_BASE_URL",
                "http://127.0.0.1:8080/v1",
                "",
            ),
            Self::LmStudio => local(
                "lmstudio",
                "LMSTUDIO_BASE_URL",
                "http://127.0.0.1:1234/v1",
                "",
            ),
            Self::Vllm => local("vllm", "VLLM_BASE_URL", "http://127.0.0.1:8000/v1", ""),
        }
    }
}

impl Endpoint {
    /// Creates the endpoint of a server that only `--base-url` names. It gets no key, since
    /// none was meant for it.
    pub(crate) fn of_base_url(base_url: &str) -> Result<Self, ModelError> {
        let (base_url, query) = checked_url(TYPED_BASE, base_url)?;
        Ok(Self {
            protocol: Protocol::ChatCompletions,
            search: None,
            answers: AnswerForm::Never,
            base_url,
            query,
            base_variable: TYPED_BASE,
            key: None,
            is_openai: false,
            is_default: false,
        })
    }

    /// Returns the URL of one of the protocol's paths.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("{}/{path}{}", self.base_url, self.query)
    }

    /// Returns the URL at which it searches the web. Gemini's own protocol is beside the compatible
    /// one.
    pub(crate) fn search_url(&self, api: SearchApi, model: &str) -> String {
        let base = match api {
            SearchApi::Gemini => self
                .base_url
                .strip_suffix("/openai")
                .unwrap_or(&self.base_url),
            SearchApi::Messages | SearchApi::Responses => &self.base_url,
        };
        format!("{base}/{}{}", api.path(model), self.query)
    }

    /// Returns the source of the key, for messages.
    pub(crate) fn key_source(&self) -> String {
        self.key.as_ref().map_or_else(
            || "no variable: no key was sent".to_owned(),
            |key| key.source.clone(),
        )
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:?} at {} with the key of {}",
            self.protocol,
            self.base_url,
            self.key_source()
        )
    }
}

fn local(
    name: &'static str,
    base_variable: &'static str,
    default_base: &'static str,
    path: &'static str,
) -> Row {
    Row {
        name,
        protocol: Protocol::ChatCompletions,
        search: None,
        answers: AnswerForm::WithoutTools,
        base_variable,
        default_base,
        path,
        keys: &[],
        default_model: None,
    }
}

/// Checks that a base URL is usable and contains no secret.
///
/// # Errors
///
/// [`ModelError::Environment`] with what is wrong; the message leaves out parts that may be secret.
pub fn require_base_url(base_url: &str) -> Result<(), ModelError> {
    checked_url(TYPED_BASE, base_url).map(drop)
}

/// Returns the URL without its query, and the query with its `?`, or an empty text if there is
/// none.
fn checked_url(variable: &str, url: &str) -> Result<(String, String), ModelError> {
    // A fragment is never sent.
    let url = url.trim();
    let base = url.split(['?', '#']).next().unwrap_or(url);
    let parsed = reqwest::Url::parse(url).map_err(|error| {
        ModelError::environment(variable, format!("{base:?} is not a URL: {error}"))
    })?;
    if !matches!(parsed.scheme(), "http" | "https") || parsed.host_str().is_none() {
        let problem = format!("{base:?} is not an http:// or https:// URL");
        return Err(ModelError::environment(variable, problem));
    }
    if !parsed.username().is_empty() || parsed.password().is_some() {
        let problem =
            "the URL contains a password, which would appear in messages; use a key instead";
        return Err(ModelError::environment(variable, problem));
    }
    if parsed.query_pairs().any(|(name, _)| name != "api-version") {
        let problem = "the URL's query may contain only `api-version`, since it is recorded and \
                       shown and anything else may be a key; set a key in its provider's variable, \
                       such as OPENAI_API_KEY for a model `openai/MODEL`";
        return Err(ModelError::environment(variable, problem));
    }
    let query = parsed
        .query()
        .map_or_else(String::new, |query| format!("?{query}"));
    Ok((base.trim_end_matches('/').to_owned(), query))
}

/// Reads `OLLAMA_HOST` as Ollama does: scheme, host and port are each optional. The wildcard
/// address `0.0.0.0`, which is only for listening, becomes `127.0.0.1`.
fn ollama_url(host: &str) -> Result<(String, String), ModelError> {
    let (scheme, rest) = host
        .trim()
        .split_once("://")
        .unwrap_or(("http", host.trim()));
    let rest = rest.trim_end_matches('/');
    let rest = if rest.is_empty() || rest.starts_with(':') {
        format!("127.0.0.1{rest}")
    } else {
        rest.to_owned()
    };
    let rest = rest.replacen("0.0.0.0", "127.0.0.1", 1);
    let has_port = rest
        .rsplit_once(':')
        .is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    let port = if has_port || scheme == "https" {
        ""
    } else {
        ":11434"
    };
    checked_url("OLLAMA_HOST", &format!("{scheme}://{rest}{port}"))
}

/// Appends the provider's path unless the base URL already ends with it.
fn with_path(provider: Provider, base: &str, path: &str) -> String {
    let base = without_version(provider, base);
    if path.is_empty() || base.ends_with(path) {
        base
    } else {
        format!("{base}{path}")
    }
}

/// Removes a trailing `/v1` from the base URL if the protocol's own paths begin with it.
fn without_version(provider: Provider, base: &str) -> String {
    match provider.row().protocol {
        Protocol::Messages => base.strip_suffix("/v1").unwrap_or(base).to_owned(),
        Protocol::ChatCompletions => base.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(pairs: &[(&str, &str)]) -> Environment {
        pairs
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect()
    }

    #[test]
    fn every_way_to_say_where() {
        for (provider, pairs, typed, expected) in [
            (Provider::OpenAi, &[][..], None, "https://api.openai.com/v1"),
            (
                Provider::OpenAi,
                &[("OPENAI_BASE_URL", "http://h:1/v1/")],
                None,
                "http://h:1/v1",
            ),
            (
                Provider::OpenAi,
                &[("OPENAI_BASE_URL", "http://h:1/v1/")],
                Some("http://t/x"),
                "http://t/x",
            ),
            (Provider::Anthropic, &[], None, "https://api.anthropic.com"),
            (
                Provider::Anthropic,
                &[("ANTHROPIC_BASE_URL", "http://h/v1")],
                None,
                "http://h",
            ),
            (Provider::Anthropic, &[], Some("http://h/v1"), "http://h"),
            (
                Provider::Gemini,
                &[],
                None,
                "https://generativelanguage.googleapis.com/v1beta/openai",
            ),
            (
                Provider::Gemini,
                &[("GOOGLE_GEMINI_BASE_URL", "http://h:2")],
                None,
                "http://h:2/v1beta/openai",
            ),
            (Provider::Ollama, &[], None, "http://127.0.0.1:11434/v1"),
            (
                Provider::Ollama,
                &[("OLLAMA_HOST", "0.0.0.0")],
                None,
                "http://127.0.0.1:11434/v1",
            ),
            (
                Provider::Ollama,
                &[("OLLAMA_HOST", ":99")],
                None,
                "http://127.0.0.1:99/v1",
            ),
            (
                Provider::Ollama,
                &[("OLLAMA_HOST", "box:99")],
                None,
                "http://box:99/v1",
            ),
            (
                Provider::Ollama,
                &[("OLLAMA_HOST", "https://box/")],
                None,
                "https://box/v1",
            ),
            (Provider::Vllm, &[], None, "http://127.0.0.1:8000/v1"),
        ] {
            let endpoint = provider.endpoint(&environment(pairs), typed).unwrap();
            assert_eq!(
                endpoint.base_url, expected,
                "{provider:?} {pairs:?} {typed:?}"
            );
        }
    }

    const HIDDEN: &str = "use OPENAI_BASE_URL: the URL's query may contain only `api-version`, \
                          since it is recorded and shown and anything else may be a key; set a key \
                          in its provider's variable, such as OPENAI_API_KEY for a model \
                          `openai/MODEL`";

    #[test]
    fn a_bad_base_is_named_with_its_variable() {
        for (url, problem) in [
            (
                "localhost",
                "use OPENAI_BASE_URL: \"localhost\" is not a URL: relative URL without a base",
            ),
            (
                "file:///etc",
                "use OPENAI_BASE_URL: \"file:///etc\" is not an http:// or https:// URL",
            ),
            (
                "http://u:p@h",
                "use OPENAI_BASE_URL: the URL contains a password, which would appear in messages; \
                 use a key instead",
            ),
            ("http://h/v1?key=SECRET", HIDDEN),
            ("http://h/v1?api-version=1&SECRET", HIDDEN),
            (
                "h/v1?key=SECRET",
                "use OPENAI_BASE_URL: \"h/v1\" is not a URL: relative URL without a base",
            ),
        ] {
            let error = Provider::OpenAi
                .endpoint(&environment(&[("OPENAI_BASE_URL", url)]), None)
                .unwrap_err();
            assert_eq!(error.to_string(), problem);
        }
    }

    #[test]
    fn keys_are_found_and_never_shown() {
        let pairs = [("ANTHROPIC_AUTH_TOKEN", "tok"), ("GOOGLE_API_KEY", "g")];
        let endpoint = Provider::Anthropic
            .endpoint(&environment(&pairs), None)
            .unwrap();
        let key = endpoint.key.clone().unwrap();
        assert_eq!((key.secret.as_str(), key.is_bearer), ("tok", true));
        assert_eq!(
            format!("{endpoint:?}"),
            "Messages at https://api.anthropic.com with the key of ANTHROPIC_AUTH_TOKEN"
        );
        assert!(Provider::Gemini.has_key(&environment(&pairs)));
        assert!(!Provider::OpenAi.has_key(&environment(&pairs)));
    }
}
