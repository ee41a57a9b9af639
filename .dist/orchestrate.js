#!/usr/bin/env node
// Starts the program, which the package of this platform holds: npm installs that one package of
// those that this one lists as optional.
"use strict";

const { spawn } = require("node:child_process");
const { constants } = require("node:os");
const { optionalDependencies } = require("../package.json");

function program() {
  const file = process.platform === "win32" ? "orchestrate.exe" : "orchestrate";
  for (const name of Object.keys(optionalDependencies)) {
    try {
      return require.resolve(`${name}/bin/${file}`);
    } catch {
      // The package of another platform, which is not installed here.
    }
  }
  const known = Object.keys(optionalDependencies).join(", ");
  console.error(
    `error: no program for ${process.platform} on ${process.arch} is installed; there are: ${known}\n` +
      "help: install again without `--omit=optional`, or build it from its sources with cargo",
  );
  process.exit(1);
}

const child = spawn(program(), process.argv.slice(2), { stdio: "inherit" });

// The terminal sends these to the program as well, which decides what they mean.
for (const signal of ["SIGINT", "SIGQUIT"]) {
  process.on(signal, () => {});
}
for (const signal of ["SIGTERM", "SIGHUP"]) {
  process.on(signal, () => child.kill(signal));
}

child.on("error", (error) => {
  console.error(`error: failed to start the program: ${error.message}`);
  process.exit(1);
});
child.on("exit", (code, signal) => {
  process.exit(signal === null ? code : 128 + constants.signals[signal]);
});
