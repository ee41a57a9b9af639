//! Globs over paths, commands and names, matched in time linear in pattern times text, never more.
//!
//! Paths follow gitignore: `*` stays within a component, `**` crosses them, a pattern without an
//! inner slash matches at any depth, and a match of a directory covers everything below it. In
//! commands and names `*` spans anything; a command pattern that ends in ` *` or `:*` also matches
//! the bare words before it.
//!
//! Neither the matcher of ignore files (`crates/git/src/files/glob.rs`) nor a library fits: to
//! both, brackets are a set, while a rule means them literally, and neither can match a command
//! with unknown parts.

use super::lexer::{MANY, ONE, PART};

/// The longest pattern in bytes: rules are typed by people.
pub(super) const MAX_PATTERN_BYTES: usize = 1024;

/// A pattern of paths, split once for many of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PathPattern {
    /// Without any, it matches everything.
    components: Vec<Component>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Component {
    /// `**`: any number of components.
    Any,
    /// A component without wildcards.
    Plain(String),
    /// A component with wildcards.
    Wild(Vec<char>),
}

impl PathPattern {
    pub(crate) fn new(pattern: &str) -> PathPattern {
        let pattern = pattern.strip_prefix("./").unwrap_or(pattern);
        let body = pattern.trim_start_matches('/').trim_end_matches('/');
        if body.is_empty() {
            return PathPattern {
                components: Vec::new(),
            };
        }
        let is_anchored = pattern.starts_with('/') || body.contains('/');
        let anywhere = (!is_anchored).then_some(Component::Any);
        PathPattern {
            components: anywhere
                .into_iter()
                .chain(body.split('/').map(Component::new))
                .collect(),
        }
    }

    /// Reports whether a path relative to the worktree, or a directory above it, matches.
    pub(crate) fn matches(&self, path: &str) -> bool {
        let mut parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
        while !parts.is_empty() {
            if self.matches_parts(&parts) {
                return true;
            }
            parts.pop();
        }
        self.components.is_empty()
    }

    fn matches_parts(&self, parts: &[&str]) -> bool {
        wildcard(
            &self.components,
            parts,
            |component| *component == Component::Any,
            |c, part| c.matches(part),
        )
    }
}

impl Component {
    fn new(text: &str) -> Component {
        match text {
            "**" => Component::Any,
            wild if wild.contains(['*', '?']) => Component::Wild(wild.chars().collect()),
            plain => Component::Plain(plain.to_owned()),
        }
    }

    fn matches(&self, part: &str) -> bool {
        match self {
            Component::Any => true,
            Component::Plain(text) => text == part,
            Component::Wild(pattern) => matches_characters(pattern, part),
        }
    }
}

/// Reports whether a whole text matches, `*` spanning anything.
pub fn matches_text(pattern: &str, text: &str) -> bool {
    matches_characters(&pattern.chars().collect::<Vec<char>>(), text)
}

fn matches_characters(pattern: &[char], text: &str) -> bool {
    let text: Vec<char> = text.chars().collect();
    wildcard(pattern, &text, |&p| p == '*', |&p, &t| p == '?' || p == t)
}

/// Reports whether a command matches: as text, and with a closing ` *` or `:*` also without further
/// words.
pub(super) fn matches_command(pattern: &str, command: &str) -> bool {
    let words = pattern
        .strip_suffix(":*")
        .or_else(|| pattern.strip_suffix(" *"));
    match words {
        Some(words) => matches_text(words, command) || matches_text(&format!("{words} *"), command),
        None => matches_text(pattern, command),
    }
}

/// Reports whether a command with unknown parts may be one that matches, as defined by
/// [`matches_command`].
pub(super) fn may_match_command(pattern: &str, command: &str) -> bool {
    let words = pattern
        .strip_suffix(":*")
        .or_else(|| pattern.strip_suffix(" *"));
    match words {
        Some(words) => may_match(words, command) || may_match(&format!("{words} *"), command),
        None => may_match(pattern, command),
    }
}

/// Reports whether some text matches both, in time of pattern times command: `reached` records
/// which prefixes of the pattern fit the part of the command read so far.
fn may_match(pattern: &str, command: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let mut reached = vec![false; pattern.len() + 1];
    if let Some(start) = reached.first_mut() {
        *start = true;
    }
    pass(&mut reached, &pattern, |p| p == '*');
    for c in command.chars() {
        match c {
            MANY => pass(&mut reached, &pattern, |_| true),
            PART => pass(&mut reached, &pattern, |p| p != ' '),
            _ => {
                let mut next = vec![false; reached.len()];
                for (at, p) in pattern
                    .iter()
                    .enumerate()
                    .filter(|(at, _)| reached.get(*at) == Some(&true))
                {
                    let to = match p {
                        '*' => at,
                        '?' => at + 1,
                        p if *p == c || c == ONE => at + 1,
                        _ => continue,
                    };
                    if let Some(flag) = next.get_mut(to) {
                        *flag = true;
                    }
                }
                reached = next;
                pass(&mut reached, &pattern, |p| p == '*');
            }
        }
    }
    reached.last() == Some(&true)
}

/// Extends every reached prefix over characters of the pattern that may be skipped.
fn pass(reached: &mut [bool], pattern: &[char], may_pass: impl Fn(char) -> bool) {
    let mut goes_on = false;
    for (at, flag) in reached.iter_mut().enumerate() {
        *flag |= goes_on;
        goes_on = *flag && pattern.get(at).is_some_and(|p| *p == '*' || may_pass(*p));
    }
}

/// Matches a sequence with a star that spans any number of elements; only the last star is ever
/// retried, which prevents exponential time.
fn wildcard<P, T>(
    pattern: &[P],
    text: &[T],
    is_star: impl Fn(&P) -> bool,
    fits: impl Fn(&P, &T) -> bool,
) -> bool {
    let (mut at, mut next) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    while let Some(item) = text.get(at) {
        match pattern.get(next) {
            Some(p) if is_star(p) => {
                retry = Some((next + 1, at));
                next += 1;
            }
            Some(p) if fits(p, item) => {
                at += 1;
                next += 1;
            }
            _ => {
                let Some((after_star, from)) = retry else {
                    return false;
                };
                retry = Some((after_star, from + 1));
                at = from + 1;
                next = after_star;
            }
        }
    }
    pattern
        .get(next..)
        .is_some_and(|rest| rest.iter().all(is_star))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_patterns_follow_gitignore() {
        let table = [
            ("*.rs", "src/deep/a.rs", true),
            ("*.rs", "a.rs.txt", false),
            ("src/*.rs", "src/a.rs", true),
            ("src/*.rs", "src/deep/a.rs", false),
            ("src/**/*.rs", "src/deep/er/a.rs", true),
            ("src/**/*.rs", "src/a.rs", true),
            ("secrets", "a/secrets/key", true),
            ("/secrets/", "secrets/key", true),
            ("/secrets", "a/secrets", false),
            ("**", "anything/at/all", true),
            ("/w/app", "w/app-evil/x", false),
        ];
        for (pattern, path, expected) in table {
            assert_eq!(
                PathPattern::new(pattern).matches(path),
                expected,
                "{pattern} {path}"
            );
        }
    }

    #[test]
    fn what_is_unknown_may_be_anything() {
        let table = [
            ("git push*", "git \u{f0002}", true),
            ("git push*", "\u{f0002} push", true),
            ("git push*", "g\u{f0000}t push x", true),
            ("git push*", "git \u{f0001}sh", true),
            ("git push*", "\u{f0001}sh", false),
            ("git push*", "git commit -m \u{f0002}", false),
            ("git push:*", "git \u{f0002}", true),
            ("npm run deploy*", "npm \u{f0001} test", false),
        ];
        for (pattern, command, expected) in table {
            assert_eq!(
                may_match_command(pattern, command),
                expected,
                "{pattern} {command:?}"
            );
        }
    }

    #[test]
    fn command_patterns_keep_the_word_boundary() {
        let table = [
            ("git:*", "git", true),
            ("git:*", "git push", true),
            ("git:*", "gitx", false),
            ("ls *", "ls", true),
            ("ls *", "lsof", false),
            ("ls*", "lsof", true),
            ("npm run *", "npm run test --all", true),
            ("* --force", "git push --force", true),
        ];
        for (pattern, command, expected) in table {
            assert_eq!(
                matches_command(pattern, command),
                expected,
                "{pattern} {command}"
            );
        }
    }
}
