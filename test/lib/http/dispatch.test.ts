import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createHandler } from "../../../lib/http/mod.ts";
import { pathParameterCharsMax } from "../../../lib/http/routing/route_index.ts";
import { area, bodyOf, call, handlerOf, withJson } from "./kit.ts";

const handler = handlerOf([
  { path: "/things", handle: () => ({ status: 200, text: "list" }) },
  { path: "/things", method: "POST", handle: () => ({ status: 201, text: "made" }) },
  { path: "/things/:id" },
  { path: "/things/:id", method: "DELETE", handle: () => ({ status: 204 }) },
  { path: "/things/mine", handle: () => ({ status: 200, text: "mine" }) },
  { path: "/a/:x/c", handle: () => ({ status: 200, text: "a-x-c" }) },
  { path: "/a/b/:y", handle: () => ({ status: 200, text: "a-b-y" }) },
  { path: "/a/:x/:y", handle: () => ({ status: 200, text: "a-x-y" }) },
  { path: "/file.json", handle: () => ({ status: 200, text: "file" }) },
]);

async function textOf(path: string, init: RequestInit = {}): Promise<string> {
  return (await call(handler, path, init)).text();
}

describe("finding a route", () => {
  it("distinguishes methods of one path", async () => {
    assert.equal(await textOf("/things"), "list");
    assert.equal(await textOf("/things", withJson({})), "made");
    assert.equal((await call(handler, "/things/1", { method: "DELETE" })).status, 204);
  });

  it("prefers literal segments, the earlier one first, whatever the order of the table", async () => {
    assert.equal(await textOf("/things/mine"), "mine");
    assert.equal(await textOf("/a/b/c"), "a-b-y");
    assert.equal(await textOf("/a/q/c"), "a-x-c");
    assert.equal(await textOf("/a/q/r"), "a-x-y");
  });

  it("lets a parameter answer the method that the literal path lacks", async () => {
    assert.equal((await call(handler, "/things/mine", { method: "DELETE" })).status, 204);
    assert.equal((await call(handler, "/things/mine", { method: "PUT" })).status, 405);
  });

  it("knows no path with a slash at its end, an empty segment, another case or a suffix", async () => {
    for (const path of [
      "/things/",
      "/things/1/",
      "/things//",
      "//things",
      "/Things",
      "/things/1/2",
      "/filexjson",
    ]) {
      assert.equal((await call(handler, path)).status, 404, path);
    }
    assert.equal((await call(handler, "/")).status, 404);
  });

  it("ignores a fragment and an empty query", async () => {
    assert.equal(await textOf("/things#/other?x=1"), "list");
    assert.equal(await textOf("/things?"), "list");
    const lone = new Request("http://platform.test?x=/things");
    assert.equal((await handler(lone)).status, 404);
  });

  it("finds every route of several areas", async () => {
    const both = createHandler([area([{ path: "/one" }]), area([{ path: "/v1/user/:id" }], "identity")]);
    assert.equal((await call(both, "/one")).status, 200);
    assert.equal((await call(both, "/v1/user/7")).status, 200);
  });
});

describe("path parameters", () => {
  async function idOf(path: string): Promise<unknown> {
    return ((await bodyOf(call(handler, path))).params as { id: string }).id;
  }

  it("are percent-decoded exactly once", async () => {
    assert.equal(await idOf("/things/a%2Fb"), "a/b");
    assert.equal(await idOf("/things/a%252Fb"), "a%2Fb");
    assert.equal(await idOf("/things/%F0%9F%8F%86"), "🏆");
    assert.equal(await idOf("/things/a+b"), "a+b");
    assert.equal(await idOf("/things/a%3Fb%23c"), "a?b#c");
  });

  it("are refused where they are malformed", async () => {
    for (const path of ["/things/%", "/things/%zz", "/things/%ff", "/things/%c3%28"]) {
      const answer = await call(handler, path);
      assert.equal(answer.status, 400, path);
      const { code, errors } = await bodyOf(answer);
      assert.equal(code, "validation_failed");
      assert.deepEqual(errors, [{ pointer: "id", detail: "Is not percent-encoded UTF-8" }]);
    }
  });

  it(`are refused beyond ${pathParameterCharsMax} characters`, async () => {
    assert.equal((await call(handler, `/things/${"x".repeat(pathParameterCharsMax)}`)).status, 200);
    const answer = await call(handler, `/things/${"x".repeat(pathParameterCharsMax + 1)}`);
    assert.equal(answer.status, 400);
    assert.deepEqual((await bodyOf(answer)).errors, [{ pointer: "id", detail: "Is too long" }]);
  });
});

describe("methods", () => {
  it("answers 405 with Allow for another method of a known path", async () => {
    const answer = await call(handler, "/things", { method: "DELETE" });
    assert.equal(answer.status, 405);
    assert.equal(answer.headers.get("allow"), "GET, HEAD, OPTIONS, POST");
    assert.equal((await bodyOf(answer)).code, "method_not_allowed");
  });

  it("joins the methods of every pattern that matches in Allow", async () => {
    const answer = await call(handler, "/things/mine", { method: "PATCH" });
    assert.equal(answer.headers.get("allow"), "DELETE, GET, HEAD, OPTIONS");
  });

  it("answers 404 for any method of an unknown path", async () => {
    for (const method of ["GET", "POST", "OPTIONS", "HEAD", "PROPFIND"]) {
      assert.equal((await call(handler, "/nothing", { method })).status, 404, method);
    }
  });

  it("answers OPTIONS with 204 and Allow", async () => {
    const answer = await call(handler, "/things/1", { method: "OPTIONS" });
    assert.equal(answer.status, 204);
    assert.equal(answer.headers.get("allow"), "DELETE, GET, HEAD, OPTIONS");
    assert.equal(await answer.text(), "");
  });

  it("answers HEAD as GET, with the length of the body in bytes and no body", async () => {
    const cheering = handlerOf([{ path: "/cheer", handle: () => ({ status: 200, text: "Olé 🏆" }) }]);
    const got = await call(cheering, "/cheer");
    const head = await call(cheering, "/cheer", { method: "HEAD" });
    assert.equal(head.status, 200);
    assert.equal(await head.text(), "");
    assert.equal(head.headers.get("content-length"), String((await got.arrayBuffer()).byteLength));
    assert.equal(head.headers.get("content-type"), got.headers.get("content-type"));
  });

  it("gives HEAD no body where GET fails", async () => {
    const head = await call(handler, "/things/%", { method: "HEAD" });
    assert.equal(head.status, 400);
    assert.equal(await head.text(), "");
    assert.ok(Number(head.headers.get("content-length")) > 100);
  });

  it("cancels a streamed body that HEAD does not need", async () => {
    let cancelled = false;
    const body = new ReadableStream<Uint8Array>({
      cancel() {
        cancelled = true;
      },
    });
    const streaming = handlerOf([{ handle: () => ({ status: 200, body }) }]);
    const head = await call(streaming, "/things", { method: "HEAD" });
    assert.equal(head.headers.get("content-length"), null);
    assert.equal(cancelled, true);
  });
});
