//! Measures the tools that understand code, each beside what its work costs at least.
//!
//! The code is that of this project, copied under other paths with a first line of its own in each
//! copy, so that every copy is another file: real code of all sizes, and the same wherever this
//! source is. Cold figures begin without results of earlier calls. Structural searches are compared
//! with `ast-grep` on the same files, alternately.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use libtest_mimic::Failed;
use orchestrate_code::{Language, Source};
use orchestrate_sandbox::Confinement;
use orchestrate_tool_testing::harness::ToolHarness;
use orchestrate_tools::SharedValues;
use serde_json::json;

use super::calls::{BesideProgram, times_of};
use crate::measuring::{
    Figure, Pairs, call, harness, has_program, median, open, plan, runtime, settings, state_folder,
    timed,
};
use crate::support::{ModelServer, Reply, Repository};

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
    let mut pending: Vec<PathBuf> = OWN_CODE.map(|folder| root.join(folder)).into();
    let mut paths = Vec::new();
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
    let texts: Result<_, _> = paths.iter().map(fs::read_to_string).collect();
    Ok(texts?)
}

/// Returns so many files, each different, with their paths.
fn copies(code: &[String], files: usize) -> Vec<(String, String)> {
    let mut copies = Vec::new();
    for (number, text) in code.iter().cycle().take(files).enumerate() {
        let (folder, part) = (number / FILES_PER_FOLDER, number % FILES_PER_FOLDER);
        copies.push((
            format!("{SOURCE}/module_{folder:04}/part_{part:02}.rs"),
            format!("// File {number}.\n{text}"),
        ));
    }
    copies
}

/// Measures a folder of which nothing is known.
fn cold(code: &[String]) -> Result<Figure, Failed> {
    let mut harness = harness(Confinement::Unconfined)?;
    let texts = put_all(&harness, copies(code, code.len()))?;
    let megabytes = texts.iter().map(String::len).sum::<usize>() as f64 / 1e6;
    let runtime = runtime()?;
    let cold = || {
        harness.scope.shared = SharedValues::default();
        let analysis = harness.make_call(TOOL, json!({ "path": SOURCE }));
        timed(|| runtime.block_on(call(&harness, &analysis)))
    };
    let pairs = Pairs::measure(SAMPLES, cold, || timed(|| parse_all(&texts)))?;
    let (ours, bare) = (pairs.ours()? / megabytes, pairs.bare()? / megabytes);
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
fn put_all(harness: &ToolHarness, files: Vec<(String, String)>) -> Result<Vec<String>, Failed> {
    let mut texts = Vec::new();
    for (path, text) in files {
        harness.put(&path, &text)?;
        texts.push(text);
    }
    Ok(texts)
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
    match failed.into_inner() {
        0 => Ok(()),
        _ => Err("a file was not parsed".into()),
    }
}

/// Lets agents analyse a large repository, each change a file, and analyse it again, several times.
fn of_large_repository(code: &[String]) -> Result<Vec<Figure>, Failed> {
    let repository = large_repository(code)?;
    let (cold, again) = times(repository.path(), TOOL, SOURCE)?;
    let structure = Figure {
        name: "20,000 files analysed again after a change",
        measured: median(&again)?,
        limit: 50.0,
        unit: "ms",
        beside: format!(
            "before {}, their metadata alone {:.0} ms",
            cold_times(&cold),
            timed(|| read_metadata(repository.path()))?
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
        measured: median(&again)?,
        limit: 1_500.0,
        unit: "ms",
        beside: format!("before {}, joined anew each time", cold_times(&cold)),
    };
    Ok(vec![structure, first, repeated])
}

/// Creates a repository whose files are the modules of one crate, each of which imports one of the
/// folder before.
fn large_repository(code: &[String]) -> Result<Repository, Failed> {
    let repository = Repository::plain()?;
    let mut small = code.to_vec();
    small.retain(|text| text.len() <= REPOSITORY_FILE_BYTES);
    for (number, (path, text)) in copies(&small, REPOSITORY_FILES).iter().enumerate() {
        let (folder, part) = (number / FILES_PER_FOLDER, number % FILES_PER_FOLDER);
        let import = match folder.checked_sub(1) {
            Some(before) => format!("use crate::module_{before:04}::part_{:02};\n", part.max(1)),
            None => String::new(),
        };
        if part == 0 {
            let parts = (1..FILES_PER_FOLDER).map(|part| format!("mod part_{part:02};\n"));
            let below: String = parts.collect();
            let path = path.replace("part_00", "mod");
            repository.write(&path, &format!("{text}\n{import}{below}"))?;
        } else {
            repository.write(path, &format!("{text}\n{import}"))?;
        }
    }
    let folders = 0..REPOSITORY_FILES / FILES_PER_FOLDER;
    let modules: String = folders
        .map(|folder| format!("mod module_{folder:04};\n"))
        .collect();
    repository.write("source/lib.rs", &modules)?;
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
    let coordinator = open(repository, settings(state.path(), &server.openai_base()))?;
    let report = runtime()?.block_on(coordinator.run(plan("- [ ] T1 Look\n")?))?;
    let facts = coordinator.store().events(&report.run_id, 0, usize::MAX)?;
    let times = times_of(&facts, tool);
    // The first one is cold, or two are: what a call has found until its time is over is found by
    // the next one.
    match times.split_at_checked(times.len().saturating_sub(SAMPLES)) {
        Some((cold @ [_, ..], again)) => Ok((cold.to_vec(), again.to_vec())),
        _ => Err(format!("{SAMPLES} analyses and more were expected: {report:#?}").into()),
    }
}

fn cold_times(cold: &[f64]) -> String {
    let times: Vec<String> = cold.iter().map(|time| format!("{time:.0} ms")).collect();
    times.join(", ")
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

/// Lists the folders and asks for the metadata of every file, in one thread.
fn read_metadata(repository: &Path) -> Result<(), Failed> {
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
    Ok(())
}

/// Compares structural searches with those of `ast-grep`: for what many files have, and for what
/// few have.
fn searches(code: &[String]) -> Result<Vec<Figure>, Failed> {
    let needed = "structural searches: needs ast-grep (npm install --global @ast-grep/cli)";
    if !has_program("ast-grep", "--version", needed) {
        return Ok(Vec::new());
    }
    let harness = harness(Confinement::Unconfined)?;
    put_all(&harness, copies(code, SEARCHED_FILES))?;
    let mut figures = Vec::new();
    for (name, pattern) in [
        ("`$X.unwrap()` in 5,000 files", "$X.unwrap()"),
        ("a rare call in 5,000 files", "available_parallelism()"),
    ] {
        let search = BesideProgram {
            name,
            limit: 2.0,
            tool: "find_code_patterns",
            arguments: json!({ "pattern": pattern, "path": SOURCE, "language": "rust" }),
            program: &[
                "ast-grep",
                "run",
                "--lang",
                "rust",
                "--pattern",
                pattern,
                SOURCE,
            ],
        };
        figures.push(search.measure(&harness)?);
    }
    Ok(figures)
}
