//! The way out of a network namespace: a socket on its loopback interface that is accepted outside
//! of it.
//!
//! The supervisor makes the socket before the program starts, and hands it out; nothing else leads
//! out of the namespace. That programs use it is up to the variables here; one that does not use it
//! reaches nothing.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::net::{Ipv4Addr, TcpListener};

use crate::tier::Confinement;

/// The port of the socket, as the job names it. A namespace has it for itself; without one, the
/// supervisor leads the job from there to the socket.
pub(crate) const PORT: u16 = 3128;

/// Takes the socket of a job, whose connections its caller accepts.
pub(crate) type ListenerSink = Box<dyn FnOnce(TcpListener) + Send>;

/// The variables that name the proxy.
const PROXIES: [&str; 12] = [
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "CARGO_HTTP_PROXY",
    "PIP_PROXY",
    "npm_config_proxy",
    "npm_config_https_proxy",
    "YARN_HTTP_PROXY",
    "YARN_HTTPS_PROXY",
];
/// The variables that name hosts to which no proxy leads.
const DIRECT: [&str; 3] = ["NO_PROXY", "no_proxy", "npm_config_noproxy"];
/// Those hosts: a program's own servers, on the loopback interface of its namespace.
const OWN: &str = "localhost,127.0.0.1,::1";
/// Node reads the variables above only if this one is set.
const NODE_READS_THEM: &str = "NODE_USE_ENV_PROXY";

/// Makes the socket, in the namespace of the calling process; in the fallback tier, that is the
/// machine's.
pub(crate) fn listen(confinement: Confinement) -> io::Result<TcpListener> {
    let port = if confinement == Confinement::Full {
        PORT
    } else {
        0
    };
    TcpListener::bind((Ipv4Addr::LOCALHOST, port))
}

/// Returns the variables that lead programs to the socket, beside those of their job. A job whose
/// own `NO_PROXY` is empty has no servers of its own, so it may reach this machine's by the same
/// names; what else is in it is dropped, since no host is reached in another way.
pub(crate) fn variables(job: &BTreeMap<OsString, OsString>) -> Vec<(OsString, OsString)> {
    let own = match job.get(OsStr::new(DIRECT[0])) {
        Some(hosts) if hosts.is_empty() => "",
        _ => OWN,
    };
    let url = format!("http://{}:{PORT}", Ipv4Addr::LOCALHOST);
    let mut variables = vec![(NODE_READS_THEM.into(), "1".into())];
    for name in PROXIES {
        variables.push((name.into(), OsString::from(&url)));
    }
    for name in DIRECT {
        variables.push((name.into(), own.into()));
    }
    variables
}
