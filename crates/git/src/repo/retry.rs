//! What is tried again, since another git process was in the way for an instant.

use std::time::Duration;

use git2::{Error, ErrorCode};

/// How often something that another git process has locked is tried again.
const LOCKED_TRIES: u32 = 20;
/// How long we wait between two tries: git holds a lock for a millisecond.
const LOCKED_PAUSE: Duration = Duration::from_millis(10);
/// How long we wait for it altogether.
pub(crate) const LOCKED_PATIENCE: Duration = LOCKED_PAUSE.saturating_mul(LOCKED_TRIES);
/// How often what a clean-up took the folder of is tried again: each time it would have to come again in that instant.
const SWEPT_TRIES: u32 = 8;
/// How the system says that a folder is gone.
const GONE: &str = "No such file or directory";
/// How libgit2 says that it does not find an object, which a `git gc` is putting into a pack.
const UNFOUND: &str = "doesn't exist on the repository";

/// Does something that fails while another git process has a lock, or packs the object that is named.
#[expect(clippy::disallowed_methods, reason = "another program's lock file wakes nobody")]
pub(crate) fn while_locked<T>(mut attempt: impl FnMut() -> Result<T, Error>) -> Result<T, Error> {
    let mut last = attempt();
    for _ in 0..LOCKED_TRIES {
        match &last {
            Err(error) if error.code() == ErrorCode::Locked || error.message().contains(UNFOUND) => {
                std::thread::sleep(LOCKED_PAUSE);
                last = attempt();
            }
            _ => break,
        }
    }
    last
}

/// Writes objects or refs beside a `git gc`, which removes a folder that is empty at that moment; git tries again, too.
pub(crate) fn while_swept<T>(mut attempt: impl FnMut() -> Result<T, Error>) -> Result<T, Error> {
    let was_swept = |error: &Error| error.message().contains(GONE);
    let mut last = attempt();
    for _ in 0..SWEPT_TRIES {
        match &last {
            Err(error) if was_swept(error) => last = attempt(),
            _ => break,
        }
    }
    last
}

#[cfg(test)]
mod tests {
    use git2::ErrorClass;

    use super::*;

    #[test]
    fn only_what_is_in_the_way_for_an_instant_is_tried_again() {
        let gone = || Error::new(ErrorCode::GenericError, ErrorClass::Os, format!("failed to rename: {GONE}"));
        let mut failures = vec![gone(), gone()];
        assert_eq!(while_swept(|| failures.pop().map_or(Ok(1), Err)).unwrap(), 1);
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
            fails(Error::new(ErrorCode::GenericError, ErrorClass::Os, "No space left")).message().contains("space")
        );
        assert_eq!(tries, 1 + SWEPT_TRIES + 1);
    }
}
