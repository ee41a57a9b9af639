//! The tokenizer loads when somebody waits for it, and not before: alone in a process, since it loads once for all.

use orchestrate_core::context::TokenCounter;
use orchestrate_model::{LazyCounter, Tokenizer};

#[test]
fn counting_by_a_bound_loads_nothing() {
    let before = threads();
    let counter = LazyCounter::default();
    // Loading it takes a thread of its own, or the time until this returns.
    assert_eq!((counter.count("hello world"), counter.current().count("hello world")), (11, 11));
    assert_eq!((threads(), counter.is_exact()), (before, false));
    assert_eq!(Tokenizer::load().unwrap().count("hello world"), 2);
    assert_eq!((counter.count("hello world"), counter.is_exact()), (2, true));
}

/// Counts this process's threads.
fn threads() -> Option<usize> {
    Some(std::fs::read_dir("/proc/self/task").ok()?.count())
}
