//! The files of a crate form a DAG, and so do its folders: no two of them depend on each other,
//! directly or indirectly.
//!
//! An edge is a path or an import outside tests. A path that a facade (`lib.rs`, `mod.rs`)
//! re-exports counts for the file that it leads to. The crate's root is not a node, since it only
//! lists the others.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use libtest_mimic::Failed;

use super::source::{Outline, outline};
use super::{Violation, crates, read, require_exactly, require_none, root};
use crate::support::Outcome;

/// A module's path below the crate, for example `plan::parser`; the root is empty.
type Module = Vec<String>;

/// The maximum number of re-exports that are followed; a longer chain is a mistake of its own.
const MAX_HOPS: usize = 8;

/// The crates whose folders depend on each other, until their walls are cut. None is added.
const KNOTTED: [&str; 0] = [];

struct Crate {
    name: String,
    modules: BTreeMap<Module, Outline>,
}

/// Checks the program and every other crate of the workspace.
pub(super) fn workspace_holds() -> Outcome {
    let mut roots = vec![("orchestrate".to_owned(), root().join("crates/cli/main.rs"))];
    for folder in crates()? {
        let name = folder
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        roots.push((name, folder.join("src/lib.rs")));
    }
    let mut violations = Vec::new();
    for (name, path) in roots {
        let loaded = load(name, &path)?;
        violations.extend(loaded.cycles());
        let folders = loaded.folder_cycles();
        match (KNOTTED.contains(&loaded.name.as_str()), folders.is_empty()) {
            (true, true) => violations.push(format!("{} is no longer knotted", loaded.name)),
            (true, false) => {}
            (false, _) => violations.extend(folders),
        }
    }
    require_none(&violations)
}

fn load(name: String, path: &Path) -> Result<Crate, Failed> {
    let mut modules = BTreeMap::new();
    let folder = path.parent().unwrap_or(Path::new("")).to_owned();
    load_module(Vec::new(), path, &folder, &mut modules)?;
    Ok(Crate { name, modules })
}

fn load_module(
    module: Module,
    file: &Path,
    folder: &Path,
    modules: &mut BTreeMap<Module, Outline>,
) -> Outcome {
    let outline = outline(&file.display().to_string(), &read(file)?)?;
    for child in &outline.children {
        let beside = folder.join(format!("{child}.rs"));
        let inside = folder.join(child).join("mod.rs");
        let file = if beside.is_file() { beside } else { inside };
        let path = module.iter().chain([child]).cloned().collect();
        // A module with `#[path]` is found under neither name and is left out.
        if file.is_file() {
            load_module(path, &file, &folder.join(child), modules)?;
        }
    }
    modules.insert(module, outline);
    Ok(())
}

impl Crate {
    /// Returns one violation for each group of modules that depend on each other.
    fn cycles(&self) -> Vec<Violation> {
        self.cycles_among("module", &self.edges())
    }

    /// Returns one violation for each group of folders that depend on each other, as a reader sees
    /// the crate: all modules of a folder are one.
    fn folder_cycles(&self) -> Vec<Violation> {
        let mut edges: BTreeMap<Module, BTreeMap<Module, usize>> = BTreeMap::new();
        for (from, targets) in self.edges() {
            let folder = edges.entry(from[..1].to_vec()).or_default();
            for (to, line) in targets {
                if from[0] != to[0] {
                    folder.entry(to[..1].to_vec()).or_insert(line);
                }
            }
        }
        self.cycles_among("folder", &edges)
    }

    fn cycles_among(
        &self,
        kind: &str,
        edges: &BTreeMap<Module, BTreeMap<Module, usize>>,
    ) -> Vec<Violation> {
        let reach: BTreeMap<&Module, BTreeSet<&Module>> = edges
            .keys()
            .map(|module| (module, reachable(module, edges)))
            .collect();
        let mut reported = BTreeSet::new();
        let mut violations = Vec::new();
        for (module, reached) in &reach {
            if !reached.contains(module) || reported.contains(module) {
                continue;
            }
            let together =
                |other: &&&Module| reach.get(**other).is_some_and(|back| back.contains(module));
            let component: BTreeSet<&Module> = reached.iter().filter(together).copied().collect();
            reported.extend(component.iter().copied());
            violations.push(self.describe(kind, &component, edges));
        }
        violations
    }

    fn describe(
        &self,
        kind: &str,
        component: &BTreeSet<&Module>,
        edges: &BTreeMap<Module, BTreeMap<Module, usize>>,
    ) -> Violation {
        let mut places = Vec::new();
        for from in component {
            for (to, line) in edges
                .get(*from)
                .into_iter()
                .flatten()
                .filter(|(to, _)| component.contains(to))
            {
                places.push(format!(
                    "{} needs {} (line {line})",
                    from.join("::"),
                    to.join("::")
                ));
            }
        }
        format!("{kind} cycle in {}: {}", self.name, places.join(", "))
    }

    /// Returns the modules that each module names, with the first line where it does.
    fn edges(&self) -> BTreeMap<Module, BTreeMap<Module, usize>> {
        let mut edges = BTreeMap::new();
        for (module, outline) in self.modules.iter().filter(|(module, _)| !module.is_empty()) {
            let mut targets = BTreeMap::new();
            for reference in &outline.references {
                let target = self
                    .absolute(module, &reference.segments)
                    .and_then(|path| self.home_of(path));
                if let Some(target) = target.filter(|target| target != module && !target.is_empty())
                {
                    targets.entry(target).or_insert(reference.line);
                }
            }
            edges.insert(module.clone(), targets);
        }
        edges
    }

    /// Resolves a path as written in a module to one from the crate's root; `None` if it leads to
    /// another crate.
    fn absolute(&self, module: &Module, segments: &[String]) -> Option<Vec<String>> {
        let first = segments.first()?;
        let supers = segments
            .iter()
            .take_while(|segment| *segment == "super")
            .count();
        let (base, rest): (&[String], &[String]) = match first.as_str() {
            "crate" => (&[], &segments[1..]),
            "self" => (module, &segments[1..]),
            "super" => (
                &module[..module.len().checked_sub(supers)?],
                &segments[supers..],
            ),
            child
                if self
                    .modules
                    .get(module)?
                    .children
                    .iter()
                    .any(|name| name == child) =>
            {
                (module, segments)
            }
            _ => return None,
        };
        Some(base.iter().chain(rest).cloned().collect())
    }

    /// Returns the module that defines what a path names, following re-exports.
    fn home_of(&self, mut path: Vec<String>) -> Option<Module> {
        for _ in 0..MAX_HOPS {
            let depth = (0..=path.len())
                .rev()
                .find(|depth| self.modules.contains_key(&path[..*depth]))?;
            let module = path[..depth].to_vec();
            let export = path
                .get(depth)
                .and_then(|name| self.modules.get(&module)?.exports.get(name));
            match export.and_then(|segments| self.absolute(&module, segments)) {
                Some(next) if next != path => path = next,
                _ => return Some(module),
            }
        }
        None
    }
}

fn reachable<'e>(
    start: &Module,
    edges: &'e BTreeMap<Module, BTreeMap<Module, usize>>,
) -> BTreeSet<&'e Module> {
    let mut seen = BTreeSet::new();
    let mut open: Vec<&Module> = edges
        .get(start)
        .into_iter()
        .flat_map(BTreeMap::keys)
        .collect();
    while let Some(module) = open.pop() {
        if seen.insert(module) {
            open.extend(edges.get(module).into_iter().flat_map(BTreeMap::keys));
        }
    }
    seen
}

/// Shows the check examples that it must catch, and some that it must leave alone.
pub(super) fn examples_are_caught() -> Outcome {
    let direct = [
        ("", "mod a; mod b;"),
        ("a", "use crate::b::B;"),
        ("b", "\nfn f() { super::a::g() }"),
    ];
    require_exactly(
        &cycles_of(&direct)?,
        &["module cycle in sample: a needs b (line 1), b needs a (line 2)"],
    )?;
    let through_facade = [
        (
            "",
            "mod a; mod b; pub use b::B; pub use a::{A, helper as h};",
        ),
        ("a", "use crate::B;"),
        ("b", "use crate::{other, h};"),
    ];
    let expected = ["module cycle in sample: a needs b (line 1), b needs a (line 1)"];
    require_exactly(&cycles_of(&through_facade)?, &expected)?;
    let parent = [
        ("", "mod a;"),
        ("a", "mod b; use b::B; struct A;"),
        ("a::b", "use super::A;"),
    ];
    let expected = ["module cycle in sample: a needs a::b (line 1), a::b needs a (line 1)"];
    require_exactly(&cycles_of(&parent)?, &expected)?;
    let long = [
        ("", "mod a; mod b; mod c;"),
        ("a", "use crate::b;"),
        ("b", "use super::{c::{self, C}};"),
        ("c", "impl X for crate::a::A {}"),
    ];
    let expected =
        ["module cycle in sample: a needs b (line 1), b needs c (line 1), c needs a (line 1)"];
    require_exactly(&cycles_of(&long)?, &expected)?;
    let in_tests = [
        ("", "mod a; mod b;"),
        ("a", "use crate::b::B; // crate::a"),
        (
            "b",
            "const S: &str = \"crate::a\"; #[cfg(test)] mod tests { use crate::a::A; } #[cfg(test)] use crate::a;",
        ),
    ];
    require_none(&cycles_of(&in_tests)?)?;
    let folders = [
        ("", "mod a; mod b;"),
        ("a", "mod x; mod y;"),
        ("a::x", "use crate::b::x::X;"),
        ("a::y", ""),
        ("b", "mod x; mod y;"),
        ("b::x", ""),
        ("b::y", "use crate::a::y::Y;"),
    ];
    require_none(&cycles_of(&folders)?)?;
    require_exactly(
        &sample(&folders)?.folder_cycles(),
        &["folder cycle in sample: a needs b (line 1), b needs a (line 1)"],
    )
}

fn cycles_of(files: &[(&str, &str)]) -> Result<Vec<Violation>, Failed> {
    Ok(sample(files)?.cycles())
}

fn sample(files: &[(&str, &str)]) -> Result<Crate, Failed> {
    let mut modules = BTreeMap::new();
    for (module, text) in files {
        let path = module
            .split("::")
            .filter(|part| !part.is_empty())
            .map(str::to_owned)
            .collect();
        modules.insert(path, outline(module, text)?);
    }
    Ok(Crate {
        name: "sample".to_owned(),
        modules,
    })
}
