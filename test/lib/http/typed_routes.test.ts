import assert from "node:assert/strict";
import { describe, it } from "node:test";
import * as v from "valibot";
import {
  type BareReply,
  createHandler,
  type Immutable,
  type JsonReply,
  type JsonText,
  type JsonTextReply,
  json,
  jsonText,
  open,
  type Reply,
  type ReplyOf,
  route,
} from "../../../lib/http/mod.ts";
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

  it("may not return another member, status or text", () => {
    type Entry = v.InferOutput<typeof EntrySchema>;
    type IsAllowed<R> = R extends ReplyOf<typeof responses> ? true : false;
    // Each line compiles for as long as the compiler decides as it says.
    const allowed: readonly true[] = [
      true satisfies IsAllowed<JsonReply<200, Entry>>,
      true satisfies IsAllowed<JsonReply<200, Immutable<Entry>>>,
      true satisfies IsAllowed<JsonTextReply<200, Entry>>,
    ];
    const refused: readonly false[] = [
      false satisfies IsAllowed<JsonReply<200, { rank: string; tags: string[] }>>,
      false satisfies IsAllowed<JsonReply<200, { rank: number }>>,
      false satisfies IsAllowed<JsonReply<201, Entry>>,
      false satisfies IsAllowed<JsonTextReply<200, { n: number }>>,
      false satisfies IsAllowed<BareReply<200>>,
      false satisfies IsAllowed<Reply>,
    ];
    assert.equal(allowed.length + refused.length, 9);
  });
});
