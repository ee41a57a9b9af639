//! Requests to other hosts, with the keys of the user's environment.

use std::io;
use std::net::TcpListener;
use std::sync::Arc;

use async_trait::async_trait;
use orchestrate_core::policy::web::{
    Credential, Destinations, WebFailure, WebRequest, WebResponse,
};
use orchestrate_model::Environment;
use orchestrate_tools::WebService;
use orchestrate_web::{Egress, Key, ProxyConnections, WebClient};

/// The web as the tools of a run reach it.
pub(crate) struct Web {
    web: WebClient,
    /// Holds the keys, which no tool sees.
    environment: Environment,
}

impl Web {
    pub(crate) fn new(environment: Environment, connections: ProxyConnections) -> Web {
        Web {
            web: WebClient::default().sharing(connections),
            environment,
        }
    }

    /// Returns the client that reaches other hosts, without any key.
    pub(crate) fn client(&self) -> &WebClient {
        &self.web
    }

    /// Serves as the proxy of a program; returns only if it cannot.
    pub(crate) async fn serve_proxy(
        &self,
        listener: TcpListener,
        egress: Arc<dyn Egress>,
    ) -> io::Error {
        match self.web.serve_proxy(listener, egress).await {
            Err(error) => error,
            Ok(never) => match never {},
        }
    }

    /// Returns the key that a request names.
    fn key(&self, credential: Credential) -> Result<Option<Key>, WebFailure> {
        let Credential {
            variables,
            field,
            prefix,
            is_required,
        } = credential;
        for variable in variables {
            let value = self
                .environment
                .value(variable)
                .map_err(|error| WebFailure::Unavailable(error.to_string()))?;
            if let Some(value) = value {
                return Ok(Some(Key {
                    field,
                    value: format!("{prefix}{value}"),
                }));
            }
        }
        match variables.first().filter(|_| is_required) {
            Some(variable) => Err(WebFailure::NoKey { variable }),
            None => Ok(None),
        }
    }
}

#[async_trait]
impl WebService for Web {
    async fn fetch(
        &self,
        request: WebRequest,
        destinations: Arc<dyn Destinations>,
    ) -> Result<WebResponse, WebFailure> {
        let key = request
            .credential
            .map_or(Ok(None), |credential| self.key(credential))?;
        self.web.fetch(&request, key.as_ref(), &*destinations).await
    }

    fn require_key(&self, credential: Credential) -> Result<(), WebFailure> {
        self.key(credential).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use orchestrate_core::policy::web::WebServiceName;

    use super::*;

    fn key(
        variables: &[(&str, &str)],
        service: WebServiceName,
    ) -> Result<Option<String>, WebFailure> {
        let variables = variables
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let web = Web::new(variables.collect(), ProxyConnections::default());
        web.key(service.credential().unwrap())
            .map(|key| key.map(|key| format!("{}: {}", key.field, key.value)))
    }

    #[test]
    fn a_key_is_that_of_the_users_environment() {
        use WebServiceName::{Brave, Github};
        let given = [("BRAVE_API_KEY", "b"), ("GH_TOKEN", "g")];
        assert_eq!(
            key(&given, Brave),
            Ok(Some("x-subscription-token: b".to_owned()))
        );
        assert_eq!(
            key(&given, Github),
            Ok(Some("authorization: Bearer g".to_owned()))
        );
        assert_eq!(key(&[], Github), Ok(None));
        assert_eq!(
            key(&[], Brave),
            Err(WebFailure::NoKey {
                variable: "BRAVE_API_KEY"
            })
        );
    }
}
