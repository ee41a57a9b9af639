//! Starts a program without copying this process first.
//!
//! The standard library copies all page tables as soon as the child has to do something before it
//! executes its program: git has to arrange to die with this process, a job's program to confine
//! itself. The copy takes milliseconds for each process once a tokenizer is in memory, and in the
//! helper half as long as the start of a shell. So the child borrows our memory until it executes
//! its program, as in `posix_spawn`, and this thread waits for that long.

use std::ffi::{CString, c_char, c_int, c_void};
use std::io::{self, Read, Write};
use std::mem::zeroed;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicI32, Ordering};

use rustix::fs::Mode;
use rustix::process::{Pid, Resource, Rlimit};

/// The size of the child's stack: it calls a few functions, none of them deeply.
const STACK_BYTES: usize = 64 << 10;
/// The size of the stack of a child with a step of its own, which calls libraries; what it does not
/// use costs nothing.
const STACK_BYTES_FOR_STEPS: usize = 1 << 20;
/// The highest number of a signal on Linux.
const LAST_SIGNAL: c_int = 64;
/// The exit code of shells for a program that could not be executed. It is never seen, because the
/// error is reported.
const NOT_EXECUTED: c_int = 127;

/// A program to start. Everything that the child needs is created before the child.
pub(crate) struct Program {
    /// The absolute path of the program.
    pub(crate) path: CString,
    /// Its arguments, its own name first.
    pub(crate) arguments: Vec<CString>,
    /// Its whole environment, as `NAME=value`.
    pub(crate) environment: Vec<CString>,
    /// Its working directory; `None` for that of this process.
    pub(crate) directory: Option<CString>,
    /// Its standard input, output and error.
    pub(crate) streams: [OwnedFd; 3],
    /// Whether it gets a process group of its own, so that signals to ours, such as a Ctrl-C, do
    /// not reach it.
    pub(crate) own_group: bool,
    /// This process, if the child is to die with the calling thread; `None` if it is to outlive it.
    pub(crate) dies_with: Option<Pid>,
    /// The maximum size of a file that it writes, at which it is ended; `None` for the limit of
    /// this process.
    pub(crate) file_bytes: Option<u64>,
    /// Whether what it creates is accessible to its user alone, whatever the umask of this process
    /// is.
    pub(crate) is_private: bool,
}

/// The data that the child reads from our memory, and the error that it stores there.
struct Order<'a> {
    program: &'a Program,
    arguments: Vec<*const c_char>,
    environment: Vec<*const c_char>,
    errno: AtomicI32,
}

/// Starts a program; returns once it has been executed.
///
/// # Errors
/// Fails if it could not be executed.
pub(crate) fn start(program: &Program) -> io::Result<Pid> {
    let order = Order {
        program,
        arguments: pointers(&program.arguments),
        environment: pointers(&program.environment),
        errno: AtomicI32::new(0),
    };
    // SAFETY: `run` takes such an order, and only makes system calls.
    let child =
        unsafe { child_in_our_memory(run, (&raw const order).cast_mut().cast(), STACK_BYTES) };
    executed(child?, &order.errno)
}

/// Creates a child that runs `main` in our memory; returns once it has executed a program or ended.
///
/// # Safety
/// `order` must be what `main` expects. If this process has other threads, `main` may only make
/// system calls. It must not return before it has executed a program, nor unwind.
unsafe fn child_in_our_memory(
    main: extern "C" fn(*mut c_void) -> c_int,
    order: *mut c_void,
    stack_bytes: usize,
) -> io::Result<Pid> {
    let mut stack = vec![0_u128; stack_bytes / size_of::<u128>()];
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
    // A signal handler must not run in the child, which shares our memory.
    let mask = block_signals();
    // SAFETY: the stack is aligned and grows downwards. Like `order`, it lives until the child has
    // executed or ended, because CLONE_VFORK suspends this thread until then. Without CLONE_FILES
    // and CLONE_SIGHAND, the child changes only its own descriptors and signals.
    let child = unsafe { libc::clone(main, stack.as_mut_ptr_range().end.cast(), flags, order) };
    let failed = io::Error::last_os_error();
    set_signal_mask(&mask);
    Pid::from_raw(child.max(0)).ok_or(failed)
}

/// Returns a child that has executed its program, or the error that it has stored instead.
fn executed(child: Pid, errno: &AtomicI32) -> io::Result<Pid> {
    match errno.load(Ordering::Relaxed) {
        0 => Ok(child),
        errno => {
            // It has ended, and no other code waits for it.
            rustix::process::waitpid(Some(child), rustix::process::WaitOptions::empty())?;
            Err(io::Error::from_raw_os_error(errno))
        }
    }
}

/// Returns the addresses of strings as a null-terminated list.
fn pointers(strings: &[CString]) -> Vec<*const c_char> {
    strings
        .iter()
        .map(|string| string.as_ptr())
        .chain([null()])
        .collect()
}

/// The child's main function: executes the program, or stores why that failed.
extern "C" fn run(order: *mut c_void) -> c_int {
    // SAFETY: `start` passes its order, which outlives the child's use of it.
    let order = unsafe { &*order.cast::<Order<'_>>() };
    fail(&execute(order), &order.errno)
}

/// Stores an error for the parent, and ends the child.
fn fail(error: &io::Error, errno: &AtomicI32) -> ! {
    errno.store(
        error.raw_os_error().unwrap_or(libc::EINVAL),
        Ordering::Relaxed,
    );
    // SAFETY: ends the child without running anything of ours.
    unsafe { libc::_exit(NOT_EXECUTED) }
}

/// Prepares the child and executes the program; only makes system calls, and allocates no memory.
fn execute(order: &Order<'_>) -> io::Error {
    if let Err(error) = prepare(order.program) {
        return error;
    }
    // SAFETY: the path is a C string and both lists end with a null pointer; all of them are alive.
    unsafe {
        libc::execve(
            order.program.path.as_ptr(),
            order.arguments.as_ptr(),
            order.environment.as_ptr(),
        )
    };
    io::Error::last_os_error()
}

/// Prepares the child; only makes system calls, and allocates no memory.
fn prepare(program: &Program) -> io::Result<()> {
    if program.own_group {
        rustix::process::setpgid(None, None)?;
    }
    reset_signals();
    if program.is_private {
        // Without CLONE_FS, the child has a umask of its own.
        rustix::process::umask(Mode::RWXG | Mode::RWXO);
    }
    if let Some(parent) = program.dies_with {
        rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
        // If the parent was killed before this, the signal would never be sent.
        if rustix::process::getppid() != Some(parent) {
            return Err(io::Error::from_raw_os_error(libc::ESRCH));
        }
    }
    if let Some(most) = program.file_bytes {
        let hard = rustix::process::getrlimit(Resource::Fsize).maximum;
        let most = Some(hard.unwrap_or(most).min(most));
        let limit = Rlimit {
            current: most,
            maximum: most,
        };
        rustix::process::setrlimit(Resource::Fsize, limit)?;
    }
    for (number, stream) in (0..).zip(&program.streams) {
        // SAFETY: both are open; what the child's own table had under this number is its to
        // replace.
        if unsafe { libc::dup2(stream.as_raw_fd(), number) } == -1 {
            return Err(io::Error::last_os_error());
        }
    }
    if let Some(directory) = &program.directory {
        rustix::process::chdir(directory.as_c_str())?;
    }
    Ok(())
}

/// A program to start with this process's standard streams, after a step of its own.
pub(crate) struct PreparedProgram<F> {
    /// Its path, or a bare name that is looked up in the `PATH` of its environment (execvp(3)).
    pub(crate) name: CString,
    /// Its arguments, its own name first.
    pub(crate) arguments: Vec<CString>,
    /// Its whole environment, as `NAME=value`.
    pub(crate) environment: Vec<CString>,
    /// Its working directory.
    pub(crate) directory: CString,
    /// The child's step before it executes the program; must not panic.
    pub(crate) step: F,
}

impl<F: Fn() -> io::Result<()>> PreparedProgram<F> {
    fn take_step(&self) -> io::Result<()> {
        rustix::process::chdir(self.directory.as_c_str())?;
        // SAFETY: all-zero is the empty set.
        set_signal_mask(&unsafe { zeroed() });
        (self.step)()
    }
}

/// The data that such a child reads from our memory, and the error that it stores there.
struct PreparedOrder<'a, F> {
    program: &'a PreparedProgram<F>,
    arguments: Vec<*const c_char>,
    environment: Vec<*const c_char>,
    errno: AtomicI32,
}

impl<'a, F> PreparedOrder<'a, F> {
    fn new(program: &'a PreparedProgram<F>) -> Self {
        Self {
            arguments: pointers(&program.arguments),
            environment: pointers(&program.environment),
            program,
            errno: AtomicI32::new(0),
        }
    }
}

/// Starts a program after a step in the child; returns once it has been executed. The caller must
/// have a single thread, so that the step may do anything but change what the caller relies on.
///
/// # Errors
/// Fails if the step fails, or if the program could not be executed.
pub(crate) fn start_single_threaded<F: Fn() -> io::Result<()>>(
    program: &PreparedProgram<F>,
) -> io::Result<Pid> {
    let order = PreparedOrder::new(program);
    // SAFETY: this process has one thread, so nothing else uses its environment.
    let own = unsafe { libc::environ };
    // SAFETY: `run_prepared` takes such an order; this process has a single thread (the helper
    // calls this), which is suspended, so the child may also allocate memory.
    let child = unsafe {
        child_in_our_memory(
            run_prepared::<F>,
            (&raw const order).cast_mut().cast(),
            STACK_BYTES_FOR_STEPS,
        )
    };
    // SAFETY: as above; the child has replaced it in our memory.
    unsafe { libc::environ = own };
    executed(child?, &order.errno)
}

/// Why a program was not started in a group.
#[derive(Debug)]
pub(crate) enum GroupError {
    /// No process can be created in the group.
    NoProcess(io::Error),
    /// The step failed, or the program could not be executed.
    NotExecuted(io::Error),
}

/// Starts a program like [`start_single_threaded`], as the first process of a control group or
/// beside those in it.
///
/// The kernel takes a group only from `clone3`, for which the C library has no function that gives
/// a child its own stack. So this child is a copy of this process; moving one that exists would
/// take the kernel far longer.
///
/// # Errors
/// Fails if no process can be created in the group, and as [`start_single_threaded`].
pub(crate) fn start_in_group<F: Fn() -> io::Result<()>>(
    program: &PreparedProgram<F>,
    group: BorrowedFd<'_>,
) -> Result<Pid, GroupError> {
    let (mut failures, mut failed) = io::pipe().map_err(GroupError::NoProcess)?;
    let order = PreparedOrder::new(program);
    let Some(child) = fork_into(group).map_err(GroupError::NoProcess)? else {
        let errno = execute_prepared(&order)
            .raw_os_error()
            .unwrap_or(libc::EINVAL);
        // The end of this process without a program is noticed in any case.
        let _ = failed.write_all(&errno.to_ne_bytes());
        // SAFETY: ends the child without running anything of ours.
        unsafe { libc::_exit(NOT_EXECUTED) }
    };
    drop(failed);
    let mut errno = [0; size_of::<c_int>()];
    // Executing the program closes the child's end.
    let started = match failures.read_exact(&mut errno) {
        Ok(()) => executed(child, &AtomicI32::new(c_int::from_ne_bytes(errno))),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(child),
        Err(error) => Err(error),
    };
    started.map_err(GroupError::NotExecuted)
}

/// Forks this process, which must have a single thread, into a control group; returns the child's
/// id in the parent and `None` in the child.
fn fork_into(group: BorrowedFd<'_>) -> io::Result<Option<Pid>> {
    /// `CLONE_INTO_CGROUP` (linux/sched.h).
    const INTO_GROUP: u64 = 0x2_0000_0000;
    // SAFETY: all-zero means "none" in each field of this structure of integers.
    let mut how: libc::clone_args = unsafe { zeroed() };
    how.flags = INTO_GROUP;
    how.exit_signal = u64::from(libc::SIGCHLD.cast_unsigned());
    how.cgroup = u64::from(group.as_raw_fd().cast_unsigned());
    // SAFETY: the kernel reads a structure that lives here. Without a stack, the child continues on
    // its copy of ours, as after a fork; with one thread, no lock can be held in it by a thread
    // that it does not have.
    match unsafe {
        libc::syscall(
            libc::SYS_clone3,
            &raw const how,
            size_of::<libc::clone_args>(),
        )
    } {
        -1 => Err(io::Error::last_os_error()),
        pid => Ok(Pid::from_raw(i32::try_from(pid).unwrap_or(0))),
    }
}

/// Which of the two processes this one has become.
pub(crate) enum Copied {
    /// The copy.
    Copy,
    /// The process that was copied, with the copy's id and descriptor.
    Original { copy: Pid, descriptor: OwnedFd },
}

/// Copies this process, which must have a single thread.
pub(crate) fn copy() -> io::Result<Copied> {
    copy_with(0)
}

/// Copies this process, which must have a single thread, as the first process of new PID, mount
/// and IPC namespaces.
pub(crate) fn copy_into_namespaces() -> io::Result<Copied> {
    copy_with(libc::CLONE_NEWPID | libc::CLONE_NEWNS | libc::CLONE_NEWIPC)
}

fn copy_with(namespaces: c_int) -> io::Result<Copied> {
    let mut descriptor: c_int = -1;
    // SAFETY: all-zero means "none" in each field of this structure of integers.
    let mut how: libc::clone_args = unsafe { zeroed() };
    how.flags = u64::from((namespaces | libc::CLONE_PIDFD).cast_unsigned());
    how.exit_signal = u64::from(libc::SIGCHLD.cast_unsigned());
    how.pidfd = (&raw mut descriptor) as u64;
    // SAFETY: as in `fork_into`; the kernel stores a descriptor in an integer that lives here.
    let pid = unsafe {
        libc::syscall(
            libc::SYS_clone3,
            &raw const how,
            size_of::<libc::clone_args>(),
        )
    };
    match pid {
        -1 => Err(io::Error::last_os_error()),
        0 => Ok(Copied::Copy),
        pid => {
            // SAFETY: the kernel just made this descriptor for us.
            let descriptor = unsafe { OwnedFd::from_raw_fd(descriptor) };
            let copy = i32::try_from(pid).ok().and_then(Pid::from_raw);
            let copy = copy.ok_or(io::ErrorKind::InvalidData)?;
            Ok(Copied::Original { copy, descriptor })
        }
    }
}

/// The main function of a child in our memory.
extern "C" fn run_prepared<F: Fn() -> io::Result<()>>(order: *mut c_void) -> c_int {
    // SAFETY: `start_single_threaded` passes its order, which outlives the child's use of it.
    let order = unsafe { &*order.cast::<PreparedOrder<'_, F>>() };
    fail(&execute_prepared(order), &order.errno)
}

/// Takes the step and executes the program.
fn execute_prepared<F: Fn() -> io::Result<()>>(order: &PreparedOrder<'_, F>) -> io::Error {
    if let Err(error) = order.program.take_step() {
        return error;
    }
    // SAFETY: the name is a C string and both lists end with a null pointer; all of them are alive.
    // The search path is read from `environ`, which the parent restores.
    unsafe {
        libc::environ = order.environment.as_ptr().cast_mut().cast();
        libc::execvp(order.program.name.as_ptr(), order.arguments.as_ptr());
    }
    io::Error::last_os_error()
}

/// Resets each signal to its default disposition, and unblocks all of them.
///
/// A signal that arrived while all were blocked was meant for us: ignoring it for an instant
/// discards it.
fn reset_signals() {
    for signal in 1..=LAST_SIGNAL {
        for meaning in [libc::SIG_IGN, libc::SIG_DFL] {
            // SAFETY: both are valid dispositions; signals that cannot have them are refused, which
            // changes nothing.
            unsafe { libc::signal(signal, meaning) };
        }
    }
    // SAFETY: all-zero is the empty set.
    set_signal_mask(&unsafe { zeroed() });
}

/// Blocks all signals in this thread; returns the previous mask.
fn block_signals() -> libc::sigset_t {
    // SAFETY: both sets are valid for the calls, which only write to them.
    unsafe {
        let (mut all, mut before) = (zeroed(), zeroed());
        libc::sigfillset(&raw mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut before);
        before
    }
}

fn set_signal_mask(mask: &libc::sigset_t) {
    // SAFETY: the set is valid for the call; nothing is written back.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, mask, null_mut()) };
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use super::*;

    fn started(path: &str, dies_with: Option<Pid>) -> Result<(), Option<i32>> {
        let null = || OwnedFd::from(std::fs::File::open("/dev/null").unwrap());
        let program = Program {
            path: CString::new(path).unwrap(),
            arguments: vec![CString::new(path).unwrap()],
            environment: Vec::new(),
            directory: None,
            streams: [null(), null(), null()],
            own_group: true,
            dies_with,
            file_bytes: None,
            is_private: false,
        };
        let child = start(&program).map_err(|error| error.raw_os_error())?;
        rustix::process::waitpid(Some(child), rustix::process::WaitOptions::empty()).unwrap();
        Ok(())
    }

    #[test]
    fn a_child_whose_parent_died_while_it_was_started_does_not_run() {
        assert_eq!(
            started("/bin/true", Some(rustix::process::getpid())),
            Ok(())
        );
        assert_eq!(
            started("/bin/true", Some(Pid::INIT)),
            Err(Some(libc::ESRCH))
        );
    }

    #[test]
    fn without_a_group_no_process_is_created() {
        let program = PreparedProgram {
            name: CString::new("/bin/true").unwrap(),
            arguments: Vec::new(),
            environment: Vec::new(),
            directory: CString::new("/").unwrap(),
            step: || panic!("BUG: a child was created"),
        };
        let folder = std::fs::File::open("/").unwrap();
        assert!(start_in_group(&program, folder.as_fd()).is_err());
    }

    #[test]
    fn what_cannot_be_executed_is_an_error() {
        assert_eq!(started("/nowhere/program", None), Err(Some(libc::ENOENT)));
        assert_eq!(started("/", None), Err(Some(libc::EACCES)));
    }
}
