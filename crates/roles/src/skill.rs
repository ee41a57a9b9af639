//! Agent Skills: procedures that an agent reads when its task calls for them.
//!
//! A skill is a folder with a `SKILL.md`: front matter with a name and a description, which every
//! agent sees, and a body, which an agent reads on demand. The rules are those of the public
//! specification (agentskills.io). Keys that it does not define are ignored, since products add
//! their own.

use orchestrate_core::text::in_one_line;
use serde_json::Value;

use crate::front_and_body::{Front, normalized, split, text};

/// The file of a skill, below its folder.
pub const SKILL_FILE: &str = "SKILL.md";

/// The maximum size of a skill's file; the specification recommends less than 500 lines.
pub const MAX_SKILL_BYTES: usize = 64 * 1024;

const MAX_NAME: usize = 64;
const MAX_DESCRIPTION: usize = 1024;
const MAX_COMPATIBILITY: usize = 500;

/// A skill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skill {
    /// Its name, which is that of its folder.
    pub name: String,
    /// What it is for, in one line.
    pub description: String,
    /// The text below the front matter.
    pub body: String,
    /// Whether only a person may start it, so that agents do not hear of it.
    pub is_for_people: bool,
}

/// Why a folder's file is not a valid skill.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("read skill `{folder}`: {problem}")]
pub struct SkillError {
    /// The folder's name.
    pub folder: String,
    /// What is wrong.
    pub problem: SkillProblem,
}

/// What is wrong with a skill's file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SkillProblem {
    /// The file is larger than [`MAX_SKILL_BYTES`].
    #[error("it has more than {MAX_SKILL_BYTES} bytes")]
    TooLarge,
    /// There is no front matter.
    #[error("it has no front matter with a name and a description")]
    NoFrontMatter,
    /// The front matter is not closed.
    #[error("its front matter is not closed; end it with a line `---`")]
    OpenFrontMatter,
    /// The front matter is not a YAML mapping.
    #[error("line {line}: {reason}")]
    FrontMatter {
        /// The line in the file, from 1.
        line: usize,
        /// The parser's message.
        reason: String,
    },
    /// A required key is missing or empty.
    #[error("it has no `{0}`")]
    Missing(&'static str),
    /// The name contains characters that are not allowed.
    #[error(
        "line {line}: the name `{name}` is not 1 to {MAX_NAME} lower-case letters, digits and \
         single hyphens between them"
    )]
    Name {
        /// The line in the file, from 1.
        line: usize,
        /// The name as written.
        name: String,
    },
    /// The name is not that of the folder.
    #[error("line {line}: its name is `{name}`, which must be the name of its folder")]
    OtherName {
        /// The line in the file, from 1.
        line: usize,
        /// The name as written.
        name: String,
    },
    /// A value is not valid for its key.
    #[error("line {line}: `{key}` expects {expected}")]
    Value {
        /// The line in the file, from 1.
        line: usize,
        /// The key.
        key: &'static str,
        /// The values that it accepts.
        expected: String,
    },
}

impl Skill {
    /// Parses the file of a skill in a folder of this name.
    ///
    /// ```
    /// use orchestrate_roles::Skill;
    /// let text = "---\nname: release\ndescription: Cuts a release.\n---\nTag the commit.\n";
    /// assert_eq!(Skill::parse("release", text)?.body, "Tag the commit.");
    /// # Ok::<(), orchestrate_roles::skill::SkillError>(())
    /// ```
    ///
    /// # Errors
    /// The first violation of the specification.
    pub fn parse(folder: &str, text: &str) -> Result<Self, SkillError> {
        parse(folder, text).map_err(|problem| SkillError {
            folder: folder.to_owned(),
            problem,
        })
    }
}

fn parse(folder: &str, file: &str) -> Result<Skill, SkillProblem> {
    if file.len() > MAX_SKILL_BYTES {
        return Err(SkillProblem::TooLarge);
    }
    let file = normalized(file);
    let (front, body) = split(&file).ok_or(SkillProblem::OpenFrontMatter)?;
    let front = front.ok_or(SkillProblem::NoFrontMatter)?;
    let front = Front::parse(front).map_err(|wrong| SkillProblem::FrontMatter {
        line: wrong.line,
        reason: wrong.reason,
    })?;
    check_optional(&front)?;
    let name = name(&front, folder)?;
    let description = require(&front, "description", MAX_DESCRIPTION)?;
    let description = description.ok_or(SkillProblem::Missing("description"))?;
    Ok(Skill {
        name,
        description: in_one_line(&description),
        body: body.trim().to_owned(),
        is_for_people: front.get("disable-model-invocation") == Some(&Value::Bool(true)),
    })
}

fn name(front: &Front, folder: &str) -> Result<String, SkillProblem> {
    let name = front.get("name").and_then(text);
    let name = name.ok_or(SkillProblem::Missing("name"))?;
    let line = front.line("name");
    if !is_name(&name) {
        return Err(SkillProblem::Name { line, name });
    }
    if name != folder {
        return Err(SkillProblem::OtherName { line, name });
    }
    Ok(name)
}

/// Returns a text of at most `most` characters; `None` if it is missing or empty.
fn require(front: &Front, key: &'static str, most: usize) -> Result<Option<String>, SkillProblem> {
    let Some(value) = front.get(key) else {
        return Ok(None);
    };
    match text(value).filter(|text| text.chars().count() <= most) {
        Some(found) => Ok(Some(found).filter(|text| !text.is_empty())),
        None => Err(wrong(
            front,
            key,
            &format!("a text of at most {most} characters"),
        )),
    }
}

fn check_optional(front: &Front) -> Result<(), SkillProblem> {
    require(front, "compatibility", MAX_COMPATIBILITY)?;
    if !front.get("metadata").is_none_or(Value::is_object) {
        return Err(wrong(front, "metadata", "a map"));
    }
    if !front.get("allowed-tools").is_none_or(is_list) {
        return Err(wrong(front, "allowed-tools", "a list of tools"));
    }
    Ok(())
}

fn wrong(front: &Front, key: &'static str, expected: &str) -> SkillProblem {
    SkillProblem::Value {
        line: front.line(key),
        key,
        expected: expected.to_owned(),
    }
}

fn is_list(value: &Value) -> bool {
    value.is_string() || value.is_array()
}

fn is_name(name: &str) -> bool {
    name.len() <= MAX_NAME && name.split('-').all(is_word)
}

fn is_word(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(is_plain)
}

fn is_plain(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_skill_is_read_as_the_specification_says() {
        let text = "\u{feff}---  \r\nname: pdf-forms\r\ndescription: |\r\n  Fills forms.\r\n  Use \
                    it when: asked.\r\n\
                    license: MIT\r\nmetadata:\r\n  version: \"1\"\r\nallowed-tools: Bash(git:*) \
                    Read\r\nversion: 2\r\n---\r\n\
                    \r\nFill.\r\n---\r\nDone.\r\n";
        let expected = Skill {
            name: "pdf-forms".to_owned(),
            description: "Fills forms. Use it when: asked.".to_owned(),
            body: "Fill.\n---\nDone.".to_owned(),
            is_for_people: false,
        };
        assert_eq!(Skill::parse("pdf-forms", text), Ok(expected));
        let hidden =
            "---\nname: a\ndescription: Use when: asked\ndisable-model-invocation: true\n---\n";
        assert!(Skill::parse("a", hidden).unwrap().is_for_people);
    }

    #[test]
    fn what_breaks_the_specification_says_why() {
        let long = "x".repeat(1_025);
        let bytes = "x".repeat(MAX_SKILL_BYTES + 1);
        let front = |lines: &str| format!("---\n{lines}\n---\nDo it.\n");
        let bad_name = |name: &str| {
            let rule = "is not 1 to 64 lower-case letters, digits and single hyphens between them";
            (
                front(&format!("name: {name}\ndescription: x")),
                format!("line 2: the name `{name}` {rule}"),
            )
        };
        let table = [
            (
                "Do it.\n".to_owned(),
                "it has no front matter with a name and a description".to_owned(),
            ),
            (
                "---\nname: a\n".to_owned(),
                "its front matter is not closed; end it with a line `---`".to_owned(),
            ),
            (bytes, "it has more than 65536 bytes".to_owned()),
            (front("description: x"), "it has no `name`".to_owned()),
            (front("name: a"), "it has no `description`".to_owned()),
            (
                front("name: a\ndescription: ''"),
                "it has no `description`".to_owned(),
            ),
            (
                front("name: b\ndescription: x"),
                "line 2: its name is `b`, which must be the name of its folder".to_owned(),
            ),
            bad_name("A"),
            bad_name("-a"),
            bad_name("a-"),
            bad_name("a--b"),
            bad_name("a_b"),
            bad_name(&"a".repeat(65)),
            (
                front(&format!("name: a\ndescription: {long}")),
                "line 3: `description` expects a text of at most 1024 characters".to_owned(),
            ),
            (
                front(&format!(
                    "name: a\ndescription: x\ncompatibility: {}",
                    "x".repeat(501)
                )),
                "line 4: `compatibility` expects a text of at most 500 characters".to_owned(),
            ),
            (
                front("name: a\ndescription: x\nmetadata: y"),
                "line 4: `metadata` expects a map".to_owned(),
            ),
            (
                front("name: a\ndescription: x\nallowed-tools: 7"),
                "line 4: `allowed-tools` expects a list of tools".to_owned(),
            ),
        ];
        for (text, expected) in table {
            let error = Skill::parse("a", &text).unwrap_err().to_string();
            assert_eq!(error, format!("read skill `a`: {expected}"), "{:.60}", text);
        }
    }
}
