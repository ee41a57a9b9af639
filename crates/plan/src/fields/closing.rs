//! Detects shell commands that were cut off. An attribute ends at the first unpaired `)`, even one
//! that belongs to its command, for example between quotes. A command that leaves a quote or a
//! substitution open is therefore most likely only the first half of the intended one.

/// The maximum length of a command that may go on for a quote: it is looked for again after each
/// line.
const MAX_OPEN_BYTES: usize = 2 * 1024;

/// Reports whether a command goes on in the next line of its paragraph: it ends with `\` or an
/// operator, or something in it is open.
pub(crate) fn goes_on(command: &str) -> bool {
    let is_here_document = command.contains("<<");
    command.ends_with(['\\', '|'])
        || command.ends_with("&&")
        || (command.len() <= MAX_OPEN_BYTES && (is_here_document || is_open(command)))
}

/// Reports whether a quote in a command, a `$(`, a `${` or a `case` is not closed.
pub(crate) fn is_open(command: &str) -> bool {
    let mut quote = None;
    // The closing characters of what is open outside quotes, and whether it began with `$`.
    let mut open: Vec<(char, bool)> = Vec::new();
    let mut before = ' ';
    let mut chars = command.chars();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (Some(mark), c) if mark == c => quote = None,
            (Some('\''), _) => {}
            (_, '\\') => drop(chars.next()),
            (Some(_), _) => {}
            (None, '\'' | '"' | '`') => quote = Some(c),
            // A comment extends to the end of its line.
            (None, '#') if before.is_whitespace() => drop(chars.find(|c| *c == '\n')),
            (None, '(') => open.push((')', before == '$')),
            (None, '{') if before == '$' => open.push(('}', true)),
            (None, c) if open.last().is_some_and(|(end, _)| *end == c) => drop(open.pop()),
            (None, _) => {}
        }
        before = c;
    }
    // What only a shell can parse may have quotes that need not pair with those around it.
    let may_nest = ["$(", "${", "`", "<<"]
        .iter()
        .any(|it| command.contains(it));
    let is_cut = open.iter().any(|(_, is_substitution)| *is_substitution);
    (quote.is_some() && !may_nest) || (quote.is_none() && is_cut) || is_open_case(command)
}

/// Reports whether a `case … in` has no `esac`.
fn is_open_case(command: &str) -> bool {
    let mut words = command.split_whitespace();
    words.any(|word| word == "case")
        && words.any(|word| word == "in")
        && !words.any(|word| word.starts_with("esac"))
}
