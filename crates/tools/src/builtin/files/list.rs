//! `list_directory` and `search_files`: list names, without what ignore files exclude.

use async_trait::async_trait;
use globset::{GlobBuilder, GlobSet};
use orchestrate_core::text::invisible::shown;
use serde::Deserialize;
use serde_json::{Value, json};

use super::super::facts::facts;
use crate::answer::{Answer, ToolError, size};
use crate::call::AnswersFrom;
use crate::files::{Entry, EntryKind, Files, Flow, Visitor, WalkLimits};
use crate::tool::arguments::{given_text, invalid, read};
use crate::tool::{CallSite, Look, Prepared, Prompt, Tool, ToolContext};

/// Maximum number of entries of one listing: more than any agent reads.
const MAX_LISTED: usize = 1_000;
/// Maximum number of files that a search shows.
const MAX_FOUND: usize = 200;
/// Maximum length of a glob in bytes.
const MAX_GLOB_BYTES: usize = 1_024;

/// Returns the limits for a walk of this call.
pub(super) fn walk_limits(context: &ToolContext, recursive: bool) -> WalkLimits {
    WalkLimits {
        recursive,
        ..WalkLimits::within(context.limits().search_timeout, context.cancel())
    }
}

/// Requires a pattern that is not empty.
pub(super) fn require_pattern(arguments: &Value) -> Result<(), ToolError> {
    match given_text(arguments, "pattern") {
        "" => Err(invalid("`pattern` is empty")),
        _ => Ok(()),
    }
}

/// Compiles a glob for paths relative to a directory; one without a slash matches names at any
/// depth.
pub(super) fn path_glob(pattern: &str) -> Result<GlobSet, ToolError> {
    glob_of(pattern, false)
}

fn glob_of(pattern: &str, ignore_case: bool) -> Result<GlobSet, ToolError> {
    if pattern.len() > MAX_GLOB_BYTES {
        return Err(invalid("the glob is too long"));
    }
    let pattern = pattern.trim_start_matches("./");
    let whole = if pattern.contains('/') {
        pattern.trim_start_matches('/').to_owned()
    } else {
        format!("**/{pattern}")
    };
    // A set matches plain names without a regular expression.
    let glob = GlobBuilder::new(&whole)
        .literal_separator(true)
        .case_insensitive(ignore_case)
        .build()
        .and_then(|glob| GlobSet::new([glob]));
    glob.map_err(|error| invalid(&format!("the glob `{pattern}`: {}", error.kind())))
}

/// Returns a path relative to the searched directory.
pub(super) fn below<'a>(directory: &str, path: &'a str) -> &'a str {
    path.strip_prefix(directory)
        .unwrap_or(path)
        .trim_start_matches('/')
}

/// The `list_directory` tool.
pub(crate) struct ListDirectory(pub(crate) Prompt);

#[derive(Deserialize)]
struct ListArguments {
    #[serde(default)]
    path: String,
    #[serde(default)]
    recursive: bool,
    /// Globs of what is left out. These and the following are of calls in the form of other
    /// products.
    #[serde(default)]
    ignore: Vec<String>,
    /// How far below the directory entries are listed.
    depth: Option<usize>,
    /// The maximum number of entries.
    limit: Option<usize>,
    /// The number of the first entry, from 1.
    offset: Option<usize>,
}

/// Which entries a listing has.
struct Wanted {
    ignored: Vec<GlobSet>,
    depth: usize,
    limit: usize,
    skip: usize,
}

impl ListArguments {
    fn wanted(&self) -> Result<Wanted, ToolError> {
        Ok(Wanted {
            ignored: self
                .ignore
                .iter()
                .map(|glob| path_glob(glob))
                .collect::<Result<_, _>>()?,
            depth: self.depth.unwrap_or(usize::MAX),
            limit: self.limit.unwrap_or(MAX_LISTED).min(MAX_LISTED),
            skip: self.offset.unwrap_or(1).saturating_sub(1),
        })
    }
}

impl Wanted {
    /// Reports whether an entry at this path below the directory is listed.
    fn has(&self, name: &str) -> bool {
        let parts: Vec<&str> = name.split('/').collect();
        // What lies in a folder that is left out is left out too.
        let begins = |many: usize| parts.get(..many).map(|begin| begin.join("/"));
        let is_ignored = |glob: &GlobSet| {
            (1..=parts.len())
                .filter_map(begins)
                .any(|begin| glob.is_match(begin))
        };
        parts.len() <= self.depth && !self.ignored.iter().any(is_ignored)
    }
}

#[async_trait]
impl Tool for ListDirectory {
    facts!("list_directory", FILES, FileRead, path_fields: &["path"], names_folders: true);

    fn prepare(&self, site: &CallSite, arguments: Value) -> Result<Prepared, ToolError> {
        let rehearsal = Look::at_files(|files, _, arguments: ListArguments| {
            arguments.wanted()?;
            files.directory(&arguments.path).map(drop)
        });
        Ok(Prepared::on_paths(self.properties(), site, arguments)?.rehearsed(rehearsal))
    }

    async fn execute(&self, context: &ToolContext, arguments: Value) -> Result<Answer, ToolError> {
        let arguments: ListArguments = read(arguments)?;
        let wanted = arguments.wanted()?;
        let limits = walk_limits(context, arguments.recursive);
        context
            .blocking(move |files, _| list(files, &arguments.path, &wanted, &limits))
            .await
    }
}

fn list(
    files: &Files,
    path: &str,
    wanted: &Wanted,
    limits: &WalkLimits,
) -> Result<Answer, ToolError> {
    let directory = files.directory(path)?;
    let mut lines = Vec::new();
    let mut names = Vec::new();
    let (mut more, mut passed) = (false, 0);
    let summary = files.walk(&directory, limits, &mut |entry| {
        let name = below(&directory, &entry.path);
        if !wanted.has(name) {
            return Ok(Flow::Continue);
        }
        more = names.len() >= wanted.limit;
        if more {
            return Ok(Flow::Stop);
        }
        if passed < wanted.skip {
            passed += 1;
            return Ok(Flow::Continue);
        }
        // One that is gone again has no size.
        if let Some(line) = describe(name, entry) {
            lines.push(line);
            names.push(entry.path.clone());
        }
        Ok(Flow::Continue)
    })?;
    if more {
        let (first, last) = (wanted.skip + 1, wanted.skip + wanted.limit);
        lines.push(match (wanted.skip, wanted.limit) {
            (0, MAX_LISTED) => {
                format!("[the first {MAX_LISTED} entries; list a subdirectory for the rest]")
            }
            _ => format!(
                "[entries {first} to {last}; `offset` {} has the next]",
                last + 1
            ),
        });
    }
    lines.extend(summary.note());
    let text = if lines.is_empty() {
        "(the directory is empty)".to_owned()
    } else {
        lines.join("\n")
    };
    Ok(Answer::new(
        text,
        json!({"entries": names, "ignored": summary.ignored, "complete": !more}),
    ))
}

fn describe(name: &str, entry: &Entry) -> Option<String> {
    let name = shown(name);
    Some(match entry.kind {
        EntryKind::Directory => format!("{name}/"),
        EntryKind::File => format!("{name}  {}", size(entry.stamp()?.size)),
        EntryKind::Link => format!("{name}  link"),
        EntryKind::Other => format!("{name}  special"),
    })
}

/// The `search_files` tool.
pub(crate) struct SearchFiles(pub(crate) Prompt);

#[derive(Deserialize)]
struct SearchArguments {
    pattern: String,
    #[serde(default)]
    path: String,
    /// Whether upper and lower case are the same, as calls in the form of other products say.
    #[serde(default)]
    ignore_case: bool,
}

#[async_trait]
impl Tool for SearchFiles {
    facts!(
        "search_files", FILES, FileRead,
        path_fields: &["path"],
        names_folders: true,
        answers_from: AnswersFrom::Names,
    );

    fn prepare(&self, site: &CallSite, arguments: Value) -> Result<Prepared, ToolError> {
        let rehearsal = Look::at_files(|files, _, arguments: SearchArguments| {
            path_glob(&arguments.pattern)?;
            files.directory(&arguments.path).map(drop)
        });
        Ok(Prepared {
            fault: require_pattern(&arguments).err(),
            rehearsal: Some(rehearsal),
            ..Prepared::on_paths(self.properties(), site, arguments)?
        })
    }

    async fn execute(&self, context: &ToolContext, arguments: Value) -> Result<Answer, ToolError> {
        let SearchArguments {
            pattern,
            path,
            ignore_case,
        } = read(arguments)?;
        let glob = glob_of(&pattern, ignore_case)?;
        let limits = walk_limits(context, true);
        context
            .blocking(move |files, _| search(files, &path, &glob, &limits))
            .await
    }
}

/// Finds matching names on one thread.
struct Matches<'s> {
    files: &'s Files,
    directory: &'s str,
    glob: &'s GlobSet,
    /// When each was modified, and its path.
    found: Vec<(i128, String)>,
}

impl Visitor for Matches<'_> {
    fn visit(&mut self, entries: Vec<Entry>) -> Result<Flow, ToolError> {
        for entry in entries {
            if entry.kind != EntryKind::Directory
                && self.glob.is_match(below(self.directory, &entry.path))
                && let Some(stamp) = entry.stamp()
            {
                self.found.push((self.files.modified(&stamp), entry.path));
            }
        }
        Ok(Flow::Continue)
    }
}

fn search(
    files: &Files,
    path: &str,
    glob: &GlobSet,
    limits: &WalkLimits,
) -> Result<Answer, ToolError> {
    let directory = files.directory(path)?;
    let matches = || Matches {
        files,
        directory: &directory,
        glob,
        found: Vec::new(),
    };
    let (matches, summary) = files.walk_parallel(&directory, limits, matches)?;
    let mut found: Vec<(i128, String)> = matches
        .into_iter()
        .flat_map(|matches| matches.found)
        .collect();
    found.sort_unstable_by(|left, right| right.0.cmp(&left.0).then_with(|| left.1.cmp(&right.1)));
    let total = found.len();
    let names: Vec<String> = found
        .into_iter()
        .take(MAX_FOUND)
        .map(|(_, path)| path)
        .collect();
    let mut lines: Vec<String> = names.iter().map(|name| shown(name)).collect();
    if lines.is_empty() {
        lines.push(format!(
            "no file matches below {}",
            if directory.is_empty() {
                "."
            } else {
                &directory
            }
        ));
    }
    if total > names.len() {
        lines.push(format!(
            "[the newest {MAX_FOUND} of {total}; narrow the pattern for the rest]"
        ));
    }
    lines.extend(summary.note());
    Ok(Answer::new(
        lines.join("\n"),
        json!({"files": names, "total": total}),
    ))
}
