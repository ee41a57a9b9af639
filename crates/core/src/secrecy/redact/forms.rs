//! The forms in which a secret may appear in a text.
//!
//! They are compared ignoring case, so upper, lower and swapped case need no forms of their own.
//! Escapes are decoded in the text, so escaped forms are listed only where they may be nested in
//! another encoding.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};

use super::needles::{Form, LEAST_PART_BYTES, PIECE_BYTES};
use super::views::{View, is_in_skeleton};
use crate::text::hex;

/// The alphabet of base32, and the one that preserves order.
const BASE32: [&[u8; 32]; 2] = [
    b"abcdefghijklmnopqrstuvwxyz234567",
    b"0123456789abcdefghijklmnopqrstuv",
];
/// The word sizes in bytes of programs that dump little-endian numbers.
const WORD_BYTES: [usize; 3] = [2, 4, 8];

/// Returns each form of a secret once.
pub(super) fn forms_of(secret: usize, value: &str) -> Vec<Form> {
    let mut texts = BTreeSet::from([value.as_bytes().to_vec(), backwards(value)]);
    let escaped = json(value);
    let escapes = [
        json(&escaped),
        escaped.replace('/', "\\/"),
        escaped,
        percent(value, false),
        percent(value, true),
    ];
    texts.extend(escapes.map(String::into_bytes));
    // Text that is not an escape within a secret may still decode as one within the text.
    texts.extend(unescaped(value).filter(|text| text.len() >= PIECE_BYTES));
    let in_utf16: String = value
        .encode_utf16()
        .map(|unit| format!("\\u{unit:04x}"))
        .collect();
    texts.insert(in_utf16.into_bytes());
    texts.insert(hex(value.as_bytes()).into_bytes());
    texts.extend(all_base64(value.as_bytes()));
    texts
        .into_iter()
        .map(|text| Form { secret, text })
        .collect()
}

/// Returns the letters and digits of each form of a secret, if they suffice to identify it.
pub(super) fn skeletons_of(secret: usize, value: &str) -> Vec<Form> {
    let mut texts = BTreeSet::from([value.as_bytes().to_vec(), backwards(value)]);
    texts.extend(unescaped(value));
    let mut inner = texts.clone();
    inner.insert(json(value).into_bytes());
    inner.extend(in_urls(value));
    for text in inner {
        texts.extend(encodings(&text));
    }
    for encoded in all_base64(value.as_bytes()) {
        texts.extend(all_base64(&encoded));
    }
    texts.extend(numbers(value.as_bytes()));
    let mut skeletons: BTreeSet<Vec<u8>> = BTreeSet::new();
    for text in texts {
        let whole = text.len();
        let mut skeleton = text;
        skeleton.retain(|byte| is_in_skeleton(*byte));
        // Without its other characters a short secret may look like a word.
        let is_whole = skeleton.len() == whole && whole >= PIECE_BYTES;
        if is_whole || skeleton.len() >= LEAST_PART_BYTES {
            skeletons.insert(skeleton.to_ascii_lowercase());
        }
    }
    skeletons
        .into_iter()
        .map(|text| Form { secret, text })
        .collect()
}

fn backwards(value: &str) -> Vec<u8> {
    value.chars().rev().collect::<String>().into_bytes()
}

/// Returns the secret with text that looks like an escape in it decoded.
fn unescaped(value: &str) -> impl Iterator<Item = Vec<u8>> {
    let first = View::from_text(value).unescaped();
    let second = first.as_ref().and_then(View::unescaped);
    first.into_iter().chain(second).map(|view| view.bytes)
}

/// Encodes a text as it appears within a JSON string.
fn json(text: &str) -> String {
    let quoted = serde_json::Value::from(text).to_string();
    let without_first = quoted.strip_prefix('"').unwrap_or(&quoted);
    let inner = without_first.strip_suffix('"').unwrap_or(without_first);
    inner.to_owned()
}

/// Percent-encodes the bytes that are not allowed in a URL, or all of them.
fn percent(text: &str, every: bool) -> String {
    encoded_but(text, |byte| !every && is_plain_in_urls(byte, b""))
}

/// Returns a text in each way that programs write it in URLs: another encoding around it reveals
/// which bytes they leave unencoded, and the case of the digits.
fn in_urls(text: &str) -> impl Iterator<Item = Vec<u8>> {
    let left: [&[u8]; 3] = [b"", b"/", b"!'()*"];
    let lower: Vec<String> = left
        .iter()
        .map(|left| encoded_but(text, |byte| is_plain_in_urls(byte, left)))
        .chain([
            encoded_but(text, |byte| byte.is_ascii_alphanumeric()),
            percent(text, true),
        ])
        .collect();
    let upper: Vec<String> = lower.iter().map(|text| with_upper_digits(text)).collect();
    lower.into_iter().chain(upper).map(String::into_bytes)
}

fn is_plain_in_urls(byte: u8, left: &[u8]) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) || left.contains(&byte)
}

fn encoded_but(text: &str, is_left: impl Fn(u8) -> bool) -> String {
    text.bytes()
        .map(|byte| {
            if is_left(byte) {
                char::from(byte).to_string()
            } else {
                format!("%{byte:02x}")
            }
        })
        .collect()
}

/// Converts the digits of each `%` sequence to upper case and leaves the rest unchanged.
fn with_upper_digits(encoded: &str) -> String {
    let mut upper = String::with_capacity(encoded.len());
    let mut digits = 0;
    for letter in encoded.chars() {
        if letter == '%' {
            digits = 2;
            upper.push(letter);
        } else if digits > 0 {
            digits -= 1;
            upper.push(letter.to_ascii_uppercase());
        } else {
            upper.push(letter);
        }
    }
    upper
}

/// Returns the bytes in each encoding for whole texts, at each alignment.
fn encodings(bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut all = vec![hex(bytes).into_bytes()];
    all.extend(all_base64(bytes));
    for alphabet in BASE32 {
        for shift in 0..5 {
            all.push(base32(bytes, shift, alphabet));
        }
    }
    all
}

/// Returns the base64 of the bytes at each alignment.
fn all_base64(bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    for shift in 0..3 {
        all.extend(base64(bytes, shift).map(String::into_bytes));
    }
    all
}

/// Returns the bytes as dumps and lists of numbers write them, without separators.
fn numbers(bytes: &[u8]) -> Vec<Vec<u8>> {
    let octal: String = bytes.iter().map(|byte| format!("{byte:03o}")).collect();
    let decimal: String = bytes.iter().map(u8::to_string).collect();
    let mut all = vec![octal.into_bytes(), decimal.into_bytes()];
    for size in WORD_BYTES {
        for shift in 0..size.min(bytes.len()) {
            let mut reversed = Vec::new();
            let shifted: Vec<u8> = bytes.iter().copied().skip(shift).collect();
            for word in shifted.chunks_exact(size) {
                reversed.extend(word.iter().rev());
            }
            all.push(hex(&reversed).into_bytes());
        }
    }
    for shift in 0..2 {
        let shifted: Vec<u8> = bytes.iter().copied().skip(shift).collect();
        let (words, _) = shifted.as_chunks::<2>();
        all.push(words.iter().flat_map(in_octal).collect());
    }
    all
}

fn in_octal(word: &[u8; 2]) -> Vec<u8> {
    format!("{:06o}", u16::from_le_bytes(*word)).into_bytes()
}

/// Returns the characters of the base64 of a longer text that depend on these bytes alone, in both
/// alphabets.
///
/// `shift` is the number of bytes before it, by three.
fn base64(bytes: &[u8], shift: usize) -> [String; 2] {
    let bytes = [&vec![0; shift], bytes].concat();
    // The first characters contain bits of the preceding bytes, and the last one perhaps of the
    // following ones.
    let (from, to) = ((shift * 8).div_ceil(6), bytes.len() * 8 / 6);
    [STANDARD_NO_PAD, URL_SAFE_NO_PAD].map(|alphabet| {
        let encoded = alphabet.encode(&bytes);
        encoded.chars().take(to).skip(from).collect()
    })
}

/// Returns the characters of the base32 of a longer text that depend on these bytes alone.
///
/// `shift` is the number of bytes before it, by five.
fn base32(bytes: &[u8], shift: usize, alphabet: &[u8; 32]) -> Vec<u8> {
    let before = shift * 8;
    let (from, to) = (before.div_ceil(5), (before + bytes.len() * 8) / 5);
    let mut encoded = Vec::new();
    for five in from..to {
        let mut digit = 0_u8;
        for at in five * 5..five * 5 + 5 {
            digit = digit << 1 | bit(bytes, at - before);
        }
        encoded.extend(alphabet.get(usize::from(digit)));
    }
    encoded
}

fn bit(bytes: &[u8], at: usize) -> u8 {
    match bytes.get(at / 8) {
        Some(byte) => byte >> (7 - at % 8) & 1,
        None => 0,
    }
}
