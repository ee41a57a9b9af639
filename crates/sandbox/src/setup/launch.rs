//! Builds the command that starts a job's supervisor, for each tier.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::Arc;

use rustix::net::RecvFlags;

use crate::descriptors::pipe;
use crate::disk_usage::{Accounts, Space};
use crate::egress;
use crate::environment::host::{self, RustHomes};
use crate::environment::network;
use crate::error::SandboxError;
use crate::helper::helper_installed;
use crate::helper::protocol::{FreshFolder, Spec};
use crate::job::{HostView, Job, Network, View};
use crate::live_output::LiveOutput;
use crate::setup::bubblewrap::{self, Arguments, Started, memory_file};
use crate::setup::cgroups::{self, JobGroup};
use crate::setup::fallback::{self, Scratch};
use crate::setup::room::{self, ForSupervisor, InRoom, NoStart, RoomOwner, Wanted};
use crate::setup::start_helper::HelperStart;
use crate::setup::view::Checked;
use crate::sys;
use crate::tier::{Confinement, Helper};

/// A tier and the helper that it is started with.
#[derive(Debug, Clone)]
pub(crate) struct Tier {
    pub(crate) confinement: Confinement,
    pub(crate) helper: Helper,
    /// The known disk usage of earlier jobs' folders.
    pub(crate) accounts: Accounts,
    /// Tells the user what no job fails for.
    pub(crate) warn: fn(&str),
    /// What keeps rooms from one job to the next; `None` if each job is to get its own namespaces.
    pub(crate) rooms: Option<RoomOwner>,
    /// Gets the newest output of each job.
    pub(crate) live: Option<LiveOutput>,
}

/// A job whose supervisor has been started.
pub(crate) struct Launched {
    pub(crate) supervisor: Supervisor,
    pub(crate) control: UnixStream,
    pub(crate) stdout: OwnedFd,
    pub(crate) stderr: OwnedFd,
    /// The folders that an account of disk usage is kept for.
    pub(crate) folders: Vec<OsString>,
    /// The control group of its program.
    pub(crate) group: Option<JobGroup>,
    /// Removed when the job is over.
    pub(crate) _scratch: Option<Scratch>,
}

/// The process that supervises a job, or bubblewrap around it.
pub(crate) enum Supervisor {
    Started(Child),
    InRoom(InRoom),
}

impl Supervisor {
    /// Waits for its end, after which no process of the job is left.
    pub(crate) fn wait(&mut self) -> Result<(), SandboxError> {
        match self {
            Self::Started(child) => child
                .wait()
                .map(drop)
                .map_err(SandboxError::io("wait for the supervisor")),
            Self::InRoom(supervisor) => supervisor.wait(),
        }
    }

    /// Ends it, and in the full tier with it all processes of the job.
    pub(crate) fn kill(&mut self) {
        match self {
            // One that has ended needs no signal.
            Self::Started(child) => drop(child.kill()),
            Self::InRoom(supervisor) => supervisor.kill(),
        }
    }
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
        ..spec(tier.confinement, job, &view, scratch.as_ref())
    };
    let (control, theirs) =
        UnixStream::pair().map_err(SandboxError::io("make a control socket"))?;
    let stdin = if job.stdin.is_empty() {
        File::open("/dev/null")
            .map_err(SandboxError::io("open /dev/null"))?
            .into()
    } else {
        memory_file("stdin", &job.stdin)?
    };
    let (stdout, their_stdout) = pipe()?;
    let (stderr, their_stderr) = pipe()?;
    let given = ForSupervisor {
        control: theirs.into(),
        spec: memory_file("spec", &encoded(&spec)?)?,
        streams: [stdin, their_stdout, their_stderr],
        group: opened,
    };
    let supervisor = start_supervisor(tier, job, &view, given, &control)?;
    Ok(Launched {
        supervisor,
        control,
        stdout,
        stderr,
        folders,
        group,
        _scratch: scratch,
    })
}

/// Starts a supervisor in a room, or anew where there are no rooms.
fn start_supervisor(
    tier: &Tier,
    job: &Job,
    view: &Checked,
    given: ForSupervisor,
    control: &UnixStream,
) -> Result<Supervisor, SandboxError> {
    let has_group = given.group.is_some();
    let arguments = |started| match tier.confinement {
        Confinement::Full => {
            let arguments = Arguments::for_view(view, job.network, has_group, started);
            Some(Arc::new(arguments))
        }
        Confinement::Fallback | Confinement::Unconfined => None,
    };
    let folders = match tier.confinement {
        Confinement::Full => bubblewrap::private_folders(view),
        Confinement::Fallback | Confinement::Unconfined => Vec::new(),
    };
    if let Some(rooms) = &tier.rooms
        && room::are_tried()
        && can_be_renewed(&folders, view)
    {
        let wanted = Wanted {
            confinement: tier.confinement,
            arguments: arguments(Started::Room),
            folders,
            helper: tier.helper.clone(),
        };
        match rooms.start(wanted, &given) {
            Ok(supervisor) => return Ok(Supervisor::InRoom(supervisor)),
            Err(NoStart::NotStarted(why)) => room::note_failure(why),
            Err(NoStart::Ended(why))
                if tier.confinement == Confinement::Full && !has_reported(control) =>
            {
                room::note_failure(why);
            }
            Err(NoStart::Ended(detail) | NoStart::Unknown(detail)) => {
                return Err(SandboxError::Setup { detail });
            }
        }
    }
    let child = match arguments(Started::Supervisor) {
        Some(arguments) => start_of(given).in_bubblewrap(&tier.helper, arguments)?,
        None => start_of(given).alone(&tier.helper)?,
    };
    Ok(Supervisor::Started(child))
}

/// Reports whether a supervisor has reported anything, as it does before it starts the program.
fn has_reported(control: &UnixStream) -> bool {
    let flags = RecvFlags::PEEK | RecvFlags::DONTWAIT;
    rustix::net::recv(control, &mut [0; 1], flags).is_ok_and(|(count, _)| count > 0)
}

/// Reports whether each job of a room can have its own private folders: none lies in a folder that
/// is mounted from the host, and the kernel keeps root from what a new `/proc` would show it.
fn can_be_renewed(folders: &[FreshFolder], view: &Checked) -> bool {
    let is_kept_out = !rustix::process::getuid().is_root() || sys::landlock_version() > 0;
    is_kept_out
        && !folders
            .iter()
            .any(|folder| view.is_in_mounted(&folder.path))
}

/// Returns the start of a job's own supervisor.
fn start_of(given: ForSupervisor) -> HelperStart {
    let mut descriptors = vec![given.control, given.spec];
    descriptors.extend(given.group);
    HelperStart {
        task: None,
        descriptors,
        streams: given.streams.map(Stdio::from),
    }
}

fn encoded(spec: &Spec) -> Result<Vec<u8>, SandboxError> {
    serde_json::to_vec(spec).map_err(|cause| SandboxError::Setup {
        detail: format!("write the helper's orders: {cause}"),
    })
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
