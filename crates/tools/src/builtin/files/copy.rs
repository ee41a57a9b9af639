//! `copy_file` and `move_file`: neither replaces an existing file.

use async_trait::async_trait;
use orchestrate_core::invisible::shown;
use serde::Deserialize;
use serde_json::{Value, json};

use super::super::arguments::read;
use super::super::facts::facts;
use crate::context::ToolContext;
use crate::error::ToolError;
use crate::files::Files;
use crate::ledger::SeenFile;
use crate::output::Answer;
use crate::path::{join, split};
use crate::prompt::Prompt;
use crate::tool::Tool;

#[derive(Deserialize)]
struct Arguments {
    src: String,
    dst: String,
}

impl Arguments {
    /// Returns the target, which is below `dst` if that is a directory, as for `cp` and `mv`.
    fn target(&self, files: &Files) -> String {
        match files.directory(&self.dst) {
            Ok(_) => join(&self.dst, split(&self.src).1),
            Err(_) => self.dst.clone(),
        }
    }
}

/// The `copy_file` tool.
pub(crate) struct CopyFile(pub(crate) Prompt);

#[async_trait]
impl Tool for CopyFile {
    facts!("copy_file", FILES, FileModify, paths["src", "dst"]);

    fn is_default(&self) -> bool {
        false
    }

    async fn execute(&self, context: &ToolContext, arguments: Value) -> Result<Answer, ToolError> {
        let arguments: Arguments = read(arguments)?;
        let ledger = context.ledger().clone();
        let work = move |files: &Files, _: &_| {
            let _turn = ledger.exclusively();
            let (from, to) = files.copy(&arguments.src, &arguments.target(files))?;
            let text = format!("copied {} to {}", shown(&from), shown(&to.path));
            Ok(Answer::new(text, json!({"src": from, "dst": to.path})))
        };
        context.blocking(work).await
    }
}

/// The `move_file` tool.
pub(crate) struct MoveFile(pub(crate) Prompt);

#[async_trait]
impl Tool for MoveFile {
    facts!("move_file", FILES, FileModify, paths["src", "dst"]);

    fn is_default(&self) -> bool {
        false
    }

    async fn execute(&self, context: &ToolContext, arguments: Value) -> Result<Answer, ToolError> {
        let arguments: Arguments = read(arguments)?;
        let ledger = context.ledger().clone();
        let work = move |files: &Files, _: &_| {
            let _turn = ledger.exclusively();
            let (from, to) = files.rename(&arguments.src, &arguments.target(files))?;
            let gone = SeenFile::gone(&from);
            ledger.note(&gone);
            let text = format!("moved {} to {}", shown(&from), shown(&to));
            Ok(Answer {
                seen: vec![gone],
                deleted: vec![from.clone()],
                ..Answer::new(text, json!({"src": from, "dst": to}))
            })
        };
        context.blocking(work).await
    }
}
