#!/usr/bin/env node
/**
 * The command `grandstand`. Results go to stdout, notes and logs to stderr. Each command loads only its own modules. What every
 * start loads takes `process` from the globals: importing `node:process` opens its three streams.
 *
 * @module
 */

import { type CommandGroup, exits, groups, runCommandLine } from "../lib/cli/mod.ts";
import { host } from "./commands/host.ts";

const serverCommands = () => import("./commands/server_commands.ts");

const ownGroups: readonly CommandGroup[] = [
  { word: "serve", isOurs: true, load: async () => (await serverCommands()).serveCommands },
  { word: "worker", isOurs: true, load: async () => (await serverCommands()).workerCommands },
];

const code = await runCommandLine(process.argv.slice(2), host, [...groups, ...ownGroups]);
process.exitCode = code;
// What a failed start left open must not keep the program alive.
if (code !== exits.ok) process.exit();
