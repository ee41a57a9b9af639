//! The roles of a run: the shipped ones, the user's, and the project's at the base commit.
//!
//! A project's roles are read from the base commit and not from a child's branch, so that no agent
//! can change another agent's permissions. The nearest scope takes precedence: the project, then
//! the user, then the shipped roles.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::OnceLock;

use orchestrate_core::event::settings::RunSettings;
use orchestrate_core::policy::tool_names::ToolNames;
use orchestrate_core::secrecy::taint::{PossibleTaint, possible};
use orchestrate_core::task::{Delivers, Work};
use orchestrate_core::{Oid, Task, TaskId};
use orchestrate_files::{Links, entries, read_plain};
use orchestrate_git::Repo;
use orchestrate_model::Provider;
use orchestrate_plan::KnownNames;
use orchestrate_roles::role::{
    MAX_ROLE_BYTES, Product, Role, RoleError, RoleWarning, has_front_matter,
};

use crate::error::CoordinatorError;
use crate::texts::prompts::{TextWithin, passed_over, text_within};

/// The shipped roles.
const SHIPPED: [(&str, &str); 7] = [
    ("implementer", include_str!("../../agents/implementer.md")),
    ("tester", include_str!("../../agents/tester.md")),
    ("reviewer", include_str!("../../agents/reviewer.md")),
    ("researcher", include_str!("../../agents/researcher.md")),
    ("resolver", include_str!("../../agents/resolver.md")),
    ("coordinator", include_str!("../../agents/coordinator.md")),
    ("planner", include_str!("../../agents/planner.md")),
];

/// The folders of a project's roles, nearest first, with the products that they are written for.
const PROJECT_FOLDERS: [(&str, Product); 8] = [
    (".orchestrate/agents", Product::Own),
    ("agents", Product::Own),
    (".agents/agents", Product::Own),
    (".claude/agents", Product::Claude),
    (".github/agents", Product::Copilot),
    (".gemini/agents", Product::Gemini),
    (".opencode/agents", Product::OpenCode),
    (".opencode/agent", Product::OpenCode),
];

/// The origin of a shipped role.
const OF_PROGRAM: &str = "shipped";

/// The origin of a role that the program defines which uses the library.
const BY_PROGRAM: &str = "program";

/// Marks the tasks that end with a verdict: those whose role does, if they depend on tasks that
/// will run.
pub(crate) fn with_verdicts(roles: &Roles, default_role: &str, tasks: Vec<Task>) -> Vec<Task> {
    let run: BTreeSet<TaskId> = tasks
        .iter()
        .filter(|task| task.status.runs())
        .map(|task| task.id.clone())
        .collect();
    let reviews = |task: &Task| {
        let Work::Agent(named) = &task.work else {
            return false;
        };
        let role = roles.role(named.as_deref().unwrap_or(default_role));
        // An unknown role is reported when its task starts.
        role.is_ok_and(|role| role.delivers == Delivers::Verdict)
            && task.depends.iter().any(|on| run.contains(on))
    };
    tasks
        .into_iter()
        .map(|task| Task {
            verdict: reviews(&task),
            ..task
        })
        .collect()
}

/// Returns the names that a plan may use; `any_model` means that the user's own server accepts
/// every name.
pub fn known_names(roles: &Roles, any_model: bool) -> KnownNames {
    let providers = Provider::WITH_KEYS
        .into_iter()
        .chain(Provider::LOCAL)
        .filter(|_| !any_model);
    KnownNames {
        roles: roles.iter().map(|(name, _)| name.to_owned()).collect(),
        providers: providers
            .map(|provider| provider.name().to_owned())
            .collect(),
        ..KnownNames::default()
    }
}

/// A role that a program defines, instead of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProgramRole {
    /// Its name: lower-case letters, digits, `-` and `_`.
    pub name: String,
    /// When to use it, in one line.
    pub description: String,
    /// The system prompt.
    pub prompt: String,
    /// The tools that its agents have, by any of their names; `None` means the default set.
    pub tools: Option<Vec<String>>,
    /// `provider/model`; `None` means the run's.
    pub model: Option<String>,
    /// Maximum number of turns of an attempt.
    pub max_turns: Option<u32>,
}

/// A role and its origin.
#[derive(Clone, Debug)]
pub struct FoundRole {
    /// The role.
    pub role: Role,
    /// `shipped`, or the file.
    pub origin: String,
    /// Whether the file is the project's.
    pub is_of_project: bool,
    /// The origins of farther roles of the same name, which have no effect, nearest first.
    pub shadowed: Vec<String>,
    /// Warnings about the file.
    pub warnings: Vec<String>,
}

/// The roles of a run, by name.
///
/// Other programs keep their agents in the same folders, so a file that is not a valid role is
/// ignored with a warning; it still hides farther roles with its names (the file's name, and the
/// one in it), which its author did not intend.
#[derive(Clone, Debug, Default)]
pub struct Roles {
    /// The tools that they may name.
    tools: ToolNames,
    found: BTreeMap<String, FoundRole>,
    left_out: Vec<String>,
}

impl Roles {
    /// Loads the shipped roles, those of the user's folder, and those of the project at a commit.
    ///
    /// # Errors
    ///
    /// Fails if a file cannot be read.
    pub fn load(
        repo: &Repo,
        base: &Oid,
        user_folder: Option<&Path>,
        names: &ToolNames,
    ) -> Result<Self, CoordinatorError> {
        let mut roles = Self::without_project(user_folder, names)?;
        for (folder, product) in PROJECT_FOLDERS.into_iter().rev() {
            // The last one added counts, which is the first of a folder's files of one name.
            for path in repo
                .store()
                .list_files(base, Path::new(folder))?
                .into_iter()
                .rev()
            {
                let Some(name) = role_name(product, &path) else {
                    continue;
                };
                let text = match text_within(repo, base, &path)? {
                    TextWithin::Found(text) => text,
                    TextWithin::Missing => continue,
                    TextWithin::LinkLeadsOut => {
                        roles.pass_over(&name, &path);
                        continue;
                    }
                };
                roles.add(
                    RoleFile {
                        product,
                        name: &name,
                        text: &text,
                        origin: path.display().to_string(),
                        is_of_project: true,
                    },
                    names,
                );
            }
        }
        Ok(roles)
    }

    /// Loads the shipped roles and those of the user's folder.
    ///
    /// # Errors
    ///
    /// Fails if a file cannot be read.
    pub fn without_project(
        user_folder: Option<&Path>,
        names: &ToolNames,
    ) -> Result<Self, CoordinatorError> {
        let (mut roles, product) = (Self::shipped(names), Product::Own);
        if let Some(folder) = user_folder {
            for path in files_in(&folder.join("agents"))?.into_iter().rev() {
                let Some(name) = role_name(product, &path) else {
                    continue;
                };
                let failed = CoordinatorError::at(&path);
                let bytes =
                    read_plain(&path, Links::Anywhere, MAX_ROLE_BYTES as u64).map_err(&failed)?;
                let text = String::from_utf8(bytes)
                    .map_err(|error| failed(std::io::Error::other(error)))?;
                roles.add(
                    RoleFile {
                        product,
                        name: &name,
                        text: &text,
                        origin: path.display().to_string(),
                        is_of_project: false,
                    },
                    names,
                );
            }
        }
        Ok(roles)
    }

    /// Returns the shipped roles. They are parsed once in a process, as long as the tools that they
    /// may name are the same: a start of the program asks for them several times.
    fn shipped(names: &ToolNames) -> Self {
        static FIRST: OnceLock<Roles> = OnceLock::new();
        let first = FIRST.get_or_init(|| Self::parse_shipped(names));
        if first.tools == *names {
            return first.clone();
        }
        Self::parse_shipped(names)
    }

    fn parse_shipped(names: &ToolNames) -> Self {
        let mut roles = Self {
            tools: names.clone(),
            ..Self::default()
        };
        for (name, text) in SHIPPED {
            let file = RoleFile {
                product: Product::Own,
                name,
                text,
                origin: OF_PROGRAM.to_owned(),
                is_of_project: false,
            };
            roles.add(file, names);
        }
        roles
    }

    /// Adds the roles of the program, which hide all others of their names.
    ///
    /// # Errors
    ///
    /// Fails if a name is not that of a role, or a tool does not exist.
    pub(crate) fn add_of_program(&mut self, roles: &[ProgramRole]) -> Result<(), CoordinatorError> {
        for given in roles {
            let role = self.of_program(given)?;
            let farther = self.found.remove(&role.name);
            let shadowed = farther
                .into_iter()
                .flat_map(|farther| std::iter::once(farther.origin).chain(farther.shadowed));
            let found = FoundRole {
                origin: BY_PROGRAM.to_owned(),
                is_of_project: false,
                shadowed: shadowed.collect(),
                warnings: Vec::new(),
                role,
            };
            self.found.insert(found.role.name.clone(), found);
        }
        Ok(())
    }

    fn of_program(&self, given: &ProgramRole) -> Result<Role, CoordinatorError> {
        let unusable = |reason: String| CoordinatorError::ProgramRole {
            role: given.name.clone(),
            reason,
        };
        let tools = given.tools.as_ref().map(|tools| {
            let named = tools.iter().flat_map(|tool| self.tools.in_role(tool));
            named.collect()
        });
        let role = Role {
            name: given.name.clone(),
            description: given.description.clone(),
            prompt: given.prompt.clone(),
            tools,
            model: given.model.clone(),
            max_turns: given.max_turns,
            ..Role::default()
        };
        if let Some(unknown) = role.unknown_tools(&self.tools).first() {
            return Err(unusable(unknown.to_string()));
        }
        role.complete(&self.tools)
            .map_err(|error| unusable(error.to_string()))
    }

    fn add(&mut self, file: RoleFile<'_>, names: &ToolNames) {
        let (role, warnings) = match file.parse(names) {
            Ok(parsed) => parsed,
            Err(error) => {
                let RoleFile {
                    product,
                    name,
                    text,
                    origin,
                    ..
                } = file;
                let written = name_in(text).filter(|_| !product.names_by_file());
                for name in [Some(name), written].into_iter().flatten() {
                    self.found.remove(name);
                }
                self.left_out.push(format!(
                    "{origin} is not a valid role and is ignored: failed to {error}"
                ));
                return;
            }
        };
        let (origin, is_of_project) = (file.origin, file.is_of_project);
        // An unknown tool would silently be missing.
        let unknown = role.unknown_tools(names);
        let mut warnings: Vec<String> = warnings
            .iter()
            .chain(&unknown)
            .map(ToString::to_string)
            .collect();
        let shadowed = match self.found.remove(&role.name) {
            Some(farther) => {
                if Path::new(&farther.origin).parent() == Path::new(&origin).parent() {
                    warnings.push(format!(
                        "{} has the same name, `{}`, and no effect",
                        farther.origin, role.name
                    ));
                }
                std::iter::once(farther.origin)
                    .chain(farther.shadowed)
                    .collect()
            }
            None => Vec::new(),
        };
        self.found.insert(
            role.name.clone(),
            FoundRole {
                role,
                origin,
                is_of_project,
                shadowed,
                warnings,
            },
        );
    }

    /// Leaves out a link to a file that the commit does not contain. As any file that is no valid
    /// role, it hides farther roles with its name.
    fn pass_over(&mut self, name: &str, link: &Path) {
        self.found.remove(name);
        self.left_out.push(passed_over(link));
    }

    /// Returns the files that are not valid roles, with the reasons.
    pub fn left_out(&self) -> &[String] {
        &self.left_out
    }

    /// Returns the warnings about the files of these roles, each once.
    pub fn warnings_of<'a>(&self, names: impl IntoIterator<Item = &'a str>) -> Vec<String> {
        let names: BTreeSet<&str> = names.into_iter().collect();
        let found = names.into_iter().filter_map(|name| self.found.get(name));
        found
            .flat_map(|found| {
                found
                    .warnings
                    .iter()
                    .map(|warning| format!("{}: {warning}", found.origin))
            })
            .collect()
    }

    /// Returns warnings about those of these roles whose agents could be made to give private data
    /// away.
    pub fn taint_warnings_of<'a>(
        &self,
        names: impl IntoIterator<Item = &'a str>,
        settings: &RunSettings,
    ) -> Vec<String> {
        let (tools, names) = (&self.tools, names.into_iter().collect::<BTreeSet<&str>>());
        let warning = |name: &str| {
            let role = &self.found.get(name)?.role;
            let PossibleTaint {
                reads_outside,
                reads_private,
                sends,
            } = possible(&role.grant(tools), tools, settings)?;
            Some(format!(
                "agents of the role `{name}` can read text from outside (`{reads_outside}`) and \
                 private data (`{reads_private}`), and send data out (`{sends}`): such text could \
                 make them give the data away. Let one role read the web and another the files, or \
                 set `taint.policy`"
            ))
        };
        names.into_iter().filter_map(warning).collect()
    }

    /// Reports whether the agents of a role have a tool.
    pub(crate) fn grants(&self, role: &Role, tool: &str) -> bool {
        let permission = self.tools.tool(tool).map(|traits| traits.permission);
        permission.is_some_and(|permission| role.grant(&self.tools).permits(tool, permission))
    }

    /// Returns a role.
    ///
    /// # Errors
    ///
    /// Fails with the known names if there is no such role.
    pub fn role(&self, name: &str) -> Result<&Role, CoordinatorError> {
        self.found(name).map(|found| &found.role)
    }

    /// Returns a role with its origin.
    ///
    /// # Errors
    ///
    /// Fails with the known names if there is no such role.
    pub fn found(&self, name: &str) -> Result<&FoundRole, CoordinatorError> {
        let known = || self.found.keys().cloned().collect::<Vec<_>>().join(", ");
        let found = self.found.get(name);
        found.ok_or_else(|| CoordinatorError::UnknownRole {
            name: name.to_owned(),
            known: known(),
        })
    }

    /// Returns all roles by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &FoundRole)> {
        self.found
            .iter()
            .map(|(name, found)| (name.as_str(), found))
    }
}

/// A file that may be a role.
struct RoleFile<'a> {
    product: Product,
    /// The name of its role, unless the text sets one.
    name: &'a str,
    text: &'a str,
    origin: String,
    is_of_project: bool,
}

impl RoleFile<'_> {
    fn parse(&self, names: &ToolNames) -> Result<(Role, Vec<RoleWarning>), RoleError> {
        let file_name = Path::new(&self.origin)
            .file_name()
            .unwrap_or_default()
            .to_string_lossy();
        if self.product.requires_front_matter(&file_name) && !has_front_matter(self.text) {
            return Err(RoleError::NoFrontMatter(self.name.to_owned()));
        }
        Role::parse_as(self.product, self.name, self.text, names)
    }
}

/// Returns the name in a front matter that may be malformed elsewhere.
fn name_in(text: &str) -> Option<&str> {
    let mut lines = text.trim_start_matches('\u{feff}').lines();
    lines.next().filter(is_fence)?;
    let name = lines
        .take_while(|line| !is_fence(line))
        .find_map(|line| line.strip_prefix("name:"))?;
    Some(
        name.split(" #")
            .next()
            .unwrap_or(name)
            .trim()
            .trim_matches(['"', '\'']),
    )
}

fn is_fence(line: &&str) -> bool {
    line.trim_end() == "---"
}

fn role_name(product: Product, path: &Path) -> Option<String> {
    product.role_name(&path.file_name()?.to_string_lossy())
}

fn files_in(folder: &Path) -> Result<Vec<std::path::PathBuf>, CoordinatorError> {
    let mut files = entries(folder).map_err(CoordinatorError::at(folder))?;
    files.retain(|path| path.extension().is_some_and(|extension| extension == "md"));
    Ok(files)
}

#[cfg(test)]
mod tests {
    use orchestrate_core::TokenCounter as _;

    use super::*;
    use crate::texts::project_texts::builtin_names;
    use crate::texts::prompts::Prompts;

    fn add(roles: &mut Roles, product: Product, origin: &str, text: &str) {
        let name = role_name(product, Path::new(origin)).unwrap();
        roles.add(
            RoleFile {
                product,
                name: &name,
                text,
                origin: origin.to_owned(),
                is_of_project: true,
            },
            &builtin_names().unwrap(),
        );
    }

    #[test]
    fn a_tool_that_nobody_has_is_warned_of_and_no_shipped_role_names_one() {
        let mut roles = Roles::without_project(None, &builtin_names().unwrap()).unwrap();
        let text = "---\nname: mine\ndescription: Mine.\ntools: Read, Raed\n---\nYou work.\n";
        add(&mut roles, Product::Own, "mine.md", text);
        let warned: Vec<(&str, bool)> = roles
            .iter()
            .filter_map(|(name, found)| Some((name, found.warnings.first()?.contains("`Raed`"))))
            .collect();
        assert_eq!((warned, roles.left_out()), (vec![("mine", true)], &[][..]));
    }

    /// What every request of an agent begins with leaves room for its work.
    #[test]
    fn the_fixed_prompt_of_each_shipped_role_stays_within_its_limit() {
        const MOST_TOKENS: usize = 2_500;
        let registry = orchestrate_tools::plain_tools().unwrap();
        let roles = Roles::without_project(None, registry.names()).unwrap();
        let prompts = Prompts::of_project(|_| Ok::<_, std::convert::Infallible>(None)).unwrap();
        let counter = orchestrate_model::Tokenizer::load().unwrap();
        let mut granted = std::collections::BTreeSet::new();
        for name in roles.iter().map(|(name, _)| name).collect::<Vec<_>>() {
            let role = roles.role(name).unwrap();
            let specs = registry.specs(&role.grant(registry.names()));
            let mut tokens = counter.count(&prompts.system(&role.prompt, role.strict_hand_back));
            for spec in &specs {
                tokens += counter.count(&format!(
                    "{} {} {}",
                    spec.name, spec.description, spec.parameters
                ));
            }
            assert!(tokens < MOST_TOKENS, "{name}: {tokens} tokens");
            granted.extend(specs.into_iter().map(|spec| spec.name));
        }
        // What no shipped role has is for roles of the user's own.
        let names: Vec<&str> = registry
            .tools(None)
            .iter()
            .map(|tool| tool.name())
            .collect();
        let rare: Vec<&str> = names
            .into_iter()
            .filter(|name| !granted.contains(*name))
            .collect();
        let expected = "analyze_performance append_file apply_patch copy_file \
                        create_virtual_environment git_add git_branch git_merge git_pull git_push \
                        git_stash react review_verdict run_python";
        assert_eq!(rare.join(" "), expected);
    }

    #[test]
    fn a_file_that_is_no_role_hides_the_one_that_it_names() {
        for name in ["reviewer", "\"reviewer\"", "reviewer   # ours"] {
            let mut roles = Roles::without_project(None, &builtin_names().unwrap()).unwrap();
            let text = format!("---\nname: {name}\ntools: [Read\n---\nYou review.\nname: tester\n");
            add(
                &mut roles,
                Product::Own,
                ".orchestrate/agents/our-review.md",
                &text,
            );
            assert!(
                roles.role("reviewer").is_err() && roles.role("tester").is_ok(),
                "{name}"
            );
            assert_eq!(roles.left_out().len(), 1);
        }
    }

    #[test]
    fn a_file_that_is_no_role_hides_the_one_of_its_name_and_nothing_else() {
        let mut roles = Roles::without_project(None, &builtin_names().unwrap()).unwrap();
        add(
            &mut roles,
            Product::Own,
            "agents/README.md",
            "# Our agents\n",
        );
        add(
            &mut roles,
            Product::Own,
            "agents/tester.md",
            "---\ntools: 7\n---\nx\n",
        );
        let names: Vec<&str> = roles.iter().map(|(name, _)| name).collect();
        assert_eq!(
            names,
            [
                "coordinator",
                "implementer",
                "planner",
                "researcher",
                "resolver",
                "reviewer"
            ]
        );
        assert!(roles.left_out()[0].starts_with(
            "agents/README.md is not a valid role and is ignored: failed to name a role"
        ));
        assert_eq!(roles.left_out().len(), 2);
    }

    #[test]
    fn the_nearest_role_of_a_name_counts_and_names_the_others() {
        let mut roles = Roles::without_project(None, &builtin_names().unwrap()).unwrap();
        let text = "---\nname: tester\ndescription: Tests.\n---\nYou test.\n";
        for origin in [
            ".gemini/agents/tester.md",
            ".claude/agents/two.md",
            ".claude/agents/one.md",
        ] {
            add(&mut roles, Product::Claude, origin, text);
        }
        let found = &roles.found["tester"];
        assert_eq!(found.origin, ".claude/agents/one.md");
        assert_eq!(
            found.shadowed,
            [
                ".claude/agents/two.md",
                ".gemini/agents/tester.md",
                "shipped"
            ]
        );
        assert_eq!(
            found.warnings,
            [".claude/agents/two.md has the same name, `tester`, and no effect"]
        );
    }

    #[test]
    fn a_role_of_a_product_that_names_by_file_has_the_name_of_its_file() {
        let mut roles = Roles::default();
        let text = "---\nname: Tests Everything\ndescription: Tests.\n---\nYou test.\n";
        add(
            &mut roles,
            Product::Copilot,
            ".github/agents/CSharpExpert.agent.md",
            text,
        );
        add(
            &mut roles,
            Product::OpenCode,
            ".opencode/agent/docs.md",
            text,
        );
        add(
            &mut roles,
            Product::Copilot,
            ".github/agents/plain.agent.md",
            "# Writes docs\n\nYou write.\n",
        );
        for readme in [".github/agents/README.md", ".opencode/agents/readme.md"] {
            let product = if readme.starts_with(".github") {
                Product::Copilot
            } else {
                Product::OpenCode
            };
            add(&mut roles, product, readme, "# Our agents\n");
        }
        let names: Vec<&str> = roles.iter().map(|(name, _)| name).collect();
        assert_eq!(
            (names, roles.left_out().len()),
            (vec!["csharpexpert", "docs", "plain"], 2)
        );
        assert_eq!(roles.role("plain").unwrap().description, "Writes docs");
        assert!(
            roles.left_out()[0].ends_with(
                "failed to read role `readme`: it has no front matter with a description"
            )
        );
    }
}
