//! Tables of homes, with what a job sees of each.

use std::os::unix::fs::{PermissionsExt, symlink};

use super::*;

/// A home: `program`, `file` and `link → target` are its entries, and everything else is a folder.
struct Case {
    name: &'static str,
    entries: &'static [&'static str],
    path: &'static str,
    variables: &'static [(&'static str, &'static str)],
    expected: &'static str,
}

fn make(home: &Path, entry: &str) {
    let at = |name: &str| home.join(name);
    let prepared = |name: &str| {
        std::fs::create_dir_all(at(name).parent().unwrap()).unwrap();
        at(name)
    };
    if let Some((name, target)) = entry.split_once(" → ") {
        let target = target.strip_prefix("~/").map_or_else(|| target.into(), at);
        symlink(target, prepared(name)).unwrap();
    } else if let Some(name) = entry.strip_prefix("file ") {
        std::fs::write(prepared(name), "text").unwrap();
    } else if let Some(name) = entry.strip_prefix("executable ") {
        std::fs::write(prepared(name), "text").unwrap();
        std::fs::set_permissions(at(name), PermissionsExt::from_mode(0o755)).unwrap();
    } else if let Some(name) = entry.strip_prefix("program ") {
        std::fs::write(prepared(name), "#!/bin/sh\n").unwrap();
        std::fs::set_permissions(at(name), PermissionsExt::from_mode(0o755)).unwrap();
    } else {
        std::fs::create_dir_all(at(entry)).unwrap();
    }
}

/// Renders what a job sees, with `~` for the home.
fn render(programs: &Programs, home: &Path) -> String {
    let mut lines: Vec<String> = Vec::new();
    for PathFolder { outside, inside } in &programs.path {
        match inside {
            Some(inside) if inside == outside => lines.push(format!("path {}", inside.display())),
            Some(inside) => lines.push(format!(
                "path {} for {}",
                inside.display(),
                outside.display()
            )),
            None => {}
        }
    }
    lines.extend(
        programs
            .read_only
            .iter()
            .map(|path| format!("show {}", path.display())),
    );
    lines.extend(
        programs
            .links
            .iter()
            .map(|link| format!("link {} → {}", link.path.display(), link.target.display())),
    );
    for (when, variables) in [("", &programs.variables), ("offline ", &programs.offline)] {
        lines.extend(
            variables
                .iter()
                .map(|(name, value)| format!("{when}{}={}", name.display(), value.display())),
        );
    }
    lines.extend(
        programs
            .hidden
            .iter()
            .map(|hidden| format!("hide {}: {}", hidden.path.display(), hidden.reason)),
    );
    lines.join("\n").replace(&home.display().to_string(), "~")
}

fn check(cases: &[Case]) {
    let different = cases.iter().filter_map(|case| {
        let (found, expected) = (found(case), lines(case.expected));
        (found != expected).then(|| {
            format!(
                "{}:\n{}\nexpected:\n{}",
                case.name,
                found.join("\n"),
                expected.join("\n")
            )
        })
    });
    let different: Vec<String> = different.collect();
    assert!(different.is_empty(), "{}", different.join("\n\n"));
}

fn lines(text: &str) -> Vec<String> {
    text.lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .map(str::to_owned)
        .collect()
}

fn found(case: &Case) -> Vec<String> {
    let place = tempfile::tempdir().unwrap();
    let home = place.path().canonicalize().unwrap();
    for entry in case.entries.iter() {
        make(&home, entry);
    }
    let absolute = |text: &str| text.replace('~', &home.display().to_string());
    let variable = |name: &str| {
        let (_, value) = case.variables.iter().find(|(known, _)| *known == name)?;
        Some(OsString::from(absolute(value)))
    };
    let programs = Programs::for_shell(&Shell {
        home: home.clone(),
        path: case
            .path
            .split(':')
            .map(|folder| PathBuf::from(absolute(folder)))
            .collect(),
        variable: &variable,
        visible: vec!["/usr".into(), "/bin".into()],
    });
    lines(&render(&programs, &home))
}

/// Homes with the toolchains of the table.
const TOOLCHAIN_CASES: &[Case] = &[
    Case {
        name: "pyenv",
        entries: &[
            "program .pyenv/shims/python3",
            "program .pyenv/bin/pyenv",
            "program .pyenv/versions/3.12.1/bin/python3",
            "file .pyenv/versions/3.12.1/pip.conf",
            "file .pyenv/versions/3.12.1/lib/os.py",
            "file .pyenv/version",
            ".pyenv/.git",
            ".pyenv/sources",
        ],
        path: "~/.pyenv/shims:~/.pyenv/bin:/usr/bin",
        variables: &[("PYENV_VERSION", "3.12.1")],
        expected: "path ~/.pyenv/shims
                   path ~/.pyenv/bin
                   path /usr/bin
                   show ~/.pyenv/bin
                   show ~/.pyenv/shims
                   show ~/.pyenv/version
                   show ~/.pyenv/versions/3.12.1/bin
                   show ~/.pyenv/versions/3.12.1/lib
                   PYENV_ROOT=~/.pyenv
                   PYENV_VERSION=3.12.1",
    },
    Case {
        name: "a Python without a manager, and conda",
        entries: &[
            "program pythons/3.11/bin/python3",
            "pythons/3.11/bin/python → python3",
            "file pythons/3.11/bin/notes",
            "file pythons/3.11/lib/python3.11/os.py",
            "file pythons/3.11/include/python3.11/Python.h",
            "program conda/bin/python3",
            "file conda/conda-meta/history",
            "file conda/.condarc",
            "file conda/share/zoneinfo",
            "program .local/bin/python3",
            "file .local/lib/python3.11/os.py",
            "file .local/share/keyrings/login",
        ],
        path: "~/pythons/3.11/bin:~/conda/bin:~/.local/bin",
        variables: &[],
        expected: "path ~/pythons/3.11/bin
                   path ~/conda/bin
                   path ~/.local/bin
                   show ~/.local/bin
                   show ~/.local/lib
                   show ~/.local/lib/python3.11
                   show ~/conda/bin
                   show ~/conda/conda-meta
                   show ~/conda/share
                   show ~/pythons/3.11
                   PYTHONUSERBASE=~/.local",
    },
    Case {
        name: "the versions that a project pins for corepack and pnpm",
        entries: &[
            "program tools/bin/pnpm",
            "file .cache/node/corepack/v1/pnpm/9.1.0/bin/pnpm.cjs",
            "file .local/share/pnpm/.tools/pnpm/9.2.0/bin/pnpm",
            "file .local/share/pnpm/store/v3/files",
        ],
        path: "~/tools/bin",
        variables: &[],
        expected: "path ~/tools/bin
                   show ~/.cache/node/corepack
                   show ~/.local/share/pnpm/.tools
                   show ~/tools/bin
                   PNPM_HOME=~/.local/share/pnpm
                   offline COREPACK_ENABLE_NETWORK=0
                   offline COREPACK_HOME=~/.cache/node/corepack",
    },
    Case {
        name: "pnpm whose data is elsewhere",
        entries: &[
            "program tools/bin/pnpm",
            "file data/pnpm/.tools/pnpm/9.2.0/bin/pnpm",
            ".local/share/pnpm/.tools",
        ],
        path: "~/tools/bin",
        variables: &[("XDG_DATA_HOME", "~/data")],
        expected: "path ~/tools/bin
                   show ~/data/pnpm/.tools
                   show ~/tools/bin
                   PNPM_HOME=~/data/pnpm",
    },
    Case {
        name: "uv, its tools and its Pythons",
        entries: &[
            "program .local/bin/uv",
            "program .local/share/uv/tools/ruff/bin/ruff",
            ".local/bin/ruff → ~/.local/share/uv/tools/ruff/bin/ruff",
            "program .local/share/uv/python/cpython-3.12/bin/python3.12",
            "file .local/share/uv/credentials/credentials.toml",
            "file .local/share/keyrings/login",
        ],
        path: "~/.local/bin",
        variables: &[],
        expected: "path ~/.local/bin
                   show ~/.local/bin
                   show ~/.local/share/uv/python
                   show ~/.local/share/uv/tools
                   UV_PYTHON_DOWNLOADS=never
                   UV_PYTHON_INSTALL_DIR=~/.local/share/uv/python
                   offline UV_OFFLINE=1",
    },
    Case {
        name: "pipx and the user's own packages",
        entries: &[
            "program .local/share/pipx/venvs/black/bin/black",
            ".local/bin/black → ../share/pipx/venvs/black/bin/black",
            "program .local/bin/python3",
            "file .local/lib/python3.12/site-packages/x.py",
            "file .local/lib/other",
        ],
        path: "~/.local/bin",
        variables: &[],
        expected: "path ~/.local/bin
                   show ~/.local/bin
                   show ~/.local/lib/python3.12
                   show ~/.local/share/pipx/venvs
                   PYTHONUSERBASE=~/.local",
    },
    Case {
        name: "nvm",
        entries: &[
            "program .nvm/versions/node/v20/bin/node",
            "file .nvm/versions/node/v20/etc/npmrc",
            "file .nvm/versions/node/v20/lib/node_modules/npm/x.js",
            "file .nvm/.cache/x",
        ],
        path: "~/.nvm/versions/node/v20/bin",
        variables: &[],
        expected: "path ~/.nvm/versions/node/v20/bin
                   show ~/.nvm/versions/node/v20/bin
                   show ~/.nvm/versions/node/v20/lib
                   NVM_DIR=~/.nvm",
    },
    Case {
        name: "fnm leads through a link of each shell",
        entries: &[
            "program .local/share/fnm/node-versions/v20/installation/bin/node",
            ".local/share/fnm/aliases/default → ~/.local/share/fnm/node-versions/v20/installation",
            ".local/state/fnm_multishells/1_2 → ~/.local/share/fnm/aliases/default",
        ],
        path: "~/.local/state/fnm_multishells/1_2/bin",
        variables: &[],
        expected: "path ~/.local/share/fnm/node-versions/v20/installation/bin for \
                   ~/.local/state/fnm_multishells/1_2/bin
                   show ~/.local/share/fnm/aliases
                   show ~/.local/share/fnm/node-versions
                   FNM_DIR=~/.local/share/fnm",
    },
    Case {
        name: "volta, pnpm, bun and deno",
        entries: &[
            "program .volta/bin/volta-shim",
            ".volta/bin/node → volta-shim",
            "file .volta/layout.v4",
            "file .volta/hooks.json",
            "file .volta/tools/user/platform.json",
            "program .local/share/pnpm/pnpm",
            "file .local/share/pnpm/store/v3/x",
            "file .local/share/pnpm/global/5/x",
            "program .bun/bin/bun",
            "file .bun/install/global/x",
            "file .bun/install/cache/x",
            "program .deno/bin/deno",
        ],
        path: "~/.volta/bin:~/.local/share/pnpm:~/.bun/bin:~/.deno/bin",
        variables: &[("PNPM_HOME", "~/.local/share/pnpm")],
        expected: "path ~/.volta/bin
                   path ~/.local/share/pnpm
                   path ~/.bun/bin
                   path ~/.deno/bin
                   show ~/.bun/bin
                   show ~/.bun/install/global
                   show ~/.deno/bin
                   show ~/.local/share/pnpm/global
                   show ~/.local/share/pnpm/pnpm
                   show ~/.volta/bin
                   show ~/.volta/layout.v4
                   show ~/.volta/tools
                   BUN_INSTALL=~/.bun
                   PNPM_HOME=~/.local/share/pnpm
                   VOLTA_HOME=~/.volta",
    },
    Case {
        name: "asdf and mise, whose shims are links to the manager",
        entries: &[
            "program .asdf/shims/ruby",
            "program .asdf/installs/ruby/3.3/bin/ruby",
            "program tools/mise/mise",
            ".local/share/mise/shims/node → ~/tools/mise/mise",
            "program .local/share/mise/installs/node/20/bin/node",
        ],
        path: "~/.asdf/shims:~/.local/share/mise/shims",
        variables: &[],
        expected: "path ~/.asdf/shims
                   path ~/.local/share/mise/shims
                   show ~/.asdf/installs
                   show ~/.asdf/shims
                   show ~/.local/share/mise/installs
                   show ~/.local/share/mise/shims
                   show ~/tools/mise/mise
                   ASDF_DATA_DIR=~/.asdf
                   MISE_DATA_DIR=~/.local/share/mise
                   MISE_TRUSTED_CONFIG_PATHS=/
                   offline MISE_OFFLINE=1",
    },
    Case {
        name: "sdkman and its Java",
        entries: &[
            "program .sdkman/candidates/java/17/bin/java",
            ".sdkman/candidates/java/current → 17",
            "program .sdkman/candidates/maven/3.9/bin/mvn",
            "file .sdkman/candidates/maven/3.9/conf/settings.xml",
            "file .sdkman/candidates/maven/3.9/conf/logging",
            "file .sdkman/etc/config",
            "file .m2/repository/a.jar",
            "file .m2/settings.xml",
        ],
        path: "~/.sdkman/candidates/java/current/bin:~/.sdkman/candidates/maven/3.9/bin",
        variables: &[],
        expected: "path ~/.sdkman/candidates/java/current/bin
                   path ~/.sdkman/candidates/maven/3.9/bin
                   show ~/.m2/repository
                   show ~/.sdkman/candidates/java
                   show ~/.sdkman/candidates/maven/3.9/bin
                   show ~/.sdkman/candidates/maven/3.9/conf/logging
                   MAVEN_ARGS=-Dmaven.repo.local.tail=~/.m2/repository \
                   -Dmaven.repo.local.tail.ignoreAvailability=true
                   SDKMAN_DIR=~/.sdkman
                   offline MAVEN_ARGS=-o -Dmaven.repo.local.tail=~/.m2/repository \
                   -Dmaven.repo.local.tail.ignoreAvailability=true",
    },
    Case {
        name: "go, from its own folder",
        entries: &[
            "program sdk/go1.22/bin/go",
            "file sdk/go1.22/src/runtime/x.go",
            "file sdk/go1.22/VERSION",
            "program go/bin/gopls",
            "file go/pkg/mod/cache/vcs/x/config",
            "file go/pkg/mod/cache/download/x",
            "file go/pkg/mod/example.org/x@v1/x.go",
            "file go/src/x.go",
        ],
        path: "~/sdk/go1.22/bin:~/go/bin",
        variables: &[("GOFLAGS", "-mod=mod")],
        expected: "path ~/sdk/go1.22/bin
                   path ~/go/bin
                   show ~/go/bin
                   show ~/go/pkg/mod/cache/download
                   show ~/go/pkg/mod/example.org
                   show ~/sdk/go1.22/VERSION
                   show ~/sdk/go1.22/bin
                   show ~/sdk/go1.22/src
                   GOFLAGS=-mod=mod
                   GOMODCACHE=~/go/pkg/mod
                   offline GOPROXY=off",
    },
];

#[test]
fn each_toolchain_is_recognised_and_only_its_installation_shown() {
    check(TOOLCHAIN_CASES);
}

/// Homes with folders of programs that belong to no toolchain.
const FOLDER_CASES: &[Case] = &[
    Case {
        name: "links into what is private, files, and folders",
        entries: &[
            "program bin/mine",
            "file bin/notes.txt",
            "executable bin/data",
            "file .ssh/id",
            "bin/key → ~/.ssh/id",
            "program .config/tool/run",
            "bin/run → ~/.config/tool/run",
            "executable .ssh/open",
            "bin/open → ~/.ssh/open",
            "program opt/x/x",
            "bin/x → ~/opt/x/x",
            "bin/gone → ~/absent",
            "program project/tool",
            "file project/.git/HEAD",
            "bin/tool → ~/project/tool",
        ],
        path: "~/bin",
        variables: &[],
        expected: "path ~/bin
                   show ~/bin/mine
                   show ~/opt/x/x
                   link ~/bin/x → ~/opt/x/x
                   hide ~/bin/data: it is neither a script nor a native program
                   hide ~/bin/open: its folder may contain passwords or tokens
                   hide ~/bin/run: its folder may contain passwords or tokens
                   hide ~/bin/tool: it is in the repository ~/project; commands see none but their own worktree",
    },
    Case {
        name: "the home itself",
        entries: &["program run", "file .netrc", "executable .bashrc"],
        path: "~",
        variables: &[],
        expected: "path ~
                   show ~/run
                   hide ~/.bashrc: it is neither a script nor a native program",
    },
    Case {
        name: "a home of which all is a program, and is a repository of settings",
        entries: &["program run"],
        path: "~",
        variables: &[],
        expected: "path ~
                   show ~/run",
    },
    Case {
        name: "an activated environment of a project",
        entries: &["file project/.git/HEAD", "program project/.venv/bin/pytest", "file project/.venv/pyvenv.cfg"],
        path: "~/project/.venv/bin:/usr/bin",
        variables: &[("VIRTUAL_ENV", "~/project/.venv")],
        expected: "path /usr/bin
                   hide ~/project/.venv/bin: it belongs to the virtual environment ~/project/.venv of the checkout, with \
                   which a check would test the checkout's code; create one in each worktree with `[worktree] setup` or \
                   .worktreeinclude, and call its programs by their path there",
    },
    Case {
        name: "an activated environment elsewhere",
        entries: &[
            "program envs/own/bin/pytest",
            "envs/own/bin/python → /usr/bin/env",
            "file envs/own/pyvenv.cfg",
            "file envs/own/lib/python3/pytest.py",
            "file envs/own/pip.conf",
        ],
        path: "~/envs/own/bin:/usr/bin",
        variables: &[("VIRTUAL_ENV", "~/envs/own")],
        expected: "path ~/envs/own/bin
                   path /usr/bin
                   show ~/envs/own/bin
                   show ~/envs/own/lib
                   show ~/envs/own/pyvenv.cfg",
    },
    Case {
        name: "folders of a repository, and private ones",
        entries: &["file project/.git/HEAD", "program project/tools/bin/make", "program .config/x/bin/y", "program .ssh/z"],
        path: "~/project/tools/bin:~/.config/x/bin:~/.ssh:~/absent",
        variables: &[],
        expected: "hide ~/project/tools/bin: it is in the repository ~/project; commands see none but their own worktree
                   hide ~/.config/x/bin: its folder may contain passwords or tokens
                   hide ~/.ssh: its folder may contain passwords or tokens",
    },
    Case {
        name: "a home that is a repository of settings",
        entries: &["file .git/HEAD", "program bin/mine"],
        path: "~/bin",
        variables: &[],
        expected: "path ~/bin
                   show ~/bin",
    },
    Case {
        name: "what is not on the path is not shown",
        entries: &["program .nvm/versions/node/v20/bin/node", "program .pyenv/shims/python3", "file go/pkg/mod/x/y"],
        path: "~/absent",
        variables: &[],
        expected: "",
    },
    Case {
        name: "a variable names the folder of a manager",
        entries: &["program tools/py/shims/python3", "program tools/py/versions/3.12/bin/python3"],
        path: "~/tools/py/shims",
        variables: &[("PYENV_ROOT", "~/tools/py")],
        expected: "path ~/tools/py/shims
                   show ~/tools/py/shims
                   show ~/tools/py/versions
                   PYENV_ROOT=~/tools/py",
    },
];

#[test]
fn a_folder_that_holds_more_than_programs_shows_its_programs_alone() {
    check(FOLDER_CASES);
}

/// Bubblewrap and Landlock show what a path leads to, so both paths are shown.
#[test]
fn a_folder_is_shown_where_a_link_to_it_and_where_it_is() {
    check(&[Case {
        name: "a manager on another disk",
        entries: &["program disk/py/shims/python3", ".pyenv → disk/py"],
        path: "~/.pyenv/shims",
        variables: &[],
        expected: "path ~/.pyenv/shims
                   show ~/.pyenv/shims
                   show ~/disk/py/shims
                   PYENV_ROOT=~/.pyenv",
    }]);
}
