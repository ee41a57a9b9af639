//! Writes patterns as code.
//!
//! Each variable becomes an identifier that no code has. An identifier alone is no member of a
//! class in Java, though, and no arm of a `match` in Rust: a `$$$` among members, in a `case` or in
//! parentheses is written in each form that may be code there. Whether it is shows when the whole
//! is parsed.

use crate::language::Language;

/// Maximum number of ways to write a pattern whose `$$$` are written differently.
const MAX_MIXED: usize = 64;
/// How an identifier in the place of a variable begins, and how one in the place of any number of
/// nodes.
const ONE: &str = "zq1one";
const ANY: &str = "zq1any";

/// What is written before and after the identifier of a variable.
pub(super) type Form = (&'static str, &'static str);

/// How an arm of a `switch` begins, whose statements stand in no braces.
const ARMS: [&str; 2] = ["case", "default"];
const PLAIN: Form = ("", "");
/// The only form of most variables.
const ALONE: &[Form] = &[PLAIN];
/// Stands for the whole head of a loop.
pub(super) const HEAD_OF_LOOP: Form = ("", ";;");

/// A variable of a pattern.
pub(super) struct Variable {
    pub(super) name: Option<String>,
    pub(super) is_any: bool,
    place: Place,
}

/// Where a variable stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// A `$$$` directly in braces or an arm of a `switch`, with nothing beside it.
    Members,
    /// A `$$$` directly in parentheses.
    Parentheses,
    Other,
}

/// A pattern whose code and variables are apart.
pub(super) struct Template {
    language: Language,
    /// The code before each variable, and what follows the last.
    code: Vec<String>,
    variables: Vec<Variable>,
}

impl Template {
    pub(super) fn from_pattern(pattern: &str, language: Language) -> Template {
        let mut template = Template {
            language,
            code: Vec::new(),
            variables: Vec::new(),
        };
        let (mut code, mut around) = (String::new(), Vec::new());
        let is_arm = ARMS.iter().any(|word| pattern.starts_with(word));
        let mut rest = pattern;
        while let Some(at) = rest.find('$') {
            let (before, from) = rest.split_at(at);
            code.push_str(before);
            let named = from.trim_start_matches('$');
            let (dollars, named) = from.split_at(from.len() - named.len());
            let length =
                named.find(|c: char| !(c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_'));
            let (name, after) = named.split_at(length.unwrap_or(named.len()));
            let is_any = dollars.len() >= 3;
            // `$x` and `$1` are variables of shells and part of names elsewhere.
            if !is_any
                && (dollars.len() > 1
                    || !name.starts_with(|c: char| c.is_ascii_uppercase() || c == '_'))
            {
                code.push_str(dollars);
                rest = named;
                continue;
            }
            note_brackets(&code, &mut around);
            let bracket = around.last().copied().or(is_arm.then_some('{'));
            let place = if is_any {
                place(bracket, &code)
            } else {
                Place::Other
            };
            let name = if name.is_empty() || name.starts_with('_') {
                None
            } else {
                Some(name.to_owned())
            };
            template.variables.push(Variable {
                name,
                is_any,
                place,
            });
            template.code.push(std::mem::take(&mut code));
            rest = after;
        }
        code.push_str(rest);
        template.code.push(code);
        template
    }

    /// Returns the number of variables.
    pub(super) fn size(&self) -> usize {
        self.variables.len()
    }

    /// Returns the ways to write it, each as the forms of all variables: first those in which every
    /// `$$$` in a place of the same sort has the same form.
    pub(super) fn writings(&self) -> Vec<Vec<Form>> {
        let members = self.forms_of(Place::Members);
        let parentheses = self.forms_of(Place::Parentheses);
        let mut writings = Vec::new();
        for member in members {
            writings.extend(
                parentheses
                    .iter()
                    .map(|parenthesis| self.alike(*member, *parenthesis)),
            );
        }
        for writing in (0..MAX_MIXED).map_while(|number| self.mixed(number)) {
            if !writings.contains(&writing) {
                writings.push(writing);
            }
        }
        writings
    }

    /// Returns the forms of the variables in a place; one if there are none.
    fn forms_of(&self, place: Place) -> &'static [Form] {
        let has_any = self
            .variables
            .iter()
            .any(|variable| variable.place == place);
        if has_any {
            forms(self.language, place)
        } else {
            ALONE
        }
    }

    fn alike(&self, member: Form, parenthesis: Form) -> Vec<Form> {
        let form = |variable: &Variable| match variable.place {
            Place::Members => member,
            Place::Parentheses => parenthesis,
            Place::Other => PLAIN,
        };
        self.variables.iter().map(form).collect()
    }

    /// Returns the way to write it that has this number; `None` if there are not so many.
    fn mixed(&self, number: usize) -> Option<Vec<Form>> {
        let (mut writing, mut left) = (Vec::new(), number);
        for variable in &self.variables {
            let forms = forms(self.language, variable.place);
            writing.push(*forms.get(left % forms.len())?);
            left /= forms.len();
        }
        if left == 0 { Some(writing) } else { None }
    }

    /// Writes it.
    pub(super) fn code(&self, writing: &[Form]) -> String {
        let mut code = String::new();
        for (number, before) in self.code.iter().enumerate() {
            code.push_str(before);
            if let (Some(variable), Some((begin, end))) =
                (self.variables.get(number), writing.get(number))
            {
                let name = if variable.is_any { ANY } else { ONE };
                code.push_str(&format!("{begin}{name}{number}{end}"));
            }
        }
        code
    }

    /// Returns the variable that is written as this text, with its form. A statement or an element
    /// may be longer by what ends it.
    pub(super) fn variable(&self, text: &str, writing: &[Form]) -> Option<(&Variable, Form)> {
        let (before, after) = [ONE, ANY]
            .into_iter()
            .find_map(|name| text.split_once(name))?;
        let digits = after
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(after.len());
        let (number, after) = after.split_at(digits);
        let number: usize = number.parse().ok()?;
        let form = *writing.get(number)?;
        let is_whole = before.trim() == form.0.trim() && without_end(after) == without_end(form.1);
        let variable = self.variables.get(number)?;
        if is_whole {
            Some((variable, form))
        } else {
            None
        }
    }
}

fn without_end(text: &str) -> &str {
    text.trim_end_matches(|c: char| c.is_whitespace() || matches!(c, ';' | ','))
}

/// Notes the brackets that code leaves open. Those in strings may be wrong, and then only fewer
/// forms are code.
fn note_brackets(code: &str, open: &mut Vec<char>) {
    for c in code.chars() {
        match c {
            '(' | '[' | '{' => open.push(c),
            ')' | ']' | '}' => {
                open.pop();
            }
            _ => {}
        }
    }
}

/// Returns the place of a `$$$` within a bracket, behind some code.
fn place(bracket: Option<char>, before: &str) -> Place {
    let code = before.trim_end();
    let is_begin =
        code.ends_with(['{', '}', ';', ',', ':']) || before.split_at(code.len()).1.contains('\n');
    match bracket {
        Some('{') if is_begin => Place::Members,
        Some('(') => Place::Parentheses,
        _ => Place::Other,
    }
}

/// Returns the forms of a `$$$` in a place, the likeliest first.
fn forms(language: Language, place: Place) -> &'static [Form] {
    match (place, language) {
        (Place::Members, Language::Rust) => &[
            PLAIN,
            ("mod ", ";"),
            ("", ": u8"),
            ("", " => 0"),
            ("(", ") => {}"),
        ],
        (Place::Members, Language::Java) => &[PLAIN, ("int ", ";"), ("case ", ":")],
        (Place::Members, Language::C | Language::Cpp) => &[PLAIN, ("int ", ";")],
        (
            Place::Members,
            Language::Go | Language::JavaScript | Language::Tsx | Language::TypeScript,
        ) => &[PLAIN, ("case ", ":")],
        // Of imports, constants, types and variables.
        (Place::Parentheses, Language::Go) => &[PLAIN, ("\"", "\""), ("", ";"), ("", " int;")],
        (Place::Parentheses, Language::Java) => &[PLAIN, ("int ", ""), HEAD_OF_LOOP],
        (
            Place::Parentheses,
            Language::C
            | Language::Cpp
            | Language::JavaScript
            | Language::Tsx
            | Language::TypeScript,
        ) => &[PLAIN, HEAD_OF_LOOP],
        (Place::Other, _)
        | (Place::Members, Language::Python | Language::Shell)
        | (Place::Parentheses, Language::Python | Language::Rust | Language::Shell) => ALONE,
    }
}
