//! What an answer shows of a graph of dependencies.

use std::cmp::Reverse;

use orchestrate_code::{
    Cycle, Dependency, DependencyGraph, DependencyKind, DependencySource, Ecosystem,
    ExternalPackage, ImportKind, ImportTarget, Module, ModuleImport, Package, UndeclaredPackage,
    UnusedDependency,
};
use orchestrate_core::text::invisible::shown;
use serde_json::{Value, json};

use crate::answer::Answer;

/// Maximum number of lines of each part of the text.
const MAX_LINES: usize = 40;
/// Maximum number of lines of what is imported most.
const MAX_RANKED: usize = 10;
/// Maximum number of names on a line.
const MAX_NAMES: usize = 12;
/// Maximum number of entries of each list of the data.
const MAX_LISTED: usize = 1_000;
/// Maximum number of imports in the data: more than any agent reads.
const MAX_IMPORTS: usize = 5_000;

/// Returns the answer about a graph.
pub(super) fn report(mut graph: DependencyGraph, notes: &[String]) -> Answer {
    let totals = totals(&graph);
    let mut lines = vec![summary(&graph)];
    section(&mut lines, "invalid manifests", &graph.invalid, |one| {
        format!("{}:{} {}", one.path, one.error.line, one.error.message)
    });
    section(&mut lines, "packages", &graph.packages, package);
    section(&mut lines, "circular imports", &graph.cycles, cycle);
    let circles = &graph.package_cycles;
    section(&mut lines, "circular packages", circles, |one| {
        let first = one.manifests.first();
        let manifests: Vec<&str> = one
            .manifests
            .iter()
            .chain(first)
            .map(String::as_str)
            .collect();
        manifests.join(" → ")
    });
    section(&mut lines, "unused dependencies", &graph.unused, unused);
    let undeclared_packages = &graph.undeclared;
    section(
        &mut lines,
        "undeclared packages",
        undeclared_packages,
        undeclared,
    );
    let unresolved = &graph.unresolved;
    section(&mut lines, "imports that lead nowhere", unresolved, |one| {
        format!("{}:{} {}", one.file, one.line, one.target)
    });
    let ranked = ranked(&graph.modules);
    section(&mut lines, "imported by most modules", &ranked, |module| {
        format!("{:>5}  {}", module.imported_by, module.path)
    });
    section(&mut lines, "external packages", &graph.external, |one| {
        external(one, undeclared_packages)
    });
    section(
        &mut lines,
        "imported from outside",
        &graph.importers,
        |one| format!("{}:{}{} → {}", one.from, one.line, mark(one.kind), one.to),
    );
    match graph.modules.as_slice() {
        [module] => section(&mut lines, "imports", &module.imports, |one| {
            import(&module.path, one)
        }),
        modules => {
            let importing = modules.iter().filter(|one| !one.imports.is_empty());
            let importing: Vec<&Module> = importing.collect();
            section(&mut lines, "imports", &importing, |one| imports(one));
        }
    }
    lines.extend(limits(&graph));
    lines.extend(notes.iter().cloned());
    bound(&mut graph);
    Answer::new(lines.join("\n"), json!({"graph": graph, "totals": totals}))
}

/// Adds a part of the text, with the number of lines for which there is no room.
fn section<T>(lines: &mut Vec<String>, title: &str, entries: &[T], line: impl Fn(&T) -> String) {
    if entries.is_empty() {
        return;
    }
    lines.push(format!("{title}:"));
    for entry in entries.iter().take(MAX_LINES) {
        lines.push(shown(&format!("  {}", line(entry))));
    }
    if entries.len() > MAX_LINES {
        let more = entries.len() - MAX_LINES;
        lines.push(format!(
            "  [{more} more after these {MAX_LINES}; name a folder or a file]"
        ));
    }
}

/// Returns the modules that most others import; those with equal figures keep their order.
fn ranked(modules: &[Module]) -> Vec<&Module> {
    let several = modules.iter().filter(|module| module.imported_by > 1);
    // One module alone is no ranking.
    let mut ranked: Vec<&Module> = several.filter(|_| modules.len() > 2).collect();
    ranked.sort_by_key(|module| Reverse(module.imported_by));
    ranked.truncate(MAX_RANKED);
    ranked
}

/// Returns the number of imports that lead to modules.
fn own_imports(graph: &DependencyGraph) -> usize {
    let imports = graph.modules.iter().flat_map(|module| &module.imports);
    imports
        .filter(|import| matches!(import.to, ImportTarget::Module(_)))
        .count()
}

fn totals(graph: &DependencyGraph) -> Value {
    json!({
        "packages": graph.packages.len(),
        "modules": graph.modules.len(),
        "imports": own_imports(graph),
        "importers": graph.importers.len(),
        "external": graph.external.len(),
        "cycles": graph.cycles.len(),
        "package_cycles": graph.package_cycles.len(),
        "unused": graph.unused.len(),
        "undeclared": graph.undeclared.len(),
        "unresolved": graph.unresolved.len(),
        "invalid": graph.invalid.len(),
    })
}

fn summary(graph: &DependencyGraph) -> String {
    let counts = [
        count(graph.packages.len(), "package", "packages"),
        count(graph.modules.len(), "module", "modules"),
        count(own_imports(graph), "import", "imports") + " between modules",
        count(
            graph.external.len(),
            "external package",
            "external packages",
        ),
        count(graph.cycles.len(), "circular import", "circular imports"),
        count(
            graph.unused.len(),
            "unused dependency",
            "unused dependencies",
        ),
        count(
            graph.undeclared.len(),
            "undeclared package",
            "undeclared packages",
        ),
        count(
            graph.unresolved.len(),
            "import that leads nowhere",
            "imports that lead nowhere",
        ),
    ];
    counts.join(", ")
}

fn count(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

fn package(package: &Package) -> String {
    let mut text = package.manifest.clone();
    for part in [&package.name, &package.version].into_iter().flatten() {
        text = format!("{text} {part}");
    }
    text = format!("{text} ({}", package.ecosystem);
    if let Some(root) = &package.workspace
        && *root != package.manifest
    {
        text = format!("{text}, member of {root}");
    }
    if package.dependencies.is_empty() {
        text + ")"
    } else {
        let dependencies = package.dependencies.iter().map(dependency);
        format!("{text}): {}", listed(dependencies))
    }
}

fn dependency(dependency: &Dependency) -> String {
    let mut text = dependency.name.clone();
    if let Some(alias) = &dependency.alias {
        text = format!("{text} as {alias}");
    }
    let place = match &dependency.source {
        DependencySource::Path(place)
        | DependencySource::Git(place)
        | DependencySource::Url(place) => Some(place),
        DependencySource::Registry | DependencySource::Workspace => dependency.requirement.as_ref(),
    };
    if let Some(place) = dependency.own.as_ref().or(place) {
        text = format!("{text} {place}");
    }
    let mut marks = Vec::new();
    if dependency.kind != DependencyKind::Runtime {
        marks.push(dependency.kind.to_string());
    }
    if dependency.optional && dependency.kind != DependencyKind::Optional {
        marks.push("optional".to_owned());
    }
    marks.extend(dependency.target.clone());
    if marks.is_empty() {
        text
    } else {
        format!("{text} ({})", marks.join(", "))
    }
}

/// Joins texts, with the number of those for which there is no room.
fn listed(texts: impl ExactSizeIterator<Item = String>) -> String {
    let more = texts.len().saturating_sub(MAX_NAMES);
    let mut listed: Vec<String> = texts.take(MAX_NAMES).collect();
    if more > 0 {
        listed.push(format!("{more} more"));
    }
    listed.join(", ")
}

fn cycle(cycle: &Cycle) -> String {
    let mut steps = Vec::new();
    for step in cycle.steps.iter().take(MAX_NAMES) {
        let file = step.file.as_deref().unwrap_or(&step.from);
        steps.push(format!("{file}:{}{}", step.line, mark(step.kind)));
    }
    if cycle.steps.len() > MAX_NAMES {
        steps.push(format!("{} more", cycle.steps.len() - MAX_NAMES));
    }
    steps.extend(cycle.steps.first().map(|step| step.from.clone()));
    let steps = steps.join(" → ");
    match cycle.members.len() {
        group if group > cycle.steps.len() => {
            format!("{steps} (a shortest one of {group} modules that import each other)")
        }
        _ => steps,
    }
}

fn unused(unused: &UnusedDependency) -> String {
    let place = format!("{}:{}", unused.manifest, unused.line);
    let text = format!("{place} {} ({})", unused.name, unused.kind);
    match &unused.perhaps {
        Some(perhaps) => format!("{text}: perhaps {perhaps}"),
        None => text,
    }
}

fn undeclared(package: &UndeclaredPackage) -> String {
    let place = format!("{}:{}", package.file, package.line);
    let text = format!("{} ({}): {place}", package.name, package.ecosystem);
    if package.files > 1 {
        format!("{text}, {} files", package.files)
    } else {
        text
    }
}

/// Describes a package that is imported or declared, which a manifest had to declare if it is
/// `undeclared`.
fn external(package: &ExternalPackage, undeclared: &[UndeclaredPackage]) -> String {
    let requirements = package.declared.iter().flat_map(|one| &one.requirement);
    let mut requirements: Vec<String> = requirements.cloned().collect();
    requirements.sort_unstable();
    requirements.dedup();
    let mut text = format!("{} ({})", package.name, package.ecosystem);
    if !requirements.is_empty() {
        text = format!("{text} {}", listed(requirements.into_iter()));
    }
    let is_undeclared = undeclared
        .iter()
        .any(|one| one.ecosystem == package.ecosystem && one.name == package.name);
    let declared = match package.declared.as_slice() {
        [] if is_undeclared => "not declared".to_owned(),
        [] => "in no manifest".to_owned(),
        [one] => format!("{}:{}", one.manifest, one.line),
        [one, more @ ..] => format!("{}:{} and {} more", one.manifest, one.line, more.len()),
    };
    let modules = count(package.imported_by, "module", "modules");
    format!("{text}, {declared}, {modules}")
}

/// Returns what to say of how an import acts.
fn mark(kind: ImportKind) -> String {
    match kind {
        ImportKind::Plain => String::new(),
        _ => format!(" ({kind})"),
    }
}

fn import(module: &str, import: &ModuleImport) -> String {
    let to = match &import.to {
        ImportTarget::Module(path) => path.clone(),
        ImportTarget::Package(name) => format!("{name} (package)"),
        ImportTarget::Standard(name) => format!("{name} (standard)"),
    };
    let file = import.file.as_deref().unwrap_or(module);
    format!("{file}:{}{} → {to}", import.line, mark(import.kind))
}

fn imports(module: &Module) -> String {
    let mut shown = Vec::new();
    for import in &module.imports {
        match &import.to {
            ImportTarget::Module(name) | ImportTarget::Package(name) => {
                shown.push(format!("{name}:{}{}", import.line, mark(import.kind)));
            }
            // What comes with the language tells little of a project.
            ImportTarget::Standard(_) => {}
        }
    }
    format!("{} → {}", module.path, listed(shown.into_iter()))
}

/// Returns what is not known of the ecosystems in a graph.
fn limits(graph: &DependencyGraph) -> Vec<String> {
    let notes = [
        (
            Ecosystem::Gradle,
            "[of Gradle's scripts only plain declarations are read; unused ones are not reported]",
        ),
        (
            Ecosystem::Maven,
            "[Maven's parents and properties are not followed; unused dependencies are not \
             reported]",
        ),
        (
            Ecosystem::CMake,
            "[of CMake's files only project and find_package are read]",
        ),
    ];
    let mut limits = Vec::new();
    for (ecosystem, note) in notes {
        let mut packages = graph.packages.iter();
        if packages.any(|package| package.ecosystem == ecosystem) {
            limits.push(note.to_owned());
        }
    }
    limits
}

/// Cuts the lists of a graph to what an answer may hold.
fn bound(graph: &mut DependencyGraph) {
    graph.packages.truncate(MAX_LISTED);
    graph.modules.truncate(MAX_LISTED);
    graph.importers.truncate(MAX_LISTED);
    graph.external.truncate(MAX_LISTED);
    graph.cycles.truncate(MAX_LISTED);
    graph.package_cycles.truncate(MAX_LISTED);
    graph.unused.truncate(MAX_LISTED);
    graph.undeclared.truncate(MAX_LISTED);
    graph.unresolved.truncate(MAX_LISTED);
    graph.invalid.truncate(MAX_LISTED);
    let mut room = MAX_IMPORTS;
    for module in &mut graph.modules {
        module.imports.truncate(room);
        room -= module.imports.len();
    }
    let mut room = MAX_IMPORTS;
    for package in &mut graph.packages {
        package.dependencies.truncate(room);
        room -= package.dependencies.len();
    }
    let mut room = MAX_IMPORTS;
    for cycle in &mut graph.cycles {
        cycle.steps.truncate(room);
        room -= cycle.steps.len();
        cycle.members.truncate(MAX_LISTED);
    }
}
