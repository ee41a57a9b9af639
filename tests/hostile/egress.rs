//! Attacks on the proxy of a command's network, in whole runs: other hosts, other spellings, ways
//! past it, and tunnels that lead elsewhere. The rows are N1, N2, N3, N5, N8 and N9 of the list of
//! attacks; the others, which need servers or names of their own, are tests of the crate that
//! serves the proxy.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::sync::{Arc, Mutex, PoisonError};

use libtest_mimic::Failed;
use orchestrate_coordinator::{ConfinementChoice, Settings};

use orchestrate_core::event::Event;
use orchestrate_core::policy::egress::EgressDecision;
use orchestrate_core::policy::{RuleDecision, RuleText};
use orchestrate_sandbox::Confinement;
use serde_json::json;

use crate::support::{Case, Outcome, Played, Script, World, case, client_hello, done, on, write};

pub(crate) fn cases() -> Vec<Case> {
    type Attack = fn(Confinement) -> Outcome;
    let attacks: [(&str, Attack); 4] = [
        (
            "a_program_reaches_no_other_host",
            a_program_reaches_no_other_host,
        ),
        ("a_spelling_is_no_other_host", a_spelling_is_no_other_host),
        (
            "a_program_does_not_go_past_its_proxy",
            a_program_does_not_go_past_its_proxy,
        ),
        ("a_tunnel_leads_nowhere_else", a_tunnel_leads_nowhere_else),
    ];
    let tiers = [
        (Confinement::Full, "full"),
        (Confinement::Fallback, "fallback"),
    ];
    let in_tier = |(tier, word): (Confinement, &'static str)| {
        attacks.map(|(name, attack)| {
            case(format!("attacks::{name}_{word}"), move || attack(tier)).in_tier(tier)
        })
    };
    tiers.into_iter().flat_map(in_tier).collect()
}

/// What a server answers to HTTP, and to the begin of TLS.
const PAGE: &str = "the page was reached";
const TUNNEL: &str = "the tunnel was reached";

/// A server of this machine, which notes the first line of each request.
struct Server {
    port: u16,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Server {
    fn start() -> Result<Server, Failed> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let port = listener.local_addr()?.port();
        let asked: Arc<Mutex<Vec<String>>> = Arc::default();
        let seen = Arc::clone(&asked);
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let line = answer(&mut stream).unwrap_or_else(|error| error.to_string());
                seen.lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .push(line);
            }
        });
        Ok(Server { port, asked })
    }

    fn asked(&self) -> Vec<String> {
        self.asked
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

/// Answers one connection, and returns what it asked for.
fn answer(stream: &mut TcpStream) -> std::io::Result<String> {
    let (mut read, mut one) = (Vec::new(), [0]);
    while !read.ends_with(b"\r\n\r\n") && read.first() != Some(&0x16) {
        if stream.read(&mut one)? == 0 {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        read.push(one[0]);
    }
    if read.first() == Some(&0x16) {
        // The rest of the message arrives with it, and what is left unread would reset the
        // connection.
        let _ = stream.read(&mut [0; 4096])?;
        stream.write_all(TUNNEL.as_bytes())?;
        return Ok("TLS".to_owned());
    }
    let head = String::from_utf8_lossy(&read).into_owned();
    let away = if head.contains(" /away ") {
        "302 X\r\nlocation: http://127.0.0.1/\r\n"
    } else {
        "200 X\r\n"
    };
    write!(
        stream,
        "HTTP/1.1 {away}content-length: {}\r\nconnection: close\r\n\r\n{PAGE}",
        PAGE.len()
    )?;
    Ok(head.lines().next().unwrap_or_default().to_owned())
}

/// The user lists one host of this machine, and lets programs use the network.
fn online(settings: &mut Settings, tier: Confinement) {
    settings.confinement = ConfinementChoice::Exactly(tier);
    settings.run.tool_settings.web_requests.allowed_domains = vec!["localhost".to_owned()];
    let rules = [
        (RuleDecision::Allow, "network_access"),
        (RuleDecision::Deny, "network_access(*.evil.example)"),
    ];
    settings.run.rules = rules
        .map(|(decision, rule)| RuleText::new(decision, rule.to_owned(), "--rule"))
        .to_vec();
    settings.run.ask_parks = false;
}

/// Runs lines of bash with a network; `ask` sends its first word to the proxy and prints the
/// answer, and every line that is printed stands in the file `said`.
fn play(tier: Confinement, lines: &str) -> Result<(World, Played), Failed> {
    let world = World::lived_in()?;
    // Sent as a whole: bash writes line by line, and dies of a connection that is closed meanwhile.
    let script = format!(
        "ask() {{ printf '%b' \"$1\" > asked; exec 3<>/dev/tcp/127.0.0.1/3128 && cat asked >&3 && timeout 20 cat <&3; \
        exec 3>&-; echo; }}\n\
        connect() {{ ask \"CONNECT $1 HTTP/1.1\\r\\n\\r\\n$2\"; }}\n\
        get() {{ ask \"GET $1 HTTP/1.1\\r\\nhost: a\\r\\nconnection: close\\r\\n\\r\\n\"; }}\n\
        {{ {lines}\n}} > said 2>&1; tr -d '\\0' < said > said.txt; rm said asked"
    );
    let command = json!({"command": "bash run.sh", "network": true});
    let script = Script::default()
        .rule(write("T1", "run.sh", &script))
        .rule(on("T1", 2).call("run_shell_command", &command))
        .rule(done("T1"));
    let played = world.play("- [ ] T1 connect\n", &script, |settings| {
        online(settings, tier)
    })?;
    played.require_merged(&["T1"])?;
    Ok((world, played))
}

fn said(world: &World, played: &Played) -> Result<String, Failed> {
    world
        .merged(&played.report, "said.txt")
        .map_err(|_| Failed::from(played.story()))
}

fn decisions(played: &Played) -> Vec<EgressDecision> {
    played.pick(|event| match event {
        Event::EgressDecided(decided) => Some(decided.decision.clone()),
        _ => None,
    })
}

/// Requires that each of these was refused, and recorded as it was written and in its one form.
fn require_refused(played: &Played, refused: &[(&str, Option<&str>)]) -> Outcome {
    let decided = decisions(played);
    for (asked, host) in refused {
        let is_it = |made: &&EgressDecision| {
            made.asked == *asked && made.host.as_deref() == *host && !made.allowed
        };
        assert!(
            decided
                .iter()
                .find(is_it)
                .is_some_and(|made| made.reason.is_some()),
            "{asked} as {host:?} is not among {decided:#?}"
        );
    }
    Ok(())
}

fn a_program_reaches_no_other_host(tier: Confinement) -> Outcome {
    let server = Server::start()?;
    let port = server.port;
    let table = [
        (
            format!("localhost.evil.example:{port}"),
            Some("localhost.evil.example"),
        ),
        (format!("localhost@a.evil.example:{port}"), None),
        (format!("a.evil.example#localhost:{port}"), None),
        (format!("a.evil.example?x=.localhost:{port}"), None),
        ("localhost".to_owned(), None),
    ];
    // The control: the host that the user lists is reached, and what it redirects to is decided
    // again.
    let mut lines = format!("get http://localhost:{port}/page; get http://localhost:{port}/away; ");
    lines.extend(
        table
            .iter()
            .map(|(asked, _)| format!("connect '{asked}'; ")),
    );
    let (world, played) = play(tier, &lines)?;
    let said = said(&world, &played)?;
    let reached = said.matches(PAGE).count();
    assert!(
        reached == 2
            && said.matches("HTTP/1.1 403 ").count() == table.len()
            && server.asked().len() == 2,
        "{said}\n{:?}",
        server.asked()
    );
    // What stands before an `@` may be a password, and is recorded nowhere.
    let recorded = table
        .each_ref()
        .map(|(asked, host)| (asked.replace("localhost@", "…@"), *host));
    let expected: Vec<(&str, Option<&str>)> = recorded
        .iter()
        .map(|(asked, host)| (asked.as_str(), *host))
        .collect();
    require_refused(&played, &expected)?;
    let result = played.results("T1")?.remove(1);
    let told = format!("the network refused {}", table[0].0);
    assert!(result.contains(&told), "{result}");
    Ok(())
}

fn a_spelling_is_no_other_host(tier: Confinement) -> Outcome {
    let server = Server::start()?;
    let port = server.port;
    let spellings = [
        "127.0.0.1",
        "127.1",
        "0x7f.1",
        "2130706433",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "0.0.0.0",
    ];
    let others = [
        "169.254.169.254",
        "[::ffff:169.254.169.254]",
        "10.0.0.1",
        "[fe80::1]",
        "[fd00::1]",
        "100.64.0.1",
    ];
    let refused: Vec<&str> = spellings.into_iter().chain(others).collect();
    // The control: one name of this machine is what the user lists, in any case of its letters.
    let mut lines = format!("get http://LOCALHOST.:{port}/page; ");
    lines.extend(
        refused
            .iter()
            .map(|host| format!("connect '{host}:443'; get 'http://{host}:{port}/'; ")),
    );
    let (world, played) = play(tier, &lines)?;
    let said = said(&world, &played)?;
    assert!(
        said.matches(PAGE).count() == 1
            && said.matches("HTTP/1.1 403 ").count() == 2 * refused.len(),
        "{said}"
    );
    require_refused(
        &played,
        &[
            ("127.1:443", Some("127.0.0.1")),
            ("[::ffff:169.254.169.254]:443", Some("169.254.169.254")),
        ],
    )?;
    assert_eq!(server.asked(), ["GET /page HTTP/1.1"]);
    Ok(())
}

fn a_program_does_not_go_past_its_proxy(tier: Confinement) -> Outcome {
    let server = Server::start()?;
    let (port, datagrams) = (server.port, UdpSocket::bind("127.0.0.1:0")?);
    datagrams.set_nonblocking(true)?;
    let udp = datagrams.local_addr()?.port();
    // The control: the proxy reaches the server.
    let lines = format!(
        "get http://localhost:{port}/page; exec 4<>/dev/tcp/127.0.0.1/{port} && echo past; \
        exec 5<>/dev/tcp/localhost/{port} && echo past; echo canary > /dev/udp/127.0.0.1/{udp}; \
        exec 6<>/dev/tcp/1.1.1.1/443 && echo past; getent hosts example.org && echo resolved; \
        if command -v curl; then curl -sS --noproxy '*' http://localhost:{port}/past; fi"
    );
    let (world, played) = play(tier, &lines)?;
    let said = said(&world, &played)?;
    let is_silent = datagrams
        .recv(&mut [0; 16])
        .is_err_and(|error| error.kind() == ErrorKind::WouldBlock);
    assert_eq!(said.matches(PAGE).count(), 1, "{said}");
    assert!(!said.contains("past\n"), "{said}");
    assert!(!said.contains("resolved"), "{said}");
    assert!(is_silent, "{said}");
    assert_eq!(server.asked(), ["GET /page HTTP/1.1"]);
    Ok(())
}

/// Returns bytes as `printf %b` reads them.
fn escaped(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("\\x{byte:02x}")).collect()
}

fn a_tunnel_leads_nowhere_else(tier: Confinement) -> Outcome {
    let server = Server::start()?;
    let port = server.port;
    let hello = |host| escaped(&client_hello(host));
    let (own, other, none) = (
        hello(Some("localhost")),
        hello(Some("evil.example")),
        hello(None),
    );
    // The control: a tunnel that names its own host.
    let lines = format!(
        "connect localhost:{port} '{own}'; connect localhost:{port} '{other}'; connect localhost:{port} '{none}'; \
        connect localhost:{port} 'GET /inside HTTP/1.1\\r\\nhost: evil.example\\r\\n\\r\\n'; connect example.org:25 '{own}'"
    );
    let (world, played) = play(tier, &lines)?;
    let said = said(&world, &played)?;
    let reached = (
        said.matches(TUNNEL).count(),
        said.matches(" 200 Connection established").count(),
    );
    assert!(
        reached == (1, 4) && said.contains("port 25 of `example.org` is not one of the web's"),
        "{said}"
    );
    let of_names = decisions(&played)
        .into_iter()
        .filter(|made| made.rule == "built-in:server-name")
        .count();
    let asked = server.asked();
    let is_silent = asked.iter().filter(|line| *line == "TLS").count() == 1
        && !asked.iter().any(|line| line.contains("GET"));
    assert_eq!(of_names, 3, "{asked:?} {:#?}", decisions(&played));
    assert!(is_silent, "{asked:?} {:#?}", decisions(&played));
    Ok(())
}
