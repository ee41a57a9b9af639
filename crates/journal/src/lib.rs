//! Hides SQLite: the sequencer that makes facts durable and folds them into the run's state.
