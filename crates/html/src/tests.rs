//! Pages as people and programs write them, honest and hostile.

use std::time::{Duration, Instant};

use orchestrate_core::policy::host::WebUrl;

use crate::outline::Outline;
use crate::tree::Page;
use crate::{Style, main_part, markdown, outline};

fn base() -> WebUrl {
    WebUrl::parse("https://page.example/a/b").unwrap()
}

fn read(html: &str) -> String {
    let page = Page::parse(html);
    markdown(&page, main_part(&page), &base(), Style::Markdown)
}

#[expect(clippy::too_many_lines, reason = "a table, with one row per case")]
#[test]
fn elements_have_their_marks() {
    let table = [
        ("plain &amp; &lt;simple&gt; &#233;", "plain & <simple> é\n"),
        ("<p>one<p>two", "one\n\ntwo\n"),
        ("<h1>A</h1><h3>B</h3>c", "# A\n\n### B\n\nc\n"),
        ("a<br>b<hr>c", "a\nb\n\n---\n\nc\n"),
        ("<b>x</b><i>y</i> <strong> z </strong>", "**x***y* **z**\n"),
        (
            "<a href=c>x</a>, <a href='#d'>y</a>, <a href='javascript:alert(1)'>z</a>",
            "[x](https://page.example/a/c), y, z\n",
        ),
        (
            "<a href=/c><b>x</b> y</a>",
            "[**x** y](https://page.example/c)\n",
        ),
        ("<a href=/c></a><b></b><h2></h2>x", "x\n"),
        ("<a href=/c><div>x</div><div>y</div></a>", "x\n\ny\n"),
        (
            "<ul><li>a<li>b<ul><li>c</ul><li>d</ul>e",
            "- a\n- b\n  - c\n- d\n\ne\n",
        ),
        (
            "<ol><li>a</li><li>b<p>more</p></li></ol>",
            "1. a\n2. b\n\n   more\n",
        ),
        (
            "<ul><li><p>a</p><p>b</p><ul><li>c</ul>d</li><li><p>e</p>f</ul>",
            "- a\n\n  b\n\n  - c\n  d\n- e\n\n  f\n",
        ),
        ("<ul><li><p>a</p></li><li><p>b</p></li></ul>", "- a\n- b\n"),
        (
            "<ol start=5><li>a<li>b<li value=9>c<li>d</ol>",
            "5. a\n6. b\n9. c\n10. d\n",
        ),
        ("<ol start=-1><li>a<li>b<li>c</ol>", "-1. a\n0. b\n1. c\n"),
        (
            "<ol start=' +3x'><li>a<ol start=x><li value=99999999999>b</ol><li>c</ol>",
            "3. a\n   1. b\n4. c\n",
        ),
        (
            "<ol><li value=2147483647>a<li>b</ol>",
            "2147483647. a\n2147483647. b\n",
        ),
        ("<ul start=4><li value=7>a</ul>", "- a\n"),
        (
            "<ul><li><a href=/c>x</a></li></ul>",
            "- [x](https://page.example/c)\n",
        ),
        ("<ul><li></li><li>a</li></ul>", "- a\n"),
        (
            "<blockquote><p>a</p><p>b</p></blockquote>c",
            "> a\n>\n> b\n\nc\n",
        ),
        (
            "a<blockquote>b</blockquote><blockquote>c</blockquote>",
            "a\n\n> b\n\n> c\n",
        ),
        ("<ul><li><blockquote>a</blockquote></ul>", "- > a\n"),
        ("<dl><dt>a<dd>b<dt>c<dd>d</dl>", "a\n  b\nc\n  d\n"),
        (
            "use <code>a | b</code> and <code>`c`</code>",
            "use `a | b` and `` `c` ``\n",
        ),
        ("<pre>a\n  <b>b</b>\n</pre>", "```\na\n  b\n```\n"),
        (
            "<pre><code class='hljs language-rust'>```</code></pre>",
            "````rust\n```\n````\n",
        ),
        (
            "<pre class='rust rust-example-rendered'><code>x</code></pre>",
            "```rust\nx\n```\n",
        ),
        (
            "<ul><li>a<pre>x\ny</pre></ul>",
            "- a\n\n  ```\n  x\n  y\n  ```\n",
        ),
        (
            "<table><tr><th>a<th>b<tr><td>1|2<td>3</table>",
            "| a | b |\n|---|---|\n| 1\\|2 | 3 |\n",
        ),
        ("<table><tr><td>one</table>", "one\n"),
        (
            "<table><tr><td><h2>x</h2></td><td>y</td></tr></table>",
            "## x\n\ny\n",
        ),
        (
            "<table><tr><td><blockquote>x</blockquote><td>y</table>",
            "> x\n\ny\n",
        ),
        (
            "<table><tr><th>a<th>b<tr><td><p>3</p><p>at most 5</p></td><td><pre>c\n  d</pre><ul><li>e<li>f</ul></table>",
            "| a | b |\n|---|---|\n| 3 at most 5 | `c`<br>`  d`; e; f |\n",
        ),
        (
            "<table><tr><td>a<br>b<td><code>c|d</code> <a href=e>f</a><tr><td>g</table>",
            "| a b | `c\\|d` [f](https://page.example/a/e) |\n|---|---|\n| g |  |\n",
        ),
        // A row may begin without its tag.
        (
            "<table><td>a<td>b<tr><td>c<td>d</table>",
            "| a | b |\n|---|---|\n| c | d |\n",
        ),
        (
            "<ul><li>x<table><tr><td>a<br>b<td>c<tr><td>d<td>e</table></ul>",
            "- x\n\n  | a b | c |\n  |---|---|\n  | d | e |\n",
        ),
        // Code beside the numbers of its lines.
        (
            "<table><tr><td><pre>1\n2</pre><td><pre>a\nb</pre></table>",
            "```\n1\n2\n```\n\n```\na\nb\n```\n",
        ),
        (
            "<a href='c#d e'>x</a> <a href='/#(y)'>z</a>",
            "[x](https://page.example/a/c#d%20e) [z](https://page.example/#%28y%29)\n",
        ),
        (
            "<img src=c.png alt='a  cat'><img src=d.png>",
            "![a cat](https://page.example/a/c.png)\n",
        ),
        (
            "a <span>b</span>c<script>x</script> <style>y</style>d",
            "a bc d\n",
        ),
        (
            "a<div hidden>b<div>c</div>d</div>e<p aria-hidden=true>f</p>g",
            "a\n\ne\n\nf\n\ng\n",
        ),
        // End tags may be left out.
        ("<p hidden>a<p>b", "b\n"),
        ("<section><div hidden>a</section>b", "b\n"),
        ("<ul><li hidden>a<ul><li>b</ul>c<li>d</ul>e", "- d\n\ne\n"),
        (
            "<div hidden><h1>a</h1><script>b</script><img src=c alt=d>e</div>f",
            "f\n",
        ),
        (
            "a<svg><title>b</title><text>c</text></svg>d<button>e</button>",
            "ad\n",
        ),
        ("<!-- a --><![CDATA[b]]>c", "c\n"),
        ("a < b & c &nosuch; </nosuch>d", "a < b & c &nosuch; d\n"),
        ("<textarea><p>x</textarea>y", "y\n"),
        ("", ""),
    ];
    for (html, expected) in table {
        assert_eq!(read(html), expected, "{html}");
    }
}

/// The class that names it is at the code, or at one of two elements around it.
#[test]
fn no_text_of_a_link_or_a_heading_is_a_link_of_its_own() {
    let cases = [
        (
            "<a href=/c>x](http://evil.example) [y</a>",
            r"[x\](http://evil.example) \[y](https://page.example/c)",
        ),
        (
            "<a href=/c>a `b](http://evil.example)` c</a>",
            r"[a \`b\](http://evil.example)\` c](https://page.example/c)",
        ),
        (
            r"<a href=/c>a\](http://evil.example)</a>",
            r"[a\\\](http://evil.example)](https://page.example/c)",
        ),
        (
            r"<a href=/c>a\<b>](http://evil.example)</b></a>",
            r"[a\\**\](http://evil.example)**](https://page.example/c)",
        ),
        (
            "<a href=/c>a<br>\n](http://evil.example)</a>",
            "a\n](http://evil.example)",
        ),
        (
            "<a href=/c>a &lt;http://evil.example> &lt; b</a>",
            r"[a \<http://evil.example> \< b](https://page.example/c)",
        ),
        (
            "<a href=/c><code>a]</code><code>b`](http://evil.example) c</code></a>",
            "[`a]` `` b`](http://evil.example) c ``](https://page.example/c)",
        ),
        (
            "<a href=/c><code>a</code></a> b[0]",
            "[`a`](https://page.example/c) b[0]",
        ),
        ("<a href=/c>[1]</a>", r"[\[1\]](https://page.example/c)"),
        (
            "<a href='/c)[x](http://evil.example'>a</a>",
            "[a](https://page.example/c%29[x]%28http://evil.example)",
        ),
        ("<a href='/c_(d)'>a</a>", "[a](https://page.example/c_(d))"),
        (
            "<img src=c.png alt='a](http://evil.example) [b'>",
            r"![a\](http://evil.example) \[b](https://page.example/a/c.png)",
        ),
        (
            "<h2>a <span>[b]</span><span>(http://evil.example)</span></h2><p>c[0]",
            "## a \\[b\\](http://evil.example)\n\nc[0]",
        ),
        (
            "<h2>a[b<sup><a href=#n>1</a></sup>(http://evil.example)</h2>",
            r"## a\[b\[1\](http://evil.example)",
        ),
        (
            "<table><tr><th>a<th>b<tr><td><a href=/c>x](http://evil.example)</a><td>d[0]</table>",
            "| a | b |\n|---|---|\n| [x\\](http://evil.example)](https://page.example/c) | d[0] |",
        ),
    ];
    for (html, expected) in cases {
        assert_eq!(read(html).trim_end(), expected, "{html}");
    }
}

#[test]
fn the_language_of_code_is_found_where_generators_name_it() {
    let table = [
        (
            "<div class='highlight-python notranslate'><div class=highlight><pre><span class=go>x</span></pre></div></div>",
            "python",
        ),
        (
            "<div class='highlight-default'><div class=highlight><pre><span class=c>x</span></pre></div></div>",
            "",
        ),
        (
            "<div class='language-ts vp-adaptive-theme'><span>ts</span><pre><code>x</code></pre></div>",
            "ts",
        ),
        (
            "<div class='highlight highlight-source-rust'><pre>x</pre></div>",
            "rust",
        ),
        (
            "<div class='highlight highlight-text-html-basic'><pre>x</pre></div>",
            "html",
        ),
        (
            "<div class='language-sh highlighter-rouge'><div class=highlight><pre class=highlight>x</pre></div></div>",
            "sh",
        ),
        (
            "<pre class='brush: js notranslate'><code>x</code></pre>",
            "js",
        ),
        (
            "<pre class='brush:php;'>x</pre><pre class='brush: ;'>",
            "php",
        ),
        (
            "<div class=language-a><pre><code class=language-b>x</code></pre></div>",
            "b",
        ),
        (
            "<div class=language-a><div><div><pre>x</pre></div></div></div>",
            "",
        ),
        ("<div class=language-a></div><pre>x</pre>", ""),
    ];
    for (html, expected) in table {
        let page = Page::parse(html);
        let part = main_part(&page);
        let code = outline(&page, part, &base()).code.swap_remove(0);
        assert_eq!(
            (code.0.unwrap_or_default().as_str(), code.1.as_str()),
            (expected, "x"),
            "{html}"
        );
        let text = markdown(&page, part, &base(), Style::Markdown);
        assert!(
            text.contains(&format!("```{expected}\nx\n```\n")),
            "{html}: {text}"
        );
    }
}

/// Without its marks, such a text would mean something else.
#[test]
fn raised_lowered_and_struck_text_keeps_its_meaning() {
    let table = [
        (
            "2<sup>32</sup>-1 and O(n<sup>2</sup>)",
            "2^32-1 and O(n^2)\n",
        ),
        (
            "<code>O(n<sup>2</sup>)</code>, <pre>x<sub>1</sub></pre>",
            "`O(n^2)`,\n\n```\nx_1\n```\n",
        ),
        (
            "x<sub>i</sub>+x<sub>i+1</sub>, a<sup>n</sup>b, f<sup>(n)</sup>",
            "x_i+x_(i+1), a^(n)b, f^(n)\n",
        ),
        (
            "2<sup>3</sup>4, 10<sup>-9</sup>, H<sub>2</sub>O",
            "2^(3)4, 10^(-9), H_2O\n",
        ),
        // Notes, endings and fractions.
        (
            "a<sup><a href='#f'>[1]</a></sup> b<sup><a href='#f'>2</a></sup> c<a href='#f'><sup>3</sup></a>",
            "a[1] b[2] c[3]\n",
        ),
        (
            "the 1<sup>st</sup> X<sup>TM</sup>, e<sup>st</sup>",
            "the 1st XTM, e^(st)\n",
        ),
        ("n<sup>2</sup>/<b>2</b>", "n^2/**2**\n"),
        (
            "<sup>1</sup>/<sub>2</sub> or 3<sup>1</sup>⁄<sub>2</sub>",
            "1/2 or 3 1⁄2\n",
        ),
        ("a<sup></sup>b<sup><p>c</p><p>d</p></sup>", "ab\n\nc\n\nd\n"),
        (
            "<del>old()</del> <s>a <b>b</b></s> <strike>c</strike><del></del>",
            "~~old()~~ ~~a **b**~~ ~~c~~\n",
        ),
        ("<math alttext='x^2'><mi>x</mi></math>", "$x^2$\n"),
        (
            "so <math><semantics><mi>x</mi><annotation encoding='application/x-tex'>x^2</annotation></semantics></math>\
             <span class=katex-html aria-hidden=true>x2</span>.",
            "so $x^2$.\n",
        ),
        (
            "<math><msup><mi>x</mi><mn>2</mn></msup> <mo>=</mo>\
             <mfrac><mrow><mi>a</mi><mo>+</mo><mi>b</mi></mrow><mn>2</mn></mfrac></math>",
            "x^2=(a+b)/2\n",
        ),
        (
            "<math><msubsup><mi>x</mi><mi>i</mi><mn>2</mn></msubsup><msqrt><mi>y</mi></msqrt></math>",
            "x_i^2√(y)\n",
        ),
    ];
    for (html, expected) in table {
        assert_eq!(read(html), expected, "{html}");
    }
    let page =
        Page::parse("<h1>2<sup>8</sup> <del>a</del></h1><a href=c><div>b</div><div>c</div></a>");
    let found = outline(&page, main_part(&page), &base());
    assert_eq!(
        (found.headings[0].text.as_str(), found.links[0].0.as_str()),
        ("2^8 ~~a~~", "b c")
    );
    assert_eq!(page.line_of_all(), "2^8 ~~a~~ b c");
}

/// The base is the first one with an address, which is itself relative to the page's own.
#[test]
fn addresses_are_relative_to_what_the_page_says() {
    let table = [
        ("<base href=/docs/>", "https://page.example/docs/c"),
        (
            "<base href='https://cdn.example/x/y?z'>",
            "https://cdn.example/x/c",
        ),
        (
            "<base target=_blank><base href=d/><base href=/e/>",
            "https://page.example/a/d/c",
        ),
        (
            "<div hidden><BASE HREF=d/></div>",
            "https://page.example/a/d/c",
        ),
        // What leads to no page of the web.
        ("<base href='file:///etc/'>", "https://page.example/a/c"),
        (
            "<base href='//user@evil.example/'>",
            "https://page.example/a/c",
        ),
        (
            "<base href=data:x><base href=/e/>",
            "https://page.example/a/c",
        ),
        (
            "<template><base href=/e/></template>",
            "https://page.example/a/c",
        ),
    ];
    for (before, expected) in table {
        let page = Page::parse(&format!("{before}<a href=c>x</a>"));
        let part = main_part(&page);
        let found = outline(&page, part, &base()).links;
        assert_eq!(found, [("x".to_owned(), expected.to_owned())], "{before}");
        let text = markdown(&page, part, &base(), Style::Markdown);
        assert_eq!(text, format!("[x]({expected})\n"), "{before}");
    }
}

/// A person would not see it, so it is a place for instructions that only a model would read.
#[test]
fn what_no_browser_shows_is_left_out() {
    let table = [
        (
            "a<div style='color:red; DISPLAY : none !important'>b</div>c",
            "a\n\nc\n",
        ),
        (
            "a<span style=visibility:hidden>b<b>c</b></span>d<i style='visibility:collapse'>e</i>",
            "ad\n",
        ),
        (
            "<p style='display:none;display:block'>a<p style=display&#58;none>b<p>c",
            "c\n",
        ),
        (
            "<p hidden=until-found>a<p HIDDEN=''>b<p style='visibility: hidden;'>c<p>d",
            "d\n",
        ),
        (
            "<img hidden src=a alt=b><img style=display:none src=a alt=c><hr hidden>d",
            "d\n",
        ),
        ("<dialog>a</dialog><dialog open>b</dialog>c", "b\n\nc\n"),
        ("<dialog hidden open>a</dialog>b", "b\n"),
        ("a<template>b</template><noscript>c</noscript>d", "ad\n"),
        (
            "<a href=/x style=display:none>a</a><h1 hidden>b</h1>c",
            "c\n",
        ),
        // What only looks like it.
        (
            "<p style='display:block'>a<p style='--display:none'>b<p style='content:\"hidden\"'>c",
            "a\n\nb\n\nc\n",
        ),
        (
            "<p style=display>a<p style=':;!;display:'>b<p data-hidden title=hidden>c",
            "a\n\nb\n\nc\n",
        ),
        ("<details><summary>a</summary>b</details>", "a\n\nb\n"),
        // Until its programs have put it together.
        (
            "<html hidden><body style='visibility:hidden'><p>a</p></body></html>",
            "a\n",
        ),
    ];
    for (html, expected) in table {
        assert_eq!(read(html), expected, "{html}");
    }
    let long = format!("<p style='{};display:none'>a</p>b", "x:y;".repeat(10_000));
    assert_eq!(read(&long), "b\n");
    let page = Page::parse(
        "<a href=x hidden>a</a><pre style=display:none>b</pre><h2 style=display:none>c</h2>",
    );
    assert_eq!(
        outline(&page, main_part(&page), &base()),
        Outline::default()
    );
}

#[test]
fn the_main_part_is_what_people_read() {
    let around = |inner: &str| {
        format!(
            "<body><header>Site</header><nav>a b c</nav>{inner}<aside>ads</aside><footer>imprint</footer></body>"
        )
    };
    let table = [
        (
            around("<main><p>text</p><aside>note</aside></main>"),
            "text\n\nnote\n",
        ),
        (around("<div role=main>text</div>"), "text\n"),
        (
            around("<article><header><h1>T</h1></header>text</article>"),
            "# T\n\ntext\n",
        ),
        (
            around("<article>one</article><article>two</article>"),
            "one\n\ntwo\n",
        ),
        (around("<div>text</div>"), "text\n"),
        // An element that holds next to nothing is not what people read.
        (
            around(&format!("<main>.</main><div>{}</div>", "word ".repeat(50))),
            &format!(".\n\n{}\n", "word ".repeat(50).trim()),
        ),
    ];
    for (html, expected) in &table {
        assert_eq!(read(html), *expected, "{html}");
    }
}

#[test]
fn an_outline_is_a_tree() {
    let html = "<h2 id=a>A<a href='#a'>¶</a></h2><h4>B</h4><h3>C</h3><h1>D</h1><pre>x</pre><a href=c>c</a><a href=c>again</a>";
    let page = Page::parse(html);
    let found = outline(&page, main_part(&page), &base());
    let names = |headings: &[super::Heading]| {
        headings
            .iter()
            .map(|heading| heading.text.clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(names(&found.headings), ["A", "D"]);
    assert_eq!(
        (
            names(&found.headings[0].children),
            found.headings[0].anchor.as_deref()
        ),
        (vec!["B".into(), "C".into()], Some("a"))
    );
    assert_eq!(found.code, [(None, "x".to_owned())]);
    assert_eq!(
        found.links,
        [("c".to_owned(), "https://page.example/a/c".to_owned())]
    );
}

/// Pages of a quarter of a mebibyte that are deep, wide or open without end.
#[test]
fn a_hostile_page_takes_time_like_its_length() {
    let pieces = [
        "<div>",
        "<p>",
        "<a href=x>",
        "<b><i>",
        "<ul><li>",
        "<table><tr><td>",
        "<blockquote>",
        "<pre>",
        "</div>",
        "<main>",
        "<article>x",
        "<header>",
        "<h1>x",
        "<svg>",
        "<script>",
        "<!--",
        "<a ",
        "&",
        "&amp;",
        "<",
        "\u{0}",
        "<li>",
        "<td>x",
        "<nav>",
        "<title>",
        "<select><option>",
        "<div hidden>",
        "<dl><dt>x<dd>",
        "<h1><h2><h3>",
        "`",
        "<code>`</code>",
        "<div id=x class=y>z",
        "]]>",
        "<a href=x>y</a>",
        "<base href=a/>",
        "<p style='a:b;display:none;'>",
        "<div style=':;!:;;'>x",
        "<sup>x",
        "<del>x<b>",
        "x<sub>y</sub>",
        "<math><msup>x",
        "<table><tr><td><pre>x",
        "<table><tr><td><ul><li><td>x",
        "<a href=#x><sup>",
        "<div class=language-a><pre>",
        "<pre class=language-a>x</pre>",
    ];
    let started = Instant::now();
    for piece in pieces {
        let html = piece.repeat((1 << 18) / piece.len());
        let page = Page::parse(&html);
        let part = main_part(&page);
        let text = markdown(&page, part, &base(), Style::Markdown);
        assert!(text.len() < 16 << 20, "{piece}: {}", text.len());
        outline(&page, part, &base());
    }
    // Unoptimised; what is not linear takes hours.
    assert!(
        started.elapsed() < Duration::from_secs(120),
        "{:?}",
        started.elapsed()
    );
    // The control: a plain page of this length is not cut short, but read to its end.
    let plain = "<p>word</p>".repeat((1 << 18) / "<p>word</p>".len());
    assert_eq!(
        read(&plain).matches("word").count(),
        plain.matches("<p>").count()
    );
}

/// A text within many open elements is part of one of them, and an address is not repeated without
/// end.
#[test]
fn a_page_does_not_grow_by_being_read() {
    fn letters(headings: &[super::Heading]) -> usize {
        headings
            .iter()
            .map(|heading| heading.text.len() + letters(&heading.children))
            .sum()
    }
    let text = "x ".repeat(1 << 18);
    let pages = [
        format!("{}{text}", "<a href=y>".repeat(200)),
        format!("{}{text}", "<h1><blockquote>".repeat(100)),
        format!("<table><tr>{}{text}", "<td><blockquote>".repeat(25)),
        format!("<table><tr><tr><td>{}{text}", "<td><ul>".repeat(25)),
        "<a href=y>z</a>".repeat(1 << 14),
        "<img src=y alt=z>".repeat(1 << 14),
    ];
    let long = WebUrl::parse(&format!("https://page.example/{}/", "a".repeat(8_000))).unwrap();
    for html in pages {
        let page = Page::parse(&html);
        let part = main_part(&page);
        let found = outline(&page, part, &long);
        let links: usize = found
            .links
            .iter()
            .map(|(text, address)| text.len() + address.len())
            .sum();
        let read =
            markdown(&page, part, &long, Style::Markdown).len() + links + letters(&found.headings);
        assert!(
            read <= 4 * html.len() + (5 << 20),
            "{read} bytes of {}",
            html.len()
        );
    }
    let nested = Page::parse("<a href=b>one <a href=c>two</a></a>");
    let links = outline(&nested, main_part(&nested), &base()).links;
    let address = |path: &str| format!("https://page.example/a/{path}");
    assert_eq!(
        links,
        [
            ("one".to_owned(), address("b")),
            ("two".to_owned(), address("c"))
        ]
    );
}

#[test]
fn what_is_deeper_than_can_be_kept_is_still_read() {
    let depth = 10_000;
    let html = format!("{}x{}y", "<div>".repeat(depth), "</div>".repeat(depth));
    assert_eq!(read(&html), "x\n\ny\n");
    // What is hidden there ends where it does elsewhere.
    let html = format!(
        "{}<i hidden>a<b>b</b>c</i>d<p hidden><u hidden>e</u>f</p>g",
        "<div>".repeat(depth)
    );
    assert_eq!(read(&html), "d\n\ng\n");
    let html = format!(
        "{}x{}y",
        "<blockquote>".repeat(depth),
        "</blockquote>".repeat(depth)
    );
    assert!(read(&html).ends_with("x\n\ny\n"));
}
