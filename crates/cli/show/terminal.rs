//! The capabilities of the terminal, determined once from the standard streams and the environment.

use std::collections::BTreeMap;
use std::io::{self, IsTerminal as _};

use crate::show::tree::Branches;

/// What can be shown, and whether the user can be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Terminal {
    /// Whether lines may be redrawn: standard error is a terminal, and no variable forbids it.
    pub(crate) live: bool,
    /// Whether results may have colours.
    pub(crate) colour: bool,
    /// Whether results go to a terminal, which can be closed.
    pub(crate) shows_results: bool,
    /// Whether there is no user to ask: in CI, or if standard error is not a terminal.
    pub(crate) headless: bool,
    /// Whether a question can be answered: there is a user, and standard input is a terminal.
    pub(crate) can_ask: bool,
    /// Whether GitHub Actions reads the output.
    pub(crate) github: bool,
    /// How trees are drawn: with lines if the locale is one of UTF-8.
    pub(crate) branches: Branches,
}

impl Terminal {
    /// Returns a terminal without capabilities, for errors before the real one is known.
    pub(crate) fn dumb() -> Terminal {
        Terminal::decide([false; 3], &BTreeMap::new())
    }

    /// Determines the terminal of this process.
    pub(crate) fn of_process(variables: &BTreeMap<String, String>) -> Terminal {
        let terminals = [
            io::stdin().is_terminal(),
            io::stdout().is_terminal(),
            io::stderr().is_terminal(),
        ];
        Terminal::decide(terminals, variables)
    }

    /// Determines the terminal from the variables and from which of standard input, output and
    /// error are terminals.
    fn decide(
        [stdin, stdout, stderr]: [bool; 3],
        variables: &BTreeMap<String, String>,
    ) -> Terminal {
        let is_set = |name: &str| variables.get(name).is_some_and(|value| !value.is_empty());
        let ci = is_set("CI") && variables.get("CI").is_none_or(|value| value != "false");
        let dumb = variables
            .get("TERM")
            .is_none_or(|term| term.is_empty() || term == "dumb");
        let decorated = !ci && !dumb && !is_set("NO_COLOR");
        let headless = !stderr || ci;
        let chosen = ["LC_ALL", "LC_CTYPE", "LANG"]
            .iter()
            .find(|name| is_set(name));
        let locale = chosen
            .and_then(|name| variables.get(*name))
            .map(|locale| locale.to_lowercase().replace('-', ""));
        let is_utf8 = locale.is_some_and(|locale| locale.contains("utf8"));
        Terminal {
            live: stderr && decorated,
            shows_results: stdout,
            colour: stdout && stderr && decorated,
            headless,
            can_ask: !headless && stdin,
            github: variables
                .get("GITHUB_ACTIONS")
                .is_some_and(|value| value == "true"),
            branches: if is_utf8 {
                Branches::Lines
            } else {
                Branches::Blanks
            },
        }
    }
}

/// Returns the rows and columns of the terminal on standard error, if it reports them.
pub(crate) fn size() -> Option<(usize, usize)> {
    let size = rustix::termios::tcgetwinsize(io::stderr()).ok()?;
    (size.ws_row > 0 && size.ws_col > 0).then_some((size.ws_row.into(), size.ws_col.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_drawn_where_the_locale_has_them() {
        let table: [(&[(&str, &str)], Branches); 6] = [
            (&[], Branches::Blanks),
            (&[("LANG", "en_GB.UTF-8")], Branches::Lines),
            (
                &[("LANG", "C"), ("LC_CTYPE", "de_DE.utf8")],
                Branches::Lines,
            ),
            (
                &[("LANG", "en_GB.UTF-8"), ("LC_ALL", "C")],
                Branches::Blanks,
            ),
            (&[("LANG", "en_GB.UTF-8"), ("LC_ALL", "")], Branches::Lines),
            (&[("LANG", "ja_JP.eucJP")], Branches::Blanks),
        ];
        for (variables, expected) in table {
            let variables = variables
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect();
            assert_eq!(
                Terminal::decide([true, true, true], &variables).branches,
                expected,
                "{variables:?}"
            );
        }
    }

    #[test]
    fn decorations_need_a_terminal_and_nobody_who_objects() {
        let table = [
            ("HOME", "/", true, false),
            ("NO_COLOR", "1", false, false),
            ("NO_COLOR", "", true, false),
            ("TERM", "dumb", false, false),
            ("TERM", "", false, false),
            ("CI", "true", false, true),
            ("CI", "false", true, false),
        ];
        for (name, value, live, headless) in table {
            let variables = [("TERM", "xterm"), (name, value)]
                .map(|(name, value)| (name.to_owned(), value.to_owned()));
            let variables = BTreeMap::from(variables);
            let found = Terminal::decide([true, true, true], &variables);
            assert_eq!(
                (found.live, found.headless),
                (live, headless),
                "{name}={value}"
            );
        }
        assert!(
            !Terminal::decide([true, true, true], &BTreeMap::new()).live,
            "a terminal that nobody names"
        );
        let piped = Terminal::decide([true, true, false], &BTreeMap::new());
        assert_eq!(
            (piped.live, piped.colour, piped.headless),
            (false, false, true)
        );
    }
}
