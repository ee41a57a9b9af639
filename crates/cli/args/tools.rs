//! The options of `tools`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::shared::JsonArgs;

#[derive(Debug, Args)]
pub(crate) struct ToolsArgs {
    #[command(subcommand)]
    pub(crate) command: ToolsCommand,
}

/// What can be done with tools.
#[derive(Debug, Subcommand)]
pub(crate) enum ToolsCommand {
    /// List the tools that agents can be given
    List {
        /// Only those of this category, for example files
        #[arg(long, value_name = "CATEGORY")]
        category: Option<String>,
        #[command(flatten)]
        json: JsonArgs,
    },
    /// List the tools whose name, description or parameters contain a word
    Search {
        /// The word
        word: String,
        #[command(flatten)]
        json: JsonArgs,
    },
    /// Show one tool, by any of its names
    Info {
        /// The tool
        name: String,
        #[command(flatten)]
        json: JsonArgs,
    },
    /// Check `.tool` files
    Check {
        /// The files
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
        #[command(flatten)]
        json: JsonArgs,
    },
    /// Write the reference of the tools
    Docs {
        /// The form of the reference
        #[arg(long, value_name = "FORMAT", default_value = "md")]
        format: DocsFormat,
    },
}

/// The forms of the reference of the tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DocsFormat {
    /// Markdown
    Md,
    /// JSON, as `tools list --json` prints it
    Json,
}
