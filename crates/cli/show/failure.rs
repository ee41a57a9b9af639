//! Renders an error for people: each problem with its place, and what to type next.

use std::fmt::Write as _;
use std::ops::Range;

use miette::{
    GraphicalReportHandler, GraphicalTheme, LabeledSpan, NamedSource, Severity, SourceCode,
};

use crate::error::{CommandError, Complaint};
use crate::show::plain::{plain, quoted, workflow_data, workflow_property};
use crate::show::terminal::Terminal;

/// Renders an error for people; external text in it is made [`plain`], so that it can be printed as
/// it is.
pub(crate) fn render(error: &CommandError, terminal: Terminal) -> String {
    let mut text = String::new();
    for complaint in &error.complaints {
        if terminal.github {
            let _ = writeln!(text, "{}", annotation(complaint));
        }
        render_complaint(complaint, terminal, &mut text);
    }
    for hint in &error.hints {
        let _ = writeln!(text, "hint: {}", plain(hint));
    }
    text.truncate(text.trim_end().len());
    text
}

fn render_complaint(complaint: &Complaint, terminal: Terminal, text: &mut String) {
    if let Some(report) = complaint
        .excerpt
        .as_ref()
        .and_then(|_| excerpt(complaint, terminal))
    {
        text.push_str(&report);
        return;
    }
    text.push_str("error: ");
    if let Some(place) = &complaint.place {
        text.push_str(&plain(place));
        if complaint.line > 0 {
            let _ = write!(text, ":{}:{}", complaint.line, complaint.column);
        }
        text.push_str(": ");
    }
    // Only the first line is our own; external text below it must not look like it.
    let (message, rest) = complaint
        .message
        .split_once('\n')
        .unwrap_or((&complaint.message, ""));
    let _ = writeln!(text, "{}", plain(message));
    text.push_str(&quoted(rest));
    if let Some(suggestion) = &complaint.suggestion {
        let _ = writeln!(text, "  {}", plain(suggestion));
    }
}

/// Renders an excerpt of the file with the problem marked.
fn excerpt(complaint: &Complaint, terminal: Terminal) -> Option<String> {
    let theme = if terminal.colour {
        GraphicalTheme::unicode()
    } else {
        GraphicalTheme::unicode_nocolor()
    };
    let mut text = String::new();
    let handler = GraphicalReportHandler::new_themed(theme).with_links(false);
    handler
        .render_report(&mut text, &Located::from_complaint(complaint)?)
        .ok()?;
    Some(text)
}

/// Returns the annotation that GitHub Actions shows beside the file.
fn annotation(complaint: &Complaint) -> String {
    let mut fields = String::new();
    if let Some(place) = complaint.place.as_ref().filter(|_| complaint.line > 0) {
        let _ = write!(
            fields,
            " file={},line={},col={}",
            workflow_property(place),
            complaint.line,
            complaint.column
        );
    }
    format!("::error{fields}::{}", workflow_data(&complaint.message))
}

/// A complaint as a `miette` diagnostic.
#[derive(Debug)]
struct Located {
    message: String,
    help: Option<String>,
    source: NamedSource<String>,
    span: Range<usize>,
}

impl Located {
    fn from_complaint(complaint: &Complaint) -> Option<Located> {
        let (text, span) = complaint.excerpt.as_ref()?;
        let [before, wrong, after] = [
            text.get(..span.start)?,
            text.get(span.clone())?,
            text.get(span.end..)?,
        ]
        .map(plain);
        Some(Located {
            message: plain(&complaint.message),
            help: complaint.suggestion.as_deref().map(plain),
            span: before.len()..before.len() + wrong.len(),
            source: NamedSource::new(
                plain(complaint.place.as_deref().unwrap_or_default()),
                before + &wrong + &after,
            ),
        })
    }
}

impl std::fmt::Display for Located {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Located {}

impl miette::Diagnostic for Located {
    fn severity(&self) -> Option<Severity> {
        Some(Severity::Error)
    }

    fn help<'a>(&'a self) -> Option<Box<dyn std::fmt::Display + 'a>> {
        self.help
            .as_ref()
            .map(|help| Box::new(help) as Box<dyn std::fmt::Display>)
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        Some(&self.source)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        Some(Box::new(std::iter::once(LabeledSpan::underline(
            self.span.clone(),
        ))))
    }
}
