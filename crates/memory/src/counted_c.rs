//! The allocator for a library of C, which counts what each thread holds.
//!
//! The functions have the contracts of those of the same name in C, except that they never return
//! null.

#![expect(unsafe_code, reason = "an allocator of C has no safe interface")]

use std::ffi::c_void;

use crate::count::{add, remove};

/// Allocates memory.
///
/// # Safety
/// As `malloc`: what it returns is freed by [`free`] alone.
pub unsafe extern "C" fn malloc(size: usize) -> *mut c_void {
    // SAFETY: `malloc` may be called with any size.
    counted(unsafe { libc::malloc(size) }, size)
}

/// Allocates zeroed memory.
///
/// # Safety
/// As `calloc`: what it returns is freed by [`free`] alone.
pub unsafe extern "C" fn calloc(count: usize, size: usize) -> *mut c_void {
    // SAFETY: `calloc` may be called with any numbers, and checks their product.
    counted(
        unsafe { libc::calloc(count, size) },
        count.saturating_mul(size),
    )
}

/// Changes the size of an allocation.
///
/// # Safety
/// As `realloc`: the allocation is null, or one of these functions has returned it.
pub unsafe extern "C" fn realloc(allocation: *mut c_void, size: usize) -> *mut c_void {
    if size == 0 {
        // To free it and return null is what `realloc` does, and tree-sitter takes null for the end
        // of memory. SAFETY: the caller hands over the allocation.
        unsafe { free(allocation) };
        // SAFETY: any size is allowed.
        return unsafe { malloc(1) };
    }
    uncount(allocation);
    // SAFETY: the caller keeps the contract of this function, which is the same.
    counted(unsafe { libc::realloc(allocation, size) }, size)
}

/// Frees an allocation.
///
/// # Safety
/// As `free`: the allocation is null, or one of these functions has returned it, and nothing uses
/// it any more.
pub unsafe extern "C" fn free(allocation: *mut c_void) {
    uncount(allocation);
    // SAFETY: the caller keeps the contract of this function, which is the same.
    unsafe { libc::free(allocation) }
}

fn counted(allocation: *mut c_void, size: usize) -> *mut c_void {
    if allocation.is_null() {
        // What C has asked for is needed, so this ends the process, as it does everywhere in Rust.
        let layout = std::alloc::Layout::array::<u8>(size.min(isize::MAX.unsigned_abs()));
        std::alloc::handle_alloc_error(layout.unwrap_or(std::alloc::Layout::new::<u8>()));
    }
    add(usable(allocation));
    allocation
}

fn uncount(allocation: *mut c_void) {
    if !allocation.is_null() {
        remove(usable(allocation));
    }
}

fn usable(allocation: *mut c_void) -> usize {
    // SAFETY: it is an allocation of `malloc` that was not freed.
    unsafe { libc::malloc_usable_size(allocation) }
}
