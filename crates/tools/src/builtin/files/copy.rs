//! `copy_file` and `move_file`: neither replaces an existing file.

use async_trait::async_trait;
use orchestrate_core::policy::Access;
use orchestrate_core::text::invisible::shown;
use serde::Deserialize;
use serde_json::{Value, json};

use super::super::facts::facts;
use super::content::say_if_ignored;
use crate::answer::{Answer, SeenFile, ToolError};
use crate::files::{Expect, Files, OpenFile};
use crate::tool::arguments::read;
use crate::tool::{CallSite, Look, Prepared, Prompt, Tool, ToolContext};

#[derive(Deserialize)]
struct Arguments {
    src: String,
    dst: String,
}

/// The `copy_file` tool.
pub(crate) struct CopyFile(pub(crate) Prompt);

#[async_trait]
impl Tool for CopyFile {
    facts!("copy_file", FILES, FileModify, path_fields: &["src", "dst"], is_default: false);

    fn prepare(&self, site: &CallSite, arguments: Value) -> Result<Prepared, ToolError> {
        let prepared = Prepared::on_paths(self.properties(), site, arguments)?;
        let rehearsal = Look::at_files(|files, _, arguments: Arguments| {
            let Arguments { src, dst } = arguments;
            let (_, bytes) = copied(files, &src)?;
            name_the_file(files.require_writable(&dst, &bytes, Expect::Nothing), &dst)
        });
        Ok(prepared
            .with_accesses(&[("src", Access::Read), ("dst", Access::Own)])
            .rehearsed(rehearsal))
    }

    async fn execute(&self, context: &ToolContext, arguments: Value) -> Result<Answer, ToolError> {
        let Arguments { src, dst } = read(arguments)?;
        let ledger = context.ledger().clone();
        let (answer, to) = context
            .blocking(move |files, _| {
                let _turn = ledger.exclusively();
                let (from, bytes) = copied(files, &src)?;
                let mode = files.accessed(Access::Read).metadata(&from.path)?.mode;
                let to = name_the_file(files.create(&dst, &bytes, mode), &dst)?;
                let text = format!("copied {} to {}", shown(&from.path), shown(&to));
                let data = json!({"src": from.path, "dst": to});
                Ok((
                    Answer {
                        written_bytes: bytes.len() as u64,
                        ..Answer::new(text, data)
                    },
                    to,
                ))
            })
            .await?;
        Ok(say_if_ignored(context, answer, vec![to]).await)
    }
}

/// Reads the file that is copied.
fn copied(files: &Files, src: &str) -> Result<(OpenFile, Vec<u8>), ToolError> {
    files.accessed(Access::Read).read(src)
}

/// The `move_file` tool.
pub(crate) struct MoveFile(pub(crate) Prompt);

#[async_trait]
impl Tool for MoveFile {
    facts!("move_file", FILES, FileModify, path_fields: &["src", "dst"], is_default: false);

    /// Moving a file lets it be read under another name.
    fn prepare(&self, site: &CallSite, arguments: Value) -> Result<Prepared, ToolError> {
        let rehearsal = Look::at_files(|files, _, arguments: Arguments| {
            let Arguments { src, dst } = arguments;
            require_readable(files, &src)?;
            name_the_file(files.require_renamable(&src, &dst), &dst)
        });
        Ok(Prepared::on_paths(self.properties(), site, arguments)?
            .with_accesses(&[
                ("src", Access::Read),
                ("src", Access::Delete),
                ("dst", Access::Own),
            ])
            .rehearsed(rehearsal))
    }

    async fn execute(&self, context: &ToolContext, arguments: Value) -> Result<Answer, ToolError> {
        let Arguments { src, dst } = read(arguments)?;
        let ledger = context.ledger().clone();
        let (answer, to) = context
            .blocking(move |files, _| {
                let _turn = ledger.exclusively();
                require_readable(files, &src)?;
                let (from, to) = name_the_file(files.rename(&src, &dst), &dst)?;
                let gone = SeenFile::gone(&from);
                ledger.note(&gone);
                let text = format!("moved {} to {}", shown(&from), shown(&to));
                let answer = Answer::new(text, json!({"src": from, "dst": to}));
                Ok((
                    Answer {
                        seen: vec![gone],
                        deleted: vec![from],
                        ..answer
                    },
                    to,
                ))
            })
            .await?;
        Ok(say_if_ignored(context, answer, vec![to]).await)
    }
}

/// Refuses a file that must not be read: under another name, it could be.
fn require_readable(files: &Files, src: &str) -> Result<(), ToolError> {
    files.accessed(Access::Read).open(src).map(drop)
}

/// Explains that a target is a path of a file: the rules about it were asked before it was known to
/// be a folder.
fn name_the_file<T>(result: Result<T, ToolError>, dst: &str) -> Result<T, ToolError> {
    match result {
        Err(ToolError::File { reason, .. }) if reason == "is a directory" => Err(ToolError::Retry(
            format!("{} is a directory; name the new file in it", shown(dst)),
        )),
        other => other,
    }
}
