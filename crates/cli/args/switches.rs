//! Options without a value, as settings.

/// Returns the settings that are switched on.
pub(super) fn on(switches: &[(&'static str, bool)]) -> Vec<(&'static str, String)> {
    switches
        .iter()
        .filter(|(_, on)| *on)
        .map(|(name, _)| (*name, "true".to_owned()))
        .collect()
}
