//! Opens models by name, and shares connections, rate gates and scripts between all agents.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use orchestrate_core::collections::Mutex;
use orchestrate_core::event::settings::OUTAGE_PATIENCE_MS;
use orchestrate_core::{ModelReply, Price, Redactor, Secret};
use reqwest::{Client, NoProxy, Proxy};

use crate::environment::Environment;
use crate::error::{ModelError, TYPED_BASE};
use crate::model::Model;
use crate::name::ModelName;
use crate::provider::Endpoint;
use crate::request::account::Account;
use crate::request::rate_gate::RateGate;
use crate::request::redacting::Redacting;
use crate::request::retry::Retrying;
use crate::request::transport::{Learnt, Remote, Timeouts};
use crate::scripted::ScriptedModel;

/// Timeout for establishing a connection; a server that needs longer is considered unreachable.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// All models that a run can use.
#[derive(Debug)]
pub struct Models {
    pub(crate) environment: Environment,
    pub(crate) base_url: Option<String>,
    /// The user's own prices, by the model's name.
    pub(crate) prices: BTreeMap<String, Price>,
    script_pace: Duration,
    timeouts: Timeouts,
    redactor: Redactor,
    /// Created with the first remote model: a scripted run needs no certificates.
    http: Mutex<Option<Client>>,
    shared: Mutex<HashMap<EndpointKey, Shared>>,
    accounts: Mutex<HashMap<(String, String), Arc<Account>>>,
    patience: Duration,
    scripts: Mutex<HashMap<ModelName, Arc<ScriptedModel>>>,
}

/// A model of an endpoint with a key: the unit by which a provider limits requests.
#[derive(Debug, PartialEq, Eq, Hash)]
struct EndpointKey {
    base_url: String,
    /// The source of the key, which identifies it: within one environment each source holds one
    /// key.
    key_source: String,
    model: String,
}

/// The state shared by all agents that use one model of one endpoint, however often it is opened.
#[derive(Clone, Debug, Default)]
struct Shared {
    gate: Arc<RateGate>,
    learnt: Arc<Learnt>,
}

impl Models {
    /// Creates the catalogue of one environment; `base_url` is the value of `--base-url`. Secrets
    /// in either are redacted.
    pub fn new(environment: Environment, base_url: Option<String>) -> Self {
        let of_url = base_url
            .iter()
            .flat_map(|url| Secret::in_url(TYPED_BASE, url));
        Self {
            redactor: Redactor::new(environment.secrets().into_iter().chain(of_url)),
            environment,
            base_url,
            prices: BTreeMap::new(),
            script_pace: Duration::ZERO,
            timeouts: Timeouts::default(),
            http: Mutex::default(),
            shared: Mutex::default(),
            accounts: Mutex::default(),
            patience: Duration::from_millis(OUTAGE_PATIENCE_MS),
            scripts: Mutex::default(),
        }
    }

    /// Delays each reply of scripted models, so that agents visibly work at the same time.
    #[must_use]
    pub fn with_script_pace(mut self, pace: Duration) -> Self {
        self.script_pace = pace;
        self
    }

    /// Sets how long a request is repeated while its endpoint does not answer.
    #[must_use]
    pub fn with_patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Replaces the redactor that is applied to everything that models send.
    #[must_use]
    pub fn with_redactor(mut self, redactor: Redactor) -> Self {
        self.redactor = redactor;
        self
    }

    /// Opens a model.
    ///
    /// `recorded` are the replies that the run's journal already holds; only scripts use them, and
    /// only when opened for the first time. Opening a model again returns the same script, or
    /// shares the rate gate and what is known about the server.
    ///
    /// # Errors
    ///
    /// Fails if the name is unknown, the key is missing, or the script cannot be read.
    pub fn open(
        &self,
        name: &ModelName,
        recorded: &[ModelReply],
    ) -> Result<Arc<dyn Model>, ModelError> {
        match name {
            ModelName::Script(file) => Ok(Arc::new(Redacting::new(
                self.script(name, file, recorded)?,
                self.redactor.clone(),
            ))),
            ModelName::Replay(_) => Err(invalid(name, "`replay:` is not available yet")),
            ModelName::Hosted { .. } | ModelName::Other(_) => {
                let remote = self.remote(name)?;
                let gate = self.shared(&remote.endpoint, &remote.model).gate;
                let account = self.account(&remote.endpoint);
                let retrying = Retrying::new(remote, gate, account, self.patience);
                Ok(Arc::new(Redacting::new(retrying, self.redactor.clone())))
            }
        }
    }

    /// Checks a name as [`Models::open`] does, without keeping a script and without using the
    /// network.
    ///
    /// # Errors
    ///
    /// Fails if the name is unknown, its key is missing, or its script cannot be read.
    pub fn check(&self, name: &ModelName) -> Result<(), ModelError> {
        match name {
            ModelName::Script(file) if !file.is_file() => Err(ModelError::Script {
                file: file.clone(),
                line: 0,
                problem: "no such file".to_owned(),
            }),
            ModelName::Script(file) => ScriptedModel::load(file).map(drop),
            ModelName::Replay(_) => Err(invalid(name, "`replay:` is not available yet")),
            ModelName::Hosted { .. } | ModelName::Other(_) => self.endpoint(name).map(|_| ()),
        }
    }

    fn script(
        &self,
        name: &ModelName,
        file: &Path,
        recorded: &[ModelReply],
    ) -> Result<Arc<ScriptedModel>, ModelError> {
        let mut scripts = self.scripts.lock();
        if let Some(script) = scripts.get(name) {
            return Ok(Arc::clone(script));
        }
        let script = Arc::new(
            ScriptedModel::load(file)?
                .paced(self.script_pace)
                .resume(recorded),
        );
        scripts.insert(name.clone(), Arc::clone(&script));
        Ok(script)
    }

    /// Creates the client of a remote model, which does not retry.
    pub(crate) fn remote(&self, name: &ModelName) -> Result<Remote, ModelError> {
        let model = match name {
            ModelName::Hosted { model, .. } | ModelName::Other(model) => model.clone(),
            ModelName::Script(_) | ModelName::Replay(_) => {
                return Err(invalid(name, "it has no endpoint"));
            }
        };
        let endpoint = self.endpoint(name)?;
        Ok(Remote {
            http: self.http()?,
            name: name.to_string(),
            timeouts: self.timeouts,
            redactor: self.redactor.clone(),
            learnt: self.shared(&endpoint, &model).learnt,
            endpoint,
            model,
        })
    }

    pub(crate) fn endpoint(&self, name: &ModelName) -> Result<Endpoint, ModelError> {
        let base_url = self.base_url.as_deref();
        let (provider, endpoint) = match (name, base_url) {
            (ModelName::Hosted { provider, .. }, _) => {
                (*provider, provider.endpoint(&self.environment, base_url)?)
            }
            (_, Some(url)) => return Endpoint::of_base_url(url),
            (_, None) => {
                return Err(invalid(
                    name,
                    "no such provider; write openai/…, anthropic/…, gemini/…, openrouter/…, \
                     ollama/…, llamacpp/…, lmstudio/…, vllm/… or script:FILE, or name its server \
                     (`base_url`)",
                ));
            }
        };
        match provider.key_variables().first() {
            Some(variable) if endpoint.key.is_none() && endpoint.is_default => {
                let (model, variable) = (name.to_string(), (*variable).to_owned());
                Err(ModelError::MissingKey {
                    model,
                    endpoint: endpoint.base_url,
                    variable,
                })
            }
            _ => Ok(endpoint),
        }
    }

    fn shared(&self, endpoint: &Endpoint, model: &str) -> Shared {
        let (base_url, key_source) = (endpoint.base_url.clone(), endpoint.key_source());
        let place = EndpointKey {
            base_url,
            key_source,
            model: model.to_owned(),
        };
        self.shared.lock().entry(place).or_default().clone()
    }

    fn account(&self, endpoint: &Endpoint) -> Arc<Account> {
        let place = (endpoint.base_url.clone(), endpoint.key_source());
        Arc::clone(self.accounts.lock().entry(place).or_default())
    }

    pub(crate) fn http(&self) -> Result<Client, ModelError> {
        let mut http = self.http.lock();
        if let Some(client) = &*http {
            return Ok(client.clone());
        }
        let client = client(&self.environment)?;
        *http = Some(client.clone());
        Ok(client)
    }
}

/// Installs the TLS provider of this process, unless one is installed already.
pub fn install_tls_provider() {
    if rustls::crypto::CryptoProvider::get_default().is_none() {
        // It fails only if another thread has installed one meanwhile, which is fine too.
        let _ = rustls::crypto::ring::default_provider().install_default();
    }
}

/// Creates the HTTP client. Proxies come only from the given environment, never from files of a
/// repository.
fn client(environment: &Environment) -> Result<Client, ModelError> {
    install_tls_provider();
    let mut builder = Client::builder()
        .no_proxy()
        .redirect(reqwest::redirect::Policy::none())
        .connect_timeout(CONNECT_TIMEOUT);
    let exceptions = first_of(environment, &["no_proxy", "NO_PROXY"])?
        .and_then(|list| NoProxy::from_string(&list));
    if let Some(url) = first_of(
        environment,
        &["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"],
    )? {
        let proxy = Proxy::https(url).map_err(no_client)?;
        builder = builder.proxy(proxy.no_proxy(exceptions.clone()));
    }
    // Upper-case HTTP_PROXY is left out: a CGI server sets it from a request's header.
    if let Some(url) = first_of(environment, &["http_proxy", "all_proxy", "ALL_PROXY"])? {
        let proxy = Proxy::http(url).map_err(no_client)?;
        builder = builder.proxy(proxy.no_proxy(exceptions));
    }
    builder.build().map_err(no_client)
}

fn no_client(cause: impl std::fmt::Display) -> ModelError {
    ModelError::Setup {
        problem: cause.to_string(),
    }
}

fn first_of(environment: &Environment, names: &[&str]) -> Result<Option<String>, ModelError> {
    for name in names {
        if let Some(value) = environment.value(name)? {
            return Ok(Some(value));
        }
    }
    Ok(None)
}

fn invalid(name: &ModelName, problem: &str) -> ModelError {
    ModelError::InvalidName {
        name: name.to_string(),
        problem: problem.to_owned(),
    }
}
