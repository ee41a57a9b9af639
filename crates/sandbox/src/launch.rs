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

use crate::bubblewrap::{self, Arguments, Opened, memory_file};
use crate::cgroups::{self, JobGroup};
use crate::disk_usage::Space;
use crate::egress;
use crate::error::SandboxError;
use crate::fallback::{self, Scratch};
use crate::helper::protocol::Spec;
use crate::helper::{HELPER_ARG, helper_installed};
use crate::host::{self, RustHomes};
use crate::job::{HostView, Job, Network, View};
use crate::network;
use crate::spawner;
use crate::tier::{Confinement, Tier};
use crate::view::Checked;

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
    let json = serde_json::to_vec(&spec).map_err(|cause| SandboxError::Setup {
        detail: format!("write the helper's orders: {cause}"),
    })?;
    let given = Given {
        helper: open_helper(&tier.helper.0)?,
        control: theirs.into(),
        spec: memory_file("spec", &json)?,
        group: opened,
    };
    let around = match tier.confinement {
        Confinement::Full => Some((
            bubblewrap()?,
            Arguments::for_view(&view, job.network, group.is_some()),
        )),
        _ => None,
    };
    let stdin = if job.stdin.is_empty() {
        Stdio::null()
    } else {
        memory_file("stdin", &job.stdin)?.into()
    };
    let helper = given.command();
    let child = spawner::spawn(given.into_inherited(), move || {
        let around = around
            .map(|(program, arguments)| Ok::<_, io::Error>((program, arguments.open()?)))
            .transpose()?;
        let mut command = match &around {
            Some((program, opened)) => inside(program, opened, &helper),
            None => plain(&helper),
        };
        command
            .env_clear()
            .process_group(0)
            .stdin(stdin)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command.spawn()
    })?;
    Ok(Launched {
        child,
        control,
        folders,
        group,
        _scratch: scratch,
    })
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
    File::open(path)
        .map(OwnedFd::from)
        .map_err(|source| SandboxError::Helper {
            path: path.to_owned(),
            source,
        })
}

fn bubblewrap() -> Result<&'static Path, SandboxError> {
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
    let roots = view.writable().map(OsString::from);
    let (writable, read_only) = match (confinement, scratch) {
        (Confinement::Unconfined, _) => (Vec::new(), Vec::new()),
        (_, Some(scratch)) => (
            roots.chain([scratch.path().into()]).collect(),
            fallback::readable(view, toolchain, job.network),
        ),
        (_, None) => (
            roots
                .chain(memory_folders(confinement, view, toolchain))
                .collect(),
            vec![OsString::from("/")],
        ),
    };
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
        disk_folders: view
            .writable()
            .map(OsString::from)
            .chain(scratch.map(|scratch| scratch.path().into()))
            .collect(),
        memory_folders: memory_folders(confinement, view, toolchain),
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
    let cargo = toolchain.cargo_home.clone().map(OsString::from);
    [Path::new("/tmp"), view.home(), Path::new("/dev/shm")]
        .map(OsString::from)
        .into_iter()
        .chain(cargo)
        .collect()
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
        let cargo_home = scratch.map_or_else(
            || toolchain.cargo_home.clone(),
            |scratch| scratch.cargo_home(toolchain),
        );
        let mut set = |name: &str, value: &OsStr| all.insert(name.into(), value.to_owned());
        set(
            "HOME",
            scratch.map_or(view.home(), Scratch::path).as_os_str(),
        );
        set(
            "TMPDIR",
            scratch.map_or(Path::new("/tmp"), Scratch::path).as_os_str(),
        );
        set("LANG", OsStr::new("C.UTF-8"));
        let user = if rustix::process::getuid().is_root() {
            "root"
        } else {
            bubblewrap::USER
        };
        set("USER", OsStr::new(user));
        set("LOGNAME", OsStr::new(user));
        // The system's configuration is unreadable in one tier and absent in the other; only its
        // absence is no error to git.
        set("GIT_CONFIG_NOSYSTEM", OsStr::new("1"));
        let path = host::search_path(view.holds_programs());
        set(
            "PATH",
            &scratch.map_or_else(|| path.clone(), |scratch| scratch.search_path(path.clone())),
        );
        all.extend(toolchain.variables(cargo_home.as_deref()));
        all.extend(host::programs_of_user().variables.clone());
        all.extend(match job.network {
            Network::None => host::offline_variables(),
            Network::Proxy => network::variables_of_registries().collect(),
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
