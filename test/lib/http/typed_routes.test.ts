import assert from "node:assert/strict";
import { describe, it } from "node:test";
import * as v from "valibot";
import { createHandler, type JsonText, json, jsonText, open, route } from "../../../lib/http/mod.ts";
import { bodyOf, call } from "./kit.ts";

const EntrySchema = v.object({ rank: v.number(), tags: v.array(v.string()) });
const common = { method: "GET", summary: "A test", auth: open } as const;
const responses = { 200: { description: "An entry", schema: EntrySchema } };

describe("a handler", () => {
  it("returns what the schema of its status says", async () => {
    const tags: readonly string[] = ["a"];
    const routes = [
      route({ ...common, path: "/a", operation: "a", responses, handle: () => json(200, { rank: 1, tags }) }),
      route({
        ...common,
        path: "/b",
        operation: "b",
        responses,
        handle: async () => jsonText('{"rank":2,"tags":[]}' as JsonText<v.InferOutput<typeof EntrySchema>>),
      }),
      route({
        ...common,
        path: "/c",
        operation: "c",
        responses: {
          ...responses,
          404: { description: "None", schema: v.object({ code: v.literal("gone") }) },
        },
        handle: ({ request }) =>
          request.url.endsWith("?none") ? json(404, { code: "gone" }) : json(200, { rank: 3, tags }),
      }),
    ];
    const handler = createHandler([{ name: "things", family: "problem", routes }]);
    assert.deepEqual(await bodyOf(call(handler, "/b")), { rank: 2, tags: [] });
    assert.deepEqual(await bodyOf(call(handler, "/c?none")), { code: "gone" });
  });

  it("does not compile with another member, status or text", () => {
    const base = { ...common, path: "/a", operation: "a", responses } as const;
    // @ts-expect-error: the rank is a number
    route({ ...base, handle: () => json(200, { rank: "1", tags: [] }) });
    // @ts-expect-error: a member is missing
    route({ ...base, handle: () => json(200, { rank: 1 }) });
    // @ts-expect-error: no response has this status
    route({ ...base, handle: () => json(201, { rank: 1, tags: [] }) });
    // @ts-expect-error: the text is not known to be an entry
    route({ ...base, handle: () => jsonText("{}") });
    // @ts-expect-error: the text is that of something else
    route({ ...base, handle: () => jsonText('{"n":1}' as JsonText<{ n: number }>) });
    // @ts-expect-error: a response without a schema has no JSON body
    route({ ...base, responses: { 200: { description: "Done" } }, handle: () => json(200, {}) });
  });
});
