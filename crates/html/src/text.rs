//! The text of a part of a page without its form, but with what keeps its meaning: the ends of
//! lines and blocks, and the marks of raised, lowered and struck text.

use crate::formula::formula;
use crate::script::Script;
use crate::tag::Tag;
use crate::tree::{Kind, NodeId, Page, in_one_line};

/// What is marked in code, where a struck line may have its own marks.
const MARKED_IN_CODE: [Tag; 2] = [Tag::Superscript, Tag::Subscript];
/// What is marked in a text.
const MARKED: [Tag; 3] = [Tag::Superscript, Tag::Subscript, Tag::Struck];
/// Maximum length of a marked text in bytes; a longer one was not ended.
const MAX_MARKED: usize = 2_000;
/// How many nodes may come before the text that follows an element.
const NODES_BEFORE_TEXT: usize = 3;

impl Page {
    /// Returns the text of code within a node as it is written.
    pub(crate) fn code(&self, id: NodeId) -> String {
        self.text_until(id, self.end(id), &MARKED_IN_CODE)
    }

    /// Returns the text of code within a node in one line.
    pub(crate) fn code_line(&self, id: NodeId) -> String {
        in_one_line(&self.code(id))
    }

    /// Returns all texts of the page in one line.
    pub fn line_of_all(&self) -> String {
        in_one_line(&self.text_until(0, self.len(), &MARKED))
    }

    /// Returns the text of a link or a heading in one line, up to the next one within it: one that
    /// was not closed contains all that follow, and each text belongs to one of them.
    pub(crate) fn own_line(&self, id: NodeId) -> String {
        let begins_next = |within: &NodeId| match self.tag(id) {
            Some(Tag::Anchor) => self.tag(*within) == Some(Tag::Anchor),
            Some(Tag::Heading(_)) => matches!(self.tag(*within), Some(Tag::Heading(_))),
            _ => false,
        };
        let end = self.end(id);
        let next = (id + 1..end).find(begins_next);
        in_one_line(&self.text_until(id, next.unwrap_or(end), &MARKED))
    }

    /// Returns what has to stand before and after the text of an element, which stands after
    /// another text.
    pub(crate) fn marks(
        &self,
        id: NodeId,
        before: &str,
        text: &str,
    ) -> Option<(&'static str, &'static str)> {
        let (tag, next) = (self.tag(id)?, self.text_from(self.end(id)));
        let (is_note, is_upper_half) = (self.is_note(id), self.is_upper_half(id));
        Script {
            tag,
            before,
            text,
            next,
            is_note,
            is_upper_half,
        }
        .marks()
    }

    /// Returns the text of a part in which these elements have their marks.
    fn text_until(&self, id: NodeId, end: NodeId, marked: &[Tag]) -> String {
        let mut text = String::new();
        // The blocks and the marked elements that are open, each with where its text begins.
        let mut open: Vec<(NodeId, usize)> = Vec::new();
        let mut at = id;
        while at < end {
            while let Some((closed, start)) = open.pop_if(|(open, _)| self.end(*open) <= at) {
                self.close(&mut text, closed, start);
            }
            let Some(node) = self.node(at) else { break };
            match node.kind {
                Kind::Text(start, to) => text.push_str(self.text(start, to)),
                Kind::Element(Tag::Break) => text.push('\n'),
                Kind::Element(Tag::Formula) => {
                    text.push_str(&formula(self, at, end));
                    at = node.end;
                    continue;
                }
                Kind::Element(tag) => {
                    if tag.is_block() {
                        end_line(&mut text);
                    }
                    if tag.is_block() || marked.contains(&tag) {
                        open.push((at, text.len()));
                    }
                }
            }
            at += 1;
        }
        while let Some((closed, start)) = open.pop() {
            self.close(&mut text, closed, start);
        }
        text
    }

    /// Ends a block, or marks the text of an element since a place.
    fn close(&self, text: &mut String, id: NodeId, start: usize) {
        if self.tag(id).is_some_and(Tag::is_block) {
            end_line(text);
            return;
        }
        if text.len() - start > MAX_MARKED {
            return;
        }
        let own = text.split_off(start);
        match self.marks(id, text, own.trim()) {
            Some((before, after)) => {
                [before, own.trim(), after]
                    .iter()
                    .for_each(|part| text.push_str(part));
                if own.ends_with(char::is_whitespace) {
                    text.push(' ');
                }
            }
            None => text.push_str(&own),
        }
    }

    /// Returns the text that stands at a node without anything before it.
    fn text_from(&self, id: NodeId) -> &str {
        for at in id..id + NODES_BEFORE_TEXT {
            match self.node(at).map(|node| node.kind) {
                Some(Kind::Text(start, end)) => return self.text(start, end),
                Some(Kind::Element(Tag::Inline | Tag::Anchor | Tag::Strong | Tag::Emphasis)) => {}
                _ => break,
            }
        }
        ""
    }

    /// Reports whether a slash and a lowered text follow an element.
    fn is_upper_half(&self, id: NodeId) -> bool {
        let end = self.end(id);
        let is_slash = match self.node(end).map(|node| node.kind) {
            Some(Kind::Text(start, to)) => matches!(self.text(start, to).trim(), "/" | "⁄"),
            _ => false,
        };
        is_slash && self.tag(end + 1) == Some(Tag::Subscript)
    }

    /// Reports whether an element is around a link to a note, or directly within one.
    fn is_note(&self, id: NodeId) -> bool {
        let is_around = id + 1 < self.end(id) && self.leads_to_note(id + 1);
        is_around
            || id
                .checked_sub(1)
                .is_some_and(|before| self.leads_to_note(before) && self.end(before) > id)
    }

    fn leads_to_note(&self, id: NodeId) -> bool {
        let attributes = self.attributes(id);
        self.tag(id) == Some(Tag::Anchor)
            && attributes.is_some_and(|attributes| attributes.address.starts_with('#'))
    }
}

fn end_line(text: &mut String) {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
}
