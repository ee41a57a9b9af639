//! Decides a call without running it: the call is built and judged as the executor does it, and
//! each file that it names by its real path in a checkout.
//!
//! What depends on a run is not known: which of the programs that a tool chooses from is installed,
//! if the rules judge them differently, and which files a search finds.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use orchestrate_core::policy::{Decision, Grant, Permission, Policy, Target};
use orchestrate_core::shell_word;
use orchestrate_core::text::invisible::shown;
use serde_json::{Map, Value, json};

use crate::answer::{ToolError, ToolsError};
use crate::call::{Effect, PathGuard, decide};
use crate::execute::{Resolver, request};
use crate::files::Files;
use crate::registry::{Resolved, ToolRegistry};
use crate::template::ARGUMENTS;
use crate::tool::arguments::invalid;
use crate::tool::{CallSite, Prepared, ProgramChoice, Programs, Tool};

/// The argument that is a line for a shell.
const COMMAND: &str = "command";

/// Decides calls of one agent as the executor would.
pub struct PermissionCheck {
    resolver: Resolver,
    policy: Arc<Policy>,
    grant: Arc<Grant>,
    checkout: PathBuf,
}

/// The answer to whether a call may run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answered {
    /// The executor decides this.
    Decided(Decision),
    /// The tool itself does not take the call, so no rule is asked.
    Refused {
        /// Why.
        reason: String,
    },
    /// Nothing is against the call itself, but what it depends on is known only when it runs.
    Unknown {
        /// What is not known.
        reason: String,
    },
}

/// A call's arguments, as far as they are known.
struct Given {
    arguments: Value,
    /// Whether they are whole, so that the tool has to accept them.
    is_whole: bool,
}

impl PermissionCheck {
    /// Creates a check of calls of these tools, by an agent with this grant under these rules; a
    /// checkout stands for the agent's worktree.
    ///
    /// # Errors
    /// [`ToolsError::Schema`] for a tool whose schema cannot be compiled.
    pub fn new(
        registry: ToolRegistry,
        policy: Arc<Policy>,
        grant: Arc<Grant>,
        checkout: &Path,
    ) -> Result<PermissionCheck, ToolsError> {
        Ok(PermissionCheck {
            resolver: Resolver::new(registry)?,
            policy,
            grant,
            checkout: checkout.to_owned(),
        })
    }

    /// Decides a call of a tool, under any of its names, with these words: its arguments as one
    /// JSON object; or values of its arguments, paths first (for a command, one word is a line for
    /// a shell); or the words of its second form. Without words, it decides about the tool itself.
    /// `None` if there is no such tool.
    ///
    /// # Errors
    /// `Retry` if the words do not fit the tool's parameters, `File` if the checkout cannot be
    /// opened.
    pub fn decide(&self, tool: &str, words: &[String]) -> Result<Option<Answered>, ToolError> {
        let Some(first) = self.resolver.registry.resolve(tool) else {
            return Ok(None);
        };
        let second = self.resolver.registry.second_form(tool);
        let given = given(first.as_ref(), second.map(AsRef::as_ref), words)?;
        let Some(resolved) = self.resolver.registry.resolve_call(tool, &given.arguments) else {
            return Ok(None);
        };
        let prepared = match self.prepared(&resolved, given, words.is_empty()) {
            Err(ToolError::Denied { reason, rule }) => {
                return Ok(Some(Answered::Decided(Decision::Deny { rule, reason })));
            }
            other => other?,
        };
        if let Some(fault) = &prepared.fault {
            let reason = fault.to_string();
            return Ok(Some(Answered::Refused { reason }));
        }
        let asked = request(resolved.tool, resolved.first_form, &prepared);
        let decision = decide(&asked, &self.policy, &self.grant);
        Ok(Some(match decision {
            Decision::Allow { .. } => self.foreseen(resolved.tool.as_ref(), &prepared, decision)?,
            decided => Answered::Decided(decided),
        }))
    }

    /// Returns the call as the tool prepares it, as far as its arguments are known.
    fn prepared(
        &self,
        resolved: &Resolved<'_>,
        given: Given,
        is_about_tool: bool,
    ) -> Result<Prepared, ToolError> {
        let Given {
            mut arguments,
            is_whole,
        } = given;
        if is_whole {
            arguments = self.resolver.conform(resolved, &arguments)?;
        }
        let required = required(resolved.tool.schema());
        let is_complete = required.iter().all(|name| arguments.get(*name).is_some());
        let site = CallSite {
            worktree: self.checkout.clone(),
            policy: Arc::clone(&self.policy),
        };
        let mut prepared = self.resolver.prepare(resolved.tool, arguments, site)?;
        // The tool judges whole calls only.
        if !is_whole && (is_about_tool || !is_complete) {
            prepared.fault = None;
        }
        if !is_whole && is_about_tool {
            prepared
                .effects
                .retain(|effect| !names_nothing(&effect.target));
        }
        Ok(prepared)
    }

    /// Answers for a call that nothing is against so far, by what it would open and run.
    fn foreseen(
        &self,
        tool: &dyn Tool,
        prepared: &Prepared,
        decision: Decision,
    ) -> Result<Answered, ToolError> {
        let guard = PathGuard::new(
            tool.name(),
            tool.permission(),
            &decision,
            &self.policy,
            &self.grant,
        );
        let files = Files::of_checkout(&self.checkout, guard.clone())?;
        // Git's own tools open no files by these paths.
        if tool.permission() != Permission::GitOperations {
            let mut effects = prepared.effects.clone();
            effects.extend(other_folders(tool, &prepared.arguments, &effects));
            for effect in &effects {
                if let Err(ToolError::Denied { reason, rule }) = files.foresee(effect) {
                    return Ok(Answered::Decided(Decision::Deny { rule, reason }));
                }
            }
        }
        if !self.policy.restricts_programs(tool.name()) {
            return Ok(Answered::Decided(decision));
        }
        let programs = match &prepared.programs {
            Some(find) => find(prepared.last_arguments(), &files)?,
            None => Programs::InEffects,
        };
        Ok(match programs {
            Programs::InEffects => Answered::Decided(decision),
            Programs::FirstOf(choices) => of_choices(tool.name(), &guard, &choices, decision),
            Programs::Unknown => Answered::Unknown {
                reason: format!(
                    "`{tool}` chooses its program when it runs, and the rules about programs hold \
                     for that"
                ),
            },
        })
    }
}

/// Answers for a tool that runs the first of these programs that is installed, and judges each
/// before it looks for it.
fn of_choices(
    tool: &str,
    guard: &PathGuard,
    choices: &[ProgramChoice],
    decision: Decision,
) -> Answered {
    if choices.is_empty() {
        let reason = format!(
            "`{tool}` finds nothing to run in this checkout; the rules about programs hold for \
             what it finds in a run"
        );
        return unknown(reason);
    }
    let mut before = None;
    for choice in choices {
        let judged = choice
            .commands
            .iter()
            .try_for_each(|argv| guard.check_program(argv));
        match (judged, before) {
            (Ok(()), _) => before = choice.commands.first(),
            (Err(ToolError::Denied { reason, rule }), None) => {
                return Answered::Decided(Decision::Deny { rule, reason });
            }
            (Err(error), None) => return unknown(error.to_string()),
            (Err(error), Some(allowed)) => {
                let allowed = shown(&allowed.join(" "));
                return unknown(format!(
                    "`{tool}` may run `{allowed}` if that is installed; otherwise: {error}"
                ));
            }
        }
    }
    Answered::Decided(decision)
}

fn unknown(reason: String) -> Answered {
    Answered::Unknown { reason }
}

/// Returns the folders that a call names beside what it affects, such as the one that a command
/// starts in.
fn other_folders(tool: &dyn Tool, arguments: &Value, effects: &[Effect]) -> Vec<Effect> {
    let fields = tool.path_fields();
    let named = fields
        .iter()
        .filter_map(|field| arguments.get(*field)?.as_str());
    let is_affected = |path: &&str| {
        effects
            .iter()
            .any(|effect| effect.target.path() == Some(*path))
    };
    named
        .filter(|path| !is_affected(path))
        .map(|path| Effect::on(Target::Folder(path.to_owned())))
        .collect()
}

fn names_nothing(target: &Target) -> bool {
    match target {
        Target::Path(text)
        | Target::Folder(text)
        | Target::Shell(text)
        | Target::Host(text)
        | Target::Name(text) => text.is_empty(),
        Target::Argv(_) | Target::Remote(_) | Target::Network => false,
    }
}

/// Builds the arguments of a call from words.
fn given(
    first: &dyn Tool,
    second: Option<&dyn Tool>,
    words: &[String],
) -> Result<Given, ToolError> {
    if let [word] = words
        && let Ok(arguments @ Value::Object(_)) = serde_json::from_str(word)
    {
        return Ok(Given {
            arguments,
            is_whole: true,
        });
    }
    let is_option = |word: &String| word.starts_with('-');
    let is_second = second.is_some()
        && (words.len() > first.path_fields().len() || words.iter().any(is_option));
    if is_second {
        return Ok(Given {
            arguments: json!({ ARGUMENTS: words }),
            is_whole: true,
        });
    }
    // What a wrapper does follows from all of its arguments.
    let is_whole = first.wrapping().is_some();
    let required = required(first.schema());
    let arguments = match (words, required.first()) {
        ([_, _, ..], Some(&COMMAND)) if first.permission() == Permission::CodeExecution => {
            json!({ COMMAND: words.iter().map(shell_word).collect::<Vec<_>>().join(" ") })
        }
        ([line], Some(&COMMAND)) => json!({ COMMAND: line }),
        _ => in_order(first, &required, words)?,
    };
    Ok(Given {
        arguments,
        is_whole,
    })
}

/// Returns the arguments that words are for: paths first, then what is required, then a list.
fn in_order(tool: &dyn Tool, required: &[&str], words: &[String]) -> Result<Value, ToolError> {
    let kind = |name: &str| {
        tool.schema()
            .pointer(&format!("/properties/{name}/type"))
            .and_then(Value::as_str)
    };
    let properties = tool.schema().get("properties").and_then(Value::as_object);
    let lists = properties
        .into_iter()
        .flatten()
        .map(|(name, _)| name.as_str())
        .filter(|name| kind(name) == Some("array"));
    let mut names: Vec<&str> = Vec::new();
    for name in tool
        .path_fields()
        .iter()
        .copied()
        .chain(required.iter().copied())
        .chain(lists)
    {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let (mut arguments, mut left) = (Map::new(), words);
    for name in names {
        let (value, rest) = match (left, kind(name)) {
            ([], _) => break,
            (words, Some("array")) => (json!(words), &[][..]),
            ([word, rest @ ..], Some("string") | None) => (json!(word), rest),
            ([word, rest @ ..], Some(_)) => (
                serde_json::from_str(word).unwrap_or_else(|_| json!(word)),
                rest,
            ),
        };
        arguments.insert(name.to_owned(), value);
        left = rest;
    }
    match left {
        [] => Ok(Value::Object(arguments)),
        [word, ..] => Err(invalid(&format!(
            "`{}` has no use for `{word}`; write its arguments as JSON",
            tool.name()
        ))),
    }
}

fn required(schema: &Value) -> Vec<&str> {
    schema
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect()
}
