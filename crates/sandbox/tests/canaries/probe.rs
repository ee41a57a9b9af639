//! The attempts, made by this program inside the sandbox: each exits with 0 if it got through.

#![expect(unsafe_code, reason = "the attempts are raw system calls; nothing here outlives its own process")]

use std::ffi::CString;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::os::unix::net::{UnixDatagram, UnixStream};

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
        "fchmodat" => check(unsafe { libc::fchmodat(libc::AT_FDCWD, c(target).as_ptr(), 0o600, 0) }),
        "chown" => check(unsafe { libc::chown(c(target).as_ptr(), libc::getuid(), libc::getgid()) }),
        "setxattr" => {
            let (path, name) = (c(target), c("user.canary"));
            check(unsafe { libc::setxattr(path.as_ptr(), name.as_ptr(), c"1".as_ptr().cast(), 1, 0) })
        }
        "flock" => {
            let file = File::open(target)?;
            check(unsafe { libc::flock(std::os::fd::AsRawFd::as_raw_fd(&file), libc::LOCK_EX | libc::LOCK_NB) })
        }
        "unix" => UnixStream::connect(target).map(drop),
        "unix-datagram" => UnixDatagram::unbound()?.send_to(b"x", target).map(drop),
        "unix-pair-datagram" => UnixDatagram::pair()?.0.send_to(b"x", target).map(drop),
        _ => attempt_network(name, target).unwrap_or_else(|| attempt_process(name, target)),
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
        "udp" => UdpSocket::bind("127.0.0.1:0").and_then(|socket| socket.send_to(b"canary", target)).map(drop),
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
            call(unsafe { libc::syscall(libc::SYS_pidfd_send_signal, fd, libc::SIGCONT, 0, 0) }).map(drop)
        }
        "ptrace" => call(unsafe { libc::ptrace(libc::PTRACE_SEIZE, pid, 0, 0) }).map(drop),
        "prlimit" => {
            let mut old = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
            check(unsafe { libc::prlimit(pid, libc::RLIMIT_CORE, std::ptr::null(), &raw mut old) })
        }
        "setpriority" => check(unsafe { libc::setpriority(libc::PRIO_PROCESS, pid.cast_unsigned(), 5) }),
        "environ" => File::open(format!("/proc/{pid}/environ"))?.read(&mut [0]).map(drop),
        "cmdline" => File::open(format!("/proc/{pid}/cmdline"))?.read(&mut [0]).map(drop),
        "process-memory" => File::open(format!("/proc/{pid}/mem")).map(drop),
        "unshare-user" => check(unsafe { libc::unshare(libc::CLONE_NEWUSER) }),
        "io-uring" => {
            let mut parameters = [0u8; 120];
            call(unsafe { libc::syscall(libc::SYS_io_uring_setup, 1, parameters.as_mut_ptr()) }).map(drop)
        }
        "keyring" => call(unsafe { libc::syscall(libc::SYS_keyctl, 0, -3, 1) }).map(drop),
        "shared-memory" => {
            let id = call(unsafe { libc::shmget(libc::key_t::from(pid), 16, 0) }.into())?;
            println!("{id}");
            Ok(())
        }
        "new-privileges" => match call(unsafe { libc::prctl(libc::PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) }.into())? {
            0 => Ok(()),
            _ => Err(io::Error::other("no new privileges")),
        },
        "capabilities" => capabilities(),
        "inherited-descriptors" => inherited_descriptors(),
        other => panic!("no probe {other}"),
    }
}

fn capabilities() -> io::Result<()> {
    let status = fs::read_to_string("/proc/self/status")?;
    let sets = status.lines().filter(|line| line.starts_with("Cap")).filter_map(|line| line.split_whitespace().nth(1));
    match sets.filter(|set| !set.trim_start_matches('0').is_empty()).count() {
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
        sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes([127, 0, 0, 1]) },
        sin_zero: [0; 8],
    };
    let (pointer, size) = ((&raw const address).cast(), size_of_val(&address) as u32);
    if flags == 0 {
        return check(unsafe { libc::connect(fd, pointer, size) });
    }
    call(unsafe { libc::sendto(fd, c"x".as_ptr().cast(), 1, flags, pointer, size) } as i64).map(drop)
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
    if result == -1 { Err(io::Error::last_os_error()) } else { Ok(result) }
}
