# An npm workspace in which one package depends on the other, with what both need for their tests.
npm_package minimist 1.2.8 350a76c115b393c19d24654834261e5dc9f0e8cc5e08f3937fa80140f3e4ce83 packages/minimist
npm_package subarg 1.0.0 851d25775d8df32552aac7614c264caa1b7a9a1f8f00929f9d82756746ab71b8 packages/subarg
without_development
cp "$FILES/npm-package.json" package.json
cp "$FILES/npm-package-lock.json" package-lock.json
shared node_modules/
npm ci --silent --no-audit --no-fund
