#!/usr/bin/env node
/**
 * The command `grandstand`. Results go to stdout, logs to stderr. Each command loads only its own modules.
 *
 * @module
 */

import { readFile } from "node:fs/promises";
import process from "node:process";
import { parseEnv } from "node:util";
import type { Logger } from "../lib/http/mod.ts";
import type { Invocation } from "./commands/command_line.ts";
import type { Running } from "./commands/serve.ts";
import { signalExit } from "./commands/signals.ts";
import type { Config } from "./config.ts";
import { createLogSink, type LogSink } from "./services/log_sink.ts";

const failed = 1;
const wrongUsage = 2;
const stoppingSignals = ["SIGINT", "SIGTERM"] as const;

async function main(args: readonly string[]): Promise<void> {
  const { helpText, parseCommandLine } = await import("./commands/command_line.ts");
  const invocation = parseCommandLine(args, process.env);
  switch (invocation.kind) {
    case "help":
      return print(helpText());
    case "version": {
      const { version } = await import("../lib/platform/version.ts");
      return print(version);
    }
    case "commandHelp":
      return print(invocation.text.trimEnd());
    case "command": {
      const { runCommand } = await import("./commands/run_command.ts");
      process.exitCode = await runCommand(invocation.command, invocation.input, invocation.json);
      return;
    }
    case "wrong":
      return complain(`${invocation.message} See grandstand --help.`);
    case "serve":
    case "worker":
      return await serve(invocation);
  }
}

async function serve(invocation: Extract<Invocation, { kind: "serve" | "worker" }>): Promise<void> {
  const { envFile, flags } = invocation;
  const demo = invocation.kind === "serve" && invocation.demo;
  const fromFile = envFile === null ? {} : await readEnvFile(envFile);
  if (fromFile === null) return complain(`Cannot read the file ${envFile} that --env-file names.`);
  const { readConfig } = await import("./config.ts");
  const result = readConfig({ environment: { ...fromFile, ...process.env }, flags, demo });
  if (!result.ok) return complain(result.problems.join("\n"));
  const sink = createLogSink(process.stderr);
  try {
    const logger = await createLogger(result.config, sink);
    const running =
      invocation.kind === "serve"
        ? await (await import("./commands/serve.ts")).runServe(result.config, { demo, logger })
        : await (await import("./commands/worker.ts")).runWorker(result.config, { logger });
    // Before the announcement, whose reader may send a signal at once.
    stopOnSignals(running, sink);
    print(running.announcement);
  } catch (error) {
    await sink.flush();
    complain(
      `Cannot ${invocation.kind === "serve" ? "serve" : "work"}: ${error instanceof Error ? error.message : String(error)}`,
      failed,
    );
    process.exit();
  }
}

async function readEnvFile(path: string): Promise<Record<string, string | undefined> | null> {
  try {
    return parseEnv(await readFile(path, "utf8"));
  } catch {
    return null;
  }
}

async function createLogger({ log }: Config, sink: LogSink): Promise<Logger> {
  const { createJsonLogger, silentLogger } = await import("../lib/http/mod.ts");
  return log === "silent" ? silentLogger : createJsonLogger({ write: sink.write, level: log });
}

/** Stops gracefully on the first signal, and at once on the second. */
function stopOnSignals(running: Running, sink: LogSink): void {
  let stopping = false;
  async function stop(): Promise<void> {
    const finished = await running.stop();
    await sink.flush();
    process.exit(finished ? 0 : failed);
  }
  for (const signal of stoppingSignals) {
    process.on(signal, () => {
      if (stopping) process.exit(signalExit(signal));
      stopping = true;
      stop().catch(error => {
        complain(`Cannot stop cleanly: ${String(error)}`, failed);
        process.exit();
      });
    });
  }
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

function complain(text: string, code: number = wrongUsage): void {
  process.stderr.write(`${text}\n`);
  process.exitCode = code;
}

await main(process.argv.slice(2));
