#!/usr/bin/env node
/**
 * The command `grandstand`. What people and scripts read goes to stdout, logs go to stderr.
 *
 * @module
 */

import { readFile } from "node:fs/promises";
import process from "node:process";
import { parseEnv } from "node:util";
import { createJsonLogger, type Logger, silentLogger } from "../lib/http/mod.ts";
import { version } from "../lib/mod.ts";
import { helpText, type Invocation, parseCommandLine } from "./_command_line.ts";
import { type Running, runServe } from "./_serve_command.ts";
import { signalExit } from "./_signals.ts";
import { runWorker } from "./_worker_command.ts";
import { type Config, readConfig } from "./config.ts";
import { createLogSink, type LogSink } from "./log_sink.ts";

/** Exit codes. */
const failed = 1;
const wrongUsage = 2;
const stoppingSignals = ["SIGINT", "SIGTERM"] as const;

async function main(args: readonly string[]): Promise<void> {
  const invocation = parseCommandLine(args, process.env);
  switch (invocation.kind) {
    case "help":
      return print(helpText());
    case "version":
      return print(version);
    case "commandHelp":
      return print(invocation.text.trimEnd());
    case "command": {
      const { runCommand } = await import("./_run_command.ts");
      process.exitCode = await runCommand(invocation);
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
  const result = readConfig({ environment: { ...fromFile, ...process.env }, flags, demo });
  if (!result.ok) return complain(result.problems.join("\n"));
  const sink = createLogSink(process.stderr);
  try {
    const logger = loggerOf(result.config, sink);
    const running =
      invocation.kind === "serve"
        ? await runServe(result.config, { demo, logger })
        : await runWorker(result.config, { logger });
    stopOnSignals(running, sink);
    // Whoever reads this may send a signal at once.
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

function loggerOf({ log }: Config, sink: LogSink): Logger {
  return log === "silent" ? silentLogger : createJsonLogger({ write: sink.write, level: log });
}

/** The first signal stops gracefully, a second one at once. */
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
