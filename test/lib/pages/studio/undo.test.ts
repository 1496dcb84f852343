/** What an author takes back and does again, against a platform that keeps the tag of one element. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Api } from "../../../../lib/pages/studio/page/api.ts";
import { History, type Operation } from "../../../../lib/pages/studio/page/undo.ts";

const named = (name: string): Operation => ({
  op: "update",
  data: { type: "elements", id: "1", attributes: { name } },
});

function openHistory() {
  let version = 0;
  const tags: unknown[] = [];
  const makeOperations = ({ body }: { readonly body: Readonly<Record<string, readonly Operation[]>> }) => ({
    async whole() {
      const results = (body["atomic:operations"] ?? []).map(({ data, meta }) => {
        tags.push(meta?.if_match);
        return { data, meta: { etag: `v${++version}` } };
      });
      return { document: { "atomic:results": results } };
    },
  });
  const history = new History({ control: { makeOperations } } as unknown as Api);
  const rename = (label: string) =>
    history.make({ label, operations: [named(label)], inverse: () => [named("before")] });
  return { history, tags, rename };
}

describe("the history of an author", () => {
  it("does again what was taken back, each time under the tag that is left", async () => {
    const { history, tags, rename } = openHistory();
    await rename("one");
    assert.equal(await history.redo(), null);
    assert.equal(await history.undo(), "Taken back: one");
    assert.equal(await history.redo(), "Done again: one");
    assert.equal(await history.undo(), "Taken back: one");
    assert.equal(await history.undo(), null);
    assert.deepEqual(tags, [undefined, "v1", "v2", "v3"]);
  });

  it("forgets what was taken back once something else is changed", async () => {
    const { history, rename } = openHistory();
    await rename("one");
    await rename("two");
    await history.undo();
    await history.undo();
    assert.equal(await history.redo(), "Done again: one");
    await rename("three");
    assert.equal(await history.redo(), null);
    assert.equal(await history.undo(), "Taken back: three");
  });

  it("leaves what somebody has changed since, and says so", async () => {
    const { history, tags } = openHistory();
    const again = async () => ({ operations: [], note: "Somebody has changed name since" });
    await history.make({
      label: "one",
      operations: [named("one")],
      inverse: () => [named("before")],
      again,
    });
    await history.undo();
    assert.equal(await history.redo(), "Not done again: one. Somebody has changed name since");
    assert.equal(tags.length, 2);
  });
});
