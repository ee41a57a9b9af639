//! The calls of other products in the form of the product that they come from: converts their
//! arguments to those of our tools, as far as they mean something here. Other names of one argument
//! are a table of `tool/arguments.rs`.
//!
//! A model knows the tools of the product that it was trained with, and calls ours like those. What
//! is asked for and cannot be had, such as a command in the background, is refused with the reason;
//! what only says how that product shows or schedules something is dropped. What several of our
//! tools can do for such calls alone is described to no model, so it takes nothing from the space
//! of prompts: [`more_parameters`].

use std::borrow::Cow;

use orchestrate_core::shell_word;
use serde_json::{Map, Value, json};

use crate::answer::ToolError;
use crate::tool::arguments::invalid;

/// The numbers from which on a time limit is in milliseconds: nobody waits a quarter of an hour for
/// one command, nor less than a second.
const MILLISECONDS_FROM: u64 = 1_000;
/// Programs that take a line for a shell after an option.
const SHELLS: &[&str] = &[
    "sh",
    "bash",
    "zsh",
    "dash",
    "/bin/sh",
    "/bin/bash",
    "/bin/zsh",
    "/usr/bin/bash",
];

/// Returns the parameters that a tool takes beside those that models are told of; `None` if there
/// are none.
pub(crate) fn more_parameters(tool: &str) -> Option<Value> {
    let count = json!({"type": "integer", "minimum": 0});
    Some(match tool {
        "grep" => json!({
            "before": count, "after": count, "skip": count,
            "limit": {"type": "integer", "minimum": 1}, "type": {"type": "string"},
            "ignore_case": {"type": "boolean"}, "multiline": {"type": "boolean"},
        }),
        "read_file" => json!({
            "paths": {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 50},
        }),
        "update_file" => json!({
            "expected_replacements": {"type": "integer", "minimum": 1},
            "edits": {"type": "array", "minItems": 1, "maxItems": 100, "items": {
                "type": "object",
                "properties": {
                    "old": {"type": "string"}, "new": {"type": "string"},
                    "replace_all": {"type": "boolean"},
                },
                "required": ["old", "new"],
                "additionalProperties": false,
            }},
        }),
        "list_directory" => json!({
            "ignore": {"type": "array", "items": {"type": "string"}},
            "depth": {"type": "integer", "minimum": 1},
            "limit": {"type": "integer", "minimum": 1}, "offset": {"type": "integer", "minimum": 1},
        }),
        "search_files" => json!({"ignore_case": {"type": "boolean"}}),
        _ => return None,
    })
}

/// Returns the parameters that a call need not give since it gives one of [`more_parameters`].
pub(crate) fn replaced_parameters(arguments: &Map<String, Value>) -> &'static [&'static str] {
    match (
        arguments.contains_key("paths"),
        arguments.contains_key("edits"),
    ) {
        (true, _) => &["path"],
        (_, true) => &["old", "new"],
        _ => &[],
    }
}

/// Converts the arguments of a call of a tool by this name.
///
/// # Errors
/// `Retry` for what no tool here does, with the reason.
pub(crate) fn own_form<'v>(
    called: &str,
    tool: &str,
    arguments: &'v Value,
) -> Result<Cow<'v, Value>, ToolError> {
    let convert = match tool {
        "run_shell_command" => command,
        "read_file" => read,
        "grep" => grep,
        "update_file" => update,
        "list_directory" => list,
        "search_files" => search,
        "todo_write" => steps,
        "spawn_child_agent" => spawn,
        "send_message_to_agent" => message,
        "fetch_url" => fetch,
        "web_search" => web_search,
        _ => return Ok(Cow::Borrowed(arguments)),
    };
    let Value::Object(map) = arguments else {
        return Ok(Cow::Borrowed(arguments));
    };
    let mut given = Given(map.clone());
    given.0.retain(|_, value| !value.is_null());
    convert(&called.to_ascii_lowercase(), &mut given)?;
    Ok(Cow::Owned(Value::Object(given.0)))
}

/// The arguments of a call, without nulls.
struct Given(Map<String, Value>);

impl Given {
    fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    fn set(&mut self, name: &str, value: impl Into<Value>) {
        self.0.insert(name.to_owned(), value.into());
    }

    /// Takes the first of these that is given; the others are dropped.
    fn take(&mut self, names: &[&str]) -> Option<Value> {
        let mut taken = names.iter().filter_map(|name| self.0.remove(*name));
        let first = taken.next();
        taken.for_each(drop);
        first
    }

    /// Gives an argument its own name, unless that is given too.
    fn rename(&mut self, names: &[&str], own: &str) {
        if !self.has(own)
            && let Some(value) = self.take(names)
        {
            self.set(own, value);
        }
    }

    /// Takes a switch of this name; one that is no boolean stays, and is complained about like any
    /// unknown argument.
    fn switch(&mut self, names: &[&str]) -> Option<bool> {
        let (name, on) = names
            .iter()
            .find_map(|name| Some((*name, self.0.get(*name)?.as_bool()?)))?;
        self.0.remove(name);
        Some(on)
    }

    /// Takes a number of this name.
    fn number(&mut self, names: &[&str]) -> Option<u64> {
        let (name, number) = names
            .iter()
            .find_map(|name| Some((*name, self.0.get(*name)?.as_u64()?)))?;
        self.0.remove(name);
        Some(number)
    }

    fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name).and_then(Value::as_str)
    }

    /// Drops a switch that is off, and refuses one that is on.
    fn refuse(&mut self, names: &[&str], why: &str) -> Result<(), ToolError> {
        for name in names {
            if self.switch(&[name]) == Some(true) {
                return Err(invalid(&format!("`{name}`: {why}")));
            }
        }
        Ok(())
    }

    /// Drops what means nothing here.
    fn pass_over(&mut self, names: &[&str]) {
        names.iter().for_each(|name| drop(self.0.remove(*name)));
    }
}

/// `Bash`, `shell`, `exec_command`, `run_command` and their like.
fn command(called: &str, given: &mut Given) -> Result<(), ToolError> {
    given.rename(&["cmd", "CommandLine"], "command");
    given.rename(
        &[
            "workdir",
            "working_directory",
            "directory",
            "dir_path",
            "Cwd",
        ],
        "cwd",
    );
    if let Some(Value::Array(words)) = given.0.get("command") {
        let line = line_of(words)?;
        given.set("command", line);
    }
    if let Some(shell) = given.text("shell").map(str::to_owned) {
        given.pass_over(&["shell"]);
        let line = given.text("command").unwrap_or_default();
        let line = format!("{} -c {}", shell_word(&shell), shell_word(line));
        given.set("command", line);
    }
    let counts_milliseconds = matches!(called, "bash" | "execute" | "shell");
    let milliseconds = given.number(&["timeout_ms"]).or_else(|| {
        let limit = given.0.get("timeout").and_then(Value::as_u64)?;
        (counts_milliseconds && limit >= MILLISECONDS_FROM).then_some(limit)
    });
    if let Some(milliseconds) = milliseconds {
        given.set("timeout", milliseconds.div_ceil(1_000).max(1));
    }
    let why = "no command goes on in the background, since its processes end with the call; run it \
               in the foreground, with a timeout";
    given.refuse(&["run_in_background", "is_background", "background"], why)?;
    given.refuse(&["tty"], "commands have no terminal")?;
    let why = "no command runs outside the sandbox; `network` asks for the network";
    given.refuse(
        &["with_escalated_permissions", "dangerouslyDisableSandbox"],
        why,
    )?;
    if given
        .text("sandbox_permissions")
        .is_some_and(|wanted| wanted != "use_default")
    {
        return Err(invalid(&format!("`sandbox_permissions`: {why}")));
    }
    // The whole output comes when the command has ended.
    given.pass_over(&[
        "sandbox_permissions",
        "justification",
        "yield_time_ms",
        "max_output_tokens",
        "login",
    ]);
    Ok(())
}

/// Returns the line for a shell that means the same as these words.
fn line_of(words: &[Value]) -> Result<String, ToolError> {
    let words: Option<Vec<&str>> = words.iter().map(Value::as_str).collect();
    let words = words.ok_or_else(|| invalid("`command`: expected a text, or an array of texts"))?;
    Ok(match words.as_slice() {
        [shell, option, line]
            if matches!(*option, "-c" | "-lc" | "-lic") && SHELLS.contains(shell) =>
        {
            // Ours is `sh`; what was written for another one is given to that.
            let is_own = shell.ends_with("/sh") || *shell == "sh";
            if is_own {
                (*line).to_owned()
            } else {
                format!("{shell} -c {}", shell_word(line))
            }
        }
        words => words.iter().map(shell_word).collect::<Vec<_>>().join(" "),
    })
}

/// `Read`, `view`, `read_many_files` and their like.
fn read(called: &str, given: &mut Given) -> Result<(), ToolError> {
    if called == "read_many_files" {
        let included = given.take(&["include"]);
        let all = [given.take(&["paths", "file_paths"]), included];
        let all: Vec<Value> = all.into_iter().flatten().flat_map(list_or_one).collect();
        if !all.is_empty() {
            given.set("paths", all);
        }
        // The patterns say it.
        let _ = given.switch(&["recursive"]);
        ignores_files(given)?;
    }
    if let Some(range) = given.take(&["view_range"]) {
        let numbers: Option<Vec<i64>> = range
            .as_array()
            .map(|of| of.iter().filter_map(Value::as_i64).collect());
        match numbers.as_deref() {
            Some([first, -1]) => set_lines(given, Some(*first), None)?,
            Some([first, last]) => set_lines(given, Some(*first), Some(*last))?,
            _ => {
                return Err(invalid(
                    "`view_range`: expected two line numbers, as in [1, 50]; -1 is the last line",
                ));
            }
        }
    }
    let first = line_number(
        given,
        &["start_line", "start_line_one_indexed", "startLine"],
    );
    let last = line_number(
        given,
        &[
            "end_line",
            "end_line_one_indexed_inclusive",
            "end_line_one_indexed",
            "endLine",
        ],
    );
    if first.is_some() || last.is_some() {
        set_lines(given, first, last)?;
    }
    if given.switch(&["should_read_entire_file"]) == Some(true) {
        given.pass_over(&["offset", "limit"]);
    }
    // Some count from 0.
    if given.0.get("offset").and_then(Value::as_u64) == Some(0) {
        given.pass_over(&["offset"]);
    }
    Ok(())
}

fn line_number(given: &mut Given, names: &[&str]) -> Option<i64> {
    given.take(names).and_then(|number| number.as_i64())
}

/// Sets the page that these lines are, the last one included.
fn set_lines(given: &mut Given, first: Option<i64>, last: Option<i64>) -> Result<(), ToolError> {
    let first = first.unwrap_or(1).max(1);
    given.set("offset", first);
    if let Some(last) = last {
        if last < first {
            return Err(invalid(&format!(
                "the last line is {last}, before the first, which is {first}"
            )));
        }
        given.set("limit", last - first + 1);
    }
    Ok(())
}

/// `Grep`, `grep_search` and their like.
fn grep(_: &str, given: &mut Given) -> Result<(), ToolError> {
    given.rename(&["query"], "pattern");
    given.rename(&["include_pattern"], "glob");
    given.rename(&["-A"], "after");
    given.rename(&["-B"], "before");
    given.rename(&["-C"], "context");
    given.rename(&["output_mode"], "mode");
    if given.text("mode") == Some("files_with_matches")
        || given.switch(&["names_only"]) == Some(true)
    {
        given.set("mode", "files");
    }
    let ignores_case = given.switch(&["-i", "case_insensitive"]) == Some(true);
    let is_sensitive = given.switch(&["case_sensitive"]);
    if ignores_case || is_sensitive == Some(false) {
        given.set("ignore_case", true);
    }
    if given.switch(&["fixed_strings"]) == Some(true)
        && let Some(text) = given.text("pattern")
    {
        let escaped = regex_syntax::escape(text);
        given.set("pattern", escaped);
    }
    // Zero stands for all.
    for (names, own) in [
        (
            &["head_limit", "total_max_matches", "max_results"][..],
            "limit",
        ),
        (&["offset"], "skip"),
    ] {
        if let Some(number) = given.number(names).filter(|number| *number > 0) {
            given.set(own, number);
        }
    }
    // Lines have their numbers here, whether that is asked for or not.
    let _ = given.switch(&["-n"]);
    ignores_files(given)
}

/// `Edit`, `MultiEdit`, `replace`, `str_replace` and their like.
fn update(_: &str, given: &mut Given) -> Result<(), ToolError> {
    given.pass_over(&["instruction"]);
    if let Some(all) = given.switch(&["allow_multiple"]) {
        given.set("replace_all", all);
    }
    if let Some(expected) = given.0.get("expected_replacements").and_then(Value::as_u64) {
        if expected == 1 {
            given.pass_over(&["expected_replacements"]);
        } else {
            given.set("replace_all", true);
        }
    }
    let Some(edits) = given.0.get_mut("edits").and_then(Value::as_array_mut) else {
        return Ok(());
    };
    for edit in edits {
        let Value::Object(map) = edit else { continue };
        let mut one = Given(std::mem::take(map));
        one.rename(
            &["old_string", "old_str", "oldString", "old_text", "oldText"],
            "old",
        );
        one.rename(
            &["new_string", "new_str", "newString", "new_text", "newText"],
            "new",
        );
        one.rename(&["replaceAll"], "replace_all");
        *map = one.0;
    }
    Ok(())
}

/// `LS`, `list_dir` and their like.
fn list(_: &str, given: &mut Given) -> Result<(), ToolError> {
    if given
        .0
        .get("depth")
        .and_then(Value::as_u64)
        .is_some_and(|depth| depth > 1)
    {
        given.set("recursive", true);
    }
    ignores_files(given)
}

/// `Glob` and its like.
fn search(_: &str, given: &mut Given) -> Result<(), ToolError> {
    given.rename(&["glob_pattern"], "pattern");
    if given.switch(&["case_sensitive"]) == Some(false) {
        given.set("ignore_case", true);
    }
    ignores_files(given)
}

/// Drops the wish that what git ignores is left out, as it always is, and refuses its contrary.
fn ignores_files(given: &mut Given) -> Result<(), ToolError> {
    let nested = given.take(&["file_filtering_options"]);
    if let Some(Value::Object(options)) = nested {
        given.0.extend(options);
    }
    for name in [
        "respect_git_ignore",
        "respect_gemini_ignore",
        "useDefaultExcludes",
    ] {
        if given.switch(&[name]) == Some(false) {
            return Err(invalid(&format!(
                "`{name}`: what git ignores is not listed here; name the file itself"
            )));
        }
    }
    Ok(())
}

/// `TodoWrite`, `update_plan`, `write_todos` and their like.
fn steps(_: &str, given: &mut Given) -> Result<(), ToolError> {
    given.refuse(
        &["merge"],
        "the list is replaced as a whole; give all of its steps",
    )?;
    given.rename(&["todos", "plan", "todoList", "steps", "tasks"], "items");
    let Some(items) = given.0.get_mut("items").and_then(Value::as_array_mut) else {
        return Ok(());
    };
    for item in items {
        if let Value::String(text) = item {
            *item = json!({"content": text});
        }
        let Value::Object(map) = item else { continue };
        let mut one = Given(std::mem::take(map));
        one.rename(&["step", "description", "title", "task", "text"], "content");
        let said = one.text("status").unwrap_or("pending").to_owned();
        let status = match said.as_str() {
            "pending" | "not-started" | "not_started" | "todo" | "blocked" => "pending",
            "in_progress" | "in-progress" | "doing" => "in_progress",
            "completed" | "done" | "cancelled" | "canceled" => "completed",
            other => other,
        };
        if matches!(said.as_str(), "cancelled" | "canceled" | "blocked") {
            let noted = format!("{} ({said})", one.text("content").unwrap_or_default());
            one.set("content", noted);
        }
        one.set("status", status);
        *map = one.0;
    }
    Ok(())
}

/// `Task`, `Agent` and their like.
fn spawn(_: &str, given: &mut Given) -> Result<(), ToolError> {
    // Every child works beside its parent, and the answer says how to wait for it.
    let _ = given.switch(&["run_in_background"]);
    let title = given.text("description").map(str::to_owned);
    if let (Some(title), Some(prompt)) = (title, given.text("prompt"))
        && !given.has("task")
    {
        let task = format!("{title}\n\n{prompt}");
        given.pass_over(&["description", "prompt"]);
        given.set("task", task);
    }
    Ok(())
}

/// `SendMessage` and its like.
fn message(_: &str, given: &mut Given) -> Result<(), ToolError> {
    given.pass_over(&["summary"]);
    match given.text("type") {
        Some("message") => given.pass_over(&["type"]),
        Some("broadcast") => {
            given.pass_over(&["type", "to", "recipient"]);
            given.set("agent_id", "all");
        }
        Some("shutdown_request") => {
            given.pass_over(&["type"]);
            given.set("kind", "shutdown");
        }
        _ => {}
    }
    Ok(())
}

/// `WebFetch`, `web_fetch` and their like: some have the address only within what they want to know
/// of the page.
fn fetch(_: &str, given: &mut Given) -> Result<(), ToolError> {
    if given.has("url") {
        return Ok(());
    }
    let Some(prompt) = given.text("prompt") else {
        return Ok(());
    };
    let words =
        prompt.split(|c: char| c.is_whitespace() || matches!(c, '<' | '>' | '"' | '(' | ')'));
    let mut found: Vec<&str> = words
        .filter(is_address)
        .map(|word| word.trim_end_matches(['.', ',', ';', ':', '!', '?', '\'']))
        .collect();
    found.dedup();
    match found.as_slice() {
        [] => Ok(()),
        [url] => {
            let url = (*url).to_owned();
            given.set("url", url);
            Ok(())
        }
        several => Err(invalid(&format!(
            "`prompt` names {} addresses; one call fetches one page, by `url`",
            several.len()
        ))),
    }
}

fn is_address(word: &&str) -> bool {
    word.starts_with("https://") || word.starts_with("http://")
}

/// `WebSearch` and its like.
fn web_search(_: &str, given: &mut Given) -> Result<(), ToolError> {
    given.rename(&["search_term", "q"], "query");
    given.rename(
        &["max_results", "count", "numResults", "limit"],
        "num_results",
    );
    let allowed = texts(domains(given, &["allowed_domains"]));
    let blocked = texts(domains(given, &["blocked_domains"]));
    let query = given.text("query").unwrap_or_default().to_owned();
    if !query.is_empty() && (!allowed.is_empty() || !blocked.is_empty()) {
        let sites: Vec<String> = allowed
            .iter()
            .map(|domain| format!("site:{domain}"))
            .collect();
        let sites = if sites.len() > 1 {
            format!("({})", sites.join(" OR "))
        } else {
            sites.concat()
        };
        let without = blocked.iter().map(|domain| format!("-site:{domain}"));
        let words = std::iter::once(query)
            .chain([sites])
            .chain(without)
            .filter(|word| !word.is_empty());
        let query = words.collect::<Vec<_>>().join(" ");
        given.set("query", query);
    }
    Ok(())
}

fn domains(given: &mut Given, names: &[&str]) -> Vec<Value> {
    given.take(names).map(list_or_one).unwrap_or_default()
}

fn texts(of: Vec<Value>) -> Vec<String> {
    of.into_iter()
        .filter_map(|one| one.as_str().map(str::to_owned))
        .collect::<Vec<_>>()
}

/// Returns the values of a list, or the only value.
fn list_or_one(value: Value) -> Vec<Value> {
    match value {
        Value::Array(values) => values,
        value => vec![value],
    }
}

#[cfg(test)]
mod tests;
