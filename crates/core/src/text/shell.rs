//! Words of commands that the user is asked to type, quoted for a POSIX shell.

use std::ffi::OsStr;
use std::fmt::Write as _;

/// Quotes a word so that a shell reads exactly that word, and so that it fits on one line.
pub fn shell_word(word: impl AsRef<OsStr>) -> String {
    let word = word.as_ref();
    match word.to_str() {
        Some(text) if !text.is_empty() && (text.bytes().all(is_plain) || is_plain_option(text)) => {
            text.to_owned()
        }
        Some(text) if text.chars().all(is_shown) => format!("'{}'", text.replace('\'', r"'\''")),
        _ => format!("\"$(printf '{}')\"", octal(word.as_encoded_bytes())),
    }
}

fn is_shown(c: char) -> bool {
    c.is_ascii_graphic() || c == ' ' || c.is_alphanumeric()
}

/// Reports whether a shell and `printf` take a byte literally.
fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"/._-+:,@".contains(&byte)
}

/// Reports whether a word is an option with a plain value, such as `--format=json`; at the start of
/// another word, `=` could assign a variable.
fn is_plain_option(text: &str) -> bool {
    text.starts_with('-') && text.bytes().all(|byte| is_plain(byte) || byte == b'=')
}

fn octal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = if is_plain(*byte) {
            write!(text, "{}", char::from(*byte))
        } else {
            write!(text, "\\{byte:03o}")
        };
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_as_a_shell_reads_them() {
        let table = [
            ("/a/b-1_2.c:d", "/a/b-1_2.c:d"),
            ("", "''"),
            ("~", "'~'"),
            ("--format=json", "--format=json"),
            ("--path=it's", "'--path=it'\\''s'"),
            ("HOME=x", "'HOME=x'"),
            ("größe", "'größe'"),
            (
                "it's a \"test\" $HOME `x` \\",
                "'it'\\''s a \"test\" $HOME `x` \\'",
            ),
            ("it's\nnew", "\"$(printf 'it\\047s\\012new')\""),
            ("\u{202e}1", "\"$(printf '\\342\\200\\2561')\""),
        ];
        for (word, expected) in table {
            assert_eq!(shell_word(word), expected, "{word:?}");
        }
    }
}
