//! The run as a whole: the fold of its events, and what users request.

mod illegal_events;
mod requests;
mod run_state;
