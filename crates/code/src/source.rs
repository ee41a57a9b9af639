//! A text with its syntax tree.

use std::borrow::Cow;
use std::cell::RefCell;
use std::ops::ControlFlow;
use std::sync::Once;

use orchestrate_memory::counted_c;
use tree_sitter::{Allocator, Node, ParseOptions, ParseState, Parser, Range, Tree};

use crate::conditions::without_split_blocks;
use crate::error::{CodeError, MAX_SOURCE_BYTES};
use crate::export_macros::without_export_macros;
use crate::language::Language;

/// Reports whether to stop, such as after a deadline. It is asked often, so it must be quick.
pub type Stop<'s> = &'s (dyn Fn() -> bool + Sync);

/// Reports an error once it is time to stop.
///
/// # Errors
/// [`CodeError::Stopped`] if `stop` said so.
pub(crate) fn go_on(stop: Stop<'_>) -> Result<(), CodeError> {
    if stop() {
        Err(CodeError::Stopped)
    } else {
        Ok(())
    }
}

/// A text with its syntax tree. Text that is not valid in the language has a tree too, with errors
/// in it.
pub struct Source<'t> {
    language: Language,
    text: &'t str,
    tree: Tree,
}

thread_local! {
    /// The parser of this thread, whose memory serves one text after the other.
    static PARSER: RefCell<Parser> = RefCell::new(new_parser());
}

impl<'t> Source<'t> {
    /// Parses a text.
    ///
    /// # Errors
    /// [`CodeError`] if there is no grammar, the text is too large or no text, or `stop` said so.
    pub fn parse(
        language: Language,
        text: &'t str,
        stop: Stop<'_>,
    ) -> Result<Source<'t>, CodeError> {
        if text.len() > MAX_SOURCE_BYTES {
            return Err(CodeError::TooLarge(MAX_SOURCE_BYTES as u64));
        }
        if text.contains('\0') {
            return Err(CodeError::Binary);
        }
        let bytes = match language {
            Language::C | Language::Cpp => without_split_blocks(without_export_macros(text)),
            _ => Cow::Borrowed(text.as_bytes()),
        };
        let tree = tree(language, &bytes, &[], stop)?;
        Ok(Source {
            language,
            text,
            tree,
        })
    }

    /// Parses other bytes than its own, of which there are as many, or ranges of them. Nodes show
    /// its own text.
    ///
    /// # Errors
    /// [`CodeError::Stopped`] if `stop` said so.
    pub(crate) fn read_as(
        &self,
        bytes: &[u8],
        ranges: &[Range],
        stop: Stop<'_>,
    ) -> Result<Source<'t>, CodeError> {
        let tree = tree(self.language, bytes, ranges, stop)?;
        Ok(Source {
            language: self.language,
            text: self.text,
            tree,
        })
    }

    /// Returns the language.
    pub fn language(&self) -> Language {
        self.language
    }

    /// Returns the text.
    pub fn text(&self) -> &'t str {
        self.text
    }

    pub(crate) fn grammar(&self) -> tree_sitter::LanguageRef<'_> {
        self.tree.language()
    }

    pub(crate) fn root(&self) -> Node<'_> {
        self.tree.root_node()
    }

    /// Reports whether the text is not valid somewhere.
    pub fn has_error(&self) -> bool {
        self.root().has_error()
    }

    /// Returns the text of a node.
    pub(crate) fn text_of(&self, node: Node<'_>) -> &'t str {
        self.text_between(node.start_byte(), node.end_byte())
    }

    /// Returns the text between two places of the tree. Where the parser has been given blanks
    /// instead of the text, they may be within a character: such a text is empty.
    pub(crate) fn text_between(&self, begin: usize, end: usize) -> &'t str {
        self.text.get(begin..end).unwrap_or_default()
    }
}

fn new_parser() -> Parser {
    count_memory();
    Parser::new()
}

/// Has tree-sitter count what each thread holds, before it allocates anything.
#[expect(unsafe_code, reason = "tree-sitter takes an allocator of C")]
fn count_memory() {
    static COUNTS: Once = Once::new();
    let (malloc, calloc) = (counted_c::malloc, counted_c::calloc);
    let (realloc, free) = (counted_c::realloc, counted_c::free);
    let allocator = Allocator {
        malloc,
        calloc,
        realloc,
        free,
    };
    // SAFETY: the functions are of one family and never return null. They are set once, while all
    // others wait, and every parser of the program is made by this module, after that.
    COUNTS.call_once(|| unsafe { tree_sitter::set_allocator(Some(allocator)) });
}

/// Parses ranges of a text, or all of it if there are none.
fn tree(
    language: Language,
    bytes: &[u8],
    ranges: &[Range],
    stop: Stop<'_>,
) -> Result<Tree, CodeError> {
    let grammar = language.grammar().ok_or(CodeError::NotBuilt(language))?;
    let mut progress = |_: &ParseState| {
        if stop() {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    };
    let options = ParseOptions::new().progress_callback(&mut progress);
    // The parser takes nothing for the end of the text, also behind it.
    let mut read = |at: usize, _| bytes.split_at(at.min(bytes.len())).1;
    PARSER.with_borrow_mut(|parser| {
        parser
            .set_language(&grammar)
            .map_err(|_| CodeError::NotBuilt(language))?;
        let is_ordered = parser.set_included_ranges(ranges).is_ok();
        assert!(is_ordered, "BUG: ranges of a text overlap");
        let tree = parser.parse_with_options(&mut read, None, Some(options));
        // One that was stopped would otherwise go on with this text.
        parser.reset();
        tree.ok_or(CodeError::Stopped)
    })
}
