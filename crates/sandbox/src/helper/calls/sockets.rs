//! Sockets in the fallback tier: a job's own servers, reached by itself alone.
//!
//! No namespace gives the job a loopback interface of its own there, and Landlock's rules for TCP
//! know ports, not hosts: one that lets a job reach its own server's port lets it reach that port
//! of every machine. So Landlock grants the job no connection at all, and seccomp hands every call
//! that gives a socket an address to the supervisor, which carries it out itself, on a copy of the
//! job's socket and for an address that it has read once:
//!
//! - A socket listens on the loopback interface alone; one that asks for all interfaces gets that
//!   one.
//! - A connection leads to a socket that this job has bound, or to the proxy of the job. Others are
//!   refused as by a machine without a network.
//! - A socket with a name in the file system is reached if it is below a writable root; Landlock
//!   decides where one may be made.
//!
//! Deliberately absent: UDP, whose every datagram may name another destination, and local
//! datagrams.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rustix::fs::{AtFlags, FileType, OFlags};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, sockopt};

use crate::egress;
use crate::helper::calls::caller::{Answer, Caller, descriptor, is_below, low_half, own_link};
use crate::helper::calls::listening::listening;
use crate::sys::Call;

/// The longest address that is read: that of a local socket (unix(7)), with room.
const LONGEST_ADDRESS: usize = 128;
/// Where an address begins after its family.
const AFTER_FAMILY: usize = 2;
/// The first port that an ordinary user may listen on (ip(7)).
const FIRST_UNPRIVILEGED: u16 = 1024;
/// How many connections may wait at once until their servers accept them; further ones are refused.
const MOST_WAITING: usize = 64;

/// The sockets of a job.
pub(crate) struct Sockets {
    roots: Vec<PathBuf>,
    /// The inode numbers of the sockets that the job has bound, which are unique while a socket
    /// exists.
    bound: RefCell<BTreeSet<u64>>,
    /// The address at which the job's proxy really listens.
    proxy: Option<SocketAddr>,
    waiting: Arc<AtomicUsize>,
}

impl Sockets {
    pub(crate) fn new(roots: Vec<PathBuf>, proxy: Option<SocketAddr>) -> Self {
        Self {
            roots,
            bound: RefCell::default(),
            proxy,
            waiting: Arc::default(),
        }
    }

    /// Carries out one of the calls of the [filter's](crate::helper::filter::seccomp) list.
    /// `is_pending` tells whether the caller still waits.
    pub(crate) fn carry_out(
        &self,
        call: &Call,
        is_pending: &dyn Fn() -> bool,
    ) -> Result<Answer, Errno> {
        let caller = Caller { pid: call.pid };
        let [number, second, third, ..] = call.arguments;
        let socket = caller.copied(descriptor(number))?;
        // By now, the process id may belong to another process.
        if !is_pending() {
            return Err(Errno::SRCH);
        }
        match call.number {
            libc::SYS_listen => {
                self.listen(&socket, descriptor(second))?;
                Ok(Answer::Done)
            }
            libc::SYS_bind => {
                let address = address(caller, second, third)?;
                self.bind(&socket, &address)
            }
            libc::SYS_connect => {
                let address = address(caller, second, third)?;
                self.connect(caller, socket, &address)
            }
            _ => Err(Errno::NOSYS),
        }
    }

    fn bind(&self, socket: &OwnedFd, address: &[u8]) -> Result<Answer, Errno> {
        let domain = sockopt::socket_domain(socket)?;
        let inode = rustix::fs::fstat(socket)?.st_ino;
        if domain == AddressFamily::UNIX {
            // Landlock decides where the socket may be made, and keeps programs outside of the job
            // from those without a place. Carried out here, it would get another name than the job
            // has asked for.
            self.bound.borrow_mut().insert(inode);
            return Ok(Answer::Continue);
        }
        let asked = inet(address, domain)?;
        if asked.port() != 0 && asked.port() < FIRST_UNPRIVILEGED {
            return Err(Errno::ACCESS);
        }
        let own = match asked.ip() {
            IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
            IpAddr::V6(ip) if ip.is_unspecified() && sockopt::ipv6_v6only(socket)? => {
                Ipv6Addr::LOCALHOST.into()
            }
            // It would serve both protocols, of which this address has one, and the other leads
            // here (`reached`).
            IpAddr::V6(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.to_ipv6_mapped().into(),
            ip if is_loopback(ip) => ip,
            _ => return Err(Errno::ADDRNOTAVAIL),
        };
        rustix::net::bind(socket, &SocketAddr::new(own, asked.port()))?;
        self.bound.borrow_mut().insert(inode);
        Ok(Answer::Done)
    }

    fn listen(&self, socket: &OwnedFd, backlog: i32) -> Result<(), Errno> {
        let domain = sockopt::socket_domain(socket)?;
        if domain != AddressFamily::UNIX {
            let own = SocketAddr::try_from(rustix::net::getsockname(socket)?)
                .map_err(|_| Errno::INVAL)?;
            if own.port() == 0 {
                // The kernel would give it a port of all interfaces.
                let local = in_domain(Ipv4Addr::LOCALHOST.into(), domain);
                rustix::net::bind(socket, &SocketAddr::new(local, 0))?;
                self.bound
                    .borrow_mut()
                    .insert(rustix::fs::fstat(socket)?.st_ino);
            } else if !is_loopback(own.ip()) {
                return Err(Errno::PERM);
            }
        }
        rustix::net::listen(socket, backlog)
    }

    fn connect(&self, caller: Caller, socket: OwnedFd, address: &[u8]) -> Result<Answer, Errno> {
        let domain = sockopt::socket_domain(&socket)?;
        let target = if domain == AddressFamily::UNIX {
            self.local(caller, address)?
        } else if family(address)? == AddressFamily::UNSPEC {
            rustix::net::connect_unspec(&socket)?;
            return Ok(Answer::Done);
        } else {
            Target::Inet(self.reached(inet(address, domain)?, domain)?)
        };
        if rustix::fs::fcntl_getfl(&socket)?.contains(OFlags::NONBLOCK) {
            target.connect(&socket)?;
            return Ok(Answer::Done);
        }
        // A server may take its time to accept it, and the limits have to be watched meanwhile.
        let place = Place::take(&self.waiting).ok_or(Errno::AGAIN)?;
        Ok(Answer::Later(Box::new(move || {
            let connected = target.connect(&socket);
            drop(place);
            connected
        })))
    }

    /// Returns the real address of one that a job may reach.
    fn reached(&self, asked: SocketAddr, domain: AddressFamily) -> Result<SocketAddr, Errno> {
        let ip = match asked.ip().to_canonical() {
            IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
            IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
            ip if ip.is_loopback() => ip,
            _ => return Err(Errno::NETUNREACH),
        };
        if let Some(proxy) = self.proxy
            && asked.port() == egress::PORT
            && ip == Ipv4Addr::LOCALHOST
        {
            let ip = in_domain(proxy.ip(), domain);
            return Ok(SocketAddr::new(ip, proxy.port()));
        }
        let listening = listening(asked.port()).map_err(|_| Errno::CONNREFUSED)?;
        let inodes: Vec<u64> = listening.iter().map(|server| server.inode).collect();
        if !self.are_own(&inodes) {
            return Err(Errno::CONNREFUSED);
        }
        let serves_both = listening
            .iter()
            .all(|server| server.ip == IpAddr::from(Ipv4Addr::LOCALHOST));
        let ip = if ip.is_ipv6() && serves_both {
            Ipv4Addr::LOCALHOST.into()
        } else {
            ip
        };
        Ok(SocketAddr::new(in_domain(ip, domain), asked.port()))
    }

    /// Reports whether there are sockets, and the job has bound all of them: those of other
    /// programs are hidden, as they would be in a namespace.
    fn are_own(&self, inodes: &[u64]) -> bool {
        let bound = self.bound.borrow();
        !inodes.is_empty() && inodes.iter().all(|inode| bound.contains(inode))
    }

    /// Finds the local socket of an address, as far as the job may reach it.
    fn local(&self, caller: Caller, address: &[u8]) -> Result<Target, Errno> {
        if family(address)? != AddressFamily::UNIX {
            return Err(Errno::INVAL);
        }
        let name = address.get(AFTER_FAMILY..).ok_or(Errno::INVAL)?;
        match name.split_first() {
            None => Err(Errno::INVAL),
            Some((0, name)) => {
                let named = named_sockets(name).map_err(|_| Errno::CONNREFUSED)?;
                if !self.are_own(&named) {
                    return Err(Errno::CONNREFUSED);
                }
                Ok(Target::Local {
                    address: SocketAddrUnix::new_abstract_name(name)?,
                    _file: None,
                })
            }
            Some(_) => {
                let end = name
                    .iter()
                    .position(|byte| *byte == 0)
                    .unwrap_or(name.len());
                let path = Path::new(OsStr::from_bytes(name.get(..end).ok_or(Errno::INVAL)?));
                let file = caller.named_in(libc::AT_FDCWD, path, AtFlags::empty())?;
                let found = rustix::fs::fstat(&file)?;
                if !is_below(&file, &found, &self.roots) {
                    return Err(Errno::ACCESS);
                }
                if FileType::from_raw_mode(found.st_mode) != FileType::Socket {
                    return Err(Errno::CONNREFUSED);
                }
                Ok(Target::Local {
                    address: SocketAddrUnix::new(own_link(&file))?,
                    _file: Some(file),
                })
            }
        }
    }
}

/// Where a connection leads.
enum Target {
    Inet(SocketAddr),
    Local {
        address: SocketAddrUnix,
        /// The file that the address names.
        _file: Option<OwnedFd>,
    },
}

impl Target {
    fn connect(&self, socket: &OwnedFd) -> Result<(), Errno> {
        match self {
            Self::Inet(address) => rustix::net::connect(socket, address),
            Self::Local { address, .. } => rustix::net::connect(socket, address),
        }
    }
}

/// One of the places of connections that wait.
struct Place(Arc<AtomicUsize>);

impl Place {
    fn take(taken: &Arc<AtomicUsize>) -> Option<Self> {
        let place = Self(Arc::clone(taken));
        (taken.fetch_add(1, Ordering::SeqCst) < MOST_WAITING).then_some(place)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Lists the inode numbers of the local sockets with this abstract name. The kernel prints each NUL
/// as `@`, so there may be others whose names only look like it.
fn named_sockets(name: &[u8]) -> io::Result<Vec<u64>> {
    let text = fs::read("/proc/self/net/unix")?;
    Ok(text
        .split(|byte| *byte == b'\n')
        .filter_map(|line| socket_named(line, name))
        .collect())
}

/// Parses a line of `num count protocol flags type state inode path`.
fn socket_named(line: &[u8], name: &[u8]) -> Option<u64> {
    let mut rest = line;
    let mut field = b"".as_slice();
    for _ in 0..7 {
        rest = rest.trim_ascii_start();
        let end = rest.iter().position(|byte| *byte == b' ')?;
        (field, rest) = rest.split_at(end);
    }
    let printed: Vec<u8> = name
        .iter()
        .map(|byte| if *byte == 0 { b'@' } else { *byte })
        .collect();
    if rest.strip_prefix(b" @".as_slice()) != Some(printed.as_slice()) {
        return None;
    }
    std::str::from_utf8(field).ok()?.parse().ok()
}

fn is_loopback(ip: IpAddr) -> bool {
    ip.to_canonical().is_loopback()
}

/// Returns the address by which a socket of a family reaches it.
fn in_domain(ip: IpAddr, domain: AddressFamily) -> IpAddr {
    match ip {
        IpAddr::V4(ip) if domain != AddressFamily::INET => ip.to_ipv6_mapped().into(),
        ip => ip,
    }
}

/// Reads an address from the caller.
fn address(caller: Caller, at: u64, length: u64) -> Result<Vec<u8>, Errno> {
    let length = low_half(length) as usize;
    if length > LONGEST_ADDRESS {
        return Err(Errno::INVAL);
    }
    let mut bytes = vec![0; length];
    if caller.read(at, &mut bytes)? < bytes.len() {
        return Err(Errno::FAULT);
    }
    Ok(bytes)
}

fn family(address: &[u8]) -> Result<AddressFamily, Errno> {
    Ok(AddressFamily::from_raw(u16::from_ne_bytes(part(
        address, 0,
    )?)))
}

/// Parses an address of the socket's own family (ip(7), ipv6(7)).
fn inet(address: &[u8], domain: AddressFamily) -> Result<SocketAddr, Errno> {
    if family(address)? != domain {
        return Err(Errno::AFNOSUPPORT);
    }
    let port = u16::from_be_bytes(part(address, 2)?);
    let ip: IpAddr = match domain {
        AddressFamily::INET => part::<4>(address, 4)?.into(),
        AddressFamily::INET6 => part::<16>(address, 8)?.into(),
        _ => return Err(Errno::AFNOSUPPORT),
    };
    Ok(SocketAddr::new(ip, port))
}

fn part<const N: usize>(bytes: &[u8], at: usize) -> Result<[u8; N], Errno> {
    let rest = bytes.get(at..).ok_or(Errno::INVAL)?;
    rest.first_chunk().copied().ok_or(Errno::INVAL)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn abstract_names_are_found_whole() {
        let line = b"0000000000000000: 00000002 00000000 00010000 0001 01 4711 @a b@c".as_slice();
        assert_eq!(socket_named(line, b"a b\0c"), Some(4711));
        for other in [b"a b".as_slice(), b"a b\0c\0", b"@a b\0c"] {
            assert_eq!(socket_named(line, other), None);
        }
        let file = b"0000000000000000: 00000002 00000000 00010000 0001 01 4711 /run/a".as_slice();
        assert_eq!(socket_named(file, b"/run/a"), None);
    }

    #[test]
    fn addresses_are_of_the_sockets_own_family() {
        let v4 = [2, 0, 0x1f, 0x90, 127, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0];
        assert_eq!(
            inet(&v4, AddressFamily::INET),
            Ok("127.0.0.1:8080".parse().unwrap())
        );
        assert_eq!(inet(&v4, AddressFamily::INET6), Err(Errno::AFNOSUPPORT));
        assert_eq!(inet(&v4[..7], AddressFamily::INET), Err(Errno::INVAL));
    }

    #[test]
    fn few_connections_wait_at_once() {
        let taken = Arc::default();
        let places: Vec<_> = (0..=MOST_WAITING).map(|_| Place::take(&taken)).collect();
        assert!(
            places.iter().take(MOST_WAITING).all(Option::is_some)
                && places.iter().skip(MOST_WAITING).all(Option::is_none)
        );
        drop(places);
        assert!(Place::take(&taken).is_some());
    }
}
