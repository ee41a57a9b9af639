//! One request and its response over one connection, which ends with it.

use std::error::Error;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, Request, Response};
use hyper_util::rt::TokioIo;
use orchestrate_core::policy::host::WebUrl;
use orchestrate_core::policy::web::{WebFailure, WebResponse};
use serde_json::Value;
use tokio::task::JoinSet;

use crate::decode::{ACCEPTED, Content};
use crate::dial::Stream;
use crate::kept::Marks;

/// Maximum number of fields of a response, and their maximum size in bytes: no page needs more.
const MAX_FIELDS: usize = 100;
const MAX_FIELD_BYTES: usize = 64 << 10;
/// The maximum size of the connection's buffer in bytes.
const BUFFER_BYTES: usize = 128 << 10;
/// The name of this program in its requests.
const USER_AGENT: &str = concat!("orchestrate/", env!("CARGO_PKG_VERSION"));
/// The longest wait in seconds that a server may ask for and be believed.
const MAX_RETRY_AFTER: u64 = 86_400;

/// A question to one server.
pub(crate) struct Question<'a> {
    pub(crate) url: &'a WebUrl,
    pub(crate) accept: &'static str,
    /// The field and the value of the key.
    pub(crate) key: Option<(&'static str, &'a str)>,
    pub(crate) json: Option<&'a Value>,
    pub(crate) marks: Option<Marks>,
    pub(crate) max_bytes: u64,
}

/// The answer of a server.
pub(crate) enum Answered {
    /// It leads to another address.
    Redirect(String),
    /// The kept response still holds.
    NotModified,
    /// A response, with its marks.
    Response(Box<WebResponse>, Marks),
}

/// Asks a question over a connection.
pub(crate) async fn exchange(
    stream: Box<dyn Stream>,
    question: Question<'_>,
) -> Result<Answered, WebFailure> {
    let handshake = http1::Builder::new()
        .max_headers(MAX_FIELDS)
        .max_header_size(MAX_FIELD_BYTES)
        .max_buf_size(BUFFER_BYTES)
        .handshake(TokioIo::new(stream));
    let (mut sender, connection) = handshake.await.map_err(|error| broken(&error))?;
    // The connection ends with this set, whatever has been read of it.
    let mut connections = JoinSet::new();
    connections.spawn(connection);
    let response = sender
        .send_request(request(&question)?)
        .await
        .map_err(|error| broken(&error))?;
    let status = response.status();
    let location = text(response.headers(), &header::LOCATION);
    match location {
        Some(location) if matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308) => {
            Ok(Answered::Redirect(location))
        }
        _ if status.as_u16() == 304 && question.marks.is_some() => Ok(Answered::NotModified),
        _ => read(response, &question).await,
    }
}

fn request(question: &Question<'_>) -> Result<Request<Full<Bytes>>, WebFailure> {
    let mut request = Request::builder()
        .uri(question.url.path_and_query())
        .header(header::HOST, question.url.authority())
        .header(header::USER_AGENT, USER_AGENT)
        .header(header::ACCEPT, question.accept)
        .header(header::ACCEPT_ENCODING, ACCEPTED)
        .header(header::CONNECTION, "close");
    let mut body = Bytes::new();
    if let Some(json) = question.json {
        body = Bytes::from(json.to_string());
        request = request
            .method(Method::POST)
            .header(header::CONTENT_TYPE, "application/json");
    }
    if let Some((field, value)) = question.key {
        let mut value = HeaderValue::try_from(value).map_err(|_| invalid("key"))?;
        value.set_sensitive(true);
        request = request.header(field, value);
    }
    if let Some(marks) = &question.marks {
        let fields = [
            (header::IF_NONE_MATCH, &marks.etag),
            (header::IF_MODIFIED_SINCE, &marks.modified),
        ];
        for (field, mark) in fields {
            if let Some(mark) = mark {
                request = request.header(field, mark);
            }
        }
    }
    request
        .body(Full::new(body))
        .map_err(|_| invalid("address"))
}

fn invalid(part: &str) -> WebFailure {
    WebFailure::Malformed(format!("the {part} cannot be part of a request"))
}

async fn read(
    response: Response<Incoming>,
    question: &Question<'_>,
) -> Result<Answered, WebFailure> {
    let (head, mut body) = response.into_parts();
    let coding = text(&head.headers, &header::CONTENT_ENCODING);
    let mut content = Content::new(coding.as_deref(), question.max_bytes)?;
    let mut is_whole = true;
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| broken(&error))?;
        if let Ok(piece) = frame.into_data()
            && !content.push(&piece)?
        {
            is_whole = false;
            break;
        }
    }
    let ended = content.end(is_whole)?;
    let response = WebResponse {
        url: question.url.clone(),
        status: head.status.as_u16(),
        content_type: text(&head.headers, &header::CONTENT_TYPE),
        retry_after: retry_after(&head.headers),
        coding: coding.filter(|coding| !coding.eq_ignore_ascii_case("identity")),
        body: ended.body,
        is_cut: ended.is_cut,
        was_kept: false,
    };
    Ok(Answered::Response(Box::new(response), marks(&head.headers)))
}

fn marks(headers: &HeaderMap) -> Marks {
    match text(headers, &header::CACHE_CONTROL) {
        Some(control) if control.contains("no-store") => Marks {
            etag: None,
            modified: None,
        },
        _ => Marks {
            etag: text(headers, &header::ETAG),
            modified: text(headers, &header::LAST_MODIFIED),
        },
    }
}

/// Returns the seconds that a server asks to wait. A date counts from the server's own clock, or
/// from that of this machine if the server does not say what time it is.
fn retry_after(headers: &HeaderMap) -> Option<u64> {
    let given = text(headers, &header::RETRY_AFTER)?;
    if let Ok(seconds) = given.parse::<u64>() {
        return Some(seconds.min(MAX_RETRY_AFTER));
    }
    let until = httpdate::parse_http_date(&given).ok()?;
    let stated =
        text(headers, &header::DATE).and_then(|date| httpdate::parse_http_date(&date).ok());
    let now = stated.unwrap_or_else(SystemTime::now);
    // The date may have passed.
    let wait = until.duration_since(now).unwrap_or(Duration::ZERO);
    Some(wait.as_secs().min(MAX_RETRY_AFTER))
}

fn text(headers: &HeaderMap, name: &HeaderName) -> Option<String> {
    let value = headers.get(name)?;
    Some(String::from_utf8_lossy(value.as_bytes()).into_owned())
}

/// Words an error of a connection, with its causes.
fn broken(error: &hyper::Error) -> WebFailure {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(&format!(": {error}"));
        cause = error.source();
    }
    if error.is_parse() {
        return WebFailure::Malformed(format!("the response cannot be read: {text}"));
    }
    WebFailure::Unreachable(format!("the connection broke: {text}"))
}
