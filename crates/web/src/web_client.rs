//! Follows a request through redirects to its response.

use std::sync::Arc;

use orchestrate_core::policy::host::WebUrl;
use orchestrate_core::policy::web::{
    Destinations, REDIRECT_RULE, WebFailure, WebRequest, WebResponse,
};

use crate::connections::ProxyConnections;
use crate::dial::{Dialer, Resolve, SystemResolver};
use crate::exchange::{Answered, Question, exchange};
use crate::kept::{KeptResponses, RequestKey};

/// Maximum number of redirects of one request; real ones need two or three.
const MAX_REDIRECTS: usize = 5;

/// A key, as it stands in a request.
pub struct Key {
    /// The field.
    pub field: &'static str,
    /// The whole value of the field.
    pub value: String,
}

/// The one way to other hosts. Clones share what is kept of responses.
#[derive(Clone)]
pub struct WebClient {
    inner: Arc<Inner>,
    /// The connections that the proxies of programs share.
    pub(crate) connections: ProxyConnections,
}

struct Inner {
    dialer: Dialer,
    kept: KeptResponses,
}

impl Default for WebClient {
    fn default() -> WebClient {
        WebClient::resolving_with(Arc::new(SystemResolver))
    }
}

impl WebClient {
    /// Creates a web client that resolves names in another way than this machine.
    pub fn resolving_with(resolver: Arc<dyn Resolve>) -> WebClient {
        WebClient::dialling_with(Dialer::new(resolver))
    }

    pub(crate) fn dialling_with(dialer: Dialer) -> WebClient {
        let inner = Arc::new(Inner {
            dialer,
            kept: KeptResponses::default(),
        });
        WebClient {
            inner,
            connections: ProxyConnections::default(),
        }
    }

    /// Serves programs with these connections.
    #[must_use]
    pub fn sharing(self, connections: ProxyConnections) -> WebClient {
        WebClient {
            connections,
            ..self
        }
    }

    /// Returns what connects.
    pub(crate) fn dialer(&self) -> &Dialer {
        &self.inner.dialer
    }

    /// Makes a request, and follows up to five redirects. The key goes to the origin of the
    /// request's own address alone.
    ///
    /// # Errors
    /// [`WebFailure`] if there is no response; a response with a status of failure is one.
    pub async fn fetch(
        &self,
        request: &WebRequest,
        key: Option<&Key>,
        destinations: &dyn Destinations,
    ) -> Result<WebResponse, WebFailure> {
        let seconds = request.timeout.as_secs().max(1);
        let followed =
            tokio::time::timeout(request.timeout, self.follow(request, key, destinations)).await;
        followed.unwrap_or(Err(WebFailure::Timeout { seconds }))
    }

    async fn follow(
        &self,
        request: &WebRequest,
        key: Option<&Key>,
        destinations: &dyn Destinations,
    ) -> Result<WebResponse, WebFailure> {
        let mut url = request.url.clone();
        for _ in 0..=MAX_REDIRECTS {
            let of_origin = key.filter(|_| url.has_origin_of(&request.url));
            let answered = match destinations.admit(&url) {
                Ok(_) => self.ask(&url, request, of_origin, destinations).await,
                Err(refusal) => Err(refusal),
            };
            match answered.map_err(|failure| of_redirect(failure, &request.url, &url))? {
                Answered::Response(response, _) => return Ok(*response),
                Answered::Redirect(_) if request.json.is_some() => {
                    return Err(WebFailure::Malformed(format!(
                        "{url} redirects what is sent, which is not sent elsewhere"
                    )));
                }
                Answered::Redirect(location) => {
                    url = url.join(&location).map_err(|error| {
                        WebFailure::Garbled(format!("{url} redirects to no page: {error}"))
                    })?;
                }
                Answered::NotModified => {
                    let failure =
                        WebFailure::Malformed(format!("{url} confirms what it has not sent"));
                    return Err(of_redirect(failure, &request.url, &url));
                }
            }
        }
        Err(WebFailure::Malformed(format!(
            "{} redirects more than {MAX_REDIRECTS} times",
            request.url
        )))
    }

    /// Asks one server, or returns what is kept if the server confirms it.
    async fn ask(
        &self,
        url: &WebUrl,
        request: &WebRequest,
        key: Option<&Key>,
        destinations: &dyn Destinations,
    ) -> Result<Answered, WebFailure> {
        let WebRequest {
            accept,
            json,
            max_bytes,
            ..
        } = request;
        let same = RequestKey {
            url: url.to_string(),
            accept,
            has_key: key.is_some(),
            max_bytes: *max_bytes,
        };
        let kept = if json.is_none() {
            self.inner.kept.find(&same)
        } else {
            None
        };
        let stream = self.inner.dialer.dial(url, destinations).await?;
        let question = Question {
            url,
            accept,
            key: key.map(|key| (key.field, key.value.as_str())),
            json: json.as_ref(),
            marks: kept.as_ref().map(|kept| kept.marks.clone()),
            max_bytes: *max_bytes,
        };
        match exchange(stream, question).await? {
            Answered::NotModified => Ok(match kept {
                Some(kept) => Answered::Response(Box::new(kept.confirmed()), kept.marks),
                None => Answered::NotModified,
            }),
            Answered::Response(response, marks) => {
                if json.is_none() && response.status == 200 {
                    self.inner.kept.keep(same, marks.clone(), &response);
                }
                Ok(Answered::Response(response, marks))
            }
            redirect => Ok(redirect),
        }
    }
}

/// Words a refusal so that it names the redirect that it is about, and the rule that is against it.
/// A failure to get there names the redirect as well, whose address the server has chosen.
fn of_redirect(failure: WebFailure, asked: &WebUrl, url: &WebUrl) -> WebFailure {
    match failure {
        WebFailure::Refused { rule, reason } if asked != url => {
            let reason = format!("{asked} redirects to {url}: {reason} (rule {rule})");
            WebFailure::Refused {
                rule: REDIRECT_RULE.to_owned(),
                reason,
            }
        }
        WebFailure::Unreachable(text) | WebFailure::Broken(text) if asked != url => {
            WebFailure::Broken(format!("{asked} redirects to {url}: {text}"))
        }
        WebFailure::Malformed(text) if asked != url => WebFailure::Garbled(text),
        other => other,
    }
}
