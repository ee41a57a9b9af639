//! The tokenizer is loaded only when it is waited for. The test has a process of its own, since the
//! tokenizer is loaded once per process.

use orchestrate_core::agent::context::TokenCounter;
use orchestrate_model::{LazyCounter, Tokenizer};

#[test]
fn counting_by_a_bound_loads_nothing() {
    let before = threads();
    let counter = LazyCounter::default();
    // Loading in the background would add a thread; loading in the call would make the count exact.
    assert_eq!(
        (
            counter.count("hello world"),
            counter.current().count("hello world")
        ),
        (7, 7)
    );
    assert_eq!((threads(), counter.is_exact()), (before, false));
    assert_eq!(Tokenizer::load().unwrap().count("hello world"), 2);
    assert_eq!(
        (counter.count("hello world"), counter.is_exact()),
        (2, true)
    );
}

/// Returns the number of threads of this process.
fn threads() -> Option<usize> {
    Some(std::fs::read_dir("/proc/self/task").ok()?.count())
}
