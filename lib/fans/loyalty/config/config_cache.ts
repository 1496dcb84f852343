/**
 * The compiled configurations of spaces, compiled once per version: the directory returns the same object for as long as a
 * document is unchanged.
 *
 * Documents are checked before they are stored, but a later release may check more. A space whose document no longer compiles
 * uses its newest earlier version that does, because a refused action of a user is lost.
 */

import { AppError } from "../../../base/errors/mod.ts";
import { chain, type Logger } from "../../../http/mod.ts";
import type { Directory, LoyaltyDocument, LoyaltyVersions } from "../../directory/mod.ts";
import { compileConfig } from "./compile.ts";
import type { CompiledConfig } from "./compiled.ts";

const loggedErrorsMax = 10;

/** Returns the configuration of a space, without a promise while it is cached. */
export type ConfigCache = (spaceId: string) => CompiledConfig | Promise<CompiledConfig>;

/**
 * Creates the cache of compiled configurations; a space without one has the empty one. It is keyed by the document, whose age the
 * directory's cache bounds, so it needs no age of its own.
 */
export function createConfigCache({
  directory,
  versions,
  logger,
}: {
  readonly directory: Pick<Directory, "loyalty">;
  readonly versions: Pick<LoyaltyVersions, "list" | "get">;
  readonly logger: Logger;
}): ConfigCache {
  const compiled = new WeakMap<LoyaltyDocument, CompiledConfig | Promise<CompiledConfig>>();
  let empty: CompiledConfig | undefined;

  function compile(stored: LoyaltyDocument, spaceId: string): CompiledConfig | Promise<CompiledConfig> {
    try {
      return compileConfig(stored.document, stored.version);
    } catch (cause) {
      const { version } = stored;
      logger.log("error", "loyalty_config_invalid", { spaceId, version, faults: summaryOf(cause) });
      const earlier = findUsableVersion(versions, spaceId, { before: Number(version), cause, logger });
      earlier.then(
        config => compiled.set(stored, config),
        error => {
          // Versions that do not compile never will, but those that could not be read may be read later.
          if (!(error instanceof AppError && error.code === "internal_error")) compiled.delete(stored);
        },
      );
      return earlier;
    }
  }

  return spaceId =>
    chain(directory.loyalty(spaceId), stored => {
      if (stored === null) {
        empty ??= compileConfig({});
        return empty;
      }
      const config = compiled.get(stored) ?? compile(stored, spaceId);
      compiled.set(stored, config);
      return config;
    });
}

/** @throws {AppError} `internal_error`: no stored version compiles. */
async function findUsableVersion(
  versions: Pick<LoyaltyVersions, "list" | "get">,
  spaceId: string,
  { before, cause, logger }: { readonly before: number; readonly cause: unknown; readonly logger: Logger },
): Promise<CompiledConfig> {
  for (const { number } of await versions.list(spaceId)) {
    const revision = number < before ? await versions.get(spaceId, number) : null;
    if (revision === null) continue;
    const version = String(number);
    try {
      const config = compileConfig(revision.document, version);
      logger.log("warn", "loyalty_config_replaced", { spaceId, version });
      return config;
    } catch {
      // An older version may compile.
    }
  }
  throw new AppError("internal_error", `Cannot use any stored loyalty configuration of space ${spaceId}`, {
    cause,
  });
}

function summaryOf(cause: unknown): string {
  const fields = cause instanceof AppError ? (cause.fields ?? []) : [];
  return fields
    .slice(0, loggedErrorsMax)
    .map(({ pointer, detail }) => `${pointer}: ${detail}`)
    .join("; ");
}
