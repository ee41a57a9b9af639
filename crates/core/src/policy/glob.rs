//! Globs over paths, commands and names, matched in time linear in pattern times text, never more.
//!
//! Paths follow gitignore: `*` stays within a component, `**` crosses them, a pattern without an inner slash
//! matches at any depth, and a match of a directory covers what is below it. In commands and names `*`
//! spans anything; a command pattern that ends in ` *` or `:*` also matches the bare words before it.

/// The longest pattern in bytes: rules are typed by people.
pub(super) const MAX_PATTERN_BYTES: usize = 1024;

/// Tells whether a path relative to the worktree, or a directory above it, matches.
pub(super) fn matches_path(pattern: &str, path: &str) -> bool {
    let pattern = pattern.strip_prefix("./").unwrap_or(pattern);
    let body = pattern.trim_start_matches('/').trim_end_matches('/');
    if body.is_empty() {
        return true;
    }
    let anchored = pattern.starts_with('/') || body.contains('/');
    let wanted: Vec<&str> =
        if anchored { body.split('/').collect() } else { std::iter::once("**").chain(body.split('/')).collect() };
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    (1..=parts.len()).any(|end| parts.get(..end).is_some_and(|above| components_match(&wanted, above)))
}

/// Tells whether a whole text matches, `*` spanning anything.
pub(super) fn matches_text(pattern: &str, text: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let text: Vec<char> = text.chars().collect();
    wildcard(&pattern, &text, |&p| p == '*', |&p, &t| p == '?' || p == t)
}

/// Tells whether a command matches: as text, and with a closing ` *` or `:*` also without further words.
pub(super) fn matches_command(pattern: &str, command: &str) -> bool {
    let words = pattern.strip_suffix(":*").or_else(|| pattern.strip_suffix(" *"));
    match words {
        Some(words) => matches_text(words, command) || matches_text(&format!("{words} *"), command),
        None => matches_text(pattern, command),
    }
}

fn components_match(pattern: &[&str], parts: &[&str]) -> bool {
    wildcard(pattern, parts, |&p| p == "**", |&p, &part| matches_text(p, part))
}

/// Matches a sequence with a star that spans any number of elements; only the last star is ever retried,
/// which is what keeps it from growing exponentially.
fn wildcard<P, T>(pattern: &[P], text: &[T], is_star: impl Fn(&P) -> bool, fits: impl Fn(&P, &T) -> bool) -> bool {
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
                let Some((after_star, from)) = retry else { return false };
                retry = Some((after_star, from + 1));
                at = from + 1;
                next = after_star;
            }
        }
    }
    pattern.get(next..).is_some_and(|rest| rest.iter().all(is_star))
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
            assert_eq!(matches_path(pattern, path), expected, "{pattern} {path}");
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
            assert_eq!(matches_command(pattern, command), expected, "{pattern} {command}");
        }
    }
}
