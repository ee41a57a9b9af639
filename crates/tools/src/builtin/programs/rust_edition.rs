//! The edition of a Rust file: that of its own package, which may inherit it from its workspace. It
//! is read from the manifests alone, since cargo would run what a repository names.

use cargo_toml::{Inheritable, Manifest};

use crate::files::path::{join, split};

/// The edition of a package that names none, and of a file without a package, as rustc has it.
const FIRST_EDITION: &str = "2015";
/// The name of a manifest.
const MANIFEST: &str = "Cargo.toml";

/// Returns the text of a file of the worktree, if it has it.
pub(super) type TextOf<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Returns the edition of a file, or why it is not known.
pub(super) fn edition_of(text_of: TextOf<'_>, file: &str) -> Result<String, String> {
    for folder in above(split(file).0) {
        let Some(manifest) = read(text_of, folder)? else {
            continue;
        };
        let Some(package) = &manifest.package else {
            continue;
        };
        return match &package.edition {
            Inheritable::Set(edition) => name_of(edition),
            Inheritable::Inherited => {
                inherited(text_of, folder, &manifest, package.workspace.as_deref())
            }
        };
    }
    Ok(FIRST_EDITION.to_owned())
}

/// Returns the edition of a package's workspace: the package's own, the one that it names, or the
/// next one above.
fn inherited(
    text_of: TextOf<'_>,
    folder: &str,
    manifest: &Manifest,
    named: Option<&std::path::Path>,
) -> Result<String, String> {
    let none = || {
        format!(
            "{} inherits its edition, but no workspace has one",
            join(folder, MANIFEST)
        )
    };
    if let Some(workspace) = &manifest.workspace {
        let edition = workspace
            .package
            .as_ref()
            .and_then(|package| package.edition.as_ref());
        return edition.map_or_else(|| Err(none()), name_of);
    }
    let candidates = match named {
        Some(named) => vec![beside(folder, &named.to_string_lossy()).ok_or_else(none)?],
        None => above(folder)
            .into_iter()
            .skip(1)
            .map(str::to_owned)
            .collect(),
    };
    for candidate in candidates {
        let Some(root) = read(text_of, &candidate)? else {
            continue;
        };
        let Some(workspace) = root.workspace else {
            continue;
        };
        let edition = workspace.package.and_then(|package| package.edition);
        return edition.map_or_else(|| Err(none()), |edition| name_of(&edition));
    }
    Err(none())
}

/// Returns the manifest of a folder, if it has one.
fn read(text_of: TextOf<'_>, folder: &str) -> Result<Option<Manifest>, String> {
    let path = join(folder, MANIFEST);
    let Some(text) = text_of(&path) else {
        return Ok(None);
    };
    let manifest = Manifest::from_slice(text.as_bytes());
    manifest
        .map(Some)
        .map_err(|error| format!("{path} cannot be read: {}", error.to_string().trim()))
}

/// Returns a folder and all that it is in, up to the worktree.
fn above(folder: &str) -> Vec<&str> {
    let mut folders = vec![folder];
    let mut folder = folder;
    while !folder.is_empty() {
        folder = split(folder).0;
        folders.push(folder);
    }
    folders
}

/// Returns the folder that a relative path means in another one; `None` outside the worktree.
fn beside(folder: &str, path: &str) -> Option<String> {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// Returns an edition as rustfmt takes it.
fn name_of(edition: &cargo_toml::Edition) -> Result<String, String> {
    let name = serde_json::to_value(edition)
        .ok()
        .and_then(|name| name.as_str().map(str::to_owned));
    name.ok_or_else(|| "the edition has no name".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edition(files: &[(&str, &str)], file: &str) -> Result<String, String> {
        let text_of = |path: &str| {
            let found = files.iter().find(|(name, _)| *name == path);
            found.map(|(_, text)| (*text).to_owned())
        };
        edition_of(&text_of, file)
    }

    const ROOT: (&str, &str) = (
        "Cargo.toml",
        "[workspace]\nmembers = [\"a\"]\n[workspace.package]\nedition = \"2024\"\n[package]\nname \
         = \"r\"\n",
    );
    const NAMED: &str = "[package]\nname = \"b\"\nedition = \"2018\"\n";
    const INHERITS: &str = "[package]\nname = \"a\"\nedition.workspace = true\n";

    #[test]
    fn the_edition_is_that_of_the_files_own_package() {
        let files = [
            ROOT,
            ("a/Cargo.toml", INHERITS),
            ("b/Cargo.toml", NAMED),
            ("c/d/Cargo.toml", "[workspace]\n"),
        ];
        let table = [
            // A package in the root that names none does not have that of its workspace.
            ("src/lib.rs", "2015"),
            ("a/src/deep/x.rs", "2024"),
            ("b/build.rs", "2018"),
            ("c/d/x.rs", "2015"),
        ];
        for (file, expected) in table {
            assert_eq!(edition(&files, file), Ok(expected.to_owned()), "{file}");
        }
        assert_eq!(edition(&[], "x.rs"), Ok("2015".to_owned()));
        // The first line that begins so is of another table.
        let text = "[package.metadata.x]\nedition = \"2021\"\n[package]\nname = \"x\"\nedition = \
                    \"2018\"\n";
        assert_eq!(
            edition(&[("Cargo.toml", text)], "x.rs"),
            Ok("2018".to_owned())
        );
    }

    #[test]
    fn a_workspace_is_found_where_the_package_says() {
        let elsewhere =
            "[package]\nname = \"e\"\nedition = { workspace = true }\nworkspace = \"../../a/ws\"\n";
        let workspace = "[workspace]\n[workspace.package]\nedition = \"2021\"\n";
        let files = [
            ("x/e/Cargo.toml", elsewhere),
            ("a/ws/Cargo.toml", workspace),
            ROOT,
        ];
        assert_eq!(edition(&files, "x/e/src/lib.rs"), Ok("2021".to_owned()));
        let own = "[package]\nname = \"o\"\nedition.workspace = true\n[workspace]\n\
                   [workspace.package]\nedition = \"2021\"\n";
        assert_eq!(
            edition(&[("Cargo.toml", own)], "src/lib.rs"),
            Ok("2021".to_owned())
        );
    }

    #[test]
    fn an_edition_that_cannot_be_known_is_explained() {
        let table = [
            (
                INHERITS,
                "a/Cargo.toml inherits its edition, but no workspace has one",
            ),
            (
                "[package]\nname = \"x\"\nedition = \"2099\"\n",
                "a/Cargo.toml cannot be read: ",
            ),
            ("[package\n", "a/Cargo.toml cannot be read: "),
        ];
        for (text, expected) in table {
            let error = edition(&[("a/Cargo.toml", text)], "a/x.rs").unwrap_err();
            assert!(error.starts_with(expected), "{error}");
        }
    }
}
