//! The models of a run's agents.
//!
//! A library user, or a test, may provide one model for everything; otherwise the model crate opens
//! them by name.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use orchestrate_core::agent::model_search::SearchPrice;
use orchestrate_core::{ModelReply, Price, Redactor, RunSettings, Task};
use orchestrate_model::{
    Environment, Model, ModelError, ModelName, Preferences, Redacting, retried,
};
use orchestrate_roles::Role;

use crate::error::CoordinatorError;

/// Returns the sources that choose the model of a task's agent.
pub(crate) fn preferences(settings: &RunSettings, task: &Task, role: &Role) -> Preferences {
    Preferences {
        flag: settings.model.clone(),
        plan: task.model.clone().or_else(|| settings.plan_model.clone()),
        role: role.model.clone(),
        configured: settings.default_model.clone(),
    }
}

/// Returns the models that take over while the endpoint of an agent's model is out, in order and
/// each once.
pub(crate) fn fallbacks<'a>(
    settings: &'a RunSettings,
    role: &'a Role,
    model: &str,
) -> Vec<&'a str> {
    let named = match (settings.fallback_models.as_slice(), &role.fallback) {
        ([], Some(of_role)) => of_role,
        ([], None) => &settings.default_fallback_models,
        (typed, _) => typed,
    };
    let mut once: Vec<&str> = Vec::new();
    for name in named
        .iter()
        .map(String::as_str)
        .filter(|name| *name != model)
    {
        if !once.contains(&name) {
            once.push(name);
        }
    }
    once
}

/// The models of one run.
pub(crate) struct Models {
    given: Option<Arc<dyn Model>>,
    catalogue: orchestrate_model::Models,
    /// Replies in the journal when this process started, from which scripts count their matches.
    recorded: Vec<ModelReply>,
}

impl Models {
    pub(crate) fn new(
        given: Option<Arc<dyn Model>>,
        environment: Environment,
        base_url: Option<String>,
    ) -> Self {
        Self {
            given,
            catalogue: orchestrate_model::Models::new(environment, base_url),
            recorded: Vec::new(),
        }
    }

    /// Makes scripted models take this long for each reply.
    pub(crate) fn with_script_pace(mut self, pace: Duration) -> Self {
        self.catalogue = self.catalogue.with_script_pace(pace);
        self
    }

    /// Sets how long a request is repeated while its endpoint does not answer.
    pub(crate) fn with_patience(mut self, patience: Duration) -> Self {
        self.given = self.given.map(|given| retried(given, patience));
        self.catalogue = self.catalogue.with_patience(patience);
        self
    }

    /// Redacts these secrets in all replies.
    pub(crate) fn with_redactor(mut self, redactor: Redactor) -> Self {
        let given = self.given.take();
        self.given =
            given.map(|given| Arc::new(Redacting::new(given, redactor.clone())) as Arc<dyn Model>);
        self.catalogue = self.catalogue.with_redactor(redactor);
        self
    }

    /// Sets the replies that the run's journal contains already.
    pub(crate) fn with_recorded(mut self, recorded: Vec<ModelReply>) -> Self {
        self.recorded = recorded;
        self
    }

    /// Chooses the model of an agent from these sources.
    pub(crate) async fn choose(&self, preferences: &Preferences) -> Result<String, ModelError> {
        if self.given.is_some() {
            let named = preferences
                .flag
                .as_ref()
                .or(preferences.plan.as_ref())
                .or(preferences.role.as_ref());
            return Ok(named.cloned().unwrap_or_else(|| "given".to_owned()));
        }
        Ok(self.catalogue.choose(preferences).await?.name.to_string())
    }

    /// Requires that a model's requests go to an allowed provider, or do not leave this machine. A
    /// given model is the program's own choice.
    pub(crate) fn require_allowed(
        &self,
        name: &str,
        settings: &RunSettings,
    ) -> Result<(), ModelError> {
        match &self.given {
            Some(_) => Ok(()),
            None => self.catalogue.require_allowed(
                &ModelName::parse(name)?,
                settings.allowed_providers.as_ref(),
            ),
        }
    }

    /// Reports whether a model could be opened.
    pub(crate) fn check(&self, name: &str) -> Result<(), ModelError> {
        match &self.given {
            Some(_) => Ok(()),
            None => self.catalogue.check(&ModelName::parse(name)?),
        }
    }

    /// Sets the user's own prices, by the model's name.
    pub(crate) fn with_prices(mut self, prices: BTreeMap<String, Price>) -> Self {
        self.catalogue = self.catalogue.with_prices(prices);
        self
    }

    /// Returns the price of a model.
    pub(crate) fn price(&self, name: &str) -> Result<Price, ModelError> {
        self.catalogue.price(&ModelName::parse(name)?)
    }

    /// Returns what searches of the web by a model's endpoint cost.
    pub(crate) fn search_price(&self, name: &str) -> Result<SearchPrice, ModelError> {
        self.catalogue.search_price(&ModelName::parse(name)?)
    }

    /// Requires that a model's endpoint has a search of the web. Whether a given model has one is
    /// known once it is asked.
    pub(crate) fn require_search(&self, name: &str) -> Result<(), ModelError> {
        match &self.given {
            Some(_) => Ok(()),
            None => self.catalogue.require_search(&ModelName::parse(name)?),
        }
    }

    /// Returns the maximum size of a request to a model that leaves room for a reply of this size,
    /// in tokens; `None` if the model's context window is not known.
    pub(crate) fn request_window(&self, name: &str, max_output_tokens: u32) -> Option<u64> {
        let window = ModelName::parse(name).ok()?.context_window()?;
        Some(window.saturating_sub(u64::from(max_output_tokens)))
    }

    /// Opens a model by its name.
    pub(crate) fn model(&self, name: &str) -> Result<Arc<dyn Model>, ModelError> {
        match &self.given {
            Some(given) => Ok(Arc::clone(given)),
            None => self
                .catalogue
                .open(&ModelName::parse(name)?, &self.recorded),
        }
    }
}

/// Reports whether a name refers to scripted replies.
pub(crate) fn is_script(name: &str) -> bool {
    matches!(ModelName::parse(name), Ok(ModelName::Script(_)))
}

/// Returns a model's name with the path of a script made absolute; other names are unchanged.
pub(crate) fn anchored(name: &str) -> Result<String, CoordinatorError> {
    match ModelName::parse(name) {
        Ok(ModelName::Script(file)) => {
            let path = std::path::absolute(&file).map_err(CoordinatorError::at(file))?;
            Ok(ModelName::Script(path).to_string())
        }
        // Opening the model reports an invalid name.
        _ => Ok(name.to_owned()),
    }
}
