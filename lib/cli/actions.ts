/**
 * Commands about actions that failed for good.
 *
 * @module
 */

import type { DeadActionReplayReply, DeadActionsReply } from "../audience/mod.ts";
import { organisationFlags } from "./api_client.ts";
import { deadLettersArgs, deadLettersFlags, deadLettersPageMax, runDeadLetters } from "./dead_letters.ts";
import type { CommandSpec } from "./frame/command.ts";
import { json } from "./frame/output.ts";

const path = "/v1/api/audience/internal/actions/dead-letters";

/** `actions dead-letters`. */
export const deadLettersCommand: CommandSpec = {
  words: ["actions", "dead-letters"],
  summary: "List the actions that failed for good, or queue them again",
  examples: [],
  output: json,
  args: deadLettersArgs,
  flags: { ...organisationFlags, ...deadLettersFlags },
  async run(input, context) {
    const headers = { "x-platform-org-id": input.flags.org ?? "" };
    return await runDeadLetters(input, context, {
      async page(server, offset) {
        const query = `?limit=${deadLettersPageMax}&offset=${offset}`;
        const { json } = await server.send<typeof DeadActionsReply>(path + query, { headers });
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
      async replay(server, ids) {
        const request = { method: "POST", body: { ids }, headers };
        const answer = await server.send<typeof DeadActionReplayReply>(`${path}/replay`, request);
        return answer.json.data;
      },
      queued: count => `Queued ${count} again.`,
    });
  },
};
