/**
 * The exports of a platform: the only place where they meet the search of users and the webhooks of spaces.
 *
 * @module
 */

import type { UserSearch } from "../audience/mod.ts";
import { type Clock, systemRandom } from "../auth/mod.ts";
import type { Directory } from "../directory/mod.ts";
import { Exports } from "../exports/mod.ts";
import { silentLogger } from "../http/mod.ts";
import { createNoMailer } from "../identity/mod.ts";
import type { Announcer } from "../outbound/announcer.ts";
import type { PlatformOptions } from "./options.ts";

/** What exports are made of besides the options of the platform. */
export interface ExportParts {
  readonly directory: Directory;
  readonly search: UserSearch;
  /** Tells the webhooks of spaces. */
  readonly announcer: Announcer;
}

/** Creates the exports of a process. */
export function platformExports(
  options: PlatformOptions & { readonly clock: Clock; readonly publicUrl: string },
  { directory, search, announcer }: ExportParts,
): Exports {
  const { store, blobs, secret, clock, publicUrl, webhooks } = options;
  const { random = systemRandom, logger = silentLogger } = options;
  // Whoever asks for a mail that nobody can send finds out by the log.
  const { mailer = createNoMailer(logger) } = options;
  return new Exports({
    ...options.exports,
    ...{ store, blobs, secret, clock, random, publicUrl, mailer, webhooks, logger },
    search,
    directory,
    announcer,
  });
}
