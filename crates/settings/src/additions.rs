//! What the user adds to what commands see: files and variables.
//!
//! A path that would show the whole home or this program's own files is refused, and so is a
//! variable that the sandbox sets itself or that is a key of a model server.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::environment::{Directories, path_of};
use crate::layer::{Problem, checked};
use crate::merge::Resolved;
use crate::secrets::SECRETS;

/// Variables that the sandbox sets: commands would not find their programs or their home.
const OF_SANDBOX: [&str; 6] = [
    "PATH",
    "HOME",
    "TMPDIR",
    "USER",
    "LOGNAME",
    "GIT_CONFIG_NOSYSTEM",
];

/// What the user adds to what commands see.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Additions {
    /// Absolute paths that may be read.
    pub read: Vec<PathBuf>,
    /// Variables by name.
    pub variables: BTreeMap<String, String>,
}

impl Additions {
    /// Returns the additions of the settings, with the values of this environment.
    ///
    /// # Errors
    /// Returns every problem with them.
    pub(crate) fn resolve(
        resolved: &Resolved,
        variables: &BTreeMap<String, String>,
        directories: &Directories,
    ) -> Result<Additions, Vec<Problem>> {
        let mut problems = Vec::new();
        let mut additions = Additions::default();
        let home = variables.get("HOME").map(PathBuf::from);
        for text in resolved.list("sandbox.read") {
            match readable(&text, home.as_deref(), directories) {
                Ok(path) => additions.read.push(path),
                Err(reason) => {
                    let message = format!("`{text}` cannot be shown: {reason}");
                    problems.push(resolved.problem("sandbox.read", message));
                }
            }
        }
        for name in resolved.list("sandbox.env") {
            if let Some(reason) = refusal(&name) {
                let message = format!("`{name}` cannot be passed: {reason}");
                problems.push(resolved.problem("sandbox.env", message));
            } else if let Some(value) = variables.get(&name) {
                additions.variables.insert(name, value.clone());
            }
        }
        checked(additions, problems)
    }

    /// Lists them for the user, without the values of variables.
    pub(crate) fn in_words(&self) -> Vec<String> {
        let variables = self
            .variables
            .keys()
            .map(|name| format!("the variable {name} (`sandbox.env`)"));
        variables
            .chain(
                self.read
                    .iter()
                    .map(|path| format!("{} (`sandbox.read`)", path.display())),
            )
            .collect()
    }
}

/// Returns the path that a text of the configuration means.
fn readable(
    text: &str,
    home: Option<&Path>,
    directories: &Directories,
) -> Result<PathBuf, &'static str> {
    let path = path_of(text, home).ok_or("no home directory is set")?;
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let shown = real(&path);
    let own = [&directories.config, &directories.state];
    if home.is_some_and(|home| real(home).starts_with(&shown)) {
        return Err("it contains the whole home; name the folders that commands need");
    }
    if own
        .into_iter()
        .any(|own| real(own).starts_with(&shown) || shown.starts_with(real(own)))
    {
        return Err("it contains files of orchestrate itself");
    }
    Ok(path)
}

fn refusal(name: &str) -> Option<&'static str> {
    if OF_SANDBOX.contains(&name) {
        return Some("the sandbox sets it itself");
    }
    let key = name.strip_suffix("_FILE").unwrap_or(name);
    SECRETS
        .contains(&key)
        .then_some("no command gets the key or the address of a model server or a service")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::named;
    use crate::layer::{Layer, Location, Source};

    /// Returns the additions of a user's configuration, or the problems with it.
    fn found(read: &str, env: &str) -> Result<Additions, Vec<String>> {
        let mut layer = Layer::default();
        for (key, text) in [("sandbox.read", read), ("sandbox.env", env)] {
            if !text.is_empty() {
                layer
                    .take_text(
                        named(key).unwrap(),
                        text,
                        Location::new(Source::User, "config.toml"),
                    )
                    .unwrap();
            }
        }
        let variables = [
            ("HOME", "/home/u"),
            ("CI", "1"),
            ("OPENAI_API_KEY", "k"),
            ("PATH", "/bin"),
        ];
        let variables: BTreeMap<String, String> = variables
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        let directories = Directories::find(&variables).unwrap();
        Additions::resolve(&Resolved::merge(&[layer]), &variables, &directories)
            .map_err(|problems| problems.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn the_user_adds_paths_and_variables() {
        let expected = Additions {
            read: vec!["/home/u/tools".into(), "/srv/data".into()],
            variables: BTreeMap::from([("CI".to_owned(), "1".to_owned())]),
        };
        assert_eq!(found("~/tools:/srv/data", "CI,NOT_SET"), Ok(expected));
        assert_eq!(found("", ""), Ok(Additions::default()));
    }

    #[test]
    fn neither_the_home_nor_a_key_can_be_added() {
        let table = [
            (
                "~/",
                "",
                "`~/` cannot be shown: it contains the whole home; name the folders that commands \
                 need",
            ),
            (
                "/home",
                "",
                "`/home` cannot be shown: it contains the whole home; name the folders that \
                 commands need",
            ),
            (
                "/",
                "",
                "`/` cannot be shown: it contains the whole home; name the folders that commands \
                 need",
            ),
            (
                "~/.local",
                "",
                "`~/.local` cannot be shown: it contains files of orchestrate itself",
            ),
            (
                "~/.config/orchestrate/x",
                "",
                "`~/.config/orchestrate/x` cannot be shown: it contains files of orchestrate \
                 itself",
            ),
            (
                "",
                "HOME",
                "`HOME` cannot be passed: the sandbox sets it itself",
            ),
            (
                "",
                "OPENAI_API_KEY",
                "`OPENAI_API_KEY` cannot be passed: no command gets the key or the address of a \
                 model server or a service",
            ),
            (
                "",
                "OPENAI_API_KEY_FILE",
                "`OPENAI_API_KEY_FILE` cannot be passed: no command gets the key or the address of \
                 a model server or a service",
            ),
        ];
        for (read, env, expected) in table {
            assert_eq!(
                found(read, env),
                Err(vec![format!("config.toml: {expected}")])
            );
        }
    }
}
