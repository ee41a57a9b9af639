//! The options of what a command prints.

use clap::Args;

use super::switches::on;

/// What standard output and standard error carry.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct OutputArgs {
    /// Standard output: text, json, stream-json (one object per event) or markers (one line per
    /// turn and call)
    #[arg(long, value_name = "FORMAT")]
    pub(super) output_format: Option<String>,
    /// The same as --output-format json
    #[arg(long, conflicts_with = "output_format")]
    pub(super) json: bool,
    /// Print only the result, no progress
    #[arg(long, short, conflicts_with = "verbose")]
    pub(super) quiet: bool,
    /// Print every event as it happens
    #[arg(long, short)]
    pub(super) verbose: bool,
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
