//! `find_code_patterns`: searches code by its structure.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use orchestrate_code::{CodeError, Language, LanguageHint, Pattern, PatternMatch, Source};
use orchestrate_core::text::invisible::shown;
use orchestrate_core::text::{in_one_line, shortened};
use serde::Deserialize;
use serde_json::{Value, json};

use super::super::facts::facts;
use crate::answer::{Answer, ToolError};
use crate::call::AnswersFrom;
use crate::code_files::{CodeFile, Survey, Surveyor};
use crate::files::WalkLimits;
use crate::tool::arguments::{invalid, read};
use crate::tool::{CallSite, Look, Prepared, Prompt, Tool, ToolContext};

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
    facts!(
        "find_code_patterns", ANALYSIS, FileRead,
        path_fields: &["path"],
        is_default: false,
        names_folders: true,
        answers_from: AnswersFrom::Contents,
    );

    fn prepare(&self, site: &CallSite, arguments: Value) -> Result<Prepared, ToolError> {
        let rehearsal = Look::at_files(|files, scope, arguments: Arguments| {
            patterns(&arguments, &Surveyor::limits(scope))?;
            files.find(&arguments.path).map(drop)
        });
        Ok(Prepared::on_paths(self.properties(), site, arguments)?.rehearsed(rehearsal))
    }

    async fn execute(&self, context: &ToolContext, arguments: Value) -> Result<Answer, ToolError> {
        let arguments: Arguments = read(arguments)?;
        let surveyor = Surveyor::for_call(context);
        context
            .blocking(move |files, _| {
                let search = Search::from_arguments(&arguments, &surveyor.limits)?;
                let survey =
                    surveyor.survey(files, &[arguments.path], &|file| search.matches(file))?;
                search.require_code()?;
                Ok(answer(survey, &search))
            })
            .await
    }
}

/// A pattern, and the languages of the files that a search for it looks at.
struct Search {
    /// The pattern in each language in which it is code, or in the one that the call names.
    patterns: BTreeMap<Language, Pattern>,
    named: Option<Language>,
    /// The languages of the files, each as the bit of its place among all.
    seen: AtomicUsize,
}

impl Search {
    fn from_arguments(arguments: &Arguments, limits: &WalkLimits) -> Result<Search, ToolError> {
        let patterns = patterns(arguments, limits)?;
        let named = arguments.language.as_deref().and_then(Language::named);
        Ok(Search {
            patterns,
            named,
            seen: AtomicUsize::new(0),
        })
    }

    /// Returns what of a file matches the pattern in its language, if anything does. Only a file
    /// that may have a match is parsed.
    fn matches(&self, file: &CodeFile<'_>) -> Result<Option<Vec<PatternMatch>>, CodeError> {
        if let LanguageHint::Named(language) = file.hint() {
            self.note(language);
            if !self.patterns.contains_key(&language) {
                return Ok(None);
            }
        }
        file.within_memory(|stop| {
            let Some((language, text)) = file.code()? else {
                return Ok(None);
            };
            self.note(language);
            let pattern = self
                .patterns
                .get(&language)
                .filter(|pattern| pattern.may_match(text));
            let Some(pattern) = pattern else {
                return Ok(None);
            };
            let found = pattern.find(&Source::parse(language, text, stop)?, stop)?;
            Ok(if found.is_empty() { None } else { Some(found) })
        })
    }

    fn note(&self, language: Language) {
        let bit = bit(language);
        // Most files are in a language that was seen before, and threads would wait for each other
        // to write it.
        if self.seen.load(Ordering::Relaxed) & bit == 0 {
            self.seen.fetch_or(bit, Ordering::Relaxed);
        }
    }

    /// Returns the languages of the files that were looked at: those in which the pattern is code,
    /// or those in which it is none.
    fn languages(&self, is_code: bool) -> Vec<Language> {
        let seen = self.seen.load(Ordering::Relaxed);
        let is_wanted = |language: &Language| {
            seen & bit(*language) != 0 && self.patterns.contains_key(language) == is_code
        };
        Language::ALL.into_iter().filter(is_wanted).collect()
    }

    /// Refuses a pattern that is code in languages of other files alone: that nothing matches it
    /// says nothing.
    fn require_code(&self) -> Result<(), ToolError> {
        let others = self.languages(false);
        if self.named.is_some() || others.is_empty() || !self.languages(true).is_empty() {
            return Ok(());
        }
        let code_in: Vec<Language> = self.patterns.keys().copied().collect();
        Err(invalid(&format!(
            "`pattern` is no code in {}, the languages of these files, but only in {}; it has to \
             be one whole expression, statement or declaration; name the `language` to see what is \
             wrong",
            names(&others),
            names(&code_in)
        )))
    }

    /// Says in which languages the files were searched, and in which there are others.
    fn worded(&self) -> String {
        let (searched, others) = (self.languages(true), self.languages(false));
        match (searched.is_empty(), self.named) {
            (true, Some(named)) => return format!("no file in {named} was searched"),
            (true, None) => return "no file was searched".to_owned(),
            (false, _) => {}
        }
        let read_as = format!("the pattern was read as {}", names(&searched));
        match others.is_empty() || self.named.is_some() {
            true => read_as,
            false => format!(
                "{read_as}; it is no code in {}, in which there are files, too",
                names(&others)
            ),
        }
    }
}

/// Returns the bit of a language among all languages.
fn bit(language: Language) -> usize {
    Language::ALL
        .iter()
        .position(|other| *other == language)
        .map_or(0, |place| 1_usize << place)
}

fn names(languages: &[Language]) -> String {
    languages
        .iter()
        .map(|language| language.name())
        .collect::<Vec<_>>()
        .join(", ")
}

/// Reads the pattern in the language that the call names, or in each in which it is code.
fn patterns(
    arguments: &Arguments,
    limits: &WalkLimits,
) -> Result<BTreeMap<Language, Pattern>, ToolError> {
    let stop = || limits.check().is_err();
    let parse = |language| match Pattern::parse(language, &arguments.pattern, &stop) {
        Ok(pattern) => Ok(pattern),
        Err(error @ CodeError::NotBuilt(_)) => Err(ToolError::Absent(error.to_string())),
        Err(error) => Err(invalid(&format!("`pattern`: {error}"))),
    };
    if let Some(name) = &arguments.language {
        let language = Language::named(name).ok_or_else(unknown_language)?;
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
            "`pattern` has to be one whole expression, statement or declaration of a language that \
             is understood, such as `$X.unwrap()` or `print($$$ARGS)`; name the `language` to see \
             what is wrong",
        )),
        _ => Ok(patterns),
    }
}

fn unknown_language() -> ToolError {
    invalid(&format!(
        "`language`: expected one of {}",
        Language::names().join(", ")
    ))
}

fn answer(survey: Survey<Vec<PatternMatch>>, search: &Search) -> Answer {
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
        lines.push(format!("no matches ({})", search.worded()));
    }
    if total > data.len() {
        lines.push(if files == 1 {
            format!(
                "[the first {} of {total} matches in one file; narrow the pattern]",
                data.len()
            )
        } else {
            format!(
                "[the first {} of {total} matches in {files} files; name a folder or a file]",
                data.len()
            )
        });
    }
    let languages = search.languages(true);
    // Of files in one language alone, each match says as much.
    if total > 0 && search.named.is_none() && languages.len() + search.languages(false).len() > 1 {
        lines.push(format!("[{}]", search.worded()));
    }
    lines.extend(notes);
    Answer::new(
        lines.join("\n"),
        json!({"matches": data, "total": total, "languages": languages}),
    )
}

fn line(path: &str, found: &PatternMatch) -> String {
    let captures: Vec<String> = found
        .captures
        .iter()
        .map(|capture| format!("${} = {}", capture.name, one_line(&capture.text)))
        .collect();
    let captures = if captures.is_empty() {
        String::new()
    } else {
        format!("  [{}]", captures.join("; "))
    };
    shown(&format!(
        "{path}:{}:{}: {}{captures}",
        found.line,
        found.column,
        one_line(&found.text)
    ))
}

fn one_line(text: &str) -> String {
    shortened(&in_one_line(text), MAX_CHARACTERS)
}
