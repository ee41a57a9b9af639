//! The elements of HTML, as far as reading a page depends on them.

/// An element.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Tag {
    Anchor,
    /// Another form of a formula, or what is said of it.
    Annotation,
    Article,
    Aside,
    /// What the addresses of the page are relative to.
    Base,
    /// A block without a meaning of its own.
    Block,
    Break,
    Cell,
    Code,
    Definition,
    Emphasis,
    Footer,
    /// A formula of MathML.
    Formula,
    Header,
    Heading(u8),
    Image,
    /// Any other element, whose text is part of the text around it.
    #[default]
    Inline,
    Item,
    List,
    Main,
    Navigation,
    NumberedList,
    /// An element of a formula whose children are operands, with the sign between them.
    Operation(char),
    Paragraph,
    Preformatted,
    Quote,
    Row,
    Rule,
    /// A part of a page that is no text to read, such as a program or a form's field. Its content
    /// is skipped.
    Skipped,
    Strong,
    /// A text that no longer holds.
    Struck,
    Subscript,
    Superscript,
    Table,
    Term,
    Title,
}

impl Tag {
    /// Finds an element by its name in lower case.
    pub(crate) fn named(name: &[u8]) -> Tag {
        match name {
            b"a" => Tag::Anchor,
            b"annotation" => Tag::Annotation,
            b"article" => Tag::Article,
            b"aside" => Tag::Aside,
            b"base" => Tag::Base,
            b"br" => Tag::Break,
            b"td" | b"th" => Tag::Cell,
            b"code" | b"kbd" | b"samp" | b"tt" => Tag::Code,
            b"dd" => Tag::Definition,
            b"em" | b"i" => Tag::Emphasis,
            b"footer" => Tag::Footer,
            b"math" => Tag::Formula,
            b"header" => Tag::Header,
            [b'h', level @ b'1'..=b'6'] => Tag::Heading(level - b'0'),
            b"img" => Tag::Image,
            b"li" => Tag::Item,
            b"ul" | b"menu" | b"dir" => Tag::List,
            b"main" => Tag::Main,
            b"nav" => Tag::Navigation,
            b"ol" => Tag::NumberedList,
            b"mfrac" => Tag::Operation('/'),
            b"mroot" => Tag::Operation('r'),
            b"msqrt" => Tag::Operation('√'),
            b"msub" | b"munder" => Tag::Operation('_'),
            b"msubsup" | b"munderover" => Tag::Operation('&'),
            b"msup" | b"mover" => Tag::Operation('^'),
            b"p" => Tag::Paragraph,
            b"pre" | b"listing" | b"xmp" => Tag::Preformatted,
            b"blockquote" => Tag::Quote,
            b"tr" => Tag::Row,
            b"hr" => Tag::Rule,
            b"script" | b"style" | b"noscript" | b"template" | b"iframe" | b"svg"
            | b"annotation-xml" | b"object" | b"canvas" | b"button" | b"select" | b"textarea"
            | b"datalist" | b"audio" | b"video" | b"noframes" | b"noembed" => Tag::Skipped,
            b"b" | b"strong" => Tag::Strong,
            b"s" | b"strike" | b"del" => Tag::Struck,
            b"sub" => Tag::Subscript,
            b"sup" => Tag::Superscript,
            b"table" => Tag::Table,
            b"dt" => Tag::Term,
            b"title" => Tag::Title,
            b"html" | b"head" | b"body" | b"div" | b"section" | b"center" | b"fieldset"
            | b"form" | b"figure" | b"figcaption" | b"details" | b"summary" | b"dl"
            | b"address" | b"hgroup" | b"thead" | b"tbody" | b"tfoot" | b"caption" | b"dialog"
            | b"search" => Tag::Block,
            _ => Tag::Inline,
        }
    }

    /// Reports whether the element stands on lines of its own.
    pub(crate) fn is_block(self) -> bool {
        !matches!(
            self,
            Tag::Anchor
                | Tag::Annotation
                | Tag::Base
                | Tag::Break
                | Tag::Code
                | Tag::Emphasis
                | Tag::Formula
                | Tag::Image
                | Tag::Inline
                | Tag::Operation(_)
                | Tag::Skipped
                | Tag::Strong
                | Tag::Struck
                | Tag::Subscript
                | Tag::Superscript
        )
    }

    /// Reports whether an element of this kind ends another one that is open, although no end tag
    /// says so.
    pub(crate) fn ends(self, open: Tag) -> bool {
        match open {
            Tag::Paragraph => self.is_block(),
            Tag::Item => self == Tag::Item,
            Tag::Term | Tag::Definition => matches!(self, Tag::Term | Tag::Definition),
            Tag::Cell => matches!(self, Tag::Cell | Tag::Row),
            Tag::Row => self == Tag::Row,
            Tag::Heading(_) => matches!(self, Tag::Heading(_)),
            _ => false,
        }
    }

    /// Reports whether what is open around this element is not ended by anything within it.
    pub(crate) fn is_boundary(self) -> bool {
        matches!(
            self,
            Tag::List | Tag::NumberedList | Tag::Table | Tag::Quote | Tag::Main | Tag::Article
        )
    }
}

/// Reports whether an element has no content and no end tag.
pub(crate) fn is_void(name: &[u8]) -> bool {
    matches!(
        name,
        b"area"
            | b"base"
            | b"br"
            | b"col"
            | b"embed"
            | b"hr"
            | b"img"
            | b"input"
            | b"link"
            | b"meta"
            | b"param"
            | b"source"
            | b"track"
            | b"wbr"
    )
}
