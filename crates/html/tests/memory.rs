//! Shows that no page takes more than 64 MB of memory, by what the kernel has counted for this
//! process.

#![expect(clippy::unwrap_used, reason = "tests")]

use orchestrate_core::policy::host::WebUrl;
use orchestrate_html::{Page, Style, main_part, markdown, outline};
use orchestrate_memory::{Counted, Work};

#[global_allocator]
static ALLOCATOR: Counted = Counted;

/// The most that one page may take, in bytes.
const BOUND: u64 = 64 << 20;
/// A page that takes much memory for its size.
struct Crafted {
    name: &'static str,
    begin: &'static str,
    piece: &'static str,
    megabytes: usize,
}

/// Returns a page of nothing but a piece.
const fn repeated(name: &'static str, piece: &'static str, megabytes: usize) -> Crafted {
    Crafted {
        name,
        begin: "",
        piece,
        megabytes,
    }
}

const CRAFTED: [Crafted; 11] = [
    repeated("elements", "<p>", 1),
    repeated("nested elements", "<div>", 1),
    repeated("links", "<a href=x>a</a>", 5),
    repeated("images", "<img src=x alt=y>", 5),
    repeated("headings", "<h1 id=a>a", 5),
    repeated("classes", "<pre class=language-a>a</pre>", 5),
    repeated("table", "<table><tr><td>a<td>b", 2),
    Crafted {
        name: "attributes",
        begin: "<p",
        piece: " a=b",
        megabytes: 2,
    },
    Crafted {
        name: "lines in quotes",
        begin: "<blockquote><blockquote><blockquote><blockquote><ul><li><ul><li><ul><li>",
        piece: "<br>a",
        megabytes: 2,
    },
    Crafted {
        name: "code in lists",
        begin: "<ul><li><ul><li><ul><li><ul><li><ul><li><ul><li><ul><li><ul><li><pre>a",
        piece: "\na",
        megabytes: 2,
    },
    Crafted {
        name: "wide table",
        begin: "<table><tr><td>1<td>2<td>3<td>4<td>5<td>6<td>7<td>8<td>9<td>10<td>11<td>12<td>13",
        piece: "<tr><td>a",
        megabytes: 4,
    },
];

/// Returns how many times smaller the pages are, except in the long form
/// (`ORCHESTRATE_HOSTILE=all`).
#[expect(
    clippy::disallowed_methods,
    reason = "a test chooses its form by the environment"
)]
fn part() -> usize {
    let is_long = std::env::var("ORCHESTRATE_HOSTILE").is_ok_and(|wanted| wanted == "all");
    if is_long { 1 } else { 4 }
}

#[test]
fn no_page_takes_more_than_the_bound() {
    let address = WebUrl::parse("https://page.example/a/b/c").unwrap();
    let mut too_large = Vec::new();
    for Crafted {
        name,
        begin,
        piece,
        megabytes,
    } in CRAFTED
    {
        let html = format!(
            "{begin}{}",
            piece.repeat((megabytes << 20) / part() / piece.len())
        );
        let before = restart_peak();
        let work = Work::begin(&|| false);
        let page = Page::parse(&html);
        let part = main_part(&page);
        let lengths = [Style::Markdown, Style::Text]
            .map(|style| markdown(&page, part, &address, style).len());
        let headings = outline(&page, part, &address).headings.len();
        drop(page);
        drop(work);
        let growth = resident("VmHWM").saturating_sub(before);
        println!(
            "{:>4} MB  {name}: {lengths:?} bytes, {headings} headings",
            growth >> 20
        );
        if growth > BOUND {
            too_large.push(format!("{name}: {} MB", growth >> 20));
        }
    }
    assert!(too_large.is_empty(), "{too_large:#?}");
}

/// Has the kernel count the peak anew; returns the memory that the process holds.
fn restart_peak() -> u64 {
    std::fs::write("/proc/self/clear_refs", "5").unwrap();
    resident("VmRSS")
}

/// Returns a figure of this process, in bytes.
fn resident(figure: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find(|line| line.starts_with(figure))
        .unwrap();
    let kilobytes: u64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    kilobytes << 10
}
