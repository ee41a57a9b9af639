//! Tokens that are counted once.
//!
//! Only exact counts are kept. What is kept follows from the value itself, so values that differ in
//! nothing else are equal, and none of it is serialized.

use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

use super::size::{TokenCounter, message_tokens};
use crate::agent::conversation::Message;
use crate::collections::Mutex;

/// A number of tokens, once it has been counted exactly.
#[derive(Clone, Debug, Default)]
pub(crate) struct Memo(OnceLock<usize>);

impl Memo {
    /// Returns the number, which `count` counts with this counter.
    pub(crate) fn tokens(
        &self,
        counter: &dyn TokenCounter,
        count: impl FnOnce() -> usize,
    ) -> usize {
        match counter.is_exact() {
            true => *self.0.get_or_init(count),
            false => count(),
        }
    }
}

impl PartialEq for Memo {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// A message of a transcript.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Entry {
    message: Message,
    #[serde(skip)]
    whole: Memo,
    #[serde(skip)]
    collapsed: Memo,
}

impl Entry {
    pub(super) fn message(&self) -> &Message {
        &self.message
    }

    /// Returns its tokens.
    pub(super) fn tokens(&self, counter: &dyn TokenCounter) -> usize {
        self.whole
            .tokens(counter, || message_tokens(&self.message, counter))
    }

    /// Returns its tokens once it is collapsed entirely, which `count` counts.
    pub(super) fn tokens_collapsed(
        &self,
        counter: &dyn TokenCounter,
        count: impl FnOnce(&Message) -> usize,
    ) -> usize {
        self.collapsed.tokens(counter, || count(&self.message))
    }
}

impl From<Message> for Entry {
    fn from(message: Message) -> Self {
        Self {
            message,
            whole: Memo::default(),
            collapsed: Memo::default(),
        }
    }
}

/// The tokens of some messages that are in no transcript.
#[derive(Debug, Default)]
pub(super) struct Counts(Mutex<Vec<(Message, usize)>>);

impl Counts {
    pub(super) fn tokens(&self, message: &Message, counter: &dyn TokenCounter) -> usize {
        if !counter.is_exact() {
            return message_tokens(message, counter);
        }
        let mut known = self.0.lock();
        if let Some((_, tokens)) = known.iter().find(|(known, _)| known == message) {
            return *tokens;
        }
        let tokens = message_tokens(message, counter);
        known.push((message.clone(), tokens));
        tokens
    }
}

impl Clone for Counts {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl PartialEq for Counts {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}
