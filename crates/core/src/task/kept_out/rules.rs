//! The rules of one run: the built-in table with what the user and the project add to it.

use serde::{Deserialize, Serialize};

use super::scratch::{self, Place};
use super::secrets::secret_in;
use crate::policy::PathPattern;
use crate::text::case_folding::folded_path;

/// A new file or folder of a worktree, with what surrounds it.
#[derive(Clone, Copy)]
pub struct Untracked<'a> {
    /// Its path, relative to the worktree.
    pub path: &'a str,
    /// Whether it is a folder, no file of which is tracked.
    pub is_folder: bool,
    /// The names of the entries of the folder that holds it.
    pub siblings: &'a [String],
    /// Reports whether the folder itself has an entry of exactly this name.
    pub inside: &'a dyn Fn(&str) -> bool,
}

/// Which new files stay out of a run's commits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommitRules {
    leave_out: Vec<PathPattern>,
    allow: Vec<PathPattern>,
    allow_scratch: Vec<PathPattern>,
}

impl CommitRules {
    /// Creates the rules of these settings.
    pub fn new(settings: &CommitSettings) -> CommitRules {
        CommitRules {
            leave_out: patterns(&settings.leave_out),
            allow: patterns(&settings.allow),
            allow_scratch: patterns(&settings.allow_scratch),
        }
    }

    /// Returns the kind of scratch that a new file or folder is, if it is left out as such.
    pub fn scratch(&self, entry: &Untracked<'_>) -> Option<&'static str> {
        if self.takes(entry.path) {
            return None;
        }
        if matches(&self.leave_out, entry.path) {
            return Some("the setting `commit.leave_out` names it");
        }
        let lower = folded_path(entry.path);
        let name = lower.rsplit('/').next().unwrap_or(&lower);
        let beside = |known: &str| {
            let mut names = entry.siblings.iter().map(|name| name.to_lowercase());
            names.any(|name| scratch::is_named(known, &name))
        };
        scratch::scratch(
            name,
            entry.is_folder,
            &Place {
                beside: &beside,
                inside: entry.inside,
            },
        )
    }

    /// Reports whether a scratch folder has to be entered, since a part of it may be wanted.
    pub fn may_take_within(&self) -> bool {
        !self.allow.is_empty() || !self.allow_scratch.is_empty()
    }

    /// Reports whether the settings take a file although it looks like scratch.
    pub fn takes(&self, path: &str) -> bool {
        matches(&self.allow, path) || matches(&self.allow_scratch, path)
    }

    /// Returns why a new file looks like a secret, by its path and the beginning of its content.
    pub fn secret(&self, path: &str, content: &[u8]) -> Option<String> {
        if matches(&self.allow, path) {
            None
        } else {
            secret_in(path, content)
        }
    }
}

fn patterns(globs: &[String]) -> Vec<PathPattern> {
    globs.iter().map(|glob| PathPattern::new(glob)).collect()
}

fn matches(patterns: &[PathPattern], path: &str) -> bool {
    patterns.iter().any(|pattern| pattern.matches(path))
}

/// The user's and the project's additions to the table of files that stay out of commits.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default)]
pub struct CommitSettings {
    /// Globs over paths that are left out as scratch files.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub leave_out: Vec<String>,
    /// Globs over paths that the user takes into commits whatever they look like.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allow: Vec<String>,
    /// Globs over paths that the repository takes although they look like scratch files; what looks
    /// like a secret stays out, since a repository cannot widen what its user allows.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allow_scratch: Vec<String>,
}

impl CommitSettings {
    /// Reports whether nothing is added.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(leave_out: &[&str], allow: &[&str], allow_scratch: &[&str]) -> CommitRules {
        let list = |globs: &[&str]| globs.iter().map(|glob| (*glob).to_owned()).collect();
        CommitRules::new(&CommitSettings {
            leave_out: list(leave_out),
            allow: list(allow),
            allow_scratch: list(allow_scratch),
        })
    }

    /// Asks about `path`; a folder's ends with a slash. `beside` and `inside` are names of entries.
    fn scratch(
        rules: &CommitRules,
        path: &str,
        beside: &[&str],
        inside: &[&str],
    ) -> Option<&'static str> {
        let siblings: Vec<String> = beside.iter().map(|name| (*name).to_owned()).collect();
        let (bare, is_folder) = path
            .strip_suffix('/')
            .map_or((path, false), |bare| (bare, true));
        let inside = |name: &str| inside.contains(&name);
        rules.scratch(&Untracked {
            path: bare,
            is_folder,
            siblings: &siblings,
            inside: &inside,
        })
    }

    #[test]
    fn caches_and_build_outputs_are_scratch_and_sources_of_such_names_are_not() {
        let table = CommitRules::default();
        let left_out: [(&str, &[&str], &[&str]); 23] = [
            ("node_modules/", &[], &[]),
            ("web/node_modules/", &[], &[]),
            ("target/", &["Cargo.toml"], &[]),
            ("target/", &["pom.xml"], &[]),
            ("target/", &[], &["CACHEDIR.TAG"]),
            ("build/", &["CMakeLists.txt"], &[]),
            ("app/build/", &["build.gradle.kts"], &[]),
            ("build/", &["pyproject.toml"], &[]),
            ("build-debug/", &[], &["CMakeCache.txt"]),
            ("dist/", &["package.json"], &[]),
            ("coverage/", &["package.json"], &[]),
            ("src/__pycache__/", &[], &[]),
            (".pytest_cache/", &[], &[]),
            (".venv/", &[], &[]),
            ("env/", &[], &["pyvenv.cfg"]),
            ("x.egg-info/", &[], &[]),
            ("App/obj/", &["App.csproj"], &[]),
            ("run.log", &[], &[]),
            ("src/a.pyc", &[], &[]),
            (".DS_Store", &[], &[]),
            ("a.o", &[], &[]),
            (".coverage", &[], &[]),
            (".next/", &[], &[]),
        ];
        for (path, beside, inside) in left_out {
            assert!(
                scratch(&table, path, beside, inside).is_some(),
                "{path} {beside:?} {inside:?}"
            );
        }
        let taken: [(&str, &[&str], &[&str]); 14] = [
            ("build/", &["README.md"], &["main.js"]),
            ("build/", &["src", "go.mod"], &[]),
            ("target/", &["package.json"], &[]),
            ("dist/", &["Makefile"], &[]),
            ("coverage/", &["main.go"], &[]),
            ("env/", &["package.json"], &["production.ts"]),
            ("bin/", &["package.json"], &["cli.js"]),
            ("vendor/", &["go.mod"], &[]),
            ("build", &["package.json"], &[]),
            ("node_modules", &[], &[]),
            ("log/", &[], &[]),
            ("src/log.rs", &[], &[]),
            (".log", &[], &[]),
            ("Cargo.lock", &["Cargo.toml"], &[]),
        ];
        for (path, beside, inside) in taken {
            assert_eq!(
                scratch(&table, path, beside, inside),
                None,
                "{path} {beside:?} {inside:?}"
            );
        }
    }

    #[test]
    fn settings_extend_the_table_and_the_users_permission_holds_for_secrets_too() {
        let own = rules(
            &["*.tmp", "out/"],
            &["build/", "fixtures/key.pem"],
            &["*.log", ".env"],
        );
        assert!(
            scratch(&own, "a.tmp", &[], &[]).is_some() && scratch(&own, "out/", &[], &[]).is_some()
        );
        assert_eq!(scratch(&own, "build/", &["package.json"], &[]), None);
        assert_eq!(scratch(&own, "run.log", &[], &[]), None);
        assert_eq!(own.secret("fixtures/key.pem", b""), None);
        assert!(own.secret("other.pem", b"").is_some());
        assert!(
            own.secret(".env", b"A=1\n").is_some(),
            "a repository does not allow secrets"
        );
    }

    #[test]
    fn secrets_are_known_by_name_and_by_content() {
        let table = CommitRules::default();
        let key = format!(
            "-----BEGIN {}PRIVATE KEY-----\nb3BlbnNzaC1rZXk=\n",
            "OPENSSH "
        );
        let inline = format!(
            "key = \"-----BEGIN PRIVATE KEY-----\\n{}\"\n",
            "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC".repeat(2)
        );
        let token = |begin: &str| format!("token: {begin}{}\n", "a1B2c3D4e5F6g7H8i9J0".repeat(4));
        let secret: [(&str, &str); 27] = [
            (".env", "A=1"),
            ("config/.env", ""),
            (".env.production", "A=1"),
            ("prod.env", ""),
            ("id_ed25519", ""),
            ("keys/id_rsa.bak", ""),
            ("server.pem", "secret"),
            ("tls/server.key", "x"),
            ("store.p12", ""),
            (".ssh/work", ""),
            (".aws/credentials", ""),
            ("terraform.tfstate", "{}"),
            (".npmrc", "//registry.npmjs.org/:_authToken=abc\n"),
            (".envrc", "export API_TOKEN=a1B2c3D4e5F6\n"),
            (
                "config/secrets.yml",
                "production:\n  password: \"a1B2c3D4e5F6\"\n",
            ),
            (
                "conf.ini",
                "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYa1B2c3D4e5",
            ),
            (".pypirc", "[pypi]\npassword = abc\n"),
            ("notes.txt", &key),
            ("src/config.py", &inline),
            ("a.yml", &token("ghp_")),
            ("a.yml", &token("sk-ant-api03-")),
            ("a.yml", &token("sk-")),
            ("a.yml", &token("xoxb-")),
            ("a.yml", "id: AKIAIOSFODNN7ABCDEFG\n"),
            (".env.example", &token("glpat-")),
            ("service.json", &inline),
            ("key.ppk.txt", "PuTTY-User-Key-File-3: ssh-ed25519"),
        ];
        for (path, content) in secret {
            assert!(
                table.secret(path, content.as_bytes()).is_some(),
                "{path}: {content}"
            );
        }
        let harmless: [(&str, &str); 19] = [
            (".env.example", "TOKEN=\n"),
            (".env.sample", ""),
            ("id_ed25519.pub", "ssh-ed25519 AAAA"),
            ("src/id_rsa_parser.rs", "fn parse() {}"),
            (
                "cert.pem",
                "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n",
            ),
            ("pub.key", "-----BEGIN PUBLIC KEY-----\nMIIB\n"),
            (
                ".npmrc",
                "//registry.npmjs.org/:_authToken=${NPM_TOKEN}\nsave-exact=true\n",
            ),
            (
                "src/detect.rs",
                "if text.contains(\"-----BEGIN PRIVATE KEY-----\") {",
            ),
            (
                "docs/setup.md",
                "Set `token: ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx`",
            ),
            ("docs/aws.md", "AKIAIOSFODNN7EXAMPLE"),
            (
                "a.css",
                "mask-image: task-list-of-words-that-go-on-and-on-and-on-and-on-for-a-long-time",
            ),
            ("src/environment.rs", ""),
            (".envrc", "use flake\nexport API_TOKEN=$(pass token)\n"),
            (
                "docs/aws.ini",
                "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
            ),
            ("config/secrets.yml", "password: <%= ENV['PASSWORD'] %>\n"),
            (".ssh/known_hosts", ""),
            ("src/key.rs", "struct Key;"),
            ("credentials.rs", ""),
            ("task.md", "ASIATICLANGUAGESARE in capitals"),
        ];
        for (path, content) in harmless {
            assert_eq!(
                table.secret(path, content.as_bytes()),
                None,
                "{path}: {content}"
            );
        }
    }
}
