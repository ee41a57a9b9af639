# A pnpm workspace in which one package depends on the other, with what both need for their tests. It pins another version
# of pnpm than the one that is installed, which therefore fetches it.
prefix=$HOME/.pyenv/versions/field
npm_package through 2.3.8 16b27a8c0fb13e5727356b328d72dbbc5f20bd909252f14d19da344e9354573e packages/through
npm_package resumer 0.0.0 9830d5e074876e38d9652bf385d97d9fc469dbf6f86a3275e551f648ad538bc2 packages/resumer
npm_package pnpm 10.20.0 47a3352808501b8d1ef20112273b6a5dcfa53d28a55bcce36d268e878bd6bfe9 "$prefix/lib/node_modules/pnpm"
mkdir -p "$prefix/bin"
ln -s ../lib/node_modules/pnpm/bin/pnpm.cjs "$prefix/bin/pnpm"
chmod 755 "$prefix/lib/node_modules/pnpm/bin/pnpm.cjs"
PATH=$prefix/bin:$PATH
without_development
(cd packages/resumer && npm pkg set 'dependencies.through=workspace:*')
cp "$FILES/pnpm-package.json" package.json
cp "$FILES/pnpm-lock.yaml" pnpm-lock.yaml
printf 'packages:\n  - packages/*\n' >pnpm-workspace.yaml
ignored node_modules/
pnpm install --silent --frozen-lockfile
test "$(pnpm --version)" = 10.18.3
