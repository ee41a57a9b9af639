//! The web client before servers that speak TLS. The authority and its certificates for
//! `page.example`, one of them expired, were made by openssl; the authority's key is nowhere, and
//! nothing but these tests trusts it.

use std::io::Write as _;
use std::net::TcpListener;
use std::sync::{Arc, Mutex};

use orchestrate_core::policy::host::WebUrl;
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use rustls::{RootCertStore, ServerConfig, ServerConnection, StreamOwned};

use super::{Names, Only, Server, answers, head_of, reason, request, run};
use crate::dial::Dialer;
use crate::{Key, Resolve, WebClient};

const AUTHORITY: &[u8] = include_bytes!("certificates/ca.der");
const CERTIFICATE: &[u8] = include_bytes!("certificates/page.der");
const EXPIRED: &[u8] = include_bytes!("certificates/expired.der");
const KEY: &[u8] = include_bytes!("certificates/page.key.der");
const ANSWER: &str = "HTTP/1.1 200 X\r\ncontent-length: 5\r\n\r\nhello";

/// A server that answers each request with the same text. It ends with the test's process.
struct SecureServer {
    port: u16,
    asked: Arc<Mutex<Vec<String>>>,
}

impl SecureServer {
    /// Starts a server; `says_end` says whether it ends its connections as TLS demands.
    fn start(certificate: &'static [u8], answer: String, says_end: bool) -> SecureServer {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap();
        let chain = vec![CertificateDer::from(certificate)];
        let config = builder
            .with_no_client_auth()
            .with_single_cert(chain, PrivatePkcs8KeyDer::from(KEY).into());
        let config = Arc::new(config.unwrap());
        let asked = Arc::<Mutex<Vec<String>>>::default();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (port, seen) = (listener.local_addr().unwrap().port(), Arc::clone(&asked));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let connection = ServerConnection::new(Arc::clone(&config)).unwrap();
                let mut stream = StreamOwned::new(connection, stream.unwrap());
                // A client that does not trust the certificate ends the connection.
                let Some(head) = head_of(&mut stream) else {
                    continue;
                };
                seen.lock().unwrap().push(head);
                let _ = stream.write_all(answer.as_bytes());
                if says_end {
                    stream.conn.send_close_notify();
                }
                let _ = stream.flush();
            }
        });
        SecureServer { port, asked }
    }

    fn url(&self, host: &str) -> WebUrl {
        WebUrl::parse(&format!("https://{host}:{}/", self.port)).unwrap()
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

/// Returns a web client that trusts the authority alone.
fn trusting() -> WebClient {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from(AUTHORITY)).unwrap();
    WebClient::dialling_with(Dialer::trusting(Arc::new(Names::default()), roots).unwrap())
}

fn fetch(web: &WebClient, url: WebUrl) -> String {
    reason(run(web.fetch(
        &request(url),
        None,
        &Only(&["page.example", "other.example"]),
    )))
}

#[test]
fn a_page_is_fetched_over_tls() {
    let server = SecureServer::start(CERTIFICATE, ANSWER.to_owned(), true);
    assert_eq!(fetch(&trusting(), server.url("page.example")), "200 hello");
    assert!(
        server.asked()[0].contains(&format!("\r\nhost: page.example:{}\r\n", server.port)),
        "{:?}",
        server.asked()
    );
}

#[test]
fn a_certificate_has_to_be_trusted_valid_and_of_the_host() {
    let server = SecureServer::start(CERTIFICATE, ANSWER.to_owned(), true);
    let expired = SecureServer::start(EXPIRED, ANSWER.to_owned(), true);
    let plain = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = plain.local_addr().unwrap().port();
    std::thread::spawn(move || {
        plain
            .accept()
            .unwrap()
            .0
            .write_all(b"HTTP/1.1 400 X\r\n\r\n")
    });
    let plain = WebUrl::parse(&format!("https://page.example:{port}/")).unwrap();
    for (url, expected) in [
        (
            server.url("other.example"),
            "no secure connection to other.example: invalid peer certificate",
        ),
        (
            expired.url("page.example"),
            "no secure connection to page.example: invalid peer certificate",
        ),
        (plain, "no secure connection to page.example: "),
    ] {
        let said = fetch(&trusting(), url);
        assert!(said.starts_with(expected), "{said}");
    }
    // The authorities of this machine do not include the test's; a machine may have none at all.
    let web = WebClient::resolving_with(Arc::new(Names::default()) as Arc<dyn Resolve>);
    let said = fetch(&web, server.url("page.example"));
    let is_refused = said.contains("no secure connection to page.example: ")
        || said.contains("TLS is not set up");
    assert!(is_refused, "{said}");
    assert_eq!(
        (server.asked(), expired.asked()),
        (vec![], vec![]),
        "nothing is asked of a server that is not known"
    );
}

/// What cuts a connection must not make a page shorter than it is.
#[test]
fn content_that_is_cut_off_is_no_response() {
    let unmeasured = "HTTP/1.1 200 X\r\n\r\nhello".to_owned();
    let honest = SecureServer::start(CERTIFICATE, unmeasured.clone(), true);
    assert_eq!(fetch(&trusting(), honest.url("page.example")), "200 hello");
    let cut = SecureServer::start(CERTIFICATE, unmeasured, false);
    let said = fetch(&trusting(), cut.url("page.example"));
    assert!(said.starts_with("the connection broke: "), "{said}");
}

#[test]
fn a_key_does_not_follow_to_a_connection_without_tls() {
    let plain = Server::start(vec![("/end", answers(200, "", "here"))]);
    let location = format!("http://page.example:{}/end", plain.port);
    let redirect = format!("HTTP/1.1 302 X\r\nlocation: {location}\r\ncontent-length: 0\r\n\r\n");
    let server = SecureServer::start(CERTIFICATE, redirect, true);
    let key = Key {
        field: "authorization",
        value: "Bearer secret".to_owned(),
    };
    let (web, asked) = (trusting(), request(server.url("page.example")));
    assert_eq!(
        reason(run(web.fetch(&asked, Some(&key), &Only(&["page.example"])))),
        "200 here"
    );
    assert!(
        server.asked()[0].contains("authorization: Bearer secret\r\n"),
        "{:?}",
        server.asked()
    );
    assert!(!plain.asked()[0].contains("secret"), "{:?}", plain.asked());
}
