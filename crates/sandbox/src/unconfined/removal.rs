//! Removes folders in a process of its own, which outlives this one: a command need not last until
//! hundreds of thousands of folders are gone.
//!
//! The process is this program as the helper. It is not confined, since it only removes what it is
//! given, and follows no link ([`orchestrate_files::remove_folder`]). What it cannot remove stays.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;

use crate::error::SandboxError;
use crate::helper::{HELPER_ARG, REMOVE_ARG, helper_installed};
use crate::{spawner, sys};

/// Starts to remove folders with everything in them, and returns at once.
///
/// # Errors
/// Fails if this program cannot serve as the helper, or if no process can be started. Nothing is
/// removed then.
pub fn remove_in_background(folders: &[PathBuf]) -> Result<(), SandboxError> {
    if !helper_installed() {
        return Err(SandboxError::HelperNotInstalled);
    }
    let own = ["orchestrate", HELPER_ARG, REMOVE_ARG].map(OsStr::new);
    let arguments = own
        .into_iter()
        .chain(folders.iter().map(|folder| folder.as_os_str()));
    let program = remover(arguments).map_err(SandboxError::io("start a process"))?;
    spawner::spawn(Vec::new(), move || sys::start(&program)).map(drop)
}

fn remover<'a>(arguments: impl Iterator<Item = &'a OsStr>) -> io::Result<sys::Program> {
    Ok(sys::Program {
        path: sys::c_string("/proc/self/exe")?,
        arguments: sys::c_strings(arguments)?,
        environment: Vec::new(),
        // It must not keep a file system busy that this process was started on.
        directory: Some(sys::c_string("/")?),
        streams: [null()?, null()?, null()?],
        own_group: true,
        dies_with: None,
        file_bytes: None,
        is_private: true,
    })
}

fn null() -> io::Result<OwnedFd> {
    let opened = File::options().read(true).write(true).open("/dev/null")?;
    Ok(opened.into())
}
