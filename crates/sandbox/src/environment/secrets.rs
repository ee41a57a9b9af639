//! Recognizes settings that seem to contain a password, a token or a private key; in doubt, they
//! do.

/// Words in the names of settings whose values are secret. `auth` covers those of npm and yarn.
const SECRET_WORDS: [&str; 10] = [
    "auth",
    "password",
    "passwd",
    "secret",
    "token",
    "credential",
    "apikey",
    "api_key",
    "api-key",
    "bearer",
];

/// The beginning of a private key, in the upper case of all its formats.
pub(crate) const PRIVATE_KEY: &str = "PRIVATE KEY";

/// Reports whether a text seems to contain a password, a token or a private key.
pub(crate) fn holds_secret(text: &str) -> bool {
    let lower = text.to_lowercase();
    let names_one = SECRET_WORDS.iter().any(|word| lower.contains(word));
    names_one || text.contains(PRIVATE_KEY) || lower.split(is_between).any(names_user)
}

fn is_between(next: char) -> bool {
    next.is_whitespace() || "\"'`=,;<>()[]{}".contains(next)
}

/// Reports whether a word is an address with a user in it, which may be a token, or with a user and
/// a password, which need no scheme before them.
fn names_user(word: &str) -> bool {
    let Some((before, _)) = word.rsplit_once('@') else {
        return false;
    };
    match before.split_once("//") {
        Some((_, rest)) => rest.contains(':') || (!rest.is_empty() && !rest.contains('/')),
        None => before.contains(':'),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_told_from_settings() {
        let secret = [
            "npmAuthIdent: \"me:pw\"",
            "me:pw@proxy.example:3128",
            "http_proxy=me:pw@proxy.example",
            "proxy = 'me:pw@proxy.example'",
            "https://me:p/w@proxy.example/",
            "https://abcdef@npm.example/",
            "//npm.example/:_authToken=abc",
            "key=-----BEGIN RSA PRIVATE KEY-----",
        ];
        let open = [
            "https://pypi.example/@team/simple",
            "@team:registry=https://npm.example/",
            "proxy = \"proxy.example:3128\"",
            "email=me@example.org",
            "registry=https://npm.example:8080/",
        ];
        assert_eq!(secret.map(holds_secret), [true; 8], "{secret:?}");
        assert_eq!(open.map(holds_secret), [false; 5], "{open:?}");
    }
}
