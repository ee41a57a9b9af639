//! The environment as a value: the source of keys and endpoints.
//!
//! The caller reads the process environment once and adds the user's own configuration; this crate
//! never accesses the process environment. `NAME_FILE` is the path of a file that contains the
//! value of `NAME`. Values are never shown: `Debug` lists only names.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::io::Read as _;

use crate::error::ModelError;

/// Maximum size of a file that a `*_FILE` variable names, in bytes. Keys are short, so a larger
/// file means a wrong path.
const MAX_VALUE_FILE_BYTES: u64 = 64 << 10;

/// The variables that keys, endpoints and proxies are read from.
#[derive(Clone, Default)]
pub struct Environment(BTreeMap<String, String>);

impl Environment {
    /// Returns the value of a variable, or else the content of the file that `NAME_FILE` names.
    ///
    /// White space around a value is removed, and an empty variable counts as not set.
    ///
    /// # Errors
    ///
    /// [`ModelError::Environment`] if the file cannot be read as text, is too large, or is empty.
    pub fn value(&self, name: &str) -> Result<Option<String>, ModelError> {
        if let Some(value) = self.plain(name) {
            return Ok(Some(value.to_owned()));
        }
        let variable = format!("{name}_FILE");
        match self.plain(&variable) {
            Some(path) => value_in_file(&variable, path).map(Some),
            None => Ok(None),
        }
    }

    /// Returns the name of the variable that [`Environment::value`] reads: `NAME` or `NAME_FILE`.
    pub(crate) fn source(&self, name: &str) -> String {
        match self.plain(name) {
            Some(_) => name.to_owned(),
            None => format!("{name}_FILE"),
        }
    }

    /// Reports whether a variable or its `*_FILE` form is set, without reading the file.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.plain(name).is_some() || self.plain(&format!("{name}_FILE")).is_some()
    }

    /// Returns the names of all variables.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    pub(crate) fn plain(&self, name: &str) -> Option<&str> {
        let value = self.0.get(name)?.trim();
        (!value.is_empty()).then_some(value)
    }
}

impl FromIterator<(String, String)> for Environment {
    fn from_iter<I: IntoIterator<Item = (String, String)>>(variables: I) -> Self {
        Self(variables.into_iter().collect())
    }
}

/// Collects the items of `std::env::vars_os`; those that are not UTF-8 cannot be keys or URLs and
/// are dropped.
impl FromIterator<(OsString, OsString)> for Environment {
    fn from_iter<I: IntoIterator<Item = (OsString, OsString)>>(variables: I) -> Self {
        let mut texts = BTreeMap::new();
        for (name, value) in variables {
            if let (Ok(name), Ok(value)) = (name.into_string(), value.into_string()) {
                texts.insert(name, value);
            }
        }
        Self(texts)
    }
}

impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

fn value_in_file(variable: &str, path: &str) -> Result<String, ModelError> {
    let problem = match beginning_of_file(path) {
        Ok(text) if text.len() as u64 > MAX_VALUE_FILE_BYTES => {
            format!("{path} is larger than {MAX_VALUE_FILE_BYTES} bytes")
        }
        Ok(text) if text.trim().is_empty() => format!("{path} is empty"),
        Ok(text) => return Ok(text.trim().to_owned()),
        Err(cause) => format!("cannot read {path}: {cause}"),
    };
    Err(ModelError::environment(variable, problem))
}

/// Reads at most one byte more of a file than a value may have.
fn beginning_of_file(path: &str) -> std::io::Result<String> {
    let mut text = String::new();
    std::fs::File::open(path)?
        .take(MAX_VALUE_FILE_BYTES + 1)
        .read_to_string(&mut text)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(pairs: &[(&str, &str)]) -> Environment {
        pairs
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect()
    }

    #[test]
    fn a_file_stands_in_for_a_variable() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        std::fs::write(&path, "sk-1\n").unwrap();
        let path = path.to_str().unwrap();
        let both = environment(&[
            ("A", "plain"),
            ("A_FILE", path),
            ("B", "  "),
            ("B_FILE", path),
            ("C_FILE", "/nope"),
        ]);
        assert_eq!(both.value("A").unwrap().as_deref(), Some("plain"));
        assert_eq!(both.value("B").unwrap().as_deref(), Some("sk-1"));
        assert_eq!(both.source("B"), "B_FILE");
        assert_eq!(both.value("D").unwrap(), None);
        assert_eq!(
            both.value("C").unwrap_err().to_string(),
            "use C_FILE: cannot read /nope: No such file or directory (os error 2)"
        );
    }

    #[test]
    fn values_are_not_shown() {
        assert_eq!(
            format!("{:?}", environment(&[("KEY", "secret")])),
            "{\"KEY\"}"
        );
    }
}
