/**
 * Commands about actions that failed for good.
 *
 * @module
 */

import { type ApiClient, createApiClient, organisationFlags } from "./api_client.ts";
import { CliError, type CommandSpec, exits } from "./command.ts";

/** Most dead letters of one request. */
const pageMax = 100;
const path = "/v1/api/audience/internal/actions/dead-letters";

interface DeadLetter {
  readonly deadLetterId: string;
  readonly userId: string;
  readonly action: string;
  readonly actionId: string;
  readonly reason: { readonly code: string; readonly message: string };
  readonly attempts: number;
  readonly failedAt: string;
}

/** `actions dead-letters`. */
export const deadLettersCommand: CommandSpec = {
  words: ["actions", "dead-letters"],
  summary: "List the actions that failed for good, or queue them again",
  args: [{ name: "list|replay", description: "The task" }],
  flags: {
    ...organisationFlags,
    id: { value: "id", description: "Replay this one; may be repeated", repeated: true },
    all: { description: "Replay all" },
  },
  async run(input, context) {
    const [task = ""] = input.args;
    const server = createApiClient(input, context);
    const headers = { "x-platform-org-id": input.flags.organisation ?? "" };
    if (task === "list") return shown(await deadLettersOf(server, headers));
    if (task !== "replay") throw wrong(`dead-letters takes list or replay, not "${task}"`);
    const named = input.lists.id ?? [];
    const isAll = input.flags.all !== undefined;
    if (isAll === named.length > 0) throw wrong("replay needs either --id or --all");
    const ids = isAll
      ? (await deadLettersOf(server, headers)).map(({ deadLetterId }) => deadLetterId)
      : named;
    const replayed: string[] = [];
    const notFound: string[] = [];
    for (let start = 0; start < ids.length; start += pageMax) {
      const body = { ids: ids.slice(start, start + pageMax) };
      const { json } = await server.send(`${path}/replay`, { method: "POST", body, headers });
      const { data } = json as {
        readonly data: { readonly replayed: string[]; readonly notFound: string[] };
      };
      replayed.push(...data.replayed);
      notFound.push(...data.notFound);
    }
    return {
      data: { replayed, notFound },
      notes: [`Queued ${replayed.length} again.`, ...notFound.map(id => `${id} no longer exists.`)],
      exit: notFound.length > 0 ? exits.notFound : exits.ok,
    };
  },
};

async function deadLettersOf(
  server: ApiClient,
  headers: Readonly<Record<string, string>>,
): Promise<readonly DeadLetter[]> {
  const found: DeadLetter[] = [];
  for (;;) {
    const query = `?limit=${pageMax}&offset=${found.length}`;
    const { json } = await server.send(path + query, { headers });
    const page = json as { readonly data: readonly DeadLetter[]; readonly totalCount: number };
    found.push(...page.data);
    if (page.data.length === 0 || found.length >= page.totalCount) return found;
  }
}

function shown(deadLetters: readonly DeadLetter[]): Awaited<ReturnType<CommandSpec["run"]>> {
  const rows = deadLetters.map(({ deadLetterId, failedAt, userId, action, actionId, attempts, reason }) => [
    deadLetterId,
    failedAt,
    userId,
    action,
    actionId,
    String(attempts),
    `${reason.code}: ${reason.message}`,
  ]);
  const columns = ["ID", "FAILED", "USER", "ACTION", "ACTION_ID", "ATTEMPTS", "REASON"];
  return { data: deadLetters, shown: { columns, rows } };
}

function wrong(message: string): CliError {
  return new CliError(exits.usage, message, { code: "wrong_usage" });
}
