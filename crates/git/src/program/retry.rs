//! Retries for operations that another git process obstructs for a moment.

use std::time::Duration;

use git2::{Error, ErrorCode};

/// How often an operation is retried that another git process has locked out.
const LOCKED_TRIES: u32 = 20;
/// The pause between two tries: git holds a lock for about a millisecond.
const LOCKED_PAUSE: Duration = Duration::from_millis(10);
/// How long a lock is waited for altogether.
pub(crate) const LOCKED_PATIENCE: Duration = LOCKED_PAUSE.saturating_mul(LOCKED_TRIES);
/// How often an operation is retried if `git gc` removed its folder; each failure needs another
/// removal at that very moment.
const SWEPT_TRIES: u32 = 8;
/// The system's message for a missing folder.
const GONE: &str = "No such file or directory";
/// Libgit2's message for an object that it does not find, for example while `git gc` packs it.
const UNFOUND: &str = "doesn't exist on the repository";

/// Runs an operation, and retries it while another git process holds a lock or packs the named
/// object.
#[expect(
    clippy::disallowed_methods,
    reason = "another program's lock file wakes nobody"
)]
pub(crate) fn while_locked<T>(mut attempt: impl FnMut() -> Result<T, Error>) -> Result<T, Error> {
    let mut last = attempt();
    for _ in 0..LOCKED_TRIES {
        match &last {
            Err(error)
                if error.code() == ErrorCode::Locked || error.message().contains(UNFOUND) =>
            {
                std::thread::sleep(LOCKED_PAUSE);
                last = attempt();
            }
            _ => break,
        }
    }
    last
}

/// Runs an operation that writes objects or refs, and retries it if a concurrent `git gc` removed a
/// folder that was empty at that moment. Git itself retries in this case too.
pub(crate) fn while_swept<T>(mut attempt: impl FnMut() -> Result<T, Error>) -> Result<T, Error> {
    let mut last = attempt();
    for _ in 0..SWEPT_TRIES {
        match &last {
            Err(error) if was_swept(error) => last = attempt(),
            _ => break,
        }
    }
    last
}

fn was_swept(error: &Error) -> bool {
    error.message().contains(GONE)
}

#[cfg(test)]
mod tests {
    use git2::ErrorClass;

    use super::*;

    #[test]
    fn only_what_is_in_the_way_for_an_instant_is_tried_again() {
        let gone = || {
            Error::new(
                ErrorCode::GenericError,
                ErrorClass::Os,
                format!("failed to rename: {GONE}"),
            )
        };
        let mut failures = vec![gone(), gone()];
        assert_eq!(
            while_swept(|| failures.pop().map_or(Ok(1), Err)).unwrap(),
            1
        );
        let mut tries = 0;
        let mut fails = |error: Error| {
            while_swept(|| {
                tries += 1;
                Err::<(), _>(Error::new(error.code(), error.class(), error.message()))
            })
            .unwrap_err()
        };
        assert_eq!(fails(gone()).message(), gone().message());
        assert!(
            fails(Error::new(
                ErrorCode::GenericError,
                ErrorClass::Os,
                "No space left"
            ))
            .message()
            .contains("space")
        );
        assert_eq!(tries, 1 + SWEPT_TRIES + 1);
    }
}
