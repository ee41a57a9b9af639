//! Shows a long result in the user's pager.
//!
//! The environment chooses the pager (`GIT_PAGER`, then `PAGER`); the default is `less`. Files of
//! the repository and git's configuration are not consulted, since a repository may have provided
//! them, and programs inside the repository are not found. Without a pager, or if the text fits on
//! the screen, the text is printed directly.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use tokio::signal::unix::{SignalKind, signal};

use crate::context::Context;
use crate::error::CommandError;
use crate::follow::run;
use crate::show::{columns, output, terminal};

/// The default pager.
const USUAL: &str = "less";
/// The exit code of a shell that has not found its program.
const NOT_FOUND: i32 = 127;
/// The options of `less` unless the user has set any, as in git: exit at once if the text fits,
/// pass colours through, leave the text on the screen.
const LESS: &str = "FRX";

/// Shows a text that is already safe for a terminal.
pub(crate) fn show(context: &Context, text: &str) -> Result<(), CommandError> {
    let pager = chosen(&context.variables).filter(|_| context.terminal.colour && !fits(text));
    let shown = match pager {
        Some(pager) => through(context, &pager, text)?,
        None => false,
    };
    if shown { Ok(()) } else { output::bytes(text) }
}

/// Chooses the pager, or `None` if the user wants none.
fn chosen(variables: &BTreeMap<String, String>) -> Option<String> {
    let said = ["GIT_PAGER", "PAGER"]
        .into_iter()
        .find_map(|name| variables.get(name));
    let pager = said.map_or(USUAL, |pager| pager.trim());
    (!pager.is_empty() && pager != "cat").then(|| pager.to_owned())
}

fn fits(text: &str) -> bool {
    let Some((rows, columns)) = terminal::size() else {
        return true;
    };
    let needed: usize = text
        .lines()
        .map(|line| columns::width(line).div_ceil(columns).max(1))
        .sum();
    needed < rows
}

/// Writes the text to the pager and waits for its end; returns whether the pager was found.
#[expect(
    clippy::disallowed_methods,
    reason = "the pager is the person's own program on the person's own terminal"
)]
fn through(context: &Context, pager: &str, text: &str) -> Result<bool, CommandError> {
    let project = context.project()?;
    let path = context
        .variables
        .get("PATH")
        .map(|path| outside(path, project.workdir()))
        .unwrap_or_default();
    let mut command = Command::new("/bin/sh");
    command
        .args(["-c", pager])
        .env("PATH", path)
        .stdin(Stdio::piped());
    for (name, value) in [("LESS", LESS), ("LV", "-c")] {
        if !context.variables.contains_key(name) {
            command.env(name, value);
        }
    }
    let runtime = run::runtime()?;
    let _guard = runtime.enter();
    // Ctrl-C is meant for the pager. If it ended this process, the pager would be left alone on the
    // terminal.
    let _interrupts = signal(SignalKind::interrupt());
    let failed = |error: std::io::Error| {
        CommandError::usage(format!("failed to start the pager `{pager}`: {error}"))
    };
    let mut child = command.spawn().map_err(failed)?;
    if let Some(mut stdin) = child.stdin.take() {
        // It fails if the user quits before the end of the text.
        let _ = stdin.write_all(text.as_bytes());
    }
    Ok(child.wait().map_err(failed)?.code() != Some(NOT_FOUND))
}

/// Removes relative entries, and entries inside the repository, from a search path.
fn outside(path: &str, workdir: &Path) -> String {
    let is_outside = |entry: &&str| {
        let folder = Path::new(entry);
        let real = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
        folder.is_absolute() && !folder.starts_with(workdir) && !real.starts_with(workdir)
    };
    path.split(':')
        .filter(is_outside)
        .collect::<Vec<_>>()
        .join(":")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_chooses_the_pager() {
        type Variables<'v> = &'v [(&'v str, &'v str)];
        let table: [(Variables<'_>, Option<&str>); 5] = [
            (&[], Some("less")),
            (&[("PAGER", "more")], Some("more")),
            (
                &[("PAGER", "more"), ("GIT_PAGER", "less -S")],
                Some("less -S"),
            ),
            (&[("PAGER", "more"), ("GIT_PAGER", "cat")], None),
            (&[("PAGER", "")], None),
        ];
        for (variables, expected) in table {
            let variables = variables
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect();
            assert_eq!(chosen(&variables).as_deref(), expected, "{variables:?}");
        }
    }

    #[test]
    fn no_pager_is_found_in_the_repository() {
        assert_eq!(
            outside("/usr/bin:bin:.::/srv/repo/bin:/bin", Path::new("/srv/repo")),
            "/usr/bin:/bin"
        );
    }
}
