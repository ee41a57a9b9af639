//! The system's allocator, which counts.

#![expect(unsafe_code, reason = "an allocator has no safe interface")]

use std::alloc::{GlobalAlloc, Layout, System};

use crate::count::{add, remove};

/// The system's allocator, which counts what each thread holds. A program names it as its global
/// allocator.
#[derive(Clone, Copy, Debug)]
pub struct Counted;

// SAFETY: every call is passed on to the system's allocator unchanged, and counting allocates
// nothing.
unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        add(layout.size());
        // SAFETY: the caller keeps the contract of this function, which is the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, allocation: *mut u8, layout: Layout) {
        remove(layout.size());
        // SAFETY: as above.
        unsafe { System.dealloc(allocation, layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        add(layout.size());
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, allocation: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        remove(layout.size());
        add(size);
        // SAFETY: as above.
        unsafe { System.realloc(allocation, layout, size) }
    }
}

/// Gives what is free back to the system, which the system's allocator keeps for each thread
/// otherwise.
pub(crate) fn give_back() {
    #[cfg(target_env = "gnu")]
    // SAFETY: the function may be called at any time; it takes the allocator's own locks.
    unsafe {
        libc::malloc_trim(0);
    }
}
