/** Checks a workflow backend against the protocol. */

import { suggestion } from "../../base/text/suggest.ts";
import type { Level } from "../../testing/world.ts";
import type { BackendFixtures, CheckBackendOptions, CheckOutcome } from "../../workflow/conformance/mod.ts";
import { address, type Check, id as idCheck, whole } from "../frame/checks.ts";
import type { CliContext, CommandSpec } from "../frame/command.ts";
import { CliError, exits, wrongUsage } from "../frame/errors.ts";
import { rows } from "../frame/output.ts";
import { given } from "../frame/profile.ts";
import { type Kind, kindOf } from "../frame/resources.ts";
import { createDialogueToken, readDialogueScope, readInputs } from "./backend.ts";

const scopes: readonly (Kind | null)[] = ["organisation", "space", "project", "event"];

const isCheckScope: Check = text => {
  const [word = "", ...others] = text.split(":");
  if (!scopes.includes(kindOf(word)))
    return `must be one of ${scopes.join(", ")}, or one with an id: event:id`;
  return others.length === 0 ? null : idCheck(others.join(":"));
};

export const checkCommand: CommandSpec = {
  words: ["workflow", "check"],
  summary:
    "Check a workflow backend in any language; it opens dialogues and presses an action dozens of times",
  args: [{ name: "url", description: "Address of the backend", check: address }],
  flags: {
    port: {
      value: "port",
      description: "Port of the platform that the check runs on this machine: the backend's control API",
      otherwise: "8787",
      check: whole(0, 65_535),
    },
    scope: {
      value: "kind[:id]",
      description:
        "Where the dialogues run: organisation, space, project or event; with an id, on the platform of the profile",
      otherwise: "event",
      check: isCheckScope,
    },
    input: {
      value: "name=value",
      description: "Value of an input; =@path sends a file, =@@ begins a text with @",
      repeated: true,
    },
    press: { value: "action", description: "Action of the first view to press; otherwise the first one" },
    check: { value: "id", description: "Check to run; otherwise all", repeated: true },
    yes: { description: "Do not ask before the backend changes something on the platform of the profile" },
    tap: { description: "Print TAP version 14" },
  },
  changes: "What the action of the backend changes; nothing of a platform unless --scope has an id",
  variables: ["GRANDSTAND_OTHER_TOKEN: token of another person with a role there, where --scope has an id"],
  examples: [
    "workflow check http://127.0.0.1:3000",
    "workflow check http://127.0.0.1:3000 --input csv=@questions.csv --press go",
    "workflow check http://127.0.0.1:3000 --check action.parallel --check action.twice --tap",
    "workflow check https://workflows.example/line-up --scope event:$EVENT --yes",
  ],
  requests: 0,
  output: rows({
    result: "text",
    level: "text",
    id: ["CHECK", "text"],
    title: [null, "text"],
    detail: "text?",
    hint: [null, "text?"],
  }),
  exits: {
    [exits.failed]: "A check of the level mandatory failed; what is recommended may fail",
    [exits.unavailable]: "The backend does not answer at all",
    [exits.conflict]: "Another program has the port",
  },
  async run({ args: [url = ""], flags, lists }, context) {
    const { port, scope = "", press: action } = flags;
    const inputs = await readInputs(lists.input ?? [], context.files);
    const { checkBackend, conformanceChecks, tapOf } = await import("../../workflow/conformance/mod.ts");
    const ids = conformanceChecks.map(({ id }) => id);
    const only = lists.check ?? ids;
    const unknown = only.find(id => !ids.includes(id));
    if (unknown !== undefined) throw wrongUsage(`There is no check ${unknown}.${suggestion(unknown, ids)}`);
    const world = await openFixtures(context, { port: Number(port), scope, url });
    const { clock, pause, timeLimit } = context;
    let isReached = false;
    async function send(request: Request): Promise<Response> {
      const response = await world.fixtures.send(request);
      isReached = true;
      return response;
    }
    try {
      const report = await checkBackend({
        ...world.fixtures,
        send,
        url,
        inputs,
        only,
        clock,
        pause,
        timeLimit,
        ...(action === undefined ? {} : { action }),
        onCheck: id => context.progress(`${only.indexOf(id) + 1}/${only.length} ${id}`),
      });
      if (!isReached) {
        const hint = "Start the backend, and look at the address";
        throw new CliError(exits.unavailable, `Cannot reach ${url}`, { code: "unreachable", hint });
      }
      return {
        data: report.checks,
        shown: "tap" in flags ? tapOf(report) : undefined,
        notes: notesOf(report.checks),
        exit: report.passed ? exits.ok : exits.failed,
      };
    } finally {
      await world.close();
    }
  },
};

function notesOf(checks: readonly CheckOutcome[]): readonly string[] {
  const count = (wanted: CheckOutcome["result"]): number =>
    checks.filter(({ result }) => result === wanted).length;
  const failed = checks.filter(({ result }) => result === "fail");
  return [
    ...failed.map(({ id, hint }) => `${id}: ${hint}`),
    `${count("pass")} passed, ${failed.length} failed, ${count("skip")} skipped`,
  ];
}

/** Time between requests to a backend whose control API counts its own requests, in ms. */
const paceMs = 150;

interface OpenFixtures {
  readonly fixtures: BackendFixtures & Required<Pick<CheckBackendOptions, "send">>;
  readonly close: () => Promise<void>;
}

/** Opens the fixtures for a scope. @throws {CliError} Another program has the port, or the platform refuses. */
async function openFixtures(
  context: CliContext,
  { port, scope, url }: { readonly port: number; readonly scope: string; readonly url: string },
): Promise<OpenFixtures> {
  const [word = "", id] = scope.split(":");
  const kind = kindOf(word) ?? "event";
  return id === undefined
    ? await openOwnPlatform(context, port, kind as Level)
    : await openPlatformOfProfile(context, { kind, id }, url);
}

/** Serves a platform in memory, and the address that must never be asked. */
async function openOwnPlatform(context: CliContext, port: number, scope: Level): Promise<OpenFixtures> {
  const { serve } = context;
  const { openCheckPlatform } = await import("../../testing/workflow/check_platform.ts");
  const own = await serve(port, async (...call) => await (await world).fetch(...call));
  const foreign = await serve(0, async (...call) => await (await world).listener(...call));
  const world = openCheckPlatform({ url: own.url, listenerUrl: foreign.url, scope });
  const { fixtures, platform } = await world;
  return {
    fixtures: { ...fixtures, send: context.fetch },
    async close() {
      await Promise.all([own.stop(), foreign.stop()]);
      await platform.close();
    },
  };
}

/** Makes tokens of dialogues on the platform of the profile, which end after ten minutes. */
async function openPlatformOfProfile(
  context: CliContext,
  target: { readonly kind: Kind; readonly id: string },
  url: string,
): Promise<OpenFixtures> {
  const other = given(context.variables.GRANDSTAND_OTHER_TOKEN);
  const api = await context.api();
  await api.requireAllowed(target);
  const { context: ids, place } = await readDialogueScope(api, target);
  await context.confirm(`Press the action of the backend dozens of times in the ${target.kind} ${target.id}`);
  const { ControlApi } = await import("../frame/control_api.ts");
  const apis = [api, ...(other === undefined ? [] : [ControlApi.with(other, context)])];
  const tokens = await Promise.all(apis.map(each => createDialogueToken(each, place, url)));
  const [own = "", colleague] = tokens.map(({ attributes }) => String(attributes.token));
  let requests = 0;
  const foreign = await context.serve(0, async () => {
    requests += 1;
    return new Response(null, { status: 404 });
  });
  return {
    fixtures: {
      control: api.url,
      user: { token: own, context: ids },
      // Nobody has a role where nothing is.
      foreign: Object.fromEntries(Object.keys(ids).map(level => [level, context.uniqueId()])),
      listener: { url: foreign.url, requests: () => requests },
      ...(colleague === undefined ? {} : { colleague }),
      async send(request) {
        await context.pause(paceMs);
        return await context.fetch(request);
      },
    },
    close: async () => void (await foreign.stop()),
  };
}
