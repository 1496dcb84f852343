/** The commands that run a server or a worker until a signal ends them. */

import process from "node:process";
import { AppError } from "../../lib/base/errors/mod.ts";
import { conflict } from "../../lib/cli/frame/errors.ts";
import { envFileFlag } from "../../lib/cli/frame/flags.ts";
import {
  CliError,
  type CliInput,
  type CommandSpec,
  exits,
  type FlagSpec,
  text,
  wrongUsage,
} from "../../lib/cli/mod.ts";
import type { Logger } from "../../lib/http/mod.ts";
import { type Config, readConfig, variables } from "../config.ts";
import { createLogSink, type LogSink } from "../services/log_sink.ts";
import { environmentWith } from "./files.ts";
import type { Running } from "./serve.ts";
import { signalExit } from "./terminal.ts";

const stoppingSignals = ["SIGINT", "SIGTERM"] as const;

/** Flags of the settings of a server; a flag wins over its variable, which `readConfig` reads. */
const settingFlags: Readonly<Record<string, FlagSpec>> = Object.fromEntries(
  variables.flatMap(({ flag, name, value, description, otherwise }) =>
    flag === undefined
      ? []
      : [[flag, { value, description: `${description} (${name}; default ${otherwise})` }]],
  ),
);
const settings = variables
  .filter(({ flag }) => flag === undefined)
  .map(({ name, description }) => `${name}: ${description}`);

const startExits = { [exits.conflict]: "the store has a newer format: update this process" };

const serveCommand: CommandSpec = {
  words: ["serve"],
  summary: "Serve every area on one port until SIGTERM or SIGINT",
  flags: {
    demo: {
      description: "Fill an empty store with demo data, run a show in it, and print addresses and commands",
    },
    "env-file": envFileFlag,
    ...settingFlags,
  },
  variables: settings,
  examples: ["serve --demo"],
  output: text,
  exits: startExits,
  usesProfile: false,
  run: async input => await run(input, "serve"),
};

const workerCommand: CommandSpec = {
  words: ["worker"],
  summary: "Apply queued actions for the servers on the same Redis or PostgreSQL until SIGTERM or SIGINT",
  flags: { "env-file": envFileFlag, ...settingFlags },
  variables: settings,
  examples: ["worker --redis redis://127.0.0.1:6379"],
  output: text,
  exits: startExits,
  usesProfile: false,
  run: async input => await run(input, "worker"),
};

export const serveCommands: readonly CommandSpec[] = [serveCommand];
export const workerCommands: readonly CommandSpec[] = [workerCommand];

async function run({ flags: given }: CliInput, kind: "serve" | "worker") {
  const { demo, "env-file": envFile, ...flags } = given;
  const environment = await environmentWith(envFile);
  const result = readConfig({ environment, flags, demo: demo !== undefined });
  if (!result.ok) {
    const [first = "", ...others] = result.problems;
    const [message, details] = others.length === 0 ? [first, []] : ["Settings are wrong:", result.problems];
    throw wrongUsage(message, { code: "wrong_settings", details });
  }
  const sink = createLogSink(process.stderr);
  try {
    const logger = await createLogger(result.config, sink);
    const running =
      kind === "serve"
        ? await (await import("./serve.ts")).runServe(result.config, { demo: demo !== undefined, logger })
        : await (await import("./serve.ts")).runWorker(result.config, { logger });
    // Before the announcement, whose reader may send a signal at once.
    stopOnSignals(running, sink);
    return { data: running.announcement };
  } catch (error) {
    await sink.flush();
    const reason = reasonOf(error);
    const isConflict = error instanceof AppError && error.code === "conflict";
    const message = `Cannot ${kind === "serve" ? "serve" : "work"}: ${reason}`;
    throw isConflict ? conflict(message) : new CliError(exits.failed, message, { code: "failed" });
  }
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const isTaken = "code" in error && error.code === "EADDRINUSE";
  return isTaken ? `${error.message}. Choose another port with --port or GRANDSTAND_PORT` : error.message;
}

async function createLogger({ log }: Config, sink: LogSink): Promise<Logger> {
  const { createJsonLogger, silentLogger } = await import("../../lib/http/mod.ts");
  return log === "silent" ? silentLogger : createJsonLogger({ write: sink.write, level: log });
}

/** Stops gracefully on the first signal, and at once on the second. */
function stopOnSignals(running: Running, sink: LogSink): void {
  let stopping = false;
  async function stop(): Promise<void> {
    const finished = await running.stop();
    await sink.flush();
    process.exit(finished ? exits.ok : exits.failed);
  }
  for (const signal of stoppingSignals) {
    process.on(signal, () => {
      if (stopping) process.exit(signalExit(signal));
      stopping = true;
      stop().catch(error => {
        process.stderr.write(`Cannot stop cleanly: ${String(error)}\n`);
        process.exit(exits.failed);
      });
    });
  }
}
