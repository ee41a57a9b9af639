//! Chooses a model if several sources, or none, name one, and finds the models of local servers.

use std::time::Duration;

use serde_json::Value;

use crate::error::{ModelError, NoneFound};
use crate::known::catalog::Models;
use crate::name::ModelName;
use crate::provider::{Endpoint, Provider};

/// Timeout for the model list of a local server, which is on this machine and has its list ready.
const LOCAL_TIMEOUT: Duration = Duration::from_millis(500);
/// Maximum size of a model list in bytes.
const MAX_LIST_BYTES: usize = 4 << 20;

/// The models named by the user's sources, in descending precedence.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Preferences {
    /// From `--model`, or its variable.
    pub flag: Option<String>,
    /// From the plan or the task.
    pub plan: Option<String>,
    /// From the role.
    pub role: Option<String>,
    /// From the project's or the user's configuration.
    pub configured: Option<String>,
}

/// The chosen model, and the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The model's name.
    pub name: ModelName,
    /// The reason, for display.
    pub why: String,
}

/// A server on this machine that answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalServer {
    /// The kind of server, by the endpoint at which it answered.
    pub provider: Provider,
    /// The base URL, including the provider's path.
    pub base_url: String,
    /// The models that it lists, without embedding models; never empty.
    pub models: Vec<String>,
}

impl Models {
    /// Chooses the model of a task as [`Models::choose`] does, without asking any server; `None` if
    /// that is needed.
    pub fn choose_offline(&self, preferences: &Preferences) -> Option<ModelName> {
        if let Some((text, _)) = preferred(preferences) {
            return ModelName::parse(&text).ok();
        }
        if self.base_url.is_some() {
            return None;
        }
        let mut providers = Provider::WITH_KEYS.into_iter();
        providers.find_map(|provider| self.default_of(provider))
    }

    /// Returns the default model of a provider that has a key.
    fn default_of(&self, provider: Provider) -> Option<ModelName> {
        if !provider.has_key(&self.environment) {
            return None;
        }
        Some(ModelName::Hosted {
            provider,
            model: provider.default_model()?.to_owned(),
        })
    }

    /// Returns the variable that holds the key of a provider, without `_FILE`.
    fn key_variable(&self, provider: Provider) -> Option<&'static str> {
        let mut variables = provider.key_variables().iter().copied();
        variables.find(|variable| self.environment.has(variable))
    }

    /// Chooses the model of a task: the first preference; else the first model that the
    /// `--base-url` server lists, if one is given; else the default of the first provider with a
    /// key; else the first model of the first local server that answers.
    ///
    /// # Errors
    ///
    /// [`ModelError::NoModel`] if there is none, with the ways to name one.
    pub async fn choose(&self, preferences: &Preferences) -> Result<Choice, ModelError> {
        if let Some((text, why)) = preferred(preferences) {
            return Ok(Choice {
                name: ModelName::parse(&text)?,
                why: why.to_owned(),
            });
        }
        if let Some(url) = &self.base_url {
            return self.first_at(url).await;
        }
        for provider in Provider::WITH_KEYS {
            if let Some(name) = self.default_of(provider)
                && let Some(variable) = self.key_variable(provider)
            {
                let why = format!("{variable} is set");
                return Ok(Choice { name, why });
            }
        }
        for server in self.local_servers().await {
            if let Some(model) = server.models.into_iter().next() {
                let provider = server.provider;
                return Ok(Choice {
                    name: ModelName::Hosted { provider, model },
                    why: format!("a local server responds at {}", server.base_url),
                });
            }
        }
        Err(ModelError::NoModel(self.no_endpoint()))
    }

    /// Asks the usual local servers for their models, concurrently, and returns those that
    /// answer, in a fixed order.
    pub async fn local_servers(&self) -> Vec<LocalServer> {
        let [first, second, third, fourth] = Provider::LOCAL;
        let (first, second, third, fourth) = tokio::join!(
            self.local(first),
            self.local(second),
            self.local(third),
            self.local(fourth)
        );
        [first, second, third, fourth]
            .into_iter()
            .flatten()
            .collect()
    }

    /// Returns the providers that have a key, each with the variable that holds it.
    pub fn keys(&self) -> Vec<(Provider, String)> {
        let mut keys = Vec::new();
        for provider in Provider::WITH_KEYS {
            if let Some(variable) = self.key_variable(provider) {
                keys.push((provider, self.environment.source(variable)));
            }
        }
        keys
    }

    /// Lists the models of the endpoint behind a name. The single request also shows whether the
    /// endpoint responds and accepts the key.
    ///
    /// # Errors
    ///
    /// Fails with the same errors as a request to the model.
    pub async fn list(&self, name: &ModelName) -> Result<Vec<String>, ModelError> {
        let remote = self.remote(name)?;
        let list = remote.list(MAX_LIST_BYTES).await?;
        Ok(ids(&list))
    }

    async fn first_at(&self, url: &str) -> Result<Choice, ModelError> {
        let models = self.models_at(&Endpoint::of_base_url(url)?).await;
        match models.into_iter().flatten().next() {
            Some(model) => Ok(Choice {
                name: ModelName::Other(model),
                why: format!("the first model listed by {url}"),
            }),
            None => Err(ModelError::NoModel(NoneFound::NoneListed {
                url: url.to_owned(),
            })),
        }
    }

    async fn local(&self, provider: Provider) -> Option<LocalServer> {
        let endpoint = provider.endpoint(&self.environment, None).ok()?;
        let models = self.models_at(&endpoint).await?;
        (!models.is_empty()).then_some(LocalServer {
            provider,
            base_url: endpoint.base_url,
            models,
        })
    }

    /// Returns the models of a server, without embedding models, which cannot hold a conversation;
    /// `None` if there is no valid answer.
    async fn models_at(&self, endpoint: &Endpoint) -> Option<Vec<String>> {
        let url = endpoint.url("models");
        let http = self.http().ok()?;
        let body = tokio::time::timeout(LOCAL_TIMEOUT, async {
            let mut response = http.get(url).send().await.ok()?;
            let mut body = Vec::new();
            while let Some(bytes) = response.chunk().await.ok()? {
                body.extend_from_slice(&bytes);
                if body.len() > MAX_LIST_BYTES {
                    return None;
                }
            }
            Some(body)
        });
        let list: Value = serde_json::from_slice(&body.await.ok()??).ok()?;
        Some(
            ids(&list)
                .into_iter()
                .filter(|id| !id.contains("embed"))
                .collect(),
        )
    }

    fn no_endpoint(&self) -> NoneFound {
        let keys = Provider::WITH_KEYS
            .iter()
            .filter_map(|provider| provider.key_variables().first().copied())
            .collect();
        let mut local = Vec::new();
        for provider in Provider::LOCAL {
            if let Ok(endpoint) = provider.endpoint(&self.environment, None) {
                local.push(format!("{} at {}", provider.name(), endpoint.base_url));
            }
        }
        NoneFound::NoEndpoint { keys, local }
    }
}

fn preferred(preferences: &Preferences) -> Option<(String, &'static str)> {
    let Preferences {
        flag,
        plan,
        role,
        configured,
    } = preferences;
    let sources = [
        (flag, "as requested"),
        (plan, "the plan"),
        (role, "the role"),
        (configured, "the configuration"),
    ];
    sources
        .into_iter()
        .find_map(|(text, why)| Some((text.clone()?, why)))
}

/// Extracts the ids from a list of models, which has the same form in both protocols.
fn ids(list: &Value) -> Vec<String> {
    let models = list.get("data").and_then(Value::as_array);
    models.into_iter().flatten().filter_map(id_of).collect()
}

fn id_of(model: &Value) -> Option<String> {
    model.get("id").and_then(Value::as_str).map(str::to_owned)
}

#[cfg(test)]
mod tests;
