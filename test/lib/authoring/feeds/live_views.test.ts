import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createRandom } from "../../../../adapters/conformance/random.ts";
import { FeedView } from "../../../../lib/authoring/feeds/live_routes.ts";
import { sampleSize } from "../../../support/full.ts";

interface Feed {
  readonly timeline: readonly { readonly id: string; readonly state: number }[];
  readonly version: number;
}
type Change = Feed & { readonly removed: readonly string[] };

/** Applies a change as the guide of the feeds says. */
function applied({ timeline }: Feed, { removed, version, timeline: changed }: Change): Feed {
  const byId = new Map(changed.map(item => [item.id, item]));
  const kept = timeline.filter(({ id }) => !removed.includes(id)).map(item => byId.get(item.id) ?? item);
  const added = changed.filter(({ id }) => !kept.some(item => item.id === id));
  return { timeline: [...kept, ...added], version };
}

describe("the change of a feed", () => {
  it("leads from the last content to the next, or is not sent, whatever was added, moved or removed", () => {
    const { integer: below } = createRandom(3);
    let changes = 0;
    let last = new FeedView({ timeline: [], version: 0 }, null);
    for (let version = 1; version <= sampleSize(5_000, 500); version++) {
      const { timeline } = last.feed as Feed;
      const next = timeline.map(item => (below(3) === 0 ? { ...item, state: below(3) } : item));
      const step = below(4);
      if (step === 0) next.push({ id: `new ${version}`, state: 0 });
      if (step === 1) next.splice(below(next.length), 1);
      if (step === 2) next.unshift(...next.splice(below(next.length), 1));
      const view = new FeedView({ timeline: next, version }, last);
      const { shown, data, change } = view.render();
      assert.deepEqual([shown, JSON.parse(data)], [data, { timeline: next, version }]);
      if (change !== undefined) {
        changes += 1;
        assert.equal(change.from, last.render().shown);
        assert.deepEqual(applied(last.feed as Feed, JSON.parse(change.data)), { timeline: next, version });
      }
      last = view;
    }
    assert.ok(changes > 100, String(changes));
  });
});
