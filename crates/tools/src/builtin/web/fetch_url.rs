//! `fetch_url`: a page as readable Markdown, or in another form.

use async_trait::async_trait;
use orchestrate_core::policy::web::WebResponse;
use serde::Deserialize;
use serde_json::{Value, json};

use super::super::facts::facts;
use super::page::{ACCEPT, Readable, Text, readable};
use super::request::{Web, address, on_address};
use crate::answer::{Answer, ToolError, WebContent, size};
use crate::template::{ARGUMENTS, CommandTemplate};
use crate::tool::arguments::{invalid, read};
use crate::tool::{CallSite, Prepared, Prompt, Tool, ToolContext, Wrap};
use orchestrate_html::{MAX_TEXT, Style, escaped};
use orchestrate_memory::{Work, watched};

/// The `fetch_url` tool.
pub(crate) struct FetchUrl(pub(crate) Prompt);

#[derive(Deserialize)]
struct Arguments {
    timeout: Option<u64>,
    #[serde(default)]
    format: Format,
}

/// The form in which a page is wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Format {
    #[default]
    Markdown,
    Text,
    Html,
    Json,
}

#[async_trait]
impl Tool for FetchUrl {
    facts!("fetch_url", WEB, NetworkAccess, is_default: false, is_repeatable: true);

    fn as_wrap(&self) -> Option<&dyn Wrap> {
        Some(self)
    }

    fn prepare(&self, site: &CallSite, arguments: Value) -> Result<Prepared, ToolError> {
        Ok(on_address(self.name(), site, arguments))
    }

    async fn execute(&self, context: &ToolContext, arguments: Value) -> Result<Answer, ToolError> {
        let url = address(&arguments, "url")?;
        let Arguments { timeout, format } = read(arguments)?;
        let web = Web::new(context, "fetch_url", vec![url.host().clone()], timeout);
        let response = web.get(url, ACCEPT).await?;
        let (limit, bytes) = (context.limits().web_response_bytes, response.body.len());
        let made = context
            .blocking(move |_, _| answer(&response, format, limit))
            .await;
        let (answer, shows_page) = web.made(made, bytes)?;
        if !shows_page {
            context.meter().take_back_outside(bytes as u64);
        }
        Ok(answer)
    }
}

impl Wrap for FetchUrl {
    /// Takes the words as the address and the form, as other products' models give them.
    fn deserialize_wrapped(
        &self,
        arguments: &Value,
        template: Option<&CommandTemplate>,
    ) -> Result<Value, ToolError> {
        if let Some(template) = template {
            let words = template
                .fill(arguments)
                .map_err(|reason| invalid(&reason))?;
            return of_words(&words.iter().map(String::as_str).collect::<Vec<_>>());
        }
        let Some(words) = arguments.get(ARGUMENTS).and_then(Value::as_array) else {
            return Ok(arguments.clone());
        };
        of_words(&words.iter().filter_map(Value::as_str).collect::<Vec<_>>())
    }

    fn takes_words(&self) -> bool {
        true
    }
}

fn of_words(words: &[&str]) -> Result<Value, ToolError> {
    match words {
        [url] => Ok(json!({"url": url})),
        [url, format] => Ok(json!({"url": url, "format": format})),
        _ => Err(invalid(&format!(
            "`{ARGUMENTS}` are an address and a form: markdown, text, html or json"
        ))),
    }
}

/// Returns the answer, and whether it shows anything of the page.
fn answer(response: &WebResponse, format: Format, limit: u64) -> Result<(Answer, bool), ToolError> {
    let Readable {
        title,
        content,
        has_more,
        misread,
    } = match format {
        Format::Markdown => readable(response, Style::Markdown)?,
        Format::Text => readable(response, Style::Text)?,
        Format::Html => Readable::plain(Text::decode(response)?),
        Format::Json => Readable {
            content: json_text(response)?,
            ..Readable::default()
        },
    };
    let heading = if title.is_empty() {
        String::new()
    } else {
        format!("{}\n", escaped(&title))
    };
    let is_empty = content.trim().is_empty();
    let shows_page = !(is_empty && title.is_empty());
    let body = if is_empty {
        "(no text; the page may be made by its programs)"
    } else {
        content.trim_end()
    };
    let text = format!("{heading}{}\n\n{body}", response.url);
    let is_cut = response.is_cut || has_more;
    let cut = match is_cut {
        true if response.is_cut => format!(", cut: it is longer than {}", size(limit)),
        true => ", cut: it has too many parts".to_owned(),
        false => String::new(),
    };
    let misread = misread
        .map(|misread| format!(", {misread}"))
        .unwrap_or_default();
    let footer = format!(
        "[status {}, {}{cut}{misread}]",
        response.status,
        size(response.body.len() as u64)
    );
    let data = WebContent {
        url: response.url.to_string(),
        status: response.status,
        content_type: response.content_type.clone().unwrap_or_default(),
        title,
        content,
        bytes: response.body.len(),
        is_cut,
    };
    Ok((
        Answer {
            footer: Some(footer),
            ..Answer::new(text, json!(data))
        },
        shows_page,
    ))
}

/// Returns a value with line ends; `None` if it is too long: within many lists, a line has far more
/// bytes than its value.
fn pretty(value: &Value) -> Option<String> {
    let mut bytes = vec![0; MAX_TEXT];
    let mut room = bytes.as_mut_slice();
    serde_json::to_writer_pretty(&mut room, value).ok()?;
    let left = room.len();
    bytes.truncate(MAX_TEXT - left);
    String::from_utf8(bytes).ok()
}

/// Returns JSON with line ends; as it is if it would become too long, or takes too much memory.
fn json_text(response: &WebResponse) -> Result<String, ToolError> {
    let _work = Work::begin(&|| false);
    let Text { text, is_json, .. } = Text::decode(response)?;
    match serde_json::from_reader::<_, Value>(watched(text.as_bytes(), &|| false)) {
        Ok(value) => Ok(pretty(&value).unwrap_or_else(|| text.into_owned())),
        Err(error) if error.is_io() => Ok(text.into_owned()),
        Err(error) => {
            let stated = if is_json {
                ", although its server says so"
            } else {
                ""
            };
            let url = &response.url;
            Err(ToolError::Retry(format!(
                "{url} is no JSON{stated}: {error}; fetch it as `markdown`"
            )))
        }
    }
}
