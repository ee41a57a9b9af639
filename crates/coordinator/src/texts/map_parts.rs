//! The file in which what a repository's files declare is kept between runs.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use orchestrate_tools::MapLines;

/// That file.
#[derive(Clone, Debug)]
pub(crate) struct MapParts(PathBuf);

impl MapParts {
    /// The parts in this file, which is created when there are some.
    pub(crate) fn at(path: &Path) -> MapParts {
        MapParts(path.to_owned())
    }

    fn tell(&self, written: std::io::Result<()>) {
        if let Err(error) = written {
            tracing::debug!(path = %self.0.display(), %error, "the parts of maps were not kept");
        }
    }
}

impl MapLines for MapParts {
    fn open(&self) -> Option<Box<dyn Read>> {
        Some(Box::new(File::open(&self.0).ok()?))
    }

    fn add(&self, lines: &[u8]) {
        // `check --map` may come before the repository's first run.
        let folder = self
            .0
            .parent()
            .map_or(Ok(()), orchestrate_files::create_folder);
        let file = folder.and_then(|()| {
            OpenOptions::new()
                .append(true)
                .create(true)
                .mode(orchestrate_files::PRIVATE_FILE)
                .open(&self.0)
        });
        self.tell(file.and_then(|mut file| file.write_all(lines)));
    }

    fn replace(&self, lines: &[u8]) {
        self.tell(orchestrate_files::replace(&self.0, lines));
    }
}
