//! How a plan is read, where it can be read in several ways.

use clap::Args;
use orchestrate_plan::ReadAs;

/// `--read` and `--tag`.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct ReadArgs {
    /// What the tasks of a plan are that can be read in several ways: headings, boxes, table or
    /// items; or whole, if the document is one goal; or model, which has a model rewrite it as a
    /// plan first
    #[arg(long, value_name = "WAY", value_parser = way)]
    pub(crate) read: Option<ReadWay>,
    /// The tag whose tasks are meant, if a file of task-master has several
    #[arg(long, value_name = "NAME")]
    pub(crate) tag: Option<String>,
}

/// A way to read a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReadWay {
    /// By the program.
    As(ReadAs),
    /// A model rewrites it as a plan first.
    Model,
}

impl ReadArgs {
    /// Reports whether any of them is given.
    pub(crate) fn is_any(&self) -> bool {
        self.read.is_some() || self.tag.is_some()
    }
}

/// The word for the way of a model.
pub(crate) const MODEL: &str = "model";

impl ReadWay {
    /// Returns the way with this word.
    pub(crate) fn named(word: &str) -> Option<Self> {
        match word {
            MODEL => Some(Self::Model),
            _ => ReadAs::named(word).map(Self::As),
        }
    }
}

/// Parses a way to read a plan.
fn way(text: &str) -> Result<ReadWay, &'static str> {
    ReadWay::named(text).ok_or("expected headings, boxes, table, items, whole or model")
}
