/**
 * The compiled configurations of spaces, compiled once per version: the directory keeps the object of a document for as
 * long as it is unchanged.
 *
 * Documents are checked before they are stored, but a later release may check more. A space whose document does not compile
 * goes on with the newest earlier version that does, because a fan's action that is refused is lost.
 *
 * @module
 */

import type { Directory, LoyaltyDocument, LoyaltyVersions } from "../../directory/mod.ts";
import { AppError } from "../../errors/mod.ts";
import { chain, type Logger } from "../../http/mod.ts";
import { type CompiledConfig, compileConfig } from "./compile.ts";

/** Most faults of a stored document that the log names. */
export const loggedFaultsMax = 10;

/** What configurations come from. */
export interface ConfigCacheOptions {
  readonly directory: Pick<Directory, "loyalty">;
  readonly versions: Pick<LoyaltyVersions, "list" | "get">;
  readonly logger: Logger;
}

/** Finds the configuration of a space; without a promise while it is fresh. */
export type ConfigCache = (spaceId: string) => CompiledConfig | Promise<CompiledConfig>;

/** Compiles the configurations of all spaces; a space without one has the empty one. */
export function createConfigCache({ directory, versions, logger }: ConfigCacheOptions): ConfigCache {
  const compiled = new WeakMap<LoyaltyDocument, CompiledConfig | Promise<CompiledConfig>>();
  const none = compileConfig({});

  function compile(stored: LoyaltyDocument, spaceId: string): CompiledConfig | Promise<CompiledConfig> {
    try {
      return compileConfig(stored.document, { version: stored.version });
    } catch (cause) {
      const { version } = stored;
      logger.log("error", "loyalty_config_invalid", { spaceId, version, faults: faultsOf(cause) });
      const earlier = newestUsable(versions, spaceId, { before: Number(version), cause, logger });
      // Whether there is a usable one is settled by the stored versions; what could not be read may be read later.
      earlier.then(
        config => compiled.set(stored, config),
        error => {
          if (!isSettled(error)) compiled.delete(stored);
        },
      );
      return earlier;
    }
  }

  return spaceId =>
    chain(directory.loyalty(spaceId), stored => {
      if (stored === null) return none;
      const known = compiled.get(stored) ?? compile(stored, spaceId);
      compiled.set(stored, known);
      return known;
    });
}

interface Search {
  readonly before: number;
  readonly cause: unknown;
  readonly logger: Logger;
}

/** @throws {AppError} `internal_error` where no version that is kept compiles. */
async function newestUsable(
  versions: ConfigCacheOptions["versions"],
  spaceId: string,
  { before, cause, logger }: Search,
): Promise<CompiledConfig> {
  for (const { number } of await versions.list(spaceId)) {
    const revision = number < before ? await versions.get(spaceId, number) : null;
    const config = revision === null ? null : compiledOrNull(revision.document, String(number));
    if (config === null) continue;
    logger.log("warn", "loyalty_config_replaced", { spaceId, version: String(number) });
    return config;
  }
  throw new AppError("internal_error", `Cannot use any stored loyalty configuration of space ${spaceId}`, {
    cause,
  });
}

function compiledOrNull(document: unknown, version: string): CompiledConfig | null {
  try {
    return compileConfig(document, { version });
  } catch {
    return null;
  }
}

function isSettled(error: unknown): boolean {
  return error instanceof AppError && error.code === "internal_error";
}

function faultsOf(cause: unknown): string {
  const fields = cause instanceof AppError ? (cause.fields ?? []) : [];
  return fields
    .slice(0, loggedFaultsMax)
    .map(({ pointer, detail }) => `${pointer}: ${detail}`)
    .join("; ");
}
