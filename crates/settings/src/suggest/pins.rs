//! Which programs choose a version by a file of the project, and which version that is.
//!
//! Such a program is a launcher: which file it starts depends on the folder that it is started in.

use std::path::Path;

use crate::suggest::manifests::pinned_manager;
use crate::suggest::project_files::ProjectFiles;

/// A program whose version a file of the project chooses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pin {
    /// The program.
    pub program: String,
    /// The file.
    pub by: &'static str,
    /// The version, if the file is read here.
    pub version: Option<String>,
}

/// The files that launchers read (pyenv, rbenv, nodenv, nvm, asdf, mise, rustup), each with the
/// programs that they choose. The manager of `package.json` is added to them.
const FILES: [(&str, &[&str]); 9] = [
    (".python-version", &["python3"]),
    (".ruby-version", &["ruby"]),
    (".node-version", &["node"]),
    (".nvmrc", &["node"]),
    (".tool-versions", &["python3", "node", "ruby", "go", "java"]),
    ("mise.toml", &["python3", "node", "ruby", "go", "java"]),
    (".mise.toml", &["python3", "node", "ruby", "go", "java"]),
    ("rust-toolchain", &["cargo"]),
    ("rust-toolchain.toml", &["cargo"]),
];

/// The interpreters of a project's environments, each with the file that names its version (PEP
/// 405).
const ENVIRONMENTS: [(&str, &str); 2] = [
    (".venv/bin/python3", ".venv/pyvenv.cfg"),
    ("venv/bin/python3", "venv/pyvenv.cfg"),
];
/// The keys of that file for the version: of venv, and of virtualenv and uv.
const VERSION_KEYS: [&str; 2] = ["version", "version_info"];
/// How many numbers a version of Python has.
const PYTHON_NUMBERS: usize = 3;

impl Pin {
    /// Lists the programs whose versions a project's files choose.
    pub fn read(root: &Path) -> Vec<Pin> {
        Pin::find(&ProjectFiles::read(root, &Default::default()))
    }

    /// Lists those that these files choose.
    pub fn find(files: &ProjectFiles) -> Vec<Pin> {
        let mut pins: Vec<Pin> = Vec::new();
        if let Some((program, version)) = pinned_manager(files) {
            pins.push(Pin {
                program,
                by: "package.json",
                version,
            });
        }
        for (by, programs) in FILES.into_iter().filter(|(by, _)| files.has(by)) {
            for program in programs {
                if !pins.iter().any(|pin| pin.program == *program) {
                    pins.push(Pin {
                        program: (*program).to_owned(),
                        by,
                        version: None,
                    });
                }
            }
        }
        for (program, by) in ENVIRONMENTS.into_iter().filter(|(_, by)| files.has(by)) {
            let version = environment_version(files.text(by));
            pins.push(Pin {
                program: (*program).to_owned(),
                by,
                version,
            });
        }
        pins
    }
}

/// Returns the version of the interpreter of an environment, as its configuration names it.
fn environment_version(text: &str) -> Option<String> {
    let version = text.lines().find_map(|line| {
        let (key, value) = line.split_once('=')?;
        VERSION_KEYS.contains(&key.trim()).then(|| value.trim())
    })?;
    Some(
        version
            .split('.')
            .take(PYTHON_NUMBERS)
            .collect::<Vec<_>>()
            .join("."),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_pinned_by_the_file_that_its_launcher_reads() {
        let pin = |program: &str, by, version: Option<&str>| Pin {
            program: program.to_owned(),
            by,
            version: version.map(str::to_owned),
        };
        let package = |pin: &str| format!("{{ \"packageManager\": \"{pin}\" }}");
        let files = |paths: &[&str], text: &str| ProjectFiles {
            paths: paths.iter().map(|path| (*path).to_owned()).collect(),
            texts: [("package.json".to_owned(), text.to_owned())].into(),
            ..ProjectFiles::default()
        };
        let environment = |text: &str| ProjectFiles {
            paths: [".venv/pyvenv.cfg".to_owned()].into(),
            texts: [(".venv/pyvenv.cfg".to_owned(), text.to_owned())].into(),
            ..ProjectFiles::default()
        };
        let python = |version| vec![pin(".venv/bin/python3", ".venv/pyvenv.cfg", version)];
        let pnpm = package("pnpm@9.1.0+sha512.0a1b");
        let table = [
            (
                environment("home = /usr/bin\nversion = 3.11.2\n"),
                python(Some("3.11.2")),
            ),
            (
                environment("home = /usr/bin\nversion_info = 3.12.1.final.0\n"),
                python(Some("3.12.1")),
            ),
            (environment("home = /usr/bin\n"), python(None)),
            (
                files(&[], &pnpm),
                vec![pin("pnpm", "package.json", Some("9.1.0"))],
            ),
            (
                files(&[], &package("yarn")),
                vec![pin("yarn", "package.json", None)],
            ),
            (files(&[], "{"), vec![]),
            (
                files(&[".python-version", "rust-toolchain.toml"], ""),
                vec![
                    pin("python3", ".python-version", None),
                    pin("cargo", "rust-toolchain.toml", None),
                ],
            ),
            (
                files(&[".nvmrc", ".node-version"], ""),
                vec![pin("node", ".node-version", None)],
            ),
        ];
        for (files, expected) in table {
            assert_eq!(Pin::find(&files), expected, "{files:?}");
        }
    }
}
