//! Creates, replaces and removes our own files, and opens files written by others.
//!
//! Our own files are all those that we keep outside of worktrees. They are readable by their owner
//! alone, whatever the umask, and can be removed however deep they are nested. Worktrees are the
//! user's files and follow the user's umask.

mod copies;
mod lines;
mod locked;
mod missing;
mod place;
mod plain;
mod private;
mod removal;
mod replacement;
mod repository;
mod temporary;
mod usage;

pub use copies::{Extent, copy_folder, extent, shares_blocks};
pub use lines::ends_within_a_line;
pub use locked::{LockedFolder, sweep};
pub use missing::{entries, if_there};
pub use place::{Misplaced, close_to_others, require_own};
pub use plain::{Links, read_plain};
pub use private::{FILE as PRIVATE_FILE, create_file, create_folder, open_or_create, write};
pub use removal::{remove_folder, remove_folder_below, remove_folder_unless};
pub use replacement::{replace, replace_by_way_of, sync_folder};
pub use repository::is_repository;
pub use temporary::TemporaryFolder;
pub use usage::{disk_usage, free_bytes};
