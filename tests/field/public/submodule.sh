# A crate whose test data is in Git LFS, and whose dependency is a submodule: a clone of a repository of this machine.
submodule=third_party/miniz_oxide
origin=$HOME/origins/miniz_oxide
mkdir -p "$HOME/origins"
crate miniz_oxide 0.8.0 e2d80299ef12ff69b16a84bb182e3b9df68b5a91574d3d4fa6e41b65deec4df1 "$origin"
git init -q -b main "$origin"
git -C "$origin" add -A
git -C "$origin" -c user.name=Test -c user.email=test@example.invalid commit -q -m Start
git clone -q --bare "$origin" "$origin.git"
rm -r "$origin"

crate flate2 1.0.35 c936bfdafb507ebbf50b8074c54fa31c5be9a1e7e5f467dd659697041407d07c flate2
mv flate2/* .
rm -r flate2
git -c protocol.file.allow=always submodule add -q "$origin.git" "$submodule"
printf '\n[patch.crates-io]\nminiz_oxide = { path = "%s" }\n' "$submodule" >>Cargo.toml
ignored target/
cargo fetch --quiet

# A user's own configuration has the filters; the repository's has them too, for who uses it without a user's.
git lfs install --skip-repo >/dev/null
git lfs install --local >/dev/null
git lfs track 'tests/*.gz' 'tests/*.bin' >/dev/null
git add -A
git lfs ls-files | grep -q tests/multi.gz
