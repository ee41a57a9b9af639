//! Responses that servers marked, so that they can confirm later that these still hold.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use orchestrate_core::collections::Mutex;
use orchestrate_core::policy::web::WebResponse;

/// Maximum size of all that is kept in bytes.
const MAX_BYTES: usize = 16 << 20;
/// Maximum size of one response in bytes: a few large ones must not take the place of many.
const MAX_ENTRY_BYTES: usize = 2 << 20;
/// Maximum number of responses: each costs more than its bytes.
const MAX_ENTRIES: usize = 1_000;

/// The parts of a request by which it is the same as another one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct RequestKey {
    pub(crate) url: String,
    pub(crate) accept: &'static str,
    pub(crate) has_key: bool,
    pub(crate) max_bytes: u64,
}

/// The values that a server asks to be sent back for a confirmation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Marks {
    pub(crate) etag: Option<String>,
    pub(crate) modified: Option<String>,
}

impl Marks {
    pub(crate) fn are_empty(&self) -> bool {
        self.etag.is_none() && self.modified.is_none()
    }
}

/// A response that its server may confirm. It holds for the request that it was looked up for, even
/// if another request replaces or drops it meanwhile.
#[derive(Clone)]
pub(crate) struct KeptResponse {
    pub(crate) marks: Marks,
    response: Arc<WebResponse>,
}

impl KeptResponse {
    /// Returns the response after its server has confirmed it.
    pub(crate) fn confirmed(&self) -> WebResponse {
        WebResponse {
            was_kept: true,
            ..WebResponse::clone(&self.response)
        }
    }
}

/// The kept responses.
#[derive(Default)]
pub(crate) struct KeptResponses(Mutex<Entries>);

#[derive(Default)]
struct Entries {
    of: HashMap<RequestKey, Entry>,
    /// The requests by when they were used.
    by_use: BTreeMap<u64, RequestKey>,
    uses: u64,
    bytes: usize,
}

struct Entry {
    kept: KeptResponse,
    bytes: usize,
    used: u64,
}

impl KeptResponses {
    /// Returns what is kept for a request.
    pub(crate) fn find(&self, request: &RequestKey) -> Option<KeptResponse> {
        let mut entries = self.0.lock();
        let entry = entries.remove(request)?;
        let kept = entry.kept.clone();
        entries.insert(request.clone(), entry.kept, entry.bytes);
        Some(kept)
    }

    /// Keeps a response in the place of an older one, and drops what was not used for the longest
    /// time.
    pub(crate) fn keep(&self, request: RequestKey, marks: Marks, response: &WebResponse) {
        let mut entries = self.0.lock();
        entries.remove(&request);
        let bytes = size(&request, &marks, response);
        if marks.are_empty() || response.is_cut || bytes > MAX_ENTRY_BYTES {
            return;
        }
        let kept = KeptResponse {
            marks,
            response: Arc::new(response.clone()),
        };
        entries.insert(request, kept, bytes);
        while entries.bytes > MAX_BYTES || entries.of.len() > MAX_ENTRIES {
            let Some((_, oldest)) = entries.by_use.pop_first() else {
                return;
            };
            entries.remove(&oldest);
        }
    }
}

impl Entries {
    fn insert(&mut self, request: RequestKey, kept: KeptResponse, bytes: usize) {
        self.uses += 1;
        self.bytes += bytes;
        self.by_use.insert(self.uses, request.clone());
        self.of.insert(
            request,
            Entry {
                kept,
                bytes,
                used: self.uses,
            },
        );
    }

    fn remove(&mut self, request: &RequestKey) -> Option<Entry> {
        let entry = self.of.remove(request)?;
        self.by_use.remove(&entry.used);
        self.bytes -= entry.bytes;
        Some(entry)
    }
}

/// Returns how many bytes a server or an agent chooses the length of.
fn size(request: &RequestKey, marks: &Marks, response: &WebResponse) -> usize {
    let marks = [&marks.etag, &marks.modified, &response.content_type]
        .into_iter()
        .flatten()
        .map(String::len);
    // The request's address is there twice.
    2 * request.url.len() + response.url.as_str().len() + marks.sum::<usize>() + response.body.len()
}
