//! The entry point of the helper: the program's first argument, checked before anything else in
//! `main`.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::RawFd;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::helper::supervisor::Given;
use crate::helper::{keeper, room, supervisor};

/// The first argument with which a program is executed as the sandbox's helper.
pub const HELPER_ARG: &str = "__sandbox";

/// The second argument with which it keeps a command of the user's own instead of supervising a
/// job.
pub(crate) const KEEP_ARG: &str = "keep";

/// The second argument with which it only removes folders.
pub(crate) const REMOVE_ARG: &str = "remove";

/// The second argument with which it keeps a room.
pub(crate) const ROOM_ARG: &str = "room";

/// The exit code of a helper that was started without its descriptors; a coordinator never sees it.
const MISUSED: i32 = 125;

static INSTALLED: AtomicBool = AtomicBool::new(false);

/// Runs as the sandbox's helper and never returns, if this process was started as one; must be the
/// first line of `main`.
#[expect(
    clippy::disallowed_methods,
    reason = "the helper ends here, at the edge of its own process"
)]
pub fn run_helper_if_asked() {
    INSTALLED.store(true, Ordering::SeqCst);
    let mut args = std::env::args_os().skip(1);
    if args.next().is_none_or(|first| first != HELPER_ARG) {
        return;
    }
    let args: Vec<OsString> = args.collect();
    let done = match args.as_slice() {
        [keep, control, hang_up, command @ ..] if keep == KEEP_ARG => {
            descriptor(control).map(|control| keeper::run(control, hang_up == "ignored", command))
        }
        [remove, folders @ ..] if remove == REMOVE_ARG => Some(remove_folders(folders)),
        [room, socket] if room == ROOM_ARG => descriptor(socket).map(room::keep),
        [control, spec] => supervise(control, spec, None),
        [control, spec, group] => supervise(control, spec, Some(group)),
        _ => None,
    };
    std::process::exit(if matches!(done, Some(Ok(()))) {
        0
    } else {
        MISUSED
    });
}

/// Supervises a job; returns `None` if an argument is not the number of a descriptor.
fn supervise(control: &OsStr, spec: &OsStr, group: Option<&OsString>) -> Option<io::Result<()>> {
    let (control, spec) = (descriptor(control)?, descriptor(spec)?);
    let group = match group {
        Some(group) => Some(descriptor(group)?),
        None => None,
    };
    Some(Given::inherited(control, spec, group).and_then(supervisor::run))
}

fn descriptor(text: &OsStr) -> Option<RawFd> {
    text.to_str()?.parse().ok()
}

/// Removes folders with everything in them, in the background after a cleaning (`removal.rs`); the
/// last failure is reported, after all were tried.
fn remove_folders(folders: &[OsString]) -> io::Result<()> {
    let mut failed = None;
    for folder in folders {
        match orchestrate_files::remove_folder(Path::new(folder)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => failed = Some(error),
            _ => {}
        }
    }
    failed.map_or(Ok(()), Err)
}

/// Reports whether this process called [`run_helper_if_asked`], so that it can serve as its own
/// helper.
#[must_use]
pub fn helper_installed() -> bool {
    INSTALLED.load(Ordering::SeqCst)
}

/// Lets test programs with libtest's own `main` serve as the helper: runs before `main`.
#[cfg(feature = "fault-injection")]
mod before_main {
    #![expect(unsafe_code, reason = "the link section is what runs before main")]

    extern "C" fn helper_before_main() {
        super::run_helper_if_asked();
    }

    // SAFETY: the section holds pointers to functions that the C runtime calls before main; this is
    // one. The standard library's arguments are already set there on Linux with glibc, which this
    // test-only feature is for.
    #[used]
    #[unsafe(link_section = ".init_array")]
    static BEFORE_MAIN: extern "C" fn() = helper_before_main;
}
