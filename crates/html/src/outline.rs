//! The outline of a page: its headings as a tree, its code with the languages, and its links.

use orchestrate_core::policy::host::WebUrl;
use serde::{Deserialize, Serialize};

use crate::link::in_full;
use crate::main_part::Part;
use crate::markdown::language;
use crate::tag::Tag;
use crate::tree::{NodeId, Page};

/// Maximum number of headings, of blocks of code, and of links each.
const MAX_EACH: usize = 1_000;

/// The outline of a page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outline {
    /// The headings of the highest levels.
    pub headings: Vec<Heading>,
    /// The languages and the contents of blocks of code.
    pub code: Vec<(Option<String>, String)>,
    /// The texts and the addresses of links, each address once.
    pub links: Vec<(String, String)>,
    /// Whether there is more of anything.
    pub is_cut: bool,
}

/// A heading with those below it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Heading {
    /// Its level, from 1 to 6.
    pub level: u8,
    /// Its text.
    pub text: String,
    /// The name by which an address leads to it, after `#`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub anchor: Option<String>,
    /// The headings below it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub children: Vec<Heading>,
}

/// Returns the outline of a part of a page at an address.
pub fn outline(page: &Page, part: Part, address: &WebUrl) -> Outline {
    let base = page.base(address);
    let mut outline = Outline::default();
    let mut flat = Vec::new();
    let mut id = part.start;
    while id < part.end {
        let end = page.node(id).map_or(id + 1, |node| node.end);
        let is_full = [flat.len(), outline.code.len(), outline.links.len()]
            .iter()
            .any(|count| *count >= MAX_EACH);
        match page.tag(id) {
            _ if part.leaves_out(page, id) => {
                id = end;
                continue;
            }
            Some(Tag::Heading(_) | Tag::Preformatted | Tag::Anchor) if is_full => {
                outline.is_cut = true
            }
            Some(Tag::Heading(level)) => flat.extend(heading(page, id, level)),
            Some(Tag::Preformatted) => {
                let code = page.code(id).trim_matches('\n').trim_end().to_owned();
                outline.code.push((language(page, id), code));
                id = end;
                continue;
            }
            Some(Tag::Anchor) => outline.links.extend(link(page, id, &base)),
            _ => {}
        }
        id += 1;
    }
    let mut seen = std::collections::BTreeSet::new();
    outline
        .links
        .retain(|(_, address)| seen.insert(address.clone()));
    outline.headings = nested(flat);
    outline
}

fn heading(page: &Page, id: NodeId, level: u8) -> Option<Heading> {
    // Marks of links to the heading itself, as documentation has them.
    let line = page.own_line(id);
    let text = line.trim_matches(['§', '¶', '#', '\u{a0}', ' ']).to_owned();
    let own = page
        .attributes(id)
        .map(|attributes| attributes.id.clone())
        .filter(|id| !id.is_empty());
    (!text.is_empty()).then_some(Heading {
        level,
        text,
        anchor: own,
        children: Vec::new(),
    })
}

fn link(page: &Page, id: NodeId, base: &WebUrl) -> Option<(String, String)> {
    let address = &page.attributes(id)?.address;
    if address.is_empty() || address.starts_with('#') {
        return None;
    }
    let text = Some(page.own_line(id)).filter(|text| !text.is_empty())?;
    Some((text, in_full(base, address)?))
}

/// Puts each heading below the last one before it that has a lower level.
fn nested(flat: Vec<Heading>) -> Vec<Heading> {
    let mut open: Vec<Heading> = Vec::new();
    let mut done = Vec::new();
    for heading in flat {
        while open.last().is_some_and(|last| last.level >= heading.level) {
            close(&mut open, &mut done);
        }
        open.push(heading);
    }
    while !open.is_empty() {
        close(&mut open, &mut done);
    }
    done
}

fn close(open: &mut Vec<Heading>, done: &mut Vec<Heading>) {
    if let Some(closed) = open.pop() {
        match open.last_mut() {
            Some(above) => above.children.push(closed),
            None => done.push(closed),
        }
    }
}
