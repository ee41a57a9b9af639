//! Finds the places in the project that a message names.

/// Returns the places that a text names as `file:line`, or as Python does, in their order, relative
/// to the worktree.
///
/// Absolute paths outside the worktree and files of installed packages are left out.
pub(super) fn places(text: &str, root: &str) -> Vec<(String, u32)> {
    let words: Vec<&str> = words(text).collect();
    let found = words
        .iter()
        .enumerate()
        .filter_map(|(at, word)| match words.get(at + 1..at + 3) {
            Some(["line", number]) => Some((inside(word, root)?, number.parse().ok()?)),
            _ => place(word, root),
        });
    found.collect()
}

/// Returns the paths in the worktree that a text may name.
pub(super) fn paths(text: &str, root: &str) -> Vec<String> {
    words(text)
        .filter_map(|word| inside(word.split(':').next()?, root))
        .collect()
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(separates).filter(|word| !word.is_empty())
}

fn separates(c: char) -> bool {
    c.is_whitespace()
        || matches!(
            c,
            '(' | ')' | '"' | '\'' | '`' | '<' | '>' | '[' | ']' | ','
        )
}

/// Reads `file:line` or `file:line:column`.
fn place(word: &str, root: &str) -> Option<(String, u32)> {
    let word = word.trim_start_matches("file://");
    let (file, rest) = word.split_once(':')?;
    let digits = rest.split(':').next()?;
    let line: u32 = digits.parse().ok().filter(|line| *line > 0)?;
    let file = inside(file, root)?;
    let has_extension = file
        .rsplit('/')
        .next()?
        .trim_start_matches('.')
        .contains('.');
    has_extension.then_some((file, line))
}

/// Returns a path relative to the worktree; `None` for one outside, or of an installed package.
pub(super) fn inside(path: &str, root: &str) -> Option<String> {
    let path = match path.strip_prefix(root).map(|below| below.strip_prefix('/')) {
        Some(Some(below)) if !root.is_empty() => below,
        _ if path.starts_with('/') => return None,
        _ => path.trim_start_matches("./"),
    };
    let is_installed = path
        .split('/')
        .any(|part| matches!(part, "node_modules" | "site-packages" | ".." | ".venv"));
    (!is_installed && !path.is_empty()).then(|| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_of_the_project_are_found() {
        let table: [(&str, &[(&str, u32)]); 7] = [
            (
                "thread 'a' panicked at src/lib.rs:24:9:\nleft",
                &[("src/lib.rs", 24)],
            ),
            (
                "at Object.toBe (/w/sums.test.js:4:19)\n at f (/w/node_modules/j/x.js:1:2)",
                &[("sums.test.js", 4)],
            ),
            (
                "../../venv/lib/x.py:52: in f\ntest_sums.py:14: AssertionError",
                &[("test_sums.py", 14)],
            ),
            (
                "at file:///w/a.mjs:3:1, node:internal/test:7:1, /rustc/5980/panicking.rs:689:5",
                &[("a.mjs", 3)],
            ),
            ("at 12:30:05 see http://h:80/x and a.b:0", &[]),
            ("at ./src/lib.rs:24:9", &[("src/lib.rs", 24)]),
            (
                "File \"/w/a.py\", line 3\n File \"/lib/b.py\", line 4, in f",
                &[("a.py", 3)],
            ),
        ];
        for (text, expected) in table {
            let found = places(text, "/w");
            let found: Vec<(&str, u32)> = found
                .iter()
                .map(|(file, line)| (file.as_str(), *line))
                .collect();
            assert_eq!(found, expected, "{text}");
        }
    }
}
