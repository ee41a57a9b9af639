//! `todo_write`: the agent's own list of steps. The tool stores nothing, it only checks and renders
//! the list. The list is the arguments of the newest call, which the agent's context never drops.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::facts::facts;
use crate::answer::{Answer, ToolError};
use crate::tool::arguments::{invalid, read};
use crate::tool::{CallSite, Prepared, Prompt, Tool, ToolContext};

/// Maximum number of steps: a longer list is of no use, and takes space in every request.
const MAX_ITEMS: usize = 50;

/// The `todo_write` tool.
pub(super) struct TodoWrite(pub(super) Prompt);

#[derive(Deserialize)]
struct Arguments {
    items: Vec<Item>,
}

#[derive(Deserialize, Serialize)]
struct Item {
    content: String,
    #[serde(default)]
    status: Status,
}

#[derive(Clone, Copy, Default, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
enum Status {
    #[default]
    Pending,
    InProgress,
    Completed,
}

#[async_trait]
impl Tool for TodoWrite {
    facts!("todo_write", MEMORY, None, stays_in_view: true);

    fn prepare(&self, _: &CallSite, arguments: Value) -> Result<Prepared, ToolError> {
        let items = arguments.get("items").and_then(Value::as_array);
        let items = items.map_or(0, Vec::len);
        let reason = format!("`items`: expected at most {MAX_ITEMS} items, got {items}");
        Ok(Prepared {
            fault: (items > MAX_ITEMS).then(|| invalid(&reason)),
            ..Prepared::new(arguments)
        })
    }

    async fn execute(&self, _: &ToolContext, arguments: Value) -> Result<Answer, ToolError> {
        let Arguments { items } = read(arguments)?;
        let lines: Vec<String> = items.iter().map(Item::render).collect();
        let text = if lines.is_empty() {
            "(no steps)".to_owned()
        } else {
            lines.join("\n")
        };
        Ok(Answer::new(text, json!({ "items": items })))
    }
}

impl Item {
    fn render(&self) -> String {
        let mark = match self.status {
            Status::Pending => ' ',
            Status::InProgress => '~',
            Status::Completed => 'x',
        };
        format!("[{mark}] {}", self.content)
    }
}
