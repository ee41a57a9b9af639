//! The part of HTTP/1.1 that a model client uses: several requests on one connection, chunked
//! answers.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, BufRead, Write};
use std::time::Instant;

use serde_json::Value;

use super::Recorded;

/// Maximum size of a request body in bytes: more than any context, so that a wrong length does no
/// harm.
const MAX_BODY: usize = 64 << 20;

/// Reads a request whose length is stated, and returns when its first line arrived. Returns `None`
/// at the end of the connection and for anything else.
pub(super) fn read_request(reader: &mut impl BufRead) -> Option<(Instant, Recorded)> {
    let mut line = String::new();
    reader
        .read_line(&mut line)
        .ok()
        .filter(|count| *count > 0)?;
    let began = Instant::now();
    let path = line.split_ascii_whitespace().nth(1)?.to_owned();
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(':') else {
            break;
        };
        headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
    let length = headers
        .get("content-length")
        .and_then(|text| text.parse().ok())
        .unwrap_or(0);
    let mut body = vec![0; usize::min(length, MAX_BODY)];
    reader.read_exact(&mut body).ok()?;
    let body = serde_json::from_slice(&body).unwrap_or(Value::Null);
    Some((
        began,
        Recorded {
            path,
            headers,
            body,
        },
    ))
}

/// Writes an answer that is one JSON value.
pub(super) fn write_whole(
    mut stream: impl Write,
    status: u16,
    headers: &[(String, String)],
    body: &Value,
) -> io::Result<()> {
    let body = body.to_string();
    let head = head(status, "application/json", headers);
    stream.write_all(format!("{head}content-length: {}\r\n\r\n{body}", body.len()).as_bytes())
}

/// Writes an answer that is a stream of events, one per chunk; if it is cut off, half of the events
/// and no end.
pub(super) fn write_stream(
    mut stream: impl Write,
    headers: &[(String, String)],
    events: &[String],
    cut_off: bool,
) -> io::Result<()> {
    let head = head(200, "text/event-stream", headers);
    stream.write_all(format!("{head}transfer-encoding: chunked\r\n\r\n").as_bytes())?;
    let kept = if cut_off {
        events.len() / 2
    } else {
        events.len()
    };
    for event in &events[..kept] {
        stream.write_all(format!("{:x}\r\n{event}\r\n", event.len()).as_bytes())?;
    }
    if cut_off {
        Ok(())
    } else {
        stream.write_all(b"0\r\n\r\n")
    }
}

fn head(status: u16, content_type: &str, headers: &[(String, String)]) -> String {
    let mut head = format!("HTTP/1.1 {status} Test\r\ncontent-type: {content_type}\r\n");
    for (name, value) in headers {
        // Writing to a string does not fail.
        let _ = write!(head, "{name}: {value}\r\n");
    }
    head
}
