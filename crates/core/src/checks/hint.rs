//! Hints for checks, setups and commands of the plan that fail for a known cause which no
//! agent can fix: what to type then.
//!
//! Only output of tools themselves is recognised, by words that a project's own tests hardly print.

/// A known cause: the words that a tool prints for it, and the hint.
struct Cause {
    /// The words that all stand in one line of the output, in lower case.
    words: &'static [&'static str],
    /// The hint: what to type or set.
    hint: &'static str,
}

/// The hint for crates that are not in cargo's registry on this machine.
const FETCH_CRATES: &str = "commands have no network: type `cargo fetch` in your checkout";
/// The hint for a missing package of Node.
const NODE_PACKAGES: &str = "the worktree has no such package: add `node_modules` to \
                             .worktreeinclude, or install the packages with `[worktree] setup`";
/// The hint for a missing package of Python.
const PYTHON_PACKAGES: &str = "the worktree has no such package: add `.venv` to .worktreeinclude \
                               and call its programs (`.venv/bin/python`), or install it where \
                               your PATH finds it";
/// The hint for a missing module of Go.
const GO_MODULES: &str = "commands have no network: type `go mod download` in your checkout";
/// The hint for modules of Go without their checksums.
const GO_SUMS: &str =
    "commands have no network: type `go mod tidy` in your checkout, and commit go.sum";
/// The hint for a missing package of Maven.
const MAVEN_PACKAGES: &str =
    "commands have no network: type `mvn dependency:go-offline` in your checkout (needs Maven 3.9)";
/// The hint for a program that commands do not see.
const PROGRAM: &str = "commands do not see this program: one that a package manager puts into the \
                       project (`node_modules/.bin/NAME`, `.venv/bin/NAME`) is in a worktree only \
                       if .worktreeinclude names its folder or `[worktree] setup` installs it; the \
                       doctor shows which others commands see, and `sandbox.read` in your own \
                       configuration adds a folder";
/// The hint for a program that lies in the user's checkout, in a folder that git ignores.
const IN_CHECKOUT: &str =
    "add the folder that it lies in to .worktreeinclude, or let `[worktree] setup` install it";
/// The hint for a script on `PATH` that starts something below the user's home.
const HOME: &str = "a script on your PATH looks for files below $HOME, of which commands see \
                    nothing but toolchains: let `sandbox.read` in your own configuration add their \
                    folder, and the script name it by its absolute path";
/// The hint for a full disk.
const DISK: &str =
    "free space on the disk of the worktrees, for example by cleaning runs that have landed";
/// The hint for a file that is larger than commands may write.
const FILE_SIZE: &str =
    "the command writes a larger file than commands may: let it write less, or several files";
/// The hint for anything that needs a network.
const NETWORK: &str = "commands have no network: download what they need beforehand, in your \
                       checkout, or with `[worktree] setup` and `setup_network = true`";

/// The hint for a program that reads in `/proc` what its own process is, as Yarn 1 and Bun do.
const OWN_PROCESS: &str = "the weaker tier of the sandbox, in which commands run here, shows \
                           programs nothing of their own process in /proc, which this one needs: \
                           the doctor's line `sandbox full` says how to get the other tier";

/// The end of the line that says that a missing program lies in the user's checkout.
const NOT_IN_WORKTREE: &str = "of the checkout, which no worktree has";

/// The line of a failed setup's output that says that it had the network.
pub const SETUP_HAD_NETWORK: &str = "the setup had the network";
/// The beginning of the line that says why a setup had no network on a tree.
pub const BASE_ALONE_HAS_NETWORK: &str =
    "only the commit that a run starts from is set up with the network";
/// The line that says why a setup had no network although nothing that it reads has changed.
pub const RESULT_STAYS: &str =
    "what the setup made with the network cannot be moved to other worktrees";
/// The hint for a setup that failed although it had the network.
const SETUP: &str = "type the setup's command in your checkout: settings with a password, a token \
                     or a key are not passed to it, so private registries do not answer; list what \
                     it would make in .worktreeinclude then";
/// The hint for a setup that asks for a host which it may not reach.
const SETUP_HOSTS: &str = "if the setup needs that host, name it in `worktree.setup_hosts`, in \
                           orchestrate.toml or in your own configuration";
/// The hint for a registry whose name leads to an address that is not public.
const SETUP_ADDRESS: &str = "the name servers here lead that host to an address of no public \
                             server, as some proxies and VPNs do: if you trust them, name the host \
                             in `worktree.setup_hosts`, in orchestrate.toml or in your own \
                             configuration";
/// The hint for work that changes what the setup reads.
const SETUP_CHANGES: &str =
    "change what the setup reads in your checkout, commit it, and start the next run from there";
/// The hint for a setup whose result names its own worktree.
const SETUP_STAYS: &str = "let the setup make only files that git ignores and that do not contain \
                           their own absolute path, or list them in .worktreeinclude";

/// The beginning of the line that [`with_hint`] appends.
const FIX: &str = "\nfix: ";

const fn cause(words: &'static [&'static str], hint: &'static str) -> Cause {
    Cause { words, hint }
}

/// The known causes; the first that fits counts, so that what names a tool comes first.
const CAUSES: &[Cause] = &[
    cause(&["no space left on device"], DISK),
    cause(&["disk quota exceeded"], DISK),
    cause(&["file size limit exceeded"], FILE_SIZE),
    cause(&["error writing", "file too large"], FILE_SIZE),
    cause(&[NOT_IN_WORKTREE], IN_CHECKOUT),
    cause(&[BASE_ALONE_HAS_NETWORK], SETUP_CHANGES),
    cause(&[RESULT_STAYS], SETUP_STAYS),
    cause(&["eacces", "uv_resident_set_memory"], OWN_PROCESS),
    cause(&["stackoverflow: failed to parse lockfile"], OWN_PROCESS),
    cause(&["is no host of the setup"], SETUP_HOSTS),
    cause(
        &["leads to", "`worktree.setup_hosts` does not name it"],
        SETUP_ADDRESS,
    ),
    cause(&[SETUP_HAD_NETWORK], SETUP),
    cause(
        &["attempting to make an http request, but --offline was specified"],
        FETCH_CRATES,
    ),
    cause(
        &["failed to download", "--offline was specified"],
        FETCH_CRATES,
    ),
    cause(&["no matching package named", "found"], FETCH_CRATES),
    cause(&["as a reminder, you're using offline mode"], FETCH_CRATES),
    cause(&["missing go.sum entry"], GO_SUMS),
    cause(&["module lookup disabled by goproxy=off"], GO_MODULES),
    cause(&["dial tcp: lookup proxy.golang.org"], GO_MODULES),
    cause(
        &["cannot access", "in offline mode and the artifact"],
        MAVEN_PACKAGES,
    ),
    cause(&["modulenotfounderror: no module named"], PYTHON_PACKAGES),
    cause(&["no module named pytest"], PYTHON_PACKAGES),
    cause(&["error: cannot find module"], NODE_PACKAGES),
    cause(&["err_module_not_found"], NODE_PACKAGES),
    cause(&["npm error code enotcached"], NETWORK),
    cause(&["npm error code enotfound"], NETWORK),
    cause(&["npm error code eai_again"], NETWORK),
    cause(&["err_pnpm_no_offline_tarball"], NETWORK),
    cause(&["getaddrinfo eai_again"], NETWORK),
    cause(&["temporary failure in name resolution"], NETWORK),
    cause(&["could not resolve host"], NETWORK),
    cause(&["network is unreachable"], NETWORK),
    cause(&["network was disabled", "uv"], NETWORK),
    // The home that commands have in the full tier, which is the user's path, and in the fallback
    // tier.
    cause(&["bin/", "exec: /home/", "not found"], HOME),
    cause(&["bin/", "exec: /root/", "not found"], HOME),
    cause(
        &["bin/", ": line ", ": /home/", "no such file or directory"],
        HOME,
    ),
    cause(
        &["bin/", ": line ", ": /root/", "no such file or directory"],
        HOME,
    ),
    cause(&["bin/", "/orchestrate-job-", "not found"], HOME),
    cause(
        &["bin/", "/orchestrate-job-", "no such file or directory"],
        HOME,
    ),
    cause(&["rustup could not choose a version of"], PROGRAM),
    cause(&["pyenv:", "command not found"], PROGRAM),
    cause(&["is not installed (set by"], PROGRAM),
    cause(&["sh:", "not found"], PROGRAM),
    cause(&["bash:", "command not found"], PROGRAM),
    cause(&["env:", "no such file or directory"], PROGRAM),
];

/// Appends to a message what to type if an output shows a known cause.
pub fn with_hint(text: String, output: &str) -> String {
    match check_hint(output) {
        Some(hint) => format!("{text}{FIX}{hint}"),
        None => text,
    }
}

/// The hint for a socket that the fallback tier of the sandbox refuses.
pub const SOCKET_REFUSED: &str = "the weaker tier of the sandbox, in which commands run here, \
                                  refuses some sockets: the doctor's line `sandbox fallback` says \
                                  which, and its line `sandbox full` how to get the other tier";

/// Reports whether the output of a failed check shows that the kernel refused a socket, as a
/// sandbox makes it do.
pub fn shows_refused_socket(output: &str) -> bool {
    /// How many lines a trace has for a call.
    const LINES_OF_CALL: usize = 4;
    const REFUSED: [&str; 4] = [
        "operation not permitted",
        "permission denied",
        "eperm",
        "eacces",
    ];
    const BY: [&str; 8] = [
        "socket",
        "bind",
        "connect",
        "listen",
        "sendto",
        "getifaddrs",
        "uv_interface_addresses",
        "udp",
    ];
    let lines: Vec<String> = output.lines().map(str::to_lowercase).collect();
    for (at, line) in lines.iter().enumerate() {
        if !has_one(line, &REFUSED) {
            continue;
        }
        if has_one(line, &BY) {
            return true;
        }
        // Python names the call above its error.
        let mut above = lines.iter().take(at).rev().take(LINES_OF_CALL);
        if line.contains("permissionerror") && above.any(|line| line.contains("socket")) {
            return true;
        }
    }
    false
}

fn has_one(line: &str, words: &[&str]) -> bool {
    words.iter().any(|word| line.contains(word))
}

/// Splits a message into itself and what [`with_hint`] has appended.
pub fn split_hint(message: &str) -> (&str, Option<&str>) {
    message
        .rsplit_once(FIX)
        .map_or((message, None), |(text, hint)| (text, Some(hint)))
}

/// Returns the line that says that a missing program lies in a folder of the user's checkout, for
/// which [`check_hint`] knows what to do.
pub fn lies_in_checkout(program: &str, folder: &str) -> String {
    format!("{program} was not found here: it lies in {folder} {NOT_IN_WORKTREE}")
}

/// Returns the program that a shell did not find, by the last line of an output that says so.
pub fn missing_program(output: &str) -> Option<&str> {
    for line in output.lines().rev() {
        let line = line.trim();
        if let Some(said) = ENDS.iter().find_map(|end| line.strip_suffix(end))
            && said.contains("sh: ")
        {
            let program = said.rsplit(": ").next().unwrap_or(said).trim();
            if !program.is_empty() && !program.contains(char::is_whitespace) {
                return Some(program);
            }
        }
    }
    None
}

/// How shells end the line on a program that they do not find.
const ENDS: [&str; 3] = [
    ": command not found",
    ": not found",
    ": No such file or directory",
];

/// Returns what to type if the output of a failed check shows a known cause.
pub fn check_hint(output: &str) -> Option<&'static str> {
    let lines: Vec<String> = output.lines().map(str::to_lowercase).collect();
    for cause in CAUSES {
        let mut lines = lines.iter();
        if lines.any(|line| cause.words.iter().all(|word| line.contains(word))) {
            return Some(cause.hint);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hint_is_found_again_below_a_message() {
        let message = with_hint(
            "it ended with exit code 1\nan error".to_owned(),
            "/bin/sh: 1: just: not found",
        );
        assert_eq!(
            split_hint(&message),
            ("it ended with exit code 1\nan error", Some(PROGRAM))
        );
        assert_eq!(split_hint("it ended\nwith 1"), ("it ended\nwith 1", None));
    }

    #[test]
    fn the_program_that_a_shell_does_not_find_is_named() {
        let table = [
            (
                "\n> a@1.0.0 test\n> mocha\n\nsh: 1: mocha: not found\n",
                Some("mocha"),
            ),
            (
                "/bin/sh: 1: .venv/bin/pytest: not found",
                Some(".venv/bin/pytest"),
            ),
            (
                "bash: line 1: jest: command not found\nnpm error code 127\n",
                Some("jest"),
            ),
            (
                "sh: line 1: node_modules/.bin/jest: No such file or directory",
                Some("node_modules/.bin/jest"),
            ),
            ("make: *** [Makefile:2: test] Error 127", None),
            ("user not found", None),
        ];
        for (output, expected) in table {
            assert_eq!(missing_program(output), expected, "{output}");
        }
        let line = lies_in_checkout("mocha", "node_modules");
        assert_eq!(
            check_hint(&format!("sh: 1: mocha: not found\n{line}")),
            Some(IN_CHECKOUT)
        );
        assert!(PROGRAM.contains(".worktreeinclude") && IN_CHECKOUT.contains(".worktreeinclude"));
    }

    #[test]
    fn a_refused_socket_is_found_in_what_tools_print() {
        for output in [
            "Error: listen EPERM: operation not permitted 0.0.0.0:3000",
            "PermissionError: [Errno 1] Operation not permitted: \
             socket.socket(family=AddressFamily.AF_INET)",
            "collected 3 items\nlisten udp :0: socket: operation not permitted",
            "connect(): Permission denied",
            "bind: Permission denied",
            "  File \"/usr/lib/python3.11/socket.py\", line 232, in __init__\n    \
             _socket.socket.__init__(self, family)\n\
             PermissionError: [Errno 1] Operation not permitted",
            "SystemError [ERR_SYSTEM_ERROR]: uv_interface_addresses returned EPERM (operation not \
             permitted)",
        ] {
            assert!(shows_refused_socket(output), "{output}");
        }
        for output in [
            "mkdir: Permission denied",
            "connection refused",
            "socket.c:3: warning\nopen: Permission denied",
            "  File \"/w/a.py\", line 2\n    open(path)\nPermissionError: [Errno 13] Permission \
             denied: 'x'",
        ] {
            assert!(!shows_refused_socket(output), "{output}");
        }
    }

    #[test]
    fn a_known_cause_has_a_hint() {
        let table = [
            (
                "error: no matching package named `serde` found\nlocation searched: crates.io",
                Some(FETCH_CRATES),
            ),
            (
                "error: failed to download `itoa v1.0.1`\n\nCaused by:\n  attempting to make an \
                 HTTP request, but --offline was specified",
                Some(FETCH_CRATES),
            ),
            (
                "main.go:3:8: example.org/x@v1: module lookup disabled by GOPROXY=off",
                Some(GO_MODULES),
            ),
            (
                "go: example.org/x@v1.0.0: missing go.sum entry; to add it:\n\tgo mod download",
                Some(GO_SUMS),
            ),
            (
                "E   ModuleNotFoundError: No module named 'yaml'",
                Some(PYTHON_PACKAGES),
            ),
            (
                "/usr/bin/python3: No module named pytest",
                Some(PYTHON_PACKAGES),
            ),
            (
                "Error: Cannot find module 'left-pad'\nRequire stack:",
                Some(NODE_PACKAGES),
            ),
            ("npm error code ENOTCACHED", Some(NETWORK)),
            (
                "curl: (6) Could not resolve host: example.org",
                Some(NETWORK),
            ),
            ("/bin/sh: 1: just: not found", Some(PROGRAM)),
            ("bash: line 1: just: command not found", Some(PROGRAM)),
            (
                "sh: 1: mocha: not found\nmocha was not found here: it lies in x of the checkout, \
                 which no worktree has",
                Some(IN_CHECKOUT),
            ),
            (
                "pyenv: version `3.13' is not installed (set by /w/.python-version)",
                Some(PROGRAM),
            ),
            (
                "/home/u/.local/bin/a: 2: exec: /home/u/.a/bin/a: not found",
                Some(HOME),
            ),
            (
                "/home/u/bin/a: line 2: /home/u/.a/a: No such file or directory",
                Some(HOME),
            ),
            (
                "cat: /home/u/project/bin/a: No such file or directory",
                None,
            ),
            (
                "/home/u/bin/a: line 2: /tmp/orchestrate-job-x1/.a/a: No such file or directory",
                Some(HOME),
            ),
            ("ld: final link failed: No space left on device", Some(DISK)),
            ("File size limit exceeded (core dumped)", Some(FILE_SIZE)),
            (
                "npm error code E401\nthe setup had the network",
                Some(SETUP),
            ),
            (
                "Error: EACCES: permission denied, uv_resident_set_memory",
                Some(OWN_PROCESS),
            ),
            (
                "StackOverflow: failed to parse lockfile: 'bun.lock'\nthe setup had the network",
                Some(OWN_PROCESS),
            ),
            (
                "refused: a.example (rule x): `a.example` is no host of the setup; …",
                Some(SETUP_HOSTS),
            ),
            (
                "refused: pypi.org:443 (rule x): `pypi.org` leads to 198.18.0.7, which is for x, \
                 and `worktree.setup_hosts` does not name it\nthe setup had the network",
                Some(SETUP_ADDRESS),
            ),
            (
                "npm error code ENOTCACHED\nonly the commit that a run starts from is set up with \
                 the network; …",
                Some(SETUP_CHANGES),
            ),
            ("assertion `left == right` failed", None),
            (
                "test not_found ... FAILED\nthread panicked: user not found",
                None,
            ),
            ("", None),
        ];
        for (output, expected) in table {
            assert_eq!(check_hint(output), expected, "{output}");
        }
    }
}
