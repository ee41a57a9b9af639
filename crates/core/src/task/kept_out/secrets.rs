//! Likely secrets: files by the names of keys and credentials, and contents by the forms
//! of keys and tokens.
//!
//! A name counts whatever is in the file, except where only keys are meant and the file holds
//! public parts alone. A template such as `.env.example` is judged by its content. Placeholders
//! have too few different characters to be tokens.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use aho_corasick::AhoCorasick;

use super::scratch::is_named;
use crate::text::case_folding::folded_path;

/// How much of a file is searched: keys are short, and files of tokens begin with them.
pub const MAX_SEARCHED_BYTES: usize = 1 << 20;
/// The number of different characters from which on the rest of a token is no placeholder.
const DIFFERENT: usize = 8;
/// The number of characters of base64 that show a key in the middle of a line.
const KEY_CHARS: usize = 40;
/// How far behind its first line the text of such a key begins at most: there may be headers.
const KEY_WITHIN: usize = 400;

/// Names of files with secrets, in lower case, and what they are.
#[rustfmt::skip]
const NAMES: &[(&[&str], &str)] = &[
    (&[".env", ".env.*", "*.env", ".dev.vars"], "its name is that of a file of secrets"),
    (&["*.p12", "*.pfx", "*.jks", "*.keystore", "*.ppk", "*.kdbx", "*.agekey"],
        "its name is that of a store of keys"),
    (&[".netrc", "_netrc", ".git-credentials", ".pgpass", ".my.cnf", ".htpasswd", ".dockercfg",
        "kubeconfig", "*.kubeconfig", "credentials.json", "client_secret*",
        "application_default_credentials.json", ".vault-token"],
        "its name is that of a file of credentials"),
    (&["terraform.tfstate", "*.tfstate", "*.tfstate.backup"], "a state of Terraform holds secrets"),
];

/// Names that keys have beside public parts of keys: a file that holds these alone is none.
const KEYS: &[&str] = &["*.pem", "*.key", "*.p8", "*.der.key"];

/// The keys of OpenSSH.
const SSH_KEYS: &[&str] = &[
    "id_rsa",
    "id_dsa",
    "id_ecdsa",
    "id_ed25519",
    "id_ecdsa_sk",
    "id_ed25519_sk",
];

/// Paths of credentials by their ends.
const PATHS: &[&str] = &[
    ".aws/credentials",
    ".docker/config.json",
    ".kube/config",
    ".config/gh/hosts.yml",
];

/// Endings of the names of templates, which hold no secrets.
const TEMPLATES: &[&str] = &[
    ".example",
    ".sample",
    ".template",
    ".tmpl",
    ".tpl",
    ".dist",
    ".defaults",
    ".schema",
    ".pub",
    ".md",
];

/// Tokens: how they begin, and how many characters of [`is_token_char`] follow at least.
#[rustfmt::skip]
const TOKENS: &[(&str, usize, &str)] = &[
    ("ghp_", 36, "a token of GitHub"), ("gho_", 36, "a token of GitHub"),
    ("ghu_", 36, "a token of GitHub"), ("ghs_", 36, "a token of GitHub"),
    ("ghr_", 36, "a token of GitHub"), ("github_pat_", 50, "a token of GitHub"),
    ("glpat-", 20, "a token of GitLab"), ("sk-ant-", 40, "a key of Anthropic"),
    ("sk-proj-", 40, "a key of OpenAI"), ("sk-or-v1-", 40, "a key of OpenRouter"),
    ("sk-", 48, "a key of OpenAI"), ("AIza", 35, "a key of Google"), ("AKIA", 16, "a key of AWS"),
    ("ASIA", 16, "a key of AWS"), ("xoxb-", 20, "a token of Slack"),
    ("xoxp-", 20, "a token of Slack"), ("xoxa-", 20, "a token of Slack"),
    ("xapp-", 20, "a token of Slack"), ("npm_", 36, "a token of npm"),
    ("pypi-AgEIcHlwaS5vcmc", 50, "a token of PyPI"), ("sk_live_", 20, "a key of Stripe"),
    ("rk_live_", 20, "a key of Stripe"), ("hf_", 34, "a token of Hugging Face"),
    ("dop_v1_", 64, "a token of DigitalOcean"), ("dckr_pat_", 20, "a token of Docker"),
    ("shpat_", 32, "a token of Shopify"), ("hvs.", 24, "a token of Vault"),
    ("lin_api_", 40, "a key of Linear"), ("AGE-SECRET-KEY-1", 50, "a key of age"),
    ("SG.", 60, "a key of SendGrid"),
];

/// How the first line of a key begins, and how a private one goes on.
const PEM: &str = "-----BEGIN ";
const PUTTY: &str = "PuTTY-User-Key-File-";
/// The values of package registries' settings, which hold a token or a password.
const REGISTRY: &[&str] = &[
    "_authToken=",
    "_auth=",
    "_password=",
    "password =",
    "password=",
];

/// Files of settings, in lower case, that may hold secrets in some of their lines.
#[rustfmt::skip]
const SETTINGS: &[&str] =
    &[".envrc", "credentials", "secrets.yml", "secrets.yaml", "secrets.json", "secrets.toml",
        "secrets.ini"];
/// Parts of the names of settings that are secrets, in lower case.
const SECRET_NAMES: &[&str] = &[
    "secret",
    "token",
    "password",
    "passwd",
    "api_key",
    "apikey",
    "access_key",
    "private_key",
];
/// The name of the secret half of a key of AWS, which has no form of its own, and the number of its
/// characters.
const AWS_SECRET: (&str, usize) = ("aws_secret_access_key", 40);

/// The beginnings of keys and tokens that a content is searched for, in one pass.
static STARTS: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| {
    let starts = TOKENS.iter().map(|(start, ..)| *start).chain([PEM, PUTTY]);
    AhoCorasick::new(starts).ok()
});

/// The meaning of a file's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Named {
    /// It is a secret, with the reason.
    Secret(&'static str),
    /// It is one unless the file holds public parts of keys alone.
    Key,
    /// It may hold one in some of its lines.
    Registry,
    /// It may hold one as the value of a setting.
    Settings,
}

/// Returns why a file is a secret by its name alone, whatever it holds.
pub(crate) fn name_of_secret(path: &str) -> Option<&'static str> {
    match named(path)? {
        Named::Secret(reason) => Some(reason),
        Named::Key => Some("its name is that of a key"),
        Named::Registry | Named::Settings => None,
    }
}

/// Returns why a file of this path and content looks like a secret; at most [`MAX_SEARCHED_BYTES`]
/// are searched.
pub fn secret_in(path: &str, content: &[u8]) -> Option<String> {
    let content = content.get(..MAX_SEARCHED_BYTES).unwrap_or(content);
    match named(path) {
        Some(Named::Secret(reason)) => return Some(reason.to_owned()),
        Some(Named::Key) if !is_public(content) => {
            return Some("its name is that of a key".to_owned());
        }
        Some(Named::Registry) if holds_login(content) => {
            return Some("it holds a login of a package registry".to_owned());
        }
        Some(Named::Settings) if holds_setting(content, SECRET_NAMES, DIFFERENT) => {
            return Some("one of its settings is a secret".to_owned());
        }
        _ => {}
    }
    let (aws, length) = AWS_SECRET;
    if holds_setting(content, &[aws], length) {
        return Some("it contains a key of AWS".to_owned());
    }
    found_in(content).map(|what| format!("it contains {what}"))
}

fn named(path: &str) -> Option<Named> {
    let lower = folded_path(path);
    let name = lower.rsplit('/').next().unwrap_or(&lower);
    if TEMPLATES.iter().any(|end| name.ends_with(end)) {
        return None;
    }
    let in_ssh_folder = lower.split('/').rev().nth(1) == Some(".ssh")
        && !["config", "authorized_keys"].contains(&name)
        && !name.starts_with("known_hosts");
    let stem = name.split('.').next().unwrap_or(name);
    let has_plain_end = ["", ".key", ".pem", ".old", ".bak"]
        .iter()
        .any(|end| name.strip_suffix(end) == Some(stem));
    if SSH_KEYS.contains(&stem) && has_plain_end || in_ssh_folder {
        return Some(Named::Secret("its name is that of a key of OpenSSH"));
    }
    for (names, reason) in NAMES {
        if is_one_of(name, names) {
            return Some(Named::Secret(reason));
        }
    }
    if PATHS
        .iter()
        .any(|end| lower == *end || lower.ends_with(&format!("/{end}")))
    {
        return Some(Named::Secret("its name is that of a file of credentials"));
    }
    if is_one_of(name, KEYS) {
        return Some(Named::Key);
    }
    if SETTINGS.contains(&name) {
        return Some(Named::Settings);
    }
    [".npmrc", ".pypirc", ".yarnrc"]
        .contains(&name)
        .then_some(Named::Registry)
}

fn is_one_of(name: &str, known: &[&str]) -> bool {
    known.iter().any(|known| is_named(known, name))
}

/// Reports whether a line gives a setting with such a name a value of at least so many characters,
/// which is neither a placeholder nor the name of a variable.
fn holds_setting(content: &[u8], names: &[&str], least: usize) -> bool {
    let text = String::from_utf8_lossy(content);
    for line in text.lines() {
        let Some((name, value)) = line.split_once(['=', ':']) else {
            continue;
        };
        let value = value.trim().trim_matches(['"', '\'', ',', ';']);
        // The cheapest questions first: nearly no line is such a setting.
        if value.len() >= least
            && has_any(name, names)
            && !value.contains(['$', '<', '{', '(', ' '])
            && !value.ends_with("EXAMPLEKEY")
            && different(value) >= DIFFERENT
        {
            return true;
        }
    }
    false
}

fn has_any(name: &str, known: &[&str]) -> bool {
    let name = name.to_lowercase();
    known.iter().any(|known| name.contains(known))
}

/// Returns how many different characters a value has.
fn different(value: &str) -> usize {
    value.chars().collect::<BTreeSet<char>>().len()
}

/// Reports whether a file of keys holds public parts alone.
fn is_public(content: &[u8]) -> bool {
    const PUBLIC: [&str; 6] = [
        "CERTIFICATE",
        "TRUSTED CERTIFICATE",
        "CERTIFICATE REQUEST",
        "PUBLIC KEY",
        "RSA PUBLIC KEY",
        "DH PARAMETERS",
    ];
    let text = String::from_utf8_lossy(content);
    let mut kinds = text
        .lines()
        .filter_map(|line| line.trim().strip_prefix(PEM)?.strip_suffix("-----"))
        .peekable();
    kinds.peek().is_some() && kinds.all(|kind| PUBLIC.contains(&kind) || kind == "X509 CRL")
}

/// Reports whether settings of a package registry have a token or a password in them, not the name
/// of a variable.
fn holds_login(content: &[u8]) -> bool {
    let text = String::from_utf8_lossy(content);
    for line in text.lines() {
        if let Some((_, value)) = REGISTRY.iter().find_map(|key| line.split_once(key)) {
            let value = value.trim();
            if !value.is_empty() && !value.starts_with("${") {
                return true;
            }
        }
    }
    false
}

/// Returns the key or the token in a content.
fn found_in(content: &[u8]) -> Option<&'static str> {
    let starts = STARTS.as_ref()?;
    // A longer start may begin with a shorter one, so that each place is asked for all of them.
    let mut at = starts.find_overlapping_iter(content);
    at.find_map(|found| match TOKENS.get(found.pattern().as_usize()) {
        Some(token) => is_token(content, found.start(), token.0, token.1).then_some(token.2),
        None if content.get(found.start()..found.end()) == Some(PUTTY.as_bytes()) => {
            Some("a private key")
        }
        None => is_private_key(content, found.start(), found.end()).then_some("a private key"),
    })
}

fn is_token(content: &[u8], start: usize, begin: &str, least: usize) -> bool {
    let is_within_word = start
        .checked_sub(1)
        .and_then(|at| content.get(at))
        .is_some_and(u8::is_ascii_alphanumeric);
    let Some(rest) = content.get(start + begin.len()..) else {
        return false;
    };
    let body = rest
        .split(|byte| !is_token_char(*byte))
        .next()
        .unwrap_or(rest);
    // The keys of AWS and the older ones of OpenAI are of one length, and words in capitals begin
    // like the former.
    let has_one_length = ["AKIA", "ASIA"].contains(&begin);
    let fits = match (has_one_length, begin) {
        (true, _) => {
            body.len() == least
                && body
                    .iter()
                    .all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit())
        }
        (false, "sk-") => body.len() >= least && body.iter().all(u8::is_ascii_alphanumeric),
        _ => body.len() >= least,
    };
    let different: std::collections::BTreeSet<u8> = body.iter().copied().collect();
    !is_within_word && fits && different.len() >= DIFFERENT && !body.ends_with(b"EXAMPLE")
}

fn is_token_char(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.')
}

/// Reports whether a private key begins here: on a line of its own, or with its text behind it.
fn is_private_key(content: &[u8], start: usize, end: usize) -> bool {
    const PRIVATE: [&str; 2] = ["PRIVATE KEY-----", "PRIVATE KEY BLOCK-----"];
    let (Some(before), Some(rest)) = (content.get(..start), content.get(end..)) else {
        return false;
    };
    let line = rest
        .split(|byte| matches!(byte, b'\n' | b'\r'))
        .next()
        .unwrap_or(rest);
    let head = String::from_utf8_lossy(line.get(..KEY_WITHIN).unwrap_or(line));
    let Some((at, kind)) = PRIVATE
        .iter()
        .find_map(|kind| Some((head.find(kind)?, kind)))
    else {
        return false;
    };
    let behind = at + kind.len();
    let begins_line = before
        .iter()
        .rev()
        .find(|byte| !matches!(byte, b' ' | b'\t'))
        .is_none_or(|byte| *byte == b'\n');
    let ends_line = head
        .get(behind..)
        .is_some_and(|after| after.trim().is_empty());
    if begins_line && ends_line {
        return true;
    }
    let text: Vec<u8> = rest.iter().copied().skip(behind).take(KEY_WITHIN).collect();
    text.split(|byte| !is_base64(byte))
        .any(|run| run.len() >= KEY_CHARS)
}

fn is_base64(byte: &u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=')
}
