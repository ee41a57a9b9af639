//! Maps of small projects, and what holds for every map.

#![cfg(feature = "grammars")]
#![expect(clippy::unwrap_used, reason = "tests")]

#[path = "samples/projects.rs"]
mod projects;

use orchestrate_code::{CodeError, IndexBuilder, Language, MapIndex, MapTask, Tags, chosen};

use projects::PROJECTS;

const NEVER: &(dyn Fn() -> bool + Sync) = &|| false;

type Tagged = Vec<(String, Option<Tags>)>;

fn tagged(files: &[(&str, &str)]) -> Tagged {
    let tags = |path: &str, text: &str| {
        Language::of_file(path, text).map(|language| Tags::find(language, text, NEVER).unwrap())
    };
    files
        .iter()
        .map(|(path, text)| ((*path).to_owned(), tags(path, text)))
        .collect()
}

fn index(tagged: &Tagged) -> MapIndex {
    let paths: Vec<&str> = tagged.iter().map(|(path, _)| path.as_str()).collect();
    let mut builder = IndexBuilder::new(&paths);
    let mut added = std::collections::BTreeSet::new();
    for (path, tags) in tagged {
        if let (true, Some(tags)) = (added.insert(path), tags) {
            builder.add(path, tags);
        }
    }
    builder.finish()
}

fn map(tagged: &Tagged, task: &MapTask<'_>, bytes: usize) -> Option<String> {
    index(tagged)
        .map(task, NEVER)
        .unwrap()?
        .fit(&|text| text.len() <= bytes)
}

#[test]
fn maps_of_small_projects() {
    let mut shown = String::new();
    for project in PROJECTS {
        let declared: Vec<String> = project
            .declared
            .iter()
            .map(|file| (*file).to_owned())
            .collect();
        let task = MapTask {
            files: &declared,
            text: project.task,
        };
        let map = map(&tagged(project.files), &task, project.bytes).unwrap();
        shown.push_str(&format!("=== {}\n{map}", project.name));
    }
    assert_eq!(shown, include_str!("samples/maps.txt"));
}

#[test]
fn tags_are_what_a_file_declares_and_refers_to() {
    let text = "use a::helper_of;\n\npub struct Cart;\n\nimpl Cart {\n    fn total(&self) -> Cart {\n        helper_of(helper_of(1))\n    }\n}\n";
    let tags = Tags::find(Language::Rust, text, NEVER).unwrap();
    let definitions: Vec<(&str, usize, Option<usize>, bool, &str)> = tags
        .definitions
        .iter()
        .map(|one| {
            (
                one.name.as_str(),
                one.line,
                one.parent,
                one.private,
                one.signature.as_str(),
            )
        })
        .collect();
    let expected = [
        ("Cart", 3, None, false, "pub struct Cart"),
        ("", 5, None, true, "impl Cart"),
        ("total", 6, Some(1), true, "fn total(&self) -> Cart"),
    ];
    assert_eq!(definitions, expected);
    let references: Vec<(&str, u32)> = tags
        .references
        .iter()
        .map(|(name, count)| (name.as_str(), *count))
        .collect();
    assert_eq!(references, [("Cart", 2), ("helper_of", 3)]);
    let written = serde_json::to_string(&tags).unwrap();
    assert_eq!(serde_json::from_str::<Tags>(&written).unwrap(), tags);
}

#[test]
fn neither_the_order_of_files_nor_a_second_one_of_a_path_matters() {
    for project in PROJECTS {
        let task = MapTask {
            files: &[],
            text: project.task,
        };
        let mut files = tagged(project.files);
        let expected = map(&files, &task, project.bytes);
        files.reverse();
        files.extend(files.first().cloned());
        assert_eq!(
            map(&files, &task, project.bytes),
            expected,
            "{}",
            project.name
        );
    }
}

/// What uses a file has to follow its changes. The file itself is read in any case, so it comes
/// last.
#[test]
fn what_uses_a_declared_file_is_shown_and_what_has_nothing_to_do_with_it_is_not() {
    let users =
        "use crate::price::total_price;\n\npub fn print_receipt() {\n    total_price(3);\n}\n";
    let others = "pub fn read_settings() {}\n\npub fn write_settings() {}\n";
    let uses = "use crate::settings::{read_settings, write_settings};\n\npub fn main() {\n    read_settings();\n}\n";
    let files = tagged(&[
        (
            "src/price.rs",
            "pub fn total_price(items: usize) -> usize {\n    items\n}\n",
        ),
        ("src/settings.rs", others),
        ("src/main.rs", uses),
        ("src/zebra.rs", users),
    ]);
    let declared = ["src/price.rs".to_owned()];
    let task = MapTask {
        files: &declared,
        text: "Round the sum",
    };
    assert_eq!(
        map(&files, &task, 50).unwrap(),
        "src/zebra.rs\n 3: pub fn print_receipt()\n"
    );
    let whole = map(&files, &task, 10_000).unwrap();
    assert!(
        whole.contains("price.rs") && !whole.contains("settings.rs"),
        "{whole}"
    );
}

/// A word that happens to be the name of something says which file is meant only if few files
/// declare it.
#[test]
fn a_task_that_names_nothing_has_no_map() {
    let files = tagged(&[
        (
            "src/price.rs",
            "pub fn total_price(items: usize) -> usize {\n    rounded(items)\n}\n",
        ),
        (
            "src/round.rs",
            "pub fn rounded(items: usize) -> usize {\n    items\n}\n",
        ),
    ]);
    let table = [
        ("Say hello", false),
        ("Improve the documentation", false),
        ("Fix `total_price`", true),
        ("Fix total_price", true),
        ("The sum should not be rounded", true),
        ("Fix the price", true),
        ("See src/round.rs", true),
    ];
    for (text, has_map) in table {
        let map = map(&files, &MapTask { files: &[], text }, 10_000);
        assert_eq!(map.is_some(), has_map, "{text}: {map:?}");
    }
}

/// What fits is shown, and nothing if nothing fits; more room never shows less.
#[test]
fn a_map_is_as_large_as_its_budget_allows() {
    let (files, mut last) = (tagged(PROJECTS[3].files), 0);
    let declared: Vec<String> = files.iter().map(|(path, _)| path.clone()).collect();
    let task = MapTask {
        files: &declared,
        text: "",
    };
    for bytes in 0..1_200 {
        let map = map(&files, &task, bytes);
        let size = map.as_ref().map_or(0, String::len);
        assert!(
            size <= bytes && size >= last,
            "{bytes}: {size} after {last}"
        );
        assert_eq!(map.is_none(), size == 0);
        last = size;
    }
    assert!(last > 500, "{last}");
    assert_eq!(map(&Vec::new(), &task, 1_000), None);
}

#[test]
fn a_long_signature_is_cut_and_a_long_path_is_not_in_a_map() {
    let long = format!("pub fn f_{}(a: u8) {{}}\n", "ä".repeat(40));
    let wide = format!(
        "pub fn wide_function({}) {{}}\n",
        "argument: String, ".repeat(1_000)
    );
    let files = tagged(&[("a.rs", &long), ("b.rs", &wide)]);
    let declared = ["a.rs", "b.rs"].map(str::to_owned);
    let map = map(
        &files,
        &MapTask {
            files: &declared,
            text: "",
        },
        10_000,
    )
    .unwrap();
    assert!(map.lines().all(|line| line.chars().count() < 130), "{map}");
    let (path, fine) = (format!("{}/a.rs", "x".repeat(300)), ("src/a.rs", 10));
    assert_eq!(chosen(&[(&path, 10), fine], &MapTask::default()), [1]);
}

#[test]
fn the_nearest_files_are_chosen_first_and_foreign_ones_never() {
    let names: Vec<String> = (0..100)
        .map(|number| format!("src/f{number:03}.rs"))
        .collect();
    let mut files: Vec<(&str, u64)> = names
        .iter()
        .map(|name| (name.as_str(), 200 << 10))
        .collect();
    files.extend([
        ("vendor/a/b.go", 10),
        ("web/node_modules/x/y.js", 10),
        ("app/z/deep.rs", 200 << 10),
    ]);
    files.extend([("app/huge.rs", 1 << 30), ("app/notes.md", 1 << 30)]);
    let many: Vec<(&str, u64)> = files
        .iter()
        .cycle()
        .take(files.len() * 3)
        .copied()
        .collect();
    let declared = ["app/z/new.rs".to_owned()];
    let chosen = chosen(
        &many,
        &MapTask {
            files: &declared,
            text: "",
        },
    );
    assert_eq!(many[chosen[0]].0, "app/z/deep.rs");
    let paths: Vec<&str> = chosen.iter().map(|at| many[*at].0).collect();
    assert!(
        paths.contains(&"app/huge.rs") && paths.contains(&"app/notes.md"),
        "named, not parsed"
    );
    assert!(
        !paths
            .iter()
            .any(|path| path.contains("vendor") || path.contains("node_modules"))
    );
    let parsed = chosen.iter().filter(|at| many[**at].1 == 200 << 10).count();
    assert_eq!(parsed, 163, "32 MiB of 200 KiB each");
}

#[test]
fn a_map_can_be_stopped() {
    let text = "fn f() { if a { b(1, 2) } }\n".repeat(20_000);
    assert_eq!(
        Tags::find(Language::Rust, &text, &|| true).err(),
        Some(CodeError::Stopped)
    );
    let index = index(&tagged(PROJECTS[0].files));
    let declared = ["src/cart.rs".to_owned()];
    let task = MapTask {
        files: &declared,
        text: "",
    };
    assert_eq!(index.map(&task, &|| true).err(), Some(CodeError::Stopped));
}

/// Tags are kept on disk, so what they contain may only change with their version.
#[test]
fn other_tags_have_another_version() {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for project in PROJECTS {
        for (path, tags) in tagged(project.files) {
            for byte in format!("{path} {}\n", serde_json::to_string(&tags).unwrap()).bytes() {
                hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
            }
        }
    }
    assert_eq!(
        (Tags::VERSION, hash),
        (2, 12_463_613_190_920_551_754),
        "raise the version of tags, and then change this test"
    );
}
