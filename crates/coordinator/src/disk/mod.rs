//! What a run keeps in the user's state folder, besides its journal: worktrees and caches.

pub(crate) mod caches;
pub(crate) mod layout;
