//! A git server on the loopback interface, as `git http-backend` is behind a web server that asks
//! for a password.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use libtest_mimic::Failed;

/// The user of the server.
pub(crate) const USER: &str = "me";
/// The user's password, with a character that addresses escape.
pub(crate) const PASSWORD: &str = "pw-7c1f93ad0b/64e8";
/// Both, as a request has them.
const AUTHORIZATION: &str = "Basic bWU6cHctN2MxZjkzYWQwYi82NGU4";

/// The server; it stops on drop.
pub(crate) struct GitServer {
    address: SocketAddr,
    shared: Arc<Shared>,
    accepting: Option<JoinHandle<()>>,
}

struct Shared {
    /// The folder of the repositories.
    root: PathBuf,
    stopping: AtomicBool,
    seen: Mutex<Seen>,
    /// Where it leads to, and whether only those with the right password.
    leads_to: Option<(String, bool)>,
}

/// What the server has seen.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    /// The requests with the right password.
    pub(crate) let_in: usize,
    /// The others.
    pub(crate) turned_away: usize,
    /// Whether a process had the password among its arguments while a request was answered.
    pub(crate) in_arguments: bool,
}

impl GitServer {
    /// Serves the repositories below a folder.
    pub(crate) fn start(root: &Path) -> Result<Self, Failed> {
        Self::serving(root, None)
    }

    /// Leads every request to the same path below another address; those without the right password
    /// only if anybody may know.
    pub(crate) fn leading_to(address: &str, anybody: bool) -> Result<Self, Failed> {
        Self::serving(Path::new("/nowhere"), Some((address.to_owned(), !anybody)))
    }

    fn serving(root: &Path, leads_to: Option<(String, bool)>) -> Result<Self, Failed> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let (address, stopping) = (listener.local_addr()?, AtomicBool::new(false));
        let shared = Arc::new(Shared {
            root: root.to_owned(),
            stopping,
            seen: Mutex::default(),
            leads_to,
        });
        let serving = Arc::clone(&shared);
        let accepting = thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if serving.stopping.load(Ordering::SeqCst) {
                    break;
                }
                let serving = Arc::clone(&serving);
                // A client that goes away does not fail the test.
                thread::spawn(move || drop(serving.answer(&stream)));
            }
        });
        Ok(Self {
            address,
            shared,
            accepting: Some(accepting),
        })
    }

    /// Returns the address of a repository, with what stands before the host.
    pub(crate) fn url(&self, login: &str, name: &str) -> String {
        format!("http://{login}{}/{name}", self.address)
    }

    /// Returns what it has seen since the last time.
    pub(crate) fn seen(&self) -> Seen {
        std::mem::take(
            &mut *self
                .shared
                .seen
                .lock()
                .unwrap_or_else(PoisonError::into_inner),
        )
    }
}

impl Drop for GitServer {
    fn drop(&mut self) {
        self.shared.stopping.store(true, Ordering::SeqCst);
        // Wakes the thread that accepts.
        drop(TcpStream::connect(self.address));
        if let Some(accepting) = self.accepting.take() {
            let _ = accepting.join();
        }
    }
}

impl Shared {
    /// Answers the only request of a connection.
    fn answer(&self, mut stream: &TcpStream) -> Result<(), Failed> {
        let mut reader = BufReader::new(stream.try_clone()?);
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let mut words = line.split_ascii_whitespace();
        let (method, target) = (
            words.next().unwrap_or_default().to_owned(),
            words.next().unwrap_or("/").to_owned(),
        );
        let headers = headers(&mut reader)?;
        let body = body(&mut reader, &headers)?;
        let is_let_in = headers
            .get("authorization")
            .is_some_and(|given| given == AUTHORIZATION);
        self.note(is_let_in)?;
        if let Some((address, wants_password)) = &self.leads_to
            && (is_let_in || !wants_password)
        {
            let head = format!("HTTP/1.1 302 Found\r\nlocation: {address}{target}\r\n");
            stream.write_all(
                format!("{head}content-length: 0\r\nconnection: close\r\n\r\n").as_bytes(),
            )?;
            return Ok(());
        }
        if !is_let_in {
            let head = "HTTP/1.1 401 Unauthorized\r\nwww-authenticate: Basic realm=\"git\"\r\n";
            stream.write_all(
                format!("{head}content-length: 0\r\nconnection: close\r\n\r\n").as_bytes(),
            )?;
            return Ok(());
        }
        let answer = self.run_backend(&method, &target, &headers, &body)?;
        stream.write_all(&of_cgi(&answer))?;
        Ok(())
    }

    fn note(&self, is_let_in: bool) -> Result<(), Failed> {
        let mut in_arguments = false;
        for process in std::fs::read_dir("/proc")?.filter_map(Result::ok) {
            // Other processes end meanwhile, and some entries are none.
            let Ok(arguments) = std::fs::read(process.path().join("cmdline")) else {
                continue;
            };
            let arguments = String::from_utf8_lossy(&arguments).into_owned();
            in_arguments |=
                arguments.contains(PASSWORD) || arguments.contains(&PASSWORD.replace('/', "%2F"));
        }
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.in_arguments |= in_arguments;
        if is_let_in {
            seen.let_in += 1;
        } else {
            seen.turned_away += 1;
        }
        Ok(())
    }

    fn run_backend(
        &self,
        method: &str,
        target: &str,
        headers: &BTreeMap<String, String>,
        body: &[u8],
    ) -> Result<Vec<u8>, Failed> {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let header = |name: &str| headers.get(name).cloned().unwrap_or_default();
        let mut backend = Command::new("git")
            .arg("http-backend")
            .env("GIT_PROJECT_ROOT", &self.root)
            .env("GIT_HTTP_EXPORT_ALL", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("REMOTE_USER", USER)
            .env("REMOTE_ADDR", "127.0.0.1")
            .env("REQUEST_METHOD", method)
            .env("PATH_INFO", path)
            .env("QUERY_STRING", query)
            .env("CONTENT_TYPE", header("content-type"))
            .env("CONTENT_LENGTH", body.len().to_string())
            .env("HTTP_CONTENT_ENCODING", header("content-encoding"))
            .env("GIT_PROTOCOL", header("git-protocol"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        if let Some(mut input) = backend.stdin.take() {
            input.write_all(body)?;
        }
        Ok(backend.wait_with_output()?.stdout)
    }
}

fn headers(reader: &mut impl BufRead) -> Result<BTreeMap<String, String>, Failed> {
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(':') else {
            return Ok(headers);
        };
        headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
}

/// Reads a body whose length is stated, or that comes in chunks.
fn body(reader: &mut impl BufRead, headers: &BTreeMap<String, String>) -> Result<Vec<u8>, Failed> {
    let mut body = Vec::new();
    if headers
        .get("transfer-encoding")
        .is_none_or(|coding| coding != "chunked")
    {
        let length = headers
            .get("content-length")
            .and_then(|length| length.parse().ok())
            .unwrap_or(0);
        reader.take(length).read_to_end(&mut body)?;
        return Ok(body);
    }
    loop {
        let mut size = String::new();
        reader.read_line(&mut size)?;
        let size = u64::from_str_radix(size.trim(), 16)?;
        reader.take(size).read_to_end(&mut body)?;
        reader.read_line(&mut String::new())?;
        if size == 0 {
            return Ok(body);
        }
    }
}

/// Turns the answer of a program behind a web server into one of the server.
fn of_cgi(answer: &[u8]) -> Vec<u8> {
    let end = answer
        .windows(4)
        .position(|window| window == b"\r\n\r\n")
        .unwrap_or(answer.len());
    let head = String::from_utf8_lossy(&answer[..end]).into_owned();
    let content = answer.get(end + 4..).unwrap_or_default();
    let status = head
        .lines()
        .find_map(|line| line.strip_prefix("Status: "))
        .unwrap_or("200 OK")
        .to_owned();
    let fields: String = head
        .lines()
        .filter(|line| !line.starts_with("Status: "))
        .map(|line| format!("{line}\r\n"))
        .collect();
    let begin = format!(
        "HTTP/1.1 {status}\r\n{fields}content-length: {}\r\nconnection: close\r\n\r\n",
        content.len()
    );
    [begin.as_bytes(), content].concat()
}
