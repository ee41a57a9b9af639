//! The keys and endpoints of model servers, the proxies and the committing identity in the
//! environment.

use std::collections::BTreeMap;

/// Keys and endpoints of model servers, as the providers' own programs name them.
pub(crate) const SECRETS: &[&str] = &[
    "OPENAI_API_KEY",
    "OPENAI_BASE_URL",
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "ANTHROPIC_BASE_URL",
    "GEMINI_API_KEY",
    "GOOGLE_API_KEY",
    "GOOGLE_GEMINI_BASE_URL",
    "OPENROUTER_API_KEY",
    "OLLAMA_HOST",
    // Those of the services that the tools for the web ask.
    "BRAVE_API_KEY",
    "TAVILY_API_KEY",
    "GITHUB_TOKEN",
    "GH_TOKEN",
];

/// Proxy settings, as other programs read them.
const PROXIES: &[&str] = &[
    "https_proxy",
    "HTTPS_PROXY",
    "http_proxy",
    "all_proxy",
    "ALL_PROXY",
    "no_proxy",
    "NO_PROXY",
];

/// The author and the committer, as git itself reads them; they override git's configuration.
const IDENTITIES: &[&str] = &[
    "GIT_AUTHOR_NAME",
    "GIT_AUTHOR_EMAIL",
    "GIT_COMMITTER_NAME",
    "GIT_COMMITTER_EMAIL",
    "EMAIL",
];

/// Collects keys, endpoints, proxies and the committing identity from the environment. Keys and
/// endpoints that no variable sets are taken from the user's file.
pub(crate) fn secrets(
    variables: &BTreeMap<String, String>,
    of_file: &BTreeMap<String, String>,
) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for name in SECRETS {
        let file_variant = format!("{name}_FILE");
        if let Some(value) = set(variables, name) {
            found.insert((*name).to_owned(), value.to_owned());
        } else if let Some(path) = set(variables, &file_variant) {
            found.insert(file_variant, path.to_owned());
        } else if let Some(value) = of_file.get(*name) {
            found.insert((*name).to_owned(), value.clone());
        }
    }
    for name in PROXIES.iter().chain(IDENTITIES) {
        if let Some(value) = set(variables, name) {
            found.insert((*name).to_owned(), value.to_owned());
        }
    }
    found
}

/// Returns a variable's trimmed value; an empty one counts as not set.
pub(crate) fn set<'a>(variables: &'a BTreeMap<String, String>, name: &str) -> Option<&'a str> {
    variables
        .get(name)
        .map(|value| value.trim())
        .filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use orchestrate_core::policy::web::WebServiceName;

    use super::*;

    fn variables(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect()
    }

    #[test]
    fn the_keys_of_all_web_services_are_passed_on() {
        let keys = WebServiceName::ALL
            .iter()
            .filter_map(|service| service.credential());
        let missing: Vec<&str> = keys
            .flat_map(|key| key.variables)
            .copied()
            .filter(|variable| !SECRETS.contains(variable))
            .collect();
        assert_eq!(missing, [""; 0]);
    }

    #[test]
    fn a_key_of_the_environment_beats_the_file() {
        let given = variables(&[
            ("OPENAI_API_KEY", "of-environment"),
            ("GEMINI_API_KEY_FILE", "/k"),
            ("PATH", "/bin"),
        ]);
        let file = variables(&[("OPENAI_API_KEY", "of-file"), ("OLLAMA_HOST", "h")]);
        let expected = variables(&[
            ("GEMINI_API_KEY_FILE", "/k"),
            ("OLLAMA_HOST", "h"),
            ("OPENAI_API_KEY", "of-environment"),
        ]);
        assert_eq!(secrets(&given, &file), expected);
    }
}
