//! Git's glob matching, which decides what a line of an ignore file matches.
//!
//! The rules are those of git's `wildmatch.c`: `*` and `?` stop at a slash, `**` between slashes
//! does not, and brackets contain ranges and named classes. An agent writes the patterns, so none
//! may take long. Git's own matcher tries each `**/` both ways, which doubles the time with each of
//! them. This one follows all ways at once: it takes time proportional to the length of the pattern
//! times that of the text, and no stack.
//!
//! No other matcher, of ours or of a library, supports git's classes, escapes, unfinished patterns
//! and bytes that are not UTF-8. One that differs would commit a file that git ignores.

/// A parsed pattern.
#[derive(Debug)]
pub(crate) struct Glob {
    /// The tokens in order, or `None` if the pattern cannot match anything.
    tokens: Option<Vec<Token>>,
    ignore_case: bool,
}

#[derive(Debug)]
enum Token {
    /// This byte; in lower case if case is ignored.
    Byte(u8),
    Any,
    /// Any byte except a slash.
    AnyButSlash,
    /// A byte of a set.
    Set(Box<Letters>),
    /// Any number of bytes except slashes.
    Star,
    /// Any number of bytes.
    Stars,
    /// Nothing, or any bytes that end with a slash.
    Folders,
}

/// How a pattern is interpreted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Style {
    /// Whether slashes are special.
    pub(crate) is_path: bool,
    pub(crate) ignore_case: bool,
}

/// Reports whether a byte means more than itself in a pattern.
pub(crate) fn is_special(byte: u8) -> bool {
    matches!(byte, b'*' | b'?' | b'[' | b'\\')
}

impl Glob {
    /// Parses a pattern.
    pub(crate) fn new(pattern: &[u8], style: Style) -> Glob {
        Glob {
            tokens: Reader { pattern, style }.tokens(),
            ignore_case: style.ignore_case,
        }
    }

    /// Returns the maximum number of steps for matching a text of this length.
    pub(crate) fn work(&self, text: usize) -> u64 {
        let tokens = self.tokens.as_ref().map_or(0, Vec::len);
        (tokens as u64 + 1).saturating_mul(text as u64 + 1)
    }

    /// Reports whether the pattern matches a text.
    pub(crate) fn matches(&self, text: &[u8]) -> bool {
        let Some(tokens) = &self.tokens else {
            return false;
        };
        // The positions in the pattern that the text read so far can lead to: one for each token,
        // and the end.
        let mut places = vec![false; tokens.len() + 1];
        let mut next = places.clone();
        enter(tokens, &mut places, 0);
        for letter in text {
            next.fill(false);
            let mut is_dead = true;
            for (at, token) in tokens.iter().enumerate() {
                if !places.get(at).is_some_and(|place| *place) {
                    continue;
                }
                let (stays, goes) = self.step(token, *letter);
                match token {
                    // Once `Folders` has consumed a byte, it ends only at a slash.
                    Token::Folders => {
                        if let Some(place) = next.get_mut(at) {
                            *place = true;
                        }
                    }
                    _ if stays => enter(tokens, &mut next, at),
                    _ => {}
                }
                if goes {
                    enter(tokens, &mut next, at + 1);
                }
                is_dead &= !stays && !goes;
            }
            if is_dead {
                return false;
            }
            std::mem::swap(&mut places, &mut next);
        }
        places.last().is_some_and(|end| *end)
    }

    /// Reports whether a token can consume a byte and continue, and whether it can consume it as
    /// its last.
    fn step(&self, token: &Token, letter: u8) -> (bool, bool) {
        let is_slash = letter == b'/';
        match token {
            Token::Byte(byte) => (false, *byte == fold(letter, self.ignore_case)),
            Token::Any => (false, true),
            Token::AnyButSlash => (false, !is_slash),
            Token::Set(set) => (false, set.contains(letter)),
            Token::Star => (!is_slash, false),
            Token::Stars => (true, false),
            Token::Folders => (true, is_slash),
        }
    }
}

/// Marks a position as reached, along with the following ones that can be reached without a byte.
fn enter(tokens: &[Token], places: &mut [bool], at: usize) {
    let skipped = tokens
        .iter()
        .skip(at)
        .take_while(|token| matches!(token, Token::Star | Token::Stars | Token::Folders));
    let last = at + skipped.count();
    for place in places.iter_mut().take(last + 1).skip(at) {
        *place = true;
    }
}

/// Parses a pattern's tokens.
struct Reader<'a> {
    pattern: &'a [u8],
    style: Style,
}

impl Reader<'_> {
    /// Returns the tokens, or `None` if the pattern is one that git does not accept, so that it
    /// matches nothing.
    fn tokens(&self) -> Option<Vec<Token>> {
        let mut tokens = Vec::new();
        let mut at = 0;
        while let Some(&byte) = self.pattern.get(at) {
            let (token, next) = match byte {
                b'*' => self.stars(at),
                b'?' if self.style.is_path => (Token::AnyButSlash, at + 1),
                b'?' => (Token::Any, at + 1),
                b'[' => self.bracket(at + 1)?,
                b'\\' => (Token::Byte(self.fold(*self.pattern.get(at + 1)?)), at + 2),
                _ => (Token::Byte(self.fold(byte)), at + 1),
            };
            at = next;
            // A repeated token of these kinds has no effect.
            let repeats = matches!(
                (tokens.last(), &token),
                (Some(Token::Folders), Token::Folders)
                    | (Some(Token::Star), Token::Star)
                    | (Some(Token::Stars), Token::Stars)
            );
            if !repeats {
                tokens.push(token);
            }
        }
        Some(tokens)
    }

    fn stars(&self, at: usize) -> (Token, usize) {
        let stars = self
            .pattern
            .iter()
            .skip(at)
            .take_while(|byte| **byte == b'*')
            .count();
        let next = at + stars;
        let follows = self.pattern.get(next).copied();
        let begins = at == 0 || self.pattern.get(at - 1) == Some(&b'/');
        let escaped = follows == Some(b'\\') && self.pattern.get(next + 1) == Some(&b'/');
        let between = stars > 1 && begins && (matches!(follows, None | Some(b'/')) || escaped);
        match follows {
            Some(b'/') if self.style.is_path && between => (Token::Folders, next + 1),
            _ if !self.style.is_path || between => (Token::Stars, next),
            _ => (Token::Star, next),
        }
    }

    /// Parses a bracket expression from behind its `[`. Returns `None` if it does not end, or names
    /// a class that does not exist.
    fn bracket(&self, mut at: usize) -> Option<(Token, usize)> {
        let byte = |at: usize| self.pattern.get(at).copied();
        let negated = matches!(byte(at)?, b'!' | b'^');
        at += usize::from(negated);
        let mut set = Letters::default();
        let (mut before, first) = (None, at);
        loop {
            let here = byte(at)?;
            if here == b']' && at > first {
                break;
            }
            if here == b'[' && byte(at + 1) == Some(b':') {
                match self.class(at + 2) {
                    Class::Named(name, end) => {
                        self.add_class(&mut set, name)?;
                        (before, at) = (None, end);
                        continue;
                    }
                    Class::Endless => return None,
                    Class::None => {}
                }
            }
            if let Some(from) = before
                && here == b'-'
                && byte(at + 1).is_some_and(|next| next != b']')
            {
                let escaped = byte(at + 1)? == b'\\';
                let last = byte(at + 1 + usize::from(escaped))?;
                self.add(&mut set, |letter, folded| {
                    let range = from..=last;
                    range.contains(&folded)
                        || self.style.ignore_case && range.contains(&letter.to_ascii_uppercase())
                });
                (before, at) = (None, at + 2 + usize::from(escaped));
                continue;
            }
            let escaped = here == b'\\';
            let literal = if escaped { byte(at + 1)? } else { here };
            self.add(&mut set, |_, folded| folded == literal);
            (before, at) = (Some(literal), at + 1 + usize::from(escaped));
        }
        if negated {
            set = set.negated();
        }
        if self.style.is_path {
            set.remove(b'/');
        }
        Some((Token::Set(Box::new(set)), at + 1))
    }

    /// Adds the bytes that a predicate accepts; it is called with each byte as it is and
    /// case-folded.
    fn add(&self, set: &mut Letters, fits: impl Fn(u8, u8) -> bool) {
        for letter in (0..=u8::MAX).filter(|letter| fits(*letter, self.fold(*letter))) {
            set.insert(letter);
        }
    }

    fn add_class(&self, set: &mut Letters, name: &[u8]) -> Option<()> {
        let ignore_case = self.style.ignore_case;
        let is_in: fn(&u8) -> bool = match name {
            b"alnum" => u8::is_ascii_alphanumeric,
            b"alpha" => u8::is_ascii_alphabetic,
            b"blank" => |letter| matches!(letter, b' ' | b'\t'),
            b"cntrl" => u8::is_ascii_control,
            b"digit" => u8::is_ascii_digit,
            b"graph" => u8::is_ascii_graphic,
            b"lower" => u8::is_ascii_lowercase,
            b"print" => |letter| letter.is_ascii_graphic() || *letter == b' ',
            b"punct" => u8::is_ascii_punctuation,
            b"space" => |letter| matches!(letter, b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c),
            b"upper" if ignore_case => u8::is_ascii_alphabetic,
            b"upper" => u8::is_ascii_uppercase,
            b"xdigit" => u8::is_ascii_hexdigit,
            _ => return None,
        };
        self.add(set, |_, folded| is_in(&folded));
        Some(())
    }

    fn class(&self, from: usize) -> Class<'_> {
        let (_, rest) = self.pattern.split_at(from);
        let mut parts = rest.splitn(2, |byte| *byte == b']');
        let (Some(inner), Some(_)) = (parts.next(), parts.next()) else {
            return Class::Endless;
        };
        match inner.strip_suffix(b":") {
            Some(name) => Class::Named(name, from + inner.len() + 1),
            None => Class::None,
        }
    }

    fn fold(&self, byte: u8) -> u8 {
        fold(byte, self.style.ignore_case)
    }
}

fn fold(byte: u8, ignore_case: bool) -> u8 {
    if ignore_case {
        byte.to_ascii_lowercase()
    } else {
        byte
    }
}

/// A set of bytes, one bit for each.
#[derive(Clone, Copy, Debug, Default)]
struct Letters {
    low: u128,
    high: u128,
}

impl Letters {
    fn contains(&self, letter: u8) -> bool {
        let half = if letter < 128 { self.low } else { self.high };
        half & (1 << (letter % 128)) != 0
    }

    fn insert(&mut self, letter: u8) {
        *self.half(letter) |= 1 << (letter % 128);
    }

    fn remove(&mut self, letter: u8) {
        *self.half(letter) &= !(1 << (letter % 128));
    }

    fn half(&mut self, letter: u8) -> &mut u128 {
        if letter < 128 {
            &mut self.low
        } else {
            &mut self.high
        }
    }

    fn negated(self) -> Letters {
        Letters {
            low: !self.low,
            high: !self.high,
        }
    }
}

/// The text behind `[:` in a bracket expression.
enum Class<'a> {
    /// A class name, and the position behind its `:]`.
    Named(&'a [u8], usize),
    /// No class: the bracket is an ordinary byte.
    None,
    /// The expression does not end.
    Endless,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &[u8], text: &[u8], is_path: bool, ignore_case: bool) -> bool {
        Glob::new(
            pattern,
            Style {
                is_path,
                ignore_case,
            },
        )
        .matches(text)
    }

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
            assert_eq!(
                matches(pattern.as_bytes(), text.as_bytes(), true, false),
                expected,
                "{pattern} {text}"
            );
        }
        assert!(matches(b"F[a-z]*", b"fOO", true, true));
    }

    #[test]
    fn a_hostile_pattern_takes_no_longer_than_others() {
        let table = [
            (b"*a".repeat(200), b"a".repeat(2_000), false),
            (b"**/".repeat(40), b"a/".repeat(30), true),
            // Following all ways takes no stack.
            (b"**/a/".repeat(2_000), b"a/".repeat(2_000), true),
            (b"**/*/".repeat(2_000), b"a/".repeat(2_000), true),
            (b"**/".repeat(1_000_000), b"a/".repeat(2_000), true),
        ];
        for (pattern, text, is_path) in table {
            let pattern = [&pattern, b"b".as_slice()].concat();
            let glob = Glob::new(
                &pattern,
                Style {
                    is_path,
                    ignore_case: false,
                },
            );
            assert!(!glob.matches(&text) && glob.work(text.len()) < 40_000_000);
        }
        // The control: what such a pattern describes is matched, whichever of its ways leads there.
        let pattern = [&b"**/".repeat(40), b"b".as_slice()].concat();
        let glob = Glob::new(
            &pattern,
            Style {
                is_path: true,
                ignore_case: false,
            },
        );
        assert!(glob.matches(&[&b"a/".repeat(30), b"b".as_slice()].concat()));
    }
}
