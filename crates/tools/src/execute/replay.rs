//! Replays the answers of calls that follow from files alone, and stores new ones.
//!
//! An answer is stored if the files were the same before and after the call, and only if it holds
//! nothing but a text and data, and no secret of the run. It is replayed through the same redaction
//! and shaping as a new one.

use std::sync::Arc;

use orchestrate_core::Redactor;
use orchestrate_core::event::CacheLookup;
use orchestrate_core::policy::CacheMode;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::answer::{Answer, ToolError};
use crate::call::{AnswersFrom, canonical_json};
use crate::execute::redact_result;
use crate::files::{WalkLimits, fingerprint};
use crate::services::{CallRecord, Replayable};
use crate::tool::{Tool, ToolContext};

/// The version of the tools' code.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// A call whose answer can be replayed.
pub(crate) struct Replay {
    seen: Seen,
    call: Replayable,
    mode: CacheMode,
}

/// What the answer of a call follows from.
#[derive(Clone)]
struct Seen {
    tool: String,
    from: AnswersFrom,
    /// The path whose files it sees.
    path: String,
    /// What it follows from besides the files.
    fixed: String,
}

/// A stored answer.
#[derive(Serialize, Deserialize)]
struct Stored {
    /// The digest of the call: a part of it is no more than the name of the entry.
    digest: String,
    text: String,
    data: Value,
}

impl Replay {
    /// Looks for a stored answer, and notes in the record what there was. Returns `None` for the
    /// call if its answer is neither replayed nor stored.
    pub(crate) async fn look_up(
        tool: &dyn Tool,
        record: &mut CallRecord,
        context: &ToolContext,
    ) -> (Option<Replay>, Option<Answer>) {
        let mode = context.services().replay.mode(tool.name());
        let from = tool.properties().answers_from;
        if mode == CacheMode::Off || from == AnswersFrom::Anything {
            return (None, None);
        }
        let seen = Seen::look_at(tool, from, &record.arguments, context);
        let Some(call) = seen.now(context).await else {
            return (None, None);
        };
        let found = if mode.reads() {
            find(context, &call).await
        } else {
            None
        };
        if mode.reads() {
            let key = context.services().replay.key(&call);
            record.cache = Some(CacheLookup {
                key,
                hit: found.is_some(),
            });
        }
        (Some(Replay { seen, call, mode }), found)
    }

    /// Redacts a new answer, and stores it if it may be replayed.
    pub(crate) async fn keep_and_redact(
        self,
        context: &ToolContext,
        redactor: &Redactor,
        result: Result<Answer, ToolError>,
    ) -> Result<Answer, ToolError> {
        let before = result.clone();
        let result = redact_result(redactor, result);
        if self.mode.writes()
            && before == result
            && let Ok(answer) = &result
            && is_plain(answer)
            && self.seen.now(context).await.as_ref() == Some(&self.call)
        {
            self.store(context, answer).await;
        }
        result
    }

    async fn store(self, context: &ToolContext, answer: &Answer) {
        let Answer { text, data, .. } = answer.clone();
        let stored = Stored {
            digest: self.call.digest.clone(),
            text,
            data,
        };
        let replay = Arc::clone(&context.services().replay);
        let store = move |_: &_, _: &_| {
            // A value of texts and numbers can be written.
            if let Ok(bytes) = serde_json::to_vec(&stored) {
                replay.store(&self.call, &bytes);
            }
            Ok(())
        };
        if let Err(error) = context.blocking(store).await {
            tracing::warn!("the result of a call was not stored: {error}");
        }
    }
}

impl Seen {
    fn look_at(
        tool: &dyn Tool,
        from: AnswersFrom,
        arguments: &Value,
        context: &ToolContext,
    ) -> Seen {
        let path = tool
            .path_fields()
            .first()
            .and_then(|field| arguments.get(*field))
            .and_then(Value::as_str);
        let path = path.filter(|_| from != AnswersFrom::AllContents);
        let limits = format!("{:?}", context.limits());
        let basis = context.services().replay.basis();
        let fixed = [
            VERSION,
            tool.name(),
            &canonical_json(arguments),
            &limits,
            basis,
        ]
        .map(str::to_owned);
        Seen {
            tool: tool.name().to_owned(),
            from,
            path: path.unwrap_or_default().to_owned(),
            fixed: Value::from(fixed.to_vec()).to_string(),
        }
    }

    /// Returns the call as the files are now; `None` if they cannot be known for certain.
    async fn now(&self, context: &ToolContext) -> Option<Replayable> {
        let (seen, replay) = (self.clone(), Arc::clone(&context.services().replay));
        let limits = WalkLimits::within(context.limits().search_timeout, context.cancel());
        let files = context
            .blocking(move |files, _| {
                let Some(contents) = replay.contents() else {
                    return Ok(None);
                };
                fingerprint(files, &seen.path, seen.from, &*contents, &limits)
            })
            .await;
        // The tool reports in its own words what is wrong with its path.
        let files = files.ok().flatten()?;
        let digest =
            Sha256::digest(Value::from([self.fixed.as_str(), &files].to_vec()).to_string());
        Some(Replayable {
            tool: self.tool.clone(),
            digest: orchestrate_core::hex(&digest),
        })
    }
}

/// Returns the stored answer of a call. One that cannot be read, or is another call's, is none.
async fn find(context: &ToolContext, call: &Replayable) -> Option<Answer> {
    let (replay, call) = (Arc::clone(&context.services().replay), call.clone());
    let found = context.blocking(move |_, _| {
        let stored = replay
            .find(&call)
            .and_then(|bytes| serde_json::from_slice::<Stored>(&bytes).ok());
        Ok(stored.filter(|stored| stored.digest == call.digest))
    });
    found
        .await
        .ok()
        .flatten()
        .map(|Stored { text, data, .. }| Answer::new(text, data))
}

/// Reports whether an answer succeeded, and holds nothing besides a text and data.
fn is_plain(answer: &Answer) -> bool {
    *answer == Answer::new(answer.text.clone(), answer.data.clone())
}
