//! Detects shell commands that were cut off. An attribute ends at the first unpaired `)`, even one
//! that belongs to its command: between quotes, in `${x%)}` or after a pattern of `case`. A command
//! that leaves something open is therefore most likely only the first half of the intended one.

/// Reports whether a quote, a `$(`, a `${` or a `case` in a command is not closed. The text of a
/// `<<` document is not looked at.
pub(crate) fn is_open(command: &str) -> bool {
    if command.contains("<<") {
        return false;
    }
    // What closes each open group, and whether a shell needs that.
    let mut open: Vec<(char, bool)> = Vec::new();
    let mut before = ' ';
    let mut chars = command.chars();
    while let Some(c) = chars.next() {
        let group = open.last().map_or(' ', |(end, _)| *end);
        match c {
            '\'' if group == '\'' => drop(open.pop()),
            _ if group == '\'' => {}
            '\\' => drop(chars.next()),
            '(' if group != '"' || before == '$' => open.push((')', before == '$')),
            '{' if before == '$' => open.push(('}', true)),
            _ if c == group => drop(open.pop()),
            '"' => open.push(('"', true)),
            '\'' if group != '"' => open.push(('\'', true)),
            // A comment extends to the end of its line.
            '#' if group != '"' && (before.is_whitespace() || ";&|(".contains(before)) => {
                while chars.next().is_some_and(|c| c != '\n') {}
            }
            _ => {}
        }
        before = c;
    }
    let is_case = command.trim_start().starts_with("case ") && !command.contains("esac");
    is_case || open.iter().any(|(_, needs_end)| *needs_end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_closed_as_a_shell_closes_them() {
        for command in [
            "cargo test",
            r#"test "a)b" = 'a"b'"#,
            r#"echo "it's \" " it\'s"#,
            "true # don't\necho 'x'",
            "echo a#'b'",
            "true;# don't",
            "echo 'a\\'",
            "case $1 in (a) x ;; esac && y",
            "x=$(case $1 in (a) y;; esac)",
            "grep -rn 'a; case b in' src",
            "echo case in point",
            "cat <<E\nin this\ncase it is\nE",
            "cat <<E\ndon't\nE",
            "echo $(printf %s \"a)b\") ${x%)} $((1+(2*3)))",
            "x=$(case $1 in a) y;; esac) && (true)",
            "test \"$(cat 'a\"b')\" = 1",
        ] {
            assert!(!is_open(command), "{command}");
        }
        for command in [
            "echo it's",
            "echo a#'b",
            "test \"a",
            "test \"a\\\"",
            "true # don't\necho 'x",
            "case $1 in a",
            "case $(uname -s) in Linux",
            "echo $(printf %s \"a)b\"",
            "x=ab; echo ${x%",
        ] {
            assert!(is_open(command), "{command}");
        }
    }
}
