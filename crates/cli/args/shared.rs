//! What several commands take: `--json`, the formats of output, RUN or `--run`, and texts that
//! must not be empty.

use clap::Args;

use super::candidates;

/// `--json`.
#[derive(Clone, Copy, Debug, Default, Args)]
pub(crate) struct JsonArgs {
    /// Print JSON instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

/// `--json` of a command that prints lines.
#[derive(Clone, Copy, Debug, Default, Args)]
pub(crate) struct JsonLinesArgs {
    /// Print one JSON object per line
    #[arg(long)]
    pub(crate) json: bool,
}

/// RUN, by default the latest.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct WhichRun {
    /// The run's id, or a unique prefix of it [default: the latest run of this repository]
    #[arg(value_name = "RUN", add = candidates::runs())]
    pub(crate) run: Option<String>,
}

/// `--run`, by default the latest.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct RunOption {
    /// The run's id, or a unique prefix of it [default: the latest run of this repository]
    #[arg(long, add = candidates::runs())]
    pub(crate) run: Option<String>,
}

/// What standard output and standard error carry.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct OutputArgs {
    /// Standard output: text, json, stream-json (one object per event) or markers (one line per
    /// turn and call)
    #[arg(long, value_name = "FORMAT")]
    output_format: Option<String>,
    /// The same as --output-format json
    #[arg(long, conflicts_with = "output_format")]
    json: bool,
    /// Print only the result, no progress
    #[arg(long, short, conflicts_with = "verbose")]
    quiet: bool,
    /// Print every event as it happens
    #[arg(long, short)]
    verbose: bool,
}

impl OutputArgs {
    /// Reports whether the command line requests JSON.
    pub(crate) fn is_json(&self) -> bool {
        self.json || matches!(self.output_format.as_deref(), Some("json" | "stream-json"))
    }

    /// Returns the name and text of every setting on the command line.
    pub(crate) fn values(&self) -> Vec<(&'static str, String)> {
        let format = if self.json {
            Some("json".to_owned())
        } else {
            self.output_format.clone()
        };
        let format = format.map(|format| ("output_format", format));
        format
            .into_iter()
            .chain(on(&[("quiet", self.quiet), ("verbose", self.verbose)]))
            .collect()
    }
}

/// Returns the settings that are switched on.
pub(super) fn on(switches: &[(&'static str, bool)]) -> Vec<(&'static str, String)> {
    switches
        .iter()
        .filter(|(_, on)| *on)
        .map(|(name, _)| (*name, "true".to_owned()))
        .collect()
}

/// Parses a message, for an agent or of a commit.
pub(super) fn words(text: &str) -> Result<String, String> {
    if text.trim().is_empty() {
        Err("the message is empty".to_owned())
    } else {
        Ok(text.to_owned())
    }
}
