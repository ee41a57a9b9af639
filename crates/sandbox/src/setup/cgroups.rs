//! Control groups (cgroup v2), in which the kernel itself limits a job and ends all of it at once.
//!
//! Only where this process is alone in a group that it may divide (a *delegated* one). The kernel
//! gives controllers to the groups in a group only if that one holds no process (cgroups(7)), so
//! this process moves into one of them, and each job gets another. Everywhere else jobs have the
//! limits that they have without groups, which hold beside these too: a group that cannot be made
//! stops nothing.
//!
//! Layout: `<delegated>/orchestrate-<pid>/{main,job-<number>}`. As long as `main` holds a process,
//! its owner is alive; so the groups of an owner that was killed can be told from those in use.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::error::SandboxError;
use crate::job::Limits;

/// How the groups of a process are named, before its id.
const OWN: &str = "orchestrate-";
/// The group of the process itself.
const MAIN: &str = "main";
/// The controllers that jobs are limited with.
const LIMITING: [&str; 2] = ["memory", "pids"];
/// How long the processes of a group may take to end when the kernel kills them.
const PATIENCE: Duration = Duration::from_secs(2);
/// How to get groups, wherever systemd runs.
const FIX: &str = "start it in a group of its own, as with `systemd-run --user --scope -p \
                   Delegate=yes` (for root without `--user`)";

/// The resources of each job that the kernel limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KernelLimits {
    /// [`Limits::memory_bytes`].
    pub memory: bool,
    /// [`Limits::processes`].
    pub processes: bool,
}

/// Returns what the kernel limits of each job. The first call, or the first job, moves this process
/// into a group of its own.
///
/// # Errors
/// The reason and the fix, if jobs get no control groups.
pub fn kernel_limits() -> Result<KernelLimits, String> {
    let groups = of_process().as_ref().map_err(NoGroups::with_fix)?;
    match groups.given_up.get() {
        Some(why) => Err(why.clone()),
        None => Ok(KernelLimits {
            memory: groups.controllers.contains(&"memory"),
            processes: groups.controllers.contains(&"pids"),
        }),
    }
}

/// Moves this process back into the group that it was started in, and removes its own; for the end
/// of the program. The process must run no job any more.
///
/// # Errors
/// Fails if the kernel refuses a step. What is left is removed by the next process that makes
/// groups there.
pub fn leave_control_groups() -> Result<(), SandboxError> {
    match OF_PROCESS.get() {
        Some(Ok(groups)) => groups
            .leave()
            .map_err(SandboxError::io("remove this process's control groups")),
        _ => Ok(()),
    }
}

/// Why jobs get no groups.
#[derive(Debug, Clone, PartialEq, Eq)]
enum NoGroups {
    /// Memory and processes are left to cgroup v1, or there are no groups at all.
    NotVersion2,
    /// No file system shows the group of this process.
    NotShown,
    /// It is a unit of systemd's, which stops a unit in which memory ends, unless it has delegated
    /// it (`OOMPolicy=`, systemd.service(5)).
    NotDelegated,
    /// The group has no controller that limits jobs.
    NoControllers,
    /// Other processes are in the group.
    Shared,
    /// The kernel refused a step.
    Refused(String),
}

impl NoGroups {
    fn refused(step: &str) -> impl FnOnce(io::Error) -> Self {
        move |cause| Self::Refused(format!("{step}: {cause}"))
    }

    fn with_fix(&self) -> String {
        match self {
            Self::NotVersion2 => {
                "this machine does not use cgroup v2 for memory and processes".to_owned()
            }
            Self::NotShown => {
                "cgroup v2 is not mounted where this process could see its own group".to_owned()
            }
            Self::NotDelegated => {
                format!("systemd has not delegated the group of this process; {FIX}")
            }
            Self::NoControllers => {
                format!("the group of this process may limit neither memory nor processes; {FIX}")
            }
            Self::Shared => format!("the group of this process holds other processes too; {FIX}"),
            Self::Refused(step) => {
                format!("the group of this process cannot be divided ({step}); {FIX}")
            }
        }
    }
}

/// The groups of this process.
#[derive(Debug)]
struct Groups {
    /// The group that this process was started in.
    delegated: PathBuf,
    /// The one in it that holds all others.
    own: PathBuf,
    /// The controllers that jobs are limited with.
    controllers: Vec<&'static str>,
    /// The controllers that groups in `delegated` did not have before.
    added: Vec<&'static str>,
    next_job: AtomicU64,
    /// Why no more groups are made.
    given_up: OnceLock<String>,
}

static OF_PROCESS: OnceLock<Result<Groups, NoGroups>> = OnceLock::new();

fn of_process() -> &'static Result<Groups, NoGroups> {
    OF_PROCESS.get_or_init(make)
}

/// Moves this process into a group of its own, in which those of jobs are made.
fn make() -> Result<Groups, NoGroups> {
    let groups = find()?;
    // What cannot be removed does no harm.
    let _ = remove_leftovers(&groups.delegated);
    fs::create_dir(&groups.own).map_err(NoGroups::refused("make a group"))?;
    if let Err(refused) = groups.divide() {
        // As before, as far as that is possible; the first refusal is what counts.
        let _ = groups.leave();
        return Err(refused);
    }
    Ok(groups)
}

/// Finds the group of this process, and decides whether jobs can have groups in it.
fn find() -> Result<Groups, NoGroups> {
    let delegated = folder(
        &read_file(Path::new("/proc/self/cgroup"))?,
        &read_file(Path::new("/proc/self/mountinfo"))?,
    )?;
    if let Some(unit) = unit(&delegated)
        && !is_marked(unit)
    {
        return Err(NoGroups::NotDelegated);
    }
    let pid = std::process::id();
    let controllers = usable(&Found {
        controllers: read_file(&delegated.join("cgroup.controllers"))?,
        processes: read_file(&delegated.join("cgroup.procs"))?,
        // Every group but the outermost one has a type.
        is_outermost: !delegated.join("cgroup.type").exists(),
        pid,
    })?;
    let given = read_file(&delegated.join("cgroup.subtree_control"))?;
    let mut added = controllers.clone();
    added.retain(|name| !lists(&given, name));
    Ok(Groups {
        own: delegated.join(format!("{OWN}{pid}")),
        delegated,
        added,
        controllers,
        next_job: AtomicU64::new(1),
        given_up: OnceLock::new(),
    })
}

fn read_file(path: &Path) -> Result<String, NoGroups> {
    fs::read_to_string(path).map_err(NoGroups::refused(&format!("read {}", path.display())))
}

/// Finds the folder of this process's group in the texts of `/proc/self/cgroup` and
/// `/proc/self/mountinfo`.
fn folder(groups: &str, mounts: &str) -> Result<PathBuf, NoGroups> {
    let mut group = None;
    for line in groups.lines() {
        if line.split(':').nth(1).is_some_and(is_limiting) {
            return Err(NoGroups::NotVersion2);
        }
        if group.is_none() {
            group = line.strip_prefix("0::");
        }
    }
    let group = Path::new(group.ok_or(NoGroups::NotVersion2)?);
    let mut place = None;
    for (root, point) in mounts.lines().filter_map(mount) {
        // Seen from within a namespace, a group outside of it begins with `..`.
        if let Ok(below) = group.strip_prefix(root)
            && !below.components().any(|part| part == Component::ParentDir)
        {
            // Of two at one place, the later one is seen.
            place = Some(point.join(below));
        }
    }
    place.ok_or(NoGroups::NotShown)
}

fn is_limiting(names: &str) -> bool {
    names.split(',').any(|name| LIMITING.contains(&name))
}

/// Parses a line of `/proc/self/mountinfo` (proc_pid_mountinfo(5)): which group is shown, and
/// where, if that is cgroup v2.
fn mount(line: &str) -> Option<(PathBuf, PathBuf)> {
    let (of_mount, of_system) = line.split_once(" - ")?;
    if of_system.split(' ').next() != Some("cgroup2") {
        return None;
    }
    let mut fields = of_mount.split(' ').skip(3);
    Some((unescaped(fields.next()?), unescaped(fields.next()?)))
}

fn unescaped(field: &str) -> PathBuf {
    PathBuf::from(field.replace("\\040", " "))
}

/// Returns the unit of systemd's that a group is, or is in.
fn unit(group: &Path) -> Option<&Path> {
    group.ancestors().find(|group| {
        let kind = group.extension();
        kind == Some(OsStr::new("scope")) || kind == Some(OsStr::new("service"))
    })
}

/// Reports whether systemd (251 or newer, or for root) has marked a unit as delegated.
fn is_marked(unit: &Path) -> bool {
    for mark in ["user.delegate", "trusted.delegate"] {
        let mut value = [0; 1];
        if rustix::fs::getxattr(unit, mark, &mut value) == Ok(1) && value == *b"1" {
            return true;
        }
    }
    false
}

/// The facts that were found of a group.
struct Found {
    controllers: String,
    processes: String,
    is_outermost: bool,
    /// This process.
    pid: u32,
}

/// Decides whether a group can be divided, and returns the controllers that limit jobs in it.
fn usable(found: &Found) -> Result<Vec<&'static str>, NoGroups> {
    let controllers: Vec<&str> = LIMITING
        .into_iter()
        .filter(|name| lists(&found.controllers, name))
        .collect();
    if controllers.is_empty() {
        return Err(NoGroups::NoControllers);
    }
    let is_alone = found
        .processes
        .lines()
        .all(|pid| pid.parse() == Ok(found.pid));
    // Only the outermost group may hold processes beside groups with controllers.
    if is_alone || found.is_outermost {
        Ok(controllers)
    } else {
        Err(NoGroups::Shared)
    }
}

fn lists(names: &str, name: &str) -> bool {
    names.split_ascii_whitespace().any(|listed| listed == name)
}

impl Groups {
    /// Moves this process into a group of its own, beside which those of jobs get their
    /// controllers.
    fn divide(&self) -> Result<(), NoGroups> {
        let main = self.own.join(MAIN);
        fs::create_dir(&main).map_err(NoGroups::refused("make a group in it"))?;
        set(&main, "cgroup.procs", &std::process::id().to_string())
            .map_err(NoGroups::refused("enter a group"))?;
        for group in [&self.delegated, &self.own] {
            let pass_on = set(
                group,
                "cgroup.subtree_control",
                &signed('+', &self.controllers),
            );
            pass_on.map_err(NoGroups::refused("pass controllers on"))?;
        }
        Ok(())
    }

    fn leave(&self) -> io::Result<()> {
        remove_inner(&self.own, |name| name != MAIN)?;
        set(
            &self.own,
            "cgroup.subtree_control",
            &signed('-', &self.controllers),
        )?;
        if !self.added.is_empty() {
            set(
                &self.delegated,
                "cgroup.subtree_control",
                &signed('-', &self.added),
            )?;
        }
        set(
            &self.delegated,
            "cgroup.procs",
            &std::process::id().to_string(),
        )?;
        fs::remove_dir(self.own.join(MAIN))?;
        fs::remove_dir(&self.own)
    }

    /// Makes a group for a job, and opens it.
    fn job(&self, limits: &Limits) -> io::Result<(JobGroup, OwnedFd)> {
        let folder = self.own.join(format!(
            "job-{}",
            self.next_job.fetch_add(1, Ordering::Relaxed)
        ));
        fs::create_dir(&folder)?;
        let group = JobGroup(folder);
        for (file, value) in settings(&self.controllers, limits) {
            match set(&group.0, file, &value) {
                // A kernel that does not account for swap has no such file.
                Err(error) if file == SWAP && error.kind() == ErrorKind::NotFound => {}
                done => done?,
            }
        }
        let opened = File::open(&group.0)?.into();
        Ok((group, opened))
    }
}

fn signed(sign: char, controllers: &[&str]) -> String {
    controllers
        .iter()
        .map(|name| format!("{sign}{name}"))
        .collect::<Vec<_>>()
        .join(" ")
}

/// The file with the limit of memory that is swapped out.
const SWAP: &str = "memory.swap.max";

/// Returns what is written to which file of a job's group.
fn settings(controllers: &[&str], limits: &Limits) -> Vec<(&'static str, String)> {
    let mut settings = Vec::new();
    if let Some(bytes) = limits.memory_bytes
        && controllers.contains(&"memory")
    {
        settings.push(("memory.max", bytes.to_string()));
        settings.push((SWAP, "0".to_owned()));
        // The job ends as a whole, as it does without groups.
        settings.push(("memory.oom.group", "1".to_owned()));
    }
    if let Some(most) = limits.processes
        && controllers.contains(&"pids")
    {
        settings.push(("pids.max", most.to_string()));
    }
    settings
}

/// Writes to a file of a group, which exists if the kernel supports it.
fn set(group: &Path, file: &str, value: &str) -> io::Result<()> {
    File::options()
        .write(true)
        .open(group.join(file))?
        .write_all(value.as_bytes())
}

/// The group of one job. When it is dropped, its processes are killed, and it is removed.
#[derive(Debug)]
pub(crate) struct JobGroup(PathBuf);

/// Makes a group for a job; `None` where jobs get none. A failure is told once, and no more groups
/// are made then.
pub(crate) fn of_job(limits: &Limits, warn: fn(&str)) -> Option<(JobGroup, OwnedFd)> {
    let groups = of_process().as_ref().ok()?;
    if groups.given_up.get().is_some() {
        return None;
    }
    match groups.job(limits) {
        Ok(made) => Some(made),
        Err(error) => {
            give_up(&error.to_string(), warn);
            None
        }
    }
}

/// Makes no more groups, for this reason.
pub(crate) fn give_up(cause: &str, warn: fn(&str)) {
    let Ok(groups) = of_process() else { return };
    let why = format!(
        "failed to run a command in a control group: {cause}; limits are checked repeatedly instead"
    );
    if groups.given_up.set(why.clone()).is_ok() {
        warn(&why);
    }
}

impl JobGroup {
    /// Kills all processes of the job.
    pub(crate) fn kill(&self) -> io::Result<()> {
        set(&self.0, "cgroup.kill", "1")
    }

    /// Reports whether the kernel has killed the job because it reached its own limit of memory.
    pub(crate) fn ran_out_of_memory(&self) -> bool {
        fs::read_to_string(self.0.join("memory.events"))
            .is_ok_and(|events| is_out_of_memory(&events))
    }
}

impl Drop for JobGroup {
    fn drop(&mut self) {
        // What hangs in the kernel cannot be ended; its group is removed when this process leaves,
        // or by the next one.
        let _ = end(&self.0);
    }
}

/// Parses `memory.events` of a group. A kill alone may have another reason: that a group around it,
/// or the machine, had no memory left.
fn is_out_of_memory(events: &str) -> bool {
    count(events, "oom") > 0 && count(events, "oom_kill") > 0
}

/// Returns the number after a name in a file of a group; 0 if it is not there.
fn count(text: &str, name: &str) -> u64 {
    for line in text.lines() {
        if let Some((found, value)) = line.split_once(' ')
            && found == name
        {
            return value.trim().parse().unwrap_or(0);
        }
    }
    0
}

/// Removes a group, after killing its processes if there are some.
fn end(group: &Path) -> io::Result<()> {
    let until = Instant::now() + PATIENCE;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        match fs::remove_dir(group) {
            Err(error) if error.kind() == ErrorKind::ResourceBusy && !left.is_zero() => {}
            done => return done,
        }
        let mut events = File::open(group.join("cgroup.events"))?;
        // A change after this wakes us.
        events.read_to_end(&mut Vec::new())?;
        set(group, "cgroup.kill", "1")?;
        let left = Timespec {
            tv_sec: left.as_secs().cast_signed(),
            tv_nsec: left.subsec_nanos().into(),
        };
        match poll(&mut [PollFd::new(&events, PollFlags::PRI)], Some(&left)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
}

/// Ends the groups in a group whose names are accepted.
fn remove_inner(group: &Path, accepts: impl Fn(&str) -> bool) -> io::Result<()> {
    for entry in fs::read_dir(group)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() && entry.file_name().to_str().is_some_and(&accepts) {
            end(&entry.path())?;
        }
    }
    Ok(())
}

/// Removes the groups of processes like this one that are no longer alive.
fn remove_leftovers(delegated: &Path) -> io::Result<()> {
    for entry in fs::read_dir(delegated)? {
        let entry = entry?;
        let name = entry.file_name();
        let owner = name.to_str().and_then(|name| name.strip_prefix(OWN));
        let is_of_process = owner.is_some_and(|pid| pid.parse::<u32>().is_ok());
        let events = fs::read_to_string(entry.path().join(MAIN).join("cgroup.events"));
        if is_of_process && !events.is_ok_and(|events| count(&events, "populated") > 0) {
            remove_inner(&entry.path(), |_| true)?;
            fs::remove_dir(entry.path())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A line of `/proc/self/mountinfo`.
    fn mounted(root: &str, point: &str, system: &str) -> String {
        format!("41 31 0:38 {root} {point} rw,nosuid shared:9 - {system} {system} rw,nsdelegate\n")
    }

    #[test]
    fn the_own_group_is_found_where_it_is_shown() {
        let usual = mounted("/", "/sys/fs/cgroup", "cgroup2");
        let tmpfs = mounted("/", "/sys/fs/cgroup", "tmpfs");
        let at = |path: &str| Ok(PathBuf::from(path));
        let slice = "/user.slice/user-1000.slice/user@1000.service/app.slice/run-r1.scope";
        let table: [(String, String, Result<PathBuf, NoGroups>); 10] = [
            ("0::/\n".to_owned(), usual.clone(), at("/sys/fs/cgroup")),
            (
                format!("0::{slice}\n"),
                usual.clone(),
                at(&format!("/sys/fs/cgroup{slice}")),
            ),
            // A named hierarchy of cgroup v1 limits nothing.
            (
                "1:name=systemd:/x\n0::/x\n".to_owned(),
                usual.clone(),
                at("/sys/fs/cgroup/x"),
            ),
            // A container whose group alone is mounted, without a namespace.
            (
                "0::/pod/c1/x\n".to_owned(),
                mounted("/pod/c1", "/sys/fs/cgroup", "cgroup2"),
                at("/sys/fs/cgroup/x"),
            ),
            (
                "0::/x\n".to_owned(),
                mounted("/", "/my\\040groups", "cgroup2"),
                at("/my groups/x"),
            ),
            // The later mount covers the earlier one.
            (
                "0::/pod/x\n".to_owned(),
                usual.clone() + &mounted("/pod", "/sys/fs/cgroup", "cgroup2"),
                at("/sys/fs/cgroup/x"),
            ),
            // Version 1, with version 2 beside it or not.
            (
                "4:memory:/x\n0::/\n".to_owned(),
                mounted("/", "/sys/fs/cgroup/unified", "cgroup2"),
                Err(NoGroups::NotVersion2),
            ),
            (
                "3:cpu,pids:/x\n".to_owned(),
                tmpfs.clone(),
                Err(NoGroups::NotVersion2),
            ),
            ("0::/x\n".to_owned(), tmpfs, Err(NoGroups::NotShown)),
            ("0::/../other\n".to_owned(), usual, Err(NoGroups::NotShown)),
        ];
        for (groups, mounts, expected) in table {
            assert_eq!(folder(&groups, &mounts), expected, "{groups}{mounts}");
        }
        assert_eq!(folder("", ""), Err(NoGroups::NotVersion2));
    }

    #[test]
    fn a_group_belongs_to_the_innermost_unit() {
        let of = |group: &str| unit(Path::new(group)).map(|unit| unit.display().to_string());
        let service = "/sys/fs/cgroup/user.slice/user@1000.service";
        assert_eq!(
            of(&format!("{service}/app.slice/run-r1.scope")),
            Some(format!("{service}/app.slice/run-r1.scope"))
        );
        assert_eq!(
            of(&format!("{service}/app.slice/own")),
            Some(service.to_owned())
        );
        assert_eq!(of("/sys/fs/cgroup/system.slice"), None);
        assert_eq!(of("/sys/fs/cgroup"), None);
    }

    #[test]
    fn a_group_is_divided_only_by_its_one_process() {
        let usable = |controllers: &str, processes: &str, is_outermost| {
            usable(&Found {
                controllers: controllers.to_owned(),
                processes: processes.to_owned(),
                is_outermost,
                pid: 7,
            })
        };
        assert_eq!(
            usable("cpuset cpu io memory pids\n", "7\n", false),
            Ok(vec!["memory", "pids"])
        );
        assert_eq!(usable("pids\n", "7\n", false), Ok(vec!["pids"]));
        assert_eq!(
            usable("cpu memory_recursiveprot hugetlb\n", "7\n", false),
            Err(NoGroups::NoControllers)
        );
        assert_eq!(usable("\n", "7\n", true), Err(NoGroups::NoControllers));
        assert_eq!(
            usable("memory pids\n", "7\n71\n", false),
            Err(NoGroups::Shared)
        );
        // A process of another namespace has no number here.
        assert_eq!(
            usable("memory pids\n", "0\n7\n", false),
            Err(NoGroups::Shared)
        );
        assert_eq!(
            usable("memory pids\n", "1\n2\n7\n", true),
            Ok(vec!["memory", "pids"])
        );
    }

    #[test]
    fn a_jobs_limits_are_those_of_its_group() {
        let limits = |memory_bytes, processes| Limits {
            memory_bytes,
            processes,
            ..Limits::default()
        };
        let settings = |controllers: &[&str], limits: &Limits| {
            settings(controllers, limits)
                .into_iter()
                .map(|(file, value)| format!("{file}={value}"))
                .collect::<Vec<_>>()
        };
        let both = limits(Some(1 << 20), Some(60));
        let memory = [
            "memory.max=1048576",
            "memory.swap.max=0",
            "memory.oom.group=1",
        ];
        assert_eq!(
            settings(&LIMITING, &both),
            [&memory[..], &["pids.max=60"]].concat()
        );
        assert_eq!(settings(&["memory"], &both), memory);
        assert_eq!(settings(&["pids"], &both), ["pids.max=60"]);
        assert_eq!(settings(&LIMITING, &limits(None, None)), [""; 0]);
    }

    #[test]
    fn only_the_limit_of_the_group_itself_counts() {
        let events = |oom: u64, killed: u64| {
            is_out_of_memory(&format!(
                "low 0\nhigh 0\nmax 9\noom {oom}\noom_kill {killed}\noom_group_kill 0\n"
            ))
        };
        assert_eq!(
            [events(0, 0), events(1, 3), events(0, 1), events(1, 0)],
            [false, true, false, false]
        );
        assert!(!is_out_of_memory(""));
    }
}
