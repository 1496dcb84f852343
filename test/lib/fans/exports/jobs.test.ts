/** Export jobs from the request to the removal of the file. */

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { it } from "node:test";
import type { ReadBoard } from "../../../../lib/storage/mod.ts";
import { ids } from "../../../support/platform.ts";
import { describeOnEveryStore, describeOnStores } from "../../../support/stores.ts";
import {
  csvRows,
  decrypt,
  ExportWorld,
  exportPath,
  fetchFile,
  fileMs,
  getExport,
  intervalMs,
  lifetimeMs,
  manyUsers,
  openExportsMax,
  requestExport,
} from "./_world.ts";

describeOnEveryStore("an export", open => {
  it("waits for the next period, is built then, and can be fetched and decrypted", async () => {
    await using world = await ExportWorld.open(open, manyUsers(1_200));
    const process = world.process();
    const exportId = await requestExport(process);
    await process.work();
    assert.equal((await getExport(process, exportId)).status, "processing");
    world.clock.advance(intervalMs);
    await process.work();
    const found = await getExport(process, exportId);
    assert.equal(found.status, "completed");
    assert.deepEqual(found.progress, { processed: 1_200, total: 1_200 });
    assert.equal(found.rowCount, 1_200);
    assert.match(found.password, /^[A-Za-z0-9]{32}$/);
    const file = await fetchFile(process, exportId);
    assert.equal(file.length, found.fileSize);
    assert.equal(createHash("sha256").update(file).digest("hex"), found.sha256);
    const rows = JSON.parse(decrypt(file, found.password));
    assert.deepEqual(rows, world.users);
  });

  it("is built at once where that is configured", async () => {
    await using world = await ExportWorld.open(open, manyUsers(3));
    const process = world.process({ intervalMs: 0 });
    const exportId = await requestExport(process, {
      format: "csv",
      encrypt: false,
      fields: ["points", "userId"],
    });
    await process.exports.idle();
    const found = await getExport(process, exportId);
    assert.equal(found.status, "completed");
    assert.equal("password" in found, false);
    assert.equal(found.encryption, null);
    const text = (await fetchFile(process, exportId)).toString();
    assert.deepEqual(csvRows(text), [
      { points: "0", userId: "user-000000" },
      { points: "1", userId: "user-000001" },
      { points: "2", userId: "user-000002" },
    ]);
  });

  it("without users is an empty table", async () => {
    await using world = await ExportWorld.open(open, []);
    const process = world.process({ intervalMs: 0 });
    const [json, csv] = [
      await requestExport(process, { encrypt: false }),
      await requestExport(process, { format: "csv" }),
    ];
    await process.exports.idle();
    assert.deepEqual(JSON.parse((await fetchFile(process, json)).toString()), []);
    const { password } = await getExport(process, csv);
    assert.equal(decrypt(await fetchFile(process, csv), password), "userId,name,points\r\n");
  });

  it("holds the users that the filter fits", async () => {
    await using world = await ExportWorld.open(open, manyUsers(700));
    const process = world.process({ intervalMs: 0 });
    const exportId = await requestExport(process, { filter: 690, encrypt: false });
    await process.exports.idle();
    const found = await getExport(process, exportId);
    assert.deepEqual([found.rowCount, found.progress], [10, { processed: 700, total: 700 }]);
    assert.equal(JSON.parse((await fetchFile(process, exportId)).toString()).length, 10);
  });

  it("shows its progress while rows are read", async () => {
    await using world = await ExportWorld.open(open, manyUsers(1_200));
    const process = world.process({ intervalMs: 0 });
    const shown: Promise<number>[] = [];
    let exportId = "";
    world.onPage = () => {
      world.clock.advance(3_000);
      if (exportId !== "")
        shown.push(getExport(process, exportId).then(({ progress }) => progress.processed));
    };
    exportId = await requestExport(process);
    await process.exports.idle();
    const processed = await Promise.all(shown);
    assert.deepEqual(
      processed,
      processed.toSorted((a, b) => a - b),
    );
    const between = processed.filter(count => count > 0 && count < 1_200);
    assert.ok(new Set(between).size >= 2, `${processed}`);
  });

  it("is left to other processes where a process builds none", async () => {
    await using world = await ExportWorld.open(open, manyUsers(3));
    const api = world.process({ intervalMs: 0, workers: "off" });
    const exportId = await requestExport(api);
    await api.work();
    assert.equal((await getExport(api, exportId)).status, "processing");
    await world.process().work();
    assert.equal((await getExport(api, exportId)).status, "completed");
  });

  it("returns the accepted request", async () => {
    await using world = await ExportWorld.open(open, manyUsers(3));
    const process = world.process();
    const response = await process.call(exportPath, { body: { format: "csv" } });
    const { data, message } = await response.json();
    const createdAt = world.clock.now();
    assert.deepEqual(
      { ...data, exportId: "" },
      {
        exportId: "",
        status: "processing",
        format: "csv",
        encrypted: true,
        createdAt: new Date(createdAt).toISOString(),
        expiresAt: new Date(createdAt + lifetimeMs).toISOString(),
      },
    );
    assert.deepEqual([response.status, message], [202, "OK"]);
  });

  it("is the same one for the same key, and refuses the key to another", async () => {
    await using world = await ExportWorld.open(open, manyUsers(3));
    const process = world.process();
    const order = {
      organisationId: ids.organisation,
      spaceId: ids.space,
      keyId: "gsk_a",
      requestId: "r",
      idempotencyKey: "once",
      format: "json",
      encrypt: true,
      notify: null,
    } as const;
    const [first, second] = [await process.exports.request(order), await process.exports.request(order)];
    assert.equal(first.exportId, second.exportId);
    await assert.rejects(process.exports.request({ ...order, format: "csv" }), {
      code: "idempotency_mismatch",
    });
    const other = await process.exports.request({ ...order, keyId: "gsk_b" });
    assert.notEqual(other.exportId, first.exportId);
  });

  it("is refused where too many are not finished, until one is", async () => {
    await using world = await ExportWorld.open(open, manyUsers(3));
    const process = world.process();
    for (let n = 0; n < openExportsMax; n++) await requestExport(process);
    const refused = await process.call(exportPath, { body: { format: "csv" } });
    assert.equal(refused.status, 429);
    const elsewhere = await process.call(exportPath, {
      body: { format: "csv" },
      organisationId: ids.otherOrganisation,
    });
    assert.equal(elsewhere.status, 202);
    world.clock.advance(intervalMs);
    await process.work();
    await requestExport(process);
  });

  it("of more users than allowed is refused, or fails once that is known", async () => {
    await using world = await ExportWorld.open(open, manyUsers(11));
    const process = world.process({ intervalMs: 0, usersMax: 10 });
    const refused = await process.call(exportPath, { body: { format: "csv" } });
    assert.deepEqual([refused.status, (await refused.json()).code], [400, "limit_reached"]);
    const [many, few] = [
      await requestExport(process, { filter: 0 }),
      await requestExport(process, { filter: 1 }),
    ];
    await process.exports.idle();
    const failed = await getExport(process, many);
    assert.deepEqual([failed.status, failed.error.code], ["failed", "limit_reached"]);
    assert.equal("downloadUrl" in failed || "password" in failed, false);
    assert.equal((await getExport(process, few)).rowCount, 10);
    const stored = [...world.blobs.sizes.keys()];
    assert.ok(stored.length > 0 && stored.every(name => name.includes(few)));
  });

  it("has at most 1,000,000 users unless the operator says otherwise", async () => {
    await using world = await ExportWorld.open(open, []);
    const of = (estimate: number) =>
      world.process({
        search: {
          compile: async () => ({
            fields: [],
            estimate: async () => estimate,
            page: async () => ({ rows: [], cursor: null, examined: 0 }),
            printedPage: async () => ({ rows: [], cursor: null, examined: 0 }),
          }),
        },
      });
    const body = { format: "csv" };
    assert.equal((await of(1_000_000).call(exportPath, { body })).status, 202);
    const refused = await of(1_000_001).call(exportPath, { body });
    assert.deepEqual([refused.status, (await refused.json()).code], [400, "limit_reached"]);
  });

  it("with wrong criteria is refused with pointers, and without fields of its own", async () => {
    await using world = await ExportWorld.open(open, manyUsers(3));
    const process = world.process();
    const bodies: readonly [object, string][] = [
      [{ format: "csv", filter: "wrong" }, "/filter"],
      [{ format: "xml" }, "/format"],
      [{ format: "csv", fields: [] }, "/fields"],
      [{ format: "csv", fields: Array(201).fill("userId") }, "/fields"],
      [{ format: "csv", fields: ["x".repeat(201)] }, "/fields/0"],
      [{ format: "csv", notify: { email: "a@b.example, c@d.example" } }, "/notify/email"],
      [{ format: "csv", notify: { email: "@club.example".padStart(255, "a") } }, "/notify/email"],
      [{ format: "csv", more: 1 }, "/more"],
    ];
    for (const [body, pointer] of bodies) {
      const response = await process.call(exportPath, { body });
      const { errors } = await response.json();
      assert.deepEqual([response.status, errors?.[0]?.pointer], [400, pointer], JSON.stringify(body));
    }
  });

  it("of another organisation, or none, is not there", async () => {
    await using world = await ExportWorld.open(open, manyUsers(3));
    const process = world.process({ intervalMs: 0 });
    const exportId = await requestExport(process);
    await process.exports.idle();
    const path = `/v1/api/audience/internal/exports/${exportId}`;
    const foreign = await process.call(path, { organisationId: ids.otherOrganisation });
    assert.equal(foreign.status, 404);
    const none = await process.call(path.replace(/.$/, "x"));
    assert.equal(none.status, 404);
    const listed = await process.call("/v1/api/audience/internal/exports", {
      organisationId: ids.otherOrganisation,
    });
    assert.deepEqual((await listed.json()).data, []);
  });

  it("loses link and password after a day, and its file and record after two", async () => {
    await using world = await ExportWorld.open(open, manyUsers(3));
    const process = world.process({ intervalMs: 0 });
    const exportId = await requestExport(process);
    await process.exports.idle();
    const { downloadUrl } = await getExport(process, exportId);
    world.clock.advance(lifetimeMs - 1);
    assert.equal((await getExport(process, exportId)).status, "completed");
    assert.equal((await process.call(downloadUrl)).status, 404, "a link of 15 minutes");
    world.clock.advance(1);
    const expired = await getExport(process, exportId);
    assert.equal(expired.status, "expired");
    assert.equal("downloadUrl" in expired || "password" in expired, false);
    await process.work();
    const address = { organisationId: ids.organisation, exportId };
    assert.equal((await process.exports.find(address))?.password, null);
    assert.equal(world.blobs.sizes.size, 2);
    world.clock.advance(fileMs - lifetimeMs);
    const path = `/v1/api/audience/internal/exports/${exportId}`;
    assert.equal((await process.call(path)).status, 404, "before anybody has come to it");
    await process.work();
    assert.equal(world.blobs.sizes.size, 0);
    const listed = await (await process.call("/v1/api/audience/internal/exports")).json();
    assert.deepEqual(listed.data, []);
  });

  it("fails where it expires before it is begun", async () => {
    await using world = await ExportWorld.open(open, manyUsers(3));
    const process = world.process({ ttlMs: 1_000 });
    const exportId = await requestExport(process);
    world.clock.advance(1_000);
    await process.work();
    const { status, error } = await getExport(process, exportId);
    assert.deepEqual([status, error.code], ["failed", "not_available"]);
  });

  it("is listed newest first, in pages", async () => {
    await using world = await ExportWorld.open(open, manyUsers(3));
    const process = world.process({ intervalMs: 0 });
    const asked: string[] = [];
    for (let n = 0; n < 5; n++) {
      asked.unshift(await requestExport(process));
      world.clock.advance(n < 2 ? 0 : 1);
      await process.exports.idle();
    }
    const met: string[] = [];
    let key: string | null = null;
    do {
      const query: string = key === null ? "" : `&lastEvaluatedKey=${key}`;
      const response = await process.call(`/v1/api/audience/internal/exports?limit=2${query}`);
      const page: { data: { exportId: string }[]; lastEvaluatedKey: string | null } = await response.json();
      met.push(...page.data.map(({ exportId }) => exportId));
      key = page.lastEvaluatedKey;
    } while (key !== null);
    assert.deepEqual(met.toSorted(), asked.toSorted());
    assert.deepEqual(met.slice(0, 2), asked.slice(0, 2));
    const refused = await process.call("/v1/api/audience/internal/exports?lastEvaluatedKey=x");
    assert.equal(refused.status, 400);
  });

  it("leaves a trail without links and passwords", async () => {
    await using world = await ExportWorld.open(open, manyUsers(3));
    const process = world.process({ intervalMs: 0 });
    const exportId = await requestExport(process);
    await process.exports.idle();
    const { downloadUrl, password } = await getExport(process, exportId);
    await process.call(downloadUrl, { headers: { range: "bytes=0-9" } });
    world.clock.advance(fileMs);
    await process.work();
    const response = await process.call("/v1/api/audience/internal/export-trail");
    const text = await response.text();
    assert.ok(!text.includes(password) && !text.includes("download/"));
    const { data } = JSON.parse(text);
    const events = data.map(({ event }: { event: string }) => event);
    assert.deepEqual(events, ["removed", "expired", "downloaded", "completed", "requested"]);
    assert.deepEqual([data[4].actor, data[4].exportId], ["gsk_test", exportId]);
    assert.deepEqual([data[2].addressTag, data[2].range], ["203.0.113.0/24", "0-9"]);
    assert.equal(data[3].rowCount, 3);
    const page = await process.call("/v1/api/audience/internal/export-trail?limit=2");
    const { lastEvaluatedKey } = await page.json();
    const rest = await process.call(
      `/v1/api/audience/internal/export-trail?lastEvaluatedKey=${lastEvaluatedKey}`,
    );
    assert.equal((await rest.json()).data.length, 3);
  });
});

describeOnEveryStore("due work of exports", open => {
  const due: ReadBoard = { type: "board", key: "due", limit: 10 };

  it("drops an entry whose job was never stored, once it may be sure of that", async () => {
    await using world = await ExportWorld.open(open, manyUsers(1));
    const member = `${ids.organisation}/0f000000-0000-4000-8000-000000000001`;
    const score = world.clock.now();
    await world.store.commit("g:exports", {
      writes: [{ type: "score", op: "set", key: "due", member, score }],
    });
    const process = world.process();
    await process.work();
    world.clock.advance(600_000);
    await process.work();
    assert.equal((await world.store.read("g:exports", [due]))[0].size, 1);
    world.clock.advance(1);
    await process.work();
    assert.equal((await world.store.read("g:exports", [due]))[0].size, 0);
  });

  it("is nothing any more after the last export is removed", async () => {
    await using world = await ExportWorld.open(open, manyUsers(1));
    const process = world.process({ intervalMs: 0 });
    await requestExport(process);
    await process.exports.idle();
    assert.equal((await world.store.read("g:exports", [due]))[0].size, 1);
    world.clock.advance(fileMs);
    await process.work();
    assert.equal((await world.store.read("g:exports", [due]))[0].size, 0);
    const partition = `o:${ids.organisation}:exports`;
    const jobs: ReadBoard = { type: "board", key: "jobs", limit: 10 };
    const [{ size }, unfinished] = await world.store.read(partition, [jobs, { type: "record", key: "open" }]);
    assert.deepEqual([size, unfinished?.value], [0, "[]"]);
  });

  it("is built however many others are due before it and stay so", async () => {
    await using world = await ExportWorld.open(open, manyUsers(1));
    const process = world.process();
    const exportId = await requestExport(process);
    const members = Array.from({ length: 201 }, (_, n) => `${ids.organisation}/${n}`);
    world.clock.advance(intervalMs);
    const score = world.clock.now() - intervalMs;
    await world.store.commit("g:exports", {
      writes: members.map(member => ({ type: "score", op: "set", key: "due", member, score })),
    });
    await process.work();
    assert.equal((await getExport(process, exportId)).status, "completed");
    const stillDue = { ...due, limit: 999, max: world.clock.now() };
    assert.equal((await world.store.read("g:exports", [stillDue]))[0].entries.length, members.length);
  });

  it("is left to others by a process that holds no place for files", async () => {
    await using world = await ExportWorld.open(open, manyUsers(1));
    const process = world.process();
    const exportId = await requestExport(process);
    world.clock.advance(intervalMs);
    const bare = world.process({ blobs: undefined });
    await bare.work();
    assert.equal((await getExport(process, exportId)).status, "processing");
    assert.equal((await bare.call(exportPath, { body: { format: "csv" } })).status, 400);
  });

  it("fails an export whose password cannot be read any more", async () => {
    await using world = await ExportWorld.open(open, manyUsers(1));
    const process = world.process();
    const exportId = await requestExport(process);
    await world.store.commit(`o:${ids.organisation}:exports`, {
      writes: [{ type: "put", key: `secret:${exportId}`, value: "v1.AAAA" }],
    });
    world.clock.advance(intervalMs);
    await process.work();
    const { status, error } = await getExport(process, exportId);
    assert.deepEqual([status, error.code], ["failed", "internal_error"]);
  });
});

describeOnStores("the trail of exports", open => {
  it("keeps the newest 10,000 entries", async () => {
    await using world = await ExportWorld.open(open, []);
    const { exports } = world.process();
    for (let n = 0; n <= 10_000; n += 1) {
      const entry = { at: world.clock.now(), event: "requested", exportId: `e${n}` } as const;
      await exports.record(ids.organisation, entry);
    }
    const found: string[] = [];
    for (let cursor: string | null | undefined; cursor !== null; ) {
      const page = await exports.trail(ids.organisation, { limit: 999, cursor });
      found.push(...page.entries.map(({ exportId = "" }) => exportId));
      ({ cursor } = page);
    }
    assert.deepEqual([found.length, found[0], found.at(-1)], [10_000, "e10000", "e1"]);
  });
});
