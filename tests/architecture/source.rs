//! Reads a Rust file as tokens, without the items that are compiled for tests only.

use std::collections::{BTreeMap, BTreeSet};
use std::iter::Peekable;
use std::path::{Path, PathBuf};

use libtest_mimic::Failed;
use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};

use super::{read, root};

/// A path as written in the source, with its line.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Reference {
    pub(super) segments: Vec<String>,
    pub(super) line: usize,
}

/// The modules that a file declares, and the paths that it names.
#[derive(Debug, Default)]
pub(super) struct Outline {
    /// The modules that `mod name;` declares.
    pub(super) children: Vec<String>,
    /// The modules that are declared for tests only.
    pub(super) test_children: Vec<String>,
    /// Every path of at least two segments and every import.
    pub(super) references: Vec<Reference>,
    /// The re-exports of `pub use`: from name to path.
    pub(super) exports: BTreeMap<String, Vec<String>>,
}

/// Parses a file's text into tokens; an error names the file.
pub(super) fn tokens(file: &str, text: &str) -> Result<TokenStream, Failed> {
    text.parse()
        .map_err(|error| Failed::from(format!("{file}: {error}")))
}

/// Returns the modules that a file declares, and the paths that it names outside tests.
pub(super) fn outline(file: &str, text: &str) -> Result<Outline, Failed> {
    let mut outline = Outline::default();
    read_stream(
        &without_tests(tokens(file, text)?, &mut outline),
        &mut outline,
    );
    Ok(outline)
}

/// Returns the tokens without the items under `#[cfg(test)]`; the modules among these are added to
/// `test_children`.
pub(super) fn without_tests(stream: TokenStream, outline: &mut Outline) -> Vec<TokenTree> {
    let mut kept = Vec::new();
    let mut tokens = stream.into_iter().peekable();
    while let Some(token) = tokens.next() {
        let attribute = match (&token, tokens.peek()) {
            (TokenTree::Punct(punct), Some(TokenTree::Group(group))) if punct.as_char() == '#' => {
                group.to_string()
            }
            _ => String::new(),
        };
        let compact: String = attribute.split_whitespace().collect();
        if compact.starts_with("[cfg(test") || compact.starts_with("[cfg(all(test") {
            tokens.next();
            skip_item(&mut tokens, outline);
        } else {
            kept.push(token);
        }
    }
    kept
}

/// Skips an item, up to a semicolon or a block.
fn skip_item(tokens: &mut Peekable<proc_macro2::token_stream::IntoIter>, outline: &mut Outline) {
    let mut after_mod = false;
    for token in tokens.by_ref() {
        match token {
            TokenTree::Punct(punct) if punct.as_char() == ';' => return,
            TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => return,
            TokenTree::Ident(ident) if after_mod => {
                outline.test_children.push(ident.to_string());
                after_mod = false;
            }
            TokenTree::Ident(ident) => after_mod = ident == "mod",
            _ => {}
        }
    }
}

/// Returns the files that are not modules under `#[cfg(test)]` of another one of them.
pub(super) fn without_test_files(files: &[PathBuf]) -> Result<Vec<&PathBuf>, Failed> {
    let mut of_tests = BTreeSet::new();
    for file in files {
        let text = read(&root().join(file))?;
        // Most files declare no module, and to read all as tokens takes seconds.
        if !text.lines().any(declares_module) {
            continue;
        }
        let children = outline(&file.display().to_string(), &text)?.test_children;
        of_tests.extend(children.iter().map(|child| child_of(file, child)));
    }
    Ok(files
        .iter()
        .filter(|file| !of_tests.contains(*file))
        .collect())
}

/// Reports whether a line ends as `mod child;` does.
fn declares_module(line: &str) -> bool {
    line.trim_end().ends_with(';') && line.split_whitespace().any(|word| word == "mod")
}

/// Returns the file that `mod child;` in a file refers to.
pub(super) fn child_of(file: &Path, child: &str) -> PathBuf {
    let is_root = ["lib", "main", "mod"]
        .map(Some)
        .contains(&file.file_stem().and_then(|stem| stem.to_str()));
    let folder = if is_root {
        file.with_file_name("")
    } else {
        file.with_extension("")
    };
    folder.join(child).with_extension("rs")
}

fn read_stream(tokens: &[TokenTree], outline: &mut Outline) {
    let mut at = 0;
    while at < tokens.len() {
        let is_word = |offset: usize, word: &str| matches!(tokens.get(at + offset), Some(TokenTree::Ident(i)) if i == word);
        if is_word(0, "mod") && is_punct(tokens.get(at + 2), ';') {
            outline.children.push(tokens[at + 1].to_string());
            at += 3;
        } else if is_word(0, "use") {
            let exported = at > 0 && is_public(tokens, at);
            at = read_use(tokens, at + 1, exported, outline);
        } else if matches!(tokens[at], TokenTree::Ident(_)) {
            at = read_path(tokens, at, outline);
        } else {
            if let TokenTree::Group(group) = &tokens[at] {
                let inner = without_tests(group.stream(), outline);
                read_stream(&inner, outline);
            }
            at += 1;
        }
    }
}

/// Reports whether `pub` or `pub(…)` precedes a position.
fn is_public(tokens: &[TokenTree], at: usize) -> bool {
    let before = &tokens[at - 1];
    let before = if matches!(before, TokenTree::Group(_)) && at > 1 {
        &tokens[at - 2]
    } else {
        before
    };
    matches!(before, TokenTree::Ident(ident) if ident == "pub")
}

fn is_punct(token: Option<&TokenTree>, character: char) -> bool {
    matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == character)
}

/// Reports whether `::` begins at a position.
fn is_colons(tokens: &[TokenTree], at: usize) -> bool {
    is_punct(tokens.get(at), ':') && is_punct(tokens.get(at + 1), ':')
}

/// Adds a path such as `crate::plan::Plan` and returns the position after it.
fn read_path(tokens: &[TokenTree], start: usize, outline: &mut Outline) -> usize {
    let line = tokens[start].span().start().line;
    let mut segments = vec![tokens[start].to_string()];
    let mut at = start + 1;
    while is_colons(tokens, at) && matches!(tokens.get(at + 2), Some(TokenTree::Ident(_))) {
        segments.push(tokens[at + 2].to_string());
        at += 3;
    }
    if segments.len() > 1 && !(start > 1 && is_colons(tokens, start - 2)) {
        outline.references.push(Reference { segments, line });
    }
    at
}

/// Adds each path of an import and returns the position after its semicolon.
fn read_use(tokens: &[TokenTree], start: usize, exported: bool, outline: &mut Outline) -> usize {
    let length = tokens[start..]
        .iter()
        .take_while(|token| !is_punct(Some(token), ';'))
        .count();
    let mut leaves = Vec::new();
    read_tree(&tokens[start..start + length], &[], &mut leaves);
    for leaf in leaves {
        if exported {
            outline.exports.insert(leaf.name, leaf.segments.clone());
        }
        outline.references.push(Reference {
            segments: leaf.segments,
            line: leaf.line,
        });
    }
    start + length + 1
}

struct Leaf {
    name: String,
    segments: Vec<String>,
    line: usize,
}

fn read_tree(tokens: &[TokenTree], prefix: &[String], leaves: &mut Vec<Leaf>) {
    // A list may end with a comma.
    for branch in tokens
        .split(|token| is_punct(Some(token), ','))
        .filter(|branch| !branch.is_empty())
    {
        let mut segments = prefix.to_vec();
        let mut name = None;
        let mut line = 0;
        let mut group: Option<&Group> = None;
        for (at, token) in branch.iter().enumerate() {
            line = token.span().start().line;
            match token {
                TokenTree::Ident(ident) if ident == "as" => {
                    name = branch.get(at + 1).map(ToString::to_string);
                    break;
                }
                TokenTree::Ident(ident) => segments.push(ident.to_string()),
                TokenTree::Group(inner) => group = Some(inner),
                _ => {}
            }
        }
        if let Some(group) = group {
            let inner: Vec<_> = group.stream().into_iter().collect();
            read_tree(&inner, &segments, leaves);
        } else if let Some(last) = segments.last().cloned() {
            if last == "self" && segments.len() > 1 {
                segments.pop();
            }
            leaves.push(Leaf {
                name: name.unwrap_or(last),
                segments,
                line,
            });
        }
    }
}
