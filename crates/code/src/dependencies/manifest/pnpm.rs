//! `pnpm-workspace.yaml`.

use std::collections::BTreeMap;

use super::model::{Ecosystem, Manifest, ManifestError, PnpmSettings, Settings};
use super::yaml_file;

/// The name of the catalog that has none.
const DEFAULT_CATALOG: &str = "default";

/// Reads the members of a workspace, and the versions that they may share.
pub(super) fn read(path: &str, text: &str) -> Result<Manifest, ManifestError> {
    let mut settings = PnpmSettings::default();
    for placed in yaml_file::read(text)? {
        let keys: Vec<&str> = placed.keys.iter().map(String::as_str).collect();
        let (catalog, name) = match keys.as_slice() {
            ["packages"] => {
                settings.members.push(placed.text);
                continue;
            }
            ["catalog", name] => (DEFAULT_CATALOG, *name),
            ["catalogs", catalog, name] => (*catalog, *name),
            _ => continue,
        };
        let of_catalog: &mut BTreeMap<String, String> =
            settings.catalogs.entry(catalog.to_owned()).or_default();
        of_catalog.insert(name.to_owned(), placed.text);
    }
    Ok(Manifest::new(
        Ecosystem::Npm,
        path,
        Settings::Pnpm(settings),
    ))
}

impl PnpmSettings {
    /// Returns the versions that a requirement such as `catalog:` or `catalog:react17` stands for.
    pub(crate) fn requirement(&self, name: &str, requirement: &str) -> Option<&str> {
        let catalog = requirement.strip_prefix("catalog:")?.trim();
        let catalog = if catalog.is_empty() {
            DEFAULT_CATALOG
        } else {
            catalog
        };
        self.catalogs.get(catalog)?.get(name).map(String::as_str)
    }
}
