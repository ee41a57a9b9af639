//! Attempts, inside the sandbox, to talk to itself, as servers, tests and pools of processes do,
//! and past that.

#![expect(
    unsafe_code,
    reason = "the attempts are raw system calls; nothing here outlives its own process"
)]

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::FromRawFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::atomic::{AtomicBool, AtomicU16, Ordering};
use std::thread;

use super::{c, call, check, socket};

/// Where servers listen, and by which addresses they are reached.
const SERVERS: [(&str, &[&str]); 4] = [
    ("127.0.0.1:0", &["127.0.0.1"]),
    ("0.0.0.0:0", &["127.0.0.1"]),
    ("[::1]:0", &["::1"]),
    ("[::]:0", &["127.0.0.1", "::1"]),
];
/// How often two threads race.
const ROUNDS: usize = 500;

/// Makes one of these attempts; returns `None` if the name is of another one.
pub(super) fn attempt(name: &str, target: &str) -> Option<io::Result<()>> {
    Some(match name {
        "own-servers" => own_servers(),
        "own-local-servers" => own_local_servers(),
        "named-memory" => named_memory(target),
        "shared-memory-of-others" => open_shared(target, libc::O_RDWR).map(drop),
        "listens-for-others" => listens_for_others(),
        "tcp-swapped" => tcp_swapped(target),
        _ => return None,
    })
}

fn own_servers() -> io::Result<()> {
    for (at, addresses) in SERVERS {
        let server = match TcpListener::bind(at) {
            // The machine has no such protocol.
            Err(error)
                if error.kind() == io::ErrorKind::AddrNotAvailable && at.starts_with("[::1]") =>
            {
                continue;
            }
            bound => bound?,
        };
        let port = server.local_addr()?.port();
        for address in addresses {
            let client = TcpStream::connect((*address, port));
            talk(
                client.map_err(|error| io::Error::other(format!("{at} by {address}: {error}")))?,
                server.accept()?.0,
            )?;
        }
    }
    // Nothing listens there any more.
    match TcpStream::connect("127.0.0.1:9") {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => Ok(()),
        other => Err(io::Error::other(format!("{other:?}"))),
    }
}

fn own_local_servers() -> io::Result<()> {
    let server = UnixListener::bind("server.sock")?;
    talk(UnixStream::connect("./server.sock")?, server.accept()?.0)?;
    let name = std::os::unix::net::SocketAddr::from_abstract_name(format!(
        "canary-{}",
        std::process::id()
    ))?;
    let server = UnixListener::bind_addr(&name)?;
    talk(UnixStream::connect_addr(&name)?, server.accept()?.0)?;
    fs::remove_file("server.sock")
}

fn talk(mut client: impl Read + Write, mut server: impl Read + Write) -> io::Result<()> {
    client.write_all(b"ping")?;
    let mut said = [0; 4];
    server.read_exact(&mut said)?;
    server.write_all(&said)?;
    client.read_exact(&mut said)?;
    if &said == b"ping" {
        Ok(())
    } else {
        Err(io::Error::other("other bytes"))
    }
}

fn open_shared(name: &str, flags: libc::c_int) -> io::Result<File> {
    let fd = call(unsafe { libc::shm_open(c(name).as_ptr(), flags, 0o600) }.into())?;
    Ok(unsafe { File::from_raw_fd(fd as i32) })
}

/// What C libraries, Python's pools of processes and shells do there.
fn named_memory(name: &str) -> io::Result<()> {
    let mut one = open_shared(name, libc::O_RDWR | libc::O_CREAT | libc::O_EXCL)?;
    one.write_all(b"shared")?;
    let mut other = String::new();
    open_shared(name, libc::O_RDWR)?.read_to_string(&mut other)?;
    check(unsafe { libc::shm_unlink(c(name).as_ptr()) })?;
    if other != "shared" || open_shared(name, libc::O_RDWR).is_ok() {
        return Err(io::Error::other(format!("not shared: {other}")));
    }
    let semaphore =
        unsafe { libc::sem_open(c(name).as_ptr(), libc::O_CREAT | libc::O_EXCL, 0o600, 1) };
    if semaphore == libc::SEM_FAILED {
        return Err(io::Error::last_os_error());
    }
    check(unsafe { libc::sem_wait(semaphore) })?;
    check(unsafe { libc::sem_post(semaphore) })?;
    check(unsafe { libc::sem_unlink(c(name).as_ptr()) })?;
    let file = format!("/dev/shm{name}");
    fs::write(&file, "text")?;
    fs::remove_file(file)
}

/// A server that asks for all interfaces and gets them.
fn listens_for_others() -> io::Result<()> {
    let all = TcpListener::bind("0.0.0.0:0")?.local_addr()?.ip();
    // One that does not say where it listens, either.
    let silent = socket(libc::AF_INET, libc::SOCK_STREAM, 0)?;
    check(unsafe { libc::listen(silent, 1) })?;
    let silent = unsafe { TcpListener::from_raw_fd(silent) }
        .local_addr()?
        .ip();
    if all.is_unspecified() || silent.is_unspecified() {
        Ok(())
    } else {
        Err(io::Error::other("on loopback alone"))
    }
}

/// Lets a second thread exchange the address, between one of its own servers and the target, while
/// the first connects.
fn tcp_swapped(target: &str) -> io::Result<()> {
    let own = TcpListener::bind("127.0.0.1:0")?;
    own.set_nonblocking(true)?;
    let target: SocketAddr = target.parse().map_err(io::Error::other)?;
    let ports = [own.local_addr()?.port(), target.port()];
    let mut address = libc::sockaddr_in {
        sin_family: libc::AF_INET as u16,
        sin_port: ports[0].to_be(),
        sin_addr: libc::in_addr {
            s_addr: u32::from_ne_bytes([127, 0, 0, 1]),
        },
        sin_zero: [0; 8],
    };
    let port = unsafe { AtomicU16::from_ptr(&raw mut address.sin_port) };
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                ports
                    .iter()
                    .for_each(|swapped| port.store(swapped.to_be(), Ordering::Relaxed));
            }
        });
        let reached = (0..ROUNDS).any(|_| {
            // On a busy machine the other thread may not run for many rounds, and there would be no
            // race.
            let before = port.load(Ordering::Relaxed);
            while port.load(Ordering::Relaxed) == before {
                thread::yield_now();
            }
            let Ok(fd) = socket(libc::AF_INET, libc::SOCK_STREAM, 0) else {
                return false;
            };
            let (at, size) = ((&raw const address).cast(), size_of_val(&address) as u32);
            let connected = unsafe { libc::connect(fd, at, size) } == 0;
            let peer = unsafe { TcpStream::from_raw_fd(fd) }.peer_addr();
            while own.accept().is_ok() {}
            connected && peer.is_ok_and(|peer| peer.port() == target.port())
        });
        done.store(true, Ordering::Relaxed);
        if reached {
            Ok(())
        } else {
            Err(io::Error::other("it was never reached"))
        }
    })
}
