//! Loads the settings from every source, and merges them into one frozen value.
//!
//! Nothing here prompts the user: commands that need consent are returned to the caller.

use crate::additions::Additions;
use crate::config_file::{ConfigFile, load_file, load_tool_settings};
use crate::environment::{Directories, SandboxDemand, Switches, project_root};
use crate::forbidden::real_paths;
use crate::hooks::{GivenHook, HOOKS};
use crate::keys::{self, Key};
use crate::layer::{Layer, Location, Problem, ProblemCode, Source, checked};
use crate::merge::{ALTERNATIVES, FORBIDDEN_PATHS, Resolved};
use crate::values::is_about_some_tool;
use crate::worktree_folder::worktree_folder;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use orchestrate_core::RunSettings;
use orchestrate_core::policy::hook::HookCommand;
use orchestrate_core::policy::tool_names::ToolNames;
use orchestrate_core::policy::{CacheMode, Policy, PolicyError, Rule, RuleText};
use orchestrate_files::Links;

use crate::consent::{NetworkUse, ProjectCommand};
use crate::environment;
use crate::secrets::secrets;

/// The names of a project's configuration file, relative to its root; only one of the two may
/// exist.
pub const PROJECT_FILES: [&str; 2] = ["orchestrate.toml", ".orchestrate/config.toml"];

/// The keys whose values are shell commands, each with the switch that gives it the network.
const COMMANDS: [(&str, Option<&str>); 2] = [
    ("verify", None),
    ("worktree.setup", Some("worktree.setup_network")),
];

/// The sources of the settings, as they were at the start.
#[derive(Clone, Debug)]
pub struct Inputs {
    /// The command-line options.
    pub flags: Layer,
    /// The values in the plan's front matter.
    pub plan: Layer,
    /// The process's environment.
    pub variables: BTreeMap<String, String>,
    /// Our folders in the user's base directories.
    pub directories: Directories,
    /// The directory that the program was started in.
    pub directory: PathBuf,
    /// The names of the tools, which rules may use.
    pub tools: ToolNames,
    /// Whether no user can be asked for approval.
    pub headless: bool,
}

/// The loaded settings, before they become those of a run.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The value that applies for each key, and where it is written.
    pub resolved: Resolved,
    /// The settings that the run freezes.
    pub run: RunSettings,
    /// Settings that only the environment has, besides the keys.
    pub switches: Switches,
    /// Their variables with the texts that they are set to.
    pub switches_given: BTreeMap<String, String>,
    /// Keys, endpoints, proxies and git's identity variables, by the name of their variable.
    pub environment: BTreeMap<String, String>,
    /// Commands from the project's file that apply; they run only with consent.
    pub commands: Vec<ProjectCommand>,
    /// What the user adds to what commands see.
    pub additions: Additions,
    /// The folder of worktrees that the user chooses.
    pub worktree_folder: Option<PathBuf>,
}

impl Inputs {
    /// Reads every source and merges them.
    ///
    /// # Errors
    /// Returns every problem with any of them.
    pub fn load(&self) -> Result<Loaded, Vec<Problem>> {
        let mut problems = Vec::new();
        let user = keep(&mut problems, self.user_file());
        let project = keep(&mut problems, self.project_file());
        self.merge(user, project, problems)
    }

    /// Merges what the environment, the flags and the plan say, without the configuration files.
    ///
    /// # Errors
    /// Returns every problem with any of them.
    pub fn load_environment(&self) -> Result<Loaded, Vec<Problem>> {
        self.merge(ConfigFile::default(), ConfigFile::default(), Vec::new())
    }

    /// Merges the files with all other sources.
    fn merge(
        &self,
        user: ConfigFile,
        project: ConfigFile,
        mut problems: Vec<Problem>,
    ) -> Result<Loaded, Vec<Problem>> {
        let environment = keep(&mut problems, environment::layer(&self.variables));
        let switches = keep(&mut problems, Switches::parse(&self.variables));
        let tools = keep(&mut problems, self.tool_files());
        // What the user's own refuse, the project's are not asked about.
        let hooks = [user.hooks, project.hooks].concat();
        let layers = [
            self.flags.clone(),
            environment,
            tools,
            self.plan.clone(),
            project.layer,
            user.layer,
        ];
        let mut resolved = Resolved::merge(&layers);
        resolved
            .warnings
            .extend(environment::misspelt(&self.variables));
        resolved.warnings.extend(CacheMode::foreign(
            self.variables.get("CACHE_MODE").map(String::as_str),
        ));
        problems.extend(rule_problems(&resolved.rules, &self.tools));
        problems.extend(self.alternative_problems(&resolved));
        if switches.strict_sandbox && resolved.is_on("no_sandbox") {
            let place = Location::new(
                Source::Flags,
                keys::named("no_sandbox")
                    .map(Key::option)
                    .unwrap_or_default(),
            );
            let by = SandboxDemand::find(&self.variables)
                .map(|demand| demand.by)
                .unwrap_or_default();
            let message = format!(
                "{by} demands the full tier of the sandbox, which cannot be switched off then"
            );
            problems.push(Problem::new(place, ProblemCode::NotAllowedHere, message));
        }
        let additions = keep(
            &mut problems,
            Additions::resolve(&resolved, &self.variables, &self.directories),
        );
        let worktree_folder = keep(&mut problems, worktree_folder(&resolved, &self.variables));
        let mut run = keep(
            &mut problems,
            resolved.run_settings(&switches, self.headless),
        );
        let forbidden = &mut run.tool_settings.file_operations.forbidden_paths;
        *forbidden = keep(&mut problems, self.forbidden_paths(&resolved));
        run.hooks = keep(&mut problems, self.hooks(&hooks));
        if !problems.is_empty() {
            return Err(problems);
        }
        Ok(Loaded {
            run,
            switches_given: environment::switches_given(&self.variables),
            environment: secrets(&self.variables, &user.environment),
            commands: self.commands(&resolved, &additions, &hooks),
            additions,
            worktree_folder,
            resolved,
            switches,
        })
    }

    /// Returns the problems with alternatives of tools that do not exist, which would never answer.
    fn alternative_problems(&self, resolved: &Resolved) -> Vec<Problem> {
        let mut problems = Vec::new();
        for pair in resolved.list(ALTERNATIVES) {
            for tool in pair.split('=').filter(|tool| !self.tools.knows(tool)) {
                let message = format!("`{ALTERNATIVES}` names `{tool}`, but there is no such tool");
                let problem = resolved.problem(ALTERNATIVES, message);
                problems.push(problem.suggest_nearest(tool, self.tools.names()));
            }
        }
        problems
    }

    /// Reads the files of tool settings that the environment names.
    fn tool_files(&self) -> Result<Layer, Vec<Problem>> {
        let (mut layer, mut problems) = (Layer::default(), Vec::new());
        for name in environment::tool_files(&self.variables) {
            match load_tool_settings(&self.directory.join(name), name) {
                Ok(found) => layer.given.extend(found.given),
                Err(found) => problems.extend(found),
            }
        }
        checked(layer, problems)
    }

    /// Returns the paths that tools never touch, by all their names.
    fn forbidden_paths(&self, resolved: &Resolved) -> Result<Vec<String>, Vec<Problem>> {
        let home = environment::absolute(&self.variables, "HOME");
        let project = project_root(&self.directory);
        real_paths(&resolved.list(FORBIDDEN_PATHS), home, project.as_deref()).map_err(|path| {
            let message = format!("`{path}` cannot be found: no home directory is set");
            vec![resolved.problem(FORBIDDEN_PATHS, message)]
        })
    }

    fn user_file(&self) -> Result<ConfigFile, Vec<Problem>> {
        let path = self.directories.config_file();
        let file = load_file(
            &path,
            Links::Anywhere,
            Source::User,
            &path.display().to_string(),
        )?;
        Ok(file.unwrap_or_default())
    }

    fn project_file(&self) -> Result<ConfigFile, Vec<Problem>> {
        let Some(root) = project_root(&self.directory) else {
            return Ok(ConfigFile::default());
        };
        let mut found: Option<(&str, ConfigFile)> = None;
        for name in PROJECT_FILES {
            let shown = self.shown(&root, name);
            let Some(file) = load_file(
                &root.join(name),
                Links::Below(&root),
                Source::Project,
                &shown,
            )?
            else {
                continue;
            };
            if let Some((other, _)) = found {
                let place = Location::new(Source::Project, shown);
                let message = format!("`{other}` exists as well, but only one of the two may");
                let problem = Problem::new(place, ProblemCode::Ambiguous, message);
                return Err(vec![problem.suggest("move everything into one of them")]);
            }
            found = Some((name, file));
        }
        Ok(found.map(|(_, file)| file).unwrap_or_default())
    }

    /// Returns the name of a project file, such that it can be opened from the directory that the
    /// program was started in.
    fn shown(&self, root: &Path, name: &str) -> String {
        if root == self.directory {
            name.to_owned()
        } else {
            root.join(name).display().to_string()
        }
    }

    /// Returns the hooks as a run freezes them.
    fn hooks(&self, given: &[GivenHook]) -> Result<Vec<HookCommand>, Vec<Problem>> {
        let (mut frozen, mut problems) = (Vec::new(), Vec::new());
        for hook in given {
            match hook.frozen(&self.tools) {
                Ok(hook) => frozen.push(hook),
                Err(found) => problems.push(found),
            }
        }
        checked(frozen, problems)
    }

    fn commands(
        &self,
        resolved: &Resolved,
        additions: &Additions,
        hooks: &[GivenHook],
    ) -> Vec<ProjectCommand> {
        let root = project_root(&self.directory).unwrap_or_else(|| self.directory.clone());
        let project = root.canonicalize().unwrap_or(root);
        let mut commands = Vec::new();
        for (key, switch) in COMMANDS {
            let Some(command) = resolved.text(key) else {
                continue;
            };
            let network = switch.filter(|switch| resolved.is_on(switch));
            let of_key = resolved.place_given(key);
            let of_network = network.and_then(|switch| resolved.place_given(switch));
            let of_project = [of_key, of_network]
                .into_iter()
                .flatten()
                .find(|place| place.source == Source::Project);
            // The user's own command needs consent too if it has the network: it runs the project's
            // files.
            let Some(place) = of_project.or(of_network) else {
                continue;
            };
            commands.push(ProjectCommand {
                project: project.clone(),
                key: key.to_owned(),
                command,
                network: network.map(|_| NetworkUse {
                    sees: additions.in_words(),
                    hosts: Vec::new(),
                }),
                place: place.to_string(),
            });
        }
        for hook in hooks.iter().filter(|hook| hook.is_of_project()) {
            commands.push(ProjectCommand {
                project: project.clone(),
                key: format!("{HOOKS}.{}", hook.point.as_str()),
                command: hook.command.clone(),
                network: None,
                place: hook.place.to_string(),
            });
        }
        commands
    }
}

/// Returns the value. On failure, records the problems and returns the default, so that all
/// problems are found at once.
fn keep<T: Default>(problems: &mut Vec<Problem>, result: Result<T, Vec<Problem>>) -> T {
    result.unwrap_or_else(|found| {
        problems.extend(found);
        T::default()
    })
}

/// Returns the problems with rules: those that cannot be parsed, and those that name an unknown
/// tool, which would be accepted and never match.
pub fn rule_problems(rules: &[RuleText], names: &ToolNames) -> Vec<Problem> {
    let unread = Policy::new(rules, names).err().into_iter().flatten();
    let mut problems: Vec<Problem> = unread.map(|error| of_rule(&error)).collect();
    problems.extend(rules.iter().filter_map(|rule| unknown_tool(rule, names)));
    problems
}

fn unknown_tool(rule: &RuleText, names: &ToolNames) -> Option<Problem> {
    let parsed = Rule::parse(rule, names).ok()?;
    let tool = parsed
        .tools()
        .iter()
        .find(|tool| !is_about_some_tool(tool, names))?;
    let place = Location::new(Source::Default, &rule.source);
    let message = format!(
        "the rule `{}` names `{tool}`, but there is no such tool",
        rule.rule
    );
    let problem = Problem::new(place, ProblemCode::InvalidValue, message);
    Some(problem.suggest_tools(tool, names))
}

fn of_rule(error: &PolicyError) -> Problem {
    let (PolicyError::Syntax {
        rule,
        source_name,
        reason,
    }
    | PolicyError::Example {
        rule,
        source_name,
        reason,
    }) = error;
    let message = format!("invalid rule `{rule}`: {reason}");
    Problem::new(
        Location::new(Source::Default, source_name),
        ProblemCode::InvalidValue,
        message,
    )
}
