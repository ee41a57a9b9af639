//! Which declared dependency an import is.

use std::collections::HashMap;

use super::manifest::{Ecosystem, Manifest, normalized};
use super::resolve::library_names;

/// Distributions of Python with the modules that they bring, where these have another name.
const MODULES: &[(&str, &[&str])] = &[
    ("attrs", &["attr", "attrs"]),
    ("beautifulsoup4", &["bs4"]),
    ("biopython", &["bio"]),
    ("discord-py", &["discord"]),
    ("djangorestframework", &["rest_framework"]),
    ("dnspython", &["dns"]),
    ("faiss-cpu", &["faiss"]),
    ("gitpython", &["git"]),
    ("grpcio", &["grpc"]),
    ("kafka-python", &["kafka"]),
    ("llama-index-core", &["llama_index.core"]),
    ("mysqlclient", &["mysqldb"]),
    ("opencv-contrib-python", &["cv2"]),
    ("opencv-python", &["cv2"]),
    ("opencv-python-headless", &["cv2"]),
    ("paho-mqtt", &["paho"]),
    ("pillow", &["pil"]),
    ("protobuf", &["google.protobuf"]),
    ("psycopg2-binary", &["psycopg2"]),
    ("pycryptodome", &["crypto"]),
    ("pyjwt", &["jwt"]),
    ("pymupdf", &["fitz", "pymupdf"]),
    ("pyopenssl", &["openssl"]),
    ("pyserial", &["serial"]),
    ("python-dateutil", &["dateutil"]),
    ("python-docx", &["docx"]),
    ("python-dotenv", &["dotenv"]),
    ("python-jose", &["jose"]),
    ("python-multipart", &["multipart", "python_multipart"]),
    ("python-pptx", &["pptx"]),
    (
        "pywin32",
        &["win32api", "win32con", "win32gui", "pythoncom"],
    ),
    ("pyyaml", &["yaml", "_yaml"]),
    ("pyzmq", &["zmq"]),
    ("scikit-image", &["skimage"]),
    ("scikit-learn", &["sklearn"]),
    (
        "setuptools",
        &["setuptools", "pkg_resources", "_distutils_hack"],
    ),
    ("websocket-client", &["websocket"]),
];

/// Groups of artifacts of Java with the packages that they bring, where these do not begin like the
/// group.
const PACKAGES: [(&str, &str); 9] = [
    ("com.google.guava:guava", "com.google.common"),
    ("com.google.code.gson:gson", "com.google.gson"),
    ("commons-io:commons-io", "org.apache.commons.io"),
    ("commons-lang:commons-lang", "org.apache.commons.lang"),
    ("javax.servlet:javax.servlet-api", "javax.servlet"),
    ("junit:junit", "org.junit"),
    ("log4j:log4j", "org.apache.log4j"),
    ("org.projectlombok:lombok", "lombok"),
    ("io.projectreactor:reactor-core", "reactor"),
];

/// The dependencies of each manifest by what code imports of them.
pub(super) struct Declared(Vec<HashMap<String, Vec<usize>>>);

impl Declared {
    pub(super) fn new(manifests: &[Manifest]) -> Declared {
        let keys = |manifest: &Manifest| {
            let mut by_key: HashMap<String, Vec<usize>> = HashMap::new();
            for (dependency, number) in manifest.dependencies.iter().zip(0..) {
                for key in keys(manifest.ecosystem, dependency.known_as()) {
                    by_key.entry(key).or_default().push(number);
                }
            }
            by_key
        };
        Declared(manifests.iter().map(keys).collect())
    }

    /// Returns the dependencies of a manifest that an import is: several if it is declared for
    /// several purposes.
    pub(super) fn find(&self, manifest: usize, ecosystem: Ecosystem, path: &str) -> &[usize] {
        let Some(by_key) = self.0.get(manifest).filter(|by_key| !by_key.is_empty()) else {
            return &[];
        };
        let (path, separator) = match ecosystem {
            Ecosystem::Cargo | Ecosystem::Npm => {
                return by_key.get(path).map(Vec::as_slice).unwrap_or_default();
            }
            Ecosystem::Go => (path.to_owned(), '/'),
            Ecosystem::Python => (path.to_ascii_lowercase(), '.'),
            Ecosystem::CMake => (header_package(path), '/'),
            Ecosystem::Gradle | Ecosystem::Maven => (path.to_owned(), '.'),
        };
        let mut key = path.as_str();
        loop {
            if let Some(found) = by_key.get(key) {
                return found;
            }
            match key.rsplit_once(separator) {
                Some((outer, _)) => key = outer,
                None => return &[],
            }
        }
    }
}

/// Returns what code imports of a dependency.
fn keys(ecosystem: Ecosystem, name: &str) -> Vec<String> {
    match ecosystem {
        Ecosystem::Cargo => library_names(name),
        Ecosystem::Go | Ecosystem::Npm => vec![name.to_owned()],
        Ecosystem::CMake => vec![name.to_ascii_lowercase()],
        Ecosystem::Python => modules(name),
        Ecosystem::Gradle | Ecosystem::Maven => java_packages(name),
    }
}

fn modules(name: &str) -> Vec<String> {
    let name = normalized(name);
    let known = MODULES.iter().find(|(known, _)| *known == name);
    if let Some((_, modules)) = known {
        return modules.iter().map(|module| (*module).to_owned()).collect();
    }
    let mut keys = vec![name.replace('-', "_")];
    let plain = name
        .strip_prefix("python-")
        .or_else(|| name.strip_suffix("-python"));
    keys.extend(plain.map(|plain| plain.replace('-', "_")));
    if name.contains('-') {
        // Parts of a shared package, such as `google-cloud-storage`.
        keys.push(name.replace('-', "."));
    }
    keys.dedup();
    keys
}

/// Returns the packages that an artifact is likely to bring.
fn java_packages(name: &str) -> Vec<String> {
    let known = PACKAGES
        .iter()
        .filter(|(known, _)| *known == name)
        .map(|(_, package)| (*package).to_owned());
    let mut keys: Vec<String> = known.collect();
    if keys.is_empty() {
        let (group, artifact) = name.split_once(':').unwrap_or((name, ""));
        let outer = group.rsplit_once('.').map_or(group, |(outer, _)| outer);
        for begin in [group, outer] {
            let last = begin.rsplit('.').next().unwrap_or_default();
            let rest = artifact
                .strip_prefix(last)
                .unwrap_or(artifact)
                .trim_start_matches('-')
                .replace('-', ".");
            if !rest.is_empty() {
                keys.push(format!("{begin}.{rest}"));
            }
        }
        keys.push(group.to_owned());
    }
    keys
}

/// Returns what `find_package` is likely to call the package of a header.
fn header_package(path: &str) -> String {
    let first = path.split('/').next().unwrap_or_default();
    first
        .strip_suffix(".h")
        .or_else(|| first.strip_suffix(".hpp"))
        .unwrap_or(first)
        .to_ascii_lowercase()
}

/// Returns the name of a package from elsewhere, of which code imports a part.
pub(super) fn package_name(ecosystem: Ecosystem, path: &str) -> String {
    match ecosystem {
        Ecosystem::Python => path.split('.').next().unwrap_or_default().to_owned(),
        Ecosystem::Go => {
            // Hosts of repositories have an owner and a name in each path.
            let count = if path.starts_with("gopkg.in/") { 2 } else { 3 };
            path.split('/').take(count).collect::<Vec<_>>().join("/")
        }
        Ecosystem::Gradle | Ecosystem::Maven => path
            .split('.')
            .take_while(is_package)
            .collect::<Vec<_>>()
            .join("."),
        Ecosystem::Cargo | Ecosystem::CMake | Ecosystem::Npm => path.to_owned(),
    }
}

fn is_package(part: &&str) -> bool {
    !part.starts_with(|c: char| c.is_uppercase())
}
