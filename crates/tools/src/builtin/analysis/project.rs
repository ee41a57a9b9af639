//! Reads what says what a project depends on: its manifests and its code.

use std::sync::Arc;

use orchestrate_code::{
    CodeError, Language, MAX_MANIFEST_BYTES, Manifest, ManifestError, ProjectFiles,
};
use orchestrate_memory::Work;

use crate::answer::{ToolError, counted};
use crate::code_files::{Held, Place, Surveyor, not_analysed};
use crate::files::{
    Decoded, Entry, EntryKind, Files, Flow, Visitor, WalkSummary, path, walk_order,
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

/// The files of a project, or of a part of it, and what was left out.
#[derive(Default)]
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
        let place = surveyor.place(files);
        let reader = || Reader {
            place: &place,
            found: Gathered::default(),
        };
        let (readers, walk) = files.walk_parallel("", &surveyor.limits, reader)?;
        let mut gathered = Gathered {
            walk,
            held: Arc::clone(&place.held),
            ..Gathered::default()
        };
        for reader in readers {
            gathered.add(reader.found);
        }
        gathered.leave_out_vendored();
        gathered
            .left_out
            .sort_by(|(left, _), (right, _)| walk_order(left, right));
        Ok(gathered)
    }

    fn add(&mut self, part: Gathered) {
        self.project.paths.extend(part.project.paths);
        self.project.manifests.extend(part.project.manifests);
        self.project.invalid.extend(part.project.invalid);
        self.project.code.extend(part.project.code);
        self.left_out.extend(part.left_out);
        self.installed += part.installed;
        self.no_imports = self.no_imports.take().or(part.no_imports);
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
        notes.extend(not_analysed(&self.left_out));
        let paths = self.project.paths.iter();
        let scripts = paths.filter(|path| path::split(path).1 == SETUP_SCRIPT);
        match scripts.count() {
            0 => {}
            scripts => notes.push(format!(
                "[{} not read as a manifest: only running it says what it declares]",
                counted(scripts, SETUP_SCRIPT)
            )),
        }
        if self.installed > 0 {
            let count = self.installed;
            notes.push(format!(
                "[{count} files of installed packages not analysed]"
            ));
        }
        notes.extend(self.walk.note());
        notes
    }
}

/// Reads files on one thread.
struct Reader<'s> {
    place: &'s Place<'s>,
    found: Gathered,
}

impl Visitor for Reader<'_> {
    fn visit(&mut self, entries: Vec<Entry>) -> Result<Flow, ToolError> {
        for entry in entries.iter().filter(|entry| entry.kind == EntryKind::File) {
            let mut parts = entry.path.split('/');
            if parts.any(|part| INSTALLED.contains(&part)) {
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
        if Language::of_path(path).is_some() && self.found.no_imports.is_none() {
            self.code(entry)?;
        }
        Ok(())
    }

    fn manifest(&mut self, path: &str) {
        let Some(_work) = Work::begin(&|| self.place.limits.check().is_err()) else {
            return;
        };
        let bytes = self.place.files.read_found(path, MAX_MANIFEST_BYTES as u64);
        let text = bytes.and_then(|bytes| Decoded::detect(path, &bytes).ok());
        let read = match text {
            Some(decoded) => Manifest::read(path, &decoded.text),
            None => Err(ManifestError {
                line: 1,
                message: "not a text, or too large".to_owned(),
            }),
        };
        let project = &mut self.found.project;
        match read {
            Ok(manifest) => project.manifests.push(manifest),
            Err(error) => project.invalid.push((path.to_owned(), error)),
        }
    }

    fn code(&mut self, entry: &Entry) -> Result<(), ToolError> {
        let file = self.place.file(entry);
        let path = entry.path.clone();
        match file.and_then(|file| file.map_or(Ok(None), |file| file.analysis())) {
            Ok(Some(imports)) => self.found.project.code.push((path, imports)),
            // A file that is gone imports nothing.
            Ok(None) => {}
            // The limit that stopped it says why.
            Err(CodeError::Stopped) => self.place.limits.check()?,
            Err(error @ CodeError::NotBuilt(_)) => self.found.no_imports = Some(error),
            Err(error) => self.found.left_out.push((path, error)),
        }
        Ok(())
    }
}
