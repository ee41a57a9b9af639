//! The products whose role files are read, as far as their files mean different things.

/// The product that a role file is written for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Product {
    /// This program.
    Own,
    /// Claude Code.
    Claude,
    /// GitHub Copilot.
    Copilot,
    /// Gemini CLI.
    Gemini,
    /// opencode.
    OpenCode,
}

impl Product {
    /// Reports whether a role's name is that of its file; a `name` in the file is for display only.
    pub fn names_by_file(self) -> bool {
        matches!(self, Product::Copilot | Product::OpenCode)
    }

    /// Reports whether a file of this name is a role only with front matter: without, it may be
    /// something else, such as a README, unless its name says what it is.
    ///
    /// ```
    /// use orchestrate_roles::role::Product;
    /// assert!(Product::Copilot.requires_front_matter("README.md"));
    /// assert!(!Product::Copilot.requires_front_matter("CSharpExpert.agent.md"));
    /// assert!(!Product::Own.requires_front_matter("tester.md"));
    /// ```
    pub fn requires_front_matter(self, file_name: &str) -> bool {
        self.names_by_file() && !file_name.ends_with(".agent.md")
    }

    /// Reports whether a file's model has to name its provider: a bare name means something in its
    /// own product only.
    pub(super) fn requires_provider(self) -> bool {
        self != Product::Own
    }

    /// Returns the name of the role in a file, from the file's name; `None` if it is not a role
    /// file.
    ///
    /// ```
    /// use orchestrate_roles::role::Product;
    /// let name = Product::Copilot.role_name("CSharpExpert.agent.md");
    /// assert_eq!(name.as_deref(), Some("csharpexpert"));
    /// assert_eq!(Product::Own.role_name("tester.md").as_deref(), Some("tester"));
    /// assert_eq!(Product::Own.role_name("tester.txt"), None);
    /// ```
    pub fn role_name(self, file_name: &str) -> Option<String> {
        let stem = file_name
            .strip_suffix(".md")
            .filter(|stem| !stem.is_empty())?;
        if !self.names_by_file() {
            return Some(stem.to_owned());
        }
        let stem = stem
            .strip_suffix(".agent")
            .unwrap_or(stem)
            .to_ascii_lowercase();
        Some(
            stem.chars()
                .map(plain_letter)
                .collect::<String>()
                .trim_matches(['-', '_'])
                .to_owned(),
        )
    }
}

fn plain_letter(c: char) -> char {
    if c.is_ascii_alphanumeric() || c == '_' {
        c
    } else {
        '-'
    }
}
