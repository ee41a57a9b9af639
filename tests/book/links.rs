//! Links of Markdown files: each leads to a file that exists and to a heading that is in it, a page
//! of the book leads to nothing outside it, and the summary lists every page of it once.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use comrak::nodes::{Node, NodeValue};
use comrak::{Anchorizer, Arena, Options, parse_document};

use crate::support::{Outcome, fail};

/// The folder of the book.
const BOOK: &str = "docs/";
/// What lists the book's pages.
const SUMMARY: &str = "docs/SUMMARY.md";
/// Pages beside the book.
const OTHERS: [&str; 7] = [
    "README.md",
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "examples/goal/README.md",
    "examples/own-project/README.md",
    "examples/real-input/README.md",
];

/// The texts of pages by their paths below the repository's root.
type Pages = BTreeMap<String, String>;

/// A link of a page.
struct Link {
    line: usize,
    url: String,
}

/// What is linked from a page, and what can be linked in it.
#[derive(Default)]
struct Parsed {
    links: Vec<Link>,
    anchors: BTreeSet<String>,
}

/// Checks the pages of the repository.
pub(super) fn pages_hold() -> Outcome {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut pages = Pages::new();
    for path in OTHERS {
        pages.insert(path.to_owned(), fs::read_to_string(root.join(path))?);
    }
    for entry in fs::read_dir(root.join(BOOK))? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "md") {
            let name = path.strip_prefix(root)?.display().to_string();
            pages.insert(name, fs::read_to_string(&path)?);
        }
    }
    require_none(&violations(&pages, &|path| root.join(path).exists()))
}

fn require_none(violations: &[String]) -> Outcome {
    match violations {
        [] => Ok(()),
        _ => fail(violations.join("\n")),
    }
}

fn violations(pages: &Pages, exists: &dyn Fn(&str) -> bool) -> Vec<String> {
    let parsed: BTreeMap<&str, Parsed> = pages
        .iter()
        .map(|(path, text)| (path.as_str(), parse(text)))
        .collect();
    let mut found = Vec::new();
    for (path, page) in &parsed {
        for link in &page.links {
            if let Some(wrong) = wrong_with(path, &link.url, &parsed, exists) {
                found.push(format!("{path}:{}: {}: {wrong}", link.line, link.url));
            }
        }
    }
    found.extend(lost_pages(&parsed));
    found
}

/// Returns what is wrong with a link of a page.
fn wrong_with(
    page: &str,
    url: &str,
    pages: &BTreeMap<&str, Parsed>,
    exists: &dyn Fn(&str) -> bool,
) -> Option<String> {
    if url.contains("://") || url.starts_with("mailto:") {
        return None;
    }
    let (file, anchor) = url.split_once('#').unwrap_or((url, ""));
    let target = target_of(page, file);
    if page.starts_with(BOOK) && !target.starts_with(BOOK) {
        return Some("the book has no such page: name the path as code, without a link".to_owned());
    }
    if !exists(&target) {
        return Some(format!("there is no {target}"));
    }
    if anchor.is_empty() {
        return None;
    }
    match pages.get(target.as_str()) {
        Some(linked) if linked.anchors.contains(anchor) => None,
        Some(_) => Some(format!("{target} has no heading #{anchor}")),
        None => Some(format!("the headings of {target} are not known")),
    }
}

/// Returns the path below the root that a link leads to.
fn target_of(page: &str, file: &str) -> String {
    if file.is_empty() {
        return page.to_owned();
    }
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    for part in file.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            _ => parts.push(part),
        }
    }
    parts.join("/")
}

/// Returns the pages of the book that its summary does not list, or lists twice; a listed page that
/// does not exist is a broken link.
fn lost_pages(pages: &BTreeMap<&str, Parsed>) -> Vec<String> {
    let mut listed: BTreeMap<String, usize> = BTreeMap::new();
    for link in pages.get(SUMMARY).iter().flat_map(|page| &page.links) {
        *listed.entry(target_of(SUMMARY, &link.url)).or_default() += 1;
    }
    let of_book = pages
        .keys()
        .filter(|path| path.starts_with(BOOK) && **path != SUMMARY);
    let mut found = Vec::new();
    for path in of_book {
        match listed.get(*path) {
            Some(1) => {}
            Some(times) => found.push(format!("{SUMMARY} lists {path} {times} times")),
            None => found.push(format!("{SUMMARY} does not list {path}")),
        }
    }
    found
}

fn parse(text: &str) -> Parsed {
    let arena = Arena::new();
    let mut options = Options::default();
    options.extension.table = true;
    let mut anchors = Anchorizer::new();
    let mut parsed = Parsed::default();
    for node in parse_document(&arena, text, &options).descendants() {
        let data = node.data();
        match &data.value {
            NodeValue::Link(link) | NodeValue::Image(link) => parsed.links.push(Link {
                line: data.sourcepos.start.line,
                url: link.url.clone(),
            }),
            NodeValue::Heading(_) => {
                parsed.anchors.insert(anchors.anchorize(&words_of(node)));
            }
            _ => {}
        }
    }
    parsed
}

/// Returns the words of a heading, without its marks.
fn words_of(heading: Node<'_>) -> String {
    let mut words = String::new();
    for node in heading.descendants() {
        match &node.data().value {
            NodeValue::Text(text) => words.push_str(text),
            NodeValue::Code(code) => words.push_str(&code.literal),
            _ => {}
        }
    }
    words
}

/// Shows what is wrong with pages, of which `docs/there.json` is beside them.
fn require_found(pages: &[(&str, &str)], expected: &[&str]) -> Outcome {
    let pages: Pages = pages
        .iter()
        .map(|(path, text)| ((*path).to_owned(), (*text).to_owned()))
        .collect();
    let exists = |path: &str| pages.contains_key(path) || path == "docs/there.json";
    let found = violations(&pages, &exists);
    assert_eq!(found, expected);
    Ok(())
}

/// Shows that a link to nothing is caught, in a table as well.
pub(super) fn broken_links_are_caught() -> Outcome {
    let a = "# A\n\n[b](b.md#one--two), [data](there.json) and [self](#a)\n\n\
             | where |\n|---|\n| [gone](gone.md) |\n\n`[code](code.md)` <https://a.example>\n\n\
             ![no picture](no.svg) [b](b.md#three) [source](../src/a.rs)\n";
    let pages = [
        ("README.md", "[a](docs/a.md#a) [b](docs/b.md#a)\n"),
        ("docs/SUMMARY.md", "- [A](a.md)\n- [B](b.md)\n"),
        ("docs/a.md", a),
        ("docs/b.md", "# B\n\n## `One` – two\n"),
    ];
    let expected = [
        "README.md:1: docs/b.md#a: docs/b.md has no heading #a",
        "docs/a.md:7: gone.md: there is no docs/gone.md",
        "docs/a.md:11: no.svg: there is no docs/no.svg",
        "docs/a.md:11: b.md#three: docs/b.md has no heading #three",
        "docs/a.md:11: ../src/a.rs: the book has no such page: name the path as code, without a link",
    ];
    require_found(&pages, &expected)
}

/// Shows that a page that the summary does not list is caught, and one that it lists twice.
pub(super) fn lost_pages_are_caught() -> Outcome {
    let pages = [
        ("docs/SUMMARY.md", "- [A](a.md)\n  - [A again](a.md)\n"),
        ("docs/a.md", "# A\n"),
        ("docs/b.md", "# B\n"),
    ];
    let expected = [
        "docs/SUMMARY.md lists docs/a.md 2 times",
        "docs/SUMMARY.md does not list docs/b.md",
    ];
    require_found(&pages, &expected)
}
