use super::*;

/// Files with their texts.
type Texts<'a> = &'a [(&'a str, &'a str)];

fn look(files: Texts<'_>, ecosystem: Ecosystem) -> Result<Vec<Index>, String> {
    find_with(ecosystem, &lists(&Project::of(files)), &|path| {
        let file = files.iter().find(|(file, _)| *file == path);
        Ok(file.map(|(_, text)| (*text).to_owned()))
    })
}

/// Says why nothing is installed by a manager that follows the files of these readers.
fn refusal(files: Texts<'_>, ecosystem: Ecosystem, readers: &[Reader]) -> String {
    match look(files, ecosystem) {
        Ok(indexes) => replaced(&indexes, readers).unwrap_or_default(),
        Err(refusal) => refusal,
    }
}

fn ecosystem_of(file: &str) -> Ecosystem {
    PLACES
        .iter()
        .find(|(name, ..)| *name == file)
        .map_or(Ecosystem::Python, |(_, ecosystem, ..)| *ecosystem)
}

/// The address of the index of these tests.
const OWN: &str = "https://a.example/simple";

#[expect(clippy::too_many_lines, reason = "a table, with one row per case")]
#[test]
fn each_file_names_its_indexes() {
    let table: &[(&str, &str, &[&str])] = &[
        (
            "requirements.txt",
            "# -i https://no.example/\nrequests\n--index-url https://a.example/simple\n\
             --extra-index-url=https://b.example/ # ours\n-ihttp://c.example/\n\
             x @ https://no.example/x.whl\n--find-links https://no.example/\n\
             --trusted-host d.example --index-u 'https://d.example/'\n",
            &[
                "--index-url https://a.example/simple",
                "--extra-index-url https://b.example/",
                "-i http://c.example/",
                "--index-u https://d.example/",
            ],
        ),
        (
            "pip.conf",
            "[global]\n  index-url = https://a.example/\n; index-url = https://no.example/\n\
             extra_index_url: https://b.example/ https://c.example/\nproxy = http://no.example/\n\
             no-index = false\n",
            &[
                "index-url https://a.example/",
                "extra_index_url https://b.example/",
                "extra_index_url https://c.example/",
            ],
        ),
        (
            "Pipfile",
            "  [[source]]\n  url = \"https://a.example/\"\n  [packages]\n",
            &["source.url https://a.example/"],
        ),
        (
            "pyproject.toml",
            "[project]\nurls = { home = \"https://no.example/\" }\n[[tool.uv.index]]\nname = \"a\"\n\
             url = \"https://a.example/\"\n[tool.uv]\nextra-index-url = [\n  \"https://b.example/\",\n\
             ]\npublish-url = \"https://no.example/\"\n[tool.uv.sources]\n\
             a = { git = \"https://no.example/\" }\n[tool.other]\nurl = \"https://no.example/\"\n",
            &[
                "tool.uv.index.url https://a.example/",
                "tool.uv.extra-index-url https://b.example/",
            ],
        ),
        (
            "pyproject.toml",
            "[tool]\npoetry.source = [{ url = 'https://a.example/' }]\n",
            &["tool.poetry.source.url https://a.example/"],
        ),
        (
            "pyproject.toml",
            "[tool.hatch.envs.default.env-vars]\nPIP_INDEX_URL = \"https://a.example/\"\n\
             [tool.hatch.envs.test.overrides]\nenv.CI.env-vars = [\"UV_INDEX=b=https://b.example/\"]\n",
            &[
                "PIP_INDEX_URL https://a.example/",
                "UV_INDEX https://b.example/",
            ],
        ),
        (
            "tox.toml",
            "[env_run_base]\ndeps = [\"pytest\", \"--extra-index-url=https://a.example/\"]\n\
             set_env = { PIP_INDEX_URL = \"https://b.example/\", Z = \"https://no.example/\" }\n",
            &[
                "--extra-index-url https://a.example/",
                "PIP_INDEX_URL https://b.example/",
            ],
        ),
        (
            "tox.ini",
            "[testenv]\nset_env =\n    PIP_INDEX_URL = https://a.example/\n    A = https://no.example/\n\
             pass_env = UV_INDEX_URL PIP_EXTRA_INDEX_URL\n\
             install_command = pip install -i {env:PIP_INDEX_URL} {packages}\n\
             setenv = dev: PIP_EXTRA_INDEX_URL = https://no.example/\ncommands = sed -i file:///a\n",
            &["PIP_INDEX_URL https://a.example/"],
        ),
        (
            ".npmrc",
            "registry=https://a.example/npm/\n@corp:registry = https://b.example/ ; ours\n\
             proxy=http://registry.no.example/\n//registry.a.example/:_authToken=${NPM_TOKEN}\n\
             https-proxy=http://no.example/\n# registry=https://no.example/\n",
            &[
                "registry https://a.example/npm/",
                "@corp:registry https://b.example/",
            ],
        ),
        (
            ".yarnrc",
            "registry \"https://a.example/\"\n\"@c:registry\" \"https://b.example/\"\n",
            &[
                "registry https://a.example/",
                "@c:registry https://b.example/",
            ],
        ),
        (
            ".yarnrc.yml",
            "npmRegistryServer: \"https://a.example\"\nnpmScopes:\n  corp:\n    \
             npmRegistryServer: https://b.example/ # ours\nhttpProxy: http://no.example/\n",
            &[
                "npmRegistryServer https://a.example/",
                "npmRegistryServer https://b.example/",
            ],
        ),
        (
            "pnpm-workspace.yaml",
            "packages:\n- packages/*\nregistry: https://a.example\n\"@d:registry\": https://d.example/\n\
             catalog:\n  a: https://no.example/a.tgz\n",
            &[
                "registry https://a.example/",
                "@d:registry https://d.example/",
            ],
        ),
        (
            ".cargo/config.toml",
            "[source.crates-io]\nreplace-with = \"m\"\n[source.m]\n\
             registry = \"sparse+https://a.example/index/\"\n[source.v]\ndirectory = \"vendor\"\n\
             [registries.corp]\nindex = \"sparse+https://b.example/\"\n\
             [http]\nproxy = \"http://no.example/\"\n[registries]\n\
             c = { index = \"sparse+https://c.example/\" }\n",
            &[
                "source.*.registry https://a.example/index/",
                "registries.*.index https://c.example/",
                "registries.*.index https://b.example/",
            ],
        ),
        (
            "requirements.txt",
            "-i https://A.example:443/x\n-i https://a.example/x\n",
            &["-i https://a.example/x"],
        ),
    ];
    for (file, text, expected) in table {
        let found = look(&[(file, text)], ecosystem_of(file)).unwrap_or_default();
        let found: Vec<String> = found
            .iter()
            .map(|index| format!("{} {}", index.key, index.url))
            .collect();
        assert_eq!(found, *expected, "{file}: {text}");
    }
}

/// Files that are refused, each with the key for which, why, and its text.
const REFUSED: &str = r#"
requirements.txt -r INCLUDE -r pins/base.txt\n
requirements.txt -c INCLUDE -c https://a.example/c.txt\n
requirements.txt --requirement INCLUDE --requirement=../up.txt\n
requirements.txt --index-url UNCLEAR --index-url \\n  https://a.example/\n
requirements.txt -i UNCLEAR -i https://${HOST}/simple\n
requirements.txt -i UNCLEAR -i file:///a\n
requirements.txt --extra-index-url UNCLEAR --extra-index-url\n
requirements.txt -i LOGIN -i http://bob:pw@127.0.0.1:87/s\n
requirements.txt -i LOGIN -i https://${USER}:${PASS}@a.example/\n
requirements/base.txt -i LOGIN -i https://bob:pw@a.example/\n
requirements.txt --no-index NO_INDEX # \\n--no-index\n
pip.conf index_url LOGIN [global]\nindex_url: https://bob:pw@a.example/\n
pip.conf no-index NO_INDEX [global]\nno-index = True\n
pip.conf extra-index-url UNCLEAR extra-index-url =\n  https://b.example/\n
pip.conf extra-index-url UNCLEAR extra-index-url = https://a.example/\n  https://b.example/\n
uv.toml no-index NO_INDEX no-index = true\n
pyproject.toml tool.poetry.source.url UNCLEAR [[tool.poetry.source]]\nurl = "./index"\n
pyproject.toml tool.uv.index.url LOGIN [[tool.uv.index]]\nurl = "https://bob:pw@a.example/"\n
hatch.toml UV_INDEX UNCLEAR [envs.a.env-vars]\nUV_INDEX = "{env:CORP}"\n
hatch.toml UV_INDEX UNCLEAR env.CI.env-vars = [{ key = "UV_INDEX", value = "./a" }]\n
tox.ini PIP_INDEX_URL UNCLEAR setenv = PIP_INDEX_URL = https://a.example/{env:PATH}/simple\n
tox.ini --extra-index-url UNCLEAR deps = --extra-index-url={env:CORP}\n
.npmrc @corp:registry UNCLEAR @corp:registry=${REGISTRY}\n
.npmrc registry LOGIN registry=http://bob:pw@a.example/npm/\n
.npmrc //a.example/:_authToken TOKEN //a.example/:_authToken=npm_SECRET==\n
.yarnrc.yml npmRegistryServer UNCLEAR npmRegistryServer: ${REGISTRY:-https://a.example/}\n
.yarnrc.yml npmAuthToken TOKEN npmScopes:\n  c:\n    npmAuthToken: abc\n
pnpm-workspace.yaml registries UNCLEAR registries:\n  '@corp': https://a.example/\n
.cargo/config.toml registries.*.token TOKEN [registries.corp]\nindex = "sparse+https://a.example/"\ntoken = "secret"\n
.cargo/config source.*.registry LOGIN [source]\nm = { registry = "sparse+https://bob:pw@a.example/" }\n
"#;

fn why(name: &str) -> &'static str {
    match name {
        "INCLUDE" => INCLUDE,
        "LOGIN" => LOGIN,
        "NO_INDEX" => NO_INDEX,
        "TOKEN" => TOKEN,
        _ => UNCLEAR,
    }
}

/// Nothing is resolved: not a variable, a template, an include or a value elsewhere.
#[test]
fn what_cannot_be_read_plainly_is_refused_with_the_file_and_the_key() {
    for row in REFUSED.trim().lines() {
        let row: Vec<&str> = row.splitn(4, ' ').collect();
        let (file, key, why, text) = (row[0], row[1], why(row[2]), row[3].replace("\\n", "\n"));
        let said = look(&[(file, &text)], ecosystem_of(file)).unwrap_err();
        let expected = format!("`{file}` has `{key}`, which {why}; nothing was installed, so");
        assert!(said.starts_with(&expected), "{text}: {said}");
        let secrets = ["bob", "PASS", "npm_SECRET", "secret"];
        assert!(
            !secrets.iter().any(|secret| said.contains(secret)),
            "{said}"
        );
    }
    let hidden = find_with(Ecosystem::JavaScript, &BTreeSet::new(), &|_| Err(HIDDEN));
    assert!(hidden.is_err_and(|said| said.starts_with("`.npmrc` may name a registry, and a rule")));
}

#[test]
fn what_names_nothing_is_no_obstacle() {
    for (file, text) in [
        (
            "requirements.txt",
            "-r requirements-dev.txt\n-e ./own\n--find-links ./wheels\n",
        ),
        ("requirements.txt", "a @ https://bob:pw@a.example/a.whl\n"),
        ("requirements/a.txt", "-r ../requirements.txt\n-r a.txt\n"),
        (
            "pyproject.toml",
            "[[tool.uv.index]\nurl = \"https://a.example/\"\n",
        ),
        (
            "pyproject.toml",
            "[project]\nurls = { a = \"https://me@a.example/\" }\ntoken = \"a\"\n",
        ),
        (
            "pnpm-workspace.yaml",
            "catalog:\n  token: ^1.0.0\n  a: https://bob:pw@a.example/a\n",
        ),
    ] {
        assert_eq!(
            look(&[(file, text)], ecosystem_of(file)),
            Ok(Vec::new()),
            "{text}"
        );
    }
}

#[test]
fn what_is_too_much_is_refused_at_once() {
    // To look for each among all others would take half a minute.
    let many: String = (0..20_000)
        .map(|number| format!("-i https://r{number}.example/\n"))
        .collect();
    let said = look(&[("requirements.txt", &many)], Ecosystem::Python).unwrap_err();
    assert!(said.contains(TOO_MANY), "{said}");
    let long = "#".repeat(MAX_BYTES_OF_ALL / 2);
    let all = [
        ("requirements.txt", long.as_str()),
        ("requirements-dev.txt", long.as_str()),
        ("requirements/a.txt", "a\n"),
    ];
    assert_eq!(look(&all[..2], Ecosystem::Python), Ok(Vec::new()));
    let said = look(&all, Ecosystem::Python).unwrap_err();
    assert!(
        said.starts_with("`requirements/a.txt` may name a registry, and is"),
        "{said}"
    );
}

#[test]
fn pip_is_told_of_what_its_files_name() {
    let files = [
        (
            "requirements.txt",
            "--extra-index-url https://b.example/\n-i https://a.example/\n-r requirements/base.txt\n",
        ),
        (
            "requirements/base.txt",
            "--extra-index-url https://e.example/\n",
        ),
        ("requirements/dev.in", "--index-url https://b.example/\n"),
        ("pip.conf", "[global]\nindex-url = https://c.example/\n"),
        (
            ".venv/pip.conf",
            "[global]\nindex-url = https://a.example/\n",
        ),
    ];
    let found = look(&files, Ecosystem::Python).unwrap();
    let extra = [
        "https://b.example/",
        "https://e.example/",
        "https://c.example/",
    ];
    let expected = OfPip {
        index: Some("https://a.example/".to_owned()),
        extra: extra.map(str::to_owned).to_vec(),
    };
    assert_eq!(OfPip::new(&found), expected);
    assert_eq!(replaced(&found, &[Reader::Pip]), None);
    assert_eq!(look(&files, Ecosystem::Rust), Ok(Vec::new()));
}

#[test]
fn the_public_index_is_not_asked_beside_another_one_because_another_list_names_it() {
    let public = "-i https://pypi.org/simple\n";
    let extra = "--extra-index-url https://pypi.org/simple\n";
    let own = format!("-i {OWN}\n");
    let both = format!("{own}{extra}");
    let pypi = "https://pypi.org/simple";
    let table: [(&str, &str, &str, &[&str]); 4] = [
        (&own, public, OWN, &[]),
        (&own, extra, OWN, &[pypi]),
        (&both, public, OWN, &[pypi]),
        (public, &own, pypi, &[OWN]),
    ];
    for (first, second, index, extra) in table {
        let files = [
            ("requirements.txt", first),
            ("requirements-dev.txt", second),
        ];
        let told = OfPip::new(&look(&files, Ecosystem::Python).unwrap());
        assert_eq!(told.index.as_deref(), Some(index), "{first} {second}");
        assert_eq!(told.extra, extra, "{first} {second}");
    }
}

#[test]
fn a_registry_that_is_named_is_never_replaced() {
    use Ecosystem::{JavaScript, Python};
    use Reader::{Berry, Npm, Pip, Uv, Yarn};
    let poetry = "[[tool.poetry.source]]\nname = \"corp\"\nurl = \"https://a.example/simple/\"\n";
    let explicit = format!("{poetry}priority = \"explicit\"\n");
    let pdm = poetry.replace("poetry", "pdm");
    let rye = poetry.replace("poetry.source", "rye.sources");
    let uv = "[[tool.uv.index]]\nurl = \"https://a.example/simple\"\ndefault = true\n";
    let of_uv_pip = "[tool.uv.pip]\nindex-url = \"https://a.example/simple\"\n";
    let [poetry_and_uv, uv_pip_and_uv] = [poetry, of_uv_pip].map(|text| format!("{text}{uv}"));
    let own = "-i https://a.example/simple\n";
    let tox = (
        "tox.ini",
        "[testenv]\nsetenv = PIP_INDEX_URL = https://a.example/simple\n",
    );
    let tox_extra = (
        "tox.ini",
        "[testenv]\nsetenv = PIP_EXTRA_INDEX_URL = https://a.example/simple\n",
    );
    let pnpm = ("pnpm-workspace.yaml", "registry: https://a.example/\n");
    let npm = (".npmrc", "registry=https://a.example/\n");
    let bun = (
        "bunfig.toml",
        "[install.scopes]\ncorp = \"https://a.example/\"\n",
    );
    let named = "names the registry https://a.example/simple";
    let table: &[(Texts<'_>, &[Reader], &str)] = &[
        (&[("pyproject.toml", poetry)], &[Pip], named),
        (&[("pyproject.toml", &explicit)], &[Pip], named),
        (
            &[("pyproject.toml", &pdm)],
            &[Pip],
            "name it in `requirements.txt` as well",
        ),
        (&[("pyproject.toml", &rye)], &[Pip], named),
        (
            &[("pyproject.toml", poetry), ("requirements.txt", own)],
            &[Pip],
            "",
        ),
        (&[("pyproject.toml", &poetry_and_uv)], &[Uv], ""),
        (
            &[("requirements.txt", own)],
            &[Uv],
            "name it in `pyproject.toml` as well",
        ),
        (
            &[("pyproject.toml", of_uv_pip)],
            &[Uv],
            "name it in `pyproject.toml`",
        ),
        (&[("pyproject.toml", &uv_pip_and_uv)], &[Uv], ""),
        (
            &[("uv.toml", "index-url = \"https://a.example/\"\n")],
            &[Pip],
            "`uv.toml` has `index-url`, which names the registry https://a.example/",
        ),
        (
            &[("Pipfile", "[[source]]\nurl = \"https://pypi.org/simple\"\n")],
            &[Uv],
            "",
        ),
        (
            &[("requirements.txt", own), ("requirements-dev.txt", own)],
            &[Pip],
            "",
        ),
        (
            &[tox],
            &[Pip],
            "`tox.ini` has `PIP_INDEX_URL`, which names the registry https://a.example/simple, which",
        ),
        (&[tox, ("requirements.txt", own)], &[Pip], ""),
        (
            &[tox_extra],
            &[Pip],
            "name it in `requirements.txt` as well",
        ),
        (&[npm], &[Npm], ""),
        (&[npm], &[Npm, Yarn], ""),
        (&[npm], &[Berry], "name it in `.yarnrc.yml` as well"),
        (
            &[pnpm],
            &[Npm],
            "`pnpm-workspace.yaml` has `registry`, which names the registry",
        ),
        (&[pnpm, npm], &[Npm], ""),
        (&[bun], &[Npm], "name it in `.npmrc` as well"),
    ];
    for (files, readers, expected) in table {
        let is_python = !matches!(readers.first(), Some(Npm | Berry));
        let ecosystem = if is_python { Python } else { JavaScript };
        let said = refusal(files, ecosystem, readers);
        assert!(said.contains(expected), "{files:?}: {said}");
        assert_eq!(said.is_empty(), expected.is_empty(), "{files:?}: {said}");
    }
}
