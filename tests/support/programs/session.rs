//! A user's shell session: lines run exactly as written, with the built program on the `PATH`.
//!
//! The program uses the strongest tier that works, so the fallback tier is tested by hiding
//! bubblewrap, which bubblewrap itself can do.

use std::path::{Path, PathBuf};
use std::time::Duration;

use libtest_mimic::Failed;
use orchestrate_sandbox::{Confinement, Helper, probe};

use crate::support::{Home, ModelServer};

/// How long a line may take: on a loaded machine, compiling the dependencies takes minutes.
const PATIENCE: Duration = Duration::from_secs(900);
/// Where the program looks for bubblewrap before it searches the `PATH`.
const USUAL: [&str; 3] = ["/usr/bin", "/bin", "/usr/local/bin"];

/// A shell session in a folder, which records what is typed and shown.
pub(crate) struct Session<'a> {
    home: &'a Home,
    folder: PathBuf,
    hidden: Vec<PathBuf>,
    variables: Vec<(&'static str, String)>,
    typed: Vec<(String, String)>,
}

impl<'a> Session<'a> {
    /// Creates a session in which the program finds this tier.
    pub(crate) fn new(home: &'a Home, folder: &Path, tier: Confinement) -> Result<Self, Failed> {
        let is_hidden = tier == Confinement::Fallback && probe(&Helper::default()).full.is_ok();
        let hidden = if is_hidden {
            bubblewraps()?
        } else {
            Vec::new()
        };
        let program = Path::new(env!("CARGO_BIN_EXE_orchestrate"))
            .parent()
            .map(Path::to_owned)
            .unwrap_or_default();
        let path = std::env::var_os("PATH").unwrap_or_default();
        let path =
            std::env::join_paths(std::iter::once(program).chain(std::env::split_paths(&path)))?;
        let path = path
            .into_string()
            .map_err(|path| Failed::from(format!("{path:?} is no text")))?;
        let variables = vec![("PATH", path)];
        Ok(Self {
            home,
            folder: folder.to_owned(),
            hidden,
            variables,
            typed: Vec::new(),
        })
    }

    /// Puts a folder below the user's home first on the `PATH`.
    pub(crate) fn with_programs(mut self, folder: &str) -> Self {
        let folder = self.home.path().join("home").join(folder);
        for (_, path) in self
            .variables
            .iter_mut()
            .filter(|(name, _)| *name == "PATH")
        {
            *path = format!("{}:{path}", folder.display());
        }
        self
    }

    /// Sets a variable of the environment.
    pub(crate) fn with_variable(mut self, name: &'static str, value: &str) -> Self {
        self.variables.push((name, value.to_owned()));
        self
    }

    /// Sets the variables for the model server.
    pub(crate) fn with_models(mut self, server: &ModelServer) -> Self {
        self.variables.extend([
            ("OPENAI_BASE_URL", server.openai_base()),
            ("OPENAI_API_KEY", "local".to_owned()),
            ("ANTHROPIC_BASE_URL", server.anthropic_base()),
            ("ANTHROPIC_API_KEY", "local".to_owned()),
        ]);
        self
    }

    /// Sets the toolchain's homes to folders below this one, instead of those of the user who runs
    /// the tests.
    pub(crate) fn with_toolchain_below(mut self, folder: &Path) -> Self {
        let below = |name: &str| folder.join(name).display().to_string();
        self.variables.extend([
            ("CARGO_HOME", below("cargo")),
            ("RUSTUP_HOME", below("rustup")),
        ]);
        self
    }

    /// Runs a line that has to succeed, records it, and returns what is shown.
    pub(crate) fn types(&mut self, line: &str) -> Result<String, Failed> {
        let shown = self.quietly(line)?;
        self.typed.push((line.to_owned(), shown.clone()));
        Ok(shown)
    }

    /// Runs a line as `types` does, without recording it.
    pub(crate) fn quietly(&self, line: &str) -> Result<String, Failed> {
        let script = format!("{{ {line}\n}} 2>&1");
        let mut arguments = vec!["--dev-bind", "/", "/"];
        for path in &self.hidden {
            let path = path
                .to_str()
                .ok_or_else(|| Failed::from(format!("{path:?} is no text")))?;
            arguments.extend(["--bind", "/dev/null", path]);
        }
        let shell = ["/bin/sh", "-c", script.as_str()];
        arguments.extend(shell);
        let mut invocation = if self.hidden.is_empty() {
            self.home.command(shell[0], &self.folder, &shell[1..])
        } else {
            self.home.command("bwrap", &self.folder, &arguments)
        };
        invocation = invocation.with_toolchain().patience(PATIENCE);
        for (name, value) in &self.variables {
            invocation = invocation.env(name, value);
        }
        Ok(invocation.run()?.exits(0)?.stdout)
    }

    /// Returns the recorded lines, each with what was shown.
    pub(crate) fn typed(&self) -> &[(String, String)] {
        &self.typed
    }

    /// Returns the folders of this session, each with the name that readers of a page see.
    pub(crate) fn names(&self, folder: &str) -> [(String, String); 2] {
        [
            (
                self.home.state().display().to_string(),
                "~/.local/state/orchestrate".to_owned(),
            ),
            (self.folder.display().to_string(), folder.to_owned()),
        ]
    }
}

/// Returns every bubblewrap that the program could find.
fn bubblewraps() -> Result<Vec<PathBuf>, Failed> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = USUAL
        .iter()
        .map(PathBuf::from)
        .chain(std::env::split_paths(&path));
    let found = folders
        .filter_map(|folder| folder.join("bwrap").canonicalize().ok())
        .filter(|path| path.is_file());
    let mut found: Vec<PathBuf> = found.collect();
    found.sort();
    found.dedup();
    assert!(
        !found.is_empty(),
        "the full tier starts, but there is no bubblewrap"
    );
    Ok(found)
}
