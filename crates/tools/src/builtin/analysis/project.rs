//! Reads what says what a project depends on: its manifests and its code.

use std::collections::BTreeSet;
use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use orchestrate_code::{
    CodeError, FileImports, Language, MAX_MANIFEST_BYTES, Manifest, ManifestError, ProjectFiles,
    Source, Stop,
};
use orchestrate_core::text::invisible::shown;
use orchestrate_memory::Work;

use crate::code_files::{FileAnalysis, Held, Place, Surveyor};
use crate::counted::counted;
use crate::error::ToolError;
use crate::files::{
    Decoded, Entry, EntryKind, Files, Flow, Visitor, WalkLimits, WalkSummary, walk_order,
};

/// Folders of packages that were installed: they are the project's, but not its own.
const INSTALLED: [&str; 6] = [
    "node_modules",
    "bower_components",
    "jspm_packages",
    "site-packages",
    "__pypackages__",
    ".venv",
];
/// What go writes into a folder of packages that it has copied.
const GO_VENDORED: &str = "vendor/modules.txt";
/// Maximum number of files of requirements that are read because others include them.
const MAX_INCLUDED: usize = 200;
/// Maximum number of files that are named with why they are left out.
const MAX_NAMED: usize = 3;

/// The files of a project, and what was left out.
pub(super) struct Gathered {
    pub(super) project: ProjectFiles,
    /// Files that could not be analysed, and why.
    pub(super) left_out: Vec<(String, CodeError)>,
    /// Why no imports are known, in a program that was built without grammars.
    pub(super) no_imports: Option<CodeError>,
    installed: usize,
    walk: WalkSummary,
    /// What all of that takes.
    pub(super) held: Arc<Held>,
}

impl Gathered {
    /// Reads a whole project.
    ///
    /// # Errors
    /// As [`Files::walk`].
    pub(super) fn read(files: &Files, surveyor: &Surveyor) -> Result<Gathered, ToolError> {
        let (limits, place, has_grammars) = (
            &surveyor.limits,
            surveyor.place(files),
            AtomicBool::new(true),
        );
        let reader = || Reader {
            files,
            limits,
            place: &place,
            has_grammars: &has_grammars,
            found: Found::default(),
        };
        let (readers, walk) = files.walk_parallel("", limits, reader)?;
        let mut all = Found::default();
        for reader in readers {
            all.append(reader.found);
        }
        let Found {
            mut project,
            mut left_out,
            installed,
            not_built,
        } = all;
        project.paths.sort();
        left_out.sort_by(|(left, _), (right, _)| walk_order(left, right));
        let held = Arc::clone(&place.held);
        let mut gathered = Gathered {
            project,
            left_out,
            no_imports: not_built,
            installed,
            walk,
            held,
        };
        gathered.leave_out_vendored();
        gathered.read_included(files, limits)?;
        Ok(gathered)
    }

    /// Leaves out the packages that go has copied.
    fn leave_out_vendored(&mut self) {
        let ends = self.project.paths.iter().filter(|path| {
            path.as_str() == GO_VENDORED || path.ends_with(&format!("/{GO_VENDORED}"))
        });
        let folders: Vec<String> = ends
            .map(|path| path.trim_end_matches("modules.txt").to_owned())
            .collect();
        if folders.is_empty() {
            return;
        }
        let is_own = |path: &str| !folders.iter().any(|folder| path.starts_with(folder));
        let before = self.project.paths.len();
        self.project.paths.retain(|path| is_own(path));
        self.installed += before - self.project.paths.len();
        self.project
            .manifests
            .retain(|manifest| is_own(&manifest.path));
        self.project.invalid.retain(|(path, _)| is_own(path));
        self.project.code.retain(|(path, _)| is_own(path));
    }

    /// Reads what requirements include under any name.
    fn read_included(&mut self, files: &Files, limits: &WalkLimits) -> Result<(), ToolError> {
        let mut read: BTreeSet<String> = self
            .project
            .manifests
            .iter()
            .map(|manifest| manifest.path.clone())
            .collect();
        let mut pending: Vec<String> = self
            .project
            .manifests
            .iter()
            .flat_map(Manifest::includes)
            .collect();
        pending.sort_unstable_by(|left, right| right.cmp(left));
        let mut count = 0;
        while let Some(path) = pending.pop().filter(|_| count < MAX_INCLUDED) {
            limits.check()?;
            // What the walk has not found is ignored, hidden by a rule, or not there.
            if self.project.paths.binary_search(&path).is_err() || !read.insert(path.clone()) {
                continue;
            }
            count += 1;
            let Some(text) = text_of(files, &path, MAX_MANIFEST_BYTES) else {
                continue;
            };
            let held = Arc::clone(&self.held);
            held.keep(|| {
                match Manifest::read(&path, &text) {
                    Ok(manifest) => {
                        pending.extend(manifest.includes());
                        self.project.manifests.push(manifest);
                    }
                    Err(error) => self.project.invalid.push((path, error)),
                }
                Ok(())
            })?;
        }
        Ok(())
    }

    /// Returns notes about what was left out.
    pub(super) fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if let Some(error) = &self.no_imports {
            notes.push(format!("[no imports: {error}]"));
        }
        if !self.left_out.is_empty() {
            let named = self.left_out.iter().take(MAX_NAMED);
            let named: Vec<String> = named
                .map(|(path, error)| format!("{}: {error}", shown(path)))
                .collect();
            let more = if self.left_out.len() > MAX_NAMED {
                "; …"
            } else {
                ""
            };
            let files = counted(self.left_out.len(), "file");
            notes.push(format!(
                "[{files} not analysed: {}{more}]",
                named.join("; ")
            ));
        }
        if self.installed > 0 {
            notes.push(format!(
                "[{} files of installed packages not analysed]",
                self.installed
            ));
        }
        notes.extend(self.walk.note());
        notes
    }
}

/// What was read on one thread.
#[derive(Default)]
struct Found {
    project: ProjectFiles,
    left_out: Vec<(String, CodeError)>,
    installed: usize,
    not_built: Option<CodeError>,
}

impl Found {
    fn append(&mut self, mut other: Found) {
        self.project.paths.append(&mut other.project.paths);
        self.project.manifests.append(&mut other.project.manifests);
        self.project.invalid.append(&mut other.project.invalid);
        self.project.code.append(&mut other.project.code);
        self.left_out.append(&mut other.left_out);
        self.installed += other.installed;
        self.not_built = self.not_built.take().or(other.not_built);
    }
}

impl FileAnalysis for FileImports {
    fn analyze(source: &Source<'_>, stop: Stop<'_>) -> Result<FileImports, CodeError> {
        FileImports::find(source, stop)
    }

    fn memory(&self) -> usize {
        self.memory()
    }
}

struct Reader<'s> {
    files: &'s Files,
    limits: &'s WalkLimits,
    place: &'s Place<'s>,
    has_grammars: &'s AtomicBool,
    found: Found,
}

impl Visitor for Reader<'_> {
    fn visit(&mut self, entries: Vec<Entry>) -> Result<Flow, ToolError> {
        for entry in entries.iter().filter(|entry| entry.kind == EntryKind::File) {
            let path = entry.path.as_str();
            if path.split('/').any(|part| INSTALLED.contains(&part)) {
                self.found.installed += 1;
                continue;
            }
            self.place.held.keep(|| self.read(entry))?;
        }
        Ok(Flow::Continue)
    }
}

impl Reader<'_> {
    fn read(&mut self, entry: &Entry) -> Result<(), ToolError> {
        let path = entry.path.as_str();
        self.found.project.paths.push(path.to_owned());
        if Manifest::is_named(path) {
            self.manifest(path);
        }
        if Language::of_path(path).is_some() && self.has_grammars.load(Ordering::Relaxed) {
            self.code(entry)?;
        }
        Ok(())
    }

    fn manifest(&mut self, path: &str) {
        let Some(_work) = Work::begin(&|| self.limits.check().is_err()) else {
            return;
        };
        let read = match text_of(self.files, path, MAX_MANIFEST_BYTES) {
            Some(text) => Manifest::read(path, &text),
            None => Err(ManifestError {
                line: 1,
                message: "not a text, or too large".to_owned(),
            }),
        };
        match read {
            Ok(manifest) => self.found.project.manifests.push(manifest),
            Err(error) => self.found.project.invalid.push((path.to_owned(), error)),
        }
    }

    fn code(&mut self, entry: &Entry) -> Result<(), ToolError> {
        let file = self.place.file(entry);
        match file.and_then(|file| file.map_or(Ok(None), |file| file.analysis())) {
            Ok(Some(imports)) => self.found.project.code.push((entry.path.clone(), imports)),
            // A file that is gone imports nothing.
            Ok(None) => {}
            // The limit that stopped it says why.
            Err(CodeError::Stopped) => self.limits.check()?,
            Err(error @ CodeError::NotBuilt(_)) => {
                self.has_grammars.store(false, Ordering::Relaxed);
                self.found.not_built = Some(error);
            }
            Err(error) => self.found.left_out.push((entry.path.clone(), error)),
        }
        Ok(())
    }
}

/// Returns the text of a file that a walk has found; `None` if it is no text, is too large, or is
/// gone.
fn text_of(files: &Files, path: &str, most: usize) -> Option<String> {
    let (mut file, stamp) = files.open_found(path).ok()?;
    let size = usize::try_from(stamp.size)
        .ok()
        .filter(|size| *size <= most)?;
    let mut bytes = Vec::with_capacity(size);
    file.by_ref()
        .take(most as u64)
        .read_to_end(&mut bytes)
        .ok()?;
    Decoded::detect(path, &bytes)
        .ok()
        .map(|decoded| decoded.text)
}
