/** How many assets a space has room for. */

import assert from "node:assert/strict";
import { it } from "node:test";
import { createMemoryBlobs } from "../../adapters/memory/mod.ts";
import { directoryPartition } from "../../lib/fans/directory/records.ts";
import type { Blobs } from "../../lib/storage/mod.ts";
import { type Answer, ids, openPlatform } from "../support/platform.ts";
import { describeOnStores } from "../support/stores.ts";
import { operatorHeaders } from "./_control_examples.ts";

const bytesMax = 1_099_511_627_776;
const assetsMax = 100_000;

/** Blobs that know the names of those that they keep. */
function countedBlobs(): { readonly kept: Set<string>; readonly blobs: Blobs } {
  const kept = new Set<string>();
  const memory = createMemoryBlobs();
  const blobs: Blobs = {
    put(name, body) {
      kept.add(name);
      return memory.put(name, body);
    },
    get: memory.get.bind(memory),
    async remove(name) {
      kept.delete(name);
      await memory.remove(name);
    },
    [Symbol.asyncDispose]: async () => {},
  };
  return { kept, blobs };
}

describeOnStores("a space", open => {
  it("keeps nothing of an upload whose token is revoked while it arrives", async t => {
    const { kept, blobs } = countedBlobs();
    const world = await openPlatform(open, { blobs });
    t.after(() => world.dispose());
    const headers = await operatorHeaders(world);
    const user = await world.platform.authors.findOrCreate("op@example.com", { operator: true });
    const made = await world.platform.authors.createToken({ userId: user.id, name: "Laptop" });
    let sent = 0;
    const body = new ReadableStream<Uint8Array>(
      {
        async pull(controller) {
          if (sent++ < 3) return controller.enqueue(new Uint8Array(1_000));
          const path = `/api/v2/access_tokens/${made.id}`;
          assert.equal((await world.call(path, { method: "DELETE", headers })).status, 204);
          controller.close();
        },
      },
      { highWaterMark: 0 },
    );
    const target = `http://localhost/api/v2/spaces/${ids.space}/assets`;
    const init = { method: "POST", body, duplex: "half", headers: { authorization: `Bearer ${made.token}` } };
    const answer = await world.platform.fetch(new Request(`${target}?name=a.png`, init));
    assert.deepEqual([answer.status, [...kept]], [401, []]);
    const list = await world.call(`/api/v2/spaces/${ids.space}/assets`, { headers });
    assert.equal(list.json.data.length, 0);
  });

  it("has room for so many files and bytes, and keeps no file beyond", async t => {
    const { kept, blobs } = countedBlobs();
    const world = await openPlatform(open, { blobs });
    t.after(() => world.dispose());
    const headers = await operatorHeaders(world);
    let files = 0;
    const upload = (): Promise<Answer> =>
      world.call(`/api/v2/spaces/${ids.space}/assets?name=a.txt`, { headers, body: String(files++) });
    const refused = async (): Promise<void> => {
      const before = kept.size;
      const answer = await upload();
      assert.deepEqual([answer.status, answer.json.errors[0].code], [409, "conflict"], answer.text);
      assert.match(answer.json.errors[0].detail, /at most 100000 assets and 1099511627776 bytes/);
      assert.equal(kept.size, before);
    };
    const use = (field: "assets" | "bytes", by: number) =>
      world.store.commit(directoryPartition("space", ids.space), {
        writes: [{ type: "add", key: "usage", field, by }],
      });
    const first = await upload();
    assert.equal(first.status, 201, first.text);
    const { bytes } = first.json.data.attributes;
    await use("bytes", bytesMax - 2 * bytes + 1);
    await refused();
    await use("bytes", 2 * bytes - bytesMax - 1);
    await use("assets", assetsMax - 1);
    await refused();
    const path = `/api/v2/assets/${first.json.data.id}`;
    assert.equal((await world.call(path, { method: "DELETE", headers })).status, 204);
    const before = kept.size;
    const both = await Promise.all([upload(), upload()]);
    assert.deepEqual(both.map(({ status }) => status).sort(), [201, 409]);
    assert.equal(kept.size, before + 1);
  });
});
