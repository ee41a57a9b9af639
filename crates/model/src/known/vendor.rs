//! The vendor that gets the requests to a model, and whether the user allows it.
//!
//! A repository may name models, so it could choose who reads private code, and spend the user's
//! key there. Scripts and servers on this machine have no vendor: nothing leaves the machine.

use std::collections::BTreeSet;

use crate::error::ModelError;
use crate::known::catalog::Models;
use crate::name::ModelName;
use crate::provider::Provider;

/// The company that gets the requests to a model.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Vendor {
    /// The provider's name.
    pub provider: String,
    /// The URL that requests go to, from the user's environment or the provider's own.
    pub endpoint: String,
}

impl Models {
    /// Returns the vendor of a model; `None` if its requests do not leave this machine, or go to
    /// the server that the user names with `base_url` and no provider.
    ///
    /// # Errors
    ///
    /// Fails if the name or the provider's endpoint is not valid.
    pub fn vendor(&self, name: &ModelName) -> Result<Option<Vendor>, ModelError> {
        match name {
            ModelName::Hosted { provider, .. } => self.vendor_of(*provider),
            ModelName::Script(_) | ModelName::Replay(_) | ModelName::Other(_) => Ok(None),
        }
    }

    /// Returns the vendor of a provider's models; `None` if their requests do not leave this
    /// machine.
    ///
    /// # Errors
    ///
    /// Fails if the provider's endpoint is not valid.
    pub fn vendor_of(&self, provider: Provider) -> Result<Option<Vendor>, ModelError> {
        let endpoint = provider
            .endpoint(&self.environment, self.base_url.as_deref())?
            .base_url;
        let vendor = Vendor {
            provider: provider.name().to_owned(),
            endpoint,
        };
        Ok(Some(vendor).filter(|vendor| !is_on_this_machine(&vendor.endpoint)))
    }

    /// Requires that a model's vendor is one of the allowed providers; `None` allows all.
    ///
    /// # Errors
    ///
    /// [`ModelError::VendorNotAllowed`] if it is another one.
    pub fn require_allowed(
        &self,
        name: &ModelName,
        allowed: Option<&BTreeSet<String>>,
    ) -> Result<(), ModelError> {
        let (Some(allowed), Some(vendor)) = (allowed, self.vendor(name)?) else {
            return Ok(());
        };
        if allowed.contains(&vendor.provider) {
            return Ok(());
        }
        Err(ModelError::VendorNotAllowed {
            model: name.to_string(),
            provider: vendor.provider,
        })
    }
}

fn is_on_this_machine(url: &str) -> bool {
    let Ok(url) = reqwest::Url::parse(url) else {
        return false;
    };
    let Some(host) = url.host_str() else {
        return false;
    };
    let address = host
        .trim_start_matches('[')
        .trim_end_matches(']')
        .parse::<std::net::IpAddr>();
    address.map_or(host == "localhost", |address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::Environment;

    #[test]
    fn what_leaves_the_machine_has_a_vendor() {
        let variables = [
            ("OPENAI_BASE_URL", "http://127.0.0.1:9/v1"),
            ("OLLAMA_HOST", "ollama.example:1"),
        ];
        let owned = variables.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let models = Models::new(owned.into_iter().collect::<Environment>(), None);
        let table = [
            ("script:a", None),
            ("openai/x", None),
            ("lmstudio/x", None),
            ("ollama/x", Some(("ollama", "http://ollama.example:1/v1"))),
            (
                "anthropic/x",
                Some(("anthropic", "https://api.anthropic.com")),
            ),
        ];
        for (name, expected) in table {
            let found = models.vendor(&ModelName::parse(name).unwrap()).unwrap();
            let found = found
                .as_ref()
                .map(|vendor| (vendor.provider.as_str(), vendor.endpoint.as_str()));
            assert_eq!(found, expected, "{name}");
        }
    }

    #[test]
    fn only_allowed_vendors_get_requests() {
        let models = Models::new(Environment::default(), None);
        let allowed = BTreeSet::from(["anthropic".to_owned()]);
        let table = [
            ("anthropic/x", true),
            ("ollama/x", true),
            ("script:a", true),
            ("openai/x", false),
        ];
        for (name, expected) in table {
            let name = ModelName::parse(name).unwrap();
            assert_eq!(
                models.require_allowed(&name, Some(&allowed)).is_ok(),
                expected,
                "{name}"
            );
            assert!(models.require_allowed(&name, None).is_ok(), "{name}");
        }
    }
}
