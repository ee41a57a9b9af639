//! Which file a program's name means to the user's shell, and which to a job; and which programs of
//! the user's home a job sees.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use crate::environment::host;
use crate::environment::programs::{Hidden, Programs, Reason, entries, is_executable, real};

/// How much of a script is searched for the name of the home: launchers are short.
const SEARCHED_BYTES: u64 = 64 << 10;
/// How a script names the user's home.
const HOME_NAMES: [&str; 2] = ["$HOME", "${HOME"];
/// The advice about a program of the project itself.
const BRING: &str = "let .worktreeinclude or `[worktree] setup` bring it into each worktree, and \
                     call it by its path there";

/// The programs that a name means outside of the sandbox and inside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeenProgram {
    /// The program that the user's shell starts; `None` if it finds none.
    pub outside: Option<PathBuf>,
    /// The program that a job starts; `None` if it finds none.
    pub inside: Option<PathBuf>,
    /// Why a job does not start the user's program, if it does not.
    pub reason: Option<String>,
    /// The user's remedy.
    pub fix: Option<String>,
}

/// Finds a program as the user's shell does, and as a job does whose view also has these read-only
/// `roots`.
#[must_use]
pub fn seen_program(name: &str, roots: &[PathBuf]) -> SeenProgram {
    let mut visible = host::visible();
    visible.extend_from_slice(roots);
    let folders = host::search_folders(roots.iter().map(PathBuf::as_path));
    find(host::programs_of_user(), &folders, &visible, name)
}

/// The programs in a folder of `PATH` that a job sees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeenFolder {
    /// The folder.
    pub folder: PathBuf,
    /// The programs, in order.
    pub programs: Vec<String>,
    /// Those of them that are scripts which name the user's home: a job has another one, which is
    /// empty.
    pub naming_home: Vec<String>,
}

/// Lists the programs in folders of `PATH` below the user's home that a job sees.
#[must_use]
pub fn programs_below_home() -> Vec<SeenFolder> {
    below(
        host::programs_of_user(),
        &host::visible(),
        &host::home_of_user(),
    )
}

fn below(programs: &Programs, visible: &[PathBuf], home: &Path) -> Vec<SeenFolder> {
    // Every path is below an empty one.
    if home.as_os_str().is_empty() {
        return Vec::new();
    }
    let mut below = Vec::new();
    for folder in &programs.path {
        if let Some(inside) = &folder.inside
            && inside.starts_with(home)
        {
            below.extend(seen_in(inside, programs, visible));
        }
    }
    below
}

/// Lists the programs that a job sees in a folder; `None` if it sees none there.
fn seen_in(folder: &Path, programs: &Programs, visible: &[PathBuf]) -> Option<SeenFolder> {
    let mut seen = SeenFolder {
        folder: folder.to_owned(),
        programs: Vec::new(),
        naming_home: Vec::new(),
    };
    for entry in entries(folder).ok()? {
        let path = folder.join(&entry);
        if is_executable(&path) && shows(programs, visible, &path) {
            let name = entry.to_string_lossy().into_owned();
            if names_home(&path) {
                seen.naming_home.push(name.clone());
            }
            seen.programs.push(name);
        }
    }
    (!seen.programs.is_empty()).then_some(seen)
}

/// Reports whether a file is a script that names the user's home.
fn names_home(path: &Path) -> bool {
    let mut text = Vec::new();
    let read =
        std::fs::File::open(path).and_then(|file| file.take(SEARCHED_BYTES).read_to_end(&mut text));
    let is_script = read.is_ok() && text.starts_with(b"#!");
    is_script
        && HOME_NAMES
            .iter()
            .any(|name| String::from_utf8_lossy(&text).contains(name))
}

fn find(programs: &Programs, folders: &[PathBuf], visible: &[PathBuf], name: &str) -> SeenProgram {
    let mut of_user = programs.path.iter().map(|folder| folder.outside.join(name));
    let outside = of_user.find(|path| is_executable(path));
    let mut of_job = folders.iter().map(|folder| folder.join(name));
    let inside = of_job.find(|path| is_executable(path) && shows(programs, visible, path));
    let (reason, fix) = match &outside {
        Some(outside) if inside.as_deref().map(real) != Some(real(outside)) => (
            Some(reason(programs, outside)),
            Some(fix(programs, outside)),
        ),
        _ => (None, None),
    };
    SeenProgram {
        outside,
        inside,
        reason,
        fix,
    }
}

fn shows(programs: &Programs, visible: &[PathBuf], path: &Path) -> bool {
    let is_link = programs.links.iter().any(|link| link.path == path);
    is_link
        || programs
            .read_only
            .iter()
            .chain(visible)
            .any(|root| path.starts_with(root))
}

fn hidden<'a>(programs: &'a Programs, outside: &Path) -> Option<&'a Hidden> {
    outside
        .ancestors()
        .find_map(|path| programs.hidden.iter().find(|hidden| hidden.path == path))
}

fn reason(programs: &Programs, outside: &Path) -> String {
    match hidden(programs, outside) {
        Some(hidden) => hidden.reason.to_string(),
        None => "it is not below a folder that commands see".to_owned(),
    }
}

fn fix(programs: &Programs, outside: &Path) -> String {
    match hidden(programs, outside).map(|hidden| &hidden.reason) {
        Some(Reason::InRepository(_)) => {
            format!(
                "if that is this project, {BRING}; else install the program outside of repositories"
            )
        }
        Some(Reason::OfProjectsEnvironment(_)) => BRING.to_owned(),
        _ => {
            let folder = outside.parent().unwrap_or(outside).display();
            format!("add {folder} to `sandbox.read` in your own configuration")
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::environment::programs::PathFolder;

    #[test]
    fn a_program_that_is_not_shown_has_a_reason_also_if_another_one_is_found() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().canonicalize().unwrap().join(name);
        for name in ["shown/a", "hidden/a", "hidden/b", "single/c", "single/d"] {
            std::fs::create_dir_all(at(name).parent().unwrap()).unwrap();
            std::fs::write(at(name), "").unwrap();
            std::fs::set_permissions(at(name), PermissionsExt::from_mode(0o755)).unwrap();
        }
        let folder = |name: &str, inside: Option<PathBuf>| PathFolder {
            outside: at(name),
            inside,
        };
        let programs = Programs {
            path: vec![
                folder("hidden", None),
                folder("single", Some(at("single"))),
                folder("shown", Some(at("shown"))),
            ],
            read_only: vec![at("single/c")],
            hidden: vec![
                Hidden {
                    path: at("hidden"),
                    reason: Reason::Private,
                },
                Hidden {
                    path: at("single/d"),
                    reason: Reason::NoProgram,
                },
            ],
            ..Programs::default()
        };
        let private = Some(Reason::Private.to_string());
        let table = [
            ("a", Some("hidden/a"), Some("shown/a"), private.clone()),
            ("b", Some("hidden/b"), None, private),
            ("c", Some("single/c"), Some("single/c"), None),
            (
                "d",
                Some("single/d"),
                None,
                Some(Reason::NoProgram.to_string()),
            ),
            ("e", None, None, None),
        ];
        let folders = [at("single"), at("shown")];
        for (name, outside, inside, reason) in table {
            let folder = outside.map(|outside| at(outside).parent().unwrap().display().to_string());
            let fix = folder.filter(|_| reason.is_some());
            let fix = fix
                .map(|folder| format!("add {folder} to `sandbox.read` in your own configuration"));
            let expected = SeenProgram {
                outside: outside.map(at),
                inside: inside.map(at),
                reason,
                fix,
            };
            assert_eq!(
                find(&programs, &folders, &[at("shown")], name),
                expected,
                "{name}"
            );
        }
        let seen = find(
            &programs,
            &[at("hidden"), at("shown")],
            &[at("hidden")],
            "b",
        );
        assert_eq!(
            (seen.inside, seen.reason),
            (Some(at("hidden/b")), None),
            "the user shows the folder"
        );
    }

    #[test]
    fn programs_of_the_home_are_listed_with_the_scripts_that_need_it() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().canonicalize().unwrap().join(name);
        let script = "#!/bin/sh\nexec \"$HOME/.b/bin/b\" \"$@\"\n";
        for (name, text, mode) in [
            ("home/bin/a", "#!/bin/sh\nexec /opt/a\n", 0o755),
            ("home/bin/b", script, 0o755),
            ("home/bin/c", script, 0o755),
            ("home/bin/notes", "", 0o644),
            ("system/d", script, 0o755),
            ("home/empty/notes", "", 0o644),
        ] {
            std::fs::create_dir_all(at(name).parent().unwrap()).unwrap();
            std::fs::write(at(name), text).unwrap();
            std::fs::set_permissions(at(name), PermissionsExt::from_mode(mode)).unwrap();
        }
        let folder = |name: &str| PathFolder {
            outside: at(name),
            inside: Some(at(name)),
        };
        let programs = Programs {
            path: vec![folder("system"), folder("home/bin"), folder("home/empty")],
            read_only: vec![at("home/bin/a"), at("home/bin/b"), at("home/bin/notes")],
            ..Programs::default()
        };
        let expected = SeenFolder {
            folder: at("home/bin"),
            programs: vec!["a".to_owned(), "b".to_owned()],
            naming_home: vec!["b".to_owned()],
        };
        assert_eq!(below(&programs, &[at("system")], &at("home")), [expected]);
        assert_eq!(below(&programs, &[at("system")], Path::new("")), []);
    }
}
