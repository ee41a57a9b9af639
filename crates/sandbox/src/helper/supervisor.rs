//! Starts the program and supervises it until none of its processes is left.

use std::ffi::{OsStr, OsString};
use std::fmt::Display;
use std::fs::File;
use std::io::{self, Read};
use std::net::{SocketAddr, TcpListener};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::{DumpableBehavior, Pid, PidfdFlags, Signal, WaitStatus, getpid, getppid};

use crate::disk_usage::Over;
use crate::egress;
use crate::helper::calls::handed_over::HandedOver;
use crate::helper::filter::confine::Restrictions;
use crate::helper::guardian::{self, Half};
use crate::helper::poll_set::Awaited;
use crate::helper::protocol::{Order, Report, Spec, report, report_with};
use crate::helper::usage::disk::Disk;
use crate::helper::usage::measure::Peak;
use crate::helper::usage::{memory, tree};
use crate::job::Network;
use crate::sys::{self, GroupError, PreparedProgram};
use crate::tier::Confinement;

/// The interval at which the number of processes and the memory are checked.
const WATCH: Duration = Duration::from_millis(50);
/// The minimum pause after a check, in multiples of its duration: checking takes a small part of a
/// processor.
const REST: u32 = 10;
/// The interval without limits, only to reap orphans that ended.
const IDLE: Duration = Duration::from_millis(500);
/// The number that shells add to the signal that ended a program.
const SHELL_SIGNALLED: i32 = 128;
/// The search path for programs without a `PATH` (execvp(3)).
const USUAL_PATH: &str = "/bin:/usr/bin";
/// How long the same processes may remain until they are taken to hang in the kernel, where no
/// signal reaches them.
const GIVE_UP: Duration = Duration::from_secs(10);
/// How long the full tier kills processes one by one, before the end of the namespace kills all at
/// once.
const BEFORE_NAMESPACE_ENDS: Duration = Duration::from_millis(500);

/// Why the supervisor stops waiting for the program.
enum End {
    Program(WaitStatus),
    Ordered,
    CoordinatorGone,
    Over(Report),
    /// The program was not started; `None` if the child has already reported why.
    NotStarted(Option<Report>),
}

/// What the coordinator gives the supervisor of a job.
pub(super) struct Given {
    /// The socket for orders and reports.
    pub(super) control: UnixStream,
    /// The file with the [`Spec`].
    pub(super) spec: OwnedFd,
    /// The control group that the program starts in, if it has one.
    pub(super) group: Option<OwnedFd>,
}

impl Given {
    /// Takes over the descriptors that this process was executed with.
    pub(super) fn inherited(control: RawFd, spec: RawFd, group: Option<RawFd>) -> io::Result<Self> {
        Ok(Self {
            control: UnixStream::from(sys::adopt(control)?),
            spec: sys::adopt(spec)?,
            group: group.map(sys::adopt).transpose()?,
        })
    }
}

/// Runs one job. Fails if the spec cannot be read, the coordinator cannot be reached, or the job's
/// folder cannot be removed.
pub(super) fn run(given: Given) -> io::Result<()> {
    let Given {
        control,
        spec,
        group,
    } = given;
    let mut json = Vec::new();
    File::from(spec).read_to_end(&mut json)?;
    let mut spec: Spec = serde_json::from_slice(&json)?;
    // In the full tier, the pid namespace ends with this process, so no guardian is needed.
    let guardian = match spec.confinement {
        Confinement::Full => None,
        Confinement::Fallback | Confinement::Unconfined => match guardian::split()? {
            Half::Guardian(supervisor) => {
                return guardian::stand_by(&spec, &control, supervisor, GIVE_UP);
            }
            Half::Supervisor(guardian) => Some(guardian),
        },
    };
    // Before the start: after it, the program may have run and this process been killed.
    let mut announced = announce(&spec, &control);
    let mut disk = None;
    if let Some(most) = spec.disk {
        match Disk::new(&spec, most).map_err(failed("look at the free space of the folders")) {
            Ok(measured) => disk = Some(measured),
            Err(failed) => announced = announced.and(Err(End::NotStarted(failed))),
        }
    }
    if disk.as_ref().is_some_and(Disk::has_no_room) {
        spec.file_bytes = Some(0);
    }
    let mut peak = Peak::default();
    let group = group.as_ref().map(AsFd::as_fd);
    let started = match announced {
        Ok(proxy) => start(&spec, &control, group, proxy).map_err(End::NotStarted),
        Err(end) => Err(end),
    };
    let end = match started {
        Ok((program, calls)) => {
            let watched = Watched {
                program,
                calls,
                guardian,
            };
            supervise(&spec, &control, &watched, disk.as_mut(), &mut peak)
        }
        Err(end) => end,
    };
    finish(&spec, &control, end, Measured { disk, peak })
}

/// Reports the start, and hands out the socket of the job's proxy if it has one; returns its
/// address.
fn announce(spec: &Spec, control: &UnixStream) -> Result<Option<SocketAddr>, End> {
    if spec.network != Network::Proxy {
        report(control, &Report::Starting).map_err(coordinator_gone)?;
        return Ok(None);
    }
    let (listener, address) = listen(spec.confinement)
        .map_err(failed("make the socket of the proxy"))
        .map_err(End::NotStarted)?;
    report_with(control, &Report::Starting, listener.as_fd()).map_err(coordinator_gone)?;
    Ok(Some(address))
}

fn listen(confinement: Confinement) -> io::Result<(TcpListener, SocketAddr)> {
    let listener = egress::listen(confinement)?;
    let address = listener.local_addr()?;
    Ok((listener, address))
}

fn coordinator_gone(_: io::Error) -> End {
    End::CoordinatorGone
}

/// Returns what makes the report of a failed step.
fn failed<E: Display>(step: &'static str) -> impl FnOnce(E) -> Option<Report> {
    move |cause| Some(Report::Failed(format!("{step}: {cause}")))
}

/// Starts the program; returns `Err(None)` if the child has already reported what failed.
fn start(
    spec: &Spec,
    control: &UnixStream,
    group: Option<BorrowedFd<'_>>,
    proxy: Option<SocketAddr>,
) -> Result<(Pid, Option<HandedOver>), Option<Report>> {
    // Fails only if this process already leads a session, which is just as good.
    let _ = rustix::process::setsid();
    sys::ignore_group_signals();
    rustix::process::set_child_subreaper(Some(getpid())).map_err(failed("become a subreaper"))?;
    rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable)
        .map_err(failed("hide the supervisor's memory"))?;
    let restrictions =
        Restrictions::prepare(spec).map_err(|reason| Some(Report::Failed(reason)))?;
    let from_child = control
        .try_clone()
        .map_err(failed("share the control socket"))?;
    let (ours, childs) = UnixStream::pair().map_err(failed("make a socket for the child"))?;
    let program = program(spec, move || restrictions.apply(&from_child, &childs))
        .map_err(|cause| Some(Report::NotExecutable(cause.to_string())))?;
    let started = match group {
        Some(group) => match sys::start_in_group(&program, group) {
            Ok(pid) => Ok(pid),
            Err(GroupError::NotExecuted(cause)) => Err(cause),
            Err(GroupError::NoProcess(cause)) => {
                // The coordinator may have ended, which is noticed later.
                let _ = report(control, &Report::OutsideGroup(cause.to_string()));
                sys::start_single_threaded(&program)
            }
        },
        None => sys::start_single_threaded(&program),
    };
    // With it the child's end of the socket, so that a child without a listener is noticed.
    drop(program);
    match started {
        Ok(pid) if spec.confinement == Confinement::Fallback => {
            let calls = HandedOver::take(&ours, spec, proxy)
                .map_err(failed("take the listener for calls"))?;
            Ok((pid, Some(calls)))
        }
        Ok(pid) => Ok((pid, None)),
        Err(cause) if cause.raw_os_error() == Some(libc::ECANCELED) => Err(None),
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => Err(Some(Report::NotFound)),
        Err(cause)
            if cause.kind() == io::ErrorKind::PermissionDenied && !is_file_anywhere(spec) =>
        {
            Err(Some(Report::NotFound))
        }
        Err(cause) => Err(Some(Report::NotExecutable(cause.to_string()))),
    }
}

/// Returns the program, which begins with `step`. Fails if a text contains a NUL byte.
fn program<F>(spec: &Spec, step: F) -> io::Result<PreparedProgram<F>> {
    let arguments = [&spec.program].into_iter().chain(&spec.args);
    Ok(PreparedProgram {
        name: sys::c_string(&spec.program)?,
        arguments: sys::c_strings(arguments.map(OsString::as_os_str))?,
        environment: sys::c_environment(&spec.env)?,
        directory: sys::c_string(&spec.cwd)?,
        step,
    })
}

/// Reports whether the program's name leads to a file.
///
/// A search continues after a folder that cannot be entered, and fails with that folder's error if
/// it finds nothing.
fn is_file_anywhere(spec: &Spec) -> bool {
    let (cwd, program) = (Path::new(&spec.cwd), Path::new(&spec.program));
    if program.components().count() > 1 || program.is_absolute() {
        return true;
    }
    let search = match spec.env.iter().find(|(name, _)| name == "PATH") {
        Some((_, path)) => path.as_os_str(),
        None => OsStr::new(USUAL_PATH),
    };
    std::env::split_paths(search).any(|folder| cwd.join(folder).join(program).is_file())
}

/// The processes and calls that the supervisor watches besides the coordinator.
struct Watched {
    program: Pid,
    /// The calls that the program hands over.
    calls: Option<HandedOver>,
    guardian: Option<Pid>,
}

/// Waits until the program ends, an order arrives, the coordinator or the guardian dies, or a limit
/// is exceeded.
fn supervise(
    spec: &Spec,
    mut control: &UnixStream,
    watched: &Watched,
    mut disk: Option<&mut Disk>,
    peak: &mut Peak,
) -> End {
    let limited = spec.cpu.is_some()
        || spec.processes.is_some()
        || spec.memory_bytes.is_some()
        || spec.disk.is_some();
    let tick = if limited { WATCH } else { IDLE };
    let mut look_again = Instant::now() + WATCH;
    let Ok(program_end) = rustix::process::pidfd_open(watched.program, PidfdFlags::empty()) else {
        return End::Ordered;
    };
    let listener = watched.calls.as_ref().map(HandedOver::listener);
    let mut awaited = Awaited {
        orders: control.as_fd(),
        program_end: Some(program_end),
        calls: listener,
    };
    loop {
        let (ended, has_left_any) = tree::reap();
        if let Some((_, status)) = ended.into_iter().find(|(pid, _)| *pid == watched.program) {
            peak.note_end_of_program(has_left_any);
            return End::Program(status);
        }
        if Instant::now() >= look_again {
            let begun = Instant::now();
            if let Some(over) = look(spec, disk.as_deref_mut(), peak, limited) {
                return End::Over(over);
            }
            look_again = Instant::now() + WATCH.max(begun.elapsed() * REST);
        }
        // The new parent would be a process that knows nothing of the job.
        if watched.guardian.is_some() && getppid() != watched.guardian {
            return End::Ordered;
        }
        // Without events, the job could no longer be ended.
        let Ok(heard) = awaited.wait(tick) else {
            return End::Ordered;
        };
        if heard.call
            && let Some(calls) = &watched.calls
        {
            calls.answer_one();
        }
        if !heard.order {
            continue;
        }
        let mut byte = [0];
        match control.read(&mut byte) {
            Ok(0) | Err(_) => return End::CoordinatorGone,
            Ok(_) => match Order::from_byte(byte[0]) {
                Some(Order::Terminate) => {
                    peak.look();
                    tree::signal_all(Signal::TERM);
                }
                Some(Order::Kill) | None => {
                    peak.look();
                    return End::Ordered;
                }
            },
        }
    }
}

/// Looks at what the job uses. What cannot be seen counts as over the limits, if there are any: a
/// job could otherwise switch them off by hindering the look.
fn look(spec: &Spec, disk: Option<&mut Disk>, peak: &mut Peak, limited: bool) -> Option<Report> {
    let looked = match tree::usage() {
        Ok(usage) => {
            peak.note(&usage);
            over_limit(spec, usage, disk)
        }
        Err(unseen) => Err(unseen),
    };
    match looked {
        Ok(over) => over,
        Err(_) if limited => Some(Report::Unseen),
        Err(_) => None,
    }
}

fn over_limit(
    spec: &Spec,
    usage: tree::Usage,
    disk: Option<&mut Disk>,
) -> io::Result<Option<Report>> {
    let tree::Usage {
        tasks,
        resident_bytes,
        cpu,
        processes,
    } = usage;
    if spec.cpu.is_some_and(|most| cpu > most) {
        return Ok(Some(Report::TooMuchCpu));
    }
    if spec.processes.is_some_and(|most| tasks > u64::from(most)) {
        return Ok(Some(Report::TooManyProcesses));
    }
    // Elsewhere the segments are the machine's; in the fallback tier, a job cannot create any.
    let segments = if spec.confinement == Confinement::Full {
        memory::segments()
    } else {
        0
    };
    let folders = &spec.memory_folders;
    if let Some(most) = spec.memory_bytes
        && memory::is_over(most, resident_bytes, segments, &processes, folders)
    {
        return Ok(Some(Report::TooMuchMemory));
    }
    match disk {
        Some(disk) => Ok(disk.is_over(processes.into_keys())?.map(full)),
        None => Ok(None),
    }
}

fn full(over: Over) -> Report {
    match over {
        Over::Bytes => Report::TooMuchDisk,
        Over::Files => Report::TooManyFiles,
    }
}

/// The measurements of a job while it ran.
struct Measured {
    disk: Option<Disk>,
    peak: Peak,
}

/// Ends the remaining processes, reports what the job used and how it ended, and removes its
/// folder.
fn finish(spec: &Spec, control: &UnixStream, end: End, measured: Measured) -> io::Result<()> {
    // In the full tier, the pid namespace ends with this process, and with it the processes that
    // were not killed in time.
    tree::kill_all(if spec.confinement == Confinement::Full {
        BEFORE_NAMESPACE_ENDS
    } else {
        GIVE_UP
    });
    if !matches!(end, End::NotStarted(_)) {
        // The coordinator may have ended.
        let _ = report(control, &Report::Used(measured.peak.usage()));
    }
    let end = match measured.disk {
        Some(disk) => settle(control, end, disk),
        None => end,
    };
    // Before the folder is removed, which may take long: no limit and no order may stop a job that
    // has ended.
    let told = match end {
        End::Program(status) => report(control, &ended(status)),
        End::Over(limit) => report(control, &limit),
        // The coordinator knows why it gave the order.
        End::Ordered => report(control, &Report::Signalled(Signal::KILL.as_raw())),
        End::NotStarted(Some(failed)) => report(control, &failed),
        End::NotStarted(None) | End::CoordinatorGone => Ok(()),
    };
    // Even if the report did not arrive: the coordinator, which waits for the end of this process
    // and removes the folder too, may be killed before it does.
    let cleared = match &spec.scratch {
        Some(scratch) => orchestrate_files::remove_folder(Path::new(scratch)),
        None => Ok(()),
    };
    told.and(cleared)
}

/// Reports the usage of the job's folders. A program that ended above the disk limit counts as
/// ended by it.
fn settle(control: &UnixStream, end: End, mut disk: Disk) -> End {
    let over = match &end {
        End::Program(status) => match disk.ends_over() {
            Ok(None) if disk.has_no_room() && wrote_too_much(*status) => Some(full(Over::Bytes)),
            Ok(left) => left.map(full),
            Err(_) => Some(Report::Unseen),
        },
        _ => None,
    };
    // Without an account, the next job begins with a scan. The coordinator may have ended.
    if let Ok(account) = disk.account() {
        let _ = report(control, &Report::Holds(account));
    }
    over.map_or(end, End::Over)
}

/// Reports whether the program, or the last one that a shell ran, exceeded the maximum size of a
/// file.
fn wrote_too_much(status: WaitStatus) -> bool {
    let signal = Signal::XFSZ.as_raw();
    status.terminating_signal() == Some(signal)
        || status.exit_status() == Some(SHELL_SIGNALLED + signal)
}

fn ended(status: WaitStatus) -> Report {
    match status.exit_status() {
        Some(code) => Report::Exited(code),
        None => Report::Signalled(status.terminating_signal().unwrap_or(0)),
    }
}
