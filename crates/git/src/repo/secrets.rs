//! Secrets in a repository's configuration, so that they can be redacted.

use std::borrow::Cow;

use orchestrate_core::Secret;

use crate::repo::repository::Repo;

/// The name under which these secrets are redacted.
const NAME: &str = "git configuration";

impl Repo {
    /// Returns the passwords and tokens in the URLs of remotes and proxies, and in the extra
    /// headers that git sends.
    ///
    /// If the configuration cannot be read, the result is empty.
    pub fn secrets(&self) -> Vec<Secret> {
        let Some(config) = self
            .handle()
            .ok()
            .and_then(|repository| repository.config().ok())
        else {
            return Vec::new();
        };
        let mut found = Vec::new();
        let Ok(mut entries) = config.entries(None) else {
            return found;
        };
        while let Some(Ok(entry)) = entries.next() {
            let name = String::from_utf8_lossy(entry.name_bytes());
            // To ask for the value of a setting without one panics.
            let value = match entry.has_value() {
                true => String::from_utf8_lossy(entry.value_bytes()),
                false => Cow::Borrowed(""),
            };
            found.extend(of_entry(&name, &value));
        }
        found
    }
}

fn of_entry(name: &str, value: &str) -> Vec<Secret> {
    let name = name.to_ascii_lowercase();
    let last = name.rsplit('.').next().unwrap_or(&name);
    match last {
        "url" | "pushurl" | "proxy" => Secret::in_url(NAME, value),
        // The URL is the middle of the name: `url.<base>.insteadOf`.
        "insteadof" | "pushinsteadof" => Secret::in_url(NAME, &name),
        "extraheader" => value
            .rsplit(char::is_whitespace)
            .next()
            .map(|token| Secret::new(NAME, token))
            .into_iter()
            .collect(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use crate::repo::repository::Repo;
    use crate::store::sample::Sample;

    #[test]
    fn a_secret_is_found_beside_a_setting_without_a_value_and_in_text_that_is_not_utf_8() {
        let sample = Sample::with(&[("a", "one")]);
        let path = sample.folder.path().join("project/.git/config");
        let mut config = std::fs::read(&path).unwrap();
        config.extend(b"[core]\n\tlogAllRefUpdates\n");
        config.extend(b"[remote \"x\"]\n\turl = https://user:a-long-password\xff@example.org/x\n");
        std::fs::write(&path, config).unwrap();
        let folder = sample.folder.path();
        let repo = Repo::open(&folder.join("project"), folder).unwrap();
        assert!(!repo.secrets().is_empty());
    }
}
