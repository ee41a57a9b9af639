//! Measures what it takes to fetch a page of 5 MB as Markdown, from a server on the loopback
//! interface.
//!
//! Each call is made by a process of its own, so that the kernel reports its peak memory; the
//! server is in this one.

use std::fmt::Write as _;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Instant;

use async_trait::async_trait;
use libtest_mimic::Failed;
use orchestrate_core::ToolSettings;
use orchestrate_core::policy::web::{
    Credential, Destinations, WebFailure, WebRequest, WebResponse,
};
use orchestrate_sandbox::Confinement;
use orchestrate_tools::WebService;
use orchestrate_web::WebClient;
use serde_json::{Value, json};

use crate::measuring::{Figure, costs_of, harness, ms, runtime, status_kb};
use crate::support::at;

const PAGE_BYTES: usize = 5_000_000;
const SAMPLES: usize = 7;

pub(crate) fn measure() -> Result<Vec<Figure>, Failed> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let url = format!("http://127.0.0.1:{}/", listener.local_addr()?.port());
    let page = page();
    let bytes = page.len();
    // It ends with this process.
    std::thread::spawn(move || serve_page(&listener, &page));
    let costs = costs_of(SAMPLES, &["web", &url])?;
    Ok(vec![
        Figure {
            name: "fetch_url of a page of 5 MB as Markdown",
            measured: costs.of("ms")?,
            limit: 300.0,
            unit: "ms",
            beside: format!("{bytes} bytes"),
        },
        Figure {
            name: "its peak memory beyond the start",
            measured: costs.of("beyond_mb")?,
            limit: 60.0,
            unit: "MB",
            beside: "of a process that makes one call".to_owned(),
        },
    ])
}

/// Answers each request with a page.
fn serve_page(listener: &TcpListener, page: &str) {
    for stream in listener.incoming() {
        let Ok(mut stream) = stream else { return };
        // The head of a request is short, and arrives at once.
        let _ = stream.read(&mut [0; 4096]);
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/html; charset=utf-8\r\nconnection: close";
        let bytes = page.len();
        let _ = write!(stream, "{head}\r\ncontent-length: {bytes}\r\n\r\n{page}");
    }
}

/// Returns a page as generators of documentation write it: a long navigation, and sections with
/// headings, links, lists, tables and code, most of it tags.
fn page() -> String {
    let mut page = String::from(
        "<!DOCTYPE html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>Reference of everything</title>\
         <style>body{margin:0}</style><script>var search = {};</script></head><body class=\"rustdoc mod\">\
         <nav class=\"sidebar\"><ul class=\"block\">",
    );
    for number in 0..500 {
        let item = format!("item_{number}");
        let _ = write!(page, "<li><a href=\"{item}.html\">{item}</a></li>");
    }
    page.push_str("</ul></nav><main><div class=\"width-limiter\"><section id=\"main-content\" class=\"content\"><h1>All items</h1>");
    let mut number = 0;
    while page.len() < PAGE_BYTES - 2_000 {
        number += 1;
        page.push_str(&section(number));
    }
    page.push_str(
        "</section></div></main><footer><p>Imprint &amp; privacy</p></footer></body></html>",
    );
    page
}

fn section(number: usize) -> String {
    format!(
        "<section id=\"method.get_{number}\" class=\"method\"><h2 id=\"get_{number}\" class=\"code-header\"><a class=\"doc-anchor\" \
         href=\"#get_{number}\">§</a>pub fn <a href=\"#method.get_{number}\" class=\"fn\">get_{number}</a>(&amp;self, index: \
         <a class=\"primitive\" href=\"https://doc.example/std/primitive.usize.html\">usize</a>) -&gt; Option&lt;&amp;T&gt;</h2>\
         </section>\n<div class=\"docblock\"><p>Returns a reference to an element or subslice depending on the type of <em>index</em>, \
         which has to be <strong>less</strong> than the length; see <a href=\"../slice/index_{number}.html\" title=\"struct\">\
         <code>SliceIndex</code></a> for what else it may be.</p>\n<ul>\n<li>If given a position, returns a reference to the \
         element at that position or <code>None</code> if out of bounds.</li>\n<li>If given a range, returns the subslice \
         corresponding to that range, or <code>None</code> &mdash; caf&eacute; &#8364; ü 漢字 &mdash; if out of bounds.</li>\n</ul>\n\
         <h3 id=\"examples-{number}\">Examples</h3><div class=\"example-wrap\"><pre class=\"rust rust-example-rendered\"><code>\
         <span class=\"kw\">let </span>v = [<span class=\"number\">10</span>, <span class=\"number\">40</span>, <span class=\"number\">\
         30</span>];\n<span class=\"macro\">assert_eq!</span>(<span class=\"prelude-val\">Some</span>(<span class=\"kw-2\">&amp;</span>\
         <span class=\"number\">40</span>), v.get(<span class=\"number\">1</span>));</code></pre></div>\n<table><thead><tr><th>Index\
         </th><th>Result</th></tr></thead><tbody><tr><td>1</td><td>Some(40)</td></tr><tr><td>{number}</td><td>None</td></tr></tbody>\
         </table></div>\n"
    )
}

/// The web without a cache of its own beyond the web client's.
struct Web(WebClient);

#[async_trait]
impl WebService for Web {
    async fn fetch(
        &self,
        request: WebRequest,
        destinations: Arc<dyn Destinations>,
    ) -> Result<WebResponse, WebFailure> {
        self.0.fetch(&request, None, &*destinations).await
    }

    fn require_key(&self, _: Credential) -> Result<(), WebFailure> {
        Ok(())
    }
}

/// Fetches a page.
pub(crate) fn part(arguments: &[String]) -> Result<Value, Failed> {
    let url = arguments.first();
    let mut harness = harness(Confinement::Unconfined)?;
    let mut settings = ToolSettings::default();
    settings.web_requests.allowed_domains = vec!["127.0.0.1".to_owned()];
    harness.limit(&settings);
    harness.scope.services.web = Arc::new(Web(WebClient::default()));
    let runtime = runtime()?;
    let (before, since) = (status_kb("VmHWM")?, Instant::now());
    let output = runtime.block_on(harness.call("fetch_url", json!({ "url": url })));
    let (ms, after) = (ms(since.elapsed()), status_kb("VmHWM")?);
    if !output.success {
        return Err(format!("fetch_url failed: {:?}", output.error).into());
    }
    let is_whole = at(&output.data, "/is_cut")? == &json!(false);
    let markdown = at(&output.data, "/content")?.as_str().unwrap_or_default();
    if !is_whole || !markdown.starts_with("# All items\n") || !markdown.contains("| 1 | Some(40) |")
    {
        return Err("the page was read in another way".into());
    }
    Ok(json!({ "ms": ms, "beyond_mb": (after - before) as f64 / 1024.0 }))
}
