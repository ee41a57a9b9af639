//! Resolves a host once, asks about each address, and connects to one that was admitted.

use std::fmt::Display;
use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs as _};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use orchestrate_core::policy::host::{Host, WebUrl};
use orchestrate_core::policy::web::{Destinations, WebFailure};
use rustls::client::WantsClientCert;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ConfigBuilder, WantsVerifier};
use rustls_platform_verifier::BuilderVerifierExt as _;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::{OnceCell, Semaphore};
use tokio_rustls::TlsConnector;

/// How long one address may take to answer before the next one is tried.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a name may take to be resolved.
const RESOLVE_TIMEOUT: Duration = Duration::from_secs(10);
/// How many names this process resolves at once: each occupies a thread until the system's resolver
/// gives up, however early the caller does.
static RESOLVING: Semaphore = Semaphore::const_new(32);
/// Maximum number of addresses of one host that are tried.
const MAX_ADDRESSES: usize = 4;

/// The addresses of a name, once they are known.
pub type Addresses<'a> = Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send + 'a>>;

/// Resolves names.
pub trait Resolve: Send + Sync {
    /// Returns the addresses of a name, the best first.
    fn resolve<'a>(&'a self, name: &'a str) -> Addresses<'a>;
}

/// Resolves names as every program of this machine does.
pub struct SystemResolver;

impl Resolve for SystemResolver {
    fn resolve<'a>(&'a self, name: &'a str) -> Addresses<'a> {
        Box::pin(async move {
            let permit = RESOLVING.acquire().await.map_err(io::Error::other)?;
            let name = name.to_owned();
            // The thread goes on when its result is no longer awaited.
            let resolving = tokio::task::spawn_blocking(move || {
                let _permit = permit;
                Ok((name.as_str(), 0)
                    .to_socket_addrs()?
                    .map(|address| address.ip())
                    .collect())
            });
            resolving.await.map_err(io::Error::other)?
        })
    }
}

/// A connection, encrypted or not.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

/// Connects to hosts.
pub(crate) struct Dialer {
    resolver: Arc<dyn Resolve>,
    /// Reading the machine's certificates takes a while, so it is done once, for the first
    /// connection that needs them.
    tls: OnceCell<TlsConnector>,
}

impl Dialer {
    pub(crate) fn new(resolver: Arc<dyn Resolve>) -> Dialer {
        Dialer {
            resolver,
            tls: OnceCell::new(),
        }
    }

    /// Creates a dialer that trusts other authorities than those of this machine.
    #[cfg(test)]
    pub(crate) fn trusting(
        resolver: Arc<dyn Resolve>,
        roots: rustls::RootCertStore,
    ) -> Result<Dialer, rustls::Error> {
        let config = finished(builder()?.with_root_certificates(roots));
        Ok(Dialer {
            resolver,
            tls: OnceCell::new_with(Some(TlsConnector::from(Arc::new(config)))),
        })
    }

    /// Connects to the host of an address.
    pub(crate) async fn dial(
        &self,
        url: &WebUrl,
        destinations: &dyn Destinations,
    ) -> Result<Box<dyn Stream>, WebFailure> {
        let stream = self.connect(url, destinations).await?;
        if !url.is_secure() {
            return Ok(Box::new(stream));
        }
        let name = server_name(url.host())?;
        match self.tls().await?.connect(name, stream).await {
            Ok(stream) => Ok(Box::new(stream)),
            Err(error) => Err(WebFailure::Broken(format!(
                "no secure connection to {}: {error}",
                url.host()
            ))),
        }
    }

    /// Connects to the host of an address, without encryption.
    pub(crate) async fn connect(
        &self,
        url: &WebUrl,
        destinations: &dyn Destinations,
    ) -> Result<TcpStream, WebFailure> {
        let addresses = self.admitted(url.host(), destinations).await?;
        connect(url, &addresses).await
    }

    /// Returns the addresses of a host that are admitted.
    async fn admitted(
        &self,
        host: &Host,
        destinations: &dyn Destinations,
    ) -> Result<Vec<IpAddr>, WebFailure> {
        let resolved = match host {
            Host::Address(address) => vec![*address],
            Host::Name(name) => self
                .resolve(name)
                .await
                .map_err(|error| unresolved(host, &error))?,
        };
        let (mut admitted, mut refused) = (Vec::new(), None);
        for address in resolved {
            match destinations.admit_address(host, address) {
                Ok(()) => admitted.push(address),
                Err(refusal) => refused = refused.or(Some(refusal)),
            }
        }
        match (admitted.is_empty(), refused) {
            (true, Some(refusal)) => Err(refusal),
            (true, None) => Err(WebFailure::UnknownHost(host.clone())),
            (false, _) => Ok(admitted),
        }
    }

    async fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        match tokio::time::timeout(RESOLVE_TIMEOUT, self.resolver.resolve(name)).await {
            Ok(resolved) => resolved,
            Err(_) => Err(io::Error::other(format!(
                "no answer within {} s",
                RESOLVE_TIMEOUT.as_secs()
            ))),
        }
    }

    async fn tls(&self) -> Result<&TlsConnector, WebFailure> {
        self.tls.get_or_try_init(tls_connector).await
    }
}

/// Reads the machine's certificates on a thread for blocking work.
async fn tls_connector() -> Result<TlsConnector, WebFailure> {
    let config = tokio::task::spawn_blocking(tls_config).await;
    let config = config.map_err(no_tls)?.map_err(no_tls)?;
    Ok(TlsConnector::from(Arc::new(config)))
}

fn no_tls(cause: impl Display) -> WebFailure {
    WebFailure::Unavailable(format!("TLS is not set up: {cause}"))
}

/// Connects to the first address that answers.
async fn connect(url: &WebUrl, addresses: &[IpAddr]) -> Result<TcpStream, WebFailure> {
    let mut last = String::new();
    for address in addresses.iter().take(MAX_ADDRESSES) {
        let to = SocketAddr::new(*address, url.port());
        match tokio::time::timeout(CONNECT_TIMEOUT, TcpStream::connect(to)).await {
            Ok(Ok(stream)) => return Ok(stream),
            Ok(Err(error)) => last = format!("{to}: {error}"),
            Err(_) => last = format!("{to}: no answer within {} s", CONNECT_TIMEOUT.as_secs()),
        }
    }
    Err(WebFailure::Unreachable(format!(
        "no connection to {}: {last}",
        url.host()
    )))
}

fn server_name(host: &Host) -> Result<ServerName<'static>, WebFailure> {
    match host {
        Host::Address(address) => Ok(ServerName::IpAddress((*address).into())),
        Host::Name(name) => ServerName::try_from(name.clone()).map_err(|_| {
            WebFailure::Malformed(format!("`{name}` cannot be the name of a secure server"))
        }),
    }
}

fn tls_config() -> Result<ClientConfig, rustls::Error> {
    Ok(finished(builder()?.with_platform_verifier()?))
}

fn builder() -> Result<ConfigBuilder<ClientConfig, WantsVerifier>, rustls::Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()
}

fn finished(builder: ConfigBuilder<ClientConfig, WantsClientCert>) -> ClientConfig {
    let mut config = builder.with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    config
}

/// Words why a name was not resolved. That it does not exist is known only from the resolver's
/// words.
fn unresolved(host: &Host, error: &io::Error) -> WebFailure {
    let text = error.to_string();
    for words in [
        "not known",
        "No address associated",
        "nodename nor servname",
    ] {
        if text.contains(words) {
            return WebFailure::UnknownHost(host.clone());
        }
    }
    WebFailure::Unreachable(format!("`{host}` was not resolved: {text}"))
}
