//! The text of a plan, of a document or of a goal: read once, so that everything sees the same,
//! whatever becomes of the file meanwhile.

use std::io::{self, Read as _};
use std::path::{Component, Path, PathBuf};

use orchestrate_coordinator::Project;
use orchestrate_core::shell_word;
use orchestrate_core::text::similar::nearest;
use orchestrate_files::{Links, read_plain};
use orchestrate_plan::MAX_PLAN_BYTES;
use orchestrate_settings::project_root;

use crate::args::{self, ReadWay};
use crate::context::Context;
use crate::error::{CommandError, Complaint, ErrorKind};
use crate::given::Given;

/// How a goal is named that was typed.
const TYPED_GOAL: &str = "goal";

/// How a plan is named that standard input carries.
const STANDARD_INPUT: &str = "standard input";

/// How many letters tell UTF-16 from other bytes.
const FIRST_LETTERS: usize = 8;

/// The name of a file in the format that is called after it.
const TODO_TXT: &str = "todo.txt";

/// A text, and where it comes from.
#[derive(Clone, Debug)]
pub(crate) struct PlanText {
    /// Its path as typed, or what stands for one.
    pub(crate) shown: String,
    pub(crate) text: String,
    pub(crate) origin: Origin,
}

/// Where a text comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The file at this path, as typed.
    File(PathBuf),
    /// Standard input, so that there is no file.
    Input,
    /// It was typed: it is a goal, and there is no file either.
    Typed,
    /// An agent has made it of a document, which is in this file if it is in one.
    Made(Option<PathBuf>),
}

impl PlanText {
    /// Reads the file that an argument names, or standard input, or takes the argument as a goal.
    pub(crate) fn read(context: &Context, argument: &Path) -> Result<Self, CommandError> {
        Ok(match Given::recognize(context, argument)? {
            Given::Plan(path) => Self {
                shown: path.display().to_string(),
                text: read_file(context, path)?,
                origin: Origin::File(path.to_owned()),
            },
            Given::Input => Self {
                shown: STANDARD_INPUT.to_owned(),
                text: read_input()?,
                origin: Origin::Input,
            },
            Given::Goal(text) => Self {
                shown: TYPED_GOAL.to_owned(),
                text: text.to_owned(),
                origin: Origin::Typed,
            },
        })
    }

    /// Reports whether the text was typed, and so is a goal.
    pub(crate) fn is_typed(&self) -> bool {
        self.origin == Origin::Typed
    }

    /// Returns the argument that names it on a command line.
    pub(crate) fn argument(&self) -> String {
        match &self.origin {
            Origin::File(_) => shell_word(&self.shown),
            Origin::Typed => shell_word(&self.text),
            Origin::Input | Origin::Made(_) => "-".to_owned(),
        }
    }

    /// Returns how it is read: as it is typed, or by a model if its front matter says so.
    pub(crate) fn way(&self, typed: Option<ReadWay>) -> Option<ReadWay> {
        let says_model =
            || !self.is_typed() && orchestrate_plan::front_matter(&self.text).read_by_model;
        typed.or_else(|| says_model().then_some(ReadWay::Model))
    }

    /// Fails if the text was typed, since there is then only one way to read it.
    pub(crate) fn require_document(&self) -> Result<(), CommandError> {
        match self.origin {
            Origin::Typed => Err(CommandError::usage(
                "`--read` and `--tag` are for the file of a plan; a typed goal is taken as it \
                 stands",
            )),
            Origin::File(_) | Origin::Input | Origin::Made(_) => Ok(()),
        }
    }

    /// Fails if the name of the file says that it is in another format for tasks, whose lines would
    /// be misread.
    pub(crate) fn require_format(&self) -> Result<(), CommandError> {
        let Origin::File(path) = &self.origin else {
            return Ok(());
        };
        let is_org = path
            .extension()
            .is_some_and(|extension| extension.eq_ignore_ascii_case("org"));
        let is_todo_txt = path
            .file_name()
            .is_some_and(|name| name.eq_ignore_ascii_case(TODO_TXT));
        let (format, way) = match (is_org, is_todo_txt) {
            (true, _) => ("Org mode", "export it as Markdown, or"),
            (_, true) => (
                TODO_TXT,
                "write each task as `- [ ] task` in a Markdown file, or",
            ),
            _ => return Ok(()),
        };
        let shown = &self.shown;
        let error = CommandError::usage(format!(
            "{shown} is in the format of {format}, which is not read"
        ));
        Err(error.hint(format!(
            "{way} have a model rewrite it: `orchestrate plan {} -o plan.md`",
            self.argument()
        )))
    }

    /// Returns the plan that an agent has made of this document.
    pub(crate) fn remade(&self, plan: String) -> Self {
        let file = match &self.origin {
            Origin::File(path) => Some(path.clone()),
            Origin::Input | Origin::Typed | Origin::Made(_) => None,
        };
        Self {
            shown: format!("the plan made of {}", self.shown),
            text: plan,
            origin: Origin::Made(file),
        }
    }

    /// Returns the file's path from the top of the checkout, or an absolute one if it is elsewhere,
    /// so that landing finds its boxes from any directory; as typed if it is not a regular file.
    pub(crate) fn place(&self, context: &Context, project: &Project) -> Option<String> {
        let (Origin::File(path) | Origin::Made(Some(path))) = &self.origin else {
            return None;
        };
        let real = context.directory.join(path).canonicalize();
        let Some(real) = real.ok().filter(|real| real.is_file()) else {
            return Some(self.shown.clone());
        };
        let place = real.strip_prefix(project.workdir()).unwrap_or(&real);
        Some(place.display().to_string())
    }
}

/// Reads a plan from standard input.
fn read_input() -> Result<String, CommandError> {
    let mut bytes = Vec::new();
    // One byte more than allowed, as of a file.
    let read = io::stdin()
        .take(MAX_PLAN_BYTES as u64 + 1)
        .read_to_end(&mut bytes);
    read.map_err(|error| {
        CommandError::usage(format!(
            "failed to read the plan from standard input: {error}"
        ))
    })?;
    text(bytes, STANDARD_INPUT)
}

/// Reads a plan's text.
fn read_file(context: &Context, plan: &Path) -> Result<String, CommandError> {
    let shown = plan.display();
    let failed = |error: io::Error| {
        let missing = error.kind() == io::ErrorKind::NotFound;
        let error = CommandError::usage(format!("failed to read the plan {shown}: {error}"));
        if missing { meant(error, plan) } else { error }
    };
    // Of a larger file, only one byte more than allowed is read.
    let bytes = open_place(context, plan)
        .read(MAX_PLAN_BYTES as u64)
        .map_err(failed)?;
    text(bytes, &shown.to_string())
}

/// Returns the text of a plan; one that is too large, or in another encoding, is an error.
fn text(bytes: Vec<u8>, shown: &str) -> Result<String, CommandError> {
    if bytes.len() > MAX_PLAN_BYTES {
        let mebibytes = MAX_PLAN_BYTES >> 20;
        let complaint = Complaint {
            message: format!(
                "the plan {shown} is too large: at most {mebibytes} MiB are allowed, and it was \
                 not read further"
            ),
            code: Some("plan_too_large".to_owned()),
            suggestion: Some("split it into several plans".to_owned()),
            ..Complaint::default()
        };
        return Err(CommandError::of_complaints(
            ErrorKind::Usage,
            vec![complaint],
        ));
    }
    if let Some(encoding) = wide_encoding(&bytes) {
        let message = format!("the plan {shown} is {encoding} text, which is not read");
        return Err(CommandError::usage(message).hint("save it as UTF-8"));
    }
    String::from_utf8(bytes).map_err(|error| {
        let bad = error.utf8_error().valid_up_to();
        CommandError::usage(format!(
            "the plan {shown} is not text: byte {bad} is not valid UTF-8"
        ))
        .hint("a plan is a Markdown file; save it as UTF-8")
    })
}

/// Returns the encoding of text in UTF-16 or UTF-32: it begins with a byte order mark, or every
/// second byte of its first letters is zero, as of ASCII.
fn wide_encoding(bytes: &[u8]) -> Option<&'static str> {
    if bytes.starts_with(&[0xff, 0xfe, 0, 0]) || bytes.starts_with(&[0, 0, 0xfe, 0xff]) {
        return Some("UTF-32");
    }
    if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
        return Some("UTF-16");
    }
    let (pairs, _) = bytes.as_chunks::<2>();
    let first = pairs.get(..pairs.len().min(FIRST_LETTERS)).unwrap_or(&[]);
    let is_little = first.iter().all(|[low, high]| *low != 0 && *high == 0);
    let is_big = first.iter().all(|[high, low]| *low != 0 && *high == 0);
    (!first.is_empty() && (is_little || is_big)).then_some("UTF-16")
}

/// The path of a plan, and the repository that a link on the way must not leave.
struct PlanPlace {
    path: PathBuf,
    root: Option<PathBuf>,
}

impl PlanPlace {
    fn read(&self, limit: u64) -> std::io::Result<Vec<u8>> {
        let links = self.root.as_deref().map_or(Links::Anywhere, Links::Below);
        read_plain(&self.path, links, limit)
    }
}

/// Resolves the path of a plan. One outside of the repository may follow any link, since the user
/// named it.
fn open_place(context: &Context, plan: &Path) -> PlanPlace {
    let mut path = context.directory.join(plan);
    let mut root = project_root(&context.directory);
    if path.components().any(|part| part == Component::ParentDir) {
        let real = path
            .parent()
            .and_then(|folder| folder.canonicalize().ok())
            .zip(path.file_name());
        path = real.map_or_else(|| path.clone(), |(folder, name)| folder.join(name));
        root = root.and_then(|root| root.canonicalize().ok());
    }
    PlanPlace {
        root: root.filter(|root| path.starts_with(root)),
        path,
    }
}

/// Adds a hint about the command that was meant, if the plan's name looks like a mistyped one.
fn meant(error: CommandError, plan: &Path) -> CommandError {
    let names = args::command_names();
    let typed = plan.to_string_lossy();
    match nearest(&typed, names.iter().map(String::as_str)) {
        Some(name) => error.hint(format!("did you mean `orchestrate {name}`?")),
        None => error.hint(
            "type the path of a Markdown file with a checklist or a goal, or a goal of several \
             words in quotes; `orchestrate demo` runs an example",
        ),
    }
}
