//! A part of a page as Markdown, in one pass over its nodes.

use orchestrate_core::policy::host::WebUrl;

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
    tag: Tag,
    /// Where its text begins, once it has any.
    start: Option<usize>,
    /// What begins a list's item, or each line of a quote or a definition.
    mark: Option<String>,
    /// Whether its text stands in one line so far, in which brackets of the page would be taken for
    /// those of a link: that of a heading, or of a link.
    is_bracketed: bool,
}

/// A table of texts whose rows are written.
struct Table {
    columns: usize,
    /// Whether its first row is written.
    is_begun: bool,
    /// The cells of the row that have ended.
    cells: Vec<String>,
    /// Where the text of the open cell begins.
    cell: Option<usize>,
}

struct Writer<'p> {
    page: &'p Page,
    part: Part,
    base: &'p WebUrl,
    style: Style,
    out: String,
    /// The elements that are open.
    open: Vec<Open>,
    /// The open lists, each with the number of the next item if it has numbers.
    lists: Vec<Option<i32>>,
    table: Option<Table>,
    /// The line ends that come before the next text.
    line_ends: usize,
    has_space: bool,
    /// Whether the next text in a cell is that of a list's item.
    is_next_item: bool,
    /// The size of the marks that will begin the lines of the open elements.
    indents: usize,
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
            open: Vec::new(),
            lists: Vec::new(),
            table: None,
            line_ends: 0,
            has_space: false,
            is_next_item: false,
            indents: 0,
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
            id = match node.kind {
                Kind::Text(start, to) => {
                    self.text(self.page.text(start, to));
                    id + 1
                }
                Kind::Element(tag) if self.part.leaves_out(self.page, id) || self.leaf(id, tag) => {
                    node.end
                }
                Kind::Element(tag) => {
                    self.enter(id, tag);
                    id + 1
                }
            };
        }
        self.leave_until(self.part.end);
    }

    fn is_full(&self) -> bool {
        self.out.len() + self.indents >= MAX_TEXT
    }

    /// Reports whether this is within a table, and in none of its cells: what is there is no text.
    fn is_between_cells(&self) -> bool {
        self.table
            .as_ref()
            .is_some_and(|table| table.cell.is_none())
    }

    /// Returns where the text of the open cell begins.
    fn cell(&self) -> Option<usize> {
        self.table.as_ref()?.cell
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
            _ => return false,
        }
        true
    }

    fn enter(&mut self, id: NodeId, tag: Tag) {
        self.separate_around(tag);
        let depth = self.open.iter().filter(|open| open.mark.is_some()).count();
        let mut mark = None;
        match tag {
            Tag::List | Tag::NumberedList => {
                let first = self.number(id).unwrap_or(1);
                self.lists.push((tag == Tag::NumberedList).then_some(first));
            }
            Tag::Item => {
                self.is_next_item = true;
                mark = Some(self.mark_of_item(id));
            }
            Tag::Quote => mark = Some("> ".to_owned()),
            Tag::Definition => mark = Some("  ".to_owned()),
            Tag::Table => self.begin_table(id),
            Tag::Row => self.end_row(),
            Tag::Cell => self.begin_cell(),
            _ => {}
        }
        if self.cell().is_some() || depth >= MAX_INDENTS {
            mark = None;
        }
        self.open.push(Open {
            id,
            end: self.page.end(id),
            tag,
            start: None,
            mark,
            is_bracketed: self.is_heading(tag) || self.is_link(id),
        });
    }

    /// Has an element stand on lines of its own, as far as it does.
    fn separate_around(&mut self, tag: Tag) {
        let line_ends = match tag {
            Tag::Item | Tag::Term | Tag::Definition | Tag::Row => 1,
            Tag::List | Tag::NumberedList if self.lists.is_empty() => 2,
            Tag::List | Tag::NumberedList => 1,
            Tag::Heading(_) | Tag::Quote | Tag::Paragraph | Tag::Table => 2,
            tag if !tag.is_block() => return,
            _ if self.open.last().is_some_and(|open| open.tag == Tag::Item) => 1,
            _ => 2,
        };
        self.separate(line_ends);
    }

    /// Returns the mark of a list's item.
    fn mark_of_item(&mut self, id: NodeId) -> String {
        let stated = self.number(id);
        match self.lists.last_mut() {
            Some(Some(next)) => {
                let number = stated.unwrap_or(*next);
                *next = number.saturating_add(1);
                format!("{number}. ")
            }
            _ => "- ".to_owned(),
        }
    }

    /// Leaves the elements that end before a node.
    fn leave_until(&mut self, id: NodeId) {
        while let Some(open) = self.open.pop_if(|open| open.end <= id) {
            self.leave(open);
        }
    }

    fn leave(&mut self, open: Open) {
        match open.tag {
            Tag::Heading(level) if self.style == Style::Markdown => {
                if let Some(start) = open.start {
                    let mark = format!("{} ", "#".repeat(usize::from(level)));
                    self.out.insert_str(start, &mark);
                }
            }
            Tag::List | Tag::NumberedList => drop(self.lists.pop()),
            Tag::Table => {
                self.end_row();
                self.table = None;
            }
            Tag::Cell => self.end_cell(),
            Tag::Strong => self.wrap(open.start, "**", "**"),
            Tag::Emphasis => self.wrap(open.start, "*", "*"),
            Tag::Anchor if open.is_bracketed => self.link(open.id, open.start),
            Tag::Struck | Tag::Superscript | Tag::Subscript => self.mark(open.id, open.start),
            _ => {}
        }
        if let (Some(mark), Some(start)) = (open.mark, open.start) {
            self.indent(start, &mark);
            self.line_ends = 0;
        }
        self.separate_around(open.tag);
    }

    /// Puts a mark before the text since a place, and sets its other lines in. That of a quote
    /// begins each of them.
    fn indent(&mut self, start: usize, mark: &str) {
        let text = self.out.split_off(start);
        let spaces = " ".repeat(mark.len());
        for (number, line) in text.split('\n').enumerate() {
            if number > 0 {
                self.out.push('\n');
            }
            let begin = if number == 0 || mark == "> " {
                mark
            } else {
                &spaces
            };
            if line.is_empty() {
                self.out.push_str(begin.trim_end());
            } else {
                self.out.push_str(begin);
                self.indents = self.indents.saturating_sub(begin.len());
            }
            self.out.push_str(line);
        }
    }

    /// Returns the number that a list says its first item has, or that an item says it has.
    fn number(&self, id: NodeId) -> Option<i32> {
        self.page.attributes(id)?.number
    }

    /// Has the next text stand after so many line ends. Those before the first text of an element
    /// come before its mark.
    fn separate(&mut self, line_ends: usize) {
        let around = self.open.iter().rfind(|open| open.mark.is_some());
        if around.is_none_or(|around| around.start.is_some()) {
            self.line_ends = self.line_ends.max(line_ends);
        }
        self.has_space = false;
    }

    fn text(&mut self, text: &str) {
        let mut words = text.split_whitespace();
        self.has_space |= text.starts_with(char::is_whitespace);
        let Some(first) = words.next() else { return };
        if self.is_between_cells() {
            return;
        }
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

    fn is_in_brackets(&self) -> bool {
        self.open.iter().any(|open| open.is_bracketed)
    }

    /// Writes a text without line ends.
    fn inline(&mut self, text: &str) {
        if !self.is_between_cells() {
            self.begin();
            self.out.push_str(text);
        }
    }

    /// Writes what has to stand before the next text.
    fn begin(&mut self) {
        let start = self.cell().unwrap_or_default();
        let is_first = self.out.len() == start;
        if self.cell().is_some() && self.line_ends > 0 {
            if !is_first {
                self.out
                    .push_str(if self.is_next_item { "; " } else { " " });
            }
            self.is_next_item = false;
        } else if self.line_ends > 0 && !is_first {
            self.out.push_str(&"\n".repeat(self.line_ends));
            self.begin_line();
            // Neither a heading nor a link goes on in another line.
            for open in &mut self.open {
                open.is_bracketed &= open.start.is_none();
            }
        } else if self.has_space && !is_first && !self.out.ends_with(char::is_whitespace) {
            self.out.push(' ');
        }
        self.line_ends = 0;
        self.has_space = false;
        let at = self.out.len();
        for open in self.open.iter_mut().rev() {
            if open.start.is_some() {
                break;
            }
            open.start = Some(at);
        }
    }

    /// Counts what a line will begin with, by the elements that are open.
    fn begin_line(&mut self) {
        let marks = self.open.iter().filter_map(|open| open.mark.as_ref());
        self.indents += marks.map(String::len).sum::<usize>();
    }

    fn next_line(&mut self, line: &str) {
        self.out.push('\n');
        if !line.is_empty() {
            self.begin_line();
        }
        self.out.push_str(line);
    }

    fn code_block(&mut self, id: NodeId) {
        let code = self.page.code(id);
        let code = code.trim_matches('\n').trim_end();
        if code.is_empty() {
            return;
        }
        if self.cell().is_some() {
            return self.code_in_cell(code);
        }
        let fence = fence(code, 3);
        self.separate(2);
        self.inline(&fence);
        self.out
            .push_str(&language(self.page, id).unwrap_or_default());
        for line in code.lines().chain([fence.as_str()]) {
            if self.is_full() {
                break;
            }
            self.next_line(line);
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

    /// Begins a table of texts, unless it arranges other blocks.
    fn begin_table(&mut self, id: NodeId) {
        if self.table.is_some() || self.style == Style::Text {
            return;
        }
        if let Some(columns) = self.columns(id) {
            self.begin();
            self.table = Some(Table {
                columns,
                is_begun: false,
                cells: Vec::new(),
                cell: None,
            });
        }
    }

    fn begin_cell(&mut self) {
        if let Some(table) = &mut self.table {
            table.cell = Some(self.out.len());
            self.line_ends = 0;
            self.has_space = false;
            self.is_next_item = false;
        }
    }

    fn end_cell(&mut self) {
        match &mut self.table {
            Some(table) => {
                let start = table.cell.take().unwrap_or(self.out.len());
                let text = self.out.split_off(start);
                table.cells.push(text.trim().replace('|', "\\|"));
            }
            None => self.has_space = true,
        }
    }

    /// Writes the cells of a row, and behind the first one the line that makes it a table.
    fn end_row(&mut self) {
        let Some(table) = self.table.as_mut().filter(|table| !table.cells.is_empty()) else {
            return;
        };
        let mut cells = std::mem::take(&mut table.cells);
        let columns = table.columns;
        cells.resize(columns, String::new());
        let row = format!("| {} |", cells.join(" | "));
        if std::mem::replace(&mut table.is_begun, true) {
            self.next_line(&row);
        } else {
            self.out.push_str(&row);
            self.next_line(&format!("|{}", "---|".repeat(columns)));
        }
    }

    /// Returns the number of columns of a table; `None` for one that holds blocks that do not fit
    /// into a line, that puts a few blocks side by side, or that has one column or very many.
    fn columns(&self, id: NodeId) -> Option<usize> {
        let (mut rows, mut row, mut columns, mut has_blocks) = (0, 0, 0, false);
        let mut at = id + 1;
        while at < self.page.end(id) {
            let mut next = at + 1;
            match self.page.tag(at) {
                Some(Tag::Row) => {
                    rows += 1;
                    row = 0;
                }
                Some(Tag::Cell) => {
                    row += 1;
                    columns = columns.max(row);
                }
                Some(Tag::List | Tag::NumberedList) => has_blocks = true,
                Some(Tag::Preformatted) if self.page.code(at).len() <= MAX_CODE_IN_CELL => {
                    has_blocks = true;
                    next = self.page.end(at);
                }
                Some(Tag::Preformatted | Tag::Heading(_)) => return None,
                Some(tag) if tag.is_boundary() => return None,
                _ => {}
            }
            at = next;
        }
        let is_table = (2..=MAX_COLUMNS).contains(&columns) && !(has_blocks && rows < 2);
        is_table.then_some(columns)
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
        let Some(text) = self.out.get(start..) else {
            return;
        };
        if text.is_empty() || text.contains('\n') || text.starts_with(before) {
            return;
        }
        self.out.insert_str(start, before);
        self.out.push_str(after);
    }

    fn is_heading(&self, tag: Tag) -> bool {
        self.style == Style::Markdown && matches!(tag, Tag::Heading(_))
    }

    /// Reports whether an element becomes a link: it leads to another page.
    fn is_link(&self, id: NodeId) -> bool {
        let address = self
            .page
            .attributes(id)
            .map_or("", |attributes| attributes.address.as_str());
        self.style == Style::Markdown
            && self.page.tag(id) == Some(Tag::Anchor)
            && !address.is_empty()
            && !address.starts_with('#')
    }

    fn link(&mut self, id: NodeId, start: Option<usize>) {
        let Some(attributes) = self.page.attributes(id) else {
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

/// What may follow `<` in an address or a tag, beside letters.
const BEGINS_TAG: [char; 3] = ['/', '!', '?'];

/// Returns a text in which no character begins or ends a link of Markdown, or a code in which an
/// end would be lost.
///
/// ```
/// assert_eq!(orchestrate_html::escaped("x](http://a) `y"), r"x\](http://a) \`y");
/// ```
pub fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    push_escaped(&mut escaped, text);
    escaped
}

pub(crate) fn push_escaped(out: &mut String, text: &str) {
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        let is_mark = match character {
            '\\' | '[' | ']' | '`' => true,
            // What follows at the end of a text is not known here.
            '<' => characters
                .peek()
                .is_none_or(|next| next.is_ascii_alphabetic() || BEGINS_TAG.contains(next)),
            _ => false,
        };
        if is_mark {
            out.push('\\');
        }
        out.push(character);
    }
}
