/** The OpenAPI document of a whole platform. */

import assert from "node:assert/strict";
import { before, describe, it } from "node:test";
import { Validator } from "@seriousme/openapi-schema-validator";
import { createMemoryStore } from "../../adapters/memory/mod.ts";
import { openPlatform, type TestPlatform } from "../support/platform.ts";
import { credentialsFor, operationsOf, send, validExamples } from "./_operations.ts";

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly description?: string;
  readonly schema: Readonly<Record<string, unknown>>;
}

interface Schema {
  readonly $ref?: string;
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly allOf?: readonly Schema[];
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
}

interface Described {
  readonly operationId: string;
  readonly summary?: string;
  readonly description?: string;
  readonly parameters: readonly Parameter[];
  readonly requestBody?: {
    readonly description?: string;
    readonly content: Readonly<Record<string, { readonly schema: Schema; readonly example?: unknown }>>;
  };
  readonly responses: Readonly<Record<string, { readonly description: string }>>;
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

describe("the OpenAPI document of a platform", () => {
  let world: TestPlatform;
  let document: Document;
  let operations: readonly Described[];
  before(async () => {
    world = await openPlatform(async clock => createMemoryStore({ clock }));
    document = (await world.call("/openapi.json")).json;
    operations = Object.values(document.paths).flatMap(methods => Object.values(methods));
  });

  it("is valid OpenAPI 3.1", async () => {
    const { valid, errors } = await new Validator().validate({ ...document });
    assert.deepEqual(errors ?? [], []);
    assert.ok(valid);
  });

  it("describes every operation, in a sentence beside its summary", () => {
    const missing = operations.filter(
      ({ summary = "", description = "" }) => summary === "" || !/[.!?)]$/.test(description),
    );
    assert.deepEqual(
      missing.map(({ operationId }) => operationId),
      [],
    );
  });

  it("documents 503 for every operation", () => {
    const missing = operations.filter(({ responses }) => !("503" in responses));
    assert.deepEqual(
      missing.map(({ operationId }) => operationId),
      [],
    );
  });

  it("describes every parameter", () => {
    const missing = operations.flatMap(({ operationId, parameters }) =>
      parameters
        .filter(({ description = "" }) => description === "")
        .map(({ name }) => `${operationId} ${name}`),
    );
    assert.deepEqual(missing, []);
  });

  it("describes every field of a body", () => {
    const bodies = operations.flatMap(({ operationId, requestBody }) =>
      Object.values(requestBody?.content ?? {}).map(({ schema }) => ({ operationId, schema })),
    );
    const missing = bodies.flatMap(({ operationId, schema }) =>
      fieldsOf(schema)
        .filter(([, field]) => (resolved(field).description ?? "") === "")
        .map(([name]) => `${operationId} ${name}`),
    );
    assert.deepEqual(missing, []);
  });

  it("names the bound of every body", () => {
    const bounds = Object.fromEntries(
      operations.flatMap(({ operationId, requestBody }) =>
        requestBody === undefined ? [] : [[operationId, requestBody.description]],
      ),
    );
    const unnamed = Object.entries(bounds).filter(([, bound]) => !/^At most [\d,]+ bytes$/.test(bound ?? ""));
    assert.deepEqual(unnamed, []);
    assert.equal(bounds.queueActions, "At most 4,194,304 bytes");
    assert.equal(bounds.updateAudienceProfiles, "At most 8,388,608 bytes");
  });

  it("gives every body an example", () => {
    const missing = operations.filter(({ requestBody }) =>
      Object.values(requestBody?.content ?? {}).some(({ example }) => example === undefined),
    );
    assert.deepEqual(
      missing.map(({ operationId }) => operationId),
      [],
    );
  });

  it("names every schema of a body and an answer", () => {
    const generated = operations.flatMap(({ operationId }) => {
      const prefix = operationId.charAt(0).toUpperCase() + operationId.slice(1);
      const names = Object.keys(document.components.schemas);
      return names.filter(name => name === `${prefix}Body` || name.startsWith(`${prefix}Answer`));
    });
    assert.deepEqual(generated, []);
    const numbered = Object.keys(document.components.schemas).filter(name => /(?:\d|Part\d+)$/.test(name));
    assert.deepEqual(numbered, [], "two schemas have one name");
  });

  it("has examples that the platform accepts as well-formed", async () => {
    const examples = await validExamples(world);
    for (const operation of await operationsOf(world)) {
      const described = operations.find(({ operationId }) => operationId === operation.id);
      const [content] = Object.values(described?.requestBody?.content ?? {});
      if (content?.example === undefined) continue;
      const [valid] = examples.get(operation.id) ?? [];
      const headers = { ...(await credentialsFor(operation.scheme, world)), ...valid?.headers };
      const params = Object.fromEntries(
        [...operation.path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => [
          name,
          valid?.params?.[name] ?? "00000000-0000-4000-8000-000000000001",
        ]),
      );
      const body = related(content.example, valid?.body);
      const example = { params, query: valid?.query ?? {}, body };
      const { status, text } = await send(world, operation, { example, headers });
      const isMalformed =
        [400, 413, 415, 422].includes(status) &&
        /bad_json|validation_failed|unsupported|too_large|unprocessable/.test(text);
      // With the ids of real records, an example of the control API names nothing that is unknown.
      const isUnknown = status === 404 && body !== content.example;
      assert.ok(!isMalformed && !isUnknown && status < 500, `${operation.id}: ${status} ${text}`);
    }
  });

  /** Returns the fields of a body, or of each item of a list. */
  function fieldsOf(schema: Schema): readonly (readonly [name: string, field: Schema])[] {
    const { properties = {}, items, allOf = [], anyOf = [], oneOf = [] } = resolved(schema);
    const parts = [...allOf, ...anyOf, ...oneOf, ...(items === undefined ? [] : [items])];
    return [...Object.entries(properties), ...parts.flatMap(fieldsOf)];
  }

  function resolved(schema: Schema): Schema {
    const name = schema.$ref?.split("/").at(-1);
    return name === undefined ? schema : { ...document.components.schemas[name], ...schema };
  }
});

interface ResourceBody {
  readonly data?: { readonly relationships?: unknown };
}

/** Puts the relationships of an accepted body in the place of those of a documented one. */
function related(documented: unknown, accepted: unknown): unknown {
  const { relationships } = (accepted as ResourceBody | undefined)?.data ?? {};
  if (relationships === undefined) return documented;
  return { ...(documented as object), data: { ...(documented as ResourceBody).data, relationships } };
}
