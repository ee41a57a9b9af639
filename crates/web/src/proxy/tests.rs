//! The proxy between programs and servers of this machine, honest and hostile.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use orchestrate_core::policy::egress::EgressDecision;
use orchestrate_core::policy::web::{Destinations, WebFailure};
use rustls::{ClientConfig, ClientConnection, RootCertStore};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::{Egress, Recording};
use crate::tests::{Names, Only};
use crate::{ProxyConnections, WebClient};

/// What a program may reach, and what was decided.
struct Program {
    admits: Only,
    decided: Mutex<Vec<EgressDecision>>,
    /// What could not be reached, and why.
    unreached: Mutex<Vec<String>>,
    /// Whether decisions can be recorded.
    records: bool,
}

impl Egress for Program {
    fn destinations(&self) -> &dyn Destinations {
        &self.admits
    }

    fn record(&self, decision: EgressDecision) -> Recording<'_> {
        let recorded = if self.records {
            Ok(())
        } else {
            Err("no journal".to_owned())
        };
        self.decided.lock().unwrap().push(decision);
        Box::pin(std::future::ready(recorded))
    }

    fn unreached(&self, asked: &str, failure: &WebFailure) {
        self.unreached
            .lock()
            .unwrap()
            .push(format!("{asked}: {failure}"));
    }
}

/// A proxy at work. It ends with the test.
struct Proxy {
    port: u16,
    program: Arc<Program>,
    _runtime: tokio::runtime::Runtime,
}

impl Proxy {
    fn start() -> Proxy {
        Proxy::with(Names::default(), true)
    }

    fn with(names: Names, records: bool) -> Proxy {
        Proxy::of(WebClient::resolving_with(Arc::new(names)), records)
    }

    fn of(web: WebClient, records: bool) -> Proxy {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let program = program(records);
        let egress: Arc<dyn Egress> = program.clone();
        runtime.spawn(async move { web.serve_proxy(listener, egress).await });
        Proxy {
            port,
            program,
            _runtime: runtime,
        }
    }

    fn client(&self) -> TcpStream {
        TcpStream::connect(("127.0.0.1", self.port)).unwrap()
    }

    /// Sends one text, and returns all that comes back.
    fn says(&self, text: &str) -> String {
        let mut client = self.client();
        client.write_all(text.as_bytes()).unwrap();
        let mut answer = Vec::new();
        // A proxy that has read enough may reset the connection.
        let _ = client.read_to_end(&mut answer);
        String::from_utf8_lossy(&answer).into_owned()
    }

    /// Opens a tunnel.
    fn tunnel(&self, to: &str) -> TcpStream {
        let mut client = self.client();
        write!(
            client,
            "CONNECT {to} HTTP/1.1\r\nhost: elsewhere.example\r\n\r\n"
        )
        .unwrap();
        assert!(head_of(&mut client).starts_with("HTTP/1.1 200 "));
        client
    }

    /// Returns what was decided: the host and the port, or what was asked for, with the rule.
    fn decided(&self) -> Vec<String> {
        let decided = self.program.decided.lock().unwrap();
        let word = |decision: &EgressDecision| {
            let what = match (&decision.host, decision.port) {
                (Some(host), Some(port)) => format!("{host}:{port}"),
                _ => decision.asked.clone(),
            };
            format!(
                "{} {what} by {}",
                if decision.allowed { "allow" } else { "refuse" },
                decision.rule
            )
        };
        decided.iter().map(word).collect()
    }
}

fn program(records: bool) -> Arc<Program> {
    let admits = Only(&["page.example", "other.example", "moved.test", "127.0.0.1"]);
    Arc::new(Program {
        admits,
        decided: Mutex::default(),
        unreached: Mutex::default(),
        records,
    })
}

fn head_of(stream: &mut TcpStream) -> String {
    let (mut head, mut one) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") && stream.read(&mut one).unwrap() == 1 {
        head.push(one[0]);
    }
    String::from_utf8(head).unwrap()
}

/// A server that answers each connection in a thread of its own.
fn server(answer: impl Fn(TcpStream) + Clone + Send + 'static) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (answer, stream) = (answer.clone(), stream.unwrap());
            thread::spawn(move || answer(stream));
        }
    });
    port
}

/// A server that returns what it gets.
fn echo() -> u16 {
    server(|mut stream| {
        let mut back = stream.try_clone().unwrap();
        let _ = std::io::copy(&mut stream, &mut back);
        let _ = back.shutdown(Shutdown::Write);
    })
}

/// A server that answers with the head of the request.
fn mirror() -> u16 {
    server(|mut stream| {
        let head = head_of(&mut stream);
        let _ = write!(
            stream,
            "HTTP/1.1 200 OK\r\ncontent-length: {}\r\nkeep-alive: 5\r\n\r\n{head}",
            head.len()
        );
    })
}

/// Returns the first message of a client that wants to speak TLS with this host.
fn hello(name: &str) -> Vec<u8> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap();
    let config = builder
        .with_root_certificates(RootCertStore::empty())
        .with_no_client_auth();
    let mut client =
        ClientConnection::new(Arc::new(config), name.to_owned().try_into().unwrap()).unwrap();
    let mut bytes = Vec::new();
    client.write_tls(&mut bytes).unwrap();
    bytes
}

/// Sends bytes through a tunnel, and returns what comes back until its end.
fn through(mut tunnel: TcpStream, bytes: &[u8]) -> Vec<u8> {
    let _ = tunnel.write_all(bytes);
    let _ = tunnel.shutdown(Shutdown::Write);
    let mut back = Vec::new();
    let _ = tunnel.read_to_end(&mut back);
    back
}

#[test]
fn a_tunnel_leads_to_the_host_that_its_first_message_names() {
    let (proxy, port) = (Proxy::start(), echo());
    let message = [hello("page.example"), vec![7; 1 << 20]].concat();
    assert_eq!(
        through(proxy.tunnel(&format!("PAGE.example.:{port}")), &message),
        message
    );
    // In one piece with the request, and byte by byte.
    let mut client = proxy.client();
    let request = format!("CONNECT page.example:{port} HTTP/1.1\r\n\r\n").into_bytes();
    let message = hello("page.example");
    client
        .write_all(&[request.clone(), message.clone()].concat())
        .unwrap();
    assert!(head_of(&mut client).starts_with("HTTP/1.1 200 "));
    assert_eq!(through(client, b""), message);
    let mut client = proxy.client();
    client.set_nodelay(true).unwrap();
    request
        .iter()
        .for_each(|byte| client.write_all(&[*byte]).unwrap());
    assert!(head_of(&mut client).starts_with("HTTP/1.1 200 "));
    message
        .iter()
        .for_each(|byte| client.write_all(&[*byte]).unwrap());
    assert_eq!(through(client, b""), message);
    assert_eq!(
        proxy.decided(),
        [
            format!("allow page.example:{port} by r"),
            format!("allow page.example:{port} by r")
        ],
        "each spelling once"
    );
}

#[test]
fn a_tunnel_that_leads_elsewhere_is_closed() {
    let (proxy, port) = (Proxy::start(), echo());
    let to = format!("page.example:{port}");
    let plain = b"GET / HTTP/1.1\r\nhost: evil.example\r\n\r\n".to_vec();
    let mut long = vec![0x16, 3, 1, 0x40, 0, 1, 0, 0xff, 0xff];
    long.resize(1 << 20, 0);
    let expected = [
        (hello("evil.example"), "asks its server for `evil.example`"),
        (hello("127.0.0.1"), "does not name it to its server"),
        (plain, "has to begin with TLS"),
        (long, "has to begin with TLS"),
    ];
    for (message, reason) in expected {
        assert_eq!(through(proxy.tunnel(&to), &message), b"", "{reason}");
        let last = proxy
            .program
            .decided
            .lock()
            .unwrap()
            .last()
            .cloned()
            .unwrap();
        assert_eq!(
            (last.allowed, last.rule.as_str()),
            (false, "built-in:server-name")
        );
        assert!(last.reason.unwrap().contains(reason), "{reason}");
    }
    // An address has no name that could be asked for; the control.
    let message = hello("127.0.0.1");
    let proxy = Proxy::with(Names::default(), true);
    let answer = proxy.says(&format!("CONNECT 127.1:{port} HTTP/1.1\r\n\r\n"));
    assert!(
        answer.contains("127.0.0.1 is for this machine") && message.len() > 100,
        "{answer}"
    );
}

#[test]
fn what_names_another_host_or_none_is_refused_and_recorded() {
    let proxy = Proxy::start();
    let table = [
        ("github.com.evil.com:443", "github.com.evil.com:443 by r"),
        ("evilpage.example:443", "evilpage.example:443 by r"),
        (
            "page.example@evil.com:443",
            "…@evil.com:443 by built-in:host",
        ),
        (
            "evil.com#page.example:443",
            "evil.com#page.example:443 by built-in:host",
        ),
        (
            "evil.com?x=.page.example:443",
            "evil.com?x=.page.example:443 by built-in:host",
        ),
        (
            "evil.com\0.page.example:443",
            "evil.com\\u{0}.page.example:443 by built-in:host",
        ),
        (
            "evil.com page.example:443",
            "evil.com page.example:443 by built-in:host",
        ),
        ("page.example", "page.example by built-in:host"),
        ("0x7f.1:443", "127.0.0.1:443 by r"),
        ("[::1]:443", "[::1]:443 by r"),
        ("[::ffff:169.254.169.254]:80", "169.254.169.254:80 by r"),
    ];
    for (asked, _) in table {
        let answer = proxy.says(&format!("CONNECT {asked} HTTP/1.1\r\n\r\n"));
        assert!(
            answer.starts_with("HTTP/1.1 403 Forbidden\r\n")
                && answer.contains("\r\n\r\nrefused: "),
            "{answer}"
        );
    }
    let decided = proxy.decided();
    for expected in table.map(|(_, expected)| format!("refuse {expected}")) {
        // An address that is admitted by its name is only refused for where it leads.
        assert!(decided.contains(&expected), "{expected}: {decided:?}");
    }
    let plain = [
        "http://evil.com/",
        "http://page.example@evil.com/",
        "http://evil.com#page.example/",
    ];
    for url in plain {
        let answer = proxy.says(&format!(
            "GET {url} HTTP/1.1\r\nhost: page.example\r\nconnection: close\r\n\r\n"
        ));
        assert!(
            answer.starts_with("HTTP/1.1 403 ") || answer.starts_with("HTTP/1.1 400 "),
            "{url}: {answer}"
        );
    }
    assert!(
        !proxy
            .decided()
            .iter()
            .any(|line| line.starts_with("allow") && !line.contains("127.0.0.1"))
    );
}

#[test]
fn a_password_is_neither_recorded_nor_shown() {
    let proxy = Proxy::start();
    let plain = "GET http://ann:secret@page.example/ HTTP/1.1\r\nconnection: close\r\n\r\n";
    for text in [
        plain,
        "CONNECT ann:secret@page.example:443 HTTP/1.1\r\n\r\n",
        "CONNECT ann:secret@a b:1 HTTP/1.1\r\n\r\n",
    ] {
        let answer = proxy.says(text);
        assert!(
            answer.starts_with("HTTP/1.1 403 ") && answer.contains("refused: …@"),
            "{answer}"
        );
        assert!(!answer.contains("secret"), "{answer}");
    }
    let decided = proxy.program.decided.lock().unwrap();
    assert!(
        decided.len() == 3 && !format!("{decided:?}").contains("secret"),
        "{decided:?}"
    );
}

#[test]
fn each_request_of_a_connection_is_decided() {
    let (proxy, port) = (Proxy::start(), mirror());
    let get = |host: &str, more: &str| {
        format!("GET http://{host}/a?b HTTP/1.1\r\nhost: other.example\r\n{more}\r\n")
    };
    let to = format!("page.example:{port}");
    let several = get(
        &to,
        "proxy-authorization: x\r\nconnection: x-private\r\nx-private: 1\r\nx-own: 2\r\n",
    ) + &get("evil.com", "")
        + &get(&format!("other.example:{port}"), "connection: close\r\n");
    let answers = proxy.says(&several);
    // The control: on the same connection, what goes to allowed hosts is answered by their server.
    let statuses: Vec<&str> = answers
        .lines()
        .filter(|line| line.starts_with("HTTP/1.1 "))
        .collect();
    assert_eq!(
        statuses,
        [
            "HTTP/1.1 200 OK",
            "HTTP/1.1 403 Forbidden",
            "HTTP/1.1 200 OK"
        ],
        "{answers}"
    );
    // The server gets what is for it, and the host that was decided about.
    assert!(
        answers.contains("GET /a?b HTTP/1.1\r\n") && answers.contains("x-own: 2"),
        "{answers}"
    );
    assert!(answers.contains(&format!("host: {to}\r\n")), "{answers}");
    for gone in ["proxy-authorization", "x-private", "keep-alive"] {
        assert!(!answers.contains(gone), "{gone}: {answers}");
    }
    assert_eq!(
        proxy.decided(),
        [
            format!("allow {to} by r"),
            "refuse evil.com:80 by r".to_owned(),
            format!("allow other.example:{port} by r")
        ]
    );
}

#[test]
fn a_body_passes_in_both_directions() {
    let port = server(|mut stream| {
        let head = head_of(&mut stream).to_lowercase();
        let length = head
            .split("content-length: ")
            .nth(1)
            .and_then(|rest| rest.split("\r\n").next())
            .unwrap();
        let mut body = vec![0; length.parse().unwrap()];
        stream.read_exact(&mut body).unwrap();
        let chunk = format!("{:x}\r\n", body.len());
        let answer = [
            b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n",
            chunk.as_bytes(),
            &body,
            b"\r\n0\r\n\r\n",
        ];
        let _ = stream.write_all(&answer.concat());
    });
    let proxy = Proxy::start();
    let body = "x".repeat(3 << 20);
    let head = format!(
        "POST http://page.example:{port}/ HTTP/1.0\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    let answer = proxy.says(&(head + &body));
    assert!(answer.starts_with("HTTP/1.0 200 OK\r\n") || answer.starts_with("HTTP/1.1 200 OK\r\n"));
    assert_eq!(answer.split_once("\r\n\r\n").unwrap().1.len(), body.len());
}

#[test]
fn an_address_that_changes_is_not_dialled_and_not_asked_for_again() {
    let port = echo();
    let (public, private): (IpAddr, IpAddr) = (
        Ipv4Addr::new(203, 0, 113, 1).into(),
        Ipv4Addr::LOCALHOST.into(),
    );
    // `moved.test` is admitted by its name, but not to an address of this machine.
    let mut names = Names::default();
    names
        .of
        .insert("moved.test", vec![vec![private], vec![public, private]]);
    let proxy = Proxy::with(names, true);
    for asked in ["CONNECT moved.test", "GET http://moved.test"] {
        let (path, end) = if asked.starts_with("GET") {
            ("/", "connection: close\r\n")
        } else {
            ("", "")
        };
        let answer = proxy.says(&format!(
            "{asked}:{port}{path} HTTP/1.1\r\nhost: a\r\n{end}\r\n"
        ));
        assert!(
            answer.starts_with("HTTP/1.1 403 ") && answer.contains("is for"),
            "{answer}"
        );
    }
    let allow = format!("allow moved.test:{port} by r");
    assert_eq!(proxy.decided().first(), Some(&allow));
    assert!(
        proxy
            .decided()
            .contains(&format!("refuse moved.test:{port} by r")),
        "{:?}",
        proxy.decided()
    );
    // The control: a name that leads where it may is dialled, at the same server.
    let message = hello("page.example");
    assert_eq!(
        through(proxy.tunnel(&format!("page.example:{port}")), &message),
        message
    );
}

#[test]
fn nothing_is_reached_before_it_is_recorded() {
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let proxy = Proxy::with(Names::default(), false);
    let to = server.local_addr().unwrap().port();
    server.set_nonblocking(true).unwrap();
    for _ in 0..2 {
        let answer = proxy.says(&format!("CONNECT page.example:{to} HTTP/1.1\r\n\r\n"));
        assert!(
            answer.starts_with("HTTP/1.1 502 ") && answer.contains("not recorded: no journal"),
            "{answer}"
        );
    }
    assert!(server.accept().is_err(), "it was dialled");
    // What could not be recorded is not taken to be.
    assert_eq!(proxy.decided().len(), 2);
}

#[test]
fn a_program_cannot_ask_for_hosts_without_end() {
    let proxy = Proxy::start();
    for number in 0..230 {
        let answer = proxy.says(&format!(
            "CONNECT data-{number}.evil.com:443 HTTP/1.1\r\n\r\n"
        ));
        assert!(answer.starts_with("HTTP/1.1 403 "), "{answer}");
    }
    let decided = proxy.decided();
    assert_eq!(
        (decided.len(), decided.last().unwrap().as_str()),
        (201, "refuse data-200.evil.com:443 by built-in:many-hosts")
    );
}

#[test]
fn two_hundred_connections_are_served_at_once() {
    let (proxy, port) = (Proxy::start(), echo());
    let message = hello("page.example");
    let mut tunnels: Vec<TcpStream> = (0..200)
        .map(|_| proxy.tunnel(&format!("page.example:{port}")))
        .collect();
    for tunnel in &mut tunnels {
        tunnel.write_all(&message).unwrap();
    }
    for mut tunnel in tunnels {
        let mut back = vec![0; message.len()];
        tunnel.read_exact(&mut back).unwrap();
        assert_eq!(back, message);
    }
    assert_eq!(proxy.decided(), [format!("allow page.example:{port} by r")]);
}

#[test]
fn the_programs_of_a_process_share_its_connections() {
    let web =
        WebClient::resolving_with(Arc::new(Names::default())).sharing(ProxyConnections::new(3));
    let [greedy, other] = [(); 2].map(|()| Proxy::of(web.clone(), true));
    let to = format!("page.example:{}", echo());
    let mut tunnels: Vec<TcpStream> = (0..5).map(|_| greedy.tunnel(&to)).collect();
    let mut waiting = greedy.client();
    write!(waiting, "CONNECT {to} HTTP/1.1\r\n\r\n").unwrap();
    // Each program has two of its own.
    let _own = [(); 2].map(|()| other.tunnel(&to));
    let mut also_waiting = other.client();
    write!(also_waiting, "CONNECT {to} HTTP/1.1\r\n\r\n").unwrap();
    for stream in [&waiting, &also_waiting] {
        stream.set_nonblocking(true).unwrap();
        assert!(
            stream
                .peek(&mut [0])
                .is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
        );
        stream.set_nonblocking(false).unwrap();
    }
    // The five of one program contain the three that are shared, so both are served now.
    tunnels.clear();
    for stream in [&mut waiting, &mut also_waiting] {
        assert!(head_of(stream).starts_with("HTTP/1.1 200 "));
    }
}

#[test]
fn what_has_too_much_around_it_is_refused() {
    let proxy = Proxy::start();
    let fields = "x: y\r\n".repeat(101);
    let long = format!("x: {}\r\n", "y".repeat(300 << 10));
    for fields in [fields.as_str(), &long] {
        let answer = proxy.says(&format!(
            "CONNECT page.example:443 HTTP/1.1\r\n{fields}\r\n"
        ));
        assert_eq!(answer, "", "{}", answer.len());
        let answer = proxy.says(&format!(
            "GET http://page.example/ HTTP/1.1\r\n{fields}\r\n"
        ));
        assert!(
            answer.starts_with("HTTP/1.1 431 ") || answer.is_empty(),
            "{answer}"
        );
    }
    assert!(
        !proxy.decided().iter().any(|line| line.starts_with("allow")),
        "{:?}",
        proxy.decided()
    );
    let many = server(|mut stream| {
        head_of(&mut stream);
        let _ = write!(
            stream,
            "HTTP/1.1 200 OK\r\n{}content-length: 0\r\n\r\n",
            "x: y\r\n".repeat(10_000)
        );
    });
    let chunks = server(|mut stream| {
        head_of(&mut stream);
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n");
        let _ = stream.write_all("f".repeat(1 << 20).as_bytes());
    });
    let get = |port: u16| {
        format!("GET http://page.example:{port}/ HTTP/1.1\r\nconnection: close\r\n\r\n")
    };
    let answer = proxy.says(&get(many));
    assert!(answer.starts_with("HTTP/1.1 502 "), "{answer}");
    let answer = proxy.says(&get(chunks));
    assert!(answer.len() < 1_000 && !answer.contains("ffff"), "{answer}");
    let bomb = format!(
        "POST http://page.example:{} HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n",
        mirror()
    );
    let answer = proxy.says(&(bomb + &"f".repeat(1 << 20)));
    assert!(answer.len() < 2_000, "{answer}");
    // The control: nearly as many fields as are allowed do no harm, and the answer comes back.
    let few = "x: y\r\n".repeat(90);
    let answer = proxy.says(&format!(
        "GET http://page.example:{}/ HTTP/1.1\r\n{few}connection: close\r\n\r\n",
        mirror()
    ));
    assert!(
        answer.starts_with("HTTP/1.1 200 ") && answer.contains("x: y"),
        "{answer}"
    );
}

/// The clock runs ahead as soon as every task waits.
#[tokio::test(start_paused = true)]
async fn a_program_that_is_slow_is_let_go() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let upstream = TcpListener::bind("127.0.0.1:0").unwrap();
    let egress: Arc<dyn Egress> = program(true);
    let web = WebClient::resolving_with(Arc::new(Names::default()));
    let serving = web.serve_proxy(listener, egress);
    let to = upstream.local_addr().unwrap().port();
    let slow = async {
        let tunnel = format!("CONNECT page.example:{to} HTTP/1.1\r\n\r\n");
        for begin in [
            "",
            "CON",
            "CONNECT page.example:443 HTTP/1.1\r\nx: y",
            "GET http://page.example/ HT",
            &tunnel,
        ] {
            let mut client = tokio::net::TcpStream::connect(address).await.unwrap();
            client.write_all(begin.as_bytes()).await.unwrap();
            let mut answer = Vec::new();
            // It ends, in whichever way.
            let _ = client.read_to_end(&mut answer).await;
            let answer = String::from_utf8(answer).unwrap();
            // The control: a request that is complete is answered; it is let go since nothing
            // follows.
            assert_eq!(
                answer.contains(" 200 "),
                begin == tunnel,
                "{begin}: {answer}"
            );
        }
    };
    tokio::select! {
        () = slow => {}
        ended = serving => panic!("{ended:?}"),
    }
}

#[test]
fn what_may_be_reached_and_cannot_is_noted() {
    let proxy = Proxy::start();
    let closed = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let answer = proxy.says(&format!(
        "GET http://page.example:{closed}/ HTTP/1.1\r\nconnection: close\r\n\r\n"
    ));
    assert!(answer.starts_with("HTTP/1.1 502 "), "{answer}");
    let unreached = proxy.program.unreached.lock().unwrap().clone();
    assert!(
        unreached.len() == 1 && unreached[0].starts_with(&format!("page.example:{closed}: ")),
        "{unreached:?}"
    );
}
