//! How many bytes this thread has allocated and not freed.

use std::cell::Cell;

thread_local! {
    static HELD: Cell<isize> = const { Cell::new(0) };
}

/// The bytes that the system's allocator adds to an allocation, the unit of its sizes, and the
/// least that it gives out.
const OVERHEAD: usize = 8;
const UNIT: usize = 16;
const LEAST: usize = 32;

/// Returns how many bytes this thread has allocated and not freed, which is less than zero for one
/// that frees what others have allocated. What a work keeps is the difference to before.
pub fn held() -> isize {
    HELD.with(Cell::get)
}

/// Counts an allocation.
pub(crate) fn add(bytes: usize) {
    HELD.with(|held| held.set(held.get().wrapping_add_unsigned(cost(bytes))));
}

/// Counts that an allocation is freed.
pub(crate) fn remove(bytes: usize) {
    HELD.with(|held| held.set(held.get().wrapping_sub_unsigned(cost(bytes))));
}

fn cost(bytes: usize) -> usize {
    bytes
        .saturating_add(OVERHEAD)
        .next_multiple_of(UNIT)
        .max(LEAST)
}
