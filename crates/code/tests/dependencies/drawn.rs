//! The graph of a small project of each ecosystem.

use std::fmt::Write as _;

use orchestrate_code::{DependencyGraph, ImportTarget};

use crate::project::{NEVER, graph};

/// Each project with its graph.
macro_rules! samples {
    ($($name:literal)*) => {
        [$((
            $name,
            include_str!(concat!("samples/", $name, ".project")),
            include_str!(concat!("samples/", $name, ".graph")),
        )),*]
    };
}

/// Returns a graph as text.
#[expect(clippy::too_many_lines, reason = "one kind of part after the other")]
fn drawn(graph: &DependencyGraph) -> String {
    let mut text = String::new();
    for package in &graph.packages {
        let name = package.name.as_deref().unwrap_or("-");
        let version = package.version.as_deref().unwrap_or("-");
        let workspace = package.workspace.as_deref().unwrap_or("-");
        writeln!(
            text,
            "package {} {name} {version} of {workspace}",
            package.manifest
        )
        .unwrap();
        for one in &package.dependencies {
            let extra = [
                &one.alias,
                &one.requirement,
                &one.group,
                &one.target,
                &one.own,
            ];
            let extra = extra
                .map(|extra| extra.as_deref().unwrap_or("-").to_owned())
                .join(" | ");
            let optional = if one.optional { " optional" } else { "" };
            let (kind, used) = (one.kind, one.imported_by);
            writeln!(
                text,
                "  {} {} {kind}{optional} {:?} | {extra} | {used}",
                one.line, one.name, one.source
            )
            .unwrap();
        }
    }
    for module in &graph.modules {
        let package = module.package.as_deref().unwrap_or("-");
        writeln!(
            text,
            "module {} in {package}, imported by {}",
            module.path, module.imported_by
        )
        .unwrap();
        for import in &module.imports {
            let (mark, to) = match &import.to {
                ImportTarget::Module(path) => ("", path),
                ImportTarget::Package(name) => ("package ", name),
                ImportTarget::Standard(name) => ("standard ", name),
            };
            let file = import
                .file
                .as_deref()
                .map(|file| format!("{file}:"))
                .unwrap_or_default();
            writeln!(text, "  {file}{} {} {mark}{to}", import.line, import.kind).unwrap();
        }
    }
    for one in &graph.external {
        let declared: Vec<String> = one
            .declared
            .iter()
            .map(|one| format!("{}:{}", one.manifest, one.line))
            .collect();
        let (ecosystem, used) = (one.ecosystem, one.imported_by);
        writeln!(
            text,
            "external {ecosystem} {} {used} [{}]",
            one.name,
            declared.join(", ")
        )
        .unwrap();
    }
    for one in &graph.cycles {
        let steps: Vec<String> = one
            .steps
            .iter()
            .map(|step| format!("{}:{}", step.from, step.line))
            .collect();
        writeln!(text, "cycle {} of {}", steps.join(" > "), one.members.len()).unwrap();
    }
    for one in &graph.package_cycles {
        writeln!(text, "package cycle {}", one.manifests.join(" > ")).unwrap();
    }
    for one in &graph.unused {
        let perhaps = one.perhaps.as_deref().unwrap_or("-");
        writeln!(
            text,
            "unused {}:{} {} {}: {perhaps}",
            one.manifest, one.line, one.name, one.kind
        )
        .unwrap();
    }
    for one in &graph.undeclared {
        writeln!(
            text,
            "undeclared {} {} {}:{} {}",
            one.ecosystem, one.name, one.file, one.line, one.files
        )
        .unwrap();
    }
    for one in &graph.unresolved {
        writeln!(text, "nowhere {}:{} {}", one.file, one.line, one.target).unwrap();
    }
    for one in &graph.invalid {
        writeln!(text, "invalid {} {}", one.path, one.error).unwrap();
    }
    text
}

#[test]
fn the_graph_of_each_ecosystem_is_as_drawn() {
    let mut others = String::new();
    for (name, text, expected) in samples!("c" "cargo" "go" "java" "node" "python" "workspaces") {
        let found = drawn(&graph(text, NEVER).unwrap());
        if found != expected {
            write!(others, "=== {name}.graph\n{found}").unwrap();
        }
    }
    assert!(others.is_empty(), "not as drawn:\n{others}");
}

#[test]
fn a_part_has_what_imports_it_from_outside() {
    let text = include_str!("samples/python.project");
    let part = graph(text, NEVER).unwrap().within("src/my_app/models");
    let modules: Vec<&str> = part
        .modules
        .iter()
        .map(|module| module.path.as_str())
        .collect();
    assert_eq!(
        modules,
        ["src/my_app/models/__init__.py", "src/my_app/models/user.py"]
    );
    let importers: Vec<String> = part
        .importers
        .iter()
        .map(|one| format!("{}:{} {}", one.from, one.line, one.to))
        .collect();
    let core = "src/my_app/core.py";
    let expected = [
        format!("{core}:4 src/my_app/models/__init__.py"),
        format!("{core}:5 src/my_app/models/user.py"),
        "tests/test_core.py:3 src/my_app/models/__init__.py".to_owned(),
    ];
    assert_eq!(importers, expected);
    assert_eq!(part.unresolved.len(), 1);
    assert_eq!(part.cycles.len(), 1);
    // A file of Go belongs to the module that its folder is.
    let text = include_str!("samples/go.project");
    let part = graph(text, NEVER)
        .unwrap()
        .within("internal/model/model.go");
    assert_eq!(part.modules.len(), 1);
    assert_eq!(part.modules[0].path, "internal/model");
    assert_eq!(part.importers[0].from, "internal/store/store.go");
    let part = graph(text, NEVER).unwrap().within("main.go");
    assert_eq!(part.modules[0].path, ".");
}

/// What is for tests ends with its item, so that what follows closes a circle.
#[test]
fn what_follows_code_for_tests_is_not_for_tests() {
    let table = [
        ("#[cfg(test)]\nmod tests { use super::x; }", 1),
        (
            "#[cfg(test)]\nmod tests { mod inner { use std::fs; } }\n#[cfg(test)]\nmod others {}",
            1,
        ),
        ("#[cfg(feature = \"latest\")]", 1),
        ("#[cfg(feature = \"test\")]", 1),
        ("#[cfg(latest)]", 1),
        ("#[cfg(not(test))]", 1),
        ("#[cfg(not(any(unix, test)))]", 1),
        ("#[cfg_attr(test, allow(unused))]", 1),
        ("#[cfg(test)]", 0),
        ("#[cfg(all(not(unix), test))]", 0),
        ("#[cfg(all(feature = \")(not(\", test))]", 0),
    ];
    for (before, cycles) in table {
        let text = format!(
            "=== Cargo.toml\n[package]\nname = \"a\"\nversion = \"1\"\n=== src/lib.rs\nmod a;\nmod b;\n\
             === src/a.rs\n{before}\nuse crate::b::x;\n=== src/b.rs\nuse crate::a::y;\n"
        );
        assert_eq!(
            graph(&text, NEVER).unwrap().cycles.len(),
            cycles,
            "{before}"
        );
    }
}

/// The word `package` may be a part of a name, as in `com.android.packageinstaller`.
#[test]
fn a_package_of_java_may_have_any_name() {
    let text = "=== a/A.java\n@Deprecated package com.acme . packages.core;\npublic class A { }\n\
        === b/B.java\npackage com.acme;\nimport com.acme.packages.core.A;\nclass B { A a; }\n";
    let graph = graph(text, NEVER).unwrap();
    let imports: Vec<&ImportTarget> = graph.modules[1]
        .imports
        .iter()
        .map(|import| &import.to)
        .collect();
    assert_eq!(imports, [&ImportTarget::Module("a/A.java".to_owned())]);
}

/// Packages for browsers have names of modules of Node.js; those that are declared are used.
#[test]
fn a_declared_package_comes_before_a_module_of_node() {
    let text = "=== package.json\n{\"name\": \"a\", \"dependencies\": {\"buffer\": \"6\", \"events\": \"3\"}}\n\
        === a.js\nimport 'buffer/';\nimport E from 'events';\nimport 'util';\nimport 'node:events';\n";
    let graph = graph(text, NEVER).unwrap();
    let imports: Vec<&ImportTarget> = graph.modules[0]
        .imports
        .iter()
        .map(|import| &import.to)
        .collect();
    let package = |name: &str| ImportTarget::Package(name.to_owned());
    let standard = |name: &str| ImportTarget::Standard(name.to_owned());
    assert_eq!(
        imports,
        [
            &package("buffer"),
            &package("events"),
            &standard("util"),
            &standard("events")
        ]
    );
    assert_eq!(graph.unused, []);
}

/// The script of a component is not read, so what only it imports may be used.
#[test]
fn what_a_component_may_import_is_only_perhaps_unused() {
    let package = "package.json\n{\"name\": \"a\", \"dependencies\": {\"axios\": \"1\"}}\n";
    let component = "<script>\nimport axios from 'axios';\n</script>\n";
    let of_components =
        Some("imported by a component (Astro, MDX, Svelte, Vue), whose script is not read");
    for (path, expected) in [
        ("web/src/App.vue", of_components),
        ("web/src/App.txt", None),
        ("App.vue", None),
    ] {
        let text = format!(
            "=== web/{package}=== web/src/main.js\nimport './App.vue';\n=== {path}\n{component}"
        );
        let graph = graph(&text, NEVER).unwrap();
        let unused: Vec<_> = graph
            .unused
            .iter()
            .map(|one| (one.name.as_str(), one.perhaps.as_deref()))
            .collect();
        assert_eq!(unused, [("axios", expected)], "{path}");
    }
}

/// Several builds in one repository have projects of the same paths; each is one of the build that
/// names it.
#[test]
fn a_project_of_gradle_is_one_of_the_same_build() {
    let builds = ["", "a/", "b/", "c/d/", "c/e/"];
    let build = |folder: &str| {
        format!(
            "=== {folder}core/build.gradle\n=== {folder}app/build.gradle\napi project(':core')\n"
        )
    };
    let graph = graph(&builds.map(build).concat(), NEVER).unwrap();
    let own = graph.packages.iter().filter_map(|package| {
        let own = package.dependencies.first()?.own.as_deref()?;
        Some((package.manifest.as_str(), own))
    });
    let own: Vec<(&str, &str)> = own.collect();
    let expected = [
        ("a/app/build.gradle", "a/core/build.gradle"),
        ("app/build.gradle", "core/build.gradle"),
        ("b/app/build.gradle", "b/core/build.gradle"),
        ("c/d/app/build.gradle", "c/d/core/build.gradle"),
        ("c/e/app/build.gradle", "c/e/core/build.gradle"),
    ];
    assert_eq!(own, expected);
}

/// A project may have a `queue.py` or a package `test`, which Python finds first; a folder of files
/// alone it does not.
#[test]
fn a_module_of_python_may_have_the_name_of_a_standard_one() {
    let text = "=== app.py\nimport queue\nfrom test.helpers import x\nimport json\nimport logging.handlers\n\
        === queue.py\n\n=== test/__init__.py\n\n=== test/helpers.py\nimport queue, select\n=== test/select.py\n\n\
        === json/x.py\nimport json\n";
    let graph = graph(text, NEVER).unwrap();
    let imports = |path: &str| {
        let module = graph
            .modules
            .iter()
            .find(|module| module.path == path)
            .unwrap();
        module
            .imports
            .iter()
            .map(|import| import.to.clone())
            .collect::<Vec<_>>()
    };
    let module = |path: &str| ImportTarget::Module(path.to_owned());
    let standard = |name: &str| ImportTarget::Standard(name.to_owned());
    let of_app = [
        module("queue.py"),
        module("test/helpers.py"),
        standard("json"),
        standard("logging"),
    ];
    assert_eq!(imports("app.py"), of_app);
    // Beside the package `test`, not in it.
    assert_eq!(
        imports("test/helpers.py"),
        [module("queue.py"), standard("select")]
    );
    assert_eq!(imports("json/x.py"), [standard("json")]);
}

/// The root of a library may have any name, whichever other targets there are.
#[test]
fn a_library_of_cargo_is_where_its_manifest_says() {
    let package =
        |name: &str, more: &str| format!("[package]\nname = \"{name}\"\nversion = \"1\"\n{more}");
    for root in ["source/store.rs", "src/libstore.rs", "src/lib.rs"] {
        let user = package("user", "[dependencies]\nstore = { path = \"../store\" }\n");
        let store = package(
            "store",
            &format!("[lib]\npath = \"{root}\"\n[[bin]]\nname = \"b\"\npath = \"bin/lib.rs\"\n"),
        );
        let text = format!(
            "=== user/Cargo.toml\n{user}=== user/src/lib.rs\nuse store::open;\n=== store/Cargo.toml\n{store}\
             === store/{root}\npub fn open() {{}}\n=== store/bin/lib.rs\nfn main() {{ store::open(); }}\n"
        );
        let graph = graph(&text, NEVER).unwrap();
        let library = ImportTarget::Module(format!("store/{root}"));
        for path in ["user/src/lib.rs", "store/bin/lib.rs"] {
            let module = graph
                .modules
                .iter()
                .find(|module| module.path == path)
                .unwrap();
            let imports: Vec<&ImportTarget> =
                module.imports.iter().map(|import| &import.to).collect();
            assert_eq!(imports, [&library], "{path} of {root}");
        }
    }
}

/// Returns the unused dependencies of a package of cargo, with why they may be used.
fn unused_of_cargo(dependencies: &str, code: &str) -> Vec<(String, Option<String>)> {
    let text = format!(
        "=== Cargo.toml\n[package]\nname = \"a\"\nversion = \"1\"\nedition = \"2021\"\n{dependencies}\n\
         === src/lib.rs\n{code}\n"
    );
    graph(&text, NEVER)
        .unwrap()
        .unused
        .into_iter()
        .map(|one| (one.name, one.perhaps))
        .collect()
}

/// Wherever a path stands, and whichever begin it has.
#[test]
fn a_crate_is_used_by_any_path_to_it() {
    let table = [
        ("fn f() { ::my_dep::info!(\"x\"); }", 0),
        ("fn f() { my_dep::info!(\"x\"); }", 0),
        ("fn f() { vec![::my_dep::A]; }", 0),
        ("fn f() { vec![a as ::my_dep::A]; }", 0),
        ("fn f() { vec![A { a:my_dep::B }]; }", 0),
        ("fn f() { vec![0..my_dep::MAX]; }", 0),
        ("fn f() { ::my_dep::g(); }", 0),
        ("fn f() { <A as my_dep::B>::c(); }", 0),
        ("type A = <::my_dep::B as C>::D;", 0),
        ("#[::my_dep::main] fn f() {}", 0),
        ("#[my_dep::main] fn f() {}", 0),
        ("#[derive(my_dep::A)] struct B;", 0),
        (
            "#[cfg_attr(feature = \"x\", derive(::my_dep::A))] struct B;",
            0,
        ),
        ("struct A { #[serde(with = \"my_dep\")] b: B }", 0),
        ("#[serde(crate = \"::my_dep\")] struct A;", 0),
        ("extern crate my_dep as other;", 0),
        ("#[macro_use] extern crate my_dep;", 0),
        ("pub use my_dep;", 0),
        ("use ::{my_dep, std::fs};", 0),
        ("\n=== build.rs\nfn main() { ::my_dep::g!(); }", 0),
        ("fn f() { a::my_dep::c!(); }", 1),
        ("fn f() { vec![Vec::<A>::my_dep::B, a.my_dep::<B>()]; }", 1),
        ("#[doc = \"my_dep\"] struct A;", 1),
    ];
    for (code, count) in table {
        assert_eq!(
            unused_of_cargo("[dependencies]\nmy-dep = \"1\"", code).len(),
            count,
            "{code}"
        );
    }
}

/// Only what is certain is said: attributes may leave a module out.
#[test]
fn a_module_of_rust_that_is_nowhere_is_named() {
    let table = [
        ("mod gone;", "src/lib.rs:1 mod gone"),
        ("#[cfg(test)]\nmod gone;", "src/lib.rs:2 mod gone"),
        (
            "#[path = \"elsewhere.rs\"]\nmod gone;",
            "src/lib.rs:2 #[path = \"elsewhere.rs\"] mod gone",
        ),
        (
            "mod a;\n=== src/a.rs\nmod gone;\n=== src/gone.rs\n",
            "src/a.rs:1 mod gone",
        ),
        ("mod gone;\nuse crate::gone::X;", "src/lib.rs:1 mod gone"),
        ("#[cfg(windows)]\nmod gone;", ""),
        ("#[cfg_attr(windows, path = \"windows.rs\")]\nmod gone;", ""),
        (
            "#[path = concat!(env!(\"OUT_DIR\"), \"/gone.rs\")]\nmod gone;",
            "",
        ),
        ("#[path = \"../../gone.rs\"]\nmod gone;", ""),
        ("#[cfg(windows)]\nmod a { mod gone; }", ""),
        ("mod a;\n=== src/a/mod.rs\nmod b;\n=== src/a/b.rs\n", ""),
        (
            "mod a;\n=== src/a.rs\nmod b { mod c; }\n=== src/a/b/c.rs\n",
            "",
        ),
        ("mod a { #[path = \"d.rs\"] mod c; }\n=== src/a/d.rs\n", ""),
        (
            "#[path = \"x/a.rs\"]\nmod a;\n=== src/x/a.rs\nmod b;\n=== src/x/b.rs\n",
            "",
        ),
        ("mod a;\n=== src/main.rs\nmod a;\n=== src/a.rs\n", ""),
    ];
    for (code, expected) in table {
        let text = format!(
            "=== Cargo.toml\n[package]\nname = \"p\"\nversion = \"1\"\nedition = \"2021\"\n=== src/lib.rs\n{code}\n"
        );
        assert_eq!(nowhere(&text), expected, "{code}");
    }
}

/// Returns the imports of a project that lead nowhere, one a line.
fn nowhere(text: &str) -> String {
    let graph = graph(text, NEVER).unwrap();
    let lines: Vec<String> = graph
        .unresolved
        .iter()
        .map(|one| format!("{}:{} {}", one.file, one.line, one.target))
        .collect();
    lines.join("\n")
}

/// A package of the project has the modules that it has files for, unless a build makes them.
#[test]
fn a_module_of_python_that_is_nowhere_is_named() {
    let table = [
        ("import app.missing", "x.py:1 app.missing"),
        ("from app.missing import thing", "x.py:1 app.missing"),
        (
            "import app.part.missing.deep",
            "x.py:1 app.part.missing.deep",
        ),
        ("import app.there", ""),
        ("from app import missing", ""),
        ("import app.there.attribute", ""),
        ("import app._speed", ""),
        ("import app.fast", ""),
        ("import app.other_pb2", ""),
        ("from _typeshed import SupportsRead", ""),
    ];
    for (code, expected) in table {
        let text = format!(
            "=== pyproject.toml\n[project]\nname = \"p\"\nversion = \"1\"\n=== app/__init__.py\n=== app/there.py\n\
             === app/part/__init__.py\n=== app/fast.pyx\n=== x.py\n{code}\n"
        );
        assert_eq!(nowhere(&text), expected, "{code}");
        assert_eq!(graph(&text, NEVER).unwrap().undeclared, [], "{code}");
    }
    // Beside the file is only a part of the package.
    let text = "=== src/app/__init__.py\n=== src/app/there.py\n=== tests/app/__init__.py\n=== tests/x.py\nimport app.there\n";
    assert_eq!(nowhere(text), "");
}

/// Code knows a crate by the name of its library, and what no code names may be needed for its
/// features.
#[test]
fn a_crate_is_used_by_any_name_that_it_has() {
    let features = Some("it may only select features of a package that others use");
    let named = Some("its library may have another name");
    let own = "use lib_name::X;\n=== other/Cargo.toml\n[package]\nname = \"my-dep\"\nversion = \"1\"\n[lib]\n\
        name = \"lib_name\"\n=== other/src/lib.rs\npub struct X;";
    let table = [
        (
            "[dependencies]\nx = { package = \"my-dep\", version = \"1\" }",
            "fn f() { x::g(); }",
            None,
        ),
        (
            "[target.'cfg(unix)'.dependencies]\nmy-dep = \"1\"",
            "fn f() { my_dep::g(); }",
            None,
        ),
        (
            "[build-dependencies]\nmy-dep = \"1\"",
            "\n=== build.rs\nfn main() { my_dep::g(); }",
            None,
        ),
        ("[dependencies]\nmy-dep = { path = \"other\" }", own, None),
        (
            "[dependencies]\nmy-dep = { version = \"1\", features = [\"std\"] }",
            "",
            Some(features),
        ),
        (
            "[dependencies]\nmy-dep = \"1\"",
            "use other_name::X;",
            Some(named),
        ),
        ("[dependencies]\nmy-dep = \"1\"", "", Some(None)),
    ];
    for (dependencies, code, expected) in table {
        let found = unused_of_cargo(dependencies, code);
        let found: Vec<Option<&str>> = found
            .iter()
            .map(|(_, perhaps)| perhaps.as_deref())
            .collect();
        assert_eq!(
            found,
            expected.into_iter().collect::<Vec<_>>(),
            "{dependencies} {code}"
        );
    }
}

/// `extern crate` names a crate, or this one, for all of its modules.
#[test]
fn a_crate_may_be_renamed_in_code() {
    let text = "=== Cargo.toml\n[package]\nname = \"p\"\nversion = \"1\"\nedition = \"2021\"\n\
        [dependencies]\nmy-dep = \"1\"\n=== src/lib.rs\nextern crate my_dep as other;\nextern crate self as me;\nmod a;\nmod b;\n\
        === src/a.rs\nuse other::X;\nuse me::b::Y;\n=== src/b.rs\npub struct Y;\n";
    let graph = graph(text, NEVER).unwrap();
    assert_eq!((graph.undeclared, graph.unused), (Vec::new(), Vec::new()));
    let imports: Vec<&ImportTarget> = graph.modules[0]
        .imports
        .iter()
        .map(|import| &import.to)
        .collect();
    let package = ImportTarget::Package("my-dep".to_owned());
    let module = ImportTarget::Module("src/b.rs".to_owned());
    assert_eq!(imports, [&package, &module]);
}
