//! Hides processes, and what the kernel lets them do.
