//! Finds the real paths of what tools never touch, so that no other name of the same file is left
//! open.

use std::path::Path;

use crate::environment::path_of;

/// Returns each path as it is written and, if it exists, as it really is; paths inside the project
/// are relative to its root, since agents work in copies of it.
///
/// # Errors
/// Returns a path below a home that is not known.
pub(crate) fn real_paths(
    texts: &[String],
    home: Option<&Path>,
    project: Option<&Path>,
) -> Result<Vec<String>, String> {
    let root = project.map(|root| root.canonicalize().unwrap_or_else(|_| root.to_owned()));
    let mut found = Vec::new();
    for text in texts {
        let written = path_of(text, home).ok_or_else(|| text.clone())?;
        let absolute = root
            .as_ref()
            .map(|root| root.join(&written))
            .unwrap_or_else(|| written.clone());
        let real = absolute.canonicalize().unwrap_or_else(|_| absolute.clone());
        let inside = |path: &Path| {
            root.as_ref()
                .and_then(|root| path.strip_prefix(root).ok())
                .map(Path::to_owned)
        };
        for path in [written, real] {
            let path = inside(&path).unwrap_or(path).to_string_lossy().into_owned();
            if !path.is_empty() && !found.contains(&path) {
                found.push(path);
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_of_a_forbidden_path_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let (home, project) = (folder.path().join("home"), folder.path().join("project"));
        std::fs::create_dir_all(project.join("real/keys")).unwrap();
        std::fs::create_dir_all(&home).unwrap();
        std::os::unix::fs::symlink("real/keys", project.join("keys")).unwrap();
        std::os::unix::fs::symlink(&project, home.join("work")).unwrap();
        let inside = format!("{}/vault", project.canonicalize().unwrap().display());
        let texts = ["keys", "~/work/real", "~/gone", &inside, "none"].map(str::to_owned);
        let found = real_paths(&texts, Some(&home), Some(&project)).unwrap();
        let home = |name: &str| format!("{}/{name}", home.display());
        assert_eq!(
            found,
            [
                "keys",
                "real/keys",
                &home("work/real"),
                "real",
                &home("gone"),
                "vault",
                "none"
            ]
        );
        assert_eq!(
            real_paths(&texts, None, Some(&project)),
            Err("~/work/real".to_owned())
        );
    }
}
