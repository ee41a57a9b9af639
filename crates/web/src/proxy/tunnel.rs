//! A tunnel: what `CONNECT` asks for, once its first message shows that it leads to the host that
//! was decided about.

use std::io::{self, ErrorKind};
use std::time::Duration;

use hyper::StatusCode;
use orchestrate_core::policy::egress::EgressDecision;
use orchestrate_core::policy::host::{Host, WebUrl};
use rustls::server::Acceptor;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional_with_sizes};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::client::Client;
use super::connector::{Connector, Refusal};
use super::head::Target;

/// How long a program may take for the head of its request, and then for the first message in a
/// tunnel.
pub(super) const HEAD_TIME: Duration = Duration::from_secs(10);
/// Maximum size of that first message in bytes: those with keys of new kinds have two thousand.
const MAX_HELLO: usize = 32 << 10;
/// The size of the buffers of a tunnel in bytes, one for each direction.
const BUFFER: usize = 64 << 10;
/// The rule that a tunnel leads to the host that was decided about.
const SERVER_NAME: &str = "built-in:server-name";

/// The first message in a tunnel.
struct Hello {
    /// The message as it came, and what came with it.
    bytes: Vec<u8>,
    /// The host that it asks for; `None` if it asks for none.
    name: Option<String>,
}

/// Answers a connection that begins with `CONNECT`.
pub(super) async fn tunnel(mut client: Client, connector: &Connector) -> io::Result<()> {
    let target = timeout(HEAD_TIME, Target::read(&mut client)).await??;
    let (url, mut server) = match open(&target, connector).await {
        Ok(opened) => opened,
        Err(refusal) => return refuse(&mut client, &refusal).await,
    };
    client
        .write_all(b"HTTP/1.1 200 Connection established\r\n\r\n")
        .await?;
    let hello = timeout(HEAD_TIME, hello(&mut client)).await?;
    if hello
        .as_ref()
        .is_err_and(|error| error.kind() == ErrorKind::UnexpectedEof)
    {
        return Ok(());
    }
    let refused = match &hello {
        Ok(hello) => mismatch(url.host(), hello.name.as_deref()),
        Err(error) => Some(format!(
            "a tunnel has to begin with TLS, and this one does not: {error}"
        )),
    };
    if let Some(reason) = refused {
        let decision = EgressDecision::refused(&target.asked, SERVER_NAME, reason);
        // The tunnel is open already, so nothing can be answered in it.
        let _ = connector
            .refuse(decision.about(url.host().to_string(), url.port()))
            .await;
        return Ok(());
    }
    server.write_all(&hello?.bytes).await?;
    copy_bidirectional_with_sizes(&mut client, &mut server, BUFFER, BUFFER)
        .await
        .map(drop)
}

/// Connects to what `CONNECT` asks for.
async fn open<'t>(
    target: &'t Target,
    connector: &Connector,
) -> Result<(&'t WebUrl, TcpStream), Refusal> {
    match &target.url {
        Ok(url) => Ok((url, connector.connect(&target.asked, url).await?)),
        Err(reason) => Err(connector.refuse_name(&target.asked, reason).await),
    }
}

async fn refuse(client: &mut Client, Refusal { status, text }: &Refusal) -> io::Result<()> {
    let reason = StatusCode::from_u16(*status)
        .ok()
        .and_then(|status| status.canonical_reason())
        .unwrap_or("");
    let length = text.len();
    let answer = format!(
        "HTTP/1.1 {status} {reason}\r\ncontent-type: text/plain; charset=utf-8\r\ncontent-length: \
         {length}\r\n\
         connection: close\r\n\r\n{text}"
    );
    client.write_all(answer.as_bytes()).await?;
    client.shutdown().await
}

/// Reads the first message in a tunnel.
async fn hello(client: &mut Client) -> io::Result<Hello> {
    let (mut acceptor, mut bytes) = (Acceptor::default(), Vec::new());
    while bytes.len() < MAX_HELLO {
        let before = bytes.len();
        if client.read_buf(&mut bytes).await? == 0 {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        let (_, mut new) = bytes.split_at(before);
        while !new.is_empty() {
            acceptor.read_tls(&mut new)?;
            match acceptor.accept() {
                Ok(Some(accepted)) => {
                    let name = accepted.client_hello().server_name().map(str::to_owned);
                    return Ok(Hello { bytes, name });
                }
                Ok(None) => {}
                Err((error, _)) => return Err(invalid(error.to_string())),
            }
        }
    }
    Err(invalid(format!(
        "its first message is longer than {MAX_HELLO} bytes"
    )))
}

fn invalid(cause: String) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, cause)
}

/// Returns why the name that a tunnel asks a server for is not the host that was decided about. A
/// host that is an address has no name to ask for.
fn mismatch(host: &Host, name: Option<&str>) -> Option<String> {
    match (host, name) {
        (Host::Address(_), None) => None,
        (Host::Name(_), None) => Some(format!(
            "the tunnel to `{host}` does not name it to its server"
        )),
        (_, Some(name)) if Host::parse(name).as_ref() == Ok(host) => None,
        (_, Some(name)) => Some(format!(
            "the tunnel to `{host}` asks its server for `{name}`"
        )),
    }
}
