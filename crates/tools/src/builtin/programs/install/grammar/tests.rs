use proptest::prelude::*;

use super::Ecosystem::{Go, JavaScript, Python, Rust};
use super::*;

#[test]
fn a_package_becomes_one_word_of_its_package_manager() {
    let table = [
        (Python, "requests", None, "requests"),
        (Python, "requests", Some("latest"), "requests"),
        (Python, "zope.interface", Some("7.2"), "zope.interface==7.2"),
        (
            Python,
            "requests[socks,use_chardet]",
            Some("2.32.*"),
            "requests[socks,use_chardet]==2.32.*",
        ),
        (Python, "Django", Some(">=4.2, <5"), "Django>=4.2,<5"),
        (Python, "pip", Some("~=24.0"), "pip~=24.0"),
        (Python, "torch", Some("2.9.0+cpu"), "torch==2.9.0+cpu"),
        (
            Python,
            "a",
            Some("1!2.0rc1.post1.dev2"),
            "a==1!2.0rc1.post1.dev2",
        ),
        (JavaScript, "react", None, "react"),
        (JavaScript, "@types/node", Some("^22"), "@types/node@^22"),
        (JavaScript, "left-pad", Some("1.3.0"), "left-pad@1.3.0"),
        (JavaScript, "vue", Some("next"), "vue@next"),
        (JavaScript, "vue", Some(">=3.1 <4"), "vue@>=3.1 <4"),
        (JavaScript, "JSONStream", Some("1.x"), "JSONStream@1.x"),
        (JavaScript, "a", Some("2.0.0-beta.1+b"), "a@2.0.0-beta.1+b"),
        (Rust, "serde", None, "serde"),
        (Rust, "serde_json", Some("1.0"), "serde_json@1.0"),
        (Rust, "rand", Some(">=0.8, <0.10"), "rand@>=0.8,<0.10"),
        (Rust, "rand", Some("=0.9.0-alpha.1"), "rand@=0.9.0-alpha.1"),
        (Go, "golang.org/x/text", None, "golang.org/x/text@latest"),
        (
            Go,
            "github.com/BurntSushi/toml",
            Some("1.4.0"),
            "github.com/BurntSushi/toml@v1.4.0",
        ),
        (
            Go,
            "gopkg.in/yaml.v3",
            Some("v3.0.1"),
            "gopkg.in/yaml.v3@v3.0.1",
        ),
        (
            Go,
            "a.example/b",
            Some("v0.0.0-20240102030405-0123456789ab"),
            "a.example/b@v0.0.0-20240102030405-0123456789ab",
        ),
        (Go, "a.example/b", Some("patch"), "a.example/b@patch"),
    ];
    for (ecosystem, package, version, expected) in table {
        let word = ecosystem
            .read(package, version)
            .map(|requested| requested.word);
        assert_eq!(
            word.as_deref(),
            Ok(expected),
            "{ecosystem:?} {package} {version:?}"
        );
    }
}

/// What names a package in no ecosystem.
const NO_NAMES: &str = "-r --index-url=https://evil.example/ -e. . .. ./a ../a /a ~/a a/../b a;b \
    a$(b) https://evil.example/a http://evil.example/a.whl file:///a file:a \
    git+https://evil.example/a git+ssh://git@evil.example/a git@evil.example:a/b github:a/b npm:a@1 \
    workspace:* a@https://evil.example/a a@1.0 a==1.0 a>=1 a.whl a-1.0.tar.gz A.ZIP a.tgz a.crate";
/// What is a version in no ecosystem.
const NO_VERSIONS: &str = "https://evil.example/a git+https://evil.example/a file:../a npm:b@1 \
    ../a a/b github:a/b 1.0;b 1.tgz main.zip -1 --pre , 1, ===1 >1,-e";

#[test]
fn what_leads_elsewhere_is_no_name() {
    let odd = [
        "",
        "a\\b",
        "a b",
        "a\tb",
        "a\nb",
        "a\0b",
        "a @ https://evil.example/a",
        "a\u{202e}b",
        "requéts",
        "р",
    ];
    for ecosystem in Ecosystem::ALL {
        for package in NO_NAMES.split(' ').chain(odd) {
            assert!(
                ecosystem.read(package, None).is_err(),
                "{ecosystem:?} {package:?}"
            );
        }
        assert!(ecosystem.read(&"a".repeat(MAX_NAME + 1), None).is_err());
    }
}

#[test]
fn each_ecosystem_has_names_that_are_none() {
    let own = [
        (
            Python,
            "a[b a[] a[b]c a[b]@https://evil.example/ a[-b] a/b _a a.",
        ),
        (
            JavaScript,
            "a/b @a @a/ @a/b/c @/b _a .a @a/.b node_modules a[b]",
        ),
        (Rust, "1a a.b a/feature +nightly"),
        (
            Go,
            "text x/text golang.org golang.org/ golang.org//x golang.org/x/ golang.org/./x \
             golang.org/x/... golang.org/-x Golang.org/x golang.org:443/x",
        ),
    ];
    for (ecosystem, packages) in own {
        for package in packages.split(' ') {
            let read = ecosystem.read(package, None);
            assert!(read.is_err(), "{ecosystem:?} {package:?}");
        }
    }
    assert!(Python.read("a[b c]", None).is_err());
    // A repository may have such a name.
    assert!(Go.read("golang.org/x.git", None).is_ok());
}

#[test]
fn what_leads_elsewhere_is_no_version() {
    let odd = [
        "1.0 -r b",
        "1.0 @ x",
        "1.0\n--index-url=x",
        " ",
        "1\u{202e}",
    ];
    for ecosystem in Ecosystem::ALL {
        for version in NO_VERSIONS.split(' ').chain(odd) {
            let name = if ecosystem == Go { "a.example/b" } else { "a" };
            assert!(
                ecosystem.read(name, Some(version)).is_err(),
                "{ecosystem:?} {version:?}"
            );
        }
        assert!(
            ecosystem
                .read("a", Some(&"1".repeat(MAX_VERSION + 1)))
                .is_err()
        );
    }
    for version in ["main", "v1", "1.2", "0123456789ab", "none", "v1.2.3@x"] {
        assert!(Go.read("a.example/b", Some(version)).is_err(), "{version}");
    }
    assert!(Rust.read("a", Some("next")).is_err());
    assert!(Python.read("a", Some("next")).is_err());
    assert!(Python.read("a", Some(">=1.*")).is_err());
}

#[test]
fn spellings_of_one_package_are_the_same() {
    let table = [
        (Python, "Zope.Interface", "zope_interface", true),
        (Python, "a--b", "a-b", true),
        (Python, "ab", "a-b", false),
        (Rust, "serde_json", "serde-json", true),
        (JavaScript, "A", "a", false),
        (Go, "a.example/b", "a.example/b", true),
    ];
    for (ecosystem, left, right, expected) in table {
        assert_eq!(ecosystem.is_same(left, right), expected, "{left} {right}");
    }
}

proptest! {
    /// Whatever is read as a package is one word that no package manager takes for an option, an
    /// address or a path.
    #[test]
    fn a_word_is_never_something_else(package in "[-@a-zA-Z0-9._~/:+\\[\\]=, ]{1,20}", version in "[-@a-zA-Z0-9._^~<>=*,!+/: ]{0,12}") {
        for ecosystem in Ecosystem::ALL {
            let Ok(Requested { word, .. }) = ecosystem.read(&package, Some(&version)) else { continue };
            prop_assert!(!word.starts_with(['-', '.', '/', '~']), "{}", word);
            prop_assert!(!word.contains(':') && !word.contains("..") || ecosystem == Python, "{}", word);
            prop_assert!(ecosystem == Go || word.matches('/').count() <= usize::from(word.starts_with('@')), "{}", word);
        }
    }
}
