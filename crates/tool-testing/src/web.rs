//! A web for tests of tools: pages by their addresses, and what was asked of them.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::sync::Arc;

use async_trait::async_trait;
use orchestrate_core::collections::Mutex;
use orchestrate_core::policy::host::WebUrl;
use orchestrate_core::policy::web::{
    Credential, Destinations, WebFailure, WebRequest, WebResponse,
};

use orchestrate_tools::{FoundByModel, Search, SearchService, ServiceError, WebService};

/// Pages in memory; every other address answers with status 404. It asks about hosts and addresses
/// as the real one does, with one global address for all hosts.
#[derive(Debug, Default)]
pub struct FakeWeb {
    pages: Mutex<BTreeMap<String, Answer>>,
    asked: Mutex<Vec<WebRequest>>,
    /// Whether the user has set no key.
    is_keyless: Mutex<bool>,
    /// What the endpoint of the agent's model finds.
    found: Mutex<Option<Result<FoundByModel, ServiceError>>>,
    /// What it was asked for.
    queries: Mutex<Vec<String>>,
}

/// What an address answers with.
#[derive(Clone, Debug)]
enum Answer {
    Page(WebResponse),
    Redirect(WebUrl),
    Failure(WebFailure),
    /// Never.
    Nothing,
}

impl FakeWeb {
    /// Adds a page. A text that is no address is none, so nothing leads to it.
    pub fn put(&self, url: &str, content_type: &str, body: impl Into<Vec<u8>>) {
        self.answer(url, 200, content_type, body);
    }

    /// Adds an answer with a status.
    pub fn answer(&self, url: &str, status: u16, content_type: &str, body: impl Into<Vec<u8>>) {
        let Ok(url) = WebUrl::parse(url) else { return };
        let page = WebResponse {
            url: url.clone(),
            status,
            content_type: Some(content_type.to_owned()),
            retry_after: None,
            coding: None,
            body: body.into(),
            is_cut: false,
            was_kept: false,
        };
        self.pages
            .lock()
            .insert(url.to_string(), Answer::Page(page));
    }

    /// Adds an answer with a status that asks to wait so many seconds.
    pub fn ask_to_wait(&self, url: &str, status: u16, seconds: u64) {
        self.answer(url, status, "text/html", "<h1>Slow down</h1>");
        let Ok(url) = WebUrl::parse(url) else { return };
        if let Some(Answer::Page(page)) = self.pages.lock().get_mut(url.as_str()) {
            page.retry_after = Some(seconds);
        }
    }

    /// Lets one address lead to another one.
    pub fn redirect(&self, from: &str, to: &str) {
        if let (Ok(from), Ok(to)) = (WebUrl::parse(from), WebUrl::parse(to)) {
            self.pages
                .lock()
                .insert(from.to_string(), Answer::Redirect(to));
        }
    }

    /// Lets an address fail.
    pub fn fail(&self, url: &str, failure: WebFailure) {
        if let Ok(url) = WebUrl::parse(url) {
            self.pages
                .lock()
                .insert(url.to_string(), Answer::Failure(failure));
        }
    }

    /// Lets the user have set no key.
    pub fn lack_keys(&self) {
        *self.is_keyless.lock() = true;
    }

    /// Lets an address never answer.
    pub fn hang(&self, url: &str) {
        if let Ok(url) = WebUrl::parse(url) {
            self.pages.lock().insert(url.to_string(), Answer::Nothing);
        }
    }

    /// Lets the endpoint of the agent's model answer each search with this.
    pub fn let_model_find(&self, found: Result<FoundByModel, ServiceError>) {
        *self.found.lock() = Some(found);
    }

    /// Returns all queries for the endpoint of the agent's model so far.
    pub fn queries(&self) -> Vec<String> {
        self.queries.lock().clone()
    }

    /// Returns all requests so far.
    pub fn asked(&self) -> Vec<WebRequest> {
        self.asked.lock().clone()
    }

    fn find(&self, url: &WebUrl) -> Option<Answer> {
        self.pages.lock().get(url.as_str()).cloned()
    }
}

#[async_trait]
impl WebService for FakeWeb {
    async fn fetch(
        &self,
        request: WebRequest,
        destinations: Arc<dyn Destinations>,
    ) -> Result<WebResponse, WebFailure> {
        let (mut url, max_bytes) = (request.url.clone(), request.max_bytes);
        self.asked.lock().push(request);
        loop {
            destinations.admit(&url)?;
            let address = url
                .host()
                .address()
                .unwrap_or(Ipv4Addr::new(1, 1, 1, 1).into());
            destinations.admit_address(url.host(), address)?;
            match self.find(&url) {
                Some(Answer::Page(page)) => return Ok(cut(page, max_bytes)),
                Some(Answer::Redirect(to)) => url = to,
                Some(Answer::Failure(failure)) => return Err(failure),
                Some(Answer::Nothing) => return std::future::pending().await,
                None => return Ok(not_found(url)),
            }
        }
    }

    fn require_key(&self, credential: Credential) -> Result<(), WebFailure> {
        let is_lacking = credential.is_required && *self.is_keyless.lock();
        match credential.variables.first().filter(|_| is_lacking) {
            Some(variable) => Err(WebFailure::NoKey { variable }),
            None => Ok(()),
        }
    }
}

#[async_trait]
impl SearchService for FakeWeb {
    async fn search(&self, search: Search) -> Result<FoundByModel, ServiceError> {
        self.queries.lock().push(search.query);
        let none = || Err(ServiceError::Absent("the model has no search".to_owned()));
        self.found.lock().clone().unwrap_or_else(none)
    }
}

fn cut(page: WebResponse, max_bytes: u64) -> WebResponse {
    let max = usize::try_from(max_bytes).unwrap_or(usize::MAX);
    let is_cut = page.body.len() > max;
    WebResponse {
        body: page.body.into_iter().take(max).collect(),
        is_cut,
        ..page
    }
}

fn not_found(url: WebUrl) -> WebResponse {
    WebResponse {
        url,
        status: 404,
        content_type: Some("text/plain".to_owned()),
        retry_after: None,
        coding: None,
        body: b"Not Found".to_vec(),
        is_cut: false,
        was_kept: false,
    }
}
