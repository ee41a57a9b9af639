//! The user's own settings about registries: a package manager follows those that its job is given,
//! and no other registry is asked in the place of one that it is not given.

use orchestrate_sandbox::RegistrySetting;

use super::destinations::Server;
use super::indexes::OfPip;
use super::login;
use super::managers::Manager;

/// Says why none of these managers is run; `None` if each is given all settings of the user's for
/// it.
pub(super) fn refusal(settings: &[RegistrySetting], managers: &[Manager]) -> Option<String> {
    let is_for_one =
        |setting: &&RegistrySetting| managers.iter().any(|manager| reads(manager, setting));
    let withheld = settings
        .iter()
        .filter(|setting| !setting.is_given)
        .find(is_for_one)?;
    Some(format!(
        "the user's `{}` names a registry, and no job is given that setting, since it seems to \
         contain a password or a token, is not in UTF-8, or is not in its usual place; nothing was \
         installed, so that no other registry is asked in its place. Instead, do without the \
         package, or {}",
        withheld.place,
        login::BY_USER
    ))
}

/// Leaves out the managers that do not read what the user has set for another one of them, unless
/// the project itself names an index, which each is told of.
pub(super) fn fitting(
    settings: &[RegistrySetting],
    managers: Vec<Manager>,
    indexes: &OfPip,
) -> Vec<Manager> {
    let is_set = |manager: &Manager| settings.iter().any(|setting| reads(manager, setting));
    if indexes.index.is_some() || !managers.iter().any(is_set) {
        return managers;
    }
    let has_first = managers
        .iter()
        .any(|manager| is_first(manager) && is_set(manager));
    let kept = managers
        .into_iter()
        .filter(|manager| is_set(manager) && (!has_first || is_first(manager)));
    kept.map(unshared).collect()
}

fn is_first(manager: &Manager) -> bool {
    manager.program == FIRST
}

/// What is downloaded once more is downloaded by pip.
fn unshared(mut manager: Manager) -> Manager {
    if manager.program == SECOND {
        manager.report.shares = None;
    }
    manager
}

/// Returns where the registries answer that the user has set for one of these managers, unless the
/// project names an index in their place.
pub(super) fn servers(
    settings: &[RegistrySetting],
    managers: &[Manager],
    indexes: &OfPip,
) -> Vec<Server> {
    if indexes.index.is_some() {
        return Vec::new();
    }
    let read = settings
        .iter()
        .filter(|setting| managers.iter().any(|manager| reads(manager, setting)));
    read.flat_map(|setting| &setting.lines)
        .flat_map(|line| Server::all_in(line))
        .collect()
}

/// The manager for Python that comes before another one, and that one.
const FIRST: &str = "pip";
const SECOND: &str = "uv pip";

/// Reports whether a manager reads a setting.
fn reads(manager: &Manager, setting: &RegistrySetting) -> bool {
    let program = manager.program.split(' ').next().unwrap_or_default();
    setting.readers.contains(&program)
}

#[cfg(test)]
mod tests {
    use std::slice::from_ref;

    use super::super::super::project::Project;
    use super::super::grammar::Ecosystem;
    use super::super::managers::managers;
    use super::*;

    fn setting(place: &str, reader: &'static [&'static str], is_given: bool) -> RegistrySetting {
        RegistrySetting {
            place: place.to_owned(),
            readers: reader,
            is_given,
            lines: Vec::new(),
        }
    }

    fn of(files: &[(&str, &str)], ecosystem: Ecosystem, indexes: &OfPip) -> Vec<Manager> {
        let requested = ecosystem.read("p", None).unwrap();
        managers(&Project::of(files), ecosystem, &requested, indexes).unwrap()
    }

    #[test]
    fn a_setting_that_no_job_is_given_is_not_replaced() {
        let none = OfPip::default();
        let python = of(&[(".venv/bin/python", "")], Ecosystem::Python, &none);
        let uv = of(
            &[("pyproject.toml", "[tool.uv]\n")],
            Ecosystem::Python,
            &none,
        );
        let npm = of(&[("package.json", "{}")], Ecosystem::JavaScript, &none);
        let pip_of_user = setting("PIP_INDEX_URL", &["pip"], false);
        let npm_of_user = setting("~/.npmrc", &["npm"], false);
        let all = [setting("UV_INDEX", &["uv"], true), pip_of_user, npm_of_user];
        let said = [&python, &uv, &npm].map(|managers| refusal(&all, managers));
        assert!(said[0].as_ref().is_some_and(|said| {
            said.starts_with("the user's `PIP_INDEX_URL` names a registry, and no")
        }));
        assert_eq!(said[1], None);
        assert!(
            said[2]
                .as_ref()
                .is_some_and(|said| said.contains("`~/.npmrc`"))
        );
    }

    #[test]
    fn a_manager_that_does_not_read_the_users_index_takes_no_other_place() {
        let files = [(".venv/bin/python", "")];
        let pip = setting("PIP_INDEX_URL", &["pip"], true);
        let uv = setting("UV_INDEX_URL", &["uv"], true);
        let fits = |settings: &[RegistrySetting], indexes: &OfPip| {
            let managers = fitting(settings, of(&files, Ecosystem::Python, indexes), indexes);
            managers
                .iter()
                .map(|manager| (manager.program, manager.report.shares.is_some()))
                .collect::<Vec<_>>()
        };
        let none = OfPip::default();
        assert_eq!(fits(&[], &none), [("pip", true), ("uv pip", true)]);
        assert_eq!(fits(from_ref(&pip), &none), [("pip", true)]);
        assert_eq!(fits(from_ref(&uv), &none), [("uv pip", false)]);
        let named = OfPip {
            index: Some("https://a.example/".to_owned()),
            extra: Vec::new(),
        };
        assert_eq!(
            fits(from_ref(&pip), &named),
            [("pip", true), ("uv pip", true)]
        );
        assert_eq!(fits(&[uv, pip], &none), [("pip", true)]);
        let npm = of(&[("package.json", "{}")], Ecosystem::JavaScript, &none);
        assert_eq!(
            fitting(&[setting("~/.npmrc", &["npm"], true)], npm.clone(), &none),
            npm
        );
    }

    #[test]
    fn the_users_registries_are_known() {
        let line = "registry=http://127.0.0.1:8702/npm/".to_owned();
        let of_user = RegistrySetting {
            lines: vec![line],
            ..setting("~/.npmrc", &["npm"], true)
        };
        let none = OfPip::default();
        let [npm, cargo] = [
            ("package.json", Ecosystem::JavaScript),
            ("Cargo.toml", Ecosystem::Rust),
        ]
        .map(|(manifest, ecosystem)| of(&[(manifest, "")], ecosystem, &none));
        let shown = |managers: &[Manager]| {
            let servers = servers(from_ref(&of_user), managers, &none);
            servers.iter().map(Server::to_string).collect::<Vec<_>>()
        };
        assert_eq!(
            (shown(&npm), shown(&cargo)),
            (vec!["127.0.0.1:8702".to_owned()], vec![])
        );
    }
}
