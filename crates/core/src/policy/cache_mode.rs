//! How the cache is used.

use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A value that is not one of the known words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not one of {known}")]
pub struct UnknownWord {
    pub(crate) text: String,
    pub(crate) known: &'static str,
}

/// The words of other programs for replaying and storing.
const OF_OTHERS: [&str; 4] = ["readwrite", "read-write", "read_write", "rw"];

/// How the cache is used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CacheMode {
    /// Not at all.
    #[default]
    Off,
    /// Stored results are replayed, and none is stored.
    Read,
    /// Results are stored, and none is replayed.
    Write,
    /// Stored results are replayed, and new ones stored.
    Use,
}

impl CacheMode {
    /// Returns the mode that the environment asks for by `CACHE_MODE` and `CACHE_SKIP`, if any.
    /// Words that other programs have for [`CacheMode::Use`] stand for it; [`CacheMode::foreign`]
    /// says so.
    ///
    /// # Errors
    /// Fails if a variable has an unknown value.
    pub fn of_variables(
        mode: Option<&str>,
        skip: Option<&str>,
    ) -> Result<Option<CacheMode>, UnknownWord> {
        let mode = match mode {
            Some(text) if OF_OTHERS.contains(&text) => Some(CacheMode::Use),
            Some(text) => Some(text.parse()?),
            None => None,
        };
        let skips = match skip.map(str::to_ascii_lowercase).as_deref() {
            None | Some("" | "0" | "false") => false,
            Some("1" | "true") => true,
            Some(other) => {
                return Err(UnknownWord {
                    text: other.to_owned(),
                    known: "true, false",
                });
            }
        };
        Ok(if skips { Some(CacheMode::Use) } else { mode })
    }

    /// Returns a warning if the value of `CACHE_MODE` is another program's word.
    pub fn foreign(mode: Option<&str>) -> Option<String> {
        let text = mode.filter(|text| OF_OTHERS.contains(text))?;
        Some(format!("CACHE_MODE={text} is read as `{}`", CacheMode::Use))
    }

    /// Reports whether stored results may be replayed.
    pub fn reads(self) -> bool {
        matches!(self, CacheMode::Read | CacheMode::Use)
    }

    /// Reports whether results are stored.
    pub fn writes(self) -> bool {
        matches!(self, CacheMode::Write | CacheMode::Use)
    }
}

impl FromStr for CacheMode {
    type Err = UnknownWord;

    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        match text {
            "off" => Ok(CacheMode::Off),
            "read" => Ok(CacheMode::Read),
            "write" => Ok(CacheMode::Write),
            "use" => Ok(CacheMode::Use),
            _ => Err(UnknownWord {
                text: text.to_owned(),
                known: "off, read, write, use",
            }),
        }
    }
}

impl Display for CacheMode {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            CacheMode::Off => "off",
            CacheMode::Read => "read",
            CacheMode::Write => "write",
            CacheMode::Use => "use",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_chooses_the_mode() {
        let table = [
            (None, None, Ok(None)),
            (Some("use"), None, Ok(Some(CacheMode::Use))),
            (Some("read"), Some("false"), Ok(Some(CacheMode::Read))),
            (Some("off"), Some("true"), Ok(Some(CacheMode::Use))),
            (None, Some("TRUE"), Ok(Some(CacheMode::Use))),
            (Some("readwrite"), None, Ok(Some(CacheMode::Use))),
            (None, Some(""), Ok(None)),
        ];
        for (mode, skip, expected) in table {
            assert_eq!(
                CacheMode::of_variables(mode, skip),
                expected,
                "{mode:?} {skip:?}"
            );
        }
        let warnings = [None, Some("use"), Some("readwrite")].map(CacheMode::foreign);
        assert_eq!(
            warnings,
            [
                None,
                None,
                Some("CACHE_MODE=readwrite is read as `use`".to_owned())
            ]
        );
        let wrong = CacheMode::of_variables(Some("all"), None).unwrap_err();
        assert_eq!(
            wrong.to_string(),
            "`all` is not one of off, read, write, use"
        );
        assert!(CacheMode::of_variables(None, Some("maybe")).is_err());
    }
}
