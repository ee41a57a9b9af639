//! Whether the quotes of a shell command are closed: a `)` between them ends an attribute all the same, so that one which
//! is not is most likely the first half of a command.

/// What only a shell can read: quotes in it need not pair with those around it.
const NESTED: [&str; 4] = ["$(", "${", "`", "<<"];

/// How the quotes of a command stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Quotes {
    /// Each is closed.
    Closed,
    /// One seems not to be, beside something that only a shell can read.
    Doubtful,
    /// One is not, and no shell would take the command.
    Open,
}

impl Quotes {
    /// Looks at the quotes of a command.
    pub(super) fn of(command: &str) -> Self {
        match (is_closed(command), NESTED.iter().any(|nested| command.contains(nested))) {
            (true, _) => Self::Closed,
            (false, true) => Self::Doubtful,
            (false, false) => Self::Open,
        }
    }
}

fn is_closed(command: &str) -> bool {
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
            // A comment goes to the end of its line.
            (None, '#') if begins_word => drop(chars.find(|c| *c == '\n')),
            (None, _) => {}
        }
        begins_word = open.is_none() && (c.is_whitespace() || matches!(c, ';' | '&' | '|' | '('));
    }
    open.is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_are_closed_as_a_shell_closes_them() {
        let table = [
            ("cargo test", Quotes::Closed),
            (r#"test "a)b" = 'a"b'"#, Quotes::Closed),
            (r#"echo "it's \" " it\'s"#, Quotes::Closed),
            ("true # don't\necho 'x'", Quotes::Closed),
            ("echo a#'b'", Quotes::Closed),
            ("true;# don't", Quotes::Closed),
            ("echo 'a\\'", Quotes::Closed),
            ("echo it's", Quotes::Open),
            ("echo a#'b", Quotes::Open),
            ("test \"a", Quotes::Open),
            ("test \"a\\\"", Quotes::Open),
            ("true # don't\necho 'x", Quotes::Open),
            ("test \"$(cat 'a\"b')\" = 1", Quotes::Doubtful),
            ("cat <<E\ndon't\nE", Quotes::Doubtful),
        ];
        for (command, expected) in table {
            assert_eq!(Quotes::of(command), expected, "{command}");
        }
    }
}
