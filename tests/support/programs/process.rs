//! Finds running processes by their arguments, and puts programs in front of the machine's own.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use libtest_mimic::Failed;

use crate::support::{Home, Outcome, until};

/// How long the processes of a stopped run may take to end. Load makes that slower, so this is a
/// limit, not a measurement.
pub(crate) const GRACE: Duration = Duration::from_secs(60);
/// A script for `Home::remounted` that hides bubblewrap, so that the fallback tier is the strongest
/// one available.
pub(crate) const WITHOUT_BUBBLEWRAP: &str = "for program in /usr/bin/bwrap /bin/bwrap /usr/local/bin/bwrap $(command -v bwrap); do \
     if [ -f $program ]; then mount --bind /dev/null $program; fi; done";

/// Returns the path of a program that is found by its name on `PATH`, or the name if there is none.
///
/// Rust starts a program that is named by its path without forking, which here would copy the
/// tables of a large process: a test starts git dozens of times.
pub(crate) fn path_of(program: &str) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut files = std::env::split_paths(&path).map(|folder| folder.join(program));
    files
        .find(|file| file.is_file())
        .unwrap_or_else(|| PathBuf::from(program))
}

/// Reports whether a process with this word among its arguments is alive.
pub(crate) fn is_alive(word: &str) -> Result<bool, Failed> {
    for entry in std::fs::read_dir("/proc")? {
        let path = entry?.path();
        let is_process = path
            .file_name()
            .is_some_and(|name| name.to_string_lossy().bytes().all(|b| b.is_ascii_digit()));
        let arguments = std::fs::read(path.join("cmdline")).unwrap_or_default();
        if is_process
            && arguments
                .split(|byte| *byte == 0)
                .any(|argument| argument == word.as_bytes())
        {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Waits until no process with this word among its arguments is alive.
pub(crate) fn require_gone(word: &str) -> Outcome {
    until(GRACE, || Ok((!is_alive(word)?).then_some(())))
}

/// Returns a number of seconds that no other process of the machine sleeps, so that the process can
/// be found by it.
pub(crate) fn seconds(folder: &Path, salt: u32) -> String {
    let name = folder
        .to_string_lossy()
        .bytes()
        .fold(0_u64, |sum, byte| sum * 31 % 999_983 + u64::from(byte));
    format!("{}.{salt}{name}", 300 + salt)
}

/// Writes a shell script as a program of this name, and returns a `PATH` on which it comes first.
pub(crate) fn with_program(home: &Home, name: &str, script: &str) -> Result<String, Failed> {
    let folder = home.path().join("programs");
    std::fs::create_dir_all(&folder)?;
    write_program(&folder.join(name), &format!("#!/bin/sh\n{script}\n"))?;
    Ok(format!(
        "{}:{}",
        folder.display(),
        std::env::var("PATH").unwrap_or_default()
    ))
}

/// Writes an executable file.
///
/// A process of its own writes it. If this one did, a program that another test starts at that
/// moment would have a copy of the open file until it is executed itself, and the kernel executes
/// no file that is open for writing (ETXTBSY, execve(2)); on a loaded machine, that may last until
/// the file is to be executed.
pub(crate) fn write_program(path: &Path, text: &str) -> Outcome {
    let mut shell = Command::new(path_of("sh"));
    shell
        .args(["-c", "cat > \"$1\" && chmod 755 \"$1\"", "sh"])
        .arg(path)
        .stdin(Stdio::piped());
    let mut shell = shell.spawn()?;
    // The pipe is closed at the end of the statement, which ends the program.
    let written = shell
        .stdin
        .take()
        .map(|mut stdin| stdin.write_all(text.as_bytes()));
    let status = shell.wait()?;
    written.ok_or("the program has no standard input")??;
    assert!(
        status.success(),
        "{} could not be written: {status}",
        path.display()
    );
    Ok(())
}

/// Returns the path of the git program.
pub(crate) fn git_program(home: &Home) -> Result<String, Failed> {
    let found = home
        .command("sh", home.path(), &["-c", "command -v git"])
        .run()?
        .exits(0)?;
    Ok(found.stdout.trim_end().to_owned())
}

/// Releases a command that reads a line from the named pipe `gate` in a folder. The returned file
/// has to be kept until the line has been read.
pub(crate) fn open_gate(folder: &Path) -> std::io::Result<File> {
    // Opened for reading and writing: opening a pipe for writing alone blocks until it has a
    // reader.
    let mut gate = File::options()
        .read(true)
        .write(true)
        .open(folder.join("gate"))?;
    gate.write_all(b"go\n")?;
    Ok(gate)
}
