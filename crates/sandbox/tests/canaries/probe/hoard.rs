//! Attempts, inside the sandbox, to hold memory that counts for no process, and files that no
//! process has open.

#![expect(
    unsafe_code,
    reason = "the attempts are raw system calls; nothing here outlives its own process"
)]

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, FromRawFd, IntoRawFd};
use std::time::Duration;

/// The number of pieces that are held, of 32 MiB each.
const PIECES: usize = 6;
const PIECE: usize = 32 << 20;
/// The size of all pieces.
pub(crate) const HELD: u64 = (PIECES * PIECE) as u64;
/// The processor time of one computation.
pub(crate) const COMPUTED: Duration = Duration::from_millis(150);
/// The size of a segment that belongs to no job: small, because other tests look at all shared
/// memory.
pub(crate) const SEGMENT: u64 = 32 << 20;
/// As long as any of the tests takes.
const WAIT: Duration = Duration::from_secs(90);
/// Several checks of the supervisor.
const SOME_LOOKS: Duration = Duration::from_millis(300);

/// Makes one of these attempts; returns `None` if the name is of another one.
pub(super) fn attempt(name: &str, then: &str) -> Option<io::Result<()>> {
    if name == "share-with-children" {
        return Some(share_with_children());
    }
    if name == "compute" {
        return Some(compute());
    }
    let held = match name {
        "hoard-memory-file" => memory_files(),
        "hoard-hidden" => super::check(unsafe { libc::prctl(libc::PR_SET_DUMPABLE, 0) })
            .and_then(|()| memory_files()),
        "hoard-let-go-mapping" => let_go_mapping(),
        "hoard-in-a-socket" => in_a_socket(memory_file),
        "fill-in-a-socket" => in_a_socket(unlinked_file),
        "fill-mapped" => mapped(),
        "hoard-own" => {
            vec![1_u8; PIECES * PIECE].leak();
            Ok(Vec::new())
        }
        "hoard-segment" => segment(),
        _ => return None,
    };
    Some(held.map(|_held| {
        println!("held");
        if then == "wait" {
            std::thread::sleep(WAIT);
        }
    }))
}

/// Computes until this process has used [`COMPUTED`] of processor time.
fn compute() -> io::Result<()> {
    let used = || {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
        Duration::try_from(time).map_err(io::Error::other)
    };
    while used()? < COMPUTED {}
    Ok(())
}

fn memory_file() -> io::Result<File> {
    let fd = unsafe { libc::memfd_create(c"hoard".as_ptr(), 0) };
    super::check(fd.min(0))?;
    let mut file = unsafe { File::from_raw_fd(fd) };
    file.write_all(&vec![1; PIECE])?;
    Ok(file)
}

fn memory_files() -> io::Result<Vec<File>> {
    (0..PIECES).map(|_| memory_file()).collect()
}

/// An attempt that is killed before it unlinks its file leaves an empty file of that name to the
/// next one.
fn unlinked_file() -> io::Result<File> {
    let mut file = File::options()
        .read(true)
        .write(true)
        .create(true)
        .truncate(true)
        .open("unlinked")?;
    std::fs::remove_file("unlinked")?;
    file.write_all(&vec![1; PIECE])?;
    Ok(file)
}

/// A mapping of its first page alone keeps the whole file.
fn mapped() -> io::Result<Vec<File>> {
    for _ in 0..PIECES {
        let file = unlinked_file()?;
        let fd = file.as_raw_fd();
        let start = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                4096,
                libc::PROT_READ,
                libc::MAP_SHARED,
                fd,
                0,
            )
        };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(Vec::new())
}

/// Shared memory remains even if no process has it in its page tables.
fn let_go_mapping() -> io::Result<Vec<File>> {
    let (size, both) = (PIECES * PIECE, libc::PROT_READ | libc::PROT_WRITE);
    let start = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            size,
            both,
            libc::MAP_SHARED | libc::MAP_ANONYMOUS,
            -1,
            0,
        )
    };
    if start == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    for piece in 0..PIECES {
        let piece = unsafe { start.byte_add(piece * PIECE) };
        unsafe { std::ptr::write_bytes(piece.cast::<u8>(), 1, PIECE) };
        super::check(unsafe { libc::madvise(piece, PIECE, libc::MADV_DONTNEED) })?;
    }
    Ok(Vec::new())
}

/// A descriptor in transit is in no process's table.
fn in_a_socket(file: impl Fn() -> io::Result<File>) -> io::Result<Vec<File>> {
    let (here, there) = std::os::unix::net::UnixStream::pair()?;
    for _ in 0..PIECES {
        let file = file()?;
        let fds = [unsafe { std::os::fd::BorrowedFd::borrow_raw(file.as_raw_fd()) }];
        let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = rustix::net::SendAncillaryBuffer::new(&mut space);
        control.push(rustix::net::SendAncillaryMessage::ScmRights(&fds));
        rustix::net::sendmsg(
            &here,
            &[io::IoSlice::new(b"m")],
            &mut control,
            rustix::net::SendFlags::empty(),
        )?;
    }
    let _open = (here.into_raw_fd(), there.into_raw_fd());
    Ok(Vec::new())
}

/// A segment outlives the process that created it.
fn segment() -> io::Result<Vec<File>> {
    let size = PIECES * PIECE;
    let id = unsafe { libc::shmget(libc::IPC_PRIVATE, size, 0o600 | libc::IPC_CREAT) };
    super::check(id.min(0))?;
    let start = unsafe { libc::shmat(id, std::ptr::null(), 0) };
    unsafe { std::ptr::write_bytes(start.cast::<u8>(), 1, size) };
    super::check(unsafe { libc::shmdt(start) }).map(|()| Vec::new())
}

/// Calls a function while this process holds a segment that is gone afterwards.
pub(crate) fn beside_a_segment(act: impl FnOnce()) -> io::Result<()> {
    let size = usize::try_from(SEGMENT).map_err(io::Error::other)?;
    let id = unsafe { libc::shmget(libc::IPC_PRIVATE, size, 0o600 | libc::IPC_CREAT) };
    super::check(id.min(0))?;
    let start = unsafe { libc::shmat(id, std::ptr::null(), 0) };
    // It is removed when it is no longer attached.
    super::check(unsafe { libc::shmctl(id, libc::IPC_RMID, std::ptr::null_mut()) })?;
    unsafe { std::ptr::write_bytes(start.cast::<u8>(), 1, size) };
    act();
    super::check(unsafe { libc::shmdt(start) })
}

fn share_with_children() -> io::Result<()> {
    let shared = vec![1_u8; 2 * PIECE];
    let mut children = Vec::new();
    for _ in 0..PIECES {
        match unsafe { libc::fork() } {
            0 => {
                let sum: u64 = shared
                    .iter()
                    .step_by(4096)
                    .map(|byte| u64::from(*byte))
                    .sum();
                std::thread::sleep(SOME_LOOKS);
                unsafe { libc::_exit(i32::from(sum == 0)) };
            }
            child => children.push(child),
        }
    }
    for child in children {
        let mut status = 0;
        super::check(unsafe { libc::waitpid(child, &raw mut status, 0) }.min(0))?;
    }
    println!("held");
    Ok(())
}
