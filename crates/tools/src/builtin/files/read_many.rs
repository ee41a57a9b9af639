//! `read_file` with `paths`: the first page of several files, named or by globs, as
//! `read_many_files` of another product is called.

use orchestrate_core::policy::Target;
use orchestrate_core::text::invisible::shown;
use serde::Deserialize;
use serde_json::{Value, json};

use super::list::{below, path_glob, walk_limits};
use crate::answer::{Answer, ReadLedger, ToolError};
use crate::call::Effect;
use crate::files::{EntryKind, Files, Flow, WalkLimits};
use crate::tool::arguments::read;
use crate::tool::{CallSite, Look, Prepared, ToolContext};

/// The argument of such a call.
const PATHS: &str = "paths";
/// Maximum number of files of one call.
const MAX_FILES: usize = 50;
/// The least room for a file; what does not fit is only named.
const LEAST_BYTES: usize = 400;
/// The characters of a glob.
const OF_GLOBS: [char; 4] = ['*', '?', '[', '{'];

#[derive(Deserialize)]
struct Arguments {
    paths: Vec<String>,
}

/// Reads the first page of a file, up to so many bytes.
type FirstPage = fn(&Files, &ReadLedger, &str, usize) -> Result<Answer, ToolError>;

/// Reports whether a call is one of several files.
pub(super) fn is_meant(arguments: &Value) -> bool {
    arguments.get(PATHS).is_some()
}

/// Returns the call, which affects the files, and the folders that are searched.
pub(super) fn prepare(site: &CallSite, arguments: Value) -> Result<Prepared, ToolError> {
    let rehearsal = Look::at_files(|files, _, arguments: Arguments| {
        let mut named = arguments
            .paths
            .iter()
            .filter(|path| searched(path).is_none());
        named.try_for_each(|path| files.find(path).map(drop))
    });
    Ok(Prepared::on_listed_paths(PATHS, effect, site, arguments)?.rehearsed(rehearsal))
}

fn effect(path: String) -> Effect {
    match searched(&path) {
        Some(folder) => Effect::on(Target::Folder(folder.to_owned())),
        None => Effect::on(Target::Path(path)),
    }
}

/// Reads the files.
pub(super) async fn execute(
    context: &ToolContext,
    arguments: Value,
    page: FirstPage,
) -> Result<Answer, ToolError> {
    let Arguments { paths } = read(arguments)?;
    let limits = walk_limits(context, true);
    let ledger = context.ledger().clone();
    let allowed = context.result_bytes();
    let first_page = move |files: &Files, path: &str, left: usize| page(files, &ledger, path, left);
    context
        .blocking(move |files, _| {
            read_all(
                files,
                &first_page,
                &wanted(files, &paths, &limits)?,
                allowed,
            )
        })
        .await
}

/// Returns the folder that a glob searches; `None` for the path of one file.
fn searched(path: &str) -> Option<&str> {
    let at = path.find(OF_GLOBS)?;
    let (before, _) = path.split_at(at);
    Some(before.rsplit_once('/').map_or("", |(folder, _)| folder))
}

/// Returns the files that these paths name, each once.
fn wanted(files: &Files, paths: &[String], limits: &WalkLimits) -> Result<Vec<String>, ToolError> {
    let mut wanted: Vec<String> = Vec::new();
    for path in paths {
        for found in found(files, path, limits)? {
            if !wanted.contains(&found) {
                wanted.push(found);
            }
        }
    }
    if wanted.is_empty() {
        let paths: Vec<String> = paths.iter().map(|path| shown(path)).collect();
        return Err(ToolError::Retry(format!(
            "no file matches {}",
            paths.join(", ")
        )));
    }
    Ok(wanted)
}

fn read_all(
    files: &Files,
    first_page: &dyn Fn(&Files, &str, usize) -> Result<Answer, ToolError>,
    wanted: &[String],
    allowed: usize,
) -> Result<Answer, ToolError> {
    let (mut text, mut data, mut seen, mut unread) =
        (String::new(), Vec::new(), Vec::new(), Vec::new());
    let mut failed = None;
    for path in wanted {
        let left = allowed.saturating_sub(text.len());
        if data.len() >= MAX_FILES || left < LEAST_BYTES {
            unread.push(shown(path));
            continue;
        }
        let said = match first_page(files, path, left) {
            Ok(answer) => {
                seen.extend(answer.seen);
                data.push(answer.data);
                answer.text
            }
            Err(error @ ToolError::Interrupted(_)) => return Err(error),
            Err(error) => {
                let said = format!("[{error}]");
                failed.get_or_insert(error);
                said
            }
        };
        text.push_str(&format!(
            "--- {} ---\n{}\n",
            shown(path),
            said.trim_end_matches('\n')
        ));
    }
    match failed {
        Some(error) if data.is_empty() => return Err(error),
        _ => {}
    }
    if !unread.is_empty() {
        text.push_str(&format!(
            "[not read for lack of room: {}]",
            unread.join(", ")
        ));
    }
    Ok(Answer {
        seen,
        ..Answer::new(text, json!({ "files": data, "unread": unread }))
    })
}

/// Returns the files that a path names: itself, those in the folder, or those that match the glob.
fn found(files: &Files, path: &str, limits: &WalkLimits) -> Result<Vec<String>, ToolError> {
    let is_folder = || files.directory(path).is_ok();
    let (folder, glob) = match searched(path) {
        Some(folder) => (folder, path_glob(below(folder, path))?),
        None if is_folder() => (path, path_glob("**/*")?),
        None => return Ok(vec![path.to_owned()]),
    };
    let directory = files.directory(folder)?;
    let mut found = Vec::new();
    files.walk(&directory, limits, &mut |entry| {
        if entry.kind == EntryKind::File && glob.is_match(below(&directory, &entry.path)) {
            found.push(entry.path.clone());
        }
        Ok(Flow::Continue)
    })?;
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_glob_searches_the_folder_before_its_first_sign() {
        let table = [
            ("src/**/*.rs", Some("src")),
            ("*.md", Some("")),
            ("a/b.rs", None),
            ("a/b{c,d}/e", Some("a")),
        ];
        for (path, expected) in table {
            assert_eq!(searched(path), expected, "{path}");
        }
    }
}
