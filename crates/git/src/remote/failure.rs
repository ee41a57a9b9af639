//! Why a remote repository could not be used: git's words, sorted by what one can do about them.

use std::fmt;

use orchestrate_core::text::invisible::shown;

/// How many characters of what git and the server said an error repeats.
const MOST_SAID: usize = 1_000;

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
                "the server did not accept the user's credentials, or git has none for it that need no question"
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

/// What git and servers say, and what it means; the first that fits counts.
const MEANINGS: [(&[&str], RemoteFailure); 9] = [
    (
        &["[rejected]", "non-fast-forward", "fetch first"],
        RemoteFailure::NotFastForward,
    ),
    (
        &["[remote rejected]", "hook declined"],
        RemoteFailure::Refused,
    ),
    (
        &["Host key verification failed"],
        RemoteFailure::UnknownHostKey,
    ),
    (
        &[
            "unable to update url base from redirection",
            "returned error: 30",
        ],
        RemoteFailure::Redirected,
    ),
    (
        &[
            "Authentication failed",
            "could not read Username",
            "could not read Password",
            "unable to get password from user",
            "Permission denied (",
            "returned error: 401",
            "returned error: 403",
        ],
        RemoteFailure::Unauthenticated,
    ),
    (&["couldn't find remote ref"], RemoteFailure::NoBranch),
    (
        &[
            "returned error: 404",
            "does not appear to be a git repository",
            "epository not found",
            "' not found",
        ],
        RemoteFailure::NoRepository,
    ),
    (
        &["does not exist", "No such file or directory"],
        RemoteFailure::NoRepository,
    ),
    (
        &[
            "Could not resolve host",
            "ould not resolve hostname",
            "Connection refused",
            "Connection timed out",
            "Connection reset",
            "Failed to connect",
            "Network is unreachable",
            "No route to host",
            "unable to access",
            "unable to connect",
            "early EOF",
            "hung up unexpectedly",
            "Operation too slow",
        ],
        RemoteFailure::Unreachable,
    ),
];

impl RemoteFailure {
    /// Sorts what git wrote.
    pub(crate) fn from_output(said: &str) -> RemoteFailure {
        let fits = |words: &&[&str]| words.iter().any(|word| said.contains(word));
        MEANINGS
            .iter()
            .find(|(words, _)| fits(words))
            .map_or(RemoteFailure::Other, |(_, meaning)| *meaning)
    }
}

/// Returns what is worth repeating of what git wrote: without its advice, which is for people at a
/// terminal.
pub(crate) fn worth_saying(written: &str) -> String {
    // Git separates the columns of its report by tabs, which would be shown as escapes.
    let line = |line: &str| shown(&line.trim_end().replace('\t', " "));
    let lines: Vec<String> = written
        .lines()
        .filter(|line| !is_noise(line))
        .map(line)
        .collect();
    lines.join("\n").chars().take(MOST_SAID).collect()
}

fn is_noise(line: &&str) -> bool {
    let begins = ["hint:", "To ", "Done", "error: failed to push some refs"];
    line.trim().is_empty() || begins.iter().any(|begin| line.starts_with(begin))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_git_says_has_a_class() {
        use RemoteFailure::{
            NoBranch, NoRepository, NotFastForward, Other, Redirected, Refused, Unauthenticated,
            UnknownHostKey, Unreachable,
        };
        let table = [
            (
                "!\tabc:refs/heads/x\t[rejected] (fetch first)",
                NotFastForward,
            ),
            (
                "!\tabc:refs/heads/x\t[rejected] (non-fast-forward)",
                NotFastForward,
            ),
            (
                "!\tabc:refs/heads/x\t[remote rejected] (pre-receive hook declined)",
                Refused,
            ),
            (
                "!\tabc:refs/heads/x\t[remote rejected] (protected branch hook declined)",
                Refused,
            ),
            (
                "fatal: Authentication failed for 'https://host.example/a/'",
                Unauthenticated,
            ),
            (
                "fatal: could not read Username for 'https://host.example': terminal prompts disabled",
                Unauthenticated,
            ),
            // Since git 2.47, if no credential helper knows one and nothing may ask.
            ("fatal: unable to get password from user", Unauthenticated),
            (
                "git@host.example: Permission denied (publickey).\nfatal: Could not read from remote repository.",
                Unauthenticated,
            ),
            (
                "fatal: unable to access 'https://host.example/a/': The requested URL returned error: 403",
                Unauthenticated,
            ),
            (
                "Host key verification failed.\nfatal: Could not read from remote repository.",
                UnknownHostKey,
            ),
            (
                "fatal: repository 'https://host.example/a/' not found",
                NoRepository,
            ),
            (
                "fatal: '/srv/a.git' does not appear to be a git repository",
                NoRepository,
            ),
            (
                "ERROR: Repository not found.\nfatal: Could not read from remote repository.",
                NoRepository,
            ),
            ("fatal: couldn't find remote ref refs/heads/x", NoBranch),
            (
                "fatal: unable to access 'https://h/': Could not resolve host: h",
                Unreachable,
            ),
            (
                "ssh: Could not resolve hostname h: Name or service not known",
                Unreachable,
            ),
            (
                "ssh: connect to host h port 22: Connection refused",
                Unreachable,
            ),
            (
                "fatal: unable to access 'http://h/': The requested URL returned error: 302",
                Redirected,
            ),
            ("fatal: the remote end hung up unexpectedly", Unreachable),
            ("fatal: something new", Other),
        ];
        for (said, expected) in table {
            assert_eq!(RemoteFailure::from_output(said), expected, "{said}");
        }
    }

    #[test]
    fn what_is_repeated_is_short_and_safe() {
        let written = "To /srv/a.git\n!\ta:b\t[remote rejected] (no)\nremote: \u{1b}[31mnot \u{202e}today\nhint: read\nDone\n";
        assert_eq!(
            worth_saying(written),
            "! a:b [remote rejected] (no)\nremote: \\u{1b}[31mnot \\u{202e}today"
        );
        assert_eq!(worth_saying(&"x".repeat(9_000)).len(), MOST_SAID);
    }
}
