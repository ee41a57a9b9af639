//! The authorities that the user's environment names, for the endpoint of a model and for the tools
//! of the web.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use libtest_mimic::Failed;
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::json;

use crate::support::{Case, Outcome, Script, World, done, on, sandboxed, says};

pub(crate) fn cases() -> Vec<Case> {
    vec![sandboxed!(model_and_tools_trust_what_the_environment_names)]
}

/// A certificate for `localhost`, of an authority whose key is nowhere and which nothing but this
/// test trusts. Both were made by openssl.
const CERTIFICATE: &[u8] = include_bytes!("../support/certificates/localhost.der");
const KEY: &[u8] = include_bytes!("../support/certificates/localhost.key.der");
const AUTHORITY: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/tests/support/certificates/ca.pem"
);

const ROLE: &str = "---\nname: looker\ndescription: Looks.\ntools: WebFetch\n---\nLook.\n";

/// A server that speaks TLS: a page, and the endpoint of a model that fetches it.
struct SecureServer {
    port: u16,
    asked: Arc<Mutex<Vec<String>>>,
}

impl SecureServer {
    fn start() -> Result<SecureServer, Failed> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder =
            ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
        let chain = vec![CertificateDer::from(CERTIFICATE)];
        let config = builder
            .with_no_client_auth()
            .with_single_cert(chain, PrivatePkcs8KeyDer::from(KEY).into())?;
        let (config, asked) = (Arc::new(config), Arc::<Mutex<Vec<String>>>::default());
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let (port, seen) = (listener.local_addr()?.port(), Arc::clone(&asked));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let Ok(connection) = ServerConnection::new(Arc::clone(&config)) else {
                    continue;
                };
                let mut reader = BufReader::new(StreamOwned::new(connection, stream));
                // A client that does not trust the certificate ends the connection.
                let Some((line, body)) = request(&mut reader) else {
                    continue;
                };
                seen.lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .push(line.clone());
                let stream = reader.get_mut();
                let _ = stream.write_all(answer(&line, &body, port).as_bytes());
                stream.conn.send_close_notify();
                let _ = stream.flush();
            }
        });
        Ok(SecureServer { port, asked })
    }

    /// Returns the lines of the requests so far.
    fn asked(&self) -> Vec<String> {
        self.asked
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

/// Reads a request; `None` if there is none.
fn request(reader: &mut impl std::io::BufRead) -> Option<(String, String)> {
    let lines: Vec<String> = reader
        .lines()
        .map_while(Result::ok)
        .take_while(|line| !line.is_empty())
        .collect();
    let length = lines.iter().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length")
            .then(|| value.trim().parse().ok())?
    });
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body).ok()?;
    Some((lines.first()?.clone(), String::from_utf8(body).ok()?))
}

fn answer(line: &str, body: &str, port: u16) -> String {
    let (kind, content) = if line.starts_with("GET /page ") {
        ("text/html", "<h1>A page over TLS</h1>".to_owned())
    } else if line.contains("/models ") {
        (
            "application/json",
            json!({"data": [{"id": "test"}]}).to_string(),
        )
    } else {
        let arguments = json!({"url": format!("https://localhost:{port}/page")}).to_string();
        let call = json!({"id": "c1", "type": "function", "function": {"name": "WebFetch", "arguments": arguments}});
        let message = match (
            body.contains("tool_call_id"),
            body.contains("A page over TLS"),
        ) {
            (false, _) => json!({"role": "assistant", "content": "", "tool_calls": [call]}),
            (true, true) => json!({"role": "assistant", "content": "The page was read."}),
            (true, false) => json!({"role": "assistant", "content": "There was no page."}),
        };
        let choice = json!({"index": 0, "message": message, "finish_reason": "stop"});
        (
            "application/json",
            json!({"object": "chat.completion", "choices": [choice]}).to_string(),
        )
    };
    let length = content.len();
    format!(
        "HTTP/1.1 200 X\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{content}"
    )
}

fn model_and_tools_trust_what_the_environment_names() -> Outcome {
    let (server, world) = (SecureServer::start()?, World::plain()?);
    world.repository.write("agents/looker.md", ROLE)?;
    world
        .repository
        .write("plan.md", "- [ ] T1 Look (agent: looker)\n")?;
    world.repository.commit_all("Add a role")?;
    let config = world.home.path().join("config/orchestrate");
    std::fs::create_dir_all(&config)?;
    std::fs::write(
        config.join("config.toml"),
        "[tools.web_requests]\nallowed_domains = [\"localhost\"]\n",
    )?;
    let base = format!("https://localhost:{}/v1", server.port);
    let typed = |arguments: &[&str]| {
        let typed = world
            .orchestrate(arguments)
            .env("OPENAI_BASE_URL", &base)
            .env("OPENAI_API_KEY", "key-0123abcd");
        // The machine's own authorities do not count beside those that are named, and a machine may
        // have none.
        move |authority: &Path| {
            typed
                .env("SSL_CERT_FILE", authority)
                .env("SSL_CERT_DIR", "")
        }
    };
    let (none, named) = (world.home.path().join("none.pem"), Path::new(AUTHORITY));
    std::fs::write(&none, "")?;
    let script = Script::default()
        .rule(on("T1", 1).call(
            "WebFetch",
            &json!({"url": format!("https://localhost:{}/page", server.port)}),
        ))
        .rule(
            on("T1", 2)
                .last_contains("TLS is not set up: ")
                .text("There was no page."),
        )
        .rule(done("T1"));
    let model = world.script(&script)?;
    let ran = typed(&["run", "plan.md", "--model", &model])(&none)
        .run()?
        .exits(0)?;
    says(&ran, &["There was no page."])?;
    assert!(server.asked().is_empty(), "{:?}", server.asked());
    let ran = typed(&[
        "run",
        "plan.md",
        "--model",
        "openai/test",
        "--no-write-back",
    ])(named)
    .run()?
    .exits(0)?;
    says(&ran, &["The page was read."])?;
    let asked = server.asked();
    let expected = [
        "POST /v1/chat/completions HTTP/1.1",
        "GET /page HTTP/1.1",
        "POST /v1/chat/completions HTTP/1.1",
    ];
    assert_eq!(asked, expected);
    Ok(())
}
