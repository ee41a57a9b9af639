# A pnpm workspace in which one package depends on the other, with what both need for their tests. It pins another version
# of pnpm than the one that is installed, which therefore fetches it.
prefix=$HOME/.pyenv/versions/field
npm_package through 2.3.8 16b27a8c0fb13e5727356b328d72dbbc5f20bd909252f14d19da344e9354573e packages/through
npm_package resumer 0.0.0 9830d5e074876e38d9652bf385d97d9fc469dbf6f86a3275e551f648ad538bc2 packages/resumer
npm_package pnpm 10.34.9 7e8a946108e7baab119e51d27c24d6178b46545422643dbc91e34e2f1ee32e0f "$prefix/lib/node_modules/pnpm"
mkdir -p "$prefix/bin"
ln -s ../lib/node_modules/pnpm/bin/pnpm.cjs "$prefix/bin/pnpm"
chmod 755 "$prefix/lib/node_modules/pnpm/bin/pnpm.cjs"
without_development
(cd packages/resumer && npm pkg set 'dependencies.through=workspace:*')
cp "$FILES/pnpm-package.json" package.json
cp "$FILES/pnpm-lock.yaml" pnpm-lock.yaml
printf 'packages:\n  - packages/*\n' >pnpm-workspace.yaml
ignored node_modules/
"$prefix/bin/pnpm" install --silent --frozen-lockfile
test "$("$prefix/bin/pnpm" --version)" = 10.20.0
