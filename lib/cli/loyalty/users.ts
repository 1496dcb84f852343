/**
 * Commands that simulate rules for one user: replay a history, or try an action. Neither changes anything.
 *
 * @module
 */

import type { loyaltyAnswers } from "../../fans/loyalty/mod.ts";
import { createApiClient, type SpaceClient, userFlags, withSpace } from "../api_client.ts";
import { type AnswerOf, dataOf } from "../frame/client.ts";
import type { CliContext, CliInput, CliResult, CommandSpec, FlagSpec } from "../frame/command.ts";
import { exits, wrongUsage } from "../frame/errors.ts";
import { json, record } from "../frame/output.ts";
import { readValid } from "./configuration.ts";

/** Flags of commands about one user. */
export const oneUserFlags: Readonly<Record<"space" | "key" | "user", FlagSpec>> = {
  ...userFlags,
  user: { value: "id", description: "The user", required: true },
};

/** Returns a path below a user's loyalty for operators. */
export function userPath(server: SpaceClient, user: string, name: string): string {
  return withSpace(`/internal/loyalty/users/${encodeURIComponent(user)}/${name}`, server);
}

/** `loyalty replay`. */
export const replayCommand: CommandSpec = {
  words: ["loyalty", "replay"],
  summary: "Replay the recorded actions of a user and show the differences",
  examples: [
    "loyalty replay --user $USER_ID",
    "loyalty replay --user $USER_ID --file loyalty.yaml --exit-code",
  ],
  requests: 1,
  output: record({
    records: [null, "whole"],
    isComplete: [null, "flag"],
    version: [null, "text"],
    differences: [null, "json"],
  }),
  exits: { [exits.differs]: "there are differences (--exit-code)" },
  flags: {
    ...oneUserFlags,
    file: { value: "path", description: "Replay against this configuration" },
    "exit-code": { description: "Exit with 3 if there are differences" },
  },
  run: replay,
};

/** `loyalty dry-run`. */
export const dryRunCommand: CommandSpec = {
  words: ["loyalty", "dry-run"],
  summary: "Show the effects an action of a user would have, and why rules and missions would not apply",
  examples: [
    "loyalty dry-run --user $USER_ID --action prediction",
    "loyalty dry-run --user $USER_ID --action prediction --data outcome=exact",
  ],
  requests: 1,
  output: json,
  flags: {
    ...oneUserFlags,
    action: { value: "name", description: "The action", required: true },
    data: {
      value: "name=value",
      description: "A property of its data, as JSON or text; may be repeated",
      repeated: true,
    },
  },
  run: dryRun,
};

async function replay(input: CliInput, context: CliContext): Promise<CliResult> {
  const { user = "", file } = input.flags;
  const body = file === undefined ? {} : { document: (await readValid(file, context)).document };
  const server = await createApiClient(input, context);
  const request = { method: "POST", body, isTrial: true };
  const path = userPath(server, user, "replay");
  const data = dataOf(await server.send<typeof loyaltyAnswers.ReplayResponse>(path, request), "differences");
  const { records, isComplete, differences } = data;
  const against = file === undefined ? "the current configuration" : file;
  const notes = [`${records} records replayed against ${against}: ${differences.length} differences`];
  if (!isComplete) notes.push("Older records are no longer stored, so the replay is incomplete");
  const isDifferent = differences.length > 0 && "exit-code" in input.flags;
  return {
    data,
    notes,
    shown: {
      columns: ["POINTER", "STORED", "REPLAYED"],
      rows: differences.map(({ pointer, a, b }) => [pointer, JSON.stringify(a), JSON.stringify(b)]),
    },
    exit: isDifferent ? exits.differs : exits.ok,
  };
}

async function dryRun(input: CliInput, context: CliContext): Promise<CliResult> {
  const { user = "", action = "" } = input.flags;
  const data = Object.fromEntries((input.lists.data ?? []).map(property));
  const request = { method: "POST", body: { userId: user, action, data }, isTrial: true };
  const server = await createApiClient(input, context);
  const path = withSpace("/internal/loyalty/dry-run", server);
  const tried = dataOf(await server.send<typeof loyaltyAnswers.DryRunResponse>(path, request), "effects");
  const effects = tried.effects.map(({ type, payload }) => ["effect", type, "", JSON.stringify(payload)]);
  const rules = tried.rules.flatMap(rule => finding("rule", rule.ruleId, rule.fired, rule));
  const missions = tried.missions.flatMap(one => finding("mission", one.missionId, one.advanced, one));
  return {
    data: tried,
    shown: { columns: ["WHAT", "ID", "HOLDS", "WHY"], rows: [...effects, ...rules, ...missions] },
    notes: tried.diagnostics.map(one => `Note: ${JSON.stringify(one)}`),
  };
}

/** Returns one row, or one for each reason of a failure. */
function finding(
  kind: string,
  id: string,
  holds: boolean,
  { failures }: Pick<AnswerOf<typeof loyaltyAnswers.DryRunResponse>["data"]["rules"][number], "failures">,
): string[][] {
  if (holds || failures.length === 0) return [[kind, id, holds ? "yes" : "no", ""]];
  return failures.map(({ path, expected, actual }) => [
    kind,
    id,
    "no",
    `${path}: expected ${expected}, is ${JSON.stringify(actual)}`,
  ]);
}

function property(text: string): [name: string, value: unknown] {
  const equals = text.indexOf("=");
  if (equals < 1) {
    throw wrongUsage(`--data needs name=value, not "${text}"`);
  }
  return [text.slice(0, equals), scalar(text.slice(equals + 1))];
}

function scalar(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return ["string", "number", "boolean"].includes(typeof value) ? value : text;
  } catch {
    return text;
  }
}
