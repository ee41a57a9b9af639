//! Decides each request, records what is decided before it is carried out, and connects.

use std::collections::BTreeSet;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use orchestrate_core::policy::egress::EgressDecision;
use orchestrate_core::policy::host::WebUrl;
use orchestrate_core::policy::web::{Destinations, WebFailure};
use tokio::net::TcpStream;
use tokio::sync::Mutex;

use crate::WebClient;

/// Maximum number of different decisions for one program: a large project loads from a dozen hosts,
/// but many names below one wildcard could carry something out in the names themselves.
const MAX_DECISIONS: usize = 200;

/// The rules that decide here, and nowhere else.
const NO_HOST: &str = "built-in:host";
const TOO_MANY: &str = "built-in:many-hosts";

const FORBIDDEN: u16 = 403;
const BAD_GATEWAY: u16 = 502;

/// Recording of a decision; the error is for people.
pub type Recording<'a> = Pin<Box<dyn Future<Output = Result<(), String>> + Send + 'a>>;

/// Where one program may connect to.
pub trait Egress: Send + Sync {
    /// Returns what decides.
    fn destinations(&self) -> &dyn Destinations;

    /// Records a decision, before it is carried out; each is recorded once.
    fn record(&self, decision: EgressDecision) -> Recording<'_>;

    /// Takes note of what a program may reach, and cannot: the program says less about it than is
    /// known here.
    fn unreached(&self, asked: &str, failure: &WebFailure);
}

/// A request that leads to no connection: the status and the text of its answer.
#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) status: u16,
    pub(super) text: String,
}

/// Decides for one program.
pub(super) struct Connector {
    web: WebClient,
    egress: Arc<dyn Egress>,
    /// Held while a decision is recorded, so that nothing is carried out before.
    recorded: Mutex<BTreeSet<EgressDecision>>,
}

impl Connector {
    pub(super) fn new(web: WebClient, egress: Arc<dyn Egress>) -> Connector {
        Connector {
            web,
            egress,
            recorded: Mutex::default(),
        }
    }

    /// Connects to where a request leads; `asked` is what the program wrote.
    pub(super) async fn connect(&self, asked: &str, url: &WebUrl) -> Result<TcpStream, Refusal> {
        let (host, port) = (url.host().to_string(), url.port());
        let destinations = self.egress.destinations();
        let rule = match destinations.admit(url) {
            Ok(rule) => rule,
            Err(failure) => return Err(self.failed(asked, url, failure).await),
        };
        // To resolve a name already tells its servers something.
        self.record(EgressDecision::allowed(asked, host, port, rule))
            .await?;
        match self.web.dialer().connect(url, destinations).await {
            Ok(stream) => {
                // Without it, small messages only arrive later.
                let _ = stream.set_nodelay(true);
                Ok(stream)
            }
            Err(failure) => Err(self.failed(asked, url, failure).await),
        }
    }

    /// Refuses what names no host.
    pub(super) async fn refuse_name(&self, asked: &str, reason: impl Into<String>) -> Refusal {
        self.refuse(EgressDecision::refused(asked, NO_HOST, reason))
            .await
    }

    /// Records a refusal, and returns the answer.
    pub(super) async fn refuse(&self, decision: EgressDecision) -> Refusal {
        let EgressDecision {
            asked,
            rule,
            reason,
            ..
        } = &decision;
        let text = format!(
            "refused: {asked} (rule {rule}): {}\n",
            reason.as_deref().unwrap_or_default()
        );
        let refusal = Refusal {
            status: FORBIDDEN,
            text,
        };
        self.record(decision).await.err().unwrap_or(refusal)
    }

    async fn failed(&self, asked: &str, url: &WebUrl, failure: WebFailure) -> Refusal {
        match failure {
            WebFailure::Refused { rule, reason } => {
                let decision = EgressDecision::refused(asked, rule, reason);
                self.refuse(decision.about(url.host().to_string(), url.port()))
                    .await
            }
            other => {
                self.egress.unreached(asked, &other);
                Refusal {
                    status: BAD_GATEWAY,
                    text: format!("{other}\n"),
                }
            }
        }
    }

    async fn record(&self, decision: EgressDecision) -> Result<(), Refusal> {
        let mut recorded = self.recorded.lock().await;
        if recorded.contains(&decision) {
            return Ok(());
        }
        let is_last = recorded.len() == MAX_DECISIONS;
        if recorded.len() > MAX_DECISIONS {
            return Err(too_many());
        }
        let decision = if is_last {
            EgressDecision::refused(&decision.asked, TOO_MANY, WHY_TOO_MANY)
        } else {
            decision
        };
        if let Err(error) = self.egress.record(decision.clone()).await {
            return Err(Refusal {
                status: BAD_GATEWAY,
                text: format!("the decision was not recorded: {error}\n"),
            });
        }
        recorded.insert(decision);
        if is_last { Err(too_many()) } else { Ok(()) }
    }
}

/// The reason that a program is given beyond the limit.
const WHY_TOO_MANY: &str =
    "the program has asked for too many different hosts; split what it does into several calls";

fn too_many() -> Refusal {
    Refusal {
        status: FORBIDDEN,
        text: format!("refused (rule {TOO_MANY}): {WHY_TOO_MANY}\n"),
    }
}
