//! The folder of worktrees that the user chooses.
//!
//! Servers of files, globs and watchers pass over folders whose names begin with a dot, so such a
//! folder is refused: tests of projects would fail there.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use crate::environment::path_of;
use crate::layer::Problem;
use crate::merge::Resolved;

/// The key.
const KEY: &str = "worktree.folder";

/// Returns the folder, if the user chooses one.
///
/// # Errors
/// Returns the problem with it.
pub(crate) fn worktree_folder(
    resolved: &Resolved,
    variables: &BTreeMap<String, String>,
) -> Result<Option<PathBuf>, Vec<Problem>> {
    let Some(text) = resolved.text(KEY) else {
        return Ok(None);
    };
    let home = variables.get("HOME").map(Path::new);
    let path = path_of(&text, home).unwrap_or_else(|| PathBuf::from(&text));
    match refusal(&path) {
        None => Ok(Some(path)),
        Some(reason) => {
            let message = format!("`{text}` cannot hold worktrees: {reason}");
            Err(vec![resolved.problem(KEY, message)])
        }
    }
}

fn refusal(path: &Path) -> Option<&'static str> {
    if !path.is_absolute() {
        return Some("it is neither absolute nor below `~/`");
    }
    path.components()
        .any(is_hidden)
        .then_some("a name on the way to it begins with a dot, and servers hide such folders")
}

fn is_hidden(part: Component<'_>) -> bool {
    match part {
        Component::Normal(name) => name.to_string_lossy().starts_with('.'),
        Component::ParentDir | Component::CurDir => true,
        Component::RootDir | Component::Prefix(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::named;
    use crate::layer::{Layer, Location, Source};

    #[test]
    fn a_folder_is_absolute_and_visible() {
        let found = |text: &str| {
            let mut layer = Layer::default();
            layer
                .take_text(named(KEY).unwrap(), text, Location::new(Source::Flags, KEY))
                .unwrap();
            let variables = BTreeMap::from([("HOME".to_owned(), "/home/u".to_owned())]);
            worktree_folder(&Resolved::merge(&[layer]), &variables)
                .ok()
                .flatten()
        };
        let table = [
            ("/srv/worktrees", Some("/srv/worktrees")),
            ("~/trees", Some("/home/u/trees")),
            ("trees", None),
            ("~/.cache/trees", None),
            ("/srv/../etc", None),
        ];
        for (text, expected) in table {
            assert_eq!(found(text), expected.map(PathBuf::from), "{text}");
        }
        assert_eq!(
            worktree_folder(&Resolved::merge(&[]), &BTreeMap::new()),
            Ok(None)
        );
    }
}
