//! `tools`: lists the tools that agents can be given, shows one, writes their reference, and checks
//! `.tool` files.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use orchestrate_coordinator::{
    CallLimits, Category, FoundTools, Severity, Tool, ToolFileProblem, ToolRegistry, limits_of,
    tools_reference,
};
use orchestrate_core::run::{EXIT_OK, EXIT_USAGE};
use orchestrate_core::text::git_path::shown_path;
use orchestrate_core::{ToolCalls, ToolMetrics};
use orchestrate_settings::Layer;

use crate::args::{DocsFormat, ToolsArgs, ToolsCommand};
use crate::context::Context;
use crate::error::CommandError;
use crate::json::{Envelope, Items, Output, ToolEntry, ToolFileReport, ToolForm, ToolUse};
use crate::show::{output, tool_files};

/// How wide the names and the categories of a list are.
const WIDTHS: (usize, usize) = (22, 9);
/// The number of newest runs in which calls are counted: reading all of a long history would take a
/// while.
const COUNTED_RUNS: usize = 20;
/// How many events are read at once.
const EVENTS_AT_ONCE: usize = 512;
/// How much of a description a list shows, in characters.
const SHOWN: usize = 80;

/// Runs the command.
pub(crate) fn execute(context: &Context, arguments: &ToolsArgs) -> Result<u8, CommandError> {
    match &arguments.command {
        ToolsCommand::List { category, json } => {
            let (found, facts) = with_facts(context, json.json)?;
            let registry = &found.registry;
            let category = match category {
                Some(name) => Some(category_of(registry, name)?),
                None => None,
            };
            list(registry, &registry.tools(category.as_ref()), facts.as_ref())?;
        }
        ToolsCommand::Search { word, json } => {
            let (found, facts) = with_facts(context, json.json)?;
            let registry = &found.registry;
            list(registry, &registry.search(word), facts.as_ref())?;
        }
        ToolsCommand::Info { name, json } => {
            let (found, facts) = with_facts(context, json.json)?;
            info(&found.registry, name, facts.as_ref())?;
        }
        ToolsCommand::Check { files, json } => return check(context, files, json.json),
        ToolsCommand::Docs {
            format: DocsFormat::Md,
        } => {
            output::result(&tools_reference(&tools(context)?.registry))?;
        }
        ToolsCommand::Docs {
            format: DocsFormat::Json,
        } => {
            let (found, facts) = with_facts(context, true)?;
            list(&found.registry, &found.registry.tools(None), facts.as_ref())?;
        }
    }
    Ok(EXIT_OK)
}

/// What is said of tools beside what they are.
struct Facts {
    never_replayed: Vec<String>,
    limits: CallLimits,
    /// How they were used here.
    calls: BTreeMap<String, ToolMetrics>,
}

impl Facts {
    /// Returns how often a tool ran in this repository's newest runs, how often with success, and
    /// how long it took.
    fn use_of(&self, tool: &str) -> ToolUse {
        let ToolMetrics {
            usage_count,
            success_rate,
            p50,
            p95,
        } = self.calls.get(tool).cloned().unwrap_or_default();
        let rate = (usage_count > 0).then_some(success_rate);
        ToolUse {
            calls: usage_count,
            success_rate: rate,
            p50_ms: milliseconds(p50),
            p95_ms: milliseconds(p95),
        }
    }
}

/// Returns the tools that a run here would have, with what is said of them as JSON.
fn with_facts(
    context: &Context,
    as_json: bool,
) -> Result<(FoundTools, Option<Facts>), CommandError> {
    let found = tools(context)?;
    if !as_json {
        return Ok((found, None));
    }
    let loaded = context.load(Vec::new(), Layer::default())?;
    let facts = Facts {
        never_replayed: found.never_replayed.clone(),
        limits: CallLimits::from_settings(&loaded.run.tool_settings),
        calls: calls(context)?,
    };
    Ok((found, Some(facts)))
}

/// Returns how the tools were used in this repository's newest runs; outside a repository, and
/// before the first run, not at all.
fn calls(context: &Context) -> Result<BTreeMap<String, ToolMetrics>, CommandError> {
    let mut calls = ToolCalls::default();
    let store = match context.project() {
        Ok(project) => project.store()?,
        Err(_) => None,
    };
    let Some(store) = store else {
        return Ok(calls.metrics());
    };
    for run in store.runs()?.into_iter().take(COUNTED_RUNS) {
        let mut seen = 0;
        loop {
            let facts = store.events(&run.run_id, seen, EVENTS_AT_ONCE)?;
            facts.iter().for_each(|fact| calls.apply(&fact.event));
            let Some(last) = facts.last() else { break };
            seen = last.seq;
        }
    }
    Ok(calls.metrics())
}

/// Returns the tools that a run here would have, and prints why files are skipped.
fn tools(context: &Context) -> Result<FoundTools, CommandError> {
    let found = found(context)?;
    tool_files::warn(&found);
    Ok(found)
}

/// Returns the tools that a run here would have; outside a repository, those without a project's.
fn found(context: &Context) -> Result<FoundTools, CommandError> {
    let loaded = context.load(Vec::new(), Layer::default())?;
    let of_user = context.directories()?.config;
    Ok(match context.project() {
        Ok(project) => project.tools(loaded.resolved.text("base").as_deref(), Some(&of_user))?,
        Err(_) => FoundTools::without_project(&of_user)?,
    })
}

fn category_of(registry: &ToolRegistry, name: &str) -> Result<Category, CommandError> {
    let all = registry.tools(None);
    let known: BTreeSet<String> = all.iter().map(|tool| tool.category().to_string()).collect();
    if known.contains(name) {
        return Ok(Category::named(name));
    }
    let error = CommandError::usage(format!("there is no category `{name}`"));
    Err(error.hint(format!("the categories: {}", output::joined(known))))
}

/// Prints tools, as JSON with these facts.
fn list(
    registry: &ToolRegistry,
    tools: &[&Arc<dyn Tool>],
    facts: Option<&Facts>,
) -> Result<(), CommandError> {
    if let Some(facts) = facts {
        let all = tools
            .iter()
            .map(|tool| entry(registry, tool.as_ref(), facts));
        return output::json(&Envelope::new(None, Output::Tools(all.collect())));
    }
    let mut text = String::new();
    let (names, categories) = WIDTHS;
    for tool in tools {
        let (name, category) = (tool.name(), tool.category());
        let category = category.as_str();
        let about = output::one_line(tool.description(), SHOWN);
        text += &format!("{name:<names$} {category:<categories$} {about}\n");
    }
    output::result(&text)
}

fn info(registry: &ToolRegistry, name: &str, facts: Option<&Facts>) -> Result<(), CommandError> {
    let Some(tool) = registry.resolve(name) else {
        let similar = registry.nearest(name).join(", ");
        let name = output::one_line(name, SHOWN);
        let error = CommandError::usage(format!("there is no tool `{name}`"));
        return Err(error.hint(format!("similar tools: {similar}")));
    };
    if let Some(facts) = facts {
        let tool = Output::Tool(Box::new(entry(registry, tool.as_ref(), facts)));
        return output::json(&Envelope::new(None, tool));
    }
    let mut text = described(tool.as_ref());
    let aliases: Vec<&str> = registry.names().aliases_of(tool.name()).collect();
    if !aliases.is_empty() {
        text.push_str(&format!("other names: {}\n", aliases.join(", ")));
    }
    for form in second_forms(registry, tool.name()) {
        let (name, form) = (form.name(), described(form.as_ref()));
        text += &format!("\nif it is called as `{name}` with `arguments`:\n{form}");
    }
    output::result(&text)
}

fn described(tool: &dyn Tool) -> String {
    let parameters = serde_json::to_string_pretty(tool.schema()).unwrap_or_default();
    let mut text = format!("{}:\n{}", tool.name(), output::quoted(tool.description()));
    if tool.title() != tool.name() {
        text += &format!("title: {}\n", output::one_line(tool.title(), SHOWN));
    }
    if let Some(wrapping) = tool.wrapping() {
        text.push_str(&format!("wraps: {}\n", wrapping.tool));
        let command = wrapping
            .template
            .map(|command| output::one_line(command.as_str(), 200));
        text.extend(command.map(|command| format!("command: {command}\n")));
    }
    let (category, permission) = (tool.category(), tool.permission());
    text.push_str(&format!(
        "category: {category}\npermission: {permission}\nparameters: {parameters}\n"
    ));
    text
}

/// Returns the second forms of a tool's names.
fn second_forms<'a>(
    registry: &'a ToolRegistry,
    tool: &'a str,
) -> impl Iterator<Item = &'a Arc<dyn Tool>> {
    let forms = registry.second_forms();
    forms.filter(move |form| registry.names().canonical(form.name()) == tool)
}

/// Returns a time in whole milliseconds.
fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

fn entry(registry: &ToolRegistry, tool: &dyn Tool, facts: &Facts) -> ToolEntry {
    let forms = second_forms(registry, tool.name());
    let aliases = registry.names().aliases_of(tool.name());
    ToolEntry {
        form: form(tool),
        aliases: aliases.map(str::to_owned).collect(),
        second_forms: forms.map(|second| form(second.as_ref())).collect(),
        cacheable: !facts.never_replayed.iter().any(|name| name == tool.name()),
        limits: limits_of(tool, &facts.limits),
        r#use: facts.use_of(tool.name()),
    }
}

fn form(tool: &dyn Tool) -> ToolForm {
    let wrapping = tool.wrapping();
    let template = wrapping.and_then(|wrapping| wrapping.template);
    ToolForm {
        name: tool.name().to_owned(),
        title: tool.title().to_owned(),
        description: tool.description().to_owned(),
        category: tool.category().as_str().to_owned(),
        permission: tool.permission().as_str().to_owned(),
        is_default: tool.properties().is_default,
        is_wrapped: wrapping.is_some(),
        wrapped: wrapping.map(|wrapping| wrapping.tool.to_owned()),
        command_template: template.map(|template| template.as_str().to_owned()),
        parameters: tool.schema().clone(),
    }
}

fn check(context: &Context, files: &[PathBuf], as_json: bool) -> Result<u8, CommandError> {
    let paths = files.iter().map(|file| context.directory.join(file));
    let paths: Vec<PathBuf> = paths.collect();
    let project = context.project().ok();
    let top = project.as_ref().map(|project| project.workdir());
    let problems = found(context)?.check(&paths, top)?;
    let mut reports = Vec::new();
    let mut text = String::new();
    for (file, path) in files.iter().zip(&paths) {
        // As typed, so that a file can be opened from here.
        let (name, shown) = (file.display().to_string(), shown_path(path));
        let of_file = problems.iter().filter(|problem| problem.file == shown);
        let of_file = of_file.map(|problem| ToolFileProblem {
            file: name.clone(),
            ..problem.clone()
        });
        let of_file: Vec<ToolFileProblem> = of_file.collect();
        if of_file.is_empty() {
            text += &format!("{}: ok\n", output::one_line(&name, 200));
        }
        for problem in &of_file {
            text += &format!("{}\n", tool_files::line(problem));
        }
        reports.push(ToolFileReport {
            file: name,
            ok: of_file.is_empty(),
            problems: of_file.iter().map(tool_files::entry).collect(),
        });
    }
    match as_json {
        true => {
            let reports = Output::ToolFiles(Items { items: reports });
            output::json(&Envelope::new(None, reports))?
        }
        false => output::result(&text)?,
    }
    let mut problems = problems.iter();
    let is_wrong = problems.any(|problem| problem.severity == Severity::Error);
    Ok(if is_wrong { EXIT_USAGE } else { EXIT_OK })
}
