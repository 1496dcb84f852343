import { AppError } from "../../base/errors/mod.ts";
import { parsedJson } from "../../base/json/mod.ts";
import type { configurationAnswers, loyaltyAnswers } from "../../fans/loyalty/mod.ts";
import { createApiClient, type SpaceClient, spaceFlags, userFlags, withSpace } from "../api_client.ts";
import { type AnswerOf, dataOf } from "../frame/client.ts";
import type { CommandSpec, FlagSpec } from "../frame/command.ts";
import { exits, invalid, wrongUsage } from "../frame/errors.ts";
import { exitCodeFlag } from "../frame/flags.ts";
import { json, record, rows } from "../frame/output.ts";
import {
  configurationOf,
  configurationPath,
  pullCommand,
  pushCommand,
  readDocument,
  readValid,
  validateCommand,
} from "./files.ts";

const versionsCommand: CommandSpec = {
  words: ["loyalty", "versions"],
  summary: "List the stored versions of a configuration, newest first",
  examples: ["loyalty versions"],
  output: rows({
    version: "whole",
    created_at: [null, "whole"],
    created_at_iso: ["CREATED", "time"],
    created_by: ["BY", "text"],
    rollback_of: "whole?",
    digest: "text",
  }),
  flags: spaceFlags,
  async run(input, context) {
    const server = await createApiClient(input, context);
    const path = `${configurationPath(server)}/versions`;
    const { json } = await server.send<typeof configurationAnswers.VersionsSchema>(path);
    return { data: json.data.map(({ id, attributes }) => ({ version: Number(id), ...attributes })) };
  },
};

const rollbackCommand: CommandSpec = {
  words: ["loyalty", "rollback"],
  summary: "Restore an earlier version as a new one",
  changes: "makes an earlier version the newest one",
  examples: ["loyalty rollback 1"],
  output: record({ version: "whole", digest: "text", etag: [null, "text"] }),
  args: [{ name: "version", description: "Its number" }],
  flags: spaceFlags,
  async run(input, context) {
    const [text = ""] = input.args;
    if (!/^[1-9]\d{0,8}$/.test(text)) {
      throw wrongUsage(`rollback needs the number of a version, not "${text}"`);
    }
    const server = await createApiClient(input, context);
    const path = `${configurationPath(server)}/rollback`;
    const answer = await server.send<typeof configurationAnswers.ConfigurationSchema>(path, {
      method: "POST",
      body: { version: Number(text) },
    });
    const { version, digest, etag } = configurationOf(answer);
    return {
      data: { version, digest, etag },
      notes: [`Version ${version} is now current, with the document of version ${text}`],
    };
  },
};

const oneUserFlags: Readonly<Record<"space" | "key" | "user", FlagSpec>> = {
  ...userFlags,
  user: { value: "id", description: "The user", required: true },
};

function userPath(server: SpaceClient, user: string, name: string): string {
  return withSpace(`/internal/loyalty/users/${encodeURIComponent(user)}/${name}`, server);
}

const replayCommand: CommandSpec = {
  words: ["loyalty", "replay"],
  summary: "Replay the recorded actions of a user and show the differences",
  examples: [
    "loyalty replay --user $USER_ID",
    "loyalty replay --user $USER_ID --file loyalty.yaml --exit-code",
  ],
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
    "exit-code": exitCodeFlag,
  },
  async run(input, context) {
    const { user = "", file } = input.flags;
    const body = file === undefined ? {} : { document: (await readValid(file, context)).document };
    const server = await createApiClient(input, context);
    const request = { method: "POST", body, isTrial: true };
    const path = userPath(server, user, "replay");
    const data = dataOf(
      await server.send<typeof loyaltyAnswers.ReplayResponse>(path, request),
      "differences",
    );
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
  },
};

const dryRunCommand: CommandSpec = {
  words: ["loyalty", "dry-run"],
  summary: "Show the effects an action of a user would have, and why rules and missions would not apply",
  examples: [
    "loyalty dry-run --user $USER_ID --action prediction",
    "loyalty dry-run --user $USER_ID --action prediction --data outcome=exact",
  ],
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
  async run(input, context) {
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
  },
};

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
  const value = parsedJson(text);
  return ["string", "number", "boolean"].includes(typeof value) ? value : text;
}

const reconcileCommand: CommandSpec = {
  words: ["loyalty", "reconcile"],
  summary: "Check that a user's metrics equal the sums of the ledger",
  examples: ["loyalty reconcile --user $USER_ID"],
  output: record({ ok: [null, "flag"], metrics: [null, "json"], faults: [null, "json"] }),
  exits: { [exits.differs]: "the ledger does not add up (--exit-code)" },
  flags: { ...oneUserFlags, "exit-code": { description: "Exit with 3 if they differ" } },
  async run(input, context) {
    const { user = "" } = input.flags;
    const server = await createApiClient(input, context);
    const path = userPath(server, user, "reconciliation");
    const data = dataOf(await server.send<typeof loyaltyAnswers.ReconciliationResponse>(path), "faults");
    const { ok, metrics, faults } = data;
    const isCut = metrics.some(({ isComplete }) => !isComplete);
    return {
      data,
      shown: {
        columns: ["METRIC", "BALANCE", "LEDGER"],
        rows: metrics.map(({ metricId, balance, folded }) => [metricId, shown(balance), shown(folded)]),
      },
      notes: [
        ok ? "The ledger adds up" : `The ledger does not add up: ${faults.length} faults`,
        ...faults.map(({ metricId, recordId, detail }) => `${metricId} ${recordId ?? ""}: ${detail}`),
        ...(isCut ? ["Older records are no longer stored, so the check is incomplete"] : []),
      ],
      exit: !ok && "exit-code" in input.flags ? exits.differs : exits.ok,
    };
  },
};

const reverseCommand: CommandSpec = {
  words: ["loyalty", "reverse"],
  summary: "Reverse a transaction of a user, once",
  changes: "reverses a transaction of a user, in the ledger too",
  examples: ["loyalty reverse $TRANSACTION --user $USER_ID"],
  output: json,
  args: [{ name: "transaction", description: "The id of the transaction" }],
  flags: oneUserFlags,
  async run(input, context) {
    const [transactionId = ""] = input.args;
    const { user = "" } = input.flags;
    const server = await createApiClient(input, context);
    const path = userPath(server, user, "reversals");
    const answer = await server.send<typeof loyaltyAnswers.TransactionResponse>(path, {
      method: "POST",
      body: { transactionId },
      // After a retry it would be unknown which attempt took effect.
      isRepeatable: false,
    });
    const data = dataOf(answer, "payload");
    return {
      data,
      shown: {
        columns: ["METRIC", "BEFORE", "AFTER"],
        rows: Object.entries(data.payload.metricChanges).map(([metricId, { oldValue, newValue }]) => [
          metricId,
          String(oldValue),
          String(newValue),
        ]),
      },
      notes: [`Transaction ${transactionId} is reversed by ${data.id}`],
    };
  },
};

function shown(value: number | null): string {
  return value === null ? "" : String(value);
}

const testCommand: CommandSpec = {
  words: ["loyalty", "test"],
  summary: "Play scenarios against a loyalty configuration, without a server",
  examples: ["loyalty test scenarios.yaml --file loyalty.yaml"],
  requests: 0,
  output: record({ passed: [null, "whole"], failed: [null, "whole"], checks: [null, "json"] }),
  exits: { [exits.differs]: "an expectation does not hold" },
  args: [{ name: "scenarios", description: "JSON or YAML" }],
  flags: { file: { value: "path", description: "The configuration", required: true } },
  async run({ args: [path = ""], flags: { file = "" } }, context) {
    const { document } = await readValid(file, context);
    const scenarios = await readDocument(path, context);
    const { locate } = scenarios;
    const checks = await context.playScenarios(document, scenarios.document).catch((error: unknown) => {
      if (!(error instanceof AppError) || error.fields === undefined) throw error;
      throw invalid(`The scenarios in ${path} are not valid`, {
        details: error.fields.map(({ pointer, detail }) => `${locate(pointer)} ${pointer}: ${detail}`),
      });
    });
    const failed = checks.filter(({ hasPassed }) => !hasPassed).length;
    return {
      data: { passed: checks.length - failed, failed, checks },
      shown: {
        columns: ["RESULT", "SCENARIO", "WHERE", "USER", "WHAT", "EXPECTED", "ACTUAL"],
        rows: checks.map(({ hasPassed, scenario, pointer, user, what, expected, actual }) => [
          hasPassed ? "passed" : "failed",
          scenario,
          locate(pointer),
          user,
          what,
          JSON.stringify(expected),
          JSON.stringify(actual),
        ]),
      },
      notes: [`${checks.length - failed} passed, ${failed} failed`],
      exit: failed === 0 ? exits.ok : exits.differs,
    };
  },
};

export const commands: readonly CommandSpec[] = [
  validateCommand,
  testCommand,
  pullCommand,
  pushCommand,
  versionsCommand,
  rollbackCommand,
  replayCommand,
  dryRunCommand,
  reconcileCommand,
  reverseCommand,
];
