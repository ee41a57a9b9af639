//! Hides tasks and channels: dispatches agents, routes messages, merges their work.
