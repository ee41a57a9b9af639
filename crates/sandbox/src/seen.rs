//! Which file a program's name means to the user's shell, and which to a job.

use std::path::{Path, PathBuf};

use crate::host;
use crate::programs::{Programs, is_executable};

/// What a program's name means outside of the sandbox and inside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeenProgram {
    /// The program that the user's shell starts; `None` if it finds none.
    pub outside: Option<PathBuf>,
    /// The program that a job starts; `None` if it finds none.
    pub inside: Option<PathBuf>,
    /// Why a job does not start the user's program, if it does not.
    pub reason: Option<String>,
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

fn find(programs: &Programs, folders: &[PathBuf], visible: &[PathBuf], name: &str) -> SeenProgram {
    let of_user = programs.path.iter().map(|folder| folder.outside.join(name));
    let outside = of_user.into_iter().find(|path| is_executable(path));
    let is_seen = |path: &PathBuf| is_executable(path) && shows(programs, visible, path);
    let inside = folders.iter().map(|folder| folder.join(name)).find(is_seen);
    let is_same = |outside: &Path| inside.as_ref().is_some_and(|inside| real(inside) == real(outside));
    let reason = outside.as_deref().filter(|outside| !is_same(outside)).map(|outside| why(programs, outside));
    SeenProgram { outside, inside, reason }
}

fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

fn shows(programs: &Programs, visible: &[PathBuf], path: &Path) -> bool {
    let is_link = programs.links.iter().any(|link| link.path == path);
    is_link || programs.read_only.iter().chain(visible).any(|root| path.starts_with(root))
}

fn why(programs: &Programs, outside: &Path) -> String {
    let above = outside.ancestors();
    let hidden = above.into_iter().find_map(|path| programs.hidden.iter().find(|hidden| hidden.path == path));
    hidden.map_or_else(|| "it is not below a folder that commands see".to_owned(), |hidden| hidden.reason.to_string())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::programs::{Hidden, PathFolder, Reason};

    #[test]
    fn a_program_that_is_not_shown_has_a_reason_also_if_another_one_is_found() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().canonicalize().unwrap().join(name);
        for name in ["shown/a", "hidden/a", "hidden/b", "single/c", "single/d"] {
            std::fs::create_dir_all(at(name).parent().unwrap()).unwrap();
            std::fs::write(at(name), "").unwrap();
            std::fs::set_permissions(at(name), PermissionsExt::from_mode(0o755)).unwrap();
        }
        let folder = |name: &str, inside: Option<PathBuf>| PathFolder { outside: at(name), inside };
        let programs = Programs {
            path: vec![
                folder("hidden", None),
                folder("single", Some(at("single"))),
                folder("shown", Some(at("shown"))),
            ],
            read_only: vec![at("single/c")],
            hidden: vec![
                Hidden { path: at("hidden"), reason: Reason::Private },
                Hidden { path: at("single/d"), reason: Reason::NoProgram },
            ],
            ..Programs::default()
        };
        let private = Some(Reason::Private.to_string());
        let table = [
            ("a", Some("hidden/a"), Some("shown/a"), private.clone()),
            ("b", Some("hidden/b"), None, private),
            ("c", Some("single/c"), Some("single/c"), None),
            ("d", Some("single/d"), None, Some(Reason::NoProgram.to_string())),
            ("e", None, None, None),
        ];
        let folders = [at("single"), at("shown")];
        for (name, outside, inside, reason) in table {
            let expected = SeenProgram { outside: outside.map(at), inside: inside.map(at), reason };
            assert_eq!(find(&programs, &folders, &[at("shown")], name), expected, "{name}");
        }
        let seen = find(&programs, &[at("hidden"), at("shown")], &[at("hidden")], "b");
        assert_eq!((seen.inside, seen.reason), (Some(at("hidden/b")), None), "the user shows the folder");
    }
}
