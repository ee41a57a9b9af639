//! The tree of a page. A node stands before all nodes within it, so loops over nodes go from the
//! outside in.

use std::convert::Infallible;

use html5gum::emitters::callback::{CallbackEmitter, CallbackEvent};
use html5gum::{Span, Tokenizer};
use orchestrate_core::policy::host::WebUrl;
use orchestrate_memory::is_over;

use crate::language::named;
use crate::tag::{Tag, is_void};

/// Maximum depth of elements; what is deeper counts as being there, as browsers have it.
const MAX_DEPTH: usize = 256;
/// Maximum number of nodes of a page, about ten times those of the longest pages that people write.
/// Whatever follows is left out, as is what follows once the page takes too much memory.
const MAX_NODES: usize = 400_000;
/// After so many nodes, a page is asked whether it takes too much memory.
const NODES_BETWEEN_STOPS: usize = 1_024;
/// Maximum length of an attribute in bytes; longer ones hold data, not addresses.
const MAX_ATTRIBUTE: usize = 8 << 10;
/// How many nodes after the begin of a block of code may name its language by their classes.
pub(crate) const NAMING_NODES: usize = 2;
/// How many elements around a block of code may name its language by their classes.
const NAMING_AROUND: usize = 2;

/// The number of a node.
pub(crate) type NodeId = usize;

/// A page that has been read.
#[derive(Default)]
pub struct Page {
    nodes: Vec<Node>,
    text: String,
    title: String,
    /// What the page says that its addresses are relative to, as it is written.
    base: Option<String>,
    is_cut: bool,
}

/// An element or a text of a page.
pub(crate) struct Node {
    pub(crate) kind: Kind,
    /// The first node that is not within this one.
    pub(crate) end: NodeId,
    attributes: Option<Box<Attributes>>,
}

/// What a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// An element.
    Element(Tag),
    /// A text, by its place in the texts of the page.
    Text(usize, usize),
}

/// The attributes that are used, each on the elements on which it is.
#[derive(Clone, Debug, Default)]
pub(crate) struct Attributes {
    /// Where a link leads, or an image is.
    pub(crate) address: String,
    /// The text that stands for an image or a formula.
    pub(crate) text: String,
    /// The classes at the begin of a block of code, which may name its language.
    pub(crate) class: String,
    /// The language of code that the classes name.
    pub(crate) language: Option<String>,
    /// The language that an element around a block of code names.
    pub(crate) language_around: Option<String>,
    /// The name by which a link leads to a heading.
    pub(crate) id: String,
    /// The number of a list's first item, or of an item.
    pub(crate) number: Option<i32>,
    /// Whether the page says that this is its main part.
    pub(crate) is_main: bool,
    /// Whether this is a formula in TeX.
    pub(crate) is_tex: bool,
}

impl Page {
    /// Reads a page, as far as its nodes and the memory of this thread's work allow.
    pub fn parse(html: &str) -> Page {
        let mut builder = Builder::default();
        let mut emitter = CallbackEmitter::new(
            |event: CallbackEvent<'_>, _: Span<()>| -> Option<Infallible> {
                builder.take(&event);
                None
            },
        );
        emitter.naively_switch_states(true);
        // Reading a text cannot fail.
        let _ = Tokenizer::new_with_emitter(html, emitter).finish();
        builder.finish()
    }

    /// Returns the title that the page states, in one line.
    pub fn title(&self) -> String {
        in_one_line(&self.title)
    }

    /// Returns what the addresses of the page are relative to: the page's own address, or what its
    /// first `base` with an address leads to from there. One that leads to no page of the web
    /// counts for nothing.
    pub(crate) fn base(&self, address: &WebUrl) -> WebUrl {
        let stated = self
            .base
            .as_deref()
            .and_then(|base| address.join(base).ok());
        stated.unwrap_or_else(|| address.clone())
    }

    /// Reports whether the page has more nodes than were read.
    pub fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// Returns the number of nodes.
    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Returns a node.
    pub(crate) fn node(&self, id: NodeId) -> Option<&Node> {
        self.nodes.get(id)
    }

    /// Returns the tag of an element; `None` for a text.
    pub(crate) fn tag(&self, id: NodeId) -> Option<Tag> {
        match self.nodes.get(id)?.kind {
            Kind::Element(tag) => Some(tag),
            Kind::Text(..) => None,
        }
    }

    /// Returns the attributes of an element that has any.
    pub(crate) fn attributes(&self, id: NodeId) -> Option<&Attributes> {
        self.nodes.get(id)?.attributes.as_deref()
    }

    /// Returns a text by its place.
    pub(crate) fn text(&self, start: usize, end: usize) -> &str {
        let (before, _) = self.text.split_at(end);
        let (_, text) = before.split_at(start);
        text
    }

    /// Returns the first node that is not within this one.
    pub(crate) fn end(&self, id: NodeId) -> NodeId {
        self.nodes.get(id).map_or(id, |node| node.end)
    }
}

/// Returns the number at the begin of a value, as browsers read it; `None` for one that they could
/// not count on from.
fn integer(value: &[u8]) -> Option<i32> {
    let text = std::str::from_utf8(value).ok()?.trim_ascii_start();
    let sign = usize::from(text.starts_with(['+', '-']));
    let digits = text
        .bytes()
        .skip(sign)
        .take_while(u8::is_ascii_digit)
        .count();
    text.get(..sign + digits)?.parse().ok()
}

/// Reports whether a `style` says that an element is not shown. If it says the opposite as well,
/// this counts: which one a browser follows is more than a matter of their order.
fn hides(style: &[u8]) -> bool {
    style.split(|byte| *byte == b';').any(|declaration| {
        let mut parts = declaration.split(|byte| matches!(*byte, b':' | b'!'));
        let property = parts.next().unwrap_or_default();
        let value = parts.next().unwrap_or_default();
        (is_word(property, "display") && is_word(value, "none"))
            || (is_word(property, "visibility")
                && (is_word(value, "hidden") || is_word(value, "collapse")))
    })
}

fn is_word(text: &[u8], word: &str) -> bool {
    text.trim_ascii().eq_ignore_ascii_case(word.as_bytes())
}

/// Returns the words of a text with one space between them.
pub(crate) fn in_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// An element that is open.
struct Open {
    /// Its node; `None` if it is hidden.
    id: Option<NodeId>,
    tag: Tag,
    name: Vec<u8>,
}

#[derive(Default)]
struct Builder {
    page: Page,
    open: Vec<Open>,
    /// How many open elements are deeper than the maximum.
    beyond: usize,
    /// The element whose content is skipped, and how many elements of its name are open within it.
    skipped: Option<(Vec<u8>, usize)>,
    /// The place among the open elements of the outermost one that the page hides. It ends as every
    /// other one does, which may be without an end tag.
    hidden: Option<usize>,
    in_title: bool,
    /// The last block of code.
    code: Option<NodeId>,
    /// The first node that is not within the last formula.
    after_formula: Option<NodeId>,
    name: Vec<u8>,
    tag: Tag,
    attribute: Vec<u8>,
    attributes: Attributes,
    has_attributes: bool,
    /// Whether the attributes say that browsers do not show the element.
    is_hidden: bool,
    /// Whether they say that a dialog is open.
    is_open: bool,
}

impl Builder {
    fn take(&mut self, event: &CallbackEvent<'_>) {
        match event {
            CallbackEvent::OpenStartTag { name } => {
                self.name = name.to_vec();
                self.tag = Tag::named(name);
                self.attributes = Attributes::default();
                self.has_attributes = false;
                self.is_hidden = false;
                self.is_open = false;
            }
            CallbackEvent::AttributeName { name } => {
                self.attribute.clear();
                self.attribute.extend_from_slice(name);
                self.attribute(b"");
            }
            CallbackEvent::AttributeValue { value } => self.attribute(value),
            CallbackEvent::CloseStartTag { self_closing } => self.start(*self_closing),
            CallbackEvent::EndTag { name } => self.end(name),
            CallbackEvent::String { value } => self.text(value),
            CallbackEvent::Comment { .. }
            | CallbackEvent::Doctype { .. }
            | CallbackEvent::Error(_) => {}
        }
    }

    fn attribute(&mut self, value: &[u8]) {
        match self.attribute.as_slice() {
            b"hidden" => self.is_hidden = true,
            // However long it is: what hides a text may stand behind much that does nothing.
            b"style" => self.is_hidden |= hides(value),
            b"open" => self.is_open = true,
            b"class" if self.repeats_formula(value) => self.is_hidden = true,
            _ if value.len() > MAX_ATTRIBUTE => {}
            _ => self.keep_attribute(value),
        }
    }

    /// Reports whether the element is code, or so near to it that it may name its language.
    fn is_at_code(&self) -> bool {
        let after = self.code.map(|code| self.page.nodes.len() - code);
        self.tag == Tag::Preformatted || after.is_some_and(|after| after <= NAMING_NODES)
    }

    /// Keeps an attribute of an element on which it is used.
    fn keep_attribute(&mut self, value: &[u8]) {
        let text = || String::from_utf8_lossy(value).into_owned();
        // A page has far more attributes than are used, most of them classes.
        match (self.attribute.as_slice(), self.tag) {
            (b"href", Tag::Anchor | Tag::Base) | (b"src", Tag::Image) => {
                self.attributes.address = text()
            }
            (b"alt", Tag::Image) | (b"alttext", Tag::Formula) => self.attributes.text = text(),
            (b"encoding", Tag::Annotation) => self.attributes.is_tex = value.ends_with(b"tex"),
            (b"class", _) => {
                let is_at_code = self.is_at_code();
                let classes = String::from_utf8_lossy(value);
                self.attributes.language = named(&classes);
                if is_at_code {
                    self.attributes.class = classes.into_owned();
                } else if self.attributes.language.is_none() {
                    return;
                }
            }
            (b"id", Tag::Heading(_)) => self.attributes.id = text(),
            (b"start", Tag::NumberedList) | (b"value", Tag::Item) => {
                self.attributes.number = integer(value)
            }
            (b"role", _) if value == b"main" => self.attributes.is_main = true,
            _ => return,
        }
        self.has_attributes = true;
    }

    /// Reports whether an element with these classes shows the formula before it once more: KaTeX
    /// has each of them for those who hear it and for those who see it.
    fn repeats_formula(&self, classes: &[u8]) -> bool {
        self.after_formula == Some(self.page.nodes.len())
            && classes
                .split(u8::is_ascii_whitespace)
                .any(|class| class == b"katex-html")
    }

    fn start(&mut self, self_closing: bool) {
        let name = std::mem::take(&mut self.name);
        let tag = self.tag;
        if let Some((skipped, depth)) = &mut self.skipped {
            *depth += usize::from(*skipped == name && !self_closing);
            return;
        }
        if tag == Tag::Skipped {
            self.skipped = (!self_closing).then_some((name, 0));
            return;
        }
        if tag == Tag::Base {
            let address = std::mem::take(&mut self.attributes.address);
            if self.page.base.is_none() && !address.is_empty() {
                self.page.base = Some(address);
            }
            return;
        }
        self.end_implied(tag);
        let is_void = is_void(&name);
        if self.hidden.is_none() && self.is_shown_by_no_browser(&name) {
            if is_void {
                return;
            }
            if tag.is_block() {
                // Nothing of it is shown, but what is before it and what is after it stay apart.
                self.push(Kind::Element(Tag::Block));
            }
            self.hidden = Some(self.next_place());
        }
        let id = if self.hidden.is_some() {
            None
        } else {
            self.push(Kind::Element(tag))
        };
        if let Some(id) = id {
            self.begin(id, tag);
        }
        if is_void {
            return;
        }
        match self.open.len() < MAX_DEPTH {
            true => self.open.push(Open { id, tag, name }),
            false => self.beyond += 1,
        }
    }

    /// Reports whether browsers do not show an element, as far as its own attributes can say.
    ///
    /// This is also a protection against prompt injection: a person who looks at a page sees
    /// nothing of such a text, so it is a place for instructions that only a model would read. What
    /// a style sheet or a program hides is not known here, so no page is trusted for it.
    /// `aria-hidden` hides nothing: it is for what is seen and need not be read aloud, such as a
    /// formula.
    fn is_shown_by_no_browser(&self, name: &[u8]) -> bool {
        match name {
            // A page that its programs put together is hidden until they have done so.
            b"html" | b"body" => false,
            b"dialog" => self.is_hidden || !self.is_open,
            _ => self.is_hidden,
        }
    }

    /// Notes what is to be known of an element that is shown.
    fn begin(&mut self, id: NodeId, tag: Tag) {
        self.in_title = tag == Tag::Title && self.page.title.is_empty();
        if tag == Tag::Preformatted {
            self.code = Some(id);
            let mut around = self
                .open
                .iter()
                .rev()
                .take(NAMING_AROUND)
                .filter_map(|open| open.id);
            let named = around.find_map(|id| self.page.attributes(id)?.language.clone());
            self.attributes.language_around = named;
            self.has_attributes |= self.attributes.language_around.is_some();
        }
        if self.has_attributes
            && let Some(node) = self.page.nodes.get_mut(id)
        {
            node.attributes = Some(Box::new(std::mem::take(&mut self.attributes)));
        }
    }

    /// Ends the elements that a start tag ends without their own end tags.
    fn end_implied(&mut self, tag: Tag) {
        let within = self
            .open
            .iter()
            .rposition(|open| open.tag.is_boundary())
            .map_or(0, |at| at + 1);
        let is_ended = |open: &Open| tag.ends(open.tag);
        if let Some(at) = self
            .open
            .get(within..)
            .and_then(|open| open.iter().position(is_ended))
        {
            self.close_from(within + at);
        }
    }

    fn end(&mut self, name: &[u8]) {
        if let Some((skipped, depth)) = &mut self.skipped {
            if skipped == name {
                match depth.checked_sub(1) {
                    Some(less) => *depth = less,
                    None => self.skipped = None,
                }
            }
            return;
        }
        self.in_title = false;
        if self.beyond > 0 {
            self.beyond -= 1;
            self.show_from(MAX_DEPTH + self.beyond);
            return;
        }
        if let Some(at) = self.open.iter().rposition(|open| open.name == name) {
            self.close_from(at);
        }
    }

    fn close_from(&mut self, at: usize) {
        let end = self.page.nodes.len();
        self.show_from(at);
        for open in self.open.drain(at.min(self.open.len())..) {
            let Some(id) = open.id else { continue };
            if let Some(node) = self.page.nodes.get_mut(id) {
                node.end = end;
            }
            if open.tag == Tag::Formula {
                self.after_formula = Some(end);
            }
        }
    }

    /// Returns the place of the next element among the open ones, after which those come that are
    /// too deep.
    fn next_place(&self) -> usize {
        if self.open.len() < MAX_DEPTH {
            self.open.len()
        } else {
            MAX_DEPTH + self.beyond
        }
    }

    /// Shows what comes next if the outermost hidden element is at this place among the open ones,
    /// or within that one.
    fn show_from(&mut self, at: usize) {
        if self.hidden.is_some_and(|hidden| at <= hidden) {
            self.hidden = None;
        }
    }

    fn text(&mut self, value: &[u8]) {
        if self.skipped.is_some() || self.hidden.is_some() {
            return;
        }
        let text = String::from_utf8_lossy(value);
        if self.in_title {
            self.page.title.push_str(&text);
            return;
        }
        let start = self.page.text.len();
        self.page.text.push_str(&text);
        self.push(Kind::Text(start, self.page.text.len()));
    }

    fn push(&mut self, kind: Kind) -> Option<NodeId> {
        let id = self.page.nodes.len();
        let is_asked = id.is_multiple_of(NODES_BETWEEN_STOPS);
        self.page.is_cut |= id >= MAX_NODES || is_asked && is_over(&|| false);
        if self.page.is_cut {
            return None;
        }
        self.page.nodes.push(Node {
            kind,
            end: id + 1,
            attributes: None,
        });
        Some(id)
    }

    fn finish(mut self) -> Page {
        self.close_from(0);
        self.page
    }
}
