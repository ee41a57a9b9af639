//! A tiny crate in a temporary directory on which a tool is run, to see whether it complains.

use std::fs;
use std::path::Path;
use std::time::Duration;

use libtest_mimic::Failed;

use crate::support::{Home, Ran};

/// The tools check a few dozen lines; the limit is for a loaded machine.
const PATIENCE: Duration = Duration::from_secs(300);

/// The part of tokio that the samples need. Clippy compares paths, so the real crate need not be
/// built.
const STAND_IN_FOR_TOKIO: &str = "pub fn spawn(_: ()) {}
pub mod task { pub fn spawn(_: ()) {} }
pub mod sync { pub mod mpsc { pub fn unbounded_channel() {} } }
pub mod process { pub struct Command; impl Command { pub fn new(_: &str) -> Self { Self } } }
";

/// The crate, deleted on drop.
pub(super) struct Sample {
    home: Home,
}

impl Sample {
    /// Creates a crate without code; `manifest` follows the manifest's `[package]` table.
    pub(super) fn new(manifest: &str) -> Result<Self, Failed> {
        let sample = Self { home: Home::new()? };
        sample.write(
            "Cargo.toml",
            &format!("{}{manifest}\n[workspace]\n", package("sample")),
        )?;
        sample.write("src/lib.rs", "")?;
        Ok(sample)
    }

    /// Creates a crate that depends on a stand-in for tokio.
    pub(super) fn with_tokio() -> Result<Self, Failed> {
        let sample = Self::new("[dependencies]\ntokio = { path = \"tokio\" }\n")?;
        sample.dependency("tokio", STAND_IN_FOR_TOKIO, "")?;
        Ok(sample)
    }

    /// Adds a crate that the sample depends on by path; `more` is the rest of its manifest.
    pub(super) fn dependency(&self, name: &str, source: &str, more: &str) -> Result<(), Failed> {
        self.write(
            &format!("{name}/Cargo.toml"),
            &format!("{}{more}\n", package(name)),
        )?;
        self.write(&format!("{name}/src/lib.rs"), source)
    }

    /// Writes a file of the sample.
    pub(super) fn write(&self, name: &str, text: &str) -> Result<(), Failed> {
        let path = self.home.path().join("sample").join(name);
        fs::create_dir_all(path.parent().unwrap_or(self.home.path()))?;
        Ok(fs::write(path, text)?)
    }

    /// Runs cargo on the sample, with the `clippy.toml` of the folder `rules`.
    pub(super) fn cargo(&self, arguments: &[&str], rules: &Path) -> Result<Ran, Failed> {
        let invocation = self
            .home
            .command("cargo", &self.home.path().join("sample"), arguments);
        // A denied lint would end the check before later lints run.
        let invocation = invocation.env("RUSTFLAGS", "--cap-lints=warn");
        invocation
            .with_toolchain()
            .env("CLIPPY_CONF_DIR", rules)
            .patience(PATIENCE)
            .run()
    }

    /// Returns the messages of clippy with the `clippy.toml` of a folder; fails if the sample does
    /// not compile.
    pub(super) fn clippy(&self, rules: &Path) -> Result<String, Failed> {
        let ran = self.cargo(&["clippy", "--offline", "--quiet"], rules)?;
        if ran.stderr.contains("error[") {
            Err(Failed::from(ran.stderr))
        } else {
            Ok(ran.stderr)
        }
    }
}

fn package(name: &str) -> String {
    format!(
        "[package]\nname = \"{name}\"\nversion = \"0.0.0\"\nedition = \"2024\"\nlicense = \"MIT\"\n"
    )
}
