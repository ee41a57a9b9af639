//! What a job with a network gets of the user's settings: how names are resolved, proxies,
//! registries and certificates.
//!
//! The job may be any project's command, and it can send what it reads. So nothing is passed that
//! seems to contain a password or a token: no such line of a file of lines, no such file of another
//! kind, no such variable.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The user's variables that lead to the network, and those that name a registry.
const VARIABLES: [&str; 22] = [
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "no_proxy",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "CARGO_HTTP_PROXY",
    "CARGO_REGISTRIES_CRATES_IO_PROTOCOL",
    "GOPROXY",
    "NPM_CONFIG_REGISTRY",
    "npm_config_registry",
    "PIP_INDEX_URL",
    "PIP_EXTRA_INDEX_URL",
    "PIP_TRUSTED_HOST",
    "PIP_DEFAULT_TIMEOUT",
    "UV_DEFAULT_INDEX",
    "UV_INDEX",
    "UV_INDEX_URL",
    "UV_EXTRA_INDEX_URL",
    "UV_HTTP_TIMEOUT",
];

/// The user's variables that name a file or a folder of certificates, which a job then sees.
const CERTIFICATES: [&str; 9] = [
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "CURL_CA_BUNDLE",
    "REQUESTS_CA_BUNDLE",
    "NODE_EXTRA_CA_CERTS",
    "NIX_SSL_CERT_FILE",
    "PIP_CERT",
    "CARGO_HTTP_CAINFO",
    "GIT_SSL_CAINFO",
];

/// Files of settings below the user's home, which a job finds below its own, and whether each line
/// counts by itself.
const HOME_FILES: [(&str, bool); 8] = [
    (".npmrc", true),
    (".config/pnpm/rc", true),
    (".yarnrc", true),
    (".yarnrc.yml", false),
    (".config/pip/pip.conf", false),
    (".pip/pip.conf", false),
    (".config/uv/uv.toml", false),
    (".config/go/env", true),
];

/// Files of the machine's settings.
const MACHINE_FILES: [&str; 5] =
    ["/etc/resolv.conf", "/etc/host.conf", "/etc/gai.conf", "/etc/pip.conf", "/etc/uv/uv.toml"];

/// Words in the names of settings whose values are secret.
const SECRET_WORDS: [&str; 5] = ["_auth", "password", "passwd", "secret", "token"];

/// A settings file: its path below the home or its absolute path, and what a job may see of it.
pub(crate) type SettingsFile = (PathBuf, Vec<u8>);

/// Returns the variables of a job with a network.
#[expect(clippy::disallowed_methods, reason = "the user's settings for the network")]
pub(crate) fn variables() -> impl Iterator<Item = (OsString, OsString)> {
    let named = VARIABLES.into_iter().chain(CERTIFICATES);
    let set = named.filter_map(|name| Some((name, std::env::var_os(name)?)));
    let open = set.filter(|(_, value)| !holds_secret(&value.to_string_lossy()));
    open.map(|(name, value)| (name.into(), value))
}

/// Lists the files and folders of certificates that the user has set.
#[expect(clippy::disallowed_methods, reason = "the user's settings for the network")]
pub(crate) fn certificates() -> Vec<PathBuf> {
    let named = CERTIFICATES.into_iter().filter_map(std::env::var_os).map(PathBuf::from);
    let mut found: Vec<PathBuf> = named.filter(|path| path.is_absolute() && path.exists()).collect();
    found.sort();
    found.dedup();
    found
}

/// Returns the files that a job finds below its home, read once.
#[expect(clippy::disallowed_methods, reason = "finds the user's settings")]
pub(crate) fn home_files() -> &'static [SettingsFile] {
    static FOUND: OnceLock<Vec<SettingsFile>> = OnceLock::new();
    FOUND.get_or_init(|| std::env::var_os("HOME").map(|home| home_files_of(Path::new(&home))).unwrap_or_default())
}

fn home_files_of(home: &Path) -> Vec<SettingsFile> {
    let read = |(name, by_line): (&str, bool)| {
        let text = std::fs::read_to_string(home.join(name)).ok()?;
        Some((PathBuf::from(name), without_secrets(&text, by_line)?.into_bytes()))
    };
    HOME_FILES.into_iter().filter_map(read).collect()
}

/// Returns the files that a job finds at their own paths.
pub(crate) fn machine_files() -> Vec<SettingsFile> {
    let read = |path: &str| {
        let text = std::fs::read_to_string(path).ok()?;
        Some((PathBuf::from(path), without_secrets(&text, false)?.into_bytes()))
    };
    MACHINE_FILES.into_iter().filter_map(read).collect()
}

/// Returns what a job may see of a settings file, or `None` if that is nothing.
fn without_secrets(text: &str, by_line: bool) -> Option<String> {
    if !by_line {
        return if holds_secret(text) { None } else { Some(text.to_owned()) };
    }
    let open = text.lines().filter(|line| !holds_secret(line));
    Some(open.flat_map(|line| [line, "\n"]).collect())
}

/// Reports whether a text seems to contain a password or a token.
fn holds_secret(text: &str) -> bool {
    let lower = text.to_lowercase();
    let names_one = SECRET_WORDS.iter().any(|word| lower.contains(word));
    let mut addresses = lower.split("://").skip(1);
    names_one || addresses.any(|rest| rest.split(['/', '?', '#', '"', '\'', ' ', '\n']).next().is_some_and(has_user))
}

/// Reports whether the host of an address comes after the name of a user.
fn has_user(authority: &str) -> bool {
    authority.contains('@')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_job_gets_contains_no_password_and_no_token() {
        let home = tempfile::tempdir().unwrap();
        let npmrc = "registry=https://npm.example/\n//npm.example/:_authToken=abc\n_password = x\n\
                     proxy=http://me:pw@proxy.example:3128\nfund=false\n";
        let files = [
            (".npmrc", npmrc),
            (".config/pip/pip.conf", "[global]\nindex-url = https://me:pw@pypi.example/simple\n"),
            (".config/uv/uv.toml", "index-url = \"https://pypi.example/@team/simple\"\n"),
            (".netrc", "machine npm.example login me password pw\n"),
        ];
        for (name, text) in files {
            let path = home.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let expected: [SettingsFile; 2] = [
            (".npmrc".into(), b"registry=https://npm.example/\nfund=false\n".to_vec()),
            (".config/uv/uv.toml".into(), b"index-url = \"https://pypi.example/@team/simple\"\n".to_vec()),
        ];
        assert_eq!(home_files_of(home.path()), expected);
    }
}
