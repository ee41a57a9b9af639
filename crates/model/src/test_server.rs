//! A server for tests: it answers connections with given bytes, in given pieces, and records the
//! requests.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use orchestrate_core::agent::conversation::Origin;
use orchestrate_core::{Message, ModelRequest, TaskId};
use serde_json::Value;

/// One answer: raw bytes in pieces. The connection is closed after them, unless the answer
/// `stalls`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Answer {
    pub(crate) pieces: Vec<Vec<u8>>,
    pub(crate) stalls: bool,
}

/// A recorded request: the request line, the headers with their names in lower case, and the body.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Asked {
    pub(crate) line: String,
    pub(crate) headers: Vec<String>,
    pub(crate) body: Value,
}

/// A server on the loopback interface, which runs until the test process ends. Its last answer is
/// repeated.
pub(crate) struct TestServer {
    pub(crate) url: String,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl TestServer {
    pub(crate) fn start(answers: Vec<Answer>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let asked: Arc<Mutex<Vec<Asked>>> = Arc::default();
        let kept = Arc::clone(&asked);
        std::thread::spawn(move || {
            let mut stalled = Vec::new();
            for (at, stream) in listener.incoming().enumerate() {
                let mut stream = stream.unwrap();
                let Some(question) = read_request(&mut stream) else {
                    continue;
                };
                kept.lock().unwrap().push(question);
                let answer = answers.get(at).or(answers.last()).unwrap();
                for piece in &answer.pieces {
                    // The client may have closed the connection early.
                    if stream
                        .write_all(piece)
                        .and_then(|()| stream.flush())
                        .is_err()
                    {
                        break;
                    }
                }
                if answer.stalls {
                    stalled.push(stream);
                }
            }
        });
        Self { url, asked }
    }

    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }
}

impl Answer {
    /// Creates a response that ends with its connection.
    pub(crate) fn new(status: u16, headers: &str, body: impl AsRef<[u8]>) -> Self {
        let mut bytes =
            format!("HTTP/1.1 {status} X\r\nconnection: close\r\n{headers}\r\n").into_bytes();
        bytes.extend_from_slice(body.as_ref());
        Self {
            pieces: vec![bytes],
            stalls: false,
        }
    }

    /// Creates a successful stream of events.
    pub(crate) fn events(body: impl AsRef<[u8]>) -> Self {
        Self::new(200, "content-type: text/event-stream\r\n", body)
    }
}

fn read_request(stream: &mut TcpStream) -> Option<Asked> {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    let head = loop {
        if let Some(at) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break at;
        }
        match stream.read(&mut buffer) {
            Ok(count) if count > 0 => bytes.extend_from_slice(&buffer[..count]),
            _ => return None,
        }
    };
    let text = String::from_utf8(bytes[..head].to_vec()).unwrap();
    let mut lines = text.lines().map(str::to_owned);
    let line = lines.next()?;
    let headers: Vec<String> = lines
        .map(|header| match header.split_once(": ") {
            Some((name, value)) => format!("{}: {value}", name.to_ascii_lowercase()),
            None => header,
        })
        .collect();
    let length = headers
        .iter()
        .find_map(|header| header.strip_prefix("content-length: ")?.parse().ok())
        .unwrap_or(0);
    let mut body = bytes.split_off(head + 4);
    while body.len() < length {
        match stream.read(&mut buffer) {
            Ok(count) if count > 0 => body.extend_from_slice(&buffer[..count]),
            _ => return None,
        }
    }
    Some(Asked {
        line,
        headers,
        body: serde_json::from_slice(&body).unwrap_or(Value::Null),
    })
}

/// Returns a small request.
pub(crate) fn request(model: &str) -> ModelRequest {
    ModelRequest {
        model: model.to_owned(),
        system: "be brief".to_owned(),
        tools: [].into(),
        messages: vec![Message::User {
            text: "go".to_owned(),
        }],
        max_output_tokens: 100,
        origin: Origin {
            task: TaskId::new("T1"),
            turn: 3,
            returned: None,
        },
        answers: None,
    }
}
