//! Hides git: libgit2 and the git program.
