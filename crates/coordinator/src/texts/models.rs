//! Which model answers which agent.
//!
//! A library user, or a test, may give one model for everything; otherwise names are opened by the model crate.

use std::sync::Arc;
use std::time::Duration;

use orchestrate_core::{ModelReply, Redactor, RunSettings, Task};
use orchestrate_model::{Environment, Model, ModelError, ModelName, Preferences, Redacting};
use orchestrate_plan::Role;

use crate::error::CoordinatorError;

/// Returns what says which model a task's agent has.
pub(crate) fn preferences(settings: &RunSettings, task: &Task, role: &Role) -> Preferences {
    Preferences {
        flag: settings.model.clone(),
        plan: task.model.clone().or_else(|| settings.plan_model.clone()),
        role: role.model.clone(),
        configured: settings.default_model.clone(),
    }
}

/// The models of one run.
pub(crate) struct Models {
    given: Option<Arc<dyn Model>>,
    catalogue: orchestrate_model::Models,
    /// Replies that the journal held when this process began; scripts count by them.
    recorded: Vec<ModelReply>,
}

impl Models {
    pub(crate) fn new(given: Option<Arc<dyn Model>>, environment: Environment, base_url: Option<String>) -> Self {
        Self { given, catalogue: orchestrate_model::Models::new(environment, base_url), recorded: Vec::new() }
    }

    /// Makes scripted models take that long for each reply.
    pub(crate) fn with_script_pace(mut self, pace: Duration) -> Self {
        self.catalogue = self.catalogue.with_script_pace(pace);
        self
    }

    /// Keeps these secrets out of everything that models say.
    pub(crate) fn with_redactor(mut self, redactor: Redactor) -> Self {
        let given = self.given.take();
        self.given = given.map(|given| Arc::new(Redacting::new(given, redactor.clone())) as Arc<dyn Model>);
        self.catalogue = self.catalogue.with_redactor(redactor);
        self
    }

    /// Takes the replies that the run's journal holds already.
    pub(crate) fn with_recorded(mut self, recorded: Vec<ModelReply>) -> Self {
        self.recorded = recorded;
        self
    }

    /// Chooses the model of an agent by what its sources say.
    pub(crate) async fn choose(&self, preferences: &Preferences) -> Result<String, ModelError> {
        if self.given.is_some() {
            let named = preferences.flag.as_ref().or(preferences.plan.as_ref()).or(preferences.role.as_ref());
            return Ok(named.cloned().unwrap_or_else(|| "given".to_owned()));
        }
        Ok(self.catalogue.choose(preferences).await?.name.to_string())
    }

    /// Reports whether a model could be opened.
    pub(crate) fn check(&self, name: &str) -> Result<(), ModelError> {
        match &self.given {
            Some(_) => Ok(()),
            None => self.catalogue.check(&ModelName::parse(name)?),
        }
    }

    /// Opens a model by the name that was chosen.
    pub(crate) fn model(&self, name: &str) -> Result<Arc<dyn Model>, ModelError> {
        match &self.given {
            Some(given) => Ok(Arc::clone(given)),
            None => self.catalogue.open(&ModelName::parse(name)?, &self.recorded),
        }
    }
}

/// Reports whether a name is that of scripted replies.
pub(crate) fn is_script(name: &str) -> bool {
    matches!(ModelName::parse(name), Ok(ModelName::Script(_)))
}

/// Returns a model's name with the path of a script made absolute; any other name as it is.
pub(crate) fn anchored(name: &str) -> Result<String, CoordinatorError> {
    match ModelName::parse(name) {
        Ok(ModelName::Script(file)) => {
            let path = std::path::absolute(&file).map_err(|source| CoordinatorError::Io { path: file, source })?;
            Ok(ModelName::Script(path).to_string())
        }
        // What is no name is told by whoever opens it.
        _ => Ok(name.to_owned()),
    }
}
