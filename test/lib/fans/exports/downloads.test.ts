/** Links to files, and what may be done with them. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, get } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, it } from "node:test";
import { createMemoryLimiter, createMemoryStore } from "../../../../adapters/memory/mod.ts";
import { AppError } from "../../../../lib/base/errors/mod.ts";
import type { Store } from "../../../../lib/storage/mod.ts";
import { toNodeListener } from "../../../../runtime/node.ts";
import { createTestClock } from "../../../support/clock.ts";
import { ids } from "../../../support/platform.ts";
import { until } from "../../../support/until.ts";
import {
  ExportWorld,
  fetchFile,
  getExport,
  lifetimeMs,
  linkMs,
  manyUsers,
  requestExport,
  type TestProcess,
} from "./_world.ts";

interface Ready extends AsyncDisposable {
  readonly world: ExportWorld;
  readonly process: TestProcess;
  readonly exportId: string;
  readonly url: string;
  readonly file: Buffer;
}

/** A file of three parts behind a link. */
async function ready(body: object = { encrypt: false }): Promise<Ready> {
  const world = await ExportWorld.open(async clock => createMemoryStore({ clock }), manyUsers(1_100, 7_000));
  const process = world.process({ intervalMs: 0 });
  const exportId = await requestExport(process, body as Record<string, unknown>);
  await process.exports.idle();
  const file = await fetchFile(process, exportId);
  const { downloadUrl } = await getExport(process, exportId);
  return {
    world,
    process,
    exportId,
    url: downloadUrl,
    file,
    [Symbol.asyncDispose]: () => world[Symbol.asyncDispose](),
  };
}

describe("the link to a file", () => {
  it("answers it as a download that nobody keeps or interprets", async () => {
    await using it = await ready({ format: "csv" });
    const { headers } = await it.process.call(it.url);
    assert.equal(headers.get("content-type"), "application/octet-stream");
    assert.equal(headers.get("content-length"), String(it.file.length));
    assert.equal(headers.get("content-disposition"), `attachment; filename="export-${it.exportId}.csv.enc"`);
    assert.equal(headers.get("cache-control"), "no-store");
    assert.equal(headers.get("x-content-type-options"), "nosniff");
    assert.equal(headers.get("referrer-policy"), "no-referrer");
    assert.equal(headers.get("accept-ranges"), "bytes");
    assert.equal(headers.get("etag"), `"${(await getExport(it.process, it.exportId)).sha256}"`);
  });

  it("gives exactly the bytes of every kind of range", async () => {
    await using it = await ready();
    const { file, process, url } = it;
    const size = file.length;
    const third = Math.floor(size / 3);
    const ranges: readonly [string, number, number][] = [
      ["bytes=0-0", 0, 0],
      ["bytes=0-9", 0, 9],
      [`bytes=${third}-${2 * third}`, third, 2 * third],
      [`bytes=${size - 1}-`, size - 1, size - 1],
      [`bytes=5-${size * 9}`, 5, size - 1],
      ["bytes=-7", size - 7, size - 1],
      [`bytes=-${size * 2}`, 0, size - 1],
      ["BYTES= 3-4 ", 3, 4],
      [`bytes=${"3-4".padStart(58, "0")}`, 3, 4],
    ];
    for (const [range, first, last] of ranges) {
      const response = await process.call(url, { headers: { range } });
      assert.equal(response.status, 206, range);
      assert.equal(response.headers.get("content-range"), `bytes ${first}-${last}/${size}`);
      assert.equal(response.headers.get("content-length"), String(last - first + 1));
      const got = Buffer.from(await response.arrayBuffer());
      assert.ok(got.equals(file.subarray(first, last + 1)), range);
    }
    assert.equal(it.world.blobs.open, 0);
  });

  it("gives the whole file for ranges that it does not understand, and none for what is not there", async () => {
    await using it = await ready();
    const { file, process, url } = it;
    const tooLong = `bytes=${"3-4".padStart(59, "0")}`;
    for (const range of [
      tooLong,
      "bytes=0-1,4-5",
      "bytes=9-3",
      "bytes=-",
      "bytes=a-b",
      "rows=0-1",
      "bytes 0-1",
      "",
    ]) {
      const response = await process.call(url, { headers: { range } });
      assert.deepEqual(
        [response.status, (await response.arrayBuffer()).byteLength],
        [200, file.length],
        range,
      );
    }
    for (const range of [
      `bytes=${file.length}-`,
      `bytes=${file.length * 2}-${file.length * 3}`,
      "bytes=-0",
    ]) {
      const response = await process.call(url, { headers: { range } });
      assert.equal(response.status, 416, range);
      assert.equal(response.headers.get("content-range"), `bytes */${file.length}`);
      assert.equal((await response.arrayBuffer()).byteLength, 0);
    }
  });

  it("gives a range only of the file that the client knows", async () => {
    await using it = await ready();
    const etag = (await it.process.call(it.url, { method: "HEAD" })).headers.get("etag") ?? "";
    const cases: readonly [string, number][] = [
      [etag, 206],
      [`W/${etag}`, 200],
      ['"another"', 200],
      ["Sun, 15 Jun 2025 00:00:00 GMT", 200],
    ];
    for (const [ifRange, status] of cases) {
      const headers = { range: "bytes=0-9", "if-range": ifRange };
      const response = await it.process.call(it.url, { headers });
      assert.equal(response.status, status, ifRange);
      await response.body?.cancel();
    }
  });

  it("sends nothing where the client has the file, or continues with another one", async () => {
    await using it = await ready();
    const etag = (await it.process.call(it.url, { method: "HEAD" })).headers.get("etag") ?? "";
    const cases: readonly [Readonly<Record<string, string>>, number][] = [
      [{ "if-none-match": etag }, 304],
      [{ "if-none-match": `"another", W/${etag}` }, 304],
      [{ "if-none-match": etag, range: "bytes=0-9" }, 304],
      [{ "if-none-match": '"another"' }, 200],
      [{ "if-match": etag, range: "bytes=0-9" }, 206],
      [{ "if-match": "*" }, 200],
      [{ "if-match": '"another"', range: "bytes=0-9" }, 412],
      [{ "if-match": `W/${etag}` }, 412],
      [{ "if-match": '"another"', "if-none-match": etag }, 412],
    ];
    for (const [headers, status] of cases) {
      const response = await it.process.call(it.url, { headers });
      assert.equal(response.status, status, JSON.stringify(headers));
      assert.equal(response.headers.get("etag"), etag);
      if (status === 304) assert.equal(response.body, null);
      else await response.body?.cancel();
    }
    const { entries } = await it.process.exports.trail(ids.organisation, {});
    const downloads = entries.filter(({ event }) => event === "downloaded").length;
    assert.equal(downloads, 1 + cases.filter(([, status]) => status < 300).length);
  });

  it("describes the file for HEAD without sending or recording anything", async () => {
    await using it = await ready();
    const response = await it.process.call(it.url, { method: "HEAD", headers: { range: "bytes=0-9" } });
    assert.equal(response.status, 200);
    assert.equal(response.headers.get("content-length"), String(it.file.length));
    assert.equal(response.body, null);
    assert.equal(it.world.blobs.open, 0);
    const { entries } = await it.process.exports.trail(ids.organisation, {});
    assert.equal(entries.filter(({ event }) => event === "downloaded").length, 1);
  });

  it("reads only as fast as the client, and closes what is open where the client goes", async () => {
    await using it = await ready();
    const response = await it.process.call(it.url);
    const reader = response.body?.getReader();
    await reader?.read();
    assert.equal(it.world.blobs.open, 1);
    await reader?.cancel();
    assert.equal(it.world.blobs.open, 0);
  });

  it("closes what is open where the connection breaks", async () => {
    await using it = await ready();
    const server = createServer(toNodeListener(it.process.handler)).listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const request = get({ host: "127.0.0.1", port, path: new URL(it.url).pathname });
    const [response] = await once(request, "response");
    response.pause();
    await until("the file is open", () => it.world.blobs.open === 1);
    response.destroy();
    await until("nothing is open", () => it.world.blobs.open === 0);
    server.close();
  });

  it("sends nothing if the audit trail cannot be written", async () => {
    await using it = await ready();
    const down: Store = {
      ...it.world.store,
      traits: it.world.store.traits,
      read: (partition, queries) => it.world.store.read(partition, queries),
      commit: async () => {
        throw new AppError("storage_unavailable", "Cannot reach the store");
      },
      ping: () => it.world.store.ping(),
      [Symbol.asyncDispose]: async () => {},
    };
    const response = await it.world.process({ store: down }).call(it.url);
    assert.equal(response.status, 503);
    assert.equal(it.world.blobs.open, 0);
  });

  it("is a new one at each read, and expires after 15 minutes", async () => {
    await using it = await ready();
    const other = (await getExport(it.process, it.exportId)).downloadUrl;
    assert.notEqual(other, it.url);
    it.world.clock.advance(linkMs - 1);
    assert.equal((await it.process.call(it.url)).status, 200);
    it.world.clock.advance(1);
    assert.equal((await it.process.call(it.url)).status, 404);
    assert.equal((await it.process.call((await getExport(it.process, it.exportId)).downloadUrl)).status, 200);
  });

  it("never outlives the export", async () => {
    await using it = await ready();
    it.world.clock.advance(lifetimeMs - 60_000);
    const { downloadUrl, downloadUrlExpiresAt, expiresAt } = await getExport(it.process, it.exportId);
    assert.equal(downloadUrlExpiresAt, expiresAt);
    it.world.clock.advance(60_000);
    assert.equal((await it.process.call(downloadUrl)).status, 404);
  });

  it("says the same of every link that is none", async () => {
    await using it = await ready();
    const at = it.url.lastIndexOf("/") + 1;
    const [base, capability] = [it.url.slice(0, at), it.url.slice(at)];
    const [payload = "", tag = ""] = capability.split(".");
    const forged = [ids.organisation, it.exportId, it.world.clock.now() + 1e9, "x"];
    const made = Buffer.from(JSON.stringify(forged)).toString("base64url");
    const wrong = [
      `${payload}.${tag.slice(0, -1)}${tag.endsWith("A") ? "B" : "A"}`,
      `${made}.${tag}`,
      payload,
      `${capability}.x`,
      `.${tag}`,
      "x".repeat(2_000),
      "%F0%9F%98%80",
    ];
    // Each character of the payload is covered by the signature.
    for (let index = 0; index < payload.length; index += 7) {
      const changed = payload[index] === "A" ? "B" : "A";
      wrong.push(`${payload.slice(0, index)}${changed}${payload.slice(index + 1)}.${tag}`);
    }
    const expired = it.url;
    const bodies = new Set<string>();
    for (const one of wrong) {
      const response = await it.process.call(base + one);
      assert.equal(response.status, 404, one);
      const { requestId: _, instance: __, ...body } = await response.json();
      bodies.add(JSON.stringify(body));
    }
    it.world.clock.advance(linkMs);
    const { requestId: _, instance: __, ...body } = await (await it.process.call(expired)).json();
    bodies.add(JSON.stringify(body));
    assert.equal(bodies.size, 1);
  });

  it("may be used so often a minute, whichever link it is", async () => {
    const clock = createTestClock();
    const limiter = createMemoryLimiter({ clock: clock.now });
    await using it = await ready();
    const process = it.world.process({ limiter });
    const first = await process.call(it.url);
    await first.body?.cancel();
    for (let n = 1; n < 120; n++) {
      const url = n % 2 === 0 ? it.url : (await getExport(process, it.exportId)).downloadUrl;
      const response = await process.call(url, { headers: { range: "bytes=0-0" } });
      assert.equal(response.status, 206);
    }
    const refused = await process.call(it.url);
    assert.equal(refused.status, 429);
    clock.advance(60_600);
    const again = await process.call(it.url, { method: "HEAD" });
    assert.equal(again.status, 200);
  });

  it("is stored nowhere", async () => {
    await using it = await ready({ format: "json" });
    const { password, downloadUrl } = await getExport(it.process, it.exportId);
    await it.process.call(downloadUrl);
    const [job, secret] = await it.world.store.read(`o:${ids.organisation}:exports`, [
      { type: "record", key: `job:${it.exportId}` },
      { type: "record", key: `secret:${it.exportId}` },
    ]);
    const stored = JSON.stringify([job, secret]);
    assert.ok(secret !== null && !stored.includes(password));
    assert.ok(!stored.includes(downloadUrl.split("/").at(-1)));
  });
});
