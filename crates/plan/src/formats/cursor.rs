//! Cursor's plans: `.cursor/plans/*.plan.md`, whose front matter has the to-dos.
//!
//! Each to-do is a task; they go in their order. The document below them explains them: whatever it
//! looks like, it is told to all.

use serde::Deserialize;
use serde_saphyr::Spanned;

use crate::finding::Findings;
use crate::formats::collected::Collected;
use crate::formats::document::Document;
use crate::formats::format::{Boxes, Claim, Format};
use crate::formats::yaml::{Front, one_line};
use crate::tasks::draft::Draft;
use orchestrate_core::ids::TaskId;

pub(crate) const FORMAT: Format = Format {
    name: "cursor",
    claims,
    boxes: Boxes::NotRun("the plan's tasks are the to-dos of its front matter"),
    owns_front_matter: true,
    finish: Some(finish),
    example: include_str!("cursor.md"),
    ..Format::NONE
};

/// The key whose value is the list of to-dos.
const TO_DOS: &str = "todos";

/// What the status of a to-do is once it is done.
const DONE: &str = "completed";

/// The front matter.
#[derive(Deserialize)]
struct Plan {
    todos: Vec<Spanned<ToDo>>,
}

#[derive(Deserialize)]
struct ToDo {
    id: Option<Spanned<String>>,
    content: Option<String>,
    title: Option<String>,
    status: Option<Spanned<String>>,
    dependencies: Option<Vec<Spanned<String>>>,
    depends_on: Option<Vec<Spanned<String>>>,
}

impl ToDo {
    /// Returns what is to be done; empty if it says nothing.
    fn title(&self) -> String {
        one_line(self.content.as_ref().or(self.title.as_ref()))
    }
}

fn claims(document: &Document<'_, '_>) -> Claim {
    if !document.has_key(TO_DOS) {
        return Claim::NotMine;
    }
    let front = document.source.slice(0..document.start);
    match Front::<Plan>::read(document.source) {
        Some(front)
            if front
                .keys
                .todos
                .iter()
                .any(|own| !own.value.title().is_empty()) =>
        {
            Claim::Mine("its front matter has to-dos with `content` and `status`")
        }
        None if front.contains("content:") => {
            Claim::Contradicting("its front matter has to-dos that cannot be read".to_owned())
        }
        _ => Claim::NotMine,
    }
}

fn finish(document: &Document<'_, '_>, found: &mut Collected, findings: &mut Findings) {
    let Some(front) = Front::<Plan>::read(document.source) else {
        return;
    };
    let to_dos = &front.keys.todos;
    for (at, own) in to_dos.iter().enumerate() {
        let title = own.value.title();
        if title.is_empty() {
            continue;
        }
        let end = match to_dos.get(at + 1) {
            Some(next) => line_start(document, front.start(next)),
            None => end_of_list(document, front.start(own)),
        };
        let draft = read(&front, own, title, findings);
        // In a section of its own, each goes after the one before it.
        let section_index = found.drafts.len();
        let draft = Draft {
            section_index,
            ..draft
        };
        found.add(document.source, draft, end);
    }
}

fn line_start(document: &Document<'_, '_>, at: usize) -> usize {
    let source = document.source;
    source.line_start(source.line_of(at))
}

/// Returns where the list ends whose last item begins here: at the next key, or at the rule.
fn end_of_list(document: &Document<'_, '_>, at: usize) -> usize {
    let source = document.source;
    let end = line_start(document, document.start - 1);
    let mut lines = source.lines(at..end).skip(1);
    let next = lines.find(|(_, line)| !line.starts_with([' ', '\t', '-', '#']) && !line.is_empty());
    next.map_or(end, |(offset, _)| offset)
}

/// Returns a to-do as a task.
fn read(
    front: &Front<'_, '_, Plan>,
    own: &Spanned<ToDo>,
    title: String,
    findings: &mut Findings,
) -> Draft {
    let mut draft = Draft {
        at: front.start(own),
        title,
        ..Draft::default()
    };
    let ToDo {
        id,
        status,
        dependencies,
        depends_on,
        ..
    } = &own.value;
    let id = id.as_ref().map(|id| front.word(id));
    draft.id = id.filter(|id| TaskId::is_plain(&id.text));
    if let Some(status) = status {
        front.set_status(status, DONE, &mut draft, findings);
    }
    draft.attributes.depends = front.words(dependencies.as_ref().or(depends_on.as_ref()));
    draft
}
