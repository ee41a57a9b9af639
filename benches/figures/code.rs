//! Measures the tools that understand code, each beside what its work costs at least.
//!
//! The code is that of this project, copied under other paths with a first line of its own in each
//! copy, so that every copy is another file: real code of all sizes, and the same wherever this
//! source is. Cold figures begin without results of earlier calls. Structural searches are compared
//! with `ast-grep` on the same files, alternately.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use libtest_mimic::Failed;
use orchestrate_code::{Language, Source};
use orchestrate_core::event::{Event, Recorded};
use orchestrate_tool_testing::harness::ToolHarness;
use orchestrate_tools::SharedValues;
use serde_json::json;

use crate::figure::{Figure, median, ms};
use crate::stage::{self, plan, runtime, settings, state_folder};
use crate::support::{ModelServer, Reply, Repository};
use crate::tools::{beside_program, call, harness};

/// The folders of this project whose code is copied.
const OWN_CODE: [&str; 3] = ["benches", "crates", "tests"];
/// The folder with all copies.
const SOURCE: &str = "source";
const FILES_PER_FOLDER: usize = 20;
/// The files of a large repository, and the largest of its files in bytes: with all sizes it would
/// have 150 MB, which are longer to write than to analyse.
const REPOSITORY_FILES: usize = 20_000;
const REPOSITORY_FILE_BYTES: usize = 4_096;
const SEARCHED_FILES: usize = 5_000;
const SAMPLES: usize = 5;
/// An analysis of everything, in words of a call.
const TOOL: &str = "analyze_code_structure";
/// One that joins what it finds in all files.
const DEPENDENCIES: &str = "analyze_dependencies";
/// What makes the copies of a large repository the modules of one crate.
const MANIFEST: &str =
    "[package]\nname = \"copies\"\nversion = \"0.1.0\"\n[lib]\npath = \"source/lib.rs\"\n";
/// The file that changes between analyses.
const CHANGED: &str = "source/module_0500/part_03.rs";
/// A role that may analyse and write.
const ROLE: &str = "---\nname: implementer\ndescription: Looks.\ntools: analyze_code_structure, analyze_dependencies, write_file\n---\nLook.\n";

pub(crate) fn measure() -> Result<Vec<Figure>, Failed> {
    let code = own_code()?;
    let mut figures = vec![cold(&code)?];
    figures.extend(of_large_repository(&code)?);
    figures.extend(searches(&code)?);
    Ok(figures)
}

/// Returns the texts of this project's code, in the order of their paths.
fn own_code() -> Result<Vec<String>, Failed> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (mut pending, mut paths): (Vec<PathBuf>, _) =
        (OWN_CODE.map(|folder| root.join(folder)).into(), Vec::new());
    while let Some(path) = pending.pop() {
        if path.is_dir() {
            for entry in fs::read_dir(&path)? {
                pending.push(entry?.path());
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            paths.push(path);
        }
    }
    paths.sort_unstable();
    Ok(paths
        .iter()
        .map(fs::read_to_string)
        .collect::<Result<_, _>>()?)
}

/// Returns so many files, each different, with their paths.
fn copies(code: &[String], files: usize) -> impl Iterator<Item = (String, String)> {
    code.iter()
        .cycle()
        .take(files)
        .enumerate()
        .map(|(number, text)| {
            let (folder, part) = (number / FILES_PER_FOLDER, number % FILES_PER_FOLDER);
            (
                format!("{SOURCE}/module_{folder:04}/part_{part:02}.rs"),
                format!("// File {number}.\n{text}"),
            )
        })
}

/// Measures a folder of which nothing is known.
fn cold(code: &[String]) -> Result<Figure, Failed> {
    let mut harness = harness(orchestrate_tools::builtin_tools(&|_| None)?)?;
    let texts: Vec<String> = put_all(&harness, copies(code, code.len()))?;
    let megabytes = texts.iter().map(String::len).sum::<usize>() as f64 / 1e6;
    let (mut ours, mut bare) = (Vec::new(), Vec::new());
    let runtime = runtime()?;
    for number in 0..SAMPLES {
        harness.scope.shared = SharedValues::default();
        let since = Instant::now();
        runtime.block_on(call(&harness, number, TOOL, json!({ "path": SOURCE })))?;
        ours.push(ms(since.elapsed()) / megabytes);
        let since = Instant::now();
        parse_all(&texts)?;
        bare.push(ms(since.elapsed()) / megabytes);
    }
    let (ours, bare) = (median(ours)?, median(bare)?);
    Ok(Figure {
        name: "`analyze_code_structure` of 1 MB, cold",
        measured: ours,
        // 10 MB in a second.
        limit: 100.0,
        unit: "ms",
        beside: format!(
            "{:.1} MB/s of {megabytes:.0} MB in {} files, parsing alone {:.1} MB/s",
            1e3 / ours,
            texts.len(),
            1e3 / bare
        ),
    })
}

/// Writes files into the worktree, and returns their texts.
fn put_all(
    harness: &ToolHarness,
    files: impl Iterator<Item = (String, String)>,
) -> Result<Vec<String>, Failed> {
    let write = |(path, text): (String, String)| harness.put(&path, &text).map(|()| text);
    Ok(files.map(write).collect::<Result<_, _>>()?)
}

/// Parses texts on all processors, and nothing else.
fn parse_all(texts: &[String]) -> Result<(), Failed> {
    let (next, failed) = (AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some(text) = texts.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let parsed = Source::parse(Language::Rust, text, &|| false);
                    failed.fetch_add(usize::from(parsed.is_err()), Ordering::Relaxed);
                }
            });
        }
    });
    if failed.load(Ordering::Relaxed) == 0 {
        Ok(())
    } else {
        Err("a file was not parsed".into())
    }
}

/// Lets agents analyse a large repository, each change a file, and analyse it again, several times.
fn of_large_repository(code: &[String]) -> Result<Vec<Figure>, Failed> {
    let repository = large_repository(code)?;
    let (cold, again) = times(repository.path(), TOOL, SOURCE)?;
    let structure = Figure {
        name: "20,000 files analysed again after a change",
        measured: median(again)?,
        limit: 50.0,
        unit: "ms",
        beside: format!(
            "{}their metadata alone {:.0} ms",
            cold_times(&cold),
            metadata(repository.path())?
        ),
    };
    let (cold, again) = times(repository.path(), DEPENDENCIES, "")?;
    let first = Figure {
        name: "`analyze_dependencies` of 20,000 files",
        measured: *cold.first().ok_or("no analysis was made")?,
        // The time of a call: what is found until then is found at once by the next one.
        limit: 10_000.0,
        unit: "ms",
        beside: "what the files import was not known".to_owned(),
    };
    let repeated = Figure {
        name: "the same again after a change",
        measured: median(again)?,
        limit: 1_500.0,
        unit: "ms",
        beside: format!("{}joined anew each time", cold_times(&cold)),
    };
    Ok(vec![structure, first, repeated])
}

/// Creates a repository whose files are the modules of one crate, each of which imports one of the
/// folder before.
fn large_repository(code: &[String]) -> Result<Repository, Failed> {
    let repository = Repository::plain()?;
    let small: Vec<String> = code
        .iter()
        .filter(|text| text.len() <= REPOSITORY_FILE_BYTES)
        .cloned()
        .collect();
    let folders = REPOSITORY_FILES / FILES_PER_FOLDER;
    let modules = |name: &str, numbers: std::ops::Range<usize>, digits: usize| -> String {
        numbers
            .map(|number| format!("mod {name}_{number:0digits$};\n"))
            .collect()
    };
    for (number, (path, text)) in copies(&small, REPOSITORY_FILES).enumerate() {
        let (folder, part) = (number / FILES_PER_FOLDER, number % FILES_PER_FOLDER);
        let import = match folder.checked_sub(1) {
            Some(before) => format!("use crate::module_{before:04}::part_{:02};\n", part.max(1)),
            None => String::new(),
        };
        let (path, below) = match part {
            0 => (
                path.replace("part_00", "mod"),
                modules("part", 1..FILES_PER_FOLDER, 2),
            ),
            _ => (path, String::new()),
        };
        repository.write(&path, &format!("{text}\n{import}{below}"))?;
    }
    repository.write("source/lib.rs", &modules("module", 0..folders, 4))?;
    repository.write("Cargo.toml", MANIFEST)?;
    repository.write("agents/implementer.md", ROLE)?;
    repository.commit_all("Code")?;
    Ok(repository)
}

/// Lets an agent of a run analyse all until that is known, and then again after each of several
/// changes. Returns how long both took.
fn times(
    repository: &Path,
    tool: &'static str,
    path: &'static str,
) -> Result<(Vec<f64>, Vec<f64>), Failed> {
    let state = state_folder()?;
    let server = ModelServer::answering(move |_, number| analyse_or_change(number, tool, path))?;
    let coordinator = stage::open(repository, settings(state.path(), &server.openai_base()))?;
    let report = runtime()?.block_on(coordinator.run(plan("- [ ] T1 Look\n")?))?;
    let facts = coordinator.store().events(&report.run_id, 0, usize::MAX)?;
    let times: Vec<f64> = facts
        .iter()
        .filter_map(|fact| time_of(fact, tool))
        .collect();
    // The first one is cold, or two are: what a call has found until its time is over is found by
    // the next one.
    match times.split_at_checked(times.len().saturating_sub(SAMPLES)) {
        Some((cold @ [_, ..], again)) => Ok((cold.to_vec(), again.to_vec())),
        _ => Err(Failed::from(format!(
            "{SAMPLES} analyses and more were expected: {report:#?}"
        ))),
    }
}

fn cold_times(cold: &[f64]) -> String {
    cold.iter().fold(String::from("before "), |mut text, time| {
        // A text takes every word.
        let _ = write!(text, "{time:.0} ms, ");
        text
    })
}

/// Answers with an analysis, or with the change of a file, and ends after enough of them.
fn analyse_or_change(number: usize, tool: &str, path: &str) -> Reply {
    match number {
        // The first analyses of everything, until it is known.
        0 | 1 => Reply::text("").call(tool, json!({ "path": path })),
        number if number < 2 + 2 * SAMPLES && number % 2 == 0 => {
            let content = format!("// Change {number}.\nfn changed_{number}() {{}}\n");
            Reply::text("").call("write_file", json!({ "path": CHANGED, "content": content }))
        }
        number if number < 2 + 2 * SAMPLES => Reply::text("").call(tool, json!({ "path": path })),
        _ => Reply::text("Done."),
    }
}

fn time_of(fact: &Recorded, wanted: &str) -> Option<f64> {
    match &fact.event {
        Event::ToolFinished {
            tool, duration_ms, ..
        } if tool == wanted => Some(ms(std::time::Duration::from_millis(*duration_ms))),
        _ => None,
    }
}

/// Returns how long it takes one thread to list the folders and to ask for the metadata of every
/// file.
fn metadata(repository: &Path) -> Result<f64, Failed> {
    let since = Instant::now();
    for entry in fs::read_dir(repository.join(SOURCE))? {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            entry.metadata()?;
            continue;
        }
        for file in fs::read_dir(entry.path())? {
            file?.metadata()?;
        }
    }
    Ok(ms(since.elapsed()))
}

/// Compares structural searches with those of `ast-grep`: for what many files have, and for what
/// few have.
fn searches(code: &[String]) -> Result<Vec<Figure>, Failed> {
    if Command::new("ast-grep")
        .arg("--version")
        .stdout(Stdio::null())
        .status()
        .is_err()
    {
        crate::say(
            "not measured: structural searches: needs ast-grep (npm install --global @ast-grep/cli)",
        );
        return Ok(Vec::new());
    }
    let harness = harness(orchestrate_tools::builtin_tools(&|_| None)?)?;
    put_all(&harness, copies(code, SEARCHED_FILES))?;
    Ok(vec![
        beside_ast_grep("`$X.unwrap()` in 5,000 files", &harness, "$X.unwrap()")?,
        beside_ast_grep(
            "a rare call in 5,000 files",
            &harness,
            "available_parallelism()",
        )?,
    ])
}

fn beside_ast_grep(
    name: &'static str,
    harness: &ToolHarness,
    pattern: &str,
) -> Result<Figure, Failed> {
    let arguments = json!({ "pattern": pattern, "path": SOURCE, "language": "rust" });
    let words = ["run", "--lang", "rust", "--pattern", pattern, SOURCE];
    beside_program(
        (name, 2.0),
        harness,
        ("find_code_patterns", &arguments),
        ("ast-grep", &words),
    )
}
