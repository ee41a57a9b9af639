//! A part of a page as Markdown, in one pass over its nodes.

use orchestrate_core::policy::host::WebUrl;
use orchestrate_core::text::parts::Parts;

use crate::escape::{escaped, push_escaped};
use crate::formula::formula;
use crate::language::bare;
use crate::link::{enclosed, in_full};
use crate::main_part::Part;
use crate::tag::Tag;
use crate::tree::{Kind, NAMING_NODES, NodeId, Page};

/// Maximum number of columns of a table; a wider one arranges a page.
const MAX_COLUMNS: usize = 30;
/// Maximum depth of lists and quotes whose lines are set in.
const MAX_INDENTS: usize = 16;
/// Maximum size of all addresses in full in bytes: at a long address, a short page could have many
/// links that each become as long. Those behind the limit stay as they are written.
const MAX_ADDRESSES: usize = 4 << 20;
/// Size from which on a text is not continued, in bytes: lists and quotes can make each line of a
/// page far longer.
pub const MAX_TEXT: usize = 6 << 20;
/// Maximum length of a block of code in a table's cell in bytes; a table with a longer one arranges
/// a page.
const MAX_CODE_IN_CELL: usize = 2_000;

/// How much of a page's form is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// Markdown.
    Markdown,
    /// The text alone, without addresses of links and marks of emphasis.
    Text,
}

/// Returns a part of a page at an address as Markdown, which is not continued once it has
/// [`MAX_TEXT`] bytes.
pub fn markdown(page: &Page, part: Part, address: &WebUrl, style: Style) -> String {
    let base = page.base(address);
    let mut writer = Writer::new(page, part, &base, style);
    writer.walk();
    let text = writer.out.trim().to_owned();
    if text.is_empty() {
        text
    } else {
        format!("{text}\n")
    }
}

/// Returns the language of a block of code: what the classes at its begin name, or those of an
/// element around it.
pub(crate) fn language(page: &Page, id: NodeId) -> Option<String> {
    let begin = id..page.end(id).min(id + 1 + NAMING_NODES);
    let named = begin
        .clone()
        .find_map(|at| page.attributes(at)?.language.clone());
    let around = || page.attributes(id)?.language_around.clone();
    // Highlighters have short classes for parts of code, some of which are names of languages as
    // well.
    let is_code = |at: &NodeId| matches!(page.tag(*at), Some(Tag::Preformatted | Tag::Code));
    let bare = || {
        begin
            .clone()
            .filter(is_code)
            .find_map(|at| bare(&page.attributes(at)?.class))
    };
    named.or_else(around).or_else(bare)
}

/// An element that is open.
struct Open {
    id: NodeId,
    /// The node after it.
    end: NodeId,
    /// Where its text begins, once it has any.
    start: Option<usize>,
    /// Whether it becomes a link when it ends.
    is_link: bool,
}

struct Writer<'p> {
    page: &'p Page,
    part: Part,
    base: &'p WebUrl,
    style: Style,
    out: String,
    /// What each line begins with, by the lists and quotes around it.
    indents: Vec<String>,
    /// The mark of a list's item that stands on the next line, with the depth at which it does.
    mark: Option<(usize, String)>,
    /// How many of the lists and quotes around the last line are still open.
    shared: usize,
    /// Whether a paragraph directly within an item has ended, and nothing stands after it.
    after_paragraph: bool,
    /// Whether this is a table's cell, which has no line ends.
    is_in_cell: bool,
    /// Whether the next text in a cell is a further item of a list.
    is_next_item: bool,
    /// Whether the next item is the first one of its list.
    is_first_item: bool,
    /// The open lists, each with the number of the next item if it has numbers.
    lists: Vec<Option<i32>>,
    /// The line ends that come before the next text.
    line_ends: usize,
    has_space: bool,
    /// The mark of a heading whose text comes next.
    heading: Option<String>,
    /// Whether the line is a heading.
    is_heading: bool,
    /// How many of the open elements become links.
    links: usize,
    /// The elements that are open.
    open: Vec<Open>,
    /// How many bytes of addresses in full may still be written.
    addresses_left: usize,
}

impl<'p> Writer<'p> {
    fn new(page: &'p Page, part: Part, base: &'p WebUrl, style: Style) -> Writer<'p> {
        Writer {
            page,
            part,
            base,
            style,
            out: String::new(),
            indents: Vec::new(),
            mark: None,
            shared: 0,
            after_paragraph: false,
            is_in_cell: false,
            is_next_item: false,
            is_first_item: false,
            lists: Vec::new(),
            line_ends: 0,
            has_space: false,
            heading: None,
            is_heading: false,
            links: 0,
            open: Vec::new(),
            addresses_left: MAX_ADDRESSES,
        }
    }

    fn walk(&mut self) {
        let mut id = self.part.start;
        while id < self.part.end && !self.is_full() {
            self.leave_until(id);
            let Some(node) = self.page.node(id) else {
                break;
            };
            let end = node.end;
            match node.kind {
                Kind::Text(start, to) => self.text(self.page.text(start, to)),
                Kind::Element(_) if self.part.leaves_out(self.page, id) => {
                    id = end;
                    continue;
                }
                Kind::Element(tag) => {
                    if self.leaf(id, tag) {
                        id = end;
                        continue;
                    }
                    self.enter(id, tag);
                    let is_link = self.style == Style::Markdown && self.leads_away(id);
                    self.links += usize::from(is_link);
                    self.open.push(Open {
                        id,
                        end,
                        start: None,
                        is_link,
                    });
                }
            }
            id += 1;
        }
        self.leave_until(self.part.end);
    }

    fn is_full(&self) -> bool {
        self.out.len() >= MAX_TEXT
    }

    /// Leaves the elements that end before a node.
    fn leave_until(&mut self, id: NodeId) {
        while let Some(open) = self.open.pop_if(|open| open.end <= id) {
            self.leave(open.id, open.start);
            self.links -= usize::from(open.is_link);
        }
    }

    /// Writes an element as a whole, if it is one that is; returns whether it was.
    fn leaf(&mut self, id: NodeId, tag: Tag) -> bool {
        match tag {
            Tag::Preformatted => self.code_block(id),
            Tag::Code => self.code(id),
            Tag::Break => self.line_ends = self.line_ends.max(1),
            Tag::Rule => {
                self.separate(2);
                self.inline("---");
                self.separate(2);
            }
            Tag::Image => self.image(id),
            Tag::Formula => self.text(&formula(self.page, id, self.part.end)),
            Tag::Table => return self.table(id),
            _ => return false,
        }
        true
    }

    fn enter(&mut self, id: NodeId, tag: Tag) {
        if tag.is_block() {
            self.after_paragraph = false;
        }
        match tag {
            Tag::Heading(level) => {
                self.separate(2);
                if self.style == Style::Markdown {
                    self.heading = Some(format!("{} ", "#".repeat(usize::from(level))));
                }
            }
            Tag::List | Tag::NumberedList => {
                self.separate(if self.lists.is_empty() { 2 } else { 1 });
                let first = self.number(id).unwrap_or(1);
                self.lists.push((tag == Tag::NumberedList).then_some(first));
                self.is_first_item = true;
            }
            Tag::Item => self.item(id),
            Tag::Quote => {
                self.separate(2);
                self.indent("> ");
            }
            Tag::Definition => {
                self.separate(1);
                self.indent("  ");
            }
            Tag::Term | Tag::Row => self.separate(1),
            // A paragraph that has none before it stands directly behind the mark.
            Tag::Paragraph if self.mark.is_none() => self.separate(2),
            tag if tag.is_block() => self.separate(if self.is_in_item(id) { 1 } else { 2 }),
            _ => {}
        }
    }

    fn item(&mut self, id: NodeId) {
        self.separate(1);
        let stated = self.number(id);
        let mark = match self.lists.last_mut() {
            Some(Some(next)) => {
                let number = stated.unwrap_or(*next);
                *next = number.saturating_add(1);
                format!("{number}. ")
            }
            _ => "- ".to_owned(),
        };
        self.indent(&" ".repeat(mark.len()));
        self.mark = Some((self.indents.len().saturating_sub(1), mark));
        self.is_next_item = !self.is_first_item || self.lists.len() > 1;
        self.is_first_item = false;
    }

    fn leave(&mut self, id: NodeId, start: Option<usize>) {
        let Some(tag) = self.page.tag(id) else { return };
        match tag {
            Tag::Heading(_) => {
                self.heading = None;
                self.separate(2);
            }
            Tag::List | Tag::NumberedList => {
                self.lists.pop();
                self.separate(if self.lists.is_empty() { 2 } else { 1 });
            }
            Tag::Item => {
                self.outdent();
                self.mark = None;
                self.after_paragraph = false;
                self.separate(1);
            }
            Tag::Quote => {
                self.outdent();
                self.separate(2);
            }
            Tag::Definition => {
                self.outdent();
                self.separate(1);
            }
            Tag::Paragraph if self.is_in_item(id) => {
                self.after_paragraph = true;
                self.separate(1);
            }
            Tag::Strong => self.wrap(start, "**", "**"),
            Tag::Emphasis => self.wrap(start, "*", "*"),
            Tag::Anchor => self.link(id, start),
            Tag::Struck | Tag::Superscript | Tag::Subscript => self.mark(id, start),
            Tag::Cell => self.has_space = true,
            Tag::Term | Tag::Row => self.separate(1),
            tag if tag.is_block() => self.separate(if self.is_in_item(id) { 1 } else { 2 }),
            _ => {}
        }
    }

    /// Returns the number that a list says its first item has, or that an item says it has.
    fn number(&self, id: NodeId) -> Option<i32> {
        self.page.attributes(id)?.number
    }

    /// Reports whether a block that is no paragraph stands directly in an item, which then has it
    /// on the next line.
    fn is_in_item(&self, id: NodeId) -> bool {
        let around = self
            .open
            .iter()
            .rev()
            .map(|open| open.id)
            .find(|open| *open != id);
        around.and_then(|around| self.page.tag(around)) == Some(Tag::Item)
    }

    fn indent(&mut self, indent: &str) {
        // Every element that pushes pops again, so what is too deep is set in by nothing.
        let indent = if self.indents.len() < MAX_INDENTS {
            indent
        } else {
            ""
        };
        self.indents.push(indent.to_owned());
    }

    fn outdent(&mut self) {
        self.indents.pop();
        self.shared = self.shared.min(self.indents.len());
    }

    fn separate(&mut self, line_ends: usize) {
        self.line_ends = self.line_ends.max(line_ends);
        self.has_space = false;
    }

    fn text(&mut self, text: &str) {
        let mut words = text.split_whitespace();
        self.has_space |= text.starts_with(char::is_whitespace);
        let Some(first) = words.next() else { return };
        self.begin();
        self.push_text(first);
        for word in words {
            self.out.push(' ');
            self.push_text(word);
        }
        self.has_space = text.ends_with(char::is_whitespace);
    }

    /// Writes a text of the page, which can neither begin nor end a link within a heading or the
    /// text of another link.
    fn push_text(&mut self, text: &str) {
        if self.is_in_brackets() {
            push_escaped(&mut self.out, text);
        } else {
            self.out.push_str(text);
        }
    }

    /// Reports whether brackets of the page would be taken for those of a link: in a heading, and
    /// in another link.
    fn is_in_brackets(&self) -> bool {
        self.is_heading || self.links > 0
    }

    /// Writes a text without line ends.
    fn inline(&mut self, text: &str) {
        self.begin();
        self.out.push_str(text);
    }

    /// Writes what has to stand before the next text.
    fn begin(&mut self) {
        let is_on_line = !self.out.is_empty() && self.line_ends == 0;
        if self.is_in_cell && !is_on_line {
            let gap = if self.is_next_item { "; " } else { " " };
            self.out
                .push_str(if self.out.is_empty() { "" } else { gap });
            self.is_next_item = false;
        } else if !is_on_line {
            if !self.out.is_empty() {
                self.out.push('\n');
                if self.line_ends > 1 || self.after_paragraph {
                    // What begins or ends here is not around the empty line.
                    let around: String = self
                        .indents
                        .iter()
                        .take(self.shared)
                        .map(String::as_str)
                        .collect();
                    self.out.push_str(around.trim_end());
                    self.out.push('\n');
                }
            }
            self.begin_line();
            self.end_links();
        } else if self.has_space && !self.out.ends_with(char::is_whitespace) {
            self.out.push(' ');
        }
        self.line_ends = 0;
        self.has_space = false;
        self.after_paragraph = false;
        if let Some(heading) = self.heading.take() {
            self.out.push_str(&heading);
            self.is_heading = true;
        }
        let at = self.out.len();
        for open in self
            .open
            .iter_mut()
            .rev()
            .take_while(|open| open.start.is_none())
        {
            open.start = Some(at);
        }
    }

    /// Notes that a line has ended, over which neither a heading nor a link goes on.
    fn end_links(&mut self) {
        self.is_heading = false;
        for open in self
            .open
            .iter_mut()
            .filter(|open| open.is_link && open.start.is_some())
        {
            open.is_link = false;
            self.links -= 1;
        }
    }

    fn begin_line(&mut self) {
        let mark = self.mark.take();
        for (depth, indent) in self.indents.iter().enumerate() {
            let marked = mark.as_ref().filter(|(at, _)| *at == depth);
            self.out.push_str(marked.map_or(indent, |(_, mark)| mark));
        }
        self.shared = self.indents.len();
    }

    fn code_block(&mut self, id: NodeId) {
        let code = self.page.code(id);
        let code = code.trim_matches('\n').trim_end();
        if code.is_empty() {
            return;
        }
        if self.is_in_cell {
            return self.code_in_cell(code);
        }
        let fence = fence(code, 3);
        self.separate(2);
        self.inline(&format!(
            "{fence}{}",
            language(self.page, id).unwrap_or_default()
        ));
        for line in code.lines().chain([fence.as_str()]) {
            if self.is_full() {
                break;
            }
            self.out.push('\n');
            self.begin_line();
            self.out.push_str(line);
        }
        self.separate(2);
    }

    /// Writes the lines of a block of code each as code within a line.
    fn code_in_cell(&mut self, code: &str) {
        let lines = code
            .lines()
            .map(str::trim_end)
            .filter(|line| !line.is_empty());
        self.separate(1);
        self.inline(&lines.map(code_span).collect::<Vec<_>>().join("<br>"));
        self.separate(1);
    }

    fn code(&mut self, id: NodeId) {
        let code = self.page.code_line(id);
        match self.style {
            _ if code.is_empty() => {}
            Style::Text => self.inline(&code),
            Style::Markdown => {
                // The marks of two codes would be taken for one mark.
                self.has_space |= self.line_ends == 0 && self.out.ends_with('`');
                self.inline(&code_span(&code));
            }
        }
    }

    fn image(&mut self, id: NodeId) {
        let Some(attributes) = self.page.attributes(id) else {
            return;
        };
        let text = attributes
            .text
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ");
        if text.is_empty() || self.style == Style::Text {
            return;
        }
        match self.address(&attributes.address) {
            Some(address) => self.inline(&format!("![{}]({address})", escaped(&text))),
            None => self.text(&text),
        }
    }

    /// Returns where a link leads, or an image is; `None` if that is no address.
    fn address(&mut self, written: &str) -> Option<String> {
        let address = in_full(self.base, written)?;
        match self.addresses_left.checked_sub(address.len()) {
            Some(left) => {
                self.addresses_left = left;
                Some(address)
            }
            // Written so, it leads to the same place, and no part of it is taken for the text after
            // the link.
            None => Some(enclosed(
                written.split_whitespace().collect::<Vec<_>>().join("%20"),
            )),
        }
    }

    /// Writes a table of texts; returns false for one that arranges other blocks.
    fn table(&mut self, id: NodeId) -> bool {
        if self.style == Style::Text || self.arranges(id) {
            return false;
        }
        let rows = self.rows(id);
        let columns = rows.iter().map(Vec::len).max().unwrap_or_default();
        if !(2..=MAX_COLUMNS).contains(&columns) {
            return false;
        }
        self.separate(2);
        for (at, row) in rows.iter().enumerate() {
            if self.is_full() {
                break;
            }
            let mut line = "|".to_owned();
            for cell in row {
                line.push_str(&format!(" {} |", self.cell(*cell)));
            }
            line.push_str(&"  |".repeat(columns - row.len()));
            if at > 0 {
                self.separate(1);
            }
            self.inline(&line);
            if at == 0 {
                self.separate(1);
                self.inline(&format!("|{}", "---|".repeat(columns)));
            }
        }
        self.separate(2);
        true
    }

    /// Returns what a table's cell holds in one line.
    fn cell(&mut self, id: NodeId) -> String {
        let mut part = self.part;
        (part.start, part.end) = (id + 1, self.page.end(id));
        let mut cell = Writer::new(self.page, part, self.base, self.style);
        cell.is_in_cell = true;
        cell.addresses_left = self.addresses_left;
        cell.walk();
        self.addresses_left = cell.addresses_left;
        cell.out.trim().replace('|', "\\|")
    }

    /// Returns the cells of a table's rows. Those within another cell are part of that one.
    fn rows(&self, id: NodeId) -> Vec<Vec<NodeId>> {
        let end = self.page.end(id);
        let mut rows: Vec<Vec<NodeId>> = Vec::new();
        let mut at = id;
        while at < end {
            match self.page.tag(at) {
                Some(Tag::Row) => rows.push(Vec::new()),
                Some(Tag::Cell) => {
                    if let Some(row) = rows.last_mut() {
                        row.push(at);
                    }
                    at = self.page.end(at);
                    continue;
                }
                _ => {}
            }
            at += 1;
        }
        rows.retain(|row| !row.is_empty());
        rows
    }

    /// Reports whether a table holds blocks that do not fit into a line, or puts a few of them side
    /// by side.
    fn arranges(&self, id: NodeId) -> bool {
        let end = self.page.end(id);
        let (mut at, mut rows, mut has_blocks) = (id + 1, 0, false);
        while at < end {
            match self.page.tag(at) {
                Some(Tag::Row) => rows += 1,
                Some(Tag::List | Tag::NumberedList) => has_blocks = true,
                Some(Tag::Preformatted) if self.page.code(at).len() > MAX_CODE_IN_CELL => {
                    return true;
                }
                Some(Tag::Preformatted) => {
                    has_blocks = true;
                    at = self.page.end(at);
                    continue;
                }
                Some(tag) if tag.is_boundary() || matches!(tag, Tag::Heading(_)) => return true,
                _ => {}
            }
            at += 1;
        }
        has_blocks && rows < 2
    }

    /// Puts the marks of a raised, lowered or struck text around the text since a place.
    fn mark(&mut self, id: NodeId, start: Option<usize>) {
        let parts =
            start.and_then(|start| Some((start, self.out.get(..start)?, self.out.get(start..)?)));
        let Some((start, before, text)) = parts else {
            return;
        };
        let Some((opening, closing)) = self.page.marks(id, before, text) else {
            return;
        };
        if self.is_in_brackets() {
            self.out.insert_str(start, &escaped(opening));
            push_escaped(&mut self.out, closing);
        } else {
            self.out.insert_str(start, opening);
            self.out.push_str(closing);
        }
    }

    /// Puts marks around the text since a place, unless it is empty or several lines.
    fn wrap(&mut self, start: Option<usize>, before: &str, after: &str) {
        let Some(start) = start.filter(|_| self.style == Style::Markdown) else {
            return;
        };
        let text = self.out.tail(start);
        if text.is_empty() || text.contains('\n') || text.starts_with(before) {
            return;
        }
        self.out.insert_str(start, before);
        self.out.push_str(after);
    }

    /// Reports whether an element is a link to another page.
    fn leads_away(&self, id: NodeId) -> bool {
        let address = self
            .page
            .attributes(id)
            .map_or("", |attributes| attributes.address.as_str());
        self.page.tag(id) == Some(Tag::Anchor) && !address.is_empty() && !address.starts_with('#')
    }

    fn link(&mut self, id: NodeId, start: Option<usize>) {
        let Some(attributes) = self.page.attributes(id).filter(|_| self.leads_away(id)) else {
            return;
        };
        if let Some(address) = self.address(&attributes.address) {
            self.wrap(start, "[", &format!("]({address})"));
        }
    }
}

/// Returns code within a line, with its marks.
fn code_span(code: &str) -> String {
    let fence = fence(code, 1);
    let gap = if fence.len() > 1 { " " } else { "" };
    format!("{fence}{gap}{code}{gap}{fence}")
}

/// Returns marks around code that are longer than any within it.
fn fence(code: &str, least: usize) -> String {
    let longest = code
        .split(|c| c != '`')
        .map(str::len)
        .max()
        .unwrap_or_default();
    let length = if longest >= least { longest + 1 } else { least };
    "`".repeat(length)
}
