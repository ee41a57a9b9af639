//! Reads what says what a project depends on: its manifests and its code.

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
/// A program that says what a package of Python depends on.
const SETUP_SCRIPT: &str = "setup.py";
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
    scripts: usize,
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
        let place = surveyor.place(files);
        let has_grammars = AtomicBool::new(true);
        let reader = || Reader {
            files,
            limits: &surveyor.limits,
            place: &place,
            has_grammars: &has_grammars,
            project: ProjectFiles::default(),
            left_out: Vec::new(),
            installed: 0,
            not_built: None,
        };
        let (readers, walk) = files.walk_parallel("", &surveyor.limits, reader)?;
        let mut gathered = Gathered {
            project: ProjectFiles::default(),
            left_out: Vec::new(),
            no_imports: None,
            installed: 0,
            scripts: 0,
            walk,
            held: Arc::clone(&place.held),
        };
        for reader in readers {
            let project = &mut gathered.project;
            project.paths.extend(reader.project.paths);
            project.manifests.extend(reader.project.manifests);
            project.invalid.extend(reader.project.invalid);
            project.code.extend(reader.project.code);
            gathered.left_out.extend(reader.left_out);
            gathered.installed += reader.installed;
            gathered.no_imports = gathered.no_imports.or(reader.not_built);
        }
        gathered.leave_out_vendored();
        let paths = gathered.project.paths.iter();
        let scripts = paths.filter(|path| path.rsplit('/').next() == Some(SETUP_SCRIPT));
        gathered.scripts = scripts.count();
        gathered
            .left_out
            .sort_by(|(left, _), (right, _)| walk_order(left, right));
        Ok(gathered)
    }

    /// Leaves out the packages that go has copied.
    fn leave_out_vendored(&mut self) {
        let project = &mut self.project;
        let mut folders = Vec::new();
        for path in &project.paths {
            if let Some(around) = path.strip_suffix(GO_VENDORED)
                && (around.is_empty() || around.ends_with('/'))
            {
                folders.push(format!("{around}vendor/"));
            }
        }
        let is_own = |path: &str| !folders.iter().any(|folder| path.starts_with(folder));
        let before = project.paths.len();
        project.paths.retain(|path| is_own(path));
        self.installed += before - project.paths.len();
        project.manifests.retain(|manifest| is_own(&manifest.path));
        project.invalid.retain(|(path, _)| is_own(path));
        project.code.retain(|(path, _)| is_own(path));
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
        if self.scripts > 0 {
            let scripts = counted(self.scripts, SETUP_SCRIPT);
            notes.push(format!(
                "[{scripts} not read as a manifest: only running it says what it declares]"
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

impl FileAnalysis for FileImports {
    fn analyze(source: &Source<'_>, stop: Stop<'_>) -> Result<FileImports, CodeError> {
        FileImports::find(source, stop)
    }

    fn memory(&self) -> usize {
        self.memory()
    }
}

/// Reads files on one thread.
struct Reader<'s> {
    files: &'s Files,
    limits: &'s WalkLimits,
    place: &'s Place<'s>,
    has_grammars: &'s AtomicBool,
    project: ProjectFiles,
    left_out: Vec<(String, CodeError)>,
    installed: usize,
    not_built: Option<CodeError>,
}

impl Visitor for Reader<'_> {
    fn visit(&mut self, entries: Vec<Entry>) -> Result<Flow, ToolError> {
        for entry in entries.iter().filter(|entry| entry.kind == EntryKind::File) {
            let mut parts = entry.path.split('/');
            if parts.any(|part| INSTALLED.contains(&part)) {
                self.installed += 1;
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
        self.project.paths.push(path.to_owned());
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
        let read = match text_of(self.files, path) {
            Some(text) => Manifest::read(path, &text),
            None => Err(ManifestError {
                line: 1,
                message: "not a text, or too large".to_owned(),
            }),
        };
        match read {
            Ok(manifest) => self.project.manifests.push(manifest),
            Err(error) => self.project.invalid.push((path.to_owned(), error)),
        }
    }

    fn code(&mut self, entry: &Entry) -> Result<(), ToolError> {
        let file = self.place.file(entry);
        match file.and_then(|file| file.map_or(Ok(None), |file| file.analysis())) {
            Ok(Some(imports)) => self.project.code.push((entry.path.clone(), imports)),
            // A file that is gone imports nothing.
            Ok(None) => {}
            // The limit that stopped it says why.
            Err(CodeError::Stopped) => self.limits.check()?,
            Err(error @ CodeError::NotBuilt(_)) => {
                self.has_grammars.store(false, Ordering::Relaxed);
                self.not_built = Some(error);
            }
            Err(error) => self.left_out.push((entry.path.clone(), error)),
        }
        Ok(())
    }
}

/// Returns the text of a manifest that a walk has found; `None` if it is no text, is too large, or
/// is gone.
fn text_of(files: &Files, path: &str) -> Option<String> {
    let (mut file, stamp) = files.open_found(path).ok()?;
    let size = usize::try_from(stamp.size).ok()?;
    if size > MAX_MANIFEST_BYTES {
        return None;
    }
    let mut bytes = Vec::with_capacity(size);
    file.by_ref()
        .take(MAX_MANIFEST_BYTES as u64)
        .read_to_end(&mut bytes)
        .ok()?;
    let decoded = Decoded::detect(path, &bytes).ok()?;
    Some(decoded.text)
}
