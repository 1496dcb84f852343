/**
 * `dead-letters list|replay`: actions and deliveries that failed for good.
 *
 * @module
 */

import { createApiClient, type SpaceClient } from "./api_client.ts";
import type { CliContext, CliInput, CliResult, FlagSpec } from "./frame/command.ts";
import { exits, wrongUsage } from "./frame/errors.ts";
import type { Rows } from "./frame/output.ts";

/** Most dead letters of one request. */
export const deadLettersPageMax = 100;

/** The argument of `dead-letters`. */
export const deadLettersArgs = [{ name: "list|replay", description: "The task" }] as const;
/** Flags of `dead-letters` beside those of the server. */
export const deadLettersFlags: Readonly<Record<"id" | "all", FlagSpec>> = {
  id: { value: "id", description: "Replay this one; may be repeated", repeated: true },
  all: { description: "Replay all" },
};

/** Dead letters of one kind on a server. */
interface DeadLetterRoutes<L> {
  /** Returns a page that begins at an offset, and the number of all. */
  readonly page: (
    server: SpaceClient,
    offset: number,
  ) => Promise<readonly [letters: readonly L[], total: number]>;
  readonly idOf: (letter: L) => string;
  readonly table: (letters: readonly L[]) => Rows;
  readonly replay: (
    server: SpaceClient,
    ids: readonly string[],
  ) => Promise<{ readonly replayed: readonly string[]; readonly notFound: readonly string[] }>;
  /** Describes the number of replayed ones. */
  readonly queued: (count: number) => string;
}

/** Lists dead letters, or replays those that flags select. */
export async function runDeadLetters<L>(
  input: CliInput,
  context: CliContext,
  { page, idOf, table, replay, queued }: DeadLetterRoutes<L>,
): Promise<CliResult> {
  const [task = ""] = input.args;
  const named = input.lists.id ?? [];
  const isAll = input.flags.all !== undefined;
  if (task !== "list" && task !== "replay") {
    throw wrongUsage(`dead-letters takes list or replay, not "${task}"`);
  }
  if (task === "replay" && isAll === named.length > 0) {
    throw wrongUsage("replay needs either --id or --all");
  }
  const server = await createApiClient(input, context);
  async function list(): Promise<readonly L[]> {
    const found: L[] = [];
    for (;;) {
      const [letters, total] = await page(server, found.length);
      found.push(...letters);
      if (letters.length === 0 || found.length >= total) return found;
    }
  }
  if (task === "list") {
    const letters = await list();
    return { data: letters, shown: table(letters) };
  }
  const ids = isAll ? (await list()).map(idOf) : named;
  const replayed: string[] = [];
  const notFound: string[] = [];
  for (let start = 0; start < ids.length; start += deadLettersPageMax) {
    const done = await replay(server, ids.slice(start, start + deadLettersPageMax));
    replayed.push(...done.replayed);
    notFound.push(...done.notFound);
  }
  return {
    data: { replayed, notFound },
    shown: { columns: ["ID"], rows: replayed.map(id => [id]) },
    notes: [queued(replayed.length), ...notFound.map(id => `${id} no longer exists.`)],
    exit: notFound.length > 0 ? exits.notFound : exits.ok,
  };
}
