//! Reads the arguments of macros of Rust, of which the grammar knows the tokens alone.
//!
//! A macro is read as the call of a function in a text of the same length: `assert_eq!(a.b(), c)`
//! as `assert_eq_(a.b(), c)`, and one with braces as a block. So each node is at its place, and
//! shows what is written there. Each macro is parsed apart from the others as well, because what is
//! in one may be no code.

use tree_sitter::{Node, Range};

use crate::error::CodeError;
use crate::source::{Source, Stop};
use crate::walk::{Step, Visitor, walk};

/// A text whose macros are read as calls.
pub(super) struct Calls {
    text: Vec<u8>,
    /// Where its macros are, except those in arguments of others.
    pub(super) ranges: Vec<Range>,
    /// Whether one of them is read as a block, which is nothing to tell it from others by.
    pub(super) has_blocks: bool,
}

impl Calls {
    /// Reads the macros of a parsed text; `None` if it has none.
    ///
    /// # Errors
    /// [`CodeError::Stopped`] if `stop` said so.
    pub(super) fn read(source: &Source<'_>, stop: Stop<'_>) -> Result<Option<Calls>, CodeError> {
        let text = source.text().as_bytes().to_vec();
        let mut calls = Calls {
            text,
            ranges: Vec::new(),
            has_blocks: false,
        };
        walk(source.root(), &mut calls, stop)?;
        Ok(if calls.ranges.is_empty() {
            None
        } else {
            Some(calls)
        })
    }

    /// Parses the text, or one range of it.
    ///
    /// # Errors
    /// [`CodeError::Stopped`] if `stop` said so.
    pub(super) fn parsed<'t>(
        &self,
        source: &Source<'t>,
        range: Option<Range>,
        stop: Stop<'_>,
    ) -> Result<Source<'t>, CodeError> {
        source.read_as(&self.text, range.as_slice(), stop)
    }

    /// Makes calls of the macros whose parts are children of a node.
    fn macros(&mut self, children: &[Node<'_>]) {
        for parts in children.windows(3) {
            if let [name, bang, tree] = parts
                && name.kind().ends_with("identifier")
                && bang.kind() == "!"
                && tree.kind() == "token_tree"
                && name.end_byte() == bang.start_byte()
            {
                self.call(*name, *bang, *tree);
            }
        }
    }

    fn call(&mut self, name: Node<'_>, bang: Node<'_>, tree: Node<'_>) {
        let tokens = children(tree);
        if tokens.first().is_some_and(|open| open.kind() == "{") {
            self.has_blocks = true;
            for byte in self
                .text
                .get_mut(name.start_byte()..bang.end_byte())
                .into_iter()
                .flatten()
            {
                *byte = if *byte == b'\n' { b'\n' } else { b' ' };
            }
            return;
        }
        self.put(bang, b'_');
        let in_brackets = self.list(&tokens);
        let ends: Vec<Node<'_>> = tokens
            .into_iter()
            .filter(|token| token.kind() == ";")
            .collect();
        // `vec![a; 2]` is another thing than `vec![a, 2]`.
        let end = if in_brackets && ends.len() == 1 {
            b'='
        } else {
            b','
        };
        for token in ends {
            self.put(token, end);
        }
    }

    /// Puts tokens in parentheses; returns whether they were in brackets.
    fn list(&mut self, tokens: &[Node<'_>]) -> bool {
        let [open, .., close] = tokens else {
            return false;
        };
        self.put(*open, b'(');
        self.put(*close, b')');
        open.kind() == "["
    }

    /// Makes a list of an object of JSON, which is no expression.
    fn object(&mut self, tokens: &[Node<'_>]) {
        let colons = tokens.windows(2).filter_map(|pair| match pair {
            [key, colon] if key.kind() == "string_literal" && colon.kind() == ":" => Some(*colon),
            _ => None,
        });
        let colons: Vec<Node<'_>> = colons.collect();
        if !colons.is_empty() && tokens.first().is_some_and(|open| open.kind() == "{") {
            self.list(tokens);
            for colon in colons {
                self.put(colon, b',');
            }
        }
    }

    /// Replaces a token of one byte.
    fn put(&mut self, token: Node<'_>, byte: u8) {
        if let Some(known) = self.text.get_mut(token.start_byte()) {
            *known = byte;
        }
    }
}

impl<'n> Visitor<'n> for Calls {
    fn enter(&mut self, node: Node<'n>, _: Option<&'n str>) -> Step {
        match node.kind() {
            // Their tokens are code only where they are used.
            "macro_definition" | "attribute_item" | "inner_attribute_item" => return Step::Over,
            "macro_invocation" => {
                self.ranges.push(node.range());
                self.macros(&children(node));
            }
            "token_tree" => {
                let tokens = children(node);
                self.macros(&tokens);
                self.object(&tokens);
            }
            _ => {}
        }
        Step::Into
    }
}

fn children(node: Node<'_>) -> Vec<Node<'_>> {
    let mut cursor = node.walk();
    node.children(&mut cursor).collect()
}
