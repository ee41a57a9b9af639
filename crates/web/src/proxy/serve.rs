//! Accepts the connections of one program, as many at once as this process has files for.

use std::convert::Infallible;
use std::io;
use std::net;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::client::{Client, Meter};
use super::connector::{Connector, Egress};
use super::forward::forward;
use super::tunnel::{HEAD_TIME, tunnel};
use crate::WebClient;
use crate::connections::OwnConnections;

/// How long a connection may stay without a byte in either direction.
const IDLE: Duration = Duration::from_secs(120);
/// The pause after a connection that could not be accepted: the process may be out of descriptors.
const PAUSE: Duration = Duration::from_millis(50);
/// The beginning of a request for a tunnel.
const CONNECT: &[u8] = b"CONNECT ";

impl WebClient {
    /// Serves as the proxy of one program, on a socket that only this program can connect to.
    /// Dropping the future ends all connections.
    ///
    /// # Errors
    /// The error of the socket, if it cannot be used.
    pub async fn serve_proxy(
        &self,
        listener: net::TcpListener,
        egress: Arc<dyn Egress>,
    ) -> io::Result<Infallible> {
        listener.set_nonblocking(true)?;
        let listener = TcpListener::from_std(listener)?;
        let connector = Arc::new(Connector::new(self.clone(), egress));
        let meter = Arc::new(Meter::default());
        let (mut connections, own) = (JoinSet::new(), OwnConnections::default());
        loop {
            tokio::select! {
                accepted = listener.accept() => match accepted {
                    Ok((stream, _)) => {
                        // Meanwhile none is accepted: a program has one that waits.
                        let permit = self.connections.permit(&own).await.map_err(io::Error::other)?;
                        let client = Client::new(stream, Arc::clone(&meter));
                        let served = serve(client, Arc::clone(&connector));
                        connections.spawn(async move {
                            served.await;
                            drop(permit);
                        });
                    }
                    Err(error) => {
                        tracing::warn!(%error, "the proxy cannot accept a connection");
                        sleep(PAUSE).await;
                    }
                },
                Some(_) = connections.join_next() => {}
            }
        }
    }
}

/// Serves one connection to its end.
async fn serve(client: Client, connector: Arc<Connector>) {
    let moved = client.moved();
    tokio::select! {
        () = answer(client, &connector) => {}
        () = is_idle(&moved) => tracing::debug!("a connection of a program was idle"),
    }
}

async fn answer(mut client: Client, connector: &Arc<Connector>) {
    let ended = match timeout(HEAD_TIME, client.begins_with(CONNECT)).await {
        Ok(Ok(true)) => tunnel(client, connector)
            .await
            .map_err(|error| error.to_string()),
        Ok(Ok(false)) => forward(client, connector)
            .await
            .map_err(|error| error.to_string()),
        Ok(Err(error)) => Err(error.to_string()),
        Err(_) => Err("it asks for nothing".to_owned()),
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection of a program ended");
    }
}

/// Waits until a connection has moved nothing for a while.
async fn is_idle(moved: &AtomicU64) {
    let mut before = moved.load(Ordering::Relaxed);
    loop {
        sleep(IDLE).await;
        let now = moved.load(Ordering::Relaxed);
        if now == before {
            return;
        }
        before = now;
    }
}
