//! The packages that a job with a network downloads, which jobs without one use.
//!
//! A tool downloads into a cache of its own, outside of the project. A job must not write to the
//! caches of the user, from which other projects build, so it writes to a folder of its own. Later
//! jobs read there what cannot be made part of the project: the crates of cargo, the modules of Go.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

use crate::error::SandboxError;
use crate::host::RustHomes;
use crate::job::{Job, Network, View};

/// The folders that later jobs read, with the variable that names each to its tool, and what is in one that is used:
/// otherwise the tool finds the packages of the user.
const READ_LATER: [(&str, &str, &str); 3] =
    [("cargo", "CARGO_HOME", "registry"), ("go", "GOMODCACHE", "cache"), ("cache/npm", "npm_config_cache", "_cacache")];
/// The folders that only the job with the network uses.
const CACHES: [(&str, &str); 3] =
    [("cache", "XDG_CACHE_HOME"), ("cache/pnpm", "npm_config_store_dir"), ("cache/yarn", "YARN_CACHE_FOLDER")];

/// A folder of downloaded packages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Packages(pub(crate) PathBuf);

impl Packages {
    /// Lets a job write to the folder if it has a network, and otherwise read it.
    pub(crate) fn show(&self, job: &mut Job) -> Result<(), SandboxError> {
        let View::Host(view) = &mut job.view;
        match job.network {
            Network::Host => {
                self.create().map_err(SandboxError::io("create a folder for packages"))?;
                view.writable.push(self.0.clone());
                let read_later = READ_LATER.map(|(name, variable, _)| (name, variable));
                self.name(&mut job.env, read_later.into_iter().chain(CACHES));
            }
            Network::None => {
                let used = READ_LATER.into_iter().filter(|(name, _, inside)| self.0.join(name).join(inside).is_dir());
                let used: Vec<(&str, &str)> = used.map(|(name, variable, _)| (name, variable)).collect();
                view.optional.extend(used.iter().map(|(name, _)| self.0.join(name)));
                self.name(&mut job.env, used.into_iter());
                // Fails at once instead of retrying a missing network for a minute.
                job.env.entry("npm_config_offline".into()).or_insert_with(|| "true".into());
            }
        }
        Ok(())
    }

    fn name(
        &self,
        env: &mut BTreeMap<OsString, OsString>,
        folders: impl Iterator<Item = (&'static str, &'static str)>,
    ) {
        for (name, variable) in folders {
            env.entry(variable.into()).or_insert(self.0.join(name).into());
        }
    }

    /// Creates the folder, and cargo's with the user's configuration in it.
    fn create(&self) -> std::io::Result<()> {
        orchestrate_files::create_folder(&self.0)?;
        let Some((_, config)) = RustHomes::of_user().cargo_config() else { return Ok(()) };
        let cargo = self.0.join("cargo");
        orchestrate_files::create_folder(&cargo)?;
        orchestrate_files::replace(&cargo.join("config.toml"), &config)
    }
}
