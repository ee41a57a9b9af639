//! `fetch_api_docs`: the documentation of a library at the registry of its language.

use async_trait::async_trait;
use orchestrate_code::python_name;
use orchestrate_core::policy::web::{WebResponse, WebServiceName};
use orchestrate_core::text::invisible::shown;
use serde::Deserialize;
use serde_json::{Value, json};

use super::super::facts::facts;
use super::page::{ACCEPT, Readable};
use super::request::{Web, effects_of_services, hosts_of, text};
use crate::answer::{APIDocumentation, Answer, ToolError};
use crate::call::{CallScope, Foreseen};
use crate::files::Files;
use crate::tool::arguments::{given_text, invalid, read};
use crate::tool::{CallSite, Look, Prepared, Prompt, Tool, ToolContext};

/// The registries, each with what may stand before a library's name, and with the files of projects
/// that use it.
const REGISTRIES: [(WebServiceName, &[&str], &[&str]); 4] = [
    (
        WebServiceName::DocsRs,
        &["rust", "crate", "cargo", "docs.rs"],
        &["Cargo.toml"],
    ),
    (
        WebServiceName::Pypi,
        &["python", "pypi", "pip"],
        &[
            "pyproject.toml",
            "requirements.txt",
            "setup.py",
            "setup.cfg",
        ],
    ),
    (
        WebServiceName::Npm,
        &["npm", "javascript", "js", "typescript", "node"],
        &["package.json"],
    ),
    (
        WebServiceName::GoPackages,
        &["go", "golang", "pkg.go.dev"],
        &["go.mod", "go.work"],
    ),
];
/// Said if the project's files lead to other registries than those that were decided about.
const CHANGED: &str = "the project has manifests of other languages than when this call was \
                       decided about; make it again";
/// Maximum length of a library's name and of a version.
const MAX_NAME: usize = 214;

/// The `fetch_api_docs` tool.
pub(crate) struct FetchApiDocs(pub(crate) Prompt);

#[derive(Deserialize)]
struct Arguments {
    library: String,
    version: Option<String>,
}

/// A library whose documentation is wanted.
struct Library<'a> {
    name: &'a str,
    version: Option<&'a str>,
}

#[async_trait]
impl Tool for FetchApiDocs {
    facts!("fetch_api_docs", WEB, NetworkAccess, is_default: false, is_repeatable: true);

    fn prepare(&self, _: &CallSite, arguments: Value) -> Result<Prepared, ToolError> {
        let library = given_text(&arguments, "library");
        Ok(Prepared {
            effects: effects_of_services(&candidates(library)),
            fault: require_library(&arguments).err(),
            foresight: Some(Look::at_files(foresee)),
            ..Prepared::new(arguments)
        })
    }

    async fn execute(&self, context: &ToolContext, arguments: Value) -> Result<Answer, ToolError> {
        let Arguments { library, version } = read(arguments)?;
        let (named, name) = registry_of(&library);
        let version = version
            .as_deref()
            .filter(|version| !matches!(*version, "" | "latest"));
        let library_of = Library { name, version };
        let services = match named {
            Some(service) => vec![service],
            None => context.blocking(|files, _| Ok(used_by(files))).await?,
        };
        if named.is_none() && context.permit().foreseen() != Some(&details(&services)) {
            return Err(ToolError::Retry(CHANGED.to_owned()));
        }
        let web = Web::new(context, "fetch_api_docs", hosts_of(&services), None);
        first_of(&web, &services, &library_of)
            .await
            .map(|found| answer(&found))
    }
}

fn require_library(arguments: &Value) -> Result<(), ToolError> {
    let library = given_text(arguments, "library");
    let version = given_text(arguments, "version");
    match (registry_of(library), is_name(library), is_name(version)) {
        ((_, ""), ..) => Err(invalid("`library` is empty")),
        ((service, _), false, _) => Err(invalid(&format!(
            "`library` is the name of {}",
            called(service)
        ))),
        ((service, _), _, false) => Err(invalid(&format!(
            "`version` is one such as {}",
            version_of(service)
        ))),
        _ => Ok(()),
    }
}

/// A library without a registry is looked for at those that the project uses, and nobody is asked
/// about others.
fn foresee(
    files: &Files,
    _: &CallScope,
    arguments: Arguments,
) -> Result<Option<Foreseen>, ToolError> {
    let Arguments { library, .. } = arguments;
    if registry_of(&library).0.is_some() {
        return Ok(None);
    }
    let used = used_by(files);
    Ok(Some(Foreseen {
        effects: effects_of_services(&used),
        details: details(&used),
    }))
}

fn is_name(text: &str) -> bool {
    text.len() <= MAX_NAME && text.chars().all(is_plain) && !text.contains("..")
}

fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || "@/._-+~^*=:".contains(c)
}

/// Returns what is shown of the registries to whoever is asked about a call.
fn details(services: &[WebServiceName]) -> Value {
    json!({ "registries": services.iter().map(|service| service.as_str()).collect::<Vec<_>>() })
}

/// Asks the registries for a library. Returns what the first one has that knows the name, with the
/// others that do: the same name is another library in each of them.
async fn first_of(
    web: &Web<'_>,
    services: &[WebServiceName],
    library: &Library<'_>,
) -> Result<APIDocumentation, ToolError> {
    let (mut first, mut not_found): (Option<APIDocumentation>, Vec<String>) = (None, Vec::new());
    for service in services {
        let found = match documentation(web, *service, library).await {
            Ok(found) => found,
            Err(ToolError::Retry(reason)) => {
                not_found.push(reason);
                continue;
            }
            // What one registry has is worth more than that another one is away, or may not be
            // asked.
            Err(error) => match (first.as_mut(), error) {
                (Some(first), ToolError::Denied { reason, .. }) => {
                    first
                        .refused
                        .push(format!("{} ({reason})", service.as_str()));
                    continue;
                }
                (Some(first), error) if is_away(&error) => {
                    first.unanswered.push(service.as_str().to_owned());
                    continue;
                }
                (_, error) => return Err(error),
            },
        };
        match first.as_mut() {
            Some(first) => first.others.push(prefixed(*service, library.name)),
            None => first = Some(found),
        }
    }
    first.ok_or_else(|| {
        let advice = match services {
            [WebServiceName::GoPackages] if is_standard(library.name) => {
                "name a package outside Go's standard library by its path, such as \
                 golang.org/x/net, and a library of another registry with rust:, python: or npm: \
                 before the name"
            }
            _ => {
                "name its registry if it is another one, as rust:, python:, npm: or go: before the \
                 name"
            }
        };
        ToolError::Retry(format!("{}; {advice}", not_found.join("; ")))
    })
}

fn is_away(error: &ToolError) -> bool {
    matches!(
        error,
        ToolError::Network(_) | ToolError::Busy { .. } | ToolError::Timeout { .. }
    )
}

/// Returns a library's name with its registry, as a call can name it.
fn prefixed(service: WebServiceName, name: &str) -> String {
    let of = REGISTRIES.iter().find(|(of, ..)| *of == service);
    let prefix = of
        .and_then(|(_, names, _)| names.first())
        .copied()
        .unwrap_or_else(|| service.as_str());
    format!("{prefix}:{name}")
}

/// Returns what a library of a registry is called, with an example; `None` stands for all
/// registries.
fn called(service: Option<WebServiceName>) -> &'static str {
    match service {
        Some(WebServiceName::DocsRs) => "a crate at crates.io, such as serde",
        Some(WebServiceName::Pypi) => "a package at PyPI, such as requests",
        Some(WebServiceName::Npm) => "a package at npm, such as react or @types/node",
        Some(WebServiceName::GoPackages) => "a Go package, such as golang.org/x/net or net/http",
        _ => "a library, such as serde, npm:react or golang.org/x/net",
    }
}

fn version_of(service: Option<WebServiceName>) -> &'static str {
    if service == Some(WebServiceName::GoPackages) {
        "v1.2.3"
    } else {
        "1.2.3"
    }
}

/// Reports whether a path of Go is one of the standard library: all others begin with a host.
fn is_standard(path: &str) -> bool {
    !path.split('/').next().unwrap_or_default().contains('.')
}

/// Splits a library's name from its registry, if that is named, or follows from the name.
fn registry_of(library: &str) -> (Option<WebServiceName>, &str) {
    if let Some((before, name)) = library.split_once(':')
        && let Some((service, ..)) = REGISTRIES
            .iter()
            .find(|(_, names, _)| names.contains(&before))
    {
        return (Some(*service), name);
    }
    match library {
        scoped if scoped.starts_with('@') => (Some(WebServiceName::Npm), library),
        // Only Go has paths, such as golang.org/x/net and net/http.
        path if path.contains('/') => (Some(WebServiceName::GoPackages), library),
        _ => (None, library),
    }
}

/// Returns the registries that may have a library.
fn candidates(library: &str) -> Vec<WebServiceName> {
    match registry_of(library) {
        (Some(service), _) => vec![service],
        (None, _) => REGISTRIES.iter().map(|(service, ..)| *service).collect(),
    }
}

/// Returns the registries that the project uses, or all if it uses none.
fn used_by(files: &Files) -> Vec<WebServiceName> {
    let (mut all, mut used) = (Vec::new(), Vec::new());
    for (service, .., manifests) in REGISTRIES {
        all.push(service);
        if manifests
            .iter()
            .any(|manifest| files.open(manifest).is_ok())
        {
            used.push(service);
        }
    }
    if used.is_empty() { all } else { used }
}

async fn documentation(
    web: &Web<'_>,
    service: WebServiceName,
    library: &Library<'_>,
) -> Result<APIDocumentation, ToolError> {
    match service {
        WebServiceName::Pypi => pypi(web, library).await,
        WebServiceName::Npm => npm(web, library).await,
        WebServiceName::GoPackages => go(web, library).await,
        _ => docs_rs(web, library).await,
    }
}

/// `/<crate>/<version>/<crate with underscores>/` is the page of the crate, as
/// <https://docs.rs/about/redirections> says; `latest` is the last version.
async fn docs_rs(web: &Web<'_>, library: &Library<'_>) -> Result<APIDocumentation, ToolError> {
    let base = web.service(WebServiceName::DocsRs)?;
    let version = library.version.unwrap_or("latest");
    let page = library.name.replace('-', "_");
    let url = base
        .below([library.name, version, page.as_str()])
        .below_folder();
    let response = web.ask(WebServiceName::DocsRs, url, ACCEPT, None).await?;
    of_page(web, response, WebServiceName::DocsRs, library).await
}

/// `/<module>[@<version>]` is the page of a package, as <https://pkg.go.dev/about> says. A version
/// is `v1.2.3`, and one of the standard library `go1.22`.
async fn go(web: &Web<'_>, library: &Library<'_>) -> Result<APIDocumentation, ToolError> {
    let base = web.service(WebServiceName::GoPackages)?;
    let mark = match library.version {
        Some(version) if !version.starts_with(|c: char| c.is_ascii_digit()) => "",
        _ if is_standard(library.name) => "go",
        _ => "v",
    };
    let version = library
        .version
        .map(|version| format!("@{mark}{version}"))
        .unwrap_or_default();
    let path = format!("{}{version}", library.name);
    let response = web
        .ask(
            WebServiceName::GoPackages,
            base.below(path.split('/')),
            ACCEPT,
            None,
        )
        .await?;
    of_page(web, response, WebServiceName::GoPackages, library).await
}

async fn of_page(
    web: &Web<'_>,
    response: WebResponse,
    service: WebServiceName,
    library: &Library<'_>,
) -> Result<APIDocumentation, ToolError> {
    let (
        response,
        Readable {
            title: summary,
            content,
            ..
        },
    ) = web.readable(response).await?;
    Ok(APIDocumentation {
        library: library.name.to_owned(),
        registry: service.as_str().to_owned(),
        version: library.version.map(str::to_owned),
        url: response.url.to_string(),
        summary,
        content,
        is_cut: response.is_cut,
        ..APIDocumentation::default()
    })
}

/// `/pypi/<name>[/<version>]/json` → `{"info": {"name", "version", "summary", "description",
/// "package_url", "docs_url", "project_urls"}}`, as <https://docs.pypi.org/api/json/> says.
async fn pypi(web: &Web<'_>, library: &Library<'_>) -> Result<APIDocumentation, ToolError> {
    let base = web
        .service(WebServiceName::Pypi)?
        .below(["pypi", library.name]);
    let url = base.below(library.version.into_iter().chain(["json"]));
    let response = web
        .ask(WebServiceName::Pypi, url, "application/json", None)
        .await?;
    let value = web.json(&response)?;
    let info = value.get("info").cloned().unwrap_or_default();
    let named = text(&info, "name");
    if python_name(&named) != python_name(library.name) {
        return Err(another(&response, library, &named));
    }
    let url = of_urls(&info, "project_urls")
        .or_else(|| Some(text(&info, "docs_url")).filter(|url| !url.is_empty()));
    Ok(APIDocumentation {
        library: library.name.to_owned(),
        registry: WebServiceName::Pypi.as_str().to_owned(),
        version: Some(text(&info, "version")).filter(|version| !version.is_empty()),
        url: url.unwrap_or_else(|| text(&info, "package_url")),
        summary: text(&info, "summary"),
        content: text(&info, "description"),
        ..APIDocumentation::default()
    })
}

/// Words that a registry answers with another package than it was asked for, which an agent would
/// take for its own.
fn another(response: &WebResponse, library: &Library<'_>, named: &str) -> ToolError {
    let named = shown(&named.chars().take(MAX_NAME).collect::<String>());
    let what = if named.is_empty() {
        "no package".to_owned()
    } else {
        format!("the package `{named}`")
    };
    ToolError::Retry(format!(
        "{} describes {what}, not `{}`",
        response.url, library.name
    ))
}

/// Returns the address of the documentation among a project's own.
fn of_urls(info: &Value, field: &str) -> Option<String> {
    let urls = info.get(field)?.as_object()?;
    for name in ["doc", "home"] {
        let named = urls
            .iter()
            .find(|(key, _)| key.to_lowercase().contains(name));
        if let Some((_, url)) = named {
            return Some(url.as_str()?.to_owned());
        }
    }
    None
}

/// `/<name>` → `{"name", "description", "dist-tags": {"latest"}, "readme", "homepage"}`, and
/// `/<name>/<version>` → the manifest of one version, as
/// <https://github.com/npm/registry/blob/main/docs/REGISTRY-API.md> says. A package's page may be
/// too large, as it lists all versions; a manifest is small, but seldom has the text.
async fn npm(web: &Web<'_>, library: &Library<'_>) -> Result<APIDocumentation, ToolError> {
    let base = web.service(WebServiceName::Npm)?.below([library.name]);
    let url = base.below([library.version.unwrap_or("latest")]);
    let response = web
        .ask(WebServiceName::Npm, url, "application/json", None)
        .await?;
    let manifest = web.json(&response)?;
    let named = text(&manifest, "name");
    if named != library.name {
        return Err(another(&response, library, &named));
    }
    let (mut content, mut is_cut) = (text(&manifest, "readme"), false);
    if content.is_empty() {
        let package = web
            .ask(WebServiceName::Npm, base, "application/json", None)
            .await?;
        is_cut = package.is_cut;
        content = if is_cut {
            String::new()
        } else {
            text(&web.json(&package)?, "readme")
        };
    }
    let url = Some(text(&manifest, "homepage")).filter(|url| !url.is_empty());
    Ok(APIDocumentation {
        library: library.name.to_owned(),
        registry: WebServiceName::Npm.as_str().to_owned(),
        version: Some(text(&manifest, "version")).filter(|version| !version.is_empty()),
        url: url.unwrap_or_else(|| format!("https://www.npmjs.com/package/{}", library.name)),
        summary: text(&manifest, "description"),
        content,
        is_cut,
        ..APIDocumentation::default()
    })
}

fn answer(found: &APIDocumentation) -> Answer {
    let APIDocumentation {
        library,
        registry,
        version,
        url,
        summary,
        content,
        others,
        unanswered,
        refused,
        is_cut,
    } = found;
    let version = version.as_deref().unwrap_or("latest");
    let content = match content.trim() {
        "" if *is_cut => {
            "(not read: what the registry has of it is larger than \
             `tools.web_requests.max_response_size_mb`)"
        }
        "" => "(the registry has no text)",
        _ => content.trim_end(),
    };
    let also = match others.as_slice() {
        [] => String::new(),
        others => format!(
            "other libraries of that name: {}; name the one that is meant\n",
            others.join(", ")
        ),
    };
    let away = match unanswered.as_slice() {
        [] => String::new(),
        away => format!(
            "not asked about that name, as they did not answer: {}\n",
            away.join(", ")
        ),
    };
    let refused = match refused.as_slice() {
        [] => String::new(),
        refused => format!(
            "not asked about that name, as that was refused: {}\n",
            refused.join(", ")
        ),
    };
    let text = format!(
        "{library} {version} ({registry})\n{also}{away}{refused}{summary}\n{url}\n\n{content}"
    );
    let footer = is_cut.then(|| "[cut: the registry has more]".to_owned());
    Answer {
        footer,
        ..Answer::new(text, json!(found))
    }
}
