//! The packages that a job with a network downloads, which jobs without one use.
//!
//! A tool downloads into a cache of its own, outside of the project. A job must not write to the
//! caches of the user, from which other projects build, so it writes to a folder of its own. Later
//! jobs read there what cannot be made part of the project: the crates of cargo, the modules of Go,
//! and what a setup without a network installs from, the wheels of Python and the packages of npm.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

use tempfile::TempDir;

use crate::environment::host::RustHomes;
use crate::error::SandboxError;
use crate::job::{Job, Network, View};

/// The folders that later jobs read, with the variable that names each to its tool, and what is in
/// one that is used: otherwise the tool finds the packages of the user.
const READ_LATER: [(&str, &str, &str); 3] = [
    ("cargo", "CARGO_HOME", "registry"),
    ("go", "GOMODCACHE", "cache"),
    ("cache/npm", "npm_config_cache", "_cacache"),
];
/// The folders that only the job with the network uses.
const CACHES: [(&str, &str); 3] = [
    ("cache", "XDG_CACHE_HOME"),
    ("cache/pnpm", "npm_config_store_dir"),
    ("cache/yarn", "YARN_CACHE_FOLDER"),
];

/// The folder of wheels, the variable with which pip is told to download to it, and the one to read
/// it.
const WHEELS: (&str, &str, &str) = ("wheels", "PIP_DEST", "PIP_FIND_LINKS");

/// A folder of downloaded packages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Packages {
    folder: PathBuf,
    /// Whether jobs with a proxy write to it as well.
    takes_downloads: bool,
}

impl Packages {
    pub(crate) fn new(folder: PathBuf) -> Self {
        Self {
            folder,
            takes_downloads: false,
        }
    }

    /// Lets jobs with a proxy write to the folder as well.
    pub(crate) fn taking_downloads(&self) -> Self {
        Self {
            folder: self.folder.clone(),
            takes_downloads: true,
        }
    }

    /// Creates a folder with these files in the folder of packages.
    pub(crate) fn new_folder(&self, files: &[(&str, &[u8])]) -> std::io::Result<TempDir> {
        orchestrate_files::create_folder(&self.folder)?;
        let folder = tempfile::Builder::new()
            .prefix(".download-")
            .tempdir_in(&self.folder)?;
        for (name, bytes) in files {
            let path = folder.path().join(name);
            path.parent()
                .map_or(Ok(()), orchestrate_files::create_folder)?;
            orchestrate_files::replace(&path, bytes)?;
        }
        Ok(folder)
    }

    /// Lets a job write to the folder if it has a network, and otherwise read it.
    pub(crate) fn show(&self, job: &mut Job) -> Result<(), SandboxError> {
        let View::Host(view) = &mut job.view;
        match job.network {
            Network::Proxy if self.takes_downloads => {
                self.show_writable(job)?;
                self.name(&mut job.env, [(WHEELS.0, WHEELS.1)].into_iter());
            }
            Network::None => {
                let used = READ_LATER
                    .into_iter()
                    .filter(|(name, _, inside)| self.path(name).join(inside).is_dir());
                let mut used: Vec<(&str, &str)> =
                    used.map(|(name, variable, _)| (name, variable)).collect();
                if self.path(WHEELS.0).is_dir() {
                    used.push((WHEELS.0, WHEELS.2));
                    // An index that does not answer would be asked again and again.
                    job.env
                        .entry("PIP_NO_INDEX".into())
                        .or_insert_with(|| "1".into());
                }
                view.optional
                    .extend(used.iter().map(|(name, _)| self.path(name)));
                self.name(&mut job.env, used.into_iter());
                // Fails at once instead of retrying a missing network for a minute.
                job.env
                    .entry("npm_config_offline".into())
                    .or_insert_with(|| "true".into());
            }
            // It downloads into folders of its own: what an agent brings in must not become what
            // others build from.
            Network::Proxy => {}
        }
        Ok(())
    }

    fn show_writable(&self, job: &mut Job) -> Result<(), SandboxError> {
        self.create()
            .map_err(SandboxError::io("create a folder for packages"))?;
        let View::Host(view) = &mut job.view;
        view.writable.push(self.folder.clone());
        let read_later = READ_LATER.map(|(name, variable, _)| (name, variable));
        self.name(&mut job.env, read_later.into_iter().chain(CACHES));
        Ok(())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    fn name(
        &self,
        env: &mut BTreeMap<OsString, OsString>,
        folders: impl Iterator<Item = (&'static str, &'static str)>,
    ) {
        for (name, variable) in folders {
            env.entry(variable.into()).or_insert(self.path(name).into());
        }
    }

    /// Creates the folder, and cargo's with the user's configuration in it.
    fn create(&self) -> std::io::Result<()> {
        orchestrate_files::create_folder(&self.folder)?;
        let Some((_, config)) = RustHomes::of_user().cargo_config() else {
            return Ok(());
        };
        let cargo = self.path("cargo");
        orchestrate_files::create_folder(&cargo)?;
        orchestrate_files::replace(&cargo.join("config.toml"), &config)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::{HostView, Limits};

    fn job(network: Network) -> Job {
        Job {
            view: View::Host(HostView::default()),
            program: "true".into(),
            args: Vec::new(),
            cwd: "/".into(),
            stdin: Vec::new(),
            env: BTreeMap::new(),
            network,
            limits: Limits::default(),
        }
    }

    #[test]
    fn only_jobs_that_download_for_others_write_to_the_folder() {
        let root = tempfile::tempdir().unwrap();
        let packages = Packages::new(root.path().join("packages"));
        let shown = |packages: &Packages, network| {
            let mut job = job(network);
            packages.show(&mut job).unwrap();
            let View::Host(view) = job.view;
            let value = |name: &str| job.env.get(&OsString::from(name)).cloned();
            (
                view.writable,
                view.optional,
                value("PIP_DEST"),
                value("PIP_FIND_LINKS"),
                value("CARGO_HOME"),
            )
        };
        let folder = packages.folder.clone();
        let wheels = packages.path("wheels");
        let cargo = packages.path("cargo");
        let nothing = (vec![], vec![], None, None, None);
        assert_eq!(shown(&packages, Network::None), nothing);
        assert_eq!(shown(&packages, Network::Proxy), nothing);
        let files: [(&str, &[u8]); 1] = [("below/list", b"a")];
        let new = packages.new_folder(&files).unwrap();
        assert_eq!(std::fs::read(new.path().join("below/list")).unwrap(), b"a");
        let (writable, _, to, _, _) = shown(&packages.taking_downloads(), Network::Proxy);
        assert_eq!((writable, to), (vec![folder], Some(wheels.clone().into())));
        // What is there is read from then on, and nothing else changes.
        std::fs::create_dir_all(&wheels).unwrap();
        std::fs::create_dir_all(cargo.join("registry")).unwrap();
        let (writable, optional, to, from, home) = shown(&packages, Network::None);
        assert_eq!(
            (writable, optional, to),
            (vec![], vec![cargo.clone(), wheels.clone()], None)
        );
        assert_eq!((from, home), (Some(wheels.into()), Some(cargo.into())));
        assert_eq!(shown(&packages, Network::Proxy), nothing);
    }
}
