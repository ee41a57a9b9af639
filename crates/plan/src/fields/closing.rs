//! Detects shell commands that were cut off. An attribute ends at the first unpaired `)`, even one
//! that belongs to its command: between quotes, in `${x%)}` or after a pattern of `case`. A command
//! that leaves something open is therefore most likely only the first half of the intended one.

/// Syntax that only a shell can parse: quotes in it need not pair with those around it.
const NESTED: [&str; 4] = ["$(", "${", "`", "<<"];

/// Words that may be followed directly by another command.
const LEADING_WORDS: [&str; 9] = [
    "!", "{", "do", "elif", "else", "if", "then", "until", "while",
];

/// The maximum length of a command that may go on for a quote: it is looked for again after each
/// line.
const MAX_OPEN_BYTES: usize = 2 * 1024;

/// Reports whether a command goes on in the next line of its paragraph: it ends with `\` or an
/// operator, or something in it is open.
pub(crate) fn goes_on(command: &str) -> bool {
    command.ends_with(['\\', '|'])
        || command.ends_with("&&")
        || (command.len() <= MAX_OPEN_BYTES && is_open(command))
}

fn is_open(command: &str) -> bool {
    let is_in_code = !command.matches('`').count().is_multiple_of(2);
    is_in_code || command.contains("<<") || Closing::check(command) != Closing::Closed
}

/// What a command leaves open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Closing {
    /// Nothing.
    Closed,
    /// Apparently a quote, but beside syntax that only a shell can parse.
    DoubtfulQuote,
    /// A quote: no shell would accept the command.
    OpenQuote,
    /// A `case … in` without its `esac`.
    OpenCase,
    /// A `$(` or `${`.
    OpenSubstitution,
}

impl Closing {
    /// Says what is open.
    pub(crate) fn message(self) -> &'static str {
        match self {
            Self::Closed => "",
            Self::DoubtfulQuote => "a quote in this command seems unclosed",
            Self::OpenQuote => "a quote in this command is not closed",
            Self::OpenCase => "a `case` in this command has no `esac`",
            Self::OpenSubstitution => "a `$(` or `${` in this command is not closed",
        }
    }

    /// Checks the quotes, `case` statements and substitutions of a command.
    pub(crate) fn check(command: &str) -> Self {
        if command.bytes().all(is_plain) && !command.contains("case") {
            return Self::Closed;
        }
        match outside_quotes(command) {
            Some(bare) if ends_in_case(&bare) => Self::OpenCase,
            Some(bare) if ends_in_substitution(&bare) => Self::OpenSubstitution,
            Some(_) => Self::Closed,
            None if NESTED.iter().any(|nested| command.contains(nested)) => Self::DoubtfulQuote,
            None => Self::OpenQuote,
        }
    }
}

fn is_plain(byte: u8) -> bool {
    !matches!(byte, b'\'' | b'"' | b'\\' | b'$' | b'`' | b'<' | b'#')
}

/// Returns a command without its comments and quoted text; `None` if a quote is not closed.
fn outside_quotes(command: &str) -> Option<String> {
    let mut bare = String::with_capacity(command.len());
    let mut open = None;
    let mut begins_word = true;
    let mut chars = command.chars();
    while let Some(c) = chars.next() {
        match (open, c) {
            (Some(quote), c) if quote == c => open = None,
            (Some('\''), _) => {}
            (_, '\\') => drop(chars.next()),
            (Some(_), _) => {}
            (None, '\'' | '"') => open = Some(c),
            // A comment extends to the end of its line.
            (None, '#') if begins_word => bare.extend(chars.find(|c| *c == '\n')),
            (None, _) => bare.push(c),
        }
        begins_word = open.is_none() && (c.is_whitespace() || matches!(c, ';' | '&' | '|' | '('));
    }
    open.is_none().then_some(bare)
}

/// Reports whether a `$(` or `${` is not closed.
fn ends_in_substitution(bare: &str) -> bool {
    // The closing character of each open group, and whether the group began with `$`.
    let mut open: Vec<(char, bool)> = Vec::new();
    let mut before = ' ';
    for c in bare.chars() {
        match c {
            '(' => open.push((')', before == '$')),
            '{' if before == '$' => open.push(('}', true)),
            _ if open.last().is_some_and(|(end, _)| *end == c) => drop(open.pop()),
            _ => {}
        }
        before = c;
    }
    open.iter().any(|(_, is_substitution)| *is_substitution)
}

/// Reports whether a command has no `esac` after its last `case … in`.
fn ends_in_case(bare: &str) -> bool {
    let mut has_in = false;
    let mut commands = bare.rsplit([';', '&', '|', '(', '`', '\n']);
    let last = commands.find_map(|command| {
        has_in |= command.split_whitespace().any(|word| word == "in");
        match command
            .split_whitespace()
            .find(|word| !LEADING_WORDS.contains(word))?
            .trim_end_matches(')')
        {
            "case" => Some(has_in),
            "esac" => Some(false),
            _ => None,
        }
    });
    last.unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_closed_as_a_shell_closes_them() {
        let table = [
            ("cargo test", Closing::Closed),
            (r#"test "a)b" = 'a"b'"#, Closing::Closed),
            (r#"echo "it's \" " it\'s"#, Closing::Closed),
            ("true # don't\necho 'x'", Closing::Closed),
            ("echo a#'b'", Closing::Closed),
            ("true;# don't", Closing::Closed),
            ("echo 'a\\'", Closing::Closed),
            ("echo it's", Closing::OpenQuote),
            ("echo a#'b", Closing::OpenQuote),
            ("test \"a", Closing::OpenQuote),
            ("test \"a\\\"", Closing::OpenQuote),
            ("true # don't\necho 'x", Closing::OpenQuote),
            ("case $1 in (a) x ;; esac && y", Closing::Closed),
            ("x=$(case $1 in (a) y;; esac)", Closing::Closed),
            ("grep -rn 'a; case b in' src", Closing::Closed),
            ("echo case in point", Closing::Closed),
            ("cat <<E\nin this\ncase it is\nE", Closing::Closed),
            ("case $1 in a", Closing::OpenCase),
            ("for x in a; do case \"$x\" in a", Closing::OpenCase),
            ("case $(uname -s) in Linux", Closing::OpenCase),
            ("case a in (a) x;; esac; case b in b", Closing::OpenCase),
            ("echo $(printf %s \"a)b\"", Closing::OpenSubstitution),
            ("x=ab; echo ${x%", Closing::OpenSubstitution),
            (
                "echo $(printf %s \"a)b\") ${x%)} $((1+(2*3)))",
                Closing::Closed,
            ),
            ("x=$(case $1 in a) y;; esac) && (true)", Closing::Closed),
            ("test \"$(cat 'a\"b')\" = 1", Closing::DoubtfulQuote),
            ("cat <<E\ndon't\nE", Closing::DoubtfulQuote),
        ];
        for (command, expected) in table {
            assert_eq!(Closing::check(command), expected, "{command}");
        }
    }
}
