//! A model server on the loopback interface: streams Chat Completions and Anthropic Messages from
//! replies that a function returns.
//!
//! It records each request and answers as the protocols specify, one event per chunk, several
//! connections at a time. Its answers deliberately depend on no clock and no randomness: ids are
//! the request's number.

mod http;
mod wire;

use std::collections::BTreeMap;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use libtest_mimic::Failed;
use serde_json::Value;

/// A received request.
#[derive(Clone, Debug)]
pub(crate) struct Recorded {
    /// Distinguishes the two protocols.
    pub(crate) path: String,
    /// Header names are in lower case.
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: Value,
}

/// One answer of the server: a streamed reply, or an HTTP error.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reply {
    text: String,
    calls: Vec<(String, Value)>,
    input_tokens: u64,
    output_tokens: u64,
    /// An answer that is no stream.
    whole: Option<Value>,
    error: Option<(u16, String)>,
    error_type: Option<&'static str>,
    headers: Vec<(String, String)>,
    cut_off: bool,
}

type Answer = dyn Fn(&Recorded, usize) -> Reply + Send + Sync;

/// The server; it stops on drop.
pub(crate) struct ModelServer {
    address: SocketAddr,
    shared: Arc<Shared>,
    accepting: Option<JoinHandle<()>>,
}

struct Shared {
    answer: Box<Answer>,
    recorded: Mutex<Vec<Recorded>>,
    /// When each answered request began to arrive, and when its answer had been sent.
    answered: Mutex<Vec<(Instant, Instant)>>,
    stopping: AtomicBool,
}

impl Reply {
    /// Answers with a text and ends the turn.
    pub(crate) fn text(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            input_tokens: 10,
            output_tokens: 5,
            ..Self::default()
        }
    }

    /// Adds a tool call; several calls of one reply are parallel.
    pub(crate) fn call(mut self, name: &str, arguments: Value) -> Self {
        self.calls.push((name.to_owned(), arguments));
        self
    }

    /// Answers with this value instead of a stream.
    pub(crate) fn whole(value: Value) -> Self {
        Self {
            whole: Some(value),
            ..Self::default()
        }
    }

    /// Answers with an HTTP error instead of a stream.
    pub(crate) fn error(status: u16, message: &str) -> Self {
        Self {
            error: Some((status, message.to_owned())),
            ..Self::default()
        }
    }

    /// Changes the type of the error, by which a provider says what it means.
    pub(crate) fn of_type(mut self, error_type: &'static str) -> Self {
        self.error_type = Some(error_type);
        self
    }

    /// Adds a header to the answer, for example `retry-after`.
    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Closes the connection after half of the stream's events.
    pub(crate) fn cut_off(mut self) -> Self {
        self.cut_off = true;
        self
    }
}

impl ModelServer {
    /// Starts a server that answers the n-th request (from 0) with what the function returns.
    pub(crate) fn answering(
        answer: impl Fn(&Recorded, usize) -> Reply + Send + Sync + 'static,
    ) -> Result<Self, Failed> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        let (recorded, answered, stopping) =
            (Mutex::default(), Mutex::default(), AtomicBool::new(false));
        let shared = Arc::new(Shared {
            answer: Box::new(answer),
            recorded,
            answered,
            stopping,
        });
        let accepting = thread::spawn({
            let shared = Arc::clone(&shared);
            move || accept(&listener, &shared)
        });
        Ok(Self {
            address,
            shared,
            accepting: Some(accepting),
        })
    }

    /// Starts a server that sends these answers in order, then an error.
    pub(crate) fn scripted(replies: Vec<Reply>) -> Result<Self, Failed> {
        Self::answering(move |_, number| {
            let over = || Reply::error(500, "the script has no more answers");
            replies.get(number).cloned().unwrap_or_else(over)
        })
    }

    /// Returns the base URL for Chat Completions.
    pub(crate) fn openai_base(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Returns the base URL for Anthropic Messages.
    pub(crate) fn anthropic_base(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns when each answered request began to arrive and when its answer had been sent. The
    /// time between two of these is the client's.
    pub(crate) fn answered(&self) -> Vec<(Instant, Instant)> {
        self.shared
            .answered
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Returns the requests so far, in order of arrival, without those for the list of models.
    pub(crate) fn requests(&self) -> Vec<Recorded> {
        self.shared
            .recorded
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        self.shared.stopping.store(true, Ordering::SeqCst);
        // Wakes the accepting thread, which blocks until there is a connection.
        drop(TcpStream::connect(self.address));
        if let Some(accepting) = self.accepting.take() {
            let _ = accepting.join();
        }
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    for stream in listener.incoming() {
        if shared.stopping.load(Ordering::SeqCst) {
            return;
        }
        let Ok(stream) = stream else { continue };
        let shared = Arc::clone(shared);
        // The thread ends with its connection.
        thread::spawn(move || serve(&stream, &shared));
    }
}

/// Answers every request of one connection.
fn serve(stream: &TcpStream, shared: &Shared) -> Option<()> {
    stream.set_nodelay(true).ok()?;
    let mut reader = std::io::BufReader::new(stream.try_clone().ok()?);
    loop {
        let (began, request) = http::read_request(&mut reader)?;
        if request.path.ends_with("/models") {
            let list = serde_json::json!({ "object": "list", "data": [{ "id": "test", "object": "model" }] });
            http::write_whole(stream, 200, &[], &list).ok()?;
            continue;
        }
        let number = {
            let mut recorded = shared
                .recorded
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            recorded.push(request.clone());
            recorded.len() - 1
        };
        let reply = (shared.answer)(&request, number);
        if let Some((status, message)) = &reply.error {
            let kind = reply.error_type.unwrap_or("test_error");
            let body = serde_json::json!({ "type": "error", "error": { "type": kind, "message": message } });
            http::write_whole(stream, *status, &reply.headers, &body).ok()?;
            continue;
        }
        if let Some(whole) = &reply.whole {
            http::write_whole(stream, 200, &reply.headers, whole).ok()?;
            shared
                .answered
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push((began, Instant::now()));
            continue;
        }
        let events = if request.path.ends_with("/messages") {
            wire::anthropic(&reply, number)
        } else {
            wire::chat_completions(&reply, number)
        };
        http::write_stream(stream, &reply.headers, &events, reply.cut_off).ok()?;
        shared
            .answered
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push((began, Instant::now()));
        if reply.cut_off {
            return None;
        }
    }
}
