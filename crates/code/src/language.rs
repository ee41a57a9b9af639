//! The languages, and how files say theirs.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A language with a grammar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Language {
    /// C.
    C,
    /// C++.
    #[serde(rename = "c++")]
    Cpp,
    /// Go.
    Go,
    /// Java.
    Java,
    /// JavaScript, with JSX.
    JavaScript,
    /// Python 3.
    Python,
    /// Rust.
    Rust,
    /// Scripts for POSIX shells and bash.
    Shell,
    /// TypeScript with JSX, whose grammar differs from that of TypeScript.
    Tsx,
    /// TypeScript.
    TypeScript,
}

/// How the language of a file is found out, as far as its name says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum LanguageHint {
    /// The name says it.
    Named(Language),
    /// A header, whose text shows whether it is C or C++.
    Header,
    /// A file without an ending, whose first line may name a program.
    FirstLine,
}

/// The number of bytes of a header that are searched for signs of C++.
const HEADER_BYTES: usize = 64 << 10;
/// What stands in headers of C++ and in none of C.
const CPP_SIGNS: [&str; 7] = [
    "class ",
    "namespace ",
    "template",
    "public:",
    "private:",
    "constexpr ",
    "std::",
];

impl Language {
    /// All languages, ordered by name.
    pub const ALL: [Language; 10] = [
        Language::C,
        Language::Cpp,
        Language::Go,
        Language::Java,
        Language::JavaScript,
        Language::Python,
        Language::Rust,
        Language::Shell,
        Language::Tsx,
        Language::TypeScript,
    ];

    /// Returns the names of all languages.
    pub fn names() -> Vec<&'static str> {
        Language::ALL
            .iter()
            .map(|language| language.name())
            .collect()
    }

    /// Returns the name for users.
    pub fn name(self) -> &'static str {
        match self {
            Language::C => "c",
            Language::Cpp => "c++",
            Language::Go => "go",
            Language::Java => "java",
            Language::JavaScript => "javascript",
            Language::Python => "python",
            Language::Rust => "rust",
            Language::Shell => "shell",
            Language::Tsx => "tsx",
            Language::TypeScript => "typescript",
        }
    }

    /// Returns the language of a name, or of an ending of files, in any case.
    pub fn named(name: &str) -> Option<Language> {
        let name = name.trim().to_ascii_lowercase();
        let known = Language::ALL
            .into_iter()
            .find(|language| language.name() == name);
        known.or_else(|| Language::of_extension(&name))
    }

    /// Returns the language that a path names by its ending; headers of C and C++ count as C.
    pub fn of_path(path: &str) -> Option<Language> {
        let name = path.rsplit('/').next().unwrap_or(path);
        if matches!(name, ".bashrc" | ".bash_profile" | ".profile" | "PKGBUILD") {
            return Some(Language::Shell);
        }
        let (stem, extension) = name.rsplit_once('.')?;
        // Most endings are in lower case already.
        let known = || {
            Language::of_extension(extension)
                .or_else(|| Language::of_extension(&extension.to_ascii_lowercase()))
        };
        if stem.is_empty() { None } else { known() }
    }

    /// Returns the language of a file, which its first line or its content may name as well.
    pub fn of_file(path: &str, text: &str) -> Option<Language> {
        LanguageHint::of_path(path)
            .unwrap_or(LanguageHint::FirstLine)
            .language(text)
    }

    fn of_extension(extension: &str) -> Option<Language> {
        Some(match extension {
            "c" | "h" => Language::C,
            "cc" | "cpp" | "cxx" | "c++" | "hh" | "hpp" | "hxx" | "h++" | "ipp" | "inl" | "tpp" => {
                Language::Cpp
            }
            "go" => Language::Go,
            "java" => Language::Java,
            "js" | "mjs" | "cjs" | "jsx" => Language::JavaScript,
            "py" | "pyi" | "pyw" => Language::Python,
            "rs" => Language::Rust,
            "sh" | "bash" | "ksh" | "bats" => Language::Shell,
            "tsx" => Language::Tsx,
            "ts" | "mts" | "cts" => Language::TypeScript,
            _ => return None,
        })
    }

    /// Returns the grammar; `None` in a program that was built without grammars.
    pub(crate) fn grammar(self) -> Option<tree_sitter::Language> {
        grammar(self)
    }
}

impl LanguageHint {
    /// Returns what a path says; `None` for a file with an ending that is of no language.
    pub fn of_path(path: &str) -> Option<LanguageHint> {
        match Language::of_path(path) {
            Some(Language::C) if is_header(path) => Some(LanguageHint::Header),
            Some(language) => Some(LanguageHint::Named(language)),
            None if path
                .rsplit('/')
                .next()
                .is_some_and(|name| name.contains('.')) =>
            {
                None
            }
            None => Some(LanguageHint::FirstLine),
        }
    }

    /// Returns the language of a file with this text.
    pub fn language(self, text: &str) -> Option<Language> {
        match self {
            LanguageHint::Named(language) => Some(language),
            LanguageHint::Header => Some(language_of_header(text)),
            LanguageHint::FirstLine => of_first_line(text.lines().next().unwrap_or_default()),
        }
    }
}

impl fmt::Display for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(feature = "grammars")]
fn grammar(language: Language) -> Option<tree_sitter::Language> {
    let grammar = match language {
        Language::C => tree_sitter_c::LANGUAGE,
        Language::Cpp => tree_sitter_cpp::LANGUAGE,
        Language::Go => tree_sitter_go::LANGUAGE,
        Language::Java => tree_sitter_java::LANGUAGE,
        Language::JavaScript => tree_sitter_javascript::LANGUAGE,
        Language::Python => tree_sitter_python::LANGUAGE,
        Language::Rust => tree_sitter_rust::LANGUAGE,
        Language::Shell => tree_sitter_bash::LANGUAGE,
        Language::Tsx => tree_sitter_typescript::LANGUAGE_TSX,
        Language::TypeScript => tree_sitter_typescript::LANGUAGE_TYPESCRIPT,
    };
    Some(grammar.into())
}

#[cfg(not(feature = "grammars"))]
fn grammar(_: Language) -> Option<tree_sitter::Language> {
    None
}

fn is_header(path: &str) -> bool {
    path.ends_with(".h") || path.ends_with(".H")
}

fn language_of_header(text: &str) -> Language {
    let begin = text
        .get(..text.floor_char_boundary(HEADER_BYTES))
        .unwrap_or(text);
    let is_cpp = CPP_SIGNS.iter().any(|sign| begin.contains(sign));
    if is_cpp { Language::Cpp } else { Language::C }
}

/// Returns the language of the program that a first line such as `#!/usr/bin/env python3` names.
fn of_first_line(line: &str) -> Option<Language> {
    let mut words = line.strip_prefix("#!")?.split_whitespace();
    let program = words.find(|word| !word.ends_with("/env") && !word.starts_with('-'))?;
    let program = program.rsplit('/').next().unwrap_or(program);
    match program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.') {
        "sh" | "bash" | "dash" | "ksh" | "ash" => Some(Language::Shell),
        "python" => Some(Language::Python),
        "node" => Some(Language::JavaScript),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_say_their_language() {
        let table = [
            ("src/main.rs", "", Some(Language::Rust)),
            ("a/B.PY", "", Some(Language::Python)),
            ("a.h", "int f(void);", Some(Language::C)),
            ("a.h", "namespace a { int f(); }", Some(Language::Cpp)),
            ("a.tsx", "", Some(Language::Tsx)),
            ("script", "#!/bin/sh\n", Some(Language::Shell)),
            (
                "script",
                "#!/usr/bin/env -S python3.12 -u\n",
                Some(Language::Python),
            ),
            ("script", "echo\n", None),
            (".rs", "", None),
            (".bashrc", "", Some(Language::Shell)),
            ("README.md", "", None),
        ];
        for (path, text, expected) in table {
            assert_eq!(Language::of_file(path, text), expected, "{path} {text}");
        }
        assert_eq!(Language::named("TS"), Some(Language::TypeScript));
        assert_eq!(Language::named("c++"), Some(Language::Cpp));
    }
}
