//! The library's error, which is opaque: its kinds are questions, so that new ones break nobody.

use std::fmt;
use std::time::Duration;

use orchestrate_coordinator::{ChecksError, CoordinatorError, LandingError, SandboxError};
use orchestrate_core::run::request::RequestRefused;

/// A result of this library.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why something failed, with what to do next.
///
/// ```
/// use orchestrate::Error;
/// use std::time::Duration;
///
/// // For models: whether the same request may succeed later.
/// let refused = Error::new("there is no such deployment");
/// let busy = Error::rate_limited("the quota is used up", Duration::from_secs(30));
/// assert!(refused.is_usage() && !busy.is_usage());
/// ```
pub struct Error(Box<Kind>);

pub(crate) enum Kind {
    Coordinator(CoordinatorError),
    Landing(LandingError),
    Refused(RequestRefused),
    /// The program's own words, or ours about its use.
    Message(String),
    /// A model that may answer later.
    Transient {
        message: String,
        retry_after: Option<Duration>,
    },
    /// An answer that is not of the type that the program asks for.
    Answer {
        child: String,
        reason: String,
    },
}

impl Error {
    /// An error in the program's own words, for its models and tools. A request to a model that
    /// fails so is not sent again.
    pub fn new(message: impl fmt::Display) -> Self {
        Self::from_kind(Kind::Message(message.to_string()))
    }

    /// The error of a model that may answer the same request later: it is sent again after a while.
    pub fn transient(message: impl fmt::Display) -> Self {
        Self::from_kind(Kind::Transient {
            message: message.to_string(),
            retry_after: None,
        })
    }

    /// The error of a model that asks all requests to wait for a while.
    pub fn rate_limited(message: impl fmt::Display, retry_after: Duration) -> Self {
        Self::from_kind(Kind::Transient {
            message: message.to_string(),
            retry_after: Some(retry_after),
        })
    }

    pub(crate) fn from_kind(kind: Kind) -> Self {
        Self(Box::new(kind))
    }

    pub(crate) fn kind(&self) -> &Kind {
        &self.0
    }

    /// Reports whether the cause can be mended by the user or the program: a setting, a missing
    /// key, an id that is taken. Otherwise it is an error of the machine, or of this library.
    pub fn is_usage(&self) -> bool {
        match &*self.0 {
            Kind::Coordinator(error) => error.is_refusal(),
            Kind::Landing(_) | Kind::Refused(_) | Kind::Message(_) => true,
            Kind::Transient { .. } | Kind::Answer { .. } => false,
        }
    }

    /// Reports whether a child's answer is not of the type that was asked for.
    pub fn is_answer(&self) -> bool {
        matches!(&*self.0, Kind::Answer { .. })
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.0 {
            Kind::Coordinator(
                CoordinatorError::Sandbox(SandboxError::HelperNotInstalled)
                | CoordinatorError::Checks(ChecksError::NoHelper),
            ) => f.write_str(
                "failed to use this program as the sandbox's helper: put #[orchestrate::main] on \
                 its main function, or call orchestrate::init() in its first line (a test has no \
                 main of its own)",
            ),
            Kind::Coordinator(error) => {
                write!(f, "failed to {error}")?;
                next_step(error).map_or(Ok(()), |step| write!(f, "\n{step}"))
            }
            Kind::Landing(error) => write!(f, "failed to {error}"),
            Kind::Refused(error) => write!(f, "refused: {error}"),
            Kind::Message(message) | Kind::Transient { message, .. } => f.write_str(message),
            Kind::Answer { child, reason } => {
                write!(f, "failed to read the answer of {child}: {reason}")
            }
        }
    }
}

/// Returns what to do about an error whose message does not say it.
fn next_step(error: &CoordinatorError) -> Option<String> {
    let CoordinatorError::RedBase(failure) = error else {
        return None;
    };
    let fix = failure.fix.unwrap_or("commit what mends it");
    Some(format!(
        "no child was started: {fix}; then start the session again under its name"
    ))
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // What a `main` that returns it prints.
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &*self.0 {
            Kind::Coordinator(error) => Some(error),
            Kind::Landing(error) => Some(error),
            Kind::Refused(error) => Some(error),
            _ => None,
        }
    }
}

impl From<CoordinatorError> for Error {
    fn from(error: CoordinatorError) -> Self {
        Self::from_kind(Kind::Coordinator(error))
    }
}

impl From<LandingError> for Error {
    fn from(error: LandingError) -> Self {
        Self::from_kind(Kind::Landing(error))
    }
}

impl From<RequestRefused> for Error {
    fn from(error: RequestRefused) -> Self {
        Self::from_kind(Kind::Refused(error))
    }
}
