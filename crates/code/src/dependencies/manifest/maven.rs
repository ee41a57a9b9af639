//! `pom.xml`.

use std::collections::BTreeMap;

use roxmltree::{Document, Node};

use super::lines::Lines;
use super::model::{Dependency, DependencyKind, Ecosystem, Manifest, ManifestError, Settings};

/// Reads a `pom.xml`.
pub(super) fn read(path: &str, text: &str) -> Result<Manifest, ManifestError> {
    let document = Document::parse(text).map_err(|error| {
        let line = usize::try_from(error.pos().row).unwrap_or(1);
        ManifestError {
            line,
            message: error.to_string(),
        }
    })?;
    let (project, lines) = (document.root_element(), Lines::from_text(text));
    let properties = properties(project);
    let own = |name: &str| {
        let parent = || child(project, "parent").and_then(|parent| text_of(parent, name));
        text_of(project, name).or_else(parent)
    };
    let managed =
        child(project, "dependencyManagement").and_then(|managed| child(managed, "dependencies"));
    let managed = managed
        .into_iter()
        .flat_map(|managed| managed.children())
        .filter_map(|node| {
            Some((
                coordinates(node, &properties)?,
                expand(&text_of(node, "version")?, &properties),
            ))
        });
    let managed: BTreeMap<String, String> = managed.collect();
    let mut dependencies = Vec::new();
    for node in child(project, "dependencies")
        .into_iter()
        .flat_map(|list| list.children())
    {
        let Some(name) = coordinates(node, &properties) else {
            continue;
        };
        let kind = match text_of(node, "scope").as_deref() {
            Some("test") => DependencyKind::Dev,
            Some("provided" | "system") => DependencyKind::Build,
            _ => DependencyKind::Runtime,
        };
        let mut found = Dependency::new(name.clone(), kind, lines.at(node.range().start));
        let version = text_of(node, "version").map(|version| expand(&version, &properties));
        found.requirement = version.or_else(|| managed.get(&name).cloned());
        found.optional = text_of(node, "optional").is_some_and(|optional| optional == "true");
        dependencies.push(found);
    }
    let name = own("groupId")
        .zip(text_of(project, "artifactId"))
        .map(|(group, artifact)| format!("{group}:{artifact}"));
    let manifest = Manifest::new(Ecosystem::Maven, path, Settings::Plain);
    Ok(Manifest {
        name,
        version: own("version"),
        dependencies,
        ..manifest
    })
}

fn child<'d>(node: Node<'d, 'd>, name: &str) -> Option<Node<'d, 'd>> {
    node.children()
        .find(|child| child.tag_name().name() == name)
}

fn text_of(node: Node<'_, '_>, name: &str) -> Option<String> {
    let found = node
        .children()
        .find(|child| child.tag_name().name() == name)?;
    found.text().map(|text| text.trim().to_owned())
}

fn coordinates(node: Node<'_, '_>, properties: &BTreeMap<String, String>) -> Option<String> {
    if node.tag_name().name() != "dependency" {
        return None;
    }
    let (group, artifact) = (text_of(node, "groupId")?, text_of(node, "artifactId")?);
    Some(format!(
        "{}:{}",
        expand(&group, properties),
        expand(&artifact, properties)
    ))
}

fn properties(project: Node<'_, '_>) -> BTreeMap<String, String> {
    let own = project
        .children()
        .find(|child| child.tag_name().name() == "properties");
    let own = own.into_iter().flat_map(|list| list.children());
    let own = own.filter_map(|node| {
        Some((
            node.tag_name().name().to_owned(),
            node.text()?.trim().to_owned(),
        ))
    });
    let mut properties: BTreeMap<String, String> = own.collect();
    for name in ["groupId", "version"] {
        if let Some(value) = text_of(project, name) {
            properties.insert(format!("project.{name}"), value);
        }
    }
    properties
}

/// Replaces a value that is a property by it, once.
fn expand(value: &str, properties: &BTreeMap<String, String>) -> String {
    let name = value
        .strip_prefix("${")
        .and_then(|rest| rest.strip_suffix('}'));
    name.and_then(|name| properties.get(name))
        .cloned()
        .unwrap_or_else(|| value.to_owned())
}
