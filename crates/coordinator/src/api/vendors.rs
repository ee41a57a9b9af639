//! Which providers get a run's requests: those that the user has chosen, and those that a plan, a
//! role or the project chooses, which need the user's consent.

use std::collections::BTreeSet;

use orchestrate_core::Task;
use orchestrate_core::task::Work;
use orchestrate_model::{Environment, ModelName, Models, Preferences, Provider, Vendor};
use orchestrate_settings::Loaded;

use crate::error::CoordinatorError;
use crate::texts::roles::{FoundRole, Roles};

/// The providers of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Vendors {
    /// The names of the providers that the user allows: those of the user's own models (of flags,
    /// the environment, the configuration and the user's roles), else of the model that is chosen
    /// if nobody names one, and those that `allowed_providers` lists.
    pub allowed: BTreeSet<String>,
    /// The other ones, each once.
    pub unasked: Vec<UnaskedVendor>,
}

/// A provider that a plan, a role or the project chooses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnaskedVendor {
    /// The provider, and where its requests go.
    pub vendor: Vendor,
    /// The model that is named.
    pub model: String,
    /// Where, in words.
    pub place: String,
}

/// A model, and where it is named, in words.
struct Named<'a> {
    model: &'a str,
    place: String,
}

/// Determines the providers that the tasks of a plan use.
///
/// # Errors
///
/// Fails if a model's name, a role or a provider's endpoint is not valid.
pub fn vendors_of(
    loaded: &Loaded,
    roles: &Roles,
    tasks: &[Task],
) -> Result<Vendors, CoordinatorError> {
    let models = models_of(loaded);
    let mut vendors = Vendors {
        allowed: allowed(loaded, roles, &models)?,
        unasked: Vec::new(),
    };
    for task in tasks.iter().filter(|task| task.status.runs()) {
        let Work::Agent(agent) = &task.work else {
            continue;
        };
        let role = roles.found(agent.as_deref().unwrap_or(&loaded.run.agent))?;
        for named in named_by_others(loaded, role, task) {
            vendors.add(&models, &named)?;
        }
    }
    Ok(vendors)
}

/// Returns a provider with the endpoint that its requests go to; `None` if they do not leave this
/// machine.
///
/// # Errors
///
/// Fails if there is no such provider, or its endpoint is not valid.
pub fn vendor_named(loaded: &Loaded, provider: &str) -> Result<Option<Vendor>, CoordinatorError> {
    let found = Provider::named(provider)
        .ok_or_else(|| CoordinatorError::NoSuchProvider(provider.to_owned()))?;
    Ok(models_of(loaded).vendor_of(found)?)
}

impl Vendors {
    fn add(&mut self, models: &Models, named: &Named<'_>) -> Result<(), CoordinatorError> {
        let Some(vendor) = models.vendor(&ModelName::parse(named.model)?)? else {
            return Ok(());
        };
        let is_known = self.unasked.iter().any(|unasked| unasked.vendor == vendor);
        if !is_known && !self.allowed.contains(&vendor.provider) {
            let (model, place) = (named.model.to_owned(), named.place.clone());
            self.unasked.push(UnaskedVendor {
                vendor,
                model,
                place,
            });
        }
        Ok(())
    }
}

fn models_of(loaded: &Loaded) -> Models {
    let environment: Environment = loaded.environment.clone().into_iter().collect();
    Models::new(environment, loaded.resolved.text("base_url"))
}

fn allowed(
    loaded: &Loaded,
    roles: &Roles,
    models: &Models,
) -> Result<BTreeSet<String>, CoordinatorError> {
    let mut allowed: BTreeSet<String> = loaded
        .resolved
        .list("allowed_providers")
        .into_iter()
        .collect();
    for provider in &allowed {
        Provider::named(provider)
            .ok_or_else(|| CoordinatorError::NoSuchProvider(provider.clone()))?;
    }
    let mut own: Vec<ModelName> = Vec::new();
    for model in &loaded.resolved.own_models {
        own.push(ModelName::parse(model)?);
    }
    if own.is_empty() {
        own.extend(models.choose_offline(&Preferences::default()));
    }
    for (_, found) in roles.iter().filter(|(_, found)| !found.is_of_project) {
        let fallbacks = found.role.fallback.iter().flatten();
        for model in found.role.model.iter().chain(fallbacks) {
            own.push(ModelName::parse(model)?);
        }
    }
    for model in own {
        allowed.extend(models.vendor(&model)?.map(|vendor| vendor.provider));
    }
    Ok(allowed)
}

/// Returns the models that a task's agent would use and that others than the user name.
fn named_by_others<'a>(loaded: &'a Loaded, found: &'a FoundRole, task: &'a Task) -> Vec<Named<'a>> {
    let (run, role) = (&loaded.run, &found.role);
    let mut named = Vec::new();
    let of_role = || format!("the role `{}` ({})", role.name, found.origin);
    let of_project = |key: &str| {
        let place = loaded
            .resolved
            .chosen
            .get(key)
            .and_then(|chosen| chosen.place.as_ref());
        place.map_or_else(|| format!("`{key}`"), |place| format!("`{key}` of {place}"))
    };
    let model = if run.model.is_some() {
        None
    } else if let Some(model) = &task.model {
        Some(Named {
            model,
            place: format!("the task {} of the plan", task.id),
        })
    } else if let Some(model) = &run.plan_model {
        Some(Named {
            model,
            place: "the plan".to_owned(),
        })
    } else if let Some(model) = &role.model {
        Some(Named {
            model,
            place: of_role(),
        })
    } else {
        run.default_model.as_ref().map(|model| Named {
            model,
            place: of_project("model"),
        })
    };
    named.extend(model);
    if run.fallback_models.is_empty() {
        let (models, place) = match &role.fallback {
            Some(of_role_itself) => (of_role_itself, of_role()),
            None => (&run.default_fallback_models, of_project("fallback_models")),
        };
        named.extend(models.iter().map(|model| Named {
            model,
            place: place.clone(),
        }));
    }
    named
}
