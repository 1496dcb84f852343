import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Validator } from "@seriousme/openapi-schema-validator";
import {
  array,
  date,
  type GenericSchema,
  integer,
  lazy,
  object,
  optional,
  pipe,
  string,
  toNumber,
  uuid,
} from "valibot";
import { Metrics } from "../../../lib/base/metrics/mod.ts";
import { createHandler, type Guard, type Handler } from "../../../lib/http/mod.ts";
import { area, bodyOf, call, type Sketch } from "./kit.ts";

const bearer: Guard<unknown> = {
  security: [
    {
      schemes: { userToken: { type: "http", scheme: "bearer", bearerFormat: "JWT" } },
      requires: ["audience:read"],
    },
  ],
  authenticate: () => null,
};
const rateLimit = { rules: [{ name: "minute", limit: 100, windowMs: 60_000 }], subject: () => "all" };
const tree: GenericSchema = object({ name: string(), parts: array(lazy(() => tree)) });

const sketches: Sketch[] = [
  {
    path: "/projects/:projectId/boards/:boardId",
    operation: "getBoard",
    auth: bearer,
    rateLimit,
    params: object({ projectId: pipe(string(), uuid()), boardId: string() }),
    query: object({ limit: optional(pipe(string(), toNumber(), integer()), "10"), include: string() }),
    responses: { 200: { description: "The board", schema: object({ total: pipe(string(), toNumber()) }) } },
    errors: ["not_found"],
  },
  {
    method: "POST",
    path: "/projects/:projectId/boards/:boardId",
    operation: "replaceBoard",
    auth: { ...bearer, optional: true },
    body: {
      schema: tree,
      mediaTypes: ["application/vnd.api+json"],
      example: { name: "root", parts: [] },
    },
    responses: { 204: { description: "Replaced" } },
    errors: ["conflict", "busy"],
  },
  {
    method: "PUT",
    path: "/odd",
    operation: "putOdd",
    body: { schema: optional(object({ at: date() })) },
    responses: { 200: { description: "Tree", schema: tree } },
  },
];

function handlerWith(options = {}): Handler {
  const identity = area([{ path: "/v1/user", operation: "getUser" }], "identity");
  return createHandler([area(sketches), identity], {
    metrics: new Metrics(),
    servesMetrics: true,
    ...options,
  });
}

// biome-ignore lint/suspicious/noExplicitAny: a document is walked freely in assertions
async function documentOf(handler: Handler = handlerWith()): Promise<any> {
  return bodyOf(call(handler, "/openapi.json"));
}

describe("the OpenAPI document", () => {
  it("is valid OpenAPI 3.1", async () => {
    const { valid, errors } = await new Validator().validate(await documentOf());
    assert.deepEqual(errors ?? [], []);
    assert.equal(valid, true);
  });

  it("resolves every reference that it makes", async () => {
    const document = await documentOf();
    const references = [...JSON.stringify(document).matchAll(/"\$ref":"#\/([^"]+)"/g)].map(match => match[1]);
    assert.ok(references.length > 10);
    for (const reference of references) {
      const target = reference?.split("/").reduce((at, key) => at?.[key], document);
      assert.ok(target, reference);
    }
  });

  it("lists every route, with operation ids and tags", async () => {
    const { paths, tags } = await documentOf();
    const operations = Object.values(paths).flatMap(item =>
      Object.values(item as Record<string, { operationId: string; tags: string[] }>).map(
        ({ operationId, tags: [tag] }) => `${tag} ${operationId}`,
      ),
    );
    assert.deepEqual(operations.sort(), [
      "people getUser",
      "system getHealth",
      "system getMetrics",
      "system getOpenapi",
      "system getProblem",
      "system getReadiness",
      "things getBoard",
      "things putOdd",
      "things replaceBoard",
    ]);
    assert.deepEqual(tags, [{ name: "things" }, { name: "people" }, { name: "system" }]);
  });

  it("describes parameters as they are sent", async () => {
    const { paths } = await documentOf();
    const { parameters } = paths["/projects/{projectId}/boards/{boardId}"].get;
    assert.deepEqual(parameters, [
      { name: "projectId", in: "path", required: true, schema: { type: "string", format: "uuid" } },
      { name: "boardId", in: "path", required: true, schema: { type: "string" } },
      { name: "limit", in: "query", required: false, schema: { type: "string", default: "10" } },
      { name: "include", in: "query", required: true, schema: { type: "string" } },
    ]);
  });

  it("describes bodies, optional ones and recursive ones too", async () => {
    const { paths, components } = await documentOf();
    const { requestBody } = paths["/projects/{projectId}/boards/{boardId}"].post;
    assert.equal(requestBody.required, true);
    assert.deepEqual(Object.keys(requestBody.content), ["application/json", "application/vnd.api+json"]);
    assert.deepEqual(requestBody.content["application/json"], {
      schema: { $ref: "#/components/schemas/ReplaceBoardBody" },
      example: { name: "root", parts: [] },
    });
    const { properties } = components.schemas.ReplaceBoardBody;
    assert.equal(properties.name.type, "string");
    assert.deepEqual(properties.parts.items, { $ref: "#/components/schemas/ReplaceBoardBody" });
    assert.equal(paths["/odd"].put.requestBody.required, false);
  });

  it("describes success and the errors of guard, query, body, limit and handler by family", async () => {
    const { paths } = await documentOf();
    const { get, post } = paths["/projects/{projectId}/boards/{boardId}"];
    assert.deepEqual(Object.keys(get.responses), ["200", "400", "401", "403", "404", "429", "500", "503"]);
    assert.deepEqual(Object.keys(post.responses), [
      "204",
      "400",
      "401",
      "403",
      "409",
      "413",
      "415",
      "500",
      "503",
    ]);
    assert.equal(get.responses[401].description, "missing_token, token_expired, invalid_token");
    assert.deepEqual(get.responses[404].content, {
      "application/problem+json": { schema: { $ref: "#/components/schemas/Problem" } },
    });
    assert.ok(get.responses[429].headers["Retry-After"]);
    assert.ok(get.responses[200].headers.RateLimit);
    assert.deepEqual(paths["/v1/user"].get.responses[500].content, {
      "application/json": { schema: { $ref: "#/components/schemas/IdentityError" } },
    });
  });

  it("describes who may call", async () => {
    const { paths, components } = await documentOf();
    assert.deepEqual(components.securitySchemes, bearer.security[0]?.schemes);
    const { get, post } = paths["/projects/{projectId}/boards/{boardId}"];
    assert.deepEqual(get.security, [{ userToken: ["audience:read"] }]);
    assert.deepEqual(post.security, [{}, { userToken: ["audience:read"] }]);
    assert.deepEqual(paths["/healthz"].get.security, []);
  });

  it("names title, version and public address", async () => {
    const options = { title: "Fans", version: "1.2.3", publicUrl: "https://fans.example" };
    const { info, servers } = await documentOf(handlerWith(options));
    assert.deepEqual(info, { title: "Fans", version: "1.2.3" });
    assert.deepEqual(servers, [{ url: "https://fans.example" }]);
  });

  it("is built once and may be cached", async () => {
    const handler = handlerWith();
    const first = await call(handler, "/openapi.json");
    assert.equal(first.headers.get("content-type"), "application/json");
    assert.equal(first.headers.get("cache-control"), "public, max-age=300");
    assert.equal(await first.text(), await (await call(handler, "/openapi.json")).text());
  });
});
