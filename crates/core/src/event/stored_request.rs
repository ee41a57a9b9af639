//! How a request to a model is recorded: by its parts, each of which is stored once.
//!
//! A request repeats almost everything that the agent's request before it contains, so recording
//! whole requests would need space quadratic in the turns. Instead, the fact of a request names the
//! messages that are new, and how many of the request before it are kept at both ends: a turn adds
//! messages at the end, and a compaction replaces some in the middle. The bytes of the whole
//! request follow from the parts, and are verified with their recorded hash.

use std::mem;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::agent::RequestParts;
use crate::agent::conversation::{ModelRequest, Origin};
use crate::event::illegal::Illegal;
use crate::event::{Event, Recorded};
use crate::ids::{BlobId, RequestHash};
use crate::text::hex;

/// The number of an agent's newest request and of its messages: what the next one may refer to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Extent {
    seq: u64,
    messages: usize,
}

impl Extent {
    /// Returns the extent of the request with these parts; fails if they do not fit the request
    /// before.
    pub(crate) fn follow(
        before: Option<Extent>,
        seq: u64,
        parts: &RequestParts,
    ) -> Result<Extent, Illegal> {
        let newest = before.map(|before| before.seq);
        if parts.after.is_some() && parts.after != newest {
            return Err(Illegal::NotTheRequestBefore { newest });
        }
        let messages = parts.after.and(before).map_or(0, |before| before.messages);
        match parts.kept() <= messages {
            true => Ok(Extent {
                seq,
                messages: parts.kept() + parts.add.len(),
            }),
            false => Err(Illegal::NoSuchMessages { messages }),
        }
    }
}

/// A part of a request and the id that it is stored under.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    id: BlobId,
    bytes: Vec<u8>,
}

impl Part {
    fn new(bytes: Vec<u8>) -> Self {
        Self {
            id: BlobId::from_content(&bytes),
            bytes,
        }
    }

    fn json<T: Serialize + ?Sized>(value: &T) -> serde_json::Result<Self> {
        serde_json::to_vec(value).map(Self::new)
    }

    /// Returns the content.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

/// A request as it is to be recorded.
#[derive(Clone, Debug, PartialEq)]
pub struct DividedRequest {
    /// The hash of the whole request.
    pub hash: RequestHash,
    /// Its parts.
    pub parts: RequestParts,
    /// The parts that are not stored with the request before; to be stored before the fact that
    /// names them, or with it.
    pub new: Vec<Part>,
}

/// The parts of the newest request of one agent: a fold over the facts of its requests.
#[derive(Clone, Debug, Default)]
pub struct RequestChain {
    newest: Option<Newest>,
}

#[derive(Clone, Debug)]
struct Newest {
    seq: u64,
    system: BlobId,
    tools: BlobId,
    answers: Option<BlobId>,
    messages: Vec<BlobId>,
}

/// Why the bytes of a recorded request cannot be derived.
#[derive(Debug, thiserror::Error)]
pub enum Underivable {
    /// The facts of the agent's requests do not follow each other.
    #[error(transparent)]
    Illegal(#[from] Illegal),
    /// The parts make another request than the one that was sent.
    #[error("its parts make another request than the one that was sent")]
    OtherHash,
    /// A value has no JSON form.
    #[error(transparent)]
    Unencodable(#[from] serde_json::Error),
    /// A part cannot be read.
    #[error(transparent)]
    Part(Box<dyn std::error::Error + Send + Sync>),
}

impl RequestChain {
    /// Divides the agent's next request into its parts.
    ///
    /// # Errors
    ///
    /// Fails if a part has no JSON form.
    pub fn divide(&self, request: &ModelRequest) -> serde_json::Result<DividedRequest> {
        let ModelRequest {
            model,
            system: text,
            tools,
            messages,
            max_output_tokens,
            origin,
            answers,
        } = request;
        let messages = messages
            .iter()
            .map(Part::json)
            .collect::<Result<Vec<_>, _>>()?;
        let (system, tools) = (Part::new(text.clone().into_bytes()), Part::json(tools)?);
        let answers = answers.as_ref().map(Part::json).transpose()?;
        let mut hash = Sha256::new();
        let max_output_tokens = *max_output_tokens;
        let whole = Whole {
            model,
            system: text,
            tools: &tools.bytes,
            max_output_tokens,
            origin,
            answers: answers.as_ref().map(|schema| schema.bytes.as_slice()),
        };
        whole.write(
            messages.iter().map(|message| message.bytes.as_slice()),
            |bytes| hash.update(bytes),
        )?;
        let ids = messages.iter().map(|message| message.id.clone()).collect();
        let mut parts =
            RequestParts::anew(system.id.clone(), tools.id.clone(), ids, max_output_tokens);
        parts.answers = answers.as_ref().map(|schema| schema.id.clone());
        parts.returned = origin.returned;
        self.keep_common(&mut parts);
        let fixed = [system, tools]
            .into_iter()
            .chain(answers)
            .filter(|part| !self.has_fixed(&part.id));
        let added = messages
            .into_iter()
            .skip(parts.keep_first)
            .take(parts.add.len());
        let new = fixed.chain(added).collect();
        Ok(DividedRequest {
            hash: RequestHash::new(hex(&hash.finalize())),
            parts,
            new,
        })
    }

    /// Reports whether the newest request has this system text, these tools or this form of the
    /// answer.
    fn has_fixed(&self, id: &BlobId) -> bool {
        self.newest.as_ref().is_some_and(|newest| {
            newest.system == *id || newest.tools == *id || newest.answers.as_ref() == Some(id)
        })
    }

    /// Replaces what a request has in common with the newest one by references to it.
    fn keep_common(&self, parts: &mut RequestParts) {
        let Some(newest) = &self.newest else { return };
        let (before, now) = (&newest.messages, &parts.add);
        let first = before.iter().zip(now).take_while(is_same).count();
        let others = before.len().min(now.len()).saturating_sub(first);
        let last = before
            .iter()
            .rev()
            .zip(now.iter().rev())
            .take(others)
            .take_while(is_same)
            .count();
        if first + last > 0 {
            (parts.after, parts.keep_first, parts.keep_last) = (Some(newest.seq), first, last);
            parts.add.truncate(parts.add.len().saturating_sub(last));
            parts.add.drain(..first);
        }
    }

    /// Applies the fact of a request, given by its number and parts.
    ///
    /// # Errors
    ///
    /// Fails if the parts do not fit the request before; nothing has changed then.
    pub fn follow(&mut self, seq: u64, parts: &RequestParts) -> Result<(), Illegal> {
        let extent = self.newest.as_ref().map(|newest| Extent {
            seq: newest.seq,
            messages: newest.messages.len(),
        });
        Extent::follow(extent, seq, parts)?;
        let mut messages = self
            .newest
            .take()
            .map(|newest| newest.messages)
            .unwrap_or_default();
        let last = messages.split_off(messages.len().saturating_sub(parts.keep_last));
        messages.truncate(parts.keep_first);
        messages.extend(parts.add.iter().cloned().chain(last));
        self.newest = Some(Newest {
            seq,
            system: parts.system.clone(),
            tools: parts.tools.clone(),
            answers: parts.answers.clone(),
            messages,
        });
        Ok(())
    }

    /// Applies a fact of the agent, and returns the bytes of the request that was sent if the fact
    /// is one of a request; `read` returns the bytes of a part.
    ///
    /// # Errors
    ///
    /// Fails if the fact does not follow the ones before it, if a part cannot be read, or if the
    /// bytes do not match the recorded hash.
    pub fn derive<E: std::error::Error + Send + Sync + 'static>(
        &mut self,
        fact: &Recorded,
        mut read: impl FnMut(&BlobId) -> Result<Vec<u8>, E>,
    ) -> Result<Option<Vec<u8>>, Underivable> {
        let Event::ModelRequested {
            task,
            turn,
            model,
            request,
            parts,
            ..
        } = &fact.event
        else {
            return Ok(None);
        };
        self.follow(fact.seq, parts)?;
        let mut read = |id: &BlobId| read(id).map_err(|error| Underivable::Part(error.into()));
        let ids = self.newest.iter().flat_map(|newest| &newest.messages);
        let messages = ids.map(&mut read).collect::<Result<Vec<_>, _>>()?;
        let (system, tools) = (read(&parts.system)?, read(&parts.tools)?);
        let answers = parts.answers.as_ref().map(&mut read).transpose()?;
        let origin = Origin {
            task: task.clone(),
            turn: *turn,
            returned: parts.returned,
        };
        let whole = Whole {
            model,
            // A text that is damaged has another hash.
            system: &String::from_utf8_lossy(&system),
            tools: &tools,
            max_output_tokens: parts.max_output_tokens,
            origin: &origin,
            answers: answers.as_deref(),
        };
        let mut bytes = Vec::new();
        whole.write(messages.iter().map(Vec::as_slice), |more| {
            bytes.extend_from_slice(more)
        })?;
        match hex(&Sha256::digest(&bytes)) == request.as_str() {
            true => Ok(Some(bytes)),
            false => Err(Underivable::OtherHash),
        }
    }
}

fn is_same(pair: &(&BlobId, &BlobId)) -> bool {
    pair.0 == pair.1
}

/// A whole request without its messages.
struct Whole<'a> {
    model: &'a str,
    system: &'a str,
    tools: &'a [u8],
    max_output_tokens: u32,
    origin: &'a Origin,
    answers: Option<&'a [u8]>,
}

impl Whole<'_> {
    /// Passes on the JSON of the request piece by piece, exactly as serde writes a
    /// [`ModelRequest`]. The parts are not decoded in between, since numbers need not survive that.
    fn write<'m>(
        &self,
        messages: impl Iterator<Item = &'m [u8]>,
        mut put: impl FnMut(&[u8]),
    ) -> serde_json::Result<()> {
        let (model, system) = (Value::from(self.model), Value::from(self.system));
        put(format!(r#"{{"model":{model},"system":{system},"tools":"#).as_bytes());
        put(self.tools);
        put(br#","messages":["#);
        let mut separator: &[u8] = b"";
        for message in messages {
            put(mem::replace(&mut separator, b","));
            put(message);
        }
        let origin = serde_json::to_string(self.origin)?;
        put(format!(
            r#"],"max_output_tokens":{},"origin":{origin}"#,
            self.max_output_tokens
        )
        .as_bytes());
        if let Some(schema) = self.answers {
            put(br#","answers":"#);
            put(schema);
        }
        put(b"}");
        Ok(())
    }
}

#[cfg(test)]
mod tests;
