//! Roles: an agent's prompt, its tools, and what it delivers.
//!
//! A role is a Markdown file with optional YAML front matter in the format of other products, so
//! that their files work unchanged. Our own settings are strings below `metadata` with the prefix
//! `orchestrate-`. Keys without effect are reported, except cosmetic ones; those that look like a
//! typo are reported with the known key, since silently ignoring `dissallowedTools` would be worse
//! than having no role. Which tools exist is an argument; see [`Role::unknown_tools`].

mod definition;
mod front;
mod product;

pub use definition::{MAX_NAME_BYTES, MAX_ROLE_BYTES, Role, RoleError, RoleWarning};
pub use product::Product;

use orchestrate_core::policy::tool_names::ToolNames;
use orchestrate_core::task::Delivers;

use crate::front_and_body::{normalized, split};

impl Role {
    /// Parses a role; `file_stem` is its name unless the file sets one.
    ///
    /// ```
    /// use orchestrate_core::policy::tool_names::ToolNames;
    /// use orchestrate_core::task::Delivers;
    /// use orchestrate_roles::role::Role;
    /// let mut names = ToolNames::default();
    /// names.add_alias("Read", "read_file");
    /// let text = "---\ntools: Read, Grep\nmetadata:\n  orchestrate-delivers: report\n\
    ///     ---\nYou review.\n";
    /// let (role, warnings) = Role::parse("reviewer", text, &names)?;
    /// assert_eq!(role.tools, Some(vec!["read_file".to_owned(), "Grep".to_owned()]));
    /// assert_eq!((role.delivers, warnings), (Delivers::Report, vec![]));
    /// # Ok::<(), orchestrate_roles::role::RoleError>(())
    /// ```
    ///
    /// # Errors
    /// The first problem of a file that is not a valid role.
    pub fn parse(
        file_stem: &str,
        text: &str,
        names: &ToolNames,
    ) -> Result<(Self, Vec<RoleWarning>), RoleError> {
        Self::parse_as(Product::Own, file_stem, text, names)
    }

    /// Parses a role that is written for a product; `name` is its name by [`Product::role_name`].
    ///
    /// # Errors
    /// As [`Role::parse`]; also for a role that the file disables.
    pub fn parse_as(
        product: Product,
        name: &str,
        text: &str,
        names: &ToolNames,
    ) -> Result<(Self, Vec<RoleWarning>), RoleError> {
        if text.len() > MAX_ROLE_BYTES {
            return Err(RoleError::TooLarge {
                role: name.to_owned(),
                bytes: text.len(),
            });
        }
        let text = normalized(text);
        let (front, body) =
            split(&text).ok_or_else(|| RoleError::OpenFrontMatter(name.to_owned()))?;
        let prompt = body.trim();
        let front = front::parse(name, front.unwrap_or(""))?;
        let mut reader = front::Reader {
            role: name,
            product,
            front: &front,
            names,
            warnings: Vec::new(),
        };
        let mut role = Self::bare(name, prompt);
        for entry in front.entries() {
            reader.store(&mut role, &entry.key, &entry.value)?;
        }
        let metadata = front.get("metadata");
        if metadata.is_none_or(|own| own.get(front::DELIVERS).is_none()) {
            role.delivers = role.delivers_by_its_tools(names);
        }
        role.require_name_and_prompt()?;
        Ok((role, reader.warnings))
    }

    /// Completes a role that a program defines, not a file: what its tasks deliver follows from its
    /// tools.
    ///
    /// # Errors
    /// Its name is not that of a role, or it has no prompt.
    pub fn complete(mut self, names: &ToolNames) -> Result<Self, RoleError> {
        self.delivers = self.delivers_by_its_tools(names);
        self.require_name_and_prompt()?;
        Ok(self)
    }

    fn delivers_by_its_tools(&self, names: &ToolNames) -> Delivers {
        if self.can_change_files(names) {
            Delivers::Changes
        } else {
            Delivers::Report
        }
    }

    fn require_name_and_prompt(&self) -> Result<(), RoleError> {
        if !is_name(&self.name) {
            return Err(RoleError::Name(self.name.clone()));
        }
        if self.prompt.is_empty() {
            return Err(RoleError::NoPrompt(self.name.clone()));
        }
        Ok(())
    }
}

/// Reports whether a file begins with front matter, closed or not.
pub fn has_front_matter(text: &str) -> bool {
    !matches!(split(&normalized(text)), Some((None, _)))
}

/// Reports whether a role may have this name.
fn is_name(name: &str) -> bool {
    name.len() <= MAX_NAME_BYTES
        && ends_plainly(name.bytes().next())
        && ends_plainly(name.bytes().next_back())
        && name
            .bytes()
            .all(|byte| is_plain(byte) || matches!(byte, b'-' | b'_'))
}

fn ends_plainly(byte: Option<u8>) -> bool {
    byte.is_some_and(is_plain)
}

fn is_plain(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit()
}

#[cfg(test)]
mod tests;
