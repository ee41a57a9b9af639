//! Counts, in one walk over the tree.

use tree_sitter::Node;

use super::role::{Role, is_deciding_token, is_logical, is_logical_operation, is_nested, role};
use super::{Complexity, FunctionComplexity};
use crate::analysis::FileAnalysis;
use crate::error::CodeError;
use crate::language::Language;
use crate::source::{Source, Stop};
use crate::structure::{cut, declaration_begin, function_name};
use crate::walk::{Step, Visitor, named_children, walk};

/// Maximum number of characters of a name.
const MAX_NAME: usize = 120;
/// What may stand before the name of a function that calls itself.
const SELF: [&str; 6] = ["", "self.", "this.", "this->", "cls.", "Self::"];

impl FileAnalysis for Complexity {
    fn analyze(source: &Source<'_>, stop: Stop<'_>) -> Result<Complexity, CodeError> {
        let mut meter = Meter {
            source,
            functions: Vec::new(),
            open: Vec::new(),
            frames: Vec::new(),
            errors: 0,
        };
        walk(source.root(), &mut meter, stop)?;
        let functions = meter
            .functions
            .into_iter()
            .map(|function| function.figures)
            .collect();
        Ok(Complexity {
            language: source.language(),
            functions,
            syntax_errors: meter.errors,
        })
    }

    fn memory(&self) -> usize {
        let functions = self
            .functions
            .iter()
            .map(|function| size_of_val(function) + function.name.len());
        size_of_val(self) + functions.sum::<usize>()
    }
}

struct Meter<'s, 't, 'n> {
    source: &'s Source<'t>,
    functions: Vec<Function<'t>>,
    /// The functions around the current node, by their place in `functions`.
    open: Vec<usize>,
    /// The nodes around the current one.
    frames: Vec<Frame<'n>>,
    errors: usize,
}

struct Function<'t> {
    figures: FunctionComplexity,
    name: &'t str,
    is_recursive: bool,
    /// One more than the last row whose code is counted.
    counted_to: usize,
}

/// A node around the current one.
struct Frame<'n> {
    node: Node<'n>,
    role: Role,
    /// How deep it is nested in the control flow of its function.
    nesting: usize,
    /// The frame of the whole logical operation that it is part of.
    operation: Option<usize>,
    /// The last logical operator in it, if it is a whole operation.
    last_operator: Option<&'n str>,
    /// Whether the `else` that it is has been counted.
    is_counted: bool,
    /// The number of cases in it so far that are counted by their number.
    arms: usize,
}

impl<'n> Visitor<'n> for Meter<'_, '_, 'n> {
    const SEES_FIELDS: bool = true;

    fn enter(&mut self, node: Node<'n>, field: Option<&'n str>) -> Step {
        self.errors += usize::from(node.is_error() || node.is_missing());
        let role = self.role(node);
        // The condition of an `#if` is no code of the function.
        let is_directive = |frame: &Frame<'_>| {
            field == Some("condition") && frame.node.kind().starts_with("preproc_")
        };
        let is_apart = self.frames.last().is_some_and(is_directive);
        if is_apart || role == Role::Comment || role == Role::StringStatement {
            self.push(node, Role::Comment, 0);
            return Step::Over;
        }
        if role == Role::Function {
            self.begin(node);
            self.push(node, role, 0);
            return Step::Into;
        }
        let nesting = self.nesting(node, role, field);
        if !self.open.is_empty() {
            self.count(node, role, field, nesting);
            if node.child_count() == 0 {
                self.token(node);
            }
        }
        self.push(node, role, nesting);
        Step::Into
    }

    fn leave(&mut self, _: Node<'n>) {
        if self
            .frames
            .pop()
            .is_some_and(|frame| frame.role == Role::Function)
        {
            self.open.pop();
        }
    }
}

impl<'n> Meter<'_, '_, 'n> {
    fn push(&mut self, node: Node<'n>, role: Role, nesting: usize) {
        let outer = self.frames.last().and_then(|frame| frame.operation);
        let operation = match role {
            Role::Operation if is_logical_operation(node) => {
                Some(outer.unwrap_or(self.frames.len()))
            }
            Role::Other if node.kind() == "parenthesized_expression" => outer,
            _ => None,
        };
        let (last_operator, is_counted, arms) = (None, false, 0);
        self.frames.push(Frame {
            node,
            role,
            nesting,
            operation,
            last_operator,
            is_counted,
            arms,
        });
    }

    /// Returns what a node means. Where the grammar of C does not understand a text, such as braces
    /// on both sides of `#else`, it takes `if (…) {…}` for a function.
    fn role(&self, node: Node<'n>) -> Role {
        let role = role(self.source.language(), node);
        if role != Role::Function || !matches!(self.source.language(), Language::C | Language::Cpp)
        {
            return role;
        }
        match function_name(node)
            .map(|name| self.source.text_of(name))
            .unwrap_or_default()
        {
            "if" => Role::If,
            "for" | "while" => Role::Loop,
            "switch" => Role::Switch,
            "do" | "else" | "return" | "sizeof" => Role::Other,
            _ => Role::Function,
        }
    }

    /// Begins a function, whose figures follow.
    fn begin(&mut self, node: Node<'n>) {
        self.row_of(node);
        let name = self.name(node);
        let begin = declaration_begin(node).unwrap_or(node).start_position().row;
        let end = node.end_position();
        let end = if end.column == 0 && end.row > begin {
            end.row
        } else {
            end.row + 1
        };
        let figures = FunctionComplexity {
            name: cut(if name.is_empty() { "(anonymous)" } else { name }, MAX_NAME),
            line: begin + 1,
            end_line: end,
            length: end - begin,
            code_lines: 0,
            parameters: self.parameters(node),
            cyclomatic: 1,
            cognitive: 0,
            nesting: 0,
        };
        self.open.push(self.functions.len());
        self.functions.push(Function {
            figures,
            name,
            is_recursive: false,
            counted_to: begin,
        });
    }

    /// Counts what a node means for the function around it.
    fn count(&mut self, node: Node<'n>, role: Role, field: Option<&str>, nesting: usize) {
        let is_else_if = self.is_else_if(role, field);
        let is_else = self.is_else(node, role, field);
        let is_decision = match role {
            Role::If
            | Role::ElseIf
            | Role::Loop
            | Role::Case
            | Role::Catch
            | Role::Ternary
            | Role::Decision => true,
            Role::Arm => self.is_later_arm(),
            _ => false,
        };
        let recurses = role == Role::Call && self.recurses(node);
        let (operator, alternates) = self.operator(node);
        let is_bare = self.is_bare_decision(node);
        let Some(function) = self
            .open
            .last()
            .and_then(|index| self.functions.get_mut(*index))
        else {
            return;
        };
        let figures = &mut function.figures;
        figures.cyclomatic +=
            usize::from(is_decision) + usize::from(operator) + usize::from(is_bare);
        figures.cognitive += usize::from(is_else) + usize::from(alternates);
        match role {
            Role::ElseIf | Role::Jump => figures.cognitive += 1,
            Role::If if is_else_if => figures.cognitive += 1,
            Role::Ternary => figures.cognitive += 1 + nesting,
            Role::If | Role::Loop | Role::Endless | Role::Switch | Role::Catch => {
                figures.cognitive += 1 + nesting;
                figures.nesting = figures.nesting.max(nesting + 1);
            }
            Role::Call if recurses && !function.is_recursive => {
                function.is_recursive = true;
                figures.cognitive += 1;
            }
            _ => {}
        }
    }

    fn nesting(&self, node: Node<'n>, role: Role, field: Option<&str>) -> usize {
        let Some(parent) = self.frames.last() else {
            return 0;
        };
        let stays = matches!(role, Role::Else | Role::ElseIf) || self.is_else_if(role, field);
        parent.nesting + usize::from(!stays && is_nested(parent.role, field, node))
    }

    /// Reports whether an `if` directly follows an `else`.
    fn is_else_if(&self, role: Role, field: Option<&str>) -> bool {
        // In shells, an `if` after `else` is a command of its own.
        role == Role::If
            && self.source.language() != Language::Shell
            && self.frames.last().is_some_and(|parent| match parent.role {
                Role::Else => true,
                Role::If => field == Some("alternative"),
                _ => false,
            })
    }

    /// Reports whether a node is what an `else` leads to, and no other `if`, for the first time.
    fn is_else(&mut self, node: Node<'n>, role: Role, field: Option<&str>) -> bool {
        if self.is_else_if(role, field)
            || matches!(role, Role::Else | Role::ElseIf)
            || !node.is_named()
        {
            return false;
        }
        let Some(parent) = self.frames.last_mut() else {
            return false;
        };
        match parent.role {
            Role::If => field == Some("alternative"),
            Role::Else => !std::mem::replace(&mut parent.is_counted, true),
            _ => false,
        }
    }

    /// Reports whether there was a case before this one.
    fn is_later_arm(&mut self) -> bool {
        let Some(block) = self.frames.last_mut() else {
            return false;
        };
        block.arms += 1;
        block.arms > 1
    }

    /// Reports whether a token is a logical operator, and whether another one stands before it in
    /// its operation, or none.
    fn operator(&mut self, node: Node<'n>) -> (bool, bool) {
        let token = node.kind();
        if node.is_named() || !is_logical(token) {
            return (false, false);
        }
        let Some(whole) = self.frames.last().and_then(|frame| frame.operation) else {
            return (false, false);
        };
        let Some(whole) = self.frames.get_mut(whole) else {
            return (true, false);
        };
        // The white paper ignores operators that only shorten a test for null.
        let alternates = token != "??" && whole.last_operator != Some(token);
        whole.last_operator = Some(token);
        (true, alternates)
    }

    /// Reports whether a token is a decision where tokens are in no order that the grammar knows:
    /// in the arguments of a macro, and in what is not valid.
    fn is_bare_decision(&self, node: Node<'n>) -> bool {
        let is_bare =
            |frame: &Frame<'_>| frame.node.is_error() || frame.node.kind() == "token_tree";
        node.child_count() == 0
            && self.frames.last().is_some_and(is_bare)
            && is_deciding_token(self.source.language(), node.kind())
    }

    /// Reports whether a call is one of the function that it is in.
    fn recurses(&self, node: Node<'n>) -> bool {
        let Some(function) = self
            .open
            .last()
            .and_then(|index| self.functions.get(*index))
        else {
            return false;
        };
        let called = match node.child_by_field_name("function") {
            Some(called) => self.source.text_of(called),
            None if node
                .child_by_field_name("object")
                .is_some_and(|object| object.kind() != "this") =>
            {
                return false;
            }
            None => self.field(node, "name"),
        };
        // Code of C++ that is outside of its type is named with it, and calls itself without.
        let own = function.name.rsplit("::").next().unwrap_or_default();
        let before = called.strip_suffix(own);
        !own.is_empty()
            && (called == function.name || before.is_some_and(|before| SELF.contains(&before)))
    }

    /// Counts the first row of a function for the one around it, as lizard does.
    fn row_of(&mut self, inner: Node<'n>) {
        let row = declaration_begin(inner)
            .unwrap_or(inner)
            .start_position()
            .row;
        let Some(function) = self
            .open
            .last()
            .and_then(|index| self.functions.get_mut(*index))
        else {
            return;
        };
        if row >= function.counted_to {
            function.figures.code_lines += 1;
            function.counted_to = row + 1;
        }
    }

    /// Counts the rows of a token that no token before it is on.
    fn token(&mut self, node: Node<'n>) {
        let (begin, end) = (node.start_position(), node.end_position());
        let last = if end.column == 0 && end.row > begin.row {
            end.row - 1
        } else {
            end.row
        };
        let Some(function) = self
            .open
            .last()
            .and_then(|index| self.functions.get_mut(*index))
        else {
            return;
        };
        // A directive for a preprocessor is no code of the function.
        if node.kind().starts_with('#') && !node.is_named() {
            function.counted_to = begin.row + 1;
            return;
        }
        let first = begin.row.max(function.counted_to);
        if node.end_byte() > node.start_byte() && last >= first {
            function.figures.code_lines += last - first + 1;
            function.counted_to = last + 1;
        }
    }
}

impl<'t> Meter<'_, 't, '_> {
    fn field(&self, node: Node<'_>, field: &str) -> &'t str {
        node.child_by_field_name(field)
            .map(|child| self.source.text_of(child))
            .unwrap_or_default()
    }

    /// Returns the name of a function, or of what it is assigned to.
    fn name(&self, node: Node<'_>) -> &'t str {
        if matches!(self.source.language(), Language::C | Language::Cpp) {
            return function_name(node)
                .map(|name| self.source.text_of(name))
                .unwrap_or_default();
        }
        let own = self.field(node, "name");
        let Some(parent) = self
            .frames
            .last()
            .map(|frame| frame.node)
            .filter(|_| own.is_empty())
        else {
            return own;
        };
        match parent.kind() {
            "variable_declarator" | "public_field_definition" => self.field(parent, "name"),
            "field_definition" => self.field(parent, "property"),
            "pair" => self.field(parent, "key"),
            "assignment_expression" => self.field(parent, "left"),
            _ => own,
        }
    }

    fn parameters(&self, node: Node<'_>) -> usize {
        if node.child_by_field_name("parameter").is_some() {
            return 1;
        }
        let mut holder = node;
        while holder.child_by_field_name("parameters").is_none() {
            match holder.child_by_field_name("declarator") {
                Some(inner) => holder = inner,
                None => return 0,
            }
        }
        let Some(parameters) = holder.child_by_field_name("parameters") else {
            return 0;
        };
        named_children(parameters)
            .into_iter()
            .map(|parameter| self.names(parameter))
            .sum()
    }

    /// Returns the number of parameters that a node declares.
    fn names(&self, parameter: Node<'_>) -> usize {
        match parameter.kind() {
            "comment"
            | "line_comment"
            | "block_comment"
            | "keyword_separator"
            | "positional_separator" => 0,
            "attribute_item" => 0,
            "parameter_declaration" if self.source.text_of(parameter) == "void" => 0,
            "parameter_declaration" if self.source.language() == Language::Go => {
                let mut cursor = parameter.walk();
                parameter
                    .children_by_field_name("name", &mut cursor)
                    .count()
                    .max(1)
            }
            _ => 1,
        }
    }
}
