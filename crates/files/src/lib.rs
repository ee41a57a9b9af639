//! Hides how files of ours are made and removed, everything that we keep outside of worktrees, and how those that
//! others wrote are opened.
//!
//! What is made here can be read by its owner alone, whatever the umask is, and what is removed here goes, however deep
//! it is. Worktrees are the user's files, and follow the user's umask.

mod place;
mod plain;
mod private;
mod removal;
mod replacement;
mod temporary;

pub use place::{Misplaced, close_to_others, require_own};
pub use plain::{Links, read_plain};
pub use private::{create_file, create_folder, open_or_create, write};
pub use removal::{remove_folder, remove_folder_below};
pub use replacement::{replace, replace_by_way_of, sync_folder};
pub use temporary::TemporaryFolder;
