# A server of files, which hides those below folders that begin with a dot, with its own tests. Nothing is installed in the
# checkout.
npm_package @fastify/send 4.1.0 dd2c334738dad921bc20acb0784c7f6aea5e91fac59a5a681c3fc0c06dee364c .
npm pkg delete devDependencies scripts tsd types
npm pkg set devDependencies.supertest=6.3.4 'scripts.test=node --test test/*.test.js'
cp "$FILES/send-package-lock.json" package-lock.json
ignored node_modules/
