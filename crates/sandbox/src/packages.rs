//! The packages that a job with a network downloads, which jobs without one use.
//!
//! A tool downloads into a cache of its own, outside of the project. A job must not write to the
//! caches of the user, from which other projects build, so it writes to a folder of its own. Later
//! jobs read there what cannot be made part of the project: the crates of cargo, the modules of Go.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::error::SandboxError;
use crate::host::RustHomes;
use crate::job::{HostView, Job, Network, View};

/// The folders that later jobs read, with the variable that names each to its tool.
const READ_LATER: [(&str, &str); 2] = [("cargo", "CARGO_HOME"), ("go", "GOMODCACHE")];
/// The folders that only the job with the network uses.
const CACHES: [(&str, &str); 4] = [
    ("cache", "XDG_CACHE_HOME"),
    ("cache/npm", "npm_config_cache"),
    ("cache/pnpm", "npm_config_store_dir"),
    ("cache/yarn", "YARN_CACHE_FOLDER"),
];

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
                self.name(&mut job.env, READ_LATER.into_iter().chain(CACHES), |_| true);
            }
            Network::None => {
                self.show_read_only(view);
                self.name(&mut job.env, READ_LATER.into_iter(), Path::is_dir);
            }
        }
        Ok(())
    }

    fn show_read_only(&self, view: &mut HostView) {
        view.optional.extend(READ_LATER.map(|(name, _)| self.0.join(name)));
    }

    fn name(
        &self,
        env: &mut BTreeMap<OsString, OsString>,
        folders: impl Iterator<Item = (&'static str, &'static str)>,
        counts: fn(&Path) -> bool,
    ) {
        for (name, variable) in folders {
            let folder = self.0.join(name);
            if counts(&folder) {
                env.entry(variable.into()).or_insert(folder.into());
            }
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
