//! Adds the tools of `.tool` files to a registry.
//!
//! A file that is wrong is left out, and so is one whose name is taken; both are reported. The
//! order of the files decides only which of two definitions of a name counts: an alias may lead to
//! a name that a later file defines.

use std::fmt;
use std::sync::Arc;

use orchestrate_core::event::settings::ToolFile;

use super::annotations::Mistake;
use super::definition::{Definition, Placed, Wrapper};
use super::wrapper::{WrappedTool, require_callable};
use crate::registry::ToolRegistry;
use crate::template::ARGUMENTS;
use crate::tool::Tool;

/// The maximum number of files that are added together: each is one tool.
const MAX_FILES: usize = 256;

/// What is wrong with a `.tool` file, which has therefore no effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolFileProblem {
    /// The path of the file.
    pub file: String,
    /// The line, from 1; `None` for the whole file.
    pub line: Option<u32>,
    /// What is wrong.
    pub reason: String,
    /// How bad it is.
    pub severity: Severity,
}

/// How bad a problem is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// The file defines nothing.
    Error,
    /// Another file, or the program, has defined the name already.
    Warning,
}

impl fmt::Display for ToolFileProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ToolFileProblem {
            file, line, reason, ..
        } = self;
        match line {
            Some(line) => write!(f, "{file}:{line}: {reason}"),
            None => write!(f, "{file}: {reason}"),
        }
    }
}

/// Adds the tools of these files, and returns the problems with the files that were left out.
pub fn add_tool_files(registry: &mut ToolRegistry, files: &[ToolFile]) -> Vec<ToolFileProblem> {
    add(registry, files, Origin::Author)
}

/// Who has written the files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// The user, or the project.
    Author,
    /// The program. Roles and rules may name a missing tool that an alias leads to; it may come.
    Shipped,
}

pub(super) fn add(
    registry: &mut ToolRegistry,
    files: &[ToolFile],
    origin: Origin,
) -> Vec<ToolFileProblem> {
    let mut batch = Batch::parse(files, origin);
    batch.leave_out_duplicates(registry);
    // A wrapper may share its name with an alias, and an alias may lead to a wrapper.
    batch.add_aliases(registry, None);
    batch.add_wrappers(registry);
    batch.add_aliases(registry, Some(origin));
    batch.problems
}

/// A definition that has not been added yet.
struct Open<'a> {
    file: &'a ToolFile,
    definition: Definition,
}

struct Batch<'a> {
    open: Vec<Open<'a>>,
    problems: Vec<ToolFileProblem>,
}

/// Why a name leads to no tool.
enum Lost {
    /// The chain of aliases that comes back to its start.
    Cycle(Vec<String>),
    /// The name at the end of the chain.
    Unknown(String),
}

impl<'a> Batch<'a> {
    fn parse(files: &'a [ToolFile], origin: Origin) -> Batch<'a> {
        let parse = match origin {
            Origin::Author => Definition::parse,
            Origin::Shipped => Definition::parse_shipped,
        };
        let mut batch = Batch {
            open: Vec::new(),
            problems: Vec::new(),
        };
        for file in files.iter().take(MAX_FILES) {
            match parse(&file.text) {
                Ok(definition) => batch.open.push(Open { file, definition }),
                Err(mistake) => batch.note(file, mistake, Severity::Error),
            }
        }
        for file in files.iter().skip(MAX_FILES) {
            let reason = format!("only the first {MAX_FILES} files are read");
            batch.note(file, Mistake::new(1, reason), Severity::Error);
        }
        batch
    }

    fn note(&mut self, file: &ToolFile, mistake: Mistake, severity: Severity) {
        let Mistake { line, reason } = mistake;
        self.problems.push(ToolFileProblem {
            file: file.path.clone(),
            line: Some(line),
            reason,
            severity,
        });
    }

    /// Leaves out each file whose name a registered tool, or an earlier file of the same kind, has.
    fn leave_out_duplicates(&mut self, registry: &ToolRegistry) {
        let mut kept: Vec<Open<'a>> = Vec::new();
        for next in std::mem::take(&mut self.open) {
            let name = &next.definition.name;
            let is_wrapper = next.definition.wrapper.is_some();
            let same = kept.iter().find(|other| {
                other.definition.name.text.eq_ignore_ascii_case(&name.text)
                    && other.definition.wrapper.is_some() == is_wrapper
            });
            let first = same.map(|other| other.file.path.clone());
            if first.is_none() && stands_already(registry, &next.definition) {
                continue;
            }
            let taken = match (first, &next.definition.wrapper) {
                (Some(first), _) => Some(format!("`{first}` defines it")),
                (None, Some(wrapper)) => taken_by_tool(registry, &name.text, wrapper),
                (None, None) => alias_taken(registry, &next.definition),
            };
            match taken {
                Some(why) => {
                    let reason = format!(
                        "the name `{}` is taken: {why}; the first definition counts",
                        name.text
                    );
                    let mistake = Mistake::new(name.line, reason);
                    self.note(next.file, mistake, Severity::Warning);
                }
                None => kept.push(next),
            }
        }
        self.open = kept;
    }

    /// Adds the aliases that lead to a registered tool. At the end, the others are treated by their
    /// origin.
    fn add_aliases(&mut self, registry: &mut ToolRegistry, end: Option<Origin>) {
        let (aliases, others): (Vec<_>, Vec<_>) = std::mem::take(&mut self.open)
            .into_iter()
            .partition(|open| open.definition.wrapper.is_none());
        self.open = others;
        let mut left = Vec::new();
        for alias in &aliases {
            let (name, wrapped) = (&alias.definition.name.text, &alias.definition.wrapped);
            match (resolve(registry, &aliases, wrapped), end) {
                (Ok(canonical), _) => registry.add_alias(name, &canonical),
                (Err(Lost::Unknown(last)), Some(Origin::Shipped)) => {
                    registry.add_alias(name, &last)
                }
                (Err(lost), Some(_)) => {
                    self.note(alias.file, lost.mistake(registry, wrapped), Severity::Error)
                }
                (Err(_), None) => left.push(name.clone()),
            }
        }
        self.open.extend(
            aliases
                .into_iter()
                .filter(|alias| left.contains(&alias.definition.name.text)),
        );
    }

    fn add_wrappers(&mut self, registry: &mut ToolRegistry) {
        let (wrappers, aliases): (Vec<_>, Vec<_>) = std::mem::take(&mut self.open)
            .into_iter()
            .partition(|open| open.definition.wrapper.is_some());
        self.open = aliases;
        for Open { file, definition } in wrappers {
            let Definition {
                name,
                wrapped,
                wrapper,
                ..
            } = definition;
            let Some(wrapper) = wrapper else { continue };
            if let Err(mistake) = add_wrapper(registry, &self.open, &name, &wrapped, wrapper) {
                self.note(file, mistake, Severity::Error);
            }
        }
    }
}

fn add_wrapper(
    registry: &mut ToolRegistry,
    aliases: &[Open<'_>],
    name: &Placed,
    wrapped: &Placed,
    wrapper: Wrapper,
) -> Result<(), Mistake> {
    let canonical =
        resolve(registry, aliases, wrapped).map_err(|lost| lost.mistake(registry, wrapped))?;
    let tool = registry.tool(&canonical).cloned();
    let tool = tool.ok_or_else(|| Lost::Unknown(canonical).mistake(registry, wrapped))?;
    if tool.as_wrap().is_some() {
        require_callable(&wrapper, tool.as_ref(), wrapped.line)?;
    }
    let tool = WrappedTool::new(&name.text, wrapper, tool)
        .map_err(|reason| Mistake::new(wrapped.line, reason))?;
    if registry.resolve(&name.text).is_some() {
        registry.add_second_form(Arc::new(tool));
        return Ok(());
    }
    let tool: Arc<dyn Tool> = Arc::new(tool);
    let category = tool.category();
    registry
        .register(tool, category)
        .map_err(|error| Mistake::new(name.line, error.to_string()))
}

/// Returns the canonical name that a name leads to, through aliases of the registry and of the
/// batch.
fn resolve(registry: &ToolRegistry, aliases: &[Open<'_>], name: &Placed) -> Result<String, Lost> {
    let mut chain = vec![name.text.clone()];
    let mut at = name.text.clone();
    loop {
        if let Some(tool) = registry.resolve(&at) {
            return Ok(tool.name().to_owned());
        }
        let of_batch = aliases
            .iter()
            .find(|open| open.definition.name.text.eq_ignore_ascii_case(&at));
        let next = match (registry.names().alias(&at), of_batch) {
            (Some(known), _) => known.to_owned(),
            (None, Some(open)) => open.definition.wrapped.text.clone(),
            (None, None) => return Err(Lost::Unknown(at)),
        };
        let is_back = chain.iter().any(|seen| seen.eq_ignore_ascii_case(&next));
        chain.push(next.clone());
        if is_back {
            return Err(Lost::Cycle(chain));
        }
        at = next;
    }
}

impl Lost {
    fn mistake(&self, registry: &ToolRegistry, wrapped: &Placed) -> Mistake {
        let reason = match self {
            Lost::Cycle(chain) => format!("the aliases form a cycle: {}", chain.join(" → ")),
            Lost::Unknown(name) => {
                format!(
                    "Wrapped tool '{name}' not found; similar tools: `{}`",
                    registry.nearest(name).join("`, `")
                )
            }
        };
        Mistake::new(wrapped.line, reason)
    }
}

/// Returns what has the name of a wrapper already, unless it can be a second form of that name.
fn taken_by_tool(registry: &ToolRegistry, name: &str, wrapper: &Wrapper) -> Option<String> {
    if let Some(form) = registry.second_form(name) {
        return Some(format!("`{}` has a second form already", form.name()));
    }
    let tool = registry.resolve(name)?;
    let properties = tool.schema().get("properties");
    let has_arguments = properties.is_some_and(|properties| properties.get(ARGUMENTS).is_some());
    if tool.wrapping().is_some() || has_arguments {
        return Some(format!("it means the tool `{}`", tool.name()));
    }
    (!wrapper.takes_arguments()).then(|| {
        format!(
            "it means the tool `{}`, and only a wrapper with the parameter `{ARGUMENTS} \
             {{array<string>}}` can be its second form",
            tool.name()
        )
    })
}

/// Returns what has the name of an alias already. Reports whether a file only gives a tool a name
/// that it has already, so that nothing is lost without it.
fn stands_already(registry: &ToolRegistry, definition: &Definition) -> bool {
    let known = definition
        .wrapper
        .is_none()
        .then(|| registry.names().alias(&definition.name.text))
        .flatten();
    known.is_some_and(|known| registry.names().canonical(&definition.wrapped.text) == known)
}

fn alias_taken(registry: &ToolRegistry, alias: &Definition) -> Option<String> {
    let name = &alias.name.text;
    if let Some(known) = registry.names().alias(name) {
        return Some(format!("it means the tool `{known}`"));
    }
    registry
        .resolve(name)
        .map(|tool| format!("it means the tool `{}`", tool.name()))
}

#[cfg(test)]
mod tests;
