//! Plain HTTP: each request of a connection is decided on its own, and sent over a connection of
//! its own.

use std::convert::Infallible;
use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{Either, Full};
use hyper::body::Incoming;
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode, client, server};
use hyper_util::rt::{TokioIo, TokioTimer};
use orchestrate_core::collections::Mutex;
use orchestrate_core::policy::host::{InvalidUrl, WebUrl};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::client::Client;
use super::connector::{Connector, Refusal};
use super::tunnel::HEAD_TIME;

/// Maximum number of fields of a request or a response, and the size of a connection's buffer,
/// which bounds the size of a head.
const MAX_FIELDS: usize = 100;
const BUFFER: usize = 256 << 10;
/// How long a server may take until it answers.
const ANSWER_TIME: Duration = Duration::from_secs(120);

/// Fields that are about one connection (RFC 9110, 7.6.1), and what would only wait for an answer
/// of ours.
const OF_CONNECTION: [HeaderName; 8] = [
    header::CONNECTION,
    header::PROXY_AUTHORIZATION,
    header::PROXY_AUTHENTICATE,
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
    header::EXPECT,
];
const ALSO_OF_CONNECTION: [&str; 2] = ["keep-alive", "proxy-connection"];

type Body = Either<Incoming, Full<Bytes>>;

/// The connections to servers of one connection of a program, which end with it.
type Servers = Arc<Mutex<JoinSet<()>>>;

/// Answers the requests of a connection.
pub(super) async fn forward(client: Client, connector: &Arc<Connector>) -> hyper::Result<()> {
    let servers = Servers::default();
    let answers = service_fn(|request| {
        let (connector, servers) = (Arc::clone(connector), Arc::clone(&servers));
        async move {
            let answered = answer(request, &connector, &servers).await;
            Ok::<Response<Body>, Infallible>(answered.unwrap_or_else(refused))
        }
    });
    let mut protocol = server::conn::http1::Builder::new();
    protocol
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIME)
        .max_headers(MAX_FIELDS)
        .max_buf_size(BUFFER);
    let ended = protocol
        .serve_connection(TokioIo::new(client), answers)
        .await;
    if let Err(error) = &ended
        && error.is_parse()
    {
        // It has been answered with a status of its own.
        let _ = connector
            .refuse_name("(no request)", error.to_string())
            .await;
    }
    ended
}

async fn answer(
    request: Request<Incoming>,
    connector: &Connector,
    servers: &Servers,
) -> Result<Response<Body>, Refusal> {
    let uri = request.uri();
    let asked = match (uri.scheme_str(), uri.authority()) {
        _ if request.method() == Method::CONNECT => {
            return Err(unusable(
                "`CONNECT` has to be the first request of its connection",
            ));
        }
        (Some("http"), Some(authority)) => authority.to_string(),
        (Some(_), _) => {
            return Err(unusable(
                "only http is asked for in this way; `CONNECT` leads to https",
            ));
        }
        _ => {
            return Err(unusable(
                "this is a proxy: ask it for http://host/path, or to `CONNECT` to host:port",
            ));
        }
    };
    let parsed = if asked.contains('@') {
        Err(InvalidUrl::User)
    } else {
        WebUrl::parse(&uri.to_string())
    };
    let url = match parsed {
        Ok(url) => url,
        Err(error) => return Err(connector.refuse_name(&asked, error.to_string()).await),
    };
    let stream = connector.connect(&asked, &url).await?;
    let response = send(request, &url, stream, servers).await;
    let response = response.map_err(|error| Refusal {
        status: 502,
        text: format!("{}: {error}\n", url.host()),
    })?;
    let (mut head, body) = response.into_parts();
    remove_fields_of_connection(&mut head.headers);
    Ok(Response::from_parts(head, Either::Left(body)))
}

fn unusable(text: &str) -> Refusal {
    Refusal {
        status: 400,
        text: format!("{text}\n"),
    }
}

async fn send(
    request: Request<Incoming>,
    url: &WebUrl,
    stream: TcpStream,
    servers: &Servers,
) -> Result<Response<Incoming>, Box<dyn Error + Send + Sync>> {
    let mut protocol = client::conn::http1::Builder::new();
    protocol.max_headers(MAX_FIELDS).max_buf_size(BUFFER);
    let (mut sender, connection) = protocol.handshake(TokioIo::new(stream)).await?;
    run(connection, servers);
    let (mut head, body) = request.into_parts();
    remove_fields_of_connection(&mut head.headers);
    head.headers
        .insert(header::HOST, HeaderValue::try_from(url.authority())?);
    head.headers
        .insert(header::CONNECTION, HeaderValue::from_static("close"));
    head.uri = url.path_and_query().parse()?;
    head.version = hyper::Version::HTTP_11;
    Ok(timeout(
        ANSWER_TIME,
        sender.send_request(Request::from_parts(head, body)),
    )
    .await??)
}

/// Moves the bytes of a connection to a server, until it ends.
fn run(
    connection: client::conn::http1::Connection<TokioIo<TcpStream>, Incoming>,
    servers: &Servers,
) {
    let mut servers = servers.lock();
    while servers.try_join_next().is_some() {}
    servers.spawn(async move {
        // Who reads the response sees the same error.
        let _ = connection.await;
    });
}

fn remove_fields_of_connection(fields: &mut HeaderMap) {
    let named: Vec<HeaderName> = fields
        .get_all(header::CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| HeaderName::try_from(name.trim()).ok())
        .collect();
    named
        .iter()
        .chain(&OF_CONNECTION)
        .for_each(|name| drop(fields.remove(name)));
    ALSO_OF_CONNECTION
        .iter()
        .for_each(|name| drop(fields.remove(*name)));
}

fn refused(refusal: Refusal) -> Response<Body> {
    let mut response = Response::new(Either::Right(Full::from(refusal.text)));
    *response.status_mut() =
        StatusCode::from_u16(refusal.status).unwrap_or(StatusCode::BAD_GATEWAY);
    let text = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, text);
    response
}
