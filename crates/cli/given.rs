//! Decides whether an argument names a plan, or is a goal in words.
//!
//! What exists as a file or a folder is a path. Else a text with white space is a goal, unless it
//! has the form of a path that was mistyped or of a command that was quoted; a single word is
//! always a path. What ends like the name of a plan is a path, unless it ends with a name of its
//! own, that of a file which exists or whose folder does.

use std::borrow::Cow;
use std::ffi::OsString;
use std::path::Path;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use orchestrate_core::text::similar::nearest;
use orchestrate_core::{RunId, shell_word};

use crate::args;
use crate::context::Context;
use crate::error::CommandError;

/// How the names of plans end.
const ENDINGS: [&str; 6] = [".md", ".markdown", ".json", ".jsonl", ".yaml", ".txt"];

/// What an argument is that may be a plan or a goal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Given<'a> {
    /// The path of a plan.
    Plan(&'a Path),
    /// A plan that standard input carries, written as `-`.
    Input,
    /// A goal, as it was typed.
    Goal(&'a str),
}

impl<'a> Given<'a> {
    /// Decides what an argument is; fails if it can only be a mistake.
    pub(crate) fn recognize(context: &Context, typed: &'a Path) -> Result<Self, CommandError> {
        if typed.as_os_str() == "-" {
            return Ok(Self::Input);
        }
        let text = typed.to_str().unwrap_or_default();
        let exists = || context.directory.join(typed).symlink_metadata().is_ok();
        if !text.contains(char::is_whitespace) || exists() {
            return Ok(Self::Plan(typed));
        }
        if text.trim().is_empty() {
            return Err(CommandError::usage("the goal is empty")
                .hint("describe what is to be done, in quotes"));
        }
        if is_path(context, typed) {
            return Ok(Self::Plan(typed));
        }
        match quoted_command(context, text) {
            Some(command) => {
                let error = CommandError::usage(format!("`{text}` is one argument, and no file"));
                let hint = format!("did you mean `orchestrate {command}`, without quotes?");
                Err(error.hint(hint))
            }
            None => Ok(Self::Goal(text)),
        }
    }
}

/// Returns the error of a goal whose words are several arguments, if that is why the command line
/// is refused.
pub(crate) fn without_quotes(
    context: &Context,
    typed: &[OsString],
    refused: &clap::Error,
) -> Option<CommandError> {
    let Some(ContextValue::String(unexpected)) = refused.get(ContextKind::InvalidArg) else {
        return None;
    };
    let texts = typed.iter().map(|argument| argument.to_string_lossy());
    let texts: Vec<_> = texts.collect();
    let command = texts.get(1)?;
    if !matches!(command.as_ref(), "run" | "check" | "plan") {
        return None;
    }
    // The first word is taken for the plan, so the second one is refused.
    let is_first =
        |pair: &[Cow<'_, str>]| matches!(pair, [word, next] if is_word(word) && next == unexpected);
    let first = 2 + texts.get(2..)?.windows(2).position(is_first)?;
    let words = texts.iter().skip(first).map(AsRef::as_ref);
    let words: Vec<&str> = words.take_while(|text| is_word(text)).collect();
    let is_file = |word: &&str| {
        word.ends_with(".md") || context.directory.join(word).symlink_metadata().is_ok()
    };
    if refused.kind() != ErrorKind::UnknownArgument || words.iter().any(is_file) {
        return None;
    }
    let words = words.join(" ");
    let message = format!("`{words}` is several arguments, and one file or one goal is expected");
    let quoted = shell_word(&words);
    let hint = format!("a goal of several words is quoted: `orchestrate {command} {quoted}`");
    Some(CommandError::usage(message).hint(hint))
}

fn is_word(text: &str) -> bool {
    !text.starts_with('-')
}

/// Reports whether a text that is no file has the form of a path: it begins as one, or its folder
/// exists, or it ends as one, or the name of a file beside it is almost the same.
fn is_path(context: &Context, typed: &Path) -> bool {
    let name = typed.file_name().and_then(|name| name.to_str());
    let Some(name) = name.filter(|name| !name.contains('\n')) else {
        return false;
    };
    let (starts, text) = (["/", "./", "../", "~/"], typed.to_string_lossy());
    if starts.iter().any(|start| text.starts_with(start)) {
        return true;
    }
    let last = text.split_whitespace().next_back().map_or("", |last| last);
    let ends_as_plan = ENDINGS.iter().any(|ending| last.ends_with(ending));
    if ends_as_plan && !is_file_of_goal(context, Path::new(last)) {
        return true;
    }
    let parent = typed.parent().unwrap_or(Path::new(""));
    let folder = context.directory.join(parent);
    if !parent.as_os_str().is_empty() {
        return folder.is_dir();
    }
    let beside = folder.read_dir().into_iter().flatten().flatten();
    let beside = beside.filter_map(|entry| entry.file_name().into_string().ok());
    let beside: Vec<String> = beside.collect();
    nearest(name, beside.iter().map(String::as_str)).is_some()
}

/// Reports whether the last word of a goal names a file: one that exists, or one in a folder that
/// exists.
fn is_file_of_goal(context: &Context, last: &Path) -> bool {
    let parent = last
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let folder_exists = parent.is_some_and(|folder| context.directory.join(folder).is_dir());
    folder_exists || context.directory.join(last).is_file()
}

/// Returns the command line that a text seems to be: a command, and as its argument a file or a
/// run.
fn quoted_command(context: &Context, text: &str) -> Option<String> {
    let (first, argument) = text.split_once(char::is_whitespace)?;
    let argument = argument.trim();
    let names = args::command_names();
    let command = nearest(first, names.iter().map(String::as_str))?;
    let is_argument = RunId::is_run_id(argument) || context.directory.join(argument).exists();
    is_argument.then(|| format!("{command} {argument}"))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::show::failure;
    use crate::show::terminal::Terminal;

    #[test]
    fn words_are_a_goal_and_what_looks_like_a_path_is_one() {
        let folder = tempfile::tempdir().unwrap();
        let context = Context {
            variables: BTreeMap::new(),
            directory: folder.path().to_owned(),
            terminal: Terminal::dumb(),
        };
        std::fs::create_dir(folder.path().join("docs")).unwrap();
        for file in ["plan.md", "my plan.md"] {
            std::fs::write(folder.path().join(file), "- [ ] T1 a\n").unwrap();
        }
        let goals = [
            "fix the flaky login test",
            "fix tests",
            "fix the typo in plan.md",
            "review docs/guide.md",
            "check the plan",
            "Why is it slow?\n\n./measure first",
            " fix it ",
        ];
        let plans = [
            "plan.md",
            "nope.md",
            "fix",
            "",
            "my plan.md",
            "my plna.md",
            "./my goal.md",
            "docs/my goal.md",
            "my plans/plan.md",
            "our first plan.markdown",
        ];
        for text in goals {
            assert_eq!(
                Given::recognize(&context, Path::new(text)).ok(),
                Some(Given::Goal(text)),
                "{text}"
            );
        }
        for text in plans {
            assert_eq!(
                Given::recognize(&context, Path::new(text)).ok(),
                Some(Given::Plan(Path::new(text))),
                "{text}"
            );
        }
        for (text, expected) in [
            ("  \n", "the goal is empty"),
            (
                "check plan.md",
                "did you mean `orchestrate check plan.md`, without quotes?",
            ),
            (
                "statsu r-abcdefghi",
                "did you mean `orchestrate status r-abcdefghi`, without quotes?",
            ),
        ] {
            let error = Given::recognize(&context, Path::new(text))
                .map(|_| ())
                .unwrap_err();
            assert!(
                failure::render(&error, Terminal::dumb()).contains(expected),
                "{text}"
            );
        }
    }
}
