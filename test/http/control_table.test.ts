/**
 * What the control API has and documents is made from the table of resources, or named here as special: its rows (method, path and
 * operation), its schemas with their members, and the states of the guide.
 */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { before, describe, it } from "node:test";
import { createMemoryStore } from "../../adapters/memory/mod.ts";
import { elementStates } from "../../lib/authoring/table/element_times.ts";
import { type Resource, resources } from "../../lib/authoring/table/mod.ts";
import { eventStates } from "../../lib/fans/directory/event_times.ts";
import { openPlatform } from "../support/platform.ts";

/** Rows that no resource of the table makes. */
const specialRows = [
  "GET /me",
  "GET /organisations/{}/my_role",
  "GET /spaces/{}/my_role",
  "GET /projects/{}/my_role",
  "GET /events/{}/my_role",
  "GET /elements/{}/my_role",
  "POST /sessions",
  "POST /sessions/{}/verify",
  "POST /operations",
  "GET /process",
  "GET /dead_letter_counts",
  "POST /events/{}/clone",
  "GET /events/{}/analytics",
  "GET /elements/{}/answers",
  "PATCH /elements/{}/answers",
  "GET /projects/{}/live",
  "PUT /projects/{}/live",
  "POST /spaces/{}/assets",
  "GET /assets/{}/{}/{}",
  "GET /spaces/{}/media_types",
  "GET /spaces/{}/uploaders",
  "POST /apps/validate_spec_url",
  "POST /workflows/{}/dispatch",
  "PATCH /projects/{}/relationships/app",
  "GET /apps/catalogue/1.0.0/spec.json",
  "GET /apps/catalogue/1.0.0/elements.json",
];

/** Schemas that no resource of the table makes. */
const specialSchemas = [
  "IncludedResource",
  "MyRole",
  ...["NewSession", "Session", "SessionCode"],
  ...["Operations", "OperationResults", "EventClone"],
  ...["MediaTypesInUse", "Uploaders"],
  ...[
    "Process",
    "DeadLetterCounts",
    "EventAnalytics",
    "LiveAuthoring",
    "Presence",
    "AnswerList",
    "ShownAnswers",
  ],
  ...["NewSpecChecks", "SpecChecks", "SpecChecksDocument", "AppOfProject", "AppMoveDocument"],
  ...["CatalogueSpec", "CatalogueElements"],
  ...["WorkflowDispatch", "WorkflowView"],
];

/** Components of every area. */
const commonComponents = ["JsonApiErrors", "RateLimit", "RateLimitPolicy", "RequestId", "RetryAfter"];

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>;
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly tags: readonly string[] }>>>>;
  readonly components: Readonly<Record<string, Readonly<Record<string, Schema>>>>;
}

const table: readonly Resource[] = Object.values(resources);

function rowsOf({
  type,
  under: parents,
  path,
  operations,
  attributes,
  relationships,
  isCreatedUnderParent,
}: Resource): string[] {
  const has = (name: Resource["operations"][number]): boolean => operations.includes(name);
  const listed = parents.map(under => (under === null ? `/${path}` : `/${under}/{}/${path}`));
  const created = isCreatedUnderParent === true ? listed : [`/${type}`];
  // A content type has its name in its project alone.
  const one = type === "content_types" ? `${listed[0]}/{}` : `/${type}/{}`;
  const isNoted = has("change") && attributes.annotations !== undefined;
  return [
    ...(has("list") ? listed.map(path => `GET ${path}`) : []),
    ...(has("create") ? created.map(path => `POST ${path}`) : []),
    ...(has("read") ? [`GET ${one}`] : []),
    ...(has("change") ? [`PATCH ${one}`] : []),
    ...(has("remove") ? [`DELETE ${one}`] : []),
    ...(isNoted ? [`GET ${one}/annotations`, `PATCH ${one}/annotations`] : []),
    ...Object.entries(relationships).flatMap(([name, { kind, write = "never" }]) => {
      const methods: Readonly<Record<string, readonly string[]>> = {
        always: ["PATCH"],
        links: ["POST", "DELETE"],
      };
      const line = kind === "one" ? [] : (methods[write] ?? []);
      return line.map(method => `${method} ${one}/relationships/${name}`);
    }),
  ];
}

/** `event_templates` becomes `EventTemplates`. */
function pascal(type: string): string {
  return type.replace(/(?:^|_)(\w)/g, (_, letter: string) => letter.toUpperCase());
}

function schemasOf({ type, operations, relationships }: Resource): string[] {
  const name = pascal(type);
  const has = (operation: Resource["operations"][number]): boolean => operations.includes(operation);
  const isShown = has("read") || has("create") || has("change") || type === "users";
  const lines = Object.entries(relationships).filter(
    ([, { kind, write }]) => kind !== "one" && (write === "always" || write === "links"),
  );
  return [
    ...(isShown || has("list") ? [name] : []),
    ...(isShown ? [`${name}Document`] : []),
    ...(has("list") ? [`${name}List`] : []),
    ...(has("create") ? [`New${name}`] : []),
    ...(has("change") ? [`Changed${name}`] : []),
    ...lines.map(([line]) => `${pascal(type).replace(/s$/, "")}${pascal(line)}`),
  ];
}

function referencesIn(value: unknown): string[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, each]) =>
    key === "$ref" ? [String(each)] : referencesIn(each),
  );
}

/** Returns what should not be there, and what should. */
function differences(found: readonly string[], expected: readonly string[]) {
  const [stray, missing] = [found, expected].map((each, index) =>
    each.filter(one => !(index === 0 ? expected : found).includes(one)),
  );
  return { stray, missing };
}

describe("the control API and its documentation", () => {
  let document: Document;
  before(async () => {
    const world = await openPlatform(async clock => createMemoryStore({ clock }));
    document = (await world.call("/openapi.json")).json;
  });

  const documented = () =>
    Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods)
        .filter(([, { tags }]) => tags.includes("control") && !/loyalty|api_keys/.test(path))
        .map(([method, operation]) => {
          const row = path.replace("/api/v2", "").replaceAll(/\{[^}]+\}/g, "{}");
          return { row: `${method.toUpperCase()} ${row}`, operation };
        }),
    );

  it("have the rows of the table and the special ones, and no others", () => {
    const rows = documented().map(({ row }) => row);
    const expected = [...table.flatMap(rowsOf), ...specialRows];
    assert.deepEqual(differences(rows, expected), { stray: [], missing: [] });
  });

  it("have the schemas of the table and the special ones, and no others", () => {
    const found = new Set<string>();
    const open = documented().flatMap(({ operation }) => referencesIn(operation));
    for (let at = open.pop(); at !== undefined; at = open.pop()) {
      const [kind = "", name = ""] = at.split("/").slice(-2);
      if (found.has(name)) continue;
      found.add(name);
      open.push(...referencesIn(document.components[kind]?.[name]));
    }
    const expected = new Set([...table.flatMap(schemasOf), ...specialSchemas, ...commonComponents]);
    assert.deepEqual(differences([...found], [...expected]), { stray: [], missing: [] });
  });

  it("describe the attributes and relationships of the table, and no others", () => {
    for (const { type, attributes, relationships, operations } of table) {
      const { properties } = document.components.schemas?.[pascal(type)] ?? {};
      if (properties === undefined) {
        assert.deepEqual(operations, [], type);
        continue;
      }
      const membersOf = (name: string): string[] => Object.keys(properties[name]?.properties ?? {});
      assert.deepEqual(membersOf("attributes").toSorted(), Object.keys(attributes).toSorted());
      assert.deepEqual(membersOf("relationships").toSorted(), Object.keys(relationships).toSorted());
    }
  });

  it("explain each state in the guide, and no others", () => {
    const guide = readFileSync(new URL("../../lib/authoring/control/README.md", import.meta.url), "utf8");
    for (const [noun, states] of [
      ["event", eventStates],
      ["element", elementStates],
    ] as const) {
      const [, rows = ""] = guide.match(new RegExp(`\\| an ${noun} is.*\\n((?:\\|.*\\n)+)`)) ?? [];
      const cells = rows.split("\n").map(row => row.split("|")[1] ?? "");
      const named = cells.flatMap(cell => [...cell.matchAll(/`(\w+)`/g)].map(([, state]) => state));
      assert.deepEqual(named, [...states]);
    }
  });
});
