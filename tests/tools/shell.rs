//! Scripts in bash with the built program on the `PATH`, and the markers in what they print.

use std::path::Path;

use libtest_mimic::Failed;

use crate::support::{Invocation, Ran, World};

/// Runs a script in the repository.
pub(super) fn bash(world: &World, script: &str) -> Result<Ran, Failed> {
    bash_in(world, world.repository.path(), script)
}

/// Runs a script in a folder.
pub(super) fn bash_in(world: &World, folder: &Path, script: &str) -> Result<Ran, Failed> {
    typed(world, folder, script).run()
}

/// Prepares to run a script in a folder.
pub(super) fn typed(world: &World, folder: &Path, script: &str) -> Invocation {
    let program = Path::new(env!("CARGO_BIN_EXE_orchestrate"))
        .parent()
        .unwrap_or(Path::new("/"));
    let programs = world.home.path().join("programs");
    let path = std::env::var("PATH").unwrap_or_default();
    let path = format!("{}:{}:{path}", programs.display(), program.display());
    // A suite in the background may ignore some signals, which no script could change back.
    let arguments = ["--default-signal=INT,QUIT,TERM,HUP", "bash", "-c", script];
    world
        .home
        .command("env", folder, &arguments)
        .env("PATH", path)
}

/// Returns the markers of this name among the lines of a text.
pub(super) fn markers<'a>(text: &'a str, name: &str) -> Vec<&'a str> {
    let mark = format!(":::{name}:::");
    text.lines()
        .filter(|line| line.starts_with(&mark))
        .collect()
}

/// Returns the value of a field of the only marker of this name.
pub(super) fn field(text: &str, name: &str, field: &str) -> Result<String, Failed> {
    let found = markers(text, name);
    let [line] = found.as_slice() else {
        return Err(Failed::from(format!(
            "{} markers {name} in\n{text}",
            found.len()
        )));
    };
    let value = line
        .split(' ')
        .find_map(|part| part.strip_prefix(field)?.strip_prefix('='));
    value
        .map(str::to_owned)
        .ok_or_else(|| Failed::from(format!("no {field} in {line}")))
}

/// Returns the names of a marker's fields.
pub(super) fn fields(line: &str) -> Vec<&str> {
    line.split(' ')
        .skip(1)
        .filter_map(|part| part.split('=').next())
        .collect()
}

/// Returns the log of the only folder in which calls were recorded.
pub(super) fn log(world: &World) -> Result<String, Failed> {
    let mut folders = std::fs::read_dir(world.home.state().join("tool-calls"))?;
    let folder = folders.next().ok_or("no call was recorded")??;
    Ok(std::fs::read_to_string(folder.path().join("log"))?)
}
