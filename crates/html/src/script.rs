//! The marks of text that would mean something else without them: raised, lowered and struck text.

use crate::tag::Tag;

/// Maximum length of a raised or lowered text in bytes. A longer one is a matter of layout, or was
/// not ended.
const MAX_SCRIPT: usize = 200;
/// Maximum length of a struck text in bytes; a longer one was not ended.
const MAX_STRUCK: usize = 20_000;
/// What follows a number, and means the same when it is not raised.
const ENDINGS_OF_NUMBERS: [&str; 3] = ["st", "nd", "rd"];
/// What follows a number or a name, and means the same when it is not raised.
const ENDINGS: [&str; 6] = ["th", "tm", "sm", "®", "™", "℠"];

/// A text that is raised, lowered or struck, and what is around it.
pub(crate) struct Script<'t> {
    pub(crate) tag: Tag,
    /// The text before it.
    pub(crate) before: &'t str,
    /// The text itself, without space around it.
    pub(crate) text: &'t str,
    /// The text that directly follows, up to the next element.
    pub(crate) next: &'t str,
    /// Whether it leads to a note.
    pub(crate) is_note: bool,
    /// Whether a slash and a lowered text follow it.
    pub(crate) is_upper_half: bool,
}

impl Script<'_> {
    /// Returns what has to stand before and after the text; `None` if it means the same without
    /// marks.
    pub(crate) fn marks(&self) -> Option<(&'static str, &'static str)> {
        let is_one_line = || !self.text.is_empty() && !self.text.contains('\n');
        match self.tag {
            Tag::Struck
                if self.text.len() <= MAX_STRUCK
                    && !self.text.starts_with("~~")
                    && is_one_line() =>
            {
                Some(("~~", "~~"))
            }
            Tag::Superscript | Tag::Subscript if self.text.len() <= MAX_SCRIPT && is_one_line() => {
                self.marks_of_script()
            }
            _ => None,
        }
    }

    fn marks_of_script(&self) -> Option<(&'static str, &'static str)> {
        let is_raised = self.tag == Tag::Superscript;
        let previous = self.before.chars().next_back();
        if self.text.starts_with('[') {
            // A link, or the number of a note.
            return None;
        }
        if self.is_note {
            return Some(("[", "]"));
        }
        let follows_number = previous.is_some_and(|previous| previous.is_ascii_digit());
        // Both halves of a fraction, which may follow a whole number.
        if is_raised && self.is_upper_half && !previous.is_some_and(char::is_alphabetic) {
            return follows_number.then_some((" ", ""));
        }
        if !is_raised && self.before.ends_with(['/', '⁄']) {
            return None;
        }
        let text = self.text.to_lowercase();
        let is_in = |endings: &[&str]| endings.contains(&text.as_str());
        if is_raised && (is_in(&ENDINGS) || (follows_number && is_in(&ENDINGS_OF_NUMBERS))) {
            return None;
        }
        match (self.is_clear_as_it_is(), is_raised) {
            (true, true) => Some(("^", "")),
            (true, false) => Some(("_", "")),
            (false, true) => Some(("^(", ")")),
            (false, false) => Some(("_(", ")")),
        }
    }

    /// Reports whether it is to be seen where the text ends: a number, one character, or a text in
    /// parentheses.
    fn is_clear_as_it_is(&self) -> bool {
        let next = self.next.chars().next();
        if self.text.bytes().all(|byte| byte.is_ascii_digit()) {
            return !next.is_some_and(|next| next.is_ascii_digit());
        }
        let within = self
            .text
            .strip_prefix('(')
            .and_then(|text| text.strip_suffix(')'));
        within.is_some_and(|within| !within.contains(['(', ')']))
            || (self.text.chars().count() == 1 && !next.is_some_and(char::is_alphanumeric))
    }
}
