/**
 * What the studio makes forms of: the attributes of projects and events, and the sections of a project's settings, as JSON Schema.
 *
 * @module
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

export function formSchemas(): Readonly<Record<"projects" | "events", Json>> {
  return {
    projects: { properties: { ...attributesOf("projects"), services: jsonSchemaOf(v.object(ofProjects)) } },
    events: { properties: { ...attributesOf("events"), services: jsonSchemaOf(v.object(ofEvents)) } },
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
