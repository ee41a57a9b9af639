# Unpacks published packages, each pinned by its version and the SHA-256 of its archive. Sourced by the other scripts,
# which run in the project's new repository.
set -eu
fetched=$HOME/fetched
mkdir -p "$fetched" packages

# Unpacks a package of npm into a folder: name, version, hash, folder.
npm_package() {
    archive=$(cd "$fetched" && npm pack --silent "$1@$2")
    echo "$3  $fetched/$archive" | sha256sum --check --quiet
    mkdir -p "$4"
    tar xzf "$fetched/$archive" -C "$4" --strip-components 1
}

# Unpacks a crate into a folder: name, version, hash, folder.
crate() {
    mkdir -p "$fetched/$1"
    printf '[package]\nname = "fetched"\nversion = "0.0.0"\nedition = "2021"\n\n[lib]\npath = "/dev/null"\n\n' >"$fetched/$1/Cargo.toml"
    printf '[dependencies]\n%s = "=%s"\n' "$1" "$2" >>"$fetched/$1/Cargo.toml"
    (cd "$fetched/$1" && cargo vendor --quiet >/dev/null)
    grep -q "\"package\":\"$3\"" "$fetched/$1/vendor/$1/.cargo-checksum.json"
    rm "$fetched/$1/vendor/$1/.cargo-checksum.json"
    mv "$fetched/$1/vendor/$1" "$4"
}

# Leaves out what a package of npm needs for its own development.
without_development() {
    for folder in packages/*; do
        (cd "$folder" && npm pkg delete devDependencies)
    done
}

# Makes git ignore folders.
ignored() {
    printf '%s\n' "$@" >.gitignore
}

# Makes git ignore a folder; the worktrees get a copy of it.
shared() {
    printf '%s\n' "$1" | tee .gitignore >.worktreeinclude
}
