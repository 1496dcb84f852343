/** `dead-letters list` and `dead-letters replay`: actions and deliveries that failed for good. */

import type { DeadActionReplayReply, DeadActionsReply } from "../fans/audience/http/dead_letter_routes.ts";
import { createApiClient, organisationFlags, type SpaceClient, userFlags, withSpace } from "./api_client.ts";
import type { AnswerOf } from "./frame/client.ts";
import type { CliInput, CommandSpec, FlagSpec } from "./frame/command.ts";
import { exits, wrongUsage } from "./frame/errors.ts";
import { type Output, type Rows, record, rows } from "./frame/output.ts";

export const deadLettersPageMax = 100;

interface DeadLetters<L> {
  readonly words: readonly string[];
  readonly summaries: Readonly<Record<"list" | "replay", string>>;
  readonly flags: Readonly<Record<string, FlagSpec>>;
  readonly example: string;
  readonly output: Output;
  readonly page: (
    server: SpaceClient,
    input: CliInput,
    offset: number,
  ) => Promise<readonly [letters: readonly L[], total: number]>;
  readonly idOf: (letter: L) => string;
  readonly table: (letters: readonly L[]) => Rows;
  readonly replay: (
    server: SpaceClient,
    input: CliInput,
    ids: readonly string[],
  ) => Promise<{ readonly replayed: readonly string[]; readonly notFound: readonly string[] }>;
  readonly queued: (count: number) => string;
}

export function deadLetterCommands<L>(kind: DeadLetters<L>): readonly CommandSpec[] {
  const { words, summaries, flags, example, output, page, idOf, table, replay, queued } = kind;
  const name = words.join(" ");
  async function list(server: SpaceClient, input: CliInput): Promise<readonly L[]> {
    const found: L[] = [];
    for (;;) {
      const [letters, total] = await page(server, input, found.length);
      found.push(...letters);
      if (letters.length === 0 || found.length >= total) return found;
    }
  }
  const listCommand: CommandSpec = {
    words: [...words, "list"],
    summary: summaries.list,
    flags,
    examples: [`${name} list${example}`],
    output,
    async run(input, context) {
      const letters = await list(await createApiClient(input, context), input);
      return { data: letters, shown: table(letters) };
    },
  };
  const replayCommand: CommandSpec = {
    words: [...words, "replay"],
    summary: summaries.replay,
    flags: {
      ...flags,
      id: { value: "id", description: "Replay this one; may be repeated", repeated: true },
      all: { description: "Replay all" },
    },
    changes: "queues what failed again, and removes it from the list",
    examples: [`${name} replay${example} --all`, `${name} replay${example} --id $DEAD_LETTER`],
    requests: 2,
    output: record({ replayed: "texts", notFound: ["NOT_FOUND", "texts"] }),
    exits: { [exits.notFound]: "some no longer exist" },
    async run(input, context) {
      const named = input.lists.id ?? [];
      const isAll = "all" in input.flags;
      if (isAll === named.length > 0) throw wrongUsage("replay needs either --id or --all");
      const server = await createApiClient(input, context);
      const ids = isAll ? (await list(server, input)).map(idOf) : named;
      const replayed: string[] = [];
      const notFound: string[] = [];
      for (let start = 0; start < ids.length; start += deadLettersPageMax) {
        const done = await replay(server, input, ids.slice(start, start + deadLettersPageMax));
        replayed.push(...done.replayed);
        notFound.push(...done.notFound);
        context.done(queued(done.replayed.length));
      }
      return {
        data: { replayed, notFound },
        notes: [queued(replayed.length), ...notFound.map(id => `${id} no longer exists.`)],
        exit: notFound.length > 0 ? exits.notFound : exits.ok,
      };
    },
  };
  return [listCommand, replayCommand];
}

const path = "/v1/api/audience/internal/actions/dead-letters";

type DeadAction = AnswerOf<typeof DeadActionsReply>["data"][number];

export const commands: readonly CommandSpec[] = deadLetterCommands<DeadAction>({
  words: ["actions", "dead-letters"],
  summaries: {
    list: "List the actions that failed for good, newest first",
    replay: "Queue actions that failed for good again",
  },
  flags: { ...organisationFlags, ...userFlags },
  example: "",
  output: rows({
    deadLetterId: ["ID", "text"],
    failedAt: ["FAILED", "time"],
    userId: ["USER", "text"],
    spaceId: [null, "text"],
    action: "text",
    actionId: ["ACTION_ID", "text"],
    timestamp: [null, "time"],
    data: [null, "json"],
    metadata: [null, "json"],
    attempts: "whole",
    reason: "json",
  }),
  async page(server, _, offset) {
    const query = `?limit=${deadLettersPageMax}&offset=${offset}`;
    const { json } = await server.send<typeof DeadActionsReply>(withSpace(path + query, server));
    return [json.data, json.totalCount];
  },
  idOf: ({ deadLetterId }) => deadLetterId,
  table: letters => ({
    columns: ["ID", "FAILED", "USER", "ACTION", "ACTION_ID", "ATTEMPTS", "REASON"],
    rows: letters.map(({ deadLetterId, failedAt, userId, action, actionId, attempts, reason }) => [
      deadLetterId,
      failedAt,
      userId,
      action,
      actionId,
      String(attempts),
      `${reason.code}: ${reason.message}`,
    ]),
  }),
  async replay(server, _, ids) {
    const request = { method: "POST", body: { ids } };
    const replayPath = withSpace(`${path}/replay`, server);
    const answer = await server.send<typeof DeadActionReplayReply>(replayPath, request);
    return answer.json.data;
  },
  queued: count => `Queued ${count} again.`,
});
