//! Which declared dependency an import is.

use std::collections::HashMap;

use super::manifest::{Ecosystem, Manifest, python_name};

/// Packages, each with what code imports of it, where this has another name: distributions of
/// Python with their modules, and artifacts of Java with their packages.
const KNOWN: &str = "attrs=attr beautifulsoup4=bs4 biopython=bio discord-py=discord \
    djangorestframework=rest_framework dnspython=dns faiss-cpu=faiss gitpython=git grpcio=grpc \
    kafka-python=kafka mysqlclient=mysqldb opencv-contrib-python=cv2 opencv-python=cv2 \
    opencv-python-headless=cv2 paho-mqtt=paho pillow=pil protobuf=google.protobuf \
    psycopg2-binary=psycopg2 pycryptodome=crypto pyjwt=jwt pymupdf=fitz pyopenssl=openssl \
    pyserial=serial python-dateutil=dateutil python-docx=docx python-dotenv=dotenv \
    python-jose=jose python-multipart=multipart python-pptx=pptx pyyaml=yaml pyzmq=zmq \
    scikit-image=skimage scikit-learn=sklearn setuptools=pkg_resources websocket-client=websocket \
    com.google.guava:guava=com.google.common com.google.code.gson:gson=com.google.gson \
    commons-io:commons-io=org.apache.commons.io commons-lang:commons-lang=org.apache.commons.lang \
    junit:junit=org.junit log4j:log4j=org.apache.log4j org.projectlombok:lombok=lombok";

/// The dependencies of each manifest by what code imports of them.
pub(super) struct Declared(Vec<HashMap<String, Vec<usize>>>);

impl Declared {
    pub(super) fn new(manifests: &[Manifest]) -> Declared {
        let mut all = Vec::new();
        for manifest in manifests {
            let mut by_key: HashMap<String, Vec<usize>> = HashMap::new();
            for (dependency, number) in manifest.dependencies.iter().zip(0..) {
                for key in keys(manifest.ecosystem, dependency.known_as()) {
                    by_key.entry(key).or_default().push(number);
                }
            }
            all.push(by_key);
        }
        Declared(all)
    }

    /// Returns the dependencies of a manifest that an import is: several if it is declared for
    /// several purposes.
    pub(super) fn find(&self, manifest: usize, ecosystem: Ecosystem, path: &str) -> &[usize] {
        let Some(by_key) = self.0.get(manifest).filter(|by_key| !by_key.is_empty()) else {
            return &[];
        };
        let (path, separator) = match ecosystem {
            Ecosystem::Cargo | Ecosystem::Npm | Ecosystem::Go => (path.to_owned(), '/'),
            Ecosystem::Python => (path.to_ascii_lowercase(), '.'),
            Ecosystem::Gradle | Ecosystem::Maven => (path.to_owned(), '.'),
            // What `find_package` is likely to call the package of a header.
            Ecosystem::CMake => {
                let first = path.split('/').next().unwrap_or(path);
                let name = first.split('.').next().unwrap_or(first);
                (name.to_ascii_lowercase(), '/')
            }
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
        Ecosystem::Cargo => vec![name.replace('-', "_")],
        Ecosystem::Go | Ecosystem::Npm => vec![name.to_owned()],
        Ecosystem::CMake => vec![name.to_ascii_lowercase()],
        Ecosystem::Python => {
            let name = python_name(name);
            // Parts of a shared package, such as `google-cloud-storage`, have dots.
            let mut keys = vec![name.replace('-', "_"), name.replace('-', ".")];
            keys.extend(known(&name));
            keys.dedup();
            keys
        }
        Ecosystem::Gradle | Ecosystem::Maven => {
            if let Some(package) = known(name) {
                return vec![package];
            }
            // Artifacts of one owner share the begin of their packages.
            let group = name.split(':').next().unwrap_or(name);
            let owner = group.rsplit_once('.').map_or(group, |(owner, _)| owner);
            let shared = if owner.contains('.') { owner } else { group };
            vec![group.to_owned(), shared.to_owned()]
        }
    }
}

fn known(name: &str) -> Option<String> {
    let mut entries = KNOWN.split(' ').filter_map(|entry| entry.split_once('='));
    let (_, value) = entries.find(|(known, _)| *known == name)?;
    Some(value.to_owned())
}

/// Returns the name of a package from elsewhere, of which code imports a part.
pub(super) fn package_name(ecosystem: Ecosystem, path: &str) -> String {
    match ecosystem {
        Ecosystem::Python => path.split('.').next().unwrap_or(path).to_owned(),
        Ecosystem::Go => {
            // Hosts of repositories have an owner and a name in each path.
            let count = if path.starts_with("gopkg.in/") { 2 } else { 3 };
            let parts: Vec<&str> = path.split('/').take(count).collect();
            parts.join("/")
        }
        Ecosystem::Gradle | Ecosystem::Maven => {
            let parts = path.split('.');
            let parts = parts.take_while(|part| !part.starts_with(char::is_uppercase));
            parts.collect::<Vec<_>>().join(".")
        }
        Ecosystem::Cargo | Ecosystem::CMake | Ecosystem::Npm => path.to_owned(),
    }
}
