import process from "node:process";
import { CliError, exits } from "../lib/cli/mod.ts";
import { silentLogger } from "../lib/http/mod.ts";
import { closeStorage, openStorage, type Storage } from "./_stores.ts";
import { type Config, readConfig } from "./config.ts";

/** A command that works in the store of a deployment, past its servers. */
export interface DirectWork<R> {
  /** The command, for people. */
  readonly command: string;
  /** Values of the flags that name the store. */
  readonly flags: Readonly<Record<string, string | undefined>>;
  /** Whether the work signs or seals anything, for which it must have the secret of the servers. */
  readonly needsSecret: boolean;
  readonly work: (storage: Storage, config: Config) => Promise<R>;
}

/**
 * Works in the store that settings and flags name.
 *
 * @throws {CliError} They name no store that lasts, or cannot be used.
 */
export async function inStore<R>({ command, flags, needsSecret, work }: DirectWork<R>): Promise<R> {
  const result = readConfig({ environment: process.env, flags, demo: !needsSecret });
  if (!result.ok) {
    throw new CliError(exits.usage, "The settings cannot be used", {
      code: "wrong_settings",
      details: result.problems,
    });
  }
  const { config } = result;
  if (config.redis === undefined && config.data === undefined) {
    throw new CliError(exits.usage, `${command} needs --redis or --data: nothing else outlives it`, {
      code: "wrong_usage",
    });
  }
  const storage = await openStorage(config, silentLogger);
  try {
    return await work(storage, config);
  } finally {
    await closeStorage(storage);
  }
}
