//! Why a remote repository could not be used.

use std::fmt;

/// Why a remote repository could not be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RemoteError {
    /// The configuration names no such remote.
    #[error("find the remote `{name}`: the repository's configuration has {}", listed(.known))]
    Unknown {
        /// The name, safe to show.
        name: String,
        /// The remotes that are configured.
        known: Vec<String>,
    },
    /// Its address, as configured, is not one to use.
    #[error("use the remote {name}: {reason}")]
    Unusable {
        /// The name.
        name: String,
        /// Why not.
        reason: String,
    },
    /// It could not be reached, or did not do what was asked.
    #[error("{doing} {remote}: {cause}{}", repeated(.said))]
    Failed {
        /// What was being done, as a bare infinitive.
        doing: &'static str,
        /// The remote's name.
        remote: String,
        /// Why.
        cause: RemoteFailure,
        /// What git and the server said, safe to show.
        said: String,
    },
}

/// The class of a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RemoteFailure {
    /// The branch there has commits that the pushed one has not.
    NotFastForward,
    /// The server, or a hook there, refused the branch.
    Refused,
    /// The server does not let the user in, or git has no password to give.
    Unauthenticated,
    /// The user has not yet confirmed the key of the host.
    UnknownHostKey,
    /// There is no connection, or it ended too early.
    Unreachable,
    /// The server is elsewhere now.
    Redirected,
    /// There is no repository at the address, or none that the user may see.
    NoRepository,
    /// The repository has no branch of this name.
    NoBranch,
    /// It has more than may be fetched.
    TooLarge {
        /// The limit in bytes.
        max_bytes: u64,
    },
    /// It was not done in time.
    TimedOut {
        /// The limit.
        seconds: u64,
    },
    /// Anything else.
    Other,
}

impl fmt::Display for RemoteFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            RemoteFailure::NotFastForward => "the branch there has commits that this one has not",
            RemoteFailure::Refused => "the server refused the branch",
            RemoteFailure::Unauthenticated => {
                "the server did not accept the user's credentials, or git has none for it that \
                 need no question"
            }
            RemoteFailure::UnknownHostKey => "the key of the host is not known to the user's ssh",
            RemoteFailure::Unreachable => "the server could not be reached",
            RemoteFailure::Redirected => {
                "the server leads to another address, which is not followed"
            }
            RemoteFailure::NoRepository => {
                "there is no repository at its address, or none that the user may see"
            }
            RemoteFailure::NoBranch => "it has no branch of this name",
            RemoteFailure::TooLarge { max_bytes } => {
                return write!(
                    f,
                    "what is new in it is larger than {} MB, and nothing of it was kept",
                    max_bytes >> 20
                );
            }
            RemoteFailure::TimedOut { seconds } => {
                return write!(f, "it was not done within {seconds} s");
            }
            RemoteFailure::Other => "it failed",
        };
        f.write_str(text)
    }
}

fn listed(known: &[String]) -> String {
    if known.is_empty() {
        "none".to_owned()
    } else {
        format!("these: {}", known.join(", "))
    }
}

fn repeated(said: &str) -> String {
    if said.is_empty() {
        String::new()
    } else {
        format!(": {said}")
    }
}
