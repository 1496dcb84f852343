/** The rows of the typed client, and the size of a bundle with them. */

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { createMemoryStore } from "../../../adapters/memory/mod.ts";
import {
  audience,
  control,
  feeds,
  identity,
  leaderboards,
  location,
  loyalty,
  workflow,
} from "../../../lib/client/mod.ts";
import { openPlatform, type TestPlatform } from "../../support/platform.ts";

/** Most bytes of a fan's client with identity, loyalty and leaderboards, minified and compressed. */
const gzipBytesMax = 8_500;
const resolveDir = fileURLToPath(new URL("../../..", import.meta.url));

async function bundle(contents: string): Promise<string> {
  const { outputFiles } = await build({
    stdin: { contents, resolveDir, loader: "ts" },
    bundle: true,
    minify: true,
    format: "esm",
    platform: "browser",
    target: "es2022",
    packages: "external",
    write: false,
    logLevel: "silent",
  });
  return outputFiles[0]?.text ?? "";
}

interface Schema {
  readonly $ref?: string;
  readonly format?: string;
  readonly properties?: Readonly<Record<string, unknown>>;
}
type Content = Readonly<Record<string, { readonly schema?: Schema }>>;
interface Operation {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly security: readonly Readonly<Record<string, unknown>>[];
  readonly parameters: readonly { readonly name: string }[];
  readonly requestBody?: { readonly content: Content };
  readonly responses: Readonly<Record<string, { readonly content?: Content }>>;
}
interface OpenapiDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

/** Areas of the platform that the client has none of. */
const otherTags = ["docs", "keys", "root", "studio", "system"];
/** The flags of credentials. */
const credentialFlags: Readonly<Record<string, string>> = {
  userToken: "u",
  spaceToken: "s",
  apiKey: "k",
  accessToken: "a",
};
/** Operations that neither the method nor a key makes repeatable, and that have the same effect if they are sent twice. */
const repeatable = [
  "issueSpaceToken",
  "refreshUser",
  "logOutUser",
  "unlockUser",
  "mergeUser",
  "addProjectLeaderboardScore",
  "addEventLeaderboardScore",
];
/** Operations with a repeatable method that a second request makes fail, or that may count twice. */
const once = ["changePassword", "putAudienceActions", "putAudienceRewards"];

/** Returns the rows that an operation of the document has. */
function rowsOf(
  { paths, components }: OpenapiDocument,
  path: string,
  method: string,
): readonly (readonly [string, string])[] {
  const operation = paths[path]?.[method] as Operation;
  const { operationId, security, parameters, responses } = operation;
  const successes = Object.entries(responses).filter(([status]) => status.startsWith("2"));
  const has = (name: string): boolean => parameters.some(one => one.name === name);
  const answers = (type: string): boolean =>
    successes.some(([, { content }]) => content?.[type] !== undefined);
  const [{ schema } = {}] = Object.values(operation.requestBody?.content ?? {});
  const body = schema?.$ref === undefined ? schema : components.schemas[schema.$ref.split("/").at(-1) ?? ""];
  const flags = [
    ...new Set(security.flatMap(option => Object.keys(option).map(name => credentialFlags[name]))),
    has("Idempotency-Key") && "i",
    has("X-Platform-Org-ID") && "o",
    has("offset") && "n",
    repeatable.includes(operationId) && "r",
    once.includes(operationId) && "1",
    "206" in responses && "w",
    schema?.format === "binary" && "b",
    answers("application/x-ndjson") && "l",
    method === "post" && body?.properties?.actionId !== undefined && "d",
  ];
  const row = `${method.toUpperCase()} ${path.replace(/\{(\w+)\}/g, ":$1")} ${flags.filter(Boolean).join("")}`;
  const rows = [[operationId, row.trimEnd()] as const];
  if (!answers("text/event-stream")) return rows;
  const live = operationId.replace(/^(list|getLive)/, "watch");
  return [...rows, [live, `${row}${operationId.startsWith("list") ? "e" : "em"}`]];
}

describe("the typed client", () => {
  let world: TestPlatform;
  before(async () => {
    world = await openPlatform(async clock => createMemoryStore({ clock }));
  });
  after(async () => await world.dispose());

  it("has a row for each operation, whose flags say what the OpenAPI document says", async () => {
    const response = await world.platform.fetch(new Request("http://localhost/openapi.json"));
    const document = (await response.json()) as OpenapiDocument;
    const expected = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).flatMap(([method, { tags }]) =>
        tags.some(tag => otherTags.includes(tag)) ? [] : rowsOf(document, path, method),
      ),
    );
    const areas = [audience, control, feeds, identity, leaderboards, location, loyalty, workflow];
    const rows = areas.flatMap(area => Object.entries(area.rows));
    const sorted = (pairs: readonly (readonly [string, string])[]) =>
      pairs.map(([name, row]) => `${name}: ${row}`).toSorted();
    assert.deepEqual(sorted(rows), sorted(expected));
  });

  it(`has at most ${gzipBytesMax} bytes for identity, loyalty and leaderboards, and no area that nobody asked for`, async () => {
    const text = await bundle(`
      import { createFanClient, identity, leaderboards, loyalty } from "./lib/client/mod.ts";
      const areas = { identity, leaderboards, loyalty };
      globalThis.fan = createFanClient({ url: location.origin, projectId: "p", storage: localStorage, areas });
    `);
    const { length } = gzipSync(text, { level: 9 });
    assert.ok(length > 4_000 && length <= gzipBytesMax, `${length} bytes`);
    assert.doesNotMatch(text, /api\/v2|api\/audience/);
    assert.doesNotMatch(text, /\bimport\b|node:/, "a browser loads it as it is");
  });
});
