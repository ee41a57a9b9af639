//! Registries that want a password or a token: no job is given those of the user, so what a project
//! needs from such a registry is for the user to install.

use super::super::candidate::Ran;

/// What package managers say to a registry that wants to know the user: pip, uv, npm, pnpm, yarn,
/// cargo and go.
const WANTED: [&str; 16] = [
    "401 Unauthorized",
    "401 Client Error",
    "401 Error",
    "Credentials not correct",
    "Missing credentials",
    "lack of valid authentication credentials",
    "code E401",
    "FETCH_401",
    "ENEEDAUTH",
    "Invalid authentication",
    "YN0041",
    "requires authentication",
    "no token found",
    "could not read Username",
    "Failed to replace env in config",
    "Environment variable not found",
];
/// What an agent can say of a package that only the user can install.
pub(super) const BY_USER: &str = "say in your report that the user has to install the package in \
                                  the checkout, from which `.worktreeinclude` brings `.venv` or \
                                  `node_modules` into worktrees";

/// Returns what an agent is told if a package manager failed because a registry wants to know the
/// user.
pub(super) fn hint(ran: &Ran) -> Option<String> {
    let says = |said: &&str| ran.stdout.contains(said) || ran.stderr.contains(said);
    let is_wanted = ran.run.exit_code != Some(0) && WANTED.iter().any(says);
    is_wanted.then(|| {
        format!(
            "[a registry wants a password or a token, and no job is given one, whether it is in \
            the project or in the user's `~/.npmrc`, `pip.conf`, `.netrc` or variables: this \
            registry cannot be used here. Do without the package, or {BY_USER}]"
        )
    })
}
