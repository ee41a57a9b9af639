//! The Landlock rules: which files may be accessed, and that signals and abstract sockets stay
//! inside.
//!
//! Landlock can only subtract. In the full tier it is the second layer behind the mounts, in the
//! fallback tier the first. What it cannot restrict is left to `seccomp`: UDP, modes and times of
//! files, and path-named sockets before ABI 9.

use std::ffi::OsString;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, RulesetAttr,
    RulesetCreated, RulesetCreatedAttr, RulesetStatus, Scope,
};

use crate::helper::protocol::Spec;
use crate::sys;
use crate::tier::Confinement;

/// The newest ABI whose rights are requested; an older kernel restricts those that it knows.
const NEWEST: ABI = ABI::V9;
/// The first ABI that restricts `truncate(2)`, with which files outside could be emptied (Linux
/// 6.2).
const LEAST_FOR_FALLBACK: i64 = 3;
/// The first ABI with scopes for signals and abstract sockets (Linux 6.12).
const SCOPED: i64 = 6;

/// Devices that programs need and that store nothing; those that exist are allowed.
const DEVICES: [&str; 8] = [
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/tty",
    "/dev/ptmx",
    "/dev/pts",
];
/// Not allowed in the fallback tier, where the terminals of the user's other programs are
/// reachable.
const TERMINALS: [&str; 3] = ["/dev/tty", "/dev/ptmx", "/dev/pts"];

/// A ruleset that is ready to be applied.
pub(crate) struct Ruleset(RulesetCreated);

/// Reports whether Landlock keeps signals and abstract sockets inside. So new a kernel also lets
/// the supervisor copy the descriptors of any thread (Linux 6.9).
pub(crate) fn scopes_signals(version: i64) -> bool {
    version >= SCOPED
}

/// Reports whether programs can have sockets in the fallback tier.
pub(crate) fn has_sockets_in_fallback() -> bool {
    scopes_signals(sys::landlock_version())
}

/// Returns what programs cannot do in the fallback tier that they can in the other one.
pub(crate) fn forbidden_in_fallback() -> &'static str {
    if has_sockets_in_fallback() {
        "programs reach their own servers by TCP and local sockets, but have no UDP and no \
         datagrams, and see nothing of their own process in /proc, which Bun and Yarn 1 need"
    } else {
        "programs have no sockets, not even for servers of their own (the full tier allows them, \
         and Linux 6.12 does in this one), and see nothing of their own process in /proc, which \
         Bun and Yarn 1 need"
    }
}

/// Fails if the kernel's Landlock is too weak to stand alone.
pub(crate) fn require(version: i64) -> Result<(), String> {
    match version {
        0 => Err(
            "the kernel lacks Landlock or has it disabled (needs Linux 6.2 with \
             CONFIG_SECURITY_LANDLOCK, and `landlock` in the boot parameter lsm=)"
                .to_owned(),
        ),
        LEAST_FOR_FALLBACK.. => Ok(()),
        old => Err(format!(
            "the kernel's Landlock is too old (ABI {old}, needs {LEAST_FOR_FALLBACK}, Linux 6.2)"
        )),
    }
}

/// Opens every path and creates the ruleset; nothing is restricted yet.
pub(crate) fn prepare(spec: &Spec, version: i64) -> Result<Option<Ruleset>, String> {
    if version == 0 {
        return Ok(None);
    }
    let all = AccessFs::from_all(NEWEST);
    let mut ruleset = landlock::Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(all)
        .and_then(|ruleset| ruleset.scope(Scope::from_all(NEWEST)))
        .map_err(text)?;
    // Where no namespace does; what is granted nevertheless, the supervisor connects (`sockets`).
    if spec.confinement == Confinement::Fallback {
        ruleset = ruleset
            .handle_access(AccessNet::from_all(NEWEST))
            .map_err(text)?;
    }
    let mut created = ruleset.create().map_err(text)?;
    let read = AccessFs::from_read(NEWEST);
    // A path that does not exist, or that this user may not open, needs no rule.
    for path in &spec.read_only {
        if let Ok(file) = open(Path::new(path)) {
            created = allow(created, file, read)?;
        }
    }
    for path in spec.writable.iter().map(Path::new) {
        let file =
            open(path).map_err(|cause| format!("open {} for landlock: {cause}", path.display()))?;
        created = allow(created, file, all)?;
    }
    let device = AccessFs::ReadFile
        | AccessFs::WriteFile
        | AccessFs::ReadDir
        | AccessFs::Truncate
        | AccessFs::IoctlDev;
    for path in DEVICES {
        let is_allowed = spec.confinement == Confinement::Full || !TERMINALS.contains(&path);
        if is_allowed && let Ok(file) = open(Path::new(path)) {
            created = allow(created, file, device)?;
        }
    }
    Ok(Some(Ruleset(created)))
}

/// Opens the path of a rule without reading it.
fn open(path: &Path) -> std::io::Result<File> {
    File::options()
        .read(true)
        .custom_flags(libc::O_PATH | libc::O_CLOEXEC)
        .open(path)
}

/// Adds a rule; of the rights, those that only a directory can have are left out for a file.
fn allow(
    created: RulesetCreated,
    file: File,
    access: BitFlags<AccessFs>,
) -> Result<RulesetCreated, String> {
    created
        .add_rule(PathBeneath::new(OwnedFd::from(file), access))
        .map_err(text)
}

fn text(cause: impl std::fmt::Display) -> String {
    format!("landlock: {cause}")
}

impl Ruleset {
    /// Restricts the calling thread permanently.
    pub(crate) fn apply(&self, confinement: Confinement) -> Result<(), String> {
        let status = self
            .0
            .try_clone()
            .map_err(text)?
            .restrict_self()
            .map_err(text)?;
        match status.ruleset {
            RulesetStatus::NotEnforced if confinement == Confinement::Fallback => {
                Err("landlock: the kernel did not enforce the rules".to_owned())
            }
            _ => Ok(()),
        }
    }
}

/// Lists what the fallback tier may read of `/proc`: facts about the machine, none about other
/// processes.
pub(crate) fn machine_facts() -> impl Iterator<Item = OsString> {
    [
        "cpuinfo",
        "meminfo",
        "stat",
        "loadavg",
        "uptime",
        "version",
        "filesystems",
        "sys/kernel",
        "sys/vm",
        "sys/fs",
    ]
    .into_iter()
    .map(|name| format!("/proc/{name}").into())
}
