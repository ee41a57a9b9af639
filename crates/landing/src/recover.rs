//! Recovering: lists the commits of a run that only our refs hold, and restores one as a branch.

use orchestrate_core::{Oid, RunId};

use crate::archive::Archive;
use crate::error::{LandingError, ResultRefusal};

/// The fewest digits of a commit that name it.
const MIN_DIGITS: usize = 7;

/// A commit held by one of our refs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptCommit {
    /// Its name below the run's refs, for example `T1/2-0123456789ab`.
    pub name: String,
    /// The commit.
    pub commit: Oid,
    /// The first line of its message.
    pub subject: String,
    /// Its time in seconds since 1970.
    pub time_unix: i64,
}

impl Archive {
    /// Lists the commits of a run that our refs hold, ordered by name, and reports those that
    /// cannot be read.
    ///
    /// # Errors
    ///
    /// Fails if there is no such run, or if the refs cannot be read.
    pub fn kept(&self, run: &RunId) -> Result<Vec<KeptCommit>, LandingError> {
        // What is kept does not depend on what can be read of the run.
        self.store.find_run(run.as_str())?;
        let (prefix, attempts) = (run.keep_prefix(), run.attempts_prefix());
        let held = self.repo.kept(run)?.into_iter().filter_map(|entry| {
            let name = match entry.name.strip_prefix(&attempts) {
                Some(attempt) => format!("attempts/{attempt}"),
                None => entry.name.strip_prefix(&prefix)?.to_owned(),
            };
            // A damaged commit must not prevent the others from being restored.
            let found = self
                .repo
                .store()
                .find_commit(&entry.target)
                .unwrap_or_else(|error| {
                    (self.progress)(&format!(
                        "{} cannot be restored: failed to {error}",
                        entry.name
                    ));
                    None
                });
            // Trees of conflicts are held too, but they are not anyone's work.
            let info = found?;
            let (subject, time_unix) = (info.subject().to_owned(), info.time_unix);
            Some(KeptCommit {
                name,
                commit: entry.target,
                subject,
                time_unix,
            })
        });
        Ok(held.collect())
    }

    /// Creates a branch at a kept commit and returns the branch's name; no branch is ever moved.
    ///
    /// # Errors
    ///
    /// Fails if nothing is kept under that name, or if the branch exists and points elsewhere.
    pub fn recover(
        &self,
        run: &RunId,
        name: &str,
        branch: Option<&str>,
    ) -> Result<String, LandingError> {
        let none = || ResultRefusal::NoSnapshot {
            run: run.clone(),
            name: name.to_owned(),
        };
        let found = named(self.kept(run)?, name).ok_or_else(none)?;
        let branch = branch.map_or_else(
            || format!("orchestrate/recovered/{run}/{}", found.name),
            |branch| branch.to_owned(),
        );
        let there = self.repo.read_ref(&format!("refs/heads/{branch}"))?;
        if there.is_some_and(|there| there != found.commit) {
            return Err(ResultRefusal::BranchTaken {
                name: found.name,
                branch,
            }
            .into());
        }
        self.repo.restore(&found.commit, &branch)?;
        Ok(branch)
    }
}

/// Returns the commit of this name, or else the one whose digits begin so, if these name no other.
fn named(kept: Vec<KeptCommit>, name: &str) -> Option<KeptCommit> {
    if let Some(found) = kept.iter().find(|kept| kept.name == name) {
        return Some(found.clone());
    }
    let mut begin_so = kept;
    begin_so.retain(|kept| name.len() >= MIN_DIGITS && kept.commit.as_str().starts_with(name));
    let found = begin_so.first()?.clone();
    let is_one = begin_so.iter().all(|kept| kept.commit == found.commit);
    is_one.then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(name: &str, commit: &str) -> KeptCommit {
        KeptCommit {
            name: name.to_owned(),
            commit: Oid::from(commit),
            subject: String::new(),
            time_unix: 0,
        }
    }

    #[test]
    fn digits_name_a_commit_if_they_name_no_other() {
        let all = [
            kept("T1/1", "1234567aaa"),
            kept("T1/2", "1234567bbb"),
            kept("T2/1", "89abcdef00"),
            kept("T2/2", "89abcdef00"),
        ];
        let table = [
            ("T1/2", Some("1234567bbb")),
            ("1234567", None),
            ("1234567a", Some("1234567aaa")),
            ("89abcde", Some("89abcdef00")),
            ("89abcd", None),
            ("", None),
        ];
        for (name, expected) in table {
            let found = named(all.to_vec(), name).map(|kept| kept.commit);
            assert_eq!(found, expected.map(Oid::from), "{name}");
        }
    }
}
