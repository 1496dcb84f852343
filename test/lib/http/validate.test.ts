import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  array,
  boolean,
  check,
  email,
  finite,
  maxEntries,
  maxLength,
  maxValue,
  minLength,
  minValue,
  number,
  object,
  picklist,
  pipe,
  record,
  regex,
  safeInteger,
  strictObject,
  string,
  union,
  uuid,
} from "valibot";
import { fieldErrorsMax, pointerCharsMax } from "../../../lib/http/requests/validate.ts";
import { bodyOf, call, errorsOf, handlerOf, withJson } from "./kit.ts";

describe("validation", () => {
  it("lists every error with its JSON Pointer", async () => {
    const item = object({ userId: string(), points: pipe(number(), minValue(1)) });
    const schema = strictObject({ email: pipe(string(), email()), "a/b~c": string(), items: array(item) });
    const handler = handlerOf([{ method: "POST", body: { schema } }]);
    const body = { email: "nobody", "a/b~c": 1, items: [{ userId: "u", points: 0 }, {}], extra: true };
    assert.deepEqual(await errorsOf(call(handler, "/things", withJson(body))), [
      { pointer: "/email", detail: "Invalid email" },
      { pointer: "/a~1b~0c", detail: "Expected a string" },
      { pointer: "/items/0/points", detail: "Expected at least 1" },
      { pointer: "/items/1/userId", detail: "Is required" },
      { pointer: "/items/1/points", detail: "Is required" },
      { pointer: "/extra", detail: "Is not a known member" },
    ]);
  });

  it("points at the whole body with an empty pointer", async () => {
    const handler = handlerOf([{ method: "POST", body: { schema: object({}) } }]);
    assert.deepEqual(await errorsOf(call(handler, "/things", withJson("text"))), [
      { pointer: "", detail: "Expected an object" },
    ]);
  });

  it("takes no list for an object", async () => {
    const expected = [{ pointer: "", detail: "Expected an object" }];
    for (const schema of [object({ action: string() }), object({}), strictObject({})]) {
      const handler = handlerOf([{ method: "POST", body: { schema } }]);
      assert.deepEqual(await errorsOf(call(handler, "/things", withJson([]))), expected);
      assert.deepEqual(await errorsOf(call(handler, "/things", withJson([{ action: "a" }]))), expected);
    }
  });

  it("names the parameter at fault", async () => {
    const params = object({ id: pipe(string(), uuid()) });
    const handler = handlerOf([{ path: "/things/:id", params }]);
    assert.deepEqual(await errorsOf(call(handler, "/things/7")), [
      { pointer: "id", detail: "Expected a UUID" },
    ]);
  });

  it("never repeats the value it rejects", async () => {
    const secret = "hunter2";
    const schema = object({
      a: pipe(string(), email()),
      b: pipe(string(), regex(/^\d+$/)),
      c: number(),
      d: picklist(["x", "y"]),
      e: union([number(), array(string())]),
      f: pipe(string(), minLength(20)),
      g: pipe(string(), maxLength(2)),
      h: object({}),
      i: array(number()),
      j: record(string(), number()),
      k: pipe(
        string(),
        check(() => false),
      ),
    });
    const handler = handlerOf([{ method: "POST", body: { schema } }]);
    const body = Object.fromEntries([..."abcdefgh"].map(name => [name, secret]));
    const all = { ...body, i: [secret], j: { x: secret }, k: secret };
    const answer = await (await call(handler, "/things", withJson(all))).text();
    assert.equal(JSON.parse(answer).errors.length, 11);
    assert.doesNotMatch(answer, /hunter2/);
  });

  it("says in words what is expected", async () => {
    const schema = object({
      name: pipe(string(), minLength(1), maxLength(3)),
      short: pipe(string(), minLength(2)),
      list: pipe(array(number()), minLength(2)),
      long: pipe(array(number()), maxLength(1)),
      count: pipe(number(), safeInteger()),
      share: pipe(number(), finite(), maxValue(1)),
      kind: picklist(["user", "global"]),
      value: union([string(), number(), boolean()]),
      part: strictObject({}),
      parts: array(object({})),
      map: pipe(record(string(), number()), maxEntries(1)),
    });
    const handler = handlerOf([{ method: "POST", body: { schema } }]);
    const body = {
      name: "long",
      short: "",
      list: [],
      long: [1, 2],
      count: 1.5,
      share: 2,
      kind: "team",
      value: null,
      part: 1,
      parts: {},
      map: { a: 1, b: 2 },
    };
    const { errors } = await bodyOf(call(handler, "/things", withJson(body)));
    assert.deepEqual(
      (errors as { detail: string }[]).map(({ detail }) => detail),
      [
        "Expected at most 3 characters",
        "Expected at least 2 characters",
        "Expected at least 2 items",
        "Expected at most 1 item",
        "Expected a whole number",
        "Expected at most 1",
        'Expected "user" or "global"',
        "Expected a string, a number or a boolean",
        "Expected an object",
        "Expected an array",
        "Expected no more members than 1",
      ],
    );
  });

  it("keeps a message that the schema's author wrote", async () => {
    const schema = object({ nickname: pipe(string(), minLength(3, "Must have three letters")) });
    const handler = handlerOf([{ method: "POST", body: { schema } }]);
    assert.deepEqual(await errorsOf(call(handler, "/things", withJson({ nickname: "x" }))), [
      { pointer: "/nickname", detail: "Must have three letters" },
    ]);
  });

  it("lists a bounded number of errors with bounded pointers", async () => {
    const handler = handlerOf([{ method: "POST", body: { schema: record(string(), number()) } }]);
    const many = Object.fromEntries(Array.from({ length: 500 }, (_, n) => [`${n}${"x".repeat(60)}`, "?"]));
    const answer = await bodyOf(call(handler, "/things", withJson(many)));
    assert.equal((answer.errors as unknown[]).length, fieldErrorsMax);
    const name = "x".repeat(1_000);
    const schema = record(string(), record(string(), number()));
    const deep = handlerOf([{ method: "POST", body: { schema } }]);
    const long = await bodyOf(call(deep, "/things", withJson({ [name]: { [name]: "?" } })));
    assert.equal((long.errors as { pointer: string }[])[0]?.pointer.length, pointerCharsMax);
  });

  it("gives the handler what the schema gives out", async () => {
    const schema = object({ known: string() });
    const handler = handlerOf([{ method: "POST", body: { schema } }]);
    const answer = await bodyOf(call(handler, "/things", withJson({ known: "a", unknown: "b" })));
    assert.deepEqual(answer.body, { known: "a" });
  });
});
