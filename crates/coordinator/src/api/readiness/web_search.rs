//! Which service `web_search` asks, and what is missing for it; nothing is asked for that.

use std::collections::BTreeSet;

use orchestrate_core::Task;
use orchestrate_core::agent::price::dollars;
use orchestrate_core::policy::web::WebServiceName;
use orchestrate_core::task::Work;
use orchestrate_model::{Environment, ModelName, Models};

use crate::texts::models::preferences;
use crate::texts::roles::Roles;
use orchestrate_settings::Loaded;

/// The tool.
const TOOL: &str = "web_search";
/// The setting.
const SETTING: &str = "tools.web_requests.search_service";

/// The service that `web_search` asks.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SearchService {
    /// None is chosen.
    None,
    /// This one.
    InForce(String),
    /// This one, which cannot be asked.
    Unusable(String),
}

impl SearchService {
    /// Returns the service for agents with this model, if that is known.
    pub(crate) fn for_model(loaded: &Loaded, model: Option<&ModelName>) -> SearchService {
        let web = &loaded.run.tool_settings.web_requests;
        let Some(service) = web.search_service else {
            return SearchService::None;
        };
        let environment: Environment = loaded.environment.clone().into_iter().collect();
        if service == WebServiceName::Model {
            let models = Models::new(environment, loaded.resolved.text("base_url"));
            return of_model(&models.with_prices(loaded.run.prices.clone()), model);
        }
        let name = service.as_str();
        let Some(url) = web
            .services
            .get(&service)
            .map(String::as_str)
            .or(service.own_url())
        else {
            return SearchService::Unusable(format!(
                "{name} has no address of its own; set it in `tools.web_requests.services` as \
                 `{name}=URL`"
            ));
        };
        let key = service
            .credential()
            .filter(|credential| credential.is_required);
        let variable = key.and_then(|key| key.variables.first().copied());
        let is_missing = |variable: &&str| !matches!(environment.value(variable), Ok(Some(_)));
        match variable.filter(is_missing) {
            Some(variable) => SearchService::Unusable(format!(
                "{name} requires a key in {variable}, which is not set"
            )),
            None => SearchService::InForce(format!("{name} at {url}")),
        }
    }

    /// Returns the services of the agents of these tasks that search, each with the warning or note
    /// about it.
    pub fn of_tasks(loaded: &Loaded, roles: &Roles, tasks: &[Task]) -> BTreeSet<SearchService> {
        let environment: Environment = loaded.environment.clone().into_iter().collect();
        let models = Models::new(environment, loaded.resolved.text("base_url"));
        let of_task = |task: &Task| {
            let Work::Agent(agent) = &task.work else {
                return None;
            };
            let role = roles
                .role(agent.as_deref().unwrap_or(&loaded.run.agent))
                .ok()?;
            let model = models.choose_offline(&preferences(&loaded.run, task, role));
            roles
                .grants(role, TOOL)
                .then(|| SearchService::for_model(loaded, model.as_ref()))
        };
        tasks
            .iter()
            .filter(|task| task.status.runs())
            .filter_map(of_task)
            .collect()
    }

    /// Returns what is to be said about it, and whether it is a warning.
    pub fn told(&self) -> (String, bool) {
        match self {
            SearchService::None => {
                let choices = "searxng, brave, tavily or model";
                (
                    format!(
                        "no service is chosen, so `{TOOL}` finds nothing; set `{SETTING}` to \
                         {choices}"
                    ),
                    true,
                )
            }
            SearchService::InForce(service) => (format!("`{TOOL}` asks {service}"), false),
            SearchService::Unusable(why) => (format!("`{TOOL}` finds nothing: {why}"), true),
        }
    }
}

fn of_model(models: &Models, model: Option<&ModelName>) -> SearchService {
    let each = "each search is a request that the budgets cover";
    let Some(model) = model else {
        return SearchService::InForce(format!("the endpoint of the agent's model; {each}"));
    };
    if let Err(error) = models.require_search(model) {
        return SearchService::Unusable(format!("failed to {error}"));
    }
    let fee = match models.search_price(model) {
        Ok(price) => format!("{} and its tokens", dollars(price.search)),
        Err(_) => "a price that is not known".to_owned(),
    };
    SearchService::InForce(format!("the endpoint of {model}; {each}, at {fee}"))
}
