//! A secret, and where it was found.

use crate::text::percent_decoded;

/// Shorter secrets, in bytes, are not searched for: they would be found in ordinary words.
const LEAST_BYTES: usize = 8;

/// The length from which a secret that reads like words or like a name with a number is searched
/// for: no identifier or file name of a project is that long.
const LEAST_PHRASE_BYTES: usize = 24;

/// The longest mixture of letters and digits that still counts as part of a name, as in `gpt-4o` or
/// `utf8`.
const LONGEST_MIXED_WORD: usize = 5;

/// Parts of the names of query parameters that hold a secret.
const SECRET_PARAMETERS: &[&str] = &[
    "key", "token", "secret", "sig", "pass", "pwd", "auth", "code", "cred",
];

/// A user without a password is a token only if it is at least this long; shorter ones are people's
/// names.
const LEAST_TOKEN_BYTES: usize = 20;

/// Placeholders for a key that a server does not require. Redacting these would hide words of the
/// project.
const PLACEHOLDERS: &[&str] = &[
    "anything",
    "api-key",
    "changeme",
    "lm-studio",
    "lmstudio",
    "no-key-required",
    "not-needed",
    "not-required",
    "placeholder",
    "sk-no-key-required",
    "your-api-key",
];

/// One secret of a run.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret {
    /// The name that replaces it: the variable or the file that contains it.
    pub(super) name: String,
    pub(super) value: String,
}

impl Secret {
    /// Creates a secret with the name that replaces it.
    pub fn new(name: impl Into<String>, value: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            value: value.into().trim().to_owned(),
        }
    }

    /// Returns the secrets in a URL: its user and password, and the keys in its query.
    pub fn in_url(name: &str, url: &str) -> Vec<Self> {
        let Some((_, rest)) = url.trim().split_once("://") else {
            return Vec::new();
        };
        let mut found: Vec<String> = Vec::new();
        let authority = rest.split(['/', '?', '#']).next().unwrap_or(rest);
        if let Some((login, _)) = authority.rsplit_once('@') {
            let (user, password) = login.split_once(':').unwrap_or((login, ""));
            match password {
                "" if user.len() < LEAST_TOKEN_BYTES => {}
                "" => found.extend([user.to_owned(), decoded(user)]),
                // A short password is identified by its surroundings.
                _ => found.extend([
                    password.to_owned(),
                    decoded(password),
                    decoded(login),
                    authority.to_owned(),
                ]),
            }
        }
        let query = rest.split_once('?').map_or("", |(_, query)| query);
        for (name, value) in query
            .split(['&', '#'])
            .filter_map(|pair| pair.split_once('='))
        {
            let name = name.to_ascii_lowercase();
            if SECRET_PARAMETERS.iter().any(|part| name.contains(part)) {
                found.extend([value.to_owned(), decoded(value)]);
            }
        }
        found.sort();
        found.dedup();
        found
            .into_iter()
            .map(|value| Self::new(name, value))
            .collect()
    }

    /// Reports whether it is distinguishable from ordinary words. Redacting one that is not would
    /// hide words of the project, and agents could not write them.
    pub(super) fn can_be_recognised(&self) -> bool {
        self.value.len() >= LEAST_BYTES
            && (self.value.len() >= LEAST_PHRASE_BYTES || !is_words(&self.value))
            && !PLACEHOLDERS.contains(&self.value.to_ascii_lowercase().as_str())
    }
}

/// Reports whether a text consists of words, numbers and short mixtures of both, as names in
/// projects do.
fn is_words(text: &str) -> bool {
    // A login is not made of words, however short its parts are.
    !text.contains('@')
        && text
            .split(|letter: char| !letter.is_alphanumeric())
            .all(is_word)
}

fn is_word(part: &str) -> bool {
    let digits = part.chars().filter(char::is_ascii_digit).count();
    let letters = part.chars().count() - digits;
    letters == 0 || digits == 0 || letters + digits <= LONGEST_MIXED_WORD
}

/// Shows the name only.
impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Secret({})", self.name)
    }
}

/// Returns a part of a URL decoded, or unchanged if the result is not text.
fn decoded(part: &str) -> String {
    match String::from_utf8(percent_decoded(part)) {
        Ok(text) => text,
        Err(_) => part.to_owned(),
    }
}
