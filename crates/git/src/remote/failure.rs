//! What git and servers say about a remote repository that could not be used, sorted by what one
//! can do about it.

use orchestrate_core::text::invisible::shown;

use crate::error::remote::RemoteFailure;

/// How many characters of what git and the server said an error repeats.
const MOST_SAID: usize = 1_000;

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
                "fatal: could not read Username for 'https://host.example': terminal prompts \
                 disabled",
                Unauthenticated,
            ),
            // Since git 2.47, if no credential helper knows one and nothing may ask.
            ("fatal: unable to get password from user", Unauthenticated),
            (
                "git@host.example: Permission denied (publickey).\nfatal: Could not read from \
                 remote repository.",
                Unauthenticated,
            ),
            (
                "fatal: unable to access 'https://host.example/a/': The requested URL returned \
                 error: 403",
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
        let written = "To /srv/a.git\n!\ta:b\t[remote rejected] (no)\nremote: \u{1b}[31mnot \
                       \u{202e}today\nhint: read\nDone\n";
        assert_eq!(
            worth_saying(written),
            "! a:b [remote rejected] (no)\nremote: \\u{1b}[31mnot \\u{202e}today"
        );
        assert_eq!(worth_saying(&"x".repeat(9_000)).len(), MOST_SAID);
    }
}
