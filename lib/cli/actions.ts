/**
 * Commands about actions that failed for good.
 *
 * @module
 */

import type { DeadActionReplayReply, DeadActionsReply } from "../fans/audience/http/dead_letter_routes.ts";
import { organisationFlags, userFlags, withSpace } from "./api_client.ts";
import { deadLetterCommands, deadLettersPageMax } from "./dead_letters.ts";
import type { AnswerOf } from "./frame/client.ts";
import type { CommandSpec } from "./frame/command.ts";
import { rows } from "./frame/output.ts";

const path = "/v1/api/audience/internal/actions/dead-letters";

type DeadAction = AnswerOf<typeof DeadActionsReply>["data"][number];

export const actionsCommands: readonly CommandSpec[] = deadLetterCommands<DeadAction>({
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
    action: ["ACTION", "text"],
    actionId: ["ACTION_ID", "text"],
    timestamp: [null, "time"],
    data: [null, "json"],
    metadata: [null, "json"],
    attempts: ["ATTEMPTS", "whole"],
    reason: ["REASON", "json"],
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
