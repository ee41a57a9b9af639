//! Checks whether a folder is under the control of its user alone.

use std::fs::Permissions;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::private::FOLDER;

/// Write permission for all users.
const WRITABLE_BY_OTHERS: u32 = 0o002;
/// Write permission for the group.
const WRITABLE_BY_GROUP: u32 = 0o020;
/// The content of `/proc/self/uid_map` if every user id is mapped.
const ALL_USERS: [&str; 3] = ["0", "0", "4294967295"];
/// The permission bits of a mode.
const EVERYBODYS: u32 = 0o777;
/// On a folder, prevents users from renaming and removing files of other users.
const STICKY: u32 = 0o1000;

/// Why a folder is not under the control of its user alone.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Misplaced {
    /// It belongs to another user.
    #[error("it belongs to another user (uid {owner}; yours is {user})")]
    Foreign {
        /// The uid of its owner.
        owner: u32,
        /// The uid of this process.
        user: u32,
    },
    /// A folder above it belongs to another user, so it could be replaced.
    #[error("{path} above it belongs to another user (uid {owner})")]
    Below {
        /// The folder of the other user.
        path: PathBuf,
        /// The uid of that user.
        owner: u32,
    },
    /// A group with other members could replace it.
    #[error("a group of several users can write to {path}; type `chmod g-w {path}`")]
    Shared {
        /// The folder that the group can write to: the folder itself, or one above it.
        path: PathBuf,
    },
    /// Every user could replace it.
    #[error("every user can write to {path}; type `chmod o-w {path}`")]
    Open {
        /// The folder that every user can write to: the folder itself, or one above it.
        path: PathBuf,
    },
}

/// Requires that a folder belongs to this user, and that no other user can change or replace it.
/// For a missing folder, the nearest existing folder above it is checked.
///
/// # Errors
/// Fails with the reason why the folder is not this user's alone.
pub fn require_own(folder: &Path) -> Result<(), Misplaced> {
    let user = rustix::process::geteuid().as_raw();
    let real = folder
        .ancestors()
        .find_map(|above| above.canonicalize().ok())
        .unwrap_or_else(|| folder.to_owned());
    if let Ok(found) = std::fs::metadata(folder)
        && found.uid() != user
    {
        return Err(Misplaced::Foreign {
            owner: found.uid(),
            user,
        });
    }
    for above in real.ancestors() {
        let Ok(found) = std::fs::metadata(above) else {
            continue;
        };
        let path = above.to_owned();
        if ![0, user].contains(&found.uid()) && !is_unknown(found.uid()) {
            return Err(Misplaced::Below {
                path,
                owner: found.uid(),
            });
        }
        let is_itself = above == real && folder.exists();
        let can_be_replaced = is_itself || found.mode() & STICKY == 0;
        if can_be_replaced && found.mode() & WRITABLE_BY_OTHERS != 0 {
            return Err(Misplaced::Open { path });
        }
        if can_be_replaced
            && found.mode() & WRITABLE_BY_GROUP != 0
            && !is_private_group(found.gid(), user)
        {
            return Err(Misplaced::Shared { path });
        }
    }
    Ok(())
}

/// Reports whether this is the overflow uid, which stands for all users that this user namespace
/// does not map, the machine's root among them.
fn is_unknown(owner: u32) -> bool {
    let knows_all = read("/proc/self/uid_map")
        .split_ascii_whitespace()
        .eq(ALL_USERS);
    !knows_all && read("/proc/sys/kernel/overflowuid").trim() == owner.to_string()
}

/// Returns the text of a file, nothing if it cannot be read.
fn read(path: &str) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

fn is_private_group(group: u32, user: u32) -> bool {
    group == 0 || has_no_other(&read("/etc/passwd"), &read("/etc/group"), group, user)
}

/// Reports whether a group has no member but this user, according to passwd(5) and group(5). A
/// group that is missing from group(5) may have any members.
fn has_no_other(users: &str, groups: &str, group: u32, user: u32) -> bool {
    let (group, user) = (group.to_string(), user.to_string());
    let mut names = Vec::new();
    for line in users.lines() {
        let fields: Vec<&str> = line.split(':').collect();
        match fields.as_slice() {
            [name, _, id, ..] if *id == user => names.push(*name),
            [_, _, _, own_group, ..] if *own_group == group => return false,
            _ => {}
        }
    }
    for line in groups.lines() {
        let fields: Vec<&str> = line.split(':').collect();
        if let [_, _, id, members @ ..] = fields.as_slice()
            && *id == group
        {
            let mut members = members.iter().take(1).flat_map(|listed| listed.split(','));
            return members.all(|name| name.is_empty() || names.contains(&name));
        }
    }
    false
}

/// Removes all access of other users to a folder of this user, if the folder exists.
///
/// # Errors
/// Fails if its mode cannot be read or set.
pub fn close_to_others(folder: &Path) -> std::io::Result<()> {
    match std::fs::metadata(folder) {
        Ok(found) if found.mode() & EVERYBODYS != FOLDER => {
            std::fs::set_permissions(folder, Permissions::from_mode(FOLDER))
        }
        Ok(_) => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_the_group_of_one_user_alone() {
        let users = "root:x:0:0::/root:/bin/sh\nann:x:7:70::/:/bin/sh\nbob:x:8:80::/:/bin/sh\n";
        let groups = "root:x:0:\nann:x:70:\nbob:x:80:ann\nstaff:x:90:ann,bob\nmine:x:91:ann\n";
        let private = |group| has_no_other(users, groups, group, 7);
        assert_eq!([70, 91].map(private), [true, true]);
        assert_eq!([80, 90, 99].map(private), [false, false, false]);
    }
}
