//! A sample of each language.

/// The samples, by the names of their files.
pub(crate) const SAMPLES: [(&str, &str); 9] = [
    ("shapes.rs", include_str!("shapes.rs")),
    ("shapes.py", include_str!("shapes.py")),
    ("shapes.js", include_str!("shapes.js")),
    ("shapes.ts", include_str!("shapes.ts")),
    ("shapes.go", include_str!("shapes.go")),
    ("Shapes.java", include_str!("Shapes.java")),
    ("shapes.c", include_str!("shapes.c")),
    ("shapes.cpp", include_str!("shapes.cpp")),
    ("shapes.sh", include_str!("shapes.sh")),
];
