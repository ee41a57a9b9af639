//! What is secret, and where it was found.

/// A secret of fewer bytes than this is not looked for: it would be found in ordinary words.
const LEAST_BYTES: usize = 8;

/// A secret that reads like words or like a name with a number is looked for from this length on: no identifier and no
/// file of a project is called like that.
const LEAST_PHRASE_BYTES: usize = 24;

/// The longest mixture of letters and digits that is still part of a name, as in `gpt-4o` or `utf8`.
const LONGEST_MIXED_WORD: usize = 5;

/// What the names of query parameters contain that hold a secret.
const SECRET_PARAMETERS: &[&str] = &["key", "token", "secret", "sig", "pass", "pwd", "auth", "code", "cred"];

/// A user without a password is a token only if its name is this long; others are people's names.
const LEAST_TOKEN_BYTES: usize = 20;

/// What people write as a key where a server wants none. To redact these would hide words of the project.
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
    /// What is shown instead of it: the variable or the file that holds it.
    pub(super) name: String,
    pub(super) value: String,
}

impl Secret {
    /// Creates a secret; its name is what is shown instead.
    pub fn new(name: impl Into<String>, value: impl Into<String>) -> Self {
        Self { name: name.into(), value: value.into().trim().to_owned() }
    }

    /// Returns what is secret in a URL: its user and password, and the keys in its query.
    pub fn in_url(name: &str, url: &str) -> Vec<Self> {
        let Some((_, rest)) = url.trim().split_once("://") else { return Vec::new() };
        let mut found: Vec<String> = Vec::new();
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        if let Some((login, _)) = authority.rsplit_once('@') {
            let (user, password) = login.split_once(':').unwrap_or((login, ""));
            match password {
                "" if user.len() < LEAST_TOKEN_BYTES => {}
                "" => found.extend([user.to_owned(), decoded(user)]),
                // A short password is known by what stands around it.
                _ => found.extend([password.to_owned(), decoded(password), decoded(login), authority.to_owned()]),
            }
        }
        let query = rest.split_once('?').map_or("", |(_, query)| query);
        for (name, value) in query.split(['&', '#']).filter_map(|pair| pair.split_once('=')) {
            let name = name.to_ascii_lowercase();
            if SECRET_PARAMETERS.iter().any(|part| name.contains(part)) {
                found.extend([value.to_owned(), decoded(value)]);
            }
        }
        found.sort();
        found.dedup();
        found.into_iter().map(|value| Self::new(name, value)).collect()
    }

    /// Reports whether it can be told from ordinary words. One that cannot would hide the words of the project, and its
    /// agents could not write them.
    pub(super) fn can_be_recognised(&self) -> bool {
        self.value.len() >= LEAST_BYTES
            && (self.value.len() >= LEAST_PHRASE_BYTES || !is_words(&self.value))
            && !PLACEHOLDERS.contains(&self.value.to_ascii_lowercase().as_str())
    }
}

/// Reports whether a text consists of words, numbers and short mixtures of both, as names of projects do.
fn is_words(text: &str) -> bool {
    // A login is none, however short its parts are.
    !text.contains('@') && text.split(|letter: char| !letter.is_alphanumeric()).all(is_word)
}

fn is_word(part: &str) -> bool {
    let digits = part.chars().filter(char::is_ascii_digit).count();
    let letters = part.chars().count() - digits;
    letters == 0 || digits == 0 || letters + digits <= LONGEST_MIXED_WORD
}

/// Its name only.
impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Secret({})", self.name)
    }
}

/// Returns a part of a URL as what it stands for; as it is if that is no text.
fn decoded(part: &str) -> String {
    let mut bytes = Vec::with_capacity(part.len());
    let mut rest = part.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let code = after.get(..2).filter(|_| *first == b'%').and_then(|code| std::str::from_utf8(code).ok());
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = after.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8(bytes).unwrap_or_else(|_| part.to_owned())
}
