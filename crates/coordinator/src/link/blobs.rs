//! Bytes in a message, and the stored ones that a worker reads.

use std::collections::BTreeMap;

use orchestrate_core::BlobId;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::error::{CoordinatorError, LinkError};

/// Bytes, which most formats of messages carry best as text where they are text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum Bytes {
    Text(String),
    Other(Vec<u8>),
}

impl From<Vec<u8>> for Bytes {
    fn from(bytes: Vec<u8>) -> Self {
        String::from_utf8(bytes).map_or_else(|error| Self::Other(error.into_bytes()), Self::Text)
    }
}

impl From<Bytes> for Vec<u8> {
    fn from(bytes: Bytes) -> Self {
        match bytes {
            Bytes::Text(text) => text.into_bytes(),
            Bytes::Other(bytes) => bytes,
        }
    }
}

/// The blobs that a worker has asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Blobs(BTreeMap<BlobId, Bytes>);

impl FromIterator<(BlobId, Vec<u8>)> for Blobs {
    fn from_iter<I: IntoIterator<Item = (BlobId, Vec<u8>)>>(blobs: I) -> Self {
        Self(
            blobs
                .into_iter()
                .map(|(id, bytes)| (id, bytes.into()))
                .collect(),
        )
    }
}

impl Blobs {
    /// Returns one of the blobs.
    pub(crate) fn get(&self, id: &BlobId) -> Result<&[u8], LinkError> {
        match self.0.get(id) {
            Some(Bytes::Text(text)) => Ok(text.as_bytes()),
            Some(Bytes::Other(bytes)) => Ok(bytes),
            None => Err(LinkError::Run(format!(
                "read blob {id}: it was not asked for"
            ))),
        }
    }

    /// Returns the recorded value in one of the blobs.
    pub(crate) fn value<T: DeserializeOwned>(
        &self,
        id: &BlobId,
        what: &'static str,
    ) -> Result<T, CoordinatorError> {
        serde_json::from_slice(self.get(id)?)
            .map_err(|source| CoordinatorError::Recorded { what, source })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_survive_whether_they_are_text_or_not() {
        for bytes in [
            b"".to_vec(),
            "é\0\n".into(),
            vec![0xff, 0],
            vec![b'a', 0xc3],
        ] {
            let text = serde_json::to_string(&Bytes::from(bytes.clone())).unwrap();
            assert_eq!(
                Vec::from(serde_json::from_str::<Bytes>(&text).unwrap()),
                bytes,
                "{text}"
            );
        }
    }
}
