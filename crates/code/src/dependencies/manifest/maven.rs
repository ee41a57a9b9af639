//! `pom.xml`, as written: what a parent or a property says is left out.

use roxmltree::{Document, Node};

use super::model::{
    Dependency, DependencyKind, Ecosystem, Lines, Manifest, ManifestError, Settings,
};

/// Reads a `pom.xml`.
pub(super) fn read(path: &str, text: &str) -> Result<Manifest, ManifestError> {
    let document = Document::parse(text).map_err(|error| ManifestError {
        line: usize::try_from(error.pos().row).unwrap_or(1),
        message: error.to_string(),
    })?;
    let (project, lines) = (document.root_element(), Lines::from_text(text));
    let mut manifest = Manifest::new(Ecosystem::Maven, path, Settings::Plain);
    let parent = child(project, "parent");
    let inherited = |name| parent.and_then(|parent| text_of(parent, name));
    let group = text_of(project, "groupId").or_else(|| inherited("groupId"));
    let artifact = text_of(project, "artifactId");
    let version = text_of(project, "version").or_else(|| inherited("version"));
    manifest.version = version.map(str::to_owned);
    if let (Some(group), Some(artifact)) = (group, artifact) {
        manifest.name = Some(format!("{group}:{artifact}"));
    }
    let list = child(project, "dependencies");
    for node in list.into_iter().flat_map(|list| list.children()) {
        let (Some(group), Some(artifact)) = (text_of(node, "groupId"), text_of(node, "artifactId"))
        else {
            continue;
        };
        let kind = match text_of(node, "scope") {
            Some("test") => DependencyKind::Dev,
            Some("provided" | "system") => DependencyKind::Build,
            _ => DependencyKind::Runtime,
        };
        let line = lines.at(node.range().start);
        let mut found = Dependency::new(format!("{group}:{artifact}"), kind, line);
        found.requirement = text_of(node, "version").map(str::to_owned);
        found.optional = text_of(node, "optional") == Some("true");
        manifest.dependencies.push(found);
    }
    Ok(manifest)
}

fn child<'d>(node: Node<'d, 'd>, name: &str) -> Option<Node<'d, 'd>> {
    node.children()
        .find(|child| child.tag_name().name() == name)
}

fn text_of<'d>(node: Node<'d, 'd>, name: &str) -> Option<&'d str> {
    child(node, name)?.text().map(str::trim)
}
