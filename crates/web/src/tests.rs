//! The web client before servers of this machine, honest and hostile.

mod tls;

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use orchestrate_core::policy::host::{Host, WebUrl, special_use};
use orchestrate_core::policy::web::{Destinations, WebFailure, WebRequest, WebResponse};
use serde_json::json;

use crate::dial::Addresses;
use crate::kept::{KeptResponses, Marks, RequestKey};
use crate::{Key, Resolve, WebClient};

/// A server on the loopback interface: what it answers to a request, by its path. It ends with the
/// test's process.
struct Server {
    port: u16,
    asked: Arc<Mutex<Vec<String>>>,
}

/// Writes an answer; the request's head is given.
type Answer = Box<dyn Fn(&str, &mut TcpStream) -> std::io::Result<()> + Send>;

impl Server {
    fn start(answers: Vec<(&'static str, Answer)>) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let asked: Arc<Mutex<Vec<String>>> = Arc::default();
        let seen = Arc::clone(&asked);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let Some(head) = head_of(&mut stream) else {
                    continue;
                };
                read_content(&head, &mut stream);
                seen.lock().unwrap().push(head.clone());
                let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
                if let Some((_, answer)) = answers.iter().find(|(of, _)| *of == path) {
                    // The client may have read enough.
                    let _ = answer(&head, &mut stream);
                }
            }
        });
        Server { port, asked }
    }

    fn url(&self, path: &str) -> WebUrl {
        WebUrl::parse(&format!("http://page.example:{}{path}", self.port)).unwrap()
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

fn head_of(stream: &mut impl std::io::Read) -> Option<String> {
    let mut bytes = Vec::new();
    let mut one = [0; 1];
    while !bytes.ends_with(b"\r\n\r\n") {
        if stream.read(&mut one).ok()? == 0 {
            return None;
        }
        bytes.push(one[0]);
    }
    String::from_utf8(bytes).ok()
}

/// Reads what a request sends: a connection that is closed with unread bytes is reset, and the
/// answer may be lost.
fn read_content(head: &str, stream: &mut impl std::io::Read) {
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "));
    let mut content = vec![0; length.map_or(0, |length| length.parse().unwrap())];
    stream.read_exact(&mut content).unwrap();
}

/// Answers with these fields and this content.
fn answers(status: u16, fields: &'static str, body: impl Into<Vec<u8>>) -> Answer {
    let body = body.into();
    Box::new(move |_, stream| {
        write!(
            stream,
            "HTTP/1.1 {status} X\r\ncontent-length: {}\r\n{fields}\r\n",
            body.len()
        )?;
        stream.write_all(&body)
    })
}

fn redirects(to: impl Into<String>) -> Answer {
    let to = to.into();
    Box::new(move |_, stream| {
        write!(
            stream,
            "HTTP/1.1 302 X\r\ncontent-length: 0\r\nlocation: {to}\r\n\r\n"
        )
    })
}

/// Resolves every name to addresses that differ from call to call; the last ones stay.
#[derive(Default)]
pub(crate) struct Names {
    pub(crate) of: BTreeMap<&'static str, Vec<Vec<IpAddr>>>,
    asked: Mutex<Vec<String>>,
}

impl Resolve for Names {
    fn resolve<'a>(&'a self, name: &'a str) -> Addresses<'a> {
        let mut asked = self.asked.lock().unwrap();
        let before = asked.iter().filter(|other| *other == name).count();
        asked.push(name.to_owned());
        let found = match self.of.get(name) {
            Some(answers) => answers
                .get(before)
                .or(answers.last())
                .cloned()
                .unwrap_or_default(),
            None => vec![Ipv4Addr::LOCALHOST.into()],
        };
        Box::pin(std::future::ready(Ok(found)))
    }
}

/// Admits these hosts, and only global addresses except for the hosts below `example`.
pub(crate) struct Only(pub(crate) &'static [&'static str]);

impl Destinations for Only {
    fn admit(&self, url: &WebUrl) -> Result<String, WebFailure> {
        let host = url.host().to_string();
        if self.0.contains(&host.as_str()) {
            Ok("r".to_owned())
        } else {
            Err(refused(&format!("{host} is not allowed")))
        }
    }

    fn admit_address(&self, host: &Host, address: IpAddr) -> Result<(), WebFailure> {
        match special_use(address) {
            Some(_) if host.to_string().ends_with(".example") => Ok(()),
            Some(used_for) => Err(refused(&format!("{address} is for {used_for}"))),
            None => Ok(()),
        }
    }
}

fn refused(reason: &str) -> WebFailure {
    WebFailure::Refused {
        rule: "r".to_owned(),
        reason: reason.to_owned(),
    }
}

fn request(url: WebUrl) -> WebRequest {
    WebRequest {
        url,
        accept: "text/html",
        credential: None,
        json: None,
        timeout: Duration::from_secs(20),
        max_bytes: 1 << 20,
    }
}

fn run<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
        .block_on(work)
}

fn web() -> WebClient {
    WebClient::resolving_with(Arc::new(Names::default()))
}

fn fetch(url: WebUrl) -> Result<WebResponse, WebFailure> {
    run(web().fetch(
        &request(url),
        None,
        &Only(&["page.example", "other.example"]),
    ))
}

fn reason(result: Result<WebResponse, WebFailure>) -> String {
    match result {
        Ok(response) => format!(
            "{} {}",
            response.status,
            String::from_utf8_lossy(&response.body)
        ),
        Err(failure) => failure.to_string(),
    }
}

fn zipped(content: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn a_page_is_fetched_with_its_type() {
    let server = Server::start(vec![(
        "/a?b=c",
        answers(200, "content-type: text/html; charset=utf-8\r\n", "<p>hi"),
    )]);
    let response = fetch(server.url("/a?b=c#d")).unwrap();
    assert_eq!(
        (response.status, response.body.as_slice(), response.is_cut),
        (200, b"<p>hi".as_slice(), false)
    );
    assert_eq!(
        response.content_type.as_deref(),
        Some("text/html; charset=utf-8")
    );
    let asked = server.asked().remove(0).to_lowercase();
    for field in [
        &format!("host: page.example:{}", server.port),
        "accept: text/html",
        "accept-encoding: gzip, br",
    ] {
        assert!(asked.contains(&format!("\r\n{field}\r\n")), "{asked}");
    }
    assert!(
        !asked.contains("authorization") && !asked.contains("cookie"),
        "{asked}"
    );
}

#[test]
fn a_status_of_failure_is_a_response() {
    let fields = "retry-after: 7\r\n";
    let server = Server::start(vec![("/", answers(503, fields, "later"))]);
    let response = fetch(server.url("/")).unwrap();
    assert_eq!((response.status, response.retry_after), (503, Some(7)));
    let table = [
        (
            "date: Thu, 26 Nov 2026 07:00:00 GMT\r\nretry-after: Thu, 26 Nov 2026 07:01:30 GMT\r\n",
            Some(90),
        ),
        // By the clock of this machine, these are far away.
        ("retry-after: Thu, 26 Nov 1998 07:01:30 GMT\r\n", Some(0)),
        (
            "date: soon\r\nretry-after: Tue, 26 Nov 2999 07:01:30 GMT\r\n",
            Some(86_400),
        ),
        ("retry-after: 99999999\r\n", Some(86_400)),
        ("retry-after: soon\r\n", None),
    ];
    for (fields, expected) in table {
        let server = Server::start(vec![("/", answers(429, fields, ""))]);
        assert_eq!(
            fetch(server.url("/")).unwrap().retry_after,
            expected,
            "{fields}"
        );
    }
}

#[test]
fn each_redirect_is_asked_about() {
    let other = Server::start(vec![("/end", answers(200, "", "here"))]);
    let chain = |to: &str| Server::start(vec![("/", redirects(to))]);
    // The control: a redirect to a host that is allowed is followed.
    let allowed = chain(&format!("http://other.example:{}/end", other.port));
    let response = fetch(allowed.url("/")).unwrap();
    assert_eq!(
        (response.url.host().to_string(), response.body),
        ("other.example".to_owned(), b"here".to_vec())
    );
    let table = [
        (
            "http://evil.example/",
            "http://evil.example/: evil.example is not allowed",
        ),
        (
            "//evil.example/x",
            "http://evil.example/x: evil.example is not allowed",
        ),
        (
            "http://169.254.169.254/latest",
            "http://169.254.169.254/latest: 169.254.169.254 is not allowed",
        ),
        (
            "http://0x7f.1:1/",
            "http://127.0.0.1:1/: 127.0.0.1 is not allowed",
        ),
        (
            "file:///etc/passwd",
            "redirects to no page: only http and https are fetched, not `file`",
        ),
        (
            "gopher://page.example/",
            "redirects to no page: only http and https are fetched, not `gopher`",
        ),
        (
            "http://page.example@evil.example/",
            "an address with a user or a password",
        ),
    ];
    for (to, expected) in table {
        let said = reason(fetch(chain(to).url("/")));
        assert!(said.contains(expected), "{to}: {said}");
    }
}

/// The rule that is against the redirect may be the one by which the call was decided.
#[test]
fn a_redirect_that_is_refused_is_no_call_that_is_refused() {
    let server = Server::start(vec![("/", redirects("http://evil.example/"))]);
    let refusal = |url: WebUrl| match fetch(url) {
        Err(WebFailure::Refused { rule, reason }) => (
            rule,
            reason.ends_with("evil.example is not allowed (rule r)"),
        ),
        other => panic!("{other:?}"),
    };
    assert_eq!(
        refusal(WebUrl::parse("http://evil.example/").unwrap()),
        ("r".to_owned(), false)
    );
    assert_eq!(
        refusal(server.url("/")),
        ("built-in:redirect".to_owned(), true)
    );
    assert_eq!(server.asked().len(), 1);
}

#[test]
fn redirects_without_end_are_given_up() {
    let server = Server::start(vec![("/", redirects("/"))]);
    let said = reason(fetch(server.url("/")));
    assert!(said.ends_with("redirects more than 5 times"), "{said}");
    assert_eq!(server.asked().len(), 6);
    // The control: as many redirects as are allowed are followed to their end.
    let steps = ["/0", "/1", "/2", "/3", "/4"]
        .into_iter()
        .zip(["/1", "/2", "/3", "/4", "/5"]);
    let steps = steps
        .map(|(from, to)| (from, redirects(to)))
        .chain([("/5", answers(200, "", "here"))]);
    let server = Server::start(steps.collect());
    assert_eq!(reason(fetch(server.url("/0"))), "200 here");
}

#[test]
fn what_was_decided_is_what_is_dialled() {
    let server = Server::start(vec![("/", answers(200, "", "inside"))]);
    let [inside, outside]: [IpAddr; 2] = [
        Ipv4Addr::LOCALHOST.into(),
        Ipv4Addr::new(192, 0, 2, 1).into(),
    ];
    let only = Only(&["rebound.net", "both.example"]);
    let url = |host: &str| WebUrl::parse(&format!("http://{host}:{}/", server.port)).unwrap();
    // A name that leads elsewhere when it is asked again is not asked again.
    let names = Arc::new(Names {
        of: [("rebound.net", vec![vec![outside], vec![inside]])].into(),
        ..Names::default()
    });
    let web = WebClient::resolving_with(Arc::clone(&names) as Arc<dyn Resolve>);
    let said = reason(run(web.fetch(&request(url("rebound.net")), None, &only)));
    assert_eq!(said, "192.0.2.1 is for documentation");
    assert_eq!(*names.asked.lock().unwrap(), ["rebound.net"]);
    let said = reason(run(web.fetch(&request(url("rebound.net")), None, &only)));
    assert_eq!(said, "127.0.0.1 is for this machine");
    assert!(server.asked().is_empty());
    // The control: by an address that is admitted, the same server is reached; of several, only
    // such ones are dialled.
    struct Local;
    impl Destinations for Local {
        fn admit(&self, _: &WebUrl) -> Result<String, WebFailure> {
            Ok("r".to_owned())
        }
        fn admit_address(&self, _: &Host, address: IpAddr) -> Result<(), WebFailure> {
            if address.is_loopback() {
                Ok(())
            } else {
                Err(refused("it is elsewhere"))
            }
        }
    }
    let names = Names {
        of: [("both.example", vec![vec![outside, inside]])].into(),
        ..Names::default()
    };
    let web = WebClient::resolving_with(Arc::new(names));
    assert_eq!(
        reason(run(web.fetch(&request(url("both.example")), None, &Local))),
        "200 inside"
    );
}

#[test]
fn a_host_that_is_not_there_is_named() {
    let names = Names {
        of: [("gone.example", vec![vec![]])].into(),
        ..Names::default()
    };
    let web = WebClient::resolving_with(Arc::new(names));
    let url = WebUrl::parse("http://gone.example/").unwrap();
    let failure = run(web.fetch(&request(url), None, &Only(&["gone.example"]))).unwrap_err();
    assert_eq!(
        failure,
        WebFailure::UnknownHost(Host::parse("gone.example").unwrap())
    );
    let closed = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let url = WebUrl::parse(&format!("http://page.example:{closed}/")).unwrap();
    assert!(
        matches!(fetch(url), Err(WebFailure::Unreachable(said)) if said.contains("no connection to page.example"))
    );
}

#[test]
fn a_name_is_resolved_as_on_this_machine() {
    let found = run(crate::SystemResolver.resolve("localhost")).unwrap();
    assert!(
        !found.is_empty() && found.iter().all(IpAddr::is_loopback),
        "{found:?}"
    );
}

/// The clock runs ahead as soon as every task waits.
#[tokio::test(start_paused = true)]
async fn a_name_that_is_not_resolved_in_time_is_given_up() {
    struct Silent;
    impl Resolve for Silent {
        fn resolve<'a>(&'a self, _: &'a str) -> Addresses<'a> {
            Box::pin(std::future::pending())
        }
    }
    let web = WebClient::resolving_with(Arc::new(Silent));
    let url = WebUrl::parse("http://page.example/").unwrap();
    let failure = web
        .fetch(&request(url), None, &Only(&["page.example"]))
        .await
        .unwrap_err();
    assert_eq!(
        failure.to_string(),
        WebFailure::Unreachable(
            "`page.example` was not resolved: no answer within 10 s".to_owned()
        )
        .to_string()
    );
}

#[test]
fn compressed_content_is_read() {
    // "hello hello hello", as zlib.brotliCompressSync of Node.js writes it.
    let brotli: &[u8] = &[
        0x1b, 0x10, 0x00, 0xf8, 0x8d, 0x94, 0x6e, 0xde, 0x44, 0x55, 0x86, 0x96, 0x6c, 0x20, 0x6f,
        0x01, 0x4f, 0x1c, 0x60, 0x1c,
    ];
    let server = Server::start(vec![
        (
            "/gzip",
            answers(200, "content-encoding: gzip\r\n", zipped(b"hello")),
        ),
        ("/brotli", answers(200, "content-encoding: br\r\n", brotli)),
        (
            "/none",
            answers(200, "content-encoding: identity\r\n", "hello"),
        ),
        ("/odd", answers(200, "content-encoding: zstd\r\n", "hello")),
        (
            "/twice",
            answers(
                200,
                "content-encoding: gzip, gzip\r\n",
                zipped(&zipped(b"hello")),
            ),
        ),
        ("/lie", answers(200, "content-encoding: gzip\r\n", "hello")),
        (
            "/short",
            answers(200, "content-encoding: gzip\r\n", &zipped(b"hello")[..12]),
        ),
        (
            "/brotli-lie",
            answers(200, "content-encoding: br\r\n", "\u{7f}\u{7f}hello"),
        ),
        (
            "/brotli-short",
            answers(200, "content-encoding: br\r\n", &brotli[..5]),
        ),
    ]);
    let table = [
        ("/gzip", "200 hello"),
        ("/brotli", "200 hello hello hello"),
        ("/none", "200 hello"),
        (
            "/odd",
            "the content is compressed as \"zstd\", which was not asked for",
        ),
        (
            "/twice",
            "the content is compressed as \"gzip, gzip\", which was not asked for",
        ),
        ("/lie", "the compressed content is damaged"),
        ("/short", "the compressed content is damaged"),
        ("/brotli-lie", "the compressed content is damaged"),
        ("/brotli-short", "the compressed content is damaged"),
    ];
    for (path, expected) in table {
        let said = reason(fetch(server.url(path)));
        assert!(said.starts_with(expected), "{path}: {said}");
    }
}

#[test]
fn what_decompresses_to_much_or_to_nothing_is_cut() {
    // 16 MiB of one letter, as Node.js compresses them.
    let brotli: &[u8] = &[
        0x9f, 0xff, 0xff, 0xff, 0xf8, 0x25, 0xc2, 0xe2, 0xb1, 0x40, 0x20, 0xf7, 0xfe, 0x1f,
    ];
    let zeros = zipped(&vec![b'a'; 64 << 20]);
    assert!(zeros.len() < 100 << 10);
    let empty: Vec<u8> = std::iter::repeat_n(zipped(b""), 100_000)
        .flatten()
        .collect();
    let server = Server::start(vec![
        ("/bomb", answers(200, "content-encoding: gzip\r\n", zeros)),
        ("/empty", answers(200, "content-encoding: gzip\r\n", empty)),
        ("/large", answers(200, "", vec![b'a'; 2 << 20])),
        ("/exact", answers(200, "", vec![b'a'; 1 << 20])),
        ("/brotli", answers(200, "content-encoding: br\r\n", brotli)),
        (
            "/fits",
            answers(
                200,
                "content-encoding: gzip\r\n",
                zipped(&vec![b'a'; 1 << 19]),
            ),
        ),
    ]);
    let table = [
        ("/bomb", 1 << 20, true),
        ("/brotli", 1 << 20, true),
        ("/empty", 0, true),
        ("/large", 1 << 20, true),
        // The control: what is no larger than the limit arrives whole, compressed or not.
        ("/exact", 1 << 20, false),
        ("/fits", 1 << 19, false),
    ];
    for (path, bytes, is_cut) in table {
        let response = fetch(server.url(path)).unwrap();
        assert_eq!(
            (response.body.len(), response.is_cut),
            (bytes, is_cut),
            "{path}"
        );
        assert!(response.body.capacity() <= 2 << 20, "{path}");
    }
}

#[test]
fn content_that_never_ends_is_cut_at_its_size_or_its_time() {
    let endless: Answer = Box::new(|_, stream| {
        stream.write_all(b"HTTP/1.1 200 X\r\ntransfer-encoding: chunked\r\n\r\n")?;
        let chunks = b"4\r\nabcd\r\n".repeat(1000);
        loop {
            stream.write_all(&chunks)?;
        }
    });
    let slow: Answer = Box::new(|_, stream| {
        stream.write_all(b"HTTP/1.1 200 X\r\n\r\nabc")?;
        // Until the client has given up.
        stream.read_exact(&mut [0; 1])
    });
    let ended: Answer = Box::new(|_, stream| {
        stream.write_all(
            b"HTTP/1.1 200 X\r\ntransfer-encoding: chunked\r\n\r\n4\r\nabcd\r\n0\r\n\r\n",
        )
    });
    let closed: Answer = Box::new(|_, stream| stream.write_all(b"HTTP/1.1 200 X\r\n\r\nabc"));
    let pages = vec![
        ("/endless", endless),
        ("/slow", slow),
        ("/ended", ended),
        ("/closed", closed),
    ];
    let server = Server::start(pages);
    // The control: the same beginnings, once they end, come whole.
    for (path, content) in [
        ("/ended", b"abcd".as_slice()),
        ("/closed", b"abc".as_slice()),
    ] {
        let response = fetch(server.url(path)).unwrap();
        assert_eq!(
            (response.body.as_slice(), response.is_cut),
            (content, false),
            "{path}"
        );
    }
    let response = fetch(server.url("/endless")).unwrap();
    assert_eq!((response.body.len(), response.is_cut), (1 << 20, true));
    let soon = WebRequest {
        timeout: Duration::from_millis(200),
        ..request(server.url("/slow"))
    };
    let failure = run(web().fetch(&soon, None, &Only(&["page.example"]))).unwrap_err();
    assert_eq!(failure, WebFailure::Timeout { seconds: 1 });
}

#[test]
fn a_response_with_too_much_around_its_content_is_refused() {
    let many: Answer = Box::new(|_, stream| {
        stream.write_all(b"HTTP/1.1 200 X\r\n")?;
        (0..1_000_000).try_for_each(|at| write!(stream, "x-{at}: 1\r\n"))
    });
    let long: Answer = Box::new(|_, stream| {
        stream.write_all(b"HTTP/1.1 200 X\r\nx: ")?;
        (0..10_000).try_for_each(|_| stream.write_all(&[b'a'; 1000]))
    });
    let chunk: Answer = Box::new(|_, stream| {
        stream.write_all(b"HTTP/1.1 200 X\r\ntransfer-encoding: chunked\r\n\r\n1;")?;
        (0..10_000).try_for_each(|_| stream.write_all(&[b'a'; 1000]))
    });
    let trailers: Answer = Box::new(|_, stream| {
        stream.write_all(b"HTTP/1.1 200 X\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n0\r\n")?;
        (0..1_000_000).try_for_each(|at| write!(stream, "x-{at}: 1\r\n"))
    });
    let huge: Answer = Box::new(|_, stream| {
        stream.write_all(
            b"HTTP/1.1 200 X\r\ntransfer-encoding: chunked\r\n\r\nffffffffffffffffff\r\na",
        )
    });
    let garbage: Answer = Box::new(|_, stream| stream.write_all(b"SSH-2.0-OpenSSH_9.2\r\n"));
    let cases = [
        ("/many", many),
        ("/long", long),
        ("/chunk", chunk),
        ("/trailers", trailers),
        ("/huge", huge),
        ("/garbage", garbage),
    ];
    let paths = cases.iter().map(|(path, _)| *path).collect::<Vec<_>>();
    let server = Server::start(cases.into());
    for path in paths {
        let failure = fetch(server.url(path)).unwrap_err();
        let is_refused = matches!(
            failure,
            WebFailure::Malformed(_) | WebFailure::Unreachable(_)
        );
        assert!(is_refused, "{path}: {failure:?}");
    }
    // The control: nearly as many fields as are allowed do no harm.
    let few: Answer = Box::new(|_, stream| {
        stream.write_all(b"HTTP/1.1 200 X\r\ncontent-length: 1\r\n")?;
        (0..90).try_for_each(|at| write!(stream, "x-{at}: 1\r\n"))?;
        stream.write_all(b"\r\na")
    });
    assert_eq!(
        reason(fetch(Server::start(vec![("/few", few)]).url("/few"))),
        "200 a"
    );
}

#[test]
fn a_connection_that_ends_early_is_no_response() {
    let server = Server::start(vec![
        (
            "/short",
            Box::new(|_, stream| {
                stream.write_all(b"HTTP/1.1 200 X\r\ncontent-length: 10\r\n\r\nabc")
            }),
        ),
        ("/none", Box::new(|_, _| Ok(()))),
    ]);
    for path in ["/short", "/none"] {
        let said = fetch(server.url(path));
        assert!(
            matches!(&said, Err(WebFailure::Unreachable(_))),
            "{path}: {said:?}"
        );
    }
}

#[test]
fn a_key_goes_to_its_origin_alone() {
    let other = Server::start(vec![("/end", answers(200, "", "here"))]);
    let to = format!("http://other.example:{}/end", other.port);
    let server = Server::start(vec![("/", redirects("/again")), ("/again", redirects(to))]);
    let key = Key {
        field: "authorization",
        value: "Bearer secret".to_owned(),
    };
    let (web, asked) = (web(), request(server.url("/")));
    let fetched = web.fetch(
        &asked,
        Some(&key),
        &Only(&["page.example", "other.example"]),
    );
    assert_eq!(reason(run(fetched)), "200 here");
    let carries = |asked: &String| asked.contains("authorization: Bearer secret\r\n");
    assert_eq!(
        server.asked().iter().filter(|asked| carries(asked)).count(),
        2
    );
    assert_eq!(
        other.asked().iter().filter(|asked| carries(asked)).count(),
        0
    );
}

#[test]
fn what_is_sent_is_not_sent_elsewhere() {
    let server = Server::start(vec![
        ("/", redirects("/again")),
        ("/ok", answers(200, "", "done")),
    ]);
    let sending = |path: &str| WebRequest {
        json: Some(json!({"query": "q"})),
        ..request(server.url(path))
    };
    let send = |path: &str| {
        reason(run(web().fetch(
            &sending(path),
            None,
            &Only(&["page.example"]),
        )))
    };
    assert_eq!(send("/ok"), "200 done");
    assert!(
        server.asked()[0].starts_with("POST /ok HTTP/1.1\r\n"),
        "{:?}",
        server.asked()
    );
    assert!(send("/").ends_with("redirects what is sent, which is not sent elsewhere"));
}

#[test]
fn what_is_kept_is_confirmed_by_its_server() {
    let marked: Answer = Box::new(
        |head, stream| match head.contains("if-none-match: \"v1\"") {
            true => stream.write_all(b"HTTP/1.1 304 X\r\netag: \"v1\"\r\n\r\n"),
            false => {
                stream.write_all(b"HTTP/1.1 200 X\r\netag: \"v1\"\r\ncontent-length: 4\r\n\r\nkept")
            }
        },
    );
    let server = Server::start(vec![
        ("/marked", marked),
        (
            "/private",
            answers(200, "etag: \"v1\"\r\ncache-control: no-store\r\n", "mine"),
        ),
        ("/lie", answers(304, "", "")),
    ]);
    let (web, only) = (web(), Only(&["page.example"]));
    let get = |path: &str| run(web.fetch(&request(server.url(path)), None, &only)).unwrap();
    let [first, second] = [get("/marked"), get("/marked")];
    assert_eq!((first.was_kept, second.was_kept), (false, true));
    assert_eq!(
        (first.body.as_slice(), second.body.as_slice()),
        (b"kept".as_slice(), b"kept".as_slice())
    );
    // With a key, it is another request.
    let key = Key {
        field: "authorization",
        value: "Bearer x".to_owned(),
    };
    assert!(
        !run(web.fetch(&request(server.url("/marked")), Some(&key), &only))
            .unwrap()
            .was_kept
    );
    assert!(!get("/private").was_kept && !get("/private").was_kept);
    // A server that confirms what it was not asked about has answered without content.
    assert_eq!(get("/lie").status, 304);
}

/// Another agent's requests drop what is kept while its server is asked whether it still holds.
#[test]
fn what_was_kept_when_the_server_was_asked_is_what_it_confirms() {
    const PAGES: [&str; 18] = [
        "/0", "/1", "/2", "/3", "/4", "/5", "/6", "/7", "/8", "/9", "/10", "/11", "/12", "/13",
        "/14", "/15", "/16", "/17",
    ];
    let page = |path| (path, answers(200, "etag: \"v1\"\r\n", vec![b'x'; 1 << 20]));
    let others = Server::start(PAGES.map(page).into());
    let (web, only) = (web(), Only(&["page.example"]));
    let (of_other, urls) = (web.clone(), PAGES.map(|path| others.url(path)));
    let marked: Answer =
        Box::new(
            move |head, stream| match head.contains("if-none-match: \"v1\"") {
                true => {
                    for url in &urls {
                        run(of_other.fetch(&request(url.clone()), None, &Only(&["page.example"])))
                            .unwrap();
                    }
                    stream.write_all(b"HTTP/1.1 304 X\r\netag: \"v1\"\r\n\r\n")
                }
                false => stream
                    .write_all(b"HTTP/1.1 200 X\r\netag: \"v1\"\r\ncontent-length: 4\r\n\r\nkept"),
            },
        );
    let server = Server::start(vec![("/marked", marked)]);
    let get = || run(web.fetch(&request(server.url("/marked")), None, &only)).unwrap();
    assert_eq!((get().was_kept, get().body), (false, b"kept".to_vec()));
    assert_eq!(others.asked().len(), PAGES.len());
    assert!(!get().was_kept, "it was dropped meanwhile");
}

#[test]
fn what_is_kept_is_bounded_whatever_it_consists_of() {
    let kept = KeptResponses::default();
    let key = |number: usize, length: usize| {
        let url = format!("http://page.example/{number}/{}", "x".repeat(length));
        RequestKey {
            url,
            accept: "text/html",
            has_key: false,
            max_bytes: 1,
        }
    };
    // Without content, with a long address, with long marks.
    for (address, mark, most) in [(0, 2, 1_000), (16_000, 2, 530), (0, 60_000, 280)] {
        for number in 0..3_000 {
            let marks = Marks {
                etag: Some("x".repeat(mark)),
                modified: None,
            };
            let response = WebResponse {
                url: WebUrl::parse("http://page.example/").unwrap(),
                status: 200,
                content_type: None,
                coding: None,
                retry_after: None,
                body: Vec::new(),
                is_cut: false,
                was_kept: false,
            };
            kept.keep(key(number, address), marks, &response);
        }
        let found: Vec<usize> = (0..3_000)
            .filter(|number| {
                kept.find(&key(*number, address))
                    .is_some_and(|kept| kept.marks.etag.is_some())
            })
            .collect();
        assert!(
            (most * 3 / 4..=most).contains(&found.len()),
            "{}",
            found.len()
        );
        assert_eq!(found.last(), Some(&2_999));
        assert_eq!(
            found.first(),
            Some(&(3_000 - found.len())),
            "the oldest were dropped"
        );
    }
}
