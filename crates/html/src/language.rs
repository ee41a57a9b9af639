//! The language of a block of code, as classes of elements name it.

/// What stands before a language in classes: those of highlighters and of generators of
/// documentation.
const PREFIXES: [&str; 6] = [
    "language-",
    "lang-",
    "highlight-source-",
    "highlight-text-",
    "highlight-",
    "brush:",
];
/// What stands at the place of a language, and is none.
const NONE: [&str; 6] = ["default", "none", "wrapper", "container", "block", "lines"];
/// Languages whose names generators of documentation use as they are.
const BARE: [&str; 16] = [
    "rust",
    "python",
    "go",
    "java",
    "c",
    "cpp",
    "javascript",
    "typescript",
    "json",
    "bash",
    "shell",
    "toml",
    "yaml",
    "html",
    "css",
    "sql",
];

/// Returns the language that one of the classes of an element names with a prefix.
pub(crate) fn named(classes: &str) -> Option<String> {
    let mut words = classes.split_whitespace();
    while let Some(word) = words.next() {
        let name = match word {
            "brush:" => words.next(),
            _ => PREFIXES.iter().find_map(|prefix| word.strip_prefix(prefix)),
        };
        let name = name
            .map(|name| name.trim_end_matches(';'))
            .filter(|name| is_name(name));
        if let Some(name) = name {
            return Some(
                name.strip_suffix("-basic")
                    .unwrap_or(name)
                    .to_ascii_lowercase(),
            );
        }
    }
    None
}

/// Returns the language that is itself one of the classes of code.
pub(crate) fn bare(classes: &str) -> Option<String> {
    classes
        .split_whitespace()
        .find(|class| BARE.contains(class))
        .map(str::to_owned)
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && name.len() <= 20 && name.chars().all(is_plain) && !NONE.contains(&name)
}

fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '+' | '#' | '_' | '.')
}
