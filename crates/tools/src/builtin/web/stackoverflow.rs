//! `search_stackoverflow`: questions of Stack Overflow, the most relevant first.

use async_trait::async_trait;
use orchestrate_core::policy::web::WebServiceName;
use serde::Deserialize;
use serde_json::{Value, json};

use super::super::facts::facts;
use super::request::{Web, effects_of_services, hosts_of, plain, text};
use crate::answer::{Answer, StackOverflowResult, ToolError};
use crate::tool::arguments::read;
use crate::tool::{CallSite, Prepared, Prompt, Tool, ToolContext};

const SERVICE: WebServiceName = WebServiceName::StackExchange;
/// The number of questions that are returned.
const RESULTS: &str = "10";

/// The `search_stackoverflow` tool.
pub(crate) struct SearchStackOverflow(pub(crate) Prompt);

#[derive(Deserialize)]
struct Arguments {
    query: String,
}

#[async_trait]
impl Tool for SearchStackOverflow {
    facts!("search_stackoverflow", WEB, NetworkAccess, is_default: false, is_repeatable: true);

    fn prepare(&self, _: &CallSite, arguments: Value) -> Result<Prepared, ToolError> {
        Ok(Prepared {
            effects: effects_of_services(&[SERVICE]),
            ..Prepared::new(arguments)
        })
    }

    /// `GET /search/advanced?q=…&site=stackoverflow` → `{"items": [{"title", "link", "score",
    /// "answer_count", "is_answered", "accepted_answer_id", "tags"}], "has_more",
    /// "quota_remaining"}`, as <https://api.stackexchange.com/docs/advanced-search> says. Titles
    /// have entities of HTML; an error is `{"error_id", "error_name", "error_message"}` with
    /// status 400.
    async fn execute(&self, context: &ToolContext, arguments: Value) -> Result<Answer, ToolError> {
        let Arguments { query } = read(arguments)?;
        let web = Web::new(context, "search_stackoverflow", hosts_of(&[SERVICE]), None);
        let url = web
            .service(SERVICE)?
            .below(["search", "advanced"])
            .with_query([
                ("q", query.as_str()),
                ("site", "stackoverflow"),
                ("order", "desc"),
                ("sort", "relevance"),
                ("pagesize", RESULTS),
            ]);
        let answer = web.ask(SERVICE, url, "application/json", None).await?;
        let found: Vec<StackOverflowResult> = web
            .items(&web.json(&answer)?, "/items", &answer)?
            .iter()
            .map(question)
            .collect();
        Ok(Answer::new(worded(&found), json!(found)))
    }
}

fn question(item: &Value) -> StackOverflowResult {
    let tags = item
        .get("tags")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str);
    StackOverflowResult {
        title: plain(&text(item, "title")),
        url: text(item, "link"),
        score: item
            .get("score")
            .and_then(Value::as_i64)
            .unwrap_or_default(),
        answers: item
            .get("answer_count")
            .and_then(Value::as_u64)
            .unwrap_or_default(),
        is_answered: item.get("accepted_answer_id").is_some(),
        tags: tags.map(str::to_owned).collect(),
    }
}

fn worded(found: &[StackOverflowResult]) -> String {
    if found.is_empty() {
        return "(nothing found)".to_owned();
    }
    let one = |(at, question): (usize, &StackOverflowResult)| {
        let accepted = if question.is_answered {
            ", one accepted"
        } else {
            ""
        };
        let (score, answers, tags) = (question.score, question.answers, question.tags.join(" "));
        let number = at + 1;
        format!(
            "{number}. {}\n   {}\n   score {score}, {answers} answers{accepted}; {tags}",
            question.title, question.url
        )
    };
    found
        .iter()
        .enumerate()
        .map(one)
        .collect::<Vec<_>>()
        .join("\n")
}
