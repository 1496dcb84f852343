import assert from "node:assert/strict";
import { describe, it } from "node:test";
import * as v from "valibot";
import { createHandler, json, open, route } from "../../../lib/http/mod.ts";

/** A handler with one public and one private route that return their input and count their checks. */
function createSubject(): {
  call: (path: string, method?: string) => Promise<unknown>;
  checks: () => number;
} {
  let count = 0;
  const query = v.object({
    limit: v.optional(
      v.pipe(
        v.string(),
        v.check(() => {
          count += 1;
          return true;
        }),
        v.regex(/^\d+$/),
        v.transform(Number),
      ),
      "10",
    ),
  });
  const common = {
    method: "GET",
    auth: open,
    query,
    responses: { 200: { description: "OK", schema: v.unknown() } },
  } as const;
  const routes = [
    route({
      ...common,
      path: "/boards/:id",
      operation: "getBoard",
      summary: "",
      cache: "public",
      params: v.object({ id: v.string() }),
      handle: ({ params, query }) => json(200, { ...params, ...query }),
    }),
    route({
      ...common,
      path: "/mine",
      operation: "getMine",
      summary: "",
      handle: call => json(200, call.query),
    }),
  ];
  const handler = createHandler([{ name: "boards", family: "problem", routes }]);
  return {
    checks: () => count,
    async call(path, method = "GET") {
      const response = await handler(new Request(`http://localhost${path}`, { method }));
      const text = await response.text();
      return text === "" ? response.status : JSON.parse(text);
    },
  };
}

describe("a target of a public route that was requested before", () => {
  it("is found and checked once, and means the same", async () => {
    const { call, checks } = createSubject();
    for (let time = 0; time < 3; time++) {
      assert.deepEqual(await call("/boards/a%2Fb?limit=5"), { id: "a/b", limit: 5 });
    }
    assert.equal(checks(), 1);
    assert.deepEqual(await call("/boards/a%2Fb?limit=6"), { id: "a/b", limit: 6 });
    assert.deepEqual(await call("/boards/a?limit=5"), { id: "a", limit: 5 });
    assert.equal(checks(), 3);
  });

  it("is not remembered for other methods, for bad input or for routes that are not public", async () => {
    const { call, checks } = createSubject();
    await call("/boards/a?limit=5");
    assert.equal(await call("/boards/a?limit=5", "HEAD"), 200);
    assert.equal(((await call("/boards/a?limit=5", "POST")) as { status: number }).status, 405);
    const before = checks();
    for (let time = 0; time < 2; time++) {
      assert.equal(((await call("/boards/a?limit=x")) as { status: number }).status, 400);
      await call("/mine?limit=1");
    }
    assert.equal(checks(), before + 4);
  });

  it("is forgotten after a thousand others, and not remembered when it is too long", async () => {
    const { call, checks } = createSubject();
    await call("/boards/first?limit=1");
    for (let index = 0; index < 1_024; index++) await call(`/boards/${index}`);
    const before = checks();
    await call("/boards/first?limit=1");
    assert.equal(checks(), before + 1);
    const long = `/boards/${"x".repeat(512)}?limit=1`;
    await call(long);
    await call(long);
    assert.equal(checks(), before + 3);
  });
});
