# A workspace of two crates.
crate strsim 0.11.1 7da8b5736845d9f2fcb837ea5d9e2628564b3b043a70948a3f0b778838c5fb4f packages/strsim
crate heck 0.5.0 2304e00983f87ffb38b55b444b5e3b60a884b5d30c0fca7d82fe33449bbe55ea packages/heck
printf '[workspace]\nresolver = "2"\nmembers = ["packages/*"]\n' >Cargo.toml
printf 'target/\n' >.gitignore
cargo fetch --quiet
