//! `web_search`: asks the search service that the user has chosen.

use async_trait::async_trait;
use orchestrate_core::agent::model_search::SearchResult;
use orchestrate_core::policy::host::{Host, WebUrl};
use orchestrate_core::policy::tool_settings::WebRequests;
use orchestrate_core::policy::web::WebServiceName;
use orchestrate_core::text::invisible::shown;
use serde::Deserialize;
use serde_json::{Value, json};

use super::super::facts::facts;
use super::request::{Web, plain, require_service, text};
use crate::answer::{Answer, ToolError};
use crate::call::{CallScope, HostGuard};
use crate::services::{FoundByModel, Search};
use crate::tool::arguments::read;
use crate::tool::{CallSite, Look, Prepared, Prompt, Tool, ToolContext};

/// The number of results that are returned unless a call asks for others, as in the reference.
const RESULTS: usize = 10;
/// The number of results that Brave returns at most.
const MOST_RESULTS: usize = 20;
/// The host through which Gemini leads to the pages that it has found, whose titles are the hosts
/// of the pages.
const REDIRECTING: &str = "vertexaisearch.cloud.google.com";
/// Maximum number of engines that are named, and maximum number of characters of what is said of
/// each.
const MOST_ENGINES: usize = 10;
const SAID_OF_ENGINE: usize = 60;
/// What is accepted.
const ACCEPT: &str = "application/json";

/// What a search has found.
#[derive(Default)]
struct Found {
    /// The answer that was made of it, with whose it is.
    answer: Option<String>,
    results: Vec<SearchResult>,
    /// How many results were left out, because a rule denies their hosts.
    left_out: usize,
    /// The engines behind the service that did not answer, with what it says of them.
    silent: Vec<String>,
}

/// The `web_search` tool.
pub(crate) struct WebSearch(pub(crate) Prompt);

#[derive(Deserialize)]
struct Arguments {
    query: String,
    num_results: Option<usize>,
}

#[async_trait]
impl Tool for WebSearch {
    facts!("web_search", WEB, NetworkAccess, is_default: false, is_repeatable: true);

    /// It affects nothing: its host is the user's choice, and is decided about when it is asked.
    fn prepare(&self, _: &CallSite, arguments: Value) -> Result<Prepared, ToolError> {
        let rehearsal = Look::new(|scope: CallScope, _, _: Value| async move {
            match chosen(&scope.web)? {
                WebServiceName::Model => Ok(()),
                service => require_service(&scope, service),
            }
        });
        Ok(Prepared::new(arguments).rehearsed(rehearsal))
    }

    async fn execute(&self, context: &ToolContext, arguments: Value) -> Result<Answer, ToolError> {
        let Arguments { query, num_results } = read(arguments)?;
        let count = num_results.unwrap_or(RESULTS).clamp(1, MOST_RESULTS);
        let found = match chosen(context.web())? {
            WebServiceName::Model => by_model(context, query).await?,
            service => ask(context, service, &query, count).await?,
        };
        let found = found
            .without_denied(&context.host_guard("web_search", Vec::new()))
            .cut(count);
        Ok(Answer::new(found.worded(), json!(found.results)))
    }
}

/// Returns the service that the user has chosen.
fn chosen(web: &WebRequests) -> Result<WebServiceName, ToolError> {
    web.search_service.ok_or_else(|| {
        ToolError::Absent(
            "no search service is chosen; the user can choose one in \
             `tools.web_requests.search_service`: searxng, brave, tavily or model (the search of \
             the model's own endpoint)"
                .to_owned(),
        )
    })
}

/// Asks a service for pages.
async fn ask(
    context: &ToolContext,
    service: WebServiceName,
    query: &str,
    count: usize,
) -> Result<Found, ToolError> {
    let web = Web::new(context, "web_search", Vec::new(), None);
    let base = web.service(service)?;
    let results = match service {
        WebServiceName::Brave => brave(&web, &base, query, count).await?,
        WebServiceName::Tavily => tavily(&web, &base, query, count).await?,
        _ => return searxng(&web, &base, query).await,
    };
    Ok(Found {
        results,
        ..Found::default()
    })
}

/// Lets the endpoint of the agent's model search, and answer.
async fn by_model(context: &ToolContext, query: String) -> Result<Found, ToolError> {
    let search = Search {
        call: context.call().clone(),
        query,
        timeout: context.limits().max_web_timeout,
        cancel: context.cancel().clone(),
    };
    let FoundByModel { model, reply } = context.services().search.search(search).await?;
    let results: Vec<SearchResult> = reply.results.iter().filter_map(of_endpoint).collect();
    match reply.failure {
        Some(why) if results.is_empty() => {
            context.meter().add_outside(why.len() as u64);
            Err(ToolError::Execution(format!(
                "the search of {model} failed: {why}"
            )))
        }
        _ => {
            let answer = reply.text.trim();
            let from = if results.is_empty() {
                "without any page"
            } else {
                "from the pages below"
            };
            let answer =
                (!answer.is_empty()).then(|| format!("answer of {model}, {from}:\n{answer}\n"));
            Ok(Found {
                answer,
                results,
                ..Found::default()
            })
        }
    }
}

/// Returns a page that an endpoint names, in one form; `None` if its address leads to no page.
fn of_endpoint(result: &SearchResult) -> Option<SearchResult> {
    let url = WebUrl::parse(&result.url).ok()?;
    let title = if result.title.is_empty() {
        url.host().to_string()
    } else {
        plain(&result.title)
    };
    Some(SearchResult {
        title,
        url: url.to_string(),
        snippet: plain(&result.snippet),
    })
}

impl Found {
    /// Leaves out the results whose hosts a rule denies, and an answer that was made of them as
    /// well.
    fn without_denied(self, guard: &HostGuard) -> Found {
        let all = self.results.len();
        let is_shown =
            |result: &SearchResult| !host_of(result).is_some_and(|host| guard.denies(&host));
        let results: Vec<SearchResult> = self.results.into_iter().filter(is_shown).collect();
        let left_out = all - results.len();
        Found {
            answer: self.answer.filter(|_| left_out == 0),
            results,
            left_out,
            silent: self.silent,
        }
    }

    fn cut(mut self, count: usize) -> Found {
        self.results.truncate(count);
        self
    }

    /// Says that nothing was found, or that nobody has looked for it.
    fn nothing(&self) -> String {
        match self.silent.as_slice() {
            [] => "(nothing found)".to_owned(),
            silent => format!(
                "(nothing found: these engines of the service did not answer: {})",
                silent.join(", ")
            ),
        }
    }

    fn worded(&self) -> String {
        let one = |(at, result): (usize, &SearchResult)| {
            format!(
                "{}. {}\n   {}\n   {}",
                at + 1,
                result.title,
                result.url,
                result.snippet
            )
        };
        let listed = self.results.iter().enumerate().map(one);
        let left_out = format!(
            "(left out, since a rule denies their hosts: {})",
            self.left_out
        );
        let left_out = (self.left_out > 0).then_some(left_out);
        let nothing = (self.results.is_empty() && self.left_out == 0).then(|| self.nothing());
        self.answer
            .clone()
            .into_iter()
            .chain(listed)
            .chain(nothing)
            .chain(left_out)
            .collect::<Vec<_>>()
            .join("\n")
    }
}

/// Returns the engines that a service says have not answered, as `[["name", "why"]]`.
fn silent_engines(answer: &Value) -> Vec<String> {
    let engines = answer
        .get("unresponsive_engines")
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    let one = |engine: &Value| {
        let name = engine.get(0).and_then(Value::as_str).or(engine.as_str())?;
        let why = engine
            .get(1)
            .and_then(Value::as_str)
            .map(|why| format!(" ({})", shown_start(why)));
        Some(format!("{}{}", shown_start(name), why.unwrap_or_default()))
    };
    engines.filter_map(one).take(MOST_ENGINES).collect()
}

fn shown_start(text: &str) -> String {
    shown(&text.chars().take(SAID_OF_ENGINE).collect::<String>())
}

/// Returns the host of a page.
fn host_of(result: &SearchResult) -> Option<Host> {
    let url = WebUrl::parse(&result.url).ok()?;
    let host = url.host().clone();
    if host.to_string() == REDIRECTING {
        Host::parse(&result.title).ok().or(Some(host))
    } else {
        Some(host)
    }
}

/// `GET /search?q=…&format=json` → `{"results": [{"title", "url", "content"}],
/// "unresponsive_engines"}`, as <https://docs.searxng.org/dev/search_api.html> says. It answers as
/// well where no engine does.
async fn searxng(web: &Web<'_>, base: &WebUrl, query: &str) -> Result<Found, ToolError> {
    let url = base
        .below(["search"])
        .with_query([("q", query), ("format", "json")]);
    let answer = web.ask(WebServiceName::Searxng, url, ACCEPT, None).await?;
    let value = web.json(&answer)?;
    let results = results(web.items(&value, "/results", &answer)?, "content")?;
    Ok(Found {
        results,
        silent: silent_engines(&value),
        ..Found::default()
    })
}

/// `GET /res/v1/web/search?q=…&count=…` → `{"web": {"results": [{"title", "url",
/// "description"}]}}`, as
/// <https://api-dashboard.search.brave.com/app/documentation/web-search/get-started> says. Without
/// results, there is no `web`.
async fn brave(
    web: &Web<'_>,
    base: &WebUrl,
    query: &str,
    count: usize,
) -> Result<Vec<SearchResult>, ToolError> {
    let count = count.to_string();
    let url = base
        .below(["res", "v1", "web", "search"])
        .with_query([("q", query), ("count", &count)]);
    let answer = web.ask(WebServiceName::Brave, url, ACCEPT, None).await?;
    let value = web.json(&answer)?;
    match value.get("web") {
        None if value.get("type").is_some_and(|kind| kind == "search") => Ok(Vec::new()),
        _ => results(web.items(&value, "/web/results", &answer)?, "description"),
    }
}

/// `POST /search {"query", "max_results"}` → `{"results": [{"title", "url", "content"}]}`, as
/// <https://docs.tavily.com/documentation/api-reference/endpoint/search> says.
async fn tavily(
    web: &Web<'_>,
    base: &WebUrl,
    query: &str,
    count: usize,
) -> Result<Vec<SearchResult>, ToolError> {
    let asked = json!({"query": query, "max_results": count});
    let answer = web
        .ask(
            WebServiceName::Tavily,
            base.below(["search"]),
            ACCEPT,
            Some(asked),
        )
        .await?;
    results(
        web.items(&web.json(&answer)?, "/results", &answer)?,
        "content",
    )
}

/// Reads results, of which titles and snippets may be HTML; those that lead to no page are left
/// out.
fn results(items: &[Value], snippet: &str) -> Result<Vec<SearchResult>, ToolError> {
    let read = |item: &Value| {
        let url = WebUrl::parse(&text(item, "url")).ok()?.to_string();
        Some(SearchResult {
            title: plain(&text(item, "title")),
            url,
            snippet: plain(&text(item, snippet)),
        })
    };
    Ok(items.iter().filter_map(read).collect())
}
