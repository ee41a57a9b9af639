//! A work whose memory is bounded, and how many of them are done side by side.

use std::cell::Cell;
use std::io::{self, BufReader, Read};
use std::marker::PhantomData;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::allocator::give_back;
use crate::count::held;

/// The memory that one work may hold when it is asked, in bytes. What it allocates until it is
/// asked the next time, and what the allocator cannot use, come on top; tests show that both
/// together stay below 64 MB.
pub const MAX_BYTES: usize = 56 << 20;
/// The memory that each work may hold while others are done, in bytes: files as people write them
/// need less.
const SMALL_BYTES: usize = 6 << 20;
/// How many works are done side by side. Together with the one that may be large they hold less
/// than 80 MB.
const SIDE_BY_SIDE: usize = 4;
/// How often a work that waits for others asks whether to stop.
const STOP_INTERVAL: Duration = Duration::from_millis(20);

/// The works of this process.
static WORKS: Works = Works {
    running: Mutex::new(Running {
        works: 0,
        is_one_large: false,
    }),
    changed: Condvar::new(),
};

struct Works {
    running: Mutex<Running>,
    changed: Condvar,
}

struct Running {
    works: usize,
    is_one_large: bool,
}

/// The work of this thread.
#[derive(Clone, Copy)]
struct Own {
    /// How many bytes the thread held before.
    before: isize,
    is_large: bool,
    was_over: bool,
}

thread_local! {
    static OWN: Cell<Option<Own>> = const { Cell::new(None) };
}

/// A work of this thread whose memory is bounded. It ends when this is dropped, after all that it
/// has allocated.
#[derive(Debug)]
#[must_use]
pub struct Work {
    /// Whether it is a part of another work of this thread, which is bounded already.
    is_part: bool,
    /// Where the bytes that a thread holds are counted.
    of_this_thread: PhantomData<*const ()>,
}

impl Work {
    /// Begins a work, once there are few others; `None` if `stop` said so before.
    pub fn begin(stop: &dyn Fn() -> bool) -> Option<Work> {
        let is_part = OWN.get().is_some();
        if !is_part {
            WORKS.take(stop, |running| {
                let has_room = running.works < SIDE_BY_SIDE;
                running.works += usize::from(has_room);
                has_room
            })?;
            OWN.set(Some(Own {
                before: held(),
                is_large: false,
                was_over: false,
            }));
        }
        Some(Work {
            is_part,
            of_this_thread: PhantomData,
        })
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        if self.is_part {
            return;
        }
        let Some(own) = OWN.take() else { return };
        if own.is_large {
            // Otherwise the memory of each thread that has done a large work would remain with the
            // process.
            give_back();
        }
        let mut running = WORKS.running();
        running.works -= 1;
        running.is_one_large &= !own.is_large;
        drop(running);
        WORKS.changed.notify_all();
    }
}

/// Reports whether the work of this thread has to end, since it holds too much, or `stop` says so
/// while it waits to grow large. A thread without a work is never over.
pub fn is_over(stop: &dyn Fn() -> bool) -> bool {
    let Some(own) = OWN.get() else { return false };
    let bytes = usize::try_from(held().wrapping_sub(own.before)).unwrap_or(0);
    if own.was_over || bytes > MAX_BYTES {
        OWN.set(Some(Own {
            was_over: true,
            ..own
        }));
        return true;
    }
    if bytes <= SMALL_BYTES || own.is_large {
        return false;
    }
    let taken = WORKS.take(stop, |running| {
        // While it waits, `stop` may have made it large: one that asks the same.
        let is_large = OWN.get().is_some_and(|own| own.is_large);
        is_large || !std::mem::replace(&mut running.is_one_large, true)
    });
    OWN.set(Some(Own {
        is_large: taken.is_some(),
        ..own
    }));
    taken.is_none()
}

/// Reports whether the work of this thread held too much when it asked.
pub fn was_over() -> bool {
    OWN.get().is_some_and(|own| own.was_over)
}

impl Works {
    /// Waits until `take` could take what it needs; `None` if `stop` said so before.
    fn take(&self, stop: &dyn Fn() -> bool, take: impl Fn(&mut Running) -> bool) -> Option<()> {
        loop {
            let mut running = self.running();
            if take(&mut running) {
                return Some(());
            }
            drop(self.changed.wait_timeout(running, STOP_INTERVAL));
            if stop() {
                return None;
            }
        }
    }

    fn running(&self) -> MutexGuard<'_, Running> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How many bytes are handed out between questions whether the work is over.
const PIECE: usize = 4 << 10;

/// Returns a reader of bytes that fails once the work of this thread is over, or `stop` says so.
pub fn watched<'b>(bytes: &'b [u8], stop: &'b dyn Fn() -> bool) -> impl Read + 'b {
    BufReader::with_capacity(PIECE, Watched { bytes, stop })
}

struct Watched<'b> {
    bytes: &'b [u8],
    stop: &'b dyn Fn() -> bool,
}

impl Read for Watched<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if (self.stop)() || is_over(self.stop) {
            return Err(io::Error::from(io::ErrorKind::OutOfMemory));
        }
        self.bytes.read(buffer)
    }
}
