/**
 * What the studio makes forms of: the attributes of projects and events, and the sections of a project's settings, as JSON
 * Schema.
 */

import * as v from "valibot";
import { definitionOf } from "../../lib/authoring/table/mod.ts";
import type { Attribute } from "../../lib/authoring/table/resource.ts";
import { unixSeconds } from "../../lib/authoring/table/schemas.ts";
import { IdentitySettingsSchema } from "../../lib/fans/identity/mod.ts";
import { BoardsSchema } from "../../lib/fans/leaderboards/settings/board_settings.ts";
import { LocationSchema } from "../../lib/fans/location/location.ts";
import { jsonSchemaOf } from "../../lib/http/openapi/schema.ts";
import { ShowSchema } from "../../lib/pages/show/settings.ts";

type Json = Readonly<Record<string, unknown>>;

/** Sections of `services`; what else is there is JSON. */
const ofEvents = {
  leaderboards: v.pipe(BoardsSchema, v.description("Boards that count scores")),
  location: v.pipe(LocationSchema, v.description("Where fans are served")),
};
const ofProjects = {
  show: v.pipe(ShowSchema, v.description("The page for fans")),
  identity: v.pipe(IdentitySettingsSchema, v.description("How fans sign in, and the mails that they get")),
  ...ofEvents,
  eventLeaderboards: v.pipe(BoardsSchema, v.description("Boards that each event of the project has")),
};

/** What members mean whose schemas do not say it. */
const hints: Json = {
  order: "`desc`: the highest score leads",
  operator: "How a score of a back end combines with the stored one, where it does not say so",
  source: "Source of the scores: back ends (`direct`), the value of a metric, or counted actions",
  rankStyle:
    "Ranks after two equal scores: 1, 1, 3 (`competition`), 1, 1, 2 (`dense`) or 1, 2, 3 (`ordinal`)",
  shards: "Number of partitions over which the entries are spread; 1 where ranks are dense",
  seasons: "Periods in which the board counts separately",
  graceMs: "Milliseconds after the end of a season in which its scores still count",
  keepSeasons: "Number of past seasons that are kept",
  bounds: "Scores that the board takes, both bounds included",
  visibility: "Readers: everyone (`public`), or API keys of the organisation (`hidden`)",
  allow: "The only countries that are served, such as DE, or EU for all of its own",
  deny: "Countries that are not served, where no others are named",
  unknownLocation: "What holds for devices whose country is unknown",
};

/** Adds hints to the members of an object, or of the objects of a list. */
function hinted({ properties, items, ...schema }: Json): Json {
  if (items !== undefined) return { ...schema, items: hinted(items as Json) };
  const members = Object.entries(Object(properties) as Readonly<Record<string, Json>>);
  return {
    ...schema,
    properties: Object.fromEntries(
      members.map(([name, member]) => [name, { ...member, description: hints[name] }]),
    ),
  };
}

function servicesOf(sections: typeof ofEvents): Json {
  const { properties, ...schema } = jsonSchemaOf(v.object(sections));
  const all = properties as Readonly<Record<string, Json>>;
  const members = Object.entries(all).map(([name, section]) => {
    return [name, /^(leaderboards|eventLeaderboards|location)$/.test(name) ? hinted(section) : section];
  });
  return { ...schema, properties: Object.fromEntries(members) };
}

export function formSchemas(): Readonly<Record<"projects" | "events", Json>> {
  return {
    projects: { properties: { ...attributesOf("projects"), services: servicesOf(ofProjects) } },
    events: { properties: { ...attributesOf("events"), services: servicesOf(ofEvents) } },
  };
}

/** Returns the attributes that authors change, but for those that apps interpret. */
function attributesOf(type: "projects" | "events"): Json {
  const attributes: Readonly<Record<string, Attribute>> = definitionOf(type)?.attributes ?? {};
  const written = Object.entries(attributes).filter(
    ([, { write = "always", join = "replace", heavy = false }]) =>
      write === "always" && join === "replace" && !heavy,
  );
  return Object.fromEntries(
    written.map(([name, { schema, description, default: given = null, nullable = false, required }]) => [
      name,
      {
        ...jsonSchemaOf(schema),
        description,
        // JSON Schema has no word for it.
        ...(schema === unixSeconds && { format: "unix-time" }),
        ...(nullable && { nullable }),
        ...(required !== true && { default: given }),
      },
    ]),
  );
}
