//! Formulas of MathML as text: in TeX where the page has them so, and else with signs for what
//! their elements mean.

use crate::tag::Tag;
use crate::tree::{Kind, NodeId, Page, in_one_line};

/// An element of a formula that is open.
struct Open {
    end: NodeId,
    /// The sign of an element whose children are its operands.
    sign: Option<char>,
    /// How many of its children have begun.
    children: usize,
    /// What ends it.
    closing: &'static str,
}

/// Returns the formula that an element is, as far as it stands before a node.
pub(crate) fn formula(page: &Page, id: NodeId, end: NodeId) -> String {
    let end = page.end(id).min(end);
    let stated = page
        .attributes(id)
        .map(|attributes| in_one_line(&attributes.text));
    let is_tex = |at: &NodeId| {
        page.tag(*at) == Some(Tag::Annotation)
            && page
                .attributes(*at)
                .is_some_and(|attributes| attributes.is_tex)
    };
    let annotated = || {
        (id..end)
            .find(is_tex)
            .map(|at| in_one_line(&texts(page, at, end)))
    };
    let tex = stated
        .filter(|tex| !tex.is_empty())
        .or_else(annotated)
        .filter(|tex| !tex.is_empty());
    tex.map_or_else(
        || in_one_line(&with_signs(page, id, end)),
        |tex| format!("${tex}$"),
    )
}

/// Returns the texts within an element as they are.
fn texts(page: &Page, id: NodeId, end: NodeId) -> String {
    let of_node = |at: NodeId| match page.node(at).map(|node| node.kind) {
        Some(Kind::Text(start, to)) => page.text(start, to),
        _ => "",
    };
    (id..page.end(id).min(end)).map(of_node).collect()
}

/// Returns a formula with a sign between the operands of each element that stands for an operation.
fn with_signs(page: &Page, id: NodeId, end: NodeId) -> String {
    let mut text = String::new();
    let mut open: Vec<Open> = Vec::new();
    let mut at = id + 1;
    while at < end {
        while let Some(closed) = open.pop_if(|open| open.end <= at) {
            text.push_str(closed.closing);
        }
        let Some(node) = page.node(at) else { break };
        match node.kind {
            // Other forms of the same formula.
            Kind::Element(Tag::Annotation) => {
                at = node.end;
                continue;
            }
            Kind::Text(start, to) => text.push_str(page.text(start, to).trim_ascii()),
            Kind::Element(tag) => {
                let around = open.last_mut();
                let closing =
                    around.map_or("", |around| begin_operand(&mut text, around, node.end - at));
                let sign = if let Tag::Operation(sign) = tag {
                    Some(sign)
                } else {
                    None
                };
                let (opening, closing) = match (sign, closing) {
                    (Some('√'), ")") => ("√(", "))"),
                    (Some('√'), _) => ("√(", ")"),
                    (_, closing) => ("", closing),
                };
                text.push_str(opening);
                open.push(Open {
                    end: node.end,
                    sign: sign.filter(|sign| *sign != '√'),
                    children: 0,
                    closing,
                });
            }
        }
        at += 1;
    }
    open.iter()
        .rev()
        .for_each(|open| text.push_str(open.closing));
    text
}

/// Writes what stands before a child of an operation: its sign, and a parenthesis if the child has
/// several parts. Returns what ends the child.
fn begin_operand(text: &mut String, around: &mut Open, nodes: usize) -> &'static str {
    let Open {
        sign: Some(sign),
        children,
        ..
    } = around
    else {
        return "";
    };
    *children += 1;
    match (*children, *sign) {
        (1, _) => {}
        // What is both below and above has its lower part first.
        (2, '&') => text.push('_'),
        (3, '&') => text.push('^'),
        (2, 'r') => text.push_str(" root "),
        (2, sign) => text.push(sign),
        _ => text.push(' '),
    }
    if nodes <= 2 {
        return "";
    }
    text.push('(');
    ")"
}
