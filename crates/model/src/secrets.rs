//! Finds the secrets in an environment.

use std::path::Path;

use orchestrate_core::Secret;
use orchestrate_core::policy::web::WebServiceName;

use crate::environment::Environment;
use crate::provider::Provider;

/// Endings of the names of variables that hold secrets.
const ENDINGS: &[&str] = &["KEY", "TOKEN", "SECRET", "PASSWORD"];

impl Environment {
    /// Returns all secrets of the environment: keys, including those of providers in `*_FILE`
    /// files, and the secret parts of URLs of endpoints and proxies.
    ///
    /// A file that cannot be read is skipped; the error is reported when its key is needed.
    pub fn secrets(&self) -> Vec<Secret> {
        let mut found = Vec::new();
        for name in self.names() {
            let Some(value) = self.plain(name) else {
                continue;
            };
            found.extend(Secret::in_url(name, value));
            let upper = name.to_ascii_uppercase();
            if ENDINGS.iter().any(|ending| upper.ends_with(ending)) {
                found.push(Secret::new(name, value));
            }
        }
        for provider in Provider::WITH_KEYS {
            found.extend(self.secrets_in_files(provider.key_variables()));
        }
        for service in WebServiceName::ALL {
            if let Some(credential) = service.credential() {
                found.extend(self.secrets_in_files(credential.variables));
            }
        }
        found
    }

    fn secrets_in_files(&self, variables: &[&str]) -> Vec<Secret> {
        let mut found = Vec::new();
        for name in variables {
            if self.names_a_file(name)
                && let Ok(Some(value)) = self.value(name)
            {
                found.push(Secret::new(*name, value));
            }
        }
        found
    }

    /// Reports whether `NAME_FILE` names a regular file. Anything else, such as a pipe, may be
    /// readable only once, so it is left for the use of the key.
    fn names_a_file(&self, name: &str) -> bool {
        self.plain(&format!("{name}_FILE"))
            .is_some_and(|path| Path::new(path).is_file())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(pairs: &[(&str, &str)]) -> Environment {
        pairs
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect()
    }

    #[test]
    fn its_secrets_are_keys_files_and_logins() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        std::fs::write(&path, "key-of-a-0123abcd-file\n").unwrap();
        let given = environment(&[
            ("OPENAI_API_KEY", "key-of-0123abcd-openai"),
            ("GEMINI_API_KEY_FILE", path.to_str().unwrap()),
            ("OPENROUTER_API_KEY_FILE", "/nope"),
            ("https_proxy", "http://me:password0of0proxy@proxy:1"),
            ("GIT_AUTHOR_NAME", "somebody else"),
        ]);
        let redactor = orchestrate_core::Redactor::new(given.secrets());
        let text =
            "key-of-0123abcd-openai key-of-a-0123abcd-file password0of0proxy somebody else /nope";
        let expected = "[redacted:OPENAI_API_KEY] [redacted:GEMINI_API_KEY] [redacted:https_proxy] \
                        somebody else /nope";
        assert_eq!(redactor.text(text), expected);
    }
}
