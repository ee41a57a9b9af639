//! `get_file_info`: what is known of a file without showing its content.

use std::time::{Duration, UNIX_EPOCH};

use async_trait::async_trait;
use orchestrate_core::text::invisible::shown;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::super::facts::facts;
use crate::answer::{Answer, ToolError, size};
use crate::files::{Decoded, EntryKind, Files};
use crate::services::GitStatus;
use crate::tool::arguments::read;
use crate::tool::{CallSite, Look, Prepared, Prompt, Tool, ToolContext};

/// The `get_file_info` tool.
pub(crate) struct GetFileInfo(pub(crate) Prompt);

#[derive(Deserialize)]
struct Arguments {
    path: String,
}

/// The structured result.
#[derive(Debug, PartialEq, Serialize)]
struct FileInfo {
    path: String,
    #[serde(rename = "type")]
    kind: &'static str,
    size: u64,
    /// The permission bits in octal.
    mode: String,
    modified: String,
    accessed: String,
    changed: String,
    /// The number of lines and the encoding of a text file.
    lines: Option<usize>,
    encoding: Option<String>,
    /// Why it is not read as text, such as its kind of binary data.
    content: Option<String>,
    /// `unchanged`, `new`, `modified`, `deleted` or `ignored`; none for a directory.
    git_status: Option<&'static str>,
}

#[async_trait]
impl Tool for GetFileInfo {
    facts!(
        "get_file_info", FILES, FileRead,
        path_fields: &["path"],
        is_default: false,
        names_folders: true,
    );

    fn prepare(&self, site: &CallSite, arguments: Value) -> Result<Prepared, ToolError> {
        let rehearsal = Look::at_files(|files, _, arguments: Arguments| {
            files.metadata(&arguments.path).map(drop)
        });
        Ok(Prepared::on_paths(self.properties(), site, arguments)?.rehearsed(rehearsal))
    }

    async fn execute(&self, context: &ToolContext, arguments: Value) -> Result<Answer, ToolError> {
        let Arguments { path } = read(arguments)?;
        let mut info = context.blocking(move |files, _| info(files, &path)).await?;
        if info.kind != kind_name(EntryKind::Directory) {
            let git = &context.services().git;
            let is_ignored = git.ignores(&info.path).await?;
            info.git_status = Some(git_status(&git.status().await?, &info.path, is_ignored));
        }
        Ok(Answer::new(info.render(), json!(info)))
    }
}

fn info(files: &Files, path: &str) -> Result<FileInfo, ToolError> {
    let found = files.metadata(path)?;
    let (mut lines, mut encoding, mut content) = (None, None, None);
    if found.kind == EntryKind::File {
        if found.size > files.max_bytes() {
            content = Some("too large to be read as a whole".to_owned());
        } else {
            let (_, bytes) = files.read(path)?;
            match Decoded::detect(path, &bytes) {
                Ok(decoded) => {
                    lines = Some(decoded.text.lines().count());
                    encoding = Some(decoded.encoding.name());
                }
                Err(ToolError::File { reason, .. }) => content = Some(reason),
                Err(other) => return Err(other),
            }
        }
    }
    Ok(FileInfo {
        kind: kind_name(found.kind),
        size: found.size,
        mode: format!("{:04o}", found.mode),
        modified: time(found.modified),
        accessed: time(found.accessed),
        changed: time(found.changed),
        path: found.path,
        lines,
        encoding,
        content,
        git_status: None,
    })
}

fn kind_name(kind: EntryKind) -> &'static str {
    match kind {
        EntryKind::File => "file",
        EntryKind::Directory => "directory",
        EntryKind::Link => "link",
        EntryKind::Other => "special",
    }
}

/// The last second that can be formatted, that of the year 9999.
const LAST_SECOND: u64 = 253_402_300_799;

/// Formats a time of the file system; times before 1970 and after 9999 are shown as those.
fn time(seconds: i64) -> String {
    let since = Duration::from_secs(u64::try_from(seconds).unwrap_or(0).min(LAST_SECOND));
    humantime::format_rfc3339_seconds(UNIX_EPOCH + since).to_string()
}

fn git_status(status: &GitStatus, path: &str, is_ignored: bool) -> &'static str {
    match status
        .changes
        .iter()
        .find(|change| change.path == path)
        .map(|change| change.status)
    {
        Some('A' | '?') => "new",
        Some('D') => "deleted",
        Some(_) => "modified",
        None if is_ignored => "ignored",
        None => "unchanged",
    }
}

impl FileInfo {
    fn render(&self) -> String {
        let path = if self.path.is_empty() {
            ".".to_owned()
        } else {
            shown(&self.path)
        };
        let mut lines = vec![
            format!("path: {path}"),
            format!("type: {}", self.kind),
            format!("size: {} ({} bytes)", size(self.size), self.size),
            format!("mode: {}", self.mode),
            format!("modified: {}", self.modified),
        ];
        lines.extend(self.lines.map(|count| format!("lines: {count}")));
        lines.extend(
            self.encoding
                .as_ref()
                .map(|name| format!("encoding: {name}")),
        );
        lines.extend(
            self.content
                .as_ref()
                .map(|content| format!("content: {content}")),
        );
        lines.extend(
            self.git_status
                .map(|status| format!("git status: {status}")),
        );
        lines.join("\n")
    }
}
