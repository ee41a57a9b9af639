//! Builds the files for `--model script:FILE`: one rule per line, of which the first that fits a
//! request answers it.

use std::fs;
use std::path::{Path, PathBuf};

use libtest_mimic::Failed;
use orchestrate_core::task::ReturnCause;
use serde_json::{Map, Value, json};

/// The rules of a scripted model, in the order in which they are tried; the first that fits
/// answers.
#[derive(Default)]
pub(crate) struct Script {
    rules: Vec<Value>,
}

/// One rule: the conditions that must all hold, and the answer.
pub(crate) struct Rule {
    fields: Map<String, Value>,
    when: Map<String, Value>,
    text: String,
    calls: Vec<Value>,
    usage: Option<Value>,
}

impl Script {
    /// Adds a rule after the others.
    pub(crate) fn rule(mut self, rule: Rule) -> Self {
        self.rules.push(rule.into_value());
        self
    }

    /// Adds rules by which a task's agent writes a file in its first turn, and then ends its work.
    pub(crate) fn writes(self, task: &str, path: &str, content: &str) -> Self {
        self.rule(write(task, path, content)).rule(done(task))
    }

    /// Adds the rules of another script after the others.
    pub(crate) fn then(mut self, other: Script) -> Self {
        self.rules.extend(other.rules);
        self
    }

    /// Returns the file's text: one JSON object per line.
    pub(crate) fn to_text(&self) -> String {
        self.rules.iter().map(|rule| format!("{rule}\n")).collect()
    }

    /// Writes the file and returns the value for `--model`.
    pub(crate) fn write_to(&self, path: &Path) -> Result<String, Failed> {
        fs::write(path, self.to_text())?;
        Ok(format!("script:{}", PathBuf::from(path).display()))
    }
}

impl Rule {
    /// Starts a rule that answers any task.
    pub(crate) fn any() -> Self {
        Self {
            fields: Map::new(),
            when: Map::new(),
            text: String::new(),
            calls: Vec::new(),
            usage: None,
        }
    }

    /// Starts a rule that answers one task only.
    pub(crate) fn task(id: &str) -> Self {
        let mut rule = Self::any();
        rule.fields.insert("task".to_owned(), json!(id));
        rule
    }

    /// Limits the rule to one request of the agent, counted from 1 across attempts.
    pub(crate) fn turn(mut self, turn: u32) -> Self {
        self.when.insert("turn".to_owned(), json!(turn));
        self
    }

    /// Limits the rule to the first request after the work came back for this cause.
    pub(crate) fn returned(mut self, cause: ReturnCause) -> Self {
        self.when.insert("returned".to_owned(), json!(cause));
        self
    }

    /// Limits the rule to requests whose newest message or tool result contains the text.
    pub(crate) fn last_contains(mut self, text: &str) -> Self {
        self.when.insert("last_contains".to_owned(), json!(text));
        self
    }

    /// Limits how often the rule answers; after that, later rules are tried.
    pub(crate) fn times(mut self, times: u32) -> Self {
        self.fields.insert("times".to_owned(), json!(times));
        self
    }

    /// Sets the text of the answer. Without a tool call, the agent's work ends with it.
    pub(crate) fn text(mut self, text: &str) -> Self {
        text.clone_into(&mut self.text);
        self
    }

    /// Adds a tool call to the answer; several are parallel calls.
    pub(crate) fn call(mut self, name: &str, arguments: &Value) -> Self {
        self.calls
            .push(json!({ "name": name, "arguments": arguments }));
        self
    }

    /// Sets the token usage that the answer reports.
    pub(crate) fn usage(mut self, usage: Value) -> Self {
        self.usage = Some(usage);
        self
    }

    fn into_value(self) -> Value {
        let mut fields = self.fields;
        if !self.when.is_empty() {
            fields.insert("when".to_owned(), Value::Object(self.when));
        }
        let mut reply = Map::new();
        reply.insert("text".to_owned(), json!(self.text));
        if !self.calls.is_empty() {
            reply.insert("tool_calls".to_owned(), json!(self.calls));
        }
        if let Some(usage) = self.usage {
            reply.insert("usage".to_owned(), usage);
        }
        fields.insert("reply".to_owned(), Value::Object(reply));
        Value::Object(fields)
    }
}

/// Starts a rule that answers one request of a task's agent, counted from 1 across attempts.
pub(crate) fn on(task: &str, turn: u32) -> Rule {
    Rule::task(task).turn(turn)
}

/// Starts a rule that answers the requests of a task's agent whose newest message or tool result
/// contains the text.
pub(crate) fn after(task: &str, text: &str) -> Rule {
    Rule::task(task).last_contains(text)
}

/// Adds a call of the shell to the answer.
pub(crate) fn shell(rule: Rule, command: &str) -> Rule {
    rule.call("run_shell_command", &json!({ "command": command }))
}

/// Adds a call that writes a file.
pub(crate) fn put(rule: Rule, path: &str, content: &str) -> Rule {
    rule.call("write_file", &json!({"path": path, "content": content}))
}

/// Adds a call that writes a file of one line, whose content does not matter.
pub(crate) fn writes(rule: Rule, path: &str) -> Rule {
    put(rule, path, "1\n")
}

/// Adds a call that reads a file.
pub(crate) fn reads(rule: Rule, path: &str) -> Rule {
    rule.call("read_file", &json!({ "path": path }))
}

/// Adds a call that waits for other agents.
pub(crate) fn waits(rule: Rule, ids: &[&str]) -> Rule {
    rule.call("wait_for_agents", &json!({ "agent_ids": ids }))
}

/// Returns a rule that makes a task's agent write a file in its first turn.
pub(crate) fn write(task: &str, path: &str, content: &str) -> Rule {
    put(on(task, 1), path, content)
}

/// Returns a rule that makes a task's agent end its work; it goes after the task's other rules.
pub(crate) fn done(task: &str) -> Rule {
    Rule::task(task).text("Done.")
}
