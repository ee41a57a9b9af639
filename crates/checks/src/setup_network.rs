//! The network of a project's setup: a proxy that leads to registries and the hosts that settings
//! name, and to nothing else of what this machine reaches.

use std::collections::BTreeSet;
use std::net::TcpListener;
use std::sync::Arc;

use orchestrate_core::collections::Mutex;
use orchestrate_core::policy::egress::EgressDecision;
use orchestrate_core::policy::host::WebUrl;
use orchestrate_core::policy::setup_hosts::SetupHosts;
use orchestrate_core::policy::web::{Destinations, WebFailure};
use orchestrate_core::{CONNECTION_REFUSED, NOT_REACHED};
use orchestrate_sandbox::{Cancel, Finished, Job, Sandbox, SandboxError, registry_settings};
use orchestrate_web::{Egress, Recording, WebClient};
use tokio::sync::oneshot;

/// Returns the hosts that a setup with the network may reach: the public registries, those of the
/// user's own settings of package managers, which the setup gets, and those that are named.
pub fn setup_hosts(named: &[String]) -> SetupHosts {
    let of_user: Vec<String> = registry_settings()
        .iter()
        .filter(|setting| setting.is_given)
        .flat_map(|setting| &setting.lines)
        .flat_map(|line| hosts_in(line))
        .collect();
    SetupHosts::new(named.iter().chain(&of_user).map(String::as_str))
}

/// Finds the hosts of the addresses in a line of a package manager's settings.
fn hosts_in(line: &str) -> Vec<String> {
    let words = line.split(ends_host).filter_map(|word| {
        let at = word.find("http://").or_else(|| word.find("https://"))?;
        word.get(at..)
    });
    words
        .filter_map(|word| WebUrl::parse(word).ok())
        .map(|url| url.authority())
        .collect()
}

fn ends_host(next: char) -> bool {
    next.is_whitespace() || "\"',;<>|".contains(next)
}

/// What a setup's proxy leads to, and what it has refused.
struct SetupEgress {
    hosts: SetupHosts,
    notes: Mutex<BTreeSet<String>>,
}

impl SetupEgress {
    fn note(&self, text: String) {
        self.notes.lock().insert(text);
    }

    fn notes(&self) -> Vec<String> {
        self.notes.lock().iter().cloned().collect()
    }
}

impl Egress for SetupEgress {
    fn destinations(&self) -> &dyn Destinations {
        &self.hosts
    }

    fn record(&self, decision: EgressDecision) -> Recording<'_> {
        let EgressDecision {
            asked,
            allowed,
            rule,
            reason,
            ..
        } = decision;
        tracing::info!(asked, allowed, rule, "a setup's connection");
        if !allowed {
            let reason = reason.unwrap_or_default();
            self.note(format!(
                "{CONNECTION_REFUSED}{asked} (rule {rule}): {reason}"
            ));
        }
        Box::pin(std::future::ready(Ok(())))
    }

    fn unreached(&self, asked: &str, failure: &WebFailure) {
        self.note(format!("{NOT_REACHED}{asked}: {failure}"));
    }
}

/// Runs a setup with its proxy; returns what could not be reached besides.
pub(crate) async fn run_led(
    sandbox: &Sandbox,
    web: &WebClient,
    hosts: SetupHosts,
    mut job: Job,
    cancel: &Cancel,
) -> Result<(Finished, Vec<String>), SandboxError> {
    // A registry may be on this machine, and a setup has no servers of its own.
    job.env.insert("NO_PROXY".into(), "".into());
    let (hand_over, listener) = oneshot::channel();
    // If nobody takes it, the setup has been stopped already.
    let accepts = move |listener: TcpListener| drop(hand_over.send(listener));
    let egress = Arc::new(SetupEgress {
        hosts,
        notes: Mutex::default(),
    });
    let serving = async {
        let Ok(listener) = listener.await else {
            return std::future::pending().await;
        };
        let served: Arc<dyn Egress> = Arc::<SetupEgress>::clone(&egress);
        match web.serve_proxy(listener, served).await {
            Err(error) => error,
            Ok(never) => match never {},
        }
    };
    let sandbox = sandbox.taking_downloads();
    let finished = tokio::select! {
        // A socket that has been handed out is served, however short the setup runs.
        biased;
        error = serving => Err(SandboxError::Setup { detail: format!("serve the proxy of the \
            setup: {error}") }),
        finished = sandbox.run_proxied_async(job, cancel.clone(), accepts) => finished,
    };
    Ok((finished?, egress.notes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_found_in_settings_of_package_managers() {
        let found = |line: &str| hosts_in(line).join(" ");
        assert_eq!(found("registry=https://npm.example/"), "npm.example");
        assert_eq!(
            found("index-url = \"http://10.0.0.7:8702/simple\""),
            "10.0.0.7:8702"
        );
        assert_eq!(
            found("https://a.example/x,https://b.example|direct"),
            "a.example b.example"
        );
        assert_eq!(found("fund=false"), "");
    }
}
