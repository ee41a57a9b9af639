//! `find_code_patterns`: searches code by its structure.

use std::collections::BTreeMap;

use async_trait::async_trait;
use orchestrate_code::{CodeError, Language, LanguageHint, Pattern, PatternMatch, Source};
use orchestrate_core::invisible::shown;
use serde::Deserialize;
use serde_json::{Value, json};

use super::super::arguments::read;
use super::super::facts::facts;
use crate::arguments::invalid;
use crate::code_files::{CodeFile, Survey, Surveyor};
use crate::context::ToolContext;
use crate::effect::AnswersFrom;
use crate::error::ToolError;
use crate::files::WalkLimits;
use crate::output::Answer;
use crate::prompt::Prompt;
use crate::tool::Tool;

/// Maximum number of matches to show.
const MAX_SHOWN: usize = 200;
/// Maximum number of characters of one match to show.
const MAX_CHARACTERS: usize = 200;

/// The `find_code_patterns` tool.
pub(crate) struct FindCodePatterns(pub(crate) Prompt);

#[derive(Deserialize)]
struct Arguments {
    pattern: String,
    #[serde(default)]
    path: String,
    language: Option<String>,
}

#[async_trait]
impl Tool for FindCodePatterns {
    facts!("find_code_patterns", ANALYSIS, FileRead, paths["path"]);

    fn is_default(&self) -> bool {
        false
    }

    fn names_folders(&self) -> bool {
        true
    }

    fn answers_from(&self) -> AnswersFrom {
        AnswersFrom::Contents
    }

    async fn execute(&self, context: &ToolContext, arguments: Value) -> Result<Answer, ToolError> {
        let arguments: Arguments = read(arguments)?;
        let surveyor = Surveyor::of(context);
        context
            .blocking(move |files, _| {
                let patterns = patterns(&arguments, &surveyor.limits)?;
                let survey = surveyor.survey(files, &[arguments.path], &|file| matches(&patterns, file))?;
                Ok(answer(survey, &patterns))
            })
            .await
    }
}

/// Returns what of a file matches the pattern in its language, if anything does. Only a file that may have a match is
/// parsed.
fn matches(
    patterns: &BTreeMap<Language, Pattern>,
    file: &CodeFile<'_>,
) -> Result<Option<Vec<PatternMatch>>, CodeError> {
    if let LanguageHint::Named(language) = file.hint()
        && !patterns.contains_key(&language)
    {
        return Ok(None);
    }
    let Some((language, text)) = file.code()? else { return Ok(None) };
    let Some(pattern) = patterns.get(&language).filter(|pattern| pattern.may_match(text)) else { return Ok(None) };
    let stop = || file.is_stopped();
    let found = pattern.find(&Source::parse(language, text, &stop)?, &stop)?;
    Ok(if found.is_empty() { None } else { Some(found) })
}

/// Reads the pattern in the language that the call names, or in each in which it is code.
fn patterns(arguments: &Arguments, limits: &WalkLimits) -> Result<BTreeMap<Language, Pattern>, ToolError> {
    let stop = || limits.check().is_err();
    let parse = |language| match Pattern::parse(language, &arguments.pattern, &stop) {
        Ok(pattern) => Ok(pattern),
        Err(error @ CodeError::NotBuilt(_)) => Err(ToolError::Absent(error.to_string())),
        Err(error) => Err(invalid(&format!("`pattern`: {error}"))),
    };
    if let Some(name) = &arguments.language {
        let unknown = || invalid(&format!("`language`: expected one of {}", Language::names().join(", ")));
        let language = Language::named(name).ok_or_else(unknown)?;
        return Ok(BTreeMap::from([(language, parse(language)?)]));
    }
    let (mut patterns, mut first) = (BTreeMap::new(), None);
    for language in Language::ALL {
        match parse(language) {
            Ok(pattern) => {
                patterns.insert(language, pattern);
            }
            Err(error @ ToolError::Absent(_)) => return Err(error),
            Err(error) => {
                first.get_or_insert(error);
            }
        }
    }
    limits.check()?;
    match first {
        Some(ToolError::Retry(_)) if patterns.is_empty() => Err(invalid(
            "`pattern` has to be one whole expression, statement or declaration of a language that is understood, such \
             as `$X.unwrap()` or `print($$$ARGS)`; name the `language` to see what is wrong",
        )),
        _ => Ok(patterns),
    }
}

fn answer(survey: Survey<Vec<PatternMatch>>, patterns: &BTreeMap<Language, Pattern>) -> Answer {
    let notes = survey.notes();
    let files = survey.found.len();
    let total: usize = survey.found.iter().map(|(_, found)| found.len()).sum();
    let (mut lines, mut data) = (Vec::new(), Vec::new());
    for (path, found) in survey.found {
        for one in found.into_iter().take(MAX_SHOWN.saturating_sub(data.len())) {
            lines.push(line(&path, &one));
            data.push(json!({"path": path, "match": one}));
        }
    }
    if total == 0 {
        let languages: Vec<&str> = patterns.keys().map(|language| language.name()).collect();
        lines.push(format!("no matches (the pattern was read as {})", languages.join(", ")));
    }
    if total > data.len() {
        lines.push(if files == 1 {
            format!("[the first {} of {total} matches in one file; narrow the pattern]", data.len())
        } else {
            format!("[the first {} of {total} matches in {files} files; name a folder or a file]", data.len())
        });
    }
    lines.extend(notes);
    Answer::new(lines.join("\n"), json!({"matches": data, "total": total}))
}

fn line(path: &str, found: &PatternMatch) -> String {
    let one_line = |text: &str| {
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let begin: String = words.chars().take(MAX_CHARACTERS).collect();
        if begin.len() < words.len() { format!("{begin}…") } else { begin }
    };
    let captures: Vec<String> =
        found.captures.iter().map(|capture| format!("${} = {}", capture.name, one_line(&capture.text))).collect();
    let captures = if captures.is_empty() { String::new() } else { format!("  [{}]", captures.join("; ")) };
    shown(&format!("{path}:{}:{}: {}{captures}", found.line, found.column, one_line(&found.text)))
}
