//! The main part of a page: what people read of it, without the ways to other pages around it.

use crate::tag::Tag;
use crate::tree::{Kind, NodeId, Page};

/// Which share of a page's text, in per cent, a part has to hold that the page calls its main one.
/// A page may use the element for something else.
const LEAST_SHARE: usize = 15;

/// A part of a page: a node with all nodes within it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// The first node.
    pub(crate) start: NodeId,
    /// The first node after it.
    pub(crate) end: NodeId,
    /// Whether the page marks it; around a marked part, everything else is around the text.
    is_marked: bool,
}

impl Part {
    /// Reports whether an element stands around the text: with all that is within it, it is left
    /// out.
    pub(crate) fn leaves_out(self, page: &Page, id: NodeId) -> bool {
        match page.tag(id) {
            Some(Tag::Navigation | Tag::Footer) => true,
            Some(Tag::Aside) => !self.is_marked,
            Some(Tag::Header) => !self.is_marked && !has_heading(page, id),
            _ => false,
        }
    }
}

/// Finds the main part of a page.
pub fn main_part(page: &Page) -> Part {
    let whole = Part {
        start: 0,
        end: page.len(),
        is_marked: false,
    };
    let least = letters(page, whole) * LEAST_SHARE / 100;
    let of = |id: NodeId| {
        let part = Part {
            start: id,
            end: page.node(id).map_or(id, |node| node.end),
            is_marked: true,
        };
        (letters(page, part), part)
    };
    let is_main = |id: &NodeId| {
        page.tag(*id) == Some(Tag::Main)
            || page
                .attributes(*id)
                .is_some_and(|attributes| attributes.is_main)
    };
    let is_article = |id: &NodeId| page.tag(*id) == Some(Tag::Article);
    let largest = |parts: Vec<NodeId>| {
        parts
            .into_iter()
            .map(of)
            .max_by_key(|(letters, _)| *letters)
    };
    let outermost = |wanted: &dyn Fn(&NodeId) -> bool| {
        let (mut found, mut after) = (Vec::new(), 0);
        for id in 0..page.len() {
            if id >= after && wanted(&id) {
                after = page.node(id).map_or(id, |node| node.end);
                found.push(id);
            }
        }
        found
    };
    let articles = outermost(&is_article);
    let of_main = largest(outermost(&is_main));
    // Several articles are a list of them, which only the whole page shows.
    let of_article = if articles.len() == 1 {
        largest(articles)
    } else {
        None
    };
    let chosen = of_main
        .into_iter()
        .chain(of_article)
        .find(|(letters, _)| *letters > 0 && *letters >= least);
    chosen.map_or(whole, |(_, part)| part)
}

/// Counts the letters of the texts within a part.
fn letters(page: &Page, part: Part) -> usize {
    let of_node = |id: NodeId| match page.node(id).map(|node| node.kind) {
        Some(Kind::Text(start, end)) => end - start,
        _ => 0,
    };
    (part.start..part.end).map(of_node).sum()
}

fn has_heading(page: &Page, id: NodeId) -> bool {
    let end = page.node(id).map_or(id, |node| node.end);
    (id..end).any(|within| page.tag(within) == Some(Tag::Heading(1)))
}
