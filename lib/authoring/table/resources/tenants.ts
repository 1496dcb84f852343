/** Organisations, spaces and projects. */

import * as v from "valibot";
import { annotated, attribute, define, myRole, owner, readOnly, withDefault } from "../resource.ts";
import { fieldList, jsonObject, locale, resourceName } from "../schemas.ts";

const domainShape = /^[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:\d{1,5})?$/;

const shared = {
  services: attribute(
    jsonObject,
    "Settings of the platform's areas by section (leaderboards, location, identity, …), each checked by its area",
    { join: "merge", default: {}, heavy: true, role: "admin" },
  ),
  annotations: annotated,
  urls: readOnly(jsonObject, "Addresses of the resource"),
} as const;

const delay = v.pipe(v.number(), v.minValue(0), v.maxValue(3_600));
const typeNames = v.pipe(v.array(v.pipe(v.string(), v.minLength(1), v.maxLength(100))), v.maxLength(500));

export const tenants = define({
  organisations: {
    description: "A customer of the platform, which owns spaces.",
    home: "organisation",
    operations: ["list", "read", "create", "change"],
    write: "admin",
    attributes: {
      name: attribute(resourceName, "Name", { required: true }),
      ...shared,
    },
    relationships: {
      spaces: { kind: "link", type: "spaces", description: "Its spaces" },
      my_role: myRole,
    },
    under: [null],
    sorts: ["name", "created_at"],
    include: ["my_role"],
    example: { name: "Club" },
  },
  spaces: {
    description: "A domain with one audience and one loyalty configuration.",
    home: "space",
    operations: ["list", "read", "create", "change"],
    write: "admin",
    attributes: {
      name: attribute(resourceName, "Name", { required: true }),
      domain: attribute(
        v.pipe(
          v.string(),
          v.maxLength(260),
          v.regex(domainShape, "Expected a host name in lower case, with a port where it is not the default"),
        ),
        "The Host under which fans reach the space; no two spaces have the same",
        { nullable: true },
      ),
      ...shared,
    },
    relationships: {
      organisation: owner("organisations"),
      projects: { kind: "link", type: "projects", description: "Its projects" },
      apps: { kind: "link", type: "apps", description: "Its apps" },
      my_role: myRole,
    },
    under: ["organisations"],
    sorts: ["name", "created_at"],
    include: ["organisation", "organisation.my_role", "my_role"],
    example: { name: "Stadium" },
  },
  projects: {
    description: "One app or site as fans see it, with users, boards and events.",
    home: "project",
    operations: ["list", "read", "create", "change"],
    write: "admin",
    attributes: {
      name: attribute(resourceName, "Name", { required: true }),
      settings: attribute(
        fieldList(10_000),
        "Settings of the app, replaced as a whole; up to 4 MiB. `meta` has their `settings_digest` (SHA-256 of the canonical JSON) and `settings_bytes`",
        {
          default: [],
          heavy: true,
        },
      ),
      locales: withDefault(v.pipe(v.array(locale), v.maxLength(100)), "Languages of the content", []),
      hidden_elements: withDefault(typeNames, "Content types of the app that the project does not use", []),
      enabled_types: readOnly(typeNames, "Content types of the app that the project uses", { default: [] }),
      audio_sync_default_delay: withDefault(delay, "Default delay of audio synchronisation, in seconds", 0),
      audio_sync_max_delay: withDefault(delay, "Longest delay of audio synchronisation, in seconds", 0),
      certification_enabled: withDefault(v.boolean(), "True if elements may be certified", false),
      presence_counter: withDefault(
        v.strictObject({
          enabled: v.boolean(),
          min_threshold: v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(1_000_000_000)),
        }),
        "Shows how many fans are present, from a number of them on",
        { enabled: false, min_threshold: 0 },
      ),
      archived: withDefault(v.boolean(), "True if it is kept for its records alone", false),
      environment: withDefault(v.picklist(["staging", "production"]), "Where it is used", "staging"),
      ...shared,
    },
    relationships: {
      space: owner("spaces"),
      app: {
        kind: "one",
        type: "apps",
        write: "create",
        required: true,
        description: "Its app; changed through its own path",
      },
      events: { kind: "link", type: "events", description: "Its events" },
      my_role: myRole,
    },
    under: ["spaces"],
    sorts: ["name", "created_at"],
    include: ["space", "space.my_role", "space.organisation", "space.organisation.my_role", "app", "my_role"],
    example: { name: "Match app" },
  },
});
