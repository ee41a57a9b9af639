//! Roles: an agent's prompt, its tools, and what it delivers.
//!
//! A role is a Markdown file with optional YAML front matter in the format of other products, so that their files
//! work unchanged. Our own settings are strings below `metadata` with the prefix `orchestrate-`. Keys without
//! effect are reported, except cosmetic ones; those that look like a typo are reported with the known key, since
//! silently ignoring `dissallowedTools` would be worse than having no role. This module does not know which tools
//! exist; see [`Role::unknown_tools`].

mod definition;
mod front;

pub use definition::{DEFAULT_TOOLS, Delivers, MAX_NAME_BYTES, MAX_ROLE_BYTES, Role, RoleError, RoleWarning};

impl Role {
    /// Parses a role; `file_stem` is its name unless the file sets one.
    ///
    /// ```
    /// use orchestrate_plan::role::{Delivers, Role};
    /// let text = "---\ntools: Read, Grep\nmetadata:\n  orchestrate-delivers: report\n---\nYou review.\n";
    /// let (role, warnings) = Role::parse("reviewer", text)?;
    /// assert_eq!(role.tools, Some(vec!["read_file".to_owned(), "grep".to_owned()]));
    /// assert_eq!((role.delivers, warnings), (Delivers::Report, vec![]));
    /// # Ok::<(), orchestrate_plan::role::RoleError>(())
    /// ```
    ///
    /// # Errors
    /// The first problem of a file that is not a valid role.
    pub fn parse(file_stem: &str, text: &str) -> Result<(Self, Vec<RoleWarning>), RoleError> {
        if text.len() > MAX_ROLE_BYTES {
            return Err(RoleError::TooLarge { role: file_stem.to_owned(), bytes: text.len() });
        }
        let text = text.trim_start_matches('\u{feff}').replace("\r\n", "\n");
        let (front, body) = split(&text).ok_or_else(|| RoleError::OpenFrontMatter(file_stem.to_owned()))?;
        let prompt = body.trim();
        let mut reader = front::Reader::new(file_stem, front);
        let keys = reader.keys()?;
        let mut role = Self::bare(file_stem, prompt);
        for (key, value) in &keys {
            reader.store(&mut role, key, value)?;
        }
        let said = keys.get("metadata").and_then(|metadata| metadata.get(front::DELIVERS));
        if said.is_none() {
            role.delivers = if role.can_change_files() { Delivers::Changes } else { Delivers::Report };
        }
        if !is_name(&role.name) {
            return Err(RoleError::Name(role.name));
        }
        if role.prompt.is_empty() {
            return Err(RoleError::NoPrompt(role.name));
        }
        Ok((role, reader.warnings))
    }
}

/// Splits a file into front matter and body, which may contain `---` lines; `None` if the front matter is not closed.
fn split(text: &str) -> Option<(Option<&str>, &str)> {
    let mut lines = text.split_inclusive('\n');
    let Some(first) = lines.next().filter(|line| line.trim_end() == "---") else { return Some((None, text)) };
    let mut end = first.len();
    for line in lines {
        if line.trim_end() == "---" {
            return Some((text.get(first.len()..end), text.get(end + line.len()..).unwrap_or_default()));
        }
        end += line.len();
    }
    None
}

fn is_name(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let ends = |byte: Option<u8>| byte.is_some_and(plain);
    name.len() <= MAX_NAME_BYTES
        && ends(name.bytes().next())
        && ends(name.bytes().next_back())
        && name.bytes().all(|byte| plain(byte) || matches!(byte, b'-' | b'_'))
}

#[cfg(test)]
mod tests;
