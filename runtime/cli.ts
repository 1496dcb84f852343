#!/usr/bin/env node
/**
 * The command `grandstand`. Results go to stdout, notes and logs to stderr. Each command loads only its own modules. What every
 * start loads takes `process` from the globals: importing `node:process` opens its three streams.
 */

import { exits, groups, runCommandLine } from "../lib/cli/mod.ts";
import { serverGroups } from "./commands/groups.ts";
import { host } from "./commands/host.ts";

const code = await runCommandLine(process.argv.slice(2), host, [...groups, ...serverGroups]);
process.exitCode = code;
// What a failed start left open must not keep the program alive.
if (code !== exits.ok) process.exit();
