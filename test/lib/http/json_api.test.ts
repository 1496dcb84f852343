import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { object, string, unknown } from "valibot";
import { AppError, type AppErrorOptions, type ErrorCode } from "../../../lib/base/errors/mod.ts";
import { createHandler, type Handler, json } from "../../../lib/http/mod.ts";
import { jsonApiMediaType } from "../../../lib/http/requests/body.ts";
import { area, bodyOf, call, type Sketch, sketch, throwing, withJson } from "./kit.ts";

function handlerOf(sketches: readonly Sketch[]): Handler {
  return createHandler([area(sketches, "jsonApi")], { requestId: () => "request-1" });
}

function failing(code: ErrorCode, options: AppErrorOptions = {}): Handler {
  return handlerOf([{ handle: throwing(new AppError(code, "Cannot do it", options)) }]);
}

describe("errors of the JSON:API family", () => {
  it("are one object with the facts of the failure", async () => {
    const answer = await call(failing("conflict", { details: { of: 2 } }), "/things");
    assert.equal(answer.status, 409);
    assert.equal(answer.headers.get("content-type"), jsonApiMediaType);
    assert.deepEqual(await bodyOf(answer), {
      errors: [
        { id: "request-1", status: "409", code: "conflict", title: "Conflict", detail: "Cannot do it" },
      ],
      meta: { of: 2 },
    });
  });

  it("are one object for each thing that is wrong, at its place in the body", async () => {
    const fields = [
      { pointer: "/data/a~1b", detail: "Is wrong", reason: "odd" },
      { pointer: "", detail: "Is wrong as a whole" },
      { pointer: "limit", detail: "Is too high" },
    ];
    const { errors } = await bodyOf(call(failing("validation_failed", { fields }), "/things"));
    const facts = { id: "request-1", status: "400", code: "validation_failed", title: "Invalid request" };
    assert.deepEqual(errors, [
      { ...facts, detail: "Is wrong", source: { pointer: "/data/a~1b" }, meta: { reason: "odd" } },
      { ...facts, detail: "Is wrong as a whole", source: { pointer: "" } },
      { ...facts, detail: "Is too high", source: { parameter: "limit" } },
    ]);
  });

  it("name the header field that they are about", async () => {
    const cases: [ErrorCode, number, string][] = [
      ["precondition_failed", 412, "If-Match"],
      ["precondition_required", 428, "If-Match"],
      ["unsupported_media_type", 415, "Content-Type"],
      ["missing_api_key", 401, "X-API-Key"],
      ["invalid_api_key", 401, "X-API-Key"],
    ];
    for (const [code, status, header] of cases) {
      const answer = await call(failing(code), "/things");
      assert.equal(answer.status, status);
      const { errors } = (await answer.json()) as { errors: readonly { readonly source: unknown }[] };
      assert.deepEqual(errors[0]?.source, { header });
    }
  });

  it("contain no details of unexpected failures", async () => {
    const handler = handlerOf([{ handle: throwing(new Error("secret")) }]);
    const answer = await call(handler, "/things");
    assert.equal(answer.status, 500);
    assert.doesNotMatch(await answer.text(), /secret/);
  });

  it("are used for unknown paths beside the family's own", async () => {
    const handler = createHandler([
      area([{ path: "/api/v2/things" }], "jsonApi"),
      { name: "others", family: "problem", routes: [sketch({ path: "/api/other" })] },
    ]);
    const found = async (path: string): Promise<string | null> =>
      (await call(handler, path)).headers.get("content-type");
    assert.equal(await found("/api/v2/nothing"), jsonApiMediaType);
    assert.equal(await found("/api/nothing"), "application/problem+json");
  });
});

describe("answers of the JSON:API family", () => {
  it("have its media type unless they name another", async () => {
    const handler = handlerOf([
      {},
      {
        path: "/plain",
        handle: () => ({ ...json(200, {}), headers: { "content-type": "application/json" } }),
      },
    ]);
    assert.equal((await call(handler, "/things")).headers.get("content-type"), jsonApiMediaType);
    assert.equal((await call(handler, "/plain")).headers.get("content-type"), "application/json");
  });

  it("are described with it", async () => {
    const responses = { 200: { description: "Done", schema: object({ data: string() }) } };
    const document = await bodyOf(call(handlerOf([{ responses }]), "/openapi.json"));
    const { paths } = document as { paths: Record<string, { get: { responses: Record<string, object> } }> };
    const described = JSON.stringify(paths["/things"]?.get.responses);
    assert.match(described, /"200":\{[^}]*.*"application\/vnd\.api\+json":\{"schema":\{"\$ref":"#/);
    assert.match(described, /#\/components\/schemas\/JsonApiErrors/);
  });
});

describe("bodies of JSON:API", () => {
  const handler = handlerOf([
    {
      method: "POST",
      body: { schema: unknown(), mediaTypes: [jsonApiMediaType], described: object({ a: string() }) },
    },
  ]);
  const sent = async (type: string): Promise<number> =>
    (await call(handler, "/things", { ...withJson({}), headers: { "content-type": type } })).status;

  it("may have a profile, and no parameter that is not understood", async () => {
    for (const type of [
      "application/json",
      "application/json; version=1",
      "application/vnd.api+json",
      "Application/Vnd.Api+JSON",
      "application/vnd.api+json; charset=utf-8",
      'application/vnd.api+json;profile="https://example.org/a https://example.org/b"',
    ]) {
      assert.equal(await sent(type), 200, type);
    }
    for (const type of [
      'application/vnd.api+json; ext="https://jsonapi.org/ext/atomic"',
      "application/vnd.api+json; version=1",
      "application/vnd.api+json; charset=latin1",
      "application/vnd.api",
    ]) {
      assert.equal(await sent(type), 415, type);
    }
  });

  it("are described by the schema that says most of them", async () => {
    const { paths, components } = (await bodyOf(call(handler, "/openapi.json"))) as {
      paths: Record<string, { post: { requestBody: { content: Record<string, { schema: object }> } } }>;
      components: { schemas: Record<string, object> };
    };
    const { content } = paths["/things"]?.post.requestBody ?? { content: {} };
    assert.deepEqual(Object.keys(content), ["application/json", jsonApiMediaType]);
    assert.deepEqual(content[jsonApiMediaType]?.schema, { $ref: "#/components/schemas/PostXthingsBody" });
    assert.deepEqual(components.schemas.PostXthingsBody, {
      type: "object",
      properties: { a: { type: "string" } },
      required: ["a"],
    });
  });
});
