//! Small projects of the shapes that people have: what their tests import is installed as their
//! tools install it.

use super::{Bug, Project};
use crate::support::{Need, Outcome, World};

/// Finds modules by the mapping of an editable install, as the finder of setuptools does.
const FINDER: &str = "
from importlib.machinery import PathFinder
import os, sys

class Finder:
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        folder = MAPPING.get(name)
        return folder and PathFinder.find_spec(name, [os.path.dirname(folder)])

def install():
    sys.meta_path.append(Finder)
";

pub(super) fn projects() -> Vec<Project> {
    let changed = |file: &'static str, good, bad, symptom| Bug {
        file,
        good,
        bad,
        symptom,
    };
    vec![
        Project {
            name: "a_python_project_with_editable_installs",
            needs: &[Need::PYTHON],
            lay_out: python,
            verify: ".venv/bin/python -B -m unittest discover -s tests",
            init: None,
            bugs: [
                changed(
                    "src/doubling/__init__.py",
                    "2 * number",
                    "3 * number",
                    "test_doubling",
                ),
                changed(
                    "area/__init__.py",
                    "width * height",
                    "width + height",
                    "test_area",
                ),
            ],
        },
        Project {
            name: "an_npm_workspace",
            needs: &[Need::NPM],
            lay_out: npm,
            verify: "node packages/app/test.js",
            init: None,
            bugs: [changed(
                "packages/lib/index.js",
                "2 * number",
                "3 * number",
                "AssertionError",
            ); 2],
        },
        Project {
            name: "a_cargo_workspace",
            needs: &[],
            lay_out: cargo,
            verify: "cargo test --offline --quiet --tests",
            init: None,
            bugs: [changed("lib/src/lib.rs", "2 * number", "3 * number", "it_doubles"); 2],
        },
        Project {
            name: "a_c_project",
            needs: &[Need::MAKE],
            lay_out: c,
            verify: "make check",
            init: None,
            bugs: [changed("double.h", "2 * (number)", "3 * (number)", "Assertion"); 2],
        },
    ]
}

/// One package is installed by a path file, and one by a finder.
fn python(world: &World) -> Outcome {
    let repository = &world.repository;
    repository.write(
        "src/doubling/__init__.py",
        "def double(number):\n    return 2 * number\n",
    )?;
    repository.write(
        "area/__init__.py",
        "def area(width, height):\n    return width * height\n",
    )?;
    repository.write(
        "tests/test_all.py",
        "import unittest\nimport area, doubling\n\n\
         class All(unittest.TestCase):\n    \
         def test_doubling(self):\n        self.assertEqual(doubling.double(4), 8)\n\n    \
         def test_area(self):\n        self.assertEqual(area.area(3, 4), 12)\n",
    )?;
    ignored(world, ".venv/")?;
    world
        .home
        .command(
            "/usr/bin/python3",
            repository.path(),
            &["-m", "venv", "--without-pip", ".venv"],
        )
        .run()?
        .exits(0)?;
    let libraries = world
        .home
        .command(
            "sh",
            repository.path(),
            &["-c", "echo .venv/lib/*/site-packages"],
        )
        .run()?;
    let (site, checkout) = (libraries.stdout.trim_end(), repository.path().display());
    repository.write(
        &format!("{site}/_doubling.pth"),
        &format!("{checkout}/src\n"),
    )?;
    let finder = format!("MAPPING = {{'area': '{checkout}/area'}}\n{FINDER}");
    repository.write(&format!("{site}/__editable___area_finder.py"), &finder)?;
    let path = "import __editable___area_finder; __editable___area_finder.install()\n";
    repository.write(&format!("{site}/__editable__.area-1.pth"), path)
}

/// One package depends on another one of the workspace, which npm links.
fn npm(world: &World) -> Outcome {
    let repository = &world.repository;
    repository.write(
        "package.json",
        "{ \"private\": true, \"workspaces\": [\"packages/*\"] }\n",
    )?;
    repository.write(
        "packages/lib/package.json",
        "{ \"name\": \"lib\", \"version\": \"1.0.0\" }\n",
    )?;
    repository.write(
        "packages/lib/index.js",
        "exports.double = (number) => 2 * number;\n",
    )?;
    repository.write(
        "packages/app/package.json",
        "{ \"name\": \"app\", \"version\": \"1.0.0\", \"dependencies\": { \"lib\": \"1.0.0\" },\n  \
         \"scripts\": { \"test\": \"node test.js\" } }\n",
    )?;
    repository.write(
        "packages/app/test.js",
        "require('assert').equal(require('lib').double(4), 8);\n",
    )?;
    ignored(world, "node_modules/")?;
    let install = ["install", "--offline", "--no-audit", "--no-fund"];
    world
        .home
        .command("npm", repository.path(), &install)
        .run()?
        .exits(0)
        .map(drop)
}

/// One crate depends on another one of the workspace.
fn cargo(world: &World) -> Outcome {
    let repository = &world.repository;
    let package = |name: &str, rest: &str| {
        format!("[package]\nname = \"{name}\"\nversion = \"1.0.0\"\nedition = \"2024\"\n{rest}")
    };
    repository.write(
        "Cargo.toml",
        "[workspace]\nresolver = \"3\"\nmembers = [\"app\", \"lib\"]\n",
    )?;
    repository.write(
        "app/Cargo.toml",
        &package("app", "[dependencies]\nlib = { path = \"../lib\" }\n"),
    )?;
    repository.write("app/src/lib.rs", "pub use lib::double;\n")?;
    repository.write(
        "app/tests/all.rs",
        "#[test]\nfn it_doubles() {\n    assert_eq!(app::double(4), 8);\n}\n",
    )?;
    repository.write("lib/Cargo.toml", &package("lib", ""))?;
    repository.write(
        "lib/src/lib.rs",
        "pub fn double(number: u32) -> u32 {\n    2 * number\n}\n",
    )?;
    repository.write(".gitignore", "target/\n")?;
    let lock = world.home.command(
        "cargo",
        repository.path(),
        &["generate-lockfile", "--offline"],
    );
    lock.with_toolchain().run()?.exits(0).map(drop)
}

/// The user has built it, and shares what was built with the worktrees.
fn c(world: &World) -> Outcome {
    let repository = &world.repository;
    repository.write("double.h", "#define DOUBLE(number) (2 * (number))\n")?;
    repository.write(
        "test.c",
        "#undef NDEBUG\n#include <assert.h>\n#include \"double.h\"\n\nint main(void) {\n    assert(DOUBLE(4) == 8);\n    \
         return 0;\n}\n",
    )?;
    repository.write(
        "Makefile",
        "check: build/test\n\tbuild/test\n\nbuild/test: test.c double.h\n\tmkdir -p build && cc -o $@ test.c\n",
    )?;
    ignored(world, "build/")?;
    world
        .home
        .command("make", repository.path(), &["check"])
        .run()?
        .exits(0)
        .map(drop)
}

/// Makes git ignore a folder, and the worktrees get a copy of it.
fn ignored(world: &World, folder: &str) -> Outcome {
    world
        .repository
        .write(".gitignore", &format!("{folder}\n"))?;
    world
        .repository
        .write(".worktreeinclude", &format!("{folder}\n"))
}
