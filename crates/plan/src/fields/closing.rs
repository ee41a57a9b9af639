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
            (_, '\\') => {
                chars.next();
            }
            (Some(_), _) => {}
            (None, '\'' | '"' | '`') => quote = Some(c),
            // A comment extends to the end of its line.
            (None, '#') if before.is_whitespace() || ";&|(".contains(before) => {
                while chars.next().is_some_and(|c| c != '\n') {}
            }
            (None, '(') => open.push((')', before == '$')),
            (None, '{') if before == '$' => open.push(('}', true)),
            (None, c) if open.last().is_some_and(|(end, _)| *end == c) => {
                open.pop();
            }
            (None, _) => {}
        }
        before = c;
    }
    // What only a shell can parse may have quotes that need not pair with those around it.
    let may_nest = ["$(", "${", "`", "<<"]
        .iter()
        .any(|it| command.contains(it));
    let is_cut = open.iter().any(|(_, is_substitution)| *is_substitution);
    let mut words = command.split_whitespace();
    let is_case = words.any(|word| word == "case") && words.any(|word| word == "in");
    let is_cut = is_cut && quote.is_none();
    (quote.is_some() && !may_nest) || is_cut || (is_case && !command.contains("esac"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_closed_as_a_shell_closes_them() {
        let table = [
            ("cargo test", false),
            (r#"test "a)b" = 'a"b'"#, false),
            (r#"echo "it's \" " it\'s"#, false),
            ("true # don't\necho 'x'", false),
            ("echo a#'b'", false),
            ("true;# don't", false),
            ("echo 'a\\'", false),
            ("echo it's", true),
            ("echo a#'b", true),
            ("test \"a", true),
            ("test \"a\\\"", true),
            ("true # don't\necho 'x", true),
            ("case $1 in (a) x ;; esac && y", false),
            ("x=$(case $1 in (a) y;; esac)", false),
            ("grep -rn 'a; case b in' src", false),
            ("cat <<E\nin this\ncase it is\nE", false),
            ("case $1 in a", true),
            ("for x in a; do case \"$x\" in a", true),
            ("echo $(printf %s \"a)b\"", true),
            ("x=ab; echo ${x%", true),
            ("echo $(printf %s \"a)b\") ${x%)} $((1+(2*3)))", false),
            ("x=$(case $1 in a) y;; esac) && (true)", false),
            ("test \"$(cat 'a\"b')\" = 1", false),
            ("cat <<E\ndon't\nE", false),
        ];
        for (command, expected) in table {
            assert_eq!(is_open(command), expected, "{command}");
        }
    }
}
