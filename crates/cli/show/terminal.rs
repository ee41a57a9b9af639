//! What the terminal can do, decided once from what is connected and what the environment says.

use std::collections::BTreeMap;
use std::io::{self, IsTerminal as _};

/// What can be shown, and whether somebody can be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Terminal {
    /// Whether lines may be drawn over: a terminal on standard error, and nothing that says otherwise.
    pub(crate) live: bool,
    /// Whether results may have colours.
    pub(crate) colour: bool,
    /// Whether results are shown on a terminal, which can go away.
    pub(crate) shows_results: bool,
    /// Whether nobody can be asked.
    pub(crate) headless: bool,
    /// Whether a question can be typed an answer to.
    pub(crate) can_ask: bool,
    /// Whether GitHub Actions reads the output.
    pub(crate) github: bool,
}

impl Terminal {
    /// Returns one that can do nothing, for what has to be said before anything is known.
    pub(crate) fn dumb() -> Terminal {
        Terminal::decide([false; 3], &BTreeMap::new())
    }

    /// Looks at what this process is connected to.
    pub(crate) fn of_process(variables: &BTreeMap<String, String>) -> Terminal {
        let terminals = [io::stdin().is_terminal(), io::stdout().is_terminal(), io::stderr().is_terminal()];
        Terminal::decide(terminals, variables)
    }

    /// Decides from which of standard input, output and error are terminals.
    fn decide([stdin, stdout, stderr]: [bool; 3], variables: &BTreeMap<String, String>) -> Terminal {
        let is_set = |name: &str| variables.get(name).is_some_and(|value| !value.is_empty());
        let ci = is_set("CI") && variables.get("CI").is_none_or(|value| value != "false");
        let dumb = variables.get("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
        let decorated = !ci && !dumb && !is_set("NO_COLOR");
        let headless = !stderr || ci;
        Terminal {
            live: stderr && decorated,
            shows_results: stdout,
            colour: stdout && stderr && decorated,
            headless,
            can_ask: !headless && stdin,
            github: variables.get("GITHUB_ACTIONS").is_some_and(|value| value == "true"),
        }
    }
}

/// Returns how many rows and columns the terminal on standard error has, as far as it says so.
pub(crate) fn size() -> Option<(usize, usize)> {
    let size = rustix::termios::tcgetwinsize(io::stderr()).ok()?;
    (size.ws_row > 0 && size.ws_col > 0).then_some((size.ws_row.into(), size.ws_col.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

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
            let variables = [("TERM", "xterm"), (name, value)].map(|(name, value)| (name.to_owned(), value.to_owned()));
            let variables = BTreeMap::from(variables);
            let found = Terminal::decide([true, true, true], &variables);
            assert_eq!((found.live, found.headless), (live, headless), "{name}={value}");
        }
        assert!(!Terminal::decide([true, true, true], &BTreeMap::new()).live, "a terminal that nobody names");
        let piped = Terminal::decide([true, true, false], &BTreeMap::new());
        assert_eq!((piped.live, piped.colour, piped.headless), (false, false, true));
    }
}
