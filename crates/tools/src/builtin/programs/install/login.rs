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
/// The keys of a project's files whose values are passwords and tokens.
const KEYS: [&str; 6] = [
    "_authToken",
    "_auth",
    "_password",
    "npmAuthToken",
    "npmAuthIdent",
    "token",
];

/// What an agent can say of a package that only the user can install.
pub(super) const BY_USER: &str = "say in your report that the user has to install the package in the checkout, from which \
    `.worktreeinclude` brings `.venv` or `node_modules` into worktrees";

/// Reports whether a package manager failed because a registry wants to know the user.
pub(super) fn is_wanted(ran: &Ran) -> bool {
    let says = |said: &&str| ran.stdout.contains(said) || ran.stderr.contains(said);
    ran.run.exit_code != Some(0) && WANTED.iter().any(says)
}

/// Reports whether a file with settings of a package manager names a login for a registry.
pub(super) fn is_named_in(text: &str) -> bool {
    let lines = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.starts_with(['#', ';']));
    lines
        .into_iter()
        .any(|line| has_key(line) || has_login(line))
}

/// Reports whether such a file contains a password or a token, and not just a variable for one.
pub(super) fn is_written_in(text: &str) -> bool {
    let lines = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.starts_with(['#', ';']));
    lines
        .into_iter()
        .any(|line| has_key(line) && !line.contains('$'))
}

/// Reports whether a line gives one of the keys a value: whether the word before a sign that does
/// so is one. The same word in a text, such as a description, is none.
fn has_key(line: &str) -> bool {
    let (before, _) = line.rsplit_once(['=', ':']).unwrap_or_default();
    before.split(['=', ':']).any(is_key)
}

fn is_key(part: &str) -> bool {
    part.trim_end()
        .rsplit([' ', '{', ','])
        .next()
        .is_some_and(|word| KEYS.contains(&word))
}

/// Reports whether a line has an address with a user or a password.
fn has_login(line: &str) -> bool {
    line.split("://").skip(1).any(|rest| {
        rest.split(['/', ' ', '"', '\''])
            .next()
            .is_some_and(|host| host.contains('@'))
    })
}

/// Returns what an agent is told: nothing, unless a registry wants a login. That a file names one
/// is no reason for another failure.
pub(super) fn hint(is_wanted: bool, file: Option<&str>) -> Option<String> {
    let why = match (is_wanted, file) {
        (false, _) => return None,
        (true, None) => "a registry wants a password or a token".to_owned(),
        (true, Some(file)) => {
            format!("a registry wants a password or a token, for which `{file}` has a place")
        }
    };
    Some(format!(
        "{why}, and no job is given one, whether it is in the project or in the user's `~/.npmrc`, `pip.conf`, `.netrc` or \
         variables: this registry cannot be used here. Do without the package, or {BY_USER}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_may_name_a_login() {
        let table = [
            ("//npm.corp.example/:_authToken=${NPM_TOKEN}", true),
            ("_auth = abc", true),
            ("npmAuthToken: \"${TOKEN}\"", true),
            (
                "--index-url https://user:password@pypi.corp.example/simple",
                true,
            ),
            ("url = \"https://token@pypi.corp.example/simple/\"", true),
            ("token = \"secret\"", true),
            (
                "corp = { index = \"https://corp.example/\", token = \"secret\" }",
                true,
            ),
            ("registry=https://npm.corp.example/", false),
            ("# //npm.corp.example/:_authToken=x", false),
            ("@scope:registry=https://npm.corp.example/@scope", false),
            ("always-auth=true", false),
            ("description = \"A token bucket\"", false),
            ("requests==2.0  # needs a token", false),
            ("keywords = ['token', 'auth']", false),
            ("requests==2.0  # by me@corp.example", false),
        ];
        for (line, expected) in table {
            assert_eq!(is_named_in(&format!("a=b\n{line}\n")), expected, "{line}");
        }
    }

    #[test]
    fn nothing_is_said_without_a_login() {
        assert_eq!(
            [None, Some(".npmrc")].map(|file| hint(false, file)),
            [None, None]
        );
        assert!(hint(true, None).is_some_and(|hint| hint.starts_with("a registry wants a password or a token, and")));
        let placed =
            "a registry wants a password or a token, for which `.npmrc` has a place, and no job";
        assert!(hint(true, Some(".npmrc")).is_some_and(|hint| hint.starts_with(placed)));
    }
}
