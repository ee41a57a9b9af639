//! Finds out whether a test contains its own control: its source says so, or that of a function
//! that it calls.
//!
//! A control is part of the test, so a control that no longer trips fails the test. This module
//! deliberately does not check whether what is called a control is one.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use libtest_mimic::Failed;

use crate::support::Outcome;

/// How the source marks a control: with a comment or a failure text that begins so.
const WORDS: [&str; 2] = ["/ The control", "\"the control "];

/// The functions of a package by name: the comment before each, and its body.
pub(super) struct Functions(BTreeMap<String, String>);

/// A function whose end was not read yet.
struct Open {
    name: String,
    indent: usize,
    text: String,
}

impl Functions {
    /// Reads the sources of a package, tests included.
    pub(super) fn of(package: &Path) -> Result<Self, Failed> {
        let mut functions = Self(BTreeMap::new());
        for folder in ["src", "tests"] {
            functions.read(&package.join(folder))?;
        }
        Ok(functions)
    }

    fn read(&mut self, folder: &Path) -> Outcome {
        let Ok(entries) = fs::read_dir(folder) else {
            return Ok(());
        };
        for entry in entries {
            let path = entry?.path();
            if path.is_dir() {
                self.read(&path)?;
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                self.add(&fs::read_to_string(path)?);
            }
        }
        Ok(())
    }

    /// Adds the functions of a formatted source, and those of its modules: each ends at a line that
    /// consists of its closing brace, as far to the right as its beginning.
    fn add(&mut self, source: &str) {
        let mut comment = String::new();
        let mut open: Option<Open> = None;
        for line in source.lines() {
            let code = line.trim_start();
            let indent = line.len() - code.len();
            if let Some(mut function) = open.take() {
                function.text.push_str(line);
                function.text.push('\n');
                // A declaration in a trait has no body.
                if indent == function.indent && (code == "}" || code.ends_with(';')) {
                    self.0
                        .entry(function.name)
                        .or_default()
                        .push_str(&function.text);
                } else {
                    open = Some(function);
                }
            } else if code.ends_with([';', '}']) {
                comment.clear();
            } else if let Some(name) = name_of(code) {
                open = Some(Open {
                    name: name.to_owned(),
                    indent,
                    text: std::mem::take(&mut comment),
                });
            } else if code.starts_with("///") || code.starts_with("#[") {
                comment.push_str(line);
                comment.push('\n');
            } else {
                comment.clear();
            }
        }
    }

    /// Reports whether a function is itself marked as a control.
    pub(super) fn is_marked(&self, name: &str) -> bool {
        self.0.get(name).is_some_and(|text| is_marked(text))
    }

    /// Reports whether a function, or one that it calls, is marked as a control.
    pub(super) fn hold_a_control(&self, name: &str) -> bool {
        let mut seen = BTreeSet::new();
        let mut open = vec![name];
        while let Some(name) = open.pop() {
            let Some((name, text)) = self
                .0
                .get_key_value(name)
                .filter(|(name, _)| seen.insert(name.as_str()))
            else {
                continue;
            };
            if is_marked(text) {
                return true;
            }
            open.extend(text.lines().flat_map(calls_in).filter_map(|word| {
                let (called, _) = self.0.get_key_value(&word)?;
                (called != name).then_some(called.as_str())
            }));
        }
        false
    }
}

fn is_marked(text: &str) -> bool {
    WORDS.iter().any(|word| text.contains(word))
}

/// Returns the names in a line of code that may be functions: neither its comment, its texts nor
/// its methods.
fn calls_in(line: &str) -> Vec<String> {
    let code: String = line.split('"').step_by(2).collect::<Vec<_>>().join("\"");
    let code = code.split("//").next().unwrap_or_default();
    let mut calls = Vec::new();
    let mut word = String::new();
    let mut before = ' ';
    for c in code.chars().chain([' ']) {
        if c.is_alphanumeric() || c == '_' {
            word.push(c);
            continue;
        }
        if !word.is_empty() && before != '.' {
            calls.push(std::mem::take(&mut word));
        }
        word.clear();
        before = c;
    }
    calls
}

/// Returns the name of the function that a line begins with.
fn name_of(line: &str) -> Option<&str> {
    let plain = ["pub(crate) ", "pub(super) ", "pub ", "async "].iter();
    let line = plain.fold(line, |line, prefix| {
        line.strip_prefix(prefix).unwrap_or(line)
    });
    let name = line.strip_prefix("fn ")?;
    name.split(|c: char| !c.is_alphanumeric() && c != '_')
        .next()
}

pub(super) fn examples_are_found() -> Outcome {
    let mut functions = Functions(BTreeMap::new());
    functions.add(
        "fn attack() {\n    play();\n}\n\n/// The control is at the end.\nfn play() {\n}\n\nfn bare() {\n    other();\n}\n\
         async fn other() {\n    let control = read(\"the socket\");\n}\nfn told() {\n    fail(\"the control fails\");\n}\n\
         fn by_chance() {\n    // As told, and as they play.\n    text.play(\"told\");\n}\n\
         mod tests {\n    #[test]\n    fn within() {\n        // The control: it is open.\n        if a {\n        }\n    }\n}\n",
    );
    let names = [
        "attack",
        "play",
        "bare",
        "other",
        "absent",
        "told",
        "by_chance",
        "within",
    ];
    let found = names.map(|name| functions.hold_a_control(name));
    let marked = names.map(|name| functions.is_marked(name));
    let is_expected = found == [true, true, false, false, false, true, false, true]
        && marked == [false, true, false, false, false, true, false, true];
    assert!(is_expected, "{found:?} {marked:?}");
    Ok(())
}
