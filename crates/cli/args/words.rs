//! Texts that must not be empty.

/// Parses a message, for an agent or of a commit.
pub(super) fn words(text: &str) -> Result<String, String> {
    if text.trim().is_empty() {
        Err("the message is empty".to_owned())
    } else {
        Ok(text.to_owned())
    }
}
