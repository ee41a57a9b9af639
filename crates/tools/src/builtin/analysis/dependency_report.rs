//! What an answer shows of a graph of dependencies.

use std::cmp::Reverse;
use std::fmt::Display;

use orchestrate_code::{
    Cycle, Dependency, DependencyGraph, DependencyKind, DependencySource, Ecosystem,
    ExternalPackage, ImportKind, ImportTarget, Module, ModuleImport, Package, UnusedDependency,
};
use orchestrate_core::text::invisible::shown;
use serde_json::{Value, json};

use crate::output::Answer;

/// Maximum number of lines of each part of the text.
const MAX_LINES: usize = 40;
/// Maximum number of lines of what is imported most, and of what imports most.
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
    let mut lines = vec![summary(&totals)];
    section(&mut lines, "invalid manifests", &graph.invalid, |one| {
        format!("{}:{} {}", one.path, one.error.line, one.error.message)
    });
    section(&mut lines, "packages", &graph.packages, package);
    section(&mut lines, "circular imports", &graph.cycles, cycle);
    section(
        &mut lines,
        "circular packages",
        &graph.package_cycles,
        |one| {
            let first = one.manifests.first().cloned();
            one.manifests
                .iter()
                .cloned()
                .chain(first)
                .collect::<Vec<_>>()
                .join(" → ")
        },
    );
    section(&mut lines, "unused dependencies", &graph.unused, unused);
    section(
        &mut lines,
        "undeclared packages",
        &graph.undeclared,
        |one| {
            let files = if one.files > 1 {
                format!(", {} files", one.files)
            } else {
                String::new()
            };
            format!(
                "{} ({}): {}:{}{files}",
                one.name,
                one.ecosystem.name(),
                one.file,
                one.line
            )
        },
    );
    section(
        &mut lines,
        "imports that lead nowhere",
        &graph.unresolved,
        |one| format!("{}:{} {}", one.file, one.line, one.target),
    );
    ranked(
        &mut lines,
        "imported by most modules",
        &graph.modules,
        |module| module.imported_by,
    );
    ranked(
        &mut lines,
        "importing most modules",
        &graph.modules,
        own_imports,
    );
    let is_judged = |one: &ExternalPackage| {
        graph
            .undeclared
            .iter()
            .any(|lacking| lacking.ecosystem == one.ecosystem && lacking.name == one.name)
    };
    section(&mut lines, "external packages", &graph.external, |one| {
        external(one, is_judged(one))
    });
    section(
        &mut lines,
        "imported from outside",
        &graph.importers,
        |one| format!("{}:{}{} → {}", one.from, one.line, kind(one.kind), one.to),
    );
    match graph.modules.as_slice() {
        [module] => {
            let imports: Vec<&ModuleImport> = module.imports.iter().collect();
            section(&mut lines, "imports", &imports, |one| {
                import(&module.path, one)
            });
        }
        modules => {
            let importing: Vec<&Module> = modules
                .iter()
                .filter(|one| !one.imports.is_empty())
                .collect();
            section(&mut lines, "imports", &importing, |one| imports(one));
        }
    }
    lines.extend(limits(&graph).map(str::to_owned));
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
    lines.extend(
        entries
            .iter()
            .take(MAX_LINES)
            .map(|entry| shown(&format!("  {}", line(entry)))),
    );
    if entries.len() > MAX_LINES {
        let (more, first) = (entries.len() - MAX_LINES, MAX_LINES);
        lines.push(format!(
            "  [{more} more after these {first}; name a folder or a file]"
        ));
    }
}

fn ranked(lines: &mut Vec<String>, title: &str, modules: &[Module], figure: fn(&Module) -> usize) {
    // One module alone is no ranking; those with equal figures keep their order.
    let mut ranked: Vec<&Module> = modules.iter().filter(|module| figure(module) > 1).collect();
    if modules.len() < 3 || ranked.is_empty() {
        return;
    }
    ranked.sort_by_key(|module| Reverse(figure(module)));
    ranked.truncate(MAX_RANKED);
    section(lines, title, &ranked, |module| {
        format!("{:>5}  {}", figure(module), module.path)
    });
}

fn own_imports(module: &Module) -> usize {
    module.imports.iter().filter(is_own).count()
}

fn is_own(import: &&ModuleImport) -> bool {
    matches!(import.to, ImportTarget::Module(_))
}

fn totals(graph: &DependencyGraph) -> Value {
    json!({
        "packages": graph.packages.len(),
        "modules": graph.modules.len(),
        "imports": graph.modules.iter().map(own_imports).sum::<usize>(),
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

fn summary(totals: &Value) -> String {
    let count = |key: &str, one: &str, many: &str| {
        let count = totals.get(key).and_then(Value::as_u64).unwrap_or_default();
        format!("{count} {}", if count == 1 { one } else { many })
    };
    format!(
        "{}, {}, {} between modules, {}, {}, {}, {}, {}",
        count("packages", "package", "packages"),
        count("modules", "module", "modules"),
        count("imports", "import", "imports"),
        count("external", "external package", "external packages"),
        count("cycles", "circular import", "circular imports"),
        count("unused", "unused dependency", "unused dependencies"),
        count("undeclared", "undeclared package", "undeclared packages"),
        count(
            "unresolved",
            "import that leads nowhere",
            "imports that lead nowhere"
        ),
    )
}

fn package(package: &Package) -> String {
    let Package {
        manifest,
        ecosystem,
        name,
        version,
        workspace,
        dependencies,
    } = package;
    let name = name
        .as_deref()
        .map(|name| format!(" {name}"))
        .unwrap_or_default();
    let version = version
        .as_deref()
        .map(|version| format!(" {version}"))
        .unwrap_or_default();
    let workspace = workspace.as_deref().filter(|root| root != manifest);
    let workspace = workspace
        .map(|root| format!(", member of {root}"))
        .unwrap_or_default();
    let needed = match dependencies.len() {
        0 => String::new(),
        _ => format!(": {}", listed(dependencies.iter().map(dependency))),
    };
    format!(
        "{manifest}{name}{version} ({}{workspace}){needed}",
        ecosystem.name()
    )
}

fn dependency(dependency: &Dependency) -> String {
    let mut text = dependency.name.clone();
    if let Some(alias) = &dependency.alias {
        text = format!("{text} as {alias}");
    }
    let place = match (&dependency.own, &dependency.source) {
        (Some(own), _) => Some(own.clone()),
        (
            None,
            DependencySource::Path(place)
            | DependencySource::Git(place)
            | DependencySource::Url(place),
        ) => Some(place.clone()),
        (None, DependencySource::Registry | DependencySource::Workspace) => {
            dependency.requirement.clone()
        }
    };
    if let Some(place) = place {
        text = format!("{text} {place}");
    }
    let mut marks = Vec::new();
    if dependency.kind != DependencyKind::Runtime {
        marks.push(dependency.kind.name().to_owned());
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
fn listed<T: Display>(texts: impl ExactSizeIterator<Item = T>) -> String {
    let more = texts.len().saturating_sub(MAX_NAMES);
    let mut listed: Vec<String> = texts.take(MAX_NAMES).map(|text| text.to_string()).collect();
    if more > 0 {
        listed.push(format!("{more} more"));
    }
    listed.join(", ")
}

fn cycle(cycle: &Cycle) -> String {
    let steps = cycle.steps.iter().map(|step| {
        let file = step.file.as_deref().unwrap_or(&step.from);
        format!("{file}:{}{}", step.line, kind(step.kind))
    });
    let more = cycle.steps.len().saturating_sub(MAX_NAMES);
    let mut steps: Vec<String> = steps.take(MAX_NAMES).collect();
    if more > 0 {
        steps.push(format!("{more} more"));
    }
    steps.extend(cycle.steps.first().map(|step| step.from.clone()));
    let group = if cycle.members.len() > cycle.steps.len() {
        format!(
            " (a shortest one of {} modules that import each other)",
            cycle.members.len()
        )
    } else {
        String::new()
    };
    format!("{}{group}", steps.join(" → "))
}

fn unused(unused: &UnusedDependency) -> String {
    let perhaps = unused
        .perhaps
        .as_deref()
        .map(|perhaps| format!(": perhaps {perhaps}"))
        .unwrap_or_default();
    format!(
        "{}:{} {} ({}){perhaps}",
        unused.manifest,
        unused.line,
        unused.name,
        unused.kind.name()
    )
}

/// Describes a package that is imported or declared; `is_undeclared` says whether a manifest had to
/// declare it.
fn external(package: &ExternalPackage, is_undeclared: bool) -> String {
    let mut requirements: Vec<&str> = package
        .declared
        .iter()
        .filter_map(|one| one.requirement.as_deref())
        .collect();
    requirements.sort_unstable();
    requirements.dedup();
    let requirements = if requirements.is_empty() {
        String::new()
    } else {
        format!(" {}", listed(requirements.into_iter()))
    };
    let declared = match package.declared.as_slice() {
        [] if is_undeclared => ", not declared".to_owned(),
        [] => ", in no manifest".to_owned(),
        [one] => format!(", {}:{}", one.manifest, one.line),
        [one, more @ ..] => format!(", {}:{} and {} more", one.manifest, one.line, more.len()),
    };
    let (ecosystem, count) = (package.ecosystem.name(), package.imported_by);
    let modules = if count == 1 { "module" } else { "modules" };
    format!(
        "{} ({ecosystem}){requirements}{declared}, {count} {modules}",
        package.name
    )
}

fn kind(kind: ImportKind) -> String {
    if kind == ImportKind::Plain {
        String::new()
    } else {
        format!(" ({})", kind.name())
    }
}

fn target(to: &ImportTarget) -> &str {
    match to {
        ImportTarget::Module(path) => path,
        ImportTarget::Package(name) | ImportTarget::Standard(name) => name,
    }
}

fn import(module: &str, import: &ModuleImport) -> String {
    let origin = match import.to {
        ImportTarget::Module(_) => "",
        ImportTarget::Package(_) => " (package)",
        ImportTarget::Standard(_) => " (standard)",
    };
    let file = import.file.as_deref().unwrap_or(module);
    format!(
        "{file}:{}{} → {}{origin}",
        import.line,
        kind(import.kind),
        target(&import.to)
    )
}

fn imports(module: &Module) -> String {
    // What comes with the language tells little of a project.
    let shown = module
        .imports
        .iter()
        .filter(|import| !matches!(import.to, ImportTarget::Standard(_)));
    let shown: Vec<String> = shown
        .map(|import| {
            format!(
                "{}:{}{}",
                target(&import.to),
                import.line,
                kind(import.kind)
            )
        })
        .collect();
    format!("{} → {}", module.path, listed(shown.iter()))
}

/// Returns what is not known of the ecosystems in a graph.
fn limits(graph: &DependencyGraph) -> impl Iterator<Item = &'static str> {
    let has = |ecosystem| {
        graph
            .packages
            .iter()
            .any(|package| package.ecosystem == ecosystem)
    };
    let jvm = has(Ecosystem::Gradle) || has(Ecosystem::Maven);
    let gradle = "[of Gradle's scripts only plain declarations are read]";
    let java = "[which artifact has a package of Java is a guess, so unused ones are not reported]";
    let cmake = "[of CMake's files only project and find_package are read]";
    let limits = [
        (has(Ecosystem::Gradle), gradle),
        (jvm, java),
        (has(Ecosystem::CMake), cmake),
    ];
    limits
        .into_iter()
        .filter(|(holds, _)| *holds)
        .map(|(_, note)| note)
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
