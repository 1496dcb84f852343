/** What the examples of commands about events and elements need. */

import { ids } from "../support/platform.ts";
import { catalogueUrl } from "./_apps.ts";
import type { CliExample, CliWorld } from "./_cli_examples.ts";

type Prepare = (world: CliWorld) => Promise<CliExample>;
type Variables = Readonly<Record<string, string>>;

const poll = "- { type: poll, name: q1, question: Who wins?, options: [Home, Away] }";
const show = `${poll}\n- { type: group, name: rail, children: [{{q1}}], fields: { title: Today } }`;

function eventIn(world: CliWorld, project: string, attributes: object = {}): Promise<string> {
  return world.create(
    "/events",
    "events",
    { name: "Final", ...attributes },
    { project: ["projects", project] },
  );
}

async function elementIn(
  world: CliWorld,
  event: string,
  more: object = {},
  parent?: string,
): Promise<string> {
  const attributes = {
    content_type: "message",
    custom_fields: [{ key: "body", values: { all: "Hello" } }],
    ...more,
  };
  return await world.create("/elements", "elements", attributes, {
    event: ["events", event],
    ...(parent === undefined ? {} : { parent: ["elements", parent] as const }),
  });
}

/** Prepares a project of the catalogue with a running event. */
function inCatalogue(more?: (world: CliWorld, ids: Variables) => Promise<Variables>): Prepare {
  return async world => {
    const app = await world.create(
      "/apps",
      "apps",
      { spec_url: catalogueUrl },
      { space: ["spaces", ids.space] },
    );
    const related = { space: ["spaces", ids.space], app: ["apps", app] } as const;
    const project = await world.create("/projects", "projects", { name: "Show" }, related);
    const variables = { PROJECT: project, EVENT: await eventIn(world, project, { action: "start" }) };
    const others = (await more?.(world, variables)) ?? {};
    return { variables: { ...variables, ...others }, files: new Map([["show.yaml", show]]) };
  };
}

const plain = inCatalogue();
const withElement = inCatalogue(async (world, { EVENT = "" }) => ({ DRAFT: await elementIn(world, EVENT) }));
const withOther = inCatalogue(async (world, { PROJECT = "", EVENT = "" }) => {
  const wrapper = await elementIn(world, EVENT, { content_type: "group", custom_fields: [] });
  await elementIn(world, EVENT, {}, wrapper);
  return { WRAPPER: wrapper, OTHER_EVENT: await eventIn(world, PROJECT) };
});
const withFuture = inCatalogue(async (world, { PROJECT = "" }) => {
  const event = await eventIn(world, PROJECT);
  await elementIn(world, event);
  return { FUTURE_EVENT: event };
});

/** By the words of a command. */
export const eventExamples: Readonly<Record<string, Prepare>> = {
  "events clone": plain,
  "events create": plain,
  "events from-template": inCatalogue(async (world, { PROJECT = "", EVENT = "" }) => ({
    TEMPLATE: await world.create(
      "/event_templates",
      "event_templates",
      { name: "Match" },
      {
        project: ["projects", PROJECT],
        event: ["events", EVENT],
      },
    ),
  })),
  "events list": plain,
  "events prune": withFuture,
  "events schedule": withFuture,
  "events start": withFuture,
  "events stop": plain,
  "events templates": plain,
  "elements apply": plain,
  "elements clone-from": withOther,
  "elements clone-group": withOther,
  "elements create": plain,
  "elements export": withElement,
  "elements list": withElement,
  "elements publish": withElement,
  "elements schema": plain,
  "smoke clean": inCatalogue(async (world, { PROJECT = "" }) => ({
    SMOKE: await eventIn(world, PROJECT, {
      name: "smoke-1",
      action: "start",
      annotations: { "smoke/run": "2026" },
    }),
  })),
  "smoke run": plain,
};
