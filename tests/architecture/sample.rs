//! A tiny crate in a temporary directory that a tool is let loose on, to see whether it complains.

use std::fs;
use std::path::Path;
use std::time::Duration;

use libtest_mimic::Failed;

use crate::support::{Home, Ran};

/// The tools check a few dozen lines; the time is for a machine that does much else.
const PATIENCE: Duration = Duration::from_secs(300);

/// As much of tokio as the samples need: clippy goes by the path, so the real one need not be built.
const STAND_IN_FOR_TOKIO: &str = "pub fn spawn(_: ()) {}
pub mod task { pub fn spawn(_: ()) {} }
pub mod sync { pub mod mpsc { pub fn unbounded_channel() {} } }
pub mod process { pub struct Command; impl Command { pub fn new(_: &str) -> Self { Self } } }
";

/// The crate; it goes with its directories.
pub(super) struct Sample {
    home: Home,
}

impl Sample {
    /// Makes a crate without a line of code, with whatever follows its manifest's `[package]`.
    pub(super) fn new(manifest: &str) -> Result<Self, Failed> {
        let sample = Self { home: Home::new()? };
        sample.write("Cargo.toml", &format!("{}{manifest}\n[workspace]\n", package("sample")))?;
        sample.write("src/lib.rs", "")?;
        Ok(sample)
    }

    /// Makes a crate that depends on a stand-in for tokio.
    pub(super) fn with_tokio() -> Result<Self, Failed> {
        let sample = Self::new("[dependencies]\ntokio = { path = \"tokio\" }\n")?;
        sample.dependency("tokio", STAND_IN_FOR_TOKIO, "")?;
        Ok(sample)
    }

    /// Adds the sources of a crate that the sample depends on by path.
    pub(super) fn dependency(&self, name: &str, source: &str, more: &str) -> Result<(), Failed> {
        self.write(&format!("{name}/Cargo.toml"), &format!("{}{more}\n", package(name)))?;
        self.write(&format!("{name}/src/lib.rs"), source)
    }

    /// Writes a file of the sample.
    pub(super) fn write(&self, name: &str, text: &str) -> Result<(), Failed> {
        let path = self.home.path().join("sample").join(name);
        fs::create_dir_all(path.parent().unwrap_or(self.home.path()))?;
        Ok(fs::write(path, text)?)
    }

    /// Runs cargo on the sample.
    pub(super) fn cargo(&self, arguments: &[&str], rules: &Path) -> Result<Ran, Failed> {
        let invocation = self.home.command("cargo", &self.home.path().join("sample"), arguments);
        // A denied lint would end the check before later lints had their say.
        let invocation = invocation.env("RUSTFLAGS", "--cap-lints=warn");
        invocation.with_toolchain().env("CLIPPY_CONF_DIR", rules).patience(PATIENCE).run()
    }

    /// Returns what clippy with the rules of a folder says to the sample; a sample that does not compile fails.
    pub(super) fn clippy(&self, rules: &Path) -> Result<String, Failed> {
        let ran = self.cargo(&["clippy", "--offline", "--quiet"], rules)?;
        if ran.stderr.contains("error[") { Err(Failed::from(ran.stderr)) } else { Ok(ran.stderr) }
    }
}

fn package(name: &str) -> String {
    format!("[package]\nname = \"{name}\"\nversion = \"0.0.0\"\nedition = \"2024\"\nlicense = \"MIT\"\n")
}
