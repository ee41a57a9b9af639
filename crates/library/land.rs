//! How a session's result reaches the user's branch.

use orchestrate_coordinator::{self as engine, LandOptions, LandStyle};
use orchestrate_core::text::message_template::MessageTemplate;

use crate::error::{Error, Result};

/// How to land; see [`Session::land`](crate::Session::land).
///
/// ```
/// use orchestrate::Land;
///
/// let how = Land::squash().message("docs: release notes of 1.2\n\n{tasks}");
/// ```
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct Land {
    style: LandStyle,
    message: Option<String>,
}

impl Land {
    /// By fast-forward if possible, otherwise by a merge.
    pub fn merge() -> Self {
        Self::of_style(LandStyle::Merge)
    }

    /// As one commit.
    pub fn squash() -> Self {
        Self::of_style(LandStyle::Squash)
    }

    /// As one commit for each merged child.
    pub fn rebase() -> Self {
        Self::of_style(LandStyle::Rebase)
    }

    fn of_style(style: LandStyle) -> Self {
        Self {
            style,
            message: None,
        }
    }

    /// Sets the message of the squash or of the merge, in which `{title}` stands for the session's
    /// name, `{run}` for its run and `{tasks}` for the merged children; `{{` is a brace. Otherwise
    /// a squash tells what each of these did, and a merge names the run.
    pub fn message(mut self, message: impl Into<String>) -> Self {
        self.message = Some(message.into());
        self
    }

    pub(crate) fn options(self) -> Result<LandOptions> {
        if self.message.is_some() && self.style == LandStyle::Rebase {
            return Err(Error::new(
                "failed to land with this message: each commit of a rebase has its child's own; \
                 leave Land::message out, or use Land::squash()",
            ));
        }
        let template = self.message.as_deref().map(MessageTemplate::parse);
        let message = template
            .transpose()
            .map_err(|unknown| Error::new(format!("failed to {unknown}")))?;
        Ok(LandOptions {
            style: self.style,
            message,
            ..LandOptions::default()
        })
    }
}

/// What landing did.
///
/// ```no_run
/// # use orchestrate::prelude::*;
/// # async fn example(session: Session) -> orchestrate::Result<()> {
/// let landed = session.land(Land::merge()).await?;
/// println!("{} moved from {} to {}", landed.branch, landed.from, landed.to);
/// for warning in &landed.warnings {
///     println!("warning: {warning}");
/// }
/// # Ok(()) }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Landed {
    /// The branch.
    pub branch: String,
    /// Its tip before.
    pub from: String,
    /// Its tip now; the same if there was nothing to land.
    pub to: String,
    /// What a person should know, such as work that is not part of the result.
    pub warnings: Vec<String>,
}

impl From<engine::Landed> for Landed {
    fn from(landed: engine::Landed) -> Self {
        Self {
            branch: landed.branch,
            from: landed.from.to_string(),
            to: landed.to.to_string(),
            warnings: landed.warnings,
        }
    }
}
