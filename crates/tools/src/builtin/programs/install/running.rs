//! Runs a package manager with the registries as its only way out.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Instant;

use orchestrate_core::policy::egress::EgressDecision;
use orchestrate_core::policy::web::Destinations;
use orchestrate_sandbox::{Downloads, Finished};

use super::super::candidate::{Chosen, Ran, command};
use super::destinations::Registries;
use super::managers::Install;
use super::sharing::Download;
use crate::answer::ToolError;
use crate::call::Command;
use crate::files::Expect;
use crate::files::path::join;
use crate::tool::{Led, ToolContext, package_cache};

/// What package managers say if there is no wheel, which the next attempt can do without.
const NO_WHEEL: [&str; 4] = [
    "No matching distribution found",
    "has no usable wheels",
    "has no wheels",
    "building from source is disabled",
];

/// The variables that name caches of a job alone.
const OWN_CACHES: [&str; 2] = ["npm_config_cache", "YARN_CACHE_FOLDER"];

/// A package manager at work.
pub(super) struct Running<'a> {
    context: &'a ToolContext,
    chosen: &'a Chosen<Install>,
    registries: Arc<Registries>,
    /// When the call has to have ended; `None` if that is too far away for a clock. All commands
    /// share its time.
    deadline: Option<Instant>,
    /// What was decided about the hosts that it asked for, each once.
    pub(super) egress: Vec<EgressDecision>,
    /// What could not be reached, with the reason.
    pub(super) unreached: BTreeSet<String>,
}

impl<'a> Running<'a> {
    pub(super) fn new(
        context: &'a ToolContext,
        chosen: &'a Chosen<Install>,
        registries: Arc<Registries>,
    ) -> Running<'a> {
        let deadline = Instant::now().checked_add(context.limits().max_command_timeout);
        Running {
            context,
            chosen,
            registries,
            deadline,
            egress: Vec::new(),
            unreached: BTreeSet::new(),
        }
    }

    /// Installs, first without building anything; reports whether packages may have been built from
    /// their sources.
    ///
    /// # Errors
    /// `Timeout`, `Interrupted` or `Denied` as of commands; a command that fails is no error.
    pub(super) async fn install(&mut self) -> Result<(Ran, bool), ToolError> {
        let candidate = &self.chosen.candidate;
        candidate.products.prepare(self.context).await?;
        if candidate.report.keeps_downloads {
            self.bring_settings().await?;
        }
        for argv in &candidate.before {
            let ran = self.run(argv).await?;
            if ran.run.exit_code != Some(0) {
                return Ok((ran, false));
            }
        }
        let ran = self.run(&candidate.argv).await?;
        match &candidate.report.from_source {
            Some(argv) if lacks_package(&ran) && self.has_reached_all() => {
                self.context.check_program(argv)?;
                let ran = self.run(argv).await?;
                let was_built = !lacks_package(&ran);
                Ok((ran, was_built))
            }
            _ => Ok((ran, false)),
        }
    }

    /// Puts the user's settings of cargo where it looks for them: its home is in the worktree.
    async fn bring_settings(&self) -> Result<(), ToolError> {
        let settings = orchestrate_sandbox::cargo_settings()
            .filter(|_| self.chosen.candidate.program == "cargo");
        let Some(settings) = settings else {
            return Ok(());
        };
        let path = join(package_cache::FOLDER, "cargo/config.toml");
        self.context
            .blocking(move |files, _| files.write(&path, &settings, Expect::Any))
            .await
            .map(drop)
    }

    /// Reports whether nothing was refused or out of reach: otherwise that is why there is no
    /// wheel.
    fn has_reached_all(&self) -> bool {
        self.unreached.is_empty() && self.egress.iter().all(|decision| decision.allowed)
    }

    /// Downloads packages once more, for other jobs. Returns why that failed, if so; `None` if they
    /// have no folder.
    ///
    /// # Errors
    /// `Interrupted` if cancelled.
    pub(super) async fn share(
        &mut self,
        downloads: Vec<Download>,
    ) -> Result<Option<Result<(), String>>, ToolError> {
        let mut is_shared = None;
        for Download { files, commands } in downloads {
            let Some(folder) = self.context.downloads(files).await? else {
                return Ok(None);
            };
            for argv in &commands {
                match self.download(argv, &folder).await {
                    Ok(ran) if ran.run.exit_code == Some(0) => {}
                    Ok(ran) => return Ok(Some(Err(format!("{}: {}", ran.how, ran.tail())))),
                    Err(error @ ToolError::Interrupted(_)) => return Err(error),
                    Err(error) => return Ok(Some(Err(error.to_string()))),
                }
            }
            is_shared = Some(Ok(()));
        }
        Ok(is_shared)
    }

    async fn download(&mut self, argv: &[String], folder: &Downloads) -> Result<Ran, ToolError> {
        let Running {
            context, chosen, ..
        } = *self;
        context.check_program(argv)?;
        let mut command = self.command(argv);
        command
            .env
            .retain(|name, _| !OWN_CACHES.contains(&name.as_str()));
        let destinations = Arc::clone(&self.registries) as Arc<dyn Destinations>;
        let finished = context
            .start_download(command, folder, destinations)
            .await?;
        chosen.ran(
            argv,
            &self.keep(finished)?,
            context.limits().max_command_timeout,
        )
    }

    /// Returns a command as all of a manager's are run.
    fn command(&self, argv: &[String]) -> Command {
        let Running {
            context,
            chosen,
            deadline,
            ..
        } = self;
        let whole = context.limits().max_command_timeout;
        let left = deadline.map_or(whole, |deadline| {
            deadline.saturating_duration_since(Instant::now())
        });
        let mut command = command(argv, chosen.candidate.variables, left);
        // A registry may be on this machine, and a package manager has no servers of its own.
        command.env.insert("NO_PROXY".to_owned(), String::new());
        command
    }

    async fn run(&mut self, argv: &[String]) -> Result<Ran, ToolError> {
        let Running {
            context, chosen, ..
        } = *self;
        let mut command = self.command(argv);
        if chosen.candidate.report.keeps_downloads {
            let absolute =
                |path: String| context.worktree().join(path).to_string_lossy().into_owned();
            command.env.extend(
                package_cache::variables().map(|(name, path)| (name.to_owned(), absolute(path))),
            );
        }
        let destinations = Arc::clone(&self.registries) as Arc<dyn Destinations>;
        let finished = context.start_led(command, destinations).await?;
        chosen.ran(
            argv,
            &self.keep(finished)?,
            context.limits().max_command_timeout,
        )
    }

    /// Keeps what was decided while a command ran.
    fn keep(&mut self, led: Led) -> Result<Finished, ToolError> {
        let (finished, decided) = led;
        self.unreached.extend(decided.unreached());
        for decision in decided.all() {
            if !self.egress.contains(&decision) {
                self.egress.push(decision);
            }
        }
        finished.map_err(|error| ToolError::not_started(&error))
    }
}

/// Reports whether a package manager has found nothing that it may install.
fn lacks_package(ran: &Ran) -> bool {
    let says = |said: &&str| ran.stdout.contains(said) || ran.stderr.contains(said);
    ran.run.exit_code != Some(0) && NO_WHEEL.iter().any(says)
}
