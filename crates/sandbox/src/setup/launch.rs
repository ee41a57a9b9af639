//! Builds the command that starts a job's supervisor, for each tier.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::disk_usage::Space;
use crate::egress;
use crate::environment::host::{self, RustHomes};
use crate::environment::network;
use crate::error::SandboxError;
use crate::helper::protocol::Spec;
use crate::helper::{HELPER_ARG, helper_installed};
use crate::job::{HostView, Job, Network, View};
use crate::setup::bubblewrap::{self, Arguments, Opened, memory_file};
use crate::setup::cgroups::{self, JobGroup};
use crate::setup::fallback::{self, Scratch};
use crate::setup::view::Checked;
use crate::spawner;
use crate::tier::{Confinement, Tier};

/// A job whose supervisor has been started.
pub(crate) struct Launched {
    pub(crate) child: Child,
    pub(crate) control: UnixStream,
    /// The folders that an account of disk usage is kept for.
    pub(crate) folders: Vec<OsString>,
    /// The control group of its program.
    pub(crate) group: Option<JobGroup>,
    /// Removed when the job is over.
    pub(crate) _scratch: Option<Scratch>,
}

/// Starts the supervisor of a job.
pub(crate) fn launch(tier: &Tier, job: &Job) -> Result<Launched, SandboxError> {
    if tier.helper.is_own_program() && !helper_installed() {
        return Err(SandboxError::HelperNotInstalled);
    }
    let view = Checked::for_job(job, tier.confinement)?;
    let View::Host(HostView { stand_in, .. }) = &job.view;
    let scratch = match tier.confinement {
        Confinement::Fallback => Some(Scratch::make(
            RustHomes::of_user(),
            job.network,
            stand_in.as_ref(),
        )?),
        _ => None,
    };
    let folders: Vec<OsString> = view.writable_on_host().map(OsString::from).collect();
    let disk_known = tier.accounts.take(&folders);
    let (group, opened) = cgroups::of_job(&job.limits, tier.warn).unzip();
    let spec = Spec {
        disk_known,
        group: opened.as_ref().map(AsRawFd::as_raw_fd),
        ..spec(tier.confinement, job, &view, scratch.as_ref())
    };
    let (control, theirs) =
        UnixStream::pair().map_err(SandboxError::io("make a control socket"))?;
    let given = Given {
        helper: open_helper(&tier.helper.0)?,
        control: theirs.into(),
        spec: memory_file("spec", &encoded(&spec)?)?,
        group: opened,
    };
    let around = match tier.confinement {
        Confinement::Full => Some(Bubblewrap {
            program: find_bubblewrap()?,
            arguments: Arguments::for_view(&view, job.network, group.is_some()),
        }),
        _ => None,
    };
    let stdin = if job.stdin.is_empty() {
        Stdio::null()
    } else {
        memory_file("stdin", &job.stdin)?.into()
    };
    let helper = given.command();
    let child = spawner::spawn(given.into_inherited(), move || {
        let Some(Bubblewrap { program, arguments }) = around else {
            return start(plain(&helper), stdin);
        };
        // What is open stays so until the child has it.
        let opened = arguments.open()?;
        start(inside(program, &opened, &helper), stdin)
    })?;
    Ok(Launched {
        child,
        control,
        folders,
        group,
        _scratch: scratch,
    })
}

fn start(mut command: Command, stdin: Stdio) -> io::Result<Child> {
    command
        .env_clear()
        .process_group(0)
        .stdin(stdin)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command.spawn()
}

fn encoded(spec: &Spec) -> Result<Vec<u8>, SandboxError> {
    serde_json::to_vec(spec).map_err(|cause| SandboxError::Setup {
        detail: format!("write the helper's orders: {cause}"),
    })
}

/// The program that encloses the supervisor in the full tier, and its arguments.
struct Bubblewrap {
    program: &'static Path,
    arguments: Arguments,
}

/// The descriptors that the supervisor inherits.
struct Given {
    helper: OwnedFd,
    control: OwnedFd,
    spec: OwnedFd,
    group: Option<OwnedFd>,
}

impl Given {
    /// Returns the program and the arguments that start the helper. The program is executed through
    /// its descriptor. So it needs no place in the view, and may have been replaced on disk.
    fn command(&self) -> [String; 4] {
        let [helper, control, spec] =
            [&self.helper, &self.control, &self.spec].map(|fd| fd.as_raw_fd().to_string());
        [
            format!("/proc/self/fd/{helper}"),
            HELPER_ARG.to_owned(),
            control,
            spec,
        ]
    }

    fn into_inherited(self) -> Vec<OwnedFd> {
        [self.helper, self.control, self.spec]
            .into_iter()
            .chain(self.group)
            .collect()
    }
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
fn plain([program, arguments @ ..]: &[String; 4]) -> Command {
    let mut command = Command::new(program);
    command.args(arguments).current_dir("/");
    command
}

#[expect(
    clippy::disallowed_methods,
    reason = "the one way to start supervisors"
)]
fn inside(bubblewrap: &Path, opened: &Opened, helper: &[String; 4]) -> Command {
    let mut command = Command::new(bubblewrap);
    command
        .arg("--args")
        .arg(opened.packed.as_raw_fd().to_string())
        .arg("--")
        .args(helper);
    command
}

fn spec(confinement: Confinement, job: &Job, view: &Checked, scratch: Option<&Scratch>) -> Spec {
    let toolchain = RustHomes::of_user();
    let mut disk_folders: Vec<OsString> = view.writable().map(OsString::from).collect();
    let memory_folders = memory_folders(confinement, view, toolchain);
    let (mut writable, mut read_only) = (Vec::new(), Vec::new());
    if confinement != Confinement::Unconfined {
        writable.extend(disk_folders.clone());
        writable.extend(memory_folders.clone());
        read_only.push(OsString::from("/"));
    }
    if let Some(scratch) = scratch {
        disk_folders.push(scratch.path().into());
        writable.push(scratch.path().into());
        read_only = fallback::readable(view, toolchain, job.network);
    }
    Spec {
        confinement,
        network: job.network,
        program: job.program.clone(),
        args: job.args.clone(),
        env: environment(confinement, job, view, scratch)
            .into_iter()
            .collect(),
        cwd: job.cwd.clone().into(),
        writable,
        read_only,
        processes: job.limits.processes,
        tasks_of_user: if confinement == Confinement::Fallback {
            host::tasks_of_user()
        } else {
            0
        },
        cpu: job.limits.cpu,
        memory_bytes: job.limits.memory_bytes,
        file_bytes: job.limits.file_bytes,
        disk: Space::limited(job.limits.disk_bytes, job.limits.disk_files),
        disk_known: None,
        group: None,
        disk_folders,
        memory_folders,
        scratch: scratch.map(|scratch| scratch.path().into()),
    }
}

/// Lists the private folders that the full tier creates in memory.
fn memory_folders(
    confinement: Confinement,
    view: &Checked,
    toolchain: &RustHomes,
) -> Vec<OsString> {
    if confinement != Confinement::Full {
        return Vec::new();
    }
    let mut folders = vec!["/tmp".into(), view.home().into(), "/dev/shm".into()];
    folders.extend(toolchain.cargo_home.clone().map(OsString::from));
    folders
}

fn environment(
    confinement: Confinement,
    job: &Job,
    view: &Checked,
    scratch: Option<&Scratch>,
) -> BTreeMap<OsString, OsString> {
    let toolchain = RustHomes::of_user();
    let mut all: BTreeMap<OsString, OsString> = match confinement {
        Confinement::Unconfined => host::harmless_variables().into_iter().collect(),
        _ => BTreeMap::new(),
    };
    if confinement != Confinement::Unconfined {
        let mut path = host::search_path(view.holds_programs());
        let mut cargo_home = toolchain.cargo_home.clone();
        if let Some(scratch) = scratch {
            path = scratch.search_path(path);
            cargo_home = scratch.cargo_home(toolchain);
        }
        all.insert("PATH".into(), path);
        let home = scratch.map_or(view.home(), Scratch::path);
        all.insert("HOME".into(), home.into());
        let temporary = scratch.map_or(Path::new("/tmp"), Scratch::path);
        all.insert("TMPDIR".into(), temporary.into());
        all.insert("LANG".into(), "C.UTF-8".into());
        let user = if rustix::process::getuid().is_root() {
            "root"
        } else {
            bubblewrap::USER
        };
        all.insert("USER".into(), user.into());
        all.insert("LOGNAME".into(), user.into());
        // The system's configuration is unreadable in one tier and absent in the other; only its
        // absence is no error to git.
        all.insert("GIT_CONFIG_NOSYSTEM".into(), "1".into());
        all.extend(toolchain.variables(cargo_home.as_deref()));
        all.extend(host::programs_of_user().variables.clone());
        all.extend(match job.network {
            Network::None => host::offline_variables(),
            Network::Proxy => network::variables_of_registries(),
        });
        if confinement == Confinement::Full {
            lead_to_own_caches(&mut all);
        }
    }
    // Compiled modules would be files of the work, and those of two agents would conflict.
    all.insert("PYTHONDONTWRITEBYTECODE".into(), "1".into());
    all.extend(job.env.clone());
    if job.network == Network::Proxy {
        // Nothing else is reached, whatever the job's own variables say.
        all.extend(egress::variables(&job.env));
    }
    all
}

/// Lets tools write to a cache of the job's own where the user's, which is read-only, is at their
/// usual place.
fn lead_to_own_caches(variables: &mut BTreeMap<OsString, OsString>) {
    if variables.contains_key(OsStr::new("GRADLE_RO_DEP_CACHE")) {
        variables.insert("GRADLE_USER_HOME".into(), "/tmp/gradle".into());
    }
    if let Some(arguments) = variables.get_mut(OsStr::new("MAVEN_ARGS")) {
        let mut own = OsString::from("-Dmaven.repo.local=/tmp/m2 ");
        own.push(&arguments);
        *arguments = own;
    }
}

/// Returns the search path for programs in both confined tiers, without the folders of a view.
pub fn confined_search_path() -> OsString {
    host::search_path(std::iter::empty())
}
