//! Versions of git, and the features that depend on them.

/// The oldest git whose `merge-tree --write-tree` we rely on.
pub(crate) const OLDEST: Version = Version(2, 38);
/// The first version in which `merge-tree` can be told where attributes come from.
pub(crate) const ATTR_SOURCE: Version = Version(2, 41);

/// A version of git: major and minor number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Version(pub(crate) u32, pub(crate) u32);

impl Version {
    /// Parses the output of `git --version`.
    pub(crate) fn parse(printed: &str) -> Option<Version> {
        let mut numbers = printed.strip_prefix("git version ")?.split('.');
        Some(Version(
            numbers.next()?.parse().ok()?,
            numbers.next()?.parse().ok()?,
        ))
    }
}

impl std::fmt::Display for Version {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.0, self.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_and_ordered() {
        assert_eq!(Version::parse("git version 2.47.3"), Some(Version(2, 47)));
        assert_eq!(
            Version::parse("git version 2.39.5 (Apple Git-154)"),
            Some(Version(2, 39))
        );
        assert_eq!(Version::parse("gut version 2.1"), None);
        assert!(Version(2, 9) < OLDEST && Version(3, 0) > ATTR_SOURCE);
    }
}
