//! The sockets that listen on a port of this machine, by the kernel's own lists.
//!
//! The kernel is asked for exactly that (sock_diag(7)). Its files in `/proc` list all connections,
//! which takes many milliseconds on a machine with much memory, however few there are; they serve
//! where it cannot be asked.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::net::IpAddr;

use rustix::net::{AddressFamily, SocketFlags, SocketType, netlink, socket_with};

/// The state of a listening socket (include/net/tcp_states.h), and as the files print it.
const LISTEN: u32 = 10;
const LISTENS: &str = "0A";
/// The protocol of the sockets.
const TCP: u8 = 6;
/// The types of messages, and the flags of a request for a list (linux/netlink.h,
/// linux/sock_diag.h).
const BY_FAMILY: u16 = 20;
const DONE: u16 = 3;
const REQUEST_LIST: u16 = 0x301;
/// The length of a message's header, and of the request below it (linux/inet_diag.h).
const HEADER: usize = 16;
const REQUEST: usize = HEADER + 56;
/// Where a listed socket has its address and its inode number, after the header.
const ADDRESS_AT: usize = HEADER + 8;
const INODE_AT: usize = HEADER + 68;
/// More than the kernel puts into one part of an answer.
const MOST_READ: usize = 32 << 10;

/// A listening socket of this machine.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Listening {
    pub(crate) ip: IpAddr,
    pub(crate) inode: u64,
}

/// Lists what listens on a port of this machine.
pub(crate) fn listening(port: u16) -> io::Result<Vec<Listening>> {
    by_request(port).or_else(|_| by_files(port))
}

/// Asks the kernel for the sockets of each protocol.
fn by_request(port: u16) -> io::Result<Vec<Listening>> {
    let socket = socket_with(
        AddressFamily::NETLINK,
        SocketType::DGRAM,
        SocketFlags::CLOEXEC,
        Some(netlink::SOCK_DIAG),
    )?;
    let mut socket = File::from(socket);
    let mut found = Vec::new();
    let mut bytes = vec![0; MOST_READ];
    for family in [AddressFamily::INET, AddressFamily::INET6] {
        socket.write_all(&request(family, port))?;
        loop {
            let count = socket.read(&mut bytes)?;
            if read_answer(bytes.get(..count).unwrap_or(&bytes), &mut found)? {
                break;
            }
        }
    }
    Ok(found)
}

/// Returns the request for the sockets of a family that listen on a port.
fn request(family: AddressFamily, port: u16) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(REQUEST);
    bytes.extend((REQUEST as u32).to_ne_bytes());
    bytes.extend(BY_FAMILY.to_ne_bytes());
    bytes.extend(REQUEST_LIST.to_ne_bytes());
    // The number of the request and of the asker.
    bytes.extend([0; 8]);
    bytes.extend([family.as_raw() as u8, TCP, 0, 0]);
    bytes.extend((1_u32 << LISTEN).to_ne_bytes());
    bytes.extend(port.to_be_bytes());
    bytes.resize(REQUEST, 0);
    bytes
}

/// Parses a part of an answer; returns whether it is the last one.
fn read_answer(mut bytes: &[u8], found: &mut Vec<Listening>) -> io::Result<bool> {
    while !bytes.is_empty() {
        let length = u32::from_ne_bytes(part(bytes, 0).ok_or_else(malformed)?) as usize;
        let message = bytes
            .get(..length)
            .filter(|message| message.len() >= HEADER)
            .ok_or_else(malformed)?;
        match u16::from_ne_bytes(part(message, 4).ok_or_else(malformed)?) {
            DONE => return Ok(true),
            BY_FAMILY => found.push(listed(message).ok_or_else(malformed)?),
            // An error.
            _ => return Err(malformed()),
        }
        // Messages begin at multiples of four.
        let end = length.next_multiple_of(4).min(bytes.len());
        (_, bytes) = bytes.split_at(end);
    }
    Ok(false)
}

fn malformed() -> io::Error {
    io::Error::from(io::ErrorKind::InvalidData)
}

/// Parses one listed socket.
fn listed(message: &[u8]) -> Option<Listening> {
    let family = u16::from(*message.get(HEADER)?);
    let ip: IpAddr = if family == AddressFamily::INET.as_raw() {
        part::<4>(message, ADDRESS_AT)?.into()
    } else {
        part::<16>(message, ADDRESS_AT)?.into()
    };
    Some(Listening {
        ip: ip.to_canonical(),
        inode: u32::from_ne_bytes(part(message, INODE_AT)?).into(),
    })
}

fn part<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at + N)?.try_into().ok()
}

/// Reads them from the files.
fn by_files(port: u16) -> io::Result<Vec<Listening>> {
    let mut all = Vec::new();
    for table in ["/proc/self/net/tcp", "/proc/self/net/tcp6"] {
        match fs::read_to_string(table) {
            Ok(text) => all.extend(text.lines().filter_map(|line| listening_at(line, port))),
            // The kernel has no such protocol.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(all)
}

/// Parses a line of the kernel's list (proc_pid_net(5)), if it is of a socket that listens on this
/// port.
fn listening_at(line: &str, port: u16) -> Option<Listening> {
    let mut fields = line.split_ascii_whitespace();
    let (ip, at) = fields.nth(1)?.split_once(':')?;
    let found = fields.nth(1)?;
    let inode = fields.nth(5)?;
    if found != LISTENS || u16::from_str_radix(at, 16).ok()? != port {
        return None;
    }
    Some(Listening {
        ip: ip_of(ip)?.to_canonical(),
        inode: inode.parse().ok()?,
    })
}

/// Parses an address as the kernel prints it: words of four bytes in the order of the machine.
fn ip_of(hex: &str) -> Option<IpAddr> {
    let mut bytes = Vec::new();
    for at in (0..hex.len()).step_by(8) {
        bytes.extend(
            u32::from_str_radix(hex.get(at..at + 8)?, 16)
                .ok()?
                .to_ne_bytes(),
        );
    }
    let v4 = <[u8; 4]>::try_from(bytes.as_slice()).map(IpAddr::from);
    v4.or_else(|_| <[u8; 16]>::try_from(bytes.as_slice()).map(IpAddr::from))
        .ok()
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, TcpListener};
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::MetadataExt;

    use super::*;

    /// Both ways find the same sockets.
    #[test]
    fn what_listens_on_a_port_is_found_by_its_inode() {
        for address in ["127.0.0.1:0", "[::ffff:127.0.0.1]:0", "[::1]:0"] {
            // The machine may lack a protocol.
            let Ok(server) = TcpListener::bind(address) else {
                continue;
            };
            let at = server.local_addr().unwrap();
            let inode = fs::metadata(format!("/proc/self/fd/{}", server.as_raw_fd()))
                .unwrap()
                .ino();
            let expected = Listening {
                ip: at.ip().to_canonical(),
                inode,
            };
            assert!(
                by_request(at.port()).unwrap().contains(&expected),
                "{address}"
            );
            assert!(
                by_files(at.port()).unwrap().contains(&expected),
                "{address}"
            );
            drop(server);
            assert!(!by_request(at.port()).unwrap().contains(&expected));
            assert!(!by_files(at.port()).unwrap().contains(&expected));
        }
    }

    #[test]
    fn sockets_that_listen_are_found_in_the_kernels_lists() {
        let v4 = "   1: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  \
                  1000        0 77 1 0";
        let v6 = "   1: 0000000000000000FFFF00000100007F:1F90 \
                  00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000  \
                  1000        0 78 1 0";
        let local = IpAddr::from(Ipv4Addr::LOCALHOST);
        assert_eq!(
            listening_at(v4, 8080),
            Some(Listening {
                ip: local,
                inode: 77
            })
        );
        assert_eq!(
            listening_at(v6, 8080),
            Some(Listening {
                ip: local,
                inode: 78
            })
        );
        let connected = v4.replace(" 0A ", " 01 ");
        for (line, port) in [
            (v4, 8081),
            (connected.as_str(), 8080),
            ("  sl  local_address rem_address   st", 8080),
        ] {
            assert_eq!(listening_at(line, port), None, "{line}");
        }
    }
}
