//! The mark of a redacted secret.

/// How the mark begins that stands in the place of a secret.
pub(crate) const REDACTED: &str = "[redacted:";
