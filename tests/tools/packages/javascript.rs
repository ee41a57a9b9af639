//! pnpm and both generations of yarn.

use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use libtest_mimic::Failed;
use serde_json::json;
use tempfile::TempDir;

use super::{
    OLD, Page, Registry, SETTINGS, Step, full, install, npmrc, output, play_with,
    put_package_of_npm, shell, world,
};
use crate::support::{Case, Need, Outcome};

const PNPM: Need = Need::new("pnpm", "npm install --global pnpm", || {
    Need::starts("pnpm", &["--version"])
});
const YARN: Need = Need::new("yarn", "npm install --global yarn", || {
    Need::starts("yarn", &["--version"])
});
/// Projects bring the newer yarn themselves, so it is taken from a program of another name.
const BERRY: &str = "yarn-berry";
const OPENSSL: Need = Need::new("openssl", "apt install openssl", || {
    Need::starts("openssl", &["version"])
});
const YARN_BERRY: Need = Need::new(
    "yarn 4",
    "a link `yarn-berry` in PATH to bin/yarn.js of @yarnpkg/cli-dist",
    || Need::starts(BERRY, &["--version"]),
);

pub(super) fn cases() -> Vec<Case> {
    let cases = [
        full("pnpm_adds_a_package_without_its_scripts", of_pnpm).needs(PNPM),
        full("a_hostile_registry_gives_pnpm_nothing", hostile_to_pnpm).needs(PNPM),
        full("yarn_adds_a_package_without_its_scripts", of_yarn).needs(YARN),
        full("a_hostile_registry_gives_yarn_nothing", hostile_to_yarn).needs(YARN),
    ];
    let of_berry = [
        full(
            "the_newer_yarn_adds_a_package_without_its_scripts",
            of_berry,
        ),
        full(
            "a_hostile_registry_gives_the_newer_yarn_nothing",
            hostile_to_berry,
        ),
    ];
    let of_berry = of_berry.map(|case| {
        case.needs(YARN)
            .needs(YARN_BERRY)
            .needs(OPENSSL)
            .needs(Need::PYTHON)
    });
    cases
        .into_iter()
        .chain(of_berry)
        .map(|case| case.needs(Need::NPM))
        .collect()
}

/// A project of one of these managers.
struct Project {
    /// What `packageManager` says.
    manager: &'static str,
    files: Vec<(&'static str, String)>,
    lock: &'static str,
    /// What it says of a package that does not exist.
    unknown: &'static str,
    variables: Vec<(&'static str, String)>,
}

fn pnpm(registry: &Registry) -> Project {
    // Another version than the one that is installed, which must not be downloaded.
    Project {
        manager: "pnpm@9.1.0",
        files: vec![(".npmrc", npmrc(registry))],
        lock: "pnpm-lock.yaml",
        unknown: "ERR_PNPM_FETCH_404",
        variables: Vec::new(),
    }
}

fn yarn(registry: &Registry) -> Project {
    let settings = format!("registry \"{}\"\n", registry.url("/npm/"));
    Project {
        manager: "yarn@1.22.22",
        files: vec![(".yarnrc", settings)],
        lock: "yarn.lock",
        unknown: "Couldn't find package",
        variables: Vec::new(),
    }
}

/// Puts TLS before a registry.
const FRONT: &str = r#"
import http.client, http.server, ssl, sys
target, pem = sys.argv[1:]
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        connection = http.client.HTTPConnection(target)
        connection.request("GET", self.path)
        response = connection.getresponse()
        body = response.read()
        self.send_response(response.status)
        if response.getheader("location"):
            self.send_header("location", response.getheader("location"))
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *arguments):
        pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(pem)
server.socket = context.wrap_socket(server.socket, server_side=True)
print(server.server_address[1], flush=True)
server.serve_forever()
"#;

/// A registry behind TLS: the newer yarn asks a proxy for a tunnel in any case, and only TLS may go
/// through one.
struct Secure {
    registry: Registry,
    front: Child,
    folder: TempDir,
}

impl Secure {
    fn start() -> Result<Secure, Failed> {
        let (mut registry, folder) = (Registry::start()?, tempfile::tempdir()?);
        let (key, pem) = (folder.path().join("key"), folder.path().join("pem"));
        let (key, pem) = (key.to_string_lossy(), pem.to_string_lossy());
        let names = "subjectAltName=IP:127.0.0.1";
        let made = [
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:P-256",
            "-nodes",
            "-days",
            "2",
        ];
        let made = [
            &made[..],
            &[
                "-subj",
                "/CN=registry",
                "-addext",
                names,
                "-keyout",
                &key,
                "-out",
                &pem,
            ],
        ]
        .concat();
        output("openssl", &made, folder.path())?;
        let both = folder.path().join("both");
        std::fs::write(
            &both,
            [std::fs::read(&*key)?, std::fs::read(&*pem)?].concat(),
        )?;
        let mut command = Command::new("/usr/bin/python3");
        command
            .args(["-c", FRONT, &format!("127.0.0.1:{}", registry.port)])
            .arg(both)
            .stdout(Stdio::piped());
        let mut front = command.spawn()?;
        let mut port = String::new();
        if let Some(said) = front.stdout.take() {
            BufReader::new(said).read_line(&mut port)?;
        }
        registry.base = format!("https://127.0.0.1:{}", port.trim());
        Ok(Secure {
            registry,
            front,
            folder,
        })
    }
}

impl Drop for Secure {
    fn drop(&mut self) {
        // It has ended if this fails.
        let _ = self.front.kill();
        let _ = self.front.wait();
    }
}

fn berry(secure: &Secure) -> Result<Project, Failed> {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let mut folders = std::env::split_paths(&folders);
    let program: Option<PathBuf> =
        folders.find_map(|folder| folder.join(BERRY).canonicalize().ok());
    let program = std::fs::read_to_string(program.unwrap_or_default())?;
    let settings = format!(
        "nodeLinker: node-modules\nnpmRegistryServer: \"{}\"\nunsafeHttpWhitelist:\n  - localhost\n  - 169.254.169.254\n\
         yarnPath: .yarn/releases/yarn.cjs\n",
        secure.registry.url("/npm")
    );
    let files = vec![
        (".yarnrc.yml", settings),
        (".yarn/releases/yarn.cjs", program),
    ];
    let certificate = secure
        .folder
        .path()
        .join("pem")
        .to_string_lossy()
        .into_owned();
    let variables = vec![("NODE_EXTRA_CA_CERTS", certificate)];
    Ok(Project {
        manager: "yarn@4.18.1",
        files,
        lock: "yarn.lock",
        unknown: "Package not found",
        variables,
    })
}

impl Project {
    /// Lets an agent make calls in this project, with more files and dependencies, and returns the
    /// files that are new in the result.
    fn play(
        &self,
        dependencies: &serde_json::Value,
        more: &[(&str, &str)],
        steps: &[Step],
    ) -> Result<String, Failed> {
        let manifest = json!({"name": "own", "version": "1.0.0", "packageManager": self.manager, "dependencies": dependencies});
        let manifest = serde_json::to_string_pretty(&manifest)?;
        let files = self.files.iter().map(|(path, text)| (*path, text.as_str()));
        let files: Vec<(&str, &str)> = files
            .chain(more.iter().copied())
            .chain([("package.json", manifest.as_str())])
            .collect();
        let world = world(&files)?;
        let before = world.git("ls-files")?;
        let variables: Vec<(&str, &str)> = self
            .variables
            .iter()
            .map(|(name, value)| (*name, value.as_str()))
            .collect();
        play_with(&world, SETTINGS, &variables, steps)?;
        let after = world.git("ls-files")?;
        let is_new = |file: &&str| !before.lines().any(|old| old == *file);
        Ok(after.lines().filter(is_new).collect::<Vec<_>>().join(" "))
    }

    fn adds_a_package(&self, registry: &Registry) -> Outcome {
        put_package_of_npm(registry, "greeting", None)?;
        let changed = match self.lock {
            "pnpm-lock.yaml" => "package.json, pnpm-lock.yaml",
            _ => "package.json, yarn.lock",
        };
        let steps = [
            install(
                "greeting",
                format!("installed: greeting 1.0.0\nchanged: {changed}\n"),
            ),
            shell(
                "node -e 'console.log(require(\"greeting\"))'; ls ran.txt",
                "hello\n[standard error]\nls: ",
            ),
            install("greeting", "greeting is installed already"),
            install("nowhere", self.unknown),
        ];
        let files = self.play(&json!({}), &[(self.lock, "")], &steps)?;
        // What the manager keeps for itself is no part of the work.
        assert_eq!(files, "seen.txt");
        Ok(())
    }

    /// Lets a registry forge a digest, lead away, and lead to the machine's own addresses.
    fn gets_nothing(&self, registry: &Registry, mismatch: Option<&str>) -> Outcome {
        let other = Registry::start()?;
        put_package_of_npm(
            registry,
            "forged",
            Some(&format!("sha512-{}==", "A".repeat(86))),
        )?;
        for (name, tarball) in [
            (
                "away",
                format!("http://localhost:{}/away-1.0.0.tgz", other.port),
            ),
            (
                "metadata",
                registry.url("/npm/metadata/-/metadata-1.0.0.tgz"),
            ),
        ] {
            let dist =
                json!({"tarball": tarball, "integrity": format!("sha512-{}==", "A".repeat(86))});
            let versions = json!({"1.0.0": {"name": name, "version": "1.0.0", "dist": dist}});
            let page = json!({"name": name, "dist-tags": {"latest": "1.0.0"}, "time": {"1.0.0": OLD}, "versions": versions});
            registry.put(
                &format!("/npm/{name}"),
                Page::Bytes(page.to_string().into_bytes()),
            );
        }
        let redirect = Page::Redirect("http://169.254.169.254/latest/meta-data/".to_owned());
        registry.put("/npm/metadata/-/metadata-1.0.0.tgz", redirect);
        let forged = mismatch.map(|said| install("forged", said));
        let others = [
            install(
                "away",
                format!("[the network refused localhost:{} ", other.port),
            ),
            install("metadata", "[the network refused 169.254.169.254"),
            shell(
                "ls node_modules | grep -E 'forged|away|metadata' || echo none",
                "none",
            ),
        ];
        let steps: Vec<Step> = forged.into_iter().chain(others).collect();
        self.play(&json!({}), &[(self.lock, "")], &steps)?;
        assert!(other.asked().is_empty(), "{:?}", other.asked());
        Ok(())
    }

    /// Lets an agent begin with a lock file that leads to another host.
    fn follows_no_lock(&self, registry: &Registry, lock: impl FnOnce(&str) -> String) -> Outcome {
        let other = Registry::start()?;
        put_package_of_npm(registry, "greeting", None)?;
        let lock = lock(&format!("http://localhost:{}", other.port));
        let steps = [
            install(
                "greeting",
                format!("[the network refused localhost:{} ", other.port),
            ),
            shell("ls node_modules | grep evil || echo none", "none"),
        ];
        self.play(&json!({"evil": "1.0.0"}), &[(self.lock, &lock)], &steps)?;
        assert!(other.asked().is_empty(), "{:?}", other.asked());
        Ok(())
    }
}

fn of_pnpm() -> Outcome {
    let registry = Registry::start()?;
    pnpm(&registry).adds_a_package(&registry)
}

fn hostile_to_pnpm() -> Outcome {
    let registry = Registry::start()?;
    let project = pnpm(&registry);
    project.gets_nothing(&registry, Some("ERR_PNPM_TARBALL_INTEGRITY"))?;
    project.follows_no_lock(&registry, |host| {
        format!(
            "lockfileVersion: '9.0'\nsettings:\n  autoInstallPeers: true\n  excludeLinksFromLockfile: false\nimporters:\n  \
             .:\n    dependencies:\n      evil:\n        specifier: 1.0.0\n        version: 1.0.0\npackages:\n  evil@1.0.0:\n    \
             resolution: {{integrity: sha512-{}==, tarball: {host}/evil-1.0.0.tgz}}\nsnapshots:\n  evil@1.0.0: {{}}\n",
            "A".repeat(86)
        )
    })
}

fn of_yarn() -> Outcome {
    let registry = Registry::start()?;
    yarn(&registry).adds_a_package(&registry)
}

fn hostile_to_yarn() -> Outcome {
    let registry = Registry::start()?;
    let project = yarn(&registry);
    project.gets_nothing(&registry, Some("Integrity check failed"))?;
    project.follows_no_lock(&registry, |host| {
        format!("# yarn lockfile v1\n\n\nevil@1.0.0:\n  version \"1.0.0\"\n  resolved \"{host}/evil-1.0.0.tgz\"\n")
    })
}

fn of_berry() -> Outcome {
    let secure = Secure::start()?;
    berry(&secure)?.adds_a_package(&secure.registry)
}

/// It does not compare a new package with the registry's digest.
fn hostile_to_berry() -> Outcome {
    let secure = Secure::start()?;
    berry(&secure)?.gets_nothing(&secure.registry, None)
}
