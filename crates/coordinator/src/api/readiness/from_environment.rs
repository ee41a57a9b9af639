//! Settings from the environment, for programs that use the library as the terminal does: with the
//! user's folders, keys and `ORCHESTRATE_…` variables. No configuration file is read; the
//! terminal's own crate does that.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

use orchestrate_settings::{Directories, Inputs, Layer};

use crate::api::readiness::preflight::settings_of;
use crate::error::CoordinatorError;
use crate::run::program::settings::Settings;
use crate::texts::tool_files::tool_names;

impl Settings {
    /// Creates settings from this process's environment: the user's folders for state and
    /// configuration, keys and endpoints, git's variables for the author of commits, and every
    /// `ORCHESTRATE_…` variable, such as `ORCHESTRATE_MODEL`. No configuration file is read, and
    /// nobody can be asked for approval.
    ///
    /// # Errors
    ///
    /// Fails if a variable has an invalid value, or if there is no home directory.
    pub fn from_env() -> Result<Self, CoordinatorError> {
        Self::of_variables(environment_variables())
    }

    /// Creates settings from these variables, as [`Settings::from_env`] does from those of the
    /// process.
    ///
    /// # Errors
    ///
    /// See [`Settings::from_env`].
    pub fn of_variables(variables: BTreeMap<String, String>) -> Result<Self, CoordinatorError> {
        let directories = Directories::find(&variables)
            .map_err(|problem| CoordinatorError::Variables(vec![problem]))?;
        let current = PathBuf::from(".");
        let inputs = Inputs {
            flags: Layer::default(),
            plan: Layer::default(),
            tools: tool_names(Some(&directories.config), None)?,
            directory: std::path::absolute(&current).map_err(CoordinatorError::at(current))?,
            headless: true,
            variables,
            directories,
        };
        let loaded = inputs
            .load_environment()
            .map_err(CoordinatorError::Variables)?;
        loaded
            .resolved
            .warnings
            .iter()
            .for_each(|warning| tracing::warn!("{warning}"));
        Ok(settings_of(&loaded, &inputs.directories))
    }
}

/// Returns the variables of this process that are UTF-8, since no others can be settings.
#[expect(
    clippy::disallowed_methods,
    reason = "a program without a terminal's crate asks for exactly this"
)]
pub fn environment_variables() -> BTreeMap<String, String> {
    let as_text = |(name, value): (OsString, OsString)| {
        Some((name.into_string().ok()?, value.into_string().ok()?))
    };
    std::env::vars_os().filter_map(as_text).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables(given: &[(&str, &str)]) -> BTreeMap<String, String> {
        given
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect()
    }

    #[test]
    fn keys_folders_and_the_model_come_from_the_environment() {
        let given = [
            ("HOME", "/home/me"),
            ("XDG_STATE_HOME", "/state"),
            ("OPENAI_API_KEY", "sk-given"),
            ("ORCHESTRATE_MODEL", "openai/gpt-5"),
            ("ORCHESTRATE_MAX_AGENTS", "3"),
        ];
        let settings = Settings::of_variables(variables(&given)).unwrap();
        assert_eq!(
            settings
                .environment
                .get("OPENAI_API_KEY")
                .map(String::as_str),
            Some("sk-given")
        );
        assert_eq!(settings.state_dir, PathBuf::from("/state/orchestrate"));
        assert_eq!(
            settings.user_config_dir,
            Some(PathBuf::from("/home/me/.config/orchestrate"))
        );
        assert_eq!(
            (settings.run.model.as_deref(), settings.run.max_agents),
            (Some("openai/gpt-5"), 3)
        );
    }

    #[test]
    fn a_variable_with_an_invalid_value_is_an_error() {
        let given = [("HOME", "/home/me"), ("ORCHESTRATE_MAX_AGENTS", "many")];
        let error = Settings::of_variables(variables(&given))
            .err()
            .unwrap()
            .to_string();
        assert!(error.contains("ORCHESTRATE_MAX_AGENTS"), "{error}");
        let error = Settings::of_variables(variables(&[]))
            .err()
            .unwrap()
            .to_string();
        assert!(error.contains("no home directory is set"), "{error}");
    }
}
