//! Makes the requests of a call, and classifies what comes back.

use std::sync::Arc;
use std::time::Duration;

use orchestrate_core::policy::Target;
use orchestrate_core::policy::host::{Host, WebUrl};
use orchestrate_core::policy::tool_settings::WebRequests;
use orchestrate_core::policy::web::{WebFailure, WebRequest, WebResponse, WebServiceName};
use orchestrate_html::Style;
use orchestrate_sandbox::Cancel;
use serde_json::Value;

use super::page::{Readable, readable};
use crate::answer::ToolError;
use crate::call::{CallScope, Effect};
use crate::files::Files;
use crate::tool::arguments::{given_text, invalid};
use crate::tool::{CallSite, Prepared, ToolContext};

/// The time limit of a request that asks for no other, as in the reference.
const TIMEOUT: Duration = Duration::from_secs(30);
/// Maximum number of characters of a server's own words in an error, and of the bytes of the page
/// that has them.
const SAID: usize = 200;
const SAYING_BYTES: usize = 64 << 10;
/// Maximum number of values in a service's answer, each of which takes a hundred bytes: packages
/// with thousands of versions have fewer.
const MAX_VALUES: usize = 300_000;

/// Makes the requests of one call of a tool.
pub(super) struct Web<'a> {
    context: &'a ToolContext,
    tool: &'static str,
    /// The hosts that the call names.
    named: Vec<Host>,
    timeout: Duration,
}

impl<'a> Web<'a> {
    /// Creates what makes the requests of a call that names these hosts; `timeout` is what the call
    /// asks for.
    pub(super) fn new(
        context: &'a ToolContext,
        tool: &'static str,
        named: Vec<Host>,
        timeout: Option<u64>,
    ) -> Web<'a> {
        let limits = context.limits();
        let asked = timeout
            .map_or(TIMEOUT, Duration::from_secs)
            .saturating_mul(limits.time_factor);
        Web {
            context,
            tool,
            named,
            timeout: asked.min(limits.max_web_timeout),
        }
    }

    /// Returns the address of a service: the user's, or its own.
    pub(super) fn service(&self, service: WebServiceName) -> Result<WebUrl, ToolError> {
        address_of(self.context.web(), service)
    }

    /// Asks a service, with its key.
    pub(super) async fn ask(
        &self,
        service: WebServiceName,
        url: WebUrl,
        accept: &'static str,
        json: Option<Value>,
    ) -> Result<WebResponse, ToolError> {
        let credential = service.credential();
        self.send(WebRequest {
            credential,
            json,
            ..self.request(url, accept)
        })
        .await
    }

    /// Fetches a page.
    pub(super) async fn get(
        &self,
        url: WebUrl,
        accept: &'static str,
    ) -> Result<WebResponse, ToolError> {
        self.send(self.request(url, accept)).await
    }

    fn request(&self, url: WebUrl, accept: &'static str) -> WebRequest {
        let max_bytes = self.context.limits().web_response_bytes;
        WebRequest {
            url,
            accept,
            credential: None,
            json: None,
            timeout: self.timeout,
            max_bytes,
        }
    }

    async fn send(&self, request: WebRequest) -> Result<WebResponse, ToolError> {
        let asked = request.url.clone();
        let guard = Arc::new(self.context.host_guard(self.tool, self.named.clone()));
        let web = Arc::clone(&self.context.services().web);
        let answered = tokio::select! {
            answered = web.fetch(request, guard) => answered,
            () = self.context.cancel().cancelled() => {
                return Err(ToolError::Interrupted("the request was given up".to_owned()));
            }
        };
        let meter = self.context.meter();
        // Only what a model may get to read of others counts: whoever has read nothing follows
        // nobody.
        let response = answered.map_err(|failure| {
            meter.add_outside(failure.bytes_from_outside(&asked));
            error_of(failure, &asked)
        })?;
        meter.add_read(response.body.len() as u64);
        let is_success = (200..300).contains(&response.status);
        let said = if is_success {
            String::new()
        } else {
            words_of(&response)
        };
        let content = if is_success {
            response.body.len()
        } else {
            said.len()
        };
        // Every other address than the one that was asked was chosen by those who answer.
        let address = if response.url == asked {
            0
        } else {
            response.url.as_str().len()
        };
        meter.add_outside((content + address) as u64);
        if is_success {
            Ok(response)
        } else {
            Err(unsuccessful(&response, &said))
        }
    }

    /// Passes on what was made of so many bytes of a response. An error says in our own words why
    /// nothing can be made of them, so none of them are shown.
    pub(super) fn made<T>(&self, made: Result<T, ToolError>, bytes: usize) -> Result<T, ToolError> {
        if matches!(made, Err(ToolError::Retry(_) | ToolError::Network(_))) {
            self.context.meter().take_back_outside(bytes as u64);
        }
        made
    }

    /// Returns what a model reads of a page, with its response.
    ///
    /// # Errors
    /// As [`readable`].
    pub(super) async fn readable(
        &self,
        response: WebResponse,
    ) -> Result<(WebResponse, Readable), ToolError> {
        let bytes = response.body.len();
        let make = move |_: &Files, _: &Cancel| {
            let readable = readable(&response, Style::Markdown)?;
            Ok((response, readable))
        };
        self.made(self.context.blocking(make).await, bytes)
    }

    /// Parses a service's answer.
    ///
    /// # Errors
    /// `Network` if it is no JSON: something else answers at that address.
    pub(super) fn json(&self, response: &WebResponse) -> Result<Value, ToolError> {
        self.made(json(response), response.body.len())
    }

    /// Returns the items of a field of a service's answer that is a list.
    ///
    /// # Errors
    /// `Network` if it is none: something else answers at that address.
    pub(super) fn items<'v>(
        &self,
        value: &'v Value,
        field: &str,
        response: &WebResponse,
    ) -> Result<&'v [Value], ToolError> {
        self.made(items(value, field, &response.url), response.body.len())
    }
}

/// Returns the address of a service: the user's, or its own.
///
/// # Errors
/// `Absent` if it has none, with how the user can set one.
fn address_of(web: &WebRequests, service: WebServiceName) -> Result<WebUrl, ToolError> {
    let set = web.services.get(&service).map(String::as_str);
    let url = set.or(service.own_url()).ok_or_else(|| {
        ToolError::Absent(format!(
            "`{0}` has no address of its own; the user can set it in `tools.web_requests.services` \
             as `{0}=URL`",
            service.as_str()
        ))
    })?;
    WebUrl::parse(url).map_err(|error| {
        ToolError::Absent(format!("the address of `{}`: {error}", service.as_str()))
    })
}

/// Requires that a service can be asked: that it has an address, and that the user has set the key
/// that it needs.
///
/// # Errors
/// `Absent`, with what the user can set.
pub(super) fn require_service(scope: &CallScope, service: WebServiceName) -> Result<(), ToolError> {
    let url = address_of(&scope.web, service)?;
    let has_key = service.credential().map_or(Ok(()), |credential| {
        scope.services.web.require_key(credential)
    });
    has_key.map_err(|failure| error_of(failure, &url))
}

/// Parses the address that a call names.
///
/// # Errors
/// `Retry` if it is none.
pub(super) fn address(arguments: &Value, field: &str) -> Result<WebUrl, ToolError> {
    let text = given_text(arguments, field);
    WebUrl::parse(text).map_err(|error| invalid(&format!("`{field}`: {error}")))
}

/// Creates a call that names an address.
pub(super) fn on_address(tool: &str, site: &CallSite, arguments: Value) -> Prepared {
    match address(&arguments, "url") {
        Ok(url) => Prepared {
            effects: vec![Effect::on(Target::Host(url.host().to_string()))],
            refused: site.policy.refuse_url(tool, &url),
            ..Prepared::new(arguments)
        },
        Err(error) => Prepared {
            fault: Some(error),
            ..Prepared::new(arguments)
        },
    }
}

/// Returns the effects of a call that asks services at their own addresses.
pub(super) fn effects_of_services(services: &[WebServiceName]) -> Vec<Effect> {
    hosts_of(services)
        .into_iter()
        .map(|host| Effect::on(Target::Host(host.to_string())))
        .collect()
}

/// Returns the hosts at which services have their own addresses.
pub(super) fn hosts_of(services: &[WebServiceName]) -> Vec<Host> {
    let own = services
        .iter()
        .filter_map(|service| WebUrl::parse(service.own_url()?).ok());
    own.map(|url| url.host().clone()).collect()
}

fn json(response: &WebResponse) -> Result<Value, ToolError> {
    let failed = |why: &str| {
        ToolError::Network(format!(
            "{} does not answer as that service does: {why}",
            response.url
        ))
    };
    if response.is_cut {
        return Err(failed(
            "the answer is larger than `tools.web_requests.max_response_size_mb` allows",
        ));
    }
    let values = response
        .body
        .iter()
        .filter(|byte| b",[{".contains(byte))
        .count();
    if values > MAX_VALUES {
        return Err(failed(&format!(
            "the answer has more than {MAX_VALUES} values"
        )));
    }
    serde_json::from_slice(&response.body).map_err(|error| failed(&error.to_string()))
}

/// Returns the text of a field; empty if there is none.
pub(super) fn text(value: &Value, field: &str) -> String {
    value
        .get(field)
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned()
}

fn items<'v>(value: &'v Value, field: &str, url: &WebUrl) -> Result<&'v [Value], ToolError> {
    let items = value.pointer(field).and_then(Value::as_array);
    items.map(Vec::as_slice).ok_or_else(|| {
        let field = field.trim_start_matches('/').replace('/', ".");
        ToolError::Network(format!(
            "{url} does not answer as that service does: there is no list `{field}`"
        ))
    })
}

/// Returns a text of HTML as plain text in one line, with its entities decoded.
pub(super) fn plain(html: &str) -> String {
    let page = orchestrate_html::Page::parse(html);
    page.line_of_all()
}

/// Returns the first of a server's own words.
fn words_of(response: &WebResponse) -> String {
    let begin = response.body.get(..SAYING_BYTES).unwrap_or(&response.body);
    plain(&String::from_utf8_lossy(begin))
        .chars()
        .take(SAID)
        .collect()
}

/// Words a status of failure, with what the server says.
fn unsuccessful(response: &WebResponse, said: &str) -> ToolError {
    let WebResponse {
        url,
        status,
        retry_after,
        ..
    } = response;
    let said = if said.is_empty() {
        String::new()
    } else {
        format!(": {said}")
    };
    // Services also limit how often they are asked with a status that says only that a request is
    // forbidden.
    let later = retry_after
        .map(|seconds| format!("; it may be asked again in {seconds} s"))
        .unwrap_or_default();
    let text = format!("{url} answers with status {status}{said}{later}");
    match (status, retry_after) {
        (408 | 425 | 429 | 500.., Some(seconds)) => ToolError::Busy {
            reason: text,
            wait: Duration::from_secs(*seconds),
        },
        (408 | 425 | 429 | 500.., None) => ToolError::Network(text),
        _ => ToolError::Retry(text),
    }
}

fn error_of(failure: WebFailure, url: &WebUrl) -> ToolError {
    match failure {
        WebFailure::Refused { rule, reason } => ToolError::Denied { reason, rule },
        WebFailure::UnknownHost(_) => {
            ToolError::Retry(format!("{failure}; check the address {url}"))
        }
        WebFailure::Unreachable(text) | WebFailure::Broken(text) => ToolError::Network(text),
        WebFailure::Timeout { seconds } => ToolError::timeout(seconds, String::new()),
        WebFailure::Malformed(text) | WebFailure::Garbled(text) => ToolError::Execution(text),
        WebFailure::NoKey { .. } => ToolError::Absent(format!("{}: {failure}", url.host())),
        WebFailure::Unavailable(text) => ToolError::Unavailable(text),
    }
}
