//! Shows a long result through the person's pager.
//!
//! Which pager that is, the person's environment says (`GIT_PAGER`, then `PAGER`), else it is `less`; no file of a
//! repository and no configuration of git is asked, since a repository may have brought it. It finds no program in the
//! repository either. Without one, and where the text fits on the screen, it is written as it is.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use tokio::signal::unix::{SignalKind, signal};

use crate::context::Context;
use crate::error::CommandError;
use crate::follow::run;
use crate::show::columns;
use crate::show::output;
use crate::show::terminal;

/// What is used where nobody has said otherwise.
const USUAL: &str = "less";
/// What a shell exits with that has not found its program.
const NOT_FOUND: i32 = 127;
/// What `less` is told where the person has told it nothing: end at once with what fits, pass colours on, leave the
/// text on the screen. As git does.
const LESS: &str = "FRX";

/// Shows a text that is safe for a terminal already.
pub(crate) fn show(context: &Context, text: &str) -> Result<(), CommandError> {
    let pager = chosen(&context.variables).filter(|_| context.terminal.colour && !fits(text));
    let shown = match pager {
        Some(pager) => through(context, &pager, text)?,
        None => false,
    };
    if shown { Ok(()) } else { output::bytes(text) }
}

/// Chooses the pager, or `None` if the person wants none.
fn chosen(variables: &BTreeMap<String, String>) -> Option<String> {
    let said = ["GIT_PAGER", "PAGER"].into_iter().find_map(|name| variables.get(name));
    let pager = said.map_or(USUAL, |pager| pager.trim());
    (!pager.is_empty() && pager != "cat").then(|| pager.to_owned())
}

fn fits(text: &str) -> bool {
    let Some((rows, columns)) = terminal::size() else { return true };
    let needed: usize = text.lines().map(|line| columns::width(line).div_ceil(columns).max(1)).sum();
    needed < rows
}

/// Writes the text to the pager and waits for its end; tells whether there is such a pager.
#[expect(clippy::disallowed_methods, reason = "the pager is the person's own program on the person's own terminal")]
fn through(context: &Context, pager: &str, text: &str) -> Result<bool, CommandError> {
    let project = context.project()?;
    let path = context.variables.get("PATH").map(|path| outside(path, project.workdir())).unwrap_or_default();
    let mut command = Command::new("/bin/sh");
    command.args(["-c", pager]).env("PATH", path).stdin(Stdio::piped());
    for (name, value) in [("LESS", LESS), ("LV", "-c")] {
        if !context.variables.contains_key(name) {
            command.env(name, value);
        }
    }
    let runtime = run::runtime()?;
    let _guard = runtime.enter();
    // A Ctrl-C is for the pager: without somebody who waits for it, it would be left alone with the terminal.
    let _interrupts = signal(SignalKind::interrupt());
    let failed = |error: std::io::Error| CommandError::usage(format!("failed to start the pager `{pager}`: {error}"));
    let mut child = command.spawn().map_err(failed)?;
    if let Some(mut stdin) = child.stdin.take() {
        // Whoever has seen enough reads no further.
        let _ = stdin.write_all(text.as_bytes());
    }
    Ok(child.wait().map_err(failed)?.code() != Some(NOT_FOUND))
}

/// Leaves out of a search path what is relative or lies in the repository.
fn outside(path: &str, workdir: &Path) -> String {
    let is_outside = |entry: &&str| {
        let folder = Path::new(entry);
        let real = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
        folder.is_absolute() && !folder.starts_with(workdir) && !real.starts_with(workdir)
    };
    path.split(':').filter(is_outside).collect::<Vec<_>>().join(":")
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
            (&[("PAGER", "more"), ("GIT_PAGER", "less -S")], Some("less -S")),
            (&[("PAGER", "more"), ("GIT_PAGER", "cat")], None),
            (&[("PAGER", "")], None),
        ];
        for (variables, expected) in table {
            let variables = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
            assert_eq!(chosen(&variables).as_deref(), expected, "{variables:?}");
        }
    }

    #[test]
    fn no_pager_is_found_in_the_repository() {
        assert_eq!(outside("/usr/bin:bin:.::/srv/repo/bin:/bin", Path::new("/srv/repo")), "/usr/bin:/bin");
    }
}
