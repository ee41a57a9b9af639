//! Drives one job from its start until none of its processes is left, without blocking on any
//! single event.
//!
//! Stopping only escalates: asked to end, killed by the supervisor, killed from here. The first
//! reason to stop is kept.

use std::io::Write;
use std::net::TcpListener;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::cancel::Cancel;
use crate::descriptors;
use crate::disk_usage::Account;
use crate::egress::ListenerSink;
use crate::error::SandboxError;
use crate::helper::protocol::{Order, Report};
use crate::job::{Captured, Exit, Finished, Job, Usage};
use crate::run::capture::Capture;
use crate::setup::cgroups::{self, JobGroup};
use crate::setup::launch::{self, Launched, Supervisor, Tier};
use crate::setup::room;
use crate::tier::Confinement;

/// The grace period between SIGTERM and SIGKILL: two seconds after a stop, no process may be alive.
const GRACE: Duration = Duration::from_secs(1);
/// How long the supervisor may take to kill the remaining processes before the job is abandoned.
const KILL_TIME: Duration = Duration::from_secs(2);
/// How long to wait for output after the job's end; only a process that hangs in the kernel can
/// still hold the pipes.
const LAST_OUTPUT: Duration = Duration::from_secs(1);
/// The longest sleep, in case a cancellation has no descriptor that wakes us.
pub(crate) const LONGEST_SLEEP: Duration = Duration::from_secs(1);
/// The maximum size of a job's reports, in bytes: they are a few short lines.
const MOST_REPORTED: usize = 64 << 10;

/// How often to try to start a tier. A Ctrl-C that comes before the new process has a group of its
/// own ends it, although it was meant for us.
const START_TRIES: usize = 3;

/// How far stopping has escalated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Phase {
    Running,
    Terminating,
    Killing,
    Abandoned,
}

/// A running job.
struct Drive<'a> {
    job: &'a Job,
    confinement: Confinement,
    supervisor: Supervisor,
    control: UnixStream,
    control_open: bool,
    /// The control group of the program.
    group: Option<JobGroup>,
    reported: Vec<u8>,
    /// Takes the socket of the proxy; `None` once it has, or if there is none to take.
    proxy: &'a mut Option<ListenerSink>,
    stdout: Capture,
    stderr: Capture,
    phase: Phase,
    /// When the next phase begins; `None` if no time is set.
    deadline: Option<Instant>,
    stopped: Option<Exit>,
}

/// Runs a job; each of `cancels` can stop it. `proxy` takes the socket of a job with
/// [`crate::Network::Proxy`].
pub(crate) fn run(
    tier: &Tier,
    job: &Job,
    cancels: &[&Cancel],
    mut proxy: Option<ListenerSink>,
) -> Result<Finished, SandboxError> {
    let (mut tries, mut tier) = (1, tier.clone());
    loop {
        match run_once(&tier, job, cancels, &mut proxy) {
            // The job's program has not run.
            Err(SandboxError::TierUnusable { .. }) if tries < START_TRIES => tries += 1,
            Ok(Ended::NoRoom(why)) => {
                room::note_failure(why);
                tier.rooms = None;
            }
            Ok(Ended::Finished(finished)) => return Ok(finished),
            Err(error) => return Err(error),
        }
    }
}

/// How a try to run a job ended.
enum Ended {
    Finished(Finished),
    /// The program was not started, since rooms cannot be used here, for this reason.
    NoRoom(String),
}

fn run_once(
    tier: &Tier,
    job: &Job,
    cancels: &[&Cancel],
    proxy: &mut Option<ListenerSink>,
) -> Result<Ended, SandboxError> {
    let started = Instant::now();
    let Launched {
        supervisor,
        control,
        stdout,
        stderr,
        folders,
        group,
        _scratch,
    } = launch::launch(tier, job)?;
    control
        .set_nonblocking(true)
        .map_err(SandboxError::io("read the control socket without blocking"))?;
    let kept = job.limits.kept_output_bytes;
    let mut drive = Drive {
        job,
        confinement: tier.confinement,
        stdout: Capture::new(Some(stdout), kept)?.showing(tier.live.clone()),
        stderr: Capture::new(Some(stderr), kept)?.showing(tier.live.clone()),
        supervisor,
        control,
        control_open: true,
        group,
        reported: Vec::new(),
        proxy,
        phase: Phase::Running,
        deadline: started.checked_add(job.limits.timeout),
        stopped: None,
    };
    while drive.control_open {
        drive.wait(cancels)?;
        drive.advance(cancels);
    }
    let waited = drive.supervisor.wait();
    drive.read_last_output()?;
    waited?;
    if let Some(account) = drive.account() {
        tier.accounts.keep(folders, account);
    }
    if let Some(cause) = drive.outside_group() {
        cgroups::give_up(&cause, tier.warn);
    }
    drive.finish(started.elapsed())
}

impl Drive<'_> {
    /// Sleeps until an event or the deadline, and reads what has arrived.
    fn wait(&mut self, cancels: &[&Cancel]) -> Result<(), SandboxError> {
        let sleep = match self.deadline {
            Some(due) => due.saturating_duration_since(Instant::now()),
            None => LONGEST_SLEEP,
        };
        let cancels = cancels.iter().copied();
        let mut watched: Vec<BorrowedFd<'_>> = vec![self.control.as_fd()];
        watched.extend(
            [&self.stdout, &self.stderr]
                .into_iter()
                .filter_map(Capture::pipe)
                .map(AsFd::as_fd),
        );
        match self.phase {
            Phase::Running => watched.extend(cancels.filter_map(Cancel::event)),
            Phase::Terminating => watched.extend(cancels.filter_map(Cancel::kill_event)),
            Phase::Killing | Phase::Abandoned => {}
        }
        wait_readable(&watched, sleep.min(LONGEST_SLEEP))?;
        self.stdout.read_some();
        self.stderr.read_some();
        self.read_control();
        Ok(())
    }

    fn read_control(&mut self) {
        let mut chunk = [0; 4096];
        match descriptors::receive(&self.control, &mut chunk) {
            Ok((0, _)) => self.control_open = false,
            Ok((count, mut passed)) => {
                if self.reported.len() < MOST_REPORTED {
                    self.reported.extend(chunk.iter().take(count));
                }
                if let Some(listener) = passed.pop()
                    && let Some(proxy) = self.proxy.take()
                {
                    proxy(TcpListener::from(listener));
                }
            }
            Err(cause)
                if matches!(
                    cause.kind(),
                    std::io::ErrorKind::WouldBlock | std::io::ErrorKind::Interrupted
                ) => {}
            Err(_) => self.control_open = false,
        }
    }

    /// Escalates to the next phase if there is a reason to.
    fn advance(&mut self, cancels: &[&Cancel]) {
        let due = self.deadline.is_some_and(|due| due <= Instant::now());
        let output = self.stdout.total() + self.stderr.total();
        let is_killed = cancels.iter().copied().any(Cancel::is_killed);
        match self.phase {
            Phase::Running if output > self.job.limits.max_output_bytes => {
                self.stop(Phase::Killing, Exit::OutputLimit);
                // Processes that continue to write get SIGPIPE.
                self.stdout.close();
                self.stderr.close();
            }
            Phase::Running if is_killed => self.stop(Phase::Killing, Exit::Cancelled),
            Phase::Running if cancels.iter().copied().any(Cancel::is_cancelled) => {
                self.stop(Phase::Terminating, Exit::Cancelled);
            }
            Phase::Running if due => self.stop(Phase::Terminating, Exit::TimedOut),
            Phase::Terminating if due || is_killed || output > self.job.limits.max_output_bytes => {
                self.enter(Phase::Killing);
            }
            Phase::Killing if due => self.enter(Phase::Abandoned),
            _ => {}
        }
    }

    fn stop(&mut self, phase: Phase, exit: Exit) {
        // A program that ended by itself was not stopped, even if its report has not been read yet.
        self.read_control();
        if matches!(self.last_report(), None | Some(Report::Starting)) {
            self.stopped = Some(exit);
        }
        self.enter(phase);
    }

    fn enter(&mut self, phase: Phase) {
        self.phase = phase;
        let (order, time) = match phase {
            Phase::Running => return,
            Phase::Terminating => (Order::Terminate, GRACE),
            Phase::Killing => (Order::Kill, KILL_TIME),
            Phase::Abandoned => {
                if let Some(group) = &self.group {
                    // Not before: a program that is killed while it is started would seem not to
                    // start here. What this does not end is awaited.
                    let _ = group.kill();
                }
                // The end of bubblewrap ends the pid namespace and all processes in it. In the
                // other tiers, only the supervisor can end the remaining processes, so it is never
                // killed, only awaited.
                if self.confinement == Confinement::Full {
                    self.supervisor.kill();
                }
                self.deadline = None;
                return;
            }
        };
        self.deadline = Instant::now().checked_add(time);
        // A supervisor that has ended needs no order.
        let _ = self.control.write_all(&[order.byte()]);
    }

    fn read_last_output(&mut self) -> Result<(), SandboxError> {
        let until = Instant::now() + LAST_OUTPUT;
        loop {
            let watched: Vec<BorrowedFd<'_>> = [&self.stdout, &self.stderr]
                .into_iter()
                .filter_map(Capture::pipe)
                .map(AsFd::as_fd)
                .collect();
            let left = until.saturating_duration_since(Instant::now());
            if watched.is_empty() || left.is_zero() {
                return Ok(());
            }
            wait_readable(&watched, left)?;
            self.stdout.read_some();
            self.stderr.read_some();
        }
    }

    fn reports(&self) -> impl Iterator<Item = Report> {
        self.reported
            .split(|byte| *byte == b'\n')
            .filter_map(|line| serde_json::from_slice(line).ok())
    }

    /// Returns how far the job has come.
    fn last_report(&self) -> Option<Report> {
        self.reports()
            .filter(|report| !matches!(report, Report::OutsideGroup(_)))
            .last()
    }

    fn outside_group(&self) -> Option<String> {
        for report in self.reports() {
            if let Report::OutsideGroup(cause) = report {
                return Some(cause);
            }
        }
        None
    }

    fn account(&self) -> Option<Account> {
        for report in self.reports() {
            if let Report::Holds(account) = report {
                return Some(account);
            }
        }
        None
    }

    fn usage(&self) -> Option<Usage> {
        for report in self.reports() {
            if let Report::Used(usage) = report {
                return Some(usage);
            }
        }
        None
    }

    fn finish(self, duration: Duration) -> Result<Ended, SandboxError> {
        let exit = match (self.stopped, self.last_report()) {
            // Killed while it was started, the program seems not to start here.
            (None, Some(Report::Failed(_) | Report::Signalled(libc::SIGKILL)))
                if self.group.as_ref().is_some_and(JobGroup::ran_out_of_memory) =>
            {
                Exit::MemoryLimit
            }
            (_, Some(Report::NoRoom(why))) => return Ok(Ended::NoRoom(why)),
            (_, Some(Report::Failed(detail))) => return Err(SandboxError::Setup { detail }),
            (_, Some(Report::NotFound)) => {
                return Err(SandboxError::ProgramNotFound {
                    program: self.job.program.clone(),
                });
            }
            (_, Some(Report::NotExecutable(detail))) => {
                return Err(SandboxError::NotExecutable {
                    program: self.job.program.clone(),
                    detail,
                });
            }
            (Some(stopped), _) => stopped,
            (None, None) => return Err(did_not_start(self.confinement, &self.stderr.finish())),
            (None, Some(Report::Exited(code))) => Exit::Code(code),
            (None, Some(Report::Signalled(signal))) => Exit::Signal(signal),
            (None, Some(Report::TooManyProcesses)) => Exit::ProcessLimit,
            (None, Some(Report::TooMuchCpu)) => Exit::CpuLimit,
            (None, Some(Report::TooMuchMemory)) => Exit::MemoryLimit,
            (None, Some(Report::TooMuchDisk)) => Exit::DiskLimit,
            (None, Some(Report::TooManyFiles)) => Exit::FilesLimit,
            (None, Some(Report::Unseen)) => Exit::Unseen,
            // The supervisor itself was killed, by an unconfined job or by the kernel's OOM killer.
            (
                None,
                Some(
                    Report::Starting | Report::OutsideGroup(_) | Report::Used(_) | Report::Holds(_),
                ),
            ) => Exit::Signal(libc::SIGKILL),
        };
        if matches!(self.supervisor, Supervisor::InRoom(_)) {
            room::note_success();
        }
        let usage = self.usage();
        Ok(Ended::Finished(Finished {
            exit,
            stdout: self.stdout.finish(),
            stderr: self.stderr.finish(),
            duration,
            usage,
        }))
    }
}

fn did_not_start(confinement: Confinement, stderr: &Captured) -> SandboxError {
    let said = stderr.text();
    let reason = match said.trim() {
        "" => "the helper ended without a report".to_owned(),
        said => said.to_owned(),
    };
    SandboxError::TierUnusable {
        tier: confinement,
        reason,
    }
}

/// Sleeps until one of the descriptors is readable or closed, at most for `sleep`.
pub(crate) fn wait_readable(
    watched: &[BorrowedFd<'_>],
    sleep: Duration,
) -> Result<(), SandboxError> {
    let mut events: Vec<PollFd<'_>> = watched
        .iter()
        .map(|fd| PollFd::new(fd, PollFlags::IN))
        .collect();
    let timeout = Timespec {
        tv_sec: i64::try_from(sleep.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: sleep.subsec_nanos().into(),
    };
    match poll(&mut events, Some(&timeout)) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(errno) => Err(SandboxError::errno("wait for a process")(errno)),
    }
}
