//! Tests of the tool that shows what a project depends on.

use std::os::unix::fs::symlink;
use std::time::Duration;

use orchestrate_core::policy::RuleDecision::Deny;
use orchestrate_tool_testing::harness::ToolHarness;
use serde_json::json;

use crate::builtin::analysis::knowing;
use crate::support::{policy, said};

const TOOL: &str = "analyze_dependencies";
const PACKAGE: &str = r#"{
  "name": "shop",
  "version": "1.0.0",
  "dependencies": {
    "react": "^18",
    "unused": "1"
  }
}
"#;

fn project(harness: &ToolHarness) {
    for (path, content) in [
        (".gitignore", "dist/\n"),
        ("dist/bundle.js", "require('bundled');\n"),
        ("package.json", PACKAGE),
        (
            "src/cart.ts",
            "import { total } from './total';\nimport React from 'react';\nimport 'lodash';\n",
        ),
        (
            "src/total.ts",
            "import './cart.js';\nimport fs from 'fs';\nimport './gone';\n",
        ),
        (
            "src/page/main.ts",
            "import '../cart';\nimport type { T } from '../total';\n",
        ),
        ("notes.md", "import x\n"),
    ] {
        harness.put(path, content).unwrap();
    }
}

pub(crate) async fn a_project_and_its_parts_are_shown(harness: ToolHarness) {
    project(&harness);
    let output = harness.call(TOOL, json!({})).await;
    let whole = "ok: 1 package, 3 modules, 4 imports between modules, 3 external packages, 1 circular import, \
        1 unused dependency, 1 undeclared package, 1 import that leads nowhere\n\
        packages:\n  package.json shop 1.0.0 (npm): react ^18, unused 1\n\
        circular imports:\n  src/cart.ts:1 → src/total.ts:1 → src/cart.ts\n\
        unused dependencies:\n  package.json:6 unused (runtime)\n\
        undeclared packages:\n  lodash (npm): src/cart.ts:3\n\
        imports that lead nowhere:\n  src/total.ts:3 ./gone\n\
        imported by most modules:\n      2  src/cart.ts\n      2  src/total.ts\n\
        external packages:\n  lodash (npm), not declared, 1 module\n  react (npm) ^18, package.json:5, 1 module\n  \
        unused (npm) 1, package.json:6, 0 modules\n\
        imports:\n  src/cart.ts → src/total.ts:1, react:2, lodash:3\n  \
        src/page/main.ts → src/cart.ts:1, src/total.ts:2 (type)\n  src/total.ts → src/cart.ts:1\n\
        [left out: 1 ignored (dist)]";
    assert_eq!(said(&output), whole);
    let graph = &output.data["graph"];
    assert_eq!(output.data["totals"]["imports"], 4);
    let cycle = json!([
        {"from": "src/cart.ts", "line": 1, "kind": "plain"},
        {"from": "src/total.ts", "line": 1, "kind": "plain"},
    ]);
    assert_eq!(graph["cycles"][0]["steps"], cycle);
    let import = json!({"to": {"package": "react"}, "line": 2, "kind": "plain"});
    assert_eq!(graph["modules"][0]["imports"][1], import);
    // A folder is shown with what imports it.
    let output = harness.call(TOOL, json!({"path": "src/page"})).await;
    assert_eq!(output.data["totals"]["modules"], 1);
    assert!(
        said(&output).ends_with(
            "imports:\n  src/page/main.ts:1 → src/cart.ts\n  src/page/main.ts:2 (type) → \
        src/total.ts\n[left out: 1 ignored (dist)]"
        ),
        "{}",
        said(&output)
    );
    // So is a file, with all that it imports.
    let output = harness.call(TOOL, json!({"path": "src/total.ts"})).await;
    let end = "imported from outside:\n  src/cart.ts:1 → src/total.ts\n  src/page/main.ts:2 (type) → src/total.ts\n\
        imports:\n  src/total.ts:1 → src/cart.ts\n  src/total.ts:2 → fs (standard)\n[left out: 1 ignored (dist)]";
    assert!(said(&output).ends_with(end), "{}", said(&output));
    // A manifest is a part as well.
    let output = harness.call(TOOL, json!({"path": "package.json"})).await;
    assert_eq!(
        (
            &output.data["totals"]["packages"],
            &output.data["totals"]["unused"]
        ),
        (&json!(1), &json!(1))
    );
    // What only running a program would tell is named.
    harness
        .put("lib/setup.py", "from setuptools import setup\n")
        .unwrap();
    let output = harness.call(TOOL, json!({"path": "lib"})).await;
    let note = "[1 setup.py not read as a manifest: only running it says what it declares]";
    assert!(said(&output).contains(note), "{}", said(&output));
}

pub(crate) async fn what_is_not_understood_is_said_and_not_fatal(harness: ToolHarness) {
    project(&harness);
    let output = harness.call(TOOL, json!({"path": "notes.md"})).await;
    let unknown = "Retry: notes.md: neither a manifest nor code in a language that is understood";
    assert_eq!(said(&output), unknown);
    let output = harness.call(TOOL, json!({"path": "nowhere"})).await;
    assert!(
        said(&output).starts_with("Retry: file not found: nowhere"),
        "{}",
        said(&output)
    );
    harness
        .put("Cargo.toml", "[package]\nname = \"a\"\nversion = \n")
        .unwrap();
    harness.put("zero.py", b"import os\0\0\0").unwrap();
    harness
        .put("latin.py", b"# caf\xe9\nimport yaml\n")
        .unwrap();
    harness
        .put("app/pyproject.toml", b"\xff\xfe\x00\x01")
        .unwrap();
    symlink(".", harness.path().join("loop")).unwrap();
    let output = harness.call(TOOL, json!({})).await;
    let text = said(&output);
    assert!(
        text.contains("invalid manifests:\n  Cargo.toml:3 "),
        "{text}"
    );
    assert!(text.contains("  app/pyproject.toml:1 "), "{text}");
    assert!(
        text.contains("[1 file not analysed: zero.py: not a text]"),
        "{text}"
    );
    assert!(
        text.contains("latin.py → yaml:2") && text.contains("4 modules"),
        "{text}"
    );
    let output = harness.call(TOOL, json!({"path": "zero.py"})).await;
    assert_eq!(said(&output), "Retry: zero.py: not a text");
}

/// Sizes, times and cancellation.
pub(crate) async fn an_analysis_has_limits_and_bounds(mut harness: ToolHarness) {
    let chain = 1_200;
    for number in 0..chain {
        harness
            .put(
                &format!("m{number}.py"),
                format!("import m{}\nimport x{number}\n", (number + 1) % chain),
            )
            .unwrap();
    }
    // However loaded the machine is.
    harness.scope.limits.search_timeout = Duration::from_secs(600);
    let output = harness.call(TOOL, json!({})).await;
    let text = said(&output);
    assert!(
        text.contains("m10.py:1 → ") && text.contains("1188 more → m0.py\n"),
        "{text}"
    );
    assert!(
        text.contains("  [1160 more after these 40; name a folder or a file]"),
        "{text}"
    );
    assert_eq!(
        output.data["graph"]["modules"].as_array().unwrap().len(),
        1_000
    );
    assert_eq!(output.data["totals"]["modules"], chain);
    harness.scope.limits.search_timeout = Duration::ZERO;
    let output = harness.call(TOOL, json!({})).await;
    let limit =
        "Execution: the analysis of the whole project, which any path needs, ran out of time";
    assert_eq!(
        said(&output),
        format!("{limit}; look for imports with grep")
    );
    // What one call has read helps the next one only where the contents of files are known.
    harness.scope.services.replay = knowing(true);
    let output = harness.call(TOOL, json!({})).await;
    let again = "what it has read is kept, so call it again, or if that ends so as well, look for imports with grep";
    assert_eq!(said(&output), format!("{limit}; {again}"));
    harness.scope.cancel.cancel();
    let output = harness.call(TOOL, json!({})).await;
    assert!(
        said(&output).starts_with("Interrupted: "),
        "{}",
        said(&output)
    );
}

pub(crate) async fn rules_and_ignore_files_hold(mut harness: ToolHarness) {
    project(&harness);
    harness
        .put("secret/key.ts", "import 'hidden-package';\n")
        .unwrap();
    harness
        .put("secret/package.json", "{\"name\": \"hidden\"}")
        .unwrap();
    harness.scope.policy = policy(&[(Deny, "Read(/secret)")]);
    let output = harness.call(TOOL, json!({})).await;
    let text = said(&output);
    assert!(
        !text.contains("hidden") && !text.contains("bundled"),
        "{text}"
    );
    assert!(
        text.ends_with("[left out: 1 ignored (dist); 1 denied by rules]"),
        "{text}"
    );
    let output = harness.call(TOOL, json!({"path": "secret"})).await;
    assert!(said(&output).starts_with("Denied: "), "{}", said(&output));
}

pub(crate) async fn installed_packages_are_not_the_projects_own(harness: ToolHarness) {
    project(&harness);
    harness
        .put(
            "node_modules/react/package.json",
            "{\"name\": \"react\", \"dependencies\": {\"loose\": \"1\"}}",
        )
        .unwrap();
    harness
        .put("node_modules/react/index.js", "require('loose');\n")
        .unwrap();
    harness
        .put("vendor/modules.txt", "# github.com/a/b v1\n")
        .unwrap();
    harness
        .put("vendor/github.com/a/b/b.go", "package b\n")
        .unwrap();
    let output = harness.call(TOOL, json!({})).await;
    let text = said(&output);
    assert!(
        text.contains("react (npm) ^18, package.json:5, 1 module") && !text.contains("loose"),
        "{text}"
    );
    assert!(
        text.contains("[4 files of installed packages not analysed]"),
        "{text}"
    );
}

/// The number in the first line is that of the packages that are called so.
pub(crate) async fn only_what_a_manifest_lacks_is_called_undeclared(harness: ToolHarness) {
    harness
        .put("web/package.json", "{\"name\": \"web\"}")
        .unwrap();
    harness.put("web/a.js", "require('lodash');\n").unwrap();
    harness
        .put(
            "loose/b.js",
            "require('left-pad');\nrequire('right-pad');\n",
        )
        .unwrap();
    let output = harness.call(TOOL, json!({})).await;
    let text = said(&output);
    assert!(text.contains(", 1 undeclared package, "), "{text}");
    assert_eq!(
        (
            text.matches(", not declared,").count(),
            text.matches(", in no manifest,").count()
        ),
        (1, 2),
        "{text}"
    );
    assert!(
        text.contains("lodash (npm), not declared, 1 module"),
        "{text}"
    );
}
