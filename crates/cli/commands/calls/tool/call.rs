//! What is called, under which key, and whether its result may be stored or replayed.

use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use orchestrate_cache::Identity;
use orchestrate_coordinator::Surroundings;
use orchestrate_core::policy::CacheMode;
use orchestrate_core::policy::cache::{
    CacheKey, CachedCall, ContentHash, NonCacheable, Phase, agent_name, has_pending_tasks,
};
use orchestrate_core::projections::audit::command::CommandEnd;
use orchestrate_core::projections::marker::{Marker, Reason};
use orchestrate_core::{AgentId, CallId, shell_word};
use orchestrate_files::{Links, read_plain};
use rustix::fs::fstat;
use serde_json::json;

use super::stdin::{Given, Input};
use crate::args::ToolRunArgs;
use crate::context::Context;
use crate::error::{CommandError, ErrorKind};
use crate::show::output;

/// The shell that runs a text.
const SHELL: &str = "sh";
/// A list of what is never replayed, in the user's folder and in a project's.
const LIST: &str = "non_cacheable_tools.txt";
/// A project's folder for our files.
const OF_PROJECT: &str = ".orchestrate";
/// The maximum size of a plan, a list or a prompt.
const MOST_BYTES: u64 = 16 << 20;
/// The reason of the guard.
const PENDING: &str = "pending_tasks";

/// A call of a command.
pub(super) struct Call {
    pub(super) tool: String,
    pub(super) command: Vec<OsString>,
    pub(super) identity: Identity,
    pub(super) mode: CacheMode,
    /// Whether open tasks of the plan forbid a replay.
    pub(super) is_pending: bool,
    phase: Phase,
    iter: Option<u64>,
    /// Whether the environment sets the mode.
    is_exported: bool,
    is_cacheable: bool,
    before: Files,
    /// What the command is to be given on its standard input.
    pub(super) given: Option<Given>,
}

/// How a command ended: its exit code, the reason unless the code says it, how long it ran and when
/// it ended.
#[derive(Clone, Copy)]
pub(super) struct Ending {
    pub(super) rc: u8,
    pub(super) reason: Option<Reason>,
    pub(super) duration_ms: u64,
    pub(super) ended_ms: u64,
}

impl Call {
    /// Determines what is called.
    pub(super) fn determine(
        context: &Context,
        arguments: &ToolRunArgs,
        surroundings: &Surroundings,
    ) -> Result<Call, CommandError> {
        let variable = |name: &str| context.variables.get(name).map(String::as_str);
        let (mode, is_exported) = mode(arguments, variable("CACHE_MODE"), variable("CACHE_SKIP"))?;
        let tool = arguments.name.clone().unwrap_or_else(|| name_of(arguments));
        let phase = arguments.phase.unwrap_or_default();
        let agent = agent_name([
            arguments.agent.as_deref(),
            variable("AGENT_NAME"),
            variable("RUNNER"),
        ]);
        let commit = arguments.git_sha.clone();
        let commit = commit.unwrap_or_else(|| surroundings.commit());
        let is_off = mode == CacheMode::Off;
        let is_listed = !is_off && is_listed(context, surroundings, arguments, &tool)?;
        let reads_input = !is_off && !is_listed;
        let asked = Asked::determine(context, surroundings, arguments, &tool, reads_input)?;
        let key = match asked.key {
            Some(key) => key,
            None => CacheKey::new(&agent, phase, &asked.content, &commit),
        };
        let is_cacheable = asked.is_known && !is_listed;
        let before = match asked.files {
            None if mode.writes() && is_cacheable => Files::look_at(surroundings),
            files => files.unwrap_or(Files::Unknown),
        };
        Ok(Call {
            given: asked.given,
            before,
            is_pending: mode.reads() && is_cacheable && is_pending(phase, arguments)?,
            command: command_of(arguments),
            identity: Identity { key, commit, agent },
            iter: arguments.iter,
            tool,
            mode,
            phase,
            is_exported,
            is_cacheable,
        })
    }

    /// Reports whether the cache is needed.
    pub(super) fn stores_or_replays(&self) -> bool {
        self.mode != CacheMode::Off && self.is_cacheable
    }

    /// Reports whether the result is to be stored, if the command passes.
    pub(super) fn stores(&self) -> bool {
        self.mode.writes() && self.is_cacheable && self.before != Files::Unknown
    }

    /// Reports whether no file was changed since before the call, and says so otherwise. Outside a
    /// repository nothing is known of files; there, what a call that is stored depends on is up to
    /// its caller.
    pub(super) fn left_files_as_they_were(&self, surroundings: &Surroundings) -> bool {
        let is_same = match (&self.before, Files::look_at(surroundings)) {
            (_, Files::Unknown) => return false,
            // A replay writes the output again, so that it may go to a file of the repository.
            (Files::Known { others: before, .. }, Files::Known { others: after, .. }) => {
                *before == after
            }
            (before, after) => *before == after,
        };
        if !is_same {
            output::note(
                "note: files were changed while the command ran, so its result is not stored",
            );
        }
        is_same
    }

    /// Returns the marker of how the cache is used, if it is.
    pub(super) fn configuration(&self, ts: u64) -> Option<Marker> {
        (self.mode != CacheMode::Off).then(|| Marker::CacheConfig {
            mode: self.mode.to_string(),
            scope: self.phase.to_string(),
            exported: self.is_exported,
            iter: self.iter,
            ts,
        })
    }

    /// Returns the call as the audit log has it, with its end.
    pub(super) fn ended(&self, id: &str, ending: Ending) -> CommandEnd {
        let words = self.command.iter();
        let words = words.map(|word| output::redacted(&word.to_string_lossy()));
        CommandEnd {
            call: CallId::new(id),
            agent: AgentId::new(&*self.identity.agent),
            tool: output::redacted(&self.tool),
            parameters: json!({"command": words.collect::<Vec<String>>()}),
            exit_code: ending.rc.into(),
            error: match ending.reason {
                Some(Reason::Interrupted) => Some("interrupted".to_owned()),
                Some(Reason::Timeout) => Some("timed out".to_owned()),
                Some(Reason::ExitCode) | None => None,
            },
            cached: false,
            iter: self.iter.map_or(0, |iter| u32::try_from(iter).unwrap_or(0)),
            duration_ms: ending.duration_ms,
            ended_ms: ending.ended_ms,
        }
    }

    /// Returns the marker of the guard.
    pub(super) fn guarded(&self, ts: u64) -> Marker {
        Marker::CacheGuard {
            iter: self.iter,
            reason: PENDING.to_owned(),
            phase: self.phase.to_string(),
            ts,
        }
    }
}

/// The files of the repository.
#[derive(PartialEq, Eq)]
enum Files {
    /// Their content: all of it, and that of those that the output does not go to.
    Known { all: String, others: String },
    /// They cannot be read.
    Unknown,
    /// There is no repository.
    Nowhere,
}

impl Files {
    fn look_at(surroundings: &Surroundings) -> Files {
        let outputs = [fstat(io::stdout()), fstat(io::stderr())]
            .into_iter()
            .flatten();
        let written = outputs.map(|stat| (stat.st_dev, stat.st_ino));
        match surroundings.content(&written.collect::<Vec<(u64, u64)>>()) {
            Ok(Some(content)) => Files::Known {
                all: content.all,
                others: content.others,
            },
            Ok(None) => Files::Nowhere,
            Err(error) => {
                output::warning(&format!("failed to {error}; the result is not stored"));
                Files::Unknown
            }
        }
    }
}

/// What a result depends on.
struct Asked {
    /// The key that the caller gave.
    key: Option<CacheKey>,
    content: ContentHash,
    /// The files, if the result depends on them.
    files: Option<Files>,
    /// Whether that is all; otherwise the result is never replayed.
    is_known: bool,
    /// What the command is to be given on its standard input.
    given: Option<Given>,
}

impl Asked {
    /// Determines it. Without `reads_input` nothing is stored or replayed, and the input is left
    /// alone.
    fn determine(
        context: &Context,
        surroundings: &Surroundings,
        arguments: &ToolRunArgs,
        tool: &str,
        reads_input: bool,
    ) -> Result<Asked, CommandError> {
        if let Some(file) = &arguments.prompt_file {
            let content = ContentHash::of_file(&read(file, "the prompt")?);
            return Ok(Asked {
                key: None,
                content,
                files: None,
                is_known: true,
                given: None,
            });
        }
        let of_command = |files: Option<&str>, input: &Input| {
            let root = surroundings.root();
            let folder = root.and_then(|root| context.directory.strip_prefix(root).ok());
            let folder = folder.unwrap_or(&context.directory).as_os_str().as_bytes();
            let command = command_of(arguments);
            let words = command.iter().map(|word| word.as_bytes());
            let environment = environment(context);
            let others = [
                tool.as_bytes(),
                folder,
                files.unwrap_or_default().as_bytes(),
                environment.as_str().as_bytes(),
            ];
            let input = match input {
                Input::Bytes(hash) => Some(hash.as_str().as_bytes()),
                _ => None,
            };
            // No command begins with an empty word, so an input is never taken for one.
            let input = input.into_iter().flat_map(|hash| [&b""[..], hash]);
            ContentHash::of_parts(others.into_iter().chain(input).chain(words))
        };
        if let Some(key) = &arguments.cache_key {
            let key = Some(CacheKey::given(key));
            let content = of_command(None, &Input::Nothing);
            return Ok(Asked {
                key,
                content,
                files: None,
                is_known: true,
                given: None,
            });
        }
        let files = Files::look_at(surroundings);
        let known = match &files {
            Files::Known { all, .. } => Some(all.as_str()),
            _ => None,
        };
        let (input, given) = match reads_input && known.is_some() {
            true => input()?,
            false => (Input::Unknown, None),
        };
        let is_known = known.is_some() && input != Input::Unknown;
        Ok(Asked {
            key: None,
            content: of_command(known, &input),
            files: Some(files),
            is_known,
            given,
        })
    }
}

/// Returns the hash of the environment that the command has, without what changes with every shell,
/// and without what says only how the cache is used.
fn environment(context: &Context) -> ContentHash {
    let counted = context.variables.iter().filter(|(name, _)| decides(name));
    ContentHash::of_parts(counted.flat_map(|(name, value)| [name.as_bytes(), value.as_bytes()]))
}

fn decides(name: &str) -> bool {
    !["_", "SHLVL", "PWD", "OLDPWD", "CACHE_MODE", "CACHE_SKIP"].contains(&name)
}

/// Returns the mode, and whether the environment sets it.
fn mode(
    arguments: &ToolRunArgs,
    variable: Option<&str>,
    skip: Option<&str>,
) -> Result<(CacheMode, bool), CommandError> {
    let of_variables = CacheMode::of_variables(variable, skip)
        .map_err(|error| CommandError::usage(format!("CACHE_MODE and CACHE_SKIP: {error}")))?;
    if arguments.no_cache {
        return Ok((CacheMode::Off, false));
    }
    if let Some(warning) = CacheMode::foreign(variable).filter(|_| arguments.cache.is_none()) {
        output::warning(&warning);
    }
    Ok(match (arguments.cache, of_variables) {
        (Some(mode), _) => (mode, false),
        (None, Some(mode)) => (mode, true),
        (None, None) => (CacheMode::Off, false),
    })
}

/// Returns the name of the program, or of the first program in a text for the shell.
fn name_of(arguments: &ToolRunArgs) -> String {
    let text = match (&arguments.shell, arguments.command.first()) {
        (Some(text), _) => text.to_string_lossy(),
        (None, program) => program.map_or("".into(), |program| program.to_string_lossy()),
    };
    let first = match &arguments.shell {
        Some(_) => text.split_whitespace().next().unwrap_or(SHELL),
        None => &text,
    };
    match Path::new(first).file_name() {
        Some(name) if !name.is_empty() => name.to_string_lossy().into_owned(),
        _ => first.to_owned(),
    }
}

fn command_of(arguments: &ToolRunArgs) -> Vec<OsString> {
    match &arguments.shell {
        Some(text) => vec![SHELL.into(), "-c".into(), text.clone()],
        None => arguments.command.clone(),
    }
}

/// Reports whether the call is on one of the lists of what is never replayed.
fn is_listed(
    context: &Context,
    surroundings: &Surroundings,
    arguments: &ToolRunArgs,
    tool: &str,
) -> Result<bool, CommandError> {
    let mut lists = NonCacheable::shipped();
    if let Some(list) = list(&context.directories()?.config.join(LIST), Links::Anywhere)? {
        lists.add(&list);
    }
    if let Some(root) = surroundings.root()
        && let Some(list) = list(&root.join(OF_PROJECT).join(LIST), Links::Below(root))?
    {
        for line in lists.add_of_project(&list) {
            output::warning(&format!(
                "{OF_PROJECT}/{LIST}: a project's list cannot make exceptions: {line}"
            ));
        }
    }
    let command = match &arguments.shell {
        Some(text) => text.to_string_lossy().into_owned(),
        None => {
            let words: Vec<_> = arguments.command.iter().map(shell_word).collect();
            words.join(" ")
        }
    };
    let call = CachedCall {
        tool,
        command: &command,
        is_keyed: arguments.cache_key.is_some() || arguments.prompt_file.is_some(),
    };
    Ok(lists.entry_for(call).is_some())
}

/// Reads a list, if it exists.
fn list(path: &Path, links: Links<'_>) -> Result<Option<String>, CommandError> {
    match read_plain(path, links, MOST_BYTES) {
        Ok(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
            ) =>
        {
            Ok(None)
        }
        Err(error) => Err(CommandError::usage(format!(
            "failed to read {}: {error}",
            path.display()
        ))),
    }
}

/// Returns the standard input, and says if the result is not stored because of it.
fn input() -> Result<(Input, Option<Given>), CommandError> {
    let (input, given) = Input::look().map_err(|error| {
        CommandError::new(
            ErrorKind::Failed,
            format!("failed to read standard input: {error}"),
        )
    })?;
    if input == Input::Unknown {
        output::note("note: standard input is long or does not end, so the result is not stored");
    }
    Ok((input, given))
}

fn is_pending(phase: Phase, arguments: &ToolRunArgs) -> Result<bool, CommandError> {
    match &arguments.plan {
        Some(plan) if phase == Phase::Build => {
            let text = read(plan, "the plan")?;
            Ok(has_pending_tasks(phase, &String::from_utf8_lossy(&text)))
        }
        _ => Ok(false),
    }
}

fn read(file: &Path, what: &str) -> Result<Vec<u8>, CommandError> {
    let act = format!("read {what}");
    let read = read_plain(file, Links::Anywhere, MOST_BYTES);
    let bytes = read.map_err(|error| CommandError::of_file(&act, file, error))?;
    if bytes.len() as u64 > MOST_BYTES {
        let why = format!("it is larger than {MOST_BYTES} bytes");
        return Err(CommandError::of_file(&act, file, why));
    }
    Ok(bytes)
}
