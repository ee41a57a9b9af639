//! The attempts, made by this program inside the sandbox; it exits with 0 if one gets through.

#![expect(
    unsafe_code,
    reason = "the attempts are raw system calls; nothing here outlives its own process"
)]

use std::ffi::CString;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::os::unix::net::{UnixDatagram, UnixStream};

mod hoard;
mod sockets;
mod watcher;

pub(crate) use hoard::{COMPUTED, HELD, SEGMENT, beside_a_segment};

pub(crate) const ARG: &str = "__probe";
pub(crate) const REFUSED: i32 = 77;

pub(crate) fn run(args: &[String]) {
    let name = args.get(1).map_or("", String::as_str);
    let target = args.get(2).map_or("", String::as_str);
    match attempt(name, target) {
        Ok(()) => std::process::exit(0),
        Err(cause) => {
            println!("{name}: {cause}");
            std::process::exit(REFUSED);
        }
    }
}

fn attempt(name: &str, target: &str) -> io::Result<()> {
    match name {
        "read" => File::open(target)?.read(&mut [0]).map(drop),
        "list" => fs::read_dir(target).map(drop),
        "write" => File::options().append(true).open(target)?.write_all(b"x"),
        "create" => File::create_new(target).map(drop),
        "truncate" => check(unsafe { libc::truncate(c(target).as_ptr(), 0) }),
        "rename" => fs::rename(target, format!("{target}.moved")),
        "remove" => fs::remove_file(target),
        "link-in" => fs::hard_link(target, "linked"),
        "chmod" => check(unsafe { libc::chmod(c(target).as_ptr(), 0o600) }),
        "fchmodat" => {
            check(unsafe { libc::fchmodat(libc::AT_FDCWD, c(target).as_ptr(), 0o600, 0) })
        }
        "chown" => {
            check(unsafe { libc::chown(c(target).as_ptr(), libc::getuid(), libc::getgid()) })
        }
        "setxattr" => {
            let (path, name) = (c(target), c("user.canary"));
            check(unsafe {
                libc::setxattr(path.as_ptr(), name.as_ptr(), c"1".as_ptr().cast(), 1, 0)
            })
        }
        "flock" => {
            let file = File::open(target)?;
            check(unsafe {
                libc::flock(
                    std::os::fd::AsRawFd::as_raw_fd(&file),
                    libc::LOCK_EX | libc::LOCK_NB,
                )
            })
        }
        "unix" => UnixStream::connect(target).map(drop),
        "unix-datagram" => UnixDatagram::unbound()?.send_to(b"x", target).map(drop),
        "unix-pair-datagram" => UnixDatagram::pair()?.0.send_to(b"x", target).map(drop),
        _ => attempt_network(name, target)
            .or_else(|| hoard::attempt(name, target))
            .or_else(|| watcher::attempt(name, target))
            .or_else(|| sockets::attempt(name, target))
            .or_else(|| attempt_inode(name, target))
            .unwrap_or_else(|| attempt_process(name, target)),
    }
}

/// Numbers of calls and requests that libc does not define (linux/fs.h, linux/fsverity.h,
/// linux/fscrypt.h).
const FCHMODAT2: libc::c_long = 452;
const FILE_SETATTR: libc::c_long = 469;
const F_SET_RW_HINT: libc::c_int = 1036;
const FS_IOC_SETFLAGS: libc::c_ulong = 0x4008_6602;
const FS_IOC_GETFLAGS: libc::c_ulong = 0x8008_6601;
const FS_IOC_SETVERSION: libc::c_ulong = 0x4008_7602;
const FS_IOC_FSGETXATTR: libc::c_ulong = 0x801c_581f;
const FS_IOC_FSSETXATTR: libc::c_ulong = 0x401c_5820;
const FS_IOC_ENABLE_VERITY: libc::c_ulong = 0x4080_6685;
const FS_IOC_SET_ENCRYPTION_POLICY: libc::c_ulong = 0x800c_6613;
const FS_NODUMP_FL: libc::c_long = 0x40;

/// Attempts to change a file's metadata, mostly by a descriptor that can only read.
fn attempt_inode(name: &str, target: &str) -> Option<io::Result<()>> {
    if name.starts_with("set-id") {
        return Some(attempt_identity(name, target));
    }
    let file = File::open(target).or_else(|_| File::create_new(target));
    let fd = file.as_ref().map_or(-1, std::os::fd::AsRawFd::as_raw_fd);
    let (path, empty) = (c(target), c"");
    let (user, group) = unsafe { (libc::getuid(), libc::getgid()) };
    let mut times = [libc::timespec {
        tv_sec: 1,
        tv_nsec: 2,
    }; 2];
    let micros = [libc::timeval {
        tv_sec: 1,
        tv_usec: 2,
    }; 2];
    let seconds = libc::utimbuf {
        actime: 1,
        modtime: 2,
    };
    let old = |number: libc::c_long, first: *const libc::c_char, second: *const libc::c_void| {
        call(unsafe { libc::syscall(number, first, second) }).map(drop)
    };
    Some(match name {
        "fchmod" => check(unsafe { libc::fchmod(fd, 0o700) }),
        "fchmodat2-empty-path" => call(unsafe {
            libc::syscall(FCHMODAT2, fd, empty.as_ptr(), 0o700, libc::AT_EMPTY_PATH)
        })
        .map(drop),
        "chmod-descriptor-link" => {
            check(unsafe { libc::chmod(c(&format!("/proc/self/fd/{fd}")).as_ptr(), 0o700) })
        }
        "lchown" => check(unsafe { libc::lchown(path.as_ptr(), user, group) }),
        "fchown" => check(unsafe { libc::fchown(fd, user, group) }),
        "fchownat-empty-path" => check(unsafe {
            libc::fchownat(fd, empty.as_ptr(), user, u32::MAX, libc::AT_EMPTY_PATH)
        }),
        "utimensat" => {
            check(unsafe { libc::utimensat(libc::AT_FDCWD, path.as_ptr(), times.as_mut_ptr(), 0) })
        }
        "futimens" => check(unsafe { libc::futimens(fd, times.as_ptr()) }),
        "utime" => old(libc::SYS_utime, path.as_ptr(), (&raw const seconds).cast()),
        "utimes" => old(libc::SYS_utimes, path.as_ptr(), micros.as_ptr().cast()),
        "futimesat" => call(unsafe {
            libc::syscall(
                libc::SYS_futimesat,
                libc::AT_FDCWD,
                path.as_ptr(),
                micros.as_ptr(),
            )
        })
        .map(drop),
        "fsetxattr" => check(unsafe {
            libc::fsetxattr(fd, c"user.canary".as_ptr(), c"1".as_ptr().cast(), 1, 0)
        }),
        "lease" => check(unsafe { libc::fcntl(fd, libc::F_SETLEASE, libc::F_RDLCK) }),
        "write-hint" => {
            let short_lived = 2_u64;
            check(unsafe { libc::fcntl(fd, F_SET_RW_HINT, &raw const short_lived) })
        }
        "unlinked-fchmod" => {
            fs::remove_file(target).and_then(|()| check(unsafe { libc::fchmod(fd, 0o700) }))
        }
        _ => return attempt_flags(name, fd),
    })
}

/// Attempts to change metadata that only some file systems have.
fn attempt_flags(name: &str, fd: i32) -> Option<io::Result<()>> {
    Some(match name {
        "set-flags" => {
            let mut flags: libc::c_long = 0;
            check(unsafe { libc::ioctl(fd, FS_IOC_GETFLAGS, &raw mut flags) })
                .map(|()| flags |= FS_NODUMP_FL)
                .and_then(|()| check(unsafe { libc::ioctl(fd, FS_IOC_SETFLAGS, &raw const flags) }))
        }
        "fs-set-xattr" => {
            let mut attributes = [0_u32; 7];
            check(unsafe { libc::ioctl(fd, FS_IOC_FSGETXATTR, attributes.as_mut_ptr()) }).and_then(
                |()| {
                    // `FS_XFLAG_NODUMP`
                    attributes[0] |= 0x80;
                    check(unsafe { libc::ioctl(fd, FS_IOC_FSSETXATTR, attributes.as_ptr()) })
                },
            )
        }
        "set-version" => check(unsafe { libc::ioctl(fd, FS_IOC_SETVERSION, [7_u64].as_ptr()) }),
        "enable-verity" => {
            // Version 1, SHA-256, blocks of 4096 bytes.
            let mut verity = [0_u32; 32];
            verity[..3].copy_from_slice(&[1, 1, 4096]);
            check(unsafe { libc::ioctl(fd, FS_IOC_ENABLE_VERITY, verity.as_ptr()) })
        }
        "set-encryption-policy" => {
            check(unsafe { libc::ioctl(fd, FS_IOC_SET_ENCRYPTION_POLICY, [0_u8; 12].as_ptr()) })
        }
        "file-setattr" => {
            let attributes = [0x80_u64, 0, 0];
            call(unsafe {
                libc::syscall(
                    FILE_SETATTR,
                    fd,
                    c"".as_ptr(),
                    attributes.as_ptr(),
                    24,
                    libc::AT_EMPTY_PATH,
                )
            })
            .map(drop)
        }
        _ => return None,
    })
}

/// Attempts to make a program that runs as its owner.
fn attempt_identity(name: &str, target: &str) -> io::Result<()> {
    const MODE: libc::c_uint = 0o4755;
    let path = c(target);
    let fd = File::open(target).ok();
    let fd = fd.as_ref().map_or(-1, std::os::fd::AsRawFd::as_raw_fd);
    let made = match name {
        "set-id-fchmod" => unsafe { libc::fchmod(fd, MODE) }.into(),
        "set-id-fchmodat2" => unsafe {
            libc::syscall(FCHMODAT2, libc::AT_FDCWD, path.as_ptr(), MODE, 0)
        },
        "set-id-open" => {
            unsafe { libc::open(path.as_ptr(), libc::O_CREAT | libc::O_WRONLY, MODE) }.into()
        }
        "set-id-mknod" => unsafe { libc::mknod(path.as_ptr(), libc::S_IFREG | MODE, 0) }.into(),
        "set-id-unnamed" => {
            let folder = c(std::path::Path::new(target)
                .parent()
                .unwrap()
                .to_str()
                .unwrap());
            unsafe { libc::open(folder.as_ptr(), libc::O_TMPFILE | libc::O_WRONLY, MODE) }.into()
        }
        _ => unsafe { libc::chmod(path.as_ptr(), MODE) }.into(),
    };
    call(made).map(drop)
}

/// Asks what the variables name as the proxy.
fn through_proxy() -> io::Result<()> {
    let proxy = std::env::var("HTTP_PROXY").map_err(io::Error::other)?;
    let mut stream = TcpStream::connect(proxy.trim_start_matches("http://"))?;
    stream.write_all(b"ping")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    if answer == "pong" {
        Ok(())
    } else {
        Err(io::Error::other(answer))
    }
}

fn attempt_network(name: &str, target: &str) -> Option<io::Result<()>> {
    Some(match name {
        "abstract" => {
            use std::os::linux::net::SocketAddrExt;
            std::os::unix::net::SocketAddr::from_abstract_name(target)
                .and_then(|address| UnixStream::connect_addr(&address))
                .map(drop)
        }
        "tcp" => TcpStream::connect(target).map(drop),
        "through-proxy" => through_proxy(),
        "udp" => UdpSocket::bind("127.0.0.1:0")
            .and_then(|socket| socket.send_to(b"canary", target))
            .map(drop),
        "mptcp" => connect_raw(libc::SOCK_STREAM, 262, target, 0),
        "fast-open" => connect_raw(libc::SOCK_STREAM, 0, target, libc::MSG_FASTOPEN),
        "netlink" => socket(libc::AF_NETLINK, libc::SOCK_RAW, 0).map(drop),
        "vsock" => socket(libc::AF_VSOCK, libc::SOCK_STREAM, 0).map(drop),
        "packet" => socket(libc::AF_PACKET, libc::SOCK_RAW, 0).map(drop),
        _ => return None,
    })
}

fn attempt_process(name: &str, target: &str) -> io::Result<()> {
    let pid: libc::pid_t = target.parse().unwrap_or(-2);
    match name {
        "kill" => check(unsafe { libc::kill(pid, libc::SIGCONT) }),
        "pidfd-signal" => {
            let fd = call(unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) })?;
            call(unsafe { libc::syscall(libc::SYS_pidfd_send_signal, fd, libc::SIGCONT, 0, 0) })
                .map(drop)
        }
        "ptrace" => call(unsafe { libc::ptrace(libc::PTRACE_SEIZE, pid, 0, 0) }).map(drop),
        "prlimit" => {
            let mut old = libc::rlimit {
                rlim_cur: 0,
                rlim_max: 0,
            };
            check(unsafe { libc::prlimit(pid, libc::RLIMIT_CORE, std::ptr::null(), &raw mut old) })
        }
        "setpriority" => {
            check(unsafe { libc::setpriority(libc::PRIO_PROCESS, pid.cast_unsigned(), 5) })
        }
        "environ" => File::open(format!("/proc/{pid}/environ"))?
            .read(&mut [0])
            .map(drop),
        "cmdline" => File::open(format!("/proc/{pid}/cmdline"))?
            .read(&mut [0])
            .map(drop),
        "process-memory" => File::open(format!("/proc/{pid}/mem")).map(drop),
        "unshare-user" => check(unsafe { libc::unshare(libc::CLONE_NEWUSER) }),
        "io-uring" => {
            let mut parameters = [0u8; 120];
            call(unsafe { libc::syscall(libc::SYS_io_uring_setup, 1, parameters.as_mut_ptr()) })
                .map(drop)
        }
        "keyring" => call(unsafe { libc::syscall(libc::SYS_keyctl, 0, -3, 1) }).map(drop),
        "shared-memory" => {
            let id = call(unsafe { libc::shmget(libc::key_t::from(pid), 16, 0) }.into())?;
            println!("{id}");
            Ok(())
        }
        "new-privileges" => {
            match call(unsafe { libc::prctl(libc::PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) }.into())? {
                0 => Ok(()),
                _ => Err(io::Error::other("no new privileges")),
            }
        }
        "capabilities" => capabilities(),
        "inherited-descriptors" => inherited_descriptors(),
        other => panic!("no probe {other}"),
    }
}

fn capabilities() -> io::Result<()> {
    let status = fs::read_to_string("/proc/self/status")?;
    let sets = status
        .lines()
        .filter(|line| line.starts_with("Cap"))
        .filter_map(|line| line.split_whitespace().nth(1));
    match sets
        .filter(|set| !set.trim_start_matches('0').is_empty())
        .count()
    {
        0 => Err(io::Error::other("none")),
        _ => Ok(()),
    }
}

fn inherited_descriptors() -> io::Result<()> {
    let open = |fd: i32| unsafe { libc::fcntl(fd, libc::F_GETFD) } != -1;
    match (3..1024).find(|fd| open(*fd)) {
        Some(fd) => {
            println!("descriptor {fd} is open");
            Ok(())
        }
        None => Err(io::Error::other("none")),
    }
}

fn connect_raw(kind: i32, protocol: i32, target: &str, flags: i32) -> io::Result<()> {
    let port: u16 = target.rsplit(':').next().unwrap().parse().unwrap();
    let fd = socket(libc::AF_INET, kind, protocol)?;
    let address = libc::sockaddr_in {
        sin_family: libc::AF_INET as u16,
        sin_port: port.to_be(),
        sin_addr: libc::in_addr {
            s_addr: u32::from_ne_bytes([127, 0, 0, 1]),
        },
        sin_zero: [0; 8],
    };
    let (pointer, size) = ((&raw const address).cast(), size_of_val(&address) as u32);
    if flags == 0 {
        return check(unsafe { libc::connect(fd, pointer, size) });
    }
    call(unsafe { libc::sendto(fd, c"x".as_ptr().cast(), 1, flags, pointer, size) } as i64)
        .map(drop)
}

fn socket(family: i32, kind: i32, protocol: i32) -> io::Result<i32> {
    call(unsafe { libc::socket(family, kind, protocol) }.into()).map(|fd| fd as i32)
}

fn c(text: &str) -> CString {
    CString::new(text).unwrap()
}

fn check(result: i32) -> io::Result<()> {
    call(result.into()).map(drop)
}

fn call(result: i64) -> io::Result<i64> {
    if result == -1 {
        Err(io::Error::last_os_error())
    } else {
        Ok(result)
    }
}
