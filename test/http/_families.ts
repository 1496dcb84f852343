import assert from "node:assert/strict";
import type { Answer } from "../support/platform.ts";
import type { FamilyName } from "./_operations.ts";

/** Asserts that an answer is an error as its family writes them, and answers its code. */
export function errorCode(answer: Answer, family: FamilyName): string {
  assert.ok(answer.status >= 400, `${answer.status} ${answer.text}`);
  const { json, status, headers } = answer;
  assert.ok(headers.get("x-request-id"), "the answer has no request id");
  assert.equal(headers.get("cache-control"), "no-store");
  if (status === 401) assert.ok(headers.get("www-authenticate"), "a 401 has no challenge");
  if (family === "identity") {
    assert.equal(headers.get("content-type"), "application/json");
    assert.equal(json.result, 0);
    assert.equal(typeof json.message, "string");
    assert.equal(typeof json.data.retryable, "boolean");
    assert.ok(["retry", "refresh", "login", "none"].includes(json.data.action));
    assertFields(json.data.fields);
    return json.data.code;
  }
  if (family === "jsonApi") return jsonApiCode(answer);
  assert.equal(headers.get("content-type"), "application/problem+json");
  for (const name of ["type", "title", "detail", "instance", "code", "message", "requestId"]) {
    assert.equal(typeof json[name], "string", name);
  }
  assert.equal(json.status, status);
  assert.equal(json.requestId, headers.get("x-request-id"));
  assert.equal(json.message, json.detail);
  assertFields(json.errors);
  return json.code;
}

function jsonApiCode({ json, status, headers }: Answer): string {
  assert.equal(headers.get("content-type"), "application/vnd.api+json");
  assert.ok(Array.isArray(json.errors) && json.errors.length > 0);
  const [{ code }] = json.errors;
  for (const { id, title, detail, source = {}, ...error } of json.errors) {
    assert.equal(id, headers.get("x-request-id"));
    assert.deepEqual([error.status, error.code], [String(status), code]);
    assert.deepEqual([typeof title, typeof detail], ["string", "string"]);
    const named = Object.keys(source);
    assert.ok(named.length <= 1 && ["pointer", "parameter", "header"].includes(named[0] ?? "pointer"));
  }
  return code;
}

function assertFields(fields: unknown): void {
  if (fields === undefined) return;
  assert.ok(Array.isArray(fields) && fields.length > 0);
  for (const { pointer, detail, reason = "", ...others } of fields) {
    assert.deepEqual(
      [typeof pointer, typeof detail, typeof reason, others],
      ["string", "string", "string", {}],
    );
  }
}
