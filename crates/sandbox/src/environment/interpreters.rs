//! The installations of Python that environments of a project use, wherever they are.
//!
//! An environment has links to the program of such an installation, and names its folder. Started
//! without the installation's libraries, the program takes those of another one, or does not start.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::environment::host;
use crate::environment::programs::{Shell, has_all, holds_private, home_of, refusal};
use crate::environment::toolchains::PYTHON;

/// The file that makes a folder an environment (PEP 405).
const CONFIGURATION: &str = "pyvenv.cfg";
/// The maximum size of that file that is read: it has a few lines.
const MAX_BYTES: u64 = 64 << 10;
/// The names of the folders that are environments by custom.
const ENVIRONMENTS: [&str; 3] = [".venv", "venv", "env"];

/// Returns the installations that the environments of Python in a project's folder use, as far as a
/// job does not see them anyway: each by the path that the environment names, and by its real path.
#[must_use]
pub fn interpreters_of_project(folder: &Path) -> Vec<PathBuf> {
    let shell = host::shell_of_user();
    let mut found = BTreeSet::new();
    for name in ENVIRONMENTS {
        found.extend(interpreters(&folder.join(name), &shell));
    }
    found.into_iter().collect()
}

fn interpreters(environment: &Path, shell: &Shell<'_>) -> BTreeSet<PathBuf> {
    let read = orchestrate_files::read_plain(
        &environment.join(CONFIGURATION),
        orchestrate_files::Links::Below(environment),
        MAX_BYTES,
    );
    let Ok(text) = read else {
        return BTreeSet::new();
    };
    let text = String::from_utf8_lossy(&text);
    let mut named = Vec::new();
    if let Some(bin) = text.lines().find_map(home_in) {
        named.extend(bin.parent().map(Path::to_owned));
    }
    if let Ok(program) = environment.join("bin/python3").canonicalize() {
        named.extend(program.ancestors().nth(2).map(Path::to_owned));
    }
    let mut found = BTreeSet::new();
    for root in named {
        if is_to_be_shown(&root, shell) {
            found.extend(root.canonicalize());
            found.insert(root);
        }
    }
    found
}

/// Returns the folder of programs that a line of an environment's configuration names.
fn home_in(line: &str) -> Option<PathBuf> {
    let (key, value) = line.split_once('=')?;
    let value = Path::new(value.trim());
    (key.trim() == "home" && value.is_absolute()).then(|| value.to_owned())
}

fn is_to_be_shown(root: &Path, shell: &Shell<'_>) -> bool {
    let Ok(real) = root.canonicalize() else {
        return false;
    };
    let is_seen = shell
        .visible
        .iter()
        .any(|visible| real.starts_with(visible));
    !is_seen
        && has_all(&real, &PYTHON)
        && refusal(&real, shell).is_none()
        && !holds_private(&real, &home_of(shell))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn the_installation_of_an_environment_is_found_by_its_link_and_by_its_name() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().canonicalize().unwrap().join(name);
        let write = |name: &str, text: &str| {
            std::fs::create_dir_all(at(name).parent().unwrap()).unwrap();
            std::fs::write(at(name), text).unwrap();
        };
        for version in [
            "home/.pyenv/versions/3.11.7",
            "home/pythons/a",
            "home/.ssh/b",
            "home/repository/c",
        ] {
            write(&format!("{version}/bin/python3"), "");
            write(&format!("{version}/lib/python3.11/os.py"), "");
        }
        write("home/packages/bin/python3", "");
        write("home/packages/lib/python3.11/site-packages/x.py", "");
        write("home/repository/.git/HEAD", "ref: refs/heads/main\n");
        symlink(at("home/pythons/a"), at("home/latest")).unwrap();
        let shell = Shell {
            home: at("home"),
            path: Vec::new(),
            variable: &|_| None,
            visible: vec!["/usr".into()],
        };
        let table = [
            (
                "home/.pyenv/versions/3.11.7",
                vec!["home/.pyenv/versions/3.11.7"],
            ),
            ("home/latest", vec!["home/pythons/a", "home/latest"]),
            ("home/.ssh/b", Vec::new()),
            ("home/repository/c", Vec::new()),
            ("home/packages", Vec::new()),
            ("home", Vec::new()),
        ];
        for (number, (named, expected)) in table.into_iter().enumerate() {
            let environment = format!("project-{number}/.venv");
            let home = at(named).join("bin");
            write(
                &format!("{environment}/pyvenv.cfg"),
                &format!("version = 3.11.7\nhome = {}\n", home.display()),
            );
            let expected: BTreeSet<PathBuf> = expected.into_iter().map(at).collect();
            assert_eq!(interpreters(&at(&environment), &shell), expected, "{named}");
        }
        write("linked/.venv/pyvenv.cfg", "home = /usr/bin\n");
        std::fs::create_dir_all(at("linked/.venv/bin")).unwrap();
        symlink(
            at("home/pythons/a/bin/python3"),
            at("linked/.venv/bin/python3"),
        )
        .unwrap();
        assert_eq!(
            interpreters(&at("linked/.venv"), &shell),
            BTreeSet::from([at("home/pythons/a")])
        );
        assert!(interpreters(&at("none"), &shell).is_empty());
    }
}
