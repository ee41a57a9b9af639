//! `read_file`: returns numbered lines of a file or of an artifact, page by page.

use std::io::BufReader;

use async_trait::async_trait;
use orchestrate_core::policy::Target;
use orchestrate_core::text::invisible::shown;
use serde::Deserialize;
use serde_json::{Value, json};

use super::super::facts::facts;
use super::content::encoding;
use super::large::{Lines, MAX_BYTES, read_lines};
use super::read_many;
use crate::answer::{Answer, ReadLedger, SeenFile, ToolError, allowed_bytes, size};
use crate::call::{CallScope, Effect, Foreseen};
use crate::files::{Decoded, Encoding, Files, OpenFile, path};
use crate::services::{PageRange, Services};
use crate::tool::arguments::{given_text, read};
use crate::tool::{CallSite, Look, Prepared, Prompt, Tool, ToolContext, blocking};

/// The prefix of a path that names an artifact; a file with such a name is read as `./artifact:…`.
const ARTIFACT: &str = "artifact:";
/// Maximum number of lines of one page, as usual in comparable tools.
const MAX_LINES: usize = 2000;
/// Maximum number of characters to show of one line.
const MAX_LINE_CHARACTERS: usize = 2000;
/// Maximum size of a page's content in the structured result, in bytes: a page is far smaller,
/// unless its lines are extremely long.
const CONTENT_BYTES: usize = 64 << 10;
/// Maximum size of a file that is read whole, so that an agent may change what it has seen, if the
/// limit of files is higher.
const WHOLE_BYTES: u64 = 64 << 20;
/// Bytes reserved in a page for the note on how to continue.
const NOTE_BYTES: usize = 80;

/// The `read_file` tool.
pub(crate) struct ReadFile(pub(crate) Prompt);

#[derive(Deserialize)]
struct Arguments {
    #[serde(default)]
    path: String,
    #[serde(default = "one")]
    offset: usize,
    #[serde(default = "max_lines")]
    limit: usize,
    encoding: Option<String>,
}

fn one() -> usize {
    1
}

fn max_lines() -> usize {
    MAX_LINES
}

#[async_trait]
impl Tool for ReadFile {
    facts!("read_file", FILES, FileRead, path_fields: &["path"]);

    fn prepare(&self, site: &CallSite, mut arguments: Value) -> Result<Prepared, ToolError> {
        if read_many::is_meant(&arguments) {
            return read_many::prepare(site, arguments);
        }
        let mut target = Target::Path(String::new());
        if let Some(path) = arguments.get_mut("path") {
            let text = path.as_str().unwrap_or_default();
            if text.starts_with(ARTIFACT) {
                target = Target::Name(text.to_owned());
            } else {
                let name = path::normalize(text, &site.worktree)?;
                // The name of a file that looks like an artifact keeps the `./` that marks it as a
                // file.
                *path = Value::String(if name.starts_with(ARTIFACT) {
                    format!("./{name}")
                } else {
                    name.clone()
                });
                target = Target::Path(name);
            }
        }
        let rehearsal = Look::new(rehearse);
        Ok(Prepared {
            effects: vec![Effect::on(target)],
            foresight: Some(Look::new(foresee)),
            rehearsal: Some(rehearsal),
            ..Prepared::new(arguments)
        })
    }

    async fn execute(&self, context: &ToolContext, arguments: Value) -> Result<Answer, ToolError> {
        if read_many::is_meant(&arguments) {
            return read_many::execute(context, arguments, first_page).await;
        }
        let arguments: Arguments = read(arguments)?;
        let allowed = context.result_bytes().saturating_sub(NOTE_BYTES);
        if let Some(handle) = arguments.path.strip_prefix(ARTIFACT) {
            return page_of_artifact(context.services(), handle, &arguments, allowed).await;
        }
        let encoding = encoding(arguments.encoding.as_deref())?;
        let ledger = context.ledger().clone();
        let work =
            move |files: &Files, _: &_| page_of_file(files, &ledger, &arguments, encoding, allowed);
        context.blocking(work).await
    }
}

/// Foresees what file a copy was made of, so that the rules about the file decide about its copy.
async fn foresee(
    scope: CallScope,
    _: Files,
    arguments: Value,
) -> Result<Option<Foreseen>, ToolError> {
    let path = given_text(&arguments, "path");
    let file = path
        .strip_prefix(ARTIFACT)
        .and_then(|handle| scope.services.artifacts.file_of(handle));
    let Some(file) = file else { return Ok(None) };
    Ok(Some(Foreseen {
        details: json!({ "file": file }),
        effects: vec![
            Effect::on(Target::Name(path.to_owned())),
            Effect::on(Target::Path(file)),
        ],
    }))
}

async fn rehearse(scope: CallScope, project: Files, arguments: Arguments) -> Result<(), ToolError> {
    if let Some(handle) = arguments.path.strip_prefix(ARTIFACT) {
        let allowed = allowed_bytes(scope.result_tokens).saturating_sub(NOTE_BYTES);
        return page_of_artifact(&scope.services, handle, &arguments, allowed)
            .await
            .map(drop);
    }
    encoding(arguments.encoding.as_deref())?;
    blocking(&project, &scope.cancel, move |files, _| {
        files.open(&arguments.path).map(drop)
    })
    .await
}

/// Reads the first page of one file of several, up to so many bytes.
fn first_page(
    files: &Files,
    ledger: &ReadLedger,
    path: &str,
    allowed: usize,
) -> Result<Answer, ToolError> {
    let arguments = Arguments {
        path: path.to_owned(),
        offset: 1,
        limit: MAX_LINES,
        encoding: None,
    };
    page_of_file(
        files,
        ledger,
        &arguments,
        Encoding::UTF_8,
        allowed.saturating_sub(NOTE_BYTES),
    )
}

fn page_of_file(
    files: &Files,
    ledger: &ReadLedger,
    arguments: &Arguments,
    encoding: Encoding,
    allowed: usize,
) -> Result<Answer, ToolError> {
    let _turn = ledger.exclusively();
    let opened = files.open(&arguments.path)?;
    if opened.size > files.max_bytes().min(WHOLE_BYTES) {
        return page_of_large(opened, arguments, encoding, allowed);
    }
    let (file, bytes) = files.read(&arguments.path)?;
    let decoded = Decoded::decode(&arguments.path, &bytes, encoding)?;
    let seen = SeenFile::holding(&file.path, &bytes);
    let page = page(&arguments.path, &decoded.text, arguments, allowed)?;
    ledger.note(&seen);
    let content = page.content(&decoded.text, page.first);
    let data = json!({
        "path": file.path,
        "size": bytes.len(),
        "first_line": page.first,
        "last_line": page.last,
        "total_lines": page.total,
        "content": content,
    });
    Ok(Answer {
        seen: vec![seen],
        ..Answer::new(page.text, data)
    })
}

async fn page_of_artifact(
    services: &Services,
    handle: &str,
    arguments: &Arguments,
    allowed: usize,
) -> Result<Answer, ToolError> {
    let range = PageRange {
        first_line: arguments.offset,
        lines: arguments.limit.min(MAX_LINES),
    };
    let kept = services.artifacts.page(handle, range).await?;
    let lines = kept.text.lines();
    let extent = Extent::Lines(kept.total_lines);
    let page = Page::of_lines(&arguments.path, lines, arguments.offset, extent, allowed)?;
    let content = page.content(&kept.text, 1);
    let data = json!({
        "first_line": page.first,
        "last_line": page.last,
        "total_lines": page.total,
        "content": content,
    });
    Ok(Answer::new(page.text, data))
}

/// Returns a page of a file that is not read whole. It counts as not seen: what is read in parts
/// cannot be changed.
fn page_of_large(
    opened: OpenFile,
    arguments: &Arguments,
    encoding: Encoding,
    allowed: usize,
) -> Result<Answer, ToolError> {
    let (path, first) = (&arguments.path, arguments.offset.max(1));
    if !encoding.is_ascii_compatible() {
        let text = format!(
            "{path} has {}, too much to be read in {}",
            size(opened.size),
            encoding.name()
        );
        return Err(ToolError::Retry(text));
    }
    let read = read_lines(
        &mut BufReader::new(opened.file),
        first,
        arguments.limit.min(MAX_LINES),
    );
    let (bytes, are_last) = match read.map_err(|error| ToolError::file(path, error.to_string()))? {
        Lines::Of { bytes, are_last } => (bytes, are_last),
        Lines::PastEnd(total) => return Err(past_end(&shown(path), first, total)),
        Lines::TooLong => {
            let text = format!(
                "line {first} of {path} has more than {}; read it with run_shell_command",
                size(MAX_BYTES)
            );
            return Err(ToolError::Retry(text));
        }
    };
    let decoded = Decoded::decode(path, &bytes, encoding)?;
    let lines = decoded.text.lines();
    let extent = if are_last {
        Extent::Lines(first - 1 + lines.clone().count())
    } else {
        Extent::Bytes(opened.size)
    };
    let page = Page::of_lines(&shown(path), lines, first, extent, allowed)?;
    let data = json!({
        "path": opened.path,
        "size": opened.size,
        "first_line": page.first,
        "last_line": page.last,
        "total_lines": page.total,
        "content": page.content(&decoded.text, 1),
    });
    Ok(Answer::new(page.text, data))
}

fn past_end(path: &str, first: usize, total: usize) -> ToolError {
    ToolError::Retry(format!(
        "offset {first} is past the end: {path} has {total} lines"
    ))
}

fn page(path: &str, text: &str, arguments: &Arguments, allowed: usize) -> Result<Page, ToolError> {
    let total = text.lines().count();
    let lines = text
        .lines()
        .skip(arguments.offset.saturating_sub(1))
        .take(arguments.limit.min(MAX_LINES));
    Page::of_lines(
        &shown(path),
        lines,
        arguments.offset,
        Extent::Lines(total),
        allowed,
    )
}

/// How much there is.
#[derive(Clone, Copy, Debug)]
enum Extent {
    /// So many lines.
    Lines(usize),
    /// More lines than those of the page, in so many bytes.
    Bytes(u64),
}

#[derive(Debug, PartialEq)]
struct Page {
    text: String,
    first: usize,
    last: usize,
    /// The number of all lines, if it is known.
    total: Option<usize>,
}

impl Page {
    /// Numbers lines up to the allowed size, and adds a note on how to continue if there are more.
    fn of_lines<'a>(
        path: &str,
        lines: impl Iterator<Item = &'a str>,
        first: usize,
        extent: Extent,
        allowed: usize,
    ) -> Result<Page, ToolError> {
        let (total, of) = match extent {
            Extent::Lines(0) => {
                return Ok(Page {
                    text: format!("({path} is empty)"),
                    first: 0,
                    last: 0,
                    total: Some(0),
                });
            }
            Extent::Lines(total) if first > total => return Err(past_end(path, first, total)),
            Extent::Lines(total) => (Some(total), total.to_string()),
            Extent::Bytes(bytes) => (None, format!("a file of {}", size(bytes))),
        };
        let mut text = String::new();
        let mut last = first.saturating_sub(1);
        for line in lines {
            let shown = format!("{:>6}\t{}\n", last + 1, cut_line(line, allowed));
            if !text.is_empty() && text.len() + shown.len() > allowed {
                break;
            }
            text.push_str(&shown);
            last += 1;
        }
        if total.is_none_or(|total| last < total) {
            text.push_str(&format!(
                "[lines {first}-{last} of {of}; continue with offset {}]",
                last + 1
            ));
        }
        Ok(Page {
            text,
            first,
            last,
            total,
        })
    }

    /// Returns the page's lines as they are, without numbers and with their ends, from a text in
    /// which they begin at this line; not more than [`CONTENT_BYTES`].
    fn content<'t>(&self, text: &'t str, begins: usize) -> &'t str {
        let lines = (self.last + 1).saturating_sub(self.first);
        let start = length_of_lines(text, begins.saturating_sub(1));
        let (_, rest) = text.split_at(start);
        let length = length_of_lines(rest, if self.total == Some(0) { 0 } else { lines });
        let (content, _) = rest.split_at(rest.floor_char_boundary(length.min(CONTENT_BYTES)));
        content
    }
}

/// Returns the length of the first lines of a text in bytes.
fn length_of_lines(text: &str, lines: usize) -> usize {
    text.split_inclusive('\n').take(lines).map(str::len).sum()
}

fn cut_line(line: &str, allowed: usize) -> String {
    let most = MAX_LINE_CHARACTERS.min(allowed / 2);
    match line.char_indices().nth(most) {
        None => line.to_owned(),
        Some((at, _)) => {
            let (shown, rest) = line.split_at(at);
            format!(
                "{shown}… [{} more characters in this line]",
                rest.chars().count()
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page_text(text: &str, offset: usize, limit: usize, allowed: usize) -> String {
        let arguments = Arguments {
            path: "f".to_owned(),
            offset,
            limit,
            encoding: None,
        };
        page("f", text, &arguments, allowed)
            .map_or_else(|error| error.to_string(), |page| page.text)
    }

    #[test]
    fn a_page_says_how_to_go_on() {
        let text = "a\nb\nc\nd\n";
        assert_eq!(
            page_text(text, 1, 2000, 1000),
            "     1\ta\n     2\tb\n     3\tc\n     4\td\n"
        );
        assert_eq!(
            page_text(text, 2, 2, 1000),
            "     2\tb\n     3\tc\n[lines 2-3 of 4; continue with offset 4]"
        );
        assert_eq!(
            page_text(text, 1, 2000, 20),
            "     1\ta\n     2\tb\n[lines 1-2 of 4; continue with offset 3]"
        );
        assert_eq!(
            page_text(text, 5, 1, 1000),
            "offset 5 is past the end: f has 4 lines"
        );
        assert_eq!(page_text("", 1, 1, 1000), "(f is empty)");
    }

    #[test]
    fn a_long_line_is_cut() {
        let shown = page_text(&"é".repeat(5000), 1, 1, 30_000);
        assert!(
            shown.ends_with("é… [3000 more characters in this line]\n"),
            "{shown}"
        );
    }

    #[test]
    fn the_content_is_that_of_the_lines_shown() {
        let content = |text: &'static str, offset, limit| {
            let arguments = Arguments {
                path: "f".to_owned(),
                offset,
                limit,
                encoding: None,
            };
            let page = page("f", text, &arguments, 1000).unwrap();
            page.content(text, page.first)
        };
        assert_eq!(content("a\r\nb\nc", 1, 2000), "a\r\nb\nc");
        assert_eq!(content("a\r\nb\nc", 1, 2), "a\r\nb\n");
        assert_eq!(content("a\r\nb\nc", 2, 2), "b\nc");
        assert_eq!(content("", 1, 2), "");
        let long: &'static str = "é".repeat(CONTENT_BYTES).leak();
        assert_eq!(content(long, 1, 1).len(), CONTENT_BYTES);
    }
}
