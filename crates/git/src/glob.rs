//! Git's own glob matching, which decides what a line of an ignore file names.
//!
//! The rules are those of git's `wildmatch.c`: `*` and `?` stop at a slash, `**` between slashes does not,
//! brackets hold ranges and named classes. An agent writes the patterns, so none may take long: a star gives up as
//! soon as a later one has tried every place, as in git.

use std::collections::HashMap;

/// Matches a name against a pattern.
pub(crate) struct Glob<'a> {
    pattern: &'a [u8],
    text: &'a [u8],
    /// Whether slashes are special.
    is_path: bool,
    ignore_case: bool,
    /// Whether the pattern has a `**`.
    has_ways: bool,
    /// What came of going on behind a star, by the places in the pattern and in the text.
    known: HashMap<(usize, usize), Outcome>,
}

/// What came of matching the rest of a pattern with the rest of a text.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Outcome {
    /// They match.
    Yes,
    /// They do not.
    No,
    /// They do not, nor would any shorter rest up to the next slash.
    NotInThisFolder,
    /// They do not, nor would any shorter rest.
    NeverHere,
}

/// Tells whether a pattern names a text; `is_path` makes slashes special.
pub(crate) fn matches(pattern: &[u8], text: &[u8], is_path: bool, ignore_case: bool) -> bool {
    let has_ways = pattern.windows(2).any(|pair| pair == b"**");
    Glob { pattern, text, is_path, ignore_case, has_ways, known: HashMap::new() }.from(0, 0) == Outcome::Yes
}

/// Tells whether a byte means more than itself in a pattern.
pub(crate) fn is_special(byte: u8) -> bool {
    matches!(byte, b'*' | b'?' | b'[' | b'\\')
}

impl Glob<'_> {
    fn from(&mut self, mut at: usize, mut place: usize) -> Outcome {
        while let Some(&byte) = self.pattern.get(at) {
            if byte == b'*' {
                return self.star(at, place);
            }
            let Some(&letter) = self.text.get(place) else { return Outcome::NeverHere };
            let next = match byte {
                b'?' => (!self.is_path || letter != b'/').then_some(at + 1),
                b'[' => self.bracket(at + 1, letter),
                b'\\' => {
                    let literal = self.pattern.get(at + 1).copied();
                    literal.is_some_and(|literal| self.fold(literal) == self.fold(letter)).then_some(at + 2)
                }
                _ => (self.fold(byte) == self.fold(letter)).then_some(at + 1),
            };
            let Some(next) = next else { return Outcome::No };
            at = next;
            place += 1;
        }
        if place == self.text.len() { Outcome::Yes } else { Outcome::No }
    }

    fn star(&mut self, at: usize, place: usize) -> Outcome {
        let stars = self.pattern.iter().skip(at).take_while(|byte| **byte == b'*').count();
        let next = at + stars;
        let follows = self.pattern.get(next).copied();
        let rest = self.text.get(place..).unwrap_or_default();
        let begins = at == 0 || self.pattern.get(at - 1) == Some(&b'/');
        let escaped = follows == Some(b'\\') && self.pattern.get(next + 1) == Some(&b'/');
        let between = stars > 1 && begins && (matches!(follows, None | Some(b'/')) || escaped);
        if self.is_path && between && follows == Some(b'/') && self.retry(next + 1, place) == Outcome::Yes {
            return Outcome::Yes;
        }
        let over_slashes = !self.is_path || between;
        match follows {
            None if over_slashes || !rest.contains(&b'/') => Outcome::Yes,
            None => Outcome::NotInThisFolder,
            Some(b'/') if !over_slashes => match rest.iter().position(|byte| *byte == b'/') {
                Some(slash) => self.retry(next + 1, place + slash + 1),
                None => Outcome::NeverHere,
            },
            Some(_) => self.stretch(next, place, over_slashes),
        }
    }

    /// Lets a star take one letter after the other until the rest of the pattern matches.
    fn stretch(&mut self, next: usize, mut place: usize, over_slashes: bool) -> Outcome {
        while let Some(&letter) = self.text.get(place) {
            match self.retry(next, place) {
                Outcome::No if !over_slashes && letter == b'/' => return Outcome::NotInThisFolder,
                Outcome::No => {}
                Outcome::NotInThisFolder if over_slashes => {}
                // A later star has tried every place behind this one, so this one need not.
                decided => return decided,
            }
            place += 1;
        }
        Outcome::NeverHere
    }

    /// Goes on from another place, unless what comes of it is known.
    fn retry(&mut self, at: usize, place: usize) -> Outcome {
        if let Some(outcome) = self.known.get(&(at, place)) {
            return *outcome;
        }
        let outcome = self.from(at, place);
        // Only a `**` leads to one pair of places by two ways.
        if self.has_ways || outcome != Outcome::No {
            self.known.insert((at, place), outcome);
        }
        outcome
    }

    /// Reads a bracket expression from behind its `[`; gives the place behind its `]` if the letter is in it.
    fn bracket(&self, mut at: usize, letter: u8) -> Option<usize> {
        let byte = |at: usize| self.pattern.get(at).copied();
        let negated = matches!(byte(at)?, b'!' | b'^');
        at += usize::from(negated);
        let (mut found, mut before, first) = (false, None, at);
        loop {
            let here = byte(at)?;
            if here == b']' && at > first {
                break;
            }
            if here == b'[' && byte(at + 1) == Some(b':') {
                match self.class(at + 2) {
                    Class::Named(name, end) => {
                        found |= self.in_class(name, letter)?;
                        (before, at) = (None, end);
                        continue;
                    }
                    Class::Endless => return None,
                    Class::None => {}
                }
            }
            if here == b'-' && before.is_some() && byte(at + 1).is_some_and(|next| next != b']') {
                let escaped = byte(at + 1)? == b'\\';
                let last = byte(at + 1 + usize::from(escaped))?;
                found |= before.is_some_and(|from| self.in_range(from, last, letter));
                (before, at) = (None, at + 2 + usize::from(escaped));
                continue;
            }
            let escaped = here == b'\\';
            let literal = if escaped { byte(at + 1)? } else { here };
            found |= self.fold(letter) == literal;
            (before, at) = (Some(literal), at + 1 + usize::from(escaped));
        }
        let slash = self.is_path && letter == b'/';
        (found != negated && !slash).then_some(at + 1)
    }

    fn in_range(&self, from: u8, last: u8, letter: u8) -> bool {
        let range = from..=last;
        let letter = self.fold(letter);
        range.contains(&letter) || (self.ignore_case && range.contains(&letter.to_ascii_uppercase()))
    }

    fn class(&self, from: usize) -> Class<'_> {
        let rest = self.pattern.get(from..).unwrap_or_default();
        let Some(end) = rest.iter().position(|byte| *byte == b']') else { return Class::Endless };
        match rest.get(..end).and_then(|inner| inner.strip_suffix(b":")) {
            Some(name) => Class::Named(name, from + end + 1),
            None => Class::None,
        }
    }

    fn in_class(&self, name: &[u8], letter: u8) -> Option<bool> {
        let letter = self.fold(letter);
        Some(match name {
            b"alnum" => letter.is_ascii_alphanumeric(),
            b"alpha" => letter.is_ascii_alphabetic(),
            b"blank" => matches!(letter, b' ' | b'\t'),
            b"cntrl" => letter.is_ascii_control(),
            b"digit" => letter.is_ascii_digit(),
            b"graph" => letter.is_ascii_graphic(),
            b"lower" => letter.is_ascii_lowercase(),
            b"print" => letter.is_ascii_graphic() || letter == b' ',
            b"punct" => letter.is_ascii_punctuation(),
            b"space" => matches!(letter, b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c),
            b"upper" => letter.is_ascii_uppercase() || (self.ignore_case && letter.is_ascii_lowercase()),
            b"xdigit" => letter.is_ascii_hexdigit(),
            _ => return None,
        })
    }

    fn fold(&self, byte: u8) -> u8 {
        if self.ignore_case { byte.to_ascii_lowercase() } else { byte }
    }
}

/// What stands behind `[:` in brackets.
enum Class<'a> {
    /// A name and the place behind its `:]`.
    Named(&'a [u8], usize),
    /// No name: the bracket is a letter like any other.
    None,
    /// Nothing that ends.
    Endless,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_match_as_gits_do() {
        let table = [
            ("foo", "foo", true),
            ("*", "", true),
            ("*", "foo/bar", false),
            ("foo*bar", "foo/baz/bar", false),
            ("foo**bar", "foo/baz/bar", false),
            ("foo/**/bar", "foo/bar", true),
            ("foo/**/bar", "foo/a/b/bar", true),
            ("**/foo", "foo", true),
            ("**/foo", "a/b/foo", true),
            ("foo/**", "foo/a/b", true),
            ("foo/**", "foo", false),
            ("*/foo", "a/b/foo", false),
            ("t[a-g]n", "ten", true),
            ("t[!a-g]n", "ten", false),
            ("t[^a-g]n", "ton", true),
            ("a[]]b", "a]b", true),
            ("a[]-]b", "a-b", true),
            ("a[]a-]b", "aab", true),
            ("]", "]", true),
            ("[a", "[a", false),
            ("foo[/]bar", "foo/bar", false),
            ("\\*", "*", true),
            ("foo\\", "foo", false),
            ("[[:digit:][:upper:]]", "A", true),
            ("[[:digit:][:upper:]]", "a", false),
            ("[[:nonsense:]]", "a", false),
            ("[\\\\-^]", "]", true),
            ("-*-*-*-a", "-b-c-d-a", true),
        ];
        for (pattern, text, expected) in table {
            assert_eq!(matches(pattern.as_bytes(), text.as_bytes(), true, false), expected, "{pattern} {text}");
        }
        assert!(matches(b"F[a-z]*", b"fOO", true, true));
    }

    #[test]
    fn a_hostile_pattern_takes_no_longer_than_others() {
        let pattern = b"*a".repeat(200);
        let text = b"a".repeat(2_000);
        assert!(!matches(&[&pattern, b"b".as_slice()].concat(), &text, false, false));
        let pattern = b"**/".repeat(30);
        let text = b"a/".repeat(100);
        assert!(!matches(&[&pattern, b"b".as_slice()].concat(), &text, true, false));
    }
}
