import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { describe, it } from "node:test";
import { createRedisBlobs } from "../../../adapters/redis/mod.ts";
import type { AppError } from "../../../lib/base/errors/mod.ts";
import { type RedisProcess, redisAvailable, sharedRedis, startRedis } from "../../support/redis.ts";
import { until } from "../../support/until.ts";
import { streamOf } from "../streams.ts";
import { freshPrefix } from "./fixture.ts";

const blobChunkBytes = 262_144;
const blobUploadMsMax = 3_600_000;
const blobReplacedMsMax = 600_000;

async function keysOf(server: RedisProcess, prefix: string): Promise<readonly string[]> {
  return ((await server.command("KEYS", `${prefix}*`)) as string[]).sort();
}

describe("Redis blobs", { skip: redisAvailable() }, () => {
  it("keep a blob in chunks of one slot that stay, and nothing once it is removed", async () => {
    const [server, prefix] = [await sharedRedis(), freshPrefix()];
    await using blobs = createRedisBlobs({ server: server.url, prefix });
    await blobs.put("a/b", streamOf(randomBytes(blobChunkBytes * 2 + 5)));
    const keys = await keysOf(server, prefix);
    assert.equal(keys.length, 2);
    assert.ok(keys.every(key => key.startsWith(`${prefix}{a/b}`)));
    const [head = "", chunks = ""] = keys;
    assert.deepEqual(
      [await server.command("HLEN", chunks), await server.command("HSTRLEN", chunks, "2")],
      [3, 5],
    );
    assert.deepEqual([await server.command("PTTL", head), await server.command("PTTL", chunks)], [-1, -1]);
    await blobs.remove("a/b");
    assert.deepEqual(await keysOf(server, prefix), []);
  });

  it("remove the chunks of an upload that fails, and let those of a process that died expire", async () => {
    const [server, prefix] = [await sharedRedis(), freshPrefix()];
    await using blobs = createRedisBlobs({ server: server.url, prefix });
    let sent = 0;
    let left = 0;
    const breaking = new ReadableStream<Uint8Array>({
      async pull(controller) {
        sent += 1;
        if (sent <= 8) return controller.enqueue(new Uint8Array(blobChunkBytes));
        const [chunks = ""] = await keysOf(server, prefix);
        left = Number(await server.command("PTTL", chunks));
        controller.error(new Error("the source broke"));
      },
    });
    await assert.rejects(blobs.put("a", breaking), /the source broke/);
    assert.ok(left > 0 && left <= blobUploadMsMax, `${left}`);
    assert.equal(await blobs.get("a"), null);
    assert.deepEqual(await keysOf(server, prefix), []);
  });

  it("leave a tenth of the memory to everything else, and remove what did not fit", async t => {
    const server = await startRedis({ args: ["--maxmemory", "64mb"] });
    t.after(() => server.stop());
    await using blobs = createRedisBlobs({ server: server.url });
    const file = (chunks: number) => streamOf(...Array(chunks).fill(new Uint8Array(blobChunkBytes)));
    await assert.rejects(blobs.put("large", file(400)), { code: "busy" });
    assert.deepEqual(await server.command("KEYS", "*"), []);
    // Redis frees what was removed in a thread of its own.
    await until("a small file fits", async () => {
      const refusal = await blobs.put("small", file(20)).then(
        () => null,
        (error: AppError) => error.code,
      );
      assert.ok(refusal === null || refusal === "busy", `${refusal}`);
      return refusal === null;
    });
    assert.equal((await blobs.get("small"))?.size, 20 * blobChunkBytes);
  });

  it("keep replaced bytes for their readers, and for a bounded time", async () => {
    const [server, prefix] = [await sharedRedis(), freshPrefix()];
    await using blobs = createRedisBlobs({ server: server.url, prefix });
    await blobs.put("a", streamOf(new Uint8Array(10)));
    const [, before = ""] = await keysOf(server, prefix);
    await blobs.put("a", streamOf(new Uint8Array(20)));
    const left = Number(await server.command("PTTL", before));
    assert.ok(left > 0 && left <= blobReplacedMsMax, `${left}`);
  });

  it("refuse a blob whose beginning expired while it arrived", async () => {
    const [server, prefix] = [await sharedRedis(), freshPrefix()];
    await using blobs = createRedisBlobs({ server: server.url, prefix });
    await blobs.put("a", streamOf(Uint8Array.of(1)));
    const before = await keysOf(server, prefix);
    let pulls = 0;
    const slow = new ReadableStream<Uint8Array>(
      {
        async pull(controller) {
          pulls += 1;
          if (pulls <= 2) return controller.enqueue(new Uint8Array(blobChunkBytes));
          const arriving = (await keysOf(server, prefix)).filter(key => !before.includes(key));
          for (const key of arriving) await server.command("DEL", key);
          controller.enqueue(Uint8Array.of(2));
          controller.close();
        },
      },
      { highWaterMark: 0 },
    );
    await assert.rejects(blobs.put("a", slow), { code: "storage_unavailable" });
    const found = await blobs.get("a");
    assert.deepEqual(found && new Uint8Array(await new Response(found.body).arrayBuffer()), Uint8Array.of(1));
  });

  it("fail reads of a removed blob instead of ending early", async () => {
    const [server, prefix] = [await sharedRedis(), freshPrefix()];
    await using blobs = createRedisBlobs({ server: server.url, prefix });
    await blobs.put("a", streamOf(new Uint8Array(blobChunkBytes * 2)));
    const reader = (await blobs.get("a"))?.body.getReader();
    assert.equal((await reader?.read())?.value?.length, blobChunkBytes);
    await blobs.remove("a");
    await assert.rejects(async () => reader?.read(), { code: "storage_unavailable" });
  });

  it("report a server that is gone", async () => {
    const server = await startRedis();
    await using blobs = createRedisBlobs({ server: server.url });
    await blobs.put("a", streamOf(new Uint8Array(10)));
    await server.kill();
    await assert.rejects(blobs.get("a"), { code: "storage_unavailable" });
    await assert.rejects(blobs.put("b", streamOf(new Uint8Array(10))), { code: "storage_unavailable" });
    await assert.rejects(blobs.remove("a"), { code: "storage_unavailable" });
  });
});
