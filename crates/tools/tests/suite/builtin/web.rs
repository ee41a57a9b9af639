//! The tools for the web, before a web of pages that answers as the real services do.

use std::sync::Arc;
use std::time::Duration;

use orchestrate_core::ToolSettings;
use orchestrate_core::agent::model_search::SearchReply;
use orchestrate_core::event::ErrorKind;
use orchestrate_core::policy::RuleDecision;
use orchestrate_core::policy::host::Host;
use orchestrate_core::policy::web::{WebFailure, WebServiceName};
use orchestrate_tool_testing::harness::ToolHarness;
use orchestrate_tools::{
    APIDocumentation, CallOutcome, Documentation, FoundByModel, GitHubResult, SearchResult,
    ServiceError, StackOverflowResult, ToolOutput, WebContent,
};
use serde_json::{Value, json};

use crate::support::{calls, holding, policy, said, starting};

const PAGE: &str = "<!doctype html><html><head><title>A page &amp; more</title><style>p{}</style></head><body>\
    <nav><a href=/>Home</a></nav><main><h1 id=top>Begin</h1><p>Read <a href=\"b.html\">the <b>next</b> one</a>.</p>\
    <pre><code class=language-rust>fn main() {\n    go();\n}</code></pre><h2>Then</h2><ul><li>one<li>two <code>x</code></ul>\
    </main><footer>Imprint</footer><script>alert('<p>no</p>')</script></body></html>";

/// What SearXNG answers, as <https://docs.searxng.org/dev/search_api.html> shows.
const SEARXNG: &str = r#"{"query": "q", "number_of_results": 0, "results": [
    {"url": "https://a.example/1", "title": "First <b>hit</b>", "content": "with &amp; words", "engine": "x", "score": 2.0},
    {"url": "javascript:alert(1)", "title": "No page", "content": ""},
    {"url": "https://a.example/2", "title": "Second", "content": null}], "answers": [], "suggestions": []}"#;
/// What Brave answers, as the reference of its search API shows.
const BRAVE: &str = r#"{"type": "search", "query": {"original": "q"}, "web": {"type": "search", "results": [
    {"title": "First", "url": "https://a.example/1", "description": "with <strong>words</strong>", "language": "en"}]}}"#;
/// What Tavily answers, as <https://docs.tavily.com/documentation/api-reference/endpoint/search>
/// shows.
const TAVILY: &str = r#"{"query": "q", "answer": null, "images": [], "results": [
    {"title": "First", "url": "https://a.example/1", "content": "with words", "score": 0.9, "raw_content": null}],
    "response_time": 1.2}"#;
/// What Stack Exchange answers, as <https://api.stackexchange.com/docs/advanced-search> shows.
const STACK: &str = r#"{"items": [{"tags": ["rust", "borrow-checker"], "owner": {"display_name": "x"}, "is_answered": true,
    "view_count": 9, "accepted_answer_id": 7, "answer_count": 2, "score": 12, "question_id": 5,
    "link": "https://stackoverflow.com/questions/5/why", "title": "Why &quot;E0502&quot;?"}], "has_more": false, "quota_max": 300,
    "quota_remaining": 299}"#;
/// What GitHub answers, as <https://docs.github.com/en/rest/search/search#search-repositories>
/// shows.
const GITHUB: &str = r#"{"total_count": 2, "incomplete_results": false, "items": [{"id": 1, "full_name": "serde-rs/serde",
    "html_url": "https://github.com/serde-rs/serde", "description": "Serialization", "language": "Rust", "private": false,
    "stargazers_count": 9000, "pushed_at": "2026-11-01T00:00:00Z"}, {"id": 2, "full_name": "acme/secret", "private": true,
    "html_url": "https://github.com/acme/secret", "description": "Of the token's owner", "language": null,
    "stargazers_count": 0, "pushed_at": "2026-11-01T00:00:00Z"}]}"#;
/// What PyPI answers, as <https://docs.pypi.org/api/json/> shows.
const PYPI: &str = r##"{"info": {"name": "requests", "version": "2.32.0", "summary": "HTTP for Humans.",
    "description": "# Requests\n\nSimple.", "package_url": "https://pypi.org/project/requests/", "docs_url": null,
    "project_urls": {"Documentation": "https://requests.readthedocs.io", "Source": "https://github.com/psf/requests"}},
    "urls": []}"##;
/// What the registry of npm answers, as
/// <https://github.com/npm/registry/blob/main/docs/REGISTRY-API.md> shows.
const NPM_LATEST: &str = r#"{"name": "left-pad", "version": "1.3.0", "description": "Pads", "homepage": "https://h.example/"}"#;
const NPM: &str =
    r##"{"name": "left-pad", "dist-tags": {"latest": "1.3.0"}, "readme": "# left-pad"}"##;

/// Returns the specimens of the conformance suite, whose pages [`put_pages`] puts.
pub(crate) fn specimens() -> Vec<(&'static str, Value, Option<Value>)> {
    vec![
        ("web_search", json!({"query": "q"}), None),
        (
            "fetch_url",
            json!({"url": "https://page.example/"}),
            Some(json!({"url": "https://page.example/nowhere"})),
        ),
        (
            "parse_documentation",
            json!({"url": "https://page.example/"}),
            Some(json!({"url": "https://page.example/nowhere"})),
        ),
        ("search_stackoverflow", json!({"query": "q"}), None),
        ("search_github", json!({"query": "q"}), None),
        (
            "fetch_api_docs",
            json!({"library": "rust:serde"}),
            Some(json!({"library": "rust:nowhere"})),
        ),
    ]
}

/// Puts the pages that the calls of the conformance suite ask for.
pub(crate) fn put_pages(harness: &ToolHarness) {
    const JSON: &str = "application/json";
    let web = &harness.web;
    web.put("https://page.example/", "text/html; charset=utf-8", PAGE);
    web.put(
        "https://search.example/search?q=q&format=json",
        JSON,
        SEARXNG,
    );
    web.put(
        "https://api.stackexchange.com/2.3/search/advanced?q=q&site=stackoverflow&order=desc&sort=relevance&pagesize=10",
        JSON,
        STACK,
    );
    web.put(
        "https://api.github.com/search/repositories?q=q&per_page=10",
        JSON,
        GITHUB,
    );
    web.put("https://docs.rs/serde/latest/serde/", "text/html", PAGE);
}

/// Returns the structured result of a call that has to succeed.
async fn data<T: serde::de::DeserializeOwned>(
    harness: &ToolHarness,
    tool: &str,
    arguments: Value,
) -> T {
    let output = harness.call(tool, arguments).await;
    assert!(output.success, "{}", said(&output));
    serde_json::from_value(output.data).unwrap()
}

fn links(harness: &ToolHarness) -> Vec<String> {
    harness
        .web
        .asked()
        .iter()
        .map(|request| request.url.to_string())
        .collect()
}

async fn fetch(harness: &ToolHarness, url: &str) -> ToolOutput {
    harness.call("fetch_url", json!({ "url": url })).await
}

pub(crate) async fn a_page_is_fetched_as_markdown(harness: ToolHarness) {
    put_pages(&harness);
    let output = fetch(&harness, "HTTPS://Page.Example:443/#top").await;
    let expected = "A page & more\nhttps://page.example/\n\n# Begin\n\nRead [the **next** one](https://page.example/b.html).\n\n\
        ```rust\nfn main() {\n    go();\n}\n```\n\n## Then\n\n- one\n- two `x`\n[status 200, ";
    assert!(output.text().starts_with(expected), "{}", output.text());
    let page: WebContent = serde_json::from_value(output.data).unwrap();
    assert_eq!(
        (page.title.as_str(), page.status, page.is_cut),
        ("A page & more", 200, false)
    );
    let asked = harness.web.asked().remove(0);
    assert_eq!(
        (asked.timeout.as_secs(), asked.max_bytes, asked.credential),
        (30, 5 << 20, None)
    );
}

pub(crate) async fn a_page_has_other_forms(harness: ToolHarness) {
    put_pages(&harness);
    let as_form = |form: &str| json!({"url": "https://page.example/", "format": form, "prompt": "what is it?"});
    let page: WebContent = data(&harness, "fetch_url", as_form("text")).await;
    assert!(
        page.content.starts_with("Begin\n\nRead the next one.\n"),
        "{}",
        page.content
    );
    let page: WebContent = data(&harness, "fetch_url", as_form("html")).await;
    assert_eq!(page.content, PAGE);
    calls! { harness;
        fetch_url (as_form("json")) => starting("Retry: https://page.example/ is no JSON");
    }
    // The form of a wrapper, as another product's models call it.
    harness
        .web
        .put("https://example.com/", "application/json", "{\"a\":1}");
    let output = harness
        .call(
            "WebFetch",
            json!({"arguments": ["https://example.com", "json"]}),
        )
        .await;
    assert!(
        output.text().contains("{\n  \"a\": 1\n}"),
        "{}",
        said(&output)
    );
    calls! { harness;
        WebFetch {"arguments": ["https://example.com", "json", "x"]}
            => holding("an address and a form");
    }
    let output = harness
        .call(
            "WebFetch",
            json!({"url": "https://page.example/", "timeout": 500}),
        )
        .await;
    assert!(output.success, "{}", said(&output));
    assert_eq!(harness.web.asked().last().unwrap().timeout.as_secs(), 120);
}

pub(crate) async fn a_host_that_is_away_stops_no_other(mut harness: ToolHarness) {
    put_pages(&harness);
    harness.scope.limits.longest_retry_wait = Duration::ZERO;
    let dead = |path: &str| format!("https://dead.example/{path}");
    harness.web.fail(
        &dead("1"),
        WebFailure::Unreachable("no connection to dead.example".to_owned()),
    );
    harness.web.answer(&dead("2"), 429, "text/html", "slower");
    harness.web.answer(&dead("3"), 503, "text/html", "later");
    for path in ["1", "2", "3"] {
        let seen = said(&fetch(&harness, &dead(path)).await);
        assert!(seen.starts_with("Network: "), "{seen}");
    }
    let refused = said(
        &harness
            .call("parse_documentation", json!({"url": dead("4")}))
            .await,
    );
    let words = "Execution: `dead.example` is out of order for the tools of the category `web`: ";
    assert!(refused.starts_with(words), "{refused}");
    // What the server said is for the agent that has asked it.
    assert!(
        refused.contains("the last call that needed it failed") && !refused.contains("later"),
        "{refused}"
    );
    assert!(!links(&harness).contains(&dead("4")));
    assert!(fetch(&harness, "https://page.example/").await.success);
    assert!(
        harness
            .call("search_github", json!({"query": "q"}))
            .await
            .success
    );
}

#[expect(clippy::too_many_lines, reason = "the pages, and what is said of each")]
pub(crate) async fn what_cannot_be_read_is_explained(mut harness: ToolHarness) {
    harness.scope.limits.longest_retry_wait = Duration::ZERO;
    let web = &harness.web;
    web.put("https://page.example/a.pdf", "application/pdf", "%PDF-1.7");
    web.answer(
        "https://page.example/later",
        503,
        "text/html",
        "<h1>Come back</h1>",
    );
    web.answer(
        "https://page.example/mine",
        403,
        "text/html",
        "<h1>Not for you</h1>",
    );
    web.ask_to_wait("https://busy.example/", 429, 90);
    web.ask_to_wait("https://page.example/limited", 403, 60);
    web.put(
        "https://page.example/empty",
        "text/html",
        "<div id=root></div><script>run()</script>",
    );
    web.fail(
        "https://gone.example/",
        WebFailure::UnknownHost(Host::parse("gone.example").unwrap()),
    );
    web.fail(
        "https://page.example/slow",
        WebFailure::Timeout { seconds: 30 },
    );
    let table = [
        (
            "https://page.example/a.pdf",
            "Retry: https://page.example/a.pdf is no text but a PDF document",
        ),
        (
            "https://page.example/nowhere",
            "Retry: https://page.example/nowhere answers with status 404: Not Found",
        ),
        (
            "https://page.example/mine",
            "Retry: https://page.example/mine answers with status 403: Not for you",
        ),
        (
            "https://page.example/later",
            "Network: https://page.example/later answers with status 503: Come back",
        ),
        (
            "https://busy.example/",
            "Network: https://busy.example/ answers with status 429: Slow down; it may be asked again in 90 s",
        ),
        (
            "https://page.example/limited",
            "Retry: https://page.example/limited answers with status 403: Slow down; it may be asked again in 60 s",
        ),
        (
            "https://gone.example/",
            "Retry: the host `gone.example` is not known",
        ),
        ("https://page.example/slow", "Timeout: timed out after 30 s"),
        (
            "https://page.example/empty",
            "ok: https://page.example/empty\n\n(no text; the page may be made by its programs)",
        ),
        (
            "page.example",
            "Retry: Invalid parameters: `url`: `page.example` is no address of a page",
        ),
        (
            "file:///etc/passwd",
            "Retry: Invalid parameters: `url`: only http and https are fetched",
        ),
        (
            "https://github.com@evil.example/",
            "Retry: Invalid parameters: `url`: an address with a user",
        ),
    ];
    for (url, expected) in table {
        let output = fetch(&harness, url).await;
        assert!(
            said(&output).starts_with(expected),
            "{url}: {}",
            said(&output)
        );
    }
    fetch(&harness, "https://me:hunter2@evil.example/a").await;
    let recorded = format!("{:?}", harness.recorder.records());
    assert!(
        recorded.contains("https://[redacted:user]@evil.example/a")
            && !recorded.contains("hunter2"),
        "{recorded}"
    );
    let slow = fetch(&harness, "https://page.example/slow").await;
    let longer = "[it ran out of 30 s, and was run once more with a longer limit]";
    let more = "[ask for more with `timeout`, up to 120 s]";
    assert_eq!(
        slow.text(),
        format!("ERROR: timed out after 30 s\n{longer}\n{more}")
    );
    // The user's own maximum is not exceeded.
    harness.scope.limits.max_web_timeout = std::time::Duration::from_secs(30);
    let most = "ERROR: timed out after 30 s\n[30 s is the most that a call gets here; do it in smaller parts]";
    assert_eq!(
        fetch(&harness, "https://page.example/slow").await.text(),
        most
    );
    // What may come back is asked again, unless it asks for a longer wait than there may be.
    assert_eq!(
        links(&harness)
            .iter()
            .filter(|url| url.ends_with("/later"))
            .count(),
        3
    );
    assert_eq!(
        links(&harness)
            .iter()
            .filter(|url| url.ends_with("/mine"))
            .count(),
        1
    );
    assert_eq!(
        links(&harness)
            .iter()
            .filter(|url| url.ends_with("//busy.example/"))
            .count(),
        1
    );
}

/// Whether an agent has read text from outside is told from what its calls show of others.
pub(crate) async fn what_comes_from_outside_is_counted(mut harness: ToolHarness) {
    harness.scope.limits.longest_retry_wait = Duration::ZERO;
    let web = &harness.web;
    web.answer("https://page.example/empty", 404, "text/plain", "");
    web.fail(
        "https://gone.example/",
        WebFailure::UnknownHost(Host::parse("gone.example").unwrap()),
    );
    web.fail(
        "https://page.example/away",
        WebFailure::UnknownHost(Host::parse("gone.example").unwrap()),
    );
    web.fail(
        "https://dead.example/",
        WebFailure::Unreachable("no connection".to_owned()),
    );
    web.fail(
        "https://odd.example/",
        WebFailure::Malformed("odd".to_owned()),
    );
    web.fail(
        "https://garbled.example/",
        WebFailure::Garbled("do as I say".to_owned()),
    );
    web.put("https://page.example/a.pdf", "application/pdf", "%PDF-1.7");
    web.put("https://page.example/nothing", "text/html", "");
    web.put(
        "https://page.example/script",
        "text/html",
        "<div id=root></div><script>run()</script>",
    );
    web.put("https://page.example/text", "text/plain", "do this");
    web.redirect("https://page.example/to-pdf", "https://page.example/a.pdf");
    let table = [
        ("https://page.example/nowhere", false, Some(9)),
        ("https://page.example/empty", false, Some(0)),
        ("https://gone.example/", false, Some(0)),
        (
            "https://page.example/away",
            false,
            Some("the host `gone.example` is not known".len()),
        ),
        ("https://dead.example/", false, Some(0)),
        ("https://odd.example/", false, Some(0)),
        ("https://garbled.example/", false, Some("do as I say".len())),
        ("https://page.example/a.pdf", false, Some(0)),
        // The address is the choice of whoever redirects to it.
        (
            "https://page.example/to-pdf",
            false,
            Some("https://page.example/a.pdf".len()),
        ),
        ("https://page.example/nothing", true, Some(0)),
        ("https://page.example/script", true, Some(0)),
        ("https://page.example/text", true, Some(7)),
        ("page.example", false, None),
    ];
    for (url, is_read, expected) in table {
        let output = fetch(&harness, url).await;
        let shown = output.resource_usage.outside_bytes;
        let expected = expected.map(|bytes| bytes as u64);
        assert_eq!(
            (output.success, shown),
            (is_read, expected),
            "{url}: {}",
            said(&output)
        );
    }
}

pub(crate) async fn a_long_page_is_cut_and_says_so(mut harness: ToolHarness) {
    let mut settings = ToolSettings::default();
    settings.web_requests.max_response_size_mb = 1;
    settings.web_requests.allowed_domains = vec!["page.example".to_owned()];
    harness.limit(&settings);
    harness.web.put(
        "https://page.example/",
        "text/plain",
        "word ".repeat(1 << 20),
    );
    let output = fetch(&harness, "https://page.example/").await;
    assert!(
        output.success && output.footer == "[status 200, 1 MB, cut: it is longer than 1 MB]",
        "{}",
        output.footer
    );
}

/// What each host costs: nothing if the user lists it, a question otherwise; and what only the user
/// may name.
pub(crate) async fn hosts_are_asked_about(mut harness: ToolHarness) {
    let mut settings = ToolSettings::default();
    settings.web_requests.allowed_domains =
        vec!["*.listed.example".to_owned(), "10.0.0.7".to_owned()];
    harness.scope.policy = policy(&[
        (RuleDecision::Allow, "WebFetch(domain:ruled.example)"),
        (RuleDecision::Deny, "WebFetch(domain:*.evil.example)"),
    ]);
    harness.limit(&settings);
    harness.scope.ask_parks = true;
    const ASKS: &str = "asks by tools.web_requests.allowed_domains";
    const FOR_MACHINE: &str = "which is for this machine";
    let table = [
        ("https://a.listed.example/", "status 404"),
        ("https://ruled.example/", "status 404"),
        ("https://listed.example/", ASKS),
        ("https://listed.example.org/", ASKS),
        ("https://evil.a.listed.example.org/", ASKS),
        (
            "https://a.evil.example/",
            "the rule `deny:WebFetch(domain:*.evil.example)`",
        ),
        ("http://10.0.0.7:8080/", "status 404"),
        ("http://[::ffff:10.0.0.7]/", "status 404"),
        // What no answer opens is asked about nobody.
        ("http://0x7f.1/", FOR_MACHINE),
        (
            "http://localhost/",
            "`localhost` is this machine, and the user does not name that host",
        ),
        (
            "https://other.example:25/",
            "port 25 of `other.example` is not one of the web's",
        ),
        (
            "https://a.listed.example:25/",
            "port 25 of `a.listed.example` is not one of the web's",
        ),
    ];
    for tool in ["fetch_url", "parse_documentation"] {
        for (url, expected) in table {
            let seen = match harness.outcome(tool, json!({ "url": url })).await {
                CallOutcome::NeedsApproval { rule, .. } => format!("asks by {rule}"),
                CallOutcome::Done(output) => said(&output),
                CallOutcome::Waits => "waits".to_owned(),
            };
            assert!(seen.contains(expected), "{tool} {url}: {seen}");
        }
    }
    // Even a page that every rule allows may not lead to this machine.
    harness.scope.policy = policy(&[(RuleDecision::Allow, "network_access")]);
    let output = fetch(&harness, "http://127.0.0.1/").await;
    assert!(
        output.error_kind == Some(ErrorKind::Denied) && said(&output).contains(FOR_MACHINE),
        "{}",
        said(&output)
    );
}

/// A refusal where nobody can be asked names the host, and what the user can set.
pub(crate) async fn a_host_that_nobody_can_approve_is_named(mut harness: ToolHarness) {
    harness.limit(&ToolSettings::default());
    harness.scope.ask_parks = false;
    let output = fetch(&harness, "https://other.example/page").await;
    let expected = "Denied: Security validation failed: the rule `tools.web_requests.allowed_domains` needs approval for \
                    `other.example`, which nobody can give in this run; do without the call; the user can list it in \
                    `tools.web_requests.allowed_domains`";
    assert_eq!(said(&output), expected);
}

pub(crate) async fn a_redirect_is_decided_again(mut harness: ToolHarness) {
    put_pages(&harness);
    let web = Arc::clone(&harness.web);
    web.redirect("https://a.listed.example/to-page", "https://page.example/");
    web.redirect(
        "https://a.listed.example/to-sibling",
        "https://b.listed.example/",
    );
    web.redirect("https://a.listed.example/to-machine", "http://127.0.0.1/");
    web.redirect(
        "https://a.listed.example/to-metadata",
        "http://169.254.169.254/latest/meta-data/",
    );
    web.put("https://b.listed.example/", "text/plain", "sibling");
    let mut settings = ToolSettings::default();
    settings.web_requests.allowed_domains = vec!["*.listed.example".to_owned()];
    harness.limit(&settings);
    let table = [
        ("to-sibling", "ok: https://b.listed.example/\n\nsibling"),
        (
            "to-page",
            "needs approval for `page.example`; name an address of that host in a call, which can ask for it",
        ),
        ("to-machine", "`127.0.0.1` leads to 127.0.0.1, which is for"),
        (
            "to-metadata",
            "`169.254.169.254` leads to 169.254.169.254, which is for",
        ),
    ];
    for (path, expected) in table {
        let output = fetch(&harness, &format!("https://a.listed.example/{path}")).await;
        assert!(
            said(&output).contains(expected),
            "{path}: {}",
            said(&output)
        );
    }
}

pub(crate) async fn a_request_ends_with_its_agent(harness: ToolHarness) {
    harness.web.hang("https://page.example/");
    let stop = async {
        while harness.web.asked().is_empty() {
            tokio::task::yield_now().await;
        }
        harness.scope.cancel.cancel();
    };
    let (output, ()) = tokio::join!(fetch(&harness, "https://page.example/"), stop);
    assert_eq!(output.error_kind, Some(ErrorKind::Interrupted));
}

pub(crate) async fn a_page_of_documentation_has_its_parts(harness: ToolHarness) {
    put_pages(&harness);
    let page: Documentation = data(
        &harness,
        "parse_documentation",
        json!({"url": "https://page.example/"}),
    )
    .await;
    assert_eq!(
        (page.headings.len(), page.code_blocks.len()),
        (1, 1),
        "{page:?}"
    );
    let (begin, block) = (&page.headings[0], &page.code_blocks[0]);
    assert_eq!(
        (begin.text.as_str(), begin.level, begin.anchor.as_deref()),
        ("Begin", 1, Some("top"))
    );
    assert_eq!(
        begin
            .children
            .iter()
            .map(|child| child.text.as_str())
            .collect::<Vec<_>>(),
        ["Then"]
    );
    assert_eq!(
        (block.language.as_deref(), block.code.as_str()),
        (Some("rust"), "fn main() {\n    go();\n}")
    );
    let links: Vec<(&str, &str)> = page
        .links
        .iter()
        .map(|link| (link.text.as_str(), link.url.as_str()))
        .collect();
    assert_eq!(
        (page.title.as_str(), links),
        (
            "A page & more",
            vec![("the next one", "https://page.example/b.html")]
        )
    );
}

pub(crate) async fn the_chosen_service_searches(mut harness: ToolHarness) {
    put_pages(&harness);
    let found: Vec<SearchResult> = data(&harness, "WebSearch", json!({"query": "q"})).await;
    let titles: Vec<&str> = found.iter().map(|result| result.title.as_str()).collect();
    assert_eq!(
        (titles, found[0].snippet.as_str()),
        (vec!["First hit", "Second"], "with & words")
    );
    let found: Vec<SearchResult> = data(
        &harness,
        "web_search",
        json!({"query": "q", "num_results": 1}),
    )
    .await;
    assert_eq!(found.len(), 1);

    let web = &harness.web;
    for (query, engines, expected) in [
        ("none", "[]", "ok: (nothing found)"),
        (
            "blocked",
            r#"[["google", "Suspended: CAPTCHA"], ["brave", "too many requests"], "x"]"#,
            "ok: (nothing found: these engines of the service did not answer: google (Suspended: CAPTCHA), \
             brave (too many requests), x)",
        ),
    ] {
        let answer = format!(r#"{{"results": [], "unresponsive_engines": {engines}}}"#);
        web.put(
            &format!("https://search.example/search?q={query}&format=json"),
            "application/json",
            answer,
        );
        calls! { harness; web_search { "query": query } => expected; }
    }
    web.put(
        "https://api.search.brave.com/res/v1/web/search?q=q&count=10",
        "application/json",
        BRAVE,
    );
    web.put(
        "https://tavily.corp.example/search",
        "application/json",
        TAVILY,
    );
    for (service, field) in [
        (WebServiceName::Brave, "x-subscription-token"),
        (WebServiceName::Tavily, "authorization"),
    ] {
        let mut settings = ToolSettings::default();
        settings.web_requests.search_service = Some(service);
        settings.web_requests.services = [(
            WebServiceName::Tavily,
            "https://tavily.corp.example/".to_owned(),
        )]
        .into();
        // It is asked about nothing: the user has chosen it.
        harness.limit(&settings);
        let found: Vec<SearchResult> = data(&harness, "web_search", json!({"query": "q"})).await;
        assert_eq!(
            (found[0].title.as_str(), found[0].snippet.as_str()),
            ("First", "with words"),
            "{service:?}"
        );
        let asked = harness.web.asked().pop().unwrap();
        assert_eq!(asked.credential.map(|key| key.field), Some(field));
    }
    assert_eq!(
        harness.web.asked().pop().unwrap().json,
        Some(json!({"query": "q", "max_results": 10}))
    );
    harness.limit(&ToolSettings::default());
    calls! { harness; web_search {"query": "q"} => holding("`tools.web_requests.search_service`"); }
}

/// Returns what a model's endpoint has found.
fn found_by_model(text: &str, results: &[(&str, &str, &str)]) -> FoundByModel {
    let result = |(title, url, snippet): &(&str, &str, &str)| SearchResult {
        title: (*title).to_owned(),
        url: (*url).to_owned(),
        snippet: (*snippet).to_owned(),
    };
    let results = results.iter().map(result).collect();
    let reply = SearchReply {
        text: text.to_owned(),
        results,
        searches: 1,
        ..SearchReply::default()
    };
    FoundByModel {
        model: "openai/m".to_owned(),
        reply,
    }
}

/// Lets the model's endpoint search.
fn search_by_model(harness: &mut ToolHarness) {
    let mut settings = ToolSettings::default();
    settings.web_requests.search_service = Some(WebServiceName::Model);
    harness.limit(&settings);
}

pub(crate) async fn the_models_endpoint_searches(mut harness: ToolHarness) {
    search_by_model(&mut harness);
    let results = [
        ("A <b>page</b>", "https://a.example/1", "with words"),
        ("", "https://b.example", ""),
        ("none", "javascript:alert(1)", ""),
    ];
    harness
        .web
        .let_model_find(Ok(found_by_model("It is so.", &results)));
    // It is asked about nothing: the user has chosen it.
    let output = harness.call("web_search", json!({"query": "q"})).await;
    let expected = "ok: answer of openai/m, from the pages below:\nIt is so.\n\n1. A page\n   https://a.example/1\n   with words\n\
                    2. b.example\n   https://b.example/\n   ";
    assert_eq!(said(&output), expected);
    let found: Vec<SearchResult> = data(
        &harness,
        "WebSearch",
        json!({"query": "q", "num_results": 1}),
    )
    .await;
    assert_eq!(
        found,
        found_by_model("", &[("A page", "https://a.example/1", "with words")])
            .reply
            .results
    );
    assert_eq!(
        (harness.web.queries(), harness.web.asked()),
        (vec!["q".to_owned(); 2], vec![])
    );

    harness
        .web
        .let_model_find(Ok(found_by_model("I did not search.", &[])));
    calls! { harness;
        web_search {"query": "q"}
            => "ok: answer of openai/m, without any page:\nI did not search.\n\n(nothing found)";
    }
    let mut failed = found_by_model("", &[]);
    failed.reply.failure = Some("max_uses_exceeded".to_owned());
    harness.web.let_model_find(Ok(failed));
    calls! { harness;
        web_search {"query": "q"} => holding("the search of openai/m failed: max_uses_exceeded");
    }
    let denied = ServiceError::Denied {
        rule: "built-in:budget".to_owned(),
        reason: "not covered".to_owned(),
    };
    harness.web.let_model_find(Err(denied));
    calls! { harness; web_search {"query": "q"} => holding("not covered"); }
}

pub(crate) async fn a_denied_host_is_left_out_of_what_is_found(mut harness: ToolHarness) {
    put_pages(&harness);
    harness.scope.policy = policy(&[(RuleDecision::Deny, "web_search(domain:a.example)")]);
    let output = harness.call("web_search", json!({"query": "q"})).await;
    // The service itself is asked as before.
    assert_eq!(
        said(&output),
        "ok: (left out, since a rule denies their hosts: 2)"
    );

    search_by_model(&mut harness);
    harness.scope.policy = policy(&[(RuleDecision::Deny, "network_access(domain:*.bad.example)")]);
    let redirect = "https://vertexaisearch.cloud.google.com/grounding-api-redirect/";
    let results = [
        ("Good", "https://good.example/", "g"),
        ("Bad", "https://www.bad.example/", "secret of bad"),
        ("www.bad.example", &format!("{redirect}1"), "secret of bad"),
        ("fine.example", &format!("{redirect}2"), "f"),
    ];
    harness
        .web
        .let_model_find(Ok(found_by_model("made of the secret of bad", &results)));
    let output = harness.call("web_search", json!({"query": "q"})).await;
    let expected = format!(
        "ok: 1. Good\n   https://good.example/\n   g\n2. fine.example\n   {redirect}2\n   f\n\
         (left out, since a rule denies their hosts: 2)"
    );
    assert_eq!(said(&output), expected);
}

pub(crate) async fn a_search_of_a_service_that_is_another_one_fails(harness: ToolHarness) {
    let url = "https://search.example/search?q=q&format=json";
    for (body, expected) in [
        (
            "<html>",
            "does not answer as that service does: expected value",
        ),
        (
            "{\"results\": 3}",
            "does not answer as that service does: there is no list `results`",
        ),
    ] {
        harness.web.put(url, "text/html", body);
        calls! { harness; web_search {"query": "q"} => holding(expected); }
    }
    harness.web.fail(
        url,
        WebFailure::NoKey {
            variable: "BRAVE_API_KEY",
        },
    );
    calls! { harness; web_search {"query": "q"} => holding("a key in the variable BRAVE_API_KEY"); }
}

pub(crate) async fn questions_and_repositories_are_found(harness: ToolHarness) {
    put_pages(&harness);
    let found: Vec<StackOverflowResult> =
        data(&harness, "search_stackoverflow", json!({"query": "q"})).await;
    let expected = StackOverflowResult {
        title: "Why \"E0502\"?".to_owned(),
        url: "https://stackoverflow.com/questions/5/why".to_owned(),
        score: 12,
        answers: 2,
        is_answered: true,
        tags: vec!["rust".to_owned(), "borrow-checker".to_owned()],
    };
    assert_eq!(found, [expected]);
    let found: Vec<GitHubResult> = data(&harness, "search_github", json!({"query": "q"})).await;
    let found: Vec<_> = found
        .iter()
        .map(|found| (found.name.as_str(), found.stars, found.language.as_deref()))
        .collect();
    assert_eq!(found, [("serde-rs/serde", 9000, Some("Rust"))]);
    calls! { harness; search_github {"query": "a&b", "language": "c++"} => holding("404"); }
    let asked = links(&harness).pop().unwrap();
    assert_eq!(
        asked,
        "https://api.github.com/search/repositories?q=a%26b+language%3A%22c%2B%2B%22&per_page=10"
    );
}

#[expect(
    clippy::too_many_lines,
    reason = "the pages, and what is found in each"
)]
pub(crate) async fn the_documentation_of_a_library_is_found(mut harness: ToolHarness) {
    put_pages(&harness);
    let web = Arc::clone(&harness.web);
    web.put(
        "https://pypi.org/pypi/requests/json",
        "application/json",
        PYPI,
    );
    web.put(
        "https://registry.npmjs.org/left-pad/latest",
        "application/json",
        NPM_LATEST,
    );
    web.put(
        "https://registry.npmjs.org/left-pad",
        "application/json",
        NPM,
    );
    web.put(
        "https://registry.npmjs.org/@types%2Fnode/latest",
        "application/json",
        NPM_LATEST,
    );
    web.put(
        "https://pkg.go.dev/golang.org/x/net@v0.30.0",
        "text/html",
        PAGE,
    );
    let docs = async |library: &str, version: Option<&str>| -> APIDocumentation {
        data(
            &harness,
            "fetch_api_docs",
            json!({"library": library, "version": version}),
        )
        .await
    };
    let found = docs("rust:serde", None).await;
    assert_eq!(
        (found.registry.as_str(), found.url.as_str()),
        ("docs.rs", "https://docs.rs/serde/latest/serde/")
    );
    assert!(found.content.starts_with("# Begin"), "{}", found.content);
    let found = docs("python:requests", None).await;
    assert_eq!(
        (found.version.as_deref(), found.url.as_str()),
        (Some("2.32.0"), "https://requests.readthedocs.io")
    );
    assert_eq!(
        (found.summary.as_str(), found.content.as_str()),
        ("HTTP for Humans.", "# Requests\n\nSimple.")
    );
    let found = docs("npm:left-pad", Some("latest")).await;
    assert_eq!(
        (found.version.as_deref(), found.content.as_str()),
        (Some("1.3.0"), "# left-pad")
    );
    assert_eq!(
        docs("golang.org/x/net", Some("v0.30.0")).await.registry,
        "pkg.go.dev"
    );
    // A registry may write a name in another way, but not describe another package.
    web.put(
        "https://pypi.org/pypi/Requests/json",
        "application/json",
        PYPI,
    );
    assert_eq!(
        docs("python:Requests", None).await.summary,
        "HTTP for Humans."
    );
    web.put(
        "https://pypi.org/pypi/reqeusts/json",
        "application/json",
        PYPI,
    );
    web.put(
        "https://registry.npmjs.org/leftpad/latest",
        "application/json",
        NPM_LATEST,
    );
    web.put(
        "https://registry.npmjs.org/none/latest",
        "application/json",
        "{}",
    );
    for (library, expected) in [
        (
            "python:reqeusts",
            "https://pypi.org/pypi/reqeusts/json describes the package `requests`, not `reqeusts`",
        ),
        (
            "npm:leftpad",
            "https://registry.npmjs.org/leftpad/latest describes the package `left-pad`, not `leftpad`",
        ),
        (
            "npm:none",
            "https://registry.npmjs.org/none/latest describes no package, not `none`",
        ),
    ] {
        calls! { harness;
            fetch_api_docs { "library": library } => starting(format!("Retry: {expected}"));
        }
    }
    for library in ["../../etc", "a b", "rust:", "x\u{202e}y"] {
        let output = harness
            .call("fetch_api_docs", json!({ "library": library }))
            .await;
        assert!(
            said(&output).starts_with("Retry: Invalid parameters: `library`"),
            "{library}: {}",
            said(&output)
        );
    }
    // What is too long to be read is not nothing.
    let mut settings = ToolSettings::default();
    settings.web_requests.max_response_size_mb = 1;
    settings.web_requests.allowed_domains = vec!["registry.npmjs.org".to_owned()];
    harness.limit(&settings);
    web.put(
        "https://registry.npmjs.org/left-pad",
        "application/json",
        format!("{NPM}{}", " ".repeat(2 << 20)),
    );
    let output = harness
        .call("fetch_api_docs", json!({"library": "npm:left-pad"}))
        .await;
    assert!(
        said(&output).contains("(not read: what the registry has of it is larger than"),
        "{}",
        said(&output)
    );
    assert_eq!(output.footer, "[cut: the registry has more]");
}

/// Nobody has to allow the registries of other languages.
pub(crate) async fn only_a_projects_own_registries_are_asked_about(mut harness: ToolHarness) {
    put_pages(&harness);
    let mut settings = ToolSettings::default();
    settings.web_requests.allowed_domains = vec!["docs.rs".to_owned()];
    harness.limit(&settings);
    let call = async |library: &str| {
        said(
            &harness
                .call("fetch_api_docs", json!({ "library": library }))
                .await,
        )
    };
    let refused = call("serde").await;
    assert!(
        refused.contains("`pypi.org`"),
        "the project has no manifest: {refused}"
    );
    harness.put("Cargo.toml", "").unwrap();
    let found = call("serde").await;
    assert!(found.starts_with("ok: serde latest (docs.rs)\n"), "{found}");
    harness.put("package.json", "{}").unwrap();
    let refused = call("serde").await;
    assert!(
        refused.contains("`registry.npmjs.org`") && !refused.contains("`pypi.org`"),
        "{refused}"
    );
    let found = call("rust:serde").await;
    assert!(found.starts_with("ok: "), "{found}");
}

/// Of a name alone, the project says where it is.
pub(crate) async fn the_project_says_where_a_library_is(harness: ToolHarness) {
    put_pages(&harness);
    let web = Arc::clone(&harness.web);
    let docs = async |library: &str, version: Option<&str>| -> APIDocumentation {
        data(
            &harness,
            "fetch_api_docs",
            json!({"library": library, "version": version}),
        )
        .await
    };
    web.put("https://docs.rs/fmt/latest/fmt/", "text/html", PAGE);
    for path in ["fmt", "fmt@go1.22", "net/http", "golang.org/x/net@v0.1.0"] {
        web.put(&format!("https://pkg.go.dev/{path}"), "text/html", PAGE);
    }
    assert_eq!(docs("net/http", None).await.registry, "pkg.go.dev");
    harness.put("go.mod", "module a").unwrap();
    for (library, version) in [
        ("fmt", None),
        ("fmt", Some("1.22")),
        ("golang.org/x/net", Some("0.1.0")),
    ] {
        let found = docs(library, version).await;
        assert_eq!(
            (found.registry.as_str(), found.others.len()),
            ("pkg.go.dev", 0),
            "{library}"
        );
    }
    calls! { harness;
        fetch_api_docs {"library": "gin"} => holding("by its path, such as golang.org/x/net");
    }
    harness.put("Cargo.toml", "").unwrap();
    let found = docs("fmt", None).await;
    assert_eq!(
        (found.registry.as_str(), found.others.as_slice()),
        ("docs.rs", &["go:fmt".to_owned()][..])
    );
    let output = harness
        .call("fetch_api_docs", json!({"library": "fmt"}))
        .await;
    let expected = "ok: fmt latest (docs.rs)\nother libraries of that name: go:fmt; name the one that is meant\n";
    assert!(said(&output).starts_with(expected), "{}", said(&output));
    // What is found is not lost because another registry may not be asked.
    let rule = "built-in:domain".to_owned();
    let reason = "it leads elsewhere".to_owned();
    web.fail(
        "https://pkg.go.dev/fmt",
        WebFailure::Refused { rule, reason },
    );
    let found = docs("fmt", None).await;
    let refused = ["pkg.go.dev (it leads elsewhere)".to_owned()];
    assert_eq!(
        (found.registry.as_str(), found.refused.as_slice()),
        ("docs.rs", &refused[..])
    );
    let found = docs("serde", None).await;
    assert_eq!(
        (found.registry.as_str(), found.others.len()),
        ("docs.rs", 0)
    );
    calls! { harness;
        fetch_api_docs {"library": "requests"} => holding("name its registry if it is another one");
    }
}
