//! `search_github`: repositories of GitHub, the best matches first.

use async_trait::async_trait;
use orchestrate_core::policy::web::WebServiceName;
use serde::Deserialize;
use serde_json::{Value, json};

use super::super::facts::facts;
use super::request::{Web, effects_of_services, hosts_of, text};
use crate::answer::{Answer, GitHubResult, ToolError};
use crate::tool::arguments::{given_text, invalid, read};
use crate::tool::{CallSite, Prepared, Prompt, Tool, ToolContext};

const SERVICE: WebServiceName = WebServiceName::Github;
/// Where the user's token, which is to raise the limits alone, would also find private
/// repositories: an agent that searches the web counts as one that has read nothing private.
const PUBLIC_HOST: &str = "api.github.com";
/// The number of repositories that are returned.
const RESULTS: &str = "10";

/// The `search_github` tool.
pub(crate) struct SearchGithub(pub(crate) Prompt);

#[derive(Deserialize)]
struct Arguments {
    query: String,
    language: Option<String>,
}

#[async_trait]
impl Tool for SearchGithub {
    facts!("search_github", WEB, NetworkAccess, is_default: false, is_repeatable: true);

    fn prepare(&self, _: &CallSite, arguments: Value) -> Result<Prepared, ToolError> {
        let has_quote = given_text(&arguments, "language").contains('"');
        Ok(Prepared {
            effects: effects_of_services(&[SERVICE]),
            fault: has_quote.then(|| invalid("`language` is a name such as rust or c++")),
            ..Prepared::new(arguments)
        })
    }

    /// `GET /search/repositories?q=…` → `{"total_count", "items": [{"full_name", "html_url",
    /// "description", "language", "stargazers_count", "pushed_at", "private"}]}`, as
    /// <https://docs.github.com/en/rest/search/search#search-repositories> says.
    async fn execute(&self, context: &ToolContext, arguments: Value) -> Result<Answer, ToolError> {
        let Arguments { query, language } = read(arguments)?;
        let query = match language.filter(|language| !language.is_empty()) {
            Some(language) => format!("{query} language:\"{language}\""),
            None => query,
        };
        let web = Web::new(context, "search_github", hosts_of(&[SERVICE]), None);
        let service = web.service(SERVICE)?;
        let is_own = service.host().to_string() != PUBLIC_HOST;
        let url = service.below(["search", "repositories"]);
        let url = url.with_query([("q", query.as_str()), ("per_page", RESULTS)]);
        let answer = web
            .ask(SERVICE, url, "application/vnd.github+json", None)
            .await?;
        let found = web.json(&answer)?;
        let is_shown = |item: &&Value| is_own || item.get("private") != Some(&Value::Bool(true));
        let found: Vec<GitHubResult> = web
            .items(&found, "/items", &answer)?
            .iter()
            .filter(is_shown)
            .map(repository)
            .collect();
        Ok(Answer::new(worded(&found), json!(found)))
    }
}

fn repository(item: &Value) -> GitHubResult {
    GitHubResult {
        name: text(item, "full_name"),
        url: text(item, "html_url"),
        description: text(item, "description"),
        language: Some(text(item, "language")).filter(|language| !language.is_empty()),
        stars: item
            .get("stargazers_count")
            .and_then(Value::as_u64)
            .unwrap_or_default(),
        updated: text(item, "pushed_at"),
    }
}

fn worded(found: &[GitHubResult]) -> String {
    if found.is_empty() {
        return "(nothing found)".to_owned();
    }
    let one = |(at, repository): (usize, &GitHubResult)| {
        let GitHubResult {
            name,
            url,
            description,
            language,
            stars,
            updated,
        } = repository;
        let language = language.as_deref().unwrap_or("no language");
        format!(
            "{}. {name}\n   {url}\n   {description}\n   {language}, {stars} stars, last pushed \
             {updated}",
            at + 1
        )
    };
    found
        .iter()
        .enumerate()
        .map(one)
        .collect::<Vec<_>>()
        .join("\n")
}
