//! The tool itself: from the call to what was installed.

use std::collections::BTreeSet;
use std::sync::Arc;

use async_trait::async_trait;
use orchestrate_core::policy::Target;
use orchestrate_core::policy::host::Host;
use orchestrate_core::text::invisible::shown;
use orchestrate_sandbox::Cancel;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::super::super::exec::{MAX_DOMAINS, domains, networked};
use super::super::super::facts::facts;
use super::super::candidate::{choose, first_of};
use super::super::products::IGNORE_ALL;
use super::super::project::Project;
use super::super::states::{States, changed, states};
use super::answer::{Installed, answer};
use super::destinations::{Registries, Server};
use super::grammar::{Ecosystem, Requested, refusal};
use super::indexes::{self, Index, OfPip};
use super::listing::{Packages, changes, text};
use super::managers::{Install, Manager, ecosystems, managers};
use super::running::Running;
use super::sharing::{Sharing, Texts, Wanted};
use super::user_settings;
use crate::answer::{Answer, ToolError};
use crate::call::{CallScope, Effect, Foreseen};
use crate::files::path::join;
use crate::files::{Expect, Files};
use crate::tool::arguments::{given_text, invalid, read};
use crate::tool::{CallSite, Look, Prepared, Programs, Prompt, Tool, ToolContext};

/// What an agent is told if the project's files were changed after the call was decided about.
const CHANGED: &str = "the project's files name another package manager or other registries than \
                       when this call was decided about; nothing was installed. Make the call \
                       again";

/// The `install_package` tool.
pub(crate) struct InstallPackage(pub(crate) Prompt);

#[derive(Deserialize)]
struct Arguments {
    package: String,
    version: Option<String>,
    language: Option<Ecosystem>,
    /// The hosts that it needs besides registries.
    #[serde(default)]
    domains: Vec<String>,
}

/// What a call asks for, in a project.
struct Plan {
    ecosystem: Ecosystem,
    requested: Requested,
    /// Where the registries answer that the project or the user names.
    servers: Vec<Server>,
    /// The hosts that the call names.
    named: Vec<Host>,
    indexes: Vec<Index>,
    managers: Vec<Manager>,
}

/// What the user decides about beside the arguments.
#[derive(Serialize)]
struct Details {
    /// The package manager, or several of which the first one that is installed is used.
    manager: String,
    /// The hosts that it may reach.
    registries: Vec<String>,
    /// The hosts of the project's registries that it may not.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    closed_registries: Vec<String>,
    /// Which code of packages runs.
    code: String,
}

#[async_trait]
impl Tool for InstallPackage {
    facts!("install_package", EXEC, CodeExecution, is_default: false);

    fn prepare(&self, site: &CallSite, arguments: Value) -> Result<Prepared, ToolError> {
        let refused = domains(&arguments)
            .filter_map(|domain| Host::parse(domain).ok())
            .find_map(|host| site.policy.refuse_host(self.name(), &host));
        Ok(Prepared {
            effects: effects(&arguments),
            fault: require_package(&arguments).err(),
            programs: Some(programs),
            refused,
            foresight: Some(Look::at_files(foresee)),
            ..Prepared::new(arguments)
        })
    }

    async fn execute(&self, context: &ToolContext, arguments: Value) -> Result<Answer, ToolError> {
        let plan = context
            .blocking(move |files, cancel| Plan::look(arguments, files, cancel))
            .await?;
        if context.permit().foreseen() != Some(&plan.details(context.scope())) {
            return Err(ToolError::Retry(CHANGED.to_owned()));
        }
        let chosen = choose(context, plan.managers).await?;
        let registries = Arc::new(Registries::new(
            context.scope(),
            chosen.candidate.report.hosts,
            plan.servers,
            plan.named,
        ));
        let before = Seen::now(context, &chosen.candidate.report).await?;
        let mut manager = Running::new(context, &chosen, Arc::clone(&registries));
        let (ran, from_source) = manager.install().await?;
        keep_from_git(
            context,
            chosen.candidate.report.makes,
            before.is_kept_from_git,
        )
        .await?;
        let after = Seen::now(context, &chosen.candidate.report).await?;
        let foreign = after
            .lock_servers
            .into_iter()
            .filter(|server| !registries.knows(server))
            .collect();
        let mut installed = Installed {
            ecosystem: plan.ecosystem,
            requested: plan.requested,
            has: after.packages.keys().cloned().collect(),
            packages: changes(&before.packages, &after.packages),
            changed: changed(&before.states, &after.states),
            from_source,
            shared: None,
            note: chosen.candidate.report.note,
            egress: Vec::new(),
            unreached: BTreeSet::new(),
            foreign,
        };
        if let (Some(sharing), None) = (chosen.candidate.report.shares, installed.fault(&ran)) {
            let wanted = installed.wanted(&after.packages);
            let downloads = sharing.downloads(&Wanted {
                lists: [&before.lists, &after.lists],
                packages: &wanted,
                indexes: &plan.indexes,
            });
            installed.shared = manager
                .share(downloads)
                .await?
                .map(|shared| shared.map(|()| sharing));
        }
        (installed.egress, installed.unreached) = (manager.egress, manager.unreached);
        Ok(answer(&ran, installed))
    }
}

fn programs(arguments: &Value, project: &Files) -> Result<Programs, ToolError> {
    let plan = Plan::look(arguments.clone(), project, &Cancel::default())?;
    Ok(first_of(&plan.managers))
}

fn require_package(arguments: &Value) -> Result<(), ToolError> {
    let arguments: Arguments = read(arguments.clone())?;
    let known = arguments
        .language
        .map_or(Ecosystem::ALL.to_vec(), |language| vec![language]);
    match known
        .iter()
        .any(|ecosystem| arguments.read(*ecosystem).is_ok())
    {
        true => arguments.validate_domains(),
        false => Err(invalid(&arguments.refusal(&known))),
    }
}

fn effects(arguments: &Value) -> Vec<Effect> {
    let package = given_text(arguments, "package").to_owned();
    let mut effects = vec![Effect::on(Target::Name(package))];
    effects.extend(domains(arguments).map(|domain| networked(Target::Host(domain.to_owned()))));
    effects
}

fn foresee(
    files: &Files,
    scope: &CallScope,
    arguments: Value,
) -> Result<Option<Foreseen>, ToolError> {
    require_egress(scope)?;
    let effects = effects(&arguments);
    let plan = Plan::look(arguments, files, &scope.cancel)?;
    Ok(Some(Foreseen {
        effects,
        details: plan.details(scope),
    }))
}

impl Arguments {
    fn read(&self, ecosystem: Ecosystem) -> Result<Requested, String> {
        ecosystem.read(&self.package, self.version.as_deref())
    }

    fn refusal(&self, ecosystems: &[Ecosystem]) -> String {
        refusal(ecosystems, &self.package, self.version.as_deref())
    }

    fn validate_domains(&self) -> Result<(), ToolError> {
        if self.domains.len() > MAX_DOMAINS {
            let reason = format!("`domains` has more than {MAX_DOMAINS} hosts");
            return Err(invalid(&reason));
        }
        let Some(domain) = self
            .domains
            .iter()
            .find(|domain| Host::parse(domain).is_err())
        else {
            return Ok(());
        };
        let domain = shown(domain);
        Err(invalid(&format!(
            "`{domain}` in `domains` is no host; write it as `example.org`"
        )))
    }

    /// Chooses among the ecosystems of a project.
    fn ecosystem(&self, project: &Project) -> Result<Ecosystem, ToolError> {
        let of_project = ecosystems(project);
        if let Some(language) = self.language {
            return Ok(language);
        }
        let fits = |ecosystem: &Ecosystem| self.read(*ecosystem).is_ok();
        match of_project.iter().copied().filter(fits).collect::<Vec<_>>().as_slice() {
            [one] => Ok(*one),
            [] if of_project.is_empty() => Err(ToolError::Retry(
                "found no project of Python, JavaScript, Rust or Go in the worktree's root; create \
                 its manifest first, or say which `language` the package is for"
                    .to_owned(),
            )),
            [] => Err(invalid(&self.refusal(&of_project))),
            several => {
                let names: Vec<&str> = several
                    .iter()
                    .map(|ecosystem| ecosystem.language())
                    .collect();
                Err(invalid(&format!(
                    "this project is one of {}; say which with `language`",
                    names.join(" and ")
                )))
            }
        }
    }
}

impl Plan {
    fn look(arguments: Value, files: &Files, cancel: &Cancel) -> Result<Plan, ToolError> {
        Plan::make(&read(arguments)?, &Project::look(files, cancel)?, files)
    }

    /// Returns what the user decides about beside the arguments.
    fn details(&self, scope: &CallScope) -> Value {
        let mut managers: Vec<&str> = self
            .managers
            .iter()
            .map(|manager| manager.program)
            .collect();
        managers.dedup();
        let reports = || self.managers.iter().map(|manager| &manager.report);
        let well_known: Vec<&str> = reports().flat_map(|report| report.hosts).copied().collect();
        let code: BTreeSet<&str> = reports().map(|report| report.code).collect();
        let (servers, named) = (self.servers.clone(), self.named.clone());
        let (registries, closed) = Registries::new(scope, &well_known, servers, named).hosts();
        let details = Details {
            manager: managers.join(" or "),
            registries,
            closed_registries: closed,
            code: code.into_iter().collect::<Vec<_>>().join("; "),
        };
        json!(details)
    }

    fn make(arguments: &Arguments, project: &Project, files: &Files) -> Result<Plan, ToolError> {
        let ecosystem = arguments.ecosystem(project)?;
        let requested = arguments
            .read(ecosystem)
            .map_err(|refusal| invalid(&refusal))?;
        let indexes = indexes::find(files, project, ecosystem).map_err(ToolError::Retry)?;
        let of_pip = OfPip::new(&indexes);
        let managers =
            managers(project, ecosystem, &requested, &of_pip).map_err(ToolError::Retry)?;
        let readers = managers
            .first()
            .map_or(&[][..], |manager| manager.report.reads);
        if let Some(refusal) = indexes::replaced(&indexes, readers) {
            return Err(ToolError::Retry(refusal));
        }
        let settings = orchestrate_sandbox::registry_settings();
        if let Some(refusal) = user_settings::refusal(&settings, &managers) {
            return Err(ToolError::Retry(refusal));
        }
        let managers = user_settings::fitting(&settings, managers, &of_pip);
        let mut servers = indexes::servers(&indexes);
        servers.extend(user_settings::servers(&settings, &managers, &of_pip));
        let named = arguments.domains.iter();
        Ok(Plan {
            ecosystem,
            requested,
            servers,
            named: named.filter_map(|host| Host::parse(host).ok()).collect(),
            indexes,
            managers,
        })
    }
}

/// Requires a sandbox that leads a program to the proxy and nowhere else.
fn require_egress(scope: &CallScope) -> Result<(), ToolError> {
    let Err(error) = scope.sandbox.require_egress() else {
        return Ok(());
    };
    let reason = format!(
        "a package manager needs a network that leads to its registries alone, which this \
         machine's sandbox cannot give: failed to {error}; work with what is installed, or ask the \
         user to add the package"
    );
    Err(ToolError::denied("built-in:no-network", reason))
}

/// What is compared before and after.
struct Seen {
    packages: Packages,
    states: States,
    lock_servers: Vec<Server>,
    /// The files that list what other jobs need.
    lists: Texts,
    /// Whether git ignores what is in the folder that the manager makes, or there is none yet.
    is_kept_from_git: bool,
}

impl Seen {
    async fn now(context: &ToolContext, install: &Install) -> Result<Seen, ToolError> {
        let (listing, makes) = (install.listing, install.makes);
        let lists = install.shares.map_or(&[][..], Sharing::lists);
        let (packages, states, (lock_servers, lists), exists) = context
            .blocking(move |files, cancel| {
                let exists = makes.is_some_and(|folder| files.metadata(folder).is_ok());
                let packages = listing.packages(files, cancel)?;
                let lists: Texts = lists
                    .iter()
                    .map(|path| (*path, text(files, path)))
                    .collect();
                Ok((
                    packages,
                    states(files, cancel)?,
                    (listing.servers(files), lists),
                    exists,
                ))
            })
            .await?;
        let is_kept_from_git = match makes {
            Some(folder) if exists => context.services().git.ignores(&join(folder, "x")).await?,
            _ => true,
        };
        Ok(Seen {
            packages,
            states,
            lock_servers,
            lists,
            is_kept_from_git,
        })
    }
}

/// Makes git ignore what is in a folder that the manager has made, unless the project keeps such a
/// folder in git.
async fn keep_from_git(
    context: &ToolContext,
    makes: Option<&'static str>,
    was_kept: bool,
) -> Result<(), ToolError> {
    let Some(folder) = makes.filter(|_| was_kept) else {
        return Ok(());
    };
    let exists = context
        .blocking(move |files, _| Ok(files.metadata(folder).is_ok()))
        .await?;
    if !exists || context.services().git.ignores(&join(folder, "x")).await? {
        return Ok(());
    }
    let path = join(folder, ".gitignore");
    context
        .blocking(move |files, _| files.write(&path, IGNORE_ALL, Expect::Any))
        .await
        .map(drop)
}
