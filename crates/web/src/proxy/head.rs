//! The head of a `CONNECT` request, read byte for byte, so that what a program asked for is known
//! even if it is no host.

use std::io::{self, ErrorKind};

use bytes::BytesMut;
use orchestrate_core::policy::host::{Host, InvalidUrl, WebUrl};
use tokio::io::AsyncReadExt as _;

use super::client::Client;

/// Maximum size of a head in bytes, and number of its fields.
const MAX_HEAD: usize = 16 << 10;
const MAX_FIELDS: usize = 100;
/// Maximum number of digits of a port: with zeros before it, one port would have a spelling for
/// each request.
const MAX_PORT_DIGITS: usize = 5;
/// The end of a head.
const END: &[u8] = b"\r\n\r\n";

/// The address that a `CONNECT` asks for.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Target {
    /// As written.
    pub(super) asked: String,
    /// The address, or why it is none.
    pub(super) url: Result<WebUrl, String>,
}

impl Target {
    /// Reads a head, and nothing behind it.
    pub(super) async fn read(client: &mut Client) -> io::Result<Target> {
        let mut head = BytesMut::new();
        let end = loop {
            if let Some(at) = head.windows(END.len()).position(|bytes| bytes == END) {
                break at;
            }
            if head.len() > MAX_HEAD {
                return Err(too_long());
            }
            if client.read_buf(&mut head).await? == 0 {
                return Err(ErrorKind::UnexpectedEof.into());
            }
        };
        client.put_back(head.split_off(end + END.len()).freeze());
        let mut lines = head.as_ref().split(|byte| *byte == b'\n');
        let target = Target::in_line(lines.next().unwrap_or(&head));
        // The two empty lines behind the fields.
        if end > MAX_HEAD || lines.count() > MAX_FIELDS + 2 {
            Err(too_long())
        } else {
            target
        }
    }

    /// Reads a request's line: what is between its first and its last blank.
    fn in_line(line: &[u8]) -> io::Result<Target> {
        let line = String::from_utf8_lossy(line);
        if let Some((_, rest)) = line.trim_end().split_once(' ')
            && let Some((asked, "HTTP/1.1" | "HTTP/1.0")) = rest.rsplit_once(' ')
        {
            return Ok(Target {
                asked: asked.to_owned(),
                url: address(asked),
            });
        }
        Err(ErrorKind::InvalidData.into())
    }
}

fn too_long() -> io::Error {
    io::Error::new(
        ErrorKind::InvalidData,
        "the head of the request is too long",
    )
}

/// Returns the address of a host with a port, which both have to be written.
fn address(asked: &str) -> Result<WebUrl, String> {
    // A reason names what it is about, and this may be a password.
    if asked.contains('@') {
        return Err(InvalidUrl::User.to_string());
    }
    let (host, port) = asked.rsplit_once(':').ok_or_else(no_port)?;
    let host = Host::parse(host).map_err(|error| error.to_string())?;
    let is_number = (1..=MAX_PORT_DIGITS).contains(&port.len())
        && port.bytes().all(|digit| digit.is_ascii_digit());
    let port = match port.parse::<u16>() {
        Ok(port) if is_number && port != 0 => port,
        _ => return Err(no_port()),
    };
    WebUrl::parse(&format!("https://{host}:{port}/")).map_err(|error| error.to_string())
}

fn no_port() -> String {
    "what `CONNECT` asks for is a host and a port, as in `example.org:443`".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_connect_asks_for_is_a_host_with_a_port() {
        let table = [
            ("CONNECT GitHub.com:443 HTTP/1.1\r", "https://github.com/"),
            (
                "CONNECT [::ffff:127.0.0.1]:8443 HTTP/1.0\r",
                "https://127.0.0.1:8443/",
            ),
            ("CONNECT github.com:80 HTTP/1.1\r", "https://github.com:80/"),
            ("CONNECT github.com HTTP/1.1\r", "what `CONNECT` asks for"),
            (
                "CONNECT github.com:https HTTP/1.1\r",
                "what `CONNECT` asks for",
            ),
            (
                "CONNECT github.com:+443 HTTP/1.1\r",
                "what `CONNECT` asks for",
            ),
            ("CONNECT github.com:0 HTTP/1.1\r", "what `CONNECT` asks for"),
            (
                "CONNECT github.com:65536 HTTP/1.1\r",
                "what `CONNECT` asks for",
            ),
            (
                "CONNECT github.com:000443 HTTP/1.1\r",
                "what `CONNECT` asks for",
            ),
            (
                "CONNECT github.com@evil.com:443 HTTP/1.1\r",
                "an address with a user or a password",
            ),
            (
                "CONNECT evil.com#github.com:443 HTTP/1.1\r",
                "`evil.com#github.com` names no host",
            ),
            (
                "CONNECT evil.com?x=.github.com:443 HTTP/1.1\r",
                "`evil.com?x=.github.com` names no host",
            ),
            (
                "CONNECT evil.com github.com:443 HTTP/1.1\r",
                "`evil.com github.com` names no host",
            ),
            ("CONNECT evil\0.github.com:443 HTTP/1.1\r", "names no host"),
            (
                "CONNECT https://github.com:443 HTTP/1.1\r",
                "`https://github.com` names no host",
            ),
        ];
        for (line, expected) in table {
            let url = Target::in_line(line.as_bytes()).unwrap().url;
            let said = url.map_or_else(|error| error, |url| url.to_string());
            assert!(said.contains(expected), "{line}: {said}");
        }
        for line in [
            "CONNECT",
            "CONNECT a:1",
            "CONNECT a:1 HTTP/2",
            "CONNECT a:1 HTTP/1.1 x",
        ] {
            assert!(Target::in_line(line.as_bytes()).is_err(), "{line}");
        }
    }
}
