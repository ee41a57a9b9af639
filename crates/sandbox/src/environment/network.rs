//! The settings of the user that a job with a network gets: registries and certificates.
//!
//! The job may be any project's command, and it can send what it reads. So nothing is passed that
//! seems to contain a password, a token or a private key: no such line of a file of lines, no such
//! file of another kind, no such variable.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::environment::host;
use crate::environment::secrets::{PRIVATE_KEY, holds_secret};

/// The user's variables that name a registry, and how it is asked.
const REGISTRIES: [&str; 21] = [
    "CARGO_REGISTRIES_CRATES_IO_PROTOCOL",
    "GONOPROXY",
    "GONOSUMDB",
    "GOPRIVATE",
    "GOPROXY",
    "GOSUMDB",
    "NPM_CONFIG_REGISTRY",
    "npm_config_registry",
    "PIP_INDEX_URL",
    "PIP_EXTRA_INDEX_URL",
    "PIP_NO_INDEX",
    "PIP_TRUSTED_HOST",
    "PIP_DEFAULT_TIMEOUT",
    "UV_DEFAULT_INDEX",
    "UV_INDEX",
    "UV_INDEX_URL",
    "UV_EXTRA_INDEX_URL",
    "UV_NO_INDEX",
    "UV_HTTP_TIMEOUT",
    "YARN_NPM_REGISTRY_SERVER",
    "YARN_REGISTRY",
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
pub(crate) const HOME_FILES: [(&str, bool); 8] = [
    (".npmrc", true),
    (".config/pnpm/rc", true),
    (".yarnrc", true),
    (".yarnrc.yml", false),
    (".config/pip/pip.conf", false),
    (".pip/pip.conf", false),
    (".config/uv/uv.toml", false),
    (".config/go/env", true),
];

/// Files of the machine's settings for registries.
pub(crate) const MACHINE_FILES: [&str; 4] = [
    "/etc/pip.conf",
    "/etc/xdg/pip/pip.conf",
    "/etc/uv/uv.toml",
    "/etc/xdg/uv/uv.toml",
];

/// The maximum size of a file of certificates; the whole bundle of a distribution is a tenth of it.
const MAX_CERTIFICATES_BYTES: u64 = 4 << 20;

/// The maximum number of files in a folder of certificates.
const MAX_CERTIFICATE_FILES: usize = 2_000;

/// A settings file: its path below the home or its absolute path, and what a job may see of it.
pub(crate) type SettingsFile = (PathBuf, Vec<u8>);

/// A variable that names certificates, with their real path.
type Certificates = (&'static str, PathBuf);

/// Returns the variables of a job that reaches registries through a proxy.
pub(crate) fn variables_of_registries() -> Vec<(OsString, OsString)> {
    let mut variables = Vec::new();
    for name in REGISTRIES {
        if let Some(value) = host::variable(name)
            && !holds_secret(&value.to_string_lossy())
        {
            variables.push((name.into(), value));
        }
    }
    for (name, path) in certificates_of_user() {
        variables.push((name.into(), path.into()));
    }
    variables
}

/// Lists the files and folders of certificates that the user has set, by their real paths, except
/// those that every job sees.
pub(crate) fn certificates() -> Vec<PathBuf> {
    let mut found = Vec::new();
    for (_, path) in certificates_of_user() {
        if !is_shown_to_all(path) {
            found.push(path.clone());
        }
    }
    found.sort();
    found.dedup();
    found
}

fn certificates_of_user() -> &'static [Certificates] {
    static FOUND: OnceLock<Vec<Certificates>> = OnceLock::new();
    FOUND.get_or_init(|| certificates_of(host::variable))
}

/// Returns the variables whose certificates exist and can be read, with their real paths: a path
/// that leads nowhere, or through a link that a job does not see, could not be shown.
fn certificates_of(variable: impl Fn(&str) -> Option<OsString>) -> Vec<Certificates> {
    let mut found = Vec::new();
    for name in CERTIFICATES {
        if let Some(path) = variable(name)
            && let Ok(real) = Path::new(&path).canonicalize()
            && (is_shown_to_all(&real) || holds_only_certificates(&real))
        {
            found.push((name, real));
        }
    }
    found
}

/// Reports whether every job sees a real path.
pub(crate) fn is_shown_to_all(path: &Path) -> bool {
    for shown in host::SYSTEM.iter().chain(&host::SETTINGS) {
        if let Ok(shown) = Path::new(shown).canonicalize()
            && path.starts_with(shown)
        {
            return true;
        }
    }
    false
}

/// Reports whether a file, or each entry of a folder, can be read and is no private key.
fn holds_only_certificates(path: &Path) -> bool {
    if !path.is_dir() {
        return is_certificate(path);
    }
    let Ok(entries) = path.read_dir() else {
        return false;
    };
    for (number, entry) in entries.flatten().enumerate() {
        if number == MAX_CERTIFICATE_FILES || !is_certificate(&entry.path()) {
            return false;
        }
    }
    true
}

fn is_certificate(path: &Path) -> bool {
    let Ok(found) = path.metadata() else {
        return false;
    };
    if !found.is_file() || found.len() > MAX_CERTIFICATES_BYTES {
        return false;
    }
    match std::fs::read(path) {
        Ok(bytes) => !String::from_utf8_lossy(&bytes).contains(PRIVATE_KEY),
        Err(_) => false,
    }
}

/// Returns the files that a job finds below its home, read once.
pub(crate) fn home_files() -> &'static [SettingsFile] {
    static FOUND: OnceLock<Vec<SettingsFile>> = OnceLock::new();
    FOUND.get_or_init(|| match host::variable("HOME") {
        Some(home) => home_files_of(Path::new(&home)),
        None => Vec::new(),
    })
}

fn home_files_of(home: &Path) -> Vec<SettingsFile> {
    let mut files = Vec::new();
    for (name, by_line) in HOME_FILES {
        if let Some(shown) = shown_of_file(&home.join(name), by_line) {
            files.push((PathBuf::from(name), shown));
        }
    }
    files
}

/// Returns the files that such a job finds at their own paths.
pub(crate) fn machine_files() -> Vec<SettingsFile> {
    let mut files = Vec::new();
    for path in MACHINE_FILES.map(PathBuf::from) {
        if let Some(shown) = shown_of_file(&path, false) {
            files.push((path, shown));
        }
    }
    files
}

fn shown_of_file(path: &Path, by_line: bool) -> Option<Vec<u8>> {
    let text = std::fs::read_to_string(path).ok()?;
    Some(without_secrets(&text, by_line)?.into_bytes())
}

/// Returns what a job may see of a settings file, or `None` if that is nothing.
pub(crate) fn without_secrets(text: &str, by_line: bool) -> Option<String> {
    // A key has several lines.
    if text.contains(PRIVATE_KEY) || (!by_line && holds_secret(text)) {
        return None;
    }
    let mut open = String::new();
    for line in text.lines() {
        if !by_line || !holds_secret(line) {
            open.push_str(line);
            open.push('\n');
        }
    }
    Some(open)
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
            (
                ".config/pip/pip.conf",
                "[global]\nindex-url = https://me:pw@pypi.example/simple\n",
            ),
            (
                ".config/uv/uv.toml",
                "index-url = \"https://pypi.example/@team/simple\"\n",
            ),
            (".netrc", "machine npm.example login me password pw\n"),
        ];
        for (name, text) in files {
            let path = home.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let expected: [SettingsFile; 2] = [
            (
                ".npmrc".into(),
                b"registry=https://npm.example/\nfund=false\n".to_vec(),
            ),
            (
                ".config/uv/uv.toml".into(),
                b"index-url = \"https://pypi.example/@team/simple\"\n".to_vec(),
            ),
        ];
        assert_eq!(home_files_of(home.path()), expected);
        let key = "registry=https://npm.example/\nkey=\"-----BEGIN PRIVATE KEY-----\nabc\n\"\n";
        assert_eq!(without_secrets(key, true), None);
    }

    #[test]
    fn only_certificates_that_can_be_read_are_shown_and_by_their_real_path() {
        let folder = tempfile::tempdir().unwrap();
        let real = folder.path().canonicalize().unwrap();
        let bundle = real.join("bundle.pem");
        let link = real.join("link.pem");
        let key = real.join("keys/both.pem");
        std::fs::create_dir_all(real.join("keys")).unwrap();
        std::fs::write(&bundle, "-----BEGIN CERTIFICATE-----\n").unwrap();
        std::fs::write(
            &key,
            "-----BEGIN CERTIFICATE-----\n-----BEGIN EC PRIVATE KEY-----\n",
        )
        .unwrap();
        std::os::unix::fs::symlink(&bundle, &link).unwrap();
        std::os::unix::fs::symlink("/nonexistent/cert.pem", real.join("dangling.pem")).unwrap();
        let named = [
            ("SSL_CERT_FILE", real.join("dangling.pem")),
            ("SSL_CERT_DIR", real.join("keys")),
            ("CURL_CA_BUNDLE", link),
            ("PIP_CERT", key),
            ("GIT_SSL_CAINFO", "/dev/null".into()),
        ];
        let variable = |name: &str| {
            named
                .iter()
                .find(|(set, _)| *set == name)
                .map(|(_, path)| path.into())
        };
        assert_eq!(certificates_of(variable), [("CURL_CA_BUNDLE", bundle)]);
    }
}
