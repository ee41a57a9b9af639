//! What a job must not reach: the network, other processes, files outside, the kernel's corners.

use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};
use std::process::{Child, Command, Stdio};

use orchestrate_sandbox::{Confinement, Network};

use crate::Body;
use crate::support::{Scene, Tested, unique_seconds};

/// Probes whose control must get through without a sandbox.
const FILES: [&str; 12] = [
    "read", "write", "truncate", "rename", "remove", "link-in", "chmod", "fchmodat", "chown",
    "setxattr", "flock", "create",
];
const NETWORK: [&str; 6] = ["tcp", "tcp-swapped", "fast-open", "mptcp", "udp", "netlink"];
const PROCESSES: [&str; 8] = [
    "kill",
    "pidfd-signal",
    "prlimit",
    "setpriority",
    "environ",
    "cmdline",
    "process-memory",
    "ptrace",
];
const SOCKETS: [&str; 3] = ["unix", "unix-datagram", "unix-pair-datagram"];
/// Probes whose control may fail, depending on how the kernel was built; within a sandbox they must
/// fail.
const CORNERS: [&str; 7] = [
    "unshare-user",
    "io-uring",
    "keyring",
    "vsock",
    "packet",
    "new-privileges",
    "capabilities",
];

pub(crate) fn tests(tested: Tested) -> Vec<(String, Body)> {
    let confinement = tested.confinement;
    let mut tests: Vec<(String, Body)> = Vec::new();
    let mut add =
        |group: &str, names: &[&'static str], run: fn(&Scene, &'static str) -> (bool, String)| {
            for name in names.iter().copied() {
                let body = move || expect(confinement, name, run(&Scene::new(tested), name));
                tests.push((format!("{group}::{name}"), Box::new(body)));
            }
        };
    add("files_outside", &FILES, file_outside);
    add("network", &NETWORK, |scene, name| {
        network(scene, Network::None, name)
    });
    add("behind_a_proxy", &NETWORK, |scene, name| {
        network(scene, proxy_only(scene), name)
    });
    add("behind_a_proxy", &["abstract"], |scene, name| {
        abstract_outside(scene, proxy_only(scene), name)
    });
    add("behind_a_proxy", &SOCKETS, |scene, name| {
        socket_outside(scene, proxy_only(scene), name)
    });
    add("sockets_outside", &["abstract"], |scene, name| {
        abstract_outside(scene, Network::None, name)
    });
    add(
        "shared_memory",
        &["shared-memory-of-others"],
        shared_memory_outside,
    );
    if confinement != Confinement::Full {
        // There, all interfaces are the job's own.
        add("network", &["listens-for-others"], |scene, name| {
            scene.probe(&[name])
        });
    }
    add("processes_outside", &PROCESSES, process_outside);
    add("sockets_outside", &SOCKETS, |scene, name| {
        socket_outside(scene, Network::None, name)
    });
    add("kernel", &CORNERS, |scene, name| scene.probe(&[name]));
    add("kernel", &["inherited-descriptors"], |scene, name| {
        (scene.probe(&[name]).0, "one".to_owned())
    });
    tests
}

fn expect(confinement: Confinement, name: &str, (through, said): (bool, String)) {
    if name == "inherited-descriptors" {
        assert!(!through, "{said}");
        return;
    }
    match confinement {
        Confinement::Unconfined if CORNERS.contains(&name) => {}
        Confinement::Unconfined => assert!(through, "the control must get through: {said}"),
        _ => assert!(!through, "{name} got through"),
    }
}

/// Returns the network of a job that has nothing but a proxy; without a sandbox nothing keeps it to
/// that.
fn proxy_only(scene: &Scene) -> Network {
    if scene.sandbox.confinement() == Confinement::Unconfined {
        Network::None
    } else {
        Network::Proxy
    }
}

fn file_outside(scene: &Scene, name: &'static str) -> (bool, String) {
    let target = scene.outside.path().join("secret");
    if name != "create" {
        std::fs::write(&target, "secret").unwrap();
    }
    let before = std::fs::read(&target).ok();
    let result = scene.probe(&[name, target.to_str().unwrap()]);
    if !result.0 {
        assert_eq!(
            std::fs::read(&target).ok(),
            before,
            "{name} was refused, yet changed the file"
        );
    }
    result
}

fn network(scene: &Scene, network: Network, name: &'static str) -> (bool, String) {
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
    udp.set_nonblocking(true).unwrap();
    let target = if name == "udp" {
        udp.local_addr()
    } else {
        tcp.local_addr()
    }
    .unwrap()
    .to_string();
    let (sent, said) = scene.probe_with(network, &[name, &target]);
    // A datagram can be sent into a network of the job's own; what matters is whether it arrives.
    let through = if name == "udp" {
        udp.recv(&mut [0; 16]).is_ok()
    } else {
        sent
    };
    (through, said)
}

fn process_outside(scene: &Scene, name: &'static str) -> (bool, String) {
    let mut victim: Child = Command::new("sleep")
        .arg(unique_seconds())
        .stdin(Stdio::null())
        .spawn()
        .unwrap();
    let result = scene.probe(&[name, &victim.id().to_string()]);
    victim.kill().unwrap();
    victim.wait().unwrap();
    result
}

fn socket_outside(scene: &Scene, network: Network, name: &'static str) -> (bool, String) {
    let path = scene.outside.path().join("socket");
    let stream;
    let datagram;
    if name == "unix" {
        stream = UnixListener::bind(&path).unwrap();
        stream.set_nonblocking(true).unwrap();
    } else {
        datagram = UnixDatagram::bind(&path).unwrap();
        datagram.set_nonblocking(true).unwrap();
    }
    scene.probe_with(network, &[name, path.to_str().unwrap()])
}

/// What another program of the same user shares.
fn shared_memory_outside(scene: &Scene, name: &'static str) -> (bool, String) {
    let shared = format!("/canary-{}", unique_seconds());
    let file = format!("/dev/shm{shared}");
    std::fs::write(&file, "secret").unwrap();
    let result = scene.probe(&[name, &shared]);
    std::fs::remove_file(file).unwrap();
    result
}

fn abstract_outside(scene: &Scene, network: Network, name: &'static str) -> (bool, String) {
    let address = format!("orchestrate-canary-{}", unique_seconds());
    let _listener =
        UnixListener::bind_addr(&SocketAddr::from_abstract_name(&address).unwrap()).unwrap();
    scene.probe_with(network, &[name, &address])
}
