//! The failures of one attempt, still without the endpoint that they occurred at.

use std::time::{Duration, SystemTime};

use serde_json::Value;

/// Maximum number of characters of a provider's message to show.
const MAX_MESSAGE_CHARS: usize = 500;
/// Maximum number of characters to show of an invalid reply: enough to recognise the kind of
/// server.
const MAX_BEGINNING_CHARS: usize = 60;

/// Why an attempt yielded no reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// No connection could be established.
    Unreachable(String),
    /// The stream ended too early.
    Truncated(String),
    /// A part of the reply violates the protocol.
    Malformed(String),
    /// The server does not speak the protocol at all.
    Foreign(String),
    /// The answer exceeds one of our limits, in bytes.
    TooLarge { what: &'static str, limit: usize },
    /// The provider refused, by the status or within the stream.
    Refused(ProviderRefusal),
}

/// A provider's refusal of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ProviderRefusal {
    /// The HTTP status, or the one that the error's type stands for; 0 if there is neither.
    pub(crate) status: u16,
    /// The kind of refusal.
    pub(crate) kind: RefusalKind,
    /// The provider's message, on one line and shortened.
    pub(crate) message: String,
    /// The wait that the provider asks for.
    pub(crate) retry_after: Option<Duration>,
}

/// The kinds of refusal, by the possible reaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RefusalKind {
    Later,
    Key,
    Model,
    Quota,
    Context,
    Request,
}

impl Fault {
    /// Creates the fault for invalid JSON.
    pub(crate) fn garbage(text: &str, error: &serde_json::Error) -> Self {
        Self::Malformed(format!("{:?} is not JSON: {error}", beginning(text)))
    }

    /// Creates the fault for an answer that is not of the protocol, with its content type and its
    /// beginning.
    pub(crate) fn foreign(kind: Option<&str>, body: &[u8]) -> Self {
        let kind = kind.unwrap_or("no content type");
        let text = String::from_utf8_lossy(body);
        Self::Foreign(format!(
            "{:?} ({}) is not a reply of this protocol",
            beginning(&text),
            beginning(kind)
        ))
    }

    /// Creates the fault for an `error` value within a stream or a successful response.
    pub(crate) fn within_stream(error: &Value) -> Self {
        let codes = codes_of(error);
        let status = match codes.first().map_or("", String::as_str) {
            "overloaded_error" => 529,
            "rate_limit_error" | "rate_limit_exceeded" => 429,
            "authentication_error" | "invalid_api_key" => 401,
            "permission_error" => 403,
            "not_found_error" | "model_not_found" => 404,
            "request_too_large" => 413,
            "invalid_request_error" => 400,
            "billing_error" => 402,
            "timeout_error" => 504,
            "api_error" | "server_error" => 500,
            code => match code.parse::<u16>() {
                Ok(status) if (400..600).contains(&status) => status,
                Ok(_) | Err(_) => 0,
            },
        };
        Self::Refused(refusal(status, &Headers::default(), error))
    }
}

fn beginning(text: &str) -> String {
    text.chars().take(MAX_BEGINNING_CHARS).collect()
}

/// The headers of a response that are relevant for retries.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Headers {
    pub(crate) retry_after_ms: Option<String>,
    pub(crate) retry_after: Option<String>,
    pub(crate) should_retry: Option<String>,
    pub(crate) allowances: Vec<Allowance>,
}

/// The remainder of one of a provider's rate limits, and the time of its reset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Allowance {
    pub(crate) remaining: Option<String>,
    pub(crate) reset: String,
}

/// Creates the fault for an unsuccessful response.
pub(crate) fn refused(status: u16, headers: &Headers, body: &str) -> Fault {
    let parsed: Value =
        serde_json::from_str(body).unwrap_or_else(|_| Value::String(body.to_owned()));
    // Google wraps its error objects in a list.
    let parsed = parsed.get(0).cloned().unwrap_or(parsed);
    let error = parsed
        .get("error")
        .filter(|error| !error.is_null())
        .unwrap_or(&parsed);
    Fault::Refused(refusal(status, headers, error))
}

fn refusal(status: u16, headers: &Headers, error: &Value) -> ProviderRefusal {
    let message = message_of(error);
    let kind = kind_of(status, headers, error, &message);
    let now = SystemTime::now();
    let mut retry_after = headers.delay(now).or_else(|| delay_in(error));
    if retry_after.is_none() && status == 429 {
        retry_after = headers.reset(now);
    }
    ProviderRefusal {
        status,
        kind,
        message,
        retry_after,
    }
}

fn kind_of(status: u16, headers: &Headers, error: &Value, message: &str) -> RefusalKind {
    // None of the words below contains a line feed.
    let codes = codes_of(error).join("\n");
    if contains_any(&codes, &["insufficient_quota", "billing", "spend_limit"]) || status == 402 {
        return RefusalKind::Quota;
    }
    if contains_any(&codes, &["context_length_exceeded", "exceed_context_size"])
        || is_about_context(status, message)
    {
        return RefusalKind::Context;
    }
    if codes.contains("model_not_found") {
        return RefusalKind::Model;
    }
    match (status, headers.should_retry.as_deref()) {
        (401 | 403, _) => RefusalKind::Key,
        (404, _) => RefusalKind::Model,
        (_, Some("true")) => RefusalKind::Later,
        (_, Some("false")) => RefusalKind::Request,
        (0 | 408 | 409 | 425 | 429 | 500.., _) => RefusalKind::Later,
        _ => RefusalKind::Request,
    }
}

/// Reports whether a message says that the request is too long, for servers that send no code for
/// that.
fn is_about_context(status: u16, message: &str) -> bool {
    let said = [
        "maximum context length",
        "prompt is too long",
        "context window",
        "context size",
        "input length and `max_tokens` exceed",
        "input token count exceeds",
    ];
    matches!(status, 0 | 400 | 413 | 422 | 500)
        && contains_any(&message.to_ascii_lowercase(), &said)
}

fn contains_any(text: &str, parts: &[&str]) -> bool {
    parts.iter().any(|part| text.contains(part))
}

fn message_of(error: &Value) -> String {
    let mut message = error;
    for key in ["message", "detail", "error"] {
        if let Some(value) = error.get(key)
            && !value.is_null()
        {
            message = value;
            break;
        }
    }
    let text = if message.is_null() {
        String::new()
    } else {
        plain_text(message)
    };
    let words: Vec<&str> = text.split_whitespace().collect();
    let text: String = words.join(" ").chars().take(MAX_MESSAGE_CHARS).collect();
    if text.is_empty() {
        "no reason given".to_owned()
    } else {
        text
    }
}

/// Returns the provider's codes for the error, the most specific first; numbers are converted to
/// text.
fn codes_of(error: &Value) -> Vec<String> {
    let mut codes = Vec::new();
    for pointer in ["/code", "/type", "/status", "/details/error_code"] {
        if let Some(value) = error.pointer(pointer)
            && (value.is_string() || value.is_number())
        {
            codes.push(plain_text(value));
        }
    }
    codes
}

/// Returns a string without its quotes, and any other value as JSON.
fn plain_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

impl Headers {
    /// Returns the wait that the headers ask for, in milliseconds, in seconds, or as an HTTP
    /// date relative to `now`.
    pub(crate) fn delay(&self, now: SystemTime) -> Option<Duration> {
        if let Some(text) = &self.retry_after_ms
            && let Some(delay) = seconds(text, 1000.0)
        {
            return Some(delay);
        }
        let text = self.retry_after.as_deref()?.trim();
        if let Some(delay) = seconds(text, 1.0) {
            return Some(delay);
        }
        let then = httpdate::parse_http_date(text).ok()?;
        // The date may have passed.
        Some(then.duration_since(now).unwrap_or(Duration::ZERO))
    }

    /// Returns the time until all exhausted rate limits are reset, including those reported without
    /// a remainder. Providers report all their limits; those of which something is left are not the
    /// cause of the refusal.
    fn reset(&self, now: SystemTime) -> Option<Duration> {
        let mut longest = None;
        for allowance in &self.allowances {
            if allowance.is_used_up() {
                longest = longest.max(until_reset(&allowance.reset, now));
            }
        }
        longest
    }
}

impl Allowance {
    fn is_used_up(&self) -> bool {
        match &self.remaining {
            Some(left) => left.trim() == "0",
            None => true,
        }
    }
}

/// The smallest numbers that are taken as a time since 1970, in seconds and in milliseconds,
/// instead of a delay: the year 2001.
const EPOCH_SECONDS: f64 = 1e9;
const EPOCH_MILLISECONDS: f64 = 1e12;

/// Parses the time of a reset: a duration in Go's format (OpenAI, Groq), a time since 1970
/// (OpenRouter), or seconds.
fn until_reset(text: &str, now: SystemTime) -> Option<Duration> {
    let text = text.trim();
    let Ok(number) = text.parse::<f64>() else {
        return go_duration(text);
    };
    let unit = if number >= EPOCH_MILLISECONDS {
        1000.0
    } else {
        1.0
    };
    let time = seconds(text, unit)?;
    if number < EPOCH_SECONDS {
        return Some(time);
    }
    let since_1970 = now.duration_since(SystemTime::UNIX_EPOCH).ok()?;
    Some(time.saturating_sub(since_1970))
}

/// Parses `1h2m3.5s`, `12ms` and the like (Go's `time.ParseDuration`). The humantime crate is not
/// used because it panics on some numbers that are too large, and a header can contain anything.
fn go_duration(mut text: &str) -> Option<Duration> {
    let mut sum = Duration::ZERO;
    while !text.is_empty() {
        let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, rest) = text.split_at(digits);
        let letters = rest
            .find(|c: char| c.is_ascii_digit())
            .unwrap_or(rest.len());
        let (unit, rest) = rest.split_at(letters);
        let part = match unit {
            "h" => seconds(number, 1.0 / 3600.0),
            "m" => seconds(number, 1.0 / 60.0),
            "s" => seconds(number, 1.0),
            "ms" => seconds(number, 1e3),
            "us" | "µs" => seconds(number, 1e6),
            "ns" => seconds(number, 1e9),
            _ => None,
        };
        sum = sum.checked_add(part?)?;
        text = rest;
    }
    Some(sum)
}

fn seconds(text: &str, unit: f64) -> Option<Duration> {
    let number: f64 = text.trim().parse().ok()?;
    Duration::try_from_secs_f64(number / unit).ok()
}

/// Returns the wait in Google's `RetryInfo` (`"retryDelay": "34s"`), one of an error's details.
fn delay_in(error: &Value) -> Option<Duration> {
    for detail in error.get("details")?.as_array()? {
        if let Some(text) = detail.get("retryDelay").and_then(Value::as_str) {
            return seconds(text.strip_suffix('s')?, 1.0);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(status: u16, body: &str) -> (RefusalKind, String) {
        match refused(status, &Headers::default(), body) {
            Fault::Refused(refusal) => (refusal.kind, refusal.message),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn every_kind_is_known_by_what_servers_really_send() {
        use RefusalKind::{Context, Key, Later, Model, Quota, Request};
        for (status, body, expected, message) in [
            (
                429,
                r#"{"error":{"message":"slow down","code":"rate_limit_exceeded"}}"#,
                Later,
                "slow down",
            ),
            (
                429,
                r#"{"error":{"message":"no money","code":"insufficient_quota"}}"#,
                Quota,
                "no money",
            ),
            (
                429,
                r#"{"type":"error","error":{"type":"rate_limit_error","message":"cap",
                    "details":{"error_code":"org_spend_limit_reached"}}}"#,
                Quota,
                "cap",
            ),
            (
                402,
                r#"{"error":{"message":"credit","code":402}}"#,
                Quota,
                "credit",
            ),
            (
                400,
                r#"{"error":{"message":"too long","code":"context_length_exceeded"}}"#,
                Context,
                "too long",
            ),
            (
                400,
                r#"{"error":{"code":400,"message":"the request exceeds",
                    "type":"exceed_context_size_error","n_ctx":4096}}"#,
                Context,
                "the request exceeds",
            ),
            (
                400,
                r#"{"object":"error","code":400,
                    "message":"This model's maximum context length is 8192"}"#,
                Context,
                "This model's maximum context length is 8192",
            ),
            (
                400,
                r#"{"type":"error","error":{"type":"invalid_request_error",
                    "message":"prompt is too long: 9 > 8"}}"#,
                Context,
                "prompt is too long: 9 > 8",
            ),
            (401, r#"{"error":{"message":"bad key"}}"#, Key, "bad key"),
            (403, "", Key, "no reason given"),
            (
                404,
                r#"{"error":{"message":"no such model","code":"model_not_found"}}"#,
                Model,
                "no such model",
            ),
            (404, "<html>\n nope</html>", Model, "<html> nope</html>"),
            (400, r#"{"detail":"bad field"}"#, Request, "bad field"),
            (400, r#"{"error":"plain"}"#, Request, "plain"),
            (
                503,
                r#"{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}"#,
                Later,
                "Loading model",
            ),
            (
                529,
                r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
                Later,
                "Overloaded",
            ),
            (408, "x", Later, "x"),
            (409, "x", Later, "x"),
            (500, "null", Later, "no reason given"),
        ] {
            assert_eq!(
                kind(status, body),
                (expected, message.to_owned()),
                "{status} {body}"
            );
        }
    }

    #[test]
    fn delays_are_read_in_every_form() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777);
        let delay = |ms: Option<&str>, after: Option<&str>| {
            let own = |text: &str| text.to_owned();
            let (retry_after_ms, retry_after) = (ms.map(own), after.map(own));
            let headers = Headers {
                retry_after_ms,
                retry_after,
                ..Headers::default()
            };
            headers.delay(now)
        };
        // The control: a delay that can be read is kept; garbage in its place is none.
        assert_eq!(
            delay(Some("250"), Some("9")),
            Some(Duration::from_millis(250))
        );
        assert_eq!(delay(Some("x"), Some("9")), Some(Duration::from_secs(9)));
        assert_eq!(delay(None, Some("0.5")), Some(Duration::from_millis(500)));
        assert_eq!(delay(None, Some("0")), Some(Duration::ZERO));
        assert_eq!(
            delay(None, Some("Sun, 06 Nov 1994 08:49:40 GMT")),
            Some(Duration::from_secs(3))
        );
        assert_eq!(
            delay(None, Some("Sun, 06 Nov 1994 08:49:00 GMT")),
            Some(Duration::ZERO)
        );
        for garbage in ["soon", "-1", "NaN", "1e400", ""] {
            assert_eq!(delay(None, Some(garbage)), None, "{garbage}");
        }
        let body = r#"[{"error":{"code":429,"message":"m",
            "details":[{"@type":"x"},{"retryDelay":"34s"}]}}]"#;
        let Fault::Refused(refusal) = refused(429, &Headers::default(), body) else {
            panic!()
        };
        assert_eq!(refusal.retry_after, Some(Duration::from_secs(34)));
    }

    #[test]
    fn a_rate_that_is_used_up_says_when_it_is_whole_again() {
        let at = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
        let wait = |allowances: &[(Option<&str>, &str)]| {
            let of = |(remaining, reset): &(Option<&str>, &str)| Allowance {
                remaining: remaining.map(str::to_owned),
                reset: (*reset).to_owned(),
            };
            Headers {
                allowances: allowances.iter().map(of).collect(),
                ..Headers::default()
            }
            .reset(at)
        };
        for (reset, milliseconds) in [
            ("12ms", 12),
            ("1s", 1_000),
            ("6m0s", 360_000),
            ("1h2m3.5s", 3_723_500),
            ("7", 7_000),
            ("1700000009", 9_000),
            ("1700000002500", 2_500),
            ("1600000000", 0),
        ] {
            assert_eq!(
                wait(&[(Some("0"), reset)]),
                Some(Duration::from_millis(milliseconds)),
                "{reset}"
            );
        }
        for garbage in ["soon", "", "-1", "1x", "s", "1h-2m"] {
            assert_eq!(
                wait(&[(Some("0"), garbage)]).unwrap_or_default(),
                Duration::ZERO,
                "{garbage}"
            );
        }
        assert_eq!(
            wait(&[(Some("5"), "1s"), (Some("0"), "2s"), (None, "3s")]),
            Some(Duration::from_secs(3))
        );
        assert_eq!(wait(&[(Some("5"), "1s")]), None);
        let used_up = Allowance {
            remaining: Some("0".to_owned()),
            reset: "30s".to_owned(),
        };
        let headers = Headers {
            allowances: vec![used_up],
            ..Headers::default()
        };
        let asked = |status, headers: &Headers| match refused(status, headers, "x") {
            Fault::Refused(refusal) => refusal.retry_after,
            other => panic!("{other:?}"),
        };
        assert_eq!(asked(429, &headers), Some(Duration::from_secs(30)));
        assert_eq!(asked(503, &headers), None);
        let both = Headers {
            retry_after: Some("2".to_owned()),
            ..headers
        };
        assert_eq!(asked(429, &both), Some(Duration::from_secs(2)));
    }

    #[test]
    fn the_server_has_the_last_word_on_retrying() {
        let headers = |word: &str| Headers {
            should_retry: Some(word.to_owned()),
            ..Headers::default()
        };
        let kind = |status, word: &str| match refused(status, &headers(word), "x") {
            Fault::Refused(refusal) => refusal.kind,
            other => panic!("{other:?}"),
        };
        assert_eq!(kind(500, "false"), RefusalKind::Request);
        assert_eq!(kind(400, "true"), RefusalKind::Later);
        assert_eq!(kind(401, "true"), RefusalKind::Key);
    }
}
