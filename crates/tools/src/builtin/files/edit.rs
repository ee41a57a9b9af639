//! `update_file`: replaces an exact text, or explains where similar text is.

use async_trait::async_trait;
use orchestrate_core::text::invisible::shown;
use serde::Deserialize;
use serde_json::{Value, json};

use super::super::facts::facts;
use super::content::{foreseen, refuse_stale};
use super::syntax::{Changed, say_if_broken};
use crate::answer::{Answer, ReadLedger, SeenFile, ToolError};
use crate::call::CallScope;
use crate::files::{Decoded, Encoding, Expect, Files};
use crate::tool::arguments::{invalid, read};
use crate::tool::{CallSite, Look, Prepared, Prompt, Tool, ToolContext};

/// Number of similar lines that an error shows.
const NEAREST_LINES: usize = 3;
/// Maximum number of lines to compare for similar ones; it bounds the time.
const COMPARED_LINES: usize = 5_000;
/// Number of characters of a line to compare and show.
const COMPARED_CHARACTERS: usize = 120;
/// Number of line numbers to list.
const LISTED_LINES: usize = 10;

/// The `update_file` tool.
pub(crate) struct UpdateFile(pub(crate) Prompt);

#[derive(Deserialize)]
struct Arguments {
    path: String,
    #[serde(default)]
    old: String,
    #[serde(default)]
    new: String,
    #[serde(default)]
    replace_all: bool,
    /// How often `old` has to occur, as calls in the form of another product say.
    expected_replacements: Option<usize>,
    /// Several replacements, each in the text that the one before has made; calls in the form of
    /// another product give them instead of one.
    #[serde(default)]
    edits: Vec<Replacement>,
}

/// A text and what takes its place.
#[derive(Clone, Deserialize)]
struct Replacement {
    old: String,
    new: String,
    #[serde(default)]
    replace_all: bool,
}

impl Arguments {
    /// Reads the arguments; one replacement is a list of one.
    fn from_value(arguments: Value) -> Result<Arguments, ToolError> {
        let mut arguments: Arguments = read(arguments)?;
        if arguments.edits.is_empty() {
            let Arguments {
                old,
                new,
                replace_all,
                ..
            } = &arguments;
            let only = Replacement {
                old: old.clone(),
                new: new.clone(),
                replace_all: *replace_all,
            };
            arguments.edits.push(only);
        }
        Ok(arguments)
    }

    /// Returns the text of a new file, if the first replacement creates one.
    fn created(&self) -> Option<&str> {
        self.edits
            .first()
            .filter(|first| first.old.is_empty())
            .map(|first| first.new.as_str())
    }
}

#[async_trait]
impl Tool for UpdateFile {
    facts!("update_file", FILES, FileWrite, path_fields: &["path"]);

    fn prepare(&self, site: &CallSite, arguments: Value) -> Result<Prepared, ToolError> {
        let rehearsal = Look::at_files(rehearse);
        Ok(Prepared {
            fault: require_change(&arguments).err(),
            rehearsal: Some(rehearsal),
            ..Prepared::on_paths(self.properties(), site, arguments)?
        })
    }

    async fn execute(&self, context: &ToolContext, arguments: Value) -> Result<Answer, ToolError> {
        let arguments = Arguments::from_value(arguments)?;
        let ledger = context.ledger().clone();
        let (answer, changed) = context
            .blocking(move |files, _| update(files, &ledger, &arguments))
            .await?;
        Ok(say_if_broken(context, answer, vec![changed]).await)
    }
}

fn require_change(arguments: &Value) -> Result<(), ToolError> {
    let edits = arguments.get("edits").and_then(Value::as_array);
    if edits.is_some() && (arguments.get("old").is_some() || arguments.get("new").is_some()) {
        return Err(invalid("`edits` stands for `old` and `new`; give either"));
    }
    match edits.map_or(changes_nothing(arguments), |edits| {
        edits.iter().any(changes_nothing)
    }) {
        true => Err(invalid("`new` is the same as `old`: nothing would change")),
        false => Ok(()),
    }
}

fn rehearse(files: &Files, scope: &CallScope, arguments: Value) -> Result<(), ToolError> {
    let arguments = Arguments::from_value(arguments)?;
    match arguments.created() {
        Some(new) => {
            let writable = files.require_writable(&arguments.path, new.as_bytes(), Expect::Nothing);
            require_new(writable, &arguments.path)
        }
        None => {
            let path = std::iter::once(arguments.path.as_str());
            foreseen(plan(files, &scope.ledger, &arguments), files, path)
        }
    }
}

fn changes_nothing(one: &Value) -> bool {
    one.get("old") == one.get("new")
}

fn update(
    files: &Files,
    ledger: &ReadLedger,
    arguments: &Arguments,
) -> Result<(Answer, Changed), ToolError> {
    let _turn = ledger.exclusively();
    if let Some(new) = arguments.created() {
        return create(files, ledger, arguments, new);
    }
    let Planned { old, new, lines } = plan(files, ledger, arguments)?;
    let written = files.write(&arguments.path, &new, Expect::Any)?;
    let seen = SeenFile::holding(&written.path, &new);
    ledger.note(&seen);
    let many = if lines.len() == 1 { "" } else { "s" };
    let text = format!(
        "updated {}: {} replacement{many}, line {}",
        shown(&written.path),
        lines.len(),
        list(&lines)
    );
    let data = json!({"path": written.path, "replacements": lines.len(), "lines": lines});
    let answer = Answer {
        seen: vec![seen],
        written_bytes: new.len() as u64,
        ..Answer::new(text, data)
    };
    Ok((
        answer,
        Changed {
            path: written.path,
            before: Some(old),
            after: new,
        },
    ))
}

/// What a call makes of a file, with the line numbers of its replacements.
struct Planned {
    old: Vec<u8>,
    new: Vec<u8>,
    lines: Vec<usize>,
}

/// Computes the new content of a file, without changing anything.
fn plan(files: &Files, ledger: &ReadLedger, arguments: &Arguments) -> Result<Planned, ToolError> {
    let path = &arguments.path;
    let (file, old) = files.read(path)?;
    refuse_stale(ledger, &file.path, &old)?;
    let before = Decoded::detect(path, &old)?;
    before.require_reversible(path, &old)?;
    let (changed, lines) =
        replaced(before.clone(), arguments, &arguments.edits).map_err(|error| {
            // The error shows lines of the file.
            match files.is_secret(path) {
                true => ToolError::Retry(format!(
                    "`old` does not occur once in {}, which you may not read",
                    shown(path)
                )),
                false => error,
            }
        })?;
    let new = before.encode(&changed)?;
    Ok(Planned { old, new, lines })
}

/// Returns a text after these replacements, and the lines of all of them; nothing is changed unless
/// each has its place.
fn replaced(
    mut file: Decoded,
    arguments: &Arguments,
    edits: &[Replacement],
) -> Result<(String, Vec<usize>), ToolError> {
    let mut lines = Vec::new();
    for (number, wanted) in (1..).zip(edits) {
        let found =
            Edit::find(&file, &arguments.path, wanted).and_then(|edit| edit.require(arguments));
        let edit = found.map_err(|error| match error {
            ToolError::Retry(text) if edits.len() > 1 => ToolError::Retry(format!(
                "edit {number} of {}: {text}; nothing was changed",
                edits.len()
            )),
            other => other,
        })?;
        file.text = file.text.replace(&edit.old, &edit.new);
        lines.extend(edit.lines);
    }
    Ok((file.text, lines))
}

/// Creates a file with this text, and makes the further replacements in it.
fn create(
    files: &Files,
    ledger: &ReadLedger,
    arguments: &Arguments,
    new: &str,
) -> Result<(Answer, Changed), ToolError> {
    let begun = Decoded {
        text: new.to_owned(),
        encoding: Encoding::UTF_8,
        has_mark: false,
    };
    let (_, later) = arguments.edits.split_at(1);
    let (new, _) = replaced(begun, arguments, later)?;
    let written = files.write(&arguments.path, new.as_bytes(), Expect::Nothing);
    let written = require_new(written, &arguments.path)?;
    let seen = SeenFile::holding(&written.path, new.as_bytes());
    ledger.note(&seen);
    let text = format!("created {}", shown(&written.path));
    let data = json!({"path": written.path, "created": true});
    let answer = Answer {
        seen: vec![seen],
        written_bytes: new.len() as u64,
        ..Answer::new(text, data)
    };
    Ok((
        answer,
        Changed {
            path: written.path,
            before: None,
            after: new.into_bytes(),
        },
    ))
}

/// Explains that an empty text is not replaced in a file.
fn require_new<T>(result: Result<T, ToolError>, path: &str) -> Result<T, ToolError> {
    result.map_err(|error| match error {
        ToolError::Retry(_) => ToolError::Retry(format!(
            "`old` is empty, which creates a new file, but {} exists; pass the text to replace",
            shown(path)
        )),
        other => other,
    })
}

/// A replacement that matches the file, with the line numbers of its matches.
#[derive(Debug, PartialEq)]
struct Edit {
    old: String,
    new: String,
    lines: Vec<usize>,
}

impl Edit {
    /// Finds the old text exactly, or else with the file's own line ends, or, in a file of mixed
    /// ones, with the others. It must occur once, unless `replace_all` is set.
    fn find(file: &Decoded, path: &str, wanted: &Replacement) -> Result<Edit, ToolError> {
        let (old, new) = (&wanted.old, &wanted.new);
        if old.is_empty() {
            return Err(ToolError::Retry(
                "`old` is empty, which creates a new file".to_owned(),
            ));
        }
        let crlf = |text: &str| with_line_feeds(text).replace('\n', "\r\n");
        // What has no line end itself is replaced with the file's own ones.
        let mut ways = [
            (crlf(old), crlf(new)),
            (with_line_feeds(old), with_line_feeds(new)),
            (old.clone(), new.clone()),
        ];
        if !file.has_crlf() {
            ways.reverse();
        }
        let Some((old, new)) = ways
            .into_iter()
            .find(|(old, _)| file.text.contains(old.as_str()))
        else {
            return Err(ToolError::Retry(not_found(path, &file.text, &wanted.old)));
        };
        let lines: Vec<usize> = positions(&file.text, &old);
        match lines.len() {
            1 => Ok(Edit { old, new, lines }),
            _ if wanted.replace_all => Ok(Edit { old, new, lines }),
            many => Err(ToolError::Retry(format!(
                "`old` occurs {many} times in {}, at lines {}; add lines around it until it is \
                 unique, or set replace_all",
                shown(path),
                list(&lines)
            ))),
        }
    }

    /// Requires that it was found as often as the call expects.
    fn require(self, arguments: &Arguments) -> Result<Edit, ToolError> {
        match arguments.expected_replacements {
            Some(expected) if expected != self.lines.len() => Err(ToolError::Retry(format!(
                "`old` occurs {} times in {}, not {expected} times, at lines {}",
                self.lines.len(),
                shown(&arguments.path),
                list(&self.lines)
            ))),
            _ => Ok(self),
        }
    }
}

fn with_line_feeds(text: &str) -> String {
    text.replace("\r\n", "\n")
}

fn positions(text: &str, old: &str) -> Vec<usize> {
    let (mut lines, mut line, mut rest) = (Vec::new(), 1, text);
    while let Some((before, after)) = rest.split_once(old) {
        line += line_ends(before);
        lines.push(line);
        line += line_ends(old);
        rest = after;
    }
    lines
}

fn line_ends(text: &str) -> usize {
    text.matches('\n').count()
}

fn list(lines: &[usize]) -> String {
    let shown: Vec<String> = lines
        .iter()
        .take(LISTED_LINES)
        .map(usize::to_string)
        .collect();
    let more = if lines.len() > LISTED_LINES {
        ", …"
    } else {
        ""
    };
    format!("{}{more}", shown.join(", "))
}

fn not_found(path: &str, text: &str, old: &str) -> String {
    let wanted = old
        .lines()
        .map(clip)
        .find(|line| !line.is_empty())
        .unwrap_or_default();
    let mut near: Vec<(usize, usize, String)> = text
        .lines()
        .take(COMPARED_LINES)
        .enumerate()
        .map(|(at, line)| (at + 1, clip(line)))
        .filter(|(_, line)| !line.is_empty())
        .map(|(number, line)| (strsim::osa_distance(&wanted, &line), number, line))
        .filter(|(distance, _, line)| {
            *distance <= wanted.chars().count().max(line.chars().count()) / 2
        })
        .collect();
    near.sort_unstable();
    near.truncate(NEAREST_LINES);
    near.sort_unstable_by_key(|(_, number, _)| *number);
    let intro = format!("`old` was not found in {} (0 matches)", shown(path));
    if near.is_empty() {
        return format!("{intro}, and no line resembles its first line; read the file again");
    }
    let shown: Vec<String> = near
        .into_iter()
        .map(|(_, number, line)| format!("{number:>6}\t{line}"))
        .collect();
    format!(
        "{intro}; the lines most similar to its first line are:\n{}",
        shown.join("\n")
    )
}

fn clip(line: &str) -> String {
    line.trim()
        .chars()
        .take(COMPARED_CHARACTERS)
        .collect::<String>()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(text: &str, old: &str, new: &str, replace_all: bool) -> Result<Edit, String> {
        let file = Decoded {
            text: text.to_owned(),
            encoding: Encoding::UTF_8,
            has_mark: false,
        };
        let wanted = Replacement {
            old: old.to_owned(),
            new: new.to_owned(),
            replace_all,
        };
        Edit::find(&file, "f", &wanted).map_err(|error| error.to_string())
    }

    #[test]
    fn a_text_that_is_there_once_is_replaced() {
        let expected = Edit {
            old: "b".into(),
            new: "c".into(),
            lines: vec![2],
        };
        assert_eq!(find("a\nb\n", "b", "c", false), Ok(expected));
    }

    #[test]
    fn line_ends_of_the_file_are_kept() {
        let expected = Edit {
            old: "a\r\nb".into(),
            new: "x\r\ny".into(),
            lines: vec![1],
        };
        assert_eq!(find("a\r\nb\r\n", "a\nb", "x\ny", false), Ok(expected));
        let expected = Edit {
            old: "a\nb".into(),
            new: "x\ny".into(),
            lines: vec![1],
        };
        assert_eq!(find("a\nb\n", "a\r\nb", "x\r\ny", false), Ok(expected));
    }

    #[test]
    fn a_text_is_found_in_a_file_of_mixed_line_ends() {
        // Mostly CRLF, and mostly LF; what is given has the line ends that `read_file` shows.
        let expected = Edit {
            old: "b\nc".into(),
            new: "x\ny".into(),
            lines: vec![2],
        };
        assert_eq!(find("a\r\nb\nc\r\n", "b\nc", "x\ny", false), Ok(expected));
        let expected = Edit {
            old: "a\r\nb".into(),
            new: "x\r\ny".into(),
            lines: vec![1],
        };
        assert_eq!(find("a\r\nb\nc\nd\n", "a\nb", "x\ny", false), Ok(expected));
        let expected = Edit {
            old: "a".into(),
            new: "x\r\ny".into(),
            lines: vec![1],
        };
        assert_eq!(find("a\r\nb\nc\r\n", "a", "x\ny", false), Ok(expected));
    }

    #[test]
    fn an_ambiguous_text_is_refused_with_its_lines() {
        assert_eq!(
            find("a\nb\na\n", "a", "c", false),
            Err("`old` occurs 2 times in f, at lines 1, 3; add lines around it until it is unique, \
                 or set replace_all"
                .to_owned())
        );
        assert_eq!(
            find("a\nb\na\n", "a", "c", true).map(|edit| edit.lines),
            Ok(vec![1, 3])
        );
    }

    #[test]
    fn a_text_that_is_not_there_is_answered_with_the_nearest_lines() {
        let text = "fn main() {\n    let count = 1;\n}\n";
        assert_eq!(
            find(text, "let counter = 1;", "", false),
            Err(
                "`old` was not found in f (0 matches); the lines most similar to its first line \
                 are:\n     2\tlet count = 1;"
                    .to_owned()
            )
        );
        assert_eq!(
            find(text, "something else entirely", "", false),
            Err(
                "`old` was not found in f (0 matches), and no line resembles its first line; read \
                 the file again"
                    .to_owned()
            )
        );
    }
}
