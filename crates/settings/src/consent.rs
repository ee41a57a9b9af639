//! Consent to commands that a repository's files name.
//!
//! A project file may name the commands that verify a merge and prepare a worktree. Such a command
//! runs only after the user has seen it once and agreed. A consent is bound to the location of the
//! repository, the key and the exact text of the command, so a changed command needs a new one, and
//! so does one that is to use the network from now on. The consent to the network is also bound to
//! what the command sees besides the project, and to the hosts that it reaches. It is bound to no
//! file: what a command reads and runs in the end cannot be told from its text. A provider of
//! models that a repository chooses needs consent as well, bound to its endpoint: it gets the code.
//! Consents are stored in the user's state folder, which no sandbox and no repository can reach.
//! This module never prompts; the terminal does.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use orchestrate_core::hex;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// The name of the file with the consents, in the user's state folder.
const FILE: &str = "consents.json";

/// A command that a project file names, or a file that defines a tool with one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProjectCommand {
    /// The real path of the project's root.
    pub project: PathBuf,
    /// The settings key that names it, for example `verify`; for a whole file, its path.
    pub key: String,
    /// The shell command, or the text of the file.
    pub command: String,
    /// What it can do with the network; `None` if it has none.
    #[serde(default)]
    pub network: Option<NetworkUse>,
    /// Where it is written, for messages.
    pub place: String,
}

/// What a command with the network could send, and where to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetworkUse {
    /// What it sees besides the files of its commit, in words.
    pub sees: Vec<String>,
    /// The hosts that it reaches besides the public registries of packages.
    #[serde(default)]
    pub hosts: Vec<String>,
}

/// The consents given by a user.
#[derive(Debug)]
pub struct Consents {
    path: PathBuf,
    given: BTreeMap<String, ProjectCommand>,
}

/// Why consents cannot be read or stored.
#[derive(Debug, thiserror::Error)]
pub enum ConsentError {
    /// The file cannot be read or written.
    #[error("use the consents in {path}: {source}")]
    Io {
        /// The file of consents.
        path: PathBuf,
        /// The I/O error.
        source: std::io::Error,
    },
    /// The file is not a valid file of consents.
    #[error("read the consents in {path}: {source}")]
    Malformed {
        /// The file of consents.
        path: PathBuf,
        /// The parse error.
        source: serde_json::Error,
    },
}

/// The key of a consent to a provider, which is no setting.
const PROVIDER: &str = "provider";

impl ProjectCommand {
    /// Creates the consent that a repository's plans, roles and settings may choose models of a
    /// provider, bound to where its requests go.
    pub fn of_provider(
        project: PathBuf,
        provider: &str,
        endpoint: &str,
        place: &str,
    ) -> ProjectCommand {
        let command = format!("{provider} at {endpoint}");
        ProjectCommand {
            project,
            key: PROVIDER.to_owned(),
            command,
            network: None,
            place: place.to_owned(),
        }
    }

    /// Reports whether it is a whole file that defines a tool, which has no key, rather than the
    /// command of a setting.
    pub fn is_file(&self) -> bool {
        self.key == self.place
    }

    /// Returns the hash that a consent is bound to: over the project, the key, the command, and
    /// what it can do with the network.
    pub fn hash(&self) -> String {
        let mut hash = Sha256::new();
        let mut parts = vec![
            self.project.as_os_str().as_encoded_bytes(),
            self.key.as_bytes(),
            self.command.as_bytes(),
        ];
        // Consents without a network keep the hash that they had before there was one.
        if let Some(NetworkUse { sees, hosts }) = &self.network {
            parts.push(b"network");
            parts.extend(sees.iter().map(String::as_bytes));
            parts.push(b"hosts");
            parts.extend(hosts.iter().map(String::as_bytes));
        }
        for part in parts {
            // The lengths keep two different commands from hashing the same bytes.
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        hex(&hash.finalize())
    }
}

impl Consents {
    /// Reads the consents below a state directory. A missing file means that there are none.
    ///
    /// # Errors
    /// Fails if the file exists but cannot be read or parsed: it is never treated as empty.
    pub fn load(state: &Path) -> Result<Consents, ConsentError> {
        let path = state.join(FILE);
        let given = match std::fs::read(&path) {
            Ok(bytes) => {
                serde_json::from_slice(&bytes).map_err(|source| ConsentError::Malformed {
                    path: path.clone(),
                    source,
                })?
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => BTreeMap::new(),
            Err(source) => return Err(ConsentError::Io { path, source }),
        };
        Ok(Consents { path, given })
    }

    /// Reports whether the user has consented to exactly this command.
    pub fn covers(&self, command: &ProjectCommand) -> bool {
        self.given.contains_key(&command.hash())
    }

    /// Records a consent durably.
    ///
    /// # Errors
    /// Fails if the file cannot be written.
    pub fn give(&mut self, command: ProjectCommand) -> Result<(), ConsentError> {
        self.given.insert(command.hash(), command);
        self.save().map_err(|source| ConsentError::Io {
            path: self.path.clone(),
            source,
        })
    }

    /// Replaces the file atomically, so a crash leaves the old or the new one.
    fn save(&self) -> std::io::Result<()> {
        let directory = self.path.parent().unwrap_or(Path::new("."));
        orchestrate_files::create_folder(directory)?;
        let text = serde_json::to_vec_pretty(&self.given)?;
        orchestrate_files::replace(&self.path, &text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(key: &str, text: &str) -> ProjectCommand {
        ProjectCommand {
            project: "/p".into(),
            key: key.to_owned(),
            command: text.to_owned(),
            network: None,
            place: "orchestrate.toml:1:1".to_owned(),
        }
    }

    #[test]
    fn a_consent_holds_for_exactly_one_command() {
        let state =
            std::env::temp_dir().join(format!("orchestrate-consent-{}", std::process::id()));
        let mut consents = Consents::load(&state).unwrap();
        consents.give(command("verify", "cargo test")).unwrap();
        let read = Consents::load(&state).unwrap();
        let table = [
            (command("verify", "cargo test"), true),
            (command("verify", "cargo test "), false),
            (command("worktree.setup", "cargo test"), false),
        ];
        for (command, expected) in table {
            assert_eq!(read.covers(&command), expected, "{command:?}");
        }
        let elsewhere = ProjectCommand {
            project: "/q".into(),
            ..command("verify", "cargo test")
        };
        assert!(!read.covers(&elsewhere));
        let network = |sees: &[&str], hosts: &[&str]| ProjectCommand {
            network: Some(NetworkUse {
                sees: sees.iter().map(|seen| (*seen).to_owned()).collect(),
                hosts: hosts.iter().map(|host| (*host).to_owned()).collect(),
            }),
            ..command("verify", "cargo test")
        };
        assert!(!read.covers(&network(&[], &[])));
        let mut read = read;
        read.give(network(&["x"], &["pypi.org"])).unwrap();
        assert!(read.covers(&network(&["x"], &["pypi.org"])));
        for (sees, host) in [(&["y"], "pypi.org"), (&["x"], "npm.example")] {
            assert!(!read.covers(&network(sees, &[host])), "{sees:?} {host:?}");
        }
        std::fs::write(state.join(FILE), "{").unwrap();
        assert!(matches!(
            Consents::load(&state),
            Err(ConsentError::Malformed { .. })
        ));
        std::fs::remove_dir_all(state).unwrap();
    }
}
