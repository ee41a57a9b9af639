//! The forms in which a secret may stand in a text.
//!
//! They are compared whatever the case of their letters, so upper, lower and swapped case need no forms of their own.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};

use super::secret::Secret;

/// One form of a secret.
pub(super) struct Form {
    /// What is shown instead.
    pub(super) name: String,
    pub(super) text: Vec<u8>,
}

/// Returns each form of a secret once.
pub(super) fn forms_of(secret: &Secret) -> Vec<Form> {
    let value = secret.value.as_str();
    let backwards: String = value.chars().rev().collect();
    let mut texts = BTreeSet::from([value.to_owned(), backwards]);
    let escaped = json(value);
    texts.extend([json(&escaped), escaped.replace('/', "\\/"), escaped]);
    texts.insert(value.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect());
    texts.extend([percent(value, false), percent(value, true)]);
    texts.insert(value.bytes().map(|byte| format!("{byte:02x}")).collect());
    texts.insert(value.bytes().map(|byte| format!("\\x{byte:02x}")).collect());
    for shift in 0..3 {
        texts.extend(base64(value, shift));
    }
    let form = |text: String| Form { name: secret.name.clone(), text: text.into_bytes() };
    texts.into_iter().map(form).collect()
}

/// Writes a text as it stands within the quotes of a JSON text.
fn json(text: &str) -> String {
    let quoted = serde_json::Value::from(text).to_string();
    quoted.get(1..quoted.len() - 1).unwrap_or_default().to_owned()
}

/// Encodes the bytes that a URL does not take as they are, or all of them.
fn percent(text: &str, every: bool) -> String {
    let plain = |byte: u8| !every && (byte.is_ascii_alphanumeric() || b"-._~".contains(&byte));
    text.bytes().map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02x}") }).collect()
}

/// Returns the characters that stand for the text alone in the base64 of a longer one, in both alphabets.
///
/// `shift` is the number of bytes before it, by three.
fn base64(text: &str, shift: usize) -> [String; 2] {
    let bytes = [&vec![0; shift], text.as_bytes()].concat();
    // The first characters hold bits of what stands before, and the last one perhaps of what follows.
    let (from, to) = ((shift * 8).div_ceil(6), bytes.len() * 8 / 6);
    let own = |encoded: String| encoded.get(from..to).unwrap_or_default().to_owned();
    [own(STANDARD_NO_PAD.encode(&bytes)), own(URL_SAFE_NO_PAD.encode(&bytes))]
}
