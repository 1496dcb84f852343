import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { integer, looseObject, maxValue, object, optional, pipe, string, toNumber } from "valibot";
import { queryCharsMax, queryPairsMax } from "../../../lib/http/routing/route_index.ts";
import { bodyOf, call, errorsOf, handlerOf } from "./kit.ts";

const everything = handlerOf([{ query: looseObject({}) }]);

async function queryOf(search: string): Promise<unknown> {
  const answer = await call(everything, `/things${search}`);
  assert.equal(answer.status, 200, search);
  return (await bodyOf(answer)).query;
}

describe("a query", () => {
  it("is decoded like a form: plus is a space, percent-encoding is UTF-8", async () => {
    assert.deepEqual(await queryOf("?a=1+2&b=%2B&c=%C3%A9&d=x=y&e=a%20b"), {
      a: "1 2",
      b: "+",
      c: "é",
      d: "x=y",
      e: "a b",
    });
  });

  it("decodes names too, and takes a name alone as empty", async () => {
    assert.deepEqual(await queryOf("?page%5Bcount%5D=20&flag&&empty=&"), {
      "page[count]": "20",
      flag: "",
      empty: "",
    });
  });

  it("treats names of inherited members as names", async () => {
    const names = await queryOf("?constructor=a&toString=b");
    assert.deepEqual(names, { toString: "b" }, "valibot leaves constructor out of loose objects");
    assert.equal((await call(everything, "/things?__proto__=a&hasOwnProperty=b")).status, 200);
  });

  it("is refused where percent-encoding is malformed", async () => {
    for (const search of ["?a=%", "?a=%f", "?%zz=1", "?a=%ff", "?ok=1&b=%ed%a0%80"]) {
      const answer = await call(everything, `/things${search}`);
      assert.equal(answer.status, 400, search);
      assert.equal((await bodyOf(answer)).code, "validation_failed");
    }
  });

  it("is refused where a name is repeated", async () => {
    assert.deepEqual(await errorsOf(call(everything, "/things?a=1&b=2&%61=3")), [
      { pointer: "a", detail: "Is given more than once" },
    ]);
  });

  it("is refused beyond its bounds and accepted at them", async () => {
    const pairs = (count: number): string => Array.from({ length: count }, (_, n) => `n${n}=1`).join("&");
    assert.equal((await call(everything, `/things?${pairs(queryPairsMax)}`)).status, 200);
    assert.equal((await call(everything, `/things?${pairs(queryPairsMax + 1)}`)).status, 400);
    assert.equal((await call(everything, `/things?a=${"x".repeat(queryCharsMax - 2)}`)).status, 200);
    assert.equal((await call(everything, `/things?a=${"x".repeat(queryCharsMax - 1)}`)).status, 400);
  });

  it("is ignored, malformed or not, by a route that declares none", async () => {
    const deaf = handlerOf([{}]);
    assert.deepEqual(await bodyOf(call(deaf, "/things?a=%&a=1")), { params: {}, query: {} });
  });

  it("reaches the handler as its schema gives it out, without unknown names", async () => {
    const limit = optional(pipe(string(), toNumber(), integer(), maxValue(100)), "10");
    const paged = handlerOf([{ query: object({ limit }) }]);
    assert.deepEqual((await bodyOf(call(paged, "/things?limit=7&other=1"))).query, { limit: 7 });
    assert.deepEqual((await bodyOf(call(paged, "/things"))).query, { limit: 10 });
    assert.deepEqual(await errorsOf(call(paged, "/things?limit=101")), [
      { pointer: "limit", detail: "Expected at most 100" },
    ]);
  });

  it("is given to a guard as sent and decoded, before it is checked", async () => {
    const seen: unknown[] = [];
    const auth = {
      security: [],
      authenticate: (input: { query: unknown; params: unknown }) => {
        seen.push({ ...(input.query as object) }, { ...(input.params as object) });
        return null;
      },
    };
    const guarded = handlerOf([{ path: "/things/:id", auth, query: object({ limit: string() }) }]);
    assert.equal((await call(guarded, "/things/%41?projectId=p%20q")).status, 400);
    assert.deepEqual(seen, [{ projectId: "p q" }, { id: "A" }]);
  });
});
