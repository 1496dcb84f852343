/**
 * Commands about actions that could not take effect.
 *
 * @module
 */

import { CliError, type CommandSpec } from "../command.ts";
import { exits } from "../exits.ts";
import { organisationFlag } from "../keys/organisation_flag.ts";
import { type Server, serverFlags, serverOf } from "../server.ts";

/** Most letters that one request lists or replays. */
const pageMax = 100;
const path = "/v1/api/audience/internal/actions/dead-letters";
const { url, key } = serverFlags;

interface Letter {
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
  summary: "List the actions that could not take effect, or queue them again",
  args: [{ name: "list|replay", description: "What to do with them" }],
  flags: {
    url,
    key,
    organisation: organisationFlag,
    id: { value: "id", description: "Replay this one; may be repeated", repeated: true },
    all: { description: "Replay all that there are" },
  },
  async run(input, context) {
    const [task = ""] = input.args;
    const server = serverOf(input, context);
    const headers = { "x-platform-org-id": input.flags.organisation ?? "" };
    if (task === "list") return shown(await lettersOf(server, headers));
    if (task !== "replay") throw wrong(`dead-letters takes list or replay, not "${task}"`);
    const named = input.lists.id ?? [];
    const isAll = input.flags.all !== undefined;
    if (isAll === named.length > 0) throw wrong("replay needs either --id or --all");
    const ids = isAll ? (await lettersOf(server, headers)).map(({ deadLetterId }) => deadLetterId) : named;
    const replayed: string[] = [];
    const notFound: string[] = [];
    for (let start = 0; start < ids.length; start += pageMax) {
      const body = { ids: ids.slice(start, start + pageMax) };
      const { json } = await server.ask(`${path}/replay`, { method: "POST", body, headers });
      const { data } = json as {
        readonly data: { readonly replayed: string[]; readonly notFound: string[] };
      };
      replayed.push(...data.replayed);
      notFound.push(...data.notFound);
    }
    return {
      data: { replayed, notFound },
      notes: [`Queued ${replayed.length} again.`, ...notFound.map(id => `There is no ${id} any more.`)],
      exit: notFound.length > 0 ? exits.notFound : exits.ok,
    };
  },
};

async function lettersOf(
  server: Server,
  headers: Readonly<Record<string, string>>,
): Promise<readonly Letter[]> {
  const letters: Letter[] = [];
  for (;;) {
    const query = `?limit=${pageMax}&offset=${letters.length}`;
    const { json } = await server.ask(path + query, { headers });
    const page = json as { readonly data: readonly Letter[]; readonly totalCount: number };
    letters.push(...page.data);
    if (page.data.length === 0 || letters.length >= page.totalCount) return letters;
  }
}

function shown(letters: readonly Letter[]): Awaited<ReturnType<CommandSpec["run"]>> {
  const rows = letters.map(({ deadLetterId, failedAt, userId, action, actionId, attempts, reason }) => [
    deadLetterId,
    failedAt,
    userId,
    action,
    actionId,
    String(attempts),
    `${reason.code}: ${reason.message}`,
  ]);
  const columns = ["ID", "FAILED", "USER", "ACTION", "ACTION_ID", "ATTEMPTS", "REASON"];
  return { data: letters, shown: { columns, rows } };
}

function wrong(message: string): CliError {
  return new CliError(exits.usage, message, { code: "wrong_usage" });
}
