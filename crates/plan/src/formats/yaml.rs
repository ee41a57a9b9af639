//! What formats read from a front matter: values with their places, since some are written back.

use std::ops::Range;

use serde::de::DeserializeOwned;
use serde_saphyr::Spanned;

use crate::fields::attributes::Located;
use crate::finding::{FindingCode, Findings, Pending};
use crate::front_matter;
use crate::lines::source::Source;
use crate::mark::Mark;
use crate::tasks::draft::{Draft, UNKNOWN};
use crate::tasks::status;
use crate::yaml;
use orchestrate_core::task::TaskStatus;

/// A front matter as a format reads it.
pub(crate) struct Front<'s, 'a, T> {
    source: &'s Source<'a>,
    /// The place of its YAML.
    range: Range<usize>,
    /// What it says.
    pub(crate) keys: T,
}

impl<'s, 'a, T: DeserializeOwned> Front<'s, 'a, T> {
    /// Reads the front matter of a document; `None` if it has none, or one of another kind.
    pub(crate) fn read(source: &'s Source<'a>) -> Option<Self> {
        let (range, _) = front_matter::split(source)?;
        // Not with quotes around values that need them: these would move the places.
        let keys = serde_saphyr::from_str(source.slice(range.clone())).ok()?;
        Some(Self {
            source,
            range,
            keys,
        })
    }

    /// Returns where a value begins.
    pub(crate) fn start<V>(&self, value: &Spanned<V>) -> usize {
        yaml::place_of(&value.defined, self.range.start).start
    }

    /// Returns a word as written between its quotes, with its place.
    pub(crate) fn word(&self, value: &Spanned<String>) -> Located {
        let place = yaml::place_of(&value.defined, self.range.start);
        let written = self.source.slice(place.clone());
        let text = written.trim().trim_matches(['"', '\'']);
        Located::new(text, place.start + written.find(text).unwrap_or(0))
    }

    /// Returns each word of a list.
    pub(crate) fn words(&self, list: Option<&Vec<Spanned<String>>>) -> Vec<Located> {
        let list = list.into_iter().flatten();
        list.map(|value| self.word(value)).collect()
    }

    /// Sets the status of a task to a value, which becomes `done` once the task is done; an unknown
    /// one is not run.
    pub(crate) fn set_status(
        &self,
        value: &Spanned<String>,
        done: &'static str,
        draft: &mut Draft,
        findings: &mut Findings,
    ) {
        let said = self.word(value);
        if said.text.is_empty() {
            return;
        }
        let known = status::of_text(&said.text);
        draft.status = known.unwrap_or(TaskStatus::Todo);
        if known.is_none() {
            draft.hold(TaskStatus::Blocked, UNKNOWN);
            let message = format!("unknown status `{}`: this task is not run", said.text);
            let code = FindingCode::InvalidValue;
            findings.warn(Pending::new(said.offset, code, &said.text, message));
        }
        // What stands for a value elsewhere is not written.
        if value.referenced == value.defined {
            draft.marks = vec![Mark {
                range: said.offset..said.offset + said.text.len(),
                done: match draft.status {
                    TaskStatus::Done => said.text.into(),
                    _ => done.into(),
                },
            }];
        }
    }
}

/// Returns a text in one line.
pub(crate) fn one_line(text: Option<&String>) -> String {
    let words = text.into_iter().flat_map(|text| text.split_whitespace());
    words.collect::<Vec<_>>().join(" ")
}
