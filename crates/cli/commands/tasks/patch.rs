//! Renders a patch for a terminal: made safe, and with our own colours.

use crate::show::plain::plain;

const BOLD: &str = "\u{1b}[1m";
const RED: &str = "\u{1b}[31m";
const GREEN: &str = "\u{1b}[32m";
const CYAN: &str = "\u{1b}[36m";
const RESET: &str = "\u{1b}[m";

/// Returns a patch that is safe to print, optionally with colours.
pub(crate) fn shown(patch: &str, in_colour: bool) -> String {
    let safe = plain(patch);
    if !in_colour {
        return safe;
    }
    let mut is_head = true;
    let mut coloured = String::with_capacity(safe.len() * 2);
    for line in safe.split_inclusive('\n') {
        let (text, end) = line
            .strip_suffix('\n')
            .map_or((line, ""), |text| (text, "\n"));
        // Lines of files are preceded by a sign, so none is mistaken for a header, which ends at
        // the first `@@`.
        is_head =
            !text.starts_with("@@") && (is_head || !text.starts_with([' ', '+', '-', '\\', '@']));
        let colour = match text.chars().next() {
            _ if is_head => BOLD,
            Some('@') => CYAN,
            Some('+') => GREEN,
            Some('-') => RED,
            _ => "",
        };
        if colour.is_empty() || text.is_empty() {
            coloured.push_str(line);
        } else {
            coloured.push_str(&format!("{colour}{text}{RESET}{end}"));
        }
    }
    coloured
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_has_our_colours_and_none_of_others() {
        let patch =
            "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+\u{1b}[31mb\n same\n--- c\n";
        let expected = "\u{1b}[1mdiff --git a/x b/x\u{1b}[m\n\u{1b}[1m--- a/x\u{1b}[m\n\
                        \u{1b}[1m+++ b/x\u{1b}[m\n\
                        \u{1b}[36m@@ -1 +1 @@\u{1b}[m\n\u{1b}[31m-a\u{1b}[m\n\
                        \u{1b}[32m+\\u{1b}[31mb\u{1b}[m\n same\n\
                        \u{1b}[31m--- c\u{1b}[m\n";
        assert_eq!(shown(patch, true), expected);
        assert_eq!(shown(patch, false), plain(patch));
    }
}
