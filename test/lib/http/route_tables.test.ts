import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { object, record, string } from "valibot";
import { createHandler, type Guard } from "../../../lib/http/mod.ts";
import { area, handlerOf, type Sketch } from "./kit.ts";

function guard(scheme: string, openapi: Record<string, unknown>): Guard<unknown> {
  return { security: [{ schemes: { [scheme]: openapi } }], authenticate: () => null };
}

const undescribed: Guard<unknown> = { security: [{ schemes: {} }], authenticate: () => null };
const path = "/things/:id";
const limit = { name: "a", limit: 1, windowMs: 1 };
const subject = (): string => "all";

const mistakes: Record<string, readonly Sketch[]> = {
  "the same method and path twice": [{ operation: "a" }, { operation: "b" }],
  "the same operation twice": [
    { operation: "a", path: "/a" },
    { operation: "a", path: "/b" },
  ],
  "two names for one parameter": [
    { path: "/things/:id" },
    { method: "PUT", path: "/things/:key", params: object({ key: string() }) },
  ],
  "a parameter named twice": [{ path: "/a/:id/b/:id" }],
  "a slash at the end": [{ path: "/things/" }],
  "an empty segment": [{ path: "/a//b" }],
  "a wildcard": [{ path: "/things/*" }],
  "a character that a pattern would interpret": [{ path: "/things/(a|b)" }],
  "a greedy parameter": [{ path: "/things/:id+", params: object({ id: string() }) }],
  "a path parameter without a schema": [{ path, params: object({}) }],
  "a schema of a parameter that the path lacks": [{ params: object({ id: string() }) }],
  "parameters that are no object": [{ path, params: record(string(), string()) }],
  "a query that is no object": [{ query: string() }],
  "a body of a GET": [{ body: { schema: string() } }],
  "a body of no bytes": [{ method: "POST", body: { schema: string(), maxBytes: 0 } }],
  "a media type in capitals": [{ method: "POST", body: { schema: string(), mediaTypes: ["Text/Plain"] } }],
  "an operation that is not lowerCamelCase": [{ operation: "Get-Things" }],
  "no response": [{ responses: {} }],
  "an impossible status": [{ responses: { 99: { description: "?" } } }],
  "a limit without rules": [{ rateLimit: { rules: [], subject } }],
  "a rule with a name that no header can hold": [
    { rateLimit: { rules: [{ ...limit, name: 'a"b' }], subject } },
  ],
  "a rule of nothing": [{ rateLimit: { rules: [{ ...limit, limit: 0 }], subject } }],
  "a guard that does not describe itself": [{ auth: undescribed }],
  "a guard that is described in two ways": [
    { path: "/a", auth: guard("x", { type: "http", scheme: "bearer" }) },
    { path: "/b", auth: guard("x", { type: "http", scheme: "basic" }) },
  ],
  "a path of the system": [{ path: "/healthz" }],
};

describe("a route table", () => {
  for (const [name, sketches] of Object.entries(mistakes)) {
    it(`is refused for ${name}`, () => {
      assert.throws(() => handlerOf(sketches), TypeError);
    });
  }

  it("is refused for what another area has already", () => {
    const one = area([{ operation: "a" }]);
    assert.throws(() => createHandler([one, { ...one, name: "other" }]), /operation a exists already/);
    const other = { ...area([{ operation: "b" }]), name: "other" };
    assert.throws(() => createHandler([one, other]), /GET \/things twice/);
  });

  it("is refused for a name that no label can hold", () => {
    assert.throws(() => createHandler([{ ...area([{}]), name: 'x"y' }]), TypeError);
  });

  it("may be mounted by several handlers", () => {
    const one = area([{}]);
    assert.ok(createHandler([one]));
    assert.ok(createHandler([one]));
  });
});
