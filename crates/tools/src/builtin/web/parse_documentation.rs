//! `parse_documentation`: the title, the headings, the blocks of code and the links of a page.

use std::fmt::Write as _;

use async_trait::async_trait;
use orchestrate_core::policy::web::WebResponse;
use serde_json::{Value, json};

use super::super::facts::facts;
use super::page::{ACCEPT, Text};
use super::request::{Web, address, on_address};
use crate::answer::{Answer, CodeBlock, Documentation, PageLink, ToolError};
use crate::tool::{CallSite, Prepared, Prompt, Tool, ToolContext};
use orchestrate_html::{Heading, Page, escaped, main_part, outline};
use orchestrate_memory::Work;

/// The `parse_documentation` tool.
pub(crate) struct ParseDocumentation(pub(crate) Prompt);

#[async_trait]
impl Tool for ParseDocumentation {
    facts!("parse_documentation", WEB, NetworkAccess, is_default: false, is_repeatable: true);

    fn prepare(&self, site: &CallSite, arguments: Value) -> Result<Prepared, ToolError> {
        Ok(on_address(self.name(), site, arguments))
    }

    async fn execute(&self, context: &ToolContext, arguments: Value) -> Result<Answer, ToolError> {
        let url = address(&arguments, "url")?;
        let web = Web::new(
            context,
            "parse_documentation",
            vec![url.host().clone()],
            None,
        );
        let response = web.get(url, ACCEPT).await?;
        let bytes = response.body.len();
        let made = context.blocking(move |_, _| answer(&response)).await;
        web.made(made, bytes)
    }
}

fn answer(response: &WebResponse) -> Result<Answer, ToolError> {
    let _work = Work::begin(&|| false);
    let text = Text::decode(response)?;
    if !text.is_html {
        return Err(ToolError::Retry(format!(
            "{} is no HTML; read it with fetch_url",
            response.url
        )));
    }
    let page = Page::parse(&text.text);
    let found = outline(&page, main_part(&page), &response.url);
    let is_cut = response.is_cut || page.is_cut() || found.is_cut;
    let data = Documentation {
        url: response.url.to_string(),
        title: page.title(),
        headings: found.headings,
        code_blocks: found
            .code
            .into_iter()
            .map(|(language, code)| CodeBlock { language, code })
            .collect(),
        links: found
            .links
            .into_iter()
            .map(|(text, url)| PageLink { text, url })
            .collect(),
        is_cut,
    };
    let footer = is_cut.then(|| "[cut: the page has more]".to_owned());
    Ok(Answer {
        footer,
        ..Answer::new(worded(&data), json!(data))
    })
}

/// Returns the parts of a page as a model reads them.
fn worded(page: &Documentation) -> String {
    let mut text = format!("{}\n{}\n", escaped(&page.title), page.url);
    if !page.headings.is_empty() {
        text.push_str("\nHeadings:\n");
        push_headings(&mut text, &page.headings);
    }
    for block in &page.code_blocks {
        let longest = block
            .code
            .split(|c| c != '`')
            .map(str::len)
            .max()
            .unwrap_or_default();
        let fence = "`".repeat(longest.max(2) + 1);
        // Writing to a string cannot fail.
        let _ = write!(
            text,
            "\n{fence}{}\n{}\n{fence}\n",
            block.language.as_deref().unwrap_or_default(),
            block.code
        );
    }
    if !page.links.is_empty() {
        text.push_str("\nLinks:\n");
        for link in &page.links {
            let _ = writeln!(text, "- [{}]({})", escaped(&link.text), link.url);
        }
    }
    text
}

/// Lists headings, each below the one that it is part of. Their depth is at most six.
fn push_headings(text: &mut String, headings: &[Heading]) {
    for heading in headings {
        let indent = "  ".repeat(usize::from(heading.level.saturating_sub(1)));
        let anchor = heading
            .anchor
            .as_ref()
            .map(|anchor| format!(" #{anchor}"))
            .unwrap_or_default();
        let _ = writeln!(text, "{indent}- {}{anchor}", escaped(&heading.text));
        push_headings(text, &heading.children);
    }
}
