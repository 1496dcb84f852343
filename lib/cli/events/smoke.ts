/** Commands that try the element types of a project out. */

import { attributesOf } from "../../authoring/table/element_content.ts";
import type { ContentType } from "../../authoring/table/mod.ts";
import { contentsOf } from "../elements/types.ts";
import { whole } from "../frame/checks.ts";
import type { CliContext, CommandSpec } from "../frame/command.ts";
import { CliError, exits, invalid } from "../frame/errors.ts";
import { projectFlag, yesFlag } from "../frame/flags.ts";
import { rows } from "../frame/output.ts";
import { pathOf, type ResourceObject } from "../frame/resources.ts";
import { pageAddress } from "../url.ts";
import { durationMax, namesOf } from "./fields.ts";

/** Both mark an event of ours: a name alone could be somebody else's. */
const prefix = "smoke-";
const annotation = "smoke/run";

const clean: CommandSpec = {
  words: ["smoke", "clean"],
  summary: "Stop and delete the events of smoke run",
  flags: { project: projectFlag, yes: yesFlag },
  changes: "Stops and deletes events whose name and annotation are those of smoke run",
  examples: ["smoke clean --project $PROJECT --yes"],
  requests: 3,
  output: rows({ id: "text", name: "text", action: "text" }),
  async run({ flags: { project = "" } }, context) {
    const api = await context.api();
    const path = pathOf({ kind: "project", id: project }, "events");
    const { data: marked } = await api.all(path, { "filter[annotation]": annotation });
    const found = marked.filter(({ attributes }) => String(attributes.name).startsWith(prefix));
    if (found.length > 0) await context.confirm(`Stop and delete ${namesOf(found)}`);
    const data = [];
    for (const { id, attributes } of found) {
      const within = { kind: "event", id } as const;
      const isRunning = attributes.state === "current";
      if (isRunning) {
        await api.change(within, { action: "stop" });
        context.done(`stopped ${id}`);
      }
      await api.write("DELETE", pathOf(within), { within });
      context.done(`deleted ${id}`);
      context.progress(`${data.length + 1} of ${found.length} events`);
      data.push({ id, name: attributes.name, action: isRunning ? "stopped, deleted" : "deleted" });
    }
    return { data };
  },
};

const run: CommandSpec = {
  words: ["smoke", "run"],
  summary: "Create an event and try an element of each type that the project uses",
  flags: {
    project: projectFlag,
    types: { value: "types", description: "Only these content types, separated by commas" },
    "no-publish": { description: "Create drafts alone" },
    duration: {
      value: "seconds",
      description: "Duration of the event",
      otherwise: "3600",
      check: whole(0, durationMax),
    },
  },
  changes: "Creates and starts an event, creates and publishes elements",
  examples: ["smoke run --project $PROJECT --types poll,message", "smoke run --project $PROJECT"],
  requests: 7,
  output: rows({ type: "text", id: [null, "text?"], create: "text", publish: "text", error: "text?" }),
  exits: {
    [exits.failed]: "A type failed; the others were tried",
    [exits.invalid]: "The project does not use a type",
  },
  async run({ flags }, context) {
    const { project = "", types: wanted, duration } = flags;
    const api = await context.api();
    const within = { kind: "project", id: project } as const;
    const { data: owner } = await api.read(within);
    const { data: listed } = await api.get<readonly ResourceObject[]>(pathOf(within, "content_types"));
    const enabled = listed.filter(({ attributes }) => attributes.enabled === true);
    const names = wanted?.split(",") ?? enabled.map(({ id }) => id);
    const unknown = names.filter(name => !enabled.some(({ id }) => id === name));
    if (unknown.length > 0) {
      throw invalid(`The project does not use ${unknown.join(", ")}`, {
        hint: `It uses ${enabled.map(({ id }) => id).join(", ")}`,
      });
    }
    if (names.length === 0)
      throw invalid("The project has no content types to try", {
        hint: "Give it an app, or enable some of its types",
      });
    const isPublishing = !("no-publish" in flags);
    const startedAt = new Date(context.clock()).toISOString();
    const attributes = {
      name: `${prefix}${startedAt}`,
      duration: Number(duration),
      annotations: { [annotation]: startedAt },
      action: isPublishing ? "start" : undefined,
    };
    const event = await api.create("events", attributes, within);
    context.done(`created event ${event.id}`);
    const data: Tried[] = [];
    for (const name of names) {
      const type = enabled.find(({ id }) => id === name)?.attributes.definition as ContentType;
      const earlier = data.find(({ id }) => id !== null)?.id ?? null;
      data.push(await tryType(context, type, event, { isPublishing, earlier }));
      context.progress(`${data.length} of ${names.length} types`);
    }
    const url = pageAddress(owner, "consumer", event.id);
    const lines = data.map(({ type, create, publish, error }) =>
      [type, create, publish, error ?? ""].join("\t"),
    );
    const hasFailed = data.some(({ error }) => error !== null);
    return {
      data,
      meta: { event: event.id, url },
      shown: `${[...lines, url].join("\n")}\n`,
      exit: hasFailed ? exits.failed : exits.ok,
    };
  },
};

interface Tried {
  readonly type: string;
  readonly id: string | null;
  readonly create: string;
  readonly publish: string;
  readonly error: string | null;
}

interface TryOptions {
  readonly isPublishing: boolean;
  /** An element that others may name. */
  readonly earlier: string | null;
}

async function tryType(
  context: CliContext,
  type: ContentType,
  event: ResourceObject,
  { isPublishing, earlier }: TryOptions,
): Promise<Tried> {
  const api = await context.api();
  const { content_type: name } = type;
  const contents = attributesOf(
    contentsOf(type, (property, nth) => sampleOf(property, nth, context.clock(), earlier)),
    [],
  );
  let id: string | null = null;
  try {
    const attributes = { content_type: name, name: `${prefix}${name}`, ...contents };
    const within = { kind: "event", id: event.id } as const;
    ({ id } = await api.create("elements", attributes, within));
    if (!isPublishing) return { type: name, id, create: "ok", publish: "skipped", error: null };
    await api.change({ kind: "element", id }, { action: "publish" }, { within });
    return { type: name, id, create: "ok", publish: "ok", error: null };
  } catch (error) {
    if (!(error instanceof CliError) || [exits.unauthenticated, exits.interrupted].includes(error.exit as 4))
      throw error;
    const { details = [] } = error.options;
    const [create, publish] = id === null ? ["failed", "skipped"] : ["ok", "failed"];
    return { type: name, id, create, publish, error: [error.message, ...details].join("; ") };
  }
}

type Property = Parameters<Parameters<typeof contentsOf>[1]>[0];

function sampleOf(property: Property, nth: number, now: number, earlier: string | null): unknown {
  const {
    key,
    type = property.field,
    default: preset,
    values = [],
    min = 1,
    max_length: length,
    many,
  } = property;
  if (preset !== undefined) return preset;
  const address = "https://example.com/";
  const samples: Readonly<Record<string, unknown>> = {
    integer: Math.ceil(min),
    number: min,
    boolean: true,
    enum: values[0],
    colour: "#0a7f3c",
    datetime: new Date(now + 3_600_000).toISOString(),
    url: address,
    asset: address,
    element_ref: earlier,
    metric_ref: "points",
    leaderboard_ref: "overall",
  };
  const text = `${key} ${nth + 1}`.slice(0, length);
  const value = samples[type ?? ""] ?? text;
  return many === true ? [value] : value;
}

export const commands: readonly CommandSpec[] = [clean, run];
