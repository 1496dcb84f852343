/**
 * Commands about what rules do for one user: a history replayed, and an action tried out. Neither changes anything.
 *
 * @module
 */

import { type CliContext, CliError, type CommandInput, type CommandSpec, type Result } from "../command.ts";
import { exits } from "../exits.ts";
import { serverOf } from "../server.ts";
import { readValid } from "./configuration.ts";
import { dataOf, userFlags, userPath } from "./user_answers.ts";

interface Replayed {
  readonly records: number;
  readonly isComplete: boolean;
  readonly version: string;
  readonly differences: readonly { readonly pointer: string; readonly a: unknown; readonly b: unknown }[];
}

interface Finding {
  readonly failures: readonly {
    readonly path: string;
    readonly expected: string;
    readonly actual: unknown;
  }[];
}

interface Tried {
  readonly effects: readonly { readonly type: string; readonly payload: unknown }[];
  readonly rules: readonly (Finding & { readonly ruleId: string; readonly fired: boolean })[];
  readonly missions: readonly (Finding & { readonly missionId: string; readonly advanced: boolean })[];
  readonly diagnostics: readonly unknown[];
}

/** `loyalty replay`. */
export const replayCommand: CommandSpec = {
  words: ["loyalty", "replay"],
  summary: "Show what a user would have by replaying the user's recorded actions, and how that differs",
  args: [],
  flags: {
    ...userFlags,
    file: { value: "path", description: "Replay against this configuration instead of the server's" },
    "exit-code": { description: "End with 3 where there are differences" },
  },
  run: replay,
};

/** `loyalty dry-run`. */
export const dryRunCommand: CommandSpec = {
  words: ["loyalty", "dry-run"],
  summary: "Show what an action of a user would do now, and why rules and missions would not hold",
  args: [],
  flags: {
    ...userFlags,
    action: { value: "name", description: "The action", required: true },
    data: {
      value: "name=value",
      description: "A property of its data, as JSON or else as text; may be repeated",
      repeated: true,
    },
  },
  run: dryRun,
};

async function replay(input: CommandInput, context: CliContext): Promise<Result> {
  const { user = "", file } = input.flags;
  const body = file === undefined ? {} : { document: (await readValid(file, context)).document };
  const told = await serverOf(input, context).ask(`${userPath(user)}/replay`, { method: "POST", body });
  const data = dataOf<Replayed>(told.json, "differences");
  const { records, isComplete, differences } = data;
  const against = file === undefined ? "the current configuration" : file;
  const notes = [`${records} records replayed against ${against}: ${differences.length} differences`];
  if (!isComplete) notes.push("Older records are no longer kept, so the replay began in the middle");
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

async function dryRun(input: CommandInput, context: CliContext): Promise<Result> {
  const { user = "", action = "" } = input.flags;
  const data = Object.fromEntries((input.lists.data ?? []).map(property));
  const body = { userId: user, action, data };
  const told = await serverOf(input, context).ask("/internal/loyalty/dry-run", { method: "POST", body });
  const tried = dataOf<Tried>(told.json, "effects");
  const effects = tried.effects.map(({ type, payload }) => ["effect", type, "", JSON.stringify(payload)]);
  const rules = tried.rules.flatMap(rule => finding("rule", rule.ruleId, rule.fired, rule));
  const missions = tried.missions.flatMap(one => finding("mission", one.missionId, one.advanced, one));
  return {
    data: tried,
    shown: { columns: ["WHAT", "ID", "HOLDS", "WHY"], rows: [...effects, ...rules, ...missions] },
    notes: tried.diagnostics.map(one => `Note: ${JSON.stringify(one)}`),
  };
}

/** One row, or one for each reason why it does not hold. */
function finding(what: string, id: string, holds: boolean, { failures }: Finding): string[][] {
  if (holds || failures.length === 0) return [[what, id, holds ? "yes" : "no", ""]];
  return failures.map(({ path, expected, actual }) => [
    what,
    id,
    "no",
    `${path}: expected ${expected}, is ${JSON.stringify(actual)}`,
  ]);
}

function property(text: string): [name: string, value: unknown] {
  const equals = text.indexOf("=");
  if (equals < 1) {
    throw new CliError(exits.usage, `--data needs name=value, not "${text}"`, { code: "wrong_usage" });
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
