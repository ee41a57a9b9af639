//! Starts the helper: alone, or inside bubblewrap.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use crate::environment::host;
use crate::error::SandboxError;
use crate::helper::HELPER_ARG;
use crate::setup::bubblewrap::{Arguments, Opened};
use crate::spawner;
use crate::tier::{Confinement, Helper};

/// A helper to be started.
pub(crate) struct HelperStart {
    /// What it is to do, as far as that is a word.
    pub(crate) task: Option<&'static str>,
    /// The descriptors that it inherits, whose numbers are its further arguments.
    pub(crate) descriptors: Vec<OwnedFd>,
    /// Its standard input, output and error.
    pub(crate) streams: [Stdio; 3],
}

impl HelperStart {
    /// Starts it without bubblewrap.
    pub(crate) fn alone(self, helper: &Helper) -> Result<Child, SandboxError> {
        let Prepared {
            command,
            inherited,
            streams,
        } = self.prepare(helper)?;
        spawner::spawn(inherited, move || start(plain(&command), streams))
    }

    /// Starts it inside bubblewrap with these arguments.
    pub(crate) fn in_bubblewrap(
        self,
        helper: &Helper,
        arguments: Arc<Arguments>,
    ) -> Result<Child, SandboxError> {
        let program = find_bubblewrap()?;
        let Prepared {
            command,
            inherited,
            streams,
        } = self.prepare(helper)?;
        spawner::spawn(inherited, move || {
            // What is open stays so until the child has it.
            let opened = arguments.open()?;
            start(inside(program, &opened, &command), streams)
        })
    }

    /// Returns the program and the arguments that start the helper. The program is executed through
    /// its descriptor. So it needs no place in the view, and may have been replaced on disk.
    fn prepare(self, helper: &Helper) -> Result<Prepared, SandboxError> {
        let opened = open_helper(&helper.0)?;
        let program = format!("/proc/self/fd/{}", opened.as_raw_fd());
        let mut arguments = vec![HELPER_ARG.to_owned()];
        arguments.extend(self.task.map(str::to_owned));
        for descriptor in &self.descriptors {
            arguments.push(descriptor.as_raw_fd().to_string());
        }
        let mut inherited = self.descriptors;
        inherited.push(opened);
        Ok(Prepared {
            command: HelperCommand { program, arguments },
            inherited,
            streams: self.streams,
        })
    }
}

/// The program that is the helper, and its arguments.
struct HelperCommand {
    program: String,
    arguments: Vec<String>,
}

struct Prepared {
    command: HelperCommand,
    inherited: Vec<OwnedFd>,
    streams: [Stdio; 3],
}

fn start(mut command: Command, [stdin, stdout, stderr]: [Stdio; 3]) -> io::Result<Child> {
    command
        .env_clear()
        .process_group(0)
        .stdin(stdin)
        .stdout(stdout)
        .stderr(stderr);
    command.spawn()
}

fn open_helper(path: &Path) -> Result<OwnedFd, SandboxError> {
    match File::open(path) {
        Ok(opened) => Ok(opened.into()),
        Err(source) => Err(SandboxError::Helper {
            path: path.to_owned(),
            source,
        }),
    }
}

fn find_bubblewrap() -> Result<&'static Path, SandboxError> {
    host::bubblewrap().ok_or_else(|| SandboxError::TierUnusable {
        tier: Confinement::Full,
        reason: host::NO_BUBBLEWRAP.to_owned(),
    })
}

#[expect(
    clippy::disallowed_methods,
    reason = "the one way to start supervisors"
)]
fn plain(helper: &HelperCommand) -> Command {
    let mut command = Command::new(&helper.program);
    command.args(&helper.arguments).current_dir("/");
    command
}

#[expect(
    clippy::disallowed_methods,
    reason = "the one way to start supervisors"
)]
fn inside(bubblewrap: &Path, opened: &Opened, helper: &HelperCommand) -> Command {
    let mut command = Command::new(bubblewrap);
    command
        .arg("--args")
        .arg(opened.packed.as_raw_fd().to_string())
        .arg("--")
        .arg(&helper.program)
        .args(&helper.arguments);
    command
}
